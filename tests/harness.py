"""What the end-to-end tests, tests/torture, tests/seeds and the benchmarks share: a server of their
own in a short scratch directory, the command line, the HTTP API over the server's Unix socket, and
waiting on conditions. Standard library only.

A server made here never meets the user's: its state directory is its own, with the place of its key
in it, configuration files of the user are not read, and its TCP port is whatever is free.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import quote, urlencode

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv/bin"
EXAMPLES = ROOT / "examples"
FINAL = ("succeeded", "failed", "stopped")
ON_NODES = "starting,running,restarting,stopping"
LIVE = f"suspended,queued,{ON_NODES}"
NODES = "4x16cpu,64Gi,4gpu"
HANG_S = 300.0
T = TypeVar("T")
Json = dict[str, Any]


def program() -> Path:
    return Path(os.environ.get("MUSTER_BIN") or ROOT / "build/release/muster")


def kubectls() -> list[Path]:
    """What tools/setup keeps of kubectl, by version: the oldest and the newest."""
    return sorted(ROOT.glob("build/clients/kubectl/*/kubectl"))


def kubectl() -> str | None:
    """The client that tests of kubectl run: MUSTER_KUBECTL, else the one in PATH, else the newest
    that is kept."""
    found = shutil.which(os.environ.get("MUSTER_KUBECTL") or "kubectl")
    return found or next((str(path) for path in reversed(kubectls())), None)


def node() -> str | None:
    """The machine's, else the one that tools/setup keeps."""
    return shutil.which("node", path=f"{os.environ['PATH']}:{ROOT}/build/clients/node/bin")


def browser() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "chrome", "chrome-headless-shell")
    return next(filter(None, map(shutil.which, names)), None)


def sanitized() -> bool:
    return os.environ.get("MUSTER_BUILD") == "asan" or "asan" in program().parts


def patience(seconds: float = 0) -> float:
    """Where waiting ends: after as long as only what hangs takes, however busy the machine is.
    Less is not less; the sanitizer build has more of what is more."""
    return max(HANG_S, seconds * (4 if sanitized() else 1))


def wait_for(
    condition: Callable[[], T | None], timeout: float = 0, what: str = "", every: float = 0.01
) -> T:
    """The first true value of `condition`. `timeout` only where more than HANG_S is needed."""
    deadline = time.monotonic() + patience(timeout)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {patience(timeout):.0f} s for {what or condition!r}")
        time.sleep(every)


def until_there(path: Path | str) -> str:
    """Shell: goes on when the test has made that file. Each look is a process, which the machine
    has to make while other tests run."""
    return f"until test -e {path}; do sleep 0.1; done"


# ---- processes ----


def start_time(pid: int) -> str | None:
    """Field 22 of /proc/PID/stat; None for a process that is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def proc_bytes(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def processes(*marks: str) -> dict[int, str]:
    """Live processes whose arguments or environment hold one of the marks: pid to arguments."""
    wanted = [mark.encode() for mark in marks]
    found = {}
    for pid in all_pids():
        if pid == os.getpid():
            continue
        text = proc_bytes(pid, "cmdline") + b"\0" + proc_bytes(pid, "environ")
        if any(mark in text for mark in wanted) and start_time(pid):
            words = proc_bytes(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace")
            found[pid] = words.strip() or "?"
    return found


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def parent(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[1])


def by_depth(pids: Iterable[int]) -> list[list[int]]:
    """Of processes that are called alike: those without a parent among them, the children of those,
    and whatever is below. What a program is about to start is called as itself until its exec."""
    above = {pid: up for pid in pids if (up := parent(pid))}  # 0: it has gone
    top = sorted(pid for pid, up in above.items() if up not in above)
    below = sorted(pid for pid, up in above.items() if up in top)
    return [top, below, sorted(set(above) - set(top) - set(below))]


def alive(pid: int) -> bool:
    return start_time(pid) is not None


# ---- the API ----


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path | str, timeout: float = HANG_S) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


@dataclass
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    def json(self) -> Any:
        return json.loads(self.body)

    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines() if line.strip()]

    def good(self) -> Reply:
        if self.status >= 300:
            raise AssertionError(f"HTTP {self.status}: {self.text[:2000]}")
        return self


Query = Mapping[str, str | int | Sequence[str]]


def with_query(path: str, query: Query | None) -> str:
    return f"{path}?{urlencode(query, doseq=True, quote_via=quote)}" if query else path


def request(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    data = body.encode() if isinstance(body, str) else body
    connection.request(method, path, data, dict(headers or {}))
    answer = connection.getresponse()
    lower = {name.lower(): value for name, value in answer.getheaders()}
    return Reply(answer.status, lower, answer.read())


class Stream:
    """The lines of an answer as they arrive."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection = connection
        self.answer = connection.getresponse()

    def __iter__(self) -> Iterator[Any]:
        while line := self.answer.readline():
            if line.strip():
                yield json.loads(line)

    def close(self) -> None:
        self.answer.close()
        self.connection.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# ---- jobs ----


def role(name: str = "worker", command: str = "true", count: int = 1, **fields: Any) -> Json:
    """A task role of an OpenPAI v1 job."""
    row = {
        "name": name,
        "taskNumber": count,
        "cpuNumber": 1,
        "memoryMB": 128,
        "gpuNumber": 0,
        "command": command,
    }
    return {**row, **fields}


def openpai(name: str, *roles: Json, **fields: Any) -> str:
    row = {"jobName": name, "image": "debian:12", "taskRoles": list(roles) or [role()]}
    return json.dumps({**row, **fields})


def native(name: str, run: str = "true", replicas: int = 1, **fields: Any) -> str:
    """A job of one role, `worker`, in muster's own words (JSON is the same tree as YAML)."""
    row: Json = {"name": name, "run": run, "replicas": replicas}
    return json.dumps({**row, "resources": {"cpu": 1, "memory": "64Mi"}, **fields})


@contextlib.contextmanager
def alone(what: str) -> Iterator[None]:
    """No other test of this machine is in a block of that name."""
    with Path(f"/tmp/muster-test-{what}-{os.geteuid()}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


# ---- the server ----


def scratch(prefix: str = "mu") -> Path:
    """A new directory with a short path: Unix sockets have 107 bytes."""
    return Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir="/tmp"))


def environment(state: Path | None = None, **more: str) -> dict[str, str]:
    """This process's environment without what would reach another server or change a screen."""
    skip = ("MUSTER_", "XDG_", "PAI_", "PYTHON", "COLUMNS", "AWS_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(skip) or k == "MUSTER_BUILD"}
    config = state / "config" if state else "/dev/null/config"  # cannot be made
    env.update(LC_ALL="C.UTF-8", NO_COLOR="1", XDG_CONFIG_HOME=str(config))
    env.update(MUSTER_RUNTIME="host")  # page examples name images that nobody has
    env.update(MUSTER_SHARED_ACCOUNT="yes")  # users of most tests have no account of this machine
    if VENV.is_dir():
        env["PATH"] = f"{VENV}:{env.get('PATH', '')}"
    if state:
        env["MUSTER_STATE_DIR"] = str(state)
    return {**env, **more}


Done = subprocess.CompletedProcess[str]


def muster(
    *args: str | Path | int,
    state: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout: float = 0,
) -> Done:
    """One call of the command line."""
    return subprocess.run(
        [str(program()), *map(str, args)],
        env={**environment(state), **(env or {})},
        cwd=cwd,
        input=stdin if stdin is not None else "",
        capture_output=True,
        text=True,
        errors="replace",
        timeout=patience(timeout),
        check=False,
    )


class Nobody:
    """A user without rights, for tests that run as root; why_not says why there is none."""

    def __init__(self, folder: Path, name: str = "nobody", **env: str) -> None:
        self.home = folder / "home"
        self.state = self.home / "state"
        self.env = env
        self.why_not = ""
        if os.geteuid() != 0:
            self.why_not = "only root can become somebody else"
            return
        self.entry = pwd.getpwnam(name)
        self.home.mkdir(parents=True)
        os.chown(self.home, self.entry.pw_uid, self.entry.pw_gid)
        folder.chmod(0o755)
        try:
            reached = self.muster("version").returncode == 0
        except PermissionError:
            reached = False
        if not reached:
            self.why_not = f"{program()} is out of reach for other users"

    def muster(self, *args: str | Path, stdin: str = "") -> Done:
        return subprocess.run(
            [str(program()), *map(str, args)],
            env=environment(self.state, HOME=str(self.home), MUSTER_LISTEN="none", **self.env),
            cwd=self.home,
            user=self.entry.pw_uid,
            group=self.entry.pw_gid,
            extra_groups=[],
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=patience(),
            check=False,
        )

    def stop_server(self) -> None:
        """What a call of that user started is not left to the rest of the tests."""
        done = self.muster("server", "stop")
        assert done.returncode == 0, done.stdout + done.stderr


@dataclass
class Server:
    """A server in the foreground, in its own state directory. start() may be called again after
    the end of the process: the same records are found again."""

    nodes: str = NODES
    flags: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    state: Path = field(default_factory=scratch)
    process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        return self.state / "sock"

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    def command(self) -> list[str]:
        own = ["--nodes", self.nodes] if self.nodes else []
        return [str(program()), "server", "run", "--listen", "127.0.0.1:0", *own, *self.flags]

    def launch(self, ready: int | None = None) -> subprocess.Popen[bytes]:
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        more = {"MUSTER_READY_FD": str(ready)} if ready is not None else {}
        with (self.state / "server.out").open("ab") as out:
            return subprocess.Popen(
                self.command(),
                env={**environment(self.state), **self.env, **more},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                pass_fds=[ready] if ready is not None else [],
                start_new_session=True,
            )

    def start(self) -> Server:
        """Returns when it answers; the server says so itself."""
        read_end, write_end = os.pipe()
        try:
            self.process = self.launch(write_end)
        finally:
            os.close(write_end)
        with os.fdopen(read_end, "rb") as ready:
            if ready.read(3) != b"ok\n":
                status = self.process.wait(patience())
                raise RuntimeError(f"the server ended with {status}:\n{self.said()}")
        return self

    def said(self) -> str:
        path = self.state / "server.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def agents_said(self) -> str:
        """What keepers and agents wrote to their standard error; normally nothing."""
        return "".join(
            p.read_text(errors="replace") for p in self.state.glob("runs/*/g*/*/agent.err")
        )

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """kill -9, as a crash."""
        if self.process:
            kill(self.process.pid)
            self.process.wait()

    def end(self) -> int:
        """The ordinary end of the server process; jobs go on."""
        assert self.process
        kill(self.process.pid, signal.SIGTERM)
        return self.process.wait(patience())

    # -- talking to it

    def connection(self, timeout: float = 0) -> UnixConnection:
        return UnixConnection(self.socket, patience(timeout))

    def api(
        self,
        method: str,
        path: str,
        body: bytes | str | None = None,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        connection = self.connection()
        try:
            return request(connection, method, with_query(path, query), body, headers)
        finally:
            connection.close()

    def get(self, path: str, **query: str | int) -> Any:
        return self.api("GET", path, query=query).good().json()

    def stream(self, path: str, timeout: float = 0, **query: str | int) -> Stream:
        connection = self.connection(timeout)
        connection.request("GET", with_query(path, query))
        return Stream(connection)

    def info(self) -> Json:
        found: Json = json.loads((self.state / "server.json").read_text())
        return found

    def muster(self, *args: str | Path | int, **options: Any) -> Done:
        return muster(*args, state=self.state, **options)

    def popen(
        self, *args: str | Path | int, to: IO[bytes] | None = None, **options: Any
    ) -> subprocess.Popen[str]:
        """What it says goes to two pipes, or all of it to a file."""
        return subprocess.Popen(
            [str(program()), *map(str, args)],
            env={**environment(self.state), **options.pop("env", {})},
            stdin=subprocess.DEVNULL,
            stdout=to or subprocess.PIPE,
            stderr=to or subprocess.PIPE,
            text=True,
            errors="replace",
            **options,
        )

    # -- jobs

    def submit(self, text: str | bytes, key: str | None = None, **query: str | int) -> int:
        """The number of the new job."""
        headers = {"Idempotency-Key": key} if key else {}
        reply = self.api("POST", "/v1/jobs", text, query=query, headers=headers)
        number: int = reply.good().json()["number"]
        return number

    def job(self, job: int | str, **query: str | int) -> Json:
        found: Json = self.get(f"/v1/jobs/{job}", **{"tasks": 1, **query})
        return found

    def state_of(self, job: int | str) -> str:
        return str(self.get(f"/v1/jobs/{job}")["state"])

    def wait(self, job: int | str, *states: str, timeout: float = 0) -> Json:
        """The job once it is in one of the states (left out: any final one)."""
        wanted = states or FINAL

        def there() -> bool:
            now = self.state_of(job)
            if now in FINAL and now not in wanted:
                raise AssertionError(f"job {job} is {now}, not {wanted}: {self.job(job)}")
            return now in wanted

        try:
            wait_for(there, timeout)
        except TimeoutError as late:
            raise TimeoutError(f"job {job} is not {wanted} but {self.job(job)}") from late
        return self.job(job)

    def run(self, text: str | bytes, timeout: float = 0, **query: str | int) -> Json:
        return self.wait(self.submit(text, None, **query), timeout=timeout)

    def stop(self, job: int | str, now: bool = False) -> Reply:
        return self.api("POST", f"/v1/jobs/{job}/stop", query={"now": 1} if now else None)

    def records(self, job: int | str, **query: str | int) -> list[Json]:
        """Log records; without the closing line."""
        lines = self.api("GET", f"/v1/jobs/{job}/logs", query=query).good().lines()
        return [line for line in lines if "end" not in line]

    def log(self, job: int | str, task: str | None = None, **query: str | int) -> str:
        more: dict[str, str | int] = {"task": task} if task else {}
        records = self.records(job, **{**more, **query})
        return "".join(r.get("text", "") for r in records if r.get("stream") != "muster")

    def events(self, job: int | str) -> list[Json]:
        found: list[Json] = self.get(f"/v1/jobs/{job}/events", limit=10000)["events"]
        return found

    def jobs(self, **query: str | int) -> list[Json]:
        """All pages of a list."""
        found: list[Json] = []
        while True:
            page = self.get("/v1/jobs", **{"limit": 1000, **query})
            found += page["jobs"]
            if not page.get("next"):
                return found
            query["before"] = page["next"]

    # -- what belongs to it

    def cookies(self) -> list[str]:
        """Marks of the processes of every run whose directory is still there."""
        found = []
        for conf in self.state.glob("runs/*/g*/*/agent.conf"):
            with contextlib.suppress(OSError, ValueError, KeyError):  # tests damage such files
                words = dict(line.split("=", 1) for line in conf.read_text().splitlines())
                found.append(f"MUSTER_COOKIE={words['cookie']}")
        return sorted(set(found))

    def survivors(self, cookies: Iterable[str] = ()) -> dict[int, str]:
        """Everything that still runs and belongs to a job of this server, agents included."""
        left = processes(str(self.state / "runs"), *self.cookies(), *cookies)
        if self.process:
            left.pop(self.process.pid, None)
        return left

    def agents(self, job: int | None = None) -> dict[str, list[int]]:
        """Live processes of muster-node (of one job), by what they are: an agent is the child of a
        keeper, with the same arguments."""
        place = f"{self.state}/runs/{job}/" if job else f"{self.state}/runs/"
        nodes = {p for p, words in processes(place).items() if f" keeper {place}" in words}
        keepers, agents, _ = by_depth(nodes)
        return {"keeper": keepers, "agent": agents}

    def close(self, keep: bool = False, states: str = LIVE) -> dict[int, str]:
        """Stops all jobs in these states, ends the server, removes the directory; what survived
        all that is returned (and killed, by pid)."""
        if self.running():
            with contextlib.suppress(
                OSError, AssertionError, TimeoutError, http.client.HTTPException
            ):
                live = self.jobs(state=states)
                for job in live:
                    self.stop(job["number"], now=True)
                for job in live:
                    wait_for(lambda n=job["number"]: self.state_of(n) in FINAL)  # type: ignore[misc]
            kill(self.pid, signal.SIGTERM)
            try:
                assert self.process
                self.process.wait(patience())
            except subprocess.TimeoutExpired:
                self.kill()
        cookies = self.cookies()
        with contextlib.suppress(TimeoutError):
            wait_for(lambda: not self.survivors(cookies), every=0.05)
        left = self.survivors(cookies)
        for pid in left:
            kill(pid)
        if not keep:
            shutil.rmtree(self.state, ignore_errors=True)
        return left


def free_port(n: int = 1) -> int:
    """The first of n that nobody has; none that the kernel gives to a connection meanwhile, or
    a server to a job."""
    while True:
        first = random.SystemRandom().randrange(10000, 20000 - n)
        with contextlib.suppress(OSError), contextlib.ExitStack() as held:
            for port in range(first, first + n):
                held.enter_context(socket.socket()).bind(("0.0.0.0", port))
            return first
