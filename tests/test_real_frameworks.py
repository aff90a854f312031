"""TFJob and XGBoostJob of PAI-DLC with the real libraries, which find each other by what the tasks
are given: TF_CONFIG; MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import closed
from harness import ROOT, Json, Server

PYTHON = ROOT / "build/clients/trainers/bin/python"
pytestmark = pytest.mark.slow

# Each replica has its share of the data; a step ends with the same weights everywhere.
MIRRORED = """
import json, os
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    w, b = tf.Variable(0.0), tf.Variable(0.0)

def shard(context):
    n = context.num_input_pipelines
    x = tf.range(64, dtype=tf.float32) / 64
    every = tf.data.Dataset.from_tensor_slices((x, 3 * x + 1))
    return every.shard(n, context.input_pipeline_id).batch(64 // n).repeat()

def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((w * x + b - y) ** 2)
    gradients = tape.gradient(loss, [w, b])
    for v, g in zip([w, b], tf.distribute.get_replica_context().all_reduce("mean", gradients)):
        v.assign_sub(0.5 * g)
    return loss

@tf.function
def train(x, y):
    return strategy.reduce("mean", strategy.run(step, (x, y)), axis=None)

data = iter(strategy.distribute_datasets_from_function(shard))
losses = [float(train(*next(data))) for _ in range(20)]
task = json.loads(os.environ["TF_CONFIG"])["task"]
assert losses[-1] < losses[0] / 50, losses
print("trained", task["type"], task["index"], "of", strategy.num_replicas_in_sync, losses[-1])
"""

# The chief schedules; workers compute; the weights are on the parameter server.
SERVED = """
import tensorflow as tf
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):
    print("serving", resolver.task_type, resolver.task_id, flush=True)
    tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type,
                         task_index=resolver.task_id, protocol="grpc").join()
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    w = tf.Variable(0.0)

@tf.function
def step():
    def replica():
        with tf.GradientTape() as tape:
            loss = (w - 3) ** 2
        w.assign_sub(0.1 * tape.gradient(loss, w))
    strategy.run(replica)

for _ in range(40):
    coordinator.schedule(step)
    coordinator.join()  # two workers at once would each step from where the other was
assert abs(float(w.read_value()) - 3) < 0.1, w
print("trained on", w.device)
"""

# The master runs the tracker and is a worker itself, as in the samples of the job's operator.
BOOSTED = """
import hashlib, os
import numpy as np, xgboost as xgb
from xgboost import collective
from xgboost.tracker import RabitTracker
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    tracker = RabitTracker(n_workers=world, host_ip=host, port=port, sortby="task")
    tracker.start()
with collective.CommunicatorContext(dmlc_communicator="rabit", dmlc_tracker_uri=host,
                                    dmlc_tracker_port=port, dmlc_task_id=f"{rank:03}",
                                    dmlc_retry=100):
    assert collective.get_world_size() == world
    x = np.arange(rank, 600, world, dtype=np.float32).reshape(-1, 1)
    data = xgb.DMatrix(x, label=np.sin(x[:, 0] / 60))
    errors = {}
    model = xgb.train({"max_depth": 3, "tree_method": "hist", "nthread": 1}, data, 20,
                      evals=[(data, "all")], evals_result=errors, verbose_eval=False)
    error = errors["all"]["rmse"]
    assert error[-1] < error[0] / 4, error
    trees = hashlib.sha256(model.save_raw("json")).hexdigest()
    print("trained", rank, "of", world, "as", collective.get_rank(), error[-1], trees[:16])
if rank == 0:
    tracker.wait_for()
"""


ALONE = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-r", "-n"]
UP = """
import fcntl, os, socket, struct, sys
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh", b"lo", 1))
os.execvp(sys.argv[1], sys.argv[1:])
"""


@dataclass
class Alone(Server):
    """In a network of its own. The ports of these jobs are fixed, their programs take them seconds
    after they were started, and servers of other tests know nothing of it."""

    def command(self) -> list[str]:
        return [*ALONE, sys.executable, "-c", UP, *super().command()]


@pytest.fixture
def server() -> Iterator[Server]:
    if not list(PYTHON.parent.parent.glob(".muster-*")):
        pytest.skip("TensorFlow and XGBoost are not here: tools/setup trainers")
    if subprocess.run([*ALONE, "true"], check=False).returncode != 0:
        pytest.skip("this machine allows no network namespaces")
    one = Alone(nodes="2x8cpu,16Gi", env={"MUSTER_PYTHON": str(PYTHON)})
    try:
        yield one.start()
    finally:
        closed(one)


def pods(server: Server, program: str, kind: str, counts: dict[str, int], **more: str) -> int:
    script = Path(server.state) / "train.py"
    script.write_text(program)
    pod = {"Image": "registry.example/train:1", "ResourceConfig": {"CPU": "1", "Memory": "2Gi"}}
    text: Json = {
        "DisplayName": "train",
        "JobType": kind,
        "UserCommand": f"python {script}",
        "JobSpecs": [{"Type": role, "PodCount": n, **pod} for role, n in counts.items()],
        **more,
    }
    number = server.submit(json.dumps(text))
    server.wait(number, "succeeded", timeout=400)
    return number


def said(server: Server, number: int, *tasks: str) -> list[list[str]]:
    """The words of each task's line about its end."""
    lines = [server.log(number, task).splitlines() for task in tasks]
    return [next(one for one in log if one.startswith("trained")).split() for log in lines]


@pytest.mark.parametrize("first", ["Worker", "Chief"])
def test_replicas_mirror_each_other(server: Server, first: str) -> None:
    counts = {"Worker": 2} if first == "Worker" else {"Chief": 1, "Worker": 1}
    number = pods(server, MIRRORED, "TFJob", counts)
    tasks = ["worker/0", "worker/1"] if first == "Worker" else ["chief/0", "worker/0"]
    ends = said(server, number, *tasks)
    assert [f"{one[1]}/{one[2]}" for one in ends] == tasks
    assert ends[0][3:] == ends[1][3:] and ends[0][4] == "2"


def test_a_chief_trains_on_a_parameter_server(server: Server) -> None:
    counts = {"Chief": 1, "PS": 1, "Worker": 2}
    number = pods(server, SERVED, "TFJob", counts, SuccessPolicy="ChiefWorker")
    assert "/job:ps/" in said(server, number, "chief/0")[0][2]
    assert "serving worker 1" in server.log(number, "worker/1")


def test_trees_are_boosted_together(server: Server) -> None:
    number = pods(server, BOOSTED, "XGBoostJob", {"Master": 1, "Worker": 2})
    ends = said(server, number, "master/0", "worker/0", "worker/1")
    assert [(one[1], one[3], one[5]) for one in ends] == [(str(i), "3", str(i)) for i in range(3)]
    assert len({tuple(one[6:]) for one in ends}) == 1
