from muster.unified.builder import DLJobBuilder
from muster.unified.job import DLJob

__all__ = ["DLJob", "DLJobBuilder"]
