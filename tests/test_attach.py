"""A person at a running task: what is typed reaches its stdin, a debugger answers, Ctrl-P Ctrl-Q
leaves it running, and a server that is killed in between loses and repeats nothing."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from harness import (
    VENV,
    Server,
    environment,
    native,
    patience,
    program,
    until_there,
    wait_for,
)

DEBUGGED = """
import os
answer = 41
breakpoint()
print("the answer is", answer, "by rank", os.environ.get("RANK", "none"), flush=True)
"""
COUNTER = "while read word; do n=$((n + 1)); echo $n $word; done; echo ended"
LEAVE = "\x10\x11"


class Screen:
    """The command line in a terminal of its own."""

    def __init__(self, server: Server, *args: object) -> None:
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            words = ["muster", *map(str, args)]
            os.execve(program(), words, environment(server.state, TERM="xterm"))
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))

    def see(self, text: str) -> None:
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], patience())
            assert ready, f"{text!r} did not come: {self.seen!r}"
            with contextlib.suppress(OSError):
                self.seen += os.read(self.fd, 4096).decode()
                continue
            raise AssertionError(f"the terminal ended before {text!r}: {self.seen!r}")

    def read_until(self, text: str) -> str:
        """What came before text, which is taken from what was seen."""
        self.see(text)
        before, _, self.seen = self.seen.partition(text)
        return before

    def read_both(self, output: str, told: str) -> None:
        """In any order: of `run`, one process shows the task's output and another tells its events.
        What was seen until then is taken."""
        self.see(output)
        self.see(told)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def is_raw(self) -> bool:
        usual = termios.ICANON | termios.ECHO | termios.ISIG
        return not termios.tcgetattr(self.fd)[3] & usual

    def code(self) -> int:
        with contextlib.suppress(OSError):
            while chunk := os.read(self.fd, 4096):
                self.seen += chunk.decode()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@contextlib.contextmanager
def screen(server: Server, *args: object) -> Iterator[Screen]:
    at = Screen(server, *args)
    try:
        yield at
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(at.pid, signal.SIGKILL)
            os.waitpid(at.pid, 0)
        os.close(at.fd)


def typed(name: str, run: str, **fields: Any) -> str:
    return native(name, run, stdin=True, **fields)


def said(server: Server, number: int, text: str) -> None:
    wait_for(lambda: text in server.log(number), what=f"{text!r} in the log of {number}")


def test_a_breakpoint_in_a_job_is_answered(server: Server, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(DEBUGGED)
    number = server.submit(typed("pdb", f"{VENV}/python {tmp_path}/train.py"))
    said(server, number, "(Pdb) ")
    done = server.muster("attach", number, stdin="answer += 1\ncontinue\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("(Pdb) (Pdb) the answer is 42 by rank none\n")
    assert server.wait(number, "succeeded")


def test_a_breakpoint_under_the_launcher_is_answered(server: Server, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(DEBUGGED)
    job = typed(
        "pdb-rank",
        f"torchrun --nproc-per-node=1 {tmp_path}/train.py",
        launcher={"ranks_per_node": 1},
        inputs={"interpreter": str(VENV / "python")},
    )
    number = server.submit(job)
    said(server, number, "(Pdb) ")
    done = server.muster("attach", number, "worker/0", stdin="answer += 1\ncontinue\n")
    assert done.returncode == 0, done.stderr
    assert "the answer is 42 by rank 0\n" in done.stdout


def test_run_passes_a_pipe_on(server: Server) -> None:
    done = server.muster("run", "-i", "--", "python3", "-", stdin="print(6 * 7)\n")
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
    assert "succeeded" in done.stderr
    lines = "".join(f"{i} {'x' * 200}\n" for i in range(10000))  # 2 MB: more than any buffer
    done = server.muster("run", "-q", "-i", "--", "cat", stdin=lines)
    assert done.returncode == 0, done.stderr
    assert done.stdout == lines
    done = server.muster("run", "-i", "--json", "--", "cat")
    assert done.returncode == 2 and "--stdin and --json" in done.stderr
    done = server.muster("run", "-i", "--array", "2", "--", "cat")
    assert done.returncode == 2 and "--stdin and --array" in done.stderr
    number = server.muster("submit", "-q", "-i", "--array", "2", "--", "cat").stdout.strip()
    for i in range(2):
        wait_for(lambda i=i: server.job(f"{number}[{i}]")["state"] == "running")  # type: ignore[misc]
        done = server.muster("attach", "--eof", f"{number}[{i}]", stdin=f"to {i}\n")
        assert (done.returncode, done.stdout) == (0, f"to {i}\n"), done.stderr


def test_run_on_a_terminal(server: Server) -> None:
    """The program is on one of the same size; Ctrl-C is its own, Ctrl-D ends its input."""
    with screen(server, "run", "-i", "--", "python3", "-q") as at:
        at.read_until(">>> ")
        at.type("import os; os.get_terminal_size().columns, os.ttyname(0)[:9]\n")
        at.read_until("(99, '/dev/pts/')")
        assert at.is_raw()
        at.type("print('begun'); os.read(os.pipe()[0], 1)\n")
        at.read_until("\r\nbegun")
        at.type("\x03")
        at.read_until("KeyboardInterrupt")
        at.type("40 + 2\n")
        at.read_until("\r\n42\r\n")
        at.type("\x04")
        at.read_until("succeeded")
        assert at.code() == 0
    assert "\n" not in at.seen.replace("\r\n", "")


def test_leaving_and_coming_again(server: Server) -> None:
    number = server.submit(typed("left", COUNTER, tty=True))
    server.wait(number, "running")
    with screen(server, "attach", number) as at:
        at.read_until("Ctrl-P Ctrl-Q leaves it running")
        at.type("one\n")
        at.read_until("1 one")
        at.type("\x10tw\x10o\n")  # a Ctrl-P alone is the program's
        at.read_until("2 ")
        at.type(LEAVE)
        at.read_until("worker/0 goes on")
        assert at.code() == 0
        assert not at.is_raw()
    assert server.state_of(number) == "running"
    with screen(server, "attach", number, "worker/0") as at:
        at.read_until("1 one")  # what it wrote before
        at.type("three\n")
        at.read_until("3 three")
        at.type("\x04")
        at.read_until("ended")
        assert at.code() == 0
    server.wait(number, "succeeded")


def test_leaving_a_run(server: Server) -> None:
    with screen(server, "run", "-i", "--name", "left-run", "--", "sh", "-c", COUNTER) as at:
        at.read_until("running")
        at.type("one\n")
        at.read_until("1 one")
        at.type(LEAVE)
        at.read_until("worker/0 goes on")
        assert at.code() == 130
    number = server.job("left-run")["number"]
    assert server.state_of(number) == "running"
    done = server.muster("attach", "--eof", number, stdin="two\n")
    assert done.returncode == 0, done.stderr
    assert "2 two" in done.stdout and done.stdout.replace("\r", "").endswith("ended\n")


def test_two_at_once(server: Server) -> None:
    """Both see all of the output, and the input of both arrives."""
    number = server.submit(typed("two", COUNTER, tty=True))
    server.wait(number, "running")
    with screen(server, "attach", number) as one, screen(server, "attach", number) as other:
        one.read_until("leaves it running")
        other.read_until("leaves it running")
        one.type("first\n")
        one.read_until("1 first")
        other.read_until("1 first")
        other.type("second\n")
        one.read_until("2 second")
        other.read_until("2 second")
        one.type("\x04")
        other.read_until("ended")
        assert (one.code(), other.code()) == (0, 0)


def test_the_end_of_a_pipe_leaves_the_stdin_open(server: Server) -> None:
    number = server.submit(typed("pipes", COUNTER))
    server.wait(number, "running")
    line = [str(program()), "attach", "--tail", "1", str(number)]
    env = environment(server.state)
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as one:
        assert one.stdin and one.stdout
        one.stdin.write(b"one\n")
        one.stdin.close()
        assert one.stdout.readline() == b"1 one\n"
        done = server.muster("attach", "--eof", "--tail", "1", number, stdin="two\n")
        assert done.returncode == 0, done.stderr
        assert done.stdout == "1 one\n2 two\nended\n"
        assert one.stdout.read() == b"2 two\nended\n"  # it went on looking
        assert one.wait() == 0
    server.wait(number, "succeeded")
    done = server.muster("attach", number)
    assert done.returncode == 2 and "the job has ended" in done.stderr


def test_looking_only(server: Server) -> None:
    number = server.submit(typed("look", f"echo before; {COUNTER}; exit 7"))
    said(server, number, "before")
    line = [str(program()), "attach", "--no-stdin", "--logs", str(number)]
    env = environment(server.state)
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as one:
        assert one.stdin and one.stdout
        one.stdin.write(b"never\n")
        one.stdin.flush()
        assert one.stdout.readline() == b"before\n"
        assert server.muster("attach", "--eof", number, stdin="x\n").returncode == 7
        assert one.stdout.read() == b"1 x\nended\n"
        assert one.wait() == 7


def test_a_killed_server_loses_and_repeats_nothing(start: Starter) -> None:
    server = start()
    number = server.submit(typed("killed", COUNTER))
    server.wait(number, "running")
    line = [str(program()), "attach", "--eof", str(number)]
    env = environment(server.state)
    with subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as one:
        assert one.stdin and one.stdout and one.stderr
        told = 0
        for _ in range(3):
            for _ in range(50):
                told += 1
                one.stdin.write(f"w{told}\n".encode())
            one.stdin.flush()
            assert one.stdout.readline() == f"{told - 49} w{told - 49}\n".encode()
            server.kill()
            told += 1
            one.stdin.write(f"w{told}\n".encode())  # while nobody is there
            one.stdin.flush()
            server.start()
            for i in range(told - 49, told + 1):
                assert one.stdout.readline() == f"{i} w{i}\n".encode()
        one.stdin.close()
        assert one.stdout.read() == b"ended\n"
        assert one.wait() == 0
        assert b"server gone" in one.stderr.read()


def test_run_goes_through_a_killed_server(start: Starter) -> None:
    server = start()
    with screen(server, "run", "-i", "--", "sh", "-c", COUNTER) as at:
        at.type("one\n")
        at.read_until("1 one")
        server.kill()
        at.read_until("server gone")
        at.type("two\n")
        server.start()
        at.read_both("2 two", "nothing lost")
        at.type("\x04")
        at.read_until("succeeded")
        assert at.code() == 0


def test_every_attempt_is_typed_into(server: Server, tmp_path: Path) -> None:
    """After a failure that is retried, run goes on with the next attempt."""
    job = native("again", "read word; echo got $word; test $word = good", retry={"unknown": 1})
    (tmp_path / "job.json").write_text(job)
    with screen(server, "run", "-i", tmp_path / "job.json") as at:
        at.read_until("running")
        at.type("bad\n")
        at.read_both("got bad", "attempt 2")
        at.type("good\n")
        at.read_both("got good", "succeeded")
        assert at.code() == 0


def test_a_task_that_ends_at_once(server: Server) -> None:
    """Its output is shown although nobody came in time, as are the others'."""
    for _ in range(3):
        done = server.muster("run", "-i", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
        assert done.returncode == 1
        assert done.stdout == "out\n", done.stderr
        assert "err\n" in done.stderr
    done = server.muster(
        *("run", "-i", "--replicas", 2, "--", "sh", "-c"), "echo I am $MUSTER_TASK_INDEX"
    )
    assert done.stdout == "I am 0\n"
    assert "worker/1  I am 1\n" in done.stderr


def test_a_file_says_it_itself(server: Server, tmp_path: Path) -> None:
    roles: dict[str, dict[str, Any]] = {
        "a": {"run": "sleep 600", "done": {"succeeded": "never"}},
        "b": {"run": "cat", "stdin": True},
    }
    (tmp_path / "job.json").write_text(json.dumps({"name": "roles", "roles": roles}))
    done = server.muster("run", "-i", tmp_path / "job.json", stdin="through\n")
    assert (done.returncode, done.stdout) == (0, "through\n"), done.stderr
    del roles["b"]["stdin"]
    (tmp_path / "job.json").write_text(json.dumps({"name": "roles", "roles": roles}))
    done = server.muster("run", "-i", tmp_path / "job.json")
    assert done.returncode == 2 and "--set roles.a.stdin=true" in done.stderr
    done = server.muster("check", "-", stdin=native("t", tty=True))
    assert done.returncode == 2 and "stdin: true beside it" in done.stdout


def test_refusals(start: Starter, tmp_path: Path) -> None:
    server = start()
    plain = server.submit(native("plain", "sleep 600"))
    server.wait(plain, "running")
    waits = server.submit(typed("waits", "cat", resources={"cpu": 64}), wait="1")
    declared = tmp_path / "vision.yaml"
    declared.write_text("kind: workspace\nname: vision\n")
    assert server.muster("apply", "-f", declared).returncode == 0
    goes = server.submit(typed("goes", f"{until_there(tmp_path / 'go')}; cat", project="vision"))
    server.wait(goes, "running")
    over = server.run(typed("over", "true"))["number"]

    def refused(*args: object) -> str:
        done = server.muster("attach", *map(str, args))
        assert done.returncode == 2, done
        return done.stderr

    assert "worker/0 of job 1 keeps no stdin open" in refused(plain)
    assert "submit --like 1 --stdin" in refused(plain)
    assert "exec 1 worker/0" in refused(plain)
    assert "does not run yet, the job is queued" in refused(waits)
    assert "the job has ended" in refused(over)
    assert 'has no task "worker/7"' in refused(goes, "worker/7")
    assert 'has no task "ps"' in refused(goes, "ps")
    assert "give one of them" in refused("--tail", 3, "--logs", goes)
    assert server.muster("attach", "nobody").returncode == 2
    url = server.info()["address"]
    for name, options, status in (
        ("eve", (), 2),  # sees no such job
        ("rita", ("--role", "reader", "--project", "vision"), 5),
        ("bob", ("--project", "vision"), 5),
    ):
        assert server.muster("user", "add", name, *options).returncode == 0
        token = server.muster("token", "create", "--user", name, "-q").stdout.strip()
        done = server.muster("attach", "--server", url, goes, env={"MUSTER_TOKEN": token})
        assert done.returncode == status, (name, done)
    for number in (plain, waits, goes):
        server.stop(number, now=True)


@pytest.mark.parametrize("stdin", [True, False])
def test_containers_of_an_elastic_job(server: Server, stdin: bool, tmp_path: Path) -> None:
    container = {
        "name": "main",
        "image": "x",
        "command": ["sh", "-c", "read word; echo got $word"],
        "stdin": stdin,
        "tty": True,
    }
    spec = {"worker": {"replicas": 1, "template": {"spec": {"containers": [container]}}}}
    job = {
        "apiVersion": "elastic.iml.github.io/v1alpha1",
        "kind": "ElasticJob",
        "metadata": {"name": f"typed-{stdin}".lower()},
        "spec": {"replicaSpecs": spec},
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    done = server.muster("check", tmp_path / "job.json")
    assert ("without stdin: true there is no terminal" in done.stdout + done.stderr) != stdin
    back = server.muster("convert", "--to", "elasticjob", tmp_path / "job.json").stdout
    assert ("stdin: true" in back) == stdin
    if stdin:
        number = server.submit(json.dumps(job))
        server.wait(number, "running")
        done = server.muster("attach", number, stdin="it\n")
        assert "got it" in done.stdout, done.stderr
