"""OpenPAI's REST interface by its clients: the npm package (both of its libraries and its command
line) as it is published, the requests of the VS Code extension, of NNI and of opai as recorded, and
what should be refused.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest
from conftest import closed
from harness import ROOT, Reply, Server, native, node, openpai, patience, request, role, wait_for

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
YAML = "text/yaml"
MODULES = Path(os.environ.get("MUSTER_NODE_MODULES") or ROOT / "build/clients/npm/node_modules")
SDK = MODULES / "@microsoft/openpai-js-sdk"
NODE = node()
npm = pytest.mark.skipif(
    NODE is None or not SDK.is_dir(),
    reason=f"no node, or no npm package in {MODULES} (tools/setup clients)",
)


def protocol(name: str, *commands: str, **fields: Any) -> dict[str, Any]:
    """A job of version 2, as an object."""
    return {
        "protocolVersion": 2,
        "name": name,
        "type": "job",
        "prerequisites": [{"name": "img", "type": "dockerimage", "uri": "debian:12"}],
        "taskRoles": {
            "worker": {
                "instances": 1,
                "dockerImage": "img",
                "resourcePerInstance": {"cpu": 1, "memoryMB": 128, "gpu": 0},
                "commands": list(commands) or ["true"],
            }
        },
        **fields,
    }


class Pai:
    """A server with three users: the one it runs as (an admin), ada with a password, and bob."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.address = urlsplit(server.info()["address"])
        self.root = (server.state / "token").read_text().strip()
        self.me = self.call("GET", "/api/v2/tokens/check").json()["username"]
        for name in ("ada", "bob"):
            body = {"username": name, "password": f"{name}-secret", "email": f"{name}@example.org"}
            assert self.call("POST", "/api/v2/users", body).status == 201
        self.ada = self.login("ada")
        self.bob = self.login("bob")

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        kind: str = JSON,
        token: str | None = "",
        base: str = "/rest-server",
        **headers: str,
    ) -> Reply:
        """token: "" the server's own, None none."""
        who = self.root if token == "" else token
        if who:
            headers["Authorization"] = f"Bearer {who}"
        if body is not None:
            headers["Content-Type"] = kind
        text = json.dumps(body) if isinstance(body, dict | list) and kind != FORM else body
        text = urlencode(body) if isinstance(body, dict) and kind == FORM else text
        connection = http.client.HTTPConnection(str(self.address.hostname), self.address.port)
        try:
            return request(connection, method, base + path, text, headers)
        finally:
            connection.close()

    def login(self, name: str, path: str = "/api/v1/token", **more: Any) -> str:
        body = {"username": name, "password": f"{name}-secret", **more}
        return str(self.call("POST", path, body, token=None).good().json()["token"])

    def submit(self, name: str, *commands: str, token: str = "", **fields: Any) -> None:
        body = json.dumps(protocol(name, *commands, **fields))
        reply = self.call("POST", "/api/v2/jobs", body, YAML, token)
        assert reply.status == 202, reply.text

    def until(self, job: str, *states: str, token: str = "") -> Any:
        def reached() -> Any:
            found = self.call("GET", f"/api/v2/jobs/{job}", token=token).good().json()
            return found if found["jobStatus"]["state"] in states else None

        return wait_for(reached, what=f"{job} to be {states}")

    def sdk(self, user: str, *calls: tuple[str, str, list[Any]]) -> list[dict[str, Any]]:
        """What the package says to each call."""
        cluster = {
            "rest_server_uri": f"{self.address.netloc}/rest-server",
            "username": user,
            "password": f"{user}-secret",
            "https": False,
        }
        done = subprocess.run(
            [str(NODE), str(ROOT / "tests/clients/openpai.js")],
            input=json.dumps({"cluster": cluster, "calls": calls}),
            env={**os.environ, "NODE_PATH": str(MODULES)},
            capture_output=True,
            text=True,
            timeout=patience(60),
            check=True,
        )
        answers: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
        return answers


def made(*flags: str) -> Iterator[Pai]:
    server = Server(flags=("--queues", "default,vision", "--python", "none", *flags))
    try:
        server.start()
        yield Pai(server)
    finally:
        closed(server)


@pytest.fixture(scope="module")
def pai() -> Iterator[Pai]:
    yield from made()


@pytest.fixture(scope="module")
def open_pai() -> Iterator[Pai]:
    """Where everybody reads everything."""
    yield from made("--openpai-open-reads", "on")


def refused(reply: Reply, status: int, code: str, message: str | None = None) -> None:
    said = reply.json()
    assert (reply.status, said["code"]) == (status, code), reply.text
    assert message is None or said["message"] == message, reply.text


# ---- the npm package ----


@npm
def test_sdk_v2(pai: Pai) -> None:
    """Every method of version 2, once good and once bad."""
    data = "kind: dataset\nname: digits\nuri: nfs://nas/share/digits\n"
    pai.server.api("POST", "/v1/catalogue", data).good()
    rows: list[tuple[str, list[Any], str | None]] = [
        ("api.getClusterInfo", [], None),
        ("job.createJob", [protocol("sdk", "echo out; echo err >&2")], None),
        ("job.createJob", [protocol("sdk")], "ConflictJobError"),
        ("job.createJob", [protocol("a b")], "InvalidProtocolError"),
        ("job.listJobs", [{"username": "ada", "order": "jobName,ASC", "limit": 1}], None),
        ("job.listJobs", [{"limit": 50001}], "InvalidParametersError"),
        ("job.getJob", ["ada", "sdk"], None),
        ("job.getJob", ["ada", "sdk", 0], None),
        ("job.getJob", ["ada", "sdk", 7], "NoJobError"),
        ("job.getJob", ["ada", "none"], "NoJobError"),
        ("job.getJobConfig", ["ada", "sdk"], None),
        ("job.getJobConfig", ["ada", "none"], "NoJobError"),
        ("job.addTag", ["ada", "sdk", "good one"], None),
        ("job.addTag", ["ada", "sdk", "a,b"], "InvalidParametersError"),
        ("job.listJobs", [{"tagsContain": "good one"}], None),
        ("job.deleteTag", ["ada", "sdk", "good one"], None),
        ("job.deleteTag", ["ada", "sdk", "good one"], "NoTagError"),
        ("job.getTask", ["ada", "sdk", 0, "worker", 0], None),
        ("job.getTask", ["ada", "sdk", 0, "worker", 5], "NoJobError"),
        ("job.getTaskLogs", ["ada", "sdk", 0, "worker", 0, 0, True], None),
        ("job.getTaskLogs", ["ada", "sdk", 0, "worker", 0, 9], "NoTaskLogError"),
        ("job.listEvents", ["ada", "sdk", {"type": "Normal"}], None),
        ("job.listEvents", ["ada", "none"], "NoJobError"),
        ("job.updateJobExecutionType", ["ada", "sdk", "STOP"], None),
        ("job.updateJobExecutionType", ["ada", "sdk", "HALT"], "InvalidParametersError"),
        ("jobHistory.getJobAttemptsHealthz", ["ada", "sdk"], None),
        ("jobHistory.getJobAttempts", ["ada", "sdk"], None),
        ("jobHistory.getJobAttempt", ["ada", "sdk", 0], None),
        ("jobHistory.getJobAttempt", ["ada", "sdk", 3], "NoJobError"),
        ("virtualCluster.listVirtualClusters", [], None),
        ("virtualCluster.getVirtualCluster", ["vision"], None),
        ("virtualCluster.getVirtualCluster", ["none"], "NoVirtualClusterError"),
        ("virtualCluster.getVirtualClusterSkuTypes", ["vision"], None),
        ("storage.getStorages", [], None),
        ("storage.getStorage", ["digits"], None),
        ("storage.getStorage", ["none"], "NoStorageError"),
        ("user.createUser", [{"username": "eve", "password": "eve-secret"}], "ForbiddenUserError"),
        ("user.getAllUser", [], None),
        ("user.getUser", ["ada"], None),
        ("user.getUser", ["nobody-here"], "NoUserError"),
        ("user.updateUserSelf", [{"username": "ada", "email": "new@example.org"}], None),
        ("user.updateUser", [{"username": "ada", "admin": True}], "ForbiddenUserError"),
        ("user.deleteUser", ["bob"], "ForbiddenUserError"),
        ("user.updateUserGroup", ["ada", "team"], "ForbiddenUserError"),
        ("user.deleteUserGroup", ["ada", "team"], "ForbiddenUserError"),
        ("user.updateUserGrouplist", ["ada", ["team"]], "ForbiddenUserError"),
        ("group.getAllGroup", [], None),
        ("group.getGroup", ["default"], None),
        ("group.getGroup", ["none"], "NoGroupError"),
        ("group.getGroupMembers", ["default"], "ForbiddenUserError"),
        ("group.createGroup", [{"groupname": "team"}], "ForbiddenUserError"),
        ("token.getTokens", [], None),
        ("token.createApplicationToken", [], None),
        ("token.deleteToken", ["none"], "InvalidParametersError"),
        ("kubernetes.getK8sNodes", [], "ForbiddenUserError"),
        ("kubernetes.getK8sPods", [], "ForbiddenUserError"),
        ("authn.basicLogin", ["ada", "wrong-secret"], "IncorrectPasswordError"),
        ("authn.basicLogin", ["ada", "ada-secret"], None),
        ("authn.basicLogout", [], None),
        ("token.getTokens", [], "UnauthorizedUserError"),
    ]
    calls = [("v2", name, args) for name, args, _ in rows]
    answers = pai.sdk("ada", *calls[:2])
    pai.until("ada~sdk", "SUCCEEDED", token=pai.ada)  # what follows asks how it ended
    answers += pai.sdk("ada", *calls[2:])
    values: dict[str, Any] = {}
    for (name, args, code), answer in zip(rows, answers, strict=True):
        data = answer.get("error", {}).get("data")
        data = json.loads(data) if isinstance(data, str) else data
        assert (data or {}).get("code") == code, (name, args, answer)
        if code is None:
            values[name] = answer["value"]
    assert values["api.getClusterInfo"]["authnMethod"] == "basic"
    assert values["job.getJob"]["jobStatus"]["username"] == "ada"
    assert values["job.getJobConfig"] == protocol("sdk", "echo out; echo err >&2")
    assert [job["name"] for job in values["job.listJobs"]] == ["sdk"]  # the last: by its tag
    assert values["job.getTask"]["attempts"][0]["attemptState"] == "SUCCEEDED"
    assert values["jobHistory.getJobAttemptsHealthz"] == "ok"
    assert values["storage.getStorage"]["data"] == {"server": "nas", "path": "/share/digits"}
    assert values["user.getAllUser"][0]["username"] == "ada"
    logs = {one["name"]: one["uri"] for one in values["job.getTaskLogs"]["locations"]}
    assert pai.call("GET", logs["stdout"], token=None, base="").text == "out\n"
    assert pai.call("GET", logs["stderr"], token=None, base="").text == "err\n"


@npm
def test_sdk_waits_for_a_job(pai: Pai) -> None:
    """It looks every five seconds until the job does not wait any more."""
    (answer,) = pai.sdk("ada", ("v2", "job.createRunningJob", [protocol("soon", "sleep 1")]))
    assert "value" in answer, answer


@npm
def test_sdk_v1(open_pai: Pai) -> None:
    """Version 1: reads carry no token, so they are open here."""
    config = json.loads(openpai("old", role(command="true", minSucceededTaskCount=None)))
    rows: list[tuple[str, list[Any], int | None]] = [
        ("authn.info", [], None),
        ("job.submit", ["ada", config], None),
        ("job.submit", ["ada", config], 409),
        ("job.submit", ["bob", config], 403),
        ("job.list", [], None),
        ("job.list", ["username=ada"], None),
        ("job.get", ["ada", "old"], None),
        ("job.get", ["ada", "none"], 404),
        ("job.getFrameworkInfo", ["ada", "old"], None),
        ("job.getConfig", ["ada", "old"], None),
        ("job.getConfig", ["ada", "none"], 404),
        ("job.getSshInfo", ["ada", "none"], 404),
        ("job.getSshInfo", ["ada~none"], 404),
        ("job.execute", ["ada", "old", "STOP"], None),
        ("job.execute", ["ada", "none", "STOP"], 404),
        ("authn.getTokens", [], None),
        ("authn.createApplicationToken", [], None),
        ("authn.deleteToken", ["none"], 400),
        ("job.delete", ["ada", "old"], None),
        ("job.delete", ["ada", "none"], 404),
    ]
    answers = open_pai.sdk("ada", *(("v1", name, args) for name, args, _ in rows))
    values: dict[str, Any] = {}
    for (name, args, status), answer in zip(rows, answers, strict=True):
        assert answer.get("error", {}).get("status") == status, (name, args, answer)
        values[name] = answer.get("value") or values.get(name)
    assert values["job.submit"]["name"] == "old"
    assert [job["name"] for job in values["job.list"]] == ["old"]
    assert values["job.getFrameworkInfo"]["jobStatus"]["name"] == "ada~old"
    assert values["job.getConfig"]["taskRoles"][0]["minSucceededTaskCount"] is None
    assert values["job.delete"]["message"] == "deleted job ada~old successfully"


@npm
def test_command_line(pai: Pai, tmp_path: Path) -> None:
    """`pai`, which keeps its clusters in the home directory and ends with 0 whatever happens."""

    def run(*args: str | Path) -> str:
        done = subprocess.run(
            [str(NODE), str(SDK / "lib/src/cli.js"), *map(str, args)],
            env={**os.environ, "HOME": str(tmp_path), "TZ": "UTC"},
            capture_output=True,
            text=True,
            timeout=patience(60),
            check=False,
        )
        return done.stdout + done.stderr

    config = tmp_path / "job.yaml"
    config.write_text(json.dumps(protocol("by-cli", "echo from pai")))
    home = {"HOME": str(tmp_path)}
    pai.server.muster("client-config", "openpai", "--write", "--user", "bob", env=home)
    assert "Update job by-cli for user bob successfully." in run("subj", "muster", config)
    pai.until("bob~by-cli", "SUCCEEDED", token=pai.bob)
    assert "by-cli" in run("listj", "muster")
    assert "SUCCEEDED" in run("getj", "muster", "by-cli")
    assert "Job bob~none is not found." in run("getj", "muster", "none")
    shown = pai.server.muster("ls", "--all").stdout
    assert "by-cli" in shown


# ---- recorded: VS Code, NNI, opai ----


def nested(value: Any, name: str = "") -> list[tuple[str, str]]:
    """As the `qs` of JavaScript writes objects."""
    if isinstance(value, dict):
        return [p for k, v in value.items() for p in nested(v, f"{name}[{k}]" if name else k)]
    if isinstance(value, list):
        return [p for i, v in enumerate(value) for p in nested(v, f"{name}[{i}]")]
    return [(name, "" if value is None else str(value))]


def test_vscode_sequence(open_pai: Pai) -> None:
    pai = open_pai
    assert pai.call("GET", "/healthz", token=None, base="").status == 200
    probe = pai.call("GET", "/api/v2/jobs/protocolversion/config", token=None)
    assert probe.json()["code"] != "NoApiError"  # else it takes the server for version 1 only
    assert pai.call("GET", "/api/v2/info", token=None).json()["authnMethod"] == "basic"
    body = {"username": "ada", "password": "ada-secret"}
    token = pai.call("POST", "/api/v1/token", body, FORM, None).good().json()["token"]
    before = pai.call("GET", "/api/v1/user/ada/jobs/code", token=None)
    refused(before, 404, "NoJobError", "Job ada~code is not found.")
    form = urlencode(nested(json.loads(openpai("code", role(count=2, portList=[])))))
    done = pai.call("POST", "/api/v1/user/ada/jobs", form, FORM, token, Accept=JSON)
    assert done.status == 201 and done.json()["jobStatus"]["totalTaskNumber"] == 2
    assert done.headers["location"].endswith("/api/v1/user/ada/jobs/code")
    pai.submit("code2", "true", token=token)
    for path in ("/api/v2/jobs", "/api/v1/jobs"):
        listed = pai.call("GET", path, token=token).json()
        assert {"code", "code2"} <= {job["name"] for job in listed}
    assert pai.call("GET", "/api/v2/storages", token=token).json() == {"storages": []}
    # what the extension asks for before it submits, of a job of version 2 too
    assert pai.call("GET", "/api/v1/user/ada/jobs/code2", token=None).status == 200


def test_nni_sequences(pai: Pai) -> None:
    """Its old back end speaks version 1 in JSON; its newer one version 2, with the token only."""
    token = pai.login("bob")
    config = openpai("nni_exp_trial", role("nni_trial", "echo trial", shmMB=64))
    assert pai.call("POST", "/api/v1/user/bob/jobs", config, JSON, token).status < 400
    config2 = protocol("nni_exp_env", "sleep 600", extras={"storages": []})
    roles = config2["taskRoles"]
    roles["taskrole"] = {**roles.pop("worker"), "completion": {"minSucceededInstances": -1}}
    text = json.dumps(config2)
    assert pai.call("POST", "/api/v2/jobs", text, YAML, token).status < 400
    status = pai.until("bob~nni_exp_env", "RUNNING", token=token)["jobStatus"]
    assert status["appLaunchedTime"] and status["completedTime"] is None
    assert status["appTrackingUrl"] == ""
    jobs = pai.call("GET", "/api/v2/jobs?username=bob", token=token).json()
    assert {"nni_exp_trial", "nni_exp_env"} <= {job["name"] for job in jobs}
    stop = {"value": "STOP"}
    path = "/api/v2/jobs/bob~nni_exp_env/executionType"
    assert pai.call("PUT", path, stop, token=token).status == 202
    ended = pai.until("bob~nni_exp_env", "STOPPED", token=token)["jobStatus"]
    assert ended["completedTime"] and ended["appExitCode"] == -210
    assert ended["executionType"] == "STOP"


def test_opai_calls(pai: Pai) -> None:
    assert "API" in pai.call("GET", "/api/v1", token=None).json()["name"]
    token = pai.login("ada", expiration=3600)
    assert "default" in pai.call("GET", "/api/v1/user/ada", token=token).json()["virtualCluster"]
    for cluster in pai.call("GET", "/api/v1/virtual-clusters", token=token).json().values():
        assert cluster["resourcesUsed"].keys() == cluster["resourcesTotal"].keys()
    config = openpai("opai", role("main", "echo hi"))
    reply = pai.call("POST", "/api/v1/user/ada/jobs", config, JSON, token)
    assert reply.status in (201, 202)
    pai.until("ada~opai", "SUCCEEDED", token=token)
    kept = pai.call("GET", "/api/v1/user/ada/jobs/opai/config", token=token)
    assert kept.text == config  # as it was sent
    as_yaml = pai.call("GET", "/api/v1/user/ada/jobs/opai/config", token=token, Accept=YAML)
    assert as_yaml.text.startswith("jobName: opai\n")
    stop = {"value": "STOP"}
    path = "/api/v1/user/ada/jobs/opai/executionType"
    assert pai.call("PUT", path, stop, token=token).status in (200, 202)


# ---- login, tokens, users ----


@pytest.mark.sanitizer
def test_tokens_end(pai: Pai) -> None:
    """Expired, revoked, of an application, of a link: each is good for what it says."""
    for path in ("/api/v1/token", "/api/v1/authn/basic/login", "/api/v2/authn/basic/login"):
        before = int(time.time())
        token = pai.login("ada", path, expiration=60)
        after = time.time() + 1
        exp = pai.call("GET", "/api/v2/tokens/check", token=token).json()["exp"]
        assert before + 60 <= exp <= after + 60
    body = {"username": "ada", "password": "ada-secret", "expiration": 59}
    refused(pai.call("POST", "/api/v1/token", body, token=None), 400, "InvalidParametersError")
    revoked = pai.login("ada")
    assert pai.call("DELETE", f"/api/v2/tokens/{revoked}", token=pai.ada).status == 200
    for bad in (revoked, "x", "ey.ey.ey", "x" * 3000):
        reply = pai.call("GET", "/api/v2/jobs", token=bad)
        refused(reply, 401, "UnauthorizedUserError", "Your token is invalid.")
    guest = "Guest is not allowed to do this operation."
    refused(pai.call("GET", "/api/v2/jobs", token=None), 401, "UnauthorizedUserError", guest)
    refused(pai.call("GET", "/api/v1/jobs", token=None), 401, "UnauthorizedUserError", guest)
    ids = pai.call("GET", "/api/v2/tokens", token=pai.bob).json()["tokens"]
    refused(
        pai.call("DELETE", f"/api/v2/tokens/{ids[0]}", token=pai.ada), 400, "InvalidParametersError"
    )
    app = pai.call("POST", "/api/v2/tokens/application", {}, token=pai.ada).json()["token"]
    basic = "Basic " + base64.b64encode(f"ada:{app}".encode()).decode()
    assert pai.call("GET", "/api/v2/jobs", token=None, Authorization=basic).status == 200
    wrong = "Basic " + base64.b64encode(f"bob:{app}".encode()).decode()
    assert pai.call("GET", "/api/v2/jobs", token=None, Authorization=wrong).status == 401
    reply = pai.call("GET", "/api/v2/tokens", token=app)
    said = "Applications are not allowed to do this operation."
    refused(reply, 403, "ForbiddenUserError", said)


def test_expired(pai: Pai) -> None:
    """The least that a client may ask for here is a minute; this one is made elsewhere."""
    body = {"owner": "ada", "label": "short", "expires_s": 1}
    reply = pai.server.api("POST", "/v1/tokens", json.dumps(body), headers={"Content-Type": JSON})
    token = reply.good().json()["token"]
    wait_for(lambda: pai.call("GET", "/api/v2/jobs", token=token).status == 401, what="the end")


def test_users_and_groups(pai: Pai) -> None:
    rows = [
        ("POST", "/api/v2/users", {"username": "ada", "password": "123456"}, 409),
        ("POST", "/api/v2/users", {"username": "cy", "password": "12345"}, 400),
        ("POST", "/api/v2/users", {"username": "c y", "password": "123456"}, 400),
        ("POST", "/api/v2/users", {"username": "cy", "password": "123456", "admin": False}, 201),
        ("PUT", "/api/v2/users", {"data": {"username": "cy", "email": "c@y"}}, 400),
        ("PUT", "/api/v2/users", {"patch": True, "data": {"username": "cy", "email": "c@y"}}, 201),
        ("PUT", "/api/v2/users", {"patch": True, "data": {"username": "zz", "email": "c@y"}}, 400),
        ("PUT", "/api/v2/users/cy/group", {"groupname": "team"}, 201),
        ("PUT", "/api/v2/users/zz/group", {"groupname": "team"}, 400),
        ("PUT", "/api/v2/users/cy/grouplist", {"grouplist": ["team", "other"]}, 201),
        ("PUT", "/api/v2/users/cy/grouplist", {}, 400),
        ("DELETE", "/api/v2/users/cy/group", {"groupname": "other"}, 201),
        ("PUT", "/api/v2/users/cy/extension", {"extension": {"sshKeys": []}}, 201),
        ("PUT", "/api/v2/users/cy/extension", {"extension": "x"}, 400),
        ("PUT", "/api/v2/users/cy/email", {"email": "d@y"}, 201),
        ("PUT", "/api/v2/users/cy/password", {"newPassword": "cy-secret"}, 201),
        ("PUT", "/api/v2/users/cy/virtualcluster", {"virtualCluster": ["default"]}, 400),
        ("PUT", "/api/v2/users/cy/admin", {"admin": True}, 201),
        ("DELETE", "/api/v2/users/cy", None, 403),
        ("GET", "/api/v2/groups", None, 200),
        ("GET", "/api/v2/groups/team", None, 200),
        ("GET", "/api/v2/groups/none", None, 400),
        ("POST", "/api/v2/groups", {"groupname": "x"}, 400),
        ("DELETE", "/api/v2/groups/team", None, 400),
    ]
    for method, path, body, status in rows:
        reply = pai.call(method, path, body)
        assert reply.status == status, (method, path, body, reply.text)
    cy = pai.call("GET", "/api/v2/users/cy").json()
    assert cy["grouplist"] == ["default", "admingroup", "team"]
    assert (cy["email"], cy["admin"], cy["extension"]) == ("d@y", True, {"sshKeys": []})
    members = pai.call("GET", "/api/v2/groups/team/userlist").json()
    assert members == [{"username": "cy", "clusterAdmin": True}]
    assert pai.login("cy")
    assert pai.call("PUT", "/api/v2/users/cy/admin", {"admin": False}).status == 201
    assert pai.call("DELETE", "/api/v2/users/cy").status == 200
    refused(pai.call("DELETE", "/api/v2/users/cy"), 400, "NoUserError")
    refused(pai.call("DELETE", f"/api/v2/users/{pai.me}"), 403, "RemoveAdminError")


def test_own_password(pai: Pai) -> None:
    body = {"username": "dan", "password": "dan-secret"}
    assert pai.call("POST", "/api/v2/users", body).status == 201
    dan = pai.login("dan")
    change = {"oldPassword": "wrong-one", "newPassword": "dan-secret2"}
    said = "Pls input the correct password."
    reply = pai.call("PUT", "/api/v2/users/dan/password", change, token=dan)
    refused(reply, 403, "ForbiddenUserError", said)
    reply = pai.call("PUT", "/api/v2/users/ada/password", change, token=dan)
    refused(reply, 403, "ForbiddenUserError")
    me = {"patch": True, "data": {**change, "oldPassword": "dan-secret"}}
    assert pai.call("PUT", "/api/v2/users/me", me, token=dan).status == 201
    reply = pai.call("GET", "/api/v2/users/me", token=dan)  # it ended with the old password
    refused(reply, 401, "UnauthorizedUserError")
    bad = pai.call("POST", "/api/v1/token", body, token=None)
    refused(bad, 400, "IncorrectPasswordError")


# ---- jobs ----


def test_jobs_of_others_do_not_exist(pai: Pai) -> None:
    """Nothing is told of another user's job, in any version; members of its project read it."""
    pai.submit("private", "echo private", token=pai.ada)
    pai.until("ada~private", "SUCCEEDED", token=pai.ada)
    base2, base1 = "/api/v2/jobs/ada~private", "/api/v1/user/ada/jobs/private"
    paths = [base1, f"{base1}/config", f"{base1}/ssh", base2]
    paths += [f"{base2}/{rest}" for rest in ("config", "events", "job-attempts", "attempts/0")]
    paths += [
        f"{base2}/attempts/0/taskRoles/worker/taskIndex/0/attempts{r}" for r in ("", "/0/logs")
    ]
    for path in paths:
        refused(pai.call("GET", path, token=pai.bob), 404, "NoJobError")
    value = {"value": "STOP"}
    for method, path in (
        ("PUT", f"{base2}/executionType"),
        ("PUT", f"{base1}/executionType"),
        ("PUT", f"{base2}/tag"),
        ("DELETE", base1),
    ):
        refused(pai.call(method, path, value, token=pai.bob), 404, "NoJobError")
    for path in ("/api/v2/jobs", "/api/v1/jobs", "/api/v2/jobs?username=ada&keyword=private"):
        assert "private" not in pai.call("GET", path, token=pai.bob).text
    assert pai.call("GET", base2).status == 200  # an admin


def test_open_reading_changes_nothing(open_pai: Pai) -> None:
    """Everybody reads, secrets are hidden, and nobody commands another's job."""
    pai = open_pai
    config = openpai("shown", role(command="echo x"), jobEnvs={"PASSWORD": "hunter2"})
    assert pai.call("POST", "/api/v1/user/ada/jobs", config, JSON, pai.ada).status == 201
    path = "/api/v1/user/ada/jobs/shown"
    assert pai.call("GET", path, token=None).status == 200
    assert "hunter2" in pai.call("GET", f"{path}/config", token=pai.ada).text
    for token in (None, pai.bob):
        assert "hunter2" not in pai.call("GET", f"{path}/config", token=token).text
    assert "shown" in pai.call("GET", "/api/v1/jobs", token=None).text
    assert pai.call("GET", "/api/v2/jobs/ada~shown", token=pai.bob).status == 200
    assert pai.call("GET", "/api/v2/jobs/ada~shown", token=None).status == 401
    reply = pai.call("DELETE", path, token=pai.bob)
    refused(reply, 403, "ForbiddenUserError", "User bob is not allowed to remove job ada~shown.")
    stop = {"value": "STOP"}
    reply = pai.call("PUT", f"{path}/executionType", stop, token=pai.bob)
    refused(reply, 403, "ForbiddenUserError", "User bob is not allowed to execute job ada~shown.")
    assert pai.call("DELETE", path, token=None).status == 401


def test_lists(pai: Pai) -> None:
    body = {"username": "lister", "password": "lister-secret"}
    assert pai.call("POST", "/api/v2/users", body).status == 201
    token = pai.login("lister")
    for i, name in enumerate(("c", "a", "b", "d")):
        defaults = {"virtualCluster": "vision" if i % 2 else "default"}
        extras = {"hivedScheduler": {"jobPriorityClass": "prod" if name == "a" else "test"}}
        command = "false" if name == "d" else "true"
        pai.submit(name, command, token=token, defaults=defaults, extras=extras)
    for name in "cab":
        pai.until(f"lister~{name}", "SUCCEEDED", token=token)
    pai.until("lister~d", "FAILED", token=token)
    tag = {"value": "x1"}
    assert pai.call("PUT", "/api/v2/jobs/lister~b/tag", tag, token=token).status == 200

    def names(query: str) -> str:
        rows = pai.call("GET", f"/api/v2/jobs?{query}", token=token).good().json()
        return "".join(row["name"] for row in rows)

    assert names("") == names("order=nonsense,ASC") == "dbac"
    assert names("order=jobName,ASC") == "abcd" and names("order=jobName,DESC") == "dcba"
    assert names("order=submissionTime,ASC") == "cabd"
    assert names("offset=1&limit=2") == "ba" and names("order=jobName,ASC&offset=3") == "d"
    assert names("vc=vision") == "da" and names("vc=vision,default") == "dbac"
    assert names("state=FAILED") == "d" and names("state=RUNNING,SUCCEEDED") == "bac"
    assert names("state=NONE") == "" and names("username=lister,bob") == "dbac"
    assert names("keyword=vis") == "da" and names("username=nobody") == ""
    assert names("tagsContain=x1,y") == "b" and names("tagsNotContain=x1") == "dac"
    assert names("jobPriority=prod") == "a" and names("jobPriority=default") == "dbc"
    assert names("jobPriority=prod,default&order=username,ASC") == "cabd"
    for query in ("limit=1", "order=jobName,ASC&limit=1", "state=SUCCEEDED,FAILED&keyword=l"):
        whole = pai.call("GET", f"/api/v2/jobs?withTotalCount=true&{query}", token=token).json()
        assert whole["totalCount"] == 4 and len(whole["data"]) in (1, 4), query
    for bad in ("limit=x", "offset=-1", "limit=50001"):
        reply = pai.call("GET", f"/api/v2/jobs?{bad}", token=token)
        refused(reply, 400, "InvalidParametersError")
    failed = pai.call("GET", "/api/v2/jobs/lister~d", token=token).json()["jobStatus"]
    assert failed["appExitTriggerTaskRoleName"] == "worker" and failed["appExitCode"] == 255


def test_other_front_ends(pai: Pai) -> None:
    """A job of muster's own format in OpenPAI's words, and back."""
    pai.server.api("POST", "/v1/jobs", native("mine", "echo native; sleep 600")).good()
    frame = f"{pai.me}~mine"
    detail = pai.until(frame, "RUNNING")
    assert detail["taskRoles"]["worker"]["taskStatuses"][0]["taskState"] == "RUNNING"
    config = pai.call("GET", f"/api/v2/jobs/{frame}/config").text
    assert config.startswith("protocolVersion: 2\n") and "echo native" in config
    old = pai.call("GET", f"/api/v1/user/{pai.me}/jobs/mine/config").json()
    assert old["taskRoles"][0]["command"] == "echo native; sleep 600"
    path = f"/api/v1/user/{pai.me}/jobs/mine"
    assert pai.call("DELETE", path).status == 202  # while it runs: stopped, then gone
    wait_for(lambda: pai.call("GET", path).status == 404, what="the end of it")
    assert "mine" not in pai.server.muster("ls", "--all").stdout


def test_delete_while_starting(pai: Pai) -> None:
    for i in range(5):
        name = f"brief{i}"
        config = openpai(name, role(command="sleep 600", count=2))
        path = f"/api/v1/user/ada/jobs/{name}"
        assert pai.call("PUT", path, config, JSON, pai.ada).status == 201
        reply = pai.call("DELETE", path, token=pai.ada)
        assert reply.status == 202, reply.text
        wait_for(lambda: pai.call("GET", path, token=pai.ada).status == 404, what="its end")  # noqa: B023
        assert pai.call("POST", "/api/v1/jobs", config, JSON, pai.ada).status == 201
        assert pai.call("DELETE", path, token=pai.ada).status == 202


def test_two_clients_at_one_job(pai: Pai) -> None:
    """One name is given once, one end is an end, and a tag is there or not."""
    text = json.dumps(protocol("both", "sleep 600"))
    path = "/api/v2/jobs/ada~both"

    def at_once(method: str, where: str, body: Any, kind: str = JSON) -> list[int]:
        with ThreadPoolExecutor(8) as several:
            asked = [several.submit(pai.call, method, where, body, kind, pai.ada) for _ in range(8)]
            return sorted(one.result().status for one in asked)

    assert at_once("POST", "/api/v2/jobs", text, YAML) == [202] + [409] * 7
    assert at_once("PUT", f"{path}/tag", {"value": "t"}) == [200] * 8
    assert pai.call("GET", path, token=pai.ada).json()["tags"] == ["t"]
    assert at_once("DELETE", f"{path}/tag", {"value": "t"}) == [200] + [404] * 7
    assert at_once("PUT", f"{path}/executionType", {"value": "STOP"}) == [202] * 8
    pai.until("ada~both", "STOPPED", token=pai.ada)
    old = "/api/v1/user/ada/jobs/both"
    assert set(at_once("DELETE", old, None)) <= {202, 404}
    refused(pai.call("GET", old, token=pai.ada), 404, "NoJobError")


def test_earlier_starts(pai: Pai) -> None:
    """Each start of the job is an attempt, with its tasks' ends and their output."""
    state = pai.server.state / "tries"
    text = f"echo x >> {state}; n=$(wc -l < {state}); echo try $n; [ $n -ge 3 ] || exit 1"
    pai.submit("again", text, jobRetryCount=5)
    frame = f"{pai.me}~again"
    detail = pai.until(frame, "SUCCEEDED")
    assert detail["jobStatus"]["retries"] == 2 and detail["jobStatus"]["attemptId"] == 2
    all_of = pai.call("GET", f"/api/v2/jobs/{frame}/job-attempts").json()
    assert [one["attemptIndex"] for one in all_of] == [2, 1, 0]
    assert [one["state"] for one in all_of] == ["SUCCEEDED", "FAILED", "FAILED"]
    assert [one["isLatest"] for one in all_of] == [True, False, False]
    first = pai.call("GET", f"/api/v2/jobs/{frame}/attempts/0").json()
    task = first["taskRoles"]["worker"]["taskStatuses"][0]
    assert (task["taskState"], task["containerExitCode"]) == ("FAILED", 255)
    for n in range(3):
        logs = f"/api/v2/jobs/{frame}/attempts/{n}/taskRoles/worker/taskIndex/0/attempts/0/logs"
        uri = pai.call("GET", f"{logs}?tailMode=true").json()["locations"][0]["uri"]
        assert pai.call("GET", uri, token=None, base="").text == f"try {n + 1}\n"
    warned = pai.call("GET", f"/api/v2/jobs/{frame}/events?type=Warning").json()
    assert warned["totalCount"] >= 2
    assert {one["type"] for one in warned["data"]} == {"Warning"}


def test_tail_and_links(pai: Pai) -> None:
    """The last 16384 bytes; a link is good for the output of its job only."""
    pai.submit("much", "seq 1 20000", token=pai.ada)
    pai.submit("other", "echo other", token=pai.ada)
    for name in ("much", "other"):
        pai.until(f"ada~{name}", "SUCCEEDED", token=pai.ada)
    rest = "attempts/0/taskRoles/worker/taskIndex/0/attempts/0/logs"
    logs = {
        name: pai.call("GET", f"/api/v2/jobs/ada~{name}/{rest}", token=pai.ada).json()
        for name in ("much", "other")
    }
    whole = logs["much"]["locations"][0]["uri"]
    assert pai.call("GET", whole, token=None, base="").text.count("\n") == 20000
    tail = pai.call("GET", f"{whole}&tail-mode=true", token=None, base="").text
    assert 16000 < len(tail) <= 16384 and tail.endswith("\n20000\n")
    token = whole.partition("token=")[2]
    stolen = logs["other"]["locations"][0]["uri"].partition("token=")[0] + f"token={token}"
    refused(pai.call("GET", stolen, token=None, base=""), 404, "NoTaskLogError")
    for path in ("/api/v2/jobs", "/api/v2/tokens/check", "/api/v1/jobs"):
        assert pai.call("GET", path, token=token).status == 401
    assert pai.call("GET", "/v1/jobs", token=token, base="").status == 401
    without = whole.partition("&token=")[0]
    assert pai.call("GET", without, token=None, base="").status == 401
    assert pai.call("GET", without, token=pai.bob, base="").status == 404


# ---- the cluster ----


def test_cluster(pai: Pai) -> None:
    two = pai.call("GET", "/api/v2/virtual-clusters").json()
    assert {"default", "vision"} <= two.keys()
    keys = {"cpu", "memory", "gpu", "vCores", "GPUs"}
    for name in ("resourcesUsed", "resourcesGuaranteed", "resourcesTotal"):
        assert two["default"][name].keys() == keys
    assert two["default"]["resourcesTotal"]["gpu"] == 16
    one = pai.call("GET", "/api/v1/virtual-clusters/vision").json()
    assert one["status"] == "RUNNING" and one["resourcesUsed"].keys() == {
        "memory",
        "vCores",
        "GPUs",
    }
    nodes = pai.call("GET", "/api/v2/virtual-clusters?nodes").json()
    assert nodes["n1"] == {"gpuUsed": 0, "gpuAvailable": 4, "gpuTotal": 4}
    skus = pai.call("GET", "/api/v2/cluster/sku-types").json()
    assert skus == pai.call("GET", "/api/v2/virtual-clusters/vision/sku-types").json()
    assert skus == {"GPU": {"cpu": 4, "memory": 16384, "gpu": 1}}
    refused(pai.call("GET", "/api/v2/cluster/sku-types?vc=none"), 404, "NoVirtualClusterError")
    said = "Vc none not found"
    refused(pai.call("GET", "/api/v2/virtual-clusters/none"), 404, "NoVirtualClusterError", said)
    for method, path in (("PUT", ""), ("PUT", "/status"), ("DELETE", "")):
        reply = pai.call(method, f"/api/v2/virtual-clusters/vision{path}", {})
        refused(reply, 400, "NotImplementedError")
        reply = pai.call(method, f"/api/v2/virtual-clusters/vision{path}", {}, token=pai.ada)
        said = "Non-admin is not allow to do this operation."
        refused(reply, 403, "ForbiddenUserError", said)
    listed = pai.call("GET", "/api/v2/kubernetes/nodes").json()
    assert (listed["kind"], len(listed["items"])) == ("NodeList", 4)
    pai.submit("holds", "sleep 600")
    pai.until(f"{pai.me}~holds", "RUNNING")
    pods = pai.call("GET", "/api/v2/kubernetes/pods").json()["items"]
    assert "holds" in {pod["metadata"]["labels"]["jobName"] for pod in pods}
    path = f"/api/v2/jobs/{pai.me}~holds/executionType"
    assert pai.call("PUT", path, {"value": "STOP"}).status == 202
    assert pai.call("GET", "/api/v2/alerts").json() == []
    for path in ("storage/config", "storage/server"):
        assert isinstance(pai.call("GET", f"/api/v2/{path}").json(), list)
        refused(pai.call("GET", f"/api/v2/{path}/none"), 404, "NoStorageError")


def test_ports_for_ssh(pai: Pai) -> None:
    assert pai.call("POST", "/api/v1/jobs", openpai("ssh", role(command="sleep 600"))).status == 201
    detail = pai.until(f"{pai.me}~ssh", "RUNNING")
    port = detail["taskRoles"]["worker"]["taskStatuses"][0]["containerPorts"]["ssh"]
    path = f"/api/v1/user/{pai.me}/jobs/ssh"
    info = pai.call("GET", f"{path}/ssh").json()
    assert [one["sshPort"] for one in info["containers"]] == [port]
    assert info["keyPair"]["privateKeyFileName"] == f"{pai.me}~ssh"
    refused(pai.call("GET", f"/api/v2/jobs/{pai.me}~ssh/ssh"), 404, "NoJobSshInfoError")
    assert pai.call("DELETE", path).status == 202


# ---- what is refused ----


@pytest.mark.sanitizer
def test_bad_jobs(pai: Pai) -> None:
    v1, v2 = "/api/v1/user/ada/jobs", "/api/v2/jobs"
    good = openpai("fine")
    rows = [
        (v1, "{", JSON, 400, "InvalidParametersError"),
        (v1, "[]", JSON, 400, "InvalidParametersError"),
        (v1, "", JSON, 400, "InvalidParametersError"),
        (v1, openpai("a b"), JSON, 400, "InvalidParametersError"),
        (v1, openpai("x" * 300), JSON, 400, "InvalidParametersError"),
        (v1, openpai("x", nonsense=1), JSON, 400, "InvalidParametersError"),
        (v1, openpai("x", role(memoryMB=10)), JSON, 400, "InvalidParametersError"),
        (v1, openpai("x", virtualCluster="none"), JSON, 404, "NoVirtualClusterError"),
        (v1, good, "text/plain", 400, "InvalidParametersError"),
        (v1, good, "multipart/form-data; boundary=x", 400, "InvalidParametersError"),
        (v1, "jobName=x&jobName[a]=b", FORM, 400, "InvalidParametersError"),
        (v1, "jobName=%zz", FORM, 400, "InvalidParametersError"),
        (v1, "a[b" * 3000, FORM, 400, "InvalidParametersError"),
        ("/api/v1/user/bob/jobs", good, JSON, 403, "ForbiddenUserError"),
        (v2, "a: [", YAML, 400, "InvalidProtocolError"),
        (v2, "", YAML, 400, "InvalidProtocolError"),
        (v2, "- 1", YAML, 400, "InvalidProtocolError"),
        (v2, json.dumps(protocol("a.b")), YAML, 400, "InvalidProtocolError"),
        (v2, json.dumps(protocol("x" * 300)), YAML, 400, "InvalidProtocolError"),
        (v2, json.dumps(protocol("x", nonsense=1)), YAML, 400, "InvalidProtocolError"),
        (v2, "name=x", FORM, 400, "InvalidProtocolError"),
        (v2, good, YAML, 400, "InvalidProtocolError"),
    ]
    none = json.dumps(protocol("x", defaults={"virtualCluster": "none"}))
    rows.append((v2, none, YAML, 404, "NoVirtualClusterError"))
    both = json.dumps(protocol("x", jobRetryCount="x", defaults={"virtualCluster": "none"}))
    rows.append((v2, both, YAML, 400, "InvalidProtocolError"))  # the protocol first
    for path, body, kind, status, code in rows:
        reply = pai.call("POST", path, body, kind, pai.ada)
        assert (reply.status, reply.json().get("code")) == (status, code), (body[:99], reply.text)
        assert reply.json()["message"]
    wrong = protocol("a b", type="jobs", jobRetryCount="x")
    said = pai.call("POST", v2, json.dumps(wrong), YAML, pai.ada).json()["message"]
    assert all(f"{name} is " in said for name in ("name", "type", "jobRetryCount")), said
    said = pai.call("POST", "/api/v2/user", '{"password":"x","admin":1}', JSON).json()["message"]
    assert said.splitlines() == [
        '"admin" must be a boolean',
        '"password" length must be at least 6 characters long',
        '"username" is required',
    ]
    pai.submit("twice", token=pai.ada)
    again = pai.call("POST", v2, json.dumps(protocol("twice")), YAML, pai.ada)
    refused(again, 409, "ConflictJobError", "Job ada~twice already exists.")
    again = pai.call("POST", v1, openpai("twice"), JSON, pai.ada)
    refused(again, 409, "ConflictJobError", "Job name twice already exists")
    pai.submit("twice", token=pai.bob)  # another's name is another name


def test_odd_paths(pai: Pai) -> None:
    for path in ("/api/v2/none", "/api/v3", "/api", "", "/api/v2/jobs/a/b", "/api/v1/user/a/b/c"):
        reply = pai.call("GET", path)
        refused(reply, 404, "NoApiError", f"API {path} is not found.")
    refused(pai.call("DELETE", "/api/v2/jobs/a~b"), 404, "NoApiError")
    for name in ("..", "%2e%2e", "a%2fb", "%2e%2e%2f%2e%2e", "x" * 300, quote("数据"), "~", "a~~b"):
        reply = pai.call("GET", f"/api/v2/jobs/{name}/config")
        assert reply.status == 404 and reply.json()["code"] in ("NoJobError", "NoApiError"), name
    assert pai.call("GET", "/api/v2/jobs/a%00b").status == 400
    assert pai.call("GET", "/api/v2/jobs/", token=pai.ada).status == 200
    # without the prefix, beside Kubernetes' names for the same version
    assert pai.call("GET", "/api/v2/info", base="").json()["launcherType"] == "k8s"
    assert pai.call("GET", "/api/v1/jobs", base="").status == 200
    pods = pai.call("GET", "/api/v1/pods", base="")
    assert "NoApiError" not in pods.text


@pytest.mark.sanitizer
def test_odd_bodies(pai: Pai) -> None:
    large = pai.call("POST", "/api/v2/jobs", "x: " + "y" * (5 << 20), YAML, pai.ada)
    assert large.status == 413 and large.json()["code"] == "InvalidParametersError"

    def raw(text: str, shut: bool) -> bytes:
        place = (str(pai.address.hostname), int(pai.address.port or 0))
        with contextlib.closing(socket.create_connection(place, patience())) as wire:
            wire.sendall(text.encode())
            return b"" if shut else wire.recv(65536)

    who = f"Host: h\r\nAuthorization: Bearer {pai.ada}\r\n"
    half = "Transfer-Encoding: chunked\r\n\r\n400\r\nname: "
    raw(f"POST /rest-server/api/v2/jobs HTTP/1.1\r\n{who}{half}", shut=True)
    old = raw(f"GET /rest-server/api/v2/info HTTP/1.0\r\n{who}\r\n", shut=False)
    assert old.startswith(b"HTTP/1.") and b" 200 " in old.splitlines()[0]
    value = {"value": "STOP", "more": {"x": [1, 2]}}
    pai.submit("bodies", "sleep 600", token=pai.ada)
    path = "/api/v2/jobs/ada~bodies/executionType"
    for bad, kind in (("{", JSON), ("[1]", JSON), ("", JSON), ("value=GO", FORM)):
        reply = pai.call("PUT", path, bad, kind, pai.ada)
        refused(reply, 400, "InvalidParametersError")
    start = pai.call("PUT", path, {"value": "START"}, token=pai.ada)
    assert start.status == 202  # it is started
    assert pai.call("PUT", path, value, token=pai.ada).status == 202
    pai.until("ada~bodies", "STOPPED", token=pai.ada)
    reply = pai.call("PUT", path, {"value": "START"}, token=pai.ada)
    refused(reply, 400, "InvalidParametersError")
    assert pai.call("PUT", path, "value=STOP", FORM, pai.ada).status == 202
