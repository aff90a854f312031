"""The same jobs through the real clients: what one of them submitted, each of the others lists,
reads and stops, in its own words. A client that is not installed is left out, and said so."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import closed
from harness import ROOT, Server, environment, kubectl, native, node, patience, request, wait_for

CLIENTS = Path(__file__).parent / "clients"
PYTHON = ROOT / "build/clients/dlc/bin/python"
MODULES = Path(os.environ.get("MUSTER_NODE_MODULES") or ROOT / "build/clients/npm/node_modules")
SLEEP = "sleep 600"


class Client:
    """A name of a job is the same in all of them; what it is called inside is not."""

    name = ""
    running, stopped = "", ""  # its words; stopped "": such a job is not there any more

    def submit(self, names: list[str]) -> None:
        raise NotImplementedError

    def states(self) -> dict[str, str]:
        """Of each job in its list."""
        raise NotImplementedError

    def read(self, name: str) -> str:
        """The state of one, asked for by itself."""
        raise NotImplementedError

    def stop(self, names: list[str]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


class Muster(Client):
    name, running, stopped = "muster", "running", "stopped"

    def __init__(self, server: Server) -> None:
        self.server = server

    def submit(self, names: list[str]) -> None:
        for name in names:
            self.server.submit(native(name, SLEEP))

    def states(self) -> dict[str, str]:
        done = self.server.muster("ls", "--all", "--json")
        return {job["name"]: job["state"] for job in json.loads(done.stdout)["jobs"]}

    def read(self, name: str) -> str:
        return str(json.loads(self.server.muster("show", name, "--json").stdout)["state"])

    def stop(self, names: list[str]) -> None:
        done = self.server.muster("stop", *names)
        assert done.returncode == 0, done.stderr


class Dlc(Client):
    """The vendor's Python package."""

    name, running, stopped = "dlc", "Running", "Stopped"

    def __init__(self, server: Server) -> None:
        key = server.api("POST", "/v1/keys", json.dumps({"label": "three"})).good().json()
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(server.state),
            "ENDPOINT": str(server.info()["address"]).removeprefix("http://"),
            "ALIBABA_CLOUD_ACCESS_KEY_ID": key["id"],
            "ALIBABA_CLOUD_ACCESS_KEY_SECRET": key["secret"],
        }
        self.process = subprocess.Popen(
            [PYTHON, CLIENTS / "dlc_calls.py"],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def call(self, *call: Any) -> Any:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()
        said = json.loads(self.process.stdout.readline())
        assert "value" in said, (call, said)
        return said["value"]

    def submit(self, names: list[str]) -> None:
        size = {"CPU": "1", "Memory": "64Mi"}
        spec = {"Type": "Worker", "Image": "x/y", "PodCount": 1, "ResourceConfig": size}
        more = {"UserCommand": SLEEP, "ResourceId": "default", "JobSpecs": [spec]}
        for name in names:
            self.call("create", {"DisplayName": name, "JobType": "PyTorchJob", **more})

    def listed(self) -> dict[str, Any]:
        return {job["DisplayName"]: job for job in self.call("list")["Jobs"]}

    def states(self) -> dict[str, str]:
        return {name: job["Status"] for name, job in self.listed().items()}

    def read(self, name: str) -> str:
        return str(self.call("get", self.listed()[name]["JobId"])["Status"])

    def stop(self, names: list[str]) -> None:
        jobs = self.listed()
        for name in names:
            self.call("stop", jobs[name]["JobId"])

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(patience(10))


class Pai(Client):
    """The npm package; where it is not installed, its requests."""

    name, running, stopped = "openpai", "RUNNING", "STOPPED"

    def __init__(self, server: Server) -> None:
        self.address = str(server.info()["address"]).removeprefix("http://")
        self.token = (server.state / "token").read_text().strip()
        self.me = self.rest("GET", "tokens/check")["username"]
        self.sdk = bool(node()) and (MODULES / "@microsoft").is_dir()

    def rest(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        with contextlib.closing(http.client.HTTPConnection(self.address)) as wire:
            text = json.dumps(body) if body else None
            return request(wire, method, f"/rest-server/api/v2/{path}", text, headers).good().json()

    def calls(self, *calls: tuple[str, list[Any]]) -> list[Any]:
        """Of the package, all in one process."""
        cluster = {
            "rest_server_uri": f"{self.address}/rest-server",
            "username": self.me,
            "token": self.token,
            "https": False,
        }
        done = subprocess.run(
            [node() or "node", CLIENTS / "openpai.js"],
            input=json.dumps({"cluster": cluster, "calls": [("v2", *one) for one in calls]}),
            env={**os.environ, "NODE_PATH": str(MODULES)},
            capture_output=True,
            text=True,
            timeout=patience(60),
            check=True,
        )
        answers = json.loads(done.stdout.splitlines()[-1])
        assert all("value" in one for one in answers), answers
        return [one["value"] for one in answers]

    def submit(self, names: list[str]) -> None:
        jobs = [self.protocol(name) for name in names]
        if self.sdk:
            self.calls(*(("job.createJob", [job]) for job in jobs))
            return
        for job in jobs:
            self.rest("POST", "jobs", job, "text/yaml")

    def protocol(self, name: str) -> dict[str, Any]:
        size = {"cpu": 1, "memoryMB": 64, "gpu": 0}
        role = {"dockerImage": "i", "resourcePerInstance": size, "commands": [SLEEP]}
        image = {"name": "i", "type": "dockerimage", "uri": "debian:12"}
        more = {"prerequisites": [image], "taskRoles": {"worker": {"instances": 1, **role}}}
        return {"protocolVersion": 2, "name": name, "type": "job", **more}

    def states(self) -> dict[str, str]:
        jobs = self.calls(("job.listJobs", [{}]))[0] if self.sdk else self.rest("GET", "jobs")
        return {job["name"]: job["state"] for job in jobs}

    def read(self, name: str) -> str:
        return str(self.rest("GET", f"jobs/{self.me}~{name}")["jobStatus"]["state"])

    def stop(self, names: list[str]) -> None:
        if self.sdk:
            self.calls(*(("job.updateJobExecutionType", [self.me, n, "STOP"]) for n in names))
            return
        for name in names:
            self.rest("PUT", f"jobs/{self.me}~{name}/executionType", {"value": "STOP"})


class Kube(Client):
    """The real kubectl."""

    name, running = "kubectl", "Running"

    def __init__(self, server: Server) -> None:
        home = server.state / "kube"
        home.mkdir()
        context = {"cluster": "m", "user": "u", "namespace": "default"}
        address = str(server.info()["address"])
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "m", "cluster": {"server": address}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": context}],
            "current-context": "c",
        }
        (home / "config").write_text(json.dumps(config))
        self.env = environment(KUBECONFIG=str(home / "config"), HOME=str(home))

    def run(self, *args: str, stdin: str = "") -> str:
        done = subprocess.run(
            [kubectl() or "kubectl", *args],
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=patience(60),
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def submit(self, names: list[str]) -> None:
        size = {"requests": {"cpu": 1, "memory": "64Mi"}}
        container = {"name": "main", "command": SLEEP.split(), "resources": size}
        worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
        kind = {"apiVersion": "elastic.iml.github.io/v1alpha1", "kind": "ElasticJob"}
        spec = {"distributionStrategy": "AllreduceStrategy", "replicaSpecs": {"worker": worker}}
        jobs = [{**kind, "metadata": {"name": name}, "spec": spec} for name in names]
        self.run(
            "create",
            "-f",
            "-",
            stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": jobs}),
        )

    def states(self) -> dict[str, str]:
        rows = self.run("get", "elasticjobs", "--no-headers").splitlines()
        return {row.split()[0]: row.split()[1] for row in rows}

    def read(self, name: str) -> str:
        return self.run("get", "elasticjob", name, "-o", "jsonpath={.status.phase}")

    def stop(self, names: list[str]) -> None:
        self.run("delete", "elasticjobs", "--wait=false", *names)


@pytest.fixture
def clients() -> Iterator[list[Client]]:
    server = Server(flags=("--kubectl-http", "on", "--python", "none"))
    made: list[Client] = []
    try:
        server.start()
        made += [Muster(server), Pai(server)]
        if list(PYTHON.parents[1].glob(".muster-*")):
            made.append(Dlc(server))
        if kubectl():
            made.append(Kube(server))
        yield made
        for one in made:
            one.close()
    finally:
        closed(server)


def test_each_sees_and_stops_the_jobs_of_the_others(clients: list[Client]) -> None:
    names = {
        by.name: [f"{by.name}-for-{to.name}" for to in clients if to is not by] for by in clients
    }
    for by in clients:
        by.submit(names[by.name])
    every = {name for some in names.values() for name in some}
    first = clients[0]
    wait_for(
        lambda: set(first.states().values()) == {first.running}, what="all jobs to run", every=0.05
    )
    for one in clients:
        assert one.states() == dict.fromkeys(every, one.running), one.name
        others = [name for by in clients if by is not one for name in names[by.name]]
        for name in [name for name in others if name.endswith(f"-for-{one.name}")]:
            assert one.read(name) == one.running, (one.name, name)
    for one in clients:
        one.stop([name for name in every if name.endswith(f"-for-{one.name}")])
    wait_for(
        lambda: set(first.states().values()) == {first.stopped}, what="all jobs to end", every=0.05
    )
    for one in clients:
        left = dict.fromkeys(every, one.stopped) if one.stopped else {}
        assert one.states() == left, one.name


def test_which_clients_were_here() -> None:
    """The test before goes on without those that are not installed; here that is said."""
    missing = []
    if not list(PYTHON.parents[1].glob(".muster-*")):
        missing.append("the DLC package (tools/setup clients)")
    if not node() or not (MODULES / "@microsoft").is_dir():
        missing.append("the npm package (tools/setup clients): its requests by hand instead")
    if not kubectl():
        missing.append("kubectl")
    if missing:
        pytest.skip("left out: " + ", ".join(missing))
