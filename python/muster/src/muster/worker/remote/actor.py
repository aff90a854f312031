"""Instances and roles to call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Callable, Union, overload

from muster.worker.identity import ACTOR, RolePlan, identity, role_plan
from muster.worker.remote.errors import NoActorsError, ScatterError
from muster.worker.remote.future import Gathered, Options, RpcFuture
from muster.worker.remote.process import process
from muster.worker.remote.registry import method_name
from muster.worker.remote.sequence import FutureSequence

Method = Union[str, Callable[..., Any]]


def take_options(kwargs: dict[str, Any]) -> Options:
    """Removes what is meant for us from a call's keywords."""
    timeout = kwargs.pop("_rpc_timeout", None)
    return Options(
        None if timeout is None else float(timeout),
        int(kwargs.pop("_rpc_retries", 0) or 0),
        bool(kwargs.pop("_rpc_wait", False)),
    )


class RoleActor:
    """One instance of a role. Keywords of every call that are not passed on:

    - `_rpc_timeout=S`: TimeoutError when there is no answer within S seconds;
    - `_rpc_retries=N`: ask up to N times more when the instance dies before it has answered;
    - `_rpc_wait=True`: the same without a limit. (The other function may then run twice.)
    """

    def __init__(self, plan: RolePlan, rank: int) -> None:
        self._plan = plan
        self.role = plan.name
        self.rank = rank
        self.name = plan.actor(rank)
        self.task = f"{plan.task_role}/{rank}"  # as muster itself names it

    @classmethod
    def named(cls, name: str) -> RoleActor:
        """From an instance's name, as `current_worker().actor_info.name` gives it."""
        parts = ACTOR.fullmatch(name)
        if parts is None:
            raise NoActorsError(f"{name!r} is no name of an actor, as role_2-0_1-0 is")
        known = identity().roles.get(parts["role"])
        told = {"total": parts["world"], "per_group": parts["local"]}
        return cls(known or role_plan(parts["role"], told), int(parts["rank"]))

    def __repr__(self) -> str:
        return f"RoleActor({self.name!r})"

    def call(self, method: Method, /, *args: Any, **kwargs: Any) -> RpcFuture:
        """Calls a function there; its answer is a future. Calls from here begin in their order."""
        options = take_options(kwargs)
        peer = process().peer(self._plan, self.rank)
        return peer.call(method_name(method), (args, kwargs), options)

    async def acall(self, method: Method, /, *args: Any, **kwargs: Any) -> Any:
        """The same for coroutines: the answer itself."""
        return await self.call(method, *args, **kwargs)


def _plan_of(role: str, optional: bool) -> RolePlan | None:
    roles = identity().roles
    plan = roles.get(role)
    if plan is not None and plan.total > 0:
        return plan
    if optional:
        return None
    has = ", ".join(name for name, one in roles.items() if one.total) or "none"
    raise NoActorsError(f"No actors found for role '{role}'. Roles of this job: {has}")


class RoleGroup(Sequence[RoleActor]):
    """The instances of a role, in the order of their ranks."""

    def __init__(self, role: str, optional: bool = False) -> None:
        """Raises NoActorsError for a role without instances, unless `optional`."""
        self.role = role
        plan = _plan_of(role, optional)
        self._actors = [RoleActor(plan, rank) for rank in range(plan.total)] if plan else []

    @property
    def actors(self) -> list[RoleActor]:
        return self._actors

    def __len__(self) -> int:
        return len(self._actors)

    @overload
    def __getitem__(self, at: int) -> RoleActor: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[RoleActor]: ...
    def __getitem__(self, at: int | slice) -> RoleActor | Sequence[RoleActor]:
        return self._actors[at]

    def __iter__(self) -> Iterator[RoleActor]:
        return iter(self._actors)

    def __repr__(self) -> str:
        return f"RoleGroup({self.role!r}, {len(self)} actors)"

    def call(
        self, method: Method, /, *args: Any, _scatter: bool = False, **kwargs: Any
    ) -> Gathered:
        """Calls all; a future of the list of their answers. With `_scatter` every argument is a
        list of as many values as there are instances, and each gets its own."""
        ours = {key: kwargs.pop(key) for key in list(kwargs) if key.startswith("_rpc_")}
        if not _scatter:
            return Gathered([actor.call(method, *args, **kwargs, **ours) for actor in self])
        self._check_scatter(args, kwargs)
        return Gathered(
            [
                actor.call(
                    method,
                    *[value[i] for value in args],
                    **{key: value[i] for key, value in kwargs.items()},
                    **ours,
                )
                for i, actor in enumerate(self)
            ]
        )

    def _check_scatter(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        for name, value in [*enumerate(args), *kwargs.items()]:
            if not isinstance(value, list) or len(value) != len(self):
                what = f"{len(value)} values" if isinstance(value, list) else type(value).__name__
                raise ScatterError(
                    f"argument {name}: a list of {len(self)} values is needed, one for each "
                    f"instance of {self.role!r}; it is {what}"
                )

    async def acall(self, method: Method, /, *args: Any, **kwargs: Any) -> list[Any]:
        return list(await self.call(method, *args, **kwargs))

    def call_rank0(self, method: Method, /, *args: Any, **kwargs: Any) -> RpcFuture:
        """Calls the first."""
        if not self._actors:
            raise NoActorsError("No actors in the role group.")
        return self._actors[0].call(method, *args, **kwargs)

    def call_batch(self, method: Method, size: int, /, *args: Any, **kwargs: Any) -> FutureSequence:
        """Deals `size` items out: every argument that is a list or another sequence (not a text)
        has `size` values and is cut into as many parts, in order, as there are instances; other
        arguments go to all. Each returns a sequence as long as its part."""
        if not self._actors:
            raise NoActorsError("No actors in the role group.")
        ours = {key: kwargs.pop(key) for key in list(kwargs) if key.startswith("_rpc_")}
        for name, value in [*enumerate(args), *kwargs.items()]:
            if _cut(value) and len(value) != size:
                raise ScatterError(f"argument {name}: {len(value)} values, and {size} to deal out")
        step = max(1, -(-size // len(self)))
        futures: list[Future[Any]] = []
        lengths = []
        for i, actor in enumerate(self):
            first, last = min(i * step, size), min((i + 1) * step, size)
            lengths.append(last - first)
            if first == last:
                futures.append(Gathered([]))
                continue
            part = [value[first:last] if _cut(value) else value for value in args]
            named = {k: v[first:last] if _cut(v) else v for k, v in kwargs.items()}
            futures.append(actor.call(method, *part, **named, **ours))
        return FutureSequence(futures, lengths)


def _cut(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))
