"""The complete example of OpenPAI's job reference, byte for byte: it installs scipy, two workers
train against two parameter servers, the servers are stopped when the workers are done."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from conftest import Starter
from harness import EXAMPLES, FINAL, ROOT, openpai, role, wait_for

FOLDER = EXAMPLES / "openpai/tf"
EXAMPLE = FOLDER / "tensorflow-distributed.json"
PAGES = ROOT.parent / "shared/seeds"
NUMPY = list(ROOT.glob(".venv/lib/python3*/site-packages/numpy/version.py"))
PYTHON = ROOT / ".venv/bin/python"


def pip_settings() -> dict[str, str]:
    """What pip needs here to install scipy: its configuration, or none of it; else a skip."""
    said = ""
    for settings in ({}, {"PIP_CONFIG_FILE": "/dev/null"}):
        tried = subprocess.run(
            [PYTHON, "-m", "pip", "install", "--dry-run", "--target", "/nowhere", "scipy"],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=False,
        )
        if tried.returncode == 0:
            return settings
        said = tried.stderr.strip().rpartition("\n")[2]
    pytest.skip(f"pip cannot install scipy here, which the example does: {said[:200]}")


def test_it_is_the_page_s_own_text() -> None:
    pages = [p for p in PAGES.glob("*.txt") if "tensorflow-distributed-jobguid" in p.read_text()]
    if not pages:
        pytest.skip("the published page is not beside the clone")
    page = pages[0].read_text()
    assert EXAMPLE.read_text().rstrip("\n") in page


@pytest.mark.skipif(not NUMPY, reason="no numpy in .venv: tools/setup python installs it")
def test_complete_example(start: Starter) -> None:
    python = PYTHON
    settings = {"MUSTER_PYTHON": str(python), **pip_settings()}
    server = start(nodes="2x16cpu,64Gi,4gpu", env=settings)
    code = server.state / "fs/path/tensorflow-distributed-jobguid/code"
    shutil.copytree(FOLDER / "code", code)
    before = sorted(p.name for p in python.parent.parent.glob("lib/python3*/site-packages/*"))
    done = server.muster("submit", "--json", "--queue", "default", EXAMPLE)
    assert done.returncode == 0, done.stderr
    number = json.loads(done.stdout)["number"]
    assert server.api("GET", f"/v1/jobs/{number}/origin").good().body == EXAMPLE.read_bytes()

    wait_for(lambda: server.state_of(number) in FINAL, 240, "the complete example", every=0.1)
    job = server.job(number)
    said = "".join(r.get("text", "") for r in server.records(number))
    assert job["state"] == "succeeded", said[-4000:]
    states = {t["name"]: t["state"] for t in job["task_list"]}
    assert states == {
        "ps_server/0": "stopped",
        "ps_server/1": "stopped",
        "worker/0": "succeeded",
        "worker/1": "succeeded",
    }
    ports = [p for t in job["task_list"] for ps in t["attempts"][0]["ports"].values() for p in ps]
    assert len(ports) == len(set(ports)) == 8
    gpus = {t["name"]: t["attempts"][0].get("gpus", []) for t in job["task_list"]}
    assert len(gpus["worker/0"]) == len(gpus["worker/1"]) == 4
    assert "images/sec" in said or "loss" in said
    after = sorted(p.name for p in python.parent.parent.glob("lib/python3*/site-packages/*"))
    assert after == before, "pip inside a job leaves the host alone"


def test_concurrent_pips_take_turns(start: Starter, tmp_path: Path) -> None:
    """Four tasks of one node install the same package, made here, at the same time."""
    package = tmp_path / "pkg"
    package.mkdir()
    info = "mustertoy-1.0.dist-info"
    files = {
        "mustertoy.py": "word = 'installed'\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: mustertoy\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(package / "mustertoy-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    server = start(nodes="8cpu,16Gi")
    command = (
        f"pip --quiet install --no-index --find-links {package} mustertoy && "
        "python -c 'import mustertoy; print(mustertoy.word)'"
    )
    job = server.run(openpai("pips", role("w", command, 4)), timeout=90)
    said = "".join(r.get("text", "") for r in server.records(job["number"]))
    assert job["state"] == "succeeded", said
    assert said.count("installed") == 4
