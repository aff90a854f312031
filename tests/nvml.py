"""A machine whose devices are lines of a file: tests/fixtures/nvml.c in the place of the driver's
library."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

from harness import ROOT

SOURCE = ROOT / "tests/fixtures/nvml.c"
H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"
GIB = 1 << 30


@functools.cache
def library() -> Path:
    """Compiled once for each text of it, in a folder of its own."""
    out = ROOT / "build/nvml/libnvidia-ml.so.1"
    if not out.exists() or out.stat().st_mtime < SOURCE.stat().st_mtime:
        out.parent.mkdir(parents=True, exist_ok=True)
        new = out.with_suffix(f".{os.getpid()}")
        options = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["gcc", *options, "-o", new, SOURCE], check=True)
        new.rename(out)
    return out


class Driver:
    """What it answers from now on; env is for the processes that ask."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.env = {"LD_LIBRARY_PATH": str(library().parent), "FAKE_NVML": str(path)}
        self.say()

    def say(self, *devices: str, before: str = "") -> None:
        text = "driver 580.159.04\n" + before + "".join(devices)
        new = self.path.with_suffix(".new")
        new.write_text(text)
        new.rename(self.path)


def device(n: int, model: str = H100, *more: str, used: int = 0) -> str:
    """Minor numbers are not the driver's, as on machines that found their devices in any order."""
    lines = [
        f"device {model}",
        f"uuid GPU-{n}{n}{n}{n}",
        f"pci 00000000:{n:02X}:00.0",
        f"minor {7 - n}",
        f"memory {80 * GIB}",
        f"used {used}",
        *more,
    ]
    return "".join(f"{line}\n" for line in lines)
