"""muster port-forward: connections here that lead to a port of a running task."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from accounts import Account, Shared
from conftest import Starter
from harness import Server, environment, free_port, native, program, wait_for
from test_machines import AGENTS, add, host, wait_state, write_conf

# Says of each line how long it is, and at the end who is there.
SERVE = r"""
import socketserver, sys
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(b"%d\n" % len(line))
        self.wfile.write(b"over\n")
class Here(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
with Here(("127.0.0.1", int(sys.argv[1])), Handler) as here:
    print("ready", flush=True)
    here.serve_forever()
"""


def serving(server: Server, port: int, **fields: Any) -> int:
    job = native("serves", f'exec python3 -c "$SERVE" {port}', env={"SERVE": SERVE}, **fields)
    number = server.submit(job)
    wait_for(lambda: server.log(number) == "ready\n", what="the task to listen")
    return number


@contextmanager
def forwarded(server: Server, *words: str | int) -> Iterator[int]:
    """The port here."""
    process = subprocess.Popen(
        [str(program()), "port-forward", *map(str, words)],
        env=environment(server.state),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        said = process.stdout.readline()
        found = re.match(r"127\.0\.0\.1:(\d+) leads to port \d+ of job ", said)
        assert found, said
        yield int(found[1])
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
        assert process.stdout
        process.stdout.close()


def ask(port: int, *lines: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as there:

        def say() -> None:
            for line in lines:
                there.sendall(line + b"\n")
            there.shutdown(socket.SHUT_WR)

        speaks = threading.Thread(target=say)
        speaks.start()
        heard = b""
        while piece := there.recv(1 << 16):
            heard += piece
        speaks.join()
        return heard


@pytest.mark.sanitizer
def test_connections_lead_to_the_task(server: Server) -> None:
    """Several at a time, each with its own end; and more bytes than anything on the way holds."""
    port = free_port()
    number = serving(server, port)
    with (
        forwarded(server, number, f"0:{port}") as here,
        socket.create_connection(("127.0.0.1", here)) as open_one,
    ):
        open_one.sendall(b"abc\n")
        assert open_one.recv(9) == b"4\n"
        assert ask(here, b"", b"12345") == b"1\n6\nover\n"
        assert ask(here, *[bytes(10_000_000)] * 3) == b"10000001\n" * 3 + b"over\n"
        open_one.sendall(b"a\n")
        assert open_one.recv(9) == b"2\n"
    with forwarded(server, number, "worker/0", f"0:{free_port()}") as here:
        assert ask(here) == b""  # nobody listens there
    server.stop(number, now=True)
    server.wait(number, "stopped")


def test_a_task_on_a_machine(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="name=here,1cpu,1Gi", flags=AGENTS)
    home, port = tmp_path / "m1", free_port()
    write_conf(server, home, add(server))
    with host(home):
        wait_state(server, "up")
        number = serving(server, port, resources={"cpu": 2})
        with forwarded(server, number, f"0:{port}") as here:
            assert ask(here, b"12345") == b"6\nover\n"
        sent = tmp_path / "sent"
        sent.write_bytes(os.urandom(3_000_000))
        assert server.muster("cp", str(sent), f"{number}:").returncode == 0
        assert server.muster("cp", f"{number}:sent", str(tmp_path / "back")).returncode == 0
        assert (tmp_path / "back").read_bytes() == sent.read_bytes()
        server.stop(number, now=True)
        server.wait(number, "stopped")


def test_it_is_the_tasks_account_that_connects(
    shared: Callable[..., Shared], accounts: list[Account]
) -> None:
    """Programs on the loopback interface, the server among them, look at whose a connection is."""
    server = shared()
    ann = accounts[0]
    number = server.submit_as(ann, "echo ready; sleep 600")
    wait_for(lambda: server.log(number) == "ready\n", what="the task")
    with socket.create_server(("127.0.0.1", 0)) as there:
        done = subprocess.Popen(
            [str(program()), "port-forward", str(number), f"0:{there.getsockname()[1]}"],
            env=environment(server.state),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert done.stdout
        here = int(re.findall(r"127\.0\.0\.1:(\d+)", done.stdout.readline())[0])
        with socket.create_connection(("127.0.0.1", here)), there.accept()[0] as came:
            mine = f"{came.getpeername()[1]:04X}"
            rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
            (uid,) = [row[7] for row in rows if row[1].endswith(f":{mine}")]
            assert int(uid) == ann.uid
        done.send_signal(signal.SIGINT)
        done.wait()
        done.stdout.close()
    server.stop(number, now=True)
    server.wait(number, "stopped")


@pytest.mark.parametrize("words", [("1",), ("1", "x"), ("1", "0"), ("1", "70000"), ("1", "1:2:3")])
def test_what_is_no_port(server: Server, words: tuple[str, ...]) -> None:
    done = server.muster("port-forward", *words)
    assert done.returncode == 2 and done.stderr.startswith("error: "), done.stderr


def test_what_no_port_is_of(server: Server) -> None:
    number = server.submit(native("over", "true"))
    server.wait(number, "succeeded")
    over = server.muster("port-forward", number, "80")
    assert over.returncode == 2 and "is succeeded: none of its tasks runs" in over.stderr, over
    running = server.submit(native("one", "sleep 600"))
    none = server.muster("port-forward", running, "worker/1", "80")
    assert none.returncode == 2 and 'has no task "worker/1"' in none.stderr, none
    server.stop(running, now=True)
    server.wait(running, "stopped")
