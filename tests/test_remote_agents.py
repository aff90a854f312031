"""Agents that reach their server over TLS alone: their directory shares nothing with the server's.
The engine of this machine starts them, by a program that takes them elsewhere (elsewhere.py)."""

from __future__ import annotations

import os
import signal
from hashlib import sha256
from pathlib import Path

import pytest
from conftest import Starter
from elsewhere import Elsewhere, joined, told, wait_joined
from harness import all_pids, free_port, kill, native, parent, proc_bytes, until_there, wait_for
from muster import Client

DEBUG = ("--log-level", "debug")


@pytest.fixture
def machine(tmp_path: Path) -> Elsewhere:
    return Elsewhere(tmp_path / "machine")


def agents_below(home: Path) -> list[int]:
    """Agents, not their keepers: those that have a keeper as parent."""
    mark = os.fsencode(home) + b"/"
    found = [pid for pid in all_pids() if mark in proc_bytes(pid, "cmdline")]
    keepers = [pid for pid in found if b"\0keeper\0" in proc_bytes(pid, "cmdline")]
    return [pid for pid in keepers if parent(pid) in keepers]


@pytest.mark.sanitizer
def test_a_job_runs_elsewhere(start: Starter, machine: Elsewhere, tmp_path: Path) -> None:
    server = start(nodes="4cpu,8Gi", flags=("--agents", "127.0.0.1:0"), env=machine.env)
    machine.know(server)
    go = until_there(tmp_path / "go")
    number = server.submit(native("far", f"{go}; pwd > {tmp_path}/where; exit 7"))
    server.wait(number, "running")
    assert joined(server) == 1
    confs = [one.read_text() for one in machine.home.glob("*/agent.conf")]
    (conf,) = [text for text in confs if "token=" in text]  # others: of looks at the machine
    assert "socket=" not in conf and str(server.state) not in conf
    assert server.muster("exec", number, "--", "echo", "over the same wire").stdout == (
        "over the same wire\n"
    )
    (tmp_path / "go").touch()
    job = server.wait(number)
    assert job["task_list"][0]["attempts"][0]["exit_code"] == 7
    assert (tmp_path / "where").read_text().startswith(str(machine.home))
    status = server.muster("server", "status").stdout
    assert f"agents   {told(server)['address']}, pin " in status


def test_the_server_comes_back(start: Starter, machine: Elsewhere, tmp_path: Path) -> None:
    port = free_port()
    where = ("--agents", f"127.0.0.1:{port}")
    server = start(nodes="2x4cpu,8Gi", flags=where, env=machine.env)
    machine.know(server)
    numbers = [server.submit(native("back", f"{until_there(tmp_path / 'go')}; exit {i}"))
               for i in range(3)]  # fmt: skip
    for number in numbers:
        server.wait(number, "running")
    pin = told(server)["pin"]
    for _ in range(2):
        server.kill()
        server.start()
        wait_joined(server, 3)
        now = told(server)
        assert now["pin"] == pin
        assert now["resumed"] == now["joined"] == 3 and now["refused"] == 0, now
    server.kill()
    (tmp_path / "go").touch()
    server.start()
    for i, number in enumerate(numbers):
        attempts = server.wait(number)["task_list"][0]["attempts"]
        assert [one["exit_code"] for one in attempts] == [i]


def test_another_server_learns_nothing(start: Starter, machine: Elsewhere) -> None:
    server = start(nodes="4cpu,8Gi", flags=("--agents", "127.0.0.1:0", *DEBUG), env=machine.env)
    machine.know(server, pin="0" * 64)
    number = server.submit(native("pinned", "exit 3"))
    wait_for(lambda: "another certificate" in machine.said(), what="the agent's complaint")
    assert joined(server) == 0 and told(server)["refused"] == 0
    machine.know(server)
    assert server.wait(number)["task_list"][0]["attempts"][0]["exit_code"] == 3


def test_a_wrong_token_is_told_to_leave(start: Starter, machine: Elsewhere) -> None:
    server = start(nodes="4cpu,8Gi", flags=("--agents", "127.0.0.1:0"), env=machine.env)
    machine.know(server)
    # The first agent says another token, and every later one its own.
    other = 'sed -i "s/^token=.*/token=$(printf %064d 7)/" "$there/agent.conf"'
    spoil = f'[ -e "$0.done" ] || {other}; touch "$0.done"\nexec '
    spoilt = machine.starter.read_text().replace("exec ", spoil, 1)
    machine.starter.write_text(spoilt)
    number = server.submit(native("token", "exit 4"))
    attempts = server.wait(number)["task_list"][0]["attempts"]
    assert told(server)["refused"] == 1
    assert attempts[-1]["exit_code"] == 4
    assert "agent.refused" in machine.said()


def test_the_servers_address_changes(start: Starter, machine: Elsewhere, tmp_path: Path) -> None:
    before, after, nobody = (free_port() for _ in range(3))
    server = start(nodes="4cpu,8Gi", flags=("--agents", f"127.0.0.1:{before}"), env=machine.env)
    machine.know(server, tcp=f"127.0.0.1:{nobody},127.0.0.1:{before}")
    number = server.submit(native("moves", f"{until_there(tmp_path / 'go')}; exit 5"))
    server.wait(number, "running")
    server.end()
    server.flags = ("--agents", f"127.0.0.1:{after}")
    server.start()
    machine.know(server)
    wait_joined(server)
    assert told(server)["resumed"] == 1, "the same server, wherever it is"
    (tmp_path / "go").touch()
    attempts = server.wait(number)["task_list"][0]["attempts"]
    assert [one["exit_code"] for one in attempts] == [5]


def test_an_agent_that_hangs_is_noticed(start: Starter, machine: Elsewhere, tmp_path: Path) -> None:
    """Its kernel goes on to answer TCP."""
    server = start(nodes="4cpu,8Gi", flags=("--agents", "127.0.0.1:0", *DEBUG), env=machine.env)
    machine.know(server)
    number = server.submit(native("hangs", f"{until_there(tmp_path / 'go')}; exit 6"))
    server.wait(number, "running")
    agent = agents_below(machine.home)[0]
    kill(agent, signal.SIGSTOP)
    wait_for(lambda: "it fell silent" in server.said(), what="its silence")
    kill(agent, signal.SIGCONT)
    wait_joined(server, 2)
    (tmp_path / "go").touch()
    attempts = server.wait(number)["task_list"][0]["attempts"]
    assert [one["exit_code"] for one in attempts] == [6]


def test_code_comes_over_the_connection(
    start: Starter, machine: Elsewhere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for both nodes of the machine, and not again for the next job."""
    server = start(nodes="2x4cpu,8Gi", flags=("--agents", "127.0.0.1:0"), env=machine.env)
    machine.know(server)
    monkeypatch.setenv("MUSTER_SERVER", server.get("/v1/server")["address"])
    monkeypatch.setenv("MUSTER_TOKEN", (server.state / "token").read_text().strip())
    code = tmp_path / "code"
    code.mkdir()
    (code / "big").write_bytes(os.urandom(3 << 20))  # several pieces
    archive = Client().upload(code)
    digest = archive.removeprefix("sha256:")
    told_apart = f"sha256sum < big > {tmp_path}/sum.$MUSTER_NODE; pwd > {tmp_path}/where"
    job = native("code", told_apart, 2, inputs={"code": {"archive": archive}}, resources={"cpu": 4})
    first = server.run(job)
    assert first["state"] == "succeeded", first
    assert (tmp_path / "where").read_text().startswith(str(machine.home))
    kept = list((machine.home / "code").iterdir())
    assert [one.name for one in kept] == [digest]
    came = kept[0].stat().st_ino
    assert server.run(job)["state"] == "succeeded"
    assert kept[0].stat().st_ino == came
    sums = {one.read_text() for one in tmp_path.glob("sum.*")}
    assert sums == {sha256((code / "big").read_bytes()).hexdigest() + "  -\n"}
    # What was changed on the node's disk is noticed, and fetched again.
    kept[0].write_bytes(b"something else")
    server.run(job)
    assert server.run(job)["state"] == "succeeded"
    assert sha256(kept[0].read_bytes()).hexdigest() == digest
