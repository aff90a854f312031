"""The same input gives the same plan, whichever compiler built the scheduler: small random yards, a
large cluster, and a simulated week, by gcc's build and by clang's with sanitizers."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest
from harness import ROOT, Json, environment

BUILDS = [ROOT / "build" / name for name in ("release", "asan")]


def said(build: Path, program: str, *args: str | Path) -> str:
    path = build / program
    if not path.exists():
        pytest.skip(f"{path.relative_to(ROOT)} is not built")
    done = subprocess.run(
        [path, *args], env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_random_clusters() -> None:
    one, other = (said(build, "src/sched/plan_digest") for build in BUILDS)
    assert one == other


CLUSTER = """
nodes:
- {count: 24, cpus: 64, memory: 256Gi, gpus: {count: 8, type: A}, labels: {rack: r1}}
- {count: 24, cpus: 32, memory: 128Gi, gpus: {count: 4, type: B}, labels: {rack: r2}}
topology: [rack]
queues:
- {name: a, guaranteed: 60%}
- {name: b, guaranteed: {gpu: 20%}, strategy: balance}
"""


def workload() -> str:
    """Three days: shares, whole gpus and gangs, of several users, more than there is room for."""
    dice = random.Random(7)
    jobs = []
    for _ in range(400):
        job: Json = {
            "at": f"{dice.randrange(2 * 24 * 60)}m",
            "runs": f"{dice.randrange(5, 1200)}m",
            "replicas": dice.choice([1, 1, 1, 2, 6]),
            "resources": {"gpu": dice.choice([0, 0.5, 1, 2, 4]), "cpu": dice.randrange(1, 9)},
            "queue": dice.choice("ab"),
            "user": dice.choice("uvw"),
            "priority": dice.randrange(1, 10),
            "preemptible": dice.random() < 0.3,
        }
        if dice.random() < 0.5:
            job["limits"] = {"run_time": f"{dice.randrange(20, 1300)}m"}
        jobs.append(job)
    return "".join(f"{json.dumps(job)}\n" for job in sorted(jobs, key=lambda j: str(j["at"])))


def test_a_simulation(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text(CLUSTER)
    (tmp_path / "jobs.jsonl").write_text(workload())
    words: list[str | Path] = ["--cluster", tmp_path / "nodes.yaml"]
    words += ["--workload", tmp_path / "jobs.jsonl"]
    one, other = (said(build, "muster", "simulate", *words, "--json", "-") for build in BUILDS)
    first, second = json.loads(one), json.loads(other)
    for result in (first, second):
        result.pop("took", None)
    assert first == second
    assert sum(row["jobs"] for row in first["waits"]) > 600, first["waits"]
