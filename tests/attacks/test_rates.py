"""One user's script asks without end: it is told when to come again, and others are served."""

from __future__ import annotations

import http.client
import json
import select
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from conftest import Starter
from harness import Reply, Server, native, patience, request

MINUTE = 60  # seconds' worth of a rate may come at once


class User:
    def __init__(self, server: Server, name: str) -> None:
        assert server.muster("user", "add", name).returncode == 0
        done = server.muster("token", "create", "--user", name, "-q")
        parts = urlsplit(server.info()["address"])
        assert parts.hostname
        self.headers = {"Authorization": f"Bearer {done.stdout.strip()}"}
        self.wire = http.client.HTTPConnection(parts.hostname, parts.port, timeout=patience())

    def call(self, method: str, path: str, body: str = "", **headers: str) -> Reply:
        return request(self.wire, method, path, body, {**self.headers, **headers})


def of_vision(server: Server) -> list[User]:
    (server.state / "catalogue.yaml").write_text("kind: workspace\nname: vision\n")
    assert server.muster("apply", "-f", server.state / "catalogue.yaml").returncode == 0
    users = [User(server, "ada"), User(server, "bob")]
    for name in ("ada", "bob"):
        assert server.muster("user", "set", name, "--project", "vision").returncode == 0
    return users


def refused(reply: Reply) -> None:
    assert reply.status == 429, reply.text
    assert int(reply.headers["retry-after"]) >= 1


def use_up(user: User, path: str) -> int:
    """How many are answered before one is refused."""
    for n in range(50 * MINUTE):
        reply = user.call("GET", path)
        if reply.status == 429:
            refused(reply)
            return n
    raise AssertionError(f"{path}: {reply.status} without end")


def dry(name: str) -> str:
    return native(name, suspend=True)


def test_each_user_has_an_allowance(start: Starter) -> None:
    server = start(flags=("--submit-rate", "1", "--list-rate", "1", "--log-rate", "1"))
    ada, bob = User(server, "ada"), User(server, "bob")
    assert use_up(ada, "/v1/jobs") >= 10
    for path in (
        "/v1/events",
        "/rest-server/api/v2/jobs",
        "/apis/elastic.iml.github.io/v1alpha1/namespaces/default/elasticjobs",
    ):  # the same, through whatever interface
        use_up(ada, path)
    assert bob.call("GET", "/v1/jobs").status == 200
    assert ada.call("GET", "/v1/server").status == 200, "what is no list goes on"
    # A batch counts by its lines: the first passes, however long.
    batch = "\n".join(dry(f"b{i}") for i in range(3 * MINUTE))
    kind = {"Content-Type": "application/x-ndjson"}
    ada.call("POST", "/v1/jobs?dry_run=1", batch, **kind).good()
    refused(ada.call("POST", "/v1/jobs?dry_run=1", dry("more")))
    assert bob.call("POST", "/v1/jobs?dry_run=1", dry("his")).status != 429
    for _ in range(2 * MINUTE):  # admins have no limits
        server.api("GET", "/v1/jobs").good()


def test_output_has_an_allowance(start: Starter) -> None:
    server = start(flags=("--log-rate", "1"))
    ada, bob = of_vision(server)
    # one write, so one record: what is written at once is told at once, whatever is left
    number = server.run(native("loud", "seq 1 800", project="vision"))["number"]
    logs = f"/v1/jobs/{number}/logs"
    once = ada.call("GET", logs, Accept="text/plain").good()
    assert once.text.endswith("  800\n"), once.text
    refused(ada.call("GET", logs))
    refused(ada.call("POST", logs))
    assert ada.call("GET", f"/v1/jobs/{number}").status == 200
    bob.call("GET", logs).good()
    server.api("GET", logs).good()


def test_long_lists_count_for_more(start: Starter) -> None:
    """What others wait for is the making of an answer: a thousand rows are not one request."""
    server = start(flags=("--list-rate", "1"))
    (server.state / "catalogue.yaml").write_text("kind: workspace\nname: vision\n")
    assert server.muster("apply", "-f", server.state / "catalogue.yaml").returncode == 0
    ada = User(server, "ada")
    assert server.muster("user", "set", "ada", "--project", "vision").returncode == 0
    jobs = "\n".join(native(f"j{i}", suspend=True, project="vision") for i in range(1000))
    kind = {"Content-Type": "application/x-ndjson"}
    server.api("POST", "/v1/jobs", jobs, headers=kind).good()
    long = ada.call("GET", "/v1/jobs?limit=1000").good()
    assert len(long.json()["jobs"]) == 1000 and len(long.body) > 11 * (32 << 10)
    refused(ada.call("GET", "/v1/jobs?limit=1"))


PLAIN = {"Accept": "text/plain"}


class Stream:
    """Followed output, taken as it comes."""

    def __init__(self, user: User, path: str) -> None:
        self.took = 0
        user.wire.request("GET", path, headers={**user.headers, "Accept": "text/plain"})
        self.reply = user.wire.getresponse()
        assert self.reply.status == 200, self.reply.read()

    def take(self) -> bytes:
        piece = self.reply.read1(1 << 16)
        self.took += len(piece)
        return piece

    def is_ready(self) -> bool:
        return bool(select.select([self.reply], [], [], 0)[0])


def elastic(name: str, run: str, project: str) -> str:
    container = {"name": "main", "command": ["sh", "-c", run]}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    return json.dumps(
        {
            "apiVersion": "elastic.iml.github.io/v1alpha1",
            "kind": "ElasticJob",
            "metadata": {"name": name, "namespace": project},
            "spec": {"replicaSpecs": {"worker": worker}},
        }
    )


def loud(server: Server, pieces: int, form: Callable[..., str] = native) -> tuple[int, str]:
    """A job that has written so many pieces of 3,200 bytes, and what it wrote."""
    run = f"seq -f %031.0f 100 {100 * pieces + 99}"
    number = server.run(form("loud", run, project="vision"))["number"]
    task = "chief" if form is elastic else "worker"
    text = server.api("GET", f"/v1/jobs/{number}/logs?task={task}/0", headers=PLAIN).good().text
    assert text == "".join(f"{i:031d}\n" for i in range(100, 100 * pieces + 100))
    return number, text


def test_a_stream_waits_for_its_users_allowance(start: Starter) -> None:
    """Who has had too much waits, and nobody else does."""
    rate = 1000
    server = start(flags=("--log-rate", str(rate)))
    ada, bob = of_vision(server)
    begun = time.monotonic()
    number, text = loud(server, 1000)
    few, _ = loud(server, 1)
    greedy = Stream(ada, f"/v1/jobs/{number}/logs?task=worker/0&follow=1")
    quick = Stream(bob, f"/v1/jobs/{few}/logs?task=worker/0&follow=1")
    while quick.take():
        pass
    assert quick.took == 3200, "another user waits for nobody"
    assert greedy.take(), "the first comes at once"
    while greedy.is_ready():
        assert greedy.take()
        due = rate * (MINUTE + time.monotonic() - begun) + (128 << 10)
        assert greedy.took <= due, f"{greedy.took} bytes of {len(text)} where {due:.0f} are due"


@pytest.mark.parametrize("how", ["follow", "once", "kubectl"])
def test_a_stream_that_waited_lost_nothing(start: Starter, how: str) -> None:
    rate = 10000
    flags = ("--log-rate", str(rate), "--kubectl-http", "on")
    server = start(flags=flags)
    ada, _ = of_vision(server)
    form = elastic if how == "kubectl" else native
    number, text = loud(server, rate * MINUTE // 3200 + 6, form)
    assert rate * MINUTE < len(text)
    logs = f"/v1/jobs/{number}/logs?task=worker/0"
    path = {
        "follow": f"{logs}&follow=1",
        "once": logs,
        "kubectl": "/api/v1/namespaces/vision/pods/loud-edljob-chief-0/log?follow=true",
    }[how]
    assert b"".join(iter(Stream(ada, path).take, b"")).decode() == text
