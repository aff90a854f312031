"""Requests that two programs on their way could read differently, and what a stranger learns of the
paths that there are."""

from __future__ import annotations

import contextlib
import http.client
import socket
from urllib.parse import urlsplit

import pytest
from harness import Reply, Server, patience, request

EXPLAIN = "POST /v1/explain HTTP/1.1\r\nHost: x\r\n"
SHOW = "GET /v1/server HTTP/1.1\r\n"
# (head, body) of a request that is to be refused and closed; {who} is the token's header.
HEADS = {
    "two lengths": (EXPLAIN + "{who}Content-Length: 2\r\nContent-Length: 60\r\n", "{}"),
    "the same length twice": (EXPLAIN + "{who}Content-Length: 2\r\nContent-Length: 2\r\n", "{}"),
    "length and chunks": (
        EXPLAIN + "{who}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "0\r\n\r\n",
    ),
    "chunks and length": (
        EXPLAIN + "{who}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "0\r\n\r\n",
    ),
    "two encodings": (
        EXPLAIN + "{who}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "0\r\n\r\n",
    ),
    "another encoding": (EXPLAIN + "{who}Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
    "no encoding": (EXPLAIN + "{who}Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
    "chunks in HTTP/1.0": (
        "POST /v1/explain HTTP/1.0\r\n{who}Transfer-Encoding: chunked\r\n",
        "0\r\n\r\n",
    ),
    "a blank before the colon": (EXPLAIN + "{who}Content-Length : 2\r\n", "{}"),
    "no host": (SHOW + "{who}", ""),
    "two hosts": (SHOW + "Host: a\r\nHost: b\r\n{who}", ""),
}


def address(server: Server) -> tuple[str, int]:
    parts = urlsplit(server.info()["address"])
    assert parts.hostname and parts.port
    return parts.hostname, parts.port


def said(server: Server, text: str, over: str) -> bytes:
    """All that the server says to these bytes until it closes the connection."""
    kind = socket.AF_UNIX if over == "socket" else socket.AF_INET
    with socket.socket(kind) as wire:
        wire.settimeout(patience())
        wire.connect(str(server.socket) if over == "socket" else address(server))
        wire.sendall(text.encode())
        answer = b""
        with contextlib.suppress(ConnectionResetError):  # closed before it read the rest
            while piece := wire.recv(65536):
                answer += piece
        return answer


@pytest.mark.sanitizer
@pytest.mark.parametrize("name", HEADS)
def test_where_a_request_ends_is_never_open(server: Server, name: str) -> None:
    """Behind each comes a second request, which a front end could have taken for a body: it is not
    answered, and the connection is over."""
    token = (server.state / "token").read_text().strip()
    who = f"Authorization: Bearer {token}\r\n"
    head, body = HEADS[name]
    hidden = f"{SHOW}Host: x\r\n{who}Connection: close\r\n\r\n"
    for over in ("socket", "port"):
        answer = said(server, head.replace("{who}", who) + "\r\n" + body + hidden, over)
        assert answer.startswith(b"HTTP/1.1 400 "), (name, answer[:200])
        assert b'"pid"' not in answer and answer.count(b"\r\n\r\n") == 1, (name, answer)
    assert server.get("/healthz") == {"ok": True}


def test_a_request_that_is_sound_is_served(server: Server) -> None:
    """One length, chunks alone, and HTTP/1.0 without a host."""
    old = said(server, "GET /healthz HTTP/1.0\r\n\r\n", "port")
    assert old.startswith(b"HTTP/1.") and b" 200 " in old.splitlines()[0]
    ask = "POST /v1/nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    for rest in (
        "Content-Length: 2\r\n\r\n{}",
        "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    ):
        answer = said(server, ask + rest, "socket")
        assert answer.startswith(b"HTTP/1.1 404 "), answer


# ---- strangers ----

# What is there, what is not, and what takes another method: of each interface.
NATIVE = [
    ("GET", "/v1/jobs"),
    ("GET", "/v1/jobs/1"),
    ("GET", "/v1/no-such-route"),
    ("PUT", "/v1/jobs"),
    ("OPTIONS", "/v1/jobs"),
    ("POST", "/v1/server/stop"),
    ("POST", "/healthz"),
    ("GET", "/v1/agents"),
    ("GET", "/etc/passwd"),
    ("DELETE", "/"),
]
OPENPAI = [
    ("GET", "/rest-server/api/v2/jobs"),
    ("GET", "/rest-server/api/v2/jobs/ada~x"),
    ("GET", "/rest-server/api/v2/no-such-route"),
    ("DELETE", "/rest-server/api/v2/jobs"),
    ("GET", "/rest-server/api/v3/jobs"),
]
KUBERNETES = [
    ("GET", "/api/v1/pods"),
    ("GET", "/apis/none.example/v1/things"),
    ("GET", "/apis/elastic.iml.github.io/v1alpha1/namespaces/default/elasticjobs/x"),
    ("PATCH", "/api/v1/nodes"),
    ("GET", "/openapi/v3"),
]
DLC = [("GET", "/api/v1/jobs"), ("GET", "/api/v1/no-such"), ("PUT", "/api/v1/jobs")]


def ask(server: Server, method: str, path: str, headers: dict[str, str]) -> Reply:
    host, port = address(server)
    connection = http.client.HTTPConnection(host, port, timeout=patience())
    try:
        return request(connection, method, path, None, headers)
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("paths", "headers"),
    [(NATIVE, {}), (OPENPAI, {}), (KUBERNETES, {}), (DLC, {"x-acs-version": "2020-12-03"})],
    ids=["native", "openpai", "kubernetes", "dlc"],
)
def test_a_stranger_learns_nothing_of_paths(
    server: Server, paths: list[tuple[str, str]], headers: dict[str, str]
) -> None:
    """Without credentials, and with wrong ones: one answer, whatever is asked for."""
    for who in ({}, {"Authorization": f"Bearer {'0' * 43}"}):
        answers = set()
        for method, path in paths:
            reply = ask(server, method, path, {**headers, **who})
            own = ("date", "content-length", "x-acs-request-id")
            kept = tuple(sorted(item for item in reply.headers.items() if item[0] not in own))
            text = reply.text
            if headers:  # each answer has a number of its own
                text = text.replace(reply.json()["RequestId"], "")
            assert reply.status in (400, 401), (method, path, text)
            assert str(server.state) not in text, "where the server keeps its files"
            answers.add((reply.status, text, kept))
        assert len(answers) == 1, answers
