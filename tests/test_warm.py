"""Warm restart end to end: ranks that are forked from the parked interpreter after a kill, what is
left of it, and when ranks are started cold instead."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from harness import VENV, Json, kill, patience, program, start_time, wait_for

LAUNCHER = program().with_name("muster-node")
LINE = """
import json, os, sys
def tell(**more):
    fact = dict(rank=int(os.environ["RANK"]), pid=os.getpid(), argv=sys.argv, **more)
    fact["restart"] = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    fact["preloaded"] = "ctypes" in sys.modules
    with open(os.environ["FACTS"], "a") as file:
        file.write(json.dumps(fact) + "\\n")
"""
WAITING = f"{LINE}\ntell()\nimport time\ntime.sleep(600)\n"
TORCH = f"""{LINE}
import torch, torch.distributed as dist
dist.init_process_group("gloo")
sum = torch.ones(1)
dist.all_reduce(sum)
tell(sum=sum.item())
import time
time.sleep(600)
"""

LATE = f"""{LINE}
import torch
tell(before="torch._dynamo" in sys.modules)
import time
while not os.path.exists(os.environ["FACTS"] + ".go"):
    time.sleep(0.05)
import torch._dynamo
time.sleep(600)
"""


class Run:
    def __init__(self, folder: Path, script: str, *flags: str) -> None:
        self.facts_file = folder / "facts"
        self.facts_file.touch()
        (folder / "train.py").write_text(script)
        self.stderr = folder / "stderr"
        command = [
            str(LAUNCHER),
            "torchrun",
            "--standalone",
            "--nproc-per-node=2",
            "--max-restarts=5",
        ]
        env = os.environ | {
            "FACTS": str(self.facts_file),
            "PATH": f"{VENV}:{os.environ['PATH']}",
            "PYTHON_EXEC": str(VENV / "python"),
        }
        with self.stderr.open("w") as file:
            self.process = subprocess.Popen(
                [*command, *flags, "train.py", "--lr", "1e-3"],
                cwd=folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
            )

    def round(self, number: int) -> list[Json]:
        """What both ranks of this round told."""

        def found() -> list[Json]:
            lines = self.facts_file.read_text().split("\n")[:-1]
            facts = [fact for fact in map(json.loads, lines) if fact["restart"] == number]
            return facts if len(facts) == 2 else []

        return wait_for(found, timeout=40, what=f"round {number}; {self.stderr.read_text()}")

    def parked(self) -> set[int]:
        """Children of the launcher that are not ranks: the parked interpreter and its bench."""
        pid = self.process.pid
        found = set()
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                with contextlib.suppress(OSError):
                    if b"parked by muster" in Path(f"/proc/{child}/cmdline").read_bytes():
                        found.add(int(child))
        return found

    def await_parked(self) -> set[int]:
        """The parked interpreter and one process per rank."""
        return wait_for(
            lambda: found if len(found := self.parked()) == 3 else None,
            timeout=40,
            what=f"an interpreter to be parked; {self.stderr.read_text()}",
        )


@contextlib.contextmanager
def running(folder: Path, script: str, *flags: str) -> Iterator[Run]:
    run = Run(folder, script, *flags)
    try:
        yield run
    finally:
        run.process.kill()
        run.process.wait()


def gone(pids: set[int]) -> bool:
    return all(start_time(pid) is None for pid in pids)


@pytest.mark.parametrize("script", [WAITING, TORCH], ids=["plain", "torch"])
def test_restart_after_kill_is_a_fork(tmp_path: Path, script: str) -> None:
    with running(tmp_path, script) as run:
        facts = run.round(0)
        for number in (1, 2):
            bench = run.await_parked()
            os.kill(facts[0]["pid"], signal.SIGKILL)
            facts = run.round(number)
            assert {fact["pid"] for fact in facts} < bench, "ranks were not the parked ones"
            assert {fact["rank"] for fact in facts} == {0, 1}
            assert facts[0]["argv"] == ["train.py", "--lr", "1e-3"]
            assert all(fact.get("sum", 2) == 2 for fact in facts)
            for fact in facts:
                line = Path(f"/proc/{fact['pid']}/cmdline").read_bytes().split(b"\0")
                assert line[1:5] == [b"-u", b"train.py", b"--lr", b"1e-3"]


def test_what_is_imported_late_is_ready_all_the_same(tmp_path: Path) -> None:
    """As DistributedDataParallel and the optimizers do when they are first used."""
    with running(tmp_path, LATE) as run:
        facts = run.round(0)
        first = run.await_parked()
        run.facts_file.with_name("facts.go").touch()
        wait_for(partial(gone, first), timeout=40, what="another one in the place of the first")
        bench = run.await_parked()
        os.kill(facts[1]["pid"], signal.SIGKILL)
        facts = run.round(1)
        assert {fact["pid"] for fact in facts} < bench
        assert all(fact["before"] for fact in facts)


def test_nothing_parked_outlives_the_launcher(tmp_path: Path) -> None:
    for number in (signal.SIGKILL, signal.SIGTERM):
        folder = tmp_path / number.name
        folder.mkdir()
        with running(folder, WAITING) as run:
            ranks = {fact["pid"] for fact in run.round(0)}
            parked = run.await_parked()
            run.process.send_signal(number)
            run.process.wait(patience(40))
            everything = ranks | parked
            wait_for(partial(gone, everything), timeout=5, what="all of it to be gone")


def test_warm_off_parks_nothing_and_restarts_cold(tmp_path: Path) -> None:
    with running(tmp_path, WAITING, "--warm", "off") as run:
        facts = run.round(0)
        for number in (1, 2):
            os.kill(facts[1]["pid"], signal.SIGKILL)
            facts = run.round(number)
            assert not any(fact["preloaded"] for fact in facts)
            assert not run.parked()


def test_a_parked_interpreter_that_dies_is_a_cold_start(tmp_path: Path) -> None:
    with running(tmp_path, WAITING) as run:
        first = run.round(0)
        parked = run.await_parked()
        for pid in parked:  # one may take the others along
            kill(pid)
        wait_for(lambda: gone(parked), what="the parked ones to be gone")
        os.kill(first[0]["pid"], signal.SIGKILL)
        second = run.round(1)
        assert not {fact["pid"] for fact in second} & parked
        assert not any(fact["preloaded"] for fact in second)


def test_preload_of_a_thread_starter_is_a_cold_start(tmp_path: Path) -> None:
    (tmp_path / "starter.py").write_text(
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    )
    with running(tmp_path, WAITING, "--preload", "starter") as run:
        first = run.round(0)
        wait_for(
            lambda: "threads that outlive a fork" in run.stderr.read_text() or None,
            timeout=20,
            what="the reason",
        )
        os.kill(first[0]["pid"], signal.SIGKILL)
        run.round(1)
