"""Damage to a state directory while no server runs, and the remedy that the refused start names:
what tests/torture does between a kill and the next start."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness import FINAL, Json, Server, alive, kill, proc_bytes, wait_for

PAGE = 4096
OF_AN_AGENT = ("agent.conf", "keeper.pid", "keeper.lock", "hosts")

Files = Callable[[Path], Iterator[Path]]


def one(name: str) -> Files:
    return lambda state: iter([state / name])


def of_agents(state: Path) -> Iterator[Path]:
    for directory in state.glob("runs/*/g*/*"):
        for name in OF_AN_AGENT:
            yield directory / name


# ---- what is done to a file ----


def remove(path: Path, _: random.Random) -> None:
    path.unlink()


def empty(path: Path, _: random.Random) -> None:
    os.truncate(path, 0)


def cut(path: Path, dice: random.Random) -> None:
    os.truncate(path, dice.randrange(path.stat().st_size))


def cut_page(path: Path, dice: random.Random) -> None:
    os.truncate(path, dice.randrange(path.stat().st_size // PAGE) * PAGE)


def flip(path: Path, dice: random.Random) -> None:
    with path.open("r+b") as file:
        file.seek(dice.randrange(path.stat().st_size))
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1 << dice.randrange(8)]))


def zero_page(path: Path, dice: random.Random) -> None:
    with path.open("r+b") as file:
        file.seek(dice.randrange(path.stat().st_size // PAGE) * PAGE)
        file.write(bytes(PAGE))


How = Callable[[Path, random.Random], None]

# A bit that is another in the text of a row is not here: SQLite's database has no sums over its
# pages. Its write-ahead log has.
KINDS: dict[str, tuple[Files, tuple[How, ...]]] = {
    "log": (one("muster.db-wal"), (remove, empty, cut, flip)),
    "database": (one("muster.db"), (remove, empty, cut_page, zero_page)),
    "mark": (one("muster.db.mark"), (remove, empty, cut, flip)),
    "ballast": (one("muster.db.ballast"), (remove, empty, cut)),
    "token": (one("token"), (remove, empty)),
    "key": (one("seal_key.path"), (remove, empty, cut, flip)),
    "address": (one("server.json"), (remove, empty, cut, flip)),
    "agent": (of_agents, (remove, empty, cut, flip)),
}


@dataclass
class Damage:
    kind: str
    path: Path
    how: str
    kept: bytes

    def __str__(self) -> str:
        return f"{self.path.name}: {self.how}"

    def job(self) -> int:
        """Of a file of an agent; 0: of none."""
        return int(self.path.parts[-4]) if self.kind == "agent" else 0


def damage(state: Path, dice: random.Random, kind: str) -> Damage | None:
    """None: there is no such file with something in it."""
    files, hows = KINDS[kind]
    there = sorted(path for path in files(state) if path.is_file() and path.stat().st_size)
    if not there:
        return None
    path, how = dice.choice(there), dice.choice(hows)
    made = Damage(kind, path, how.__name__.replace("_", " "), path.read_bytes())
    how(path, dice)
    return made


# ---- the remedy ----


@dataclass
class Mended:
    """What `muster server recover` named, over all times it was called."""

    missing: list[range] = field(default_factory=list)  # numbers of jobs
    set_back: set[int] = field(default_factory=set)  # of those that live, or lost what they were
    next_number: int = 0

    def is_missing(self, number: int) -> bool:
        return any(number in numbers for numbers in self.missing)


def set_back(database: Path) -> set[int]:
    """By records that were just made whole: nothing of them lies in a write-ahead log."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?immutable=1", uri=True)) as db:
        marks = ",".join("?" * len(FINAL))
        lost = "id NOT IN (SELECT job FROM body)"
        rows = db.execute(f"SELECT number FROM job WHERE state NOT IN ({marks}) OR {lost}", FINAL)
        return {number for (number,) in rows}


def recover(server: Server, *args: str) -> Json:
    done = server.muster("server", "recover", "--json", *args)
    if done.returncode != 0:
        raise RuntimeError(f"muster server recover {' '.join(args)}: {done.stderr}")
    found: Json = json.loads(done.stdout)
    return found


def end_stranger(server: Server, run: Json) -> None:
    """By the pid that is named, which is its keeper's or, where that file is damaged, none."""
    keepers = [
        pid
        for pid in server.agents(run["number"])["keeper"]
        if proc_bytes(pid, "cmdline").rstrip(b"\0").endswith(f"/{run['node']}".encode())
    ]
    if run["pid"] and keepers and run["pid"] not in keepers:
        raise RuntimeError(f"{run} is named, and its keeper is {keepers}")
    for pid in keepers:
        kill(pid, signal.SIGTERM)
    for pid in keepers:
        wait_for(lambda pid=pid: not alive(pid), what="the end of a run")  # type: ignore[misc]


def recover_records(server: Server, mended: Mended) -> None:
    """Looks first, as the refusal says. What runs of jobs that are missing is ended by the process
    that is named, because nobody counts any more what it holds."""
    looked = recover(server, "--dry-run")
    done = recover(server)
    if any(done[key] != value for key, value in looked.items() if key != "running"):
        raise RuntimeError(f"a look found {looked}, and it became {done}")
    if recover(server)["damaged"]:
        raise RuntimeError("records that were made whole are damaged")
    for run in done["running"]:
        end_stranger(server, run)
    if numbers := done["missing"].get("jobs"):
        mended.missing.append(range(numbers["from"], numbers["to"] + 1))
    for job in done.get("missing_jobs", ()):
        if "number" in job:
            mended.missing.append(range(job["number"], job["number"] + 1))
    mended.set_back |= set_back(server.state / "muster.db")
    mended.next_number = max(mended.next_number, done["next_number"])


def start_after(server: Server, made: Damage, mended: Mended) -> str:
    """Starts the server; when it refuses, does what it says. What that was."""
    before = len(server.said())
    try:
        server.start()
        return ""
    except RuntimeError:
        said = server.said()[before:]
    if "muster server recover --dry-run" in said:
        recover_records(server, mended)
        remedy = "recovered"
    elif made.kind == "token" and "remove it" in said:
        made.path.unlink()
        remedy = "removed"
    elif made.kind == "key" and ("put" in said or "write the path" in said):
        made.path.write_bytes(made.kept)
        remedy = "put back"
    else:
        raise RuntimeError(f"{made}, and no remedy: {said}")
    server.start()
    return remedy
