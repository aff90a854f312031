"""The node check end to end: launchers on loopback, with faults injected into one of them."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from harness import ROOT, VENV, patience, program

LAUNCHER = program().with_name("muster-node")
SCRIPT = "import os\nprint('trained', os.environ['WORLD_SIZE'])\n"


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextlib.contextmanager
def launchers(
    folder: Path, nodes: int, faults: Mapping[int, str], *flags: str
) -> Iterator[list[subprocess.Popen[str]]]:
    """So many nodes that check each other; faults by node."""
    (folder / "train.py").write_text(SCRIPT)
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
    for node in range(nodes):
        env = os.environ | {"PATH": f"{VENV}:{os.environ['PATH']}", "MUSTER_CHECK_TIMEOUT_S": "40"}
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


@pytest.mark.timeout(150)
def test_good_nodes_pass_and_train(tmp_path: Path) -> None:
    with launchers(tmp_path, 2, {}) as processes:
        for code, out, err in ends(processes):
            assert code == 0, err
            assert "trained 2" in out


@pytest.mark.timeout(150)
def test_a_bad_node_of_four_is_found(tmp_path: Path) -> None:
    with launchers(tmp_path, 4, {2: "self"}, "--rdzv-conf=join_timeout=30") as processes:
        code, out, err = ends(processes[2:3])[0]
        assert code != 0
        assert "trained" not in out
        assert re.search(r"check", err), err


@pytest.mark.timeout(150)
def test_a_broken_link_of_two_stops_both(tmp_path: Path) -> None:
    with launchers(tmp_path, 2, {1: "pair"}) as processes:
        for code, out, err in ends(processes):
            assert code != 0, err
            assert "trained" not in out


@pytest.mark.timeout(60)
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
