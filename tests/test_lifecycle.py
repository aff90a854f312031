"""Jobs after they were submitted: order, waiting with a reason, stop, suspend, remove, drain."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter, closed
from harness import FINAL, Server, native, openpai, role, wait_for
from muster import Client


def test_stop_gives_time_to_end(server: Server) -> None:
    run = "trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    number = server.submit(native("graceful", run))
    server.wait(number, "running")
    wait_for(lambda: "up" in server.log(number))
    done = server.muster("stop", number)
    assert done.returncode == 0, done.stderr
    job = server.wait(number)
    assert job["state"] == "stopped"
    assert "saved" in server.log(number)
    assert job["task_list"][0]["attempts"][0]["by"] == "user"


@pytest.mark.sanitizer
def test_stop_kills_after_the_grace(server: Server) -> None:
    text = native(
        "stubborn", "trap '' TERM; echo up; while :; do sleep 0.05; done", limits={"grace": "300ms"}
    )
    number = server.submit(text)
    wait_for(lambda: "up" in server.log(number))
    server.stop(number)
    job = server.wait(number)
    assert job["state"] == "stopped"
    assert job["task_list"][0]["attempts"][0]["signal"] == 9


def test_stop_now(server: Server) -> None:
    """Without the grace, which is longer than any test waits."""
    stays = "trap '' TERM; echo up; while :; do sleep 0.05; done"
    number = server.submit(native("now", stays, limits={"grace": "1h"}))
    wait_for(lambda: "up" in server.log(number))
    server.stop(number, now=True)
    assert server.wait(number)["state"] == "stopped"


def test_stop_a_queued_job(server: Server) -> None:
    number = server.submit(native("held", suspend=True))
    assert server.state_of(number) == "suspended"
    server.stop(number).good()
    assert server.wait(number)["state"] == "stopped"
    again = server.stop(number)
    assert again.status in (200, 202, 409)


def test_run_time_limit(server: Server) -> None:
    job = server.run(native("limit", "sleep 600", limits={"run_time": "1s", "grace": "1s"}))
    assert job["state"] == "failed"
    assert "1" in job["reason"]
    assert job["task_list"][0]["attempts"][0]["by"] == "limit"


def test_suspend_and_resume(server: Server) -> None:
    number = server.submit(native("pause", "echo round; sleep 600"))
    server.wait(number, "running")
    wait_for(lambda: "round" in server.log(number))
    assert server.muster("suspend", number).returncode == 0
    job = server.wait(number, "suspended")
    assert not job["tasks_running"]
    assert server.muster("resume", number).returncode == 0
    server.wait(number, "running")
    wait_for(lambda: server.log(number, attempt="all").count("round") == 2)
    server.stop(number, now=True)
    assert server.wait(number)["state"] == "stopped"
    wrong = server.muster("resume", number)
    assert wrong.returncode == 2
    assert "stopped" in wrong.stderr


def test_rm(server: Server) -> None:
    number = server.submit(native("gone", "sleep 600"))
    server.wait(number, "running")
    busy = server.muster("rm", number)
    assert busy.returncode == 2
    server.stop(number, now=True)
    server.wait(number)
    assert server.muster("rm", number).returncode == 0
    assert server.api("GET", f"/v1/jobs/{number}").status == 404
    wait_for(lambda: not (server.state / "runs" / str(number)).exists())


def test_wait_verb(server: Server) -> None:
    good = server.submit(native("good"))
    bad = server.submit(native("bad", "exit 3"))
    assert server.muster("wait", good).returncode == 0
    assert server.muster("wait", bad).returncode == 1
    stopped = server.submit(native("stopped", "sleep 600"))
    server.wait(stopped, "running")
    server.stop(stopped, now=True)
    assert server.muster("wait", stopped).returncode == 3


def test_idempotency(server: Server) -> None:
    text = native("once", "true")
    one = server.api("POST", "/v1/jobs", text, headers={"Idempotency-Key": "k-once"})
    two = server.api("POST", "/v1/jobs", text, headers={"Idempotency-Key": "k-once"})
    assert one.status == 201
    assert two.status in (200, 201)
    assert one.json()["id"] == two.json()["id"]
    other = server.api("POST", "/v1/jobs", native("other"), headers={"Idempotency-Key": "k-once"})
    assert other.status == 409
    assert other.json()["code"] == "conflict"
    assert len(server.jobs(name="once")) == 1
    for _ in range(2):
        done = server.muster("submit", "--idempotency-key", "k-cli", "-", stdin=native("once-cli"))
        assert done.returncode == 0, done.stderr
    assert len(server.jobs(name="once-cli")) == 1


def test_after(server: Server) -> None:
    first = server.submit(native("first", "sleep 600"))
    second = server.submit(native("second", "true", after=[{"job": first, "ended": "any"}]))
    third = server.submit(native("third", "true", after=[{"job": first, "ended": "well"}]))
    server.wait(first, "running")
    wait_for(lambda: server.job(second).get("reason"))
    assert server.state_of(second) == "queued"
    server.stop(first, now=True)
    assert server.wait(second)["state"] == "succeeded"
    # What waits for a good end of a job that had none can never run.
    assert server.wait(third)["state"] in ("failed", "stopped")


# ---- the queue; a server of one small node ----


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    one = Server(nodes="4cpu,8Gi,1gpu")
    try:
        yield one.start()
    finally:
        closed(one)


def filler(server: Server, run: str = "sleep 600") -> int:
    number = server.submit(native("filler", run, resources={"cpu": 4}))
    server.wait(number, "running")
    return number


def whole(name: str, **fields: Any) -> str:
    return native(name, "date +%s%N", resources={"cpu": 4}, **fields)


def test_priority_then_age(small: Server) -> None:
    front = filler(small)
    low = [small.submit(whole("low")) for _ in range(2)]
    high = small.submit(whole("high", priority=9))
    waiting = [small.job(n) for n in (*low, high)]
    assert {job["state"] for job in waiting} == {"queued"}
    wait_for(lambda: all(small.job(n).get("reason") for n in (*low, high)))
    small.stop(front, now=True)
    for n in (*low, high):
        small.wait(n)
    order = [int(small.log(n)) for n in (high, *low)]
    assert order == sorted(order)


def test_reason_names_what_is_short(small: Server) -> None:
    front = filler(small)
    number = small.submit(native("short", resources={"cpu": 3}))
    job = wait_for(lambda: small.job(number).get("reason") and small.job(number))
    assert "cpu" in job["reason"]
    explained = small.get(f"/v1/jobs/{number}/explain")
    assert explained["reason"]
    assert not explained["would_start"]
    said = small.muster("explain", number)
    assert said.returncode == 0
    assert "cpu" in said.stdout
    listed = small.muster("ls")
    assert "queued" in listed.stdout
    small.stop(front, now=True)
    assert small.wait(number)["state"] == "succeeded"


def test_gang_takes_all_or_nothing(small: Server) -> None:
    front = small.submit(native("part", "sleep 600", resources={"cpu": 3}))
    small.wait(front, "running")
    gang = small.submit(openpai("gang", role("a", "true", 1), role("b", "true", 2)))
    wait_for(lambda: small.job(gang).get("reason"))
    used = small.get("/v1/nodes")["nodes"][0]["cpu_used_milli"]
    assert used == 3000, "one task of the gang would fit, and takes nothing"
    small.stop(front, now=True)
    assert small.wait(gang)["state"] == "succeeded"


def test_gpu_shares(small: Server) -> None:
    shared = [small.submit(native("half", "sleep 600", resources={"gpu": 0.5})) for _ in range(2)]
    for number in shared:
        small.wait(number, "running")
    third = small.submit(native("half", "true", resources={"gpu": 0.5}))
    job = wait_for(lambda: small.job(third).get("reason") and small.job(third))
    assert "gpu" in job["reason"]
    assert small.get("/v1/nodes")["nodes"][0]["gpu_used_milli"] == 1000
    small.stop(shared[0], now=True)
    assert small.wait(third)["state"] == "succeeded"
    small.stop(shared[1], now=True)
    small.wait(shared[1])
    assert small.get("/v1/nodes")["nodes"][0]["gpu_used_milli"] == 0


def test_too_large_is_refused_with_three_ways_out(small: Server, tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    path.write_text(openpai("big", role("worker", "true", 1, gpuNumber=4)))
    before = len(small.jobs())
    done = small.muster("submit", path)
    assert done.returncode == 2
    assert "cannot run here" in done.stderr
    assert "4 gpu" in done.stderr and "1" in done.stderr
    assert "--set roles.worker.resources.gpu=1" in done.stderr
    assert re.search(r"muster server start --nodes '[^']*;1x1cpu", done.stderr)
    assert f"muster submit --wait {path}" in done.stderr
    assert len(small.jobs()) == before
    assert small.muster("run", path).returncode == 2


def test_no_way_out_takes_all_devices(small: Server, tmp_path: Path) -> None:
    """One device for each of the two is not there either, and none is no training any more."""
    path = tmp_path / "big.json"
    path.write_text(openpai("big", role("worker", "true", 2, gpuNumber=4)))
    done = small.muster("submit", path)
    assert done.returncode == 2
    assert "gpu=0" not in done.stderr
    assert re.search(r"muster server start --nodes '[^']*;2x1cpu", done.stderr)


def test_wait_queues_what_is_too_large(small: Server, tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    path.write_text(openpai("later", role("worker", "true", 1, gpuNumber=4)))
    done = small.muster("submit", "--wait", "--json", path)
    assert done.returncode == 0, done.stderr
    number = json.loads(done.stdout)["number"]
    job = wait_for(lambda: small.job(number).get("reason") and small.job(number))
    assert job["state"] == "queued"
    small.stop(number).good()
    assert small.wait(number)["state"] == "stopped"


def test_explain_a_file(small: Server, tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text(native("would"))
    before = len(small.jobs())
    done = small.muster("explain", "--file", path)
    assert done.returncode == 0, done.stderr
    assert len(small.jobs()) == before


def test_drain(start: Starter) -> None:
    server = start()
    for node in ("n1", "n2", "n3"):
        server.api("POST", f"/v1/nodes/{node}/drain").good()
    try:
        states = {n["name"]: n["state"] for n in server.get("/v1/nodes")["nodes"]}
        assert states == {"n1": "drained", "n2": "drained", "n3": "drained", "n4": "up"}
        job = server.run(native("elsewhere", "true", 3))
        assert {t["attempts"][0]["node"] for t in job["task_list"]} == {"n4"}
        # Four times 16 cpus exist, so this is not larger than the cluster: it waits.
        number = server.submit(native("wide", "true", 2, resources={"cpu": 16}))
        waiting = wait_for(lambda: server.job(number).get("reason") and server.job(number))
        assert waiting["state"] == "queued"
        server.api("POST", "/v1/nodes/n1/undrain").good()
        assert server.wait(number)["state"] == "succeeded"
    finally:
        for node in ("n1", "n2", "n3"):
            server.api("POST", f"/v1/nodes/{node}/undrain").good()
    assert server.api("POST", "/v1/nodes/n9/drain").status == 404


def test_unsupported_fields_are_refused_with_the_reason(server: Server) -> None:
    reply = server.api("POST", "/v1/jobs", native("cannot", health={"hang_after": "1m"}))
    assert reply.status == 422, reply.text
    assert reply.json()["code"] == "cannot"
    assert "health.hang_after" in reply.text
    told = server.api("POST", "/v1/jobs", native("told", notify="a@b.example")).good().json()
    assert any("notify" in warning["path"] for warning in told["warnings"])


def test_task_retry_of_native_jobs(server: Server, tmp_path: Path) -> None:
    run = f"echo x >> {tmp_path}/n; exit 1"
    job = server.run(native("again", run, retry={"unknown": 2}))
    assert job["state"] == "failed"
    assert [a["attempt"] for a in job["task_list"][0]["attempts"]] == [1, 2, 3]
    assert (tmp_path / "n").read_text() == "x\n" * 3
    assert job["generation"] == 1


def test_a_command_that_does_not_exist(server: Server) -> None:
    job = server.run(native("nothing", "no-such-program-anywhere --at all"))
    assert job["state"] == "failed"
    assert "127" in job["reason"] or "not found" in json.dumps(job)
    argv = json.dumps({"name": "argv", "roles": {"worker": {"argv": ["no-such-program-anywhere"]}}})
    job = server.run(argv)
    assert job["state"] == "failed"
    assert "no-such-program-anywhere" in json.dumps(job)


def test_many_small_jobs_all_end(server: Server) -> None:
    numbers = [server.submit(native("many", "true")) for _ in range(30)]
    for number in numbers:
        assert server.wait(number)["state"] == "succeeded"
    assert all(state in FINAL for state in (server.state_of(n) for n in numbers))
    nodes = server.get("/v1/nodes")["nodes"]
    wait_for(lambda: sum(n["tasks"] for n in server.get("/v1/nodes")["nodes"]) == 0)
    assert all(n["cpu_milli"] == 16000 for n in nodes)


def test_a_job_of_many_tasks(server: Server) -> None:
    tiny = {"cpu": "0.001", "memory": "1Mi"}
    job = server.run(native("wide", "echo $MUSTER_INDEX", 600, resources=tiny), timeout=90)
    assert job["state"] == "succeeded", job.get("reason")
    assert all(len(task["attempts"]) == 1 for task in job["task_list"])
    said = sorted(int(line) for line in server.log(job["number"]).split())
    assert said == list(range(600))


def test_a_job_whose_resources_are_kept_has_its_result(
    start: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`limits.hold`: whoever follows the job is told its result when it is decided, not when the
    resources are given back, and not as a failure."""
    server = start()
    monkeypatch.setenv("MUSTER_STATE_DIR", str(server.state))
    monkeypatch.delenv("MUSTER_SERVER", raising=False)
    for run, state, status in (("echo well", "succeeded", 0), ("echo bad; exit 3", "failed", 1)):
        file = server.state / "held.json"
        file.write_text(native("held", run, limits={"hold": "1h"}))
        screen = server.muster("run", file)
        assert screen.returncode == status, screen
        assert re.search(rf"^ \+\S+ +{state} ", screen.stdout, re.MULTILINE), screen.stdout
        number = server.jobs(all=1)[0]["number"]
        job = server.job(number)
        assert (job["state"], job["outcome"]) == ("stopping", state) and "held_until" in job
        waited = server.muster("wait", number)
        assert waited.returncode == status, waited
        follow = server.muster("logs", "-f", number)
        assert follow.returncode == 0 and run.split(";")[0].split()[1] in follow.stdout
        held = Client().job(number)
        assert held.wait(timeout=60) == state
        assert run.split(";")[0].split()[1] in "".join(p.text for p in held.follow())
        assert server.stop(number).status < 300
        server.wait(number, "succeeded", "failed", "stopped")
