"""A training of PyTorch's DDP on machines of a laboratory that share nothing, for tests that switch
one of them off meanwhile: it goes as far as the test lets it, and says from where it goes on."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import EXAMPLES, ROOT, scratch, wait_for
from lab import Machine
from lab_owner import OwnServer

TORCH = list(ROOT.glob(".venv/lib/python3*/site-packages/torch/version.py"))
EPOCHS = 12
SAVE_EVERY = 8
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


class Training:
    """A job of its owner's, from a directory that no machine sees, and what it leaves on disks."""

    def __init__(self, server: OwnServer, folder: Path, *where: str) -> None:
        assert server.lab
        self.server, self.lab = server, server.lab
        self.out = self.lab.at(1).home / "out"
        self.let(4)
        shutil.copy(EXAMPLES / "openpai/ddp/train.py", folder)
        (folder / "held.py").write_text(HELD.format(epochs=str(self.epochs)))
        for path in (folder, *folder.iterdir()):
            os.chown(path, server.account.uid, server.account.entry.pw_gid)
        train = f"held.py --epochs {EPOCHS} --resume --save-every {SAVE_EVERY} --output {self.out}"
        line = f"torchrun --nnodes=3:4 --max-restarts=3 {train} --steps-file steps"
        asks = "--name ddp --cpu 2 --memory 1Gi --env OMP_NUM_THREADS=1"
        self.owner("submit", *where, *asks.split(), "--", *line.split(), cwd=folder)
        self.number = server.jobs(name="ddp")[0]["number"]

    @property
    def epochs(self) -> Path:
        return self.lab.shared / "epochs"

    def let(self, epochs: int) -> None:
        """Go so far."""
        new = self.epochs.with_suffix(".new")
        new.write_text(str(epochs))
        new.replace(self.epochs)

    def owner(self, *args: str, cwd: Path | None = None) -> str:
        done = self.server.as_owner(*args, cwd=cwd)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def shown(self) -> str:
        return self.owner("show", str(self.number))

    def said(self) -> str:
        return self.server.log(self.number)

    def steps(self, machine: Machine) -> list[int]:
        path = machine.outside(self.out) / "steps"
        return [int(n) for n in path.read_text().split("\n")[:-1]] if path.exists() else []

    def last_step(self) -> int:
        return max(max(self.steps(one), default=0) for one in self.lab.machines)

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


@contextmanager
def training_of(server: OwnServer, *where: str) -> Iterator[Training]:
    """`where`: flags that say on which machines."""
    folder = scratch()
    try:
        yield Training(server, folder, *where)
    finally:
        shutil.rmtree(folder)


__all__ = ["EPOCHS", "SAVE_EVERY", "TORCH", "UNTRAINED", "Training", "training_of"]
