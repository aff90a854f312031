"""Limits of a real Slurm on submitted jobs: what is over one waits, says which, and is asked for
again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Starter
from harness import Json, free_port, native, wait_for
from slurm_cluster import Slurm, slurm, why_none

pytestmark = [
    pytest.mark.skipif(bool(why_none()), reason=why_none()),
    pytest.mark.slow,  # a minute, until Slurm forgets ended jobs
]
LIMIT = "Slurm takes no more jobs now (MaxJobCount of slurm.conf)"


@pytest.fixture
def cluster() -> Iterator[Slurm]:
    """It has two jobs at most, ended ones that it still knows included."""
    with slurm(2, "--set", "MaxJobCount=3", "--set", "MinJobAge=2") as one:
        yield one


def hold(cluster: Slurm) -> str:
    words = ["sbatch", "--parsable", "-n1", "-t30", "-o", "/dev/null", "--wrap", "sleep 1800"]
    return cluster.run(*words).strip()


def test_what_slurm_takes_no_more_of_waits(cluster: Slurm, start: Starter, tmp_path: Path) -> None:
    held = [hold(cluster), hold(cluster)]
    agents = f"127.0.0.1:{free_port()}"
    server = start(nodes="name=here,1cpu,1Gi", flags=("--agents", agents), env=cluster.env())
    place: Json = {
        "place": {"engine": "slurm"},
        "resources": {"cpu": 2, "memory": "64Mi"},
    }
    number = server.submit(native("own", "echo on $MUSTER_TASK_NODE", **place))
    wait_for(lambda: LIMIT in server.job(number)["reason"], what="the limit")
    assert LIMIT in server.muster("explain", number).stdout
    second = server.submit(native("second", "true", **place))
    wait_for(lambda: LIMIT in server.job(second)["reason"], what="the limit")
    assert server.state_of(number) == server.state_of(second) == "queued"
    for one in held:
        cluster.run("scancel", one)
    for job in (number, second):  # one after the other, or both
        assert server.wait(job, timeout=240)["state"] == "succeeded"
    assert "on n" in server.log(number, "worker/0")
