"""A machine whose devices are lines of a file: tests/fixtures/nvml.c in the place of the driver's
library; and a CUDA driver that is not there."""

from __future__ import annotations

import functools
import os
import random
import re
import subprocess
from pathlib import Path

from harness import ROOT

H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"
GIB = 1 << 30


@functools.cache
def library(name: str = "nvidia-ml", source: str = "nvml") -> Path:
    """Compiled once for each text of it, in a folder of its own."""
    out, text = ROOT / f"build/{source}/lib{name}.so.1", ROOT / f"tests/fixtures/{source}.c"
    if not out.exists() or out.stat().st_mtime < text.stat().st_mtime:
        out.parent.mkdir(parents=True, exist_ok=True)
        new = out.with_suffix(f".{os.getpid()}")
        options = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["gcc", *options, "-o", new, text], check=True)
        new.rename(out)
    return out


@functools.cache
def fake_torch() -> str:
    """PYTHONPATH where tests/fixtures/torch/fake_torch.py is called torch."""
    folder = ROOT / "build/cuda/python"
    (folder / "torch").mkdir(parents=True, exist_ok=True)
    texts = {
        "__init__": "from fake_torch import *\nfrom fake_torch import __version__\n",
        "distributed": "from fake_torch import *\n",
        "version": "__version__ = '2.11.0+cu130'\ncuda: str = '13.0'\nhip: str = None\n",
    }
    for name, text in texts.items():
        new = folder / f"torch/{name}.{os.getpid()}"
        new.write_text(text)
        new.rename(folder / f"torch/{name}.py")
    return f"{folder}:{ROOT / 'tests/fixtures/torch'}"


def cuda(*addresses: str) -> dict[str, str]:
    """The environment of programs that find a CUDA driver with such devices (tests/fixtures/cuda.c)
    and a PyTorch that only stands for one."""
    return {
        "LD_LIBRARY_PATH": str(library("cuda", "cuda").parent),
        "FAKE_CUDA": ",".join(addresses),
        "PYTHONPATH": fake_torch(),
    }


class Driver:
    """What it answers from now on; env is for the processes that ask. Its devices have numbers in
    /dev that no other test's have: servers of one machine never give the same one twice."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.minor = random.SystemRandom().randrange(1000, 1 << 30)
        self.env = {"LD_LIBRARY_PATH": str(library().parent), "FAKE_NVML": str(path)}
        self.say()

    def minor_of(self, n: int) -> int:
        """Not the driver's numbers, as on machines that found their devices in any order."""
        return self.minor // 10 * 10 + 7 - n

    def close(self) -> None:
        for lock in Path("/run/muster/gpus").glob(f"{self.minor // 10}?*"):
            lock.unlink()

    def say(self, *devices: str, before: str = "") -> None:
        text = "driver 580.159.04\ncuda 12080\n" + before + "".join(devices)
        text = re.sub(r"minor (\d)\n", lambda m: f"minor {self.minor_of(7 - int(m[1]))}\n", text)
        new = self.path.with_suffix(".new")
        new.write_text(text)
        new.rename(self.path)


def device(n: int, model: str = H100, *more: str, used: int = 0) -> str:
    lines = [
        f"device {model}",
        f"uuid GPU-{n}{n}{n}{n}",
        f"pci 00000000:{n:02X}:00.0",
        f"minor {7 - n}",
        f"memory {80 * GIB}",
        f"used {used}",
        *(f"{figure} 0" for figure in ("busy", "temperature", "power", "ecc")),
        *more,
    ]
    return "".join(f"{line}\n" for line in lines)


def instance(n: int, gi: int, *more: str, profile: str = "1g.10gb", model: str = H100) -> str:
    """One of the last device: number n of the machine, with the ids (gi, 0)."""
    lines = [
        f"instance {model} MIG {profile}",
        f"uuid MIG-{n}{gi}{gi}",
        f"gi {gi}",
        "ci 0",
        f"memory {10 * GIB}",
        *more,
    ]
    return "".join(f"{line}\n" for line in lines)
