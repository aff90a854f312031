"""Objects that stand for an object in another process."""

from __future__ import annotations

from typing import Any, Callable, TypeVar, cast

from muster.worker.remote.actor import RoleActor
from muster.worker.remote.registry import marked

T = TypeVar("T")
COROUTINE = 0x80  # CO_COROUTINE


class UserRpcProxy:
    """Has the marked methods of a class; each calls the object that the owner exported under the
    namespace. Plain methods wait and return the value, coroutine methods are awaited."""

    def __init__(self, owner: str | RoleActor, namespace: str | None, kind: type) -> None:
        self._owner = owner if isinstance(owner, RoleActor) else RoleActor.named(owner)
        for name, function in marked(kind):
            remote = f"{namespace}.{name}" if namespace else name
            at = getattr(function, "__name__", name)
            setattr(self, at, self._method(remote, function))

    def _method(self, remote: str, function: Any) -> Callable[..., Any]:
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if code is not None and code.co_flags & COROUTINE:

            async def ask_async(*args: Any, **kwargs: Any) -> Any:
                return await self._owner.call(remote, *args, **kwargs)

            return ask_async

        def ask(*args: Any, **kwargs: Any) -> Any:
            return self._owner.call(remote, *args, **kwargs).result()

        return ask


def create_rpc_proxy(owner_actor: str | RoleActor, ns: str | None, cls: type[T]) -> T:
    """A proxy of the object of class `cls` that `owner_actor` exported under `ns`."""
    return cast(T, UserRpcProxy(owner_actor, ns, cls))
