"""Input that must get one clear error, with nothing stored and nothing lost: by the command line
(`check`, `submit`: exit 2) and by the API (4xx, a problem document)."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from harness import (
    Json,
    Nobody,
    Server,
    muster,
    native,
    openpai,
    patience,
    program,
    request,
    role,
    wait_for,
)


def base(**changes: Any) -> Json:
    return {"jobName": "bad", "image": "i", "taskRoles": [role()], **changes}


def one_role(**changes: Any) -> Json:
    return base(taskRoles=[role(**changes)])


def without(key: str) -> Json:
    return {k: v for k, v in base().items() if k != key}


PORT = {"label": "web", "beginAt": 0, "portNumber": 1}

# What is wrong, and words the error has to have.
FIELDS: dict[str, tuple[Json, tuple[str, ...]]] = {
    "no jobName": (without("jobName"), ("jobName",)),
    "jobName with a blank": (base(jobName="a b"), ("jobName", "a b")),
    "jobName with /": (base(jobName="a/b"), ("jobName", "a/b")),
    "jobName ..": (base(jobName=".."), ("jobName", "..")),
    "jobName too long": (base(jobName="x" * 300), ("jobName", "300")),
    "jobName a number": (base(jobName=3), ("jobName", "3")),
    "no image": (without("image"), ("image",)),
    "empty image": (base(image=""), ("image", "empty")),
    "unknown key": (base(foo=1), ("foo",)),
    "unknown key of a role": (one_role(comand="x"), ("comand", "command")),
    "unknown key of a port": (one_role(portList=[{**PORT, "count": 1}]), ("count",)),
    "no taskRoles": (without("taskRoles"), ("taskRoles",)),
    "empty taskRoles": (base(taskRoles=[]), ("taskRoles",)),
    "taskRoles an object": (base(taskRoles={}), ("taskRoles", "list")),
    "role without name": (base(taskRoles=[{"command": "true"}]), ("taskRoles[0]", "name")),
    "role name with a blank": (one_role(name="ps server"), ("ps server",)),
    "role name with ..": (one_role(name="a..b"), ("a..b",)),
    "duplicate role names": (base(taskRoles=[role("a"), role("a")]), ("taskRoles[1].name", "a")),
    "taskNumber 0": (one_role(taskNumber=0), ("taskNumber", "0")),
    "taskNumber -1": (one_role(taskNumber=-1), ("taskNumber", "-1")),
    "taskNumber 1.5": (one_role(taskNumber=1.5), ("taskNumber", "1.5")),
    "taskNumber text": (one_role(taskNumber="two"), ("taskNumber", "two")),
    "taskNumber too large": (one_role(taskNumber=70000), ("taskNumber", "65536")),
    "cpuNumber 0": (one_role(cpuNumber=0), ("cpuNumber", "0")),
    "memoryMB 64": (one_role(memoryMB=64), ("memoryMB", "64", "100")),
    "shmMB over memoryMB": (one_role(shmMB=200, memoryMB=100), ("shmMB", "200", "100")),
    "gpuNumber -1": (one_role(gpuNumber=-1), ("gpuNumber", "-1")),
    "no command": (base(taskRoles=[{"name": "a"}]), ("command",)),
    "empty command": (one_role(command=""), ("command", "empty")),
    "minFailed 0": (one_role(minFailedTaskCount=0), ("minFailedTaskCount", "0")),
    "minFailed over tasks": (one_role(minFailedTaskCount=2), ("minFailedTaskCount", "2")),
    "minSucceeded over tasks": (one_role(minSucceededTaskCount=2), ("minSucceededTaskCount", "2")),
    "port without label": (one_role(portList=[{"beginAt": 0}]), ("label",)),
    "port range over 65535": (
        one_role(portList=[{**PORT, "beginAt": 65530, "portNumber": 10}]),
        ("65530", "65535"),
    ),
    "port below 1024": (one_role(portList=[{**PORT, "beginAt": 80}]), ("80", "1024")),
    "port negative": (one_role(portList=[{**PORT, "beginAt": -1}]), ("beginAt", "-1")),
    "retryCount -3": (base(retryCount=-3), ("retryCount", "-3", "-2")),
    "gpuType null": (base(gpuType=None), ("gpuType", "null")),
    "extras with a bad key": (base(extras={"--": 1}), ("extras", "--")),
    "extras a list": (base(extras=[]), ("extras",)),
    "jobEnvs a list": (base(jobEnvs=[1]), ("jobEnvs",)),
    "memory beyond every node": (one_role(memoryMB=1 << 20), ("cannot run here",)),
    "gpus beyond every node": (one_role(gpuNumber=5), ("cannot run here", "gpu")),
    "unknown virtual cluster": (base(virtualCluster="nowhere"), ("nowhere", "default")),
    "codeDir missing": (base(codeDir="/no/such/dir"), ("/no/such/dir",)),
    "codeDir nobody serves": (base(codeDir="hdfs://h:9000/x"), ("hdfs://h:9000/x",)),
}
NEEDS_SERVER = ("memory beyond", "gpus beyond", "unknown virtual", "codeDir")

TEXTS: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "empty": (b"", ("empty",)),
    "only blanks": (b" \n\t\n", ("blank",)),
    "binary": (bytes(range(256)) * 4, ()),
    "an ELF program": (b"\x7fELF\x02\x01\x01" + bytes(64), ()),
    "NUL in a name": (b'{"jobName": "a\x00b", "image": "i", "taskRoles": []}', ()),
    "NUL escaped": (b'{"jobName": "a\\u0000b", "image": "i", "taskRoles": []}', ()),
    "invalid UTF-8": (b'{"jobName": "a\xff\xfeb", "image": "i", "taskRoles": []}', ("UTF-8",)),
    "10,000 deep": (b'{"extras":' + b'{"a":' * 10000 + b"1" + b"}" * 10001, ("deep",)),
    "10,000 lists deep": (b"[" * 10000 + b"]" * 10000, ()),
    "duplicate keys": (
        b'{"jobName": "a", "jobName": "b", "image": "i", "taskRoles": []}',
        ("jobName",),
    ),
    "not closed": (b'{"jobName": "a", "image": "i"', ()),
    "a list": (b"[1, 2]", ()),
    "a number": (b"42", ()),
    "YAML that is no job": (b"- a\n- b\n", ()),
    "YAML with a tab": (b"name: x\n\trun: y\n", ("tab",)),
    "native, unknown key": (b"name: x\nruns: y\n", ("runs", "run")),
    "native, name with /": (b"name: a/b\nrun: y\n", ("a/b",)),
    "native, no run": (b"name: x\n", ("run",)),
    "native, replicas 0": (b"name: x\nrun: y\nreplicas: 0\n", ("replicas", "0")),
    "native, bad size": (b"name: x\nrun: y\nresources: {memory: 5 apples}\n", ("5 apples",)),
    "native, bad duration": (b"name: x\nrun: y\nlimits: {run_time: soon}\n", ("soon",)),
    "native, self reference": (b"a: &x [*x]\nname: b\n", ()),
}


def cases() -> Iterator[tuple[str, bytes, tuple[str, ...]]]:
    for name, (tree, words) in FIELDS.items():
        yield name, json.dumps(tree, indent=2).encode(), words
    for name, (text, words) in TEXTS.items():
        yield name, text, words


ALL = list(cases())


@pytest.fixture
def unchanged(server: Server) -> Iterator[None]:
    """Nothing was stored, and the server goes on."""

    def count() -> tuple[int, int]:
        newest = server.get("/v1/jobs", limit=1)["jobs"]
        return (newest[0]["number"] if newest else 0, server.pid)

    before = count()
    yield
    assert server.running()
    assert server.get("/healthz")
    assert count() == before


@pytest.mark.sanitizer
@pytest.mark.parametrize(("name", "text", "words"), ALL, ids=[name for name, *_ in ALL])
def test_refused(
    server: Server, unchanged: None, tmp_path: Path, name: str, text: bytes, words: tuple[str, ...]
) -> None:
    reply = server.api("POST", "/v1/jobs", text)
    assert 400 <= reply.status < 500, reply.text
    assert reply.headers["content-type"].startswith("application/problem+json")
    problem = reply.json()
    assert problem["status"] == reply.status
    assert {"type", "title", "code", "detail"} <= problem.keys()
    for word in words:
        assert word in reply.body.decode(), f"{word!r} is not in {reply.text}"

    path = tmp_path / "job.json"
    path.write_bytes(text)
    done = server.muster("submit", path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr, f"{word!r} is not in {done.stderr}"
    check = muster("check", path, state=tmp_path)
    if not name.startswith(NEEDS_SERVER):
        assert check.returncode == 2, check.stdout + check.stderr
    # Short, whatever the input: nobody wants the file back.
    assert len(done.stderr) < 20_000


def test_every_error_of_a_file_is_shown_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text(
        '{\n  "jobName": "x",\n  "image": "i",\n  "taskRoles": [{\n    "name": "a",\n'
        '    "taskNumber": 1, "cpuNumber": 1, "gpuNumber": 0,\n    "memoryMB": 64,\n'
        '    "comand": "python a.py"\n  }]\n}\n'
    )
    done = muster("check", "job.json", cwd=tmp_path, state=tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == 2
    assert "job.json:7:17: taskRoles[0].memoryMB is 64, the least is 100" in said
    assert 'job.json:8:5: unknown field "comand"' in said
    assert "muster check --fix job.json" in said
    fixed = muster("check", "--fix", "job.json", cwd=tmp_path, state=tmp_path)
    assert '"command": "python a.py"' in path.read_text(), fixed.stderr


def test_100_megabytes(server: Server, unchanged: None, tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as f:
        f.truncate(100 << 20)
    for verb in ("check", "submit"):
        done = server.muster(verb, path)
        assert done.returncode == 2
        assert "100" in done.stderr or "4 Mi" in done.stderr
    connection = server.connection()
    try:
        reply = request(connection, "POST", "/v1/jobs", b" " * (5 << 20))
        assert reply.status == 413
        assert "4" in reply.json()["detail"]
    except (BrokenPipeError, ConnectionResetError):
        pass  # refused by its announced length
    finally:
        connection.close()


def test_job_of_almost_four_megabytes_is_taken(server: Server) -> None:
    text = openpai("large", extras={"pad": "x" * (3 << 20)})
    assert server.run(text)["state"] == "succeeded"


def test_unreadable_code_dir(short_path: Path) -> None:
    nobody = Nobody(short_path)
    if nobody.why_not:
        pytest.skip(nobody.why_not)
    code = short_path / "code"
    code.mkdir(mode=0o700)
    (short_path / "by-flag.json").write_text(openpai("x"))
    (short_path / "by-file.json").write_text(openpai("x", codeDir=str(code)))
    try:
        assert nobody.muster("server", "start").returncode == 0
        for args in (("--code", code, "by-flag.json"), ("by-file.json",)):
            done = nobody.muster("submit", *args[:-1], short_path / args[-1])
            assert done.returncode == 2, done.stdout + done.stderr
            assert str(code) in done.stderr
        assert json.loads(nobody.muster("ls", "--json").stdout)["jobs"] == []
    finally:
        nobody.stop_server()


def test_code_is_a_file(server: Server, unchanged: None, tmp_path: Path) -> None:
    (tmp_path / "code").write_text("")
    (tmp_path / "job.json").write_text(openpai("x"))
    done = server.muster("submit", "--code", tmp_path / "code", tmp_path / "job.json")
    assert done.returncode == 2
    assert str(tmp_path / "code") in done.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("submit",),
        ("submit", "--env", "NOVALUE", "-"),
        ("submit", "--set", "roles.worker.replicas", "-"),
        ("submit", "--set", "roles.worker.replica=2", "-"),
        ("submit", "--set", "roles.worker.replicas=many", "-"),
        ("submit", "--from", "nothing", "-"),
        ("submit", "--queue", "nowhere", "-"),
        ("submit", "--name", "a/b", "-"),
        ("submit", "--nonsense", "-"),
        ("show",),
        ("show", "no-such-job"),
        ("logs", "no-such-job"),
        ("ls", "--state", "sleeping"),
        ("stop",),
        ("wait", "no-such-job"),
        ("exec", "no-such-job", "a/0"),
        ("run",),
        ("run", "--replicas", "0", "--", "true"),
        ("run", "--replicas", "many", "--", "true"),
        ("check", "--env", "worker/9", "-"),
        ("check", "--env", "nobody/0", "-"),
        ("convert", "--to", "nothing", "-"),
        ("completion", "tcsh"),
        ("schema", "nothing"),
        ("-x",),
        ("ls", "-o", "fancy"),
    ],
    ids=" ".join,
)
def test_usage(server: Server, unchanged: None, args: tuple[str, ...]) -> None:
    done = server.muster(*args, stdin=native("usage"))
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.strip()
    assert len(done.stderr) < 4000


# ---- the server's own surroundings ----


def start_fails(state: Path, *flags: str, env: dict[str, str] | None = None) -> str:
    args = ("server", "run", "--listen", "127.0.0.1:0", *flags)
    done = muster(*args, state=state, env=env, timeout=20)
    assert done.returncode != 0
    assert "Sanitizer" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.sanitizer
def test_second_server(start: Starter) -> None:
    server = start(nodes="4cpu,8Gi")
    said = start_fails(server.state)
    assert str(server.pid) in said and str(server.state) in said
    assert server.get("/healthz")
    assert server.info()["pid"] == server.pid
    assert server.run(native("still"))["state"] == "succeeded"


def test_stale_socket_and_info(start: Starter) -> None:
    server = start(nodes="4cpu,8Gi")
    server.kill()
    assert server.socket.exists()
    listed = server.muster("ls")
    assert listed.returncode == 4
    assert listed.stderr.strip()
    server.start()
    assert server.muster("ls").returncode == 0


def test_token_file_mode(start: Starter) -> None:
    server = start(nodes="4cpu,8Gi")
    token = server.state / "token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert server.end() == 0
    token.chmod(0o644)
    said = start_fails(server.state)
    assert "0644" in said and f"chmod 600 {token}" in said
    token.chmod(0o600)
    server.start()


def test_port_taken_by_somebody_else(short_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        server = Server(nodes="4cpu,8Gi", state=short_path / "s", flags=())
        server.flags = ("--listen", f"127.0.0.1:{port}")
        server.start()
        try:
            taken = int(server.info()["address"].rpartition(":")[2])
            assert taken != port and port < taken <= port + 100
            assert server.muster("ls").returncode == 0
        finally:
            assert not server.close()


def test_bad_settings(short_path: Path) -> None:
    state = short_path / "s"
    for flags, words in (
        (("--nodes", "many"), ("many", "4x16cpu")),
        (("--nodes", "4cpu"), ("memory", "64Gi")),
        (("--ports", "9-1"), ("9-1",)),
        (("--idle-exit", "soon"), ("soon",)),
        (("--log-level", "loud"), ("loud",)),
        (("--config", "/no/such/file.yaml"), ("/no/such/file.yaml",)),
    ):
        said = start_fails(state, *flags)
        for word in words:
            assert word in said, said
    (short_path / "c.yaml").write_text("nods: 3\n")
    said = start_fails(state, "--config", str(short_path / "c.yaml"))
    assert "nods" in said and "nodes" in said
    said = start_fails(state, env={"MUSTER_KEEP": "soon"})
    assert "soon" in said and "environment" in said


def test_settings_come_from_where_they_should(start: Starter, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("keep: 7d\nqueues: [default, q]\nlog_level: warn\n")
    server = start(
        nodes="4cpu,8Gi",
        flags=("--config", str(tmp_path / "c.yaml"), "--log-level", "debug"),
        env={"MUSTER_QUEUES": "default,e"},
    )
    rows = {r["name"]: (r["value"], r["from"]) for r in server.get("/v1/config")["config"]}
    assert rows["keep"] == ("7d", "file")
    assert rows["queues"] == ("default,e", "environment")
    assert rows["log_level"] == ("debug", "flag")
    assert rows["ports"][1] == "default"
    assert server.submit(native("q"), queue="e")
    assert server.api("POST", "/v1/jobs", native("q"), query={"queue": "q"}).status == 400


def test_state_directory_that_cannot_be(short_path: Path) -> None:
    (short_path / "file").write_text("")
    said = start_fails(short_path / "file" / "below")
    assert str(short_path / "file") in said
    assert "--state-dir" in said or "MUSTER_STATE_DIR" in said
    (short_path / "open").mkdir()
    (short_path / "open").chmod(0o777)
    said = start_fails(short_path / "open")
    assert "chmod 700" in said


def test_broken_and_newer_database(start: Starter) -> None:
    import sqlite3

    server = start(nodes="4cpu,8Gi")
    assert server.end() == 0
    path = server.state / "muster.db"
    kept = path.read_bytes()
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 1000")
        db.commit()
    said = start_fails(server.state)
    assert "newer" in said, said
    path.write_bytes(b"this is no database at all, whatever its name says" * 100)
    said = start_fails(server.state)
    assert "muster.db" in said
    path.write_bytes(kept)
    server.start()


# ---- a full disk ----


@pytest.fixture
def small_disk(short_path: Path) -> Iterator[Callable[[int], Path]]:
    """A file system of so many bytes, mounted where only this test looks."""
    mounted: list[Path] = []

    def mount(size: int) -> Path:
        if os.geteuid() != 0:
            pytest.skip("mounting a small tmpfs needs root")
        path = short_path / f"disk{len(mounted)}"
        path.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            pytest.skip(f"a small tmpfs cannot be mounted here: {done.stderr.strip()}")
        mounted.append(path)
        return path

    yield mount
    for path in mounted:
        subprocess.run(["umount", "-l", str(path)], check=False)


def fill(path: Path) -> Path:
    big = path / "big"
    with contextlib.suppress(OSError), big.open("ab", buffering=0) as f:
        for size in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    f.write(b"x" * size)
    return big


def test_full_disk_while_running(small_disk: Callable[[int], Path]) -> None:
    disk = small_disk(48 << 20)
    server = Server(nodes="4cpu,8Gi", state=disk / "s")
    server.start()
    try:
        running = server.submit(native("before", "sleep 1.5; exit 0"))
        failing = server.submit(native("before2", "sleep 1.5; exit 3"))
        for number in (running, failing):
            server.wait(number, "running")
        big = fill(disk)
        refused = 0
        taken = []
        for i in range(400):
            reply = server.api(
                "POST", "/v1/jobs", native(f"full-{i}", suspend=True, description="y" * 20000)
            )
            if reply.status == 507:
                refused += 1
                assert reply.json()["code"] == "storage_full"
                break
            assert reply.status == 201, reply.text
            taken.append(reply.json()["number"])
        assert refused, "the disk was never full"
        said = server.muster("submit", "-", stdin=native("cli", description="y" * 20000))
        if said.returncode != 0:
            assert said.returncode == 1 and said.stderr.strip()
        # What ran goes on, and its end is recorded.
        assert server.wait(running)["state"] == "succeeded"
        assert server.wait(failing)["state"] == "failed"
        stored = {job["number"] for job in server.jobs(state="suspended")}
        assert stored == set(taken), "nothing half-stored"
        big.unlink()
        wait_for(lambda: server.api("POST", "/v1/jobs", native("after")).status == 201)
        assert server.wait("after")["state"] == "succeeded"
        server.kill()
        server.start()
        assert server.state_of(failing) == "failed"
        assert {job["number"] for job in server.jobs(state="suspended")} == set(taken)
    finally:
        with contextlib.suppress(OSError):
            (disk / "big").unlink()
        left = server.close()
    assert not left


def test_working_directory_on_a_full_disk(
    server: Server, small_disk: Callable[[int], Path]
) -> None:
    disk = small_disk(1 << 20)
    fill(disk)
    job = server.run(native("full", "echo x > file"), cwd=str(disk))
    assert job["state"] == "failed"
    assert "No space left" in server.log(job["number"])


# ---- leaving the server while it works ----


def test_a_server_that_is_not_muster(short_path: Path) -> None:
    """Something answers on the socket and is no server of ours."""
    state = short_path / "s"
    state.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(state / "sock"))
        other.listen()
        with subprocess.Popen(
            [str(program()), "ls"],
            env={**os.environ, "MUSTER_STATE_DIR": str(state)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as client:
            client_end, _ = other.accept()
            client_end.sendall(b"SSH-2.0-nonsense\r\n")
            client_end.close()
            _, err = client.communicate(timeout=patience())
    assert client.returncode not in (0, -6, -11)
    assert err.strip()


def test_killed_submitter(server: Server) -> None:
    """A client that dies in the middle of its body leaves nothing behind."""
    before = server.get("/v1/jobs", limit=1)["jobs"]
    for _ in range(10):
        connection = server.connection()
        connection.putrequest("POST", "/v1/jobs")
        connection.putheader("Content-Length", "1000")
        connection.endheaders()
        connection.send(b'{"jobName": "half')
        connection.close()
    assert server.get("/healthz")
    assert server.get("/v1/jobs", limit=1)["jobs"] == before
