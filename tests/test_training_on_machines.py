"""Training on machines that share nothing, as a plain user: four are added by ssh, a real DDP job
runs on all of them, the one with rank 0 is switched off silently in the middle, the others go on
from their own checkpoint, and it is used again when it is back."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from accounts import Account
from harness import EXAMPLES, ROOT, scratch, wait_for
from lab import Machine, why_none
from lab_owner import Added, added

TORCH = list(ROOT.glob(".venv/lib/python3*/site-packages/torch/version.py"))
EPOCHS = 12
SAVE_EVERY = 8

pytestmark = [
    pytest.mark.skipif(not TORCH, reason="no PyTorch in .venv: tools/setup python installs it"),
    pytest.mark.skipif(not shutil.which("sshd", path="/usr/sbin:/sbin"), reason="no sshd"),
    pytest.mark.slow,  # it trains for a minute
]

UNTRAINED = math.log(10)  # the loss of who guesses

# The example as it is, but that no epoch begins before the test has let it.
HELD = """
import time
from train import Trainer, main

train_epoch = Trainer.train_epoch

def held(self, after_step):
    while self.epoch >= int(open({epochs!r}).read()):
        time.sleep(0.02)
    train_epoch(self, after_step)

Trainer.train_epoch = held
main()
"""


@pytest.fixture
def c(accounts: list[Account]) -> Iterator[Added]:
    if why_none():
        pytest.skip(why_none())
    with added(accounts[0]) as made:
        yield made


class Training:
    """A job of its owner's, from a directory that no machine sees, and what it leaves on disks."""

    def __init__(self, c: Added, folder: Path) -> None:
        self.c, self.out = c, c.lab.at(1).home / "out"
        self.let(4)
        shutil.copy(EXAMPLES / "openpai/ddp/train.py", folder)
        (folder / "held.py").write_text(HELD.format(epochs=str(self.epochs)))
        for path in (folder, *folder.iterdir()):
            os.chown(path, c.owner.uid, c.owner.entry.pw_gid)
        train = f"held.py --epochs {EPOCHS} --resume --save-every {SAVE_EVERY} --output {self.out}"
        line = f"torchrun --nnodes=3:4 --max-restarts=3 {train} --steps-file steps"
        asks = "--name ddp --cpu 2 --memory 1Gi --env OMP_NUM_THREADS=1"
        self.owner("submit", *asks.split(), "--", *line.split(), cwd=folder)
        self.number = c.server.jobs(name="ddp")[0]["number"]

    @property
    def epochs(self) -> Path:
        return self.c.lab.shared / "epochs"

    def let(self, epochs: int) -> None:
        """Go so far."""
        new = self.epochs.with_suffix(".new")
        new.write_text(str(epochs))
        new.replace(self.epochs)

    def owner(self, *args: str, cwd: Path | None = None) -> str:
        done = self.c.server.as_owner(*args, cwd=cwd)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def shown(self) -> str:
        return self.owner("show", str(self.number))

    def said(self) -> str:
        return self.c.server.log(self.number)

    def steps(self, machine: Machine) -> list[int]:
        path = machine.outside(self.out) / "steps"
        return [int(n) for n in path.read_text().split("\n")[:-1]] if path.exists() else []

    def last_step(self) -> int:
        return max(max(self.steps(one), default=0) for one in self.c.lab.machines)

    def wait_step(self, step: int) -> None:
        wait_for(lambda: self.last_step() >= step, 120, f"step {step}")

    def wait_world(self, size: int, times: int = 1) -> None:
        """Its ranks have met, so often."""
        wait_for(lambda: self.worlds().count(size) == times, 120, f"a world of {size}")

    def worlds(self) -> list[int]:
        return [int(n) for n in re.findall(r"^rank 0 of (\d+)", self.said(), re.MULTILINE)]

    def resumed(self) -> list[tuple[int, float]]:
        """At which steps ranks went on, and with which loss."""
        found = re.findall(r"goes on after epoch \d+, step (\d+)  loss ([\d.]+)", self.said())
        return [(int(step), float(loss)) for step, loss in found]


@pytest.fixture
def training(c: Added) -> Iterator[Training]:
    folder = scratch()
    try:
        yield Training(c, folder)
    finally:
        shutil.rmtree(folder)


def test_it_goes_on_without_the_machine_of_rank_0(c: Added, training: Training) -> None:
    training.wait_step(40)
    for machine in c.lab.machines:
        for kind, pids in c.processes(machine).items():
            assert {Path(f"/proc/{pid}").stat().st_uid for pid in pids} == {c.owner.uid}, kind
        machine.run("test", "!", "-e", c.server.state)
    (lost,) = [one for one in c.lab.machines if training.steps(one)]
    lost.off()
    before = training.last_step()
    training.wait_world(3)
    assert re.search(rf"machine +{lost.name}, silent since .*: the others go on without it",
                     training.shown())  # fmt: skip
    ((step, loss),) = wait_for(training.resumed, what="the checkpoint of another machine")
    assert before - SAVE_EVERY <= step <= before + 1 and loss < UNTRAINED / 4
    training.let(8)
    training.wait_step(before + 2 * SAVE_EVERY)

    between = training.last_step()
    c.power_on(lost)
    training.wait_world(4, times=2)
    (_, (again, loss)) = wait_for(
        lambda: rows if len(rows := training.resumed()) == 2 else None, what="the second time"
    )
    assert again >= between - SAVE_EVERY, "its own checkpoint is an old one"
    assert loss < UNTRAINED / 4
    said = training.shown()
    assert "silent since" not in said and f"launch.joined {lost.name} joined" in said, said
    assert re.search(rf"^worker/\d +running +{lost.name} +2 ", said, re.MULTILINE), said
    training.let(EPOCHS)
    done = c.server.wait(training.number)
    assert done["state"] == "succeeded", (done["reason"], training.said())
    assert training.worlds() == [4, 3, 4]
    accuracy = re.findall(r"final  loss [\d.]+  accuracy ([\d.]+) %", training.said())
    assert float(accuracy[-1]) > 95
