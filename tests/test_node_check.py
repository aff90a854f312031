"""The node check end to end: launchers on loopback, with faults injected into one of them."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from harness import ROOT, VENV, Json, Server, free_port, native, patience, program
from nvml import Driver, cuda, device

LAUNCHER = program().with_name("muster-node")
SCRIPT = "import os\nprint('trained', os.environ['WORLD_SIZE'])\n"
FAILS_ONCE = "import os\nassert os.environ['TORCHELASTIC_RESTART_COUNT'] != '0'\n" + SCRIPT
FIGURES = (
    r"node check: no GPU granted, matmul \S+ ms, memory \S+ GB/s, disk \S+ MB/s, loopback .*, "
    r"partner \d+ us"
)


@contextlib.contextmanager
def launchers(
    folder: Path,
    nodes: str,
    faults: Mapping[int, str],
    *flags: str,
    limit: int = 40,
    script: str = SCRIPT,
    env: Callable[[int], dict[str, str]] = lambda node: {},
) -> Iterator[list[subprocess.Popen[str]]]:
    """The most nodes that there may be, which check each other; faults by node. They have no
    device, also where the machine has some, unless env says otherwise."""
    (folder / "train.py").write_text(script)
    endpoint = f"127.0.0.1:{free_port()}"
    command = [
        str(LAUNCHER),
        "dlrover-run",
        "--network-check",
        f"--nnodes={nodes}",
        "--nproc_per_node=1",
        f"--rdzv-endpoint={endpoint}",
        "--rdzv-id=check",
        "--local-addr=127.0.0.1",
        *flags,
        "train.py",
    ]
    started = []
    for node in range(int(nodes.rpartition(":")[2])):
        own = os.environ | {
            "PATH": f"{VENV}:{os.environ['PATH']}",
            "MUSTER_CHECK_TIMEOUT_S": str(limit),
            "CUDA_VISIBLE_DEVICES": "",
            **env(node),
        }
        if node in faults:
            own["MUSTER_CHECK_FAULT"] = faults[node]
        started.append(
            subprocess.Popen(
                command,
                cwd=folder,
                env=own,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


def ends(processes: list[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    found = []
    for process in processes:
        out, err = process.communicate(timeout=patience(90))
        found.append((process.returncode, out, err))
    return found


def test_good_nodes_are_checked_before_they_start_only(tmp_path: Path) -> None:
    """Figures of each on its stderr; a restart after a failure needs no other check."""
    with launchers(tmp_path, "2", {}, "--max-restarts=1", script=FAILS_ONCE) as processes:
        for code, out, err in ends(processes):
            assert code == 0, err
            assert "trained 2" in out
            # One that looked slow is checked again (rdzv/node_check.c), none after a restart.
            *checks, _ = re.split(FIGURES, err)
            assert checks and "started again" not in "".join(checks), err
            assert len(checks) <= 2, err


def test_a_straggler_is_named_with_figures(tmp_path: Path) -> None:
    slow = r"\S+ is a straggler: \d+ ms where the median is \d+ ms \(no GPU granted, matmul .*\)"
    with launchers(tmp_path, "4", {2: "slow"}) as processes:
        for node, (code, out, err) in enumerate(ends(processes)):
            assert code == 0, err
            assert "trained 4" in out, "it is a warning"
            assert re.search(r"node check: " + slow, err) or node == 2, err
            assert re.search(r"node check of this node: " + slow, err) or node != 2, err


def test_a_straggler_is_left_out_when_asked(tmp_path: Path) -> None:
    with launchers(tmp_path, "2:3", {0: "slow"}, "--exclude-straggler") as processes:
        (code, out, err), *others = ends(processes)
        assert (code, out) == (1, "")
        assert "is a straggler and left out (--exclude-straggler): " in err
        for code, out, err in others:
            assert code == 0, err
            assert "trained 2" in out


@pytest.mark.parametrize("fault", ["self", "hang"])
def test_a_bad_node_of_two_is_blamed_alone(tmp_path: Path, fault: str) -> None:
    why = {"self": "fault injected", "hang": "the check did not end within 15 s"}[fault]
    with launchers(tmp_path, "1:2", {1: fault}, limit=15 if fault == "hang" else 40) as processes:
        good, bad = ends(processes)
        assert bad[:2] == (1, ""), bad
        assert f"failed the node check: {why}" in bad[2]
        assert good[0] == 0, good
        assert "trained 1" in good[1]
        assert f"failed the node check: {why}" in good[2], "everybody is told who is out"


def test_the_second_round_finds_the_guilty_one(tmp_path: Path) -> None:
    with launchers(tmp_path, "3:4", {2: "pair"}) as processes:
        found = ends(processes)
        code, out, err = found.pop(2)
        assert (code, out) == (1, "")
        assert "failed the node check with every partner, and those passed with others" in err
        for code, out, err in found:
            assert code == 0, err
            assert "trained 3" in out


def test_two_nodes_cannot_tell_whose_link_is_broken(tmp_path: Path) -> None:
    with launchers(tmp_path, "1:2", {1: "pair"}) as processes:
        for code, out, err in ends(processes):
            assert (code, out) == (1, ""), err
            assert "so few nodes cannot tell which one is at fault: 127.0.0.1 port" in err


def test_in_a_job_the_figures_are_events(start: Starter) -> None:
    server = start(nodes="2x4cpu,8Gi", env={"MUSTER_PYTHON": str(VENV / "python")})
    script = server.state / "train.py"
    script.write_text(SCRIPT)
    slow = 'if [ "$MUSTER_TASK_INDEX" = 1 ]; then export MUSTER_CHECK_FAULT=slow; fi; '
    number = server.submit(
        native(
            "checked",
            f"{slow}exec torchrun {script}",
            replicas=2,
            resources={"cpu": 3, "memory": "512Mi"},
            launcher={"node_check": True},
        )
    )
    server.wait(number, "succeeded", timeout=60)
    assert server.log(number).count("trained 2") == 2
    told = [e["text"] for e in server.events(number) if e["type"] == "launch.check"]
    for node in ("n1", "n2"):
        assert any(
            re.match(rf"{node}: no GPU granted, matmul .* partner \d+ us$", text) for text in told
        ), told
    lagging = [text for text in told if "straggler" in text]
    assert len(lagging) == 1, told
    assert re.search(r" is a straggler: \d+ ms where the other one takes \d+ ms", lagging[0])


def talk(process: subprocess.Popen[str], line: str = "") -> str:
    """What the program says next; the line is said to it before."""
    assert process.stdin and process.stdout
    if line:
        process.stdin.write(line + "\n")
        process.stdin.flush()
    return process.stdout.readline()


def test_program_for_accelerators(tmp_path: Path) -> None:
    """The torch part alone, as the check starts it, with what PyTorch has on processors."""
    port = str(free_port())
    code = (ROOT / "src/launch/check.py").read_text()
    processes = [
        subprocess.Popen(
            [VENV / "python", "-c", code, "none", "0", "", "1"],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert talk(process) == "probed\n"
    for process in processes:
        assert re.fullmatch(r"ready \d+ cpu [01] - torch matmul .* ms\n", talk(process, "work"))
    for index, process in enumerate(processes):
        assert process.stdin
        process.stdin.write(f"gloo {index} 2 127.0.0.1 {port} 100\n")
        process.stdin.flush()
    for process in processes:
        out, _ = process.communicate(timeout=patience(50))
        assert re.fullmatch(r"ok \d+ all-reduce \d+ us, .* GB/s\n", out), out


# ---- granted devices ----

NO_CUDA = r"was granted, but torch \S+ in \S+ is built without CUDA"
BUILDS = [p.read_text() for p in VENV.glob("../lib/python3*/site-packages/torch/version.py")]
needs_cpu_build = pytest.mark.skipif(
    not any("cuda: Optional[str] = None" in text for text in BUILDS),
    reason="the PyTorch in .venv is not the one for processors",
)


@needs_cpu_build
def test_a_device_that_torch_cannot_use_is_named(tmp_path: Path) -> None:
    """PyTorch's own build for processors; the other node is not blamed, and waits for nobody."""
    env = {1: {"CUDA_VISIBLE_DEVICES": "7"}}
    with launchers(tmp_path, "1:2", {}, env=lambda node: env.get(node, {})) as processes:
        good, bad = ends(processes)
        why = f"failed the node check: torch: GPU 7 {NO_CUDA}"
        assert bad[:2] == (1, ""), bad
        assert re.search(why, bad[2]), bad
        assert good[0] == 0, good
        assert "trained 1" in good[1]
        assert re.search(why, good[2]), "everybody is told who is out"
        assert good[2].count("node check failed with a partner") == 1, "no second round"


@needs_cpu_build
def test_partners_of_a_bad_node_meet_without_it(tmp_path: Path) -> None:
    """In a second round; the first one in the group has told both who failed."""
    env = {2: {"CUDA_VISIBLE_DEVICES": "7"}}
    with launchers(tmp_path, "2:3", {}, env=lambda node: env.get(node, {})) as processes:
        *good, bad = ends(processes)
        assert bad[:2] == (1, ""), bad
        for code, out, err in good:
            assert code == 0, err
            assert "trained 2" in out
            assert err.count("it failed by itself: torch: GPU 7 was granted") == 1, err
            assert "at fault" not in err


def test_the_driver_is_asked_before_torch_is_imported(tmp_path: Path) -> None:
    """Which of the devices there is not."""
    env = {**cuda("0000:17:00.0"), "CUDA_VISIBLE_DEVICES": "0,7"}
    with launchers(tmp_path, "1", {}, env=lambda _: env) as processes:
        (one,) = ends(processes)
        assert one[0] == 1
        assert "torch: GPU 7 was granted, but CUDA has no such device: it sees 1 of 2" in one[2]
    env["CUDA_VISIBLE_DEVICES"] = "7"
    with launchers(tmp_path, "1", {}, env=lambda _: env) as processes:
        (one,) = ends(processes)
        assert one[0] == 1
        assert (
            "GPU 7 was granted, but the CUDA driver says: no CUDA-capable device is detected "
            "(cuInit: 100)" in one[2]
        )
    env |= {"CUDA_VISIBLE_DEVICES": "0", "FAKE_TORCH": "none"}
    with launchers(tmp_path, "1", {}, env=lambda _: env) as processes:
        (one,) = ends(processes)
        assert "GPU 0 was granted, but torch 2.11.0+cu130 can use 0 of 1" in one[2]


def test_a_long_reason_is_cut_at_a_line(tmp_path: Path) -> None:
    env = {**cuda("0000:17:00.0"), "CUDA_VISIBLE_DEVICES": "0", "FAKE_TORCH": "long"}
    with launchers(tmp_path, "1", {}, env=lambda _: env) as processes:
        ((_, _, err),) = ends(processes)
        frames = r"(frame #\d+: somewhere in libtorch.so )+\[\.\.\.\] \("
        found = re.findall(f"torch: RuntimeError: {frames}", err)
        assert len(found) >= 2, f"the launcher's line and its summary: {err}"
        assert "frame #20:" in err and "frame #98:" not in err


BUS = ("0000:17:00.0", "0000:65:00.0")
NO_TORCH = "no all-reduce: 127.0.0.1 port \\d+ is checked without torch"


@pytest.mark.parametrize(
    ("lists", "backend", "said"),
    [
        (("0", "1"), "nccl", ["all-reduce .* us", "all-reduce .* us"]),
        (("0", "0"), "gloo", ["over gloo: on the same GPU as 127.0.0.1 port \\d+"] * 2),
        (("0", ""), "", [NO_TORCH, "no GPU granted"]),
    ],
)
def test_nodes_agree_on_what_they_do(
    tmp_path: Path, lists: tuple[str, str], backend: str, said: list[str]
) -> None:
    """Before any of them begins to wait for the other. (What torch decides by is a stand-in.)"""
    with launchers(
        tmp_path, "2", {}, env=lambda node: {**cuda(*BUS), "CUDA_VISIBLE_DEVICES": lists[node]}
    ) as processes:
        found = ends(processes)
        devices = [bool(listed) for listed in lists]
        for code, out, err in found:
            assert code == 0, err
            assert "trained 2" in out
        for listed, text in ((True, said[0]), (all(devices), said[1])):
            # Each of its own; where one was slow, what was found there is told to all.
            own = [re.findall(r"^dlrover-run: node check: (.*)", err, re.M) for *_, err in found]
            assert any(
                re.search(text, line) and ("a device that is not there" in line) == listed
                for lines in own
                for line in lines
            ), found
        used = sorted(set(re.findall("stub: rank . of 2 over (.*)", "".join(e for *_, e in found))))
        assert used == ([backend] if backend else [])


def test_a_failure_is_told_to_who_waits_for_it(tmp_path: Path) -> None:
    """One rank fails in NCCL, the other one waits for it until its limit. The text is whole."""
    with launchers(
        tmp_path,
        "2",
        {},
        limit=300,
        env=lambda node: {
            **cuda(*BUS),
            "CUDA_VISIBLE_DEVICES": str(node),
            "FAKE_TORCH": "duplicate",
        },
    ) as processes:
        for code, out, err in ends(processes):
            assert (code, out) == (1, ""), err
            assert "so few nodes cannot tell which one is at fault" in err
            assert (
                "This usually reflects invalid usage of NCCL library. Last error: "
                "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 19000" in err
            )


def checked_job(server: Server, **fields: Any) -> int:
    script = server.state / "train.py"
    script.write_text(SCRIPT)
    return server.submit(
        native("checked", f"exec torchrun {script}", launcher={"node_check": True}, **fields)
    )


def gpu(n: float) -> Json:
    return {"cpu": 1, "memory": "512Mi", "gpu": n}


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    one = Driver(tmp_path / "driver")
    yield one
    one.close()


@needs_cpu_build
def test_a_job_whose_torch_has_no_cuda_is_told(start: Starter, driver: Driver) -> None:
    driver.say(device(0))
    server = start(nodes="", env={**driver.env, "MUSTER_PYTHON": str(VENV / "python")})
    number = checked_job(server, resources=gpu(1))
    job = server.wait(number, "failed")
    assert "its PyTorch is built without CUDA" in job["reason"]
    assert len(job["task_list"][0]["attempts"]) == 1, "another attempt would not help"
    assert re.search(f"GPU 0 {NO_CUDA}", server.log(number))


def test_tasks_that_share_a_device_are_not_blamed(start: Starter, driver: Driver) -> None:
    driver.say(device(0))
    server = start(nodes="", env={**driver.env, "MUSTER_PYTHON": str(VENV / "python")})
    number = checked_job(server, replicas=2, resources=gpu(0.5), env=cuda(*BUS))
    server.wait(number, "succeeded")
    told = [e["text"] for e in server.events(number) if e["type"] == "launch.check"]
    assert len(told) == 2 and all("over gloo: on the same GPU as " in t for t in told), told


def test_declared_devices_are_not_checked(start: Starter, driver: Driver) -> None:
    """Also where the machine has a device of that number."""
    driver.say(device(0))
    env = {**driver.env, "MUSTER_PYTHON": str(VENV / "python")}
    server = start(nodes="2x4cpu,8Gi,2gpu", env=env)
    number = checked_job(server, replicas=2, resources=gpu(2), env=cuda(*BUS))
    server.wait(number, "succeeded")
    told = [e["text"] for e in server.events(number) if e["type"] == "launch.check"]
    # Each, and a busy machine may make one of them look slow, in one round or in two.
    assert {t.split()[0].rstrip(":") for t in told} == {"n1", "n2"}, told
    assert all("GPU 0,1 declared only, matmul" in t for t in told), told
    seen = server.submit(native("seen", "env", resources=gpu(2)))
    server.wait(seen, "succeeded")
    lines = server.log(seen).splitlines()
    assert "CUDA_VISIBLE_DEVICES=" in lines and "NVIDIA_VISIBLE_DEVICES=0,1" in lines
    assert not any(line.startswith("CUDA_DEVICE_ORDER") for line in lines)


def test_tasks_that_share_a_node_are_not_compared(start: Starter) -> None:
    """They take time from each other: that one is slower says nothing of a machine."""
    server = start(nodes="1x8cpu,8Gi", env={"MUSTER_PYTHON": str(VENV / "python")})
    script = server.state / "train.py"
    script.write_text(SCRIPT)
    slow = 'if [ "$MUSTER_TASK_INDEX" = 1 ]; then export MUSTER_CHECK_FAULT=slow; fi; '
    number = server.submit(
        native(
            "shared",
            f"{slow}exec torchrun {script}",
            replicas=2,
            resources={"cpu": 3, "memory": "512Mi"},
            launcher={"node_check": True},
        )
    )
    server.wait(number, "succeeded", timeout=120)
    told = [e["text"] for e in server.events(number) if e["type"] == "launch.check"]
    assert len(told) == 2 and all(text.startswith("n1: ") for text in told), told
    assert "straggler" not in server.log(number)
