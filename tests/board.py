"""A double of the server for tests of the worker runtime alone: the job's board, its tasks and the
commands that workers send, over HTTP on a Unix socket. Nothing else of the server."""

from __future__ import annotations

import json
import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]


class Board(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, path: Path, number: int = 1) -> None:
        self.path, self.number = path, number
        self.entries: dict[str, tuple[str, int]] = {}
        self.version = 0
        self.changed = threading.Condition()
        self.tasks: dict[str, str] = {}  # "role/index": state
        self.job: Json = {"number": number, "name": "job", "state": "running", "restarts": 0}
        self.commands: list[tuple[str, dict[str, list[str]]]] = []
        super().__init__(str(path), Handler)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, *_: object) -> None:
        """A worker that was killed while it asked."""

    @property
    def url(self) -> str:
        return f"unix:{self.path}"

    def put(self, key: str, value: str) -> int:
        with self.changed:
            self.version += 1
            self.entries[key] = (value, self.version)
            self.changed.notify_all()
            return self.version

    def get(self, key: str, after: int, wait: float) -> tuple[str, int] | None:
        end = time.monotonic() + wait
        with self.changed:
            while True:
                found = self.entries.get(key)
                if found and found[1] > after:
                    return found
                left = end - time.monotonic()
                if left <= 0:
                    return None
                self.changed.wait(left)

    def value(self, key: str, seconds: float = 120) -> Json:
        """Of what a worker left there; waits for it."""
        found = self.get(key, 0, seconds)
        assert found, f"nothing under {key}"
        value: Json = json.loads(found[0])
        return value

    def task_list(self) -> list[Json]:
        split = [(name.rpartition("/"), state) for name, state in self.tasks.items()]
        return [{"role": r, "index": int(i), "state": state} for (r, _, i), state in split]


class Handler(BaseHTTPRequestHandler):
    server: Board
    protocol_version = "HTTP/1.1"

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_: object) -> None:
        pass

    def reply(self, status: int, tree: Json) -> None:
        body = json.dumps(tree).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> str:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()

    def split(self) -> tuple[str, dict[str, list[str]]]:
        parts = urlsplit(self.path)
        return parts.path.removeprefix(f"/v1/jobs/{self.server.number}"), parse_qs(parts.query)

    def do_PUT(self) -> None:
        _, query = self.split()
        key = query["key"][0]
        self.reply(200, {"key": key, "version": self.server.put(key, self.body())})

    def do_GET(self) -> None:
        path, query = self.split()
        if path == "/tasks":
            self.reply(200, {"tasks": self.server.task_list()})
        elif path == "/board":
            wait, after = float(query.get("wait", ["0"])[0]), int(query.get("after", ["0"])[0])
            key = query["key"][0]
            found = self.server.get(key, after, min(wait, 60))
            if found:
                self.reply(200, {"key": key, "value": found[0], "version": found[1]})
            else:
                self.reply(404, {"code": "not_found", "detail": f"nothing under {key}"})
        else:
            self.reply(200, self.server.job)

    def do_POST(self) -> None:
        path, query = self.split()
        self.body()
        self.server.commands.append((path, query))
        self.reply(200, {})
