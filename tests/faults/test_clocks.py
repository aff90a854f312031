"""The machine's clock is set back and forward while a server runs: dates change, and nothing that
waits, ends or expires does. What a machine was away for counts."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import Server, native, scratch, until_there, wait_for

DAY = 86400
HOUR = 3600
SOURCE = Path(__file__).with_name("shifted_clock.c")
Json = dict[str, Any]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("cc"):
        pytest.skip("no C compiler: the library that shifts a clock cannot be made")
    out = tmp_path_factory.mktemp("clock") / "shifted_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", out, SOURCE, "-ldl"], check=True)
    return out


class Clock:
    """Of a server: what its wall clock is ahead by, and for how long longer its machine runs."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.set(0)

    def set(self, ahead_s: float, up_s: float = 0) -> None:
        with self.file.open("r+b" if self.file.exists() else "w+b") as out:
            out.write(struct.pack("=qq", int(ahead_s * 1e6), int(up_s * 1e6)))

    def move(self, host: str, ahead_s: float) -> None:
        """To another machine, which has run for an hour."""
        up = float(Path("/proc/uptime").read_text().split()[0])
        self.file.with_name(self.file.name + ".boot").write_text(f"boot-of-{host}\n")
        self.file.with_name(self.file.name + ".host").write_text(f"{host}\n")
        self.set(ahead_s, HOUR - up)

    def reboot(self, away_s: float) -> None:
        up = float(Path("/proc/uptime").read_text().split()[0])
        self.file.with_name(self.file.name + ".boot").write_text("another-boot\n")
        self.set(away_s, 1 - up)


Clocked = tuple[Server, Clock]


@pytest.fixture
def clocked(library: Path) -> Iterator[Callable[..., Clocked]]:
    made: list[Server] = []

    def starter(**options: Any) -> Clocked:
        state = scratch()
        clock = Clock(state / "clock")
        env = {"LD_PRELOAD": str(library), "MUSTER_TEST_CLOCK": str(clock.file)}
        server = Server(state=state, env=env, **options)
        made.append(server)
        return server.start(), clock

    yield starter
    for server in made:
        left = server.close()
        assert not left, f"still there after the end: {left}"


def attempts(server: Server, job: int) -> int:
    return sum(len(task["attempts"]) for task in server.job(job)["task_list"])


def token(server: Server, *more: str) -> str:
    done = server.muster("token", "create", "-q", *more)
    assert done.returncode == 0, done
    return done.stdout.strip()


def told(server: Server, kind: str) -> list[Json]:
    found = server.get("/v1/events", limit=10000)["events"]
    return [event for event in found if event["type"] == kind]


@pytest.mark.parametrize("days", [-1, 1])
def test_a_clock_that_is_set_changes_no_limit(clocked: Callable[..., Clocked], days: int) -> None:
    server, clock = clocked(nodes="1x4cpu,8Gi")
    few = {"cpu": 1}
    short = server.submit(native("short", "sleep 600", resources=few, limits={"run_time": "3s"}))
    long = server.submit(native("long", "sleep 600", resources=few, limits={"run_time": "1h"}))
    always = {"scope": "task", "unknown": "always"}
    hurried = server.submit(native("hurried", "exit 3", resources=few, retry=always))
    go = server.state / "go"
    blocker = server.submit(native("blocker", until_there(go), resources={"cpu": 1}))
    for job in (long, blocker):
        server.wait(job, "running")
    server.wait(short, "running", "failed")
    wait_for(lambda: attempts(server, hurried) >= 6, what="waits between its attempts")
    first = server.submit(native("first", "true", resources={"cpu": 4}, limits={"pending": "1h"}))
    server.wait(first, "queued")
    text = native("keyed", "true", resources=few, suspend=True)
    keyed = server.submit(text, "some-key")
    lasting = token(server, "--expires", "1h")
    up = server.get("/v1/server")["uptime_s"]

    clock.set(days * DAY)
    second = server.submit(native("second", "true", resources={"cpu": 4}, limits={"pending": "1h"}))
    server.wait(short, "failed")
    assert "longer than its limit of 3s" in server.job(short)["reason"]
    n = attempts(server, hurried)
    wait_for(lambda: attempts(server, hurried) > n, what="another attempt after its wait")
    assert server.state_of(long) == "running", server.job(long)["reason"]
    assert server.submit(text, "some-key") == keyed, "the key is remembered"
    assert server.get("/v1/server")["uptime_s"] - up < HOUR
    assert server.muster("ls", env={"MUSTER_TOKEN": lasting}).returncode == 0

    server.kill()
    server.start()  # it goes on by the same clock
    server.wait(long, "running")
    assert server.state_of(first) == server.state_of(second) == "queued"
    n = attempts(server, hurried)
    wait_for(lambda: attempts(server, hurried) > n, what="another attempt after its wait")
    server.stop(hurried, now=True)
    server.stop(long, now=True)
    go.touch()
    for job in (first, second):
        server.wait(job, "succeeded")
    begun = [event["number"] for event in told(server, "allocated")]
    assert begun.index(first) < begun.index(second), "in the order in which they came"

    (event,) = told(server, "clock.set")
    assert event["text"].startswith(
        f"the machine's clock was set {'back' if days < 0 else 'forward'} by 1d"
    )
    every = server.get("/v1/events", limit=10000)["events"]
    steady = [event["steady_ms"] for event in every]
    assert steady == sorted(steady) and steady[-1] - steady[0] < HOUR * 1000
    dates = [event["at_ms"] for event in every]
    assert abs(dates[-1] - dates[0] - days * DAY * 1000) < HOUR * 1000
    ended = server.job(long)
    assert abs(ended["ended_ms"] - ended["started_ms"] - days * DAY * 1000) < HOUR * 1000

    clock.set(0)
    again = server.submit(native("again", "sleep 600", resources=few, limits={"run_time": "1s"}))
    server.wait(again, "failed")


def test_a_token_ends_although_the_clock_was_set_back(clocked: Callable[..., Clocked]) -> None:
    server, clock = clocked(nodes="1x4cpu,8Gi")
    brief = token(server, "--expires", "2s")
    clock.set(-DAY)
    address = server.info()["address"]
    env = {"MUSTER_SERVER": address, "MUSTER_TOKEN": brief}
    wait_for(lambda: server.muster("ls", env=env).returncode == 5, what="the end of the token")


def test_what_the_machine_was_away_for_counts(clocked: Callable[..., Clocked]) -> None:
    """Nothing but the wall clock can say it, and an event does."""
    server, clock = clocked(nodes="1x4cpu,8Gi")
    server.submit(native("blocker", "sleep 600", resources={"cpu": 4}))
    server.wait(1, "running")
    waiting = {
        hours: server.submit(
            native("waits", "true", resources={"cpu": 4}, limits={"pending": f"{hours}h"})
        )
        for hours in (1, 10)
    }
    before = told(server, "submitted")[-1]
    server.kill()
    clock.reboot(2 * HOUR)
    server.start()
    server.wait(waiting[1], "failed")
    assert "did not start within its pending limit" in server.job(waiting[1])["reason"]
    assert server.state_of(waiting[10]) == "queued"
    (event,) = told(server, "clock.rebooted")
    assert re.search(r"it was away for (1h59m|2h)", event["text"]), event
    assert 2 * HOUR - 2 <= (event["steady_ms"] - before["steady_ms"]) / 1000 < 3 * HOUR
    server.kill()
    server.start()
    assert len(told(server, "clock.rebooted")) == 1
    assert server.state_of(waiting[10]) == "queued"
