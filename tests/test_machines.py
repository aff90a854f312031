"""Machines as nodes of a server: added over HTTP, a host started there by hand, jobs placed on them
like on any node."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
from accounts import Account, Shared
from conftest import Starter
from elsewhere import told
from harness import Json, Server, free_port, kill, native, program, until_there, wait_for

AGENTS = ("--agents", "127.0.0.1:0")


def ask(server: Server, method: str, path: str, body: Json | None = None) -> tuple[int, Any]:
    reply = server.api(method, path, json.dumps(body) if body is not None else None)
    return reply.status, reply.json()


def add(server: Server, name: str = "m1", **more: Any) -> Json:
    status, said = ask(server, "POST", "/v1/machines", {"name": name, **more})
    assert status in (200, 201), said
    return cast(Json, said)


def node(server: Server, name: str = "m1") -> Json | None:
    nodes = server.get("/v1/nodes")["nodes"]
    return next((one for one in nodes if one["name"] == name), None)


def wait_state(server: Server, state: str, name: str = "m1") -> Json:
    def is_so() -> Json | None:
        one = node(server, name)
        return one if one and one["state"] == state else None

    found = wait_for(is_so, what=f"{name} {state}")
    assert found
    return found


def write_conf(server: Server, home: Path, said: Json) -> None:
    home.mkdir(parents=True, exist_ok=True)
    lines = [f"tcp={told(server)['address']}", f"pin={said['pin']}", f"token={said['token']}"]
    (home / "host.conf").write_text("\n".join([*lines, f"node={said['name']}", ""]))
    (home / "host.conf").chmod(0o600)


@contextmanager
def host(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    exe = program().resolve().with_name("muster-node")
    with open(home / "host.err", "ab") as err:
        running = subprocess.Popen([exe, "host", str(home)], stderr=err)
    try:
        yield running
    finally:
        with suppress(ProcessLookupError):
            running.terminate()
        running.wait()


@pytest.fixture
def server(start: Starter) -> Server:
    return start(nodes="name=here,1cpu,1Gi", flags=AGENTS)


def test_a_job_runs_on_a_machine(server: Server, tmp_path: Path) -> None:
    said = add(server, labels={"zone": "b"})
    assert said["name"] == "m1" and len(said["token"]) == 64
    assert said["server"] == [told(server)["address"]]
    listed = server.get("/v1/machines")["machines"]
    assert [one["state"] for one in listed] == ["never came"]
    home = tmp_path / "m1"
    write_conf(server, home, said)
    with host(home):
        one = wait_state(server, "up")
        (listed,) = server.get("/v1/machines")["machines"]
        assert listed["boot"] and listed["machine"]
        assert one["engine"] == "machines" and one["labels"]["zone"] == "b"
        job = native("far", f"pwd > {tmp_path}/where; exit 7", resources={"cpu": 2})
        attempts = server.wait(server.submit(job))["task_list"][0]["attempts"]
        assert [last["exit_code"] for last in attempts] == [7]
        assert attempts[0]["node"] == "m1"
        assert told(server)["resumed"] == 1  # its agent had the host's session
        assert (tmp_path / "where").read_text().startswith(str(home))
    assert wait_state(server, "down")["why"].startswith("the machine cannot be reached")


def test_what_runs_there_outlives_server_and_host(server: Server, tmp_path: Path) -> None:
    home = tmp_path / "m1"
    write_conf(server, home, add(server))
    go = tmp_path / "go"
    with host(home) as running:
        wait_state(server, "up")
        number = server.submit(native("long", f"{until_there(go)}; exit 5", resources={"cpu": 2}))
        server.wait(number, "running")
        kill(running.pid, signal.SIGKILL)
        wait_state(server, "down")
    job = server.get(f"/v1/jobs/{number}")
    assert job["state"] == "running" and "away" not in job  # its agent is heard
    with host(home):
        wait_state(server, "up")
        assert server.get(f"/v1/jobs/{number}")["state"] == "running"
        go.touch()
        attempts = server.wait(number)["task_list"][0]["attempts"]
        assert [one["exit_code"] for one in attempts] == [5]


def test_a_server_that_starts_anew(server: Server, tmp_path: Path) -> None:
    """Also one without a port for machines: it knows them, and takes nothing there for lost."""
    home, go = tmp_path / "m1", tmp_path / "go"
    said = add(server)
    write_conf(server, home, said)
    with host(home):
        wait_state(server, "up")
        number = server.submit(native("long", f"{until_there(go)}; exit 5", resources={"cpu": 2}))
        server.wait(number, "running")
        server.kill()
        server.flags = ()
        server.start()
        assert wait_state(server, "down")["tasks"] == 1
        assert server.state_of(number) == "running"
        go.touch()  # it ends while nobody hears of it
        server.kill()
        server.flags = AGENTS
        server.start()
        write_conf(server, home, said)  # the port is another one
        attempts = server.wait(number)["task_list"][0]["attempts"]
        assert [one["exit_code"] for one in attempts] == [5]
        assert "why" not in wait_state(server, "up")


def markers(code: Path) -> list[Path]:
    return list(code.glob(".muster-shared-*"))


def test_no_file_stays_in_a_directory_of_code(start: Starter, tmp_path: Path) -> None:
    """By a file of its own there a machine knows the directory of a job's code as the one that the
    server has. It goes with the last run, and with the next server when one was killed."""
    port = free_port()
    server = start(nodes="name=here,1cpu,1Gi", flags=("--agents", f"127.0.0.1:{port}"))
    home, code, go = tmp_path / "m1", tmp_path / "code", tmp_path / "go"
    code.mkdir()
    write_conf(server, home, add(server))
    with host(home):
        wait_state(server, "up")
        for killed in ("never", "while it runs", "at its end"):
            text = native("long", f"pwd; {until_there(go)}", resources={"cpu": 2})
            number = server.submit(text, cwd=str(code))
            server.wait(number, "running")
            assert len(markers(code)) == 1
            if killed == "while it runs":
                server.kill()
            go.touch()
            if killed == "while it runs":
                server.start()
            assert server.wait(number)["state"] == "succeeded"
            assert server.log(number).strip() == str(code)
            if killed == "at its end":
                server.kill()
                server.start()
            wait_for(lambda: not markers(code), what="no marker is left")
            go.unlink()


ASK = """
import http.client, os, socket, sys
def ask(method, path, body=None, token=os.environ["MUSTER_JOB_TOKEN"]):
    there = http.client.HTTPConnection("muster")
    there.sock = socket.socket(socket.AF_UNIX)
    there.sock.connect(os.environ["MUSTER_SERVER"].removeprefix("unix:"))
    there.request(method, path, body, {"Authorization": "Bearer " + token} if token else {})
    answer = there.getresponse()
    return answer.status, answer.read()
"""


def test_programs_there_ask_the_server(server: Server, tmp_path: Path) -> None:
    """With the job's own token, which opens what it opens on the server's machine; without one
    they are nobody, whoever owns the socket."""
    home, out = server.state / "m1", tmp_path / "out"  # a short path: of a socket
    write_conf(server, home, add(server))
    other = server.submit(native("other", "true"))
    (tmp_path / "ask.py").write_text(
        ASK
        + f"""
board = f"/v1/jobs/{{os.environ['MUSTER_JOB_NUMBER']}}/board"
big = b"x" * (64 << 10)
said = [ask("PUT", board + "?key=door", b"open")[0], ask("GET", board + "?key=door")[1],
        ask("PUT", board + "?key=big", big)[0], big in ask("GET", board + "?key=big")[1],
        ask("POST", "/v1/jobs/{other}/stop")[0], ask("GET", "/v1/jobs", token="")[0]]
open({str(out)!r}, "w").write(repr(said))
"""
    )
    with host(home):
        wait_state(server, "up")
        done = server.wait(
            server.submit(native("asks", f"python3 {tmp_path}/ask.py", resources={"cpu": 2}))
        )
        assert done["state"] == "succeeded", server.log(done["number"])
        assert done["task_list"][0]["attempts"][0]["node"] == "m1"
    door = b'{"key":"door","value":"open","version":1}\n'
    assert ast.literal_eval(out.read_text()) == [200, door, 200, True, 403, 401]


def test_a_directory_too_long_for_sockets(server: Server, tmp_path: Path) -> None:
    """Tasks run there, and are told why they cannot ask the server."""
    home = tmp_path / ("d" * 100)
    write_conf(server, home, add(server))
    with host(home):
        wait_state(server, "up")
        run = 'echo "server=$MUSTER_SERVER"'
        number = server.submit(native("deep", run, resources={"cpu": 2}))
        server.wait(number, "succeeded")
    said = "".join(record.get("text", "") for record in server.records(number))
    assert "server=\n" in said and "programs here cannot ask the server: " in said, said
    assert "bytes, and at most 107 can be: " in said and str(home)[:60] in said, said
    assert "nodes add --dir" in (home / "host.err").read_text()


def test_declared_nodes_have_the_address_that_machines_dial(start: Starter) -> None:
    """All of them one: their ports are those of one host."""
    server = start(nodes="2x1cpu,1Gi", flags=("--agents", "0.0.0.0:0"))
    (dialled, *_) = add(server)["server"]
    address = dialled.rpartition(":")[0]
    if address.startswith("0."):
        pytest.skip("this machine has no address beside the loopback")
    rows = server.get("/v1/nodes")["nodes"]
    assert [row["address"] for row in rows if row["engine"] == "local"] == [address] * 2
    job = native("ports", "echo $MUSTER_NODE $MUSTER_ADDRESS $MUSTER_PORT_DOOR", 2,
                 ports={"door": 1}, place={"apart": ["worker"]})  # fmt: skip
    number = server.submit(job)
    server.wait(number, "succeeded")
    words = [line.split() for line in server.log(number).splitlines()]
    assert {word[0] for word in words} == {"n1", "n2"} and {word[1] for word in words} == {address}
    assert words[0][2] != words[1][2]


def test_what_lives_on_a_fenced_machine_ends_first(server: Server, tmp_path: Path) -> None:
    """Whoever fenced it was wrong: only its host was away."""
    home, go, runs = tmp_path / "m1", tmp_path / "go", tmp_path / "runs"
    write_conf(server, home, add(server))
    run = f"echo $$ >> {runs}; {until_there(go)}; exit 5"
    with host(home) as running:
        wait_state(server, "up")
        number = server.submit(native("twice", run, resources={"cpu": 2}, retry={"platform": 1}))
        wait_for(lambda: runs.exists() and runs.read_text(), what="the first attempt")
        kill(running.pid, signal.SIGKILL)
        wait_state(server, "down")
    status, said = ask(server, "POST", "/v1/machines/m1/fence", {"reason": "it seemed off"})
    assert status == 200, said
    wait_for(lambda: server.state_of(number) != "running", what="the loss of the run")
    with host(home):
        wait_for(lambda: len(runs.read_text().split()) == 2, what="the second attempt")
        first, second = (int(pid) for pid in runs.read_text().split())
        assert not Path(f"/proc/{first}").exists() and Path(f"/proc/{second}").exists()
        go.touch()
        attempts = server.wait(number)["task_list"][0]["attempts"]
        assert len(attempts) == 2 and attempts[1]["exit_code"] == 5


def test_a_fence_outlives_the_server(server: Server, tmp_path: Path) -> None:
    """Its machine comes back to another server, with what was given up still running there."""
    home, go, runs = tmp_path / "m1", tmp_path / "go", tmp_path / "runs"
    said = add(server)
    write_conf(server, home, said)
    run = f"echo $$ >> {runs}; {until_there(go)}; exit 5"
    with host(home) as running:
        wait_state(server, "up")
        number = server.submit(native("twice", run, resources={"cpu": 2}, retry={"platform": 1}))
        wait_for(lambda: runs.exists() and runs.read_text(), what="the first attempt")
        kill(running.pid, signal.SIGKILL)
        wait_state(server, "down")
    assert ask(server, "POST", "/v1/machines/m1/fence", {"reason": "it seemed off"})[0] == 200
    wait_for(lambda: server.state_of(number) != "running", what="the loss of the run")
    server.kill()
    server.start()
    assert server.state_of(number) != "running"  # the agent there is of a run that was given up
    write_conf(server, home, said)  # the port is another one
    with host(home):
        wait_for(lambda: len(runs.read_text().split()) == 2, what="the second attempt")
        first, second = (int(pid) for pid in runs.read_text().split())
        assert not Path(f"/proc/{first}").exists() and Path(f"/proc/{second}").exists()
        go.touch()
        attempts = server.wait(number)["task_list"][0]["attempts"]
        assert [one.get("exit_code") for one in attempts] == [None, 5]


def of_machine(home: Path) -> list[int]:
    """What lives there: all of it has its directory in its command line or below its feet."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (entry / "cmdline").read_bytes()
            if str(home).encode() in command or os.readlink(entry / "cwd").startswith(str(home)):
                found.append(int(entry.name))
    return found


def power_off(home: Path) -> None:
    """Until none is left: one may be starting another."""
    while pids := of_machine(home):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_a_machine_that_was_fenced_is_used_again(server: Server, tmp_path: Path) -> None:
    home, go, runs = tmp_path / "m1", tmp_path / "go", tmp_path / "runs"
    write_conf(server, home, add(server))
    run = f"echo $$ >> {runs}; {until_there(go)}; exit 5"
    number = 0
    with host(home):
        wait_state(server, "up")
        number = server.submit(native("twice", run, resources={"cpu": 2}, retry={"platform": 1}))
        wait_for(lambda: runs.exists() and runs.read_text(), what="the first attempt")
        status, said = ask(server, "POST", "/v1/machines/m1/fence", {"reason": "not so"})
        assert status == 409 and "connected" in str(said)
        power_off(home)
        wait_state(server, "down")
    assert server.state_of(number) == "running"
    assert "cannot be reached" in server.muster("nodes").stdout
    status, said = ask(server, "POST", "/v1/machines/m1/fence", {"reason": "switched off"})
    assert status == 200, said
    wait_for(lambda: server.state_of(number) != "running", what="the loss of the run")
    with host(home):
        wait_for(lambda: len(runs.read_text().split()) == 2, what="the second attempt")
        go.touch()
        attempts = server.wait(number)["task_list"][0]["attempts"]
        assert len(attempts) == 2 and attempts[1]["exit_code"] == 5


def test_a_machine_is_removed_and_its_name_comes_again(server: Server, tmp_path: Path) -> None:
    home = tmp_path / "m1"
    write_conf(server, home, add(server))
    with host(home):
        wait_state(server, "up")
        number = server.submit(native("stays", "sleep 600", resources={"cpu": 2}))
        server.wait(number, "running")
        status, problem = ask(server, "DELETE", "/v1/machines/m1")
        assert status == 409 and "1 task is on m1" in str(problem)
        status, _ = ask(server, "DELETE", "/v1/machines/m1?force=1")
        assert status == 200
        wait_for(lambda: node(server) is None, what="the node to go")
        server.stop(number)  # else it would run again on the next machine of that name
        server.wait(number)
    assert server.get("/v1/machines")["machines"] == []
    write_conf(server, home, add(server))
    with host(home):
        wait_state(server, "up")
    actions = [row["action"] for row in server.get("/v1/audit")["entries"]]
    assert actions.count("machine.add") == 2 and actions.count("machine.remove") == 1


def test_names_and_ports_that_cannot_be(server: Server, start: Starter) -> None:
    assert ask(server, "POST", "/v1/machines", {"name": "here"})[0] == 409
    assert ask(server, "POST", "/v1/machines", {"name": "../x"})[0] == 400
    assert ask(server, "DELETE", "/v1/machines/nobody")[0] == 404
    alone = start(nodes="1cpu,1Gi")
    status, problem = ask(alone, "POST", "/v1/machines", {"name": "m1"})
    assert status >= 400 and "--agents" in str(problem)


def test_jobs_of_other_accounts_stay_here(
    shared: Callable[..., Shared], accounts: list[Account], tmp_path: Path
) -> None:
    """Their accounts are those of the server's machine; a host runs tasks as its own user."""
    server = shared(nodes="name=here,1cpu,1Gi", flags=AGENTS)
    home, ann = tmp_path / "m1", accounts[0]
    write_conf(server, home, add(server))
    with host(home):
        wait_state(server, "up")
        jobs = [server.submit_as(ann, "true") for _ in range(4)]
        for number in jobs:
            done = server.wait(number)
            assert done["state"] == "succeeded"
            assert done["task_list"][0]["attempts"][0]["node"] == "here"
        own = server.wait(server.submit(native("own", "true", place={"engine": "machines"})))
        assert own["task_list"][0]["attempts"][0]["node"] == "m1"
        asked = native("theirs", "true", place={"engine": "machines"})
        reply = server.ask(ann, "POST", "/v1/jobs", asked)
        assert reply.status == 422 and "leave place.engine out" in reply.text, reply.text
