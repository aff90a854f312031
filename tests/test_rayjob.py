"""RayJob of PAI-DLC with the real Ray: pods of one machine are raylets of one cluster."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import Starter
from harness import ROOT

RAY = ROOT / "build/clients/ray/bin"
pytestmark = pytest.mark.slow

# Waits until all three are there, and has each of them do something at the same time.
DRIVER = """
import ray, time
ray.init()
while len({n["NodeID"] for n in ray.nodes() if n["Alive"]}) < 3:
    time.sleep(0.2)
nodes = [n["NodeID"] for n in ray.nodes()]
here = ray.remote(num_cpus=0)(lambda: ray.get_runtime_context().get_node_id())
on = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
found = ray.get([here.options(scheduling_strategy=on(n, soft=False)).remote() for n in nodes])
print("nodes", len(set(found)))
"""


@pytest.mark.parametrize("times", range(2))
def test_workers_of_one_machine_are_one_cluster(start: Starter, times: int) -> None:
    if not list(RAY.parent.glob(".muster-*")):
        pytest.skip("Ray is not here: tools/setup ray")
    before = set(Path("/tmp").glob("ray-*"))
    server = start(
        nodes="1x16cpu,32Gi",
        env={"MUSTER_PYTHON": str(RAY / "python"), "PATH": f"{RAY}:{os.environ['PATH']}"},
    )
    script = server.state / "driver.py"
    script.write_text(DRIVER)
    pod = {"Image": "registry.example/ray:2", "ResourceConfig": {"CPU": "1", "Memory": "2Gi"}}
    text = {
        "DisplayName": "rays",
        "JobType": "RayJob",
        "UserCommand": f"python {script}",
        "JobSpecs": [
            {"Type": "Head", "PodCount": 1, **pod},
            {"Type": "Worker", "PodCount": 2, **pod},
        ],
    }
    number = server.submit(json.dumps(text))
    server.wait(number, "succeeded", timeout=400)
    assert "nodes 3" in server.log(number)
    assert set(Path("/tmp").glob("ray-*")) <= before
