"""Descriptors: however many clients come and say nothing, the server's doors, plain and over TLS,
answer who has a credential, its jobs start and end, and when the crowd has gone it is as before.

The crowd comes over loopback from this process, and is as large as the server's limit at most."""

from __future__ import annotations

import http.client
import os
import resource
from collections.abc import Iterator

import pytest
from harness import Server, UnixConnection, native, patience, request, until_there, wait_for
from silent import Crowd, Limited, anybody, port

LIMITS = (64, 256, 1024, 4096, pytest.param(20000, marks=pytest.mark.slow))
NOBODY = 65534


@pytest.fixture
def limited() -> Iterator[list[Limited]]:
    made: list[Limited] = []
    yield made
    for one in made:
        left = one.close()
        assert not left, f"still there after the end: {left}"


def start(made: list[Limited], files: int, **options: object) -> Limited:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < files:
        pytest.skip(f"the hard limit of this process is {hard}")
    made.append(Limited(files=files, **options))  # type: ignore[arg-type]
    made[-1].start()
    return made[-1]


@pytest.fixture(autouse=True)
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def over_unix(server: Server) -> bool:
    connection = UnixConnection(server.socket, patience())
    try:
        return request(connection, "GET", "/v1/server").status == 200
    except OSError:
        return False
    finally:
        connection.close()


def over_tcp(server: Server, tls: bool) -> bool:
    token = (server.state / "token").read_text().strip()
    to: http.client.HTTPConnection = (
        http.client.HTTPSConnection(
            "127.0.0.1", port(server), timeout=patience(), context=anybody()
        )
        if tls
        else http.client.HTTPConnection("127.0.0.1", port(server), timeout=patience())
    )
    try:
        headers = {"Authorization": f"Bearer {token}"}
        return request(to, "GET", "/v1/server", headers=headers).status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        to.close()


def both_answer(server: Server, tls: bool) -> None:
    wait_for(lambda: over_unix(server), what="an answer over the Unix socket")
    wait_for(lambda: over_tcp(server, tls), what="an answer over TCP")


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("files", LIMITS)
def test_silent_crowd(limited: list[Limited], files: int, tls: bool) -> None:
    server = start(limited, files)
    with Crowd(server, tls):
        both_answer(server, tls)
        assert server.run(native("during"))["state"] == "succeeded"
    both_answer(server, tls)
    assert server.run(native("after"))["state"] == "succeeded"
    assert "http.crowded sent_away=" in server.said()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can connect as somebody else")
def test_one_user_leaves_room_for_others(limited: list[Limited]) -> None:
    """On the socket that every account reaches: one has as many connections as it gets."""
    server = start(limited, 256, env={"MUSTER_SHARED_ACCOUNT": "no"})
    public = server.state.with_name(f"{server.state.name}.users") / "sock"
    held, refused = [], 0
    os.seteuid(NOBODY)
    try:
        for _ in range(256):
            one = UnixConnection(public, patience())
            held.append(one)
            try:
                refused += request(one, "GET", "/healthz").status == 503
            except (OSError, http.client.HTTPException):
                refused += 1
    finally:
        os.seteuid(0)
    assert refused
    other = UnixConnection(public, patience())
    assert request(other, "GET", "/v1/server").good().json()["connections"] > 10
    assert server.run(native("during"))["state"] == "succeeded"
    for one in [*held, other]:
        one.close()


def test_more_agents_than_descriptors(limited: list[Limited]) -> None:
    """Each agent costs two; whose turn it is not yet waits and runs later."""
    server = start(limited, 64, nodes="9x1cpu,1Gi")
    jobs = [server.submit(native(f"many{i}", until_there(server.state / "go"))) for i in range(9)]
    wait_for(lambda: sum(server.state_of(job) == "running" for job in jobs) >= 3)
    wait_for(lambda: "launch.waits" in server.said())
    both_answer(server, tls=True)
    (server.state / "go").touch()
    assert {server.wait(job)["state"] for job in jobs} == {"succeeded"}


def test_limit_bounds_connections(limited: list[Limited]) -> None:
    server = start(limited, 256)
    settings = {one["name"]: one["value"] for one in server.get("/v1/config")["config"]}
    assert 0 < int(settings["max_connections"]) < 256


def test_limit_that_is_too_small(limited: list[Limited]) -> None:
    with pytest.raises(RuntimeError, match="open files") as refused:
        start(limited, 40)
    assert "LimitNOFILE" in str(refused.value)
