"""The HTTP API as programs use it: who may, what is answered, streams, bounds, the page."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import re
import socket
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from conftest import Starter
from harness import (
    ROOT,
    Reply,
    Server,
    browser,
    native,
    openpai,
    patience,
    request,
    role,
    wait_for,
    with_query,
)


def tcp(server: Server) -> http.client.HTTPConnection:
    address = urlsplit(server.info()["address"])
    assert address.hostname == "127.0.0.1"
    return http.client.HTTPConnection(address.hostname, address.port, timeout=30)


def call(server: Server, method: str, path: str, **headers: str) -> Reply:
    connection = tcp(server)
    try:
        return request(connection, method, path, None, headers)
    finally:
        connection.close()


def token(server: Server) -> str:
    return (server.state / "token").read_text().strip()


# ---- who may ----


@pytest.mark.sanitizer
def test_tcp_needs_the_token(server: Server) -> None:
    nobody = call(server, "GET", "/v1/jobs")
    assert nobody.status == 401
    assert nobody.headers["www-authenticate"].startswith("Bearer")
    assert nobody.json()["code"] == "unauthenticated"
    hint = nobody.json()["hint"]
    assert "the file token" in hint and str(server.state) not in hint
    for wrong in (f"Bearer {'0' * 64}", f"Basic {token(server)}", "Bearer", token(server)):
        assert call(server, "GET", "/v1/jobs", Authorization=wrong).status == 401
    good = call(server, "GET", "/v1/jobs", Authorization=f"Bearer {token(server)}")
    assert good.status == 200
    assert call(server, "GET", "/healthz").json() == {"ok": True}


def test_command_line_over_tcp(server: Server, tmp_path: Path) -> None:
    env = {"MUSTER_TOKEN": token(server)}
    address = server.info()["address"]
    done = server.muster("ls", "--json", "--server", address, env=env)
    assert done.returncode == 0, done.stderr
    assert "jobs" in json.loads(done.stdout)
    wrong = server.muster("ls", "--server", address, env={"MUSTER_TOKEN": "0" * 64})
    assert wrong.returncode == 5


# ---- problems ----


def test_problem_documents(server: Server) -> None:
    text = (
        '{\n "jobName": "a b",\n "image": "i", "foo": 1,\n'
        ' "taskRoles": [{"name": "w", "command": "x", "memoryMB": 64}]\n}'
    )
    reply = server.api("POST", "/v1/jobs", text)
    assert reply.status == 400
    assert reply.headers["content-type"].startswith("application/problem+json")
    problem = reply.json()
    assert problem["status"] == 400 and problem["code"] == "invalid"
    errors = {e["path"]: e for e in problem["errors"] if e.get("severity", "error") == "error"}
    assert {"jobName", "taskRoles[0].memoryMB"} <= errors.keys()
    assert errors["jobName"]["line"] == 2 and errors["jobName"]["col"] == 13
    assert all(e["what"] for e in errors.values())
    assert errors["taskRoles[0].memoryMB"]["hint"].startswith("100")


def test_not_found_and_wrong_methods(server: Server) -> None:
    for path in (
        "/v2",
        "/v1/jobs/",
        "/v1/job",
        "/v1/jobs/999999",
        "/v1/jobs/no-such",
        "/v1/nodes/n1",
    ):
        reply = server.api("GET", path)
        assert reply.status == 404, path
        assert reply.json()["code"] == "not_found"
    for method, path, allowed in (
        ("PUT", "/v1/jobs", {"GET", "POST"}),
        ("DELETE", "/v1/server", {"GET"}),
        ("PATCH", "/v1/nodes", {"GET"}),
    ):
        reply = server.api(method, path)
        assert reply.status == 405
        assert allowed <= {word.strip() for word in reply.headers["allow"].split(",")}
        assert reply.json()["code"] == "method_not_allowed"
    assert server.api("GET", "/v1/jobs", query={"state": "asleep"}).status == 400
    assert server.api("GET", "/v1/jobs", query={"limit": "many"}).status == 400
    assert server.api("GET", "/v1/jobs", query={"limit": "0"}).status == 400


@pytest.mark.sanitizer
def test_an_answer_of_many_turns(server: Server) -> None:
    """Its lists are made a page at a time, between other requests."""
    worker = {"run": "true", "replicas": 4000, "resources": {"cpu": 0, "memory": "0"}}
    job = server.submit(
        json.dumps({"name": "many", "roles": {"w": worker}}), None, set="suspend=true"
    )
    answers = [server.connection() for _ in range(3)]
    for one in answers:
        one.request("GET", f"/v1/jobs/{job}?tasks=1&timeline=1")
    for _ in range(20):
        assert server.api("GET", "/healthz").status == 200
        assert server.muster("ls", "--json").returncode == 0
    for one in answers:
        shown = json.loads(one.getresponse().read())
        assert [task["name"] for task in shown["task_list"]] == [f"w/{i}" for i in range(4000)]
        assert shown["timeline"][0]["type"] == "held"
        one.close()


@pytest.mark.sanitizer
def test_bounds(server: Server) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        reply = server.api("POST", "/v1/jobs", b"x" * ((4 << 20) + 1))
        assert reply.status == 413
        assert reply.json()["code"] == "too_large"
    closed_is_fine = contextlib.suppress(OSError, http.client.HTTPException)
    for path in ("/v1/jobs?" + "a" * 100_000, "/" + "b" * 100_000):
        with closed_is_fine:
            assert server.api("GET", path).status >= 400
    with closed_is_fine:
        assert server.api("GET", "/healthz", headers={"X": "y" * 200_000}).status >= 400
    long_key = {"Idempotency-Key": "x" * 300}
    assert server.api("POST", "/v1/jobs", native("k"), headers=long_key).status == 400
    assert server.get("/healthz") == {"ok": True}


UPGRADE = b"Connection: Upgrade\r\nUpgrade: muster/1\r\n\r\n"
GARBAGE = [
    b"",
    b"\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
    b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
    b"GET /v1/jobs/%00 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /v1/jobs/%ff%fe HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://elsewhere/ HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /v1/agents HTTP/1.1\r\nHost: x\r\n" + UPGRADE + bytes(100),
    b"GET /v1/agents HTTP/1.1\r\nHost: x\r\n\r\n",
]


@pytest.mark.sanitizer
@pytest.mark.parametrize("text", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage(server: Server, text: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(1)
        s.connect(str(server.socket))
        s.sendall(text)
        s.shutdown(socket.SHUT_WR)
        try:
            while s.recv(65536):
                pass
        except (TimeoutError, ConnectionResetError):
            pass
    assert server.get("/healthz") == {"ok": True}


def test_keep_alive_head_and_chunked(server: Server) -> None:
    connection = server.connection()
    try:
        for _ in range(3):
            assert request(connection, "GET", "/healthz").status == 200
        head = request(connection, "HEAD", "/v1/jobs")
        assert head.status == 200 and head.body == b""
        assert request(connection, "GET", "/healthz").status == 200, "the connection still works"
        connection.request(
            "POST",
            "/v1/jobs",
            iter([native("chunked")[:10].encode(), native("chunked")[10:].encode()]),
            encode_chunked=True,
            headers={"Transfer-Encoding": "chunked"},
        )
        answer = connection.getresponse()
        assert answer.status == 201, answer.read()
        assert answer.getheader("Location")
        answer.read()
    finally:
        connection.close()


def test_slow_clients_do_not_stop_others(server: Server) -> None:
    slow = []
    for _ in range(50):
        s = socket.socket(socket.AF_UNIX)
        s.connect(str(server.socket))
        s.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Le")
        slow.append(s)
    try:
        assert server.run(native("beside"))["state"] == "succeeded"
    finally:
        for s in slow:
            s.close()


def test_reader_that_does_not_read(server: Server) -> None:
    """A follower that stops reading holds up neither the job nor the server's memory."""
    number = server.submit(native("flood", "seq 1 2000000", limits={"run_time": "1h"}))
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(server.socket))
        s.sendall(f"GET /v1/jobs/{number}/logs?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert server.wait(number)["state"] == "succeeded"
        status = Path(f"/proc/{server.pid}/status").read_text()
        resident = int(re.search(r"VmRSS:\s+(\d+)", status)[1])  # type: ignore[index]
        assert resident < 300 << 10 or "asan" in str(server.command()), f"{resident} KiB"
    assert server.get("/healthz")


# ---- lists ----


def test_paging_and_filters(server: Server) -> None:
    made = [server.submit(native(f"page-{i % 2}", suspend=True)) for i in range(7)]
    first = server.get("/v1/jobs", limit=3, state="suspended")
    assert [j["number"] for j in first["jobs"]] == made[:-4:-1], "newest first"
    second = server.get("/v1/jobs", limit=3, state="suspended", before=first["next"])
    assert [j["number"] for j in second["jobs"]] == made[-4:-7:-1]
    named = server.get("/v1/jobs", name="page-1", state="suspended")["jobs"]
    assert [j["number"] for j in named] == [n for n in reversed(made) if (n - made[0]) % 2]
    both = server.get("/v1/jobs", state="suspended,queued", limit=100)["jobs"]
    assert {j["state"] for j in both} <= {"suspended", "queued"}
    assert server.get("/v1/jobs", owner="nobody-at-all")["jobs"] == []
    for queue, found in (("default", named), ("vision", [])):  # others of the server use both
        listed = server.get("/v1/jobs", queue=queue, name="page-1", state="suspended")["jobs"]
        assert listed == found
    dialects = {j["dialect"] for j in server.get("/v1/jobs", limit=100)["jobs"]}
    assert "native" in dialects
    for number in made:
        server.stop(number).good()
        server.wait(number)


def test_dry_run_and_explain_store_nothing(server: Server) -> None:
    before = server.get("/v1/jobs", limit=1)["jobs"]
    would = server.api("POST", "/v1/jobs", native("dry"), query={"dry_run": 1}).good()
    assert would.status == 200
    assert would.json()["dry_run"] and would.json()["places"] == {"worker/0": "n1"}
    explained = server.api("POST", "/v1/explain", native("dry"))
    assert explained.status == 200
    assert server.get("/v1/jobs", limit=1)["jobs"] == before


@pytest.mark.sanitizer
def test_batches(server: Server) -> None:
    lines = [native(f"batch-{i}", suspend=True) for i in range(20)]
    lines[7] = '{"name": "a/b"}'
    headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": "batch-1"}
    body = "\n".join(lines) + "\n"
    reply = server.api("POST", "/v1/jobs", body, headers=headers).good()
    assert reply.headers["content-type"].startswith("application/x-ndjson")
    rows = reply.lines()
    assert len(rows) == 20
    assert rows[7]["code"] == "invalid"
    numbers = [row["number"] for i, row in enumerate(rows) if i != 7]
    assert len(set(numbers)) == 19
    again = server.api("POST", "/v1/jobs", body, headers=headers).good().lines()
    assert [row.get("number") for row in again] == [row.get("number") for row in rows]
    for number in numbers:
        server.stop(number).good()
    for number in numbers:
        server.wait(number)


# ---- streams ----


def test_events_stream_and_resume(server: Server) -> None:
    number = server.submit(native("events", "sleep 0.3"))
    with server.stream(f"/v1/jobs/{number}/events", follow=1) as events:
        rows = list(events)
    assert rows[-1] == {"end": True, "state": "succeeded"}
    rows = rows[:-1]
    types = [row["type"] for row in rows]
    assert types[0] == "submitted" and "task.started" in types
    sequence = [row["seq"] for row in rows]
    assert sequence == sorted(set(sequence))
    assert all(row["text"] and row["at"] for row in rows)
    middle = sequence[len(sequence) // 2]
    with server.stream(f"/v1/jobs/{number}/events", follow=1, after=middle) as events:
        rest = list(events)[:-1]
    assert [row["seq"] for row in rest] == [s for s in sequence if s > middle]
    page = server.get(f"/v1/jobs/{number}/events")
    assert page["last"] == sequence[-1]


def test_server_sent_events(server: Server) -> None:
    number = server.run(native("sse"))["number"]
    reply = server.api(
        "GET",
        f"/v1/jobs/{number}/events",
        query={"follow": 1},
        headers={"Accept": "text/event-stream"},
    )
    assert reply.headers["content-type"].startswith("text/event-stream")
    ids = [int(i) for i in re.findall(r"^id: (\d+)$", reply.text, re.M)]
    data = [json.loads(d) for d in re.findall(r"^data: (.*)$", reply.text, re.M)]
    assert ids == [row["seq"] for row in data if "seq" in row]
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(ids[1])}
    path = f"/v1/jobs/{number}/events"
    later = server.api("GET", path, query={"follow": 1}, headers=headers)
    assert [int(i) for i in re.findall(r"^id: (\d+)$", later.text, re.M)] == ids[2:]


def test_log_stream_resumes_from_its_offset(server: Server) -> None:
    number = server.submit(native("resume", "seq 1 300; sleep 0.2; seq 301 600"))
    seen: list[Any] = []
    stream = server.stream(f"/v1/jobs/{number}/logs", follow=1)
    for row in stream:
        seen.append(row)
        break
    stream.close()
    offset = {"worker/0": {"attempt": seen[-1]["attempt"], "offset": seen[-1]["offset"]}}
    server.wait(number)
    rest = (
        server.api(
            "POST", f"/v1/jobs/{number}/logs", json.dumps({"from": offset}), query={"follow": 1}
        )
        .good()
        .lines()
    )
    assert rest[-1] == {"end": True, "state": "succeeded"}
    text = "".join(row.get("text", "") for row in [*seen, *rest])
    assert text == "".join(f"{i}\n" for i in range(1, 601))


def test_logs_as_plain_text_and_bytes(server: Server) -> None:
    run = r"printf 'ok\n'; printf '\377\376raw\n'"
    number = server.run(native("bytes", run, 2))["number"]
    plain = server.api("GET", f"/v1/jobs/{number}/logs", headers={"Accept": "text/plain"}).good()
    assert plain.headers["content-type"].startswith("text/plain")
    for i in range(2):
        assert f"worker/{i}  ok".encode() in plain.body
    one = server.api(
        "GET",
        f"/v1/jobs/{number}/logs",
        query={"task": "worker/1"},
        headers={"Accept": "text/plain"},
    ).good()
    assert one.body == b"ok\n\xff\xferaw\n"
    records = server.records(number, task="worker/0")
    raw = b"".join(
        base64.b64decode(r["b64"]) if "b64" in r else r["text"].encode() for r in records
    )
    assert raw == b"ok\n\xff\xferaw\n"


def test_attempts_are_followed_in_their_order(server: Server) -> None:
    run = "echo a $MUSTER_ATTEMPT; echo b $MUSTER_ATTEMPT >&2; echo c $MUSTER_ATTEMPT; exit 1"
    for _ in range(5):
        number = server.submit(native("attempts", run, 3, retry={"unknown": 3}))
        told: dict[str, list[int]] = {}
        for record in server.records(number, follow=1):
            told.setdefault(record["task"], []).append(record["attempt"])
        assert len(told) == 3
        assert all(attempts == sorted(attempts) for attempts in told.values())


def test_follow_of_all_events(server: Server) -> None:
    server.run(native("something"))
    last = server.get("/v1/events", after=0, limit=1)
    assert last["events"]
    connection = server.connection()
    connection.request("GET", with_query("/v1/events", {"follow": 1, "after": 1 << 40}))
    connection.close()
    assert server.get("/healthz")


# ---- what the server says of itself ----


def test_openapi_lists_routes_that_answer(server: Server) -> None:
    document = server.get("/v1/openapi.json")
    assert document["openapi"].startswith("3.")
    assert document["info"]["title"] and document["info"]["version"]
    schemas = document["components"]["schemas"]
    refs = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert refs <= schemas.keys()
    number = server.run(native("openapi"))["number"]
    held = server.submit((ROOT / "tests/golden/elasticjob/suspended.yaml").read_text())
    pod = "elasticjob-torch-mnist-dlrover-master-0"
    skip = ["/v1/server/stop", "/v1/agents", "/exec", "/login", "/board", "/archives"]
    skip += ["{user}", "{key}", "{token}", "{pilot}"]  # none is there; test_identity.py
    checked = 0
    for path, methods in document["paths"].items():
        for method in methods:
            if any(word in path for word in skip):
                continue
            real = path.replace("{job}", str(number)).replace("{node}", "n4")
            real = real.replace("{pod}", pod).replace("{kind}", "quotas")
            real = real.replace("{queue}", "default")
            if method == "delete":
                continue
            body = native("openapi2") if method == "post" and real == "/v1/jobs" else ""
            reply = server.api(method.upper(), real, body)
            assert reply.status not in (404, 405, 500, 501), f"{method} {real}: {reply.text}"
            checked += 1
    assert checked >= 20
    server.stop(held)
    assert server.api("DELETE", f"/v1/jobs/{number}").status in (200, 202)
    server.wait("openapi2")


def test_metrics(server: Server) -> None:
    reply = server.api("GET", "/metrics").good()
    assert reply.headers["content-type"].startswith("text/plain")
    sample = re.compile(
        r'^[a-z_:][a-z0-9_:]*(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [-+0-9.eE]+$'
    )
    typed = set()
    for line in reply.text.splitlines():
        if line.startswith("# TYPE"):
            typed.add(line.split()[2])
        elif line and not line.startswith("#"):
            assert sample.match(line), line
            name = re.split(r"[ {]", line)[0]
            assert {name, re.sub(r"_(bucket|sum|count)$", "", name)} & typed, line
    assert any(name.startswith("muster_") for name in typed)


def test_nodes_and_use(server: Server) -> None:
    text = openpai("used", role("a", "sleep 600", 1, cpuNumber=2, gpuNumber=1, memoryMB=1024))
    number = server.submit(text)
    server.wait(number, "running")
    nodes = server.get("/v1/nodes")["nodes"]
    assert all(node["declared"] for node in nodes)
    assert len({node["address"] for node in nodes}) == 4
    assert len({node["host"] for node in nodes}) == 1
    used = [n for n in nodes if n["tasks"]]
    assert used and used[0]["cpu_used_milli"] >= 2000 and used[0]["gpu_used_milli"] >= 1000
    assert used[0]["memory_used"] >= 1 << 30
    server.stop(number, now=True)
    server.wait(number)


def test_login_link_is_for_once(server: Server) -> None:
    url = server.api("POST", "/v1/login-link").good().json()["url"]
    parts = urlsplit(url)
    first = call(server, "GET", f"{parts.path}?{parts.query}")
    assert first.status == 303
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=" in cookie
    name = cookie.split(";")[0]
    page = {"X-Muster-Page": first.headers["location"].partition("#page=")[2]}
    assert call(server, "GET", "/v1/jobs", Cookie=name, **page).status == 200
    second = call(server, "GET", f"{parts.path}?{parts.query}")
    assert second.status in (401, 403, 404)
    assert (
        call(server, "GET", "/v1/jobs", Cookie=name.split("=")[0] + "=wrong", **page).status == 401
    )


def test_page(server: Server) -> None:
    page = server.api("GET", "/").good()
    assert page.headers["content-type"].startswith("text/html")
    assert "<script" in page.text
    assert "http://" not in re.sub(r"http://www\.w3\.org\S*", "", page.text), "all of it is here"


def test_page_in_a_browser(server: Server) -> None:
    program = browser()
    if not program:
        pytest.skip("no chromium on this machine: tools/setup lint installs it")
    server.run(native("seen-in-the-browser"))
    url = server.api("POST", "/v1/login-link").good().json()["url"]
    done = subprocess.run(
        [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=5000",
            "--dump-dom",
            url,
        ],
        capture_output=True,
        text=True,
        timeout=patience(),
        check=False,
    )
    assert "seen-in-the-browser" in done.stdout


def test_many_connections(start: Starter) -> None:
    server = start(nodes="4cpu,8Gi", flags=("--max-connections", "64"))
    where = server.info()["address"].removeprefix("http://")
    held = []
    try:
        for _ in range(60):
            connection = http.client.HTTPConnection(where)
            connection.connect()
            held.append(connection)
        assert request(held[0], "GET", "/healthz").status == 200
        for _ in range(10):
            connection = http.client.HTTPConnection(where)
            connection.connect()
            held.append(connection)
        statuses = []
        for connection in held:
            connection.auto_open = False  # one that was closed is not made anew
            try:
                statuses.append(request(connection, "GET", "/healthz").status)
            except (OSError, http.client.HTTPException):
                statuses.append(0)  # silent for too long: it made room for another
        assert set(statuses) <= {0, 200, 503} and statuses.count(200) <= 64, statuses
    finally:
        for connection in held:
            connection.close()
    wait_for(lambda: server.get("/healthz"))
    assert server.run(native("after"))["state"] == "succeeded"
