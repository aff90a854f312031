"""Jobs with an allocation of a real Slurm for themselves: asked for, run in, given back. Whatever
is killed meanwhile, none is asked for twice, and none is left."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Starter
from harness import FINAL, Json, Server, kill, muster, native, processes, until_there, wait_for
from slurm_cluster import Slurm, slurm, why_none

pytestmark = [
    pytest.mark.skipif(bool(why_none()), reason=why_none()),
    pytest.mark.slow,  # minutes, with daemons of Slurm for four nodes
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Slurm]:
    with slurm(4, "--gpus-per-node", "2", "--gpu-type", "a100") as one:
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
    """Allocations that Slurm has of ours, or is about to end: id, state, name, number of nodes."""
    lines = cluster.run("squeue", "-h", "-o", "%i %T %j %D").splitlines()
    return [line.split() for line in lines if "muster-pilot-" in line]


def own(server: Server) -> list[Json]:
    listed: list[Json] = server.get("/v1/pilots")["pilots"]
    return [one for one in listed if "job" in one]


def on_slurm(name: str, run: str, replicas: int = 1, **more: object) -> str:
    more = {"place": {"engine": "slurm"}, **more}
    return native(name, run, replicas, resources={"cpu": 5, "memory": "64Mi"}, **more)


def test_slurm_is_asked_for_the_type_of_devices(
    server: Server, cluster: Slurm, tmp_path: Path
) -> None:
    """By its own word for it, and for other nodes than those to avoid."""
    devices = {"cpu": 1, "memory": "64Mi", "gpu": 2, "gpu_type": "A100"}
    place = {"engine": "slurm", "avoid": ["n1"]}
    go = tmp_path / "go"
    number = server.submit(
        native("typed", until_there(go), resources=devices, place=place, runtime="host")
    )
    server.wait(number, "running")
    ((allocation, *_),) = asked(cluster)
    told = cluster.run("scontrol", "show", "job", allocation)
    assert "TresPerNode=gres:gpu:a100:2" in told and "ExcNodeList=n1" in told, told
    (node,) = [one for one in server.get("/v1/nodes")["nodes"] if one.get("gpu_type")]
    assert node["gpu_type"] == "a100" and node["name"] != "n1"
    go.touch()
    assert server.wait(number)["state"] == "succeeded"
    script = tmp_path / "typed.sbatch"
    script.write_text("#!/bin/sh\n#SBATCH --gres=gpu:h100:1 --mem=64M -t 5\ntrue\n")
    words = ("run", "--detach", "--json", "--engine", "slurm", script)
    other = server.wait(json.loads(server.muster(*words, cwd=tmp_path).stdout)["number"])
    assert other["state"] == "failed"
    assert "1 GPUs h100 on a node, and those of partition" in other["reason"]
    assert {one for one, *_ in asked(cluster)} <= {allocation}


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


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def switch_off(allocation: str, node: str) -> None:
    """All of ours on that node: what looks after the host first, which would start it again."""
    there = [
        pid for pid, line in processes("muster-node").items() if f"/{allocation}.{node}." in line
    ]
    hosts = [pid for pid in there if "muster-node host" in processes("muster-node").get(pid, "")]
    for pid in [*map(parent_of, hosts), *there]:
        kill(pid, signal.SIGKILL)


def hold_all(cluster: Slurm) -> str:
    """Another user's job, as it were: nobody gets a node while it runs."""
    words = ["sbatch", "--parsable", "-N4", "--exclusive", "-t30", "-o", "/dev/null"]
    held = cluster.run(*words, "--wrap", "sleep 1800").strip()
    wait_for(lambda: cluster.state(held) == "RUNNING", what="another job of Slurm")
    return held


def test_one_that_waits_says_why_and_survives_its_server(server: Server, cluster: Slurm) -> None:
    """Killed between sbatch and its answer, then while the allocation waits: one is asked for."""
    held = hold_all(cluster)
    stopped = server.submit(on_slurm("stopped", "sleep 600", 2))
    wait_for(lambda: asked(cluster), what="sbatch")
    server.kill()  # it may not have heard Slurm's answer
    server.start()
    wait_for(
        lambda: "waits in Slurm (Resources)" in server.muster("explain", stopped).stdout,
        what="Slurm's reason",
    )
    assert "waits in Slurm" in server.job(stopped)["reason"]
    assert len(asked(cluster)) == 1
    server.stop(stopped)  # while it waits there
    wait_for(lambda: not asked(cluster), what="it to be given back")
    number = server.submit(on_slurm("waits", "true", 2))
    wait_for(lambda: asked(cluster), what="sbatch")
    cancelled = server.submit(on_slurm("cancelled", "true"))
    wait_for(lambda: len(asked(cluster)) == 2, what="sbatch")
    cluster.run("scancel", asked(cluster)[-1][0])
    job = server.wait(cancelled)
    assert job["state"] == "stopped" and "was cancelled in Slurm" in job["reason"]
    server.kill()
    server.start()
    cluster.run("scancel", held)
    assert server.wait(number)["state"] == "succeeded"
    wait_for(lambda: not asked(cluster), what="the allocation to be given back")


def test_a_server_that_dies_as_its_job_ends(server: Server, cluster: Slurm, tmp_path: Path) -> None:
    go = tmp_path / "go"
    number = server.submit(on_slurm("ends", until_there(go)))
    server.wait(number, "running")
    server.kill()
    go.touch()
    server.start()
    assert server.wait(number)["state"] == "succeeded"
    wait_for(lambda: not asked(cluster), what="the allocation to be given back")
    number = server.submit(on_slurm("runs", "sleep 600"))
    server.wait(number, "running")
    cluster.run("scancel", asked(cluster)[0][0])
    job = server.wait(number)
    assert job["state"] == "stopped" and "was cancelled in Slurm" in job["reason"]


def test_what_slurm_has_not_fails_the_job(server: Server, cluster: Slurm) -> None:
    for job, said in (
        (on_slurm("many", "true", 9), "partition main of Slurm has 4"),
        (
            on_slurm("nope", "true", place={"engine": "slurm", "labels": {"slurm/partition": "x"}}),
            'Slurm has no partition "x"',
        ),
    ):
        ended = server.wait(server.submit(job))
        assert ended["state"] == "failed" and said in ended["reason"], ended["reason"]
    assert not asked(cluster) and not own(server)


def test_a_node_that_dies_is_left(server: Server, cluster: Slurm, tmp_path: Path) -> None:
    """Its allocation is too small then: the job gets another one."""
    go = tmp_path / "go"
    number = server.submit(on_slurm("on", until_there(go), 2, retry={"platform": 3}))
    job = server.wait(number, "running")
    lost = job["task_list"][0]["attempts"][0]["node"]
    first = asked(cluster)[0][0]
    cluster.local("kill", lost)
    switch_off(first, lost)
    try:
        wait_for(lambda: [one for one in asked(cluster)[-1:] if one[0] != first], what="another")
        go.touch()
        job = server.wait(number)
        assert job["state"] == "succeeded"
        assert all(task["attempts"][-1]["node"] != lost for task in job["task_list"])
    finally:
        cluster.local("up", lost)
    wait_for(lambda: not asked(cluster), what="both to be given back")


def test_an_exclusive_script_has_whole_nodes(
    server: Server, cluster: Slurm, tmp_path: Path
) -> None:
    """As large as the nodes say that they are: each claims 8 processors."""
    go, script = tmp_path / "go", tmp_path / "whole.sbatch"
    lines = ["#!/bin/bash", "#SBATCH -N 2 --exclusive -t 5", until_there(go), "srun true"]
    script.write_text("\n".join(lines))
    words = ("run", "--detach", "--json", "--engine", "slurm", script)
    made = json.loads(server.muster(*words, cwd=tmp_path).stdout)
    number = made["number"]
    server.wait(number, "running")
    ((allocation, _, _, nodes),) = asked(cluster)
    assert nodes == "2" and cluster.run("squeue", "-h", "-j", allocation, "-o%C").strip() == "16"
    (pilot,) = own(server)
    there = [one for one in server.get("/v1/nodes")["nodes"] if one["name"] in pilot["nodes"]]
    assert [one["cpu_milli"] for one in there] == [8000, 8000]
    go.touch()
    assert server.wait(number)["state"] == "succeeded"


def test_a_batch_script_with_no_server_there(cluster: Slurm, tmp_path: Path) -> None:
    """On a login node: a server starts by itself, and opens a port that the nodes reach."""
    code = tmp_path / "code"
    code.mkdir()
    script = code / "train.sbatch"
    lines = ["-J login", "-N 1", "--ntasks-per-node=2", "-c 2", "--mem=100M", "-t 5", "-p main"]
    text = ["#!/bin/bash", *(f"#SBATCH {line}" for line in lines)]
    script.write_text(
        "\n".join([*text, "srun -l sh -c 'echo $SLURM_PROCID in $SLURM_JOB_PARTITION'"])
    )
    state = tmp_path / "state"
    try:
        words = ("run", "--engine", "slurm", script)
        done = muster(*words, state=state, cwd=code, env=cluster.env())
        assert done.returncode == 0, done.stdout + done.stderr
        assert "1: 1 in main" in done.stdout and "1 waits: " in done.stderr
        wait_for(lambda: not asked(cluster), what="the allocation to be given back")
    finally:
        muster("server", "stop", state=state)
