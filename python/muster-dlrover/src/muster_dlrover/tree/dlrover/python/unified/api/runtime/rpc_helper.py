from muster.worker import (
    FutureSequence,
    RoleActor,
    RoleGroup,
    UserRpcProxy,
    create_rpc_proxy,
    export_rpc_instance,
    export_rpc_method,
    rpc,
)

__all__ = [
    "FutureSequence",
    "RoleActor",
    "RoleGroup",
    "UserRpcProxy",
    "create_rpc_proxy",
    "export_rpc_instance",
    "export_rpc_method",
    "rpc",
]
