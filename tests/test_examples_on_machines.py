"""The examples that need no image and no network of their own run across four machines that share
nothing, added by ssh, as a plain user types them in a copy of the folder. What is set beside them
is where their tasks go: to machines, and to as many as they can. (openpai/tf installs from a
package index, which machines of a laboratory do not reach.)"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from accounts import Account
from harness import EXAMPLES, ROOT, Json, program, scratch
from lab import why_none
from lab_owner import Added, OwnServer, added
from lab_training import TORCH

pytestmark = [
    pytest.mark.skipif(not TORCH, reason="no PyTorch in .venv: tools/setup python installs it"),
    pytest.mark.skipif(not shutil.which("sshd", path="/usr/sbin:/sbin"), reason="no sshd"),
    pytest.mark.slow,  # six of them train
]

TRAINED = r"accuracy (9[5-9]|100)\.\d+ %"  # the digits held back
MNIST = "examples/pytorch/mnist/cnn_train.py"


@dataclass(frozen=True)
class Example:
    line: str  # behind `muster run --engine machines`
    says: str
    tasks: int
    roles: str = "worker"
    cwd: str = "."

    @property
    def machines(self) -> int:
        """Each role is spread by itself."""
        return self.tasks - self.roles.count(",")


ROWS = {
    "openpai hello": Example("openpai/hello.json", "hello from greeter/1 of job", 2, "greeter"),
    "openpai sweep": Example("openpai/sweep.yaml", r"rate 0.1: x = 3\.0000 after", 3, "trial"),
    "openpai ddp": Example("openpai/ddp.json", TRAINED, 4, "master,worker"),
    "native hello": Example("native/hello.yaml", "hello from process [0-9]+ on m[1-4]", 4),
    "native digits": Example("--code openpai/ddp native/digits.yaml", TRAINED, 4, "master,worker"),
    "native ddp": Example("--code openpai/ddp native/ddp.yaml", TRAINED, 2),
    "dlc ddp": Example("--code ../openpai/ddp ddp.json", TRAINED, 2, "master,worker", "dlc"),
    "dlrover-run": Example(
        f"--replicas 2 --cpu 2 --memory 2Gi --env OMP_NUM_THREADS=1 -- dlrover-run "
        f"--nnodes=2 --nproc_per_node=1 {MNIST} --num_epochs 1 "
        "--training_data {data}/training/ --validation_data {data}/testing/",
        r"epoch 1  .*accuracy", 2, cwd="elasticjob"),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(accounts: list[Account]) -> Iterator[Path]:
    """Of the first account."""
    place, entry = scratch(), accounts[0].entry
    shutil.copytree(EXAMPLES, place / "examples")
    for path in (place, *place.rglob("*")):
        os.chown(path, entry.pw_uid, entry.pw_gid)
    yield place / "examples"
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def c(accounts: list[Account]) -> Iterator[Added]:
    if why_none():
        pytest.skip(why_none())
    with added(accounts[0]) as made:
        yield made


def ended_well(server: OwnServer, tasks: int, machines: int) -> Json:
    """The newest job; each of its tasks ran once, and on so many machines at least."""
    job = server.job(server.jobs()[0]["number"])
    assert job["state"] == "succeeded", (job["reason"], server.log(job["number"]))
    attempts = [task["attempts"] for task in job["task_list"]]
    assert len(attempts) == tasks and all(len(one) == 1 for one in attempts), attempts
    at = {one[0]["node"] for one in attempts}
    assert server.lab and at <= {m.name for m in server.lab.machines} and len(at) >= machines, at
    return job


def run_example(server: OwnServer, folder: Path, name: str, engine: str) -> None:
    row = ROWS[name]
    assert server.lab
    data = server.lab.shared / "mnist"
    if "{data}" in row.line and not data.exists():
        python = str(ROOT / ".venv/bin/python")
        server.lab.at(1).run(python, EXAMPLES / "elasticjob/make_mnist_png.py", data)
    where = ["--engine", engine, "--set", f"place.spread=[{row.roles}]"]
    line = row.line.format(data=data).split()
    done = server.as_owner("run", *where, *line, cwd=folder / row.cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(row.says, done.stdout), done.stdout + done.stderr
    ended_well(server, row.tasks, row.machines)


@pytest.mark.parametrize("name", ROWS)
def test_it_runs(c: Added, folder: Path, name: str) -> None:
    run_example(c.server, folder, name, "machines")


def test_dlc_s_own_command_line(c: Added, folder: Path) -> None:
    """It has no words for where: the server's own node is closed to it."""
    dlc = folder / "dlc/dlc"
    dlc.symlink_to(program().resolve())
    c.server.muster("nodes", "drain", "here")
    said = "submit pytorchjob --job_file hello.params --interactive"
    done = c.server.as_owner(*said.split(), cwd=folder / "dlc", name=dlc)
    c.server.muster("nodes", "undrain", "here")
    assert done.returncode == 0, done.stdout + done.stderr
    job = ended_well(c.server, 2, 1)
    said = c.server.log(job["number"], "worker/0")
    assert re.search(r"I am \S+, rank 1 of 2; the master is \S+:\d+$", said, re.M), said
    assert {task["name"] for task in job["task_list"]} == {"master/0", "worker/0"}
