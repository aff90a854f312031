"""A device that a task has left is looked at before the next one is launched on it: on a driver of
ours (tests/nvml.py), which is asked only when somebody needs to know unless a test says more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Starter
from harness import Json, Server, muster, native, until_there, wait_for
from nvml import GIB, H100, Driver, device

pytestmark = pytest.mark.sanitizer

WHOLE = {"cpu": 1, "memory": "64Mi", "gpu": 1}
HALF = {**WHOLE, "gpu": 0.5}
SHOW = "echo $CUDA_VISIBLE_DEVICES"
ASKED = {"MUSTER_GPU_INTERVAL_MS": "3600000", "MUSTER_GPU_TIMEOUT_S": "600"}
OFTEN = {"MUSTER_GPU_INTERVAL_MS": "20", "MUSTER_GPU_TIMEOUT_S": "600"}
OUTSIDE = "of its memory are in use outside muster"


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    one = Driver(tmp_path / "driver")
    yield one
    one.close()


class Look:
    """The driver answers it when the test says so."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / name

    @property
    def line(self) -> str:
        return f"wait {self.path}"

    def asked(self) -> bool:
        return self.path.with_name(f"{self.path.name}.asked").exists()

    def begun(self) -> None:
        wait_for(self.asked)

    def answer(self) -> None:
        self.path.touch()


def attempts(server: Server, job: int) -> list[Json]:
    return list(server.get(f"/v1/jobs/{job}/tasks")["tasks"][0].get("attempts", []))


def holder(server: Server, go: Path, **resources: object) -> int:
    job = server.submit(native("holder", until_there(go), resources={**WHOLE, **resources}))
    wait_for(lambda: server.state_of(job) == "running")
    return job


def waits_for_look(server: Server, job: int) -> None:
    assert server.state_of(job) == "starting"
    said = server.muster("explain", job).stdout
    assert "waits until device 0 of " in said and "has been looked at" in said
    assert not attempts(server, job)[0].get("started_ms")


def test_the_memory_of_the_task_before_is_waited_for(
    start: Starter, driver: Driver, tmp_path: Path
) -> None:
    driver.say(device(0))
    server = start(nodes="", env={**driver.env, **ASKED})
    go = tmp_path / "go"
    first = holder(server, go)
    second = server.submit(native("second", SHOW, resources=WHOLE))
    one, two = Look(tmp_path, "one"), Look(tmp_path, "two")
    driver.say(device(0, H100, one.line, used=40 * GIB))
    go.touch()
    one.begun()
    server.wait(first, "succeeded")
    waits_for_look(server, second)
    driver.say(device(0, H100, two.line, used=40 * GIB))
    one.answer()
    two.begun()  # what it holds is not given up at once for use by others
    waits_for_look(server, second)
    driver.say(device(0))
    two.answer()
    server.wait(second, "succeeded")
    assert server.log(second, "worker/0").strip() == "0"
    assert len(attempts(server, second)) == 1
    assert "gpu.closed" not in server.said()


def test_memory_that_stays_is_used_outside(start: Starter, driver: Driver, tmp_path: Path) -> None:
    """What was given the device waits again, at no cost, and takes the other one; a replay decides
    the same."""
    driver.say(device(0), device(1))
    recording = tmp_path / "rec"
    flags = ("--record", str(recording))
    server = start(nodes="", env={**driver.env, **OFTEN}, flags=flags)
    go, later = tmp_path / "go", tmp_path / "later"
    first, other = holder(server, go), holder(server, later)
    never = dict.fromkeys(("platform", "unknown", "user", "conflict"), "never")
    second = server.submit(native("second", SHOW, resources=WHOLE, retry=never))
    driver.say(device(0, used=40 * GIB), device(1))
    go.touch()
    server.wait(first, "succeeded")
    wait_for(lambda: OUTSIDE in str(server.events(second)))
    wait_for(lambda: OUTSIDE in server.job(second)["reason"])
    wait_for(lambda: server.state_of(second) == "queued")
    later.touch()
    server.wait(other, "succeeded")
    server.wait(second, "succeeded")
    assert server.log(second, "worker/0").strip() == "1"
    assert server.job(second)["restarts"] == 0
    server.end()
    done = muster("replay", recording, state=tmp_path / "none")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "same as recorded" in done.stdout


def test_the_first_task_waits_for_no_look(start: Starter, driver: Driver) -> None:
    driver.say(device(0))
    server = start(nodes="", env={**driver.env, **ASKED})
    driver.say(before="hang\n")
    server.wait(server.submit(native("first", SHOW, resources=WHOLE)), "succeeded")


def test_a_task_that_comes_again_waits_too(start: Starter, driver: Driver, tmp_path: Path) -> None:
    """In its own place: what it had may still be held."""
    driver.say(device(0))
    server = start(nodes="", env={**driver.env, **ASKED})
    go, look = tmp_path / "go", Look(tmp_path, "look")
    run = f"{until_there(go)}; mkdir {tmp_path / 'once'} && exit 1; {SHOW}"
    retry = {"scope": "task", "unknown": 1}
    job = server.submit(native("comes", run, resources=WHOLE, retry=retry))
    wait_for(lambda: server.state_of(job) == "running")
    driver.say(device(0, H100, look.line))
    go.touch()
    look.begun()
    wait_for(lambda: len(attempts(server, job)) == 2)
    assert "has been looked at" in server.job(job)["reason"]
    assert not attempts(server, job)[1].get("started_ms")
    look.answer()
    server.wait(job, "succeeded")
    assert len(attempts(server, job)) == 2


def test_a_task_that_comes_again_goes_elsewhere_after_a_restart(
    start: Starter, driver: Driver, tmp_path: Path
) -> None:
    """Its agent lives on, and knows that it was never told of the second attempt."""
    devices = [device(n) for n in range(3)]
    driver.say(*devices)
    server = start(nodes="", env={**driver.env, **OFTEN})
    go, later, once = tmp_path / "go", tmp_path / "later", tmp_path / "once"
    first = f"mkdir {once} && {{ {until_there(go)}; exit 1; }}; {SHOW}"
    run = f"if test $MUSTER_INDEX = 0; then {first}; else {until_there(later)}; fi"
    retry = {"scope": "task", "unknown": 1, "platform": "never", "conflict": "never"}
    job = server.submit(native("comes", run, replicas=2, resources=WHOLE, retry=retry))
    wait_for(once.exists)
    wait_for(lambda: server.state_of(job) == "running")
    look, its = Look(tmp_path, "look"), attempts(server, job)[0]["gpus"][0]
    driver.say(*devices[:its], device(its, H100, look.line), *devices[its + 1 :])
    look.begun()
    go.touch()
    wait_for(lambda: len(attempts(server, job)) == 2)
    wait_for(lambda: "has been looked at" in server.job(job)["reason"])
    server.kill()
    taken = device(its, H100, f"process {os.getpid()} {40 * GIB}", used=40 * GIB)
    driver.say(*devices[:its], taken, *devices[its + 1 :])
    look.answer()
    server.start()
    wait_for(lambda: attempts(server, job)[-1].get("ended_ms"))
    later.touch()
    server.wait(job, "succeeded")
    assert attempts(server, job)[-1]["gpus"] == [2]
    assert server.log(job, "worker/0").split()[-1] == "2"
    assert server.job(job)["restarts"] == 0


def test_a_look_that_hangs_is_not_waited_for(
    start: Starter, driver: Driver, tmp_path: Path
) -> None:
    driver.say(device(0))
    env = {**driver.env, **ASKED, "MUSTER_GPU_TIMEOUT_S": "1"}
    server = start(nodes="", env=env)
    go, look = tmp_path / "go", Look(tmp_path, "look")
    first = holder(server, go)
    second = server.submit(native("second", SHOW, resources=WHOLE))
    driver.say(device(0, H100, look.line))
    go.touch()
    server.wait(first, "succeeded")
    look.begun()
    why = "the driver does not answer"
    wait_for(lambda: server.state_of(second) == "queued")
    wait_for(lambda: why in server.job(second)["reason"])
    assert why in str(server.events(second))
    assert not [a for a in attempts(server, second) if a.get("started_ms")]
    look.answer()


def test_shares_of_a_device_wait_for_one_look(
    start: Starter, driver: Driver, tmp_path: Path
) -> None:
    """Of the memory of a device that another task uses, only that of strangers counts."""
    driver.say(device(0))
    server = start(nodes="", env={**driver.env, **ASKED})
    go, on = tmp_path / "go", tmp_path / "on"
    first, other = holder(server, go, gpu=0.5), holder(server, on, gpu=0.5)
    halves = [server.submit(native("half", SHOW, resources=HALF)) for _ in range(2)]
    look = Look(tmp_path, "look")
    driver.say(device(0, H100, look.line, used=30 * GIB))
    go.touch()
    server.wait(first, "succeeded")
    look.begun()
    waits_for_look(server, halves[0])
    assert server.state_of(halves[1]) == "queued"
    look.answer()
    for job in halves:
        server.wait(job, "succeeded")
    on.touch()
    server.wait(other, "succeeded")


def test_a_server_that_starts_looks_before_it_launches(
    start: Starter, driver: Driver, tmp_path: Path
) -> None:
    driver.say(device(0))
    env = {**driver.env, "MUSTER_GPU_INTERVAL_MS": "250", "MUSTER_GPU_TIMEOUT_S": "600"}
    server = start(nodes="", env=env)
    go, one, two = tmp_path / "go", Look(tmp_path, "one"), Look(tmp_path, "two")
    first = holder(server, go)
    second = server.submit(native("second", SHOW, resources=WHOLE))
    driver.say(device(0, H100, one.line, used=40 * GIB))
    one.begun()
    go.touch()
    server.wait(first, "succeeded")
    wait_for(lambda: server.state_of(second) == "starting")
    server.kill()
    driver.say(device(0, used=40 * GIB))
    one.answer()
    server.start()
    driver.say(device(0, H100, two.line, used=40 * GIB))
    two.begun()
    assert not [a for a in attempts(server, second) if a.get("started_ms")]
    driver.say(device(0))
    two.answer()
    server.wait(second, "succeeded")
    assert server.log(second, "worker/0").strip() == "0"


def test_memory_left_before_a_restart_is_waited_for(
    start: Starter, driver: Driver, tmp_path: Path
) -> None:
    """Of a task that comes again in its place: the agent is there, so the engine may have been told
    of the second attempt."""
    driver.say(device(0))
    env = {**driver.env, "MUSTER_GPU_INTERVAL_MS": "250", "MUSTER_GPU_TIMEOUT_S": "600"}
    server = start(nodes="", env=env)
    go, look = tmp_path / "go", Look(tmp_path, "look")
    run = f"mkdir {tmp_path / 'once'} && {{ {until_there(go)}; exit 1; }}; {SHOW}"
    retry = {"scope": "task", "unknown": 1}
    job = server.submit(native("comes", run, resources=WHOLE, retry=retry))
    wait_for((tmp_path / "once").exists)
    driver.say(device(0, H100, look.line, used=40 * GIB))
    look.begun()
    go.touch()
    wait_for(lambda: "has been looked at" in server.job(job)["reason"])
    server.kill()
    driver.say(device(0, used=40 * GIB))
    look.answer()
    server.start()
    looks = [Look(tmp_path, f"look{i}") for i in range(3)]
    for one in looks:  # the first finds memory that is still held, and so does the second
        driver.say(device(0, H100, one.line, used=40 * GIB))
        wait_for(lambda one=one: attempts(server, job)[1].get("started_ms") or one.asked())  # type: ignore[misc]
        assert not attempts(server, job)[1].get("started_ms")
        driver.say(device(0, used=0 if one is looks[-1] else 40 * GIB))
        one.answer()
    server.wait(job, "succeeded")
    assert len(attempts(server, job)) == 2


def test_the_memory_of_another_servers_task_is_waited_for(
    start: Starter, driver: Driver, tmp_path: Path
) -> None:
    driver.say(device(0))
    one, two = (start(nodes="", env={**driver.env, **e}) for e in (ASKED, OFTEN))
    go, look = tmp_path / "go", Look(tmp_path, "look")
    first = holder(one, go)
    wait_for(lambda: "another server" in str(two.get("/v1/nodes")))
    second = two.submit(native("second", SHOW, resources=WHOLE))
    driver.say(device(0, H100, look.line, used=40 * GIB))
    look.begun()
    go.touch()
    one.wait(first, "succeeded")
    look.answer()
    wait_for(lambda: OUTSIDE in two.job(second)["reason"])
    assert not attempts(two, second)
    driver.say(device(0))
    two.wait(second, "succeeded")
