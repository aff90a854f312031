"""A server of root's for several people, whose jobs have allocations of a real Slurm: each is its
owner's there, runs as its owner, and nobody else has a part in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from accounts import Account, Shared
from accounts import why_none as why_no_accounts
from harness import FINAL, native, until_there, wait_for
from slurm_cluster import Slurm, slurm, why_none

WHY_NOT = why_none() or why_no_accounts()
pytestmark = [
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT),
    pytest.mark.slow,  # minutes, with daemons of Slurm for three nodes
]

Starter = Callable[..., Shared]
NODES = {"n1", "n2", "n3"}
ON_SLURM: dict[str, Any] = {"place": {"engine": "slurm"}, "resources": {"cpu": 5, "memory": "64Mi"}}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Slurm]:
    with slurm(3) as one:
        yield one


@pytest.fixture
def server(cluster: Slurm, shared: Starter) -> Iterator[Shared]:
    one = shared(nodes="name=here,1cpu,1Gi", env=cluster.env())
    yield one
    if not one.running():
        one.start()
    for pilot in one.get("/v1/pilots")["pilots"]:
        one.muster("pilot", "stop", "--now", pilot["name"])
    for job in one.get("/v1/jobs")["jobs"]:
        if job["state"] not in FINAL:
            one.stop(job["number"])
    wait_for(lambda: not asked(cluster), what="Slurm to have everything back")
    cluster.wait_idle()


def asked(cluster: Slurm) -> dict[str, str]:
    """Whose allocations Slurm has, by their ids."""
    lines = cluster.run("squeue", "-h", "-o", "%i %u %j").splitlines()
    return {id: user for id, user, name in map(str.split, lines) if "muster-pilot-" in name}


def test_each_allocation_is_its_owners(
    server: Shared, cluster: Slurm, accounts: list[Account]
) -> None:
    ann, ben, _ = accounts
    ann.write("code.txt", "of ann\n")
    numbers = {}
    for user in (ann, ben):
        run = f"id -un; cat code.txt; umask 022; echo made >made; {until_there(user.home / 'go')}"
        numbers[user.name] = server.submit_as(user, run, **ON_SLURM)
    for number in numbers.values():
        server.wait(number, "running")
    assert sorted(asked(cluster).values()) == sorted([ann.name, ben.name])
    wait_for(lambda: (ann.home / "made").exists() and (ben.home / "made").exists(), what="files")
    server.kill()
    server.start()
    for user in (ann, ben):
        made = user.home / "made"
        assert made.owner() == user.name and made.read_text() == "made\n"
        user.write("go", "")
        job = server.wait(numbers[user.name])
        assert job["state"] == "succeeded", job
        assert {task["attempts"][0]["node"] for task in job["task_list"]} <= NODES
    assert server.log(numbers[ann.name]) == f"{ann.name}\nof ann\n"
    assert server.log(numbers[ben.name]).startswith(f"{ben.name}\n")
    wait_for(lambda: not asked(cluster), what="both to be given back")
    left = [path for user in (ann, ben) for path in user.home.glob(".muster-shared-*")]
    wait_for(lambda: not any(path.exists() for path in left), what="its markers to go")


def test_nobody_else_has_a_part_in_it(
    server: Shared, cluster: Slurm, accounts: list[Account]
) -> None:
    """Neither another user, nor a pilot of root's that has room, nor a job that takes its name."""
    ann, ben, _ = accounts
    assert server.cli(ann, "pilot", "start", "--nodes", "1").returncode != 0
    done = server.muster("pilot", "start", "--nodes", "1", "--cpus-per-node", "8", "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    (pilot,) = server.get("/v1/pilots")["pilots"]
    number = server.submit_as(ann, "id -un; sleep 600", **ON_SLURM)
    job = server.wait(number, "running")
    assert job["task_list"][0]["attempts"][0]["node"] not in pilot["nodes"]
    (own,) = [one for one in server.get("/v1/pilots")["pilots"] if "job" in one]
    allocation = own["allocation"]
    assert own["account"] == ann.name and asked(cluster)[allocation] == ann.name
    assert asked(cluster)[pilot["allocation"]] == "root"
    assert ben.run("env", *slurm_words(cluster), "scancel", allocation).returncode != 0
    assert server.cli(ben, "stop", number).returncode != 0
    name = cluster.run("squeue", "-h", "-j", allocation, "-o", "%j").strip()
    forged = ("sbatch", "--parsable", "-n1", f"--job-name={name}", "-o/dev/null", "--wrap", "true")
    done = ben.run("env", *slurm_words(cluster), *forged)
    assert done.returncode == 0, done.stderr
    wait_for(lambda: cluster.state(done.stdout.strip()) == "COMPLETED", what="the other one")
    assert server.state_of(number) == "running"
    assert ann.run("env", *slurm_words(cluster), "scancel", allocation).returncode == 0
    job = server.wait(number)
    assert job["state"] == "stopped" and "was cancelled in Slurm" in job["reason"]
    number = server.submit_as(ann, "sleep 600", **ON_SLURM)
    server.wait(number, "running")
    assert server.cli(ann, "stop", number).returncode == 0
    assert server.wait(number)["state"] == "stopped"
    wait_for(lambda: list(asked(cluster).values()) == ["root"], what="it to be given back")


def slurm_words(cluster: Slurm) -> list[str]:
    return [f"{name}={value}" for name, value in cluster.env().items()]


def test_what_needs_a_pilot_is_refused(
    server: Shared, cluster: Slurm, accounts: list[Account]
) -> None:
    gang = [{"name": "a", "roles": ["worker"], "with": ["p/b"]}]
    text = native("gang", "true", project="p", gang=gang, **ON_SLURM)
    said = server.ask(accounts[0], "POST", "/v1/jobs", text, cwd=str(accounts[0].home))
    assert said.status == 422 and "pilots run as the server's account" in said.text
    assert not asked(cluster)
