from muster.unified.entry import entrypoint_type as get_entrypoint_type
from muster.unified.resource import ResourceDesc
from muster.unified.workload import (
    BaseWorkloadDesc,
    CustomWorkloadDesc,
    ElasticWorkloadDesc,
    SimpleWorkloadDesc,
    WorkloadDesc,
)

__all__ = [
    "BaseWorkloadDesc",
    "CustomWorkloadDesc",
    "ElasticWorkloadDesc",
    "ResourceDesc",
    "SimpleWorkloadDesc",
    "WorkloadDesc",
    "get_entrypoint_type",
]
