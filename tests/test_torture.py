"""tests/torture with few kills and tests/torture_machines with few faults, as part of `make check`;
`make torture` and `make torture-machines` do more of them. tests/loaded_faults makes each fault
once on a server under load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from failing import needs_compiler
from lab import why_none

HERE = Path(__file__).resolve().parent


def torture(*args: str, program: str = "torture") -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / program), *args], capture_output=True, text=True, check=False
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


@pytest.mark.parametrize("faults", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_break_machines(faults: int) -> None:
    needs_compiler()
    if why_none():
        pytest.skip(why_none())
    torture("--faults", str(faults), program="torture_machines")


@pytest.mark.slow
def test_faults_under_load() -> None:
    needs_compiler()
    torture(program="loaded_faults")


@pytest.mark.sanitizer
def test_kill_a_few_times() -> None:
    torture("--kills", "5", "--agents")
