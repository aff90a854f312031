"""A crowded cluster for real: 200 jobs of three queues on 16 nodes, with gangs, arrays, jobs after
jobs, preemption and a node that is drained and comes back. Nothing is lost or done twice, everybody
who waits is told why, and all end well."""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from conftest import Starter
from harness import Json, Server, native, wait_for

QUEUES = """
kind: quota
name: research
guaranteed: {gpu: 8}
---
kind: quota
name: prod
guaranteed: {gpu: 4}
maximum: {gpu: 10}
user: {gpu: 8}
---
kind: quota
name: scratch
strategy: intelligent
"""
# What a reason has to name: an amount, a job, a node, a time.
FIRST = 16  # one to a node
CONCRETE = re.compile(r"\d")


class Crowd:
    def __init__(self, server: Server, folder: Path, count: int) -> None:
        self.server, self.folder, self.count = server, folder, count
        self.there = folder / "there"
        self.gate = folder / "gate"  # a FIFO: to open it waits for the test, and takes no time
        os.mkfifo(self.gate)
        self.dice = random.Random(count)
        self.jobs: dict[int, int] = {}  # by number: tasks that write a line
        self.gangs: set[int] = set()
        self.reasons: Counter[str] = Counter()

    def line(self, seconds: float) -> str:
        """One line of a whole write (job, task and attempt), when all jobs are there, however long
        that takes: until then they wait, or have somebody to take from."""
        return (
            f"[ -e {self.there} ] || : < {self.gate}; sleep {seconds:.2f}; "
            f"exec printf '%s %s %s\\n' $MUSTER_JOB_NUMBER "
            f"$MUSTER_ARRAY_INDEX-$MUSTER_TASK_INDEX $MUSTER_RESTART_COUNT "
            f">> {self.folder}/lines"
        )

    def submit(self, name: str, seconds: float, tasks: int = 1, **fields: object) -> int:
        number = self.server.submit(native(name, self.line(seconds), tasks, **fields))
        self.jobs[number] = tasks
        return number

    def one(self, i: int) -> None:
        dice = self.dice
        fields: Json = {
            "queue": dice.choice(["research", "prod", "scratch", "default"]),
            "priority": dice.randrange(1, 10),
            "preemptible": dice.random() < 0.6,
            "capacity": dice.choice(["guaranteed", "guaranteed", "guaranteed", "any", "idle"]),
            "resources": {"cpu": 1, "memory": "64Mi", "gpu": dice.choice([0.5, 1, 1])},
        }
        fields["limits"] = {"grace": "1s"}
        if dice.random() < 0.5:
            fields["limits"]["run_time"] = dice.choice(["30m", "1h", "2h"])
        tasks = dice.choice([2, 3, 6]) if i % 12 == 5 else 1
        if tasks > 1:
            fields |= {"preemptible": False, "capacity": "guaranteed", "queue": "research"}
            fields["resources"] = {"cpu": 1, "memory": "64Mi", "gpu": 1}
        if i % 9 == 4 and self.jobs:
            fields["after"] = [{"job": dice.choice(sorted(self.jobs)), "ended": "any"}]
        number = self.submit(f"j{i}", dice.choice([0, 0.1, 0.3, 0.8]), tasks, **fields)
        if tasks > 1:
            self.gangs.add(number)

    def arrive(self) -> None:
        # Low ones that fill all nodes: what follows has somebody to take from.
        for i in range(FIRST):
            self.submit(
                f"low{i}",
                0,
                queue="scratch",
                priority=1,
                preemptible=True,
                capacity="idle" if i % 2 else "guaranteed",
                limits={"grace": "1s"},
                resources={"gpu": 1, "cpu": 1},
            )
        wait_for(lambda: len(self.server.jobs(state="running")) == FIRST)
        for i in range(self.count - FIRST):
            self.one(i)
            if i % 10 == 9:
                self.ask_why()
        self.ask_why(self.count)
        self.there.touch()
        self.writer = os.open(self.gate, os.O_RDWR)  # who comes from now on finds the gate open

    def ask_why(self, most: int = 4) -> None:
        """Of some that wait."""
        waiting = self.server.jobs(state="queued")
        for job in self.dice.sample(waiting, min(most, len(waiting))):
            done = self.server.muster("explain", job["number"], "--json")
            assert done.returncode == 0, done.stderr
            e = json.loads(done.stdout)
            if e["state"] != "queued":
                continue
            assert e.get("reason"), e
            assert e.get("why") not in (None, "", "none"), e
            assert e["why"] == "pending" or CONCRETE.search(e["reason"]), e
            self.reasons[e["why"]] += 1

    def left(self) -> dict[int, str]:
        live = self.server.jobs(state="queued,starting,running,restarting,stopping")
        return {job["number"]: job["state"] for job in live}

    def watch(self) -> None:
        """To the end of all of them."""
        drained = ""
        before: dict[int, str] = {}

        def through() -> bool:
            nonlocal drained, before
            live = self.left()
            if live != before:  # else all wait for what they waited for
                self.ask_why()
            before = live
            left = len(live)
            if not drained and left < self.count * 2 // 3:
                drained = "n3"
                assert self.server.muster("drain", drained).returncode == 0
            elif drained and left < self.count // 3:
                self.server.muster("drain", "--undo", drained)
            return not left

        wait_for(through, 600, "the end of all of them", every=0.2)

    def check(self) -> None:
        lines = [line.split() for line in (self.folder / "lines").read_text().splitlines()]
        assert max(Counter(map(tuple, lines)).values()) == 1, "an attempt ended twice"
        last: dict[int, Counter[str]] = {}
        for number, _, attempt in lines:
            last.setdefault(int(number), Counter())[attempt] += 1
        for job in self.server.jobs():
            number = job["number"]
            if number not in self.jobs:
                continue
            assert job["state"] == "succeeded", job
            if job.get("members"):
                continue
            assert number in last, f"{number} is lost"
            newest = max(last[number], key=int)
            assert last[number][newest] == self.jobs[number], (job, last[number])


def crowd(server: Server, folder: Path, count: int) -> Crowd:
    assert server.muster("apply", "-f", "-", stdin=QUEUES).returncode == 0
    c = Crowd(server, folder, count)
    c.arrive()
    array = server.submit(native("arr", c.line(0.1), array={"count": 8, "at_once": 3}))
    c.watch()
    os.close(c.writer)
    assert server.state_of(array) == "succeeded"
    members = [line for line in (folder / "lines").read_text().splitlines() if " -" not in line]
    assert len({line.split()[1] for line in members}) == 8, members
    c.check()
    return c


def evicted(server: Server) -> int:
    found = re.search(r"^muster_evict\w* (\d+)$", server.api("GET", "/metrics").text, re.M)
    assert found
    return int(found[1])


def test_sixty(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="16x8cpu,8Gi,1gpu")
    c = crowd(server, tmp_path, 60)
    print(c.reasons, evicted(server))
    assert len(c.reasons) >= 2 and evicted(server) >= 2, (c.reasons, evicted(server))


@pytest.mark.slow
def test_two_hundred(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="16x8cpu,8Gi,1gpu")
    c = crowd(server, tmp_path, 200)
    print(c.reasons, evicted(server))
    assert len(c.reasons) >= 3 and evicted(server) >= 5
