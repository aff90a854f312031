"""Another user's job does not exist for one: no answer of any interface says what it is called,
what it runs, whose it is or what its number is, also where it is why one's own job waits. All
routes of all interfaces are asked, as their tables have them, so that a new one is asked too; the
other user's jobs have one word in everything that can be named."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from conftest import closed
from harness import (
    ROOT,
    Json,
    Reply,
    Server,
    Stream,
    environment,
    kubectl,
    muster,
    native,
    node,
    patience,
    request,
    with_query,
)

WORD = "zyzzyva"
OTHER = f"{WORD}-user"
ME = "mine"
HIDDEN = "another user's job"
ABSENT = "999999"


@dataclass
class World:
    server: Server
    address: str
    tokens: dict[str, str]
    mine: dict[str, Json] = field(default_factory=dict)  # answers to submissions, by name
    theirs: dict[str, Json] = field(default_factory=dict)

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.address, timeout=30)

    def call(
        self, who: str, method: str, path: str, body: str | None = None, **headers: str
    ) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if "x-acs-bearer-token" not in named:
            named["Authorization"] = f"Bearer {self.tokens[who]}"
        with contextlib.closing(self.connect()) as wire:
            return request(wire, method, path, body, named)

    def get(self, who: str, path: str, **query: str) -> Any:
        return self.call(who, "GET", with_query(path, query)).good().json()

    def submit(self, who: str, text: str, **query: str) -> Json:
        path = with_query("/v1/jobs", query)
        made: Json = self.call(who, "POST", path, text).good().json()
        (self.theirs if who == OTHER else self.mine)[made["name"]] = made
        return made

    def muster(self, *args: str) -> str:
        env = {"MUSTER_SERVER": f"http://{self.address}", "MUSTER_TOKEN": self.tokens[ME]}
        done = muster(*args, env=env)
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout

    def reason(self, who: str, name: str) -> str:
        return str(self.get(who, f"/v1/jobs/{self.number(name)}").get("reason", ""))

    def number(self, name: str) -> int:
        return int((self.theirs.get(name) or self.mine[name])["number"])

    def wait(self, name: str, *states: str) -> None:
        self.server.wait(self.number(name), *states)


def gpus(count: float) -> Json:
    return {"cpu": 1, "memory": "64Mi", "gpu": count}


def theirs(name: str, replicas: int = 1, **fields: Any) -> str:
    """The word in everything that has a name."""
    worker = {
        "run": f"echo {WORD}; exec sleep 600",
        "image": f"{WORD}/{WORD}:{WORD}",
        "env": {WORD.upper(): WORD},
        "replicas": replicas,
        "resources": fields.pop("resources", gpus(0)),
    }
    said = {"project": WORD, "labels": {WORD: WORD}, "description": WORD}
    return json.dumps({"name": f"{WORD}-{name}", **said, **fields, "roles": {WORD: worker}})


def grant(server: Server, *projects: str) -> None:
    body = json.dumps({"projects": list(projects)})
    server.api("PATCH", f"/v1/users/{ME}", body).good()


def begin(server: Server) -> World:
    world = World(server, urlsplit(server.info()["address"]).netloc, {})
    for name in (OTHER, ME):
        server.api("POST", "/v1/users", json.dumps({"name": name})).good()
        body = json.dumps({"owner": name})
        world.tokens[name] = server.api("POST", "/v1/tokens", body).good().json()["token"]
    return world


def crowd(w: World) -> None:
    """Mine waits for theirs in every way that there is; what I could read when I submitted mine I
    may not read now."""
    sleep = "exec sleep 600"
    low = {"priority": 1, "limits": {"grace": "1s"}}
    grant(w.server, WORD)
    w.submit(ME, native("evicted", sleep, 2, resources=gpus(4), preemptible=True, **low))
    w.wait("evicted", "running")
    w.submit(OTHER, theirs("high", resources=gpus(4), priority=9, limits={"run_time": "1h"}))
    w.wait(f"{WORD}-high", "running")
    w.submit(OTHER, theirs("big", 2, resources=gpus(4), priority=6))
    for n in range(2):
        w.submit(OTHER, theirs(f"next{n}", 2, resources=gpus(4), priority=5))
    w.submit(ME, native("reserved", sleep, resources=gpus(2), priority=4))
    w.submit(ME, native("behind", sleep, 2, resources=gpus(4), priority=4))
    w.submit(ME, native("late", sleep, resources=gpus(3), priority=4, limits={"pending": "0.2"}))
    w.wait("late", "failed")
    high = w.number(f"{WORD}-high")
    w.submit(ME, native("after", sleep, after=[{"job": high, "ended": "any"}]))
    w.submit(OTHER, theirs("gone"))
    w.submit(ME, native("never", sleep, after=[{"job": w.number(f"{WORD}-gone")}]))
    w.call(OTHER, "POST", f"/v1/jobs/{w.number(f'{WORD}-gone')}/stop?now=1").good()
    w.wait("never", "failed")
    w.submit(
        OTHER, theirs("held", suspend=True, project="open", gang=[{"name": "h", "roles": WORD}])
    )
    gang = {"name": "g", "roles": "worker", "with": ["open/h"]}
    w.submit(ME, native("bundle", sleep, project="open", gang=[gang]))
    pair = [{"name": "one", "roles": WORD, "with": "open/two"}]
    w.submit(OTHER, theirs("pair", 2, resources=gpus(4), project="open", gang=pair, priority=3))
    pair = [{"name": "two", "roles": "worker", "with": "open/one"}]
    w.submit(ME, native("pair", sleep, project="open", gang=pair, priority=3))
    w.submit(ME, native("replaced", sleep, suspend=True))
    grant(w.server)
    more = w.server.submit("", like=w.number("replaced"), replace=1, name="theirs-instead")
    w.theirs["instead"] = w.server.job(more)


def foreign(w: World) -> None:
    """Jobs of both, submitted through the other front ends."""
    for who, word in ((OTHER, WORD), (ME, "own")):
        size = {"CPU": "1", "Memory": "64Mi"}
        spec = {"Type": "Worker", "Image": f"{word}/x", "PodCount": 1, "ResourceConfig": size}
        dlc = {
            "DisplayName": f"{word}-dlc",
            "JobType": "PyTorchJob",
            "UserCommand": f"echo {word}; sleep 600",
            "JobSpecs": [spec],
            "Settings": {"Tags": {word: word}},
        }
        role = {
            "instances": 1,
            "dockerImage": "i",
            "resourcePerInstance": {"cpu": 1, "memoryMB": 64, "gpu": 0},
            "commands": [f"echo {word}; sleep 600"],
        }
        pai = {
            "protocolVersion": 2,
            "name": f"{word}-pai",
            "type": "job",
            "prerequisites": [{"name": "i", "type": "dockerimage", "uri": f"{word}/x"}],
            "taskRoles": {word if who == OTHER else "worker": role},
        }
        container = {"name": "main", "image": f"{word}/x", "command": ["sleep", "600"]}
        template = {"metadata": {"labels": {word: word}}, "spec": {"containers": [container]}}
        elastic = {
            "apiVersion": "elastic.iml.github.io/v1alpha1",
            "kind": "ElasticJob",
            "metadata": {"name": f"{word}-elastic", "labels": {word: word}},
            "spec": {
                "distributionStrategy": "AllreduceStrategy",
                "replicaSpecs": {"worker": {"replicas": 1, "template": template}},
            },
        }
        for text in (dlc, pai, elastic):
            w.submit(who, json.dumps(text))
            # of one name in one namespace, mine is older than theirs
        w.submit(who, json.dumps({**elastic, "metadata": {"name": "same"}}))
    w.mine["same"], w.theirs["same"] = w.mine.pop("same"), w.theirs.pop("same")


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    server = Server(nodes="2x64cpu,64Gi,4gpu", flags=("--kubectl-http", "on", "--python", "none"))
    try:
        server.start()
        w = begin(server)
        foreign(w)
        crowd(w)
        yield w
    finally:
        closed(server)


def whole(reply: Reply) -> str:
    return "\n".join([*reply.headers.values(), reply.text])


def test_reasons(world: World) -> None:
    """Who may read the other job is told as ever; who may not still knows why."""
    w = world
    big, high, gone, held = (w.number(f"{WORD}-{name}") for name in ("big", "high", "gone", "held"))
    promised = "there is room, and {} was promised it"
    both = {
        "reserved": (promised, f"job {big} ({WORD}-big)"),
        "after": ("waits for {} to end: it is running", f"job {high} ({WORD}-high)"),
        "never": ("waited for {} to end well, and it has stopped", f"job {gone} ({WORD}-gone)"),
        "bundle": (
            "starts together with gang open/h: {} is suspended",
            f"job {held} ({WORD}-held)",
        ),
        "replaced": ("replaced by {}", f"job {w.number('instead')} (theirs-instead)"),
    }
    for name, (text, job) in both.items():
        assert w.reason(ME, name) == text.format(HIDDEN)
        assert w.server.job(w.number(name))["reason"] == text.format(job)
    assert w.reason(ME, "pair").endswith(f"together with others, and {HIDDEN} has no room")
    assert f"together; {WORD}-pair: " in w.server.job(w.number("pair"))["reason"]
    late = "did not start within its pending limit: "
    assert w.reason(ME, "late") == late + promised.format(HIDDEN)
    for who, job in ((ME, HIDDEN), ("", f"job {high} ({WORD}-high)")):
        path = f"/v1/jobs/{w.number('evicted')}/events"
        events = (w.get(who, path) if who else w.server.get(path))["events"]
        (event,) = (e for e in events if e["type"] == "restart")
        assert event["text"] == f"makes room for {job}"
        assert event.get("body", {}).get("evicted_for") == (None if who else high)


def test_reasons_are_not_guessed(world: World) -> None:
    """What is hidden in a reason is not found out by searching for it."""
    w = world
    headers = {"x_acs_version": "2020-12-03", "x_acs_bearer_token": w.tokens[ME]}
    found = {}
    for text in ("was promised it", f"{WORD}-big"):
        path = with_query("/api/v1/jobs", {"ReasonSearch": text, "PageSize": "50"})
        jobs = w.call(ME, "GET", path, **headers).good().json()["Jobs"]
        found[text] = {job["DisplayName"] for job in jobs}
    assert "late" in found["was promised it"] and not found[f"{WORD}-big"]


def test_explained(world: World) -> None:
    w = world
    e = w.get(ME, f"/v1/jobs/{w.number('behind')}/explain")
    names = [job["name"] for job in e["ahead_jobs"]]
    assert names == [HIDDEN] * 3 + ["reserved"] and e["ahead"] == 4
    assert [("number" in job) for job in e["ahead_jobs"]] == [False] * 3 + [True]
    e = w.get(ME, f"/v1/jobs/{w.number('reserved')}/explain")
    assert e["blocker"] == {"name": HIDDEN} and e["why"] == "reserved" and e["expected_ms"]
    queue = w.get(ME, "/v1/queues/default")["queues"][0]
    assert queue["first"]["name"] == HIDDEN and not {"number", "owner", "reason"} & {
        *queue["first"]
    }
    assert [user["name"] for user in queue["users"]] == [ME, "other users"]
    assert queue["users"][1]["held"]["gpu_milli"] == 4000
    said = w.muster("explain", "behind")
    assert "3 other users' jobs and " in said and "when " in said, said
    assert f"{HIDDEN}\n" in w.muster("queues")
    assert f"{w.number(f'{WORD}-big')} {WORD}-big: " in w.server.muster("queues").stdout


def test_whom_to_wait_for(world: World) -> None:
    """A job that one may not read cannot be waited for, as one that is not there."""
    w = world
    high = w.number(f"{WORD}-high")
    said = []
    for job in (high, f"{WORD}-high", 999999, "absent"):
        text = native("asks", after=[{"job": job}])
        reply = w.call(ME, "POST", "/v1/jobs?dry_run=1", text)
        assert reply.status == 400
        said.append(reply.text.replace(str(job), "X"))
    assert said[0] == said[2] and said[1] == said[3]
    own = w.submit(ME, native("two-of-it", "exec sleep 600"))
    w.submit(OTHER, native("two-of-it", "exec sleep 600"))  # the newest of that name
    asked = w.submit(ME, native("asks", after=[{"job": "two-of-it"}]))
    assert (
        f"waits for job {own['number']} (two-of-it)"
        in w.get(ME, f"/v1/jobs/{asked['number']}")["reason"]
    )


# ---- the sweep ----


@dataclass
class Part:
    """What stands at a place of a path: of mine, and of theirs beside what never was."""

    mine: list[str]
    pairs: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Route:
    method: str
    parts: Sequence[str | Part]
    headers: dict[str, str] = field(default_factory=dict)
    query: list[str] = field(default_factory=list)

    def path(self, i: int = 0, at: Part | None = None, text: str = "") -> str:
        """Each part by the i-th of mine, one of them by `text`."""
        said = [
            one
            if isinstance(one, str)
            else quote(text if one is at else one.mine[min(i, len(one.mine) - 1)], safe="~/")
            for one in self.parts
        ]
        return "/".join(said)

    def of_mine(self) -> list[str]:
        most = max((len(one.mine) for one in self.parts if isinstance(one, Part)), default=1)
        return [self.path(i) for i in range(most)]

    def of_theirs(self) -> Iterator[tuple[str, str, str, str]]:
        """Two paths, one of a job of theirs and one of no job; what they are called there."""
        for at in (one for one in self.parts if isinstance(one, Part)):
            for name, nobody in at.pairs:
                yield self.path(at=at, text=name), self.path(at=at, text=nobody), name, nobody


CHANGES = re.compile(r"[0-9a-f]{8}-[0-9A-Fa-f-]{27}|[0-9A-F]{8}-[0-9A-F-]{27}|\d\d:\d\d:\d\d")


def alike(reply: Reply, name: str) -> tuple[int, str]:
    called = re.escape(name.rpartition("/")[2])
    return reply.status, re.sub(rf"\b{called}\b", "X", CHANGES.sub("", reply.text))


def sweep(w: World, routes: list[Route]) -> int:
    asked = 0
    for route in routes:
        for path in route.of_mine() if route.method == "GET" else ():
            for more in ["", *route.query]:
                reply = w.call(ME, "GET", path + more, **route.headers)
                assert reply.status < 500, (path, reply.text)
                assert WORD not in whole(reply).lower(), (path + more, whole(reply))
                asked += reply.status == 200
        for theirs, absent, name, nobody in route.of_theirs():
            one = w.call(ME, route.method, theirs, **route.headers)
            other = w.call(ME, route.method, absent, **route.headers)
            assert alike(one, name) == alike(other, nobody), (route.method, theirs)
    return asked


def job_part(w: World, of: Callable[[Json], str], absent: str, *names: str) -> Part:
    names = names or ("high", "gone", "dlc")
    return Part(
        [
            of(w.mine[name])
            for name in ("reserved", "evicted", "never", "pair", "own-elastic", "own-dlc")
        ],
        [(of(w.theirs[f"{WORD}-{name}"]), absent) for name in names],
    )


def test_native_routes(world: World) -> None:
    w = world
    number = job_part(w, lambda job: str(job["number"]), ABSENT)
    number.pairs += [(w.theirs[f"{WORD}-high"][key], "absent") for key in ("id", "name")]
    pods = [pod["name"] for pod in w.get(ME, "/v1/pods")["pods"]]
    their_pods = [pod["name"] for pod in w.server.get("/v1/pods")["pods"] if WORD in pod["name"]]
    assert pods and their_pods
    parts = {
        "job": number,
        "pod": Part(pods, [(pod, "absent") for pod in their_pods]),
        "queue": Part(["default"]),
        "node": Part(["n1"]),
        "machine": Part(["m1"]),
        "pilot": Part(["p1"]),
        "kind": Part(["datasets", "workspaces", "images", "quotas"]),
        "name": Part(["x"]),
        "hash": Part(["0" * 64]),
        "user": Part([ME], [(OTHER, "absent")]),
        "key": Part(["LTAIx"]),
        "token": Part(["x"]),
        "secret": Part(["x"]),
        "member": Part(["x"]),
    }
    values = {
        "what_if": "priority=9",
        "owner": OTHER,
        "state": "running,queued",
        "task": "worker/0",
    }
    streams = ("follow", "wait")  # of which there is no end to be waited for
    routes = []
    for path, methods in w.server.get("/v1/openapi.json")["paths"].items():
        split = [parts[one[1:-1]] if one.startswith("{") else one for one in path.split("/")]
        for method, said in methods.items():
            named = [p["name"] for p in said["parameters"] if p["in"] == "query"]
            query = [f"?{name}={values.get(name, '1')}" for name in named if name not in streams]
            routes.append(Route(method.upper(), split, query=query))
    users = [r for r in routes if parts["user"] in r.parts and r.method != "GET"]
    routes = [route for route in routes if route not in users]  # no jobs
    assert sweep(w, routes) > 100
    for array in (number.pairs[0][0], ABSENT):
        reply = w.call(ME, "GET", f"/v1/jobs?array={array}")
        assert reply.status == 404 and WORD not in reply.text
    for how in ("", "&replace=1"):
        like = [w.call(ME, "POST", f"/v1/jobs?like={n}{how}") for n in number.pairs[0]]
        assert alike(like[0], number.pairs[0][0]) == alike(like[1], ABSENT)


def test_openpai_routes(world: World) -> None:
    w = world
    table = (ROOT / "src/api/openpai/routes.c").read_text()
    (task,) = re.findall(r'#define TASK "(.*)"', table)
    rows = re.findall(r'^    (GET|PUT|POST|DELETE)\((PAI_\w+), ("[^,]*|TASK[^,]*),', table, re.M)
    job = Part(
        [f"{ME}~{name}" for name in ("reserved", "evicted", "never", "own-pai")],
        [(f"{OTHER}~{WORD}-{name}", f"{OTHER}~absent") for name in ("high", "pai")],
    )
    named = Part([f"{ME}/jobs/own-pai"], [(f"{OTHER}/jobs/{WORD}-pai", f"{OTHER}/jobs/absent")])
    parts = {"jobs": job, "user": Part([ME]), "users": Part([ME]), "attempts": Part(["0"])}
    parts |= {"job-attempts": Part(["0"]), "taskRoles": Part(["worker"]), "taskIndex": Part(["0"])}
    parts |= {"virtual-clusters": Part(["default"])}
    free = Part(["x"])  # tokens, groups, storages: none there
    routes = []
    for method, versions, text in rows:
        plain = text.replace("TASK", f'"{task}"').replace('" "', "").replace('"', "")
        path = plain.replace("{}/jobs/{}", "named").split("/")
        split: list[str | Part] = ["/rest-server", "api", ""]
        for before, one in zip(["", *path], path, strict=False):
            split.append({"{}": parts.get(before, free), "named": named}.get(one, one))
        for version in ("v1", "v2"):
            if versions in ("PAI_BOTH", f"PAI_{version.upper()}"):
                routes.append(Route(method, [*split[:2], version, *split[3:]]))
    assert len(routes) > 100
    # without a job there is nothing to be hidden behind, and one's own is left alone
    routes = [r for r in routes if r.method == "GET" or job in r.parts or named in r.parts]
    assert sweep(w, routes) > 30


def test_dlc_routes(world: World) -> None:
    w = world
    table = (ROOT / "src/api/dlc/ops.c").read_text()
    versions = {"DLC": "2020-12-03", "AIW": "2021-02-04"}
    job = job_part(w, lambda job: f"dlc{job['id']}", "dlc0eawgmw2tb7k1")
    pod = Part([f"dlc{w.mine['own-dlc']['id']}-worker-0"])
    parts = {"jobs": job, "pods": pod}
    routes = []
    for service, method, path in re.findall(
        r'^    (DLC|AIW)\("\w+", "(\w+)", "([^"]*)"', table, re.M
    ):
        split: list[str | Part] = ["", "api", "v1"]
        for before, one in zip(["", *path.split("/")], path.split("/"), strict=False):
            split.append(parts.get(before, Part(["default"])) if one == "{}" else one)
        headers = {"x_acs_version": versions[service], "x_acs_bearer_token": w.tokens[ME]}
        routes.append(Route(method, split, headers))
    assert len(routes) > 70
    routes = [r for r in routes if r.method == "GET" or job in r.parts]
    assert sweep(w, routes) > 20


def test_kubectl_routes(world: World) -> None:
    w = world
    kube = {"User_Agent": "kubectl"}
    table = "application/json;as=Table;v=v1;g=meta.k8s.io, application/json"
    ours, groups = 0, ["/api/v1"]
    groups += [
        f"/apis/{version['groupVersion']}"
        for group in w.get(ME, "/apis")["groups"]
        for version in group["versions"]
    ]
    for group in groups:
        for resource in w.call(ME, "GET", group, **kube).good().json()["resources"]:
            plural = resource["name"]
            if "/" in plural:
                continue
            found = w.get(ME, f"{group}/{plural}")["items"]
            hidden = [
                one["metadata"]
                for one in w.server.get(f"{group}/{plural}")["items"]
                if WORD in json.dumps(one["metadata"]) and plural != "namespaces"
            ]
            names = [one["metadata"]["name"] for one in found] or ["x"]
            spaces = ["namespaces", "default"] if resource["namespaced"] else []
            routes = [Route("GET", [group, plural], {**kube, **h}) for h in ({}, {"Accept": table})]
            routes.append(Route("GET", [group, *spaces, plural, Part(names)]))
            for one in hidden[:2]:
                spaces = ["namespaces", one["namespace"]]
                pair = Part(["absent"], [(one["name"], "absent")])
                routes += [
                    Route(method, [group, *spaces, plural, pair, *more])
                    for method in ("GET", "DELETE", "PATCH", "PUT")
                    for more in ([], ["log"], ["status"])
                    if plural == "pods" or not more
                ]
            assert (plural in ("elasticjobs", "pods", "events")) == bool(hidden), plural
            ours += sweep(w, routes)
    assert ours > 30
    same = w.get(ME, "/api/v1/namespaces/default/pods")["items"]
    assert any(pod["metadata"]["name"].startswith("same-") for pod in same)


def test_streams(world: World) -> None:
    """What is told while it happens: until a job of mine that begins after theirs is told of."""
    w = world
    text = (
        "/v1/events?follow=1",
        "/apis/elastic.iml.github.io/v1alpha1/elasticjobs?watch=1",
        "/api/v1/pods?watch=1",
        "/api/v1/events?watch=1",
    )
    streams = []
    for path in text:
        wire = w.connect()
        wire.request("GET", path, headers={"Authorization": f"Bearer {w.tokens[ME]}"})
        streams.append(Stream(wire))
    w.submit(OTHER, theirs("later"))
    w.wait(f"{WORD}-later", "running")
    mine = w.submit(ME, native("marker", "exec sleep 600"))
    marks = (mine["id"], "marker")
    for stream in streams:
        with stream:
            for line in stream:
                said = json.dumps(line)
                assert WORD not in said.lower(), said
                if any(mark in said for mark in marks):
                    break


def test_command_line(world: World) -> None:
    w = world
    calls = ["ls --all -o wide", "queues default", "nodes"]
    calls += ["get pods", "get elasticjobs", "describe pod own-elastic-edljob-worker-0", "events"]
    calls += ["show never", "explain never", "events evicted"]
    for call in calls:
        said = w.muster(*call.split())
        assert WORD not in said.lower(), said


# ---- the real clients, which ask in ways of their own ----


def ran(*args: str | Path, stdin: str = "", **env: str) -> str:
    done = subprocess.run(
        [*map(str, args)],
        env={**environment(), **env},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=patience(60),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kubectl(world: World, tmp_path: Path) -> None:
    program = kubectl()
    if not program:
        pytest.skip("kubectl is not here: tools/setup clients")
    config = tmp_path / "config"
    config.write_text(world.server.muster("client-config", "kubectl", "--user", ME).stdout)
    for call in (
        "get elasticjobs,pods,events,nodes,namespaces -A -o wide",
        "get elasticjobs,pods -A -o yaml",
        "describe elasticjobs -A",
        "describe pods -A",
        "describe nodes",
        "get events -A",
    ):
        said = ran(program, *call.split(), KUBECONFIG=str(config), HOME=str(tmp_path))
        assert "own-elastic" in said or "n1" in said, call
        assert WORD not in said.lower(), (call, said)


def test_dlc_package(world: World) -> None:
    python = ROOT / "build/clients/dlc/bin/python"
    if not python.exists():
        pytest.skip("the package is not here: tools/setup clients")
    w = world
    key = w.server.api("POST", "/v1/keys", json.dumps({"owner": ME})).good().json()
    ids = [f"dlc{job['id']}" for job in w.mine.values()]
    hers = f"dlc{w.theirs[f'{WORD}-dlc']['id']}"
    calls: list[Any] = [["list"], *(["get", one] for one in ids), ["get", hers], ["stop", hers]]
    said = ran(
        python,
        ROOT / "tests/clients/dlc_calls.py",
        stdin="".join(json.dumps(call) + "\n" for call in calls),
        ENDPOINT=w.address,
        ALIBABA_CLOUD_ACCESS_KEY_ID=key["id"],
        ALIBABA_CLOUD_ACCESS_KEY_SECRET=key["secret"],
    ).splitlines()
    assert [json.loads(line) for line in said[-2:]] == [{"error": "NotFound"}] * 2
    assert all("value" in json.loads(line) for line in said[:-2])
    assert WORD not in "".join(said).lower()


def test_pai_package(world: World) -> None:
    modules = ROOT / "build/clients/npm/node_modules"
    program = node()
    if not program or not (modules / "@microsoft").is_dir():
        pytest.skip("the package is not here: tools/setup clients")
    cluster = {
        "rest_server_uri": f"{world.address}/rest-server",
        "username": ME,
        "token": world.tokens[ME],
        "https": False,
    }
    calls: list[Any] = [
        ["v2", "job.listJobs", [{}]],
        ["v2", "virtualCluster.listVirtualClusters", []],
    ]
    calls += [
        ["v2", "job.getJob", [ME, name]] for name in ("reserved", "after", "never", "evicted")
    ]
    calls += [["v2", "job.getJob", [OTHER, f"{WORD}-high"]]]
    said = ran(
        program,
        ROOT / "tests/clients/openpai.js",
        stdin=json.dumps({"cluster": cluster, "calls": calls}),
        NODE_PATH=str(modules),
    )
    answers = json.loads(said.splitlines()[-1])
    assert answers.pop()["error"]["data"]["code"] == "NoJobError"
    assert all("value" in one for one in answers), answers
    assert WORD not in json.dumps(answers).lower()
