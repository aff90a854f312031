"""What is said to start a waiting job starts it: another model, another rack or none, less cpu or
memory; and each format's users read why in words that they know."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest
from conftest import Starter
from harness import ROOT, Json, Server, native, wait_for

NODES = """
nodes:
- {count: 2, cpus: 16, memory: 64Gi, gpus: {count: 4, type: A100}, labels: {zone: z1, rack: r1}}
- {count: 2, cpus: 16, memory: 64Gi, gpus: {count: 4, type: V100}, labels: {zone: z1, rack: r2}}
topology: [zone, rack]
queues: [default, {name: small, maximum: {gpu: 2}}]
"""


@pytest.fixture
def racks(start: Starter, tmp_path: Any) -> Server:
    """All of rack r1 but one gpu is in use for an hour, half of the cores of r2."""
    file = tmp_path / "muster.yaml"
    file.write_text(NODES)
    server = start(nodes="", flags=("--config", str(file)))
    for name, tasks, gpu, rack in (("a", 1, 4, "r1"), ("b", 1, 3, "r1"), ("c", 2, 1, "r2")):
        number = server.submit(
            job(name, tasks, gpu, 8, place={"labels": {"rack": rack}}, limits={"run_time": "1h"})
        )
        server.wait(number, "running")
    return server


def job(name: str, tasks: int, gpu: int, cpu: int = 1, memory: str = "1Gi", **more: Any) -> str:
    resources = {"cpu": cpu, "gpu": gpu, "memory": memory, **more.pop("resources", {})}
    return native(name, "sleep 600", tasks, resources=resources, **more)


def explain(server: Server, text: str) -> Json:
    number = server.submit(text)
    wait_for(lambda: server.job(number).get("reason"))
    assert server.state_of(number) == "queued"
    answer: Json = server.get(f"/v1/jobs/{number}/explain")
    return answer


CASES = [
    ("gpu_type", job("model", 1, 3, resources={"gpu_type": "A100"}), "gpu_type=V100", "gpu"),
    (
        "topology",
        job("near", 5, 1, place={"topology": {"within": "rack", "required": True}}, cpu=4),
        "topology=none",
        "cpu",
    ),
    ("cpu", job("cores", 2, 2, 12), "cpu=8", "cpu"),
    ("memory", job("much", 3, 1, 1, "40Gi"), "memory=32Gi", None),
    ("queue", job("little", 1, 2, queue="small"), "queue=default", "gpu"),
]


@pytest.mark.parametrize(("kind", "text", "what", "resource"), CASES, ids=[c[0] for c in CASES])
def test_a_change_that_starts_it(
    racks: Server, kind: str, text: str, what: str | None, resource: str | None
) -> None:
    if kind == "queue":
        racks.wait(racks.submit(job("first", 1, 1, queue="small")), "running")
    e = explain(racks, text)
    print(e["reason"], [w["what"] for w in e["ways"]], racks.muster("explain", e["number"]).stdout)
    way = next(w for w in e["ways"] if w["kind"] == kind)
    assert what is None or way["what"] == what
    assert resource is None or e["resource"] == resource, e
    assert f"{way['what']}" in racks.muster("explain", e["number"]).stdout
    words = shlex.split(way["how"])
    done = racks.muster("submit", "--json", *words[2:])
    assert done.returncode == 0, done.stderr
    racks.wait(json.loads(done.stdout)["number"], "running")


def test_in_the_words_of_an_elasticjob(racks: Server) -> None:
    """Kubernetes' sentence, from the same counts; a native job has none."""
    text = (ROOT / "tests/golden/elasticjob/gang.yaml").read_text()
    text = re.sub(r'"dlrover-run .*?testing/"', '"sleep 600"', text, flags=re.DOTALL)
    e = explain(racks, text.replace("replicas: 4", "replicas: 10").replace(": 4\n", ": 10\n", 1))
    said = e["unfit"]["said"]
    assert said.startswith("0/4 nodes are available: "), e
    (gpu,) = (c for c in e["unfit"]["counts"] if c["resource"] == "gpu")
    assert re.search(rf"\b{gpu['nodes']} Insufficient \S*gpu", said), said
    assert said in racks.muster("explain", e["number"]).stdout
    assert "said" not in explain(racks, job("big", 4, 4))["unfit"]
