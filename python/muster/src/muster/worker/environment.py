"""The environment that programs written for DLRover's unified API expect, made from what the server
and the launcher set. Pure: from one mapping to the variables that are added to it."""

from __future__ import annotations

from collections.abc import Mapping

from muster.worker.identity import Identity


def granted_device(granted: list[str], visible: list[str]) -> str:
    """The torch device of the first granted GPU: its place among the visible ones.

    Raises RuntimeError where a granted GPU is not visible to this process.
    """
    if not granted:
        return "cpu"
    if not visible:
        return f"cuda:{granted[0]}"
    if granted[0] not in visible:
        raise RuntimeError(
            f"GPU {granted[0]} was granted, but CUDA_VISIBLE_DEVICES lists {','.join(visible)}"
        )
    return f"cuda:{visible.index(granted[0])}"


def _listed(environ: Mapping[str, str], name: str) -> list[str]:
    return [word.strip() for word in environ.get(name, "").split(",") if word.strip()]


def torch_device(who: Identity, local_rank: int, environ: Mapping[str, str]) -> str:
    """What ACCELERATE_TORCH_DEVICE says: `cpu`, or the GPU that is this instance's own."""
    if who.accelerator_type != "GPU" or environ.get("CUDA_VISIBLE_DEVICES") == "":
        return "cpu"  # an empty list: devices of a declared node are no devices
    if who.spec.get("rank_based_gpu_selection"):
        return f"cuda:{local_rank}"
    visible = _listed(environ, "CUDA_VISIBLE_DEVICES")
    return granted_device(_listed(environ, "MUSTER_GPUS") or visible, visible)


def variables(who: Identity, environ: Mapping[str, str]) -> dict[str, str]:
    """What is set before user code is imported."""
    plan, elastic = who.role, who.role.backend == "elastic"
    if elastic and not who.described:
        return {"NAME": plan.actor(who.instance)}  # the launcher has said the rest
    rank, world = who.instance, plan.total
    if elastic:
        rank, world = int(environ.get("RANK", rank)), int(environ.get("WORLD_SIZE", world))
    local = rank % plan.per_group
    made = {
        "NAME": plan.actor(who.instance),
        "RANK": str(rank),
        "WORLD_SIZE": str(world),
        "LOCAL_RANK": str(local),
        "LOCAL_WORLD_SIZE": str(plan.per_group),
    }
    if elastic:
        made["NODE_RANK"] = str(rank // plan.per_group)
        made["ACCELERATE_TORCH_DEVICE"] = torch_device(who, local, environ)
    return made
