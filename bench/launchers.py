"""Launchers under measurement: what their ranks tell, and an end to all of it.

Every rank tells through a pipe the monotonic time at which it came to a place; nobody polls
meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from common import ROOT, program, wait_for

VENV = ROOT / ".venv/bin"
PLAIN = """
import os, sys, time
now = time.clock_gettime(time.CLOCK_MONOTONIC)
def mark(word, at):
    fd = os.open(os.environ["MARKS"], os.O_WRONLY)
    whose = f"{os.environ['RANK']} {os.getpid()} {at} {sys.executable} {os.uname().nodename}"
    os.write(fd, f"{word} {whose}\\n".encode())
    os.close(fd)
mark("first", now)
"""
STAY = "time.sleep(600)\n"
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def node_program() -> Path:
    return program().resolve().with_name("muster-node")


def clock() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Mark:
    """One line of a rank."""

    def __init__(self, line: str) -> None:
        self.word, rank, pid, at, self.python, self.host = line.split()
        self.rank, self.pid, self.at = int(rank), int(pid), float(at)


class Run:
    """Some launchers, what their ranks marked, and an end to all of it."""

    def __init__(self, script: str, folder: str | Path = "/tmp") -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="elastic-", dir=folder)
        self.path = Path(self.folder.name)
        os.mkfifo(self.path / "marks")
        self.pipe = os.open(self.path / "marks", os.O_RDWR | os.O_NONBLOCK)
        self.unread = b""
        self.marks: list[Mark] = []
        self.script = self.path / "script.py"
        self.script.write_text(script)
        self.launchers: list[subprocess.Popen[bytes]] = []
        self.said = (self.path / "said").open("ab")

    def start(self, command: Sequence[str], **env: str) -> None:
        self.launchers.append(
            subprocess.Popen(
                [*command, str(self.script)],
                env={**environment(), "MARKS": str(self.path / "marks"), **env},
                stdin=subprocess.DEVNULL,
                stdout=self.said,
                stderr=self.said,
                cwd=self.path,
                start_new_session=True,
            )
        )

    def read(self, timeout: float) -> None:
        if not select.select([self.pipe], [], [], timeout)[0]:
            return
        *lines, self.unread = (self.unread + os.read(self.pipe, 65536)).split(b"\n")
        self.marks += [Mark(line.decode()) for line in lines]

    def last(self, word: str, ranks: int, after: float = 0, limit: float = 60) -> float:
        """When the last of so many different ranks came there."""
        until = clock() + limit
        while True:
            found = [m for m in self.marks if m.word == word and m.at > after]
            if len({m.rank for m in found}) >= ranks:
                return max(m.at for m in found)
            if clock() > until:
                said = (self.path / "said").read_text(errors="replace")[-2000:]
                raise TimeoutError(f"{ranks} ranks to say {word}; the launchers said:\n{said}")
            self.read(until - clock())

    def victim(self) -> Mark:
        """A rank of the highest number that runs."""
        top = max(m.rank for m in self.marks)
        return [m for m in self.marks if m.rank == top][-1]

    def trace(self, after: float) -> list[dict[str, Any]]:
        lines = (self.path / "trace").read_text().splitlines()
        return [line for line in map(json.loads, lines) if line["at"] > after]

    def members(self) -> list[int]:
        """Every process that was started here or by what was: by a variable that is ours alone."""
        sign = f"MARKS={self.path}/marks".encode()
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and sign in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
        return found

    def end(self) -> None:
        deadline = clock() + 20
        for launcher in self.launchers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(launcher.pid, signal.SIGCONT)
            launcher.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            for launcher in self.launchers:
                launcher.wait(max(0.0, min(3.0, deadline - clock())))
        while clock() < deadline and (left := self.members()):
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for launcher in self.launchers:
                launcher.poll()
            time.sleep(0.002)
        for launcher in self.launchers:
            launcher.wait()
        self.said.close()
        os.close(self.pipe)
        self.folder.cleanup()


@contextlib.contextmanager
def running(script: str, folder: str | Path = "/tmp") -> Iterator[Run]:
    run = Run(script, folder)
    try:
        yield run
    finally:
        # Ctrl-C waits until everything is cleared away.
        former = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        try:
            run.end()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, former)


def environment() -> dict[str, str]:
    keep = {k: v for k, v in os.environ.items() if k in ("HOME", "LANG", "TMPDIR")}
    return {**keep, "PATH": f"{VENV}:/usr/bin:/bin", "OMP_NUM_THREADS": "1"}


def children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def park(ranks: int, *launchers: int) -> None:
    """Beside its ranks and its guard a launcher has the parked interpreter and as many forks."""

    def parked() -> bool:
        return all(len(children(pid)) >= 2 * ranks + 2 for pid in launchers)

    wait_for(parked, 60, "parked interpreters", every=0.05)
    time.sleep(0.5)  # the machine is to be quiet, as it is with the other program


def on_signal(number: int, _: FrameType | None) -> None:
    """What runs is ended on the way out; one more does not stop that."""
    for each in STOPS:
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)
