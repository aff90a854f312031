"""Requests as other systems' clients send them, and an open loop of them: each is due at its time
whether or not earlier ones are answered, so that waiting counts. Every request has a connection of
its own, as command lines and most of these libraries have."""

from __future__ import annotations

import base64
import gc
import hashlib
import hmac
import json
import os
import random
import selectors
import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any
from urllib.parse import quote

DLC, SPACES = "2020-12-03", "2021-02-04"
ROWS = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@dataclass
class Ask:
    kind: str  # what figures are kept for
    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""

    def wire(self, host: str) -> bytes:
        lines = [f"{self.method} {self.target} HTTP/1.1", f"Host: {host}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.body or self.method in ("POST", "PUT"):
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, "", ""]).encode() + self.body


@dataclass
class Client:
    """Makes the requests of every client for one user of one server."""

    host: str
    token: str
    key: str
    secret: str

    def bearer(self, kind: str, method: str, target: str, body: Any = None, **headers: str) -> Ask:
        data = b"" if body is None else json.dumps(body).encode()
        own = {"Authorization": f"Bearer {self.token}"}
        if data:
            own["Content-Type"] = "application/json"
        own.update({name.replace("_", "-"): value for name, value in headers.items()})
        return Ask(kind, method, target, own, data)

    def kube(
        self, kind: str, method: str, target: str, body: Any = None, rows: bool = False
    ) -> Ask:
        agent = "kubectl/v1.32.0 (linux/amd64) kubernetes/70d3cc9"
        accept = ROWS if rows else "application/json"
        return self.bearer(kind, method, target, body, User_Agent=agent, Accept=accept)

    def dlc(
        self,
        kind: str,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        body: Any = None,
    ) -> Ask:
        """Signed in the old scheme: `acs`, HMAC-SHA1."""
        data = b"" if body is None else json.dumps(body).encode()
        own = {
            "x-acs-signature-method": "HMAC-SHA1",
            "x-acs-signature-nonce": os.urandom(16).hex(),
            "x-acs-version": DLC,
        }
        headers = {**own, "accept": "application/json", "date": formatdate(usegmt=True)}
        if data:
            headers["content-type"] = "application/json"
        text = f"{method}\n{headers['accept']}\n\n{headers.get('content-type', '')}\n"
        text += headers["date"] + "\n" + "".join(f"{k}:{own[k]}\n" for k in sorted(own)) + path
        text += "".join(f"{'&' if i else '?'}{k}={v}" for i, (k, v) in enumerate(sorted(query)))
        mac = hmac.new(self.secret.encode(), text.encode(), hashlib.sha1).digest()
        headers["authorization"] = f"acs {self.key}:{base64.b64encode(mac).decode()}"
        return Ask(kind, method, path + question(query), headers, data)

    def space(
        self, kind: str, method: str, path: str, action: str, query: Sequence[tuple[str, str]] = ()
    ) -> Ask:
        """Signed in the new scheme: ACS3-HMAC-SHA256."""
        empty = hashlib.sha256(b"").hexdigest()
        headers = {
            "accept": "application/json",
            "host": self.host,
            "x-acs-action": action,
            "x-acs-content-sha256": empty,
            "x-acs-date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "x-acs-signature-nonce": os.urandom(16).hex(),
            "x-acs-version": SPACES,
        }
        names = ";".join(headers)
        sorted_query = "&".join(f"{k}={quote(v, safe='-_.~')}" for k, v in sorted(query))
        text = f"{method}\n{path}\n{sorted_query}\n"
        text += "".join(f"{k}:{v}\n" for k, v in headers.items()) + f"\n{names}\n{empty}"
        text = f"ACS3-HMAC-SHA256\n{hashlib.sha256(text.encode()).hexdigest()}"
        mac = hmac.new(self.secret.encode(), text.encode(), hashlib.sha256).hexdigest()
        headers["authorization"] = (
            f"ACS3-HMAC-SHA256 Credential={self.key},SignedHeaders={names},Signature={mac}"
        )
        del headers["host"]
        return Ask(kind, method, path + question(query), headers)


def question(query: Sequence[tuple[str, str]]) -> str:
    return "?" * bool(query) + "&".join(f"{k}={quote(v, safe='-_.~')}" for k, v in query)


# ---- an open loop ----


@dataclass
class Answer:
    kind: str
    status: int
    ms: float  # since it was due
    late_ms: float  # of it before it was sent: this program's own
    bytes: int


class Waiting:
    def __init__(self, ask: Ask, out: bytes, due: float) -> None:
        self.ask, self.out, self.due = ask, memoryview(out), due
        self.sent = time.perf_counter()
        self.got = 0
        self.head = b""
        self.sock = socket.socket()
        self.sock.setblocking(False)

    def push(self) -> bool:
        """True: all of it is sent."""
        try:
            self.out = self.out[self.sock.send(self.out) :]
        except BlockingIOError:
            return False
        return not self.out

    def pull(self) -> bool:
        """True: all of the answer is here."""
        try:
            while part := self.sock.recv(1 << 18):
                self.got += len(part)
                self.head = self.head or part[:16]
        except BlockingIOError:
            return False
        return True

    def answer(self) -> Answer:
        now = time.perf_counter()
        self.sock.close()
        status = int(self.head[9:12]) if self.head.startswith(b"HTTP/1.1 ") else 0
        late = (self.sent - self.due) * 1e3
        return Answer(self.ask.kind, status, (now - self.due) * 1e3, late, self.got)


def open_loop(host: str, asks: Iterable[Ask], rate: float, seed: int = 7) -> list[Answer]:
    """Arrivals at random times, `rate` a second on the average."""
    dice = random.Random(seed)
    place = (host.rpartition(":")[0], int(host.rpartition(":")[2]))
    queue, due = [], 0.0
    for ask in asks:
        due += dice.expovariate(rate)
        queue.append((due, ask, ask.wire(host)))
    answers: list[Answer] = []
    poll = selectors.DefaultSelector()
    gc.collect()
    gc.disable()
    start, at = time.perf_counter(), 0
    while at < len(queue) or poll.get_map():
        while at < len(queue) and start + queue[at][0] <= time.perf_counter():
            one = Waiting(queue[at][1], queue[at][2], start + queue[at][0])
            one.sock.connect_ex(place)
            poll.register(one.sock, selectors.EVENT_WRITE, one)
            at += 1
        left = start + queue[at][0] - time.perf_counter() if at < len(queue) else 5.0
        for ready, _ in poll.select(max(0.0, left)):
            one = ready.data
            if one.out:
                if one.push():
                    poll.modify(one.sock, selectors.EVENT_READ, one)
            elif one.pull():
                poll.unregister(one.sock)
                answers.append(one.answer())
    gc.enable()
    poll.close()
    return answers
