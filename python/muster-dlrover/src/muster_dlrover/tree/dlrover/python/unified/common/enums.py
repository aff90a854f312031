from muster.unified.enums import AcceleratorType as ACCELERATOR_TYPE
from muster.unified.enums import (
    DLStreamType,
    ExecutionResultType,
    MasterStage,
    MasterStateBackendType,
    RLRoleType,
    WorkloadEntrypointType,
)

__all__ = [
    "ACCELERATOR_TYPE",
    "DLStreamType",
    "ExecutionResultType",
    "MasterStage",
    "MasterStateBackendType",
    "RLRoleType",
    "WorkloadEntrypointType",
]
