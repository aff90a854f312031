"""Jobs with an allocation of a real Slurm for themselves: asked for, run in, given back; whatever is
killed meanwhile, none is asked for twice, and none is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Starter
from harness import FINAL, Json, Server, native, until_there, wait_for
from slurm_cluster import Slurm, slurm, why_none

pytestmark = [
    pytest.mark.skipif(bool(why_none()), reason=why_none()),
    pytest.mark.slow,  # minutes, with daemons of Slurm for four nodes
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Slurm]:
    with slurm(4, "--gpus-per-node", "2") as one:
        yield one


@pytest.fixture
def server(cluster: Slurm, start: Starter) -> Iterator[Server]:
    """No port for agents is named: the first job of Slurm opens one."""
    one = start(nodes="name=here,1cpu,1Gi", env=cluster.env())
    yield one
    if not one.running():
        one.start()
    for job in one.get("/v1/jobs")["jobs"]:
        if job["state"] not in FINAL:
            one.stop(job["number"])
    wait_for(lambda: not asked(cluster), what="Slurm to have everything back")
    cluster.wait_idle()


def asked(cluster: Slurm) -> list[list[str]]:
    """Allocations that Slurm has of ours, or is about to end: id, state, name."""
    lines = cluster.run("squeue", "-h", "-o", "%i %T %j %D").splitlines()
    return [line.split() for line in lines if "muster-pilot-" in line]


def own(server: Server) -> list[Json]:
    listed: list[Json] = server.get("/v1/pilots")["pilots"]
    return [one for one in listed if "job" in one]


def on_slurm(name: str, run: str, replicas: int = 1, **more: object) -> str:
    more = {"place": {"engine": "slurm"}, **more}
    return native(name, run, replicas, resources={"cpu": 5, "memory": "64Mi"}, **more)


def test_a_job_runs_in_an_allocation_of_its_own(
    server: Server, cluster: Slurm, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    number = server.submit(on_slurm("own", f"{until_there(go)}; echo on $MUSTER_TASK_NODE", 2))
    server.wait(number, "running")
    ((allocation, state, _, nodes),) = asked(cluster)
    assert (state, nodes) == ("RUNNING", "2")
    (made,) = own(server)
    assert made["allocation"] == allocation and str(made["job"]) == str(number)
    # Its nodes are closed to all others, also where they have room.
    other = server.submit(native("other", "true", resources={"cpu": 2}), wait=1)
    server.kill()  # while it runs
    server.start()
    go.touch()
    job = server.wait(number)
    assert job["state"] == "succeeded"
    assert {task["attempts"][0]["node"] for task in job["task_list"]} <= {"n1", "n2", "n3", "n4"}
    assert "on n" in server.log(number, "worker/0")
    wait_for(lambda: not asked(cluster), what="the allocation to be given back")
    assert server.state_of(other) == "queued"
    server.stop(other)
    assert len(own(server)) == 1
