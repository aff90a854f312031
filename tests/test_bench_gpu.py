"""bench/gpu: what it says without a device, and its whole way on processors."""

from __future__ import annotations

import json
import subprocess

import pytest
from harness import ROOT, VENV, environment, patience

HAS_TORCH = bool(list(VENV.glob("../lib/python3*/site-packages/torch")))
pytestmark = [
    pytest.mark.trains,
    pytest.mark.skipif(not HAS_TORCH, reason="no PyTorch"),
]


def measured(*flags: str) -> dict[str, object]:
    done = subprocess.run(
        [VENV / "python", ROOT / "bench/gpu", "--json", *flags],
        env={**environment(), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=patience(300),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_without_a_device_it_is_skipped() -> None:
    found = measured()
    (note,) = map(str, found.pop("notes"))  # type: ignore[call-overload]
    assert note.startswith("skipped: torch of ") and "sees no GPU" in note
    assert found == {"bench": "gpu", "figures": {}, "aims": {}}


@pytest.mark.slow
def test_all_of_it_on_processors() -> None:
    found = measured("--cpu", "--rounds", "1", "--kills", "2", "--ranks", "1")
    assert found["on"] == "1 ranks on processors, gloo"
    places = {"first", "kernel", "reduced", "step"}
    for name in ("muster", "muster_preload_torch", "muster_warm_off", "torchrun"):
        for start, count in (("launch", 1), ("kill", 2)):
            took = found[f"{name}_{start}"]
            assert isinstance(took, dict) and set(took) == places, name
            assert {len(times) for times in took.values()} == {count}, name
