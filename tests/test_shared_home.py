"""Two login nodes, machines with disks of their own, that share a home: one server, whose records
are on its machine's disk, for commands on both."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from harness import program
from lab import Lab, Machine, lab, why_none

pytestmark = pytest.mark.skipif(bool(why_none()), reason=why_none())


@pytest.fixture
def login() -> Iterator[Lab]:
    with lab(2) as place:
        yield place


def call(place: Lab) -> str:
    home = place.shared / "home"
    words = {
        "HOME": str(home),
        "MUSTER_SHARED_HOME": "yes",  # the folder that stands for it is on no network file system
        "MUSTER_SEAL_KEY": str(home / "seal.key"),
    }
    unset = "-u MUSTER_STATE_DIR -u MUSTER_SERVER -u MUSTER_TOKEN -u XDG_STATE_HOME"
    return f"cd /; env {unset} " + " ".join(f"{k}={v}" for k, v in words.items()) + f" {program()}"


def muster(machine: Machine, words: str) -> str:
    return machine.run("timeout", "60", "sh", "-c", f"{call(machine.lab)} {words}")


def server_of(machine: Machine) -> int:
    said: int = json.loads(muster(machine, "server status --json"))["pid"]
    return said


def test_one_server_for_all_login_nodes(login: Lab) -> None:
    first, other = login.machines
    (login.shared / "home").mkdir(exist_ok=True)
    assert "m1" in muster(first, "run --name one -- uname -n")
    # The other one speaks to it: no second one is there.
    assert "one" in muster(other, "ls --all")
    assert "m1" in muster(other, "run --name two -- uname -n")
    assert server_of(other) == server_of(first)
    listed = json.loads(muster(first, "ls --all --json"))["jobs"]
    assert {job["name"] for job in listed} == {"one", "two"}
    # Records are on the disk of the first alone; what is in the home is nobody else's to read.
    assert first.run("ls", "/var/tmp/muster-0/muster.db")
    with pytest.raises(RuntimeError):
        other.run("ls", "/var/tmp/muster-0/muster.db")
    assert not list((login.shared / "home").rglob("muster.db"))
    (file,) = (login.shared / "home").rglob("elsewhere.json")
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(RuntimeError, match="your server runs on m1"):
        muster(other, "server run")
    with pytest.raises(RuntimeError, match="type it on m1"):
        muster(other, "nodes set 4x1cpu,1Gi")
    # What needs no server starts none: a backup becomes its records while it is ended.
    muster(first, "backup /var/tmp/backup.tar")
    first.run("kill", "-9", str(server_of(first)))
    muster(first, "restore --force /var/tmp/backup.tar")
    assert "two" in muster(first, "ls --all")
    # One that was ended is started again by the next command there, and by none here.
    first.run("kill", "-9", str(server_of(first)))
    with pytest.raises(RuntimeError, match="your server is on m1"):
        muster(other, "ls --all")
    assert "two" in muster(first, "ls --all")
    assert "two" in muster(other, "ls --all")
    with pytest.raises(RuntimeError, match="your server runs on m1"):
        muster(other, "server start")
    # Where its machine is gone for good another one is begun.
    first.off()
    muster(other, "server start")
    assert "two" not in muster(other, "ls --all")
    assert json.loads(file.read_text())["host"] == "m2"
