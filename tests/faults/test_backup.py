"""A backup has everything that was acknowledged before it began, is whole or not there, and is
taken while jobs come in; a broken one is refused."""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
import stat
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import Starter
from harness import Server, native, request, wait_for

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
def submissions(server: Server) -> Iterator[list[int]]:
    """Jobs are submitted for as long as this lasts; those that are acknowledged so far."""
    numbers: list[int] = []
    stop = threading.Event()

    def go_on() -> None:
        first = 1_000_000
        while not stop.is_set():
            numbers.extend(submit_many(server, first, 2))
            first += 2

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


def test_a_backup_serves_on_elsewhere(start: Starter, tmp_path: Path) -> None:
    """By hand, as doc/operating.md has it: another state directory, the key beside it."""
    server = start(nodes="2cpu,2Gi")
    code = upload(server, packed("print('from the archive')\n"))
    inputs = {"code": {"archive": f"sha256:{code}"}}
    waits = server.submit(native("waits", "python3 main.py", suspend=True, inputs=inputs))
    runs = server.submit(native("runs", "exec sleep 600"))
    server.wait(runs, "running")
    path = tmp_path / "a.tar"
    key = backup(server, path)["seal_key"]
    other = Server(nodes="2cpu,2Gi", flags=("--seal-key", key))
    for name, data in members(path).items():
        (other.state / name).parent.mkdir(exist_ok=True)
        (other.state / name).write_bytes(data)
    try:
        other.start()
        assert {job["number"] for job in other.jobs()} == {waits, runs}
        other.api("POST", f"/v1/jobs/{waits}/resume").good()
        other.wait(waits, "succeeded")
        assert "from the archive" in other.log(waits)
        # Its tasks are not there, and it is started anew.
        wait_for(lambda: [e for e in other.events(runs) if e["type"] == "recovered"])
        assert other.submit(native("new")) > runs
    finally:
        assert not other.close()
    assert server.state_of(runs) == "running"
