"""`python -m muster.worker ENTRYPOINT`: one instance of a role of a job.

The entry point runs on the main thread. A function is called (with the job's configuration when it
takes one argument), a coroutine function awaited, a class constructed and its `run()` called, a
script run as `__main__`. A class without `run()` serves calls until the job stops. The exit code
says how it went: 0; what SystemExit says; 1 and a traceback after an exception; 130 after an
interrupt. When an instance that the job does not wait for has come to its end and has functions
registered, it goes on answering calls until the job stops.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, NamedTuple

from muster.worker import entrypoint, serving, torch_group
from muster.worker.entrypoint import EntrypointError
from muster.worker.environment import variables
from muster.worker.identity import Identity, NotInWorker, identity
from muster.worker.remote.process import process
from muster.worker.remote.registry import registry
from muster.worker.stopping import stopping

SWITCH = 0.001  # seconds a thread may compute before threads that answer calls get their turn
ECHO = 0.5  # seconds in which a stop shows that another rank failed first


def _call(function: Callable[..., Any]) -> None:
    """Calls the entry with what it takes, and awaits what it returns."""
    args: list[Any] = []
    if entrypoint.wants_argument(function):
        from muster.worker.context import current_worker  # noqa: PLC0415

        args = [current_worker().job_info.user_config]
    result = function(*args)
    if hasattr(result, "__await__"):
        import asyncio  # noqa: PLC0415

        async def wait() -> Any:
            return await result

        asyncio.run(wait())


def _run_class(kind: type, module: Any, who: Identity) -> None:
    run = getattr(kind, "run", None)
    if run is None and who.role.is_driver:
        raise EntrypointError(
            f"entry point: class {kind.__name__!r} has no run(), and the job waits for role "
            f"{who.role.name!r}: give it one, or mark the role with not_driver()"
        )
    instance = kind()
    registry.add_marked(module)
    registry.add_marked(instance)
    process().publish()
    if run is None:
        serving.serve_until_stopped()
        return
    _call(instance.run)


def _run_script(command: str) -> None:
    words = entrypoint.script_words(command)
    registry.on_first = process().publish
    if entrypoint.is_module(words):
        import runpy  # noqa: PLC0415

        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    code = entrypoint.script_code(words[0])
    sys.argv = words
    sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
    module = entrypoint.main_module(words[0])
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def _run_entry(text: str, who: Identity) -> None:
    text = entrypoint.dotted(text)
    if entrypoint.is_script(text):
        _run_script(text)
        return
    module, entry = entrypoint.import_entry(text)
    if isinstance(entry, type):
        _run_class(entry, module, who)
        return
    if not callable(entry):
        raise EntrypointError(f"entry point: {text!r} is a {type(entry).__name__}, no function")
    registry.add_marked(module)
    process().publish()
    _call(entry)


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=sys.stderr)
    return 1


class Outcome(NamedTuple):
    """How it went: an exit code and, after a failure, the reason in few words."""

    code: int
    reason: str = ""
    hopeless: bool = False  # the program is not there, or not whole


def _outcome(work: Callable[[], None]) -> Outcome:
    try:
        work()
    except SystemExit as error:
        code = _exit_code(error)
        return Outcome(code, f"exit code {code}" if code else "")
    except KeyboardInterrupt:
        return Outcome(130, "interrupted")
    except (EntrypointError, NotInWorker) as error:
        print(f"muster: {error}", file=sys.stderr)
        return Outcome(1, str(error).split("\n", 1)[0], True)
    except BaseException as error:
        import traceback  # noqa: PLC0415

        traceback.print_exception(type(error), error, _users_part(error))
        hopeless = isinstance(error, (ImportError, SyntaxError))
        return Outcome(1, f"{type(error).__name__}: {error}", hopeless)
    return Outcome(0)


def _users_part(error: BaseException) -> Any:
    """The traceback from where the user's code begins; whole where it has no part."""
    trace = error.__traceback__
    ours = ("muster.worker.", "importlib", "asyncio.")
    while trace is not None:
        if not str(trace.tb_frame.f_globals.get("__name__")).startswith(ours):
            return trace
        trace = trace.tb_next
    return error.__traceback__


def _report_failure(who: Identity, outcome: Outcome) -> None:
    """What the exit code alone does not say. A program that could not be imported at its first
    start never will be: the job ends. A failed rank of an elastic role would be started anew in its
    place by the launcher; where the job's failover says so, the whole job is started anew instead,
    unless this failure only follows from another: then a stop is on its way already."""
    if outcome.hopeless and who.restarts == 0:
        _tell_server(who, "fail", outcome.reason)
    elif who.role.backend == "elastic" and who.failover == 1 and not stopping.wait(ECHO):
        _tell_server(who, "restart", outcome.reason, counted=1)


def _tell_server(who: Identity, verb: str, reason: str, **query: int) -> None:
    from muster.errors import MusterError, Refused  # noqa: PLC0415

    said = f"{who.role.actor(who.instance)} failed: {reason}"[:250]
    try:
        board = process().board
        board.client.call("POST", f"{board.path}/{verb}", {"reason": said, **query}, timeout=10)
    except Refused as error:
        if error.code != "conflict":  # another instance was first
            print(f"muster: {verb}: {error}", file=sys.stderr)
    except MusterError as error:
        print(f"muster: {verb}: {error}", file=sys.stderr)


def run(text: str) -> int:
    """Runs an entry point as this environment says; the exit code of the process."""
    sys.setswitchinterval(SWITCH)
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    stopping.listen()
    who: Identity | None = None

    def work() -> None:
        nonlocal who
        who = identity()
        os.environ.update(variables(who, os.environ))
        group = torch_group.TorchGroup(who) if torch_group.wanted(who) else None
        _run_entry(text, who)
        if group is not None:
            group.end()
        if not who.role.is_driver and len(registry):
            serving.serve_until_stopped()

    outcome = _outcome(work)
    if who is None:
        return outcome.code
    if outcome.code and not stopping.asked_quietly():
        _report_failure(who, outcome)
    serving.leave()
    return outcome.code


def main() -> int:
    if len(sys.argv) < 2:
        print("usage: python -m muster.worker ENTRYPOINT", file=sys.stderr)
        return 2
    text = sys.argv[1] if len(sys.argv) == 2 else " ".join(sys.argv[1:])
    sys.argv = sys.argv[:1]
    return run(text)
