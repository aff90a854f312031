"""Launchers inside a job: ranks, an agent and the server are killed, and it comes back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from conftest import Starter
from harness import ROOT, Json, Server, alive, kill, native, patience, wait_for

# Says once who it is, then lives until its file appears. No torch: what is tested is the launcher.
RANK = r"""
import os, sys, time
names = ("RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
         "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_RUN_ID", "MUSTER_TASK_INDEX")
said = " ".join(f"{name}={os.environ.get(name)}" for name in names)
os.write(1, f"up {said} pid={os.getpid()}\n".encode())  # one write: lines of ranks stay whole
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
"""
UP = re.compile(r"^.*?up (RANK=\S+ .* pid=\d+)$", re.MULTILINE)


class Job:
    """A job of two tasks with two ranks each, on two virtual nodes."""

    def __init__(self, server: Server, **fields: Any) -> None:
        self.server = server
        self.end = server.state / "end"
        script = server.state / "rank.py"
        script.write_text(RANK)
        shape: dict[str, Any] = {
            "replicas": 2,
            "resources": {"cpu": 3, "memory": "512Mi"},
            "launcher": {"ranks_per_node": 2, "max_restarts": 3},
        }
        text = native("ranks", f"torchrun {script} {self.end}", **{**shape, **fields})
        self.number = server.submit(text)

    def lives(self) -> list[dict[str, str]]:
        """What living ranks said of themselves when they came up, by rank."""
        said = UP.findall(self.server.log(self.number))
        rows = [dict(word.split("=", 1) for word in line.split()) for line in said]
        return sorted((r for r in rows if alive(int(r["pid"]))), key=lambda r: int(r["RANK"]))

    def wait_world(
        self, size: int, seconds: float, but: frozenset[str] = frozenset()
    ) -> list[dict[str, str]]:
        """Waits for a complete world of that size, of other processes than those."""

        def there() -> bool:
            rows = self.lives()
            whole = [r["RANK"] for r in rows] == [str(n) for n in range(size)]
            same = {r["WORLD_SIZE"] for r in rows} == {str(size)}
            return whole and same and not but & {r["pid"] for r in rows}

        wait_for(there, seconds, f"{size} ranks")
        return self.lives()

    def count(self, kind: str) -> int:
        return sum(e["type"] == kind for e in self.server.events(self.number))

    def finish(self) -> Json:
        self.end.touch()
        return self.server.wait(self.number, "succeeded", timeout=60)


@pytest.fixture
def server(start: Starter) -> Server:
    """Two nodes that a task each fills."""
    return start(nodes="2x4cpu,8Gi", env={"MUSTER_PYTHON": str(ROOT / ".venv/bin/python")})


def pids(rows: list[dict[str, str]]) -> frozenset[str]:
    return frozenset(row["pid"] for row in rows)


def test_ranks_agents_and_the_server_may_die(server: Server) -> None:
    job = Job(server, retry={"scope": "task", "platform": 3, "unknown": 1})
    first = job.wait_world(4, 60)
    assert [r["GROUP_RANK"] for r in first] == ["0", "0", "1", "1"]
    assert [r["MUSTER_TASK_INDEX"] for r in first] == ["0", "0", "1", "1"]
    assert [r["LOCAL_RANK"] for r in first] == ["0", "1", "0", "1"]
    assert {r["LOCAL_WORLD_SIZE"] for r in first} == {"2"}
    assert {r["TORCHELASTIC_RESTART_COUNT"] for r in first} == {"0"}
    assert len({r["MASTER_ADDR"] for r in first}) == 1

    kill(int(first[3]["pid"]))
    second = job.wait_world(4, 30, pids(first))
    assert {r["TORCHELASTIC_RESTART_COUNT"] for r in second} == {"1"}
    assert job.count("launch.failed") >= 1 and job.count("launch.round") >= 2
    attempts = [len(t["attempts"]) for t in server.job(job.number, tasks=1)["task_list"]]
    assert attempts == [1, 1], "the launcher brought it back, not the task's retry"

    joined = job.count("launch.joined")
    server.kill()
    server.start()
    wait_for(lambda: job.count("launch.joined") >= joined + 2, 30, "both launchers are back")
    assert job.wait_world(4, 30) == second, "a restarted server changes nothing"
    kill(int(second[0]["pid"]))
    third = job.wait_world(4, 60, pids(second))
    assert pids(job.wait_world(4, 30)) == pids(third)

    agent = server.agents(job.number)["agent"][0]
    kill(agent)
    wait_for(lambda: job.count("launch.lost") >= 1, 30, "the loss is told")
    job.wait_world(4, 60, pids(third))
    ended = job.finish()
    assert ended["state"] == "succeeded"
    said = server.muster("events", str(job.number)).stdout
    for kind in ("launch.round", "launch.failed", "launch.lost"):
        assert kind in said, said


def test_one_task_says_that_it_runs_again(server: Server) -> None:
    job = Job(server, replicas=1)
    rows = job.wait_world(2, 60)
    kill(int(rows[0]["pid"]))
    job.wait_world(2, 60, frozenset(row["pid"] for row in rows))
    wait_for(lambda: any(e["type"] == "launch.again" for e in server.events(job.number)))
    (again,) = [e for e in server.events(job.number) if e["type"] == "launch.again"]
    assert "started again in" in again["text"] and again["task"] == "worker/0"
    job.finish()


def test_a_convention_is_enough(server: Server) -> None:
    job = Job(server, launcher={}, conventions=["torchrun"], env={"PET_NPROC_PER_NODE": "2"})
    rows = job.wait_world(4, 60)
    assert {r["WORLD_SIZE"] for r in rows} == {"4"}
    job.finish()


def test_run_shows_it(server: Server) -> None:
    script = server.state / "one.py"
    script.write_text("import os\nos.write(1, f\"rank {os.environ['RANK']}\\n\".encode())\n")
    text = native(
        "short", f"torchrun {script}", replicas=2, launcher={"ranks_per_node": 2, "max_restarts": 0}
    )
    (server.state / "short.json").write_text(text)
    run = server.popen("run", server.state / "short.json")
    out, err = run.communicate(timeout=patience(60))
    assert run.returncode == 0, out + err
    assert sorted(re.findall(r"rank (\d)", out)) == ["0", "1", "2", "3"]


def test_nodes_check_each_other(server: Server) -> None:
    """By the addresses that the server gave them, and told by the names it has for them."""
    job = Job(server, launcher={"ranks_per_node": 2, "max_restarts": 0, "node_check": True})
    job.wait_world(4, 60)
    said = [e["text"] for e in server.events(job.number) if e["type"] == "launch.check"]
    # A busy machine may make one of them slow: then there is a second look, and it is named.
    assert {text.split(" ")[0].rstrip(":") for text in said} == {"n1", "n2"}, said
    assert all("partner " in text and "failed" not in text for text in said), said
    job.finish()


def test_an_elastic_worker_that_comes_after_the_end_ends_well(server: Server) -> None:
    """Two of two to three have a place. When they have ended, there is room for the third, and
    nothing left for it to do."""
    job = Job(server, replicas={"min": 2, "max": 3})
    job.wait_world(4, 60)
    ended = job.finish()
    attempts = {task["name"]: task["attempts"] for task in ended["task_list"]}
    assert [a["exit_code"] for a in attempts["worker/2"]] == [0], attempts
    kinds = [e["type"] for e in server.events(job.number)]
    assert "task.retry" not in kinds and "task.failed" not in kinds
