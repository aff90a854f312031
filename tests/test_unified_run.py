"""Jobs of several roles, built by the DLRover builder and run by a real server: the acceptance
cases of the unified API, and what happens when something dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness import ROOT, Json, Server, environment, patience, wait_for
from muster import Client, Job
from muster.unified import DLJobBuilder, RLJobBuilder

CODE = ROOT / "tests/fixtures/unified"
NODES = "2x8cpu,32Gi,4gpu,WR:999;1x4cpu,8Gi,MR:999"
Starter = Callable[..., Server]


@pytest.fixture
def cluster(start: Starter, monkeypatch: pytest.MonkeyPatch) -> Server:
    server = start(nodes=NODES)
    monkeypatch.setenv("MUSTER_STATE_DIR", str(server.state))
    monkeypatch.delenv("MUSTER_SERVER", raising=False)
    monkeypatch.chdir(CODE)
    return server


def builder(**config: Any) -> DLJobBuilder:
    return DLJobBuilder().node_num(2).device_per_node(2).device_type("CPU").config(config)


def last() -> Job:
    return Client().job(Client().jobs(limit=1)[0]["number"])


def said(job: Job) -> dict[str, list[str]]:
    """What each task wrote, by its name."""
    out: dict[str, list[str]] = {}
    for record in job.client.stream(f"{job.path}/logs"):
        if "task" in record:
            out.setdefault(record["task"], []).extend(record["text"].splitlines())
    return out


def lines(job: Job) -> list[str]:
    return [line for one in said(job).values() for line in one]


# ---- ends ----


@pytest.mark.trains
def test_elastic_role_with_its_process_group(cluster: Server) -> None:
    role = builder(x=1).train("work.environment").nnodes(2).nproc_per_node(2)
    assert role.end().build().submit("full") == 0
    told = [json.loads(line) for line in lines(last()) if line.startswith("{")]
    by_rank = {one["env"]["RANK"]: one["env"] for one in told}
    assert sorted(by_rank) == ["0", "1", "2", "3"]
    third = by_rank["2"]
    assert third["NAME"] == "ELASTIC_4-2_2-0" and third["NODE_RANK"] == "1"
    assert third["LOCAL_RANK"] == "0" and third["LOCAL_WORLD_SIZE"] == "2"
    assert third["WORLD_SIZE"] == "4" and third["ACCELERATE_TORCH_DEVICE"] == "cpu"
    assert third["MASTER_ADDR"] is None
    assert all(one["main"] for one in told)


def test_simple_role_knows_itself(cluster: Server) -> None:
    job = builder(x="y").global_env({"OWN": "a", "WORLD_SIZE": "9"})
    role = job.role("r").run("work.environment").total(2).env({"OWN": "b", "RANK": "7"})
    assert role.end().build().submit("env") == 0
    told = [json.loads(line) for line in lines(last())]
    told.sort(key=lambda one: one["env"]["RANK"])
    assert [one["env"]["NAME"] for one in told] == ["r_2-0_1-0", "r_2-1_1-0"]
    assert [one["env"]["WORLD_SIZE"] for one in told] == ["2", "2"]
    assert told[1]["env"]["OWN"] == "b" and told[1]["env"]["JOB"] == "env"
    assert told[1]["env"]["NODE_RANK"] is None
    assert told[1]["info"] == ["env", "r_2-1_1-0", 1, "y"]


@pytest.mark.parametrize("launcher", ["dlrover-run", "torchrun"])
@pytest.mark.trains
def test_a_launcher_line(cluster: Server, launcher: str) -> None:
    line = f"{launcher} --nnodes=2 --nproc_per_node=2 {CODE}/script.py --test 'a b'"
    assert DLJobBuilder().device_type("CPU").by_dlrover_run_cmd(line).build().submit() == 0
    heard = [line for line in lines(last()) if line.startswith("script")]
    assert sorted(heard) == [f"script ['--test', 'a b'] __main__ {rank} 4" for rank in range(4)]


@pytest.mark.trains
def test_a_launcher_line_has_the_process_group(cluster: Server) -> None:
    """As in the reference: set up before the program starts. A program that asks for it again, as
    one for torchrun does, has it; another one is refused by torch."""
    line = f"dlrover-run --nnodes=2 --nproc_per_node=2 {CODE}/group.py"
    job = DLJobBuilder().device_type("CPU").by_dlrover_run_cmd(line).build()
    assert job.submit() == 0
    told = [json.loads(line) for line in lines(last()) if line.startswith("{")]
    assert sorted(one["world"] for one in told) == [[rank, 4, "gloo"] for rank in range(4)]
    for one in told:
        assert one["there"] and one["total"] == 10 and one["master"] is None
        assert "twice" in one["twice"]
        wanted = job.workloads["ELASTIC"].model_dump()
        assert {key: one["spec"][key] for key in wanted} == wanted
        assert one["resource"] == job.workloads["ELASTIC"].resource.model_dump()
        assert one["json"] == {"total": 4, "backend": "elastic"}


@pytest.mark.parametrize(
    ("end", "code", "says"),
    [("none", 0, ""), ("0", 0, ""), ("3", 1, "exited with 3"), ("text", 1, "exited with 1")],
)
def test_ends_of_a_script(cluster: Server, end: str, code: int, says: str) -> None:
    role = builder().role("s").run(f"script.py --exit {end}")
    assert role.end().build().submit(failover_exec_strategy=0) == code
    assert says in last().show()["reason"]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("work.raises", "exited with 1"),
        ("work.exits", "exited with 3"),
        ("work.crashes", "killed (SIGSEGV"),
    ],
)
def test_failures_without_failover(cluster: Server, entry: str, says: str) -> None:
    role = builder().role("r").run(entry).total(2)
    assert role.end().build().submit("bad", failover_exec_strategy=0) == 1
    assert says in last().show()["reason"]
    assert last().show()["generation"] == 1
    if entry == "work.raises":
        assert "ValueError: nothing to eat" in lines(last())


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("broken.run", "No module named 'no_such_package_anywhere'"),
        ("work.no_such_thing", "'work' has no 'no_such_thing'"),
        ("no_such_module.run", "module 'no_such_module' was not found"),
        ("no_such_script.py --x", "the script 'no_such_script.py' cannot be read"),
    ],
)
@pytest.mark.parametrize("elastic", [False, True])
def test_what_cannot_be_imported_is_not_tried_again(
    cluster: Server, entry: str, says: str, elastic: bool
) -> None:
    job = builder().no_setup_process_group()
    role = job.train(entry) if elastic else job.role("r").run(entry)
    assert role.total(2).end().build().submit("bad") == 1
    assert says in last().show()["reason"]
    assert last().show()["generation"] == 1
    assert max(task["attempt"] for task in last().tasks()) == 1
    if "module 'no_such_module'" in says:
        assert str(CODE) in "\n".join(lines(last()))  # the path that was searched


def test_an_async_function_is_awaited(cluster: Server) -> None:
    assert builder().role("r").run("work.asynchronous").end().build().submit() == 0
    assert lines(last()) == ["awaited"]


# ---- failover ----


def test_job_failover_within_its_budget(cluster: Server) -> None:
    job = builder().role("r").run("work.raises").total(2).end().build()
    assert job.submit("twice", job_max_restart=1) == 1
    assert last().show()["generation"] == 2
    assert 2 <= sum(line == "this is run" for line in lines(last())) <= 4


@pytest.mark.trains
def test_job_failover_of_an_elastic_role(cluster: Server) -> None:
    role = builder().no_setup_process_group().skip_node_check().train("work.raises")
    assert role.nproc_per_node(2).end().build().submit("twice", job_max_restart=1) == 1
    assert last().show()["generation"] == 2


def test_role_failover(cluster: Server) -> None:
    job = builder().role("r").run("work.fails_beside_others").total(2).end()
    job.role("other").run("work.sleep")
    assert job.build().submit("role", failover_exec_strategy=2, job_max_restart=1) == 0
    assert last().show()["generation"] == 1
    again = {task["name"]: task["attempt"] for task in last().tasks()}
    assert again == {"r/0": 2, "r/1": 2, "other/0": 1}


def test_role_failover_within_its_budget(cluster: Server) -> None:
    job = builder().role("r").run("work.raises").total(2).end().build()
    assert job.submit("role", failover_exec_strategy=2, job_max_restart=1) == 1
    assert last().show()["generation"] == 1
    assert max(task["attempt"] for task in last().tasks()) == 2


def test_the_limit_may_be_changed_after_building(cluster: Server) -> None:
    job = builder().role("r").run("work.raises").end().build()
    job.workloads["r"].max_restart = 0
    assert job.submit("none") == 1
    assert last().show()["generation"] == 1


def test_late_failover_lets_the_others_finish(cluster: Server, tmp_path: Path) -> None:
    job = builder(mark=str(tmp_path / "m")).role("r").run("work.fails_once").total(2).end()
    assert job.build().submit("late", failover_trigger_strategy=1) == 0
    assert last().show()["generation"] == 2
    first = [t["attempts"][0]["state"] for t in last().tasks()]
    assert first == ["failed", "succeeded"]


@pytest.mark.trains
def test_a_killed_process_of_an_elastic_role(cluster: Server) -> None:
    job = builder().skip_node_check().no_setup_process_group()
    role = job.train("work.crashes_once").nnodes(2).nproc_per_node(1)
    assert role.end().build().submit("killed") == 0
    assert last().show()["generation"] == 1  # the role came back in place
    assert lines(last()).count("went through") == 2


def test_the_program_restarts_its_job(cluster: Server, tmp_path: Path) -> None:
    job = builder(mark=str(tmp_path / "m")).role("r").run("work.restarts_the_job").end()
    assert job.build().submit("again") == 0
    assert lines(last()) == ["restarts: 0", "restarts: 1"]


def test_a_used_name_starts_clean(cluster: Server) -> None:
    assert builder().role("r").run("work.sleep").end().build().submit("same") == 0
    job = builder().role("r").run("work.raises").end().build()
    assert job.submit("same", failover_exec_strategy=0) == 1


# ---- where ----


def test_groups_share_nodes(cluster: Server) -> None:
    job = builder().device_type("GPU").device_per_node(4)
    job.role("a").run("work.sleep").total(4).per_group(2).resource(gpu=1)
    job.role("b").run("work.sleep").total(2).resource(gpu=1).end().with_collocation("A", "b")
    assert job.build().submit("together") == 0
    nodes = {task["name"]: task["attempts"][-1]["node"] for task in last().tasks()}
    assert nodes["a/0"] == nodes["a/1"] == nodes["b/0"]
    assert nodes["a/2"] == nodes["a/3"] == nodes["b/1"]


def test_isolated_nodes(cluster: Server) -> None:
    job = builder().role("r").run("work.sleep").total(6).resource(cpu=0.5).end().build()
    assert (
        job.submit(
            "isolated",
            master_isolation_schedule_resource="MR",
            worker_isolation_schedule_resource="WR",
        )
        == 0
    )
    assert {task["attempts"][-1]["node"] for task in last().tasks()} <= {"n1", "n2"}
    only = builder().role("r").run("work.sleep").resource(cpu=0.5).end().build()
    assert only.submit("isolated", worker_isolation_schedule_resource="MR") == 0
    assert [task["attempts"][-1]["node"] for task in last().tasks()] == ["n3"]


# ---- calls ----


def test_roles_call_each_other(cluster: Server) -> None:
    job = builder().role("server").run("work.serve").total(3).not_driver().end()
    job.role("caller").run("work.calls").total(2)
    assert job.build().submit("calls") == 0
    names = [f"server_3-{i}_1-0" for i in range(3)]
    assert lines(last()) == [str(names)] * 2


def test_a_dead_worker_is_told_and_waited_for(cluster: Server) -> None:
    job = builder().role("server").run("work.serve").not_driver().restart("task").end()
    job.role("caller").run("work.calls_the_dead")
    assert job.build().submit("dead") == 0
    assert said(last())["caller/0"] == ["error: ActorUnavailable", "again: True 1"]


def test_reinforcement_learning_mocked(cluster: Server) -> None:
    job = (
        RLJobBuilder()
        .node_num(2)
        .device_per_node(4)
        .config({})
        .trainer("work.Trainer").resource(cpu=1).end()
        .actor("work.Actor").total(2).per_group(2).resource(accelerator=0.5).end()
        .rollout("work.serve").total(2).resource(accelerator=0.5).end()
        .reward("work.Scorer").resource(cpu=1).end()
        .no_setup_process_group()
        .skip_node_check()
        .build()
    )  # fmt: skip
    assert job.submit("rl") == 0
    assert said(last())["TRAINER/0"] == ["total 63 saved [4, 4] critics 0"]
    states = {task["name"]: task["state"] for task in last().tasks()}
    assert states["TRAINER/0"] == "succeeded"


# ---- from outside ----


def test_a_handle_sees_and_stops_the_job(cluster: Server) -> None:
    job = builder().role("r").run("work.serve_for_ever").total(2).end().build()
    assert job.submit("for ever", blocking=False) == 0
    handle = job.handle
    wait_for(lambda: handle.status() == "running", 30, "the job")
    wait_for(lambda: handle.logs().count("serves") == 2, 30, "both to serve")
    handle.stop()
    assert handle.wait() == 1
    assert handle.status() == "stopped"
    assert lines(last()) == ["serves", "asked to stop"] * 2


def boards(job: Job) -> list[Json]:
    return list(job.client.call("GET", f"{job.path}/board")["entries"])


def test_a_killed_server_changes_nothing(cluster: Server, tmp_path: Path) -> None:
    calls, enough = tmp_path / "calls", tmp_path / "enough"
    calls.touch()
    job = builder(calls=str(calls), enough=str(enough))
    job.role("server").run("work.serve").not_driver().end()
    job.role("caller").run("work.calls_for_long")
    built = job.build()
    assert built.submit("survivor", blocking=False) == 0
    heard: list[str] = []
    reader = threading.Thread(
        target=lambda: heard.extend(piece.text for piece in built.handle.job.follow("caller"))
    )
    reader.start()
    for _ in range(4):
        before = calls.stat().st_size
        wait_for(lambda n=before: calls.stat().st_size > n + 3, what="more calls")  # type: ignore[misc]
        os.kill(cluster.pid, signal.SIGKILL)
        cluster.start()
    enough.touch()
    assert built.handle.wait() == 0
    assert said(last())["caller/0"] == ["calls: True"]
    reader.join(patience())
    assert heard == ["calls: True\n"]
    assert [task["attempt"] for task in last().tasks()] == [1, 1]


def test_a_killed_worker_restarts_the_job(cluster: Server, tmp_path: Path) -> None:
    calls, enough = tmp_path / "calls", tmp_path / "enough"
    calls.touch()
    job = builder(calls=str(calls), enough=str(enough))
    job.role("server").run("work.serve").not_driver().end()
    job.role("caller").run("work.calls_for_long")
    built = job.build()
    assert built.submit("hurt", blocking=False) == 0
    wait_for(lambda: len(boards(built.handle.job)) == 2, 30, "both to serve")
    victim = next(t for t in built.handle.job.tasks() if t["name"] == "server/0")
    os.kill(victim["attempts"][-1]["pid"], signal.SIGKILL)
    wait_for(lambda: built.handle.job.show()["generation"] == 2, what="the restart")
    enough.touch()
    assert built.handle.wait() == 0
    assert built.handle.job.show()["generation"] == 2


@pytest.mark.parametrize("module", ["muster.unified", "dlrover.python.unified.driver.main"])
def test_the_json_form(cluster: Server, module: str) -> None:
    role = {"backend": "simple", "entry_point": "script.py --exit 0", "resource": {"cpu": 1}}
    text = json.dumps({"job_name": "json", "dl_config": {"workloads": {"r": role}}})
    env = environment(cluster.state)
    for arguments, code in (([text], 0), ([], 1)):
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            env=env, cwd=CODE, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode == 0) == (code == 0), done.stderr
    assert "required" in done.stderr


def test_an_entry_point_of_a_native_job_under_the_launcher(cluster: Server) -> None:
    job = Client().submit(
        {
            "name": "native",
            "roles": {
                "w": {
                    "replicas": 2,
                    "python": "work.says_rank",
                    "launcher": {"ranks_per_node": 2, "max_restarts": 0},
                    "env": {"PYTHONPATH": str(ROOT / "python/muster/src")},
                }
            },
            "inputs": {"interpreter": sys.executable},
        }
    )
    assert job.wait(60) == "succeeded"
    told = sorted(line for line in lines(job) if line.startswith("rank"))
    assert told == [f"rank {rank} of 4" for rank in range(4)]
