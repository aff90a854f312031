"""tests/on_devices.py on a driver of ours: what needs CUDA is not seen, the rest is."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import ROOT, VENV, environment, patience
from nvml import Driver, device

HAS_TORCH = bool(list(VENV.glob("../lib/python3*/site-packages/torch")))
SEEN = {"4", "5", "8"}


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    one = Driver(tmp_path / "driver")
    yield one
    one.close()


def tried(driver: Driver, *flags: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [VENV / "python", ROOT / "tests/on_devices.py", *flags],
        env={**environment(), **driver.env},
        capture_output=True,
        text=True,
        timeout=patience(480),
        check=False,
    )
    return done.returncode, done.stdout.splitlines() + done.stderr.splitlines()


@pytest.mark.trains
@pytest.mark.skipif(not HAS_TORCH, reason="no PyTorch")
def test_each_item_says_what_was_seen(driver: Driver) -> None:
    driver.say(device(0), device(1))
    code, lines = tried(driver)
    assert code == 0, lines
    assert [line.split()[0] for line in lines] == [str(n) for n in range(1, 11)]
    for line in lines:
        number = line.split()[0]
        if number in SEEN:
            assert " seen (" in line and "not seen" not in line.partition("(")[0], line
        elif number == "9":
            assert f"not seen (there is no /dev/nvidia{driver.minor_of(0)})" in line
        else:
            assert f"not seen (torch of {VENV / 'python'} sees no GPU)" in line


def test_what_is_not_so_fails(driver: Driver) -> None:
    """A device that does not answer has no details to compare."""
    driver.say(device(0), device(1, "NVIDIA H100 80GB HBM3", "error 15"))
    code, lines = tried(driver, "--only", "5")
    assert code == 1 and len(lines) == 1, lines
    assert lines[0].startswith(" 5 devices") and "FAILED (" in lines[0]
