"""Training on machines that share nothing, as a plain user: four are added by ssh, a real DDP job
runs on all of them, the one with rank 0 is switched off silently in the middle, the others go on
from their own checkpoint, and it is used again when it is back."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from accounts import Account
from harness import wait_for
from lab import why_none
from lab_owner import Added, added
from lab_training import EPOCHS, SAVE_EVERY, TORCH, UNTRAINED, Training, training_of

pytestmark = [
    pytest.mark.skipif(not TORCH, reason="no PyTorch in .venv: tools/setup python installs it"),
    pytest.mark.skipif(not shutil.which("sshd", path="/usr/sbin:/sbin"), reason="no sshd"),
    pytest.mark.slow,  # it trains for a minute
]


@pytest.fixture
def c(accounts: list[Account]) -> Iterator[Added]:
    if why_none():
        pytest.skip(why_none())
    with added(accounts[0]) as made:
        yield made


@pytest.fixture
def training(c: Added) -> Iterator[Training]:
    with training_of(c.server) as one:
        yield one


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
