"""The process group of an elastic role, set up before its code starts and ended after it."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from muster.worker.entrypoint import EntrypointError
from muster.worker.identity import Identity


def wanted(who: Identity) -> bool:
    return who.role.backend == "elastic" and bool(
        who.spec.get("comm_auto_setup_process_group", True)
    )


def chosen_backend(asked: str, device: str, cuda: bool, nccl: bool) -> str:
    """Of `auto`: gloo on processors; with a device NCCL for its tensors and gloo for those of
    processors, as torch does where a program names no backend."""
    if asked != "auto":
        return asked
    return "cpu:gloo,cuda:nccl" if cuda and nccl and device.startswith("cuda") else "gloo"


class TorchGroup:
    """torch's default group over all ranks of the role. The rendezvous is the launcher's: its
    store answers at MASTER_ADDR, which is taken out of the environment afterwards, as a program
    that sets up a group of its own would meet the same port."""

    def __init__(self, who: Identity) -> None:
        if importlib.util.find_spec("torch") is None:
            raise EntrypointError(
                f"role {who.role.name!r} is elastic: its process group needs torch, which this "
                "Python does not have; install it, or use no_setup_process_group()"
            )
        import torch  # noqa: PLC0415
        import torch.distributed as distributed  # noqa: PLC0415

        self._distributed = distributed
        cuda, nccl = torch.cuda.is_available(), distributed.is_nccl_available()
        device = os.environ.get("ACCELERATE_TORCH_DEVICE", "cpu")
        asked = str(who.spec.get("comm_backend") or "auto")
        backend = chosen_backend(asked, device, cuda, nccl)
        self._has = {None, backend, *(part.rpartition(":")[2] for part in backend.split(","))}
        if cuda and device.startswith("cuda"):
            torch.cuda.set_device(device)
        # No rank's code starts before every rank is in the group (DLRover's master waits so too):
        # one that ended at once would close connections that another is still making.
        os.environ["TORCH_DIST_INIT_BARRIER"] = "1"
        distributed.init_process_group(backend, init_method="env://", **_timeout(who))
        for name in ("MASTER_ADDR", "MASTER_PORT", "TORCH_DIST_INIT_BARRIER"):
            os.environ.pop(name, None)
        self._init = distributed.init_process_group
        self._group = distributed.group.WORLD
        distributed.init_process_group = self._init_again

    def _init_again(self, backend: Any = None, *args: Any, **kwargs: Any) -> None:
        """A program that was written for a launcher asks for this very group: it has it already.
        Any other request is torch's to answer (it refuses a second default group)."""
        ours = self._distributed.is_initialized() and (self._distributed.group.WORLD is self._group)
        if not ours or backend not in self._has:
            self._init(backend, *args, **kwargs)

    def end(self) -> None:
        self._distributed.init_process_group = self._init
        if self._distributed.is_initialized():
            self._distributed.destroy_process_group()


def _timeout(who: Identity) -> dict[str, Any]:
    seconds = who.spec.get("comm_timeout_s")
    if not seconds:
        return {}
    from datetime import timedelta  # noqa: PLC0415

    return {"timeout": timedelta(seconds=float(seconds))}
