"""SLURM_* variables beside those that a real Slurm gave the same scripts (22.05.8, four nodes of
16 cores and 4 devices), where its recordings are beside the clone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import golden_files
import pytest
from conftest import Starter
from harness import Server

RECORDED = golden_files.SHARED / "cases" / "sbatch" / "env"
CASES = ("two-by-two", "gres-per-node", "het", "array")
# Numbers of jobs, addresses and ports differ; the rest is not there (doc/dialect-sbatch.md).
NOT_COMPARED = {
    *("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_PARTITION", "SLURM_CLUSTER_NAME"),
    *("SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST", "SLURM_TASK_PID", "SLURM_LAUNCH_NODE_IPADDR"),
    *("SLURM_SRUN_COMM_HOST", "SLURM_SRUN_COMM_PORT", "SLURM_STEP_LAUNCHER_PORT"),
    *("SLURM_WORKING_CLUSTER", "SLURM_CONF", "SLURM_NODE_ALIASES", "SLURM_UMASK"),
    *("SLURM_PRIO_PROCESS", "SLURM_JOB_UID", "SLURM_JOB_GID", "SLURM_JOB_USER"),
    *("SLURM_ARRAY_JOB_ID", "SLURM_JOB_NAME", "SLURM_DISTRIBUTION"),
}
# Where this is said to differ: memory that the site gives by default; numbers of a step on fewer
# cores; of several components the variables of all of them.
KNOWN = {
    "gres-per-node": {"SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE", "SLURM_CPUS_PER_TASK"},
    "array": {"SLURM_MEM_PER_CPU"},
    "het": {"SLURM_JOB_CPUS_PER_NODE", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES",
            "SLURM_NODELIST", "SLURM_MEM_PER_NODE", "SLURM_NTASKS_PER_NODE",
            "SLURM_JOB_GPUS", "SLURM_CPUS_PER_TASK"},
}  # fmt: skip
pytestmark = pytest.mark.skipif(
    not RECORDED.is_dir(), reason="recordings of a real Slurm are not beside the clone"
)
RECORDER = """#!/bin/sh
env -0 > "$2/$1.$SLURM_ARRAY_TASK_ID.${SLURM_STEP_ID:-batch}.$SLURM_PROCID"
"""


def seen(path: Path) -> dict[str, str]:
    pairs = (one.partition("=") for one in path.read_text().split("\0") if one)
    return {name: value for name, _, value in pairs}


def differences(case: str, real: dict[str, Any], ours: dict[str, str]) -> list[str]:
    skip = {*NOT_COMPARED, *KNOWN.get(case, ())}
    names = {
        n for n in {*real, *ours} if n.startswith("SLURM") and not re.search("_GROUP_|_PACK_", n)
    }
    return [
        f"{n}: {ours.get(n)}, not {real.get(n)}"
        for n in sorted(names - skip)
        if real.get(n) != ours.get(n)
    ]


def record(server: Server, case: str, folder: Path) -> dict[str, dict[str, str]]:
    """What each shell and task saw, by the name of its file."""
    recorder = folder / "recorder"
    recorder.write_text(RECORDER)
    recorder.chmod(0o755)
    out = folder / "out"
    out.mkdir()
    text = (RECORDED / f"{case}.sbatch").read_text()
    script = folder / f"{case}.sbatch"
    script.write_text(text.replace("gpu:a100:", "gpu:"))  # nodes of tests have no models
    done = server.muster("run", script, recorder, out, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return {p.name: seen(p) for p in out.iterdir()}


@pytest.mark.parametrize("case", CASES)
def test_as_a_real_slurm(start: Starter, tmp_path: Path, case: str) -> None:
    real = json.loads((RECORDED / f"{case}.json").read_text())
    ours = record(start(nodes="4x16cpu,64000Mi,4gpu"), case, tmp_path)
    batches = sorted((v for k, v in ours.items() if ".batch." in k),
                     key=lambda v: int(v.get("SLURM_ARRAY_TASK_ID", 0)))  # fmt: skip
    theirs = sorted(real["batch"].values(), key=lambda v: int(v.get("SLURM_ARRAY_TASK_ID") or 0))
    assert len(batches) == len(theirs)
    for one, other in zip(theirs, batches, strict=True):
        assert differences(case, one, other) == [], "the batch shell"
    if case == "array":
        return
    first: dict[str, Any] = {}
    for key in sorted(real["tasks"]):
        step, rank = key.split("-")[2:]
        given = real["tasks"][key]
        first = given if int(rank) == 0 else first  # the others say what differs
        whole = {k: v for k, v in {**first, **given}.items() if v is not None}
        task = ours[f"task..{step}.{int(rank)}"]
        assert differences(case, whole, task) == [], key
