"""A continuous backup in a bucket holds what the server says it holds: whatever becomes of the
server's disk, of the store, and of the way to it. No secret leaves its place."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from faults.test_backup import submissions, submit_many
from faults.test_continuous_backup import (
    Status,
    await_status,
    cut,
    flip,
    follows,
    numbers,
    started,
    status,
    whole,
)
from harness import Done, Server, all_pids, native, parent, proc_bytes, wait_for
from s3_store import (
    BUCKET,
    KEY,
    SECRET,
    Proxy,
    Store,
    access,
    answers,
    cuts_answer,
    cuts_request,
    proxied,
    stored,
    swallows,
)

PREFIX = "all of/müster+1"
WHERE = f"s3://{BUCKET}/{PREFIX}"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with stored(tmp_path / "store") as one:
        yield one


@pytest.fixture
def proxy(store: Store) -> Iterator[Proxy]:
    with proxied(store) as one:
        yield one


def flags(url: str, *more: str, where: str = WHERE) -> tuple[str, ...]:
    every = ("--backup-every", "100ms")
    return ("--backup-to", where, "--backup-endpoint", url, *every, *more)


def to(start: Starter, url: str, *more: str, **env: str) -> Server:
    return start(nodes="2cpu,2Gi", flags=flags(url, *more), env=access(**env))


def try_restore(other: Server, url: str, *args: str, where: str = WHERE, **env: str) -> Done:
    line = ("restore", where, "--endpoint", url, *args)
    return other.muster(*line, env=access(**env))


def restore(url: str, *args: str, where: str = WHERE, **env: str) -> tuple[Server, Any]:
    other = Server(nodes="2cpu,2Gi")
    done = try_restore(other, url, "--json", *args, where=where, **env)
    assert done.returncode == 0, done.stderr
    return other, json.loads(done.stdout)


def reach(url: str, *args: str, where: str = WHERE) -> int:
    other, done = restore(url, "--dry-run", *args, where=where)
    shutil.rmtree(other.state)
    event: int = done["events_to"]
    return event


def fails(server: Server) -> Status:
    return await_status(server, lambda s: s["state"] == "failing", "a failure that is said")


def chains(store: Store) -> list[str]:
    found = store.objects(PREFIX).iterdir()
    return sorted(one.name for one in found if (one / "head.json").exists())


def test_disk_lost_while_jobs_are_submitted(start: Starter, store: Store, tmp_path: Path) -> None:
    """A store that is killed may have a segment that nobody heard of any more: never less than is
    said, and not more than one segment."""
    server = to(start, store.url, "--seal-key", str(tmp_path / "key"))
    # A restore goes on 10,000 numbers further: fewer jobs than these are lost.
    with submissions(server, pause=0.02) as acknowledged:
        await_status(server, lambda s: s.get("segment", 0) > 3, "segments")
        store.stop()
        fails(server)
        reached = len(acknowledged)
        wait_for(lambda: len(acknowledged) > reached + 20, what="submissions without it")
        said = status(server)
    assert said["lacks"]["events"] > 20 and said["lacks"]["seconds"] > 0
    server.kill()
    shutil.rmtree(server.state)
    store.start()
    other, done = restore(store.url)
    assert done["events_to"] >= said["shipped"]["event"]
    assert 0 <= done["backup"]["segments"] - said["segment"] <= 1
    with started(other):
        there = done["backup"]["records"]["number"]
        assert numbers(other) == set(range(1, there + 1)) and there >= said["shipped"]["number"]
        assert other.submit(native("new")) == done["next_number"] > max(acknowledged)


def test_gone_and_back(start: Starter, store: Store) -> None:
    """It goes on with the same chain; until then what is there is exactly what is said."""
    server = to(start, store.url)
    jobs = submit_many(server, 0, 5)
    before = await_status(server, whole, "all of it")
    store.stop()
    jobs += submit_many(server, 5, 20, 2000)
    failing = fails(server)
    assert WHERE in failing["error"] and store.url in failing["error"] and failing["hint"]
    assert failing["shipped"] == before["shipped"] and failing["lacks"]["events"] >= 20
    shown = server.muster("server", "status").stdout
    assert "are lacking" in shown and "failing" in shown
    assert "it fails" in server.muster("doctor").stdout
    assert "backup.failing" in server.said()
    store.start()
    after = await_status(server, whole, "what was lacking")
    assert after["chain"] == before["chain"] and "error" not in after
    assert chains(store) == ["00000001"]
    server.kill()
    other, done = restore(store.url)
    assert done["events_to"] == after["shipped"]["event"]
    with started(other):
        assert numbers(other) == set(jobs)


def test_store_that_fails_for_a_while(start: Starter, proxy: Proxy, store: Store) -> None:
    """What can go through another time does, and nothing is sent twice that was not to be."""
    server = to(start, proxy.url)
    first = await_status(server, whole, "a base")
    is_put: Callable[[str], bool] = lambda line: line.startswith("PUT")  # noqa: E731
    proxy.fail(answers(503, "SlowDown"), is_put)
    proxy.fail(answers(500, "InternalError"), is_put)
    proxy.fail(cuts_request, is_put)
    proxy.fail(answers(502), is_put)
    proxy.fail(cuts_answer, is_put)
    proxy.fail(answers(503), lambda line: line.startswith("HEAD"))
    proxy.fail(cuts_answer, lambda line: line.startswith("GET"))
    jobs: list[int] = []
    while proxy.faults:
        jobs += submit_many(server, len(jobs), 1)
        await_status(server, whole, "a segment")
    after = status(server)
    assert len(proxy.failed) == 7 and after["chain"] == first["chain"]
    server.kill()
    for when in ("GET", "HEAD", "GET"):
        proxy.fail(cuts_answer, lambda line, when=when: line.startswith(when))  # type: ignore[misc]
    other, done = restore(proxy.url)
    assert not proxy.faults and done["events_to"] == after["shipped"]["event"]
    with started(other):
        assert numbers(other) == set(jobs)


@pytest.mark.parametrize("name", ["00000001.tar", "head.json"])
def test_what_was_acknowledged_and_is_not_there(
    start: Starter, proxy: Proxy, store: Store, name: str
) -> None:
    """It does not count: it is said, and sent again."""
    server = to(start, proxy.url)
    before = await_status(server, whole, "a base")
    proxy.fail(swallows, lambda line: line.startswith("PUT") and line.endswith(name))
    jobs = submit_many(server, 0, 3)
    after = await_status(server, whole, "the segment")
    puts = [line for line in proxy.seen if line.startswith("PUT") and line.endswith("0001.tar")]
    assert not proxy.faults and len(puts) == 2 and after["chain"] == before["chain"]
    assert "backup.failing" in server.said() and "backup.going_on" in server.said()
    server.kill()
    other, done = restore(store.url)
    assert done["events_to"] == after["shipped"]["event"]
    with started(other):
        assert numbers(other) == set(jobs)


@pytest.mark.slow
def test_in_several_parts(start: Starter, proxy: Proxy, store: Store) -> None:
    """Records that are larger than a part, with parts that fail."""
    server = start(nodes="2cpu,2Gi")
    jobs = [n for first in range(0, 400, 40) for n in submit_many(server, first, 40, 90000)]
    server.end()
    for n, fault in ((1, answers(503)), (2, cuts_request), (2, cuts_answer)):
        proxy.fail(fault, lambda line, n=n: f"partNumber={n}&" in line)  # type: ignore[misc]
    proxy.fail(cuts_answer, lambda line: line.startswith("POST") and "uploadId=" in line)
    server.flags, server.env = flags(proxy.url), access()
    server.start()
    there = await_status(server, whole, "a base")
    assert there["chain"] == 1 and not proxy.faults, proxy.failed
    base = store.objects(PREFIX) / "00000001/base.tar"
    assert base.stat().st_size > 32 << 20
    server.kill()
    proxy.fail(cuts_answer, lambda line: line.startswith("GET") and line.endswith("base.tar"))
    other, done = restore(proxy.url)
    assert not proxy.faults and done["events_to"] == there["shipped"]["event"]
    assert done["jobs"] == len(jobs)
    shutil.rmtree(other.state)


@pytest.mark.slow
def test_upload_that_fails_is_given_up(start: Starter, proxy: Proxy, store: Store) -> None:
    """Its parts do not stay in the store, which would have to be paid for."""
    server = start(nodes="2cpu,2Gi")
    for first in range(0, 240, 40):
        submit_many(server, first, 40, 90000)
    server.end()
    proxy.fail(answers(403, "AccessDenied"), lambda line: "partNumber=2&" in line)
    server.flags, server.env = flags(proxy.url), access()
    server.start()
    assert "may not do that" in fails(server)["error"]
    gone = [line for line in proxy.seen if line.startswith("DELETE") and "uploadId=" in line]
    assert len(gone) == 1
    await_status(server, whole, "the next try")


WRONG: dict[str, tuple[dict[str, str], str, str]] = {
    "secret": ({"AWS_SECRET_ACCESS_KEY": "another"}, "the secret key is wrong", "SECRET"),
    "key": ({"AWS_ACCESS_KEY_ID": "another"}, "does not know the access key", "KEY_ID"),
    "none": (
        {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
        "/nonexistent/credentials is not there",
        "AWS_ACCESS_KEY_ID",
    ),
    "half": ({"AWS_SECRET_ACCESS_KEY": ""}, "only one of", "both"),
}


def test_wrong_credentials(start: Starter, store: Store) -> None:
    server = to(start, store.url)
    await_status(server, whole, "a base")
    server.end()
    for name, (env, what, hint) in WRONG.items():
        other = Server(nodes="2cpu,2Gi")
        said = try_restore(other, store.url, **env)
        assert said.returncode == 5 and what in said.stderr and hint in said.stderr, name
        assert SECRET not in said.stderr and "another" not in said.stderr
        assert not (other.state / "muster.db").exists()
        failing = fails(to(start, store.url, **env))
        assert what in failing["error"] and hint in failing["hint"], name


def test_credentials_of_a_file(start: Starter, store: Store, tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text(
        "[default]\naws_access_key_id = nobody\naws_secret_access_key = nothing\n\n"
        f"# of the store\n[ours]\n aws_access_key_id={KEY} \naws_secret_access_key =  {SECRET}\n"
    )
    none = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    env = {**none, "AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_PROFILE": "ours"}
    there = await_status(to(start, store.url, **env), whole, "a base")
    assert reach(store.url) == there["shipped"]["event"]
    other = Server(nodes="2cpu,2Gi")
    for profile, what in (("", "does not know the access key"), ("theirs", "profile [theirs]")):
        said = try_restore(other, store.url, **{**env, "AWS_PROFILE": profile})
        assert said.returncode == 5 and what in said.stderr


def test_secrets_stay_where_they_are(start: Starter, proxy: Proxy, store: Store) -> None:
    """Not on command lines, in logs, in listings, in records, in what jobs see, or on the wire."""
    held: list[bytes] = []
    bodies: list[bytes] = []

    def look(handler: Any, body: bytes) -> bool:
        bodies.append(str(handler.headers).encode() + body)
        own = [pid for pid in all_pids() if parent(pid) == server.pid]
        held.extend(proc_bytes(pid, "cmdline") for pid in own)
        return False

    server = start(nodes="2cpu,2Gi", env=access(AWS_SESSION_TOKEN=""))
    server.end()
    server.flags = flags(proxy.url)
    for _ in range(12):
        proxy.fail(look)
    server.start()
    await_status(server, whole, "a base")  # what comes now is in segments
    job = server.submit(native("env", "env; tr '\\0' '\\n' </proc/self/environ"))
    server.wait(job, "succeeded")
    await_status(server, lambda s: whole(s) and not proxy.faults, "all of it")
    assert any(b"ship-backup" in line for line in held)
    assert not any(SECRET.encode() in line for line in held)
    assert "PATH=" in server.log(job) and SECRET not in server.log(job)
    for line in (("config", "--json"), ("server", "status", "--json"), ("doctor", "--json")):
        assert SECRET not in server.muster(*line, env=access()).stdout
    assert not any(SECRET.encode() in body for body in bodies)
    server.end()
    for file in (*server.state.rglob("*"), *store.objects("").rglob("*")):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file


@pytest.fixture
def chain(start: Starter, store: Store) -> list[int]:
    """Two chains; the newer one has four segments. How far each of them reaches."""
    server = to(start, store.url)
    await_status(server, whole, "the first chain")
    server.end()
    server.start()
    await_status(server, lambda s: s.get("chain") == 2, "the second chain")
    for i in range(4):
        server.submit(native(f"j{i}", "true " + "x" * 20000, suspend=True))
        await_status(server, whole, "a segment")
    server.end()
    assert chains(store) == ["00000001", "00000002"]
    return [reach(store.url, "--segments", str(n)) for n in range(4)]


def cut_object(store: Store, name: str) -> None:
    cut(store.objects(PREFIX) / name)
    store.forget(PREFIX, name)


DAMAGES: dict[str, tuple[Callable[[Store], object], str]] = {
    "a byte": (lambda s: flip(s.objects(PREFIX) / "00000002/00000002.tar", 5000), "00000002.tar"),
    "cut off": (lambda s: cut_object(s, "00000002/00000002.tar"), "00000002.tar"),
    "missing": (lambda s: s.remove(f"{PREFIX}/00000002", "00000002.tar"), "segment 2 of the"),
    "of the base": (lambda s: flip(s.objects(PREFIX) / "00000002/base.tar", 50000), "base.tar"),
    "no base": (lambda s: s.remove(f"{PREFIX}/00000002", "base.tar"), "base.tar"),
    "no head": (lambda s: s.remove(f"{PREFIX}/00000002", "head.json"), "head.json"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_chains_are_refused(chain: list[int], store: Store, name: str) -> None:
    damage, where = DAMAGES[name]
    damage(store)
    other = Server(nodes="2cpu,2Gi")
    for args in ((), ("--force",), ("--dry-run",)):
        said = try_restore(other, store.url, *args)
        assert said.returncode == 2 and where in said.stderr, said.stderr
        assert "nothing was changed" in said.stderr or "older chain" in said.stderr
    assert not (other.state / "muster.db").exists()
    if "00000002" in where or "segment" in where:
        assert f"--segments 1 --endpoint {store.url} --region us-east-1 " in said.stderr
        assert reach(store.url, "--segments", "1") == chain[1]
    assert reach(store.url, where=f"{WHERE}/00000001") <= chain[0]


def test_nothing_there(start: Starter, store: Store, tmp_path: Path) -> None:
    """Each in one line that says where, and one that says what to do."""
    other = Server(nodes="2cpu,2Gi")
    gone = "http://127.0.0.1:1"
    cases = [
        (f"s3://{BUCKET}/empty", store.url, 2, "no whole backup", "backup_to"),
        ("s3://absent/x", store.url, 4, "there is no such bucket", "make it"),
        (f"{WHERE}/00000007", store.url, 2, "00000007/head.json", ""),
        (WHERE, gone, 4, gone, "reaches it"),
        (WHERE, store.url.replace("http", "https"), 4, "https://", "reaches it"),
        (WHERE, "store:9000", 2, '"store:9000" is no endpoint', "https://HOST"),
        (WHERE, "http://me:pass@store", 2, "holds a name or password", "AWS_ACCESS_KEY_ID"),
        (f"s3://{BUCKET}/a//b", store.url, 2, "prefix cannot be used", "empty"),
        (f"s3://{BUCKET}/../b", store.url, 2, "prefix cannot be used", "empty"),
        ("s3://", store.url, 2, "no name of a bucket", "s3://BUCKET/PREFIX"),
    ]
    for where, url, code, what, hint in cases:
        said = try_restore(other, url, where=where)
        lines = said.stderr.splitlines()
        assert said.returncode == code and what in lines[0] and hint in said.stderr, said.stderr
        assert "pass" not in said.stderr.replace("password", "")
    failing = fails(
        start(nodes="2cpu,2Gi", flags=flags(store.url, where="s3://absent/x"), env=access())
    )
    assert "there is no such bucket" in failing["error"] and failing["hint"]


def test_clocks_that_differ(start: Starter, tmp_path: Path) -> None:
    with stored(tmp_path / "ahead", ahead=3600) as store:
        failing = fails(to(start, store.url))
        assert "clock" in failing["error"] and "s behind" in failing["hint"]
        other = Server(nodes="2cpu,2Gi")
        said = try_restore(other, store.url)
        assert said.returncode == 4 and "RequestTimeTooSkewed" in said.stderr


def test_settings_that_are_wrong(tmp_path: Path) -> None:
    for wrong, word in (
        (("--backup-to", "s3://"), "no name of a bucket"),
        (("--backup-to", "there"), "s3://BUCKET/PREFIX"),
        (flags("store:9000"), "no endpoint"),
        (flags("http://me:pass@store"), "holds a name or password"),
        (flags("http://store", "--backup-region", "Mars!"), "no region"),
    ):
        server = Server(nodes="2cpu,2Gi", flags=wrong, env=access())
        with pytest.raises(RuntimeError, match=word):
            server.start()
        server.close()


def test_old_chains_go(start: Starter, store: Store) -> None:
    server = to(start, store.url, "--backup-base", "300ms")
    with submissions(server):
        await_status(server, lambda s: s.get("chain", 0) >= 4, "four bases")
    await_status(server, whole, "the rest")
    jobs = numbers(server)
    server.end()
    there = [one.name for one in store.objects(PREFIX).iterdir()]
    assert len(chains(store)) in (2, 3) and "00000001" not in there
    other, _ = restore(store.url)
    with started(other):
        assert numbers(other) == jobs


def test_somebody_emptied_it(start: Starter, store: Store) -> None:
    """A chain that is not there any more is not gone on with: a new one begins."""
    server = to(start, store.url)
    await_status(server, whole, "a base")
    for file in list((store.objects(PREFIX) / "00000001").iterdir()):
        store.remove(f"{PREFIX}/00000001", file.name)
    jobs = submit_many(server, 0, 3)
    await_status(server, lambda s: follows(s) and whole(s) and chains(store), "another base")
    server.kill()
    other, _ = restore(store.url)
    with started(other):
        assert numbers(other) == set(jobs)
