"""What a rank sees: environment, command line, session and stdin are those that the real torchrun
gives. tests/golden/launch holds what torchrun 2.13 gave, one file per case; to take them anew:

    .venv/bin/python tests/test_rank_env.py

Ports, temporary directories, random run ids and the name of this machine are replaced by words in
both."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from harness import ROOT, VENV, free_port, patience

GOLDEN = ROOT / "tests/golden/launch"
OWN = {"MUSTER_LAUNCH_COOKIE"}  # the only variable of ours that torchrun does not have
WARNING = "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default"
DLROVER = {
    "DLROVER_PARAL_CONFIG_PATH": "/tmp/dlrover/auto_paral_config.json",
    "RUNTIME_METRICS_PATH": "/tmp/dlrover/runtime_metrics.json",
}

# Standard library only; the file it writes has a name of its own for every rank and attempt.
PROBE = """
import json, os, sys, time
base = json.loads(os.environ["PROBE_BASE"])
env = {k: v for k, v in os.environ.items() if base.get(k) != v and k != "PROBE_BASE"}
words = open("/proc/self/cmdline", "rb").read().decode().split("\\0")[:-1]
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
seen = {
    "argv": words, "sys.argv": sys.argv, "env": env, "cwd": os.getcwd(),
    "leader": os.getsid(0) == os.getpgrp() == os.getpid(),
    "stdin": os.readlink("/proc/self/fd/0"),
}
name = os.environ["PROBE_OUT"] + "/" + os.environ["RANK"] + "." + attempt
with open(name + ".new", "w") as out:
    json.dump(seen, out)
os.rename(name + ".new", name)
if os.environ.get("PROBE_FAIL") == attempt:
    names = [f"{rank}.{attempt}" for rank in range(int(os.environ["WORLD_SIZE"]))]
    while not all(os.path.exists(os.environ["PROBE_OUT"] + "/" + name) for name in names):
        time.sleep(0.005)
    sys.exit(1)
"""


@dataclass(frozen=True)
class Case:
    flags: tuple[str, ...]
    script: tuple[str, ...] = ("probe.py",)
    env: Mapping[str, str] = field(default_factory=dict)
    nodes: int = 1
    warns: bool = True  # about OMP_NUM_THREADS


TWO = ("--nproc-per-node=2",)
# {port}, {node}, {python} and {role} are filled in.
CASES = {
    "standalone": Case(("--standalone", *TWO)),
    "no-rendezvous": Case(TWO),
    "one-rank": Case(("--standalone",), warns=False),
    "omp-is-set": Case(("--standalone", *TWO), env={"OMP_NUM_THREADS": "7"}, warns=False),
    "nccl-is-set": Case(
        ("--standalone",), env={"TORCH_NCCL_ASYNC_ERROR_HANDLING": "3"}, warns=False
    ),
    "two-nodes": Case(
        (
            "--nnodes=2",
            *TWO,
            "--rdzv-backend=c10d",
            "--rdzv-endpoint=localhost:{port}",
            "--rdzv-id=job7",
            "--role=trainer",
        ),
        nodes=2,
    ),
    "static": Case(
        (
            "--nnodes=2",
            *TWO,
            "--node-rank={node}",
            "--master-addr=127.0.0.1",
            "--master-port={port}",
        ),
        nodes=2,
    ),
    "roles": Case(
        (
            "--nnodes=3",
            *TWO,
            "--node-rank={node}",
            "--master-addr=127.0.0.1",
            "--master-port={port}",
            "--role={role}",
        ),
        nodes=3,
    ),
    "module": Case(("--standalone", "-m"), ("probe", "--x", "1"), warns=False),
    "no-python": Case(("--standalone", "--no-python"), ("{python}", "probe.py", "a"), warns=False),
    "run-path": Case(("--standalone", "--run-path"), ("probe.py", "a b"), warns=False),
    "arguments": Case(
        ("--standalone", *TWO),
        ("probe.py", "a b", "", "'\"\\", "--nnodes=9", "r${{local_rank}}", "$$5", "$local_ranks"),
    ),
    "inherited": Case(
        ("--standalone", *TWO),
        env={"RANK": "77", "MASTER_ADDR": "elsewhere", "WORLD_SIZE": "x", "LOCAL_RANK": "9"},
    ),
    "virtual-local-rank": Case(
        ("--standalone", *TWO, "--virtual-local-rank"), env={"CUDA_VISIBLE_DEVICES": "4, 5"}
    ),
    "virtual-without-list": Case(("--standalone", *TWO, "--virtual-local-rank")),
    "restart": Case(("--standalone", *TWO, "--max-restarts=2"), env={"PROBE_FAIL": "0"}),
    "signals": Case(("--standalone", "--signals-to-handle=SIGTERM,SIGUSR2"), warns=False),
    "pet": Case(
        ("--standalone",), env={"PET_NPROC_PER_NODE": "2", "PET_ROLE": "r", "PET_MAX_RESTARTS": "1"}
    ),
}


def in_words(name: str, value: str) -> str:
    """What differs from run to run, replaced by a word for it."""
    if name == "MASTER_PORT":
        return "PORT" if 0 < int(value) < 65536 else value
    if name == "MASTER_ADDR" and value in ("localhost", "127.0.0.1", "::1", socket.gethostname()):
        return "THIS-MACHINE"
    if name == "TORCHELASTIC_RUN_ID":
        return re.sub(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", "UUID", value)
    if name == "TORCHELASTIC_ERROR_FILE":
        run = r"([^/]+)_[a-z0-9_]{8}"
        uuid = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
        value = re.sub(uuid, "UUID", value)
        return re.sub(
            rf"^/.*/torchelastic_[a-z0-9_]{{8}}/{run}/", r"TMP/torchelastic_X/\1_X/", value
        )
    return value


def normalized(seen: dict[str, Any], place: Path) -> dict[str, Any]:
    argv = [str(word) for word in seen["argv"]]
    if re.fullmatch(r"python[0-9.]*", Path(argv[0]).name):
        argv[0] = "PYTHON"
    if "-c" in argv[:3]:
        argv[2] = "CODE"
    env = {name: in_words(name, value) for name, value in seen["env"].items() if name not in OWN}
    return {
        **seen,
        "argv": argv,
        "sys.argv": [word.replace(str(place), "PLACE") for word in seen["sys.argv"]],
        "cwd": str(seen["cwd"]).replace(str(place), "PLACE"),
        "env": dict(sorted(env.items())),
    }


def run_case(launcher: Sequence[str], case: Case, place: Path) -> tuple[dict[str, Any], list[str]]:
    """What each rank saw ("RANK.ATTEMPT"), and each launcher's stderr."""
    (place / "probe.py").write_text(PROBE)
    (place / "out").mkdir()
    python = str(VENV / "python")
    base = {
        "PATH": f"{VENV}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(place),
        "LANG": "C.UTF-8",
        "PROBE_OUT": str(place / "out"),
        **case.env,
    }
    port = free_port()
    started = []
    for node in range(case.nodes):
        words = [
            word.format(port=port, node=node, python=python, role="ab"[node % 2])
            for word in (*case.flags, *case.script)
        ]
        started.append(
            subprocess.Popen(
                [*launcher, *words],
                cwd=place,
                env={**base, "PROBE_BASE": json.dumps(base)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    errors = []
    try:
        for process in started:
            _, stderr = process.communicate(timeout=patience(60))
            assert process.returncode == 0, stderr
            errors.append(stderr)
    finally:
        for process in started:
            process.kill()
            process.wait()
    seen = {
        path.name: normalized(json.loads(path.read_text()), place)
        for path in sorted((place / "out").iterdir())
    }
    return seen, errors


def node_program() -> str:
    return os.environ.get("MUSTER_NODE_BIN") or str(ROOT / "build/release/muster-node")


@pytest.fixture(params=["launch", "torchrun"])
def launcher(request: pytest.FixtureRequest) -> list[str]:
    return [node_program(), str(request.param)]


def golden(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    return read


@pytest.mark.parametrize("name", CASES)
def test_as_under_torchrun(launcher: list[str], name: str, tmp_path: Path) -> None:
    seen, errors = run_case(launcher, CASES[name], tmp_path)
    expected = golden(name)
    assert all(rank["leader"] for rank in seen.values())
    if name == "run-path":  # there torchrun forks itself, and leaves the rank in its own session
        for rank in (*expected.values(), *seen.values()):
            del rank["argv"], rank["leader"]
    assert seen == expected
    assert [text.count(WARNING) for text in errors] == [int(CASES[name].warns)] * len(errors)


def test_as_under_dlrover(tmp_path: Path) -> None:
    """The set is torchrun's with dlrover's own names (measured with 0.6.1)."""
    case = Case(("--standalone", *TWO, "--max-restarts=0"), env={"DLROVER_MASTER_ADDR": "h:1"})
    seen, _ = run_case([node_program(), "dlrover-run"], case, tmp_path)
    expected = golden("standalone")
    assert seen.keys() == expected.keys()
    for name, rank in seen.items():
        env, theirs = rank["env"], expected[name]["env"]
        assert env["ROLE_NAME"] == "dlrover-trainer"
        assert {key: env.get(key) for key in DLROVER} == DLROVER
        differ = {"ROLE_NAME", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_ERROR_FILE"}
        assert "TORCHELASTIC_SIGNALS_TO_HANDLE" not in env
        for key in theirs.keys() - differ - {"TORCHELASTIC_SIGNALS_TO_HANDLE"}:
            assert env[key] == theirs[key], key
        assert rank["argv"] == expected[name]["argv"]


def record() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as place:
            seen, errors = run_case([str(VENV / "torchrun")], case, Path(place))
        assert [text.count(WARNING) for text in errors] == [int(case.warns)] * len(errors), name
        (GOLDEN / f"{name}.json").write_text(json.dumps(seen, indent=1, sort_keys=True) + "\n")
        print(name, len(seen))


if __name__ == "__main__":
    record()
