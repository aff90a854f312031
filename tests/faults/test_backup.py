"""A backup has everything that was acknowledged before it began, is whole or not there, and is
taken while jobs come in; a broken one is refused."""

from __future__ import annotations

import hashlib
import io
import json
import signal
import sqlite3
import stat
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import Starter
from harness import Server, alive, kill, native, request, until_there, wait_for

NDJSON = {"Content-Type": "application/x-ndjson"}


def submit_many(server: Server, first: int, n: int, size: int = 0) -> list[int]:
    """Acknowledged jobs, in one request."""
    fill = "true " + "x" * size
    text = "\n".join(native(f"j{first + i}", fill, suspend=True) for i in range(n)) + "\n"
    connection = server.connection()
    rows = request(connection, "POST", "/v1/jobs", text, NDJSON).good().lines()
    connection.close()
    return [row["number"] for row in rows]


@contextmanager
def submissions(server: Server, pause: float = 0) -> Iterator[list[int]]:
    """Jobs are submitted for as long as this lasts, two at a time with a pause in seconds; those
    that are acknowledged so far."""
    numbers: list[int] = []
    stop = threading.Event()

    def go_on() -> None:
        first = 1_000_000
        while not stop.is_set():
            numbers.extend(submit_many(server, first, 2))
            first += 2
            stop.wait(pause)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield numbers
    finally:
        stop.set()
        thread.join()


def members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        found = {}
        for member in tar.getmembers():
            file = tar.extractfile(member)
            assert file is not None and member.isfile()
            found[member.name] = file.read()
        return found


def manifest(path: Path) -> Any:
    return json.loads(members(path)["manifest.json"])


@contextmanager
def database(path: Path, folder: Path) -> Iterator[sqlite3.Connection]:
    """The records of a backup."""
    copy = folder / "look.db"
    copy.write_bytes(members(path)["muster.db"])
    db = sqlite3.connect(copy)
    try:
        yield db
    finally:
        db.close()
        copy.unlink()


def backup(server: Server, path: Path, *args: str) -> Any:
    done = server.muster("backup", path, "--json", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_backup_while_jobs_come_in(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="2cpu,2Gi")
    before = submit_many(server, 0, 100, 20000)
    path = tmp_path / "a.tar"
    with submissions(server) as during:
        wait_for(lambda: len(during) > 9, what="submissions")
        sure = [*before, *during]
        said = backup(server, path)
        reached = len(during)
        wait_for(lambda: len(during) > reached, what="submissions behind the backup")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with database(path, tmp_path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        there = {row[0] for row in db.execute("SELECT number FROM job")}
        assert there >= set(sure)
        # One moment of the records, nothing of it half: numbers without a gap, each with its text.
        assert there == set(range(1, said["records"]["number"] + 1))
        assert db.execute("SELECT max(seq) FROM event").fetchone()[0] == said["records"]["event"]
        assert db.execute("SELECT count(*) FROM body").fetchone()[0] == len(there)
    assert {job["number"] for job in all_jobs(server)} >= {*sure, *during}
    assert not list(server.state.glob("backup.db*"))


def all_jobs(server: Server) -> list[Any]:
    found: list[Any] = []
    before = 0
    while True:
        query = {"before": before} if before else {}
        page = server.get("/v1/jobs", limit=1000, **query)
        found += page["jobs"]
        if not page.get("next"):
            return found
        before = page["next"]


def test_file_is_whole_or_as_it_was(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="2cpu,2Gi")
    submit_many(server, 0, 5)
    path = tmp_path / "a.tar"
    backup(server, path)
    first = path.read_bytes()
    again = server.muster("backup", path)
    assert again.returncode == 2 and "--force" in again.stderr
    assert path.read_bytes() == first
    backup(server, path, "--force")
    assert manifest(path)["records"]["event"] >= 5
    # Somebody who may not: nothing is left behind.
    server.muster("user", "add", "ada", "--role", "user")
    token = json.loads(server.muster("token", "create", "--user", "ada", "--json").stdout)["token"]
    env = {"MUSTER_TOKEN": token, "MUSTER_SERVER": server.info()["address"]}
    refused = server.muster("backup", tmp_path / "b.tar", env=env)
    assert refused.returncode == 5, refused.stderr
    server.end()
    gone = server.muster("backup", tmp_path / "b.tar")
    assert gone.returncode == 4 and "server start" in gone.stderr
    assert [found.name for found in tmp_path.iterdir()] == ["a.tar"]


def upload(server: Server, code: bytes) -> str:
    """A gzipped tar, kept by the server under its hash."""
    digest = hashlib.sha256(code).hexdigest()
    server.api("PUT", f"/v1/archives/{digest}?part=x&offset=0", code).good()
    server.api("POST", f"/v1/archives/{digest}?part=x").good()
    return digest


def packed(text: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        entry = tarfile.TarInfo("main.py")
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def test_code_that_jobs_need_is_in_it_and_keys_are_not(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="2cpu,2Gi")
    code = packed("print('needed')\n")
    needed, other = upload(server, code), upload(server, packed("print('not needed')\n"))
    inputs = {"code": {"archive": f"sha256:{needed}"}}
    server.submit(native("c", "python3 main.py", suspend=True, inputs=inputs))
    path = tmp_path / "a.tar"
    backup(server, path)
    held = members(path)
    assert held[f"archives/{needed}"] == code and f"archives/{other}" not in held
    assert sorted(held) == sorted(["muster.db", f"archives/{needed}", "manifest.json"])
    key = Path(manifest(path)["seal_key"])
    for secret in (key, server.state / "agent.key", server.state / "token"):
        assert secret.read_bytes().strip() not in path.read_bytes()


def test_client_that_leaves_leaves_nothing(start: Starter) -> None:
    server = start(nodes="2cpu,2Gi")
    submit_many(server, 0, 100, 20000)
    for read in (0, 1000, 0, 1000):
        connection = server.connection()
        connection.request("POST", "/v1/backup")
        if read:
            connection.getresponse().read(read)
        connection.close()
    # The next one is not kept out by them.
    whole: list[bytes] = []

    def done() -> bool:
        connection = server.connection()
        reply = request(connection, "POST", "/v1/backup")
        connection.close()
        assert reply.status in (200, 429), reply.text
        whole.append(reply.body)
        return reply.status == 200

    wait_for(done, what="a backup")
    with tarfile.open(fileobj=io.BytesIO(whole[-1])) as tar:
        assert tar.getnames() == ["muster.db", "manifest.json"]
    assert not list(server.state.glob("backup.db*"))


def test_server_that_ends_meanwhile(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="2cpu,2Gi")
    jobs = submit_many(server, 0, 100, 20000)
    for end in (server.end, server.kill):
        connection = server.connection()
        connection.request("POST", "/v1/backup")
        connection.getresponse().read(1000)  # more is to come than a connection holds
        end()
        connection.close()
        server.start()
        assert len(all_jobs(server)) == len(jobs)
    assert backup(server, tmp_path / "a.tar")["records"]["number"] == len(jobs)
    assert not list(server.state.glob("backup.db*"))


def test_one_at_a_time(start: Starter) -> None:
    server = start(nodes="2cpu,2Gi")
    submit_many(server, 0, 100, 20000)
    first = server.connection()
    first.request("POST", "/v1/backup")
    reply = first.getresponse()
    reply.read(1000)  # it is sent, and more of it than a connection holds
    second = server.connection()
    refused = request(second, "POST", "/v1/backup")
    second.close()
    assert refused.status == 429, refused.text
    reply.read()
    first.close()


def restore(server: Server, path: Path, *args: str) -> Any:
    done = server.muster("restore", path, "--json", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_backup_serves_on_elsewhere(start: Starter, tmp_path: Path) -> None:
    """As on another machine: its own state directory, and nothing there of what ran."""
    server = start(nodes="2cpu,2Gi")
    code = upload(server, packed("print('from the archive')\n"))
    inputs = {"code": {"archive": f"sha256:{code}"}}
    waits = server.submit(native("waits", "python3 main.py", suspend=True, inputs=inputs))
    runs = server.submit(native("runs", "exec sleep 600"))
    server.wait(runs, "running")
    path = tmp_path / "a.tar"
    reached = backup(server, path)["records"]
    other = Server(nodes="2cpu,2Gi")
    dry = restore(other, path, "--dry-run")
    nowhere = tmp_path / "nowhere"
    restore(other, path, "--dry-run", "--state-dir", str(nowhere))
    assert not nowhere.exists()
    assert not (other.state / "muster.db").exists()
    done = restore(other, path)
    assert {name: done[name] for name in dry} == dry
    assert done["jobs"] == 2 and done["seal_key_here"] and done["events_to"] == reached["event"]
    try:
        other.start()
        assert {job["number"] for job in other.jobs()} == {waits, runs}
        other.api("POST", f"/v1/jobs/{waits}/resume").good()
        other.wait(waits, "succeeded")
        assert "from the archive" in other.log(waits)
        # Its tasks are not there, and it is started anew.
        wait_for(lambda: [e for e in other.events(runs) if e["type"] == "recovered"])
        # Nobody knows here how many numbers were given out after the backup.
        assert other.submit(native("new")) == done["next_number"] > runs + 1000
        (told,) = [e for e in other.get("/v1/events")["events"] if e["type"] == "records.restored"]
        assert str(reached["event"]) in told["text"]
        audited = other.muster("audit", "--json").stdout
        assert audited.count('"records.restored"') == 1
    finally:
        assert not other.close()
    assert server.state_of(runs) == "running"


def test_going_back(start: Starter, tmp_path: Path) -> None:
    """In the same directory: what came after the backup is kept, and its numbers are not given."""
    server = start(nodes="2cpu,2Gi")
    first = submit_many(server, 0, 5)
    path = tmp_path / "a.tar"
    backup(server, path)
    later = submit_many(server, 5, 5)
    ran = server.submit(native("ran", "exec sleep 600"))
    server.wait(ran, "running")
    used = server.muster("restore", path, "--force")
    assert used.returncode == 2 and "server stop" in used.stderr
    server.end()
    [keeper] = server.agents(ran)["keeper"]
    there = server.muster("restore", path)
    assert there.returncode == 2 and "--force" in there.stderr
    before = (server.state / "muster.db").read_bytes()
    done = restore(server, path, "--force")
    assert (Path(done["kept"]) / "muster.db").read_bytes() == before
    assert [(one["number"], one["pid"]) for one in done["running"]] == [(ran, keeper)]
    server.start()
    assert sorted(job["number"] for job in all_jobs(server)) == first
    assert [one["number"] for one in server.get("/v1/server")["strangers"]] == [ran]
    assert server.submit(native("new")) == ran + 1 > max(later)
    # And forward again: nothing of the older records was lost.
    server.end()
    forward = Server(nodes="2cpu,2Gi")
    for part in ("muster.db", "muster.db-wal", "muster.db.mark"):
        if (Path(done["kept"]) / part).exists():
            (forward.state / part).write_bytes((Path(done["kept"]) / part).read_bytes())
    (forward.state / "seal_key.path").write_bytes((server.state / "seal_key.path").read_bytes())
    try:
        forward.start()
        assert sorted(job["number"] for job in all_jobs(forward)) == [*first, *later, ran]
    finally:
        assert not forward.close()
        kill(keeper, signal.SIGTERM)
    server.start()


def test_broken_backups_change_nothing(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="2cpu,2Gi")
    submit_many(server, 0, 20, 20000)
    whole = tmp_path / "a.tar"
    backup(server, whole)
    data = whole.read_bytes()
    server.end()
    broken = {
        "cut off": data[: len(data) // 2],
        "without its end": data[:-1500],
        "one byte": data[:70000] + bytes([data[70000] ^ 1]) + data[70001:],
        "a name": data.replace(b"muster.db", b"../ter.db", 1),
        "empty": b"",
        "no tar": b"no backup" * 1000,
    }
    before = sorted((p.name, p.stat().st_mtime_ns) for p in server.state.iterdir())
    for name, content in broken.items():
        path = tmp_path / "b.tar"
        path.write_bytes(content)
        for flags in (("--dry-run",), ("--force",)):
            said = server.muster("restore", path, *flags)
            assert said.returncode == 2 and "b.tar" in said.stderr, (name, said.stderr)
    gone = server.muster("restore", tmp_path / "none.tar", "--force")
    assert gone.returncode != 0 and "none.tar" in gone.stderr
    assert before == sorted((p.name, p.stat().st_mtime_ns) for p in server.state.iterdir())
    server.start()
    assert len(all_jobs(server)) == 20


def test_key_that_is_not_here(start: Starter, tmp_path: Path) -> None:
    """A start asks for the key; it does not make another one."""
    server = start(nodes="2cpu,2Gi")
    secret = native("s", 'test "$WORD" = told', env={"WORD": "told"}, suspend=True)
    number = server.submit(secret)
    path = tmp_path / "a.tar"
    key = Path(backup(server, path)["seal_key"])
    server.end()
    away = key.rename(tmp_path / "away.key")
    other = Server(nodes="2cpu,2Gi")
    assert not restore(other, path)["seal_key_here"]
    said = other.muster("server", "start")
    assert said.returncode != 0 and "--seal-key" in said.stderr
    other.flags = ("--seal-key", str(away))
    try:
        other.start()
        other.api("POST", f"/v1/jobs/{number}/resume").good()
        other.wait(number, "succeeded")
    finally:
        assert not other.close()
        away.rename(key)
    server.start()


def pid_of(server: Server, number: int, attempt: int) -> int:
    """Of the job's one task, in that attempt."""

    def look() -> int:
        (task,) = server.job(number)["task_list"]
        pids = {one["attempt"]: one.get("pid") for one in task.get("attempts") or []}
        return pids.get(attempt) or 0

    return wait_for(look, what=f"attempt {attempt} of job {number}")


def test_task_that_went_on_after_the_backup_begins_anew(start: Starter, tmp_path: Path) -> None:
    """Its agent told records that are gone of its second attempt, and does not tell it again."""
    server = start(nodes="2cpu,2Gi")
    go = tmp_path / "go"
    calm = server.submit(native("calm", "exec sleep 600"))
    run = f"mkdir {tmp_path}/first || exec sleep 600; {until_there(go)}; exit 1"
    busy = server.submit(native("busy", run, retry={"unknown": 1}))
    of_calm = pid_of(server, calm, 1)
    pid_of(server, busy, 1)
    path = tmp_path / "a.tar"
    backup(server, path)
    go.touch()
    second = pid_of(server, busy, 2)
    server.end()
    restore(server, path, "--force")
    server.start()
    wait_for(lambda: not alive(second), what="the end of what ran before")
    assert pid_of(server, busy, 2) != second
    server.wait(busy, "running")
    assert pid_of(server, calm, 1) == of_calm and alive(of_calm)
