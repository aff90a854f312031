"""The node check end to end: launchers on loopback, with faults injected into one of them."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from conftest import Starter
from harness import ROOT, VENV, free_port, native, patience, program

LAUNCHER = program().with_name("muster-node")
SCRIPT = "import os\nprint('trained', os.environ['WORLD_SIZE'])\n"
FAILS_ONCE = "import os\nassert os.environ['TORCHELASTIC_RESTART_COUNT'] != '0'\n" + SCRIPT
FIGURES = r"node check: matmul \S+ ms, memory \S+ GB/s, disk \S+ MB/s, loopback .*, partner \d+ us"


@contextlib.contextmanager
def launchers(
    folder: Path,
    nodes: str,
    faults: Mapping[int, str],
    *flags: str,
    limit: int = 40,
    script: str = SCRIPT,
) -> Iterator[list[subprocess.Popen[str]]]:
    """The most nodes that there may be, which check each other; faults by node."""
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
        env = os.environ | {
            "PATH": f"{VENV}:{os.environ['PATH']}",
            "MUSTER_CHECK_TIMEOUT_S": str(limit),
        }
        if node in faults:
            env["MUSTER_CHECK_FAULT"] = faults[node]
        started.append(
            subprocess.Popen(
                command,
                cwd=folder,
                env=env,
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
            # One that looked slow is checked a second time (rdzv/trial.c), none after a restart.
            *checks, _ = re.split(FIGURES, err)
            assert checks and "started again" not in "".join(checks), err
            assert len(checks) <= 2, err


def test_a_straggler_is_named_with_figures(tmp_path: Path) -> None:
    slow = r"\S+ is a straggler: \d+ ms where the median is \d+ ms \(matmul .*\)"
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
    why = {"self": "fault injected", "hang": "the check did not end within 4 s"}[fault]
    with launchers(tmp_path, "1:2", {1: fault}, limit=4 if fault == "hang" else 40) as processes:
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
        assert any(re.match(rf"{node}: matmul .* partner \d+ us$", text) for text in told), told
    lagging = [text for text in told if "straggler" in text]
    assert len(lagging) == 1, told
    assert re.search(r" is a straggler: \d+ ms where the other one takes \d+ ms", lagging[0])


def test_program_for_accelerators(tmp_path: Path) -> None:
    """The torch part alone, as the check starts it."""
    port = str(free_port())
    code = (ROOT / "src/launch/check.py").read_text()
    processes = [
        subprocess.Popen(
            [VENV / "python", "-c", code, str(index), "2", "127.0.0.1", port, "1"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        for index in range(2)
    ]
    for process in processes:
        out, _ = process.communicate(timeout=patience(50))
        assert re.fullmatch(r"ok \d+ .*matmul .* ms, all-reduce \d+ us, .* GB/s\n", out), out


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
