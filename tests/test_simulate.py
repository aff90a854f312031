"""muster simulate, from files to files: what is known by hand, every format, bad rows, and the same
result twice."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from harness import Done, Json, muster

CLUSTER = "nodes:\n  - {count: 2, cpus: 16, memory: 64Gi, gpus: 4}\n"
FIFO = "jobs:\n  - {runs: 10m, count: 3, every: 1m, replicas: 2, resources: {gpu: 4}}\n"
OPENB_NODES = "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,4,T4\nb,96000,262144,4,P100\n"
OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
    "p1,4000,1024,4,1000,T4,LS,Running,100,200,100\n"
    "p2,4000,1024,1,500,T4|P100,LS,Running,110,210,115\n"
    "p3,4000,1024,4,1000,T4,LS,Running,120,220,120\n"
)
SACCT = (
    "JobID|Submit|Start|End|Elapsed|ReqTRES|NNodes|Timelimit|Partition|User|State\n"
    "1|2026-01-02T00:00:00|x|x|00:10:00|cpu=8,mem=8G,gres/gpu=8|2|01:00:00|gpu|ada|COMPLETED\n"
    "1.batch|2026-01-02T00:00:00|x|x|00:10:00|cpu=8|2||||COMPLETED\n"
    "2|2026-01-02T00:01:00|x|x|00:10:00|cpu=8,mem=8G,gres/gpu=8|2|01:00:00|gpu|bob|FAILED\n"
    "3|2026-01-02T00:02:00|x|x|00:00:00|cpu=8|1||gpu|bob|CANCELLED by 0\n"
)
SWF = (
    "; a log\n"
    " 1  0 0 600 32 -1 -1 32 900 -1 1 1 1 -1 1 -1 -1 -1\n"
    " 2 60 0 600 32 -1 -1 32 900 -1 0 2 1 -1 1 -1 -1 -1\n"
)
LINES = (
    '{"runs": "10m", "replicas": 2, "resources": {"gpu": 4}}\n'
    '{"at": "1m", "runs": "10m", "replicas": 2, "resources": {"gpu": 4}}\n'
)


class Case:
    """A folder with files of a simulation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cluster = self.file("nodes.yaml", CLUSTER)

    def file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def run(self, workload: str, *more: str | Path, name: str = "w", cluster: str = "") -> Done:
        nodes = self.file("other-nodes", cluster) if cluster else self.cluster
        return muster(
            *("simulate", "--cluster", nodes, "--workload", self.file(name, workload), *more),
            state=Path("/nonexistent/state"),
        )

    def result(self, workload: str, *more: str, cluster: str = "") -> Json:
        done = self.run(workload, "--json", "-", *more, cluster=cluster)
        assert done.returncode == 0, done.stderr
        found: Json = json.loads(done.stdout)
        return found


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def waits(result: Json, size: str = "all") -> Any:
    return next(row for row in result["waits"] if row["size"] == size)


@pytest.mark.sanitizer
def test_first_come_first_served(case: Case) -> None:
    """Three jobs that take all 8 GPUs for 10 minutes come a minute apart: 0, 9 and 18 minutes."""
    result = case.result(FIFO)
    assert waits(result, "2-8") == {
        "size": "2-8", "jobs": 3, "mean_ms": 540000, "p50_ms": 540000, "p95_ms": 1080000,
        "p99_ms": 1080000, "max_ms": 1080000,
    }  # fmt: skip
    assert result["makespan_ms"] == 30 * 60000
    assert result["utilisation"]["gpu"] == 1
    assert result["jobs"]["succeeded"] == 3
    assert result["inputs"] == {
        "submissions": 3, "starts": 6, "ends": 6, "node_changes": 0, "all": 15,
    }  # fmt: skip
    assert max(result["series"]["waiting"]) == 2


def test_priority_goes_first(case: Case) -> None:
    text = (
        "jobs:\n"
        "  - {runs: 10m, replicas: 2, resources: {gpu: 4}}\n"
        "  - {at: 1m, runs: 1h, replicas: 2, resources: {gpu: 4}, priority: 3}\n"
        "  - {at: 2m, runs: 10m, replicas: 2, resources: {gpu: 4}, priority: 7}\n"
    )
    assert waits(case.result(text))["max_ms"] == 19 * 60000


@pytest.mark.sanitizer
def test_lost_node(case: Case) -> None:
    text = FIFO.replace("3,", "1,") + "failures:\n  - {node: n1, at: 5m, back: 15m}\n"
    result = case.result(text)
    assert result["attempts_lost"] >= 1
    assert result["inputs"]["node_changes"] == 2
    assert result["jobs"]["succeeded"] == 1
    # Its second task ends on n2 after 10 minutes; the first one begins anew there.
    assert result["makespan_ms"] == 20 * 60000
    away = case.result(text.replace(", back: 15m}", "}\n  - {node: n2, at: 6m}"))
    assert away["jobs"]["unfinished"] == 1


@pytest.mark.parametrize(
    ("text", "name", "jobs", "failed"),
    [(OPENB, "openb", 3, 0), (SACCT, "sacct", 2, 1), (SWF, "swf", 2, 1), (LINES, "jobs", 2, 0)],
)
def test_every_format(case: Case, text: str, name: str, jobs: int, failed: int) -> None:
    result = case.result(text, cluster=OPENB_NODES if name == "openb" else "")
    assert result["workload"]["format"] == name
    assert result["jobs"]["submitted"] == jobs
    assert result["jobs"]["failed"] == failed
    assert result["jobs"]["succeeded"] == jobs - failed
    assert waits(result)["max_ms"] == (80000 if name == "openb" else 9 * 60000)


def test_same_seed_same_result(case: Case) -> None:
    text = (
        "jobs:\n  - {runs: 1h, count: 150, every: 1m, resources: {gpu: 1}}\n"
        "failures: [{tasks: 0.2}]\n"
    )
    first = case.run(text, "--seed", "4", "--json", "-").stdout
    assert case.run(text, "--seed", "4", "--json", "-").stdout == first
    assert case.run(text, "--seed", "5", "--json", "-").stdout != first


@pytest.mark.sanitizer
def test_bad_rows_are_all_named(case: Case) -> None:
    bad = OPENB.replace("p2,4000", "p2,lots").replace(
        ",T4,LS,Running,120,220", ",T4,LS,Running,9,8"
    )
    done = case.run(bad, name="pods.csv")
    assert done.returncode == 2
    assert done.stdout == ""
    assert 'pods.csv:3:4: row 2: cpu_milli is "lots"' in done.stderr
    assert "thousandths of a core" in done.stderr
    assert 'row 3: deletion_time is "8"' in done.stderr
    assert "2 errors in" in done.stderr
    assert "nothing was run" in done.stderr


def test_bad_files_and_options(case: Case) -> None:
    good = ("--cluster", case.cluster, "--workload", case.file("good", FIFO))
    empty = case.file("empty", "nodes: []\n")
    for words, said in (
        ((), "--cluster"),
        (("--cluster", case.cluster), "--workload"),
        (("--cluster", "/nonexistent", "--workload", "x"), "/nonexistent"),
        (("--cluster", empty, "--workload", good[3]), "no node"),
        ((*good, "--policy", "strat=1s"), '"start"?'),
        ((*good, "--policy", "strategy=lifo"), "round_robin"),
        ((*good, "--policy", "defualt.weight=2"), '"default.weight"?'),
        ((*good, "--compare", "strategy=fifo", "strategy=lifo"), "round_robin"),
        ((*good, "--compare", "strategy=fifo", "", "--json", "x"), "writes no file"),
        (("--compare", "strategy=fifo", "strategy=backfill"), "--cluster"),
        ((*good, "--policy", "start=blue"), "start=10s"),
        ((*good, "extra"), "operand"),
        (("--compare", good[3]), "A B"),
        (("--compare", good[3], good[3]), "no result"),
    ):
        done = muster("simulate", *words)
        assert done.returncode in (1, 2), words
        assert said in done.stderr, (words, done.stderr)
    done = case.run(FIFO + "failures: [{node: n9, at: 1m}]\n")
    assert done.returncode == 2
    assert 'failures[0].node is "n9"' in done.stderr


def test_too_large_a_job_is_refused(case: Case) -> None:
    done = case.run("jobs:\n  - {runs: 1m, resources: {gpu: 5}}\n  - {runs: 1m}\n")
    assert done.returncode == 0
    assert "1 refused" in done.stdout
    assert "worker asks 5 gpu" in done.stdout or "5 gpu" in done.stdout


QUEUES = "queues:\n  - {name: sure, guaranteed: {gpu: 4}}\n  - {name: rest}\n"
SHARED = (
    "jobs:\n"
    "  - {runs: 30m, queue: rest, count: 2, limits: {run_time: 1h}, resources: {gpu: 4}}\n"
    "  - {at: 5m, runs: 10m, queue: sure, limits: {run_time: 1h}, resources: {gpu: 4}}\n"
    "  - {at: 6m, runs: 10m, queue: sure, limits: {run_time: 1h}, resources: {gpu: 4}}\n"
)


@pytest.mark.sanitizer
def test_queues_take_back_what_is_theirs(case: Case) -> None:
    result = case.result(SHARED, cluster=CLUSTER + QUEUES)
    (taken,) = result["preempted"]
    assert (taken["from"], taken["for"], taken["lost_gpu_s"]) == ("rest", "sure", 1200)
    assert result["promises"]["made"] >= result["promises"]["kept"] > 0
    assert result["bound_violations"] == 0
    done = case.run(
        SHARED, "--compare", "sure.reclaim=true", "reclaim=false", cluster=CLUSTER + QUEUES
    )
    assert done.returncode == 0
    rows = {line.split("  ")[0]: line.split() for line in done.stdout.splitlines() if line}
    assert rows["preemptions"][2] == "0" < rows["preemptions"][1]
    assert rows["B: reclaim=false"]


def test_slips_in_declarations(case: Case) -> None:
    """Each is refused with its place, or said with the result."""
    good = QUEUES.replace("sure, guaranteed: {gpu: 4}", "a, parent: b}\n  - {name: b, parent: a")
    for extra, text, said in (
        (QUEUES, SHARED.replace("rest", "rset"), 'w:2:5: there is no queue "rset"'),
        ("quues: []\n", FIFO, '"queues"?'),
        ("default_run: soon\n", FIFO, "a time above 0"),
        ("queues: [{name: a, strategy: lifo}]\n", FIFO, ":3:30: strategy"),
        ("queues: [a]\n", FIFO + "queues: [b]\n", "said before"),
        (good, FIFO, "below itself"),
    ):
        done = case.run(text, cluster=CLUSTER + extra)
        assert done.returncode == 2, extra
        assert said in done.stderr, (extra, done.stderr)
    much = case.run(FIFO, cluster=CLUSTER + "queues: [{name: a, guaranteed: {gpu: 9}}]\n")
    assert much.returncode == 0
    assert "the cluster has 8 gpu" in much.stdout
    marked = case.run("\ufeff" + SWF, cluster="\ufeff" + OPENB_NODES)
    assert marked.returncode == 0, marked.stderr


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.outside += [v for k, v in attrs if k in ("src", "href") and v]


def test_what_is_written(case: Case) -> None:
    page, result = case.folder / "a.html", case.folder / "a.json"
    done = case.run(FIFO, "--html", page, "--json", result)
    assert done.returncode == 0
    assert "utilisation    gpu 100.0 %" in done.stdout
    assert "15 events" in done.stderr
    html = Page()
    html.feed(page.read_text())
    assert html.tags["svg"] == 3
    assert html.tags["path"] == 5
    assert not html.outside
    assert "prefers-color-scheme:dark" in page.read_text()
    quiet = case.run(FIFO, "--quiet", "--json", result)
    assert quiet.stdout == quiet.stderr == ""
    slow = case.folder / "b.json"
    case.run(FIFO, "--policy", "start=1m", "--json", slow)
    both = muster("simulate", "--compare", result, slow)
    assert both.returncode == 0
    rows = {line.split("  ")[0]: line.split() for line in both.stdout.splitlines() if line}
    assert rows["time"][1:] == ["30m", "33m", "+10.0", "%"]
    assert rows["wait all mean"][-2:] == ["+11.1", "%"]
