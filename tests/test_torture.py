"""tests/torture with few kills, as part of `make check`; `make torture` does more of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from failing import needs_compiler

TORTURE = Path(__file__).resolve().parent / "torture"


def torture(*args: str) -> None:
    done = subprocess.run(
        [sys.executable, str(TORTURE), *args], capture_output=True, text=True, check=False
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr


def test_kill_the_server() -> None:
    torture("--kills", "20")


def test_kill_the_server_agents_and_keepers() -> None:
    torture("--kills", "12", "--agents")


def test_faults_of_disk_and_clock() -> None:
    needs_compiler()
    torture("--kills", "8", "--agents", "--faults", "all")


def test_crowd_takes_the_descriptors() -> None:
    torture("--kills", "4", "--agents", "--faults", "files")


def test_damaged_files() -> None:
    torture("--kills", "8", "--agents", "--damage", "mark,ballast,token,key,address")


@pytest.mark.sanitizer
def test_kill_a_few_times() -> None:
    torture("--kills", "5", "--agents")
