"""The examples that need no image run in allocations of a real Slurm, as an ordinary account types
them on the login node: four nodes that share nothing with it and with each other, and see neither
its files nor where muster was built. One of them is switched off in the middle of a training."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from accounts import Account
from conftest import closed
from harness import VENV, program, wait_for
from lab import lab
from lab_owner import OwnServer
from lab_slurm import LabSlurm, make_apart, why_none
from lab_training import EPOCHS, SAVE_EVERY, TORCH, UNTRAINED, training_of
from test_examples_on_machines import ROWS, ended_well, run_example
from test_examples_on_machines import folder as folder

pytestmark = [
    pytest.mark.skipif(not TORCH, reason="no PyTorch in .venv: tools/setup python installs it"),
    pytest.mark.slow,  # they train, with daemons of Slurm on four machines
]


@pytest.fixture(scope="module")
def cluster(accounts: list[Account]) -> Iterator[LabSlurm]:
    if why_none():
        pytest.skip(why_none())
    if accounts[0].run(str(program()), "version").returncode:
        pytest.skip(f"{program()} is out of reach for other users")
    with lab(4) as place:
        place.shared.chmod(0o777)
        for machine in place.machines:
            make_apart(machine, accounts[0])
            os.chown(machine.outside(machine.home), accounts[0].uid, accounts[0].entry.pw_gid)
        yield LabSlurm(place).start()


@pytest.fixture(scope="module")
def server(cluster: LabSlurm, accounts: list[Account]) -> Iterator[OwnServer]:
    """On the login node, of an ordinary account."""
    home, python = str(accounts[0].home), str(VENV / "python")
    server = OwnServer(
        nodes="name=here,1cpu,1Gi",
        env={"MUSTER_PYTHON": python, "HOME": home, **cluster.env()},
        lab=cluster.lab,
        owner=accounts[0],
    )
    try:
        yield server.start()
    finally:
        closed(server)


@pytest.mark.parametrize("name", ROWS)
def test_it_runs(server: OwnServer, folder: Path, name: str) -> None:
    run_example(server, folder, name, "slurm")


def test_nothing_of_the_server_is_seen(server: OwnServer, cluster: LabSlurm) -> None:
    """By a task, nor by root there; and nothing of another node."""
    disks = [machine.outside(machine.home) for machine in cluster.lab.machines]
    records = server.state / "muster.db"
    assert records.exists()
    hidden = [records, server.socket, program().resolve(), *disks]
    look = "".join(f"[ ! -e {path} ] || echo {path}; " for path in hidden) + "echo looked"
    where = "--engine slurm --replicas 4 --set place.spread=[worker]"
    done = server.as_owner("run", *where.split(), "--", "sh", "-c", look)
    assert done.returncode == 0, done.stdout + done.stderr
    job = ended_well(server, 4, 4)
    assert server.log(job["number"]) == "looked\n" * 4
    for machine in cluster.lab.machines:
        for path in hidden:
            machine.run("test", "!", "-e", path)


def test_training_goes_on_without_a_node(server: OwnServer, cluster: LabSlurm) -> None:
    """The one with rank 0; when it is back another job has it."""
    with training_of(server, "--engine", "slurm") as training:
        training.wait_step(40)
        (lost,) = [one for one in cluster.lab.machines if training.steps(one)]
        lost.off()
        before = training.last_step()
        training.wait_world(3)
        said = training.shown()
        assert re.search(rf"{lost.name}, silent since .*: the others go on without it", said), said
        ((step, loss),) = wait_for(training.resumed, what="the checkpoint of another machine")
        assert before - SAVE_EVERY <= step <= before + 1 and loss < UNTRAINED / 4
        training.let(EPOCHS)
        done = server.wait(training.number)
        assert done["state"] == "succeeded", (done["reason"], training.said())
        assert training.worlds() == [4, 3]
        accuracy = re.findall(r"final  loss [\d.]+  accuracy ([\d.]+) %", training.said())
        assert float(accuracy[-1]) > 95
