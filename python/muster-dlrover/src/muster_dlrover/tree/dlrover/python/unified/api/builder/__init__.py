from muster.unified.builder import DLJobBuilder, RLJobBuilder
from muster.unified.enums import RLRoleType
from muster.unified.job import DLJob, RLJob

__all__ = ["DLJob", "DLJobBuilder", "RLJob", "RLJobBuilder", "RLRoleType"]
