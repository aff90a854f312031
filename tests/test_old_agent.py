"""Agents and launchers of version 0.1 under the server of now, as after an upgrade beside running
jobs: both programs of that version are built from the history, their server starts the jobs, and
the one of now goes on with them."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import closed
from harness import ROOT, Server, kill, native, scratch, until_there, wait_for
from nvml import Driver, device
from test_launch_job import Job

COMMIT = "88c7117962a5558e2841634f6f5127f225b46ec5"  # the last one of version 0.1
FOLDER = ROOT / "build/version-0.1"
PROGRAM = FOLDER / "build/src/main/muster"
DONE = FOLDER / "built"

pytestmark = pytest.mark.slow


def call(*words: str | Path, cwd: Path = ROOT) -> None:
    done = subprocess.run(
        [*map(str, words)], cwd=cwd, check=False, capture_output=True, text=True, errors="replace"
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def why_not() -> str:
    ask = ["git", "cat-file", "-e", f"{COMMIT}^{{commit}}"]
    if not shutil.which("git") or not (ROOT / ".git").exists():
        return "version 0.1 is built from the history, and there is none"
    found = subprocess.run(ask, cwd=ROOT, check=False, capture_output=True)
    return "" if found.returncode == 0 else "the history here does not reach back to version 0.1"


@dataclass
class Older(Server):
    """A server of version 0.1; its agents are too."""

    def command(self) -> list[str]:
        return [str(PROGRAM), *super().command()[1:]]


@pytest.fixture(scope="module")
def built() -> None:
    if why_not():
        pytest.skip(why_not())
    FOLDER.parent.mkdir(exist_ok=True)
    with FOLDER.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other test processes need it too
        if not DONE.exists():
            build()


def build() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    call("git", "archive", "--output", FOLDER / "sources.tar", COMMIT)
    call("tar", "xf", "sources.tar", cwd=FOLDER)
    call("meson", "setup", "build", "--buildtype=debugoptimized", cwd=FOLDER)
    call("ninja", "-C", "build", "src/main/muster-node", "src/main/muster", cwd=FOLDER)
    DONE.touch()


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    one = Driver(tmp_path / "driver")
    yield one
    one.close()


@pytest.fixture
def older(built: None) -> Iterator[Older]:
    server = Older(nodes="2x4cpu,4Gi", state=scratch())
    server.start()
    yield server
    closed(server)


def upgraded(older: Older) -> Server:
    """The server of now in its place."""
    assert older.end() == 0
    now = Server(nodes=older.nodes, env=older.env, state=older.state).start()
    older.process = now.process  # what ends the one of the fixture ends this one
    return now


def test_tasks_go_on_and_are_retried(older: Older) -> None:
    go = older.state / "go"
    run = f"echo began $MUSTER_ATTEMPT; {until_there(go)}; echo over; [ $MUSTER_ATTEMPT = 2 ]"
    number = older.submit(native("retried", run, replicas=2, retry={"unknown": 1}))
    older.wait(number, "running")
    wait_for(lambda: older.log(number).count("began 1") == 2)
    agents = older.agents(number)

    now = upgraded(older)
    assert now.state_of(number) == "running"
    ask = ("exec", number, "worker/0", "--", "echo", "heard")
    wait_for(lambda: now.muster(*ask).stdout == "heard\n", what="its agent to be back")
    go.touch()
    job = now.wait(number)
    assert job["state"] == "succeeded", job
    assert now.log(number).count("began 1") == now.log(number).count("began 2") == 2
    kinds = [event["type"] for event in now.events(number)]
    assert kinds.count("task.started") == 4, kinds
    assert "agent.lost" not in kinds
    assert agents["agent"], agents  # and none is left: the fixture looks


def test_stop_reaches_them(older: Older) -> None:
    mark = older.state / "asked"
    run = f"trap 'touch {mark}; exit 0' TERM; echo there; while :; do sleep 0.01; done"
    number = older.submit(native("stays", run))
    older.wait(number, "running")
    wait_for(lambda: "there" in older.log(number))

    now = upgraded(older)
    assert now.stop(number).status == 202
    assert now.wait(number)["state"] == "stopped"
    assert mark.exists()
    assert now.run(native("new", "echo new"))["state"] == "succeeded"


def test_a_retried_task_keeps_its_device(built: None, driver: Driver) -> None:
    """Launches name how devices are held since then: an agent that cannot read it is not told."""
    driver.say(device(0), device(1))
    older = Older(nodes="", env=driver.env)
    older.start()
    try:
        go = older.state / "go"
        run = f"echo on $CUDA_VISIBLE_DEVICES; {until_there(go)}; [ $MUSTER_ATTEMPT = 2 ]"
        asks = {"cpu": 1, "memory": "64Mi", "gpu": 1}
        number = older.submit(native("retried", run, resources=asks, retry={"unknown": 1}))
        older.wait(number, "running")
        wait_for(lambda: older.log(number).count("on ") == 1)

        now = upgraded(older)
        go.touch()
        job = now.wait(number)
        assert job["state"] == "succeeded", job
        assert now.log(number) == "on 0\non 0\n"
    finally:
        closed(older)


def test_launchers_meet_anew(older: Older) -> None:
    job = Job(older)
    older.wait(job.number, "running")
    before = job.wait_world(4, 60)

    job.server = upgraded(older)
    kill(int(before[0]["pid"]))
    job.wait_world(4, 60, but=frozenset(row["pid"] for row in before))
    job.end.touch()
    ended = job.server.wait(job.number)
    assert ended["state"] == "succeeded", ended
