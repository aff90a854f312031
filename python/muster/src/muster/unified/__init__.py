"""Jobs of several roles, in the words of DLRover's unified API.

job = DLJobBuilder().role("hello").run("my_package.my_module.main").total(2).build()
job.submit(job_name="hello")
"""

from muster.unified.builder import DLJobBuilder, RLJobBuilder
from muster.unified.config import DLConfig, JobConfig
from muster.unified.enums import AcceleratorType, DLStreamType, RLRoleType
from muster.unified.job import DLJob, RLJob
from muster.unified.resource import ResourceDesc
from muster.unified.roles import ElasticRoleBuilder, RoleBuilder
from muster.unified.workload import (
    CustomWorkloadDesc,
    ElasticWorkloadDesc,
    SimpleWorkloadDesc,
    WorkloadDesc,
)

__all__ = [
    "AcceleratorType",
    "CustomWorkloadDesc",
    "DLConfig",
    "DLJob",
    "DLJobBuilder",
    "DLStreamType",
    "ElasticRoleBuilder",
    "ElasticWorkloadDesc",
    "JobConfig",
    "RLJob",
    "RLJobBuilder",
    "RLRoleType",
    "ResourceDesc",
    "RoleBuilder",
    "SimpleWorkloadDesc",
    "WorkloadDesc",
]
