"""tools/again, on tests of its own: one that sometimes fails, one that does not, none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from harness import ROOT, patience, processes, wait_for

SOMETIMES = """
import os, pathlib
def test_once_in_three():
    n = os.open(pathlib.Path(__file__).with_name("runs"), os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    os.write(n, b".")
    assert os.fstat(n).st_size != 3, "the third"
def test_well():
    pass
"""


def command(folder: Path, *words: str | Path) -> list[str]:
    logs = ["--logs", str(folder / "logs")]
    return [sys.executable, str(ROOT / "tools/again"), *logs, *map(str, words)]


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "test_sometimes.py").write_text(SOMETIMES)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    word = uuid.uuid4().hex
    monkeypatch.setenv("AGAIN_MARK", word)
    return word


def again(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, *words), capture_output=True, text=True, timeout=patience(300), check=False
    )


def test_a_failure_is_found_and_shown(tmp_path: Path, mark: str) -> None:
    file = tmp_path / "test_sometimes.py"
    done = again(tmp_path, file, "--times", "4", "--jobs", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "run 3 failed (1)" in done.stdout and "the third" in done.stdout
    assert done.stdout.endswith("4 runs, 1 failed\n")
    assert [path.name for path in (tmp_path / "logs").iterdir()] == ["3.log"]
    done = again(tmp_path, f"{file}::test_well", "--times", "3")
    assert (done.returncode, done.stdout) == (0, "3 runs, 0 failed\n"), done.stderr
    assert set(processes(mark)) <= {os.getpid()}, "what made it busy has ended"


def test_what_has_no_such_name(tmp_path: Path, mark: str) -> None:
    done = again(tmp_path, f"{tmp_path / 'test_sometimes.py'}::test_none", "--no-busy")
    assert done.returncode == 2 and "no test has that name" in done.stderr
    assert again(tmp_path, "unit: no/such", "--no-busy").returncode == 2


def test_an_interrupted_one_leaves_nothing(tmp_path: Path, mark: str) -> None:
    (tmp_path / "test_sometimes.py").write_text("import time\ndef test(): time.sleep(600)\n")
    running = subprocess.Popen(
        command(tmp_path, tmp_path / "test_sometimes.py"), stdout=subprocess.DEVNULL
    )
    wait_for(lambda: len(processes(mark)) > 2 * (os.cpu_count() or 1) + 1, what="the first run")
    running.send_signal(signal.SIGTERM)
    assert running.wait(patience()) != 0
    wait_for(lambda: set(processes(mark)) <= {os.getpid()}, what="the end of all")
