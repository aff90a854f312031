"""Users, keys and tokens over the command line and HTTP; one port for HTTP and HTTPS; what points
other systems' clients to a server."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import ssl
import stat
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from conftest import Starter
from harness import Nobody, Reply, Server, muster, native, request


@pytest.fixture
def server(start: Starter) -> Server:
    """Of each test its own: what it says of users is true of no other."""
    return start()


def said(server: Server, *args: str | Path, **env: str) -> str:
    done = server.muster(*args, env=env or None)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def call(
    server: Server, token: str | None, method: str, path: str, body: str | None = None
) -> Reply:
    address = urlsplit(server.info()["address"])
    assert address.hostname is not None
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    headers = {"Authorization": f"bearer {token}"} if token else {}
    try:
        return request(connection, method, path, body, headers)
    finally:
        connection.close()


def token_of(server: Server, name: str, *options: str) -> str:
    return said(server, "token", "create", "--user", name, "-q", *options)


def names(reply: Reply) -> list[str]:
    return [job["name"] for job in reply.good().json()["jobs"]]


def submit(server: Server, token: str, name: str, project: str) -> Reply:
    return call(server, token, "POST", "/v1/jobs", native(name, "sleep 600", project=project))


@pytest.mark.sanitizer
def test_roles_over_http(server: Server, tmp_path: Path) -> None:
    declared = tmp_path / "vision.yaml"
    declared.write_text("kind: workspace\nname: vision\n")
    said(server, "apply", "-f", declared)
    for user in (["alice"], ["bob", "--project", "vision"], ["eve"], ["ada", "--role", "admin"]):
        said(server, "user", "add", *user)
    said(server, "user", "add", "rita", "--role", "reader", "--project", "vision")
    token = {name: token_of(server, name) for name in ("alice", "bob", "eve", "ada", "rita")}
    number = submit(server, token["alice"], "hers", "vision").good().json()["number"]
    job = f"/v1/jobs/{number}"
    for name, status in (("alice", 200), ("bob", 200), ("rita", 200), ("ada", 200), ("eve", 404)):
        for path in (job, f"{job}/tasks", f"{job}/events", f"{job}/logs", f"{job}/explain"):
            assert call(server, token[name], "GET", path).status == status, (name, path)
        assert names(call(server, token[name], "GET", "/v1/jobs")) == ["hers"] * (status == 200)
        seen = call(server, token[name], "GET", "/v1/events").good().json()["events"]
        assert any(e.get("number") == number for e in seen) == (status == 200)
        assert any(e["type"] == "token.created" for e in seen) == (name == "ada")
    for name, status in (("eve", 404), ("bob", 403), ("rita", 403)):
        assert call(server, token[name], "POST", f"{job}/stop").status == status
    assert submit(server, token["rita"], "not", "vision").status == 403
    for name in ("alice", "rita"):  # what is the server's is for admins
        assert call(server, token[name], "POST", "/v1/server/stop").status == 403
        assert call(server, token[name], "POST", "/v1/nodes/x/drain").status == 403
    assert call(server, token["ada"], "POST", f"{job}/stop?now=1").status == 202
    # A user's own: keys and tokens, nobody else's; a new role counts at once.
    assert call(server, token["eve"], "POST", "/v1/keys", '{"owner": "alice"}').status == 403
    assert call(server, token["eve"], "POST", "/v1/keys", "{}").status == 201
    assert call(server, token["eve"], "POST", "/v1/users", '{"name": "x"}').status == 403
    assert call(server, token["eve"], "PATCH", "/v1/users/eve", '{"role": "admin"}').status == 403
    assert call(server, token["eve"], "GET", "/v1/keys").json()["keys"][0]["owner"] == "eve"
    assert call(server, token["alice"], "GET", "/v1/keys").json()["keys"] == []
    assert call(server, token["ada"], "PATCH", "/v1/users/ada", '{"rol": "x"}').status == 400
    said(server, "user", "set", "eve", "--role", "admin")
    assert names(call(server, token["eve"], "GET", "/v1/jobs")) == ["hers"]
    said(server, "user", "rm", "eve")
    assert call(server, token["eve"], "GET", "/v1/jobs").status == 401


def browse(server: Server, path: str, **headers: str) -> Reply:
    """As a browser, over TCP: the socket would say who it is by itself."""
    address = urlsplit(server.info()["address"])
    assert address.hostname is not None
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    try:
        return request(connection, "GET", path, None, headers)
    finally:
        connection.close()


def opened(server: Server, url: str) -> dict[str, str]:
    """What the page of a browser that followed the link sends."""
    parts = urlsplit(url)
    reply = browse(server, f"{parts.path}?{parts.query}")
    assert reply.status == 303, reply.text
    cookie = reply.headers["set-cookie"].split(";")[0]
    return {"Cookie": cookie, "X-Muster-Page": reply.headers["location"].partition("#page=")[2]}


def test_page_is_everybodys_own(server: Server) -> None:
    """Each opens the page with their token and sees their jobs; nobody ends another's page."""
    address = server.info()["address"]
    for user in ("alice", "bob", "rita"):
        role = ["--role", "reader"] if user == "rita" else []
        said(server, "user", "add", user, *role)
    token = {user: token_of(server, user) for user in ("alice", "bob", "rita")}
    for user in ("alice", "bob"):
        job = native(f"of-{user}", "true", project=user)
        assert call(server, token[user], "POST", "/v1/jobs", job).status == 201
    pages = {"root": opened(server, said(server, "open", "-q"))}
    for user in token:
        url = said(server, "open", "--server", address, "-q", MUSTER_TOKEN=token[user])
        assert url.startswith(f"{address}/login?key=")
        pages[user] = opened(server, url)
        parts = urlsplit(url)
        assert browse(server, f"{parts.path}?{parts.query}").status == 403, "it works once"
    seen = {"alice": ["of-alice"], "bob": ["of-bob"], "rita": [], "root": ["of-alice", "of-bob"]}
    for user, jobs in seen.items():
        assert sorted(names(browse(server, "/v1/jobs", **pages[user]))) == jobs, user
        other = browse(server, "/v1/jobs", Host="evil.example", **pages[user])
        assert other.status == 401, "a cookie is good where its link was opened"
    for _ in range(9):  # many links of one end only their own pages
        said(server, "open", "--server", address, "-q", MUSTER_TOKEN=token["bob"])
    assert browse(server, "/v1/jobs", **pages["bob"]).status == 401
    assert browse(server, "/v1/jobs", **pages["alice"]).status == 200
    tokens = json.loads(said(server, "token", "ls", "--json"))["tokens"]
    (of_alice,) = [row["id"] for row in tokens if row["owner"] == "alice"]
    said(server, "token", "rm", of_alice)  # and its page with it
    assert browse(server, "/v1/jobs", **pages["alice"]).status == 401


def test_socket_of_another_is_said_to_be_theirs(short_path: Path, server: Server) -> None:
    """A server that is there and may not be used is no missing server: exit 5, and what to do."""
    nobody = Nobody(short_path)
    if nobody.why_not:
        pytest.skip(nobody.why_not)
    server.state.chmod(0o700)
    for verb in (
        ["ls"],
        ["open"],
        ["run", "--", "true"],
        ["server", "status"],
        ["server", "start"],
    ):
        done = nobody.muster(verb[0], "--state-dir", server.state, *verb[1:])
        assert done.returncode == 5, (verb, done.stdout, done.stderr)
        assert "you may not use its socket" in done.stderr
        assert "MUSTER_TOKEN" in done.stderr


def test_tokens_outlive_a_killed_server(server: Server) -> None:
    said(server, "user", "add", "alice")
    token = token_of(server, "alice", "--expires", "30d")
    key = json.loads(said(server, "key", "create", "--user", "alice", "--json"))
    assert re.fullmatch(r"LTAI[A-Za-z0-9]{20}", key["id"]) and len(key["secret"]) == 30
    server.kill()
    server.start()
    assert call(server, token, "GET", "/v1/users/alice").good().json()["role"] == "user"
    listed = json.loads(said(server, "key", "ls", "--json"))["keys"]
    assert [k["id"] for k in listed] == [key["id"]] and "secret" not in listed[0]
    for file in ("muster.db", "muster.db-wal"):
        path = server.state / file
        kept = path.read_bytes() if path.exists() else b""
        assert token.encode() not in kept and key["secret"].encode() not in kept
    said(server, "key", "disable", key["id"])
    assert "disabled" in said(server, "key", "ls")
    identity = json.loads(said(server, "token", "ls", "--json"))["tokens"][0]["id"]
    said(server, "token", "rm", identity)
    assert call(server, token, "GET", "/v1/jobs").status == 401
    assert server.muster("token", "rm", identity).returncode == 2


def test_https_on_the_same_port(server: Server, tmp_path: Path) -> None:
    assert not (server.state / "tls.pem").exists()
    config = said(server, "client-config", "kubectl", "--namespace", "dlrover")
    assert "current-context: muster" in config and "namespace: dlrover" in config
    found = {k: v.strip('"') for k, v in re.findall(r"([a-z-]+): (\S+)", config)}
    authority = base64.b64decode(found["certificate-authority-data"]).decode()
    address = urlsplit(found["server"])
    assert address.scheme == "https" and address.hostname is not None
    context = ssl.create_default_context(cadata=authority)
    for host in (address.hostname, "localhost"):
        connection = http.client.HTTPSConnection(host, address.port, context=context, timeout=30)
        headers = {"Authorization": f"Bearer {found['token']}"}
        assert request(connection, "GET", "/v1/jobs", None, headers).good().json() == {"jobs": []}
        connection.close()
    assert call(server, None, "GET", "/healthz").json() == {"ok": True}  # plain goes on
    for name in ("tls.key", "tls-ca.key", "seal_key.path"):
        assert stat.S_IMODE((server.state / name).stat().st_mode) == 0o600
    server.kill()
    server.start()
    connection = http.client.HTTPSConnection(
        address.hostname, urlsplit(server.info()["address"]).port, context=context, timeout=30
    )
    assert request(connection, "GET", "/healthz", None, {}).status == 200  # the same authority
    connection.close()


def test_exec_over_https(server: Server) -> None:
    """A command's input and output, more than any buffer on the way holds; its end."""
    number = server.submit(native("room", "exec sleep 600"))
    server.wait(number, "running")
    assert "BEGIN CERTIFICATE" in server.get("/v1/certificate")["authority"]
    env = {
        "MUSTER_SERVER": server.info()["address"].replace("http:", "https:"),
        "MUSTER_TOKEN": (server.state / "token").read_text().strip(),
        "SSL_CERT_FILE": str(server.state / "tls-ca.pem"),
    }

    def call(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return muster("exec", number, "worker/0", "--", *args, env=env, stdin=stdin)

    assert call("sh", "-c", "echo here; exit 7").returncode == 7
    much = "".join(f"{n}\n" for n in range(300_000))
    done = call("cat", stdin=much)
    assert done.returncode == 0 and done.stdout == much
    env.pop("SSL_CERT_FILE")
    assert "certificate" in call("true").stderr.lower()


def test_client_configurations(server: Server, tmp_path: Path) -> None:
    text = said(server, "client-config", "dlc")
    run = subprocess.run(
        ["sh", "-c", f"{text}\necho $ALIBABA_CLOUD_ACCESS_KEY_ID"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() in said(server, "key", "ls")
    assert f"endpoint='{urlsplit(server.info()['address']).netloc}'" in text
    clusters = tmp_path / ".openpai/clusters.json"
    clusters.parent.mkdir()
    old = [{"cluster": {"alias": "other", "token": "t"}}, {"cluster": {"alias": "muster"}}]
    clusters.write_text(json.dumps(old))
    said(server, "client-config", "openpai", "--write", HOME=str(tmp_path))
    entries: list[dict[str, Any]] = [e["cluster"] for e in json.loads(clusters.read_text())]
    assert [e["alias"] for e in entries] == ["other", "muster"]
    assert call(server, entries[1]["token"], "GET", "/v1/jobs").status == 200
    assert stat.S_IMODE(clusters.stat().st_mode) == 0o600
    clusters.write_text("{ broken")
    refused = server.muster("client-config", "openpai", "--write", env={"HOME": str(tmp_path)})
    assert refused.returncode == 2 and clusters.read_text() == "{ broken"


def test_passwords_and_mistakes(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("open sesame\n")
    said(server, "user", "add", "alice", "--password-file", file)
    assert json.loads(said(server, "user", "ls", "--json"))["users"][0]["has_password"] is True
    for args in (
        ("user", "add", "alice"),
        ("user", "add", "a b"),
        ("user", "add", "bob", "--role", "king"),
        ("user", "set", "nobody"),
        ("user", "frobnicate"),
        ("key", "rm", "LTAInone"),
        ("client-config", "slurm"),
    ):
        done = server.muster(*args)
        assert done.returncode == 2 and done.stderr.startswith("error: "), args


# Sends a login and does not wait for what comes of it.
SENDER = """
import socket, sys
port, text = int(sys.argv[1]), sys.argv[2].encode()
for _ in range(12):
    with socket.create_connection(("127.0.0.1", port)) as one:
        one.sendall(text)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="wants processes of two users")
def test_who_closes_at_once_locks_nobody_out(server: Server, tmp_path: Path) -> None:
    """The kernel calls sockets that were closed root's; wrong passwords are counted by user."""
    file = tmp_path / "password"
    file.write_text("open sesame\n")
    said(server, "user", "add", "alice", "--password-file", file)
    port = int(str(server.info()["address"]).rpartition(":")[2])
    wrong = json.dumps({"username": "alice", "password": "open barley"})
    head = f"POST /api/v2/authn/basic/login HTTP/1.1\r\nHost: x\r\nContent-Length: {len(wrong)}\r\n"
    subprocess.run(
        ["/usr/bin/python3", "-c", SENDER, str(port), f"{head}\r\n{wrong}"], user=65534, check=True
    )
    right = json.dumps({"username": "alice", "password": "open sesame"})
    reply = call(server, "", "POST", "/api/v2/authn/basic/login", right)
    assert reply.status == 200, reply.text
