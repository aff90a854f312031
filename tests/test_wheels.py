"""The packages of python/ as a user installs them: built, put into an environment that has nothing
else, and used with the program alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import ROOT, Server, environment, program

PROGRAM = """
from dlrover.python.unified.api.builder import DLJobBuilder
job = DLJobBuilder().device_type("CPU").config({"a": 1}).role("r").run("mine.run").total(2).build()
raise SystemExit(job.submit("wheel", log=True))
"""
MINE = """
from dlrover.python.unified.api.runtime.worker import current_worker
def run():
    worker = current_worker()
    print(worker.actor_info.name, type(worker.job_info.user_config).__name__)
"""
REAL = "def __getattr__(name): raise AttributeError(name)\n"


def run(*words: str | Path, cwd: Path, **env: str) -> str:
    done = subprocess.run(
        [*map(str, words)], cwd=cwd, env=environment(None, **env), capture_output=True, text=True,
        timeout=170, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_wheels_and_the_program_are_all(start: Callable[..., Server], tmp_path: Path) -> None:
    server = start(nodes="2x4cpu,8Gi")
    run(sys.executable, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    python, wheels = tmp_path / "env/bin/python", tmp_path / "wheels"
    run(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheels, ROOT / "python/muster",
        ROOT / "python/muster-dlrover", cwd=tmp_path)  # fmt: skip
    assert sorted(path.name.split("-")[0] for path in wheels.iterdir()) == [
        "muster",
        "muster_dlrover",
    ]
    run(python, "-m", "pip", "install", "-q", *wheels.iterdir(), cwd=tmp_path)
    (tmp_path / "submit.py").write_text(PROGRAM)
    (tmp_path / "mine.py").write_text(MINE)
    env = {"MUSTER_STATE_DIR": str(server.state), "MUSTER_BIN": str(program())}
    said = run(python, "submit.py", cwd=tmp_path, **env)
    assert "r_2-0_1-0 DictConfig" in said and "r_2-1_1-0 DictConfig" in said

    site = next((tmp_path / "env/lib").glob("python3*/site-packages"))
    (site / "dlrover").mkdir()
    (site / "dlrover/__init__.py").write_text(REAL)
    said = run(python, "-c", "import dlrover; print(dlrover.__file__)", cwd=tmp_path)
    assert str(site / "dlrover/__init__.py") in said and "MUSTER_DLROVER=1" in said
    said = run(python, "submit.py", cwd=tmp_path, **env, MUSTER_DLROVER="1")
    assert "r_2-0_1-0 DictConfig" in said
