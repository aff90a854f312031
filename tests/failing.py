"""A server whose disk and wall clock fail as they are told: tests/faults/failing.c."""

from __future__ import annotations

import functools
import mmap
import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from harness import ROOT

SOURCE = ROOT / "tests/faults/failing.c"
WELL, IO, FULL, SHORT = range(4)
KINDS = {"io": IO, "full": FULL, "short": SHORT}


@functools.cache
def library() -> Path:
    """Compiled once for each text of it."""
    out = ROOT / "build/failing.so"
    if not out.exists() or out.stat().st_mtime < SOURCE.stat().st_mtime:
        out.parent.mkdir(exist_ok=True)
        new = out.with_suffix(f".{os.getpid()}")
        options = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["gcc", *options, "-o", new, SOURCE, "-ldl"], check=True)
        new.rename(out)
    return out


class Failing:
    """What one process is told. `path` must outlive it."""

    def __init__(self, path: Path, within: str) -> None:
        path.write_bytes(bytes(32))
        self.env = {
            "LD_PRELOAD": str(library()),
            "MUSTER_FAILING": str(path),
            "MUSTER_FAILING_IN": within,
        }
        with path.open("r+b") as file:
            self.told = mmap.mmap(file.fileno(), 32)

    def fail(self, kind: int, after: int = 0, times: int = 1) -> None:
        """The `after`+1st write or sync from now, and times - 1 after it."""
        self.told[8:24] = struct.pack("=qq", after, times)
        self.told[0:8] = struct.pack("=q", kind)

    def left(self) -> int:
        """How many of those are still to come."""
        kind, _, times = struct.unpack("=qqq", self.told[0:24])
        return int(times) if kind else 0

    def heal(self) -> None:
        self.told[0:8] = struct.pack("=q", WELL)

    def shift(self, seconds: int) -> None:
        """What the wall clock is off by."""
        self.told[24:32] = struct.pack("=q", seconds)


def needs_compiler() -> None:
    if not shutil.which("gcc"):
        pytest.skip("no gcc on this machine")
