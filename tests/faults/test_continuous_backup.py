"""A continuous backup holds what the server says it holds: whatever is killed, and whatever the
place that it goes to does. What is not as it was written is refused, with its place."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from faults.test_backup import all_jobs, packed, submissions, submit_many, upload
from harness import Server, native, wait_for

Status = dict[str, Any]


def flags(target: Path, *more: str) -> tuple[str, ...]:
    return ("--backup-to", str(target), "--backup-every", "100ms", *more)


def place(folder: Path) -> Path:
    target = folder / "there"
    target.mkdir()
    return target


def status(server: Server) -> Status:
    found: Status = server.get("/v1/server")["backup"]
    return found


def await_status(server: Server, good: Callable[[Status], object], what: str) -> Status:
    last: list[Status] = [{}]

    def look() -> bool:
        last[0] = status(server)
        return bool(good(last[0]))

    wait_for(look, what=what)
    return last[0]


def follows(one: Status) -> bool:
    return bool(one["state"] == "following")


def whole(one: Status) -> bool:
    """All that was committed is there."""
    return follows(one) and one["lacks"] == {"events": 0, "seconds": 0}


def restore(target: Path, *args: str) -> tuple[Server, Any]:
    other = Server(nodes="2cpu,2Gi")
    done = other.muster("restore", target, "--json", *args)
    assert done.returncode == 0, done.stderr
    return other, json.loads(done.stdout)


def reach(target: Path, *args: str) -> int:
    """The last event that would come back."""
    other, done = restore(target, "--dry-run", *args)
    shutil.rmtree(other.state)
    event: int = done["events_to"]
    return event


@contextmanager
def started(other: Server) -> Iterator[Server]:
    try:
        yield other.start()
    finally:
        assert not other.close()


def numbers(server: Server) -> set[int]:
    return {job["number"] for job in all_jobs(server)}


def chains(target: Path) -> list[str]:
    return sorted(found.name for found in target.iterdir() if (found / "head.json").exists())


def test_what_it_says_comes_back(start: Starter, tmp_path: Path) -> None:
    """The disk of the records is lost while jobs are submitted; what had been sent last is known
    exactly, because nothing can be sent any more."""
    target = place(tmp_path)
    key = ("--seal-key", str(tmp_path / "key"))
    server = start(nodes="2cpu,2Gi", flags=flags(target, *key))
    with submissions(server) as acknowledged:
        await_status(server, lambda s: s.get("segment", 0) > 3, "segments")
        away = target.rename(tmp_path / "away")
        failing = await_status(server, lambda s: s["state"] == "failing", "a failure that is said")
        reached = len(acknowledged)
        wait_for(lambda: len(acknowledged) > reached + 20, what="submissions without it")
        said = status(server)
    assert said["shipped"] == failing["shipped"] and said["lacks"]["events"] > 20
    assert said["lacks"]["seconds"] > 0
    server.kill()
    shutil.rmtree(server.state)
    away.rename(target)
    other, done = restore(target)
    assert done["events_to"] == said["shipped"]["event"]
    assert done["backup"]["chain"] == said["chain"]
    assert done["backup"]["segments"] == said["segment"] and done["seal_key_here"]
    with started(other):
        assert numbers(other) == set(range(1, said["shipped"]["number"] + 1))
        assert other.submit(native("new")) == done["next_number"] > max(acknowledged)


def test_all_is_there_after_a_stop(start: Starter, tmp_path: Path) -> None:
    target = place(tmp_path)
    server = start(nodes="2cpu,2Gi", flags=(*flags(target)[:2], "--backup-every", "1h"))
    await_status(server, lambda s: s.get("chain"), "a base")
    jobs = submit_many(server, 0, 50, 2000)
    assert status(server)["lacks"]["events"] >= 50
    server.end()
    other, _ = restore(target)
    with started(other):
        assert numbers(other) == set(jobs)


def test_code_that_came_after_the_base(start: Starter, tmp_path: Path) -> None:
    target = place(tmp_path)
    server = start(nodes="2cpu,2Gi", flags=flags(target))
    await_status(server, lambda s: s.get("chain"), "a base")
    code = upload(server, packed("print('from a segment')\n"))
    unused = upload(server, packed("print('of no job')\n"))
    inputs = {"code": {"archive": f"sha256:{code}"}}
    job = server.submit(native("c", "python3 main.py", suspend=True, inputs=inputs))
    await_status(server, whole, "the segment")
    server.submit(native("d", suspend=True))
    await_status(server, whole, "another")
    server.kill()
    other, done = restore(target)
    assert done["backup"]["archives"] == 1
    assert not (other.state / "archives" / unused).exists()
    with started(other):
        other.api("POST", f"/v1/jobs/{job}/resume").good()
        other.wait(job, "succeeded")
        assert "from a segment" in other.log(job)


def seen(target: Path, pattern: str) -> bool:
    """Old chains go meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        return any(target.glob(pattern))
    return False


@contextmanager
def submitted_to(server: Server) -> Iterator[None]:
    """Jobs are submitted until the server is gone."""

    def go_on() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                submit_many(server, 0, 2)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        server.kill()
        thread.join()


def test_killed_while_it_is_written(start: Starter, tmp_path: Path) -> None:
    """At the begin of a base, in it, after it; in a segment, between it and its head."""
    target = place(tmp_path)
    server = start(nodes="2cpu,2Gi", flags=flags(target, "--backup-base", "1s"))
    await_status(server, follows, "the first base")
    points: list[Callable[[set[Path]], object]] = [
        lambda had: set(target.iterdir()) - had,
        lambda had: seen(target, "*/base.tar.part"),
        lambda had: [f for f in set(target.iterdir()) - had if (f / "base.tar").exists()],
        lambda had: seen(target, "*/0*.tar.part"),
        lambda had: seen(target, "*/head.json.part"),
        lambda had: [f for f in set(target.iterdir()) - had if (f / "00000001.tar").exists()],
        lambda had: [f for f in set(target.iterdir()) - had if (f / "00000003.tar").exists()],
    ]
    sure = 0
    for point in points:
        server.kill()
        had = set(target.iterdir())
        server.start()
        with submitted_to(server):
            wait_for(lambda: point(had), every=0.0005, what="the point")  # noqa: B023
            sure = max(sure, status(server)["shipped"]["event"])
        assert reach(target) >= sure
    server.start()
    await_status(server, whole, "a chain of the next server")
    assert reach(target) == status(server)["shipped"]["event"]


@pytest.fixture
def chain(start: Starter, tmp_path: Path) -> Path:
    """A target with two chains; the newer one has four segments or more, one job in each."""
    target = place(tmp_path)
    server = start(nodes="2cpu,2Gi", flags=flags(target))
    await_status(server, whole, "the first chain")
    server.end()
    server.start()
    await_status(server, lambda s: s.get("chain") == 2, "the second chain")
    for i in range(4):
        server.submit(native(f"j{i}", "true " + "x" * 20000, suspend=True))
        await_status(server, whole, "a segment")
    server.end()
    assert chains(target) == ["00000001", "00000002"]
    return target


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def swap(a: Path, b: Path) -> None:
    first = a.read_bytes()
    a.write_bytes(b.read_bytes())
    b.write_bytes(first)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3000])


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a byte of a segment": (lambda c: flip(c / "00000002.tar", 5000), "00000002.tar"),
    "cut off": (lambda c: cut(c / "00000002.tar"), "00000002.tar"),
    "empty": (lambda c: (c / "00000002.tar").write_bytes(b""), "00000002.tar"),
    "missing": (lambda c: (c / "00000002.tar").unlink(), "segment 2 of the"),
    "exchanged": (lambda c: swap(c / "00000002.tar", c / "00000003.tar"), "00000002.tar"),
    "twice": (lambda c: shutil.copy(c / "00000001.tar", c / "00000002.tar"), "00000002.tar"),
    "a base": (lambda c: shutil.copy(c / "base.tar", c / "00000002.tar"), "00000002.tar"),
    "of another chain": (
        lambda c: shutil.copy(c / "../00000001/base.tar", c / "base.tar"),
        "base.tar",
    ),
    "a byte of the base": (lambda c: flip(c / "base.tar", 50000), "base.tar"),
    "no base": (lambda c: (c / "base.tar").unlink(), "base.tar"),
    "no head": (lambda c: (c / "head.json").unlink(), "head.json"),
    "a head of nothing": (lambda c: (c / "head.json").write_text("{}"), "head.json"),
}


def test_damaged_chains_are_refused(chain: Path, tmp_path: Path) -> None:
    newest = chain / "00000002"
    events = [reach(chain, "--segments", str(n)) for n in range(4)]
    assert events == sorted(set(events)) and events[-1] < reach(chain)
    last = max(newest.glob("0*.tar"))
    several = {**DAMAGES, "the last is missing": (lambda c: (c / last.name).unlink(), last.stem)}
    for name, (damage, where) in several.items():
        copy = tmp_path / "copy"
        shutil.copytree(chain, copy)
        damage(copy / "00000002")
        other = Server(nodes="2cpu,2Gi")
        for args in ((), ("--force",), ("--dry-run",)):
            said = other.muster("restore", copy, *args)
            place = where.lstrip("0") if where == last.stem else where
            assert said.returncode == 2 and place in said.stderr, (name, said.stderr)
            assert "nothing was changed" in said.stderr or "older chain" in said.stderr, name
        assert not (other.state / "muster.db").exists()
        if "00000002" in where or "segment" in where:
            assert "--segments 1" in said.stderr, (name, said.stderr)
            assert reach(copy, "--segments", "1") == events[1]
        # The chain before it is as it was.
        assert reach(copy / "00000001") <= events[0]
        shutil.rmtree(other.state)
        shutil.rmtree(copy)
    # A segment that is there and not yet in the head is in it: the child was killed in between.
    head = json.loads((newest / "head.json").read_text())
    whole_reach = reach(chain)
    assert head["records"]["event"] == whole_reach


def test_a_part_is_no_backup(chain: Path) -> None:
    other = Server(nodes="2cpu,2Gi")
    said = other.muster("restore", "--dry-run", chain / "00000002/00000001.tar")
    assert said.returncode == 2 and "name its directory" in said.stderr
    base = other.muster("restore", "--dry-run", chain / "00000002/base.tar")
    assert base.returncode == 0
    none = other.muster("restore", "--dry-run", chain / "..")
    assert none.returncode == 2 and "no whole backup" in none.stderr
    many = other.muster("restore", "--dry-run", "--segments", "4000", chain)
    assert many.returncode == 2 and "has " in many.stderr
    wrong = other.muster("restore", "--dry-run", "--segments", "1", chain / "00000002/base.tar")
    assert wrong.returncode == 2 and "--segments" in wrong.stderr
    shutil.rmtree(other.state)


def test_gone_and_back(start: Starter, tmp_path: Path) -> None:
    """It goes on with the same chain, without another base."""
    target = place(tmp_path)
    server = start(nodes="2cpu,2Gi", flags=flags(target))
    before = await_status(server, whole, "a base")
    away = target.rename(tmp_path / "away")
    jobs = submit_many(server, 0, 20, 2000)
    failing = await_status(server, lambda s: s["state"] == "failing", "a failure")
    assert str(target) in failing["error"] and failing["hint"]
    assert failing["shipped"] == before["shipped"] and failing["lacks"]["events"] >= 20
    shown = server.muster("server", "status").stdout
    assert "are lacking" in shown and "failing" in shown
    assert "it fails" in server.muster("doctor").stdout
    assert "backup.failing" in server.said()
    assert not target.exists()  # never made: a disk may have to be mounted there
    away.rename(target)
    after = await_status(server, whole, "what was lacking")
    assert after["chain"] == before["chain"] and "error" not in after
    assert chains(target) == ["00000001"]
    server.kill()
    other, _ = restore(target)
    with started(other):
        assert numbers(other) == set(jobs)


def test_not_there_at_the_start(start: Starter, tmp_path: Path) -> None:
    target = tmp_path / "there"
    server = start(nodes="2cpu,2Gi", flags=flags(target))
    await_status(server, lambda s: s["state"] == "failing", "a failure")
    assert "shipped" not in status(server)
    assert "nothing is there yet" in server.muster("server", "status").stdout
    submit_many(server, 0, 3)
    target.mkdir()
    await_status(server, whole, "a base")


def test_somebody_emptied_it(start: Starter, tmp_path: Path) -> None:
    """A chain that is not there any more is not gone on with: a new one begins."""
    target = place(tmp_path)
    server = start(nodes="2cpu,2Gi", flags=flags(target))
    await_status(server, whole, "a base")
    shutil.rmtree(target / "00000001")
    jobs = submit_many(server, 0, 3)
    await_status(server, lambda s: whole(s) and chains(target), "another base")
    server.kill()
    other, _ = restore(target)
    with started(other):
        assert numbers(other) == set(jobs)


@contextmanager
def small_disk(path: Path, size: str) -> Iterator[None]:
    path.mkdir()
    if os.geteuid() != 0 or mount("-t", "tmpfs", "-o", f"size={size},mode=700", "full", path):
        pytest.skip("only root mounts a small disk")
    try:
        yield
    finally:
        assert mount("-l", path, program="umount") == 0


def mount(*args: str | Path, program: str = "mount") -> int:
    return subprocess.run([program, *args], check=False, capture_output=True).returncode


def test_full(start: Starter, tmp_path: Path) -> None:
    """The server goes on, says it, and catches up when there is room; what is there stays whole."""
    disk = tmp_path / "disk"
    with small_disk(disk, "3m"):
        server = start(nodes="2cpu,2Gi", flags=flags(disk))
        await_status(server, whole, "a base")
        jobs = submit_many(server, 0, 100, 40000)
        failing = await_status(server, lambda s: s["state"] == "failing", "a full disk")
        assert "No space left" in failing["error"]
        jobs += submit_many(server, 100, 10)
        assert reach(disk) == status(server)["shipped"]["event"]
        assert mount("-o", "remount,size=100m", disk) == 0
        after = await_status(server, whole, "what was lacking")
        assert after["chain"] == failing["chain"]
        server.kill()
        other, _ = restore(disk)
        with started(other):
            assert numbers(other) == set(jobs)


@pytest.mark.slow
def test_away_for_too_long(start: Starter, tmp_path: Path) -> None:
    """More is committed than is kept for it: a new base follows."""
    target = place(tmp_path)
    server = start(nodes="2cpu,2Gi", flags=flags(target))
    await_status(server, whole, "a base")
    away = target.rename(tmp_path / "away")
    for first in range(0, 1000, 40):
        submit_many(server, first, 40, 90000)
    away.rename(target)
    after = await_status(server, lambda s: s.get("chain") == 2 and whole(s), "another base")
    assert "backup.lost" in server.said() and chains(target) == ["00000001", "00000002"]
    assert reach(target) == after["shipped"]["event"]
    server.kill()  # nobody stops a thousand jobs


def test_old_chains_go(start: Starter, tmp_path: Path) -> None:
    """So many whole copies are kept, one is made from time to time, and no job of any is lost."""
    target = place(tmp_path)
    server = start(nodes="2cpu,2Gi", flags=flags(target, "--backup-base", "300ms"))
    with submissions(server):
        await_status(server, lambda s: s.get("chain", 0) >= 4, "four bases")
        found = chains(target)
    assert len(found) <= 3 and "00000001" not in found
    await_status(server, whole, "the rest")
    jobs = numbers(server)
    server.end()
    assert len(chains(target)) == 2
    other, _ = restore(target)
    with started(other):
        assert numbers(other) == jobs


def test_settings_that_are_wrong(start: Starter, tmp_path: Path) -> None:
    for wrong, word in (
        (("--backup-to", "there"), "from its root"),
        (flags(tmp_path)[:2] + ("--backup-every", "1ms"), "100ms"),
    ):
        server = Server(nodes="2cpu,2Gi", flags=wrong)
        with pytest.raises(RuntimeError, match=word):
            server.start()
        server.close()
