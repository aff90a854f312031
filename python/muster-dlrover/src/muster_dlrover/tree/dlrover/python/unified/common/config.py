from muster.unified.config import DLConfig, JobConfig, WorkloadGroup
from muster.unified.enums import AcceleratorType as ACCELERATOR_TYPE
from muster.unified.enums import MasterStateBackendType
from muster.unified.resource import ResourceDesc
from muster.unified.workload import WorkloadDesc

__all__ = [
    "ACCELERATOR_TYPE",
    "DLConfig",
    "JobConfig",
    "MasterStateBackendType",
    "ResourceDesc",
    "WorkloadDesc",
    "WorkloadGroup",
]
