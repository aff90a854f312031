"""The openb experiment (bench/openb): that it is the published one, and what placing by potential
reaches on it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import mean

import pytest
from harness import ROOT, Json, program

TRACES = ROOT.parent / "shared/traces/openb"
NODES = TRACES / "openb_node_list_gpu_node.csv"
BENCH = ROOT / "bench/openb"
LOAD = program().resolve().parents[2] / "bench/openb_load"

published = pytest.mark.skipif(not NODES.exists(), reason=f"{TRACES} is not there")
built = pytest.mark.skipif(not LOAD.is_file(), reason=f"{LOAD} is not built (make build)")
pytestmark = built

SEQUENCES = {  # of seed 42: length, sum in milli-GPU, the first three tasks and the last
    "default": (10761, 8075530, ("5948", "0035", "2630", "6606")),
    "cpu200": (11776, 8074830, ("2956", "0008", "5140", "1671")),
    "multigpu50": (6532, 8071450, ("8834", "2985", "3993", "6719")),
}
MEANS = {  # of seeds 42 to 51: best fit, FGD, the best published
    "default": (93.25, 95.26, 95.4),
    "cpu200": (92.39, 94.01, 95.1),
    "multigpu50": (95.86, 97.17, 97.2),
}


def load(*words: str | Path, fails: bool = False) -> Json:
    done = subprocess.run([LOAD, *words], capture_output=True, text=True, check=False)
    if fails:
        assert done.returncode != 0
        return {"said": done.stderr}
    assert done.returncode == 0, done.stderr
    document: Json = json.loads(done.stdout)
    return document


def play(name: str, seeds: str, *policies: str, flags: tuple[str, ...] = ()) -> list[Json]:
    tasks = TRACES / f"openb_pod_list_{name}.csv"
    runs: list[Json] = load(*flags, NODES, tasks, seeds, *policies)["runs"]
    return runs


def percent(runs: list[Json], policy: str) -> float:
    return float(mean(run["percent"] for run in runs if run["policy"] == policy))


def accepted(runs: list[Json], policy: str, size: str) -> float:
    ours = [run for run in runs if run["policy"] == policy]
    arrived = sum(run["arrived"][size] for run in ours)
    return float(sum(run["accepted"][size] for run in ours)) / float(arrived)


@published
@pytest.mark.parametrize("name", SEQUENCES)
def test_arrivals_are_those_of_the_experiment(name: str) -> None:
    length, total, tasks = SEQUENCES[name]
    (run,) = play(name, "42", "bestfit")
    assert run["decisions"] == length == sum(run["arrived"].values())
    assert run["sum_milli"] == total
    assert run["tasks"] == [f"openb-pod-{number}" for number in tasks]


@published
@pytest.mark.parametrize("name", MEANS)
def test_one_seed(name: str) -> None:
    """--verify looks at every node when a task is dropped, and at the books at the end."""
    runs = play(name, "42", "bestfit", "fgd", "muster", flags=("--verify",))
    best_fit, fgd, best = MEANS[name]
    assert abs(percent(runs, "bestfit") - best_fit) < 0.3
    assert abs(percent(runs, "fgd") - fgd) < 0.5
    assert percent(runs, "muster") >= best + 0.4
    decisions = sum(run["decisions"] for run in runs if run["policy"] == "muster")
    assert sum(run["pairs"] for run in runs if run["policy"] == "muster") < 60 * decisions
    assert sum(run["states"] for run in runs if run["policy"] == "muster") < 25 * decisions


@published
def test_the_same_again() -> None:
    once, again = (play("multigpu50", "44", "muster", "random") for _ in range(2))
    for run in (*once, *again):
        del run["seconds"]
    assert once == again


@published
@pytest.mark.slow
def test_ten_seeds() -> None:
    gains = []
    for name, (best_fit, fgd, best) in MEANS.items():
        runs = play(name, "42-51", "bestfit", "fgd", "muster", flags=("--verify",))
        assert round(percent(runs, "bestfit"), 2) == pytest.approx(best_fit, abs=0.011)
        assert round(percent(runs, "fgd"), 2) == pytest.approx(fgd, abs=0.011)
        gains.append(percent(runs, "muster") - best)
        assert gains[-1] >= 0.4, name
        if name == "multigpu50":
            assert accepted(runs, "muster", "8") >= 0.65
        permuted = play(name, "42-51", "muster", flags=("--permute", "7"))
        assert abs(percent(permuted, "muster") - percent(runs, "muster")) < 0.15, name
    assert mean(gains) >= 0.5


def test_bad_rows(tmp_path: Path) -> None:
    nodes, tasks = tmp_path / "nodes.csv", tmp_path / "tasks.csv"
    head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,8000,8192,2,T4\n")
    good = "a,1000,10,1,500,\n"
    for row, says in (
        ("b,x,10,1,500,", 'tasks.csv:3: cpu_milli: "x"'),
        ("b,1000,,1,500,", 'tasks.csv:3: memory_mib: ""'),
        ("b,1000,10,-1,500,", 'tasks.csv:3: num_gpu: "-1"'),
        ("b,1000,10,1,0,", "tasks.csv:3: gpu_milli"),
        ("b,1000,10,1,500,T4||P100", "tasks.csv:3: gpu_spec"),
        (",1000,10,1,500,", "tasks.csv:3: name: empty"),
        ("b,1000,10", "tasks.csv:3: 3 fields, the first line has 6"),
    ):
        tasks.write_text(head + good + row + "\n")
        said = load(nodes, tasks, "1-2", "muster", fails=True)["said"]
        assert says in said
        assert "Sanitizer" not in said
    tasks.write_text(head + good)
    assert load(nodes, tasks, "1-2", "muster")["runs"][0]["percent"] == 100
    assert "no policy is called" in load(nodes, tasks, "1", "tetris", fails=True)["said"]
    nodes.write_text("sn,cpu_milli,memory_mib,gpu\nn0,8000,8192,2\n")
    assert (
        "nodes.csv:2: model: no such column" in load(nodes, tasks, "1", "fgd", fails=True)["said"]
    )


def test_models_and_shares(tmp_path: Path) -> None:
    """Small enough to know: tasks tied to a model fit there only, shares share."""
    nodes, tasks = tmp_path / "nodes.csv", tmp_path / "tasks.csv"
    nodes.write_text(
        "sn,cpu_milli,memory_mib,gpu,model\nn0,8000,8192,1,T4\nn1,8000,8192,1,P100\nn2,9000,9000,1,A10\n"
    )
    tasks.write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
        + "".join(f"t{i},10,10,1,500,T4|P100\n" for i in range(8))
    )
    for policy in ("random", "bestfit", "fgd", "muster"):
        (run,) = load("--verify", nodes, tasks, "3", policy)["runs"]
        assert run["placed_milli"] == 2000, policy
        assert run["accepted"]["share"] == 4


def test_bench_without_traces_of_its_own(tmp_path: Path) -> None:
    """One list: the figure of ours is at the top; the table has a row for each policy."""
    nodes, tasks = tmp_path / "nodes.csv", tmp_path / "made.csv"
    nodes.write_text(
        "sn,cpu_milli,memory_mib,gpu,model\n"
        + "".join(f"n{i},64000,262144,8,G2\n" for i in range(6))
    )
    tasks.write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
        + "".join(f"t{i},4000,8192,{1 + i % 2},1000\n" for i in range(30))
    )
    words = [
        sys.executable,
        str(BENCH),
        "--nodes",
        str(nodes),
        "--list",
        str(tasks),
        "--seeds",
        "42-44",
    ]
    done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    ours = document["lists"]["made"]["muster"]
    assert document["mean_allocated_gpu_percent"] == ours["mean_allocated_gpu_percent"] > 90
    assert set(ours["by_seed"]) == {"42", "43", "44"}
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert [line for line in done.stdout.splitlines() if "muster" in line and "made" in line]
    assert len([line for line in done.stdout.splitlines() if line.split()[1:2] == ["made"]]) == 4
