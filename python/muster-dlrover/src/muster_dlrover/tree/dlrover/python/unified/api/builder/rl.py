from muster.unified.builder import RLJobBuilder
from muster.unified.enums import RLRoleType
from muster.unified.job import RLJob

__all__ = ["RLJob", "RLJobBuilder", "RLRoleType"]
