"""Guessing passwords: it slows who guesses, tells nothing of users, and locks nobody out."""

from __future__ import annotations

import http.client
import json
import os
import pwd
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from conftest import Starter
from harness import Reply, Server, patience, request

GUESSES = 40
RIGHT = "open sesame"


@pytest.fixture
def server(start: Starter, tmp_path: Path) -> Server:
    one = start()
    file = tmp_path / "password"
    file.write_text(f"{RIGHT}\n")
    done = one.muster("user", "add", "ada", "--password-file", file)
    assert done.returncode == 0, done.stderr
    return one


def login(place: tuple[str, int], name: str, password: str) -> Reply:
    connection = http.client.HTTPConnection(*place, timeout=patience())
    body = json.dumps({"username": name, "password": password})
    headers = {"Content-Type": "application/json"}
    try:
        return request(connection, "POST", "/rest-server/api/v1/token", body, headers)
    finally:
        connection.close()


def place_of(server: Server) -> tuple[str, int]:
    parts = urlsplit(server.info()["address"])
    assert parts.hostname and parts.port
    return parts.hostname, parts.port


def as_nobody(work: Callable[[], None]) -> int:
    """Exit status of a child that is another user of the machine."""
    entry = pwd.getpwnam("nobody")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(entry.pw_gid)
            os.setuid(entry.pw_uid)
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_guesses_of_another_lock_nobody_out(server: Server) -> None:
    """Another user of the machine, over the same loopback address, tries ada's name on and on."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    place = place_of(server)

    def guess() -> None:
        for name in ("ada", "somebody-else"):  # whom it is tried for makes no difference
            answers = [login(place, name, f"wrong one {i}") for i in range(GUESSES)]
            slowed = [reply for reply in answers if reply.status == 429]
            assert slowed and {reply.status for reply in answers} <= {400, 429}
            assert all(1 <= int(reply.headers["retry-after"]) <= 60 for reply in slowed)

    assert as_nobody(guess) == 0
    for _ in range(3):
        good = login(place, "ada", RIGHT)
        assert good.status == 200, good.text
    assert login(place, "ada", "wrong one").status == 400


def test_right_passwords_are_never_counted(server: Server) -> None:
    for _ in range(15):
        assert login(place_of(server), "ada", RIGHT).status == 200


def test_nothing_is_told_of_users(server: Server) -> None:
    """One answer for a wrong password, a user without one, a disabled user, and for nobody."""
    for args in (["add", "bob"], ["add", "eve"], ["set", "eve", "--disabled"]):
        done = server.muster("user", *args)
        assert done.returncode == 0, done.stderr
    place = place_of(server)
    answers = [login(place, name, "wrong one") for name in ("ada", "bob", "eve", "nobody-here")]
    said = {(reply.status, reply.text) for reply in answers}
    assert len(said) == 1, said
    assert answers[0].status == 400
