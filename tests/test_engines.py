"""One set of jobs on each engine: the events of a job are the same, wherever it runs. What engines
may differ in (times, process ids, addresses, names of nodes and of directories) is replaced by the
order in which it appears."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from conftest import Starter, closed
from harness import (
    EXAMPLES,
    FINAL,
    Json,
    Server,
    native,
    openpai,
    program,
    role,
    until_there,
    wait_for,
)
from lab import Lab, LabServer, why_none
from lab_nodes import nodes
from lab_slurm import LabSlurm
from lab_slurm import why_none as why_no_slurm

MACHINES = 3

ELASTIC = """
apiVersion: elastic.iml.github.io/v1alpha1
kind: ElasticJob
metadata: {{name: elastic}}
spec:
  distributionStrategy: AllreduceStrategy
  replicaSpecs:
    worker:
      replicas: 2
      template:
        spec:
          restartPolicy: Never
          containers:
            - {{name: main, image: any, command: [bash, -c, '{wait}; echo $NODE_RANK']}}
"""


@dataclass
class Case:
    """A job, and what is done while it runs. Where several tasks run, they wait for each other
    until `go`: between their starts and ends there is no order to compare."""

    text: str
    query: dict[str, str | int] = field(default_factory=dict)
    meanwhile: Callable[[Server, int, Path], None] = lambda *_: None
    numbers: list[str] | None = None  # what tasks do where they are numbers; None: not tried there


def let_go(server: Server, number: int, go: Path) -> None:
    server.wait(number, "running")
    go.touch()


def example(path: str, go: Path, **query: str | int) -> Case:
    """Its command waits before it speaks."""
    text = (EXAMPLES / path).read_text()
    assert text.count("echo") == 1
    return Case(text.replace("echo", f"{until_there(go)}; echo"), query, let_go, [])


def stop(server: Server, number: int, _: Path) -> None:
    server.wait(number, "running")
    server.stop(number).good()


def suspend(server: Server, number: int, go: Path) -> None:
    server.wait(number, "running")
    server.api("POST", f"/v1/jobs/{number}/suspend").good()
    server.wait(number, "suspended")
    go.touch()
    server.api("POST", f"/v1/jobs/{number}/resume").good()


def restart(server: Server, number: int, go: Path) -> None:
    """The first task fails in the first generation, when all run."""
    let_go(server, number, go)
    wait_for(lambda: server.job(number)["restarts"], what="another generation")
    server.wait(number, "running")
    go.with_name("last").touch()


def cases(go: Path) -> dict[str, Case]:
    wait, last = until_there(go), until_there(go.with_name("last"))
    first = "[ $MUSTER_GENERATION.$MUSTER_ATTEMPT != 1.1 ]"
    fails = f"if [ $MUSTER_GENERATION.$MUSTER_INDEX = 1.0 ]; then {wait}; exit 3; fi; {last}"
    small = {"cpu": 0.5}
    two: Json = {"muster": 1, "name": "two", "roles": {
        "ps": {"run": "sleep 1000", "resources": small, "done": {"succeeded": "never"}},
        "worker": {"replicas": 2, "run": wait, "resources": small},
    }}  # fmt: skip
    return {
        "native": example("native/hello.yaml", go),
        "openpai": example("openpai/hello.json", go),
        "dlc": example("dlc/hello.params", go),
        "elasticjob": Case(ELASTIC.format(wait=wait), {"from": "elasticjob"}, let_go, []),
        "code": Case(native("code", "exit 7"), numbers=["worker=7:100"]),
        "signal": Case(native("signal", "kill -9 $$")),
        "nothing": Case(native("nothing", "exec /no/such/program")),
        "retried": Case(native("retried", first, retry={"unknown": 1}), numbers=["first=1:50"]),
        "anew": Case(native("anew", fails, 2, retry={"scope": "job", "unknown": 1},
                            resources=small), {}, restart, ["first=3:50"]),
        "too long": Case(native("long", "sleep 1000", limits={"run_time": "300ms"})),
        "stopped": Case(native("stopped", "sleep 1000", 2), {}, stop,
                        ["stop@running", "worker=0:1000000"]),
        "suspended": Case(native("suspended", wait), {}, suspend,
                          ["suspend@running", "resume@suspended"]),
        "roles": Case(json.dumps(two), {}, let_go, ["ps=0:1000000"]),
        "ports": Case(native("ports", "test $MUSTER_PORT_A", ports={"a": 1}), numbers=[]),
        "policy": Case(
            openpai("policy", role("a", f"{wait}; exit 4"), role("b", "sleep 1000")), {}, let_go,
            ["a=4:100", "b=0:1000000"],
        ),  # fmt: skip
    }  # fmt: skip


# ---- what may differ ----


class Names:
    """The same for what is the same, by the order in which it comes."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def of(self, kind: str, found: str) -> str:
        key = f"{kind} {found}"
        n = sum(one.startswith(f"{kind} ") for one in self.known) + 1
        return self.known.setdefault(key, f"{kind}-{n}")

    def text(self, said: str) -> str:
        said = re.sub(r"\b([nm]\d+)\b", lambda m: self.of("node", m[1]), said)
        said = re.sub(r"\bpid \d+", "pid", said)
        said = re.sub(r"\b\d+(\.\d+){3}(:\d+)?", lambda m: self.of("address", m[0]), said)
        return re.sub(r"(/var)?/tmp/\S+", lambda m: self.of("path", m[0]), said)

    def value(self, given: object) -> object:
        if isinstance(given, str):
            return self.text(given)
        if isinstance(given, list):
            return [self.value(one) for one in given]
        if isinstance(given, dict):
            return {self.text(k): self.value(v) for k, v in given.items()}
        return given


def printed(line: str) -> str:
    """By a task: of this machine's name and processes, too."""
    hosts = rf"\b({re.escape(socket.gethostname())}|[nm]\d+)\b"
    return Names().text(re.sub(r"process \d+", "process", re.sub(hosts, "host", line)))


def warned(body: Json) -> Json:
    """Where a job's output lies is said where that is a machine's disk, and what becomes of its
    image where there is something that could run it."""
    said = body.get("warnings", [])
    kept = [one for one in said if one.get("path") not in ("output", "roles.*.image")]
    return {**body, "warnings": kept}


TIMES = ("seq", "at", "at_ms", "steady_ms", "job", "number")


def plain(events: list[Json]) -> dict[str, list[object]]:
    """Of the job, and of each task: between tasks there is no order."""
    names = Names()
    found: dict[str, list[object]] = {}
    for event in sorted(events, key=lambda e: e["seq"]):
        if event["type"] == "submitted":
            event["body"] = warned(event.get("body") or {})
        kept = {k: names.value(v) for k, v in event.items() if k not in TIMES and v is not None}
        found.setdefault(str(kept.get("task", "")), []).append(kept)
    return found


def ran(server: Server, case: Case, go: Path) -> Json:
    """All that was said of the job, and what its tasks printed."""
    for file in (go, go.with_name("last")):
        file.unlink(missing_ok=True)
    number = server.submit(case.text, None, **case.query)
    case.meanwhile(server, number, go)
    job = server.wait(number)
    tasks = [
        [
            {k: one.get(k) for k in ("attempt", "state", "exit_code", "signal", "by", "class")}
            for one in task["attempts"]
        ]
        for task in job["task_list"]
    ]
    wait_for(lambda: server.events(number)[-1]["state"] in FINAL, what="its last event")
    logs = sorted(printed(row["text"]) for row in server.records(number))
    words = {k: Names().text(str(job.get(k))) for k in ("state", "reason", "restarts")}
    return {"words": words, "tasks": tasks, "events": plain(server.events(number)), "log": logs}


# ---- engines ----


@dataclass
class Engines:
    lab: Lab
    local: Server
    machines: LabServer
    size: Json  # of each node of each of them

    @property
    def go(self) -> Path:
        return self.lab.shared / "go"


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    """The local one with nodes as large as the machines, and no other node beside these."""
    if why_none():
        pytest.skip(why_none())
    with nodes(MACHINES) as c:
        c.server.muster("nodes", "drain", "here")
        rows = c.server.get("/v1/nodes")["nodes"]
        one = next(row for row in rows if row["name"] == "m1")
        size = f"{one['cpu_milli'] // 1000}cpu,{one['memory'] >> 30}Gi"
        local = LabServer(nodes=f"{MACHINES}x{size}", lab=c.lab)  # nobody else has its ports
        try:
            yield Engines(c.lab, local.start(), c.server, one)
        finally:
            closed(local)


@pytest.fixture(scope="module")
def on_slurm(engines: Engines) -> Iterator[LabServer]:
    """One that holds an allocation of a Slurm on the same machines, whole nodes."""
    if why_no_slurm():
        pytest.skip(why_no_slurm())
    cpus, memory = engines.size["cpu_milli"] // 1000, engines.size["memory"] >> 20
    cluster = LabSlurm(engines.lab, cpus, memory).start()
    server = LabServer(nodes="name=here,1cpu,1Gi", env=cluster.env(), lab=engines.lab)
    try:
        server.start()
        server.muster("nodes", "drain", "here")
        held = server.muster("pilot", "start", "--nodes", MACHINES, "--wait")
        assert held.returncode == 0, held.stdout + held.stderr
        yield server
        server.muster("pilot", "stop", "--now", "p1")
    finally:
        closed(server)


def compare(engines: Engines, other: Server, name: str) -> None:
    case = cases(engines.go)[name]
    here, there = (
        json.dumps(ran(one, case, engines.go), indent=1, sort_keys=True).splitlines()
        for one in (engines.local, other)
    )
    assert there == here


@pytest.mark.parametrize("name", list(cases(Path("go"))))
def test_the_same_events(engines: Engines, name: str) -> None:
    compare(engines, engines.machines, name)


@pytest.mark.parametrize("name", list(cases(Path("go"))))
def test_the_same_events_of_slurm(engines: Engines, on_slurm: LabServer, name: str) -> None:
    compare(engines, on_slurm, name)


def on_numbers(case: Case, folder: Path) -> list[Json]:
    """The events of a core whose nodes are numbers."""
    job, records = folder / "job", folder / "records"
    job.write_text(case.text)
    records.mkdir()
    command = [program().resolve().parents[2] / "bench/sim_events", records, job]
    said = [f"from={case.query['from']}"] if "from" in case.query else []
    done = subprocess.run(
        [*command, *said, *(case.numbers or [])], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [{**event, "body": body} for event, body in zip(lines[::2], lines[1::2], strict=True)]


@pytest.mark.parametrize(
    "name", [n for n, case in cases(Path("go")).items() if case.numbers is not None]
)
def test_the_same_events_of_numbers(start: Starter, tmp_path: Path, name: str) -> None:
    go = tmp_path / "go"
    case = cases(go)[name]
    here = ran(start(nodes="3x96cpu,768Gi"), case, go)["events"]
    there = plain(on_numbers(case, tmp_path))
    assert json.dumps(there, indent=1, sort_keys=True).splitlines() == (
        json.dumps(here, indent=1, sort_keys=True).splitlines()
    )
