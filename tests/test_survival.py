"""tests/torture_launch with few tries for `make check`; `make torture` does more of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from harness import patience

TORTURE = Path(__file__).resolve().parent / "torture_launch"


def start(row: str, times: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(TORTURE), row, "--times", str(times)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def survive(**rows: int) -> None:
    """All at the same time; each has a job of its own."""
    running = [start(row.replace("_", "-"), times) for row, times in rows.items()]
    said = [one.communicate(timeout=patience(150))[0] for one in running]
    print("\n".join(said))
    assert not any(one.returncode for one in running), "\n".join(said)


@pytest.mark.parametrize(
    "row",
    [
        "ranks_2",
        "ranks_4",
        "ranks_2x2",
    ],
)
def test_killed_ranks(row: str) -> None:
    survive(**{row: 2})


@pytest.mark.parametrize(
    "rows",
    [
        {"lost": 1},
        {"join": 1},
        pytest.param({"lost_leader": 1, "stopped": 1}, marks=pytest.mark.slow),
    ],
)
def test_nodes_that_come_and_go(rows: dict[str, int]) -> None:
    survive(**rows)


def test_without_collectives_and_without_a_launcher() -> None:
    survive(lost_plain=3, gone=3)
