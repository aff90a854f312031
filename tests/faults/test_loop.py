"""One request never stalls the server's loop: the largest job of each dialect is submitted,
started, listed, started anew, found again by a server that was killed, and stopped, and no turn of
the loop took long. What is looked at is the processor time of the loop's own thread, as the server
counts it; the agent is one that starts nothing (quiet_node.py): no machine has so many
processes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import Json, Server, role, sanitized, wait_for

Starter = Callable[..., Server]
NODE = Path(__file__).with_name("quiet_node.py")
LARGE = "1x1000000cpu,100000Gi,8gpu"
MOST = 65536
COMMAND = "sleep 1000"
# What a job does is cut into slices, of 2 to 10 ms each; the longest turn, 40 ms, is the one that
# plans. It is the processor time of one thread, so other programs add little to it: the bound has
# room for a slower processor, and is a fifth of what a start took when it was one turn.
BOUND_S = 0.1
# Turns that are not cut: an answer that lists all tasks, the load of a server that starts.
WHOLE_S = 3


def native(tasks: int) -> str:
    worker = {"run": COMMAND, "replicas": tasks, "resources": {"cpu": 0, "memory": "0"}}
    return json.dumps({"name": "large", "roles": {"worker": worker}})


def openpai(tasks: int) -> str:
    job = {"jobName": "large", "image": "debian:12", "taskRoles": [role("w", COMMAND, tasks)]}
    return json.dumps(job)


def dlc(kind: str) -> Callable[[int], str]:
    def text(tasks: int) -> str:
        resources = {"CPU": "1", "Memory": "1Gi"}
        specs = [{"Type": "Worker", "PodCount": tasks, "ResourceConfig": resources}]
        job = {"DisplayName": "large", "JobType": kind, "JobSpecs": specs, "UserCommand": COMMAND}
        return json.dumps({**job, "ResourceId": "default"})

    return text


def elasticjob(tasks: int) -> str:
    limits = {"limits": {"cpu": "1", "memory": "1Gi"}}
    main = {"name": "main", "image": "debian:12", "command": ["sleep", "1000"], "resources": limits}
    worker = {"replicas": tasks, "template": {"spec": {"containers": [main]}}}
    spec = {"distributionStrategy": "ParameterServerStrategy", "replicaSpecs": {"worker": worker}}
    job: Json = {"apiVersion": "elastic.iml.github.io/v1alpha1", "kind": "ElasticJob"}
    return json.dumps({**job, "metadata": {"name": "large"}, "spec": spec})


def turns(server: Server, bound: float) -> tuple[int, str]:
    """How many took longer than the bound, and the cause of the longest."""
    said = server.api("GET", "/metrics").text
    below = re.search(rf'muster_turn_cpu_seconds_bucket{{le="{bound:g}"}} (\d+)', said)
    every = re.search(r'muster_turn_cpu_seconds_bucket{le="\+Inf"} (\d+)', said)
    longest = re.search(r"muster_turn_cpu_max_seconds{.*", said)
    assert below and every and longest
    return int(every[1]) - int(below[1]), longest[0]


def runs(server: Server, job: int, tasks: int) -> bool:
    now = server.get(f"/v1/jobs/{job}")
    assert now["state"] in ("queued", "starting", "running", "restarting"), now
    return bool(now["state"] == "running" and now["tasks_running"] == tasks)


@pytest.mark.parametrize(
    ("write", "tasks", "left_out"),
    [
        pytest.param(native, MOST, "MUSTER_PEERS", id="native"),
        pytest.param(openpai, 4096, "PAI_* of single tasks", id="openpai"),
        pytest.param(dlc("PyTorchJob"), MOST, "", id="dlc-pytorch", marks=pytest.mark.slow),
        pytest.param(dlc("TFJob"), 8192, "TF_CONFIG", id="dlc-tensorflow"),
        pytest.param(dlc("MPIJob"), MOST, "", id="dlc-mpi", marks=pytest.mark.slow),
        pytest.param(elasticjob, 8192, "TF_CONFIG", id="elasticjob"),
    ],
)
def test_largest_job(
    start: Starter, write: Callable[[int], str], tasks: int, left_out: str
) -> None:
    if sanitized():
        pytest.skip("counts processor time: the release build's")
    server = start(nodes=LARGE, env={"MUSTER_NODE_PROGRAM": str(NODE)})
    job = server.submit(write(tasks), None, set="suspend=true")
    assert server.state_of(job) == "suspended"
    server.api("POST", f"/v1/jobs/{job}/resume").good()
    wait_for(lambda: runs(server, job, tasks), what="all of it runs")
    said = [e["text"] for e in server.events(job) if e["type"] == "environment"]
    assert [left_out in text for text in said] == [True] * bool(left_out), said
    started = turns(server, BOUND_S)
    assert server.muster("show", job).returncode == 0  # megabytes of tasks
    shown = turns(server, BOUND_S)
    server.api("POST", f"/v1/jobs/{job}/restart").good()
    wait_for(lambda: server.get(f"/v1/jobs/{job}")["generation"] == 2, what="a second generation")
    wait_for(lambda: runs(server, job, tasks), what="all of it runs again")
    again, first = turns(server, BOUND_S), turns(server, WHOLE_S)
    assert [started[0], again[0] - shown[0], first[0]] == [0, 0, 0], (started, shown, again)
    server.kill()
    server.start()
    wait_for(lambda: runs(server, job, tasks), what="all of it is found again")
    loaded = turns(server, BOUND_S)
    server.stop(job).good()
    wait_for(lambda: server.get(f"/v1/jobs/{job}")["state"] == "stopped", what="it is stopped")
    stopped, last = turns(server, BOUND_S), turns(server, WHOLE_S)
    assert [stopped[0] - loaded[0], last[0]] == [0, 0], (loaded, stopped)
