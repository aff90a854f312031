"""A client of muster's server: over the Unix socket in the user's state directory, as the command
line does, or over HTTP where `MUSTER_SERVER` (or `url`) says so. Standard library only; one
connection a call, so that a client may be shared by threads and survives a restart of the server.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Callable, Union
from urllib.parse import quote, urlencode, urlsplit

from muster.errors import MusterError, Refused, Unreachable
from muster.output import MergedLines, Piece

FINAL = ("succeeded", "failed", "stopped")
IDLE_EXIT = "1h"
PIECE = 2 << 20  # of an upload
RETRY = 0.2  # seconds between tries to reach a server that is away
Query = Mapping[str, Union[str, int, Sequence[str], None]]


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def state_dir() -> Path:
    """Where the user's server keeps its state: `MUSTER_STATE_DIR`, else below `XDG_STATE_HOME` or
    `~/.local/state`."""
    own, xdg = os.environ.get("MUSTER_STATE_DIR"), os.environ.get("XDG_STATE_HOME", "")
    if own:
        return Path(own).absolute()
    return (Path(xdg) if xdg.startswith("/") else Path.home() / ".local/state") / "muster"


def program() -> str:
    """The `muster` program: `MUSTER_BIN`, else the one on PATH, else one built beside this file."""
    named = os.environ.get("MUSTER_BIN") or shutil.which("muster")
    if named:
        return named
    for root in Path(__file__).resolve().parents:
        if os.access(root / "build/release/muster", os.X_OK):
            return str(root / "build/release/muster")
    raise MusterError("the program `muster` is not on PATH; install it, or set MUSTER_BIN to it")


class Client:
    """One server. `url` (default: `MUSTER_SERVER`) is `http://HOST:PORT` or `unix:PATH`; without
    one it is the server of this user on this machine."""

    def __init__(self, url: str | None = None, timeout: float = 120) -> None:
        self.url = url or os.environ.get("MUSTER_SERVER") or None
        self.timeout = timeout

    # ---- requests ----

    def _socket(self) -> str:
        if self.url:
            return self.url[len("unix:") :]
        home = state_dir()
        with contextlib.suppress(OSError, ValueError):
            told = json.loads((home / "server.json").read_text())
            if told.get("socket"):
                return str(told["socket"])
        return str(home / "sock")

    @property
    def local(self) -> bool:
        """Is it a server of this machine, which sees this machine's files?"""
        return not self.url or self.url.startswith("unix:")

    def _connect(self, timeout: float | None) -> http.client.HTTPConnection:
        if self.local:
            return _UnixConnection(self._socket(), timeout)
        parts = urlsplit(str(self.url))
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        return kind(parts.hostname or "127.0.0.1", parts.port, timeout=timeout)

    def _headers(self) -> dict[str, str]:
        if not self.url:
            return {}
        token = os.environ.get("MUSTER_TOKEN", "")
        if not token and self.url == os.environ.get("MUSTER_SERVER"):
            token = os.environ.get("MUSTER_JOB_TOKEN", "")  # in a task, of its job
        if not token and not self.local:
            with contextlib.suppress(OSError):
                token = (state_dir() / "token").read_text().strip()
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _open(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: bytes | str | None,
        timeout: float | None,
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        given = {k: v for k, v in (query or {}).items() if v is not None}
        if given:
            path += "?" + urlencode(given, doseq=True, quote_via=quote)
        data = body.encode() if isinstance(body, str) else body
        connection = self._connect(timeout)
        try:
            connection.request(method, path, data, self._headers())
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            where = self.url or str(state_dir())
            raise Unreachable(f"no server answers at {where}: {error}") from error
        if answer.status < 400:
            return connection, answer
        with contextlib.closing(connection):
            text = answer.read().decode(errors="replace")
        try:
            problem = json.loads(text)
        except ValueError:
            problem = {"detail": text.strip()[:500]}
        raise Refused(answer.status, problem)

    def call(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | str | None = None,
        timeout: float | None = None,
    ) -> Any:
        """One request; the answer's JSON. Raises Unreachable and Refused."""
        wait = self.timeout if timeout is None else timeout
        connection, answer = self._open(method, path, query, body, wait)
        with contextlib.closing(connection):
            try:
                text = answer.read()
            except (OSError, http.client.HTTPException) as error:
                raise Unreachable(f"the server went away in its answer: {error}") from error
        return json.loads(text) if text.strip() else None

    def stream(
        self, path: str, query: Query | None = None, body: Mapping[str, Any] | None = None
    ) -> Iterator[dict[str, Any]]:
        """The lines of an endless answer as they come (asked for by POST where there is a body).
        Raises Unreachable where it breaks off."""
        text = None if body is None else json.dumps(body)
        connection, answer = self._open("GET" if body is None else "POST", path, query, text, None)
        with contextlib.closing(connection):
            try:
                for line in answer:
                    if line.strip():
                        yield json.loads(line)
            except (OSError, ValueError, http.client.HTTPException) as error:
                raise Unreachable(f"the server went away: {error}") from error

    # ---- the server ----

    def answers(self) -> bool:
        try:
            self.call("GET", "/healthz", timeout=5)
        except (MusterError, ValueError):
            return False
        return True

    def ensure_server(self, within: float | None = None) -> bool:
        """Starts this user's server when none answers; True when it did. Raises MusterError when it
        does not within so many seconds."""
        if self.answers():
            return False
        if self.url:
            raise Unreachable(f"no server answers at {self.url}")
        try:
            done = subprocess.run(
                [program(), "server", "start", f"--idle-exit={IDLE_EXIT}"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=within,
            )
        except subprocess.TimeoutExpired as error:
            raise MusterError(f"the server did not start within {within:g} s") from error
        if done.returncode != 0 and not self.answers():
            raise MusterError(f"the server did not start: {done.stderr.strip()}")
        return True

    # ---- jobs ----

    def submit(
        self,
        job: Mapping[str, Any] | str,
        *,
        cwd: str | Path | None = None,
        dialect: str | None = None,
        wait_for_nodes: bool = False,
        **query: str | int | Sequence[str] | None,
    ) -> Job:
        """Submits a job: a tree in muster's own words, or the text of a job file (`dialect` where
        the text does not say itself what it is). `cwd` is where its tasks start (default: here).
        """
        text = job if isinstance(job, str) else json.dumps(job)
        asked: dict[str, str | int | Sequence[str] | None] = {
            "cwd": str(cwd or Path.cwd()),
            "from": dialect or (None if isinstance(job, str) else "native"),
            "wait": 1 if wait_for_nodes else None,
            **query,
        }
        answer = self.call("POST", "/v1/jobs", asked, text)
        return Job(self, int(answer["number"]), str(answer.get("name", "")), answer)

    def upload(self, folder: str | Path) -> str:
        """Sends a folder along, unless the server has that content already. What a job says under
        `inputs.code.archive` to start in it there."""
        from muster.snapshot import snapshot  # noqa: PLC0415

        file, digest = snapshot(Path(folder))
        path, part = f"/v1/archives/{digest}", {"part": secrets.token_hex(8)}
        with file:
            try:
                self.call("GET", path)
            except Refused as error:
                if error.status != 404:
                    raise
                self._put(path, part, file)
                self.call("POST", path, part)
        return f"sha256:{digest}"

    def _put(self, path: str, part: dict[str, str], file: IO[bytes]) -> None:
        file.seek(0)
        offset = 0
        while piece := file.read(PIECE):
            self.call("PUT", path, {**part, "offset": offset}, piece)
            offset += len(piece)

    def job(self, job: int | str) -> Job:
        """A job by its number, its name (the newest live one) or its id."""
        tree = self.call("GET", f"/v1/jobs/{quote(str(job), safe='')}")
        return Job(self, int(tree["number"]), str(tree["name"]), tree)

    def jobs(self, **query: str | int | None) -> list[dict[str, Any]]:
        """Jobs, newest first; filters as `state`, `owner`, `queue`, `name`, `limit`."""
        return list(self.call("GET", "/v1/jobs", query)["jobs"])


class Job:
    """A submitted job. Every method asks the server; one that restarts meanwhile is waited for
    where the method itself waits (`wait`, `follow`)."""

    def __init__(self, client: Client, number: int, name: str, answer: Mapping[str, Any]) -> None:
        self.client = client
        self.number = number
        self.name = name
        self.answer = answer  # as the server gave it at submission: warnings, state

    def __repr__(self) -> str:
        return f"Job({self.number}, {self.name!r})"

    @property
    def path(self) -> str:
        return f"/v1/jobs/{self.number}"

    def show(self, **query: str | int | None) -> dict[str, Any]:
        """State, reason and counts; `tasks=1`, `timeline=1`, `spec=1` for more."""
        return dict(self.client.call("GET", self.path, query))

    def status(self) -> str:
        """`queued`, `running` ... `succeeded`, `failed`, `stopped`."""
        return str(self.show()["state"])

    def tasks(self) -> list[dict[str, Any]]:
        return list(self.client.call("GET", f"{self.path}/tasks")["tasks"])

    def stop(self, now: bool = False) -> None:
        """Asks for the end; with `now` without grace."""
        self.client.call("POST", f"{self.path}/stop", {"now": 1} if now else None)

    def restart(self, *tasks: str, reason: str = "", counted: bool = False) -> None:
        """All tasks anew, or only those named (`rollout/2`). `counted`: a failure that the job's
        own program reports; it costs a retry of the job, and the job fails when none is left."""
        query: Query = {
            "reason": reason or None,
            "counted": 1 if counted else None,
            "task": list(tasks) or None,
        }
        self.client.call("POST", f"{self.path}/restart", query)

    def _patient(self, ask: Callable[[], Any]) -> Any:
        """The answer of a server that may be restarting; a message every ten seconds."""
        said = time.monotonic()
        while True:
            try:
                return ask()
            except Unreachable as error:
                if time.monotonic() - said > 10:
                    said = time.monotonic()
                    print(f"muster: {error}; job {self.number} goes on", file=sys.stderr)
                time.sleep(RETRY)

    def wait(self, timeout: float | None = None) -> str:
        """Its final state; of a job whose resources are kept for a while after its end, the
        one that it will have. Raises TimeoutError."""
        deadline = None if timeout is None else time.monotonic() + timeout
        after = 0
        while True:
            tree = self._patient(self.show)
            if tree["state"] in FINAL:
                return str(tree["state"])
            if "held_until" in tree:
                return str(tree["outcome"])
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"job {self.number} is {tree['state']} after {timeout:g} s")
            after = self._next_event(after, deadline)

    def _next_event(self, after: int, deadline: float | None) -> int:
        """Returns when something happened to the job; its sequence number."""
        query = {"follow": 1, "after": after}
        left = None if deadline is None else max(0.05, deadline - time.monotonic())
        try:
            connection, answer = self.client._open("GET", f"{self.path}/events", query, None, left)
            with contextlib.closing(connection):
                for line in answer:
                    event = json.loads(line) if line.strip() else {}
                    after = int(event.get("seq", after))
                    held = "hold_until_ms" in event.get("body", {})
                    if event.get("state") in FINAL or held:
                        return after
        except (MusterError, OSError, ValueError, http.client.HTTPException):
            time.sleep(0.05)
        return after

    def logs(self, task: str | None = None, tail: str | None = None) -> str:
        """What its tasks wrote so far, whole lines each after its task's name."""
        merged = MergedLines()
        for piece in self._pieces({"task": task, "tail": tail}, {}):
            merged.add(piece)
        return merged.take(rest=True)

    def follow(self, task: str | None = None) -> Iterator[Piece]:
        """What its tasks write, as it comes, until the job has ended."""
        seen: dict[str, dict[str, int]] = {}
        while True:
            try:
                yield from self._pieces({"task": task, "follow": 1}, seen)
                return
            except Unreachable:
                time.sleep(RETRY)  # a server that restarts is asked on from where it was
            except Refused as refused:
                if refused.status < 500:
                    raise
                time.sleep(RETRY)

    def _pieces(self, query: Query, seen: dict[str, dict[str, int]]) -> Iterator[Piece]:
        """One answer, from what was seen on, which is kept up. Raises Unreachable where it breaks
        off."""
        ended = False
        body = {"from": seen} if seen else None
        for record in self.client.stream(f"{self.path}/logs", query, body):
            ended = ended or bool(record.get("end"))
            if "task" not in record:
                continue
            piece = Piece.read(record)
            if "offset" in record and piece.attempt >= seen.get(piece.task, {}).get("attempt", 0):
                seen[piece.task] = {"attempt": piece.attempt, "offset": int(record["offset"])}
            yield piece
        if query.get("follow") and not ended:
            raise Unreachable("the server went away")
