"""Attacks on the audit record: rows changed, removed, exchanged and cut off in the server's own
database file, by somebody who can write it; and entries that should not be there, or should."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from conftest import Starter
from harness import Server, native, request, wait_for

ADDED = "the audit record is only added to"


def call(server: Server, token: str, method: str, path: str, body: str | None = None) -> int:
    address = urlsplit(server.info()["address"])
    assert address.hostname is not None
    connection = HTTPConnection(address.hostname, address.port, timeout=30)
    try:
        return request(connection, method, path, body, {"Authorization": f"Bearer {token}"}).status
    finally:
        connection.close()


def entries(server: Server, **query: str | int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.get("/v1/audit", **query)["entries"]
    return found


def seen(server: Server, action: str, **query: str | int) -> list[tuple[str, str, str]]:
    """(user, object, outcome), oldest first."""
    return [
        (e["user"], e["object"], e["outcome"])
        for e in reversed(entries(server, action=action, **query))
    ]


@pytest.fixture
def server(start: Starter) -> Server:
    one = start()
    for name in ("alice", "bob"):
        assert one.muster("user", "add", name).returncode == 0
    for name in ("alice", "bob"):
        assert one.muster("token", "create", "--user", name).returncode == 0
    return one


def hashed(before: str, entry: dict[str, Any]) -> str:
    """As doc/operating.md says it."""
    fields = [
        entry[k]
        for k in ("seq", "at_ms", "user", "role", "known", "from", "action", "object", "outcome")
    ]
    text = before + "".join(f"{len(str(f).encode())}:{f}," for f in fields)
    return hashlib.sha256(text.encode()).hexdigest()


def chain(server: Server) -> list[dict[str, Any]]:
    return entries(server, chain=1, limit=1000)


def without_triggers(db: sqlite3.Connection) -> None:
    for name in ("audit_no_change", "audit_no_second", "audit_no_removal"):
        db.execute(f"DROP TRIGGER {name}")


def change(db: sqlite3.Connection) -> None:
    db.execute("UPDATE audit SET user = 'bob' WHERE seq = 3")


def remove(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM audit WHERE seq = 3")


def remove_front(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM audit WHERE seq <= 2")


def exchange(db: sqlite3.Connection) -> None:
    db.execute("UPDATE audit SET seq = -seq WHERE seq IN (3, 4)")
    db.execute("UPDATE audit SET seq = CASE seq WHEN -3 THEN 4 ELSE 3 END WHERE seq < 0")


def renumber(db: sqlite3.Connection) -> None:
    """A gap that was closed."""
    db.execute("DELETE FROM audit WHERE seq = 3")
    db.execute("UPDATE audit SET seq = -seq WHERE seq > 3")
    db.execute("UPDATE audit SET seq = -seq - 1 WHERE seq < 0")


def pretend_cut(db: sqlite3.Connection) -> None:
    """What the server lets go itself, without the entry that says so."""
    db.execute("INSERT OR REPLACE INTO meta VALUES ('audit_cut', 2)")
    db.execute("DELETE FROM audit WHERE seq <= 2")


ATTACKS: list[tuple[Callable[[sqlite3.Connection], None], str]] = [
    (change, "broken: entry 3 was changed: its hash does not fit"),
    (remove, "broken: entry 3 is missing"),
    (remove_front, "broken: entries 1 to 2 are missing"),
    (exchange, "broken: entry 3 was changed: its hash does not fit"),
    (renumber, "broken: entry 3 was changed: its hash does not fit"),
    (pretend_cut, "broken: entries 1 to 2 are missing"),
]


def attack(server: Server, how: Callable[[sqlite3.Connection], None], *, drop: bool) -> None:
    """By whoever can write the file, while the server is away. The end mark beside it,
    and the entry that says that there is one, would keep the server from starting."""
    assert server.end() == 0
    (server.state / "muster.db.mark").unlink()
    db = sqlite3.connect(server.state / "muster.db")
    db.execute("DELETE FROM meta WHERE name = 'marked'")
    db.commit()
    if drop:
        without_triggers(db)
    try:
        how(db)
        db.commit()
    finally:
        db.close()
    server.start()


@pytest.mark.parametrize(("how", "said"), ATTACKS, ids=[how.__name__ for how, _ in ATTACKS])
def test_what_is_done_to_the_file_is_named(
    server: Server, how: Callable[[sqlite3.Connection], None], said: str
) -> None:
    whole = server.muster("audit", "--verify")
    assert whole.returncode == 0, whole.stdout
    attack(server, how, drop=True)
    broken = server.muster("audit", "--verify")
    assert (broken.returncode, broken.stdout.splitlines()[0]) == (1, said)
    told = server.muster("audit", "--verify", "--json")
    assert told.returncode == 1 and said.endswith(re.search(r'"why": "(.*)"', told.stdout)[1])  # type: ignore[index]


@pytest.mark.parametrize("how", [change, remove, remove_front, exchange])
def test_the_database_refuses_it(server: Server, how: Callable[[sqlite3.Connection], None]) -> None:
    with pytest.raises(sqlite3.IntegrityError, match=ADDED):
        attack(server, how, drop=False)
    server.start()
    assert server.muster("audit", "--verify").returncode == 0


def test_a_cut_end_shows_beside_a_head_that_was_noted(server: Server) -> None:
    noted = server.muster("audit", "--verify").stdout.split()[-1]
    assert server.muster("audit", "--verify", "--head", noted).returncode == 0
    assert server.muster("user", "add", "carol").returncode == 0
    assert server.muster("audit", "--verify", "--head", noted).returncode == 0  # it grew
    at = int(noted.split(":")[0])

    def cut(db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM audit WHERE seq > 3")

    attack(server, cut, drop=True)
    # The server went on from there: alone, the record looks whole, and is not the one that was.
    assert server.muster("audit", "--verify").returncode == 0
    broken = server.muster("audit", "--verify", "--head", noted)
    assert broken.returncode == 1
    assert broken.stdout.startswith(
        f"broken: the end was cut off: entries 5 to {at} are missing"
    ) or broken.stdout.startswith(f"broken: entry {at} is not the one that was noted")


def test_a_forged_chain_shows_beside_a_head_that_was_noted(server: Server) -> None:
    """Whoever can write the file can also hash: only what was written down elsewhere helps."""
    noted = server.muster("audit", "--verify").stdout.split()[-1]

    def forge(db: sqlite3.Connection) -> None:
        db.execute("UPDATE audit SET user = 'bob' WHERE seq = 3")
        before = "0" * 64
        columns = "seq, at, user, role, known, source, action, object, outcome"
        keys = ("seq", "at_ms", "user", "role", "known", "from", "action", "object", "outcome")
        for row in db.execute(f"SELECT {columns} FROM audit ORDER BY seq").fetchall():
            before = hashed(before, dict(zip(keys, row, strict=True)))
            db.execute("UPDATE audit SET hash = ? WHERE seq = ?", (bytes.fromhex(before), row[0]))

    attack(server, forge, drop=True)
    assert server.muster("audit", "--verify").returncode == 0
    broken = server.muster("audit", "--verify", "--head", noted)
    assert (broken.returncode, broken.stdout.splitlines()[0]) == (
        1,
        f"broken: entry {noted.split(':')[0]} is not the one that was noted",
    )


def test_anybody_can_check_the_chain(server: Server) -> None:
    """By the document alone, without muster."""
    before = "0" * 64
    for n, entry in enumerate(chain(server), 1):
        assert entry["seq"] == n
        before = hashed(before, entry)
        assert entry["hash"] == before
    assert server.muster("audit", "--verify").stdout.split()[-1] == f"{n}:{before}"


def test_who_did_what_to_whom(server: Server) -> None:
    token = {
        name: server.muster("token", "create", "--user", name, "-q").stdout.strip()
        for name in ("alice", "bob")
    }
    server.muster("user", "add", "ada", "--role", "admin")
    token["ada"] = server.muster("token", "create", "--user", "ada", "-q").stdout.strip()
    assert call(server, token["alice"], "POST", "/v1/jobs", native("hers", "sleep 600")) == 201
    number = server.jobs()[0]["number"]
    job = f"/v1/jobs/{number}"
    server.wait(number, "running")
    # Her own doing is in the job's events, not here.
    assert call(server, token["alice"], "POST", f"{job}/signal?signal=USR1") == 200
    assert seen(server, "job.") == []
    # Others' is, what was refused too.
    assert call(server, token["bob"], "POST", f"{job}/stop") == 404
    assert seen(server, "request") == [("bob", f"POST {job}/stop", "not_found")]
    assert call(server, token["ada"], "POST", f"{job}/signal?signal=USR1") == 200
    done = server.muster("exec", str(number), "worker/0", "--", "true", env=None)
    assert done.returncode == 0, done.stderr
    assert call(server, token["ada"], "POST", f"{job}/stop?now=1") == 202
    me = server.get("/v1/audit", action="job.exec")["entries"][0]
    assert me["role"] == "admin" and me["known"] == "socket" and me["from"].startswith("uid ")
    theirs = f"job {number} of alice"
    assert seen(server, "job.") == [
        ("ada", theirs, "ok"),
        (me["user"], theirs, "ok"),
        ("ada", theirs, "ok"),
    ]
    assert [e["action"] for e in reversed(entries(server, action="job."))] == [
        "job.signal",
        "job.exec",
        "job.stop",
    ]
    by_token = entries(server, action="job.stop")[0]
    assert by_token["known"].startswith("token ") and by_token["from"] == "127.0.0.1"
    # Nobody's business but admins'.
    assert call(server, token["bob"], "GET", "/v1/audit") == 403
    assert call(server, token["ada"], "GET", "/v1/audit") == 200
    # No secret is in it.
    said = server.muster("audit", "-n", "1000", "--json").stdout
    assert not [name for name, text in token.items() if text in said]


def test_what_of_a_user_was_changed(server: Server) -> None:
    def put(*args: str) -> None:
        done = server.muster("user", *args)
        assert done.returncode == 0, done.stderr

    put("add", "web", "--project", "vision", "--project", "speech", "--account", "nobody")
    put("set", "web", "--role", "reader", "--project", "", "--account", "")
    said = [what for _, what, _ in seen(server, "user.") if " web " in what]
    assert said == [
        "user web (user), projects vision speech, account nobody",
        "user web (reader), no projects, no account",
    ]


def test_server_settings_nodes_and_catalogue(start: Starter) -> None:
    server = start(nodes="2x4cpu,4Gi", flags=("--keep", "30d"))
    assert server.muster("drain", "n1").returncode == 0
    assert server.muster("nodes").returncode == 0
    assert server.api("POST", "/v1/catalogue", "kind: workspace\nname: vision\n").status == 200
    assert server.api("DELETE", "/v1/catalogue/workspace/vision").status == 200
    assert server.end() == 0
    server.flags = ("--keep", "7d")
    server.start()
    actions = [(e["action"], e["object"]) for e in chain(server)]
    assert [a for a, _ in actions if a.startswith("server.")] == [
        "server.started",
        "server.ended",
        "server.started",
    ]
    for one in (
        ("node.drain", "n1"),
        ("catalogue.apply", "workspace vision"),
        ("catalogue.remove", "workspace vision"),
        ("server.ended", "SIGTERM"),
        ("setting.changed", "keep: 7d"),
    ):
        assert one in actions
    assert server.muster("audit", "--verify").returncode == 0


def test_bad_logins_are_entries_and_bounded(server: Server) -> None:
    """Somebody who tries all the time fills neither the disk nor the record."""
    before = chain(server)[-1]["seq"]
    for i in range(50):
        assert call(server, f"guess{i}", "GET", "/v1/jobs") == 401
    logins = entries(server, action="login")
    assert logins and {e["outcome"] for e in logins} == {"unauthenticated"}
    assert {(e["user"], e["role"], e["from"]) for e in logins} == {("", "", "127.0.0.1")}
    # Ten a minute, and minutes may change meanwhile: a few entries say how many more there were.
    counted = sum(int(e["object"].split()[0]) for e in entries(server, action="audit.more"))
    assert len(logins) + counted <= 50 and chain(server)[-1]["seq"] - before < 50
    assert "guess" not in server.muster("audit", "-n", "1000", "--json").stdout


ODD = ("%ff%fe", "%0a%1b%5b31m", "%c2%9b31m", "%ed%a0%80", "%c2", "a" * 6000, "%E4%BD%A0" * 99)


@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
def test_no_path_makes_the_record_look_broken(server: Server, name: str) -> None:
    """Bytes that are no characters, terminal escapes, and what is cut within a character: the
    entry is kept as it can be told again."""
    token = server.muster("token", "create", "--user", "bob", "-q").stdout.strip()
    assert call(server, token, "POST", f"/v1/jobs/{name}/stop") == 404
    whole = server.muster("audit", "--verify")
    assert whole.returncode == 0, whole.stdout
    shown = server.muster("audit").stdout
    assert "POST /v1/jobs/" in shown
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)


def test_an_entry_is_there_or_what_it_tells_is_not(server: Server) -> None:
    """kill -9 at any moment: users and entries that say that they were made are the same ones."""
    made = 0

    def all_made() -> bool:
        nonlocal made
        made += 1
        return server.muster("user", "add", f"u{made}").returncode == 0 and made >= 5

    wait_for(all_made, 60, "some users")
    server.kill()
    server.start()
    users = {u["name"] for u in server.get("/v1/users")["users"]}
    told = {e["object"].split()[1] for e in entries(server, action="user.created", limit=1000)}
    assert users == told
    assert server.muster("audit", "--verify").returncode == 0
