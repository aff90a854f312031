"""What explain says, held against what happens then: small random clusters and queues, asked in the
simulator by the server's own code. A lower bound is beaten only after one of the events that it
names; who starts before a job is exactly who it said, unless something changed."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from harness import Json, muster

SHAPES = ((1, 0.5), (1, 1), (1, 2), (2, 2), (1, 4), (2, 4), (3, 1))
STRATEGIES = ("backfill", "backfill", "backfill", "fifo", "round_robin", "balance", "intelligent")


def queues_of(dice: random.Random, nodes: int) -> list[Json]:
    queues: list[Json] = [{"name": "a", "strategy": dice.choice(STRATEGIES)}]
    if dice.random() < 0.4:
        queues.append({"name": "b"})
        if dice.random() < 0.5:
            queues[1]["guaranteed"] = {"gpu": nodes}
    if dice.random() < 0.3:
        queues[0]["maximum"] = {"gpu": max(2, 2 * nodes)}
    return queues


def job_of(dice: random.Random, nodes: int, queues: list[Json], early: bool) -> Json:
    replicas, gpus = dice.choice(SHAPES)
    if replicas * gpus > (2 if "maximum" in queues[0] else 4) * nodes:
        replicas, gpus = 1, 1
    runs = dice.randrange(1, 30)
    job: Json = {
        "at": f"{dice.randrange(20 * 60) if dice.random() < 0.7 else 0}s",
        "runs": f"{runs}m",
        "replicas": replicas,
        "resources": {"gpu": gpus, "cpu": 1},
        "queue": dice.choice(queues)["name"],
        "user": dice.choice("uv"),
        "priority": dice.choice([5, 5, 5, dice.randrange(1, 10)]),
    }
    if early and dice.random() < 0.2:
        return job  # taken to run as long as the cluster says
    longer = dice.randrange(30) if early and dice.random() < 0.5 else 0
    job["limits"] = {"run_time": f"{runs + longer}m"}
    if early:
        job["preemptible"] = dice.random() < 0.3
    return job


def world(seed: int, early: bool) -> tuple[Json, Json]:
    """Jobs that run to their limits; early: also shorter, without one, on nodes that fail."""
    dice = random.Random(seed)
    nodes = dice.randrange(1, 5)
    queues = queues_of(dice, nodes)
    cluster: Json = {
        "nodes": [{"count": nodes, "cpus": 32, "memory": "128Gi", "gpus": 4}],
        "queues": queues,
        "default_run": "20m",
    }
    jobs = [job_of(dice, nodes, queues, early) for _ in range(dice.randrange(8, 40))]
    workload: Json = {"jobs": jobs}
    if early and nodes > 1 and dice.random() < 0.4:
        at = dice.randrange(30)
        workload["failures"] = [{"node": "n1", "at": f"{at}m", "back": f"{at + 9}m"}]
    return cluster, workload


def asked(folder: Path, seed: int, early: bool) -> Json:
    cluster, workload = world(seed, early)
    (folder / "nodes.json").write_text(json.dumps(cluster))
    (folder / "jobs.json").write_text(json.dumps(workload))
    files = ("--cluster", folder / "nodes.json", "--workload", folder / "jobs.json")
    done = muster("simulate", *files, "--explain", "1", "--json", "-", state=folder / "state")
    assert done.stdout, done.stderr
    found: Json = json.loads(done.stdout)["explained"]
    assert done.returncode == 0, (seed, early, done.stderr, found)
    assert found["bounds_beaten"] == found["ahead_wrong"] == 0, (seed, early, found)
    assert json.loads(done.stdout)["bound_violations"] == 0, (seed, early)
    return found


def all_true(folder: Path, seeds: range) -> None:
    sums: Counter[str] = Counter()
    for seed in seeds:
        for early in (False, True):
            sums.update({k: v for k, v in asked(folder, seed, early).items() if type(v) is int})
    told = sums["ahead_told"] - sums["ahead_excused"]
    assert sums["asked"] > 20 * len(seeds), sums
    assert sums["bounds"] > sums["asked"] * 0.9, sums
    assert told > 8 * len(seeds), sums  # sets that nothing excused, each of them right
    assert sums["estimates_learnt"] > 0, sums


@pytest.mark.sanitizer
def test_a_few(tmp_path: Path) -> None:
    all_true(tmp_path, range(30))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1800, 100))
def test_many(tmp_path: Path, first: int) -> None:
    all_true(tmp_path, range(first, first + 100))


def test_promises_of_one_time(tmp_path: Path) -> None:
    """Two jobs are promised the same time, one after the other: the first keeps its places."""
    cluster, workload = world(1300, False)
    (tmp_path / "nodes.json").write_text(json.dumps(cluster))
    (tmp_path / "jobs.json").write_text(json.dumps(workload))
    files = ("--cluster", tmp_path / "nodes.json", "--workload", tmp_path / "jobs.json")
    done = muster("simulate", *files, "--json", "-", state=tmp_path / "state")
    assert json.loads(done.stdout)["bound_violations"] == 0, done.stderr


def test_who_comes_later_is_not_ahead(tmp_path: Path) -> None:
    """Equal jobs of one user, one after the other: as many are ahead as came before."""
    (tmp_path / "nodes.json").write_text('{"nodes": [{"cpus": 8, "memory": "8Gi", "gpus": 1}]}')
    job = {"runs": "10m", "count": 6, "every": "10s", "resources": {"gpu": 1}}
    job["limits"] = {"run_time": "10m"}
    (tmp_path / "jobs.json").write_text(json.dumps({"jobs": [job]}))
    files = ("--cluster", tmp_path / "nodes.json", "--workload", tmp_path / "jobs.json")
    done = muster("simulate", *files, "--explain", "1", "--json", "-", state=tmp_path / "state")
    found = json.loads(done.stdout)["explained"]
    assert (found["ahead_told"], found["ahead_wrong"]) == (10, 0)
    assert found["error_by_limit"] == {"p50": 0, "p90": 0}
    text = muster("simulate", *files, "--explain", "1", state=tmp_path / "state").stdout
    assert "0 of 10 bounds beaten, 0 of 10 sets wrong" in text
