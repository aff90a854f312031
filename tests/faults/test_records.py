"""What the records lose shows: a damaged, truncated or exchanged file of theirs is refused at the
start, with what helps; after that no number is given out twice, and no task is ended that the
records do not know."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from harness import Server, kill, native, until_there, wait_for

JOBS = 60
FRAME = 24 + 4096
HEADER = 32


def submit(server: Server, first: int, last: int) -> list[int]:
    """Acknowledged jobs, one commit each."""
    return [server.submit(native(f"j{i}", suspend=True)) for i in range(first, last + 1)]


def frames(wal: Path) -> int:
    return (wal.stat().st_size - HEADER) // FRAME


def cut(wal: Path, size: int) -> None:
    with wal.open("r+b") as file:
        file.truncate(size)


def flip(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 0x40]))


def flip_in_frame(wal: Path, frame: int) -> None:
    flip(wal, HEADER + frame * FRAME + 24 + 100)


def zero(wal: Path, frame: int) -> None:
    with wal.open("r+b") as file:
        file.seek(HEADER + frame * FRAME + 24)
        file.write(bytes(4096))


DAMAGES: dict[str, Callable[[Path], None]] = {
    "cut in the middle": lambda wal: cut(wal, wal.stat().st_size // 2),
    "cut between frames": lambda wal: cut(wal, HEADER + frames(wal) // 3 * FRAME),
    "cut to nothing": lambda wal: cut(wal, 0),
    "removed": lambda wal: wal.unlink(),
    "byte of the header": lambda wal: flip(wal, 17),
    "byte of the first frame": lambda wal: flip_in_frame(wal, 0),
    "byte of a frame in the middle": lambda wal: flip_in_frame(wal, frames(wal) // 2),
    "byte of the last frame": lambda wal: flip_in_frame(wal, frames(wal) - 1),
    "zeros in a page": lambda wal: zero(wal, frames(wal) // 4),
}


def refused(server: Server) -> str:
    """What the start says that has to fail."""
    before = len(server.said())
    with pytest.raises(RuntimeError):
        server.start()
    return server.said()[before:]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_wal_is_refused(start: Starter, damage: str) -> None:
    server = start(nodes="2cpu,2Gi")
    acknowledged = submit(server, 1, JOBS)
    server.kill()
    wal = server.state / "muster.db-wal"
    kept = wal.read_bytes()
    DAMAGES[damage](wal)
    said = refused(server)
    assert "muster server recover --dry-run" in said, said
    refused(server)  # looking has changed nothing
    wal.write_bytes(kept)
    server.start()
    assert sorted(job["number"] for job in server.jobs()) == acknowledged


def test_older_copy_of_the_database_is_refused(start: Starter) -> None:
    server = start(nodes="2cpu,2Gi")
    submit(server, 1, JOBS // 2)
    server.end()
    database = server.state / "muster.db"
    older = server.state / "older"
    shutil.copy(database, older)
    server.start()
    acknowledged = submit(server, JOBS // 2 + 1, JOBS)
    server.end()
    newer = database.read_bytes()
    shutil.copy(older, database)
    said = refused(server)
    assert "muster server recover --dry-run" in said, said
    database.write_bytes(newer)
    server.start()
    assert {job["number"] for job in server.jobs()} >= set(acknowledged)


def test_older_database_below_the_wal_is_refused(start: Starter) -> None:
    """The newest pages are in the WAL, so the last event is there; what lies between is not."""
    server = start(nodes="2cpu,2Gi")
    submit(server, 1, 20)
    server.end()
    database = server.state / "muster.db"
    older = server.state / "older"
    shutil.copy(database, older)
    server.start()
    submit(server, 21, 40)
    server.end()
    server.start()
    submit(server, 41, JOBS)
    server.kill()
    newer = database.read_bytes()
    shutil.copy(older, database)
    said = refused(server)
    assert "muster server recover --dry-run" in said, said
    database.write_bytes(newer)
    server.start()
    assert len(server.jobs()) == JOBS


@pytest.mark.parametrize("how", ["gone", "empty", "cut", "no database"])
def test_damaged_database_is_refused(start: Starter, how: str) -> None:
    server = start(nodes="2cpu,2Gi")
    submit(server, 1, JOBS)
    server.end()
    database = server.state / "muster.db"
    kept = database.read_bytes()
    if how == "gone":
        database.unlink()
    elif how == "empty":
        os.truncate(database, 0)
    elif how == "cut":
        os.truncate(database, len(kept) // 2 // 4096 * 4096)
    else:
        database.write_bytes(b"this is no database, whatever its name says" * 200)
    said = refused(server)
    assert "muster server recover --dry-run" in said, said
    if how in ("gone", "empty"):
        assert recover(server, "--dry-run")["why"].startswith("it is gone or empty")
    database.write_bytes(kept)
    server.start()
    assert len(server.jobs()) == JOBS


# ---- recovering ----


def recover(server: Server, *args: str) -> dict[str, Any]:
    done = server.muster("server", "recover", "--json", *args)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "damage", ["cut in the middle", "removed", "byte of a frame in the middle"]
)
def test_numbers_are_not_given_again_after_recovering(start: Starter, damage: str) -> None:
    server = start(nodes="2cpu,2Gi")
    acknowledged = submit(server, 1, JOBS)
    server.kill()
    DAMAGES[damage](server.state / "muster.db-wal")
    refused(server)
    before = {path.name: path.read_bytes() for path in server.state.glob("muster.db*")}
    dry = recover(server, "--dry-run")
    assert before == {path.name: path.read_bytes() for path in server.state.glob("muster.db*")}
    there = dry["jobs"]
    assert dry["damaged"] and dry["missing"]["jobs"] == {"from": there + 1, "to": JOBS}
    done = recover(server)
    assert {key: done[key] for key in dry} == dry
    for name in ("muster.db", "muster.db-wal"):
        kept = Path(done["kept"]) / name
        assert (kept.read_bytes() if kept.exists() else None) == before.get(name)
    assert not recover(server)["damaged"]
    server.start()
    assert sorted(job["number"] for job in server.jobs()) == acknowledged[:there]
    assert submit(server, 1, 1) == [JOBS + 1]


@pytest.mark.parametrize("byte", [0, 0xFF])
@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_rows_come_back_without_the_first_page(start: Starter, end: str, byte: int) -> None:
    """It has the list of tables; the rows are in the others."""
    server = start(nodes="2cpu,2Gi")
    acknowledged = submit(server, 1, JOBS)
    if end == "stopped":
        server.end()
    else:
        server.kill()
    with (server.state / "muster.db").open("r+b") as file:
        file.write(bytes([byte]) * 4096)
    if end == "killed":  # else it is read from the log, where it is whole
        (server.state / "muster.db-wal").unlink()
    said = refused(server)
    assert "muster server recover --dry-run" in said, said
    done = recover(server)
    there = done["jobs"]
    if end == "stopped":
        assert there == JOBS and "missing_jobs" not in done
    assert [job["number"] for job in done.get("missing_jobs", ())] == acknowledged[there:]
    server.start()
    assert sorted(job["number"] for job in server.jobs()) == acknowledged[:there]
    assert submit(server, 1, 1)[0] > JOBS


def make_index_wrong(database: Path) -> None:
    """The index is away while the row changes."""
    name = "name = 'job_by_name'"
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("PRAGMA writable_schema = ON")
        kept = db.execute(f"SELECT * FROM sqlite_master WHERE {name}").fetchone()
        db.execute(f"DELETE FROM sqlite_master WHERE {name}")
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("UPDATE job SET name = 'other' WHERE number = 5")
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", kept)


def test_wrong_index_is_refused_and_made_anew(start: Starter) -> None:
    """Who asks by it would not find what is there."""
    server = start(nodes="2cpu,2Gi")
    acknowledged = submit(server, 1, 20)
    server.end()
    make_index_wrong(server.state / "muster.db")
    said = refused(server)
    assert "job_by_name" in said and "muster server recover --dry-run" in said, said
    checked = server.muster("server", "check", "--json")
    assert checked.returncode == 1 and "job_by_name" in json.loads(checked.stdout)["why"]
    done = recover(server)
    assert done["indexes"] and not done["row_by_row"] and done["jobs"] == len(acknowledged)
    server.start()
    assert sorted(job["number"] for job in server.jobs()) == acknowledged
    assert [job["number"] for job in server.jobs(name="other")] == [5]


def test_missing_jobs_are_named(start: Starter) -> None:
    server = start(nodes="2cpu,2Gi")
    acknowledged = submit(server, 1, 400)
    server.end()
    database = server.state / "muster.db"
    data = database.read_bytes()
    page = next(
        at
        for at in range(4096, len(data), 4096)
        if data[at] == 13 and b"suspended" in data[at : at + 4096] and b"j200" in data[at:][:4096]
    )
    database.write_bytes(data[:page] + bytes(4096) + data[page + 4096 :])
    refused(server)
    looked = server.muster("server", "recover", "--dry-run").stdout
    done = recover(server)
    lost = done["missing_jobs"]
    assert done["row_by_row"] and 1 < len(lost) < 100
    server.start()
    there = [job["number"] for job in server.jobs(limit=1000)]
    assert sorted(there + [job["number"] for job in lost]) == acknowledged
    owner = server.job(there[0])["owner"]
    for job in lost:
        assert job["name"] == f"j{job['number']}" and job["owner"] == owner
        assert len(lost) > 20 or f"job {job['number']} ({job['id']}, {job['name']})" in looked


@pytest.mark.parametrize("gone", [["mark"], ["mark", "wal"]], ids=["mark", "mark and wal"])
@pytest.mark.parametrize("starts", [1, 2])
def test_records_without_their_mark_are_refused(
    start: Starter, gone: list[str], starts: int
) -> None:
    """Nothing else says whether the last commits are there. The second start finds jobs in the
    database itself, the first one only what it wrote before it served."""
    server = start(nodes="2cpu,2Gi")
    acknowledged = submit(server, 1, JOBS // 2)
    if starts > 1:
        server.end()
        server.start()
        acknowledged += submit(server, JOBS // 2 + 1, JOBS)
    server.kill()
    kept = {path: path.read_bytes() for path in server.state.glob("muster.db*")}
    for name in gone:
        (server.state / f"muster.db{'.mark' if name == 'mark' else '-wal'}").unlink()
    said = refused(server)
    assert "its end mark" in said and "muster server recover --dry-run" in said, said
    refused(server)  # looking has changed nothing
    for path, data in kept.items():
        path.write_bytes(data)
    server.start()  # what was put back serves on
    assert {job["number"] for job in server.jobs()} == set(acknowledged)
    server.kill()
    for name in gone:
        (server.state / f"muster.db{'.mark' if name == 'mark' else '-wal'}").unlink()
    refused(server)
    assert "its end mark" in recover(server, "--dry-run")["why"]
    recover(server)
    server.start()
    there = {job["number"] for job in server.jobs()}
    if "wal" not in gone:
        assert there == set(acknowledged)
    assert server.submit(native("next", "true")) > max(acknowledged)
    server.kill()
    server.start()


def test_tasks_of_missing_jobs_go_on(start: Starter) -> None:
    server = start(nodes="4cpu,4Gi", flags=("--log-level", "debug"))
    kept = server.submit(native("kept", "exec sleep 600"))
    server.wait(kept, "running")
    server.end()
    server.start()
    lost = server.submit(native("lost", "exec sleep 600"))
    server.wait(lost, "running")
    server.kill()
    [keeper] = server.agents(lost)["keeper"]
    [agent] = server.agents(lost)["agent"]
    (server.state / "muster.db-wal").unlink()
    refused(server)
    dry = recover(server, "--dry-run")
    assert [(one["number"], one["pid"]) for one in dry["running"]] == [(lost, keeper)]
    recover(server)
    server.start()
    assert "records.stranger" in server.said() and f"pid={keeper}" in server.said()
    assert [one["pid"] for one in server.get("/v1/server")["strangers"]] == [keeper]
    for verb in (("server", "status"), ("doctor",)):
        assert f"pid {keeper}" in server.muster(*verb).stdout
    # Jobs come and go, and their directories; its own stays.
    other = server.submit(native("other"))
    assert other > lost
    server.wait(other, "succeeded")
    assert server.state_of(kept) == "running"
    # The agent asks again and again to be let in; what it runs is not ended for that.
    wait_for(lambda: server.said().count("agent.stranger") >= 3, what="the agent to ask again")
    assert server.agents(lost) == {"keeper": [keeper], "agent": [agent]}
    kill(keeper, signal.SIGTERM)
    wait_for(lambda: not server.agents(lost)["keeper"], what="the end of the keeper")
    assert "strangers" not in server.get("/v1/server")


def test_agent_goes_on_when_its_file_is_damaged(start: Starter) -> None:
    """It knows from before where its server is, and by which token it is let in."""
    server = start(nodes="2cpu,2Gi")
    job = server.submit(native("j", f"{until_there(server.state / 'go')}; echo end"))
    server.wait(job, "running")
    server.kill()
    [conf] = server.state.glob("runs/*/g*/*/agent.conf")
    os.truncate(conf, 0)
    server.start()
    (server.state / "go").touch()
    ended = server.wait(job, "succeeded")
    assert len(ended["task_list"][0]["attempts"]) == 1
    assert server.log(job) == "end\n"


def check(server: Server) -> tuple[int, Any]:
    """The exit code, and what it found."""
    done = server.muster("server", "check", "--json")
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def test_check_of_records_that_are_well(start: Starter) -> None:
    server = start(nodes="2cpu,2Gi")
    submit(server, 1, 5)
    rc, running = check(server)
    assert rc == 0 and not running["damaged"] and running["jobs"] == 5
    server.end()
    before = sorted((p.name, p.stat().st_mtime_ns) for p in server.state.iterdir())
    rc, stopped = check(server)
    assert before == sorted((p.name, p.stat().st_mtime_ns) for p in server.state.iterdir())
    assert rc == 0 and stopped["jobs"] == 5 and stopped["records"] == running["records"]
    server.start()
    assert "every page" in server.muster("server", "check").stdout


def test_check_of_a_server_that_is_busy(start: Starter, tmp_path: Path) -> None:
    """Jobs that begin while it is checked are in its records, and no strangers."""
    server = start(nodes="40cpu,40Gi")
    done = tmp_path / "done"
    started: list[int] = []
    enough = threading.Event()

    def go_on() -> None:
        while not enough.is_set() and len(started) < 40:
            started.append(server.submit(native("busy", until_there(done))))

    thread = threading.Thread(target=go_on)
    thread.start()
    beside = 0
    try:
        while thread.is_alive() and beside < 3:
            before = len(started)
            rc, found = check(server)
            beside += len(started) > before
            assert rc == 0 and found["running"] == []
    finally:
        enough.set()
        thread.join()
        done.touch()
    assert beside
    for number in started:
        server.wait(number, "succeeded")


def test_check_finds_rows_without_their_job(start: Starter, tmp_path: Path) -> None:
    """Also in a running server; a backup that is put back leaves them out."""
    server = start(nodes="2cpu,2Gi")
    submit(server, 1, 5)
    server.end()
    with closing(sqlite3.connect(server.state / "muster.db")) as db:
        db.execute("INSERT INTO body (job, spec) VALUES (7, '{}')")
        db.execute("INSERT INTO event (job, at, type, attempt) VALUES (7, 1, 'submitted', 0)")
        db.execute("DELETE FROM meta WHERE name = 'marked'")
        db.commit()
    (server.state / "muster.db.mark").unlink()
    rc, stopped = check(server)
    assert rc == 1 and stopped["orphans"] == 2 and not stopped["damaged"]
    server.start()
    rc, running = check(server)
    assert rc == 1 and running["orphans"] == 2
    assert server.muster("backup", tmp_path / "a.tar").returncode == 0
    server.end()
    assert server.muster("restore", "--force", tmp_path / "a.tar").returncode == 0
    rc, mended = check(server)
    assert rc == 0 and mended["orphans"] == 0 and mended["jobs"] == 5
    server.start()


def test_check_finds_what_a_start_does_not_read(start: Starter) -> None:
    """An index that lacks a row; it is read through by a start only where the database is small."""
    server = start(nodes="2cpu,2Gi")
    submit(server, 1, 30)
    server.end()
    with closing(sqlite3.connect(server.state / "muster.db")) as db:
        (page,) = db.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'event_by_job'"
        ).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    with (server.state / "muster.db").open("r+b") as file:
        file.seek((page - 1) * size + 3)
        cells = int.from_bytes(file.read(2), "big")
        file.seek((page - 1) * size + 3)
        file.write((cells - 1).to_bytes(2, "big"))
    rc, found = check(server)
    assert rc == 1 and found["damaged"]
    assert recover(server)["damaged"]
    rc, mended = check(server)
    assert rc == 0 and mended["jobs"] == 30
    server.start()
