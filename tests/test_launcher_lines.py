"""A launcher's command line is a job: no file, one task for each node of the line, one world."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from conftest import Starter
from harness import ROOT, Server, muster

RANK = r"""
import os, sys
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MUSTER_TASK_NODE")
said = " ".join(f"{name}={os.environ.get(name)}" for name in names)
os.write(1, f"up {said} args={'|'.join(sys.argv[1:])}\n".encode())
"""
UP = re.compile(r"up (RANK=.*)$", re.MULTILINE)
PYTHON = str(ROOT / ".venv/bin/python")
TWO = "2x4cpu,8Gi"
LINES = [
    ["torchrun"],
    ["dlrover-run"],
    ["muster", "launch"],
    ["python", "-m", "torch.distributed.run"],
]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(RANK)
    return path


@pytest.fixture
def server(start: Starter) -> Server:
    return start(nodes=TWO, env={"MUSTER_PYTHON": PYTHON})


def rows(text: str) -> list[dict[str, str]]:
    found = [dict(word.split("=", 1) for word in line.split()) for line in UP.findall(text)]
    return sorted(found, key=lambda row: int(row["RANK"]))


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_two_nodes_of_two_ranks_are_one_world(
    server: Server, script: Path, line: list[str]
) -> None:
    done = server.muster(
        "run", "--", *line, "--nnodes=2", "--nproc-per-node=2", script, "--nnodes", "9"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ranks = rows(done.stdout)
    assert [row["RANK"] for row in ranks] == ["0", "1", "2", "3"], done.stdout
    assert {row["WORLD_SIZE"] for row in ranks} == {"4"}
    assert [row["LOCAL_RANK"] for row in ranks] == ["0", "1", "0", "1"]
    assert [row["GROUP_RANK"] for row in ranks] == ["0", "0", "1", "1"]
    assert {row["MUSTER_TASK_NODE"] for row in ranks} == {"n1", "n2"}, "one task for each node"
    assert {row["args"] for row in ranks} == {"--nnodes|9"}, "the script's arguments are its own"


def test_flags_of_the_meeting_are_left_out_aloud(server: Server, script: Path) -> None:
    line = ["torchrun", "--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=elsewhere:29400"]
    done = server.muster("run", "--", *line, "--node-rank=1", script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["WORLD_SIZE"] for row in rows(done.stdout)] == ["2", "2"]
    for flag in ("--rdzv-backend", "--rdzv-endpoint", "--node-rank"):
        assert f"warning: {flag} is left out: " in done.stderr, done.stderr


def test_an_elastic_line_takes_what_there_is(start: Starter, script: Path) -> None:
    server = start(nodes="2x2cpu,8Gi", env={"MUSTER_PYTHON": PYTHON})
    elastic = ["--nnodes=1:4", "--nproc-per-node=2"]
    submitted = server.muster("submit", "--json", "--", "torchrun", *elastic, script)
    number = json.loads(submitted.stdout)["number"]
    server.wait(number, "succeeded", timeout=60)
    at = {e["type"]: e["at_ms"] for e in server.events(number)}
    assert at["launch.round"] - at["started"] < 25_000, "nobody waits for tasks without room"
    ranks = rows(server.log(number))
    assert ranks and len(ranks) == int(ranks[-1]["WORLD_SIZE"])


def test_ranks_ask_for_devices_where_there_are_some(start: Starter, script: Path) -> None:
    with_gpus = start(nodes="1x4cpu,8Gi,2gpu", env={"MUSTER_PYTHON": PYTHON})
    line = ["--json", "--", "torchrun", "--nproc-per-node=2", str(script)]
    assert_asks(with_gpus, line, {"gpu": 2})
    assert_asks(with_gpus, ["--gpu", "0", *line], {})
    without = start(nodes=TWO, env={"MUSTER_PYTHON": PYTHON})
    assert_asks(without, line, {"cpu": 2})
    assert_asks(without, ["--cpu", "1", *line], {"cpu": 1})


def assert_asks(server: Server, words: list[str], resources: dict[str, int]) -> None:
    done = server.muster("check", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    worker = json.loads(done.stdout)["job"]["roles"]["worker"]
    assert worker.get("resources", {}) == resources


def test_check_shows_the_job_without_a_server(tmp_path: Path, script: Path) -> None:
    done = muster(
        "check", "--", "torchrun", "--nnodes=2", "--nproc-per-node=4", script, state=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for text in ("replicas: 2", "ranks_per_node: 4", "cpu: 4", "- torchrun", "- worker"):
        assert text in done.stdout, done.stdout
    wrong = muster("check", "--", "torchrun", "--nnodez=2", script, state=tmp_path)
    assert wrong.returncode == 2
    assert "unknown flag --nnodez" in wrong.stderr and "--nnodes?" in wrong.stderr


def test_what_stands_in_front_of_a_line(server: Server, script: Path) -> None:
    line = ["A=1", "nohup", "env", "LOCAL=2", "nice", "-n", "1", "torchrun", "--nproc-per-node=2"]
    done = server.muster("run", "--", *line, script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["RANK"] for row in rows(done.stdout)] == ["0", "1"], done.stdout
    assert "nohup is left out: " in done.stderr
    said = server.muster("check", "--json", "--", *line, script)
    assert json.loads(said.stdout)["job"]["roles"]["worker"]["env"] == {"A": "1", "LOCAL": "2"}


def test_torch_distributed_launch_over_two_nodes(server: Server, script: Path) -> None:
    line = [PYTHON, "-m", "torch.distributed.launch", "--nnodes=2", "--node_rank=7"]
    line += ["--master_addr=10.9.8.7", "--nproc_per_node=2", "--use_env"]
    done = server.muster("run", "--", *line, script, "--nnodes", "9")
    assert done.returncode == 0, done.stdout + done.stderr
    ranks = rows(done.stdout)
    assert [row["RANK"] for row in ranks] == ["0", "1", "2", "3"], done.stdout
    assert {row["MUSTER_TASK_NODE"] for row in ranks} == {"n1", "n2"}
    assert {row["args"] for row in ranks} == {"--nnodes|9"}


DEEPSPEED = """
import base64, json, sys
(world,) = (a.split("=", 1)[1] for a in sys.argv if a.startswith("--world_info="))
print("world", json.dumps(json.loads(base64.urlsafe_b64decode(world))))
"""


@pytest.mark.parametrize("nodes", [TWO, "2x4cpu,8Gi,2gpu"])
def test_deepspeed_shows_no_device_that_was_not_given(
    start: Starter, script: Path, tmp_path: Path, nodes: str
) -> None:
    """Its launcher sets CUDA_VISIBLE_DEVICES of its ranks to what it is told; declared devices are
    none of the machine's."""
    (tmp_path / "deepspeed/launcher").mkdir(parents=True)
    for name, text in (("__init__", ""), ("launcher/__init__", ""), ("launcher/launch", DEEPSPEED)):
        (tmp_path / f"deepspeed/{name}.py").write_text(text)
    server = start(nodes=nodes, env={"MUSTER_PYTHON": PYTHON})
    env = ("--env", f"PYTHONPATH={tmp_path}")
    done = server.muster("run", *env, "--", "deepspeed", "--num_nodes=2", "--num_gpus=2", script)
    assert done.returncode == 0, done.stdout + done.stderr
    said = [json.loads(text) for text in re.findall(r"world (.*)$", done.stdout, re.MULTILINE)]
    assert said == [{"n0": ["-1", "-1"], "n1": ["-1", "-1"]}] * 2


def test_srun_tasks_share_nodes_in_blocks(server: Server) -> None:
    said = 'echo "at $SLURM_PROCID $SLURM_NTASKS $SLURM_NODEID $SLURM_LOCALID $MUSTER_TASK_NODE"'
    done = server.muster("run", "--", "srun", "-n4", "-N", "2", "sh", "-c", said)
    assert done.returncode == 0, done.stdout + done.stderr
    tasks = sorted(re.findall(r"at (\d) 4 (\d) (\d) (n\d)", done.stdout))
    assert [task[:3] for task in tasks] == [
        ("0", "0", "0"), ("1", "0", "1"), ("2", "1", "0"), ("3", "1", "1"),
    ]  # fmt: skip
    nodes = [task[3] for task in tasks]
    assert nodes[0] == nodes[1] != nodes[2] == nodes[3]


@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun: install OpenMPI")
def test_mpirun_over_two_hosts(server: Server) -> None:
    said = 'echo "at $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE $MUSTER_TASK_NODE"'
    line = ["mpirun", "--allow-run-as-root", "-np", "4", "-H", "a:2,b:2", "sh", "-c", said]
    done = server.muster("run", "--", *line)
    assert done.returncode == 0, done.stdout + done.stderr
    ranks = sorted(re.findall(r"at (\d) 4 (n\d)", done.stdout))
    assert [rank[0] for rank in ranks] == ["0", "1", "2", "3"], done.stdout
    assert ranks[0][1] == ranks[1][1] != ranks[2][1] == ranks[3][1]


def test_several_nodes_are_never_one_task(tmp_path: Path) -> None:
    line = ["horovodrun", "-np", "8", "-H", "a:4,b:4", "python", "train.py"]
    done = muster("check", "--", *line, state=tmp_path)
    assert done.returncode == 2
    assert "horovodrun over several hosts" in done.stderr and "mpirun -np 8" in done.stderr


def test_options_are_also_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a\nrun: 'true'\n")
    done = muster("convert", "--gpus", "1", "--time", "2h", tmp_path / "a.yaml", state=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "gpu: 1" in done.stdout and 'run_time: "2h"' in done.stdout
