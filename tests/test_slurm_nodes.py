"""Nodes of a real Slurm that are switched off silently below jobs with allocations of their own,
and allocations whose time is over: jobs go on with what is left."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Starter
from harness import (
    EXAMPLES,
    ROOT,
    VENV,
    Json,
    Server,
    alive,
    native,
    proc_bytes,
    processes,
    until_there,
    wait_for,
)
from slurm_cluster import Slurm, end_node, processes_on, slurm, stop_node, why_none
from test_silent_machines import Job
from test_slurm_jobs import asked, on_slurm

pytestmark = [
    pytest.mark.skipif(bool(why_none()), reason=why_none()),
    pytest.mark.slow,  # minutes, with daemons of Slurm for four nodes
]
TORCH = list(ROOT.glob(".venv/lib/python3*/site-packages/torch/version.py"))
ON_SLURM = {"engine": "slurm", "spread": ["worker"]}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Slurm]:
    with slurm(4) as one:
        yield one


@pytest.fixture
def server(cluster: Slurm, start: Starter) -> Iterator[Server]:
    env = {**cluster.env(), "MUSTER_PYTHON": str(VENV / "python")}
    yield start(nodes="name=here,1cpu,1Gi", env=env)
    cluster.wait_idle()


@contextmanager
def switched_off(cluster: Slurm, node: str) -> Iterator[None]:
    """Nothing of it is heard until the end, and what was there has gone then."""
    stopped = stop_node(cluster, node, {words[0] for words in asked(cluster)})
    try:
        yield
    finally:
        end_node(cluster, node, stopped)
        cluster.local("up", node)


def world(job: Job) -> list[str]:
    """Slurm's names of the nodes where living ranks of the latest world are; none, while it is not
    complete."""
    rows = [row for row in job.starts() if alive(row[3])]
    size = rows[-1][1] if rows else 0
    last = {row[0]: row[2].partition(".")[0] for row in rows if row[1] == size}
    return sorted(last.values()) if len(last) == size else []


def wait_without(job: Job, node: str) -> None:
    wait_for(lambda: bool(world(job)) and node not in world(job), what=f"a world without {node}")


def test_a_node_that_is_switched_off_is_left(
    server: Server, cluster: Slurm, tmp_path: Path
) -> None:
    """A job of a fixed size goes on on its spare, an elastic one with fewer ranks; both end, though
    the node never comes back: Slurm gives it up, and it is silent."""
    (tmp_path / "fixed").mkdir()
    (tmp_path / "elastic").mkdir()
    more = {"place": ON_SLURM, "resources": {"cpu": 3, "memory": "64Mi"}}
    fixed = Job(server, tmp_path / "fixed", replicas=2, spares=1, **more)
    elastic = Job(server, tmp_path / "elastic", replicas={"min": 2, "max": 3}, **more)
    wait_for(lambda: len(world(fixed)) == 2 and len(world(elastic)) == 3, what="both worlds")
    (lost, *_) = set(world(fixed)) & set(world(elastic))
    with switched_off(cluster, lost):
        for job in (fixed, elastic):
            wait_without(job, lost)
            assert len(world(job)) == 2 and server.state_of(job.number) == "running"
        assert lost in server.muster("show", str(elastic.number)).stdout
        fixed.end()
        elastic.end()
        for job in (fixed, elastic):
            server.wait(job.number, "succeeded")


def spread_job(server: Server, go: Path, **more: object) -> int:
    """Two tasks, on a node each, until they are let go. The first one is on the node with the batch
    script."""
    fields: Json = {"place": ON_SLURM, "resources": {"cpu": 5, "memory": "64Mi"}, **more}
    return server.submit(native("two", until_there(go), 2, retry={"platform": "always"}, **fields))


def nodes_of(cluster: Slurm) -> tuple[str, str, list[str]]:
    """Of the only allocation of ours: its number, the node with its script, the others."""
    told = cluster.run("squeue", "-h", "-t", "RUNNING", "-o", "%i %B %N %j")
    rows = [line.split() for line in told.splitlines()]
    ((allocation, batch, names, _),) = [row for row in rows if "muster-pilot-" in row[3]]
    all_names = cluster.run("scontrol", "show", "hostnames", names).split()
    return allocation, batch, [name for name in all_names if name != batch]


def folder_of(allocation: str, node: str) -> Path:
    """The directory of muster-node on a node: what its host was started with."""
    words = [line.split() for line in processes("muster-node").values()]
    (folder,) = [w[2] for w in words if w[1] == "host" and f"/{allocation}.{node}." in w[2]]
    return Path(folder)


def attempts(server: Server, number: int) -> list[int]:
    return sorted(len(task["attempts"]) for task in server.job(number)["task_list"])


@pytest.mark.parametrize("kept", [True, False])
def test_a_node_that_is_back_before_it_is_missed(
    server: Server, cluster: Slurm, tmp_path: Path, kept: bool
) -> None:
    """Slurm sees nothing of it, so it never gives the node up: it is started again there, and finds
    what was on its disk (or that there is nothing) and that nothing of it lives."""
    go = tmp_path / "go"
    number = spread_job(server, go)
    server.wait(number, "running")
    allocation, _, (lost,) = nodes_of(cluster)
    folder = folder_of(allocation, lost)
    with switched_off(cluster, lost):
        pass
    if not kept:
        shutil.rmtree(folder)  # it lay in memory
    wait_for(lambda: attempts(server, number)[-1] == 2, what="another try")
    wait_for(lambda: server.state_of(number) == "running", what="the job to go on")
    assert nodes_of(cluster)[0] == allocation and nodes_of(cluster)[2] == [lost]
    now = folder_of(allocation, lost)
    assert (now == folder) == kept
    go.touch()
    assert server.wait(number)["state"] == "succeeded"
    wait_for(lambda: not now.exists(), what="its directory to go")


def test_a_node_that_only_stands_still_is_not_doubled(
    server: Server, cluster: Slurm, tmp_path: Path
) -> None:
    """For its server it is silent, as one that was off; for Slurm it is there. What is started
    there again finds that its tasks live, and leaves them alone."""
    go = tmp_path / "go"
    number = spread_job(server, go)
    server.wait(number, "running")
    allocation, _, (lost,) = nodes_of(cluster)
    stopped = [
        p for p in processes_on(lost, {allocation}) if b"slurmstepd" not in proc_bytes(p, "cmdline")
    ]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        wait_for(lambda: server.said().count("pilot.again") >= 2, what="two tries")
        assert server.state_of(number) == "running" and attempts(server, number) == [1, 1]
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    wait_for(lambda: server.get("/v1/pilots")["pilots"][-1]["up"] == 2, what="it to be heard")
    go.touch()
    assert server.wait(number)["state"] == "succeeded"
    assert attempts(server, number) == [1, 1]


def test_a_job_is_told_before_its_time_is_over(
    server: Server, cluster: Slurm, tmp_path: Path
) -> None:
    """Not by Slurm: with its grace. It waits again, and goes on in another allocation."""
    go, told = tmp_path / "go", tmp_path / "told"
    run = f"trap 'echo told >>{told}; exit 1' TERM; {until_there(go)}"
    number = server.submit(on_slurm("late", run, limits={"grace": "5s"}))
    server.wait(number, "running")
    ((first, *_),) = asked(cluster)
    cluster.run("scontrol", "update", f"jobid={first}", "timelimit=1")
    wait_for(told.exists, timeout=120, what="the word to end")
    wait_for(lambda: cluster.state(first) == "COMPLETED", what="its end by us, no TIMEOUT")
    go.touch()
    assert server.wait(number)["state"] == "succeeded"
    assert told.read_text() == "told\n"


@pytest.mark.skipif(not TORCH, reason="no PyTorch in .venv: tools/setup python installs it")
def test_training_goes_on_without_a_node(server: Server, cluster: Slurm, tmp_path: Path) -> None:
    """The example of DDP on four nodes, one of which is switched off in the middle."""
    out = tmp_path / "out"
    epochs, save_every = 6, 8
    run = f"torchrun ddp/train.py --epochs {epochs} --resume --save-every {save_every} "
    fields: Json = {
        "place": ON_SLURM,
        "resources": {"cpu": 5, "memory": "1Gi"},
        "launcher": {"ranks_per_node": 1, "max_restarts": 3},
        "retry": {"scope": "task", "platform": 3},
        "env": {"OMP_NUM_THREADS": "1"},
        "inputs": {"code": shutil.copytree(EXAMPLES / "openpai/ddp", tmp_path / "ddp").as_posix()},
        "replicas": {"min": 3, "max": 4},
    }
    run += f"--output {out} --steps-file steps"
    number = server.submit(native("ddp", run, **fields))
    steps = out / "steps"
    server.wait(number, "running")
    wait_for(lambda: steps.exists() and len(steps.read_text().split()) > 30, 120, "its training")
    job = server.job(number)
    assert len(job["task_list"]) == 4 and len(asked(cluster)[0]) == 4
    lost = job["task_list"][3]["attempts"][0]["node"]
    with switched_off(cluster, lost):
        done = server.wait(number)
    assert done["state"] == "succeeded", done["reason"]
    said = "".join(server.log(number, f"worker/{i}") for i in range(4))
    taken_up = {int(n) for n in re.findall(r"goes on after epoch \d+, step (\d+)", said)}
    counted = [int(n) for n in steps.read_text().split()]
    back = [(a, b) for a, b in zip(counted, counted[1:]) if b != a + 1]
    # None where the last step before the loss is the one that was saved.
    assert taken_up and max(taken_up) > 0 and len(back) <= 1, (taken_up, back)
    for before, after in back:
        assert before - save_every < after <= before + 2 and after - 1 in taken_up, back
    losses = [float(x) for x in re.findall(r"epoch \d+  loss ([\d.]+)", said)]
    assert len(losses) >= epochs and losses[-1] < losses[0] / 2
    assert float(re.findall(r"final  loss [\d.]+  accuracy ([\d.]+) %", said)[-1]) > 95
