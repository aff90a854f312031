"""A browser's cookie in other hands: another server of the same host is sent it, another site's
page makes the browser send it."""

from __future__ import annotations

import http.client
import socket
from urllib.parse import urlsplit

import pytest
from conftest import Starter
from harness import Reply, Server, native, patience, request


@pytest.fixture
def server(start: Starter) -> Server:
    return start()


def address(server: Server) -> tuple[str, int]:
    parts = urlsplit(server.info()["address"])
    assert parts.hostname and parts.port
    return parts.hostname, parts.port


def browse(server: Server, method: str, path: str, headers: dict[str, str]) -> Reply:
    connection = http.client.HTTPConnection(*address(server), timeout=patience())
    try:
        return request(connection, method, path, None, headers)
    finally:
        connection.close()


def session(server: Server, **env: str) -> tuple[str, str]:
    """Cookie and page's secret of a browser that opens a link, asked for as that environment."""
    done = server.muster("open", "--server", server.info()["address"], "-q", env=env)
    assert done.returncode == 0, done.stderr
    parts = urlsplit(done.stdout.strip())
    reply = browse(server, "GET", f"{parts.path}?{parts.query}", {})
    assert reply.status == 303, reply.text
    secret = reply.headers["location"].partition("#page=")[2]
    return reply.headers["set-cookie"].split(";")[0], secret


def own(server: Server) -> dict[str, str]:
    return {"MUSTER_TOKEN": (server.state / "token").read_text().strip()}


def page(cookie: str, secret: str) -> dict[str, str]:
    return {"Cookie": cookie, "X-Muster-Page": secret}


def test_the_cookie_alone_reads_nothing(server: Server) -> None:
    cookie, secret = session(server, **own(server))
    other_cookie, other = session(server, **own(server))
    assert browse(server, "GET", "/v1/jobs", page(cookie, secret)).status == 200
    for headers in (
        {"Cookie": cookie},
        page(cookie, ""),
        page(cookie, "1"),
        page(cookie, other),
        page(cookie, cookie.partition("=")[2]),
        page(other_cookie, secret),
        {"X-Muster-Page": secret},
        page(f"x{cookie}", secret),
        {**page(cookie, secret), "Host": "127.0.0.1:1"},
    ):
        for path in ("/v1/jobs", "/v1/events?follow=1", "/v1/users", "/metrics"):
            assert browse(server, "GET", path, headers).status == 401, (headers, path)
    reply = browse(server, "OPTIONS", "/v1/jobs", {"Origin": "http://evil.example"})
    assert reply.status == 401
    assert not [name for name in reply.headers if name.startswith("access-control")]


def test_the_session_changes_nothing_and_opens_no_channel(server: Server) -> None:
    number = server.submit(native("room", "exec sleep 600"))
    server.wait(number, "running")
    cookie, secret = session(server, **own(server))
    stop = f"/v1/jobs/{number}/stop"
    assert browse(server, "POST", stop, page(cookie, secret)).status == 401
    for path, protocol in (("exec", "muster-exec/1"), ("attach", "muster-attach/1")):
        with socket.create_connection(address(server), timeout=patience()) as wire:
            host, port = address(server)
            wire.sendall(
                f"GET /v1/jobs/{number}/{path}?task=worker/0&arg=id HTTP/1.1\r\n"
                f"Host: {host}:{port}\r\nCookie: {cookie}\r\nX-Muster-Page: {secret}\r\n"
                f"Connection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n".encode()
            )
            assert wire.recv(65536).startswith(b"HTTP/1.1 401 "), path
    assert server.job(number)["state"] == "running"


def test_the_cookie_is_kept_from_scripts_and_other_sites(server: Server) -> None:
    done = server.muster("open", "-q")
    parts = urlsplit(done.stdout.strip())
    reply = browse(server, "GET", f"{parts.path}?{parts.query}", {})
    flags = {flag.strip() for flag in reply.headers["set-cookie"].split(";")[1:]}
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= flags
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["referrer-policy"] == "no-referrer"
