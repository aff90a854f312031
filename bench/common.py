"""What the benchmarks share: options, tables, the load generator, and records made by copying jobs
that really ran."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from harness import ON_NODES, Json, Server, native, program, wait_for  # noqa: E402

SLURM = ROOT.parent / "shared/tools/slurm-local"


@dataclass
class Figure:
    what: str
    value: float
    unit: str
    aim: str = ""
    good: bool | None = None  # None: there is no aim


@dataclass
class Bench:
    """Collects figures; prints a table, or with --json one document."""

    name: str
    options: argparse.Namespace
    figures: dict[str, Figure] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    table: list[list[str]] = field(default_factory=list)  # shown before the figures, heads first
    more: Json = field(default_factory=dict)  # goes into the document beside the figures

    def add(
        self,
        key: str,
        what: str,
        value: float,
        unit: str,
        least: float | None = None,
        most: float | None = None,
    ) -> None:
        aim, good = "", None
        if least is not None:
            aim, good = f"≥ {least:,g}", value >= least
        if most is not None:
            aim, good = f"≤ {most:,g}", value <= most
        self.figures[key] = Figure(what, value, unit, aim, good)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def say(self, text: str) -> None:
        """Progress: on a terminal only, never in the result."""
        if sys.stderr.isatty() and not self.options.json:
            print(f"\r\033[K{self.name}: {text}", end="", file=sys.stderr, flush=True)

    def finish(self) -> None:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        if self.options.json:
            figures = {key: round(f.value, 4) for key, f in self.figures.items()}
            aims = {key: f.aim for key, f in self.figures.items() if f.aim}
            document: Json = {"bench": self.name, "figures": figures, "aims": aims, **self.more}
            if self.notes:
                document["notes"] = self.notes
            print(json.dumps(document, ensure_ascii=False, indent=2))
            return
        widths = [max(len(cell) for cell in column) for column in zip(*self.table, strict=True)]
        for row in self.table:
            line = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
            head = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
            print(f"{self.name:<10} {'  '.join([*head, *line])}")
        for f in self.figures.values():
            verdict = "" if f.good is None else "ok" if f.good else "SHORT"
            size = abs(f.value)
            digits = 0 if size >= 1000 else 2 if size >= 1 or f.value == 0 else 3
            value = f"{f.value:,.{digits}f}"
            print(f"{self.name:<10} {f.what:<58} {value:>10} {f.unit:<5} {f.aim:>9}  {verdict}")
        for note in self.notes:
            print(f"{self.name:<10} {note}")


def bench(
    name: str,
    doc: str,
    run: Callable[[Bench], None],
    options: Callable[[argparse.ArgumentParser], None] = lambda _: None,
) -> None:
    parser = argparse.ArgumentParser(
        prog=f"bench/{name}", description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one document instead of a table")
    options(parser)
    one = Bench(name, parser.parse_args())
    if not program().exists():
        sys.exit(f"{program()} is not there: make build")
    run(one)
    one.finish()


@contextlib.contextmanager
def server(
    nodes: str = "4x16cpu,64Gi,4gpu", *flags: str, quiet: bool = True, **env: str
) -> Iterator[Server]:
    """A server for one measurement; quiet: its log is not part of what is measured."""
    more = ("--log-level", "warn") if quiet else ()
    one = Server(nodes=nodes, flags=(*flags, *more), env=env)
    try:
        yield one.start()
    finally:
        one.close(states=ON_NODES)


# ---- the load generator ----


def load_program() -> Path:
    """bench/load.c, as the build made it or made here."""
    built = program().resolve().parents[2] / "bench/load"
    if built.is_file():
        return built
    here = ROOT / "build/bench-load"
    source = ROOT / "bench/load.c"
    if not here.exists() or here.stat().st_mtime < source.stat().st_mtime:
        here.parent.mkdir(exist_ok=True)
        subprocess.run(
            ["cc", "-std=c17", "-D_GNU_SOURCE", "-O2", "-o", str(here), str(source)], check=True
        )
    return here


def load(
    address: str, connections: int, requests: int, head: str, body: bytes = b"", length: bool = True
) -> Json:
    """So many requests over so many keep-alive connections. "@@@@@@@@" is the request's number."""
    lines = [*head.splitlines(), "Host: bench"]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    with tempfile.NamedTemporaryFile(suffix=".http") as file:
        file.write("\r\n".join([*lines, "", ""]).encode() + body)
        file.flush()
        done = subprocess.run(
            [str(load_program()), address, str(connections), str(requests), file.name],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    result: Json = json.loads(done.stdout)
    return result


def tcp(one: Server) -> tuple[str, str]:
    """Address for load(), and the header that lets it in."""
    address = str(one.info()["address"]).removeprefix("http://")
    token = (one.state / "token").read_text().strip()
    return address, f"Authorization: Bearer {token}"


# ---- many records ----


def columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def copy_rows(db: sqlite3.Connection, table: str, key: str, job: int, new: dict[str, str]) -> None:
    """Each row of the job again for each n of the series; new: expressions with n for columns."""
    names = columns(db, table)
    values = ", ".join(new.get(name, name) for name in names)
    db.execute(
        f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM series, {table}"
        f" WHERE {key} = ? ORDER BY n",
        (job,),
    )


def multiply(one: Server, number: int, count: int, **new: str) -> None:
    """The stopped server's records get `count` copies of a job with all that belongs to it; new:
    expressions with n for columns of the job."""
    with contextlib.closing(sqlite3.connect(one.state / "muster.db")) as db:
        (job,) = db.execute("SELECT id FROM job WHERE number = ?", (number,)).fetchone()
        (last,) = db.execute("SELECT max(id) FROM job").fetchone()
        (top,) = db.execute("SELECT max(number) FROM job").fetchone()
        (seq,) = db.execute("SELECT max(seq) FROM event").fetchone()
        (least,) = db.execute("SELECT min(seq) FROM event WHERE job = ?", (job,)).fetchone()
        (events,) = db.execute("SELECT count(*) FROM event WHERE job = ?", (job,)).fetchone()
        db.execute("CREATE TEMP TABLE series (n INTEGER PRIMARY KEY)")
        db.executemany("INSERT INTO series VALUES (?)", ((i,) for i in range(1, count + 1)))
        own = {"job": f"{last} + n"}
        copy_rows(db, "job", "id", job, {"id": f"{last} + n", "number": f"{top} + n", **new})
        for table in ("body", "facet", "origin", "task", "attempt"):
            copy_rows(db, table, "job", job, own)
        ahead = f"{seq} + (n - 1) * {4 * events} + (event.seq - {least}) + 1"
        copy_rows(db, "event", "job", job, {**own, "seq": ahead})
        db.commit()


# ---- other things ----


def milliseconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def private_kib(pid: int) -> int:
    """Memory that is the process's alone."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_"))


def sync_ms(folder: Path, rounds: int = 100) -> float:
    """What the disk under a state directory takes to make 16 KiB durable (median)."""
    path = folder / "sync"
    with path.open("wb", buffering=0) as file:

        def once() -> None:
            file.write(bytes(16384))
            os.fdatasync(file.fileno())

        took = median([milliseconds(once) for _ in range(rounds)])
    path.unlink()
    return took


def resident_mib(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    (line,) = [x for x in text.splitlines() if x.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def restart(one: Server) -> float:
    """kill -9, start, first answer to a real request: milliseconds."""
    one.kill()
    return milliseconds(lambda: (one.start(), one.get("/v1/jobs", limit=1)))


class Slurm:
    """A local Slurm for as long as it is compared with; `why_not` says why there is none."""

    def __init__(self, *start: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
        self.env = {**os.environ, "SLURM_LOCAL_DIR": str(self.folder)}
        self.start = start
        self.exports = ""
        self.why_not = ""

    def tool(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(SLURM), *args], env=self.env, capture_output=True, text=True, check=False
        )

    def __enter__(self) -> Slurm:
        if not shutil.which("sbatch"):
            self.why_not = "Slurm is not installed"
        elif not SLURM.exists():
            self.why_not = "slurm-local is not beside the clone"
        elif self.tool("start", "4", "--clean", *self.start).returncode != 0:
            self.why_not = "the local Slurm did not start"
        else:
            self.exports = self.tool("env").stdout
        return self

    def __exit__(self, *_: object) -> None:
        if self.exports:
            self.tool("stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def shell(self, script: str) -> subprocess.Popen[bytes]:
        command = ["bash", "-c", f"{self.exports}\n{script}"]
        null = subprocess.DEVNULL
        return subprocess.Popen(command, env=self.env, stdout=null, stderr=null)


__all__ = [
    "Slurm",
    "Any",
    "Bench",
    "Json",
    "Server",
    "bench",
    "load",
    "median",
    "milliseconds",
    "multiply",
    "native",
    "private_kib",
    "program",
    "resident_mib",
    "restart",
    "server",
    "sync_ms",
    "tcp",
    "wait_for",
]
