"""Jobs that run, by the newest of the vendor's packages: signals, the dashboard of a Ray job, a
terminal in a pod; and what of it is native."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import closed
from harness import FINAL, Json, Server, native, wait_for
from test_dlc_client import ask, code, endpoint, key, session, signed
from websocket import Refused, WebSocket

SESSION = Path(__file__).parent / "clients/dlc_live.py"
RAY = """#!/bin/sh
for word; do case $word in --dashboard-port=*) port=${word#*=};; esac; done
case "$*" in *--block*) exec sleep 100;; esac
cd "$(mktemp -d)" && echo the page of ray >index.html
python3 -m http.server "$port" >/dev/null 2>&1 &
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server()
    try:
        one.start()
        one.api("POST", "/v1/users", json.dumps({"name": "bob", "role": "user"})).good()
        yield one
    finally:
        closed(one)


def test_by_the_newest_package(server: Server, tmp_path: Path) -> None:
    fake = tmp_path / "ray"
    fake.write_text(RAY)
    fake.chmod(0o755)
    said = session(server, "newest", str(tmp_path), program=SESSION)
    results = {line["name"]: line["result"] for line in said}
    bodies = {line["name"]: line.get("body", {}) for line in said}
    assert {name: result for name, result in results.items() if name.endswith("!")} == {
        "KILL!": "InvalidParameter",
        "SCOPE!": "InvalidParameter",
        "ROLES!": "MissingParameter",
        "ROLE!": "NotFound",
        "POD!": "NotFound",
        "CreateSignal!": "NotFound",
        "GetSignal!": "NotFound",
        "ListSignals!": "InvalidParameter",
        "GetDashboard!": "BadRequest",
        "GetWebTerminal!": "NotFound",
        "ENDED!": "BadRequest",
        "TERMINAL!": "BadRequest",
        "GetRayDashboard!": "BadRequest",
        "RUNNING!": "BadRequest",
        "GetRayHistoryServer!": "NotFound",
    }
    assert ">ray</a>" in bodies["files"]
    assert [one["DisplayName"] for one in bodies["listed"]["RayHistoryServers"]] == ["old"]
    assert {result for name, result in results.items() if not name.endswith("!")} == {"ok"}
    heard = bodies["heard"]
    assert (heard["Status"], heard["Reason"], heard["Signal"]) == (
        "Succeeded",
        "Completed",
        "SIGUSR1",
    )
    assert (heard["Scope"], heard["Roles"]) == ("roles", ["Worker"])
    assert heard["Message"] == "1 of 1 pods, 1 processes"
    assert bodies["alone"] == ["ready"]
    assert bodies["GetSignal"]["Message"] == "2 of 2 pods, 2 processes"
    deaf = bodies["deaf"]
    assert (
        deaf["Reason"] == "SignalFailed"
        and "worker-0: no process of it catches SIGUSR2" in (deaf["Message"])
    )
    assert [one["SignalId"] for one in bodies["failed"]["Signals"]] == [deaf["SignalId"]]
    page = bodies["ListSignals"]
    assert page["TotalCount"] == 4 and page["PageNumber"] == 2 and len(page["Signals"]) == 1
    for name in ("GetRayDashboard", "GetDashboard"):
        assert bodies[name]["url"].startswith("http://")
    assert bodies["GetWebTerminal"]["WebTerminalUrl"].startswith(f"ws://{endpoint(server)}/api/v1/")


def test_the_dashboard_is_there(server: Server) -> None:
    """Of any job with such a port; the address answers."""
    page = "echo hello >index.html; exec python3 -m http.server $MUSTER_PORT_DASHBOARD"
    text: Json = {
        "name": "web",
        "roles": {
            "head": {
                "run": page,
                "ports": {"dashboard": 1},
                "resources": {"cpu": 1, "memory": "64Mi"},
            }
        },
    }
    job = server.api("POST", "/v1/jobs", json.dumps(text)).good().json()
    path = f"/api/v1/jobs/dlc{job['id']}/rayDashboard"
    made = key(server)
    answer: Json = wait_for(
        lambda: got[1] if (got := ask(server, made, "GET", path))[0] == 200 else None,
        what="the address",
    )
    assert answer["metricsEnabled"] == "false"

    def there() -> str:
        try:
            with urllib.request.urlopen(answer["url"], timeout=5) as page:
                return str(page.read().decode())
        except OSError:
            return ""

    assert wait_for(there, what="the page") == "hello\n"
    bob = key(server, "bob")
    assert code(ask(server, bob, "GET", path)) == (404, "NotFound")
    server.api("POST", f"/v1/jobs/{job['number']}/stop").good()


def test_signals_natively(server: Server) -> None:
    trap = 'trap "echo saved" USR1; echo ready; while :; do sleep 100 & wait $!; done'
    job = server.api("POST", "/v1/jobs", native("trap", trap, 2)).good().json()
    number = job["number"]

    def log() -> str:
        return str(server.api("GET", f"/v1/jobs/{number}/logs").good().text)

    wait_for(lambda: log().count("ready") == 2, what="ready")
    done = server.muster("signal", number, "USR1", "worker/1")
    assert done.stdout == f"{number}  SIGUSR1: 1 of 1 task, 1 process\n", done
    wait_for(lambda: "saved" in log(), what="saved")
    done = server.muster("signal", number, "USR2")
    assert done.returncode == 1 and "worker/0: no process of it catches SIGUSR2" in done.stdout
    for bad, status in (("signal=KILL", 400), ("signal=USR1&task=worker/9", 404), ("", 400)):
        assert server.api("POST", f"/v1/jobs/{number}/signal?{bad}").status == status
    said = server.api("POST", f"/v1/jobs/{number}/signal?signal=TERM&task=worker").good().json()
    assert said["state"] in ("completed", "failed") and said["heard"] >= 1
    server.api("POST", f"/v1/jobs/{number}/stop?now=1")  # unless it has ended of the signal
    wait_for(lambda: server.get(f"/v1/jobs/{number}")["state"] in FINAL, what="the end")
    assert server.api("POST", f"/v1/jobs/{number}/signal?signal=TERM").status == 409
    made = key(server)
    listed = ask(server, made, "GET", f"/api/v1/jobs/dlc{job['id']}/signals")[1]
    assert listed["TotalCount"] == 3 and listed["Signals"][0]["Signal"] == "SIGTERM"


# ---- terminals ----


@pytest.fixture
def pod(server: Server) -> Iterator[tuple[Json, str]]:
    """A key and the path of a pod that runs."""
    made = key(server)
    job = server.api("POST", "/v1/jobs", native("room", "sleep 100", 1)).good().json()
    path = f"/v1/jobs/{job['number']}"
    wait_for(lambda: server.get(path)["state"] == "running", what="running")
    yield made, f"/api/v1/jobs/dlc{job['id']}/pods/dlc{job['id']}-worker-0/webterminal"
    server.api("POST", f"{path}/stop?now=1").good()


def terminal_url(server: Server, pod: tuple[Json, str]) -> str:
    status, said = ask(server, pod[0], "GET", pod[1])
    assert status == 200, said
    return str(said["WebTerminalUrl"])


@pytest.fixture(params=["ws", "wss"])
def terminal(server: Server, pod: tuple[Json, str], request: pytest.FixtureRequest) -> WebSocket:
    """Over plain HTTP, and over TLS as one is told who asks over TLS."""
    if request.param == "ws":
        return WebSocket(terminal_url(server, pod))
    context = ssl.create_default_context(cadata=server.get("/v1/certificate")["authority"])
    wire = http.client.HTTPSConnection(endpoint(server), context=context, timeout=30)
    with contextlib.closing(wire):
        wire.request("GET", pod[1], None, signed(pod[0], "GET", pod[1]))
        url = json.load(wire.getresponse())["WebTerminalUrl"]
    return WebSocket(url, context=context)


def read_until(terminal: WebSocket, mark: str) -> str:
    text = ""
    while mark not in text[-10000:]:
        kind, data = terminal.receive()
        assert kind == 1, (kind, data)
        said = json.loads(data)
        assert said["operation"] == "stdout"
        text += said["data"]
    return text


def typed(terminal: WebSocket, text: str) -> None:
    terminal.send(json.dumps({"operation": "stdin", "data": text}))


def test_a_terminal(terminal: WebSocket) -> None:
    typed(terminal, "\r")
    typed(terminal, "PS1=; stty -echo; printf '%s%s\\n' RE ADY\r")
    read_until(terminal, "READY")
    terminal.send(json.dumps({"operation": "resize", "rows": 33, "cols": 121}))
    typed(terminal, "stty size; printf '中 \\377 e\\xcc\\x81'; sleep 0.05; echo; echo END\r")
    said = read_until(terminal, "END")
    assert "33 121" in said and "中 � e\u0301" in said
    terminal.frame(9, b"there?")
    while (got := terminal.receive())[0] != 10:
        pass
    assert got[1] == b"there?"
    half = json.dumps({"operation": "stdin", "data": "echo IN''PIECES\r"}).encode()
    terminal.frame(1, half[:9], final=False)
    terminal.frame(0, half[9:])
    read_until(terminal, "INPIECES")
    typed(terminal, "exit 3\r")
    while (got := terminal.receive())[0] != 8:
        pass
    assert got[1] == b"\x03\xe8"
    with pytest.raises(EOFError):
        terminal.receive()


def test_much_through_a_terminal(terminal: WebSocket) -> None:
    """More than any buffer on the way, read by somebody slow."""
    typed(terminal, "stty -echo -onlcr; seq 1 300000; echo E''ND\r")
    time.sleep(0.3)
    said = read_until(terminal, "\nEND")
    assert said.index("\n300000\nEND") - said.index("2\n3\n") > 1900000
    terminal.close()


def test_whom_no_terminal_is_for(server: Server, pod: tuple[Json, str]) -> None:
    bob = key(server, "bob")
    assert code(ask(server, bob, "GET", pod[1])) == (404, "NotFound")
    url = terminal_url(server, pod)
    WebSocket(url).close()
    changed = url[:-8] + ("A" if url[-8] != "A" else "B") + url[-7:]
    for bad in (
        url,
        changed,
        url.rpartition("/")[0] + "/",
        url.rpartition("/")[0] + "/" + "x" * 6000,
    ):
        with pytest.raises(Refused) as refused:
            WebSocket(bad)
        assert refused.value.args[0].split()[1] == "403"
        assert json.loads(refused.value.args[1])["Code"] == "Forbidden.RAM"


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (b"\x81\x05Hello", 1002),  # not masked
        (b"\xc1\x80\0\0\0\0", 1002),
        (b"\x82\x81\0\0\0\0x", 1007),
        (b"\x81\x81\0\0\0\0{", 1007),
        (b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 1009),
    ],
)
def test_frames_that_are_none(
    server: Server, pod: tuple[Json, str], frame: bytes, expected: int
) -> None:
    terminal = WebSocket(terminal_url(server, pod))
    terminal.socket.sendall(frame)
    while (got := terminal.receive())[0] != 8:
        pass
    assert int.from_bytes(got[1], "big") == expected
    assert ask(server, pod[0], "GET", pod[1])[0] == 200


def test_the_shell_ends_with_its_terminal(terminal: WebSocket) -> None:
    typed(terminal, "stty -echo; echo PID'='$$'!'\r")
    said = read_until(terminal, "!\r\n")
    pid = int(said[said.index("PID=") + 4 : said.index("!\r\n")])
    terminal.close()
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), what="the end of the shell")
