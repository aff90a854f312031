from muster.worker import (
    PrimeMasterApi,
)

__all__ = [
    "PrimeMasterApi",
]
