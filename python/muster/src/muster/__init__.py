"""muster from Python: the client of a server (`Client`, `Job`), jobs of several roles
(`muster.unified`), and what their processes use (`muster.worker`). `python -m muster.launch` starts
the elastic launcher."""

from muster.client import Client, Job
from muster.errors import MusterError, Problem, Refused, Unreachable, ValidationError

__all__ = ["Client", "Job", "MusterError", "Problem", "Refused", "Unreachable", "ValidationError"]
