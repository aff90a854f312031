from muster.worker import (
    DataQueue,
)

__all__ = [
    "DataQueue",
]
