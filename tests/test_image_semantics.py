"""One suite for all runtimes: what a task in an image finds (image_checks.py), and what is seen of
it from outside; as root, as a plain user, and on a machine that is not the server's."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import registry as registries
from docker_daemon import Daemon, daemon
from harness import (
    ROOT,
    Done,
    Json,
    Nobody,
    Server,
    kill,
    native,
    parent,
    proc_bytes,
    processes,
    scratch,
    wait_for,
)
from image_checks import CHECKS, LACKS, MEMORY, SHM, UNTIL, Check, Made, answers, image, script
from registry import Registry, busybox, of_host, tree
from test_machines import AGENTS, add, host, wait_state, write_conf
from test_task_limits import group_of

if why := registries.why_none():
    pytestmark = pytest.mark.skip(reason=why)

RUNTIMES = ("bwrap", "podman", "docker")
WAIT = "while :; do usleep 20000; done"
PLACES = ("root", "plain-user", "machine")
# Fails when an interpreter and a rank are parked beside it; the next says whether it was that one.
RANK = """
import os, sys, time

def parked():
    for one in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = open(f"/proc/{one}/cmdline").read()
            above = open(f"/proc/{one}/stat").read().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if "parked by muster" in line and above == str(os.getppid()):
            yield one

if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    for _ in range(500):  # ten seconds at least
        if len(found := list(parked())) >= 2:
            break
        time.sleep(0.02)
    print(*found, file=open("/tmp/parked", "w"))
    sys.exit(3)
print("was parked:", str(os.getpid()) in open("/tmp/parked").read().split())
"""


@dataclass
class Place:
    """Where jobs run, and by whom they are submitted."""

    runtime: str
    muster: Callable[..., Done]
    made: Made
    image: str
    bare: str  # an image without a shell
    uid: int
    more: Json = field(default_factory=dict)  # fields of every job
    daemon: Daemon | None = None  # that runs its containers

    def submit(self, text: str) -> str:
        """Its number."""
        file = self.made.shared.parent / "job.json"
        file.write_text(text)
        file.chmod(0o644)
        done = self.muster(
            "submit", "-q", "--runtime", self.runtime, "--code", self.made.code, file
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def job(self, number: str) -> Json:
        found: Json = json.loads(self.muster("show", number, "--json").stdout)
        return found

    def ended(self, number: str) -> Json:
        self.muster("wait", number)
        return self.job(number)

    def text(self, run: str = "true", **fields: Any) -> str:
        resources = {"cpu": 1, "memory": str(MEMORY), "shm": str(SHM)}
        return native(
            "semantics", run, **{"image": self.image, "resources": resources, **self.more, **fields}
        )

    def log(self, number: str, *more: str) -> str:
        return self.muster("logs", number, "worker/0", *more).stdout


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    one = Registry(tmp_path_factory.mktemp("registry") / "open").start()
    yield one
    one.stop()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Something that listens on the loopback of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    listener.accept()[0].close()

        threading.Thread(target=take, daemon=True).start()
        yield listener.getsockname()[1]


def make(folder: Path, state: Path, port: int, uid: int) -> Made:
    """With directories of the user's own."""
    shared, fixed, code = (folder / name for name in ("shared", "fixed", "code"))
    made = Made(state, shared, fixed, code, folder / "outside", port)
    for one in (made.shared, made.fixed, made.code):
        one.mkdir()
    (made.shared / "in").write_text("data\n")
    (made.fixed / "in").write_text("data\n")
    (made.code / "part").write_text("code\n")
    made.outside.write_text("of the host\n")
    for one in (folder, *folder.rglob("*")):
        os.chown(one, uid, -1)
    return made


@contextlib.contextmanager
def started(where: str, folder: Path) -> Iterator[tuple[Callable[..., Done], Path, int, Json]]:
    """The program as the user of that place calls it, the state directory, the user."""
    of_server = {"OF_THE_SERVER": "word"}
    if where == "plain-user":
        nobody = Nobody(folder, **of_server)
        if nobody.why_not:
            pytest.skip(nobody.why_not)
        assert nobody.muster("server", "start").returncode == 0
        try:
            yield nobody.muster, nobody.state, nobody.entry.pw_uid, {}
        finally:
            nobody.stop_server()
        return
    nodes, flags = ("name=here,1cpu,1Gi", AGENTS) if where == "machine" else ("8cpu,16Gi", ())
    server = Server(nodes=nodes, flags=flags, env=of_server).start()
    try:
        if where == "root":
            yield server.muster, server.state, os.geteuid(), {}
            return
        home = folder / "m1"
        write_conf(server, home, add(server, "m1"))
        with host(home):
            wait_state(server, "up", "m1")
            yield server.muster, server.state, os.geteuid(), {"place": {"nodes": ["m1"]}}
    finally:
        server.close()


@pytest.fixture(scope="module")
def dockerd() -> Iterator[Daemon]:
    """Asked by root, and by a plain user whose group has its socket; found by DOCKER_HOST."""
    folder = scratch("dk")
    folder.chmod(0o755)
    with (
        daemon(folder, pwd.getpwnam("nobody").pw_gid) as one,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("DOCKER_HOST", one.host)
        yield one
    shutil.rmtree(folder, ignore_errors=True)


def rows() -> Iterator[Any]:
    for runtime in RUNTIMES:
        for where in PLACES:
            slow = runtime != "bwrap" and where != "root"  # each start takes a second
            marks = [pytest.mark.slow] if slow else []
            yield pytest.param((runtime, where), marks=marks, id=f"{runtime}-{where}")


@pytest.fixture(scope="module", params=rows())
def place(request: pytest.FixtureRequest, registry: Registry, port: int) -> Iterator[Place]:
    runtime, where = request.param
    behind = request.getfixturevalue("dockerd") if runtime == "docker" else None
    if behind and behind.why_not:
        pytest.skip(behind.why_not)
    if runtime != "bwrap" and not shutil.which(runtime):
        pytest.skip(f"there is no {runtime} on this machine (apt: {runtime})")
    folder = scratch("semantics")
    folder.chmod(0o755)
    with started(where, folder) as (muster, state, uid, more):
        mine = folder / "mine"
        mine.mkdir()
        made = make(mine, state, port, uid)
        program = Path(shutil.which("busybox") or "").read_bytes()
        bare = registry.push("team/bare", tree({"echo": program, "tmp": None, "etc": None}))
        one = Place(runtime, muster, made, image(registry), bare, uid, more, behind)
        assert muster("secret", "set", "token", stdin="word-of-4711").returncode == 0
        yield one
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def seen(place: Place) -> dict[str, str]:
    """What each check printed."""
    fixed = {"from": str(place.made.fixed), "at": str(place.made.fixed), "read_only": True}
    shared = {"from": str(place.made.shared), "at": str(place.made.shared)}
    text = place.text(
        script(place.made),
        replicas=2,
        inputs={"data": [shared, fixed]},
        env={"FROM_JOB": "a b", "FROM_BOTH": "job"},
        secrets=["token", {"name": "token", "env": "T"}],
        ports={"web": 1},
        done={"failed": "never"},
    )
    number = place.submit(text)
    job = place.ended(number)
    found = answers(place.log(number, "--stdout"))
    assert found, (json.dumps(job["task_list"])[-900:], place.muster("logs", number).stdout)
    return found


@pytest.mark.parametrize("check", CHECKS, ids=lambda one: one.name)
def test_a_task_finds(place: Place, seen: dict[str, str], check: Check) -> None:
    if why := LACKS.get(place.runtime, {}).get(check.name):
        assert not re.fullmatch(check.want, seen[check.name]), "it does it: take out its row"
        pytest.skip(f"{place.runtime}: {why}")
    assert check.name in seen, "the task ended before"
    assert re.fullmatch(check.want, seen[check.name]), seen[check.name]


def test_what_it_wrote_belongs_to_its_user(place: Place, seen: dict[str, str]) -> None:
    assert (place.made.shared / "out").stat().st_uid == place.uid


def test_its_layer_goes_with_it(place: Place, seen: dict[str, str]) -> None:
    top = place.made.shared.parents[1]

    def left() -> list[str]:
        found = (at for one in (place.made.state, top) for at, _, _ in os.walk(one))
        return [at for at in found if at.endswith(("/up", "/upper")) and "/roots/" in at]

    wait_for(lambda: not left(), what="the end of the layers")


def test_its_end_is_told(place: Place) -> None:
    job = place.ended(place.submit(place.text("exit 7")))
    assert job["state"] == "failed"
    assert job["task_list"][0]["attempts"][0]["exit_code"] == 7, job


def test_its_streams_are_apart(place: Place) -> None:
    number = place.submit(place.text("echo to out; echo to err >&2"))
    place.ended(number)
    assert "to err" in place.log(number, "--stderr")
    assert "to err" not in place.log(number, "--stdout")


def test_a_program_without_a_shell(place: Place) -> None:
    fields = json.loads(place.text(image=place.bare))
    del fields["run"]
    number = place.submit(json.dumps({**fields, "argv": ["/echo", "alone"]}))
    job = place.ended(number)
    assert job["state"] == "succeeded", job
    assert "alone" in place.log(number)


def test_a_shell_enters_it(place: Place) -> None:
    number = place.submit(place.text("echo mine >/etc/mine; sleep 600"))
    read = ("exec", number, "worker/0", "--", "cat", "/etc/mine")
    wait_for(lambda: place.muster(*read).stdout == "mine\n", what="its file")
    done = place.muster("exec", number, "worker/0", stdin="echo $FROM_IMAGE; exit 4\n")
    assert (done.stdout, done.returncode) == ("yes\n", 4), done.stderr
    place.muster("stop", "--now", number)
    assert place.ended(number)["state"] == "stopped"


def test_it_is_told_to_end(place: Place) -> None:
    line = "trap 'echo told; exit 0' TERM; echo up; while :; do usleep 20000; done"
    number = place.submit(place.text(line))
    wait_for(lambda: "up" in place.log(number).splitlines(), what="its output")
    place.muster("stop", number)
    place.ended(number)
    assert "told" in place.log(number)


def test_a_command_is_among_its_processes(place: Place) -> None:
    """By the numbers that they have inside."""
    line = "trap 'echo from inside; exit 0' USR1; echo $$ >/own; echo up; " + WAIT
    number = place.submit(place.text(line))
    wait_for(lambda: "up" in place.log(number).splitlines(), what="its output")
    done = place.muster("exec", number, "worker/0", "--", "sh", "-c", "kill -USR1 $(cat /own)")
    assert done.returncode == 0, done.stderr
    assert place.ended(number)["state"] == "succeeded"
    assert "from inside" in place.log(number)


def test_a_signal_comes_once(place: Place) -> None:
    line = "trap 'echo heard' USR1; trap 'exit 0' USR2; echo up; " + WAIT
    number = place.submit(place.text(line))
    wait_for(lambda: "up" in place.log(number).splitlines(), what="its output")
    assert place.muster("signal", number, "USR1").returncode == 0
    wait_for(lambda: "heard" in place.log(number), what="the first signal")
    assert place.muster("signal", number, "USR2").returncode == 0
    assert place.ended(number)["state"] == "succeeded"
    assert place.log(number).count("heard") == 1


def test_nothing_of_it_stays(place: Place) -> None:
    """Whether it ended or its agent was killed."""
    left = f"sleep\0{70000 + place.made.port}"
    daemon = f"trap '' TERM HUP; setsid {left} & ".replace("\0", " ")
    there = UNTIL.format("grep -q ^sleep /proc/[0-9]*/cmdline")
    number = place.submit(place.text(daemon + there))
    assert place.ended(number)["state"] == "succeeded"
    assert not processes(left)
    number = place.submit(place.text(daemon + "sleep 600", retry={"platform": 0}))
    agent = next(iter(wait_for(lambda: processes(left), what="its daemon")))
    while proc_bytes(agent, "comm") != b"muster-node\n":
        agent = parent(agent)
    kill(agent)
    assert place.ended(number)["state"] == "failed"
    assert not processes(left)
    if behind := place.daemon:
        wait_for(lambda: not behind.containers(), what="the end of its containers")


def test_a_daemon_knows_nothing_of_it(place: Place) -> None:
    """But a container that can be entered: neither words of the task nor rights. Without that
    container it goes on."""
    if not place.daemon:
        pytest.skip("its runtime has no daemon")
    docker = place.daemon.docker
    line = f"echo up; until test -e {place.made.shared}/go; do usleep 20000; done; echo on"
    shared = {"from": str(place.made.shared), "at": str(place.made.shared)}
    more = {"inputs": {"data": [shared]}, "env": {"PLAIN": "word-of-the-job"}}
    number = place.submit(place.text(line, secrets=[{"name": "token", "env": "T"}], **more))
    wait_for(lambda: "up" in place.log(number).splitlines(), what="its output")
    (name,) = (one["Names"] for one in place.daemon.containers())
    said = docker("inspect", name).stdout
    (found,) = json.loads(said)
    assert found["Config"]["User"].partition(":")[0] == str(place.uid)
    assert not found["HostConfig"]["Privileged"] and not found["HostConfig"]["CapAdd"]
    assert "no-new-privileges" in found["HostConfig"]["SecurityOpt"]
    assert not re.search(r"word-of-|usleep|FROM_IMAGE", said)
    assert docker("rm", "--force", name).returncode == 0
    (place.made.shared / "go").touch()
    assert place.ended(number)["state"] == "succeeded"
    assert "on" in place.log(number).splitlines()
    (place.made.shared / "go").unlink()


def test_its_limits_are_the_kernels(place: Place) -> None:
    """Of cores, memory and processes."""
    if "cgroups     ok" not in place.muster("doctor").stdout:
        pytest.skip("this user may make no control groups here")
    number = place.submit(place.text("cat /proc/self/cgroup; echo up; " + WAIT))
    wait_for(lambda: "up" in place.log(number).splitlines(), what="the names of its groups")
    names = place.log(number).replace("up\n", "")

    def limit(controller: str, *files: str) -> str:
        group = group_of(names, controller)
        assert group.name.startswith("muster-"), group
        (file,) = (group / one for one in files if (group / one).exists())
        return file.read_text().split()[0]

    assert limit("memory", "memory.limit_in_bytes", "memory.max") == str(MEMORY)
    assert limit("cpu", "cpu.cfs_quota_us", "cpu.max") == "100000"
    assert limit("pids", "pids.max").isdigit()
    place.muster("stop", "--now", number)
    assert place.ended(number)["state"] == "stopped"


def test_a_launcher_restarts_its_ranks_warm(place: Place, registry: Registry) -> None:
    """Muster's, which is in no image: the second rank was parked in there while the first ran."""
    python = Path("/usr/bin/python3").resolve()
    if not python.exists():
        pytest.skip("there is no Python of the system")
    ctypes = {
        str(one).lstrip("/"): one.read_bytes()
        for one in Path(f"/usr/lib/{os.uname().machine}-linux-gnu").glob("libffi.so.*")
    }
    image = registry.push("team/python", busybox(), tree({**of_host(python.name), **ctypes}))
    library = f"/usr/lib/{python.name}"
    (place.made.code / "rank.py").write_text(RANK)
    text = place.text(
        "torchrun --nproc-per-node 1 --max-restarts 1 code/rank.py",
        image=image,
        conventions=["torchrun"],
        env={"PYTHON_EXEC": str(python)},
        inputs={"data": [{"from": library, "at": library}]},
    )
    number = place.submit(text)
    job = place.ended(number)
    assert job["state"] == "succeeded", (job, place.log(number))
    assert "was parked: True" in place.log(number).splitlines()


def test_memory_that_is_too_little_is_told_apart(place: Place) -> None:
    """From a kill by somebody: by its reason and its class."""
    number = place.submit(place.text("x=x; while :; do x=$x$x$x$x; done"))
    job = place.ended(number)
    assert job["state"] == "failed" and "memory" in job["reason"], job


def test_the_document_names_what_is_lacking() -> None:
    """And has no other rows."""
    text = (ROOT / "doc/images.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", text.split("## What runtimes lack")[1], re.M)
    assert sorted(rows) == sorted((r, name) for r, lacks in LACKS.items() for name in lacks)
