"""What OpenPAI v1 jobs are promised, by real tasks: environment, ports, directories, completion
rules and retries."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import Starter
from harness import Server, native, openpai, role, wait_for

VARIABLE = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.~]*)=(.*)$")
DUMP = "env"


def variables(text: str) -> dict[str, str]:
    found = (VARIABLE.match(line) for line in text.splitlines())
    return {m[1]: m[2].strip("'\"") for m in found if m}


def two_roles(name: str, **fields: object) -> str:
    return openpai(
        name,
        role("ps_server", DUMP, 2, portList=[{"label": "grpc", "beginAt": 0, "portNumber": 2}]),
        role("worker", DUMP, 2, gpuNumber=1, memoryMB=256, minSucceededTaskCount=2),
        **fields,
    )


@pytest.mark.sanitizer
def test_environment_is_what_check_shows(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text(two_roles("env", jobEnvs={"BATCH": 32, "ON": True}))
    shown = server.muster("check", "--env", "worker/1", path)
    assert shown.returncode == 0, shown.stderr
    promised = variables(shown.stdout)
    number = server.submit(path.read_text())
    server.wait(number)
    seen = {
        f"{r}/{i}": variables(server.log(number, f"{r}/{i}"))
        for r in ("ps_server", "worker")
        for i in range(2)
    }
    mine = seen["worker/1"]
    # What ends it early (minSucceededTaskCount) may cut the parameter servers' output short.
    missing = {n for n in promised if n.startswith("PAI_")} - mine.keys()
    assert not missing
    for name in (
        "PAI_JOB_NAME",
        "PAI_TASK_ROLE_LIST",
        "PAI_RESOURCE_worker",
        "PAI_RESOURCE",
        "PAI_TASK_ROLE_COUNT",
        "PAI_TASK_ROLE_TASK_COUNT_ps_server",
        "PAI_DATA_DIR",
        "PAI_CURRENT_TASK_ROLE_NAME",
        "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX",
        "PAI_MIN_SUCCEEDED_TASK_COUNT_worker",
        "PAI_JOB_TASK_COUNT",
    ):
        assert mine[name] == promised[name], name
    assert mine["BATCH"] == "32" and mine["ON"] == "true"
    assert mine["PAI_RESOURCE_worker"] == "1,1,256,64"
    assert not any(value.endswith(",") for name, value in mine.items() if "HOST_LIST" in name)


def test_host_list_and_ports_agree(server: Server) -> None:
    job = server.run(two_roles("hosts"))
    number = job["number"]
    assert job["state"] == "succeeded", job
    env = variables(server.log(number, "worker/0"))
    for name in ("ps_server", "worker"):
        hosts = env[f"PAI_TASK_ROLE_{name}_HOST_LIST"].split(",")
        assert hosts == [
            f"{env[f'PAI_HOST_IP_{name}_{i}']}:{env[f'PAI_PORT_LIST_{name}_{i}_http']}"
            for i in range(2)
        ]
    assert re.fullmatch(r"\d+,\d+", env["PAI_PORT_LIST_ps_server_1_grpc"])
    assert env["PAI_ps_server_1_grpc_PORT"] == env["PAI_PORT_LIST_ps_server_1_grpc"]
    everything = [
        port
        for name, value in env.items()
        if re.match(r"PAI_PORT_LIST_(ps_server|worker)_", name)
        for port in value.split(",")
    ]
    assert len(everything) == len(set(everything)), "programs bind all interfaces of one host"
    assert re.fullmatch(r"(?:\w+:[\d,]+;)+", env["PAI_CONTAINER_HOST_PORT_LIST"])


def test_job_environment_wins(server: Server) -> None:
    envs = {"PAI_JOB_NAME": "mine", "LITERAL": "$PAI_USER_NAME"}
    job = server.run(openpai("wins", role(command=DUMP), jobEnvs=envs))
    env = variables(server.log(job["number"]))
    assert env["PAI_JOB_NAME"] == "mine"
    assert env["LITERAL"] == "$PAI_USER_NAME"


def test_gpus_are_handed_out(server: Server) -> None:
    text = openpai("gpus", role("a", DUMP, 2, gpuNumber=2), role("cpu", DUMP))
    job = server.run(text)
    seen = [variables(server.log(job["number"], f"a/{i}")) for i in range(2)]
    placed = [
        (t["attempts"][0]["node"], e["NVIDIA_VISIBLE_DEVICES"])
        for t, e in zip(job["task_list"], seen)
    ]
    for _, devices in placed:
        assert len(set(devices.split(","))) == 2
    if placed[0][0] == placed[1][0]:
        assert not set(placed[0][1].split(",")) & set(placed[1][1].split(","))
    assert all(e["CUDA_VISIBLE_DEVICES"] == "" for e in seen), "declared: nothing for CUDA"
    none = variables(server.log(job["number"], "cpu/0"))
    assert none["NVIDIA_VISIBLE_DEVICES"] == "none"
    assert none["CUDA_VISIBLE_DEVICES"] == ""


# ---- completion rules ----


def test_first_failure_fails_the_job(server: Server) -> None:
    text = openpai("rule1", role("bad", "exit 4"), role("good", "sleep 600", 2))
    job = server.run(text)
    assert job["state"] == "failed"
    tasks = {t["name"]: t for t in job["task_list"]}
    assert tasks["bad/0"]["attempts"][-1]["exit_code"] == 4
    for name in ("good/0", "good/1"):
        assert tasks[name]["state"] == "stopped"
        assert tasks[name]["attempts"][-1]["by"] == "policy"


def test_failures_below_the_count_do_not(server: Server) -> None:
    command = "test $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX != 0"
    for one in (
        role("w", command, 3, minFailedTaskCount=2),
        role("w", "false", 2, minFailedTaskCount=None),
    ):
        assert server.run(openpai("below", one))["state"] == "succeeded"


def test_enough_successes_end_the_job(server: Server) -> None:
    text = openpai(
        "rule2",
        role("ps", "sleep 600", 2),
        role("worker", "true", 2, minSucceededTaskCount=2),
    )
    job = server.run(text)
    assert job["state"] == "succeeded"
    states = {t["name"]: t["state"] for t in job["task_list"]}
    assert states["ps/0"] == states["ps/1"] == "stopped"
    assert states["worker/0"] == states["worker/1"] == "succeeded"


# ---- retries ----


def counting(tmp_path: Path, then: str) -> str:
    return f"echo x >> {tmp_path}/count; {then}"


def attempts(tmp_path: Path) -> int:
    path = tmp_path / "count"
    return path.read_text().count("x") if path.exists() else 0


def test_no_retry_by_default(server: Server, tmp_path: Path) -> None:
    job = server.run(openpai("retry0", role(command=counting(tmp_path, "exit 1"))))
    assert job["state"] == "failed"
    assert attempts(tmp_path) == 1


def test_retry_count(server: Server, tmp_path: Path) -> None:
    job = server.run(openpai("retry2", role(command=counting(tmp_path, "exit 1")), retryCount=2))
    assert job["state"] == "failed"
    assert attempts(tmp_path) == 3
    assert job["restarts"] == 2


def test_retry_until_it_works(server: Server, tmp_path: Path) -> None:
    then = f"test $(wc -l < {tmp_path}/count) -ge 3"
    job = server.run(openpai("retry-1", role(command=counting(tmp_path, then)), retryCount=-1))
    assert job["state"] == "succeeded"
    assert attempts(tmp_path) == 3


def test_user_failures_are_not_retried(server: Server, tmp_path: Path) -> None:
    job = server.run(
        openpai("segv", role(command=counting(tmp_path, "kill -SEGV $$")), retryCount=5)
    )
    assert job["state"] == "failed"
    assert attempts(tmp_path) == 1


def test_service_runs_for_ever(server: Server, tmp_path: Path) -> None:
    number = server.submit(
        openpai("service", role(command=counting(tmp_path, "true")), retryCount=-2)
    )
    wait_for(lambda: attempts(tmp_path) >= 4)
    server.stop(number)
    assert server.wait(number)["state"] == "stopped"
    before = attempts(tmp_path)
    assert server.job(number)["restarts"] >= 3
    assert attempts(tmp_path) == before


# ---- directories ----


@pytest.mark.sanitizer
def test_code_is_staged_under_its_own_name(server: Server, tmp_path: Path) -> None:
    code = tmp_path / "trainer"
    (code / "sub").mkdir(parents=True)
    (code / "main.sh").write_text("echo main; cat trainer/sub/data\n")
    (code / "sub/data").write_text("deep\n")
    os.symlink("main.sh", code / "link.sh")
    (tmp_path / "job.json").write_text(
        openpai("code", role(command="sh trainer/main.sh && sh trainer/link.sh"), codeDir="trainer")
    )
    done = server.muster("run", tmp_path / "job.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("deep") == 2
    assert str(code) in server.events("code")[0]["text"]


def test_staged_code_is_a_copy(server: Server, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "a").write_text("original\n")
    text = openpai("copy", role(command="rm -rf code; echo new > code 2>&1; true"))
    server.run(text, code=str(code))
    assert (code / "a").read_text() == "original\n"


def test_code_limit(server: Server, tmp_path: Path) -> None:
    code = tmp_path / "big"
    code.mkdir()
    with (code / "data").open("wb") as f:
        f.truncate(200_000_001)
    before = len(server.jobs())
    reply = server.api("POST", "/v1/jobs", openpai("big"), query={"code": str(code)})
    if reply.status == 201:  # the limit belongs to codeDir of the file
        server.wait(reply.json()["number"])
    fs = Path(unquote(urlsplit(fs_uri(server)).path))
    (fs / "code").mkdir(parents=True, exist_ok=True)
    with (fs / "code/data").open("wb") as f:
        f.truncate(200_000_001)
    reply = server.api("POST", "/v1/jobs", openpai("big", codeDir="$PAI_DEFAULT_FS_URI/code"))
    (fs / "code/data").unlink()
    assert 400 <= reply.status < 500, reply.text
    assert "200" in reply.json()["detail"]
    assert len(server.jobs()) <= before + 1


def fs_uri(server: Server) -> str:
    rows = {row["name"]: row["value"] for row in server.get("/v1/config")["config"]}
    return str(rows["fs_uri"])


def test_output_directory_is_made(server: Server) -> None:
    text = openpai("output", role(command="echo result > ${PAI_OUTPUT_DIR#file://}/result"))
    job = server.run(text)
    assert job["state"] == "succeeded", server.log(job["number"])
    output = Path(unquote(urlsplit(fs_uri(server)).path)) / "Output" / job["owner"] / "output"
    assert (output / "result").read_text() == "result\n"


def test_storage_roots(start: Starter, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/hello.sh").write_text("echo from the root\n")
    server = start(nodes="4cpu,8Gi", flags=("--roots", f"hdfs://host:9000/={tmp_path}"))
    text = openpai("roots", role(command="sh code/hello.sh"), codeDir="hdfs://host:9000/code")
    job = server.run(text)
    assert server.log(job["number"]) == "from the root\n"
    reply = server.api("POST", "/v1/jobs", text.replace("host:9000", "other:1"))
    assert 400 <= reply.status < 500
    assert "hdfs://other:1/code" in reply.text


# ---- ports ----


def test_static_ports_exclude_each_other(server: Server) -> None:
    ports = [{"label": "web", "beginAt": 24100, "portNumber": 2}]
    number = server.submit(openpai("ports", role("a", "sleep 600", 1, portList=ports)))
    server.wait(number, "running")
    second = server.submit(openpai("ports2", role("b", "true", 1, portList=ports)))
    waits = wait_for(lambda: server.job(second).get("reason") and server.job(second))
    assert waits["state"] == "queued"
    assert "port" in waits["reason"], waits
    server.stop(number, now=True)
    assert server.wait(second)["state"] == "succeeded"


def test_static_port_range_for_two_tasks_of_a_role_never_fits(server: Server) -> None:
    ports = [{"label": "web", "beginAt": 24200, "portNumber": 1}]
    reply = server.api("POST", "/v1/jobs", openpai("twice", role("a", "true", 2, portList=ports)))
    assert reply.status == 422, reply.text
    assert "port" in reply.json()["detail"] + reply.text


# ---- held for debugging ----


def ended_with(server: Server, number: int, code: int) -> bool:
    attempts = [a for t in server.job(number)["task_list"] for a in t.get("attempts", [])]
    return any(a.get("exit_code") == code for a in attempts)


def test_debug_hold(server: Server) -> None:
    text = openpai(
        "held", role(command="echo left behind > evidence; exit 3"), jobEnvs={"isDebug": True}
    )
    number = server.submit(text)
    wait_for(lambda: ended_with(server, number, 3))
    done = server.muster("exec", number, "worker/0", "--", "cat", "evidence")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "left behind\n"
    server.stop(number, now=True)
    assert server.wait(number)["state"] in ("failed", "stopped")


def test_warning_about_the_image(server: Server, tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text(openpai("image", image="pai.example/pytorch"))
    done = server.muster("submit", tmp_path / "job.json")
    assert done.returncode == 0
    assert 'image "pai.example/pytorch" is not used' in done.stderr


def test_a_name_in_use_is_refused(server: Server, tmp_path: Path) -> None:
    """As by REST, while its job lives; what is printed as the way out is one."""
    role = {"name": "w", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 100, "command": "sleep 600"}
    job = {"jobName": "in-use", "image": "i", "taskRoles": [role]}
    path = tmp_path / "job.json"
    path.write_text(json.dumps(job))
    first = server.submit(path.read_text())
    done = server.muster("submit", path)
    assert done.returncode != 0 and 'has a job "in-use" already' in done.stderr, done.stderr
    assert "--name gives this one another" in done.stderr
    assert f"muster stop {first} " in done.stderr
    assert server.muster("submit", "--name", "other", path).returncode == 0
    assert server.muster("stop", first).returncode == 0
    server.wait(first)
    assert server.muster("submit", path).returncode == 0


def test_original_is_kept_and_secrets_masked(server: Server) -> None:
    text = (
        '{\n// kept\n"jobName":"kept","image":"i",\n"taskRoles":[{"name":"w","taskNumber":1,'
        '"cpuNumber":1,"memoryMB":100,"gpuNumber":0,"command":"true"}],\n'
        '"jobEnvs":{"KEY":"hush-hush"}}\n'
    )
    number = server.submit(text)
    server.wait(number)
    assert server.api("GET", f"/v1/jobs/{number}/origin").good().text == text
    assert "hush-hush" not in server.muster("events", number).stdout


def test_task_words_of_openpai(server: Server) -> None:
    job = server.run(openpai("words"))
    assert job["word"] == "SUCCEEDED"
    assert job["task_list"][0]["attempts"][0]["phrase"] == "SUCCEEDED"
    failed = server.run(openpai("words", role(command="exit 3")))
    attempt = failed["task_list"][0]["attempts"][0]
    assert failed["word"] == "FAILED"
    assert attempt["exit_code"] == 3 and attempt["foreign_code"] == 255


def test_native_job_with_openpai_conventions(server: Server) -> None:
    text = native("both", "echo $PAI_CURRENT_TASK_ROLE_NAME", conventions=["openpai-v1"])
    job = server.run(text)
    assert server.log(job["number"]) == "worker\n"
