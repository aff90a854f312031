"""A store that speaks S3 and verifies signatures, and a proxy before it that fails as told."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import shutil
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from harness import ROOT, environment, free_port, kill, patience, wait_for

PYTHON = ROOT / "build/clients/s3/bin/python"
PROGRAM = ROOT / "tests/clients/s3_store.py"
KEY, SECRET = "MUSTERTEST", "se/cret+of=the/store"
BUCKET = "backup"


def needs_store() -> None:
    if not list(PYTHON.parents[1].glob(".muster-*")):
        pytest.skip("there is no store that speaks S3: tools/setup clients")


@dataclass
class Store:
    """start() may be called again: what is in it stays."""

    folder: Path
    port: int = field(default_factory=free_port)
    ahead: int = 0
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        (self.folder / "data" / BUCKET).mkdir(parents=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def objects(self, prefix: str) -> Path:
        """Where it has them."""
        return self.folder / "data" / BUCKET / prefix

    def start(self) -> Store:
        line = [PYTHON, PROGRAM, self.folder / "data", self.port, self.ahead]
        with (self.folder / "store.out").open("ab") as out:
            self.process = subprocess.Popen(
                [str(part) for part in line],
                env=environment(NANIO_ACCESS_KEY=KEY, NANIO_SECRET_KEY=SECRET),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        wait_for(self.answers, what="the store")
        return self

    def answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "store.out").read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    def stop(self) -> None:
        if self.process:
            kill(self.process.pid)
            self.process.wait(patience())
        self.process = None

    def remove(self, prefix: str, name: str) -> None:
        self.objects(prefix).joinpath(name).unlink()
        self.forget(prefix, name)

    def forget(self, prefix: str, name: str) -> None:
        """What it noted of an object, as its size: the file counts."""
        meta = self.folder / "data" / BUCKET / ".nanio-meta" / prefix / f"{name}.json"
        meta.unlink(missing_ok=True)


@contextmanager
def stored(folder: Path, ahead: int = 0) -> Iterator[Store]:
    needs_store()
    folder.mkdir()
    store = Store(folder, ahead=ahead)
    try:
        yield store.start()
    finally:
        store.stop()
        shutil.rmtree(folder)


def access(**more: str) -> dict[str, str]:
    """Variables of who may use it, and has no file of credentials."""
    own = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
    return {"AWS_SHARED_CREDENTIALS_FILE": "/nonexistent/credentials", **own, **more}


Fault = Callable[["Handler", bytes], bool]
"""Does something instead of passing the request on; false: passes it on after all."""


def answers(status: int, code: str = "") -> Fault:
    def fault(handler: Handler, body: bytes) -> bool:
        text = f"<Error><Code>{code}</Code><Message>later</Message></Error>" if code else ""
        handler.reply(status, {}, text.encode())
        return True

    return fault


def cuts_request(handler: Handler, body: bytes) -> bool:
    """The connection goes before an answer."""
    handler.cut()
    return True


def cuts_answer(handler: Handler, body: bytes) -> bool:
    """What was asked is done, and a half of the answer comes."""
    status, headers, text = handler.ask(body)
    handler.reply(status, headers, text[: len(text) // 2], whole=max(len(text), 1))
    handler.cut()
    return True


def swallows(handler: Handler, body: bytes) -> bool:
    """Says that it is done, and it is not."""
    handler.reply(200, {"ETag": '"0123456789abcdef0123456789abcdef"'}, b"")
    return True


class Proxy(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, store: Store) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.store = store
        self.lock = threading.Lock()
        self.faults: deque[tuple[Callable[[str], bool], Fault]] = deque()
        self.seen: list[str] = []
        self.failed: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def fail(self, fault: Fault, when: Callable[[str], bool] = lambda line: True) -> None:
        """Once, for the first request whose "METHOD PATH" is meant, behind those said before."""
        with self.lock:
            self.faults.append((when, fault))

    def next_fault(self, line: str) -> Fault | None:
        with self.lock:
            self.seen.append(line)
            if not self.faults or not self.faults[0][0](line):
                return None
            self.failed.append(line)
            return self.faults.popleft()[1]

    def handle_error(self, request: object, client_address: object) -> None:
        """Connections that end early are what it is for."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, format: str, *args: object) -> None:
        pass

    def cut(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def reply(self, status: int, headers: dict[str, str], text: bytes, whole: int = -1) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "content-length" not in {name.lower() for name in headers}:
            self.send_header("Content-Length", str(whole if whole >= 0 else len(text)))
        self.end_headers()
        self.wfile.write(text)

    def ask(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        to = http.client.HTTPConnection("127.0.0.1", self.server.store.port, timeout=patience())
        with contextlib.closing(to):
            own = {k: v for k, v in self.headers.items() if k.lower() != "expect"}
            to.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in own.items():
                to.putheader(name, value)
            to.endheaders(body)
            answer = to.getresponse()
            kept = {"etag", "content-range", "content-type", "date", "content-length"}
            headers = {k: v for k, v in answer.getheaders() if k.lower() in kept}
            return answer.status, headers, answer.read()

    def handle_one(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.next_fault(f"{self.command} {self.path}")
        if fault and fault(self, body):
            return
        try:
            status, headers, text = self.ask(body)
        except OSError:
            self.cut()
            return
        self.reply(status, headers, text)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_one


@contextmanager
def proxied(store: Store) -> Iterator[Proxy]:
    proxy = Proxy(store)
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()
