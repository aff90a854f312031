from muster.worker import (
    RayDataLoaderIter,
    patch_dataloader_ray,
)

__all__ = [
    "RayDataLoaderIter",
    "patch_dataloader_ray",
]
