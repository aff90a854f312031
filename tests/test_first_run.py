"""The first minutes of a user: run a file, run a command, see what came of it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import stat
import struct
import subprocess
import termios
from pathlib import Path
from typing import Any

import pytest
from harness import (
    EXAMPLES,
    Nobody,
    Server,
    alive,
    environment,
    muster,
    native,
    patience,
    program,
    wait_for,
)

HELLO = EXAMPLES / "openpai/hello.json"


def document(text: str) -> Any:
    """--json prints one document and nothing else."""
    return json.loads(text)


@pytest.mark.sanitizer
def test_run_hello(server: Server) -> None:
    done = server.muster("run", HELLO)
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    for i in range(2):
        assert f"hello from greeter/{i} of job hello: task {i + 1} of 2" in said
    assert "succeeded" in said


@pytest.mark.sanitizer
def test_run_command_without_a_file(server: Server) -> None:
    done = server.muster("run", "--", "sh", "-c", "echo one; echo two >&2")
    assert done.returncode == 0, done.stderr
    assert "one" in done.stdout
    assert "two" in done.stdout + done.stderr


def test_run_command_with_replicas(server: Server) -> None:
    done = server.muster("run", "--replicas", 3, "--name", "three", "--", "echo", "here I am")
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count("here I am") >= 3
    assert server.job("three")["tasks"] == 3


def test_arguments_stay_apart(server: Server) -> None:
    done = server.muster("run", "--", "printf", "<%s>", "a b", "$HOME", "it's", "")
    assert done.returncode == 0, done.stderr
    assert "<a b><$HOME><it's><>" in done.stdout


def test_run_in_the_directory_it_was_typed_in(server: Server, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("from here\n")
    done = server.muster("run", "--", "cat", "note.txt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "from here" in done.stdout


def test_exit_codes(server: Server, short_path: Path) -> None:
    assert server.muster("run", "--", "false").returncode == 1
    assert server.muster("run", "--exit-code", "task", "--", "sh", "-c", "exit 7").returncode == 7
    assert server.muster("run", "--exit-code", "task", "--", "true").returncode == 0
    assert server.muster("submit", "no-such-file.json").returncode == 2
    assert server.muster("lss").returncode == 2
    assert server.muster("show", 999999).returncode == 2
    nobody = muster("ls", state=short_path / "none")
    assert nobody.returncode == 4
    assert "server" in nobody.stderr


def test_stopped_is_three(server: Server) -> None:
    run = server.popen("run", "--name", "three-out", "--", "sleep", "60")
    wait_for(lambda: server.jobs(name="three-out", state="running"))
    assert server.muster("stop", "three-out").returncode == 0
    out, err = run.communicate(timeout=patience(20))
    assert run.returncode == 3, out + err


@pytest.mark.sanitizer
def test_json_shapes(server: Server) -> None:
    done = server.muster("submit", "--json", "-", stdin=native("shapes", "echo shape"))
    assert done.returncode == 0, done.stderr
    made = document(done.stdout)
    assert re.fullmatch(r"[0-9a-z]{13}", made["id"])
    assert made["name"] == "shapes"
    number = made["number"]
    assert server.muster("wait", number).returncode == 0

    listed = document(server.muster("ls", "--json").stdout)
    mine = [job for job in listed["jobs"] if job["number"] == number]
    assert mine and mine[0]["state"] == "succeeded"

    shown = document(server.muster("show", "--json", number).stdout)
    assert shown["id"] == made["id"]
    for name in ("submitted", "started", "ended"):
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", shown[name]), shown[name]

    status = document(server.muster("server", "status", "--json").stdout)
    assert status["pid"] == server.pid
    assert status["state_dir"] == str(server.state)
    assert {"version", "address", "uptime_s"} <= status.keys()

    nodes = document(server.muster("nodes", "--json").stdout)["nodes"]
    assert [node["name"] for node in nodes] == ["n1", "n2", "n3", "n4"]
    assert nodes[0]["memory"] == 64 << 30

    config = document(server.muster("config", "--json").stdout)
    rows = {row["name"]: row for row in config["config"]}
    assert rows["listen"]["value"] == "127.0.0.1:0" and rows["listen"]["from"] == "flag"
    assert rows["keep"]["from"] == "default"

    events = document(server.muster("events", "--json", number).stdout)["events"]
    assert events[0]["type"] == "submitted"
    assert [e["seq"] for e in events] == sorted({e["seq"] for e in events})


def test_events_name_their_task_once(server: Server) -> None:
    number = server.submit(native("named", "exit 3", retry={"unknown": 1}))
    server.wait(number, "failed")
    lines = server.muster("events", number).stdout.splitlines()
    tasks = [line for line in lines if "task." in line]
    assert {word for line in tasks for word in line.split() if word.startswith("task.")} == {
        "task.started",
        "task.retry",
        "task.failed",
    }
    assert all(line.count("worker/0") == 1 for line in tasks), tasks


def test_show_by_number_name_id(server: Server) -> None:
    number = server.submit(native("by-name", "true"))
    server.wait(number)
    job = server.job(number)
    for word in (number, "by-name", job["id"], f"dlc{job['id']}"):
        shown = document(server.muster("show", "--json", word).stdout)
        assert shown["number"] == number


def test_show_tells_who_was_first(server: Server) -> None:
    text = native("first", "echo before the end; exit 9", 2)
    number = server.run(text)["number"]
    done = server.muster("show", number)
    assert done.returncode == 0
    assert "failed" in done.stdout
    assert "exited with 9" in done.stdout
    assert "before the end" in done.stdout


def test_quiet_prints_the_number(server: Server) -> None:
    done = server.muster("submit", "-q", "-", stdin=native("quiet"))
    assert re.fullmatch(r"\d+\n", done.stdout)
    assert done.stderr == ""
    server.wait(done.stdout.strip())


def test_submit_several_and_like(server: Server, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(native(f"many-{name}", f"echo {name}"))
    done = server.muster("submit", "a.json", "b.json", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    jobs = document(done.stdout)["jobs"]
    assert [job["name"] for job in jobs] == ["many-a", "many-b"]
    again = server.muster("submit", "--json", "--like", jobs[0]["number"], "--name", "many-c")
    assert again.returncode == 0, again.stderr
    like = document(again.stdout)
    assert like["name"] == "many-c"
    server.wait(like["number"])
    assert server.log(like["number"]) == "a\n"


def test_overrides(server: Server) -> None:
    done = server.muster(
        "submit",
        "--json",
        "--set",
        "roles.worker.replicas=2",
        "--env",
        "WORD=over",
        "-",
        stdin=native("overrides", "echo $WORD"),
    )
    assert done.returncode == 0, done.stderr
    number = document(done.stdout)["number"]
    job = server.wait(number)
    assert job["tasks"] == 2
    assert server.log(number) == "over\nover\n"


def interrupted(server: Server, name: str) -> subprocess.Popen[str]:
    run = server.popen("run", "--name", name, "--", "sh", "-c", "echo up; sleep 600")
    assert run.stdout and run.stderr
    os.set_blocking(run.stderr.fileno(), False)
    wait_for(lambda: server.jobs(name=name, state="running"))
    run.send_signal(signal.SIGINT)
    said = ""

    def told() -> bool:
        nonlocal said
        assert run.stderr
        with contextlib.suppress(BlockingIOError):
            said += os.read(run.stderr.fileno(), 65536).decode()
        return "again" in said

    wait_for(told, 5, "the word about a second Ctrl-C")
    os.set_blocking(run.stderr.fileno(), True)
    assert re.search(r"muster logs -f \d+", said), said
    return run


def test_ctrl_c_once_leaves_the_job(server: Server) -> None:
    run = interrupted(server, "ctrl-c-once")
    run.communicate(timeout=patience(15))
    assert run.returncode == 130
    assert server.state_of("ctrl-c-once") == "running"
    server.stop("ctrl-c-once", now=True)
    server.wait("ctrl-c-once", "stopped")


def test_ctrl_c_twice_stops_the_job(server: Server) -> None:
    run = interrupted(server, "ctrl-c-twice")
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=patience(20))
    assert run.returncode in (3, 130)
    server.wait("ctrl-c-twice", "stopped")


@pytest.mark.sanitizer
def test_run_starts_a_server_and_server_stop_ends_it(short_path: Path) -> None:
    """Without any server, `run` starts one that goes on afterwards."""
    state = short_path / "state"
    env = {"MUSTER_LISTEN": "127.0.0.1:0", "MUSTER_IDLE_EXIT": "5m"}
    try:
        done = muster("run", "--", "echo", "by itself", state=state, env=env)
        assert done.returncode == 0, done.stderr
        assert "by itself" in done.stdout
        assert "no server yet" in done.stderr
        status = muster("server", "status", "--json", state=state, env=env)
        pid = json.loads(status.stdout)["pid"]
        again = muster("run", "--", "true", state=state, env=env)
        assert "no server yet" not in again.stderr
        assert muster("server", "stop", state=state, env=env).returncode == 0
        wait_for(lambda: not alive(pid))
        assert muster("server", "status", state=state, env=env).returncode == 4
    finally:
        muster("server", "stop", state=state, env=env)


def test_server_start_and_stop(short_path: Path) -> None:
    state = short_path / "state"
    args = ("--nodes", "2x4cpu,8Gi", "--listen", "127.0.0.1:0")
    done = muster("server", "start", *args, state=state)
    assert done.returncode == 0, done.stderr
    try:
        nodes = json.loads(muster("nodes", "--json", state=state).stdout)["nodes"]
        assert [node["cpu_milli"] for node in nodes] == [4000, 4000]
        again = muster("server", "start", *args, state=state)
        assert again.returncode in (0, 2)
        assert "already" in (again.stdout + again.stderr)
    finally:
        assert muster("server", "stop", state=state).returncode == 0


def test_default_node_offers_sixteen_cpus(short_path: Path) -> None:
    state = short_path / "state"
    env = {"MUSTER_LISTEN": "none"}
    assert muster("server", "start", state=state, env=env).returncode == 0
    try:
        nodes = json.loads(muster("nodes", "--json", state=state).stdout)["nodes"]
        assert len(nodes) == 1
        assert nodes[0]["cpu_milli"] >= 16000
        assert not nodes[0]["declared"]
    finally:
        muster("server", "stop", state=state)


def test_exec_in_a_task(server: Server) -> None:
    number = server.submit(native("exec", "export A=1; sleep 600", env={"WORD": "inside"}))
    server.wait(number, "running")
    done = server.muster("exec", number, "worker/0", "--", "sh", "-c", "echo $WORD; pwd; exit 5")
    assert done.returncode == 5, done.stderr
    assert done.stdout.splitlines()[0] == "inside"
    fed = server.muster("exec", number, "--", "cat", stdin="through\n")
    assert fed.returncode == 0 and fed.stdout == "through\n"
    other = server.muster("exec", number, "cat", "--", "true")
    assert 'has no task "cat"' in other.stderr
    server.stop(number, now=True)
    server.wait(number, "stopped")


def test_exec_carries_more_than_anything_on_its_way_holds(server: Server) -> None:
    """Whoever is slower, the command with its input or who reads its output, holds up the other."""
    number = server.submit(native("exec", "sleep 600"))
    server.wait(number, "running")
    size = 64_000_000
    env = environment(server.state)
    line = [str(program()), "exec", str(number), "--", "sh", "-c"]
    # 64 KiB at a time, by two processes for each.
    slow = "while n=$(head -c 65536 | wc -c); [ $n -gt 0 ]; do echo $n; done"
    done = subprocess.run(
        [*line, slow], env=env, input=bytes(size), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert sum(map(int, done.stdout.split())) == size
    with subprocess.Popen(
        [*line, f"head -c {size} /dev/zero"], env=env, stdout=subprocess.PIPE, bufsize=0
    ) as reads:
        assert reads.stdout
        slowly = sum(len(reads.stdout.read(1)) for _ in range(1_000_000))
        rest = 0
        while piece := reads.stdout.read(1 << 16):
            rest += len(piece)
    assert reads.returncode == 0
    assert slowly + rest == size
    server.stop(number, now=True)
    server.wait(number, "stopped")


def test_exec_with_a_terminal(server: Server) -> None:
    """Typed in a terminal, the command gets one of the same size."""
    number = server.submit(native("tty", "sleep 600"))
    server.wait(number, "running")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(
            program(),
            ["muster", "exec", str(number), "worker/0", "--", "sh", "-c", "read x; stty size; tty"],
            environment(server.state),
        )
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    os.write(terminal, b"go\n")
    said = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while chunk := os.read(terminal, 4096):
            said += chunk
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, said
    assert b"/dev/pts/" in said
    assert b"33 99" in said
    server.stop(number, now=True)
    server.wait(number, "stopped")


def exec_on_a_terminal(server: Server, number: int, *command: str) -> tuple[int, int]:
    """Its process, and the other end of its terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        line = ["muster", "exec", str(number), "worker/0", "--", *command]
        os.execve(program(), line, environment(server.state))
    return pid, terminal


def test_exec_puts_the_terminal_back_in_order(server: Server) -> None:
    """Before it says what went wrong, and when it is told to end."""
    number = server.submit(native("tty-end", "sleep 600"))
    server.wait(number, "running")
    pid, terminal = exec_on_a_terminal(server, number, "no-such-command")
    said = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(terminal, 4096):
            said += chunk
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 127, said
    assert b"no-such-command" in said
    # A raw terminal would have shown the line feed alone.
    assert said.endswith(b"\r\n") and b"\n" not in said.replace(b"\r\n", b"")

    pid, terminal = exec_on_a_terminal(server, number, "sh", "-c", "echo begun; cat")
    while b"begun" not in said:
        said += os.read(terminal, 4096)
    os.kill(pid, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 128 + signal.SIGTERM
    usual = termios.ICANON | termios.ECHO | termios.ISIG
    assert termios.tcgetattr(terminal)[3] & usual == usual
    os.close(terminal)
    server.stop(number, now=True)
    server.wait(number, "stopped")


def test_tasks_find_their_peers_by_name(server: Server) -> None:
    if not server.muster("doctor").stdout.count("namespaces  ok"):
        pytest.skip("no mount namespaces here: tasks have the host's /etc/hosts")
    run = "getent hosts worker-0 worker-1 | awk '{print $2}'; cat; cat /etc/hosts >&2"
    number = server.run(native("peers", run, 2))["number"]
    assert server.log(number, "worker/0", stream="stdout") == "worker-0\nworker-1\n"
    assert "worker-0" not in Path("/etc/hosts").read_text()


def test_not_root(short_path: Path) -> None:
    """Everything of the first run works for a user without rights, too."""
    nobody = Nobody(short_path)
    if nobody.why_not:
        pytest.skip(nobody.why_not)
    try:
        done = nobody.muster("run", "--memory", "64Mi", "--", "id", "-un")
        assert done.returncode == 0, done.stderr
        assert "nobody" in done.stdout
        # The mode of its state directory keeps others out.
        assert stat.S_IMODE(nobody.state.stat().st_mode) == 0o700
    finally:
        nobody.stop_server()


def test_logs_options(server: Server) -> None:
    run = "for i in 1 2 3; do echo out $i; echo err $i >&2; done"
    number = server.run(native("logs", run, 2))["number"]
    one = server.muster("logs", number, "worker/1")
    assert one.returncode == 0, one.stderr
    both = one.stdout + one.stderr
    for i in (1, 2, 3):
        assert f"out {i}" in both and f"err {i}" in both
    assert "err" not in server.muster("logs", number, "worker/1", "--stdout").stdout
    tail = server.muster("logs", number, "worker/1", "--stdout", "--tail", 1)
    assert tail.stdout.strip().endswith("out 3")
    assert "out 2" not in tail.stdout
    assert server.muster("logs", number, "nobody/0").returncode == 2
    follow = server.muster("logs", "-f", number, "worker/0", "--stdout")
    assert follow.returncode == 0
    assert "out 3" in follow.stdout


def test_chinese_names_and_output(server: Server) -> None:
    done = server.muster("run", "--name", "hello", "--", "echo", "你好，世界")
    assert done.returncode == 0
    assert "你好，世界" in done.stdout
