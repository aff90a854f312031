"""Allocations of a real Slurm as nodes of a server: started, joined, worked in, lost, given
back."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from harness import (
    Json,
    Server,
    free_port,
    kill,
    native,
    processes,
    program,
    until_there,
    wait_for,
)
from slurm_cluster import Slurm, end_node, slurm, stop_node, why_none

pytestmark = [
    pytest.mark.skipif(bool(why_none()), reason=why_none()),
    pytest.mark.slow,  # minutes, with daemons of Slurm for four nodes
]


BEFORE = frozenset(processes("muster-node"))  # others' on this machine, of other clusters
THERE_BEFORE = frozenset(Path("/tmp").glob("muster-node.*.*"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Slurm]:
    with slurm(4, "--gpus-per-node", "2") as one:
        yield one


@pytest.fixture
def server(cluster: Slurm, start: Starter) -> Iterator[Server]:
    agents = f"127.0.0.1:{free_port()}"  # the next server has the same
    one = start(nodes="name=here,1cpu,1Gi", flags=("--agents", agents), env=cluster.env())
    yield one
    if one.running():
        for pilot in pilots(one):
            if pilot["state"] != "over":
                one.muster("pilot", "stop", "--now", pilot["name"])
    cluster.wait_idle()


def pilots(server: Server) -> list[Json]:
    listed: list[Json] = server.get("/v1/pilots")["pilots"]
    return listed


def pilot(server: Server, name: str = "p1") -> Json:
    one: Json = server.get(f"/v1/pilots/{name}")
    return one


def start_pilot(server: Server, *words: str) -> Json:
    done = server.muster("pilot", "start", "--json", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    made: Json = json.loads(done.stdout)
    return made


def wait_pilot(server: Server, state: str, name: str = "p1") -> Json:
    wait_for(lambda: pilot(server, name)["state"] == state, what=f"{name} {state}")
    return pilot(server, name)


def nodes_of(server: Server, **more: Any) -> list[Json]:
    found = [one for one in server.get("/v1/nodes")["nodes"] if one["engine"] == "slurm"]
    return [one for one in found if all(one.get(key) == value for key, value in more.items())]


def states_of(server: Server, number: int) -> list[str]:
    return [task["state"] for task in server.job(number)["task_list"]]


def left_of(made: Json) -> dict[int, str]:
    """Hosts, keepers and agents of an allocation: all have its directory in their arguments."""
    mark = f"/muster-{os.getuid()}/{made['allocation']}."
    names = [f"{mark}{node}." for node in made["nodes"]]
    found = {pid: line for pid, line in processes("muster-node").items() if pid not in BEFORE}
    return {pid: line for pid, line in found.items() if any(name in line for name in names)}


def test_jobs_run_on_the_nodes_of_an_allocation(server: Server, tmp_path: Path) -> None:
    made = start_pilot(server, "--nodes", "4", "--time", "30m", "--wait")
    assert made["up"] == made["asked"] == 4 and made["partition"] == "main"
    up = nodes_of(server, state="up")
    assert sorted(one["name"] for one in up) == ["n1", "n2", "n3", "n4"]
    assert all(one["labels"]["slurm/job"] == made["allocation"] for one in up)
    assert all(one["cpu_milli"] == 8000 and 0 < one["lasts_ms"] < 1800000 for one in up)
    shown = server.muster("nodes").stdout
    assert f"slurm, partition main, allocation {made['allocation']}" in shown
    say = "echo $MUSTER_TASK_NODE ${SLURM_JOB_ID-none}"
    job = server.run(native("four", say, 4, resources={"cpu": 5}))
    assert job["state"] == "succeeded"
    assert sorted(task["attempts"][0]["node"] for task in job["task_list"]) == [
        "n1",
        "n2",
        "n3",
        "n4",
    ]
    assert "none" in server.log(job["number"], "worker/0")
    # A limit beyond what is left waits, and says so.
    long = server.submit(
        native("long", resources={"cpu": 5}, limits={"run_time": "2h"}),
    )
    wait_for(
        lambda: "is longer than any node" in server.muster("explain", long).stdout,
        what="the reason",
    )
    server.stop(long)
    one = server.submit(native("stays", "sleep 600", resources={"cpu": 5}))
    server.wait(one, "running")
    done = server.muster("pilot", "stop", "--wait", "p1")
    assert done.returncode == 0, done.stderr
    assert pilot(server)["state"] == "over" and "stopped by" in pilot(server)["reason"]
    assert server.job(one)["state"] == "queued"  # it waits for the next one
    server.stop(one)
    wait_for(lambda: not nodes_of(server), what="the nodes to go")
    wait_for(lambda: not left_of(made), what="its processes to end")


def copies_of(allocation: str) -> list[Path]:
    """Whoever was killed may have left some of an allocation of that number before."""
    there = Path("/tmp").glob(f"muster-node.{allocation}.*")
    return [path for path in there if path not in THERE_BEFORE]


def folders_of(allocation: str) -> list[Path]:
    """The directories of its nodes: what their hosts were started with."""
    words = [line.split() for line in processes("muster-node").values()]
    return [Path(w[2]) for w in words if w[1:2] == ["host"] and f"/{allocation}." in w[2]]


@pytest.fixture
def unseen(cluster: Slurm, start: Starter, tmp_path: Path) -> Iterator[Server]:
    """Its muster-node lies where no node has it: gone, once the server has packed it."""
    folder = program().resolve().parent
    for name in ("muster-node", "muster-node.xz"):
        shutil.copy(folder / name, tmp_path / name)
    env = {**cluster.env(), "MUSTER_NODE_PROGRAM": str(tmp_path / "muster-node")}
    one = start(nodes="name=here,1cpu,1Gi", env=env)
    start_pilot(one, "--nodes", "1", "--wait")
    one.muster("pilot", "stop", "--now", "--wait", "p1")
    (tmp_path / "muster-node").unlink()
    yield one
    for pilot in pilots(one):
        if pilot["state"] != "over":
            one.muster("pilot", "stop", "--now", pilot["name"])
    cluster.wait_idle()


@pytest.mark.parametrize("how", ["given back", "cancelled"])
def test_a_program_that_was_brought_goes_with_it(unseen: Server, cluster: Slurm, how: str) -> None:
    made = start_pilot(unseen, "--nodes", "3", "--wait")
    wait_for(lambda: len(copies_of(made["allocation"])) == 1, what="one copy")
    (copy,) = copies_of(made["allocation"])
    assert copy.stat().st_size < program().resolve().with_name("muster-node").stat().st_size / 2
    job = unseen.run(native("all", "true", 3, resources={"cpu": 5}))
    assert job["state"] == "succeeded"
    folders = folders_of(made["allocation"])
    assert len(folders) == 3 and all(folder.exists() for folder in folders)
    if how == "cancelled":
        cluster.run("scancel", made["allocation"])
    else:
        unseen.muster("pilot", "stop", "p2")
    wait_pilot(unseen, "over", "p2")
    wait_for(lambda: not left_of(made), what="its processes to end")
    wait_for(lambda: not copies_of(made["allocation"]), what="what was brought to go")
    wait_for(lambda: not [f for f in folders if f.exists()], what="their directories to go")


def test_a_node_that_was_off_is_brought_the_program_again(unseen: Server, cluster: Slurm) -> None:
    """Nothing of it is on the node any more, nor of the directory that it had. It has again what
    the allocation has there."""
    made = start_pilot(unseen, "--nodes", "2", "--gpus-per-node", "2", "--wait")
    allocation = made["allocation"]
    (batch,) = cluster.run("squeue", "-h", "-j", allocation, "-o", "%B").split()
    (lost,) = [one for one in wait_pilot(unseen, "running", "p2")["nodes"] if one != batch]
    (before,) = nodes_of(unseen, name=lost)
    assert before["gpus"] == 2
    (folder,) = [one for one in folders_of(allocation) if f".{lost}." in one.name]
    end_node(cluster, lost, stop_node(cluster, lost, {allocation}))
    shutil.rmtree(folder)
    for copy in copies_of(allocation):
        copy.unlink(missing_ok=True)
    cluster.local("up", lost)
    wait_for(lambda: pilot(unseen, "p2")["up"] == 1, what="it to be missed")
    wait_for(lambda: pilot(unseen, "p2")["up"] == 2, what="it to be back")
    (now,) = nodes_of(unseen, name=lost)
    assert [now[key] for key in ("gpus", "cpu_milli", "memory")] == [
        before[key] for key in ("gpus", "cpu_milli", "memory")
    ]
    unseen.muster("pilot", "stop", "p2")
    wait_pilot(unseen, "over", "p2")
    wait_for(lambda: not left_of(made), what="its processes to end")
    wait_for(lambda: not copies_of(allocation), what="what was brought to go")


def test_what_slurm_refuses_is_said(server: Server) -> None:
    for words, said in (
        (["-p", "nope"], "Invalid partition name"),
        (["--", "--foo"], "unrecognized option"),
        (["--", "-J", "x"], "is set by muster"),
        (["-t", "5s"], "time"),
    ):
        done = server.muster("pilot", "start", "-N", "1", *words)
        assert done.returncode != 0 and said in done.stderr, (words, done.stderr)
    assert not [one for one in pilots(server) if one["state"] != "over"]
    assert server.muster("pilot", "stop", "p99").returncode != 0


def test_a_pilot_that_waits_says_why(server: Server, cluster: Slurm) -> None:
    held = cluster.run(
        *["sbatch", "--parsable", "-N4", "--exclusive", "-t5", "-o", "/dev/null"],
        *["--wrap", "sleep 600"],
    ).strip()
    wait_for(lambda: cluster.state(held) == "RUNNING", what="another job of Slurm")
    start_pilot(server, "--nodes", "2", "--gpus-per-node", "2")
    wait_pilot(server, "pending")
    number = server.submit(native("waits", "true", 2, resources={"cpu": 6}))
    wait_for(
        lambda: (
            "Resources" in server.muster("explain", number).stdout
            or "Resources" in server.muster("nodes").stdout
        ),
        what="Slurm's reason",
    )
    down = nodes_of(server)
    assert [one["state"] for one in down] == ["down", "down"]
    assert all("pilot p1 waits in Slurm" in one["why"] for one in down)
    assert "Resources" in server.muster("pilot", "ls").stdout
    cluster.run("scancel", held)
    assert server.wait(number)["state"] == "succeeded"
    assert [one["gpus"] for one in nodes_of(server, state="up")] == [2, 2]


def test_a_server_that_starts_anew_finds_its_allocations(
    server: Server, cluster: Slurm, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    made = start_pilot(server, "--nodes", "2", "--wait")
    job = native(
        "long", f"{until_there(go)}; exit 5", 2, resources={"cpu": 6}, done={"failed": 2}
    )  # neither's end stops the other
    number = server.submit(job)
    server.wait(number, "running")
    server.kill()
    server.start()
    assert pilot(server)["allocation"] == made["allocation"]
    assert server.state_of(number) == "running"
    go.touch()
    attempts = [task["attempts"] for task in server.wait(number)["task_list"]]
    assert [[one["exit_code"] for one in of] for of in attempts] == [[5], [5]]


def test_an_allocation_that_is_cancelled_by_hand(
    server: Server, cluster: Slurm, tmp_path: Path
) -> None:
    made = start_pilot(server, "--nodes", "2", "--wait")
    job = native("lost", "sleep 600", 2, resources={"cpu": 6}, retry={"platform": 3})
    number = server.submit(job)
    server.wait(number, "running")
    cluster.run("scancel", made["allocation"])
    assert wait_pilot(server, "over")["reason"] == "it was cancelled"
    wait_for(lambda: not nodes_of(server), what="the nodes to go")
    # Told to end before Slurm did it, or by it; either way both tasks wait for nodes.
    live = {"starting", "running"}
    wait_for(lambda: not live & set(states_of(server, number)), what="its tasks to wait again")
    wait_for(lambda: server.state_of(number) in ("queued", "restarting"), what="it to wait")
    wait_for(lambda: not left_of(made), what="its processes to end")
    server.stop(number)


def test_slurm_that_cannot_be_asked(server: Server, cluster: Slurm, tmp_path: Path) -> None:
    go = tmp_path / "go"
    start_pilot(server, "--nodes", "1", "--wait")
    number = server.submit(native("on", f"{until_there(go)}; exit 5", resources={"cpu": 6}))
    server.wait(number, "running")
    since = time.time()  # one that is killed before it has saved that forgets the allocation
    state = cluster.home / "state/job_state"
    wait_for(lambda: state.stat().st_mtime > since, what="Slurm to save its state")
    cluster.local("kill", "ctld")
    try:
        wait_for(lambda: "slurm" in server.get("/v1/pilots"), what="its trouble to be seen")
        assert pilot(server)["state"] == "running" and server.state_of(number) == "running"
    finally:
        cluster.local("up", "ctld")
    wait_for(lambda: "slurm" not in server.get("/v1/pilots"), what="it to answer again")
    assert pilot(server)["state"] == "running"
    go.touch()
    assert server.wait(number)["task_list"][0]["attempts"][0]["exit_code"] == 5


def test_a_controller_that_forgets_a_start(server: Server, cluster: Slurm) -> None:
    """Killed within a second of it, as it was seen to; where it starts the allocation again, or
    holds it, nothing of the first start is taken for the second one's."""
    made = start_pilot(server, "--nodes", "2", "--wait")
    first = {one["name"]: one for one in nodes_of(server)}
    cluster.local("kill", "ctld")
    cluster.local("up", "ctld")
    wait_for(lambda: "slurm" not in server.get("/v1/pilots"), what="it to answer")
    done = server.muster("pilot", "stop", "--now", "--wait", "p1")
    assert done.returncode == 0 and len(first) == 2, done.stderr
    wait_for(lambda: not nodes_of(server), what="the nodes to go")
    wait_for(lambda: not left_of(made), what="its processes to end")
    # A number that was forgotten is given out again, and what ends the job that had it ends the
    # next one: that is to be none of a test's.
    cluster.run("sbatch", "--hold", "--wrap", "true")


def test_a_host_that_dies_is_started_again(server: Server, tmp_path: Path) -> None:
    go = tmp_path / "go"
    made = start_pilot(server, "--nodes", "1", "--wait")
    number = server.submit(native("on", f"{until_there(go)}; exit 5", resources={"cpu": 6}))
    server.wait(number, "running")
    (host,) = [pid for pid, line in left_of(made).items() if "muster-node host" in line]
    kill(host, signal.SIGKILL)
    wait_for(lambda: pilot(server)["up"] == 0, what="the host to be missed")
    wait_for(lambda: pilot(server)["up"] == 1, what="the next host")
    assert server.state_of(number) == "running"
    go.touch()
    assert server.wait(number)["task_list"][0]["attempts"][0]["exit_code"] == 5


def test_an_allocation_that_nobody_uses_is_given_back(server: Server, cluster: Slurm) -> None:
    made = start_pilot(server, "--nodes", "1", "--idle-end", "3s")
    assert wait_pilot(server, "over")["reason"] == "it had no task for as long as it may"
    wait_for(
        lambda: cluster.state(made["allocation"]) == "COMPLETED", what="its script to end well"
    )


def test_a_job_ends_with_its_grace_before_the_time_is_over(
    server: Server, cluster: Slurm, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    run = f"trap 'echo told > {told}; exit 3' TERM; while :; do sleep 0.1; done"
    made = start_pilot(server, "--nodes", "1", "--time", "1m", "--wait")
    number = server.submit(native("late", run, resources={"cpu": 6}))
    server.wait(number, "running")
    wait_for(told.exists, timeout=120, what="its grace")
    over = wait_pilot(server, "over")
    assert over["reason"] == "its time is nearly over"
    wait_for(lambda: cluster.state(made["allocation"]) == "COMPLETED", what="no TIMEOUT")
    assert server.state_of(number) == "queued"
    server.stop(number)
