"""muster from Python: the client of a server (`Client`, `Job`), jobs of several roles
(`muster.unified`), and what their processes use (`muster.worker`). `python -m muster.launch` starts
the elastic launcher.

Names are loaded when they are first used: the processes of a job start sooner without the client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster.client import Client, Job
    from muster.errors import MusterError, Problem, Refused, Unreachable, ValidationError

__all__ = ["Client", "Job", "MusterError", "Problem", "Refused", "Unreachable", "ValidationError"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = "client" if name in ("Client", "Job") else "errors"
    found = getattr(import_module(f"muster.{place}"), name)
    globals()[name] = found
    return found
