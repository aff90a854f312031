"""A distributed PyTorch job, as OpenPAI wrote them, through the death of the server."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import Starter
from harness import EXAMPLES, ROOT, Server, patience, wait_for

TORCH = list(ROOT.glob(".venv/lib/python3*/site-packages/torch/version.py"))
EPOCHS = 10
MASTER = f"python ddp/train.py --epochs {EPOCHS} --steps-file steps.txt"

pytestmark = [
    pytest.mark.skipif(not TORCH, reason="no PyTorch in .venv: tools/setup python installs it"),
]


def output_of(server: Server, job: str) -> Path:
    uri = str(server.job(job)["output_dir"])
    return Path(unquote(urlsplit(uri).path) if uri.startswith("file:") else uri)


def test_ddp_lives_through_the_death_of_the_server(start: Starter) -> None:
    server = start(nodes="2x8cpu,16Gi", env={"MUSTER_PYTHON": str(ROOT / ".venv/bin/python")})
    run = server.popen(
        "run",
        EXAMPLES / "openpai/ddp.json",
        "--env",
        f"epochs={EPOCHS}",
        "--set",
        f"roles.master.run={MASTER}",
    )
    wait_for(lambda: server.jobs(name="ddp", state="running"), 60, "four tasks")
    wait_for(lambda: "epoch 2 " in server.log("ddp", "master/0"), 90, "the second epoch")
    assert server.state_of("ddp") == "running", "it was too fast to be disturbed"
    server.kill()
    server.start()
    out, err = run.communicate(timeout=patience(120))
    assert run.returncode == 0, out + err

    job = server.job("ddp")
    assert job["state"] == "succeeded" and job["generation"] == 1
    assert all(len(task["attempts"]) == 1 for task in job["task_list"])
    epochs = [int(n) for n in re.findall(r"epoch (\d+)  loss", out)]
    assert epochs == list(range(1, EPOCHS + 1)), "followed without a line lost or doubled"
    output = output_of(server, "ddp")
    steps = [int(line) for line in (output / "steps.txt").read_text().split()]
    assert steps == list(range(1, len(steps) + 1)), "no step repeated, none left out"
    assert len(steps) % EPOCHS == 0
    losses = [float(x) for x in re.findall(r"epoch \d+  loss ([\d.]+)", out)]
    assert losses[-1] < losses[0] / 2
    accuracy = float(re.findall(r"final  loss [\d.]+  accuracy ([\d.]+) %", out)[-1])
    assert accuracy > 95
    assert (output / "checkpoint.pt").stat().st_size > 100_000
    for task in ("worker/0", "worker/1", "worker/2"):
        assert "of 4 is " + task in out
