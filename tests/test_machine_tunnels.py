"""A machine that cannot reach the server, by a real sshd and a real server: ssh takes a port of its
own to the server, for as long as `nodes add` runs, and it is removed by ssh again."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Starter
from harness import (
    Server,
    all_pids,
    environment,
    free_port,
    native,
    parent,
    proc_bytes,
    program,
    until_there,
    wait_for,
)
from sshd import Machine, why_no_sshd
from test_machines import AGENTS, node, wait_state

pytestmark = pytest.mark.skipif(bool(why_no_sshd()), reason=why_no_sshd() or "-")


class Tunnel:
    """The command that keeps it, and what it says."""

    def __init__(self, server: Server, machine: Machine, folder: Path, port: int) -> None:
        self.out, self.err = folder / "out", folder / "err"
        words = ["nodes", "add", machine.name, "--ssh", machine.ssh, "--tunnel", str(port)]
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                [program(), *words],
                env=environment(server.state),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    def wait_said(self, text: str) -> None:
        def there() -> bool:
            said = self.out.read_text() + self.err.read_text()
            assert self.process.poll() is None, said
            return text in said

        wait_for(there, what=text)

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait()


@contextmanager
def tunnel(server: Server, machine: Machine, folder: Path) -> Iterator[Tunnel]:
    one = Tunnel(server, machine, folder, free_port())
    try:
        yield one
    finally:
        one.end()


@pytest.fixture
def server(start: Starter) -> Server:
    return start(nodes="name=here,1cpu,1Gi", flags=AGENTS)


@pytest.fixture
def machine(short_path: Path) -> Iterator[Machine]:
    one = Machine(short_path / "far")
    yield one
    one.stop()
    mark = os.fsencode(one.home) + b"/"
    for pid in all_pids():
        if mark in proc_bytes(pid, "cmdline") and b"\0host\0" in proc_bytes(pid, "cmdline"):
            os.kill(pid, signal.SIGKILL)


def ends_of_ssh(machine: Machine) -> list[int]:
    """Its end of each connection."""
    assert machine.process
    return [pid for pid in all_pids() if parent(pid) == machine.process.pid]


def test_ssh_takes_it_to_the_server(server: Server, machine: Machine, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with tunnel(server, machine, tmp_path) as way:
        way.wait_said("the way by ssh is kept until this command ends")
        assert way.out.read_text().startswith("far1  connected")
        assert machine.conf()["tcp"].startswith("127.0.0.1:")
        assert machine.conf()["tcp"] != server.get("/v1/machines")["server"][0]
        assert wait_state(server, "up", "far1")["address"] == "127.0.0.1"
        job = native("far", f"{until_there(go)}; echo $MUSTER_NODE", resources={"cpu": 2})
        number = server.submit(job)
        server.wait(number, "running")

        for pid in ends_of_ssh(machine):
            os.kill(pid, signal.SIGKILL)
        way.wait_said("far1: the way by ssh has ended")
        go.touch()
        assert server.wait(number)["state"] == "succeeded"
        assert server.log(number) == "far1\n"
        wait_state(server, "up", "far1")
        assert way.end() == 0
        wait_state(server, "down", "far1")
        wait_for(lambda: not ends_of_ssh(machine), what="the end of the connections")

    done = server.muster("nodes", "rm", "far1", "--ssh", machine.ssh)
    assert done.returncode == 0 and f"{machine.dir} there is removed" in done.stdout, done.stderr
    assert node(server, "far1") is None and not machine.dir.exists()
    assert server.get("/v1/machines")["machines"] == []


def test_one_that_is_not_reached_is_no_reason_to_stay(
    server: Server, machine: Machine, tmp_path: Path
) -> None:
    machine.stop()
    with tunnel(server, machine, tmp_path) as way:
        assert way.process.wait() == 1
        assert "is sshd running" in way.err.read_text(), way.err.read_text()
    assert server.get("/v1/machines")["machines"] == []
