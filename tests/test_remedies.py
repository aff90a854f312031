"""Every remedy works when it is typed. Each row of src/base/remedy.h has a case here: it makes the
condition, reads the printed line, runs it in a shell as it stands, and then the first command
succeeds. Rows that show something or correct a slip of the pen have to succeed by themselves."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from harness import (
    ROOT,
    Done,
    Server,
    alive,
    environment,
    kill,
    native,
    patience,
    program,
    scratch,
    wait_for,
)
from s3_store import BUCKET, access, stored

TABLE = (ROOT / "src/base/remedy.h").read_text()
ROWS = re.findall(r"\bX\(([A-Z_]+), \"", TABLE)
REMEDY = re.compile(r"^  (\S[^\n]{0,11}?) {1,11}(\S*muster [^\n]+?)(?: {5}\([^\n]*\))?$", re.M)


@dataclass
class Place:
    """A folder with job files and a state directory, whose servers are started by what is typed."""

    folder: Path
    state: Path = field(default_factory=scratch)
    env: dict[str, str] = field(default_factory=dict)

    def surroundings(self) -> dict[str, str]:
        home = {"HOME": str(self.folder), "MUSTER_LISTEN": "127.0.0.1:0"}
        return {**environment(self.state), **home, **self.env}

    def muster(self, *args: str | Path | int, stdin: str = "") -> Done:
        return subprocess.run(
            [str(program()), *map(str, args)],
            env=self.surroundings(),
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=patience(60),
            check=False,
        )

    def good(self, *args: str | Path | int, stdin: str = "") -> str:
        done = self.muster(*args, stdin=stdin)
        assert done.returncode == 0, (args, done.stdout, done.stderr)
        return done.stdout

    def type(self, line: str) -> Done:
        """As somebody types it: nothing of it is looked at here."""
        return subprocess.run(
            ["sh", "-c", line],
            env=self.surroundings(),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=patience(60),
            check=False,
        )

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return name

    def submit(self, text: str) -> str:
        return self.good("submit", "-q", "-", stdin=text).strip()

    def wait(self, job: str, *states: str) -> None:
        wanted = states or ("succeeded", "failed", "stopped")
        wait_for(lambda: json.loads(self.good("show", job, "--json"))["state"] in wanted)

    def server(self, *flags: str) -> None:
        self.good("server", "start", *flags)

    def end(self) -> None:
        info = self.state / "server.json"
        if info.exists():
            pid = json.loads(info.read_text())["pid"]
            for number in re.findall(r"^\d+$", self.muster("ls", "--live", "-q").stdout, re.M):
                self.muster("stop", number, "--now")
            for number in re.findall(r"^\d+$", self.muster("ls", "--live", "-q").stdout, re.M):
                self.muster("wait", number)
            self.muster("server", "stop")
            kill(pid, signal.SIGKILL)
        shutil.rmtree(self.state, ignore_errors=True)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    here = Place(tmp_path)
    yield here
    here.end()


def printed(done: Done) -> dict[str, str]:
    """What to type, by its label."""
    return {label.strip(): line for label, line in REMEDY.findall(done.stderr + done.stdout)}


def fails(place: Place, *args: str | Path | int, stdin: str = "") -> dict[str, str]:
    done = place.muster(*args, stdin=stdin)
    assert done.returncode != 0, (args, done.stdout)
    return printed(done)


def works(place: Place, line: str) -> Done:
    done = place.type(line)
    assert done.returncode == 0, (line, done.stdout, done.stderr)
    return done


def cures(place: Place, label: str, *args: str | Path | int) -> None:
    """The command is refused, its remedy is typed, the command succeeds."""
    lines = fails(place, *args)
    assert label in lines, lines
    works(place, lines[label])
    place.good(*args)


def shows(place: Place, label: str, *args: str | Path | int) -> Done:
    """The command is refused, and what is typed then succeeds."""
    lines = fails(place, *args)
    assert label in lines, lines
    return works(place, lines[label])


CASES: dict[str, Callable[[Place], None]] = {}


def case(function: Callable[[Place], None]) -> Callable[[Place], None]:
    CASES[function.__name__.upper()] = function
    return function


# ---- the server ----


@case
def server_start(p: Place) -> None:
    cures(p, "start", "ls")


@case
def server_status(p: Place) -> None:
    p.server()
    assert "pid" in shows(p, "see", "server", "run").stdout


@case
def server_stop(p: Place) -> None:
    p.server()
    cures(p, "end it", "server", "run", "--idle-exit", "10ms")


@case
def server_recover(p: Place) -> None:
    p.server()
    p.good("submit", "-", stdin=native("lost", suspend=True))
    pid = int(p.good("server", "status", "-q"))
    kill(pid)
    wait_for(lambda: not alive(pid))
    (p.state / "muster.db-wal").unlink()
    line = fails(p, "server", "start")["look"]
    assert "missing" in works(p, line).stdout
    p.good("server", "recover")
    p.good("server", "start")


@case
def restore_before(p: Place) -> None:
    target = p.state / "there"
    target.mkdir(parents=True)
    p.server("--backup-to", str(target), "--backup-every", "100ms")
    for name in ("first", "second"):
        have = len(list(target.glob("*/*.tar")))
        p.good("submit", "-", stdin=native(name, suspend=True))
        wait_for(lambda n=have: len(list(target.glob("*/*.tar"))) > n)  # type: ignore[misc]
    p.good("server", "stop")
    last = max(target.glob("00000001/0*.tar"))
    last.write_bytes(last.read_bytes()[:2000])
    line = fails(p, "restore", "--dry-run", target)["before it"]
    assert "events to" in works(p, line).stdout


@case
def restore_before_in(p: Place) -> None:
    with stored(p.state / "store") as store:
        where = f"s3://{BUCKET}/there"
        p.env.update(access())
        p.server("--backup-to", where, "--backup-endpoint", store.url, "--backup-every", "100ms")
        there = store.objects("there")
        for name in ("first", "second"):
            have = len(list(there.glob("*/*.tar")))
            p.good("submit", "-", stdin=native(name, suspend=True))
            wait_for(lambda n=have: len(list(there.glob("*/*.tar"))) > n)  # type: ignore[misc]
        p.good("server", "stop")
        last = max(there.glob("00000001/0*.tar"))
        last.write_bytes(last.read_bytes()[:2000])
        store.forget("there/00000001", last.name)
        asked = ("restore", "--dry-run", "--endpoint", store.url, where)
        line = fails(p, *asked)["before it"]
        assert "events to" in works(p, line).stdout


@case
def server_listen(p: Place) -> None:
    p.server("--listen", "none")
    lines = fails(p, "open")
    # The default port may be somebody else's; the line takes the next free one by itself.
    works(p, lines["open it"])
    assert p.good("open", "-q").startswith("http://127.0.0.1:")


@case
def server_record(p: Place) -> None:
    (p.folder / "rec").mkdir()
    lines = fails(p, "replay", "rec")
    works(p, lines["record"])
    p.good("submit", "-", stdin=native("recorded"))
    p.good("server", "stop")
    p.good("replay", "rec")


@case
def server_sub(p: Place) -> None:
    shows(p, "meant", "server", "strat")
    p.good("ls")


@case
def drop_kept(p: Place) -> None:
    (p.state / "settings.json").write_text('{"idle_exit": "soon"}')
    cures(p, "drop it", "config")


@case
def list_settings(p: Place) -> None:
    shows(p, "settings", "config", "--drop", "nodes")


@case
def open_page(p: Place) -> None:
    p.server("--listen", "127.0.0.1:0")
    server = Server(state=p.state)
    advice = server.api("GET", "/login?key=used").json()["remedies"]
    assert [row["kind"] for row in advice] == ["open_page"]
    assert advice[0]["argv"] == ["muster", "open"]
    assert p.good(*advice[0]["argv"][1:], "-q").startswith("http://")


# ---- larger than the cluster ----

LARGE = {
    "memory": {"memory": "900Ti"},
    "gpu": {"gpu": 3},
    "gpu type": {"gpu": 2, "gpu_type": "H100"},
    "disk": {"disk": "8000Ti"},
    "custom": {"licence": 2},
    "everything": {"cpu": 300, "gpu": 2, "gpu_type": "A100", "disk": "8000Ti", "licence": 1},
}


def large(name: str, **more: object) -> str:
    job = {"name": "big", "run": "true", "replicas": 2, "resources": LARGE[name], **more}
    return json.dumps(job)


@case
def pretend(p: Place) -> None:
    for i, name in enumerate(LARGE):
        file = p.write(f"big {i}.json", large(name))
        p.server()  # one that runs with less is what the line has to change
        cures(p, "pretend", "run", file)
        p.good("server", "stop")
        p.good("config", "--drop", "nodes")


@case
def smaller(p: Place) -> None:
    p.server("--nodes", "2x4cpu,8Gi,1gpu,disk=1Ti")
    for name in ("memory", "gpu", "disk"):
        file = p.write(f"it's {name}.json", large(name))
        shows(p, "smaller", "run", file)
    p.server("--nodes", "1x4cpu,8Gi,1gpu")
    pair = native("pair", replicas=2, resources={"gpu": 1})
    shows(p, "smaller", "run", p.write("one.json", pair))  # of two one gets the device
    # Without a device it would train all the same, slowly: that is no remedy.
    assert "smaller" not in fails(p, "run", p.write("large.json", large("gpu")))
    lines = fails(p, "run", "--gpu", "2", "--exit-code", "task", "--", "echo", "it's me")
    assert "it's me\n" in works(p, lines["smaller"]).stdout
    many = p.write("many.json", native("many", replicas=40))
    shows(p, "smaller", "run", many)


@case
def wait_for_nodes(p: Place) -> None:
    p.server("--nodes", "1x2cpu,4Gi")
    lines = fails(p, "run", "--gpu", "9", "--exit-code", "task", "--", "sleep", "1 1")
    works(p, lines["wait"])
    file = p.write("big.json", large("gpu"))
    shows(p, "wait", "submit", file)
    assert p.good("ls", "-q", "--live").split() == ["2", "1"]


# ---- files and verbs ----


@case
def submit_all(p: Place) -> None:
    files = [p.write(f"{name} {name}.json", native(name)) for name in "ab"]
    p.server()
    assert len(shows(p, "submit", "run", *files).stdout.splitlines()) == 2


@case
def submit_file(p: Place) -> None:
    """What explain offers for a file that would wait."""
    p.server("--nodes", "1x2cpu,4Gi")
    p.submit(native("first", "sleep 600"))
    p.wait("first", "running")
    file = p.write("my job.json", native("two", "true", 2))
    ways = json.loads(p.good("explain", "--file", file, "--json"))["explain"]["ways"]
    assert "my job.json'" in ways[0]["how"]
    works(p, ways[0]["how"].replace("muster", str(program()), 1))


@case
def other_verb(p: Place) -> None:
    p.server()
    job = p.submit(native("one"))
    assert "one" in shows(p, "meant", "shwo", job).stdout


@case
def run_file(p: Place) -> None:
    shows(p, "run", p.write("my job.json", native("one")))


@case
def apply_file(p: Place) -> None:
    p.server()
    file = p.write("my names.yaml", "kind: dataset\nname: digits\nuri: file:///tmp\n")
    lines = fails(p, "submit", file)
    works(p, lines["declare"])
    assert "digits" in p.good("get", "datasets")


@case
def check_fix(p: Place) -> None:
    file = p.write("my job.yaml", "name: a\nrum: 'true'\n")
    done = p.muster("check", file)
    assert done.returncode != 0
    line = re.search(r"\(muster (check --fix [^\n]*)\)$", done.stdout, re.M)
    assert line, done.stdout
    p.type(f"{shlex.quote(str(program()))} {line[1]}")
    p.good("check", file)


@case
def help(p: Place) -> None:
    assert "muster" in shows(p, "verbs", "qqqqqq").stdout


@case
def help_verb(p: Place) -> None:
    assert "--set" in shows(p, "help", "run").stdout


@case
def schema_job(p: Place) -> None:
    shows(p, "schema", "schema", "jobs")


@case
def launch_help(p: Place) -> None:
    shows(p, "flags", "check", "--", "torchrun", "--help")


# ---- jobs ----


@case
def list_all(p: Place) -> None:
    p.server()
    shows(p, "jobs", "show", "nobody")


def array(p: Place) -> str:
    job = p.submit(native("many", 'test "$MUSTER_ARRAY_INDEX" != 1', array="0-2"))
    p.wait(job)
    return job


@case
def list_state(p: Place) -> None:
    p.server()
    job = array(p)
    assert "many" in shows(p, "failed", "ls", job, "--user", "ada").stdout


@case
def list_array(p: Place) -> None:
    p.server()
    job = array(p)
    shown = re.search(r"^its jobs +(\S*muster .*)$", p.good("show", job), re.M)
    assert shown
    assert works(p, shown[1]).stdout.count("many") == 3


@case
def show_job(p: Place) -> None:
    p.server()
    job = p.submit(native("one"))
    p.wait(job)
    assert "succeeded" in shows(p, "see", "suspend", job).stdout


@case
def stop_job(p: Place) -> None:
    p.server()
    job = p.submit(native("long", "sleep 600"))
    lines = fails(p, "rm", job)
    works(p, lines["stop it"])
    p.wait(job)
    p.good("rm", job)


@case
def resubmit_stdin(p: Place) -> None:
    p.server()
    job = p.submit(native("one", "cat && test -p /dev/stdin || exec sleep 600"))
    p.wait(job, "running")
    again = works(p, fails(p, "attach", job)["anew"]).stdout.split()[0]
    p.wait(again, "running")
    done = p.muster("attach", "--eof", again, stdin="through\n")
    assert (done.returncode, done.stdout) == (0, "through\n"), done.stderr


@case
def attach(p: Place) -> None:
    p.server()
    job = p.submit(native("one", "read word; exit 7", stdin=True, tty=True))
    p.wait(job, "running")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(program(), [str(program()), "attach", job], p.surroundings())
    said = b""
    while b"leaves it running" not in said:
        said += os.read(terminal, 4096)
    os.write(terminal, b"\x10\x11")
    with contextlib.suppress(OSError):
        while chunk := os.read(terminal, 4096):
            said += chunk
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    line = re.search(r"worker/0 goes on: (.*muster attach \S+ worker/0.*?)\r", said.decode())
    assert line, said
    assert p.type(f"echo word | {line[1]}").returncode == 7


@case
def logs_of(p: Place) -> None:
    p.server()
    job = p.submit(native("one", "echo said"))
    p.wait(job)
    done = p.muster("exec", job, "worker/0", "--", "true")
    line = re.search(r"muster (logs \S+)$", done.stderr, re.M)
    assert done.returncode == 2 and line, done.stderr
    assert "said" in p.good(*line[1].split())


ELASTIC = """
apiVersion: elastic.iml.github.io/v1alpha1
kind: ElasticJob
metadata: {name: small}
spec:
  distributionStrategy: AllreduceStrategy
  replicaSpecs:
    worker:
      replicas: 1
      restartCount: 0
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: main
              command: [bash, -c, "echo said; exit 3"]
              resources: {requests: {cpu: 1, memory: 64Mi}}
"""


@case
def logs_of_task(p: Place) -> None:
    """In the events of a pod, where kubectl shows it too."""
    p.server()
    p.wait(p.submit(ELASTIC))
    (pod,) = [name for name in p.good("get", "pods", "-q").split() if "worker" in name]
    line = re.search(r"muster (logs \S+ \S+)", p.good("describe", "pod", pod))
    assert line
    assert "said" in p.good(*line[1].split())


@case
def goes_on(p: Place) -> None:
    p.server()
    go = p.folder / "go"
    with subprocess.Popen(
        [str(program()), "run", "--", "bash", "-c", "until test -e go; do read -t 0.01; done"],
        env=p.surroundings(),
        cwd=p.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        wait_for(lambda: p.good("ls", "-q", "--state", "running").strip())
        os.kill(running.pid, signal.SIGINT)
        said = running.communicate(timeout=patience(60))[1]
    line = re.search(r"otherwise it goes on, (\S*muster logs -f \d+)$", said, re.M)
    assert line, said
    go.touch()
    works(p, line[1])


def fails_to_run(p: Place) -> dict[str, str]:
    file = p.write("bad.json", native("bad", "echo said >&2; exit 3"))
    return fails(p, "run", file)


@case
def task_output(p: Place) -> None:
    assert "said" in works(p, fails_to_run(p)["its output"]).stdout


@case
def task_enter(p: Place) -> None:
    p.server()
    file = p.write("bad.json", native("bad", "exit 3", health={"debug_hold": True}))
    done = p.muster("run", file)
    works(p, printed(done)["enter it"])


@case
def resubmit(p: Place) -> None:
    works(p, fails_to_run(p)["again"])
    assert len(p.good("ls", "-q").split()) == 2


@case
def with_python(p: Place) -> None:
    """A module that the interpreter lacks and another one of this machine has."""
    venv = p.folder / "has it"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "rare_module.py").write_text("")
    p.write("x.py", "import rare_module, sys; print(sys.argv[1:])")
    p.env["VIRTUAL_ENV"] = ""
    bare = p.folder / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    p.env["PATH"] = f"{venv}/bin:{environment()['PATH']}"
    lines = fails(p, "run", f"--python={bare}/bin/python", "x.py", "--python", "it's")
    assert "--python" in works(p, lines["with it"]).stdout


@case
def resume(p: Place) -> None:
    p.server()
    job = p.submit(native("later", suspend=True))
    how = json.loads(p.good("explain", job, "--json"))["ways"][0]["how"]
    works(p, how.replace("muster", str(program()), 1))
    p.wait(job, "succeeded")


# ---- nodes, queues, what is declared, who may ----


@case
def list_nodes(p: Place) -> None:
    p.server("--nodes", "1x2cpu,4Gi")
    assert "n1" in shows(p, "nodes", "drain", "n9").stdout


@case
def free_nodes(p: Place) -> None:
    p.server()
    shows(p, "free", "nodes", "--free", "drain", "n1")


@case
def try_nodes(p: Place) -> None:
    found = json.loads(p.good("doctor", "--json"))["checks"]
    gpus = next(row for row in found if row["name"] == "gpus")
    if gpus["state"] == "ok":
        pytest.skip("this machine has devices")
    works(p, gpus["remedy"].partition(": ")[2])
    assert "4gpu" in p.good("config")


@case
def nodes_sub(p: Place) -> None:
    p.server("--nodes", "1x2cpu,4Gi")
    shows(p, "meant", "nodes", "drian", "n1")
    assert "drained" in p.good("nodes")


@case
def undrain(p: Place) -> None:
    p.server("--nodes", "1x2cpu,4Gi")
    p.good("drain", "n1")
    shows(p, "take back", "drain", "--undo", "--dry-run", "n1")
    assert "drained" not in p.good("nodes")


@case
def list_queues(p: Place) -> None:
    p.server()
    shows(p, "queues", "queues", "zzzzzz")


@case
def list_kind(p: Place) -> None:
    p.server()
    shows(p, "declared", "get", "datasets", "--watch")


@case
def list_keys(p: Place) -> None:
    p.server()
    while True:
        done = p.muster("key", "create", "--user", "alice")
        if done.returncode:
            break
    works(p, printed(done)["keys"])


@case
def list_tokens(p: Place) -> None:
    p.server()
    shows(p, "tokens", "token", "rm", "zz")


@case
def list_secrets(p: Place) -> None:
    p.server()
    shows(p, "secrets", "secret", "rm", "zz")


@case
def set_secret(p: Place) -> None:
    p.server()
    job = p.write("job.yaml", "name: a\nrun: 'true'\nsecrets: [token]\n")
    line = fails(p, "submit", job)["set it"]
    works(p, f"echo value | {line}")
    p.good("submit", job)


@case
def runtimes(p: Place) -> None:
    p.server()
    file = p.write("job.json", native("a", image="debian:12"))
    done = p.muster("submit", file)
    assert "containers" in works(p, printed(done)["see"]).stdout


@case
def on_host(p: Place) -> None:
    """Where no skopeo is in the server's PATH."""
    p.env = {"PATH": str(p.folder)}
    p.server("--runtime", "auto")
    p.env = {}
    file = p.write("job.json", native("a", image="debian:12"))
    assert "not used" in works(p, fails(p, "submit", file)["on host"]).stderr


# ---- the table ----


def test_every_remedy_has_a_case() -> None:
    assert len(ROWS) > 30
    assert sorted(CASES) == sorted(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_remedy_works_when_typed(row: str, place: Place) -> None:
    CASES[row](place)


def test_remedies_name_the_server_again(place: Place, tmp_path: Path) -> None:
    """--state-dir of the refused command is in the line, quoted."""
    other = tmp_path / "another one"
    lines = fails(place, "ls", "--state-dir", other)
    assert "another one'" in lines["start"]
    works(place, lines["start"])
    place.good("ls", "--state-dir", other)
    place.good("server", "stop", "--state-dir", other)
    assert place.muster("ls").returncode == 4


def test_no_remedy_that_does_not_help(place: Place) -> None:
    """Nodes of one machine share its ports: declaring more of them does not give a port twice."""
    place.server("--nodes", "1x4cpu,8Gi")
    job = native("ports", replicas=2, ports={"web": {"count": 1, "first": 23456}})
    lines = fails(place, "run", place.write("ports.json", job))
    assert "pretend" not in lines
    works(place, lines["smaller"])
    works(place, lines["wait"])


def test_remedies_are_data(place: Place) -> None:
    place.server("--nodes", "1x4cpu,8Gi")
    server = Server(state=place.state)
    reply = server.api("POST", "/v1/jobs", large("gpu"), query={"file": "/jobs/big one.json"})
    assert reply.status == 422
    rows = {row["kind"]: row for row in reply.json()["errors"][0]["remedies"]}
    assert "smaller" not in rows  # than a job without the devices that it asks for
    assert rows["wait_for_nodes"]["argv"] == ["muster", "submit", "--wait", "/jobs/big one.json"]
    declared = "1x4cpu,8Gi;2x1cpu,1Gi,3gpu"
    assert rows["pretend"]["argv"] == ["muster", "server", "start", "--nodes", declared]
    unnamed = server.api("POST", "/v1/jobs", large("gpu")).json()["errors"][0]["remedies"]
    assert [row["argv"] for row in unnamed if row["kind"] == "wait_for_nodes"] == [[]]
