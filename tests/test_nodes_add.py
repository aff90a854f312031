"""muster nodes add and rm against a real sshd and the real muster-node. What the server does with
machines is no part of this: a small one here speaks POST, GET and DELETE /v1/machines, and a
machine counts as connected when its host has come to the port that it was told."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from harness import Json, all_pids, environment, parent, proc_bytes, program, wait_for
from sshd import Machine, key, why_no_sshd

pytestmark = pytest.mark.skipif(bool(why_no_sshd()), reason=why_no_sshd() or "-")

PIN = "ab" * 32


class Nodes:
    """The server's side of machines."""

    def __init__(self) -> None:
        self.rows: dict[str, Json] = {}
        self.asked: list[tuple[str, str, Json]] = []
        self.came: set[str] = set()
        self.pin = PIN
        self.busy = False
        self.port = socket.create_server(("127.0.0.1", 0))
        nodes = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status: int, value: object) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def body(self) -> Json:
                length = int(self.headers.get("Content-Length") or 0)
                asked: Json = json.loads(self.rfile.read(length) or b"{}")
                nodes.asked.append((self.command, self.path, asked))
                return asked

            def do_GET(self) -> None:
                self.body()
                self.answer(200, nodes.listed())

            def do_POST(self) -> None:
                asked = self.body()
                if self.path.endswith("/fence"):
                    self.answer(200, {"name": self.path.split("/")[3]})
                    return
                row = nodes.rows.setdefault(asked["name"], {})
                row.update(asked, token=f"{len(nodes.asked):064x}")
                nodes.came.clear()
                place = f"127.0.0.1:{nodes.port.getsockname()[1]}"
                answer = {"name": asked["name"], "token": row["token"]}
                self.answer(201, {**answer, "pin": nodes.pin, "server": [place]})

            def do_DELETE(self) -> None:
                self.body()
                path, _, query = self.path.partition("?")
                name = path.split("/")[-1]
                if nodes.busy and "force" not in query:
                    self.answer(409, {"code": "conflict", "detail": "2 jobs run on far1",
                                      "hint": "drain it, or --force"})  # fmt: skip
                elif nodes.rows.pop(name, None) is None:
                    self.answer(404, {"code": "not_found", "detail": f"no machine {name}"})
                else:
                    self.answer(200, {"name": name})

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        threading.Thread(target=self.hear, daemon=True).start()

    def hear(self) -> None:
        while True:
            try:
                line, _ = self.port.accept()
            except OSError:
                return
            with line:
                line.recv(1)
                self.came.add("one")

    def listed(self) -> list[Json]:
        state = "connected" if self.came else "never came"
        return [{"name": name, "state": state} for name in self.rows]

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.port.close()

    def env(self, home: Path) -> dict[str, str]:
        url = f"http://127.0.0.1:{self.http.server_address[1]}"
        return environment(home, HOME=str(home), MUSTER_SERVER=url, MUSTER_TOKEN="t")


class Scene:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes = Nodes()
        self.machine = Machine(folder / "far")
        self.user = folder / "user"
        self.user.mkdir()

    def close(self) -> None:
        self.nodes.close()
        self.machine.stop()
        for pid in self.hosts():
            os.kill(pid, signal.SIGKILL)

    def hosts(self) -> list[int]:
        """Hosts of that machine's home, whoever started them."""
        mark = os.fsencode(self.machine.home) + b"/"
        return [
            pid
            for pid in all_pids()
            if mark in proc_bytes(pid, "cmdline") and b"\0host\0" in proc_bytes(pid, "cmdline")
        ]

    def command(self, *args: str) -> list[str]:
        return [str(program()), "nodes", *args]

    def run(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*args),
            env={**self.nodes.env(self.user), **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def add(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        return self.run("add", self.machine.name, "--ssh", self.machine.ssh, *args, **env)

    def remove(self, *args: str) -> subprocess.CompletedProcess[str]:
        return self.run("rm", self.machine.name, "--ssh", self.machine.ssh, *args)


@pytest.fixture
def scene(short_path: Path) -> Iterator[Scene]:
    one = Scene(short_path)
    yield one
    one.close()


def programs(machine: Machine) -> list[Path]:
    return sorted(machine.dir.glob("program/*/*"))


@pytest.mark.sanitizer
def test_a_machine_is_added(scene: Scene) -> None:
    done = scene.add("--label", "rack=r 1 'x' $(id)", "--address", "10.9.8.7", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["machines"]
    assert row["ok"] and row["state"] == "connected" and row["program"] == "copied", row
    assert row["dir"] == str(scene.machine.dir) and row["kept_by"] == "process"
    assert "@reboot" in row["notes"][0]
    (asked,) = [body for method, _, body in scene.nodes.asked if method == "POST"]
    assert asked == {"name": "far1", "address": "10.9.8.7", "labels": {"rack": "r 1 'x' $(id)"}}
    conf = scene.machine.conf()
    assert conf["token"] == scene.nodes.rows["far1"]["token"] and conf["pin"] == PIN
    assert conf["node"] == "far1" and conf["label"] == "rack=r 1 'x' $(id)"
    assert (scene.machine.dir / "host.conf").stat().st_mode & 0o777 == 0o600
    assert len(programs(scene.machine)) == 1 and len(scene.hosts()) == 1
    assert conf["token"] not in (scene.machine.folder / "sshd.log").read_text()


def test_again_mends(scene: Scene) -> None:
    assert scene.add().returncode == 0
    (first,), (program_there,) = scene.hosts(), programs(scene.machine)
    was = program_there.stat().st_ino, scene.machine.conf()["token"]
    done = scene.add()
    assert done.returncode == 0 and "muster-node was there" in done.stdout, done.stderr
    (second,) = scene.hosts()
    assert second != first, "the host has the new token"
    assert program_there.stat().st_ino == was[0] and scene.machine.conf()["token"] != was[1]
    # What lies there under that name and is another file is replaced.
    os.kill(second, signal.SIGKILL)
    wait_for(lambda: not scene.hosts(), what="its end")
    program_there.write_bytes(b"half of it")
    done = scene.add()
    assert done.returncode == 0 and "muster-node was there" not in done.stdout, done.stderr
    assert program_there.read_bytes() == (program().with_name("muster-node")).read_bytes()


def test_another_program_takes_the_place(scene: Scene, tmp_path: Path) -> None:
    assert scene.add().returncode == 0
    (before,) = programs(scene.machine)
    newer = tmp_path / "newer"
    newer.write_bytes(program().resolve().with_name("muster-node").read_bytes() + b"newer")
    newer.chmod(0o755)
    done = scene.add(MUSTER_NODE_PROGRAM=str(newer))
    assert done.returncode == 0, done.stderr
    (after,) = programs(scene.machine)
    assert after != before and after.read_bytes() == newer.read_bytes()
    (host,) = scene.hosts()
    assert os.readlink(f"/proc/{host}/exe") == str(after)


def test_it_is_removed(scene: Scene) -> None:
    assert scene.add().returncode == 0
    done = scene.remove()
    assert done.returncode == 0 and f"{scene.machine.dir} there is removed" in done.stdout
    assert not scene.hosts() and not scene.machine.dir.exists() and not scene.nodes.rows
    again = scene.remove()
    assert again.returncode == 0 and "knew no such machine" in again.stdout
    assert "nothing was left" in again.stdout


def test_what_is_somebody_elses_stays(scene: Scene) -> None:
    """A directory that was never a host's, and one that the host shares later."""
    other = scene.machine.home / "work"
    (other / "program").mkdir(parents=True)
    (other / "program" / "mine").write_text("x")
    for done in (scene.add("--dir", str(other)), scene.remove("--dir", str(other))):
        assert done.returncode == 1
        assert "something else lies in" in done.stderr or "is not of muster" in done.stderr
        assert [one.name for one in other.rglob("*")] == ["program", "mine"]
    assert scene.add().returncode == 0
    (scene.machine.dir / "notes").write_text("y")
    done = scene.remove()
    assert done.returncode == 1 and "not all of" in done.stderr, done.stderr
    assert [one.name for one in scene.machine.dir.iterdir()] == ["notes"]


def test_removal_by_halves(scene: Scene) -> None:
    assert scene.add().returncode == 0
    scene.nodes.busy = True
    done = scene.remove()
    assert done.returncode == 1 and "2 jobs run on far1" in done.stderr and scene.hosts()
    scene.machine.stop()
    done = scene.remove("--force")
    assert done.returncode == 1 and not scene.nodes.rows
    assert "the server has it no more, but .muster/far1 and its host are left" in done.stderr
    scene.machine.start()
    assert scene.add().returncode == 0
    assert scene.remove("--force", "--keep").returncode == 0 and scene.hosts()
    scene.nodes.busy = False
    (scene.machine.home / "mine").mkdir()
    done = scene.remove("--dir", "mine")
    assert done.returncode == 1 and (scene.machine.home / "mine").exists(), done.stdout
    assert "is not of muster" in done.stderr


def test_ways_not_to_get_there(scene: Scene, tmp_path: Path) -> None:
    machine = scene.machine
    machine.know(Path(f"{key(tmp_path / 'other')}.pub"))
    done = scene.add()
    assert done.returncode == 1 and "ssh-keygen -R" in done.stderr, done.stderr
    machine.know(machine.folder / "host_key.pub")
    (machine.folder / "known").write_text("")
    done = scene.add()
    assert done.returncode == 1 and "accept the host key" in done.stderr, done.stderr
    machine.know(machine.folder / "host_key.pub")
    (machine.folder / "authorized").write_text("")
    done = scene.add("--json")
    assert done.returncode == 1
    (row,) = json.loads(done.stdout)["machines"]
    assert not row["ok"] and "Permission denied" in row["error"], row
    assert row["while"] == "connecting" and "authorized_keys" in row["hint"]
    machine.stop()
    done = scene.add()
    assert done.returncode == 1 and "is sshd running" in done.stderr, done.stderr
    done = scene.run("add", "no-such-host.invalid", "--ssh", machine.ssh)
    assert done.returncode == 1 and "no such host" in done.stderr, done.stderr
    done = scene.run("add", "far1", "--ssh", "/no/such/ssh -x")
    assert done.returncode == 1 and "/no/such/ssh: No such file" in done.stderr, done.stderr
    assert not [method for method, _, _ in scene.nodes.asked if method == "POST"]
    assert not scene.nodes.rows and not scene.hosts()


def test_each_machine_has_its_result(scene: Scene) -> None:
    done = scene.run("add", "no-such-host.invalid", "far1", "--ssh", scene.machine.ssh)
    assert done.returncode == 1 and done.stdout.startswith("far1  connected"), done.stderr
    assert done.stderr.startswith("no-such-host.invalid: ")


@pytest.mark.parametrize(
    "args",
    [
        ("add", "a b"), ("add", "$(id)"), ("add", "-oProxyCommand=id"), ("add", "a\nb"),
        ("add", "a'b"), ("add", "me@"), ("add", "x@-y"), ("add", "far1", "me@far1"),
        ("add", "far1", "--label", "no"), ("add", "far1", "--label", "a=b\nsocket=x"),
        ("add", "far1", "--label", "a b=c"), ("add", "far1", "--dial", "gate:1"),
        ("add", "far1", "--dial", "10.0.0.1"), ("add", "far1", "--ssh", "ssh '"),
        ("add", "far1", "--tunnel", "70000"), ("rm", "far1", "--tunnel", "6879"),
        ("add", "far1", "--tunnel", "6879", "--dial", "10.0.0.1:6879"),
        ("add", "far1", "far2", "--address", "10.0.0.1"), ("add", "far1", "--reason", "x"),
        ("add", "far1", "--keep"), ("rm", "far1", "--label", "a=b"), ("rm", "far1", "--wait", "3s"),
        ("fence", "far1"), ("fence", "far1", "far2", "--reason", "x"),
        ("add", *(f"m{i}" for i in range(33))), ("add",),
    ],
)  # fmt: skip
def test_what_is_no_machine(scene: Scene, args: tuple[str, ...]) -> None:
    done = scene.run(*args)
    assert done.returncode == 2 and done.stderr.startswith("error: "), (done.stdout, done.stderr)
    assert not scene.nodes.asked


def test_directories_there(scene: Scene) -> None:
    (scene.machine.home / "file").touch()
    done = scene.add("--dir", "file/below")
    assert done.returncode == 1 and "cannot be made there" in done.stderr, done.stderr
    done = scene.add("--dir", "it's $(touch gone)")
    assert done.returncode == 1 and "has letters" in done.stderr, done.stderr
    assert sorted(one.name for one in scene.machine.home.iterdir()) == ["file"]
    place = scene.folder / "elsewhere"
    assert scene.add("--dir", str(place)).returncode == 0 and (place / "host.conf").exists()
    assert scene.remove("--dir", str(place)).returncode == 0 and not place.exists()


def test_a_directory_too_long_for_sockets(scene: Scene) -> None:
    place = scene.folder / ("d" * 65)
    done = scene.add("--dir", str(place))
    assert done.returncode == 0, done.stderr
    note = f"has {len(str(place))} bytes, and sockets in it leave room for 64; choose a shorter one"
    assert note in done.stdout, done.stdout
    assert scene.remove("--dir", str(place)).returncode == 0
    done = scene.add()
    assert done.returncode == 0 and "sockets" not in done.stdout, done.stdout + done.stderr


def test_no_programs_there(scene: Scene) -> None:
    place = scene.machine.home / "noexec"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "noexec,size=64m", "none", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system cannot be mounted here")
    try:
        done = scene.add("--dir", "noexec/node")
        assert done.returncode == 1 and "may not run there" in done.stderr, done.stderr
        subprocess.run(["mount", "-o", "remount,exec", str(place)], check=True)
        done = scene.add("--dir", "noexec/node")
        assert done.returncode == 1 and "MiB left there" in done.stderr, done.stderr
    finally:
        subprocess.run(["umount", str(place)], check=True)
    assert not scene.nodes.rows


def test_another_kind_of_machine(scene: Scene, tmp_path: Path) -> None:
    uname = tmp_path / "bin/uname"
    uname.parent.mkdir()
    uname.write_text('#!/bin/sh\ncase $1 in -m) echo riscv64 ;; *) exec /bin/uname "$@" ;; esac\n')
    uname.chmod(0o755)
    scene.machine.stop()
    scene.machine.path = str(uname.parent)
    scene.machine.configure()
    scene.machine.start()
    done = scene.add()
    assert done.returncode == 1 and "the machine is riscv64" in done.stderr, done.stderr
    assert not scene.nodes.rows


def test_it_does_not_connect(scene: Scene) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = taken.getsockname()[1]
    done = scene.add("--dial", f"127.0.0.1:{nobody}", "--wait", "2s")
    assert done.returncode == 1 and "has not connected" in done.stderr, done.stderr
    assert "server.unreachable" in done.stderr and "--dial" in done.stderr, done.stderr
    assert scene.machine.conf()["tcp"] == f"127.0.0.1:{nobody}"
    assert scene.add().returncode == 0, "and adding again mends"


def test_two_servers(scene: Scene) -> None:
    assert scene.add().returncode == 0
    was = scene.machine.conf()
    scene.nodes.pin = "cd" * 32
    done = scene.add()
    assert done.returncode == 1 and "the host of another server runs there" in done.stderr
    assert scene.machine.conf() == was and len(scene.hosts()) == 1
    assert scene.add("--force").returncode == 0 and scene.machine.conf()["pin"] == "cd" * 32


# What of systemctl and loginctl is used, for units of one line: there is no systemd in a test.
SYSTEMCTL = """#!/bin/sh
echo "$*" >>{log}
for unit; do :; done
stop() {{ [ ! -f {log}.pid ] || kill "$(cat {log}.pid)" 2>/dev/null; rm -f {log}.pid; }}
case "$*" in
*show-user*) echo no ;;
*restart*)
    start=$(sed -n 's/^ExecStart=//p' "$HOME/.config/systemd/user/$unit")
    setsid "$start" </dev/null >/dev/null 2>&1 &
    echo $! >{log}.pid ;;
*" stop "* | *disable*) stop ;;
esac
"""


def test_a_service_keeps_it(scene: Scene, tmp_path: Path) -> None:
    log = tmp_path / "units"
    for name in ("systemctl", "loginctl"):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(SYSTEMCTL.format(log=log))
        path.chmod(0o755)
    scene.machine.stop()
    scene.machine.path = str(tmp_path / "bin")
    scene.machine.configure()
    scene.machine.start()
    done = scene.add("--json")
    assert done.returncode == 0, done.stdout
    (row,) = json.loads(done.stdout)["machines"]
    assert row["kept_by"] == "systemd" and "enable-linger" in row["notes"][0], row
    (unit,) = scene.machine.home.glob(".config/systemd/user/*")
    assert f"ExecStart={scene.machine.dir}/start" in unit.read_text()
    assert "KillMode=process" in unit.read_text(), "agents outlive the host"
    assert scene.add().returncode == 0 and len(scene.hosts()) == 1
    assert scene.remove().returncode == 0 and not scene.hosts() and not unit.exists()
    assert f"disable --now {unit.name}" in log.read_text()


class Slow:
    """Stands for ssh: what goes there is held after so many bytes, until the test has looked."""

    TEXT = """#!{python}
import os, subprocess, sys
there = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
left = 200000
while piece := os.read(0, min(65536, left)):
    there.stdin.write(piece)
    there.stdin.flush()
    left -= len(piece)
    if not left:
        open("{mark}", "w").close()
        left = 1
        os.read(os.open("{hold}", os.O_RDONLY), 1)
there.stdin.close()
there.wait()
"""


def test_interrupted_in_the_middle(scene: Scene, tmp_path: Path) -> None:
    slow, mark, hold = tmp_path / "slow", tmp_path / "mark", tmp_path / "hold"
    os.mkfifo(hold)
    slow.write_text(Slow.TEXT.format(python=sys.executable, mark=mark, hold=hold))
    slow.chmod(0o755)
    half = subprocess.Popen(
        scene.command("add", "far1", "--ssh", f"{slow} {scene.machine.ssh}"),
        env=scene.nodes.env(scene.user),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    wait_for(mark.exists, what="half of the program")
    wait_for(
        lambda: [one for one in programs(scene.machine) if one.stat().st_size > 9], what="part"
    )
    half.send_signal(signal.SIGINT)
    assert half.wait() != 0
    wait_for(lambda: not programs(scene.machine), what="the end there")
    assert not scene.nodes.rows and not scene.hosts()
    done = scene.add()
    assert done.returncode == 0 and len(programs(scene.machine)) == 1, done.stderr


def test_the_connection_drops_in_the_middle(scene: Scene, tmp_path: Path) -> None:
    """The machine's end of it: nothing is left there that is used, and adding again mends."""
    slow, mark, hold = tmp_path / "slow", tmp_path / "mark", tmp_path / "hold"
    os.mkfifo(hold)
    slow.write_text(Slow.TEXT.format(python=sys.executable, mark=mark, hold=hold))
    slow.chmod(0o755)
    half = subprocess.Popen(
        scene.command("add", "far1", "--ssh", f"{slow} {scene.machine.ssh}"),
        env=scene.nodes.env(scene.user),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(mark.exists, what="half of the program")
    wait_for(
        lambda: [one for one in programs(scene.machine) if one.stat().st_size > 9], what="part"
    )
    assert scene.machine.process
    for pid in [pid for pid in all_pids() if parent(pid) == scene.machine.process.pid]:
        os.kill(pid, signal.SIGKILL)
    letting_go = os.open(hold, os.O_RDWR)  # from here on nothing is held
    os.write(letting_go, bytes(60000))
    _, said = half.communicate()
    os.close(letting_go)
    assert half.returncode == 1 and said.startswith("far1: "), said
    assert not scene.nodes.rows and not scene.hosts()
    done = scene.add()
    assert done.returncode == 0 and len(programs(scene.machine)) == 1, done.stderr


def test_fence(scene: Scene) -> None:
    done = scene.run("fence", "far1", "--reason", "it's off")
    assert done.returncode == 0 and "known to be dead" in done.stdout, done.stderr
    assert scene.nodes.asked[-1] == ("POST", "/v1/machines/far1/fence", {"reason": "it's off"})
