"""The rights matrix: every operation of every interface, asked by everybody. The rows come from the
program and its tables, what must come of them stands in rights.py, written by hand after
doc/identity.md; an operation that is not there fails here."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import rights
from conftest import closed
from harness import ROOT, Json, Reply, Server, native, patience, request, wait_for

PROJECT = "vision"
OWNER = "owen"
# Of each column of rights.py: who asks, and whose things are asked for.
ASKED = {
    "ada": OWNER,  # an admin
    OWNER: OWNER,
    "mia": OWNER,  # a user of the job's project
    "xena": OWNER,  # a user who has nothing to do with it
    "rolf": "rolf",  # a reader, once a user: their own
    "rita": OWNER,  # a reader of the job's project
    "rex": OWNER,  # a reader who has nothing to do with it
}
KUBE = {"User_Agent": "kubectl/v1.30", "Content_Type": "application/json"}
KEPT = {  # objects of somebody, as kubectl makes them
    "podgroups": ("scheduling.sigs.k8s.io/v1alpha1", "PodGroup"),
    "configmaps": ("v1", "ConfigMap"),
    "secrets": ("v1", "Secret"),
    "persistentvolumeclaims": ("v1", "PersistentVolumeClaim"),
}
ENTRIES: dict[str, Json] = {  # as a DLC client declares them
    "datasets": {"Property": "DIRECTORY", "DataSourceType": "NAS", "Uri": "nas://x.cn-hangzhou/"},
    "codesources": {"CodeRepo": "/tmp", "WorkspaceId": "default"},
    "images": {"ImageUri": "x/y:1"},
}
BAD_TOKENS = ("none", "nonsense", "expired", "revoked", "removed", "disabled", "ticket", "link")
EXIT = 16  # the frame of wire/frame.h that ends a command
FORBIDDEN = (5).to_bytes(4, "little")  # its status when it was refused for want of rights


JOB = """
apiVersion: elastic.iml.github.io/v1alpha1
kind: ElasticJob
metadata: {name: NAME, namespace: PROJECT}
spec:
  distributionStrategy: AllreduceStrategy
  replicaSpecs:
    worker:
      replicas: 1
      template:
        spec:
          containers:
            - name: main
              stdin: true
              command: [sleep, "600"]
              resources: {requests: {cpu: 1, memory: 64Mi}}
"""


@dataclass
class Things:
    """What stands at the {} of a path."""

    job: int
    id: str
    name: str
    owner: str
    key: str
    token: str
    pod: str
    entries: dict[str, str]  # of the catalogue, by what a path of DLC begins with


class World:
    def __init__(self, server: Server) -> None:
        self.server = server
        self.address = urlsplit(server.info()["address"])
        self.connection = HTTPConnection(
            str(self.address.hostname), self.address.port, timeout=patience()
        )
        self.n = 0
        self.post("/v1/catalogue", f"kind: workspace\nname: {PROJECT}\n")
        self.post("/v1/catalogue", "kind: dataset\nname: digits\nuri: file:///tmp\n")
        for name, role, projects in (
            ("ada", "admin", []),
            (OWNER, "user", [PROJECT]),
            ("mia", "user", [PROJECT]),
            ("xena", "user", []),
            ("rolf", "user", [PROJECT]),  # a reader below
            ("rita", "reader", [PROJECT]),
            ("rex", "reader", []),
            ("gone", "user", [PROJECT]),
            ("dora", "user", [PROJECT]),
        ):
            self.post("/v1/users", json.dumps({"name": name, "role": role, "projects": projects}))
        self.token = {name: self.new_token(name)["token"] for name in [*ASKED, "gone", "dora"]}
        self.standing: dict[str, Things] = {}
        for owner in (OWNER, "rolf"):
            self.standing[owner] = self.things(owner)
        for owner in self.standing:
            for plural in KEPT:
                self.keep(plural, owner)
        space = f"/api/v1/namespaces/{PROJECT}"  # its labels are whose who sets them first
        body = '{"metadata": {"labels": {"a": "b"}}}'
        kind = {**KUBE, "Content_Type": "application/merge-patch+json"}
        self.send(self.token[OWNER], "PATCH", space, body, **kind).good()
        server.api("PATCH", "/v1/users/rolf", '{"role": "reader"}').good()
        self.bad = {"none": None, "nonsense": "x" * 43, "removed": self.token["gone"]}
        server.api("DELETE", "/v1/users/gone").good()
        self.bad["disabled"] = self.token["dora"]
        server.api("PATCH", "/v1/users/dora", '{"disabled": true}').good()
        for name in ("gone", "dora"):
            del self.token[name]
        revoked = self.new_token(OWNER)
        server.api("DELETE", f"/v1/tokens/{revoked['id']}").good()
        self.bad["revoked"] = revoked["token"]
        self.bad["ticket"], self.bad["link"] = self.tickets(self.standing[OWNER])
        self.bad["expired"] = self.new_token(OWNER, expires_s=1)["token"]
        wait_for(
            lambda: self.send(self.bad["expired"], "GET", "/v1/jobs").status == 401,
            what="the token to expire",
        )

    def post(self, path: str, body: str) -> Any:
        return self.server.api("POST", path, body).good().json()

    def new_token(self, owner: str, **more: Any) -> Json:
        made: Json = self.post("/v1/tokens", json.dumps({"owner": owner, **more}))
        return made

    def keep(self, plural: str, owner: str) -> None:
        group, kind = KEPT[plural]
        base = "/api/v1" if group == "v1" else f"/apis/{group}"
        body = {"apiVersion": group, "kind": kind, "metadata": {"name": f"kept-{owner}"}}
        path = f"{base}/namespaces/{PROJECT}/{plural}"
        reply = self.send(self.token[owner], "POST", path, json.dumps(body), **KUBE)
        assert reply.status in (201, 409), reply.text

    def entry(self, kind: str, owner: str) -> str:
        self.n += 1
        name = {"codesources": "DisplayName"}.get(kind, "Name")
        body = json.dumps({name: f"e{self.n}", **ENTRIES[kind]})
        said = {"x_acs_version": Dlc.VERSION["AIW"], "x_acs_bearer_token": self.token[owner]}
        made = self.send(None, "POST", f"/api/v1/{kind}", body, **said).good().json()
        return str(next(v for k, v in made.items() if k.endswith("Id") and k != "RequestId"))

    def tickets(self, of: Things) -> tuple[str, str]:
        """Tokens that somebody else was given to look at one job: of DLC, and a link of OpenPAI
        to its output. They are no tokens of their owner's."""
        said = {"x_acs_version": Dlc.VERSION["DLC"], "x_acs_bearer_token": self.token[OWNER]}
        dlc = f"/api/v1/tokens?TargetType=job&TargetId=dlc{of.id}"
        task = f"{OWNER}~{of.name}/attempts/0/taskRoles/worker/taskIndex/0/attempts/0/logs"
        pai = self.send(self.token[OWNER], "GET", f"/rest-server/api/v2/jobs/{task}").good().text
        link = re.search(r"token=([\w-]+)", pai)
        assert link
        return self.send(None, "GET", dlc, **said).good().json()["Token"], link[1]

    def space(self, token: str | None) -> str:
        """A workspace that may go: the one that all have a part in is needed yet."""
        if self.name_of(token) != "ada":
            return PROJECT
        self.n += 1
        self.post("/v1/catalogue", f"kind: workspace\nname: space{self.n}\n")
        return f"space{self.n}"

    def new_user(self) -> str:
        self.n += 1
        self.post("/v1/users", json.dumps({"name": f"user{self.n}"}))
        return f"user{self.n}"

    def things(self, owner: str, *, job: bool = True) -> Things:
        """A job that runs (else the standing one), an access key, a token, entries. A reader has
        made no more than was there before."""
        if owner == "rolf" and "rolf" in self.standing:
            return replace(self.standing[owner], token=self.new_token(owner)["id"])
        key = self.post("/v1/keys", json.dumps({"owner": owner}))["id"]
        token = self.new_token(owner)["id"]
        entries = {kind: self.entry(kind, owner) for kind in ENTRIES}
        if not job:
            old = self.standing[owner]
            return replace(old, key=key, token=token, entries=entries)
        self.n += 1
        name = f"{owner}-{self.n}"
        text = JOB.replace("NAME", name).replace("PROJECT", PROJECT)
        made = self.send(self.token[owner], "POST", "/v1/jobs", text).good().json()
        self.server.wait(made["number"], "running")
        pod = f"{name}-edljob-worker-0"
        return Things(made["number"], made["id"], name, owner, key, token, pod, entries)

    def send(
        self, token: str | None, method: str, path: str, body: str | None = None, **headers: str
    ) -> Reply:
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            said["Authorization"] = f"Bearer {token}"
        try:
            return request(self.connection, method, path, body, said)
        except OSError:
            self.connection.close()
            raise

    def name_of(self, token: str | None) -> str:
        return next((name for name, text in self.token.items() if text == token), "")

    def upgrade(self, token: str | None, path: str, protocol: str, agent: str = "x") -> int:
        """The status, or what a protocol that was agreed on said in the end; of an answer that
        does not end, too."""
        with socket.create_connection(
            (str(self.address.hostname), self.address.port or 0), timeout=patience()
        ) as one:
            lines = [
                f"GET {path} HTTP/1.1",
                "Host: x",
                f"User-Agent: {agent}",
                "Connection: Upgrade",
                f"Upgrade: {protocol}",
                *([f"Authorization: Bearer {token}"] if token else []),
            ]
            one.sendall("".join(f"{line}\r\n" for line in [*lines, ""]).encode())
            said = b""
            while b"\r\n\r\n" not in said:
                said += one.recv(4096)
            status = int(said.split()[1])
            said = said.split(b"\r\n\r\n", 1)[1]
            while status == 101:
                while len(said) < 4 or len(said) < 4 + (size := int.from_bytes(said[:4], "little")):
                    said += one.recv(4096) or pytest.fail("the connection ended early")
                if said[4] == EXIT:
                    return 403 if said[size : size + 4] == FORBIDDEN else status
                said = said[4 + size :]
            return status


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    flags = ("--roots", "nas://x.cn-hangzhou/=/tmp", "--slurm-prefix", "none")
    server = Server(nodes="2x64cpu,64Gi", flags=flags)
    try:
        server.start()
        yield World(server)
    finally:
        closed(server)


# ---- what is asked for: one class an interface ----


class Native:
    bad = dict.fromkeys(BAD_TOKENS, 401)
    expected = rights.NATIVE

    def rows(self, world: World) -> list[str]:
        paths = world.server.get("/v1/openapi.json")["paths"]
        return [f"{verb.upper()} {path}" for path, verbs in paths.items() for verb in verbs]

    def spoils(self, row: str) -> bool:
        return not row.startswith("GET") and bool(re.search(r"\{(job|key|token)\}", row))

    def spoils_job(self, row: str) -> bool:
        return "{job}" in row

    def body(self, row: str, world: World) -> str | None:
        world.n += 1
        return {
            "POST /v1/jobs": native("new", "true"),
            "POST /v1/explain": native("new", "true"),
            "POST /v1/catalogue": f"kind: workspace\nname: space{world.n}\n",
            "POST /v1/users": json.dumps({"name": f"user{world.n}"}),
            "PATCH /v1/users/{user}": '{"email": "e@example.org"}',
            "POST /v1/jobs/{job}/logs": "{}",
        }.get(row, "{}" if row.startswith("POST /v1/") else None)

    def ask(self, world: World, row: str, token: str | None, of: Things) -> int:
        method, path = row.split()
        values = {
            "job": of.job,
            "pod": of.pod,
            "kind": "workspaces",
            "name": world.space(token),
            "hash": "0" * 64,
            "queue": "default",
            "node": "n1",
            "machine": "m1",
            "pilot": "p1",
            "user": world.new_user() if row.startswith("DELETE") else of.owner,
            "key": of.key,
            "token": of.token,
            "secret": "none",
            "member": "none",
        }
        path = re.sub(r"\{(\w+)\}", lambda m: quote(str(values[m[1]])), path)
        query = {
            "POST /v1/jobs": "?dry_run=1",
            "POST /v1/jobs/{job}/signal": "?signal=USR1",
            "PUT /v1/jobs/{job}/board": "?key=k",
            "DELETE /v1/catalogue/{kind}/{name}": "",
        }.get(row, "")
        if row.endswith("/exec"):
            return world.upgrade(token, f"{path}?task=worker/0&arg=true", "muster-exec/1")
        return world.send(token, method, path + query, self.body(row, world)).status


class OpenPai:
    """Rows of src/api/openpai/routes.c."""

    bad = dict.fromkeys(BAD_TOKENS, 401)
    expected = rights.OPENPAI
    ROW = re.compile(
        r'^\s+(?:\{ )?(GET|PUT|POST|DELETE|"\*")(?:, |\()PAI_(V1|V2|BOTH), (TASK)? ?"?([^",]*)"?,',
        re.M,
    )

    def rows(self, world: World) -> list[str]:
        text = (ROOT / "src/api/openpai/routes.c").read_text()
        table = text.split("routes[] = {")[1].split("};")[0]
        task = re.search(r'#define TASK "(.*)"', text)
        assert task
        found = []
        for verb, version, before, path in self.ROW.findall(table):
            for v in {"V1": "1", "V2": "2", "BOTH": "12"}[version]:
                whole = (task[1] if before else "") + path
                found.append(f"{verb.strip(chr(34))} {v} {whole}".strip())
        assert len(self.ROW.findall(table)) == table.count(" pai_")
        return found

    def spoils(self, row: str) -> bool:
        return not row.startswith("GET") and bool(re.search(r"(jobs|token|tokens)/\{\}", row))

    def spoils_job(self, row: str) -> bool:
        return "jobs" in row

    def ask(self, world: World, row: str, token: str | None, of: Things) -> int:
        verb, version, *rest = row.split()
        path = rest[0] if rest else ""
        world.n += 1
        values: Iterator[str] = iter([])
        if path.endswith("logout") and world.name_of(token):  # it ends with its token
            token = world.new_token(world.name_of(token))["token"]
        if path.startswith("user/{}/jobs") or path.startswith("jobs/{}/jobs"):
            values = iter([of.owner, of.name, *"000"])
        elif path.startswith("jobs/{}"):
            task = "taskRoles" in path
            values = iter([f"{of.owner}~{of.name}", "0", *(["worker"] if task else []), *"000"])
        elif path.startswith(("user", "users")):
            values = iter(
                [world.new_user() if verb == "DELETE" and path.endswith("{}") else of.owner]
            )
        elif path.startswith("token"):
            values = iter([of.token])
        elif path.startswith("group"):
            values = iter([PROJECT])
        elif path.startswith("virtual"):
            values = iter(["default"])
        elif path.startswith("storage"):
            values = iter(["digits"])
        path = re.sub(r"\{\}", lambda m: quote(str(next(values)), safe="~"), path)
        body: Any = {}
        if path.endswith("/tag"):
            body = {"value": "t"}
        elif path.endswith("executionType"):
            body = {"value": "STOP"}
        elif path.endswith("email"):
            body = {"data": {"email": "e@example.org"}}
        elif path in ("user/me", "users/me"):
            body = {"data": {"username": world.name_of(token), "email": "e@example.org"}}
        elif verb == "POST" and path in ("user", "users"):
            body = {"username": f"pai{world.n}", "password": "secret-secret"}
        text = json.dumps(body) if verb in ("POST", "PUT") or path.endswith("/tag") else None
        kind = {"Content-Type": "application/json"} if text else {}
        verb = "GET" if verb == "*" else verb
        path = f"/rest-server/api/v{version}/{path}".rstrip("/")
        return world.send(token, verb, path, text, **kind).status


class Dlc:
    """Rows of src/api/dlc/ops.c."""

    # A token that is no token at all says nothing of who asks: the request lacks an access key.
    bad = {**dict.fromkeys(BAD_TOKENS, 401), "none": 400}
    expected = rights.DLC
    ROW = re.compile(r'^    (DLC|AIW)\("(\w+)", "(\w+)", "([^"]*)"', re.M)
    VERSION = {"DLC": "2020-12-03", "AIW": "2021-02-04"}

    def table(self) -> dict[str, tuple[str, str, str]]:
        text = (ROOT / "src/api/dlc/ops.c").read_text().split("ops[] = {")[1]
        found = {name: (kind, verb, path) for kind, name, verb, path in self.ROW.findall(text)}
        assert len(found) == text.count("    DLC(") + text.count("    AIW(")
        return found

    def rows(self, world: World) -> list[str]:
        return list(self.table())

    def spoils(self, row: str) -> bool:
        _, verb, path = self.table()[row]
        return verb != "GET" and path.startswith(("jobs/{}", *(f"{e}/{{}}" for e in ENTRIES)))

    def spoils_job(self, row: str) -> bool:
        return self.table()[row][2].startswith("jobs")

    def ask(self, world: World, row: str, token: str | None, of: Things) -> int:
        kind, verb, path = self.table()[row]
        world.n += 1
        values = iter(["none"] * 3)
        if path.startswith("jobs/{}"):
            values = iter([f"dlc{of.id}", f"dlc{of.id}-worker-0", "none"])
        elif path.startswith("workspaces/{}"):
            space = world.space(token) if row == "DeleteWorkspace" else PROJECT
            values = iter([space, of.owner, "PAI.AlgoDeveloper"])
        elif path.startswith(tuple(ENTRIES)):
            values = iter([of.entries[path.split("/")[0]], "none"])
        path = re.sub(r"\{\}", lambda m: next(values), path)
        query = {
            "GetToken": f"?TargetType=job&TargetId=dlc{of.id}",
            "DeleteMembers": f"?MemberIds={'none' if world.name_of(token) == 'ada' else of.owner}",
            "GetMember": f"?UserId={of.owner}",
        }.get(row, "")
        tagged = {"ResourceType": "job", "ResourceId": [f"dlc{of.id}"]}
        body: Any = {
            "CreateSignal": {"Signal": "USR1"},
            "UpdateJob": {"Description": "x"},
            "CreateJob": {"DisplayName": f"dlc{world.n}"},
            "CreateWorkspace": {"WorkspaceName": f"space{world.n}", "Description": "x"},
            "CreateMember": {"Members": [{"UserId": of.owner, "Roles": ["PAI.AlgoDeveloper"]}]},
            "TagResources": {**tagged, "Tag": [{"Key": "a", "Value": "b"}]},
            "UntagResources": {**tagged, "TagKey": ["a"]},
            "CreateTensorboard": {"JobId": f"dlc{of.id}"},
        }.get(row, {})
        said = {"x_acs_version": self.VERSION[kind], "Content_Type": "application/json"}
        if token:
            said["x_acs_bearer_token"] = token
        text = json.dumps(body) if verb != "GET" else None
        return world.send(None, verb, f"/api/v1/{path}{query}", text, **said).status


class Kubectl:
    """Rows of the discovery documents."""

    bad = dict.fromkeys(BAD_TOKENS, 401)
    expected = rights.KUBECTL
    METHODS = {
        "get": "GET",
        "list": "GET",
        "watch": "GET",
        "create": "POST",
        "update": "PUT",
        "patch": "PATCH",
        "delete": "DELETE",
        "deletecollection": "DELETE",
    }

    def groups(self, world: World) -> dict[str, str]:
        ada = world.token["ada"]
        found = {"v1": "/api/v1"}
        for group in world.send(ada, "GET", "/apis", **KUBE).good().json()["groups"]:
            for version in group["versions"]:
                found[version["groupVersion"]] = f"/apis/{version['groupVersion']}"
        return found

    def rows(self, world: World) -> list[str]:
        ada = world.token["ada"]
        return [
            f"{verb} {resource['name']}"
            for path in self.groups(world).values()
            for resource in world.send(ada, "GET", path, **KUBE).good().json()["resources"]
            for verb in resource["verbs"]
        ]

    def resources(self, world: World) -> dict[str, tuple[str, str, Json]]:
        ada = world.token["ada"]
        return {
            resource["name"]: (group, path, resource)
            for group, path in self.groups(world).items()
            for resource in world.send(ada, "GET", path, **KUBE).good().json()["resources"]
        }

    def spoils(self, row: str) -> bool:
        return row in ("delete elasticjobs", "update elasticjobs", "patch elasticjobs")

    def spoils_job(self, row: str) -> bool:
        return True

    def ask(self, world: World, row: str, token: str | None, of: Things) -> int:
        verb, name = row.split()
        if not hasattr(self, "known"):
            self.known = self.resources(world)
        group, base, resource = self.known[name.split("/")[0]]
        world.n += 1
        path = f"{base}/namespaces/{PROJECT}" if resource["namespaced"] else base
        plural, _, sub = name.partition("/")
        path += f"/{plural}"
        body: Any = None
        if verb not in ("list", "watch", "create", "deletecollection"):
            path += f"/{self.named(world, plural, of)}" + (f"/{sub}" if sub else "")
        if verb in ("create", "update"):
            body = {
                "apiVersion": group,
                "kind": resource["kind"],
                "metadata": {
                    "name": f"made{world.n}" if verb == "create" else self.named(world, plural, of)
                },
            }
        elif verb == "patch":
            body = {"metadata": {"labels": {"a": f"b{world.n}"}}}
        if plural in KEPT:  # who may, may remove it
            world.keep(plural, OWNER)
        said = {**KUBE, "Content_Type": "application/merge-patch+json"} if verb == "patch" else KUBE
        if verb == "watch":
            return world.upgrade(token, f"{path}?watch=1&resourceVersion=1", "none", "kubectl")
        if verb == "deletecollection" and world.name_of(token) in ("ada", OWNER):
            path += "?labelSelector=none=here"  # what they may remove is needed yet
        return world.send(
            token, self.METHODS[verb], path, json.dumps(body) if body else None, **said
        ).status

    def named(self, world: World, plural: str, of: Things) -> str:
        if plural == "elasticjobs":
            return of.name
        if plural in ("pods", "events"):
            return of.pod
        return {"nodes": "n1", "namespaces": PROJECT}.get(plural, f"kept-{of.owner}")


ENDS_ALL = {"POST /v1/server/stop"}
INTERFACES: dict[str, Any] = {
    "native": Native(),
    "openpai": OpenPai(),
    "dlc": Dlc(),
    "kubectl": Kubectl(),
}


def met(status: int, expected: int) -> bool:
    return status not in (401, 403, 404) if expected == rights.OK else status == expected


@pytest.mark.parametrize("name", INTERFACES)
def test_every_operation_has_an_expectation(world: World, name: str) -> None:
    face = INTERFACES[name]
    rows = face.rows(world)
    assert len(rows) == len(set(rows)) > 50
    assert not set(rows) - set(face.expected), "operations that rights.py says nothing of"
    assert not set(face.expected) - set(rows), "operations that are no more"


@pytest.mark.parametrize("name", INTERFACES)
def test_who_may_what(world: World, name: str) -> None:
    """Those who may not first: what they asked for is then still there for those who may."""
    face, wrong = INTERFACES[name], []
    for row in sorted(set(face.rows(world)) - ENDS_ALL):
        for who, expected in reversed(list(zip(ASKED, face.expected[row], strict=True))):
            of = world.standing[ASKED[who]]
            if expected == rights.OK and face.spoils(row):
                of = world.things(ASKED[who], job=face.spoils_job(row))
            status = face.ask(world, row, world.token[who], of)
            if not met(status, expected):
                wrong.append(f"{row}: {who} about {of.owner}'s: {status}, not {expected}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", INTERFACES)
def test_bad_tokens_open_nothing(world: World, name: str) -> None:
    face, wrong = INTERFACES[name], []
    for row in sorted(set(face.rows(world)) - rights.OPEN):
        for bad, token in world.bad.items():
            status = face.ask(world, row, token, world.standing[OWNER])
            if status != face.bad[bad]:
                wrong.append(f"{row}: {bad}: {status}, not {face.bad[bad]}")
    assert not wrong, "\n".join(wrong)


def task_of(world: World, who: str, **fields: Any) -> tuple[str, Things]:
    """The token of a job of theirs that runs, and what it is."""
    world.n += 1
    text = native(f"task-{world.n}", "echo $MUSTER_JOB_TOKEN; exec sleep 600", **fields)
    made = world.send(world.token[who], "POST", "/v1/jobs", text).good().json()
    number = made["number"]
    world.server.wait(number, "running")
    token = wait_for(lambda: world.server.log(number).strip())
    return token, replace(world.standing[OWNER], job=number, id=made["id"], name=made["name"])


def marked(world: World, mark: str) -> set[str]:
    paths = world.server.get("/v1/openapi.json")["paths"]
    return {
        f"{verb.upper()} {path}"
        for path, verbs in paths.items()
        for verb, told in verbs.items()
        if mark in told
    }


@pytest.mark.parametrize("server", ["own-job", "submit"])
@pytest.mark.parametrize("who", [OWNER, "ada"])
def test_what_programs_of_jobs_may(world: World, who: str, server: str) -> None:
    """Of their own job, of another one of their owner and of somebody else's: also where the owner
    is an admin."""
    face, wrong = Native(), []
    rows = sorted(set(face.rows(world)) - rights.OPEN - {"GET /login", "GET /v1/agents"})
    assert marked(world, "x-muster-of-job") == rights.OF_JOB
    assert marked(world, "x-muster-of-submitting-job") == rights.OF_SUBMITTING_JOB
    more = rights.OF_SUBMITTING_JOB if server == "submit" else set()
    may = {"own": rights.OF_JOB | more, "its owner's": more}
    token, own = task_of(world, who, server=server)
    for row in rows:
        for whose in ("another's", "its owner's", "own"):
            about = {"own": own, "its owner's": world.standing[OWNER]}.get(whose)
            if who != OWNER and whose == "its owner's":
                continue
            about = about or world.standing["rolf"]
            good = row in may.get(whose, set()) or ("{job}" not in row and row in more)
            if good and whose == "its owner's" and face.spoils(row):
                about = task_of(world, who)[1]
            status = face.ask(world, row, token, about)
            if not met(status, rights.OK if good else 403):
                wrong.append(f"{row}: {whose} job: {status}")
        if row in may["own"] and face.spoils(row):
            token, own = task_of(world, who, server=server)
    assert not wrong, "\n".join(wrong)


def test_what_ends_all_is_for_admins(world: World) -> None:
    for row in ENDS_ALL:
        for who, expected in zip(ASKED, rights.NATIVE[row], strict=True):
            if expected != rights.OK:
                status = Native().ask(world, row, world.token[who], world.standing[OWNER])
                assert status == expected, (row, who)
    assert world.server.running()


def test_lists_have_what_one_may_read(world: World) -> None:
    """Each interface's list of jobs, asked by everybody: the owner's job is in it, or is not."""
    for who, expected in zip(ASKED, rights.READS_JOB, strict=True):
        of = world.standing[ASKED[who]]
        token = world.token[who]
        dlc = {"x_acs_version": "2020-12-03", "x_acs_bearer_token": token}
        kube = "/apis/elastic.iml.github.io/v1alpha1/elasticjobs"
        for said in (
            world.send(token, "GET", "/v1/jobs?limit=1000"),
            world.send(token, "GET", "/v1/events?limit=10000"),
            world.send(token, "GET", "/v1/pods"),
            world.send(token, "GET", "/rest-server/api/v1/jobs"),
            world.send(token, "GET", "/rest-server/api/v2/jobs?limit=5000"),
            world.send(None, "GET", "/api/v1/jobs?PageSize=100&ShowOwn=false", **dlc),
            world.send(token, "GET", kube, **KUBE),
            world.send(token, "GET", "/api/v1/pods", **KUBE),
        ):
            there = re.search(rf"\b({of.name}|{of.id})\b", said.good().text) is not None
            assert there == (expected == rights.OK), (who, of, said.text[:300])
