from muster.worker import (
    ActorInfo,
    JobInfo,
    Worker,
    current_worker,
)

__all__ = [
    "ActorInfo",
    "JobInfo",
    "Worker",
    "current_worker",
]
