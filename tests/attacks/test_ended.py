"""Whoever is let in no more reads and types no more, also where a connection was open before."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from conftest import Starter
from harness import Server, native, patience, request
from websocket import WebSocket


def said(server: Server, *args: str | Path) -> str:
    done = server.muster(*args)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Client:
    """Somebody with a token, over TCP."""

    def __init__(self, server: Server, token: str) -> None:
        parts = urlsplit(server.info()["address"])
        assert parts.hostname and parts.port
        self.place = (parts.hostname, parts.port)
        self.token = token

    def status(self, path: str) -> int:
        connection = http.client.HTTPConnection(*self.place, timeout=patience())
        try:
            headers = {"Authorization": f"Bearer {self.token}"}
            return request(connection, "GET", path, None, headers).status
        finally:
            connection.close()

    def terminal(self, pod: str) -> socket.socket:
        """A web terminal of PAI-DLC in a pod."""
        headers = {"x-acs-bearer-token": self.token, "x-acs-version": "2020-12-03"}
        connection = http.client.HTTPConnection(*self.place, timeout=patience())
        asked = request(connection, "GET", f"/api/v1/jobs/{pod}/webterminal", None, headers)
        connection.close()
        return WebSocket(asked.good().json()["WebTerminalUrl"]).socket

    def open(self, path: str, upgrade: str = "") -> socket.socket:
        """A connection whose answer has begun."""
        wire = socket.create_connection(self.place, timeout=patience())
        more = f"Connection: Upgrade\r\nUpgrade: {upgrade}\r\n" if upgrade else ""
        wire.sendall(
            f"GET {path} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {self.token}\r\n"
            f"{more}\r\n".encode()
        )
        begun = wire.recv(17)
        assert begun.startswith(b"HTTP/1.1 101" if upgrade else b"HTTP/1.1 200"), begun
        return wire


def read_to_the_end(wire: socket.socket) -> bytes:
    """Until the server ends the answer: a last chunk, or the connection."""
    text = b""
    while not text.endswith(b"\r\n0\r\n\r\n") and (piece := wire.recv(65536)):
        text += piece
    wire.close()
    return text


JOBS = "/apis/elastic.iml.github.io/v1alpha1/namespaces/default/elasticjobs"


@pytest.mark.parametrize("how", ["token", "password", "disabled", "removed"])
def test_open_streams_end(start: Starter, tmp_path: Path, how: str) -> None:
    server = start()
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("open sesame\n")
    second.write_text("close sesame\n")
    said(server, "user", "add", "ada", "--role", "admin", "--password-file", first)
    said(server, "user", "add", "bob", "--role", "admin")
    ada = Client(server, said(server, "token", "create", "--user", "ada", "-q"))
    bob = Client(server, said(server, "token", "create", "--user", "bob", "-q"))
    home = {"HOME": str(tmp_path)}  # shells of terminals begin with nobody's own set-up
    number = server.submit(native("room", "echo begun; exec sleep 600", stdin=True, env=home))
    room = f"dlc{server.wait(number, 'running')['id']}"
    job = f"/v1/jobs/{number}"
    paths = [f"{job}/events?follow=1", "/v1/events?follow=1", f"{job}/logs?follow=1"]
    paths += [f"{JOBS}?watch=true", "/api/v1/namespaces/default/pods?watch=true"]
    exec_path = f"{job}/exec?task=worker/0&arg=sleep&arg=600"
    wires = [ada.open(path) for path in paths] + [ada.open(exec_path, "muster-exec/1")]
    wires.append(ada.open(f"{job}/attach?task=worker/0", "muster-attach/1"))
    wires.append(ada.terminal(f"{room}/pods/{room}-worker-0"))
    other = [bob.open(f"{job}/logs?follow=1"), bob.open(exec_path, "muster-exec/1")]
    if how == "token":
        rows = json.loads(said(server, "token", "ls", "--json"))["tokens"]
        (mine,) = [row["id"] for row in rows if row["owner"] == "ada"]
        said(server, "token", "rm", mine)
    elif how == "password":
        said(server, "user", "set", "ada", "--password-file", second)
    elif how == "disabled":
        said(server, "user", "set", "ada", "--disabled")
    else:
        said(server, "user", "rm", "ada")
    for wire in wires:
        read_to_the_end(wire)
    assert ada.status("/v1/jobs") == 401
    assert bob.status("/v1/jobs") == 200
    server.stop(number).good()  # what bob follows goes on to the end of the job
    assert b'"state":"stopped"' in read_to_the_end(other[0])
    read_to_the_end(other[1])
    if how == "disabled":
        assert server.muster("token", "create", "--user", "ada").returncode == 2
        said(server, "user", "set", "ada", "--enabled")
        assert ada.status("/v1/jobs") == 401, "a token that ended stays ended"
        again = Client(server, said(server, "token", "create", "--user", "ada", "-q"))
        assert again.status("/v1/jobs") == 200


@pytest.mark.parametrize("how", ["token", "password", "disabled", "removed"])
def test_pages_end(start: Starter, tmp_path: Path, how: str) -> None:
    server = start()
    file = tmp_path / "password"
    file.write_text("open sesame\n")
    said(server, "user", "add", "ada", "--password-file", file)
    token = said(server, "token", "create", "--user", "ada", "-q")
    address = server.info()["address"]
    done = server.muster("open", "--server", address, "-q", env={"MUSTER_TOKEN": token})
    link = urlsplit(done.stdout.strip())
    assert link.hostname
    connection = http.client.HTTPConnection(link.hostname, link.port, timeout=patience())
    opened = request(connection, "GET", f"{link.path}?{link.query}")
    page = {
        "Cookie": opened.headers["set-cookie"].split(";")[0],
        "X-Muster-Page": opened.headers["location"].partition("#page=")[2],
    }
    assert request(connection, "GET", "/v1/jobs", None, page).status == 200
    if how == "token":
        said(server, "token", "rm", token)
    elif how == "password":
        file.write_text("close sesame\n")
        said(server, "user", "set", "ada", "--password-file", file)
    elif how == "disabled":
        said(server, "user", "set", "ada", "--disabled")
        said(server, "user", "set", "ada", "--enabled")
    else:
        said(server, "user", "rm", "ada")
        said(server, "user", "add", "ada")
    assert request(connection, "GET", "/v1/jobs", None, page).status == 401
    connection.close()
