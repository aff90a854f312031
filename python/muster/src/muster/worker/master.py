"""`PrimeMasterApi`: what a program can ask of the job as a whole. In DLRover a master process
answers; here it is muster's server. Every call can be made plainly, or in a coroutine as
`await PrimeMasterApi.get_status.async_call()`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, Callable, Generic, TypeVar

from muster.client import FINAL, Job
from muster.worker.board import queue_key
from muster.worker.context import ActorInfo, actor_info
from muster.worker.identity import ACTOR, Identity, RolePlan, identity
from muster.worker.remote.actor import RoleActor
from muster.worker.remote.errors import NoActorsError
from muster.worker.remote.process import process

T = TypeVar("T")
STAGES = {
    "suspended": "INIT",
    "queued": "INIT",
    "starting": "READY",
    "restarting": "READY",
    "running": "RUNNING",
    "stopping": "STOPPING",
    **dict.fromkeys(FINAL, "STOPPED"),
}


@dataclass(frozen=True)
class MasterStatus:
    """`stage`: INIT, READY, RUNNING, STOPPING or STOPPED; `exit_code` 0 or 1, meant for STOPPED."""

    stage: str
    exit_code: int
    job_restart_count: int


@dataclass
class DiagnosticInfo:
    """What a worker says about a failure of its own."""

    type: str = "ERROR"  # NORMAL, FATAL, ERROR, WARNING
    responsibility: int = 3  # 0 root cause, 1 related, 2 affected by another, 3 unknown
    code: int = 0
    reason: str = ""
    log_content: str = ""
    metric_content: dict[str, Any] = field(default_factory=dict)


class Call(Generic[T]):
    """A call that can be made plainly, or by a coroutine."""

    def __init__(self, function: Callable[..., T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> T:
        return self._function(*args, **kwargs)

    async def async_call(self, *args: Any, **kwargs: Any) -> T:
        import asyncio  # noqa: PLC0415
        from functools import partial  # noqa: PLC0415

        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, partial(self._function, *args, **kwargs))


def _ask(method: str, path: str, query: dict[str, Any] | None = None) -> Any:
    board = process().board
    return board.patient(lambda: board.client.call(method, board.path + path, query), 60)


def _status() -> MasterStatus:
    tree = process().board.job()
    code = 1 if tree["state"] in ("failed", "stopped") else 0
    return MasterStatus(STAGES.get(tree["state"], "INIT"), code, int(tree.get("restarts", 0)))


def _wait() -> MasterStatus:
    board, who = process().board, identity()
    Job(board.client, int(who.job_number), who.job_name, {}).wait()
    return _status()


def _info(plan: RolePlan, rank: int) -> ActorInfo:
    who: Identity = identity()
    spec = who.spec if plan.name == who.role.name else {}
    return actor_info(who._replace(role=plan, instance=rank, spec=spec), {})


def _actor(name: str) -> RoleActor:
    """Raises NoActorsError for a name that no instance of this job has."""
    parts = ACTOR.fullmatch(name)
    plan = identity().roles.get(parts["role"]) if parts else None
    if parts is None or plan is None or plan.actor(int(parts["rank"])) != name:
        raise NoActorsError(f"the job has no actor {name!r}")
    return RoleActor(plan, int(parts["rank"]))


def _workers(role: str, optional: bool = False) -> list[ActorInfo]:
    plan = identity().roles.get(role)
    if plan is None and not optional:
        raise NoActorsError(f"No actors found for role '{role}'.")
    return [_info(plan, rank) for rank in range(plan.total)] if plan else []


def _restart_actors(names: list[str]) -> None:
    tasks = [actor.task for actor in map(_actor, names)]
    _ask("POST", "/restart", {"task": tasks, "reason": "asked for by a worker"})


def _restart(reason: str = "asked for by a worker") -> None:
    _ask("POST", "/restart", {"reason": reason, "counted": 1})


def _register_queue(name: str, owner: str, size: int) -> None:
    actor = _actor(owner)
    value = {"role": actor.role, "index": actor.rank, "size": size}
    process().board.put(queue_key(name), value)


def _queue_owner(name: str) -> str:
    while True:
        entry = process().board.get(queue_key(name), wait=20)
        if entry is not None:
            plan = identity().roles[str(entry.value["role"])]
            return plan.actor(int(entry.value["index"]))


def _reported(name: str, *what: object) -> None:
    print(f"muster: {name}:", *what, file=sys.stderr, flush=True)


def _function(function: Callable[..., T], doc: str) -> Call[T]:
    call = Call(function)
    call.__doc__ = doc
    return call


class PrimeMasterApi:
    """The job. Ranks are indexes of instances; names are those of `NAME`."""

    get_status = _function(_status, "Stage, exit code and count of restarts: MasterStatus.")
    wait = _function(_wait, "Until the job has ended.")
    stop = _function(
        lambda: _ask("POST", "/stop") and None, "Ends the job; its submitter gets exit code 1."
    )
    restart = _function(_restart, "Starts the whole job anew, out of its budget of restarts.")
    restart_actors = _function(_restart_actors, "Ends the named instances and starts them anew.")
    start = _function(lambda: None, "Nothing to do: a job that has workers was started.")
    shutdown = _function(lambda: None, "Nothing to do: no master stays behind a job.")
    get_actor_info = _function(
        lambda name: _info(_actor(name)._plan, _actor(name).rank), "About an instance, by its name."
    )
    get_workers_by_role = _function(_workers, "About a role's instances, in order of rank.")
    get_all_roles = _function(lambda: list(identity().roles), "The names of the job's roles.")
    register_data_queue = _function(_register_queue, "Says who owns a queue: (name, owner, size).")
    get_data_queue_owner = _function(_queue_owner, "The owner's name; waits until there is one.")
    report_actor_restarted = _function(
        lambda name: None, "Accepted: the server sees restarts itself."
    )
    report_diagnostic_info = _function(_reported, "Writes it to this worker's log.")
    report_execution_result = _function(
        lambda name, result: _reported(name, "result:", result),
        "Writes it to this worker's log: the result that counts is the exit code.",
    )
