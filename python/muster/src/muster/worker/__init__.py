"""What the processes of a job use: who they are (`current_worker`), calls between them (`rpc`,
`RoleGroup`), queues, data loading in helper processes. `python -m muster.worker ENTRYPOINT` is how
they are started. The names are loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster.worker.context import ActorInfo, JobInfo, Worker, current_worker
    from muster.worker.dataloader import RayDataLoaderIter, patch_dataloader_ray
    from muster.worker.identity import NotInWorker
    from muster.worker.master import DiagnosticInfo, PrimeMasterApi
    from muster.worker.queue import DataQueue
    from muster.worker.remote.actor import RoleActor, RoleGroup
    from muster.worker.remote.errors import ActorUnavailable, MessageTooLarge, RpcError
    from muster.worker.remote.proxy import UserRpcProxy, create_rpc_proxy
    from muster.worker.remote.registry import export_rpc_instance, export_rpc_method, rpc
    from muster.worker.remote.sequence import FutureSequence
    from muster.worker.serving import serve

__all__ = [
    "ActorInfo",
    "ActorUnavailable",
    "DataQueue",
    "DiagnosticInfo",
    "FutureSequence",
    "JobInfo",
    "MessageTooLarge",
    "NotInWorker",
    "PrimeMasterApi",
    "RayDataLoaderIter",
    "RoleActor",
    "RoleGroup",
    "RpcError",
    "UserRpcProxy",
    "Worker",
    "create_rpc_proxy",
    "current_worker",
    "export_rpc_instance",
    "export_rpc_method",
    "patch_dataloader_ray",
    "rpc",
    "serve",
]
PLACES = {
    "context": ("ActorInfo", "JobInfo", "Worker", "current_worker"),
    "dataloader": ("RayDataLoaderIter", "patch_dataloader_ray"),
    "identity": ("NotInWorker",),
    "master": ("DiagnosticInfo", "PrimeMasterApi"),
    "queue": ("DataQueue",),
    "remote.actor": ("RoleActor", "RoleGroup"),
    "remote.errors": ("ActorUnavailable", "MessageTooLarge", "RpcError"),
    "remote.proxy": ("UserRpcProxy", "create_rpc_proxy"),
    "remote.registry": ("export_rpc_instance", "export_rpc_method", "rpc"),
    "remote.sequence": ("FutureSequence",),
    "serving": ("serve",),
}


def __getattr__(name: str) -> Any:
    for place, names in PLACES.items():
        if name in names:
            found = getattr(import_module(f"muster.worker.{place}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
