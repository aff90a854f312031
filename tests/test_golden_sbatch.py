"""Golden files of the sbatch dialect: what `muster check` and `muster convert` make of scripts.

Each tests/golden/sbatch/NAME.sbatch that is right has NAME.native, NAME.messages (`line:col: ...`)
and NAME.ROLE.INDEX.env; one that is wrong has NAME.messages only. Scripts after real ones, where
they are beside the clone, are compared with what a real Slurm understood of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import golden_files
import pytest
from golden_files import compare, messages, task_environment, variables
from harness import muster

GOLDEN = golden_files.GOLDEN / "sbatch"
SHARED = golden_files.SHARED / "cases" / "sbatch"
RIGHT = ("steps", "components", "array")
WRONG = ("wrong", "refused", "dos")
TASKS = (("steps", "node/0"), ("steps", "node/1"), ("components", "node1/2"), ("array", "node/0"))
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
pytestmark = pytest.mark.sanitizer


def convert(path: Path, to: str = "native", *more: str) -> str:
    done = muster("convert", *more, "--to", to, path)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("case", RIGHT)
def test_native(case: str, tmp_path: Path) -> None:
    """The job, and the job of the job; the script comes back as it was."""
    native = convert(GOLDEN / f"{case}.sbatch")
    compare(GOLDEN / f"{case}.native", native)
    again = tmp_path / "job.yaml"
    again.write_text(native)
    assert convert(again) == native
    assert convert(again, "sbatch") == (GOLDEN / f"{case}.sbatch").read_text()
    for name, task in TASKS:
        if name == case:
            there = task_environment(GOLDEN / f"{case}.sbatch", task)
            assert task_environment(again, task) == there


@pytest.mark.parametrize("case", RIGHT + WRONG)
def test_messages(case: str) -> None:
    code, said = messages(GOLDEN / f"{case}.sbatch")
    assert code == (0 if case in RIGHT else 2), said
    compare(GOLDEN / f"{case}.messages", said)


@pytest.mark.parametrize(("case", "task"), TASKS)
def test_environment(case: str, task: str) -> None:
    text = variables(task_environment(GOLDEN / f"{case}.sbatch", task))
    compare(GOLDEN / f"{case}.{task.replace('/', '.')}.env", text)


def seconds(text: str) -> int:
    """Of Slurm: "05:00:00", "2-00:00:00"."""
    days, _, clock = text.rpartition("-")
    hours, minutes, rest = map(int, clock.split(":"))
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + rest


def run_time(text: str) -> int:
    """Of muster: "5h", "1h30m"."""
    total, number = 0, ""
    for c in text:
        if c.isdigit():
            number += c
        else:
            total += int(number) * {"d": 86400, "h": 3600, "m": 60, "s": 1}[c]
            number = ""
    return total


def memory(text: str) -> int:
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text) << 20


def size(text: str) -> int:
    return int(text[:-2]) * UNITS[text[-2]] if text.endswith("i") else int(text)


def differences(options: dict[str, str], job: Any, role: Any) -> list[str]:
    """Options of a real Slurm that the job does not say; paths are of the folder."""
    config, resources = job["config"]["sbatch"], role.get("resources", {})
    gres = options.get("gres", "").split(":")
    gpus = int(options.get("gpus-per-node", options.get("gpus", gres[-1] or 0)))
    limit = job.get("limits", {}).get("run_time")
    found = {
        "job-name": job["name"],
        "partition": job.get("queue"),
        "account": job.get("project"),
        "time": str(run_time(limit)) if limit else None,
        "nodes": str(role.get("replicas", 1)),
        "output": config.get("output"),
        "error": config.get("error"),
        "mem": str(size(resources["memory"])) if "memory" in resources else None,
        "gpus": str(resources.get("gpu", 0)),
    }
    wanted: dict[str, str | None] = {
        **options,
        "job-name": options.get("job-name", "sbatch"),
        "nodes": options.get("nodes", "1"),
        "gpus": str(gpus),
        **{k: options[k].removeprefix("$PWD/") for k in ("output", "error") if k in options},
    }
    if "time" in options:
        wanted["time"] = str(seconds(options["time"]))
    if "mem" in options:
        wanted["mem"] = None if options["mem"] == "0?" else str(memory(options["mem"]))
    return [
        f"{k}: {found[k]}, not {wanted.get(k)}"
        for k in found
        if not (k == "mem" and "mem" not in options) and found[k] != wanted.get(k)
    ]


@pytest.mark.skipif(not SHARED.is_dir(), reason="scripts after real ones are not beside the clone")
def test_real_scripts() -> None:
    cases = sorted(SHARED.glob("*.sbatch"))
    assert cases
    for case in cases:
        understood = json.loads((SHARED / "expected" / f"{case.stem}.json").read_text())
        parts = understood["options"]
        parts = parts if isinstance(parts, list) else [parts]
        job = json.loads(convert(case, "native", "--json"))
        assert len(job["roles"]) == len(parts)
        for options, role in zip(parts, job["roles"].values(), strict=True):
            part = {**options, "partition": parts[0].get("partition")}
            assert differences(part, job, role) == [], case.name
