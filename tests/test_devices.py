"""The machine's own devices, on a driver of ours (tests/nvml.py)."""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Starter
from harness import (
    ROOT,
    VENV,
    Json,
    Nobody,
    Server,
    muster,
    native,
    openpai,
    role,
    until_there,
    wait_for,
)
from nvml import A100, GIB, H100, Driver, device, instance

pytestmark = pytest.mark.sanitizer


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    one = Driver(tmp_path / "driver")
    yield one
    one.close()


def node(server: Server) -> Json:
    (found,) = server.get("/v1/nodes")["nodes"]
    return dict(found)


NOTHING = "0% busy, 0 B used, 0 C, 0 W"


def wide(server: Server) -> list[list[str]]:
    """Its devices as `nodes -o wide` lists them: name, model, memory, what they do."""
    _, _, table = server.muster("nodes", "-o", "wide").stdout.partition("\n\n")
    return [re.split(r" {2,}", line.strip())[1:] for line in table.splitlines()[1:]]


def checked(driver: Driver, **env: str) -> tuple[str, str, str]:
    """What the doctor says of devices: state, found, remedy."""
    done = muster("doctor", "--json", env={**driver.env, **env})
    (row,) = [c for c in json.loads(done.stdout)["checks"] if c["name"] == "gpus"]
    return row["state"], row["found"], row["remedy"]


def test_each_device_is_described(start: Starter, driver: Driver) -> None:
    driver.say(device(0), device(1, H100, "error 15"), device(2))
    server = start(nodes="", env=driver.env)
    found = node(server)
    assert found["gpus"] == 3  # the lost one keeps its place
    assert found["gpu_type"] == H100
    assert found["gpu_driver"] == "580.159.04"
    first, lost, last = found["devices"]
    assert first == {
        "number": 0,
        "name": "0",
        "slot": 0,
        "minor": driver.minor_of(0),
        "model": H100,
        "memory": 80 << 30,
        "uuid": "GPU-0000",
        "pci": "00000000:00:00.0",
        "memory_used": 0,
        "utilisation": 0,
        "temperature": 0,
        "milliwatts": 0,
        "ecc_errors": 0,
        "processes": 0,
        "process_list": [],
    }
    assert (last["number"], last["slot"]) == (2, 2)
    assert "GPU is lost" in lost["error"] and "GPU is lost" in lost["closed"]
    assert "gpu.lost" in server.said() and "number=1" in server.said()
    shown = server.muster("nodes").stdout
    assert f"device 1 of {found['name']}: it does not answer: GPU is lost (NVML 15)" in shown
    assert "580.159.04" in server.muster("nodes", "-o", "wide").stdout
    assert wide(server)[0] == ["0", H100, "80 GiB", NOTHING]
    assert "GPU is lost" in wide(server)[1][-1]
    state, text, _ = checked(driver)
    assert state == "missing" and "device 1: it does not answer" in text


@pytest.mark.skipif(not list(VENV.glob("../lib/python3*/site-packages/torch")), reason="no PyTorch")
def test_the_doctor_knows_the_build_of_torch(driver: Driver) -> None:
    def torch(**env: str) -> Json:
        done = muster("doctor", "--json", env=env)
        (row,) = [c for c in json.loads(done.stdout)["checks"] if c["name"] == "torch"]
        return dict(row)

    found = torch(**driver.env)
    assert found["state"] == "ok" and "without CUDA" in found["found"]
    driver.say(device(0))
    found = torch(**driver.env)
    assert found["state"] == "missing" and "without CUDA" in found["found"]
    assert found["remedy"].startswith("uv pip install torch --torch-backend=cu128; with pip: ")
    for runs, build in ((13010, "cu130"), (12090, "cu128"), (12020, "cu126"), (11080, "cu118")):
        driver.say(device(0), before=f"cuda {runs}\n")
        assert f"--torch-backend={build};" in torch(**driver.env)["remedy"]
    driver.say(before="init 18\n")
    found = torch(**driver.env)
    assert found["state"] == "note" and "is not known" in found["found"]
    assert found["remedy"] == "first the driver: it says which build fits"


def test_the_doctor_asks_the_driver_once(driver: Driver) -> None:
    asked = driver.path.with_name("asked")
    driver.say(device(0), before=f"note {asked}\n")
    assert checked(driver)[0] == "ok"
    assert asked.read_text() == "."


def test_the_doctor_counts_what_can_be_given_out(driver: Driver) -> None:
    driver.say(device(0), instance(0, 9), instance(0, 11), device(1))
    assert checked(driver)[1].startswith("3 NVIDIA devices: ")
    driver.say(device(0, H100, "error 15"), device(1), device(2, H100, "error 15"))
    text = checked(driver)[1]
    assert "; device 0: it does not answer" in text and "; device 2: it does not answer" in text


def test_models_of_one_machine(start: Starter, driver: Driver) -> None:
    driver.say(device(0, H100), device(1, A100), device(2, A100))
    server = start(nodes="", env=driver.env)
    assert node(server)["gpu_type"] == f"{H100} + {A100}"
    assert [d["model"] for d in node(server)["devices"]] == [H100, A100, A100]
    state, text, _ = checked(driver)
    assert state == "ok"
    assert text == f"3 NVIDIA devices: {H100} + {A100}, driver 580.159.04"


@pytest.mark.parametrize(
    ("said", "why", "limit"),
    [
        ("init 18\n", "Driver/library version mismatch (NVML 18)", "600"),
        ("crash\n", "the driver's library crashed (SIGSEGV)", "600"),
        ("hang\n", "the driver did not answer within 1 s", "1"),
    ],
)
def test_a_failing_driver_is_said(
    start: Starter, driver: Driver, said: str, why: str, limit: str
) -> None:
    driver.say(before=said)
    env = {**driver.env, "MUSTER_GPU_TIMEOUT_S": limit}
    server = start(nodes="", env=env)
    found = node(server)
    assert found["gpus"] == 0
    assert why in found["gpu_error"]
    assert why in server.said()
    assert said != "hang\n" or "gpus.slow" in server.said()
    assert why in server.muster("nodes").stdout
    state, text, _ = checked(driver, MUSTER_GPU_TIMEOUT_S=limit)
    assert state == "missing" and why in text


def test_a_driver_that_hangs_later(start: Starter, driver: Driver) -> None:
    driver.say(device(0), device(1))
    often = {**OFTEN, "MUSTER_GPU_TIMEOUT_S": "3"}
    server = start(nodes="", env={**driver.env, **often})
    wait_for(lambda: [d.get("closed", "") for d in node(server).get("devices", [])] == ["", ""])
    driver.say(before="hang\n")
    wait_for(lambda: all("the driver does not answer" in why for why in closed(server)))
    driver.say(device(0), device(1))
    wait_for(lambda: closed(server) == ["", ""])


PATIENT = {"MUSTER_GPU_TIMEOUT_S": "600"}  # an answer may be slow on a busy machine
OFTEN = {"MUSTER_GPU_INTERVAL_MS": "20", **PATIENT}
SHOW = 'echo "$CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER"'


def test_what_the_server_may_use(start: Starter, driver: Driver) -> None:
    """As inside an allocation of a batch system: numbers of tasks are the driver's."""
    driver.say(device(0), device(1), device(2), device(3))
    server = start(nodes="", env={**driver.env, "CUDA_VISIBLE_DEVICES": "2,GPU-3"})
    found = node(server)
    assert found["gpus"] == 2
    assert [d.get("slot") for d in found["devices"]] == [None, None, 0, 1]
    assert [row[-1] for row in wide(server)] == [f"not offered, {NOTHING}"] * 2 + [NOTHING] * 2
    job = server.submit(native("both", SHOW, resources={"cpu": 1, "memory": "64Mi", "gpu": 2}))
    server.wait(job, "succeeded")
    assert server.log(job, "worker/0").split() == ["2,3", "2,3", "PCI_BUS_ID"]
    (attempt,) = server.get(f"/v1/jobs/{job}/tasks")["tasks"][0]["attempts"]
    assert attempt["gpus"] == [2, 3]
    none = server.submit(native("none", SHOW))
    server.wait(none, "succeeded")
    assert server.log(none, "worker/0").split() == ["none"]
    state, text, _ = checked(driver, CUDA_VISIBLE_DEVICES="2,GPU-3")
    assert state == "note" and "CUDA_VISIBLE_DEVICES offers 2" in text


def test_nothing_is_offered(start: Starter, driver: Driver) -> None:
    driver.say(device(0))
    server = start(nodes="", env={**driver.env, "CUDA_VISIBLE_DEVICES": ""})
    assert node(server)["gpus"] == 0


def gpus(n: float, *types: str) -> Json:
    return {"cpu": 1, "memory": "64Mi", "gpu": n, **({"gpu_type": list(types)} if types else {})}


def test_common_names_of_models(start: Starter, driver: Driver) -> None:
    driver.say(device(0))
    server = start(nodes="", env=driver.env)
    for called in ("H100", "h100", "H100-SXM5-80GB", "nvidia-h100", H100):
        server.wait(server.submit(native("named", resources=gpus(1, called))), "succeeded")
    v1 = openpai("v1", role(gpuNumber=1), gpuType="h100")
    server.wait(server.submit(v1), "succeeded")
    done = server.muster("submit", "-", stdin=native("other", resources=gpus(1, "A100")))
    assert f"no node has gpu type A100; there are {H100}" in done.stderr


def test_a_type_is_that_of_the_device(start: Starter, driver: Driver) -> None:
    driver.say(device(0, H100), device(1, A100), device(2, A100))
    server = start(nodes="", env=driver.env)
    for called, number, share in (("A100", "1", 1), ("H100", "0", 1), ("a100", "1", 0.5)):
        run = "echo $CUDA_VISIBLE_DEVICES"
        job = server.submit(native("typed", run, resources=gpus(share, called)))
        server.wait(job, "succeeded")
        assert server.log(job, "worker/0").strip() == number
    many = server.muster("submit", "-", stdin=native("many", resources=gpus(2, "H100")))
    assert many.returncode != 0, many.stdout


SAID = {
    "torch.OutOfMemoryError: CUDA out of memory.": ("user", "ran out of memory"),
    "RuntimeError: CUDA error: device-side assert triggered": ("user", "device-side assert"),
    "RuntimeError: CUDA error: uncorrectable ECC error encountered": ("platform", "ECC"),
    "ncclSystemError: System call failed": ("platform", "NCCL"),
    "NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.": ("platform", "failed"),
}


@pytest.mark.parametrize("dialect", ["native", "openpai-v1", "openpai-v2", "dlc", "elasticjob"])
def test_errors_of_devices_have_their_class(server: Server, dialect: str) -> None:
    never = dict.fromkeys(("platform", "unknown", "user"), "never")
    jobs = {
        text: server.submit(
            native("broken", f"echo '{text}' >&2; exit 1", conventions=[dialect], retry=never)
        )
        for text in SAID
    }
    for text, job in jobs.items():
        server.wait(job, "failed")
        (attempt,) = server.get(f"/v1/jobs/{job}/tasks")["tasks"][0]["attempts"]
        kind, words = SAID[text]
        assert attempt["class"] == kind, text
        assert words in attempt["text"], text
        assert attempt["text"] in server.job(job)["reason"]
    codes = {"openpai-v2": (226, 223)}.get(dialect)
    if codes:
        found = [
            server.get(f"/v1/jobs/{job}/tasks")["tasks"][0]["attempts"][0]["foreign_code"]
            for job in jobs.values()
        ]
        assert (found[0], found[2]) == codes


def test_two_servers_never_share_a_device(start: Starter, driver: Driver, tmp_path: Path) -> None:
    driver.say(device(0))
    one, two = (start(nodes="", env=driver.env) for _ in range(2))
    go = tmp_path / "go"
    first = one.submit(native("first", f"echo has; {until_there(go)}", resources=gpus(1)))
    wait_for(lambda: "has" in one.log(first, "worker/0"))
    second = two.submit(native("second", "echo has", resources=gpus(1)))
    why = f"/dev/nvidia{driver.minor_of(0)} is held by a task of another server"
    wait_for(lambda: why in str(two.events(second)))
    assert two.job(second)["state"] != "succeeded"
    go.touch()
    one.wait(first, "succeeded")
    two.wait(second, "succeeded")
    go.unlink()
    halves = [
        one.submit(native(f"half{i}", f"echo has; {until_there(go)}", resources=gpus(0.5)))
        for i in range(2)
    ]
    for job in halves:
        wait_for(lambda n=job: "has" in one.log(n, "worker/0"))  # type: ignore[misc]
    go.touch()
    for job in halves:
        one.wait(job, "succeeded")


def test_servers_of_two_users_never_share_a_device(short_path: Path) -> None:
    """Neither is root's, so they have no directory of locks together."""
    driver = Driver(short_path / "driver")
    driver.say(device(0))
    go = short_path / "go"
    short_path.chmod(0o755)
    one, two = (Nobody(short_path / n, n, **driver.env) for n in ("nobody", "daemon"))
    if one.why_not:
        pytest.skip(one.why_not)

    def submit(user: Nobody, command: str) -> None:
        for words in (["server", "start"], ["submit", "--gpus", "1", "--", "sh", "-c", command]):
            done = user.muster(*words)
            assert done.returncode == 0, done.stderr

    try:
        submit(one, f"echo has; {until_there(go)}")
        wait_for(lambda: "has" in one.muster("logs", "1").stdout)
        submit(two, "echo has")
        why = "is held by a task of another server"
        wait_for(lambda: why in two.muster("show", "1").stdout)
        assert "has" not in two.muster("logs", "1").stdout
        go.touch()
        for user in (one, two):
            wait_for(lambda u=user: "succeeded" in u.muster("show", "1").stdout)  # type: ignore[misc]
    finally:
        for user in (one, two):
            user.stop_server()
        driver.close()


def closed(server: Server) -> list[str]:
    return [d.get("closed", "") for d in node(server)["devices"]]


def test_a_device_that_others_use_is_not_given_out(start: Starter, driver: Driver) -> None:
    driver.say(device(0, H100, "process 4194303 42949672960", used=40 * GIB), device(1))
    server = start(nodes="", env={**driver.env, **OFTEN})
    why = "40Gi of its memory are in use outside muster (process 4194303)"
    wait_for(lambda: why in closed(server)[0])
    job = server.submit(native("other", "echo $CUDA_VISIBLE_DEVICES", resources=gpus(1)))
    server.wait(job, "succeeded")
    assert server.log(job, "worker/0").strip() == "1"
    both = server.submit(native("both", resources=gpus(2)))
    wait_for(lambda: why in str(server.job(both).get("reason")))
    assert why in server.muster("nodes").stdout
    driver.say(device(0, used=GIB // 2), device(1))
    server.wait(both, "succeeded")
    assert closed(server) == ["", ""]


SAMPLE = (
    *("busy 90", "temperature 61", "power 350000", "ecc 1", "corrected 7"),
    *("clock 1980", "memory_clock 2619", "throttle 69", "process 4194303 1048576"),
)
NOW = (
    "90% busy, 512 MiB used, 61 C, 350 W, 1980 MHz, 1 ECC errors, "
    "slowed by power cap, hardware thermal"
)


def test_devices_are_measured(start: Starter, driver: Driver) -> None:
    driver.say(device(0))
    server = start(nodes="", env={**driver.env, **OFTEN})
    assert 'device_utilisation_percent{node="' in server.api("GET", "/metrics").text
    driver.say(device(0, H100, *SAMPLE, used=GIB // 2))
    wait_for(lambda: node(server)["devices"][0]["utilisation"] == 90)
    assert wide(server) == [["0", H100, "80 GiB", NOW]]
    said = server.api("GET", "/metrics").text
    for name, value in {
        "utilisation_percent": 90,
        "memory_used_bytes": GIB // 2,
        "temperature_celsius": 61,
        "power_milliwatts": 350000,
        "sm_clock_mhz": 1980,
        "memory_clock_mhz": 2619,
        "ecc_errors": 1,
        "ecc_corrected_errors": 7,
        "processes": 1,
    }.items():
        line = rf'^muster_device_{name}\{{node="[^"]+",device="0",uuid="GPU-0000"\}} {value}$'
        assert re.search(line, said, re.MULTILINE), name
    slowed = re.findall(r"^muster_device_throttled.*reason=\"(.*)\"} 1$", said, re.MULTILINE)
    assert slowed == ["power cap", "hardware thermal"]
    (found,) = node(server)["devices"]
    assert found["throttle"] == slowed
    assert found["process_list"] == [{"pid": 4194303, "memory": 1 << 20}]


def test_what_a_driver_does_not_say_is_left_out(start: Starter, driver: Driver) -> None:
    driver.say(f"device {A100}\nuuid GPU-1\nmemory {GIB}\n")
    server = start(nodes="", env=driver.env)
    (found,) = node(server)["devices"]
    assert not {"utilisation", "temperature", "milliwatts", "sm_clock", "throttle"} & set(found)
    assert wide(server) == [["0", A100, "1.0 GiB", "0 B used"]]
    assert "device_utilisation" not in server.api("GET", "/metrics").text


def test_memory_that_the_driver_keeps_is_nobodys(start: Starter, driver: Driver) -> None:
    driver.say(device(0, H100, f"reserved {2 * GIB}"))
    server = start(nodes="", env={**driver.env, **OFTEN})
    server.wait(server.submit(native("whole", resources=gpus(1))), "succeeded")
    assert node(server)["devices"][0]["memory_used"] == 0


def test_a_job_shows_its_devices(start: Starter, driver: Driver, tmp_path: Path) -> None:
    driver.say(device(0), device(1, H100, *SAMPLE, used=GIB // 2))
    server = start(nodes="", env={**driver.env, "CUDA_VISIBLE_DEVICES": "1"})
    go = tmp_path / "go"
    job = server.submit(native("trains", until_there(go), resources=gpus(1)))
    wait_for(lambda: server.state_of(job) == "running")
    (attempt,) = server.get(f"/v1/jobs/{job}/tasks")["tasks"][0]["attempts"]
    (found,) = attempt["devices"]
    assert (found["uuid"], found["utilisation"]) == ("GPU-1111", 90)
    shown = server.muster("show", str(job)).stdout
    (line,) = [line for line in shown.splitlines() if NOW in line]
    assert re.match(rf"worker/0 +\S+ +1 +{H100} +80 GiB +", line)
    go.touch()
    server.wait(job, "succeeded")
    (attempt,) = server.get(f"/v1/jobs/{job}/tasks")["tasks"][0]["attempts"]
    assert "devices" not in attempt and attempt["gpus"] == [1]


def test_a_lost_device_is_cordoned(start: Starter, driver: Driver, tmp_path: Path) -> None:
    driver.say(device(0), device(1))
    server = start(nodes="", env={**driver.env, **OFTEN})
    go = tmp_path / "go"
    job = server.submit(native("has", until_there(go), resources=gpus(1)))
    wait_for(lambda: server.state_of(job) == "running")
    driver.say(device(0, H100, "error 15"), device(1))
    why = "it does not answer: GPU is lost (NVML 15)"
    wait_for(lambda: why in closed(server)[0])
    wait_for(
        lambda: any(e["type"] == "task.device" and why in e["text"] for e in server.events(job))
    )
    assert "gpu.closed" in server.said()
    assert "utilisation" not in node(server)["devices"][0]
    go.touch()
    server.wait(job, "succeeded")
    later = server.submit(native("later", "echo $CUDA_VISIBLE_DEVICES", resources=gpus(1)))
    server.wait(later, "succeeded")
    assert server.log(later, "worker/0").strip() == "1"
    driver.say(device(0), device(1))
    wait_for(lambda: closed(server) == ["", ""])


def test_a_task_leaves_a_lost_device(start: Starter, driver: Driver, tmp_path: Path) -> None:
    driver.say(device(0), device(1))
    server = start(nodes="", env={**driver.env, **OFTEN})
    go = tmp_path / "go"
    run = f"test $CUDA_VISIBLE_DEVICES = 1 || {{ {until_there(go)}; echo GPU is lost; exit 1; }}"
    job = server.submit(native("moves", run, resources=gpus(1)))
    wait_for(lambda: server.state_of(job) == "running")
    driver.say(device(0, H100, "error 15"), device(1))
    wait_for(lambda: closed(server)[0])
    go.touch()
    server.wait(job, "succeeded")
    attempts = server.get(f"/v1/jobs/{job}/tasks")["tasks"][0]["attempts"]
    assert [a["gpus"] for a in attempts] == [[0], [1]]
    assert attempts[0]["class"] == "platform"


def test_a_device_of_another_server_is_seen(start: Starter, driver: Driver, tmp_path: Path) -> None:
    driver.say(device(0), device(1))
    one, two = (start(nodes="", env={**driver.env, **OFTEN}) for _ in range(2))
    go = tmp_path / "go"
    first = one.submit(native("first", f"echo has; {until_there(go)}", resources=gpus(1)))
    wait_for(lambda: "has" in one.log(first, "worker/0"))
    wait_for(lambda: "held by a task of another server" in closed(two)[0])
    job = two.submit(native("second", "echo $CUDA_VISIBLE_DEVICES", resources=gpus(1)))
    two.wait(job, "succeeded")
    assert two.log(job, "worker/0").strip() == "1"
    wait_for(lambda: closed(one) == ["", ""])
    go.touch()
    one.wait(first, "succeeded")
    wait_for(lambda: closed(two) == ["", ""])


# ---- use by others ----


def test_how_much_others_may_use(start: Starter, driver: Driver) -> None:
    driver.say(device(0, used=GIB // 2))
    flags = ("--gpu-memory-bound", "256Mi")
    server = start(nodes="", env={**driver.env, **OFTEN}, flags=flags)
    wait_for(lambda: "512Mi of its memory are in use outside muster" in closed(server)[0])
    driver.say(device(0, used=GIB // 8))
    wait_for(lambda: closed(server) == [""])


def test_what_tasks_use_is_not_others(start: Starter, driver: Driver, tmp_path: Path) -> None:
    """Of a device that a task has, only what other processes hold counts; also a child of it."""
    driver.say(device(0))
    server = start(nodes="", env={**driver.env, **OFTEN})
    go = tmp_path / "go"
    run = f"sh -c 'echo $$; {until_there(go)}' & echo $$; wait"
    job = server.submit(native("has", run, resources=gpus(0.5)))
    wait_for(lambda: len(server.log(job, "worker/0").split()) == 2)
    held = [f"process {pid} {30 * GIB}" for pid in server.log(job, "worker/0").split()]
    driver.say(device(0, H100, *held, used=60 * GIB))
    wait_for(lambda: node(server)["devices"][0]["processes"] == 2)
    assert closed(server) == [""]
    other = f"process {os.getpid()} {2 * GIB}"
    driver.say(device(0, H100, *held, other, used=62 * GIB))
    why = f"2.0Gi of its memory are in use outside muster (process {os.getpid()})"
    wait_for(lambda: closed(server)[0])
    assert why in closed(server)[0]
    go.touch()
    server.wait(job, "succeeded")


def test_an_answer_of_before_closes_nothing(start: Starter, driver: Driver, tmp_path: Path) -> None:
    """The driver was asked while a task ran, and answers when it has ended."""
    driver.say(device(0))
    server = start(nodes="", env={**driver.env, **OFTEN, "MUSTER_GPU_TIMEOUT_S": "600"})
    go, answer = tmp_path / "go", tmp_path / "answer"
    job = server.submit(native("has", f"echo $$; {until_there(go)}", resources=gpus(1)))
    wait_for(lambda: server.log(job, "worker/0"))
    own = f"process {server.log(job, 'worker/0').strip()} {40 * GIB}"
    driver.say(device(0, H100, own, "busy 77", f"wait {answer}", used=40 * GIB))
    wait_for(answer.with_name("answer.asked").exists)
    driver.say(device(0, H100, "busy 78"))
    go.touch()
    server.wait(job, "succeeded")
    answer.touch()
    wait_for(lambda: node(server)["devices"][0]["utilisation"] == 78)
    assert "gpu.closed" not in server.said()


# ---- what comes back, and what changes ----


def given(server: Server, *types: str) -> str:
    """CUDA_VISIBLE_DEVICES of a task with one device."""
    show = "echo $CUDA_VISIBLE_DEVICES"
    job = server.submit(native("given", show, resources=gpus(1, *types)))
    server.wait(job, "succeeded")
    return server.log(job, "worker/0").strip()


def test_a_device_lost_at_the_start_comes_back(start: Starter, driver: Driver) -> None:
    driver.say(device(0, A100, "error 15"), device(1))
    server = start(nodes="", env={**driver.env, **OFTEN})
    wait_for(lambda: "it does not answer" in closed(server)[0])
    assert node(server)["gpu_type"] == H100
    assert given(server) == "1"
    driver.say(device(0, A100), device(1))
    wait_for(lambda: closed(server) == ["", ""])
    assert node(server)["gpu_type"] == f"{A100} + {H100}"
    assert given(server, "A100") == "0"


def test_a_driver_that_failed_at_the_start_comes_back(start: Starter, driver: Driver) -> None:
    driver.say(before="init 18\n")
    server = start(nodes="", env={**driver.env, **OFTEN})
    assert node(server)["gpus"] == 0
    why = f"gpus of {node(server)['name']}: the driver cannot be asked: Driver/library version"
    for types in ((), ("H100",)):
        refused = server.muster("submit", "-", stdin=native("early", resources=gpus(1, *types)))
        assert refused.returncode != 0
        assert why in refused.stderr
    driver.say(device(0))
    wait_for(lambda: node(server)["gpus"] == 1)
    assert "gpu_error" not in node(server)
    assert given(server, "H100") == "0"


def test_numbers_are_those_of_now(start: Starter, driver: Driver) -> None:
    """Without a device, the driver counts those behind it anew, and CUDA with it."""
    driver.say(device(0), device(1, A100))
    server = start(nodes="", env={**driver.env, **OFTEN})
    assert given(server, "A100") == "1"
    driver.say(device(1, A100))
    wait_for(lambda: "the driver does not list it any more" in closed(server)[0])
    assert given(server, "A100") == "0"
    driver.say(device(0), device(1, A100))
    wait_for(lambda: closed(server) == ["", ""])
    assert given(server, "A100") == "1"


def test_a_device_added_later_is_given_out(start: Starter, driver: Driver) -> None:
    driver.say(device(1))
    server = start(nodes="", env={**driver.env, **OFTEN})
    assert node(server)["gpus"] == 1
    driver.say(device(0, A100), device(1))
    wait_for(lambda: node(server)["gpus"] == 2)
    assert given(server, "A100") == "0"
    assert given(server, "H100") == "1"


def test_a_job_waits_for_devices_of_its_type(
    start: Starter, driver: Driver, tmp_path: Path
) -> None:
    """The reason names those that would help it, not the first that is closed."""
    driver.say(device(0), device(1, A100), *(device(n, H100) for n in (2, 3)))
    server = start(nodes="", env={**driver.env, **OFTEN})
    driver.say(device(0, H100, "error 15"), device(1, A100), *(device(n, H100) for n in (2, 3)))
    wait_for(lambda: closed(server)[0])
    go = tmp_path / "go"
    holds = server.submit(native("holds", until_there(go), resources=gpus(1, "A100")))
    wait_for(lambda: server.state_of(holds) == "running")
    waits = server.submit(native("waits", resources=gpus(1, "A100")))
    wait_for(lambda: "1 short" in str(server.job(waits).get("reason")))
    assert "not given out" not in server.job(waits)["reason"]
    assert "not given out" not in server.muster("explain", waits).stdout
    driver.say(device(0), device(1, A100), *(device(n, H100, "error 15") for n in (2, 3)))
    other = server.submit(native("other", resources=gpus(3, "H100")))
    name = node(server)["name"]
    why = (
        f"not given out: device 2 of {name}: it does not answer: GPU is lost (NVML 15); and 1 more"
    )
    wait_for(lambda: why in str(server.job(other).get("reason")))
    driver.say(device(0), device(1, A100), *(device(n, H100) for n in (2, 3)))
    server.wait(other, "succeeded")
    go.touch()
    for job in (holds, waits):
        server.wait(job, "succeeded")


def test_use_by_others_is_news_once(start: Starter, driver: Driver, tmp_path: Path) -> None:
    driver.say(device(0))
    server = start(nodes="", env={**driver.env, **OFTEN})
    go = tmp_path / "go"
    job = server.submit(native("has", until_there(go), resources=gpus(0.5)))
    wait_for(lambda: server.state_of(job) == "running")
    for held in (40, 41, 42):
        driver.say(device(0, H100, f"process {os.getpid()} {held * GIB}", used=held * GIB))
        wait_for(lambda: f"{held}Gi of its memory" in closed(server)[0])  # noqa: B023
    told = [e for e in server.events(job) if e["type"] == "task.device"]
    assert len(told) == 1
    assert server.said().count("gpu.closed") == 1
    go.touch()
    server.wait(job, "succeeded")


# ---- over restarts of the server ----


def held_by(server: Server, driver: Driver, go: Path, n: int, share: float = 1) -> list[int]:
    """Jobs that hold a device each, in order."""
    jobs = []
    for i in range(n):
        jobs.append(server.submit(native(f"has{i}", until_there(go), resources=gpus(share))))
        wait_for(lambda: server.state_of(jobs[-1]) == "running")
    return jobs


@pytest.mark.parametrize("before", ["init 18\n", "crash\n"])
def test_places_outlive_a_driver_that_fails_at_the_start(
    start: Starter, driver: Driver, tmp_path: Path, before: str
) -> None:
    """Devices of running tasks are theirs still when the driver answers again."""
    driver.say(device(0), device(1))
    server = start(nodes="", env={**driver.env, **OFTEN})
    go = tmp_path / "go"
    (job,) = held_by(server, driver, go, 1, 0.75)
    assert node(server)["gpu_used_milli"] == 750
    server.kill()
    driver.say(before=before)
    server.start()
    found = node(server)
    assert (found["gpus"], found["tasks"], found["cpu_used_milli"]) == (2, 1, 1000)
    assert all("device" in why for why in closed(server))
    assert found["gpu_used_milli"] == 750  # what is closed is not free, and nobody's
    assert found["gpu_error"]
    assert "no longer fits" not in server.said()
    waits = server.submit(native("waits", "echo $CUDA_VISIBLE_DEVICES", resources=gpus(0.5)))
    wait_for(lambda: "not given out" in server.job(waits)["reason"])
    driver.say(device(0), device(1))
    server.wait(waits, "succeeded")
    assert server.log(waits, "worker/0").strip() == "1"
    go.touch()
    server.wait(job, "succeeded")


def test_places_outlive_a_device_that_is_not_listed(
    start: Starter, driver: Driver, tmp_path: Path
) -> None:
    """The driver counts those behind it anew: who has one of them has it still."""
    driver.say(device(0), device(1, A100), device(2, A100))
    server = start(nodes="", env={**driver.env, **OFTEN})
    go = tmp_path / "go"
    first, second = held_by(server, driver, go, 2)
    server.kill()
    driver.say(device(1, A100), device(2, A100))
    server.start()
    assert "no longer fits" not in server.said()
    assert "the driver does not list it any more" in closed(server)[0]
    (attempt,) = server.get(f"/v1/jobs/{second}/tasks")["tasks"][0]["attempts"]
    assert attempt["devices"][0]["uuid"] == "GPU-1111"
    third = server.submit(native("third", "echo $CUDA_VISIBLE_DEVICES", resources=gpus(1)))
    server.wait(third, "succeeded")
    assert server.log(third, "worker/0").strip() == "1"  # number 2 of before
    go.touch()
    server.wait(first, "succeeded")
    server.wait(second, "succeeded")
    server.end()
    server.start()
    assert [d["uuid"] for d in node(server)["devices"]] == ["GPU-1111", "GPU-2222"]


def test_what_a_server_may_use_changes_under_its_tasks(
    start: Starter, driver: Driver, tmp_path: Path
) -> None:
    driver.say(device(0), device(1))
    server = start(nodes="", env={**driver.env, **OFTEN})
    go = tmp_path / "go"
    (job,) = held_by(server, driver, go, 1)
    server.kill()
    server.env = {**server.env, "CUDA_VISIBLE_DEVICES": "1"}
    server.start()
    assert "CUDA_VISIBLE_DEVICES of the server leaves it out" in closed(server)[0]
    assert given(server) == "1"
    go.touch()
    server.wait(job, "succeeded")
    assert given(server) == "1"
    server.end()
    server.start()
    assert node(server)["gpus"] == 1


def test_nothing_is_known_of_a_driver_that_fails(start: Starter, driver: Driver) -> None:
    """Not even figures of before; and it is said once, not for each device."""
    driver.say(*(device(n, H100, *SAMPLE) for n in range(3)))
    server = start(nodes="", env={**driver.env, **OFTEN})
    assert "muster_device_utilisation" in server.api("GET", "/metrics").text
    driver.say(before="init 18\n")
    why = "the driver cannot be asked: Driver/library version mismatch (NVML 18)"
    wait_for(lambda: all(why in one for one in closed(server)))
    assert "muster_device_utilisation" not in server.api("GET", "/metrics").text
    said = {"utilisation", "memory_used", "throttle", "processes", "process_list"}
    assert not said & set(node(server)["devices"][0])
    assert server.muster("nodes").stdout.count(why) == 1
    logged = [line for line in server.said().splitlines() if "gpu.closed" in line]
    assert len(logged) == 3
    driver.say(*(device(n, H100, "error 15") for n in range(2)), device(2))
    why = "it does not answer: GPU is lost (NVML 15)"
    wait_for(lambda: closed(server)[2] == "")
    assert f"devices 0, 1 of {node(server)['name']}: {why}" in server.muster("nodes").stdout
    assert [d.get("closed_says") for d in node(server)["devices"]] == [why, why, None]
    assert server.said().count(f'{why}"') == 2


# ---- instances of MIG ----


def test_instances_are_devices(start: Starter, driver: Driver, tmp_path: Path) -> None:
    """One that is whole, one divided; tasks of two instances run side by side."""
    sensors = ("temperature 61", "clock 1980")
    driver.say(
        device(0, H100, *sensors), instance(0, 9), instance(0, 11, profile="3g.40gb"), device(1)
    )
    server = start(nodes="", env={**driver.env, **OFTEN})
    found = node(server)
    assert found["gpus"] == 3
    assert found["gpu_type"] == f"{H100} MIG 1g.10gb + {H100} MIG 3g.40gb + {H100}"
    whole, one, two, other = found["devices"]
    assert whole["mig"] and "slot" not in whole
    assert [d["name"] for d in (one, two, other)] == ["0:0", "0:1", "1"]
    assert one["memory"] == 10 * GIB and one["temperature"] == 61 and one["sm_clock"] == 1980
    assert "utilisation" not in one
    assert (one["gpu_instance"], two["gpu_instance"]) == (9, 11)
    rows = {row[0]: row[1:] for row in wide(server)}
    assert rows["0"][:2] == [H100, "80 GiB"] and rows["0"][2].startswith("in MIG mode, ")
    assert rows["0:1"][:2] == [f"{H100} MIG 3g.40gb", "10 GiB"]
    go = tmp_path / "go"
    run = f"echo $CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES; {until_there(go)}"
    jobs = [
        server.submit(native("part", run, resources=gpus(1, called)))
        for called in ("1g.10gb", "H100 MIG 3g.40gb")
    ]
    for job, uuid in zip(jobs, ("MIG-099", "MIG-01111"), strict=True):
        wait_for(lambda n=job: server.log(n, "worker/0"))  # type: ignore[misc]
        assert server.log(job, "worker/0").split() == [uuid, uuid]
    assert "0:1" in server.muster("show", str(jobs[1])).stdout
    go.touch()
    for job in jobs:
        server.wait(job, "succeeded")
    none = server.muster("submit", "-", stdin=native("none", resources=gpus(1, "2g.20gb")))
    assert "no node has gpu type 2g.20gb" in none.stderr


def test_a_whole_device_beside_instances(start: Starter, driver: Driver) -> None:
    """CUDA's numbers are not told for sure then: every device goes by its UUID. And a type of whole
    devices is not that of an instance."""
    driver.say(device(0), instance(0, 9), device(1))
    server = start(nodes="", env=driver.env)
    assert given(server, H100) == "GPU-1111"
    assert given(server, "MIG") == "MIG-099"


def test_an_instance_that_is_not_called_one(start: Starter, driver: Driver) -> None:
    driver.say(device(0), f"instance {H100}\nuuid MIG-1\n")
    server = start(nodes="", env=driver.env)
    assert given(server, "MIG") == "MIG-1"
    whole = server.muster("submit", "-", stdin=native("whole", resources=gpus(1, H100)))
    assert "no node has gpu type" in whole.stderr


@pytest.mark.parametrize(
    ("visible", "offered"),
    [("MIG-011", [0]), ("0", [0, 1]), ("GPU-0", [0, 1]), ("MIG-022,1", [0, 1])],
)
def test_what_is_visible_of_instances(
    start: Starter, driver: Driver, visible: str, offered: list[int]
) -> None:
    driver.say(device(0), instance(0, 1), instance(0, 2), device(1))
    server = start(nodes="", env={**driver.env, "CUDA_VISIBLE_DEVICES": visible})
    found = node(server)
    assert found["gpus"] == len(offered)
    assert [d["slot"] for d in found["devices"] if "slot" in d] == offered


def test_instances_come_and_go(start: Starter, driver: Driver) -> None:
    driver.say(device(0))
    server = start(nodes="", env={**driver.env, **OFTEN})
    assert given(server) == "0"
    driver.say(device(0), instance(0, 9))
    wait_for(lambda: "in MIG mode" in closed(server)[0])
    assert given(server) == "MIG-099"
    driver.say(device(0))
    wait_for(lambda: closed(server)[0] == "" and "does not list" in closed(server)[1])
    assert given(server) == "0"


def test_two_servers_share_no_instance(start: Starter, driver: Driver, tmp_path: Path) -> None:
    """Each is held by itself: the other one of the same device is free."""
    driver.say(device(0), instance(0, 9), instance(0, 11))
    one, two = (start(nodes="", env={**driver.env, **OFTEN}) for _ in range(2))
    go = tmp_path / "go"
    first = one.submit(native("first", f"echo has; {until_there(go)}", resources=gpus(1)))
    wait_for(lambda: "has" in one.log(first, "worker/0"))
    wait_for(lambda: "device 0:0 of" in closed(two)[1] and "another server" in closed(two)[1])
    assert closed(two)[2] == ""
    assert given(two) == "MIG-01111"
    go.touch()
    one.wait(first, "succeeded")
    wait_for(lambda: closed(two)[1] == "")


# ---- links ----


def test_the_best_linked_devices_go_together(start: Starter, driver: Driver) -> None:
    """0 and 2 share NVLinks, 1 and 3 a switch; what is alone is given to who needs one."""
    paths = [["path 1 50", "path 3 50"], ["path 0 50", "path 2 50", "path 3 20"]]
    paths += [["path 1 50", "path 3 50"], ["path 0 50", "path 1 20", "path 2 50"]]
    links = {0: ["nvlink 2"] * 4, 2: ["nvlink 0"] * 4}
    driver.say(*(device(n, H100, *paths[n], *links.get(n, [])) for n in range(4)))
    server = start(nodes="", env=driver.env)
    jobs = {
        n: server.submit(native(f"of{n}", "echo $CUDA_VISIBLE_DEVICES", resources=gpus(n)))
        for n in (1, 2, 3)
    }
    for job in jobs.values():
        server.wait(job, "succeeded")
    assert server.log(jobs[2], "worker/0").strip() == "0,2"
    assert server.log(jobs[1], "worker/0").strip() in "13"


def test_links_through_switches_are_alike(start: Starter, driver: Driver) -> None:
    driver.say(*(device(n, H100, *["nvlink switch"] * 18) for n in range(4)))
    server = start(nodes="", env=driver.env)
    job = server.submit(native("two", "echo $CUDA_VISIBLE_DEVICES", resources=gpus(2)))
    server.wait(job, "succeeded")
    assert server.log(job, "worker/0").strip() == "0,1"


def test_a_recording_knows_the_devices(start: Starter, driver: Driver, tmp_path: Path) -> None:
    """Their links and models, those that were found later too: the replay decides the same."""
    links = {0: ["nvlink 2"] * 4, 2: ["nvlink 0"] * 4}
    four = [device(n, H100, *links.get(n, [])) for n in range(4)]
    driver.say(*four)
    recording = tmp_path / "rec"
    flags = ("--record", str(recording))
    server = start(nodes="", env={**driver.env, **OFTEN}, flags=flags)
    job = server.submit(native("two", "echo $CUDA_VISIBLE_DEVICES", resources=gpus(2)))
    server.wait(job, "succeeded")
    assert server.log(job, "worker/0").strip() == "0,2"
    driver.say(*four, device(4, A100), device(5, A100))
    wait_for(lambda: node(server)["gpus"] == 6)
    assert given(server, "A100") == "4"
    server.end()
    done = muster("replay", recording, state=tmp_path / "none")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "same as recorded" in done.stdout


# ---- the library's own words ----

# Size, and of each field ours, NVIDIA's, offset and size, as its nvml.h has them on 64 bits.
STRUCTS: dict[tuple[str, str], tuple[int, list[tuple[str, str, int, int]]]] = {
    ("nvml_memory", "c_nvmlMemory_t"): (
        24,
        [
            ("total", "total", 0, 8),
            ("free", "free", 8, 8),
            ("used", "used", 16, 8),
        ],
    ),
    ("nvml_memory_v2", "c_nvmlMemory_v2_t"): (
        40,
        [
            ("version", "version", 0, 4),
            ("total", "total", 8, 8),
            ("reserved", "reserved", 16, 8),
            ("free", "free", 24, 8),
            ("used", "used", 32, 8),
        ],
    ),
    ("nvml_pci", "nvmlPciInfo_t"): (
        68,
        [
            ("short_id", "busIdLegacy", 0, 16),
            ("domain", "domain", 16, 4),
            ("bus", "bus", 20, 4),
            ("device", "device", 24, 4),
            ("ids", "pciDeviceId", 28, 4),
            ("sub_ids", "pciSubSystemId", 32, 4),
            ("id", "busId", 36, 32),
        ],
    ),
    ("nvml_utilisation", "c_nvmlUtilization_t"): (
        8,
        [
            ("gpu", "gpu", 0, 4),
            ("memory", "memory", 4, 4),
        ],
    ),
    ("nvml_process", "c_nvmlProcessInfo_v3_t"): (
        24,
        [
            ("pid", "pid", 0, 4),
            ("memory", "usedGpuMemory", 8, 8),
            ("instance", "gpuInstanceId", 16, 4),
            ("compute", "computeInstanceId", 20, 4),
        ],
    ),
}
VALUES = {
    ("NVML_NOT_SUPPORTED", "NVML_ERROR_NOT_SUPPORTED"): 3,
    ("SENSOR_GPU", "NVML_TEMPERATURE_GPU"): 0,
    ("CLOCK_SM", "NVML_CLOCK_SM"): 1,
    ("CLOCK_MEMORY", "NVML_CLOCK_MEM"): 2,
    ("ECC_CORRECTED", "NVML_MEMORY_ERROR_TYPE_CORRECTED"): 0,
    ("ECC_UNCORRECTED", "NVML_MEMORY_ERROR_TYPE_UNCORRECTED"): 1,
    ("ECC_SINCE_LOADED", "NVML_VOLATILE_ECC"): 0,
    ("LINK_TO_SWITCH", "NVML_NVLINK_DEVICE_TYPE_SWITCH"): 2,
    ("NVLINKS_MAX", "NVML_NVLINK_MAX_LINKS"): 36,
    ("MEMORY_V2", "nvmlMemory_v2"): 0x2000028,
}


def test_structs_are_those_of_the_vendor(tmp_path: Path) -> None:
    said = [f'#include "{ROOT / "src/gpu/nvml.c"}"']
    for (ours, _), (size, fields) in STRUCTS.items():
        said.append(f'_Static_assert(sizeof(struct {ours}) == {size}, "{ours}");')
        for name, _, at, length in fields:
            held = f"sizeof(((struct {ours} *)0)->{name}) == {length}"
            at_it = f"offsetof(struct {ours}, {name}) == {at}"
            said.append(f'_Static_assert({at_it} && {held}, "{ours}.{name}");')
    said += [f'_Static_assert({ours} == {value}, "{ours}");' for (ours, _), value in VALUES.items()]
    source = tmp_path / "same.c"
    source.write_text("\n".join(said) + "\n")
    flags = ["-std=gnu17", "-fsyntax-only", f"-I{ROOT / 'src'}"]
    done = subprocess.run(["gcc", *flags, source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_these_are_the_vendors_bindings() -> None:
    """The tables above against NVIDIA's own, where nvidia-ml-py is installed."""
    vendor = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    for (_, theirs), (size, fields) in STRUCTS.items():
        kind = getattr(vendor, theirs)
        assert ctypes.sizeof(kind) == size
        for _, name, at, length in fields:
            assert (getattr(kind, name).offset, getattr(kind, name).size) == (at, length), name
    for (_, name), value in VALUES.items():
        assert getattr(vendor, name) == value, name
    functions = set(re.findall(r'"(nvml[A-Z]\w+)"', (ROOT / "src/gpu/nvml.c").read_text()))
    text = Path(vendor.__file__).read_text()
    unused = {"nvmlInit_v2"}  # which the bindings do by another function
    assert {f for f in functions if f'"{f}"' not in text} == unused
