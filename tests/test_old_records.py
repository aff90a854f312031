"""Records that serve on: databases that every earlier version wrote, kept as they were, and state
directories that were copied, restored and truncated on other machines (another path, host name,
boot id and clock: tests/faults/shifted_clock.c)."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import damage
import pytest
from conftest import Starter
from faults.test_clocks import DAY, Clock, library
from harness import FINAL, ROOT, Server, kill, native, scratch, wait_for

FIXTURES = ROOT / "tests/fixtures"
NOW = 6
VERSIONS = range(1, NOW + 1)
MEMBERS = 3  # of the array
ARRAY = 4000  # members of one that is deleted in many slices

__all__ = ["library"]  # a fixture


def place(state: Path, version: int) -> Path:
    """store-vN.db: one job that has ended, one that was suspended before it ever ran; since version
    2 an array as well. The key beside it has sealed it, and lay in the directory until version 4.
    """
    for path in [*state.glob("muster.db*"), *state.glob("seal_key.path")]:
        path.unlink()
    key = FIXTURES / f"store-v{version}.key"
    if key.exists():
        own = state / ("identity.key" if version < 4 else "a.key")
        shutil.copy(key, own)
        own.chmod(0o600)
        if version >= 4:
            (state / "seal_key.path").write_text(f"{own}\n")
    shutil.copy(FIXTURES / f"store-v{version}.db", state / "muster.db")
    return state / "muster.db"


def names(version: int) -> list[str]:
    return [*(["many"] if version > 1 else []), "waits", "first"]


def serves_on(server: Server, version: int) -> int:
    """What was there is listed and goes on; new jobs run. The number of the last one."""
    jobs = {job["name"]: job for job in server.jobs()}
    assert [name for name in jobs if name in names(version)] == names(version)
    assert jobs["first"]["state"] == "succeeded"
    waits = jobs["waits"]["number"]
    if jobs["waits"]["state"] == "suspended":
        assert server.muster("resume", waits).returncode == 0
    wait_for(lambda: server.state_of(waits) in FINAL, what="the resumed job")
    assert server.state_of(waits) == "succeeded"
    if version > 1:
        many = server.job(jobs["many"]["number"])
        assert many["member_states"] == {"succeeded": MEMBERS}
    highest = max(job["number"] for job in jobs.values())
    new = server.run(native(f"new-{highest}", "echo new"))
    assert new["state"] == "succeeded" and new["number"] > highest
    assert "new" in server.log(new["number"])
    return int(new["number"])


# ---- older versions ----


@pytest.mark.parametrize("version", VERSIONS)
def test_version_is_read_and_goes_on(start: Starter, version: int) -> None:
    server: Server = start(nodes="2cpu,2Gi")
    server.kill()
    before = place(server.state, version)
    was = before.read_bytes()
    (server.state / "muster.db.v2").write_bytes(b"of an earlier migration")
    server.start()
    copies = [path.name for path in server.state.glob("muster.db.v*")]
    if version == NOW:
        assert copies == ["muster.db.v2"] and "records.migrated" not in server.said()
    else:
        assert copies == [f"muster.db.v{version}"]
        assert f"copy={server.state}/muster.db.v{version}" in server.said()
        assert holds_the_same(server.state / f"muster.db.v{version}", was)
    last = len(names(version)) + 1 + (MEMBERS if version > 1 else 0)
    assert serves_on(server, version) == last
    assert "resumed" in "".join(r.get("text", "") for r in server.records(2))
    server.kill()
    server.start()
    assert serves_on(server, version) == last + 1


def tables(database: Path) -> dict[str, list[Any]]:
    with contextlib.closing(sqlite3.connect(database)) as db:
        found = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
        rows: dict[str, list[Any]] = {
            name: db.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in found.fetchall()
        }
        rows["version"] = db.execute("PRAGMA user_version").fetchall()
        return rows


def holds_the_same(copy: Path, was: bytes) -> bool:
    """All rows of all tables, but that texts are sealed in the copy, which says by which key."""
    original = copy.with_name("original")
    original.write_bytes(was)
    now, then = tables(copy), tables(original)
    original.unlink()
    for rows in (now, then):
        rows.pop("meta")
        rows["secret"] = [row for row in rows["secret"] if not row[1].startswith("seal.")]
    return now.keys() == then.keys() and all(
        one == other or str(one).startswith(("sealed:", "b'sealed:"))
        for name in now
        for row, was_row in zip(now[name], then[name], strict=True)
        for one, other in zip(row, was_row, strict=True)
    )


# ---- other machines ----

Elsewhere = Callable[[str], Server]


@pytest.fixture
def elsewhere(library: Path) -> Iterator[Elsewhere]:  # noqa: F811
    """elsewhere(HOST): a server that was not started yet, on a machine of that name."""
    made: list[Server] = []

    def starter(host: str) -> Server:
        state = scratch()
        clock = Clock(state / "clock")
        clock.move(host, (len(made) % 2 * 2 - 1) * DAY)
        env = {"LD_PRELOAD": str(library), "MUSTER_TEST_CLOCK": str(clock.file)}
        made.append(Server(nodes="2cpu,2Gi", state=state, env=env))
        return made[-1]

    yield starter
    for server in made:
        left = server.close()
        assert not left, f"still there after the end: {left}"


def truncate(server: Server) -> tuple[int, int]:
    """The log of a killed server, which a start refuses. What is missing, as the remedy says."""
    server.kill()
    log = server.state / "muster.db-wal"
    os.truncate(log, log.stat().st_size // 2)
    before = len(server.said())
    with pytest.raises(RuntimeError):
        server.start()
    assert "muster server recover --dry-run" in server.said()[before:]
    done = server.muster("server", "recover", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found["missing"]["jobs"]["from"], found["missing"]["jobs"]["to"]


def test_what_jobs_were_is_lost(start: Starter) -> None:
    """Damaged records lack the page with descriptions of jobs: those are shown as far as they are
    known, and a submission that is repeated leads to its job."""
    server = start(nodes="1cpu,1Gi")
    ended = server.run(native("ended"))["number"]
    text = native("waits", suspend=True)
    waits = server.submit(text, key="once")
    server.kill()
    with contextlib.closing(sqlite3.connect(server.state / "muster.db")) as db:
        db.execute("DELETE FROM body")
        db.execute("DELETE FROM event WHERE seq = (SELECT max(seq) FROM event)")  # is missed
        db.commit()
    with pytest.raises(RuntimeError):
        server.start()
    done = server.muster("server", "recover", "--json")
    assert json.loads(done.stdout)["failed"] == 1, done.stderr
    server.start()
    for number, state in ((ended, "succeeded"), (waits, "failed")):
        job = server.job(number)
        assert job["state"] == state
        assert "cannot be read" in job["warnings"][0]["what"]
        shown = server.muster("show", number)
        assert shown.returncode == 0, shown.stderr
        assert "cannot be read" in shown.stdout
    assert "damaged" in server.job(waits)["reason"]
    again = server.api("POST", "/v1/jobs", text, headers={"Idempotency-Key": "once"})
    assert again.status == 201, again.text
    assert (again.json()["number"], again.json()["existing"]) == (waits, True)
    assert server.muster("rm", ended).returncode == 0
    assert server.run(native("next"))["state"] == "succeeded"


@pytest.mark.parametrize("cut", [0, 1, 30_000, 100_000, 1_000_000])
def test_log_is_cut_while_an_array_is_deleted(start: Starter, cut: int) -> None:
    """Whatever part of the deletion the log still has: the array is there with all of its members,
    or with none, the records know what is left to remove, and no number is given out again."""
    server = start(nodes="2cpu,2Gi")
    many = server.submit(native("many", suspend=True, array=ARRAY))
    assert server.muster("stop", many).returncode == 0
    wait_for(lambda: server.job(many)["member_states"] == {"stopped": ARRAY}, what="its end")
    assert server.api("DELETE", f"/v1/jobs/{many}").status == 200
    server.kill()
    log = server.state / "muster.db-wal"
    os.truncate(log, max(0, log.stat().st_size - cut))
    try:
        server.start()
    except RuntimeError:
        damage.recover(server)
        server.start()
    there = [job["number"] for job in server.jobs()]
    assert server.run(native("next"))["number"] > many + ARRAY
    server.kill()
    with contextlib.closing(sqlite3.connect(server.state / "muster.db")) as db:
        db.execute(
            "CREATE TEMP TABLE rest AS SELECT CAST(substr(name, 9) AS INTEGER) AS first,"
            " CAST(value AS INTEGER) AS last FROM meta WHERE name GLOB 'deleted.*'"
        )
        no_rest = "NOT EXISTS (SELECT * FROM rest WHERE {} BETWEEN first AND last)"
        members = f"SELECT count(*) FROM job WHERE array <> 0 AND {no_rest.format('job.id')}"
        assert db.execute(members).fetchone()[0] == (ARRAY if many in there else 0)
        tasks = "SELECT count(*) FROM task WHERE job NOT IN (SELECT id FROM job)"
        assert db.execute(f"{tasks} AND {no_rest.format('task.job')}").fetchone()[0] == 0
    found = server.muster("server", "check")
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("version", VERSIONS)
def test_version_serves_on_elsewhere(elsewhere: Elsewhere, tmp_path: Path, version: int) -> None:
    """Migrated on one machine, restored from a backup on another, and truncated there."""
    first = elsewhere("first")
    place(first.state, version)
    first.start()
    last = serves_on(first, version)
    assert first.muster("backup", tmp_path / "a.tar").returncode == 0
    second = elsewhere("second")
    restored = second.muster("restore", tmp_path / "a.tar")
    assert restored.returncode == 0, restored.stderr
    second.start()
    after = serves_on(second, version)
    assert after > last
    for i in range(30):
        second.submit(native(f"held{i}", suspend=True))
    begin, end = truncate(second)
    assert after <= begin <= end == after + 30
    second.start()
    numbers = [job["number"] for job in second.jobs()]
    assert not [number for number in numbers if begin <= number <= end]
    assert serves_on(second, version) > end


def test_copy_serves_on_elsewhere(start: Starter, elsewhere: Elsewhere) -> None:
    """Of the whole directory, with a job that ran when its server was killed."""
    here = start(nodes="2cpu,2Gi")
    ended = here.run(native("first", "echo done"))["number"]
    waits = here.submit(native("waits", "echo resumed", suspend=True))
    runs = here.submit(native("runs", "exec sleep 600"))
    here.wait(runs, "running")
    here.kill()
    there = elsewhere("third")
    shutil.copytree(
        here.state,
        there.state,
        dirs_exist_ok=True,
        ignore=lambda _, all_of: [one for one in all_of if "sock" in one or one == "server.out"],
    )
    for keeper in here.agents(runs)["keeper"]:
        kill(keeper, signal.SIGTERM)
    wait_for(lambda: not here.survivors(), what="the end of what ran here")
    key = Path((here.state / "seal_key.path").read_text().strip())
    key.rename(key.with_name("gone"))
    with pytest.raises(RuntimeError, match="--seal-key FILE"):
        there.start()
    there.flags = ("--seal-key", str(there.state / key.relative_to(here.state)))
    there.start()
    jobs = there.jobs()
    assert [job["number"] for job in jobs] == [runs, waits, ended]
    wait_for(lambda: [e for e in there.events(runs) if e["type"] == "recovered"])
    assert there.muster("resume", waits).returncode == 0
    assert there.wait(waits)["state"] == "succeeded"
    assert "done" in there.log(ended)
    assert there.submit(native("new")) == runs + 1
    key.with_name("gone").rename(key)
    here.start()
