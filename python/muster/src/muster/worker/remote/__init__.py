"""Calls between the instances of a job. The names are loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster.worker.remote.actor import RoleActor, RoleGroup
    from muster.worker.remote.errors import ActorUnavailable, MessageTooLarge, RpcError
    from muster.worker.remote.future import RpcFuture
    from muster.worker.remote.proxy import UserRpcProxy, create_rpc_proxy
    from muster.worker.remote.registry import export_rpc_instance, export_rpc_method, rpc
    from muster.worker.remote.sequence import FutureSequence

__all__ = [
    "ActorUnavailable",
    "FutureSequence",
    "MessageTooLarge",
    "RoleActor",
    "RoleGroup",
    "RpcError",
    "RpcFuture",
    "UserRpcProxy",
    "create_rpc_proxy",
    "export_rpc_instance",
    "export_rpc_method",
    "rpc",
]
PLACES = {
    "actor": ("RoleActor", "RoleGroup"),
    "errors": ("ActorUnavailable", "MessageTooLarge", "RpcError"),
    "future": ("RpcFuture",),
    "proxy": ("UserRpcProxy", "create_rpc_proxy"),
    "registry": ("export_rpc_instance", "export_rpc_method", "rpc"),
    "sequence": ("FutureSequence",),
}


def __getattr__(name: str) -> Any:
    for place, names in PLACES.items():
        if name in names:
            found = getattr(import_module(f"muster.worker.remote.{place}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
