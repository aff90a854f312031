"""A server in an allocation of a real Slurm that is its own, found by a home that machines share:
commands of login nodes speak to it, and it goes on in another allocation when that one is over,
with its jobs, whether it ended in good order or its node was lost."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import Json, patience, program, until_there, wait_for
from slurm_cluster import Slurm, slurm, why_none

pytestmark = [
    pytest.mark.skipif(bool(why_none()), reason=why_none()),
    pytest.mark.slow,  # minutes, with daemons of Slurm for four nodes
]
UNSET = ("MUSTER_STATE_DIR", "MUSTER_SERVER", "MUSTER_TOKEN", "XDG_STATE_HOME", "XDG_CONFIG_HOME")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Slurm]:
    with slurm(4) as one:
        yield one


@dataclass
class Login:
    """A login node: what is typed there."""

    cluster: Slurm
    home: Path

    def env(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if name not in UNSET}
        return {
            **own,
            **self.cluster.env(),
            "HOME": str(self.home),
            "MUSTER_SHARED_HOME": "yes",  # it is on no network file system
            "MUSTER_SEAL_KEY": str(self.home / "seal.key"),
        }

    def popen(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [program(), *words],
            env=self.env(),
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def type(self, *words: str) -> str:
        with self.popen(*words) as child:
            out, said = child.communicate(timeout=patience(300))
        assert child.returncode == 0, out + said + self.log()
        return out

    def refused(self, *words: str) -> str:
        with self.popen(*words) as child:
            out, said = child.communicate(timeout=patience(300))
        assert child.returncode != 0, out
        return said

    @property
    def own(self) -> Path:
        return self.home / ".local/state/muster/in-job"

    def log(self) -> str:
        path = self.own / "server.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def allocation(self) -> str:
        said: str = json.loads(self.type("server", "status", "--json"))["allocation"]
        return said

    def job(self, number: int) -> Json:
        shown: Json = json.loads(self.type("show", str(number), "--json"))
        return shown

    def submit(self, name: str, run: str) -> int:
        words = ["--name", name, "--cpus", "2", "--mem", "64Mi", "--", "sh", "-c", run]
        return int(self.type("submit", "--quiet", *words).split()[0])

    def wait(self, number: int, state: str) -> Json:
        wait_for(lambda: self.job(number)["state"] == state, what=f"job {number} {state}")
        return self.job(number)

    def over(self, allocation: str) -> None:
        wait_for(lambda: self.cluster.state(allocation) not in ("RUNNING", "COMPLETING"))


@pytest.fixture
def login(cluster: Slurm, tmp_path: Path) -> Iterator[Login]:
    one = Login(cluster, tmp_path)
    yield one
    cluster.wait_idle()


def attempts(job: Json) -> list[Json]:
    return [attempt for task in job["task_list"] for attempt in task["attempts"]]


def test_its_jobs_outlive_its_allocations(login: Login, cluster: Slurm) -> None:
    said = login.type("server", "start", "--in-job", "--time", "60m", "--", "--comment=its own")
    first = login.allocation()
    assert f"allocation {first} of Slurm" in said
    asked = cluster.run("squeue", "-h", "-j", first, "-o", "%T|%j|%C|%l|%k").strip()
    assert asked == "RUNNING|muster-server|1|1:00:00|its own"
    file = login.home / ".local/state/muster/elsewhere.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert not list(login.home.rglob("muster.db"))  # its node's disk has that
    login.type("server", "start", "--in-job")
    assert login.allocation() == first  # it runs already

    go = login.home / "go"
    number = login.submit("long", f"echo before; {until_there(go)}; echo after")
    login.wait(number, "running")
    wait_for(lambda: "before" in login.type("logs", str(number)), what="its output")
    # As Slurm says that the time is nearly over: the next one is asked for by itself.
    cluster.run("scancel", "--signal=USR1", "--batch", first)
    login.over(first)
    assert "long" in login.type("ls")  # as every command waits for it
    second = login.allocation()
    assert second != first and cluster.state(second) == "RUNNING"
    assert login.job(number)["state"] == "running"
    go.touch()
    job = login.wait(number, "succeeded")
    assert len(attempts(job)) == 1  # it went on meanwhile
    printed = login.type("logs", str(number))
    assert "before" in printed and "after" in printed

    # One that was ended is asked for again by any command, and knows what it did.
    assert "ended" in login.type("server", "stop")
    login.over(second)
    assert "has no allocation" in login.refused("server", "status")
    assert "long" in login.type("ls", "--all")
    assert login.allocation() != second
    assert "after" in login.type("logs", str(number))
    assert login.submit("next", "true") == number + 1
    login.wait(number + 1, "succeeded")
    login.type("server", "stop")


def test_one_whose_node_is_lost_goes_on_from_its_backup(login: Login, cluster: Slurm) -> None:
    login.type("server", "start", "--in-job", "--backup-every", "100ms")
    first = login.allocation()
    go = login.home / "go"
    number = login.submit("long", until_there(go))
    login.wait(number, "running")

    def is_whole() -> bool:
        said: Json = json.loads(login.type("server", "status", "--json"))["backup"]
        return "lacks" in said and said["lacks"]["events"] == 0

    wait_for(is_whole, what="a whole backup")
    cluster.run("scancel", "--signal=KILL", "--full", first)
    login.over(first)
    assert "long" in login.type("ls")
    assert login.allocation() != first
    assert not (login.own / "ended").exists()
    wait_for(lambda: login.job(number)["state"] == "running", what="its agent to come back")
    go.touch()
    assert len(attempts(login.wait(number, "succeeded"))) == 1
    assert login.submit("next", "true") > number  # no number is given out twice
    login.type("server", "stop")


def test_one_that_waits_in_slurm_says_so(login: Login, cluster: Slurm) -> None:
    words = ["sbatch", "--parsable", "-N4", "--exclusive", "-t30", "-o", "/dev/null"]
    held = cluster.run(*words, "--wrap", "sleep 1800").strip()
    wait_for(lambda: cluster.state(held) == "RUNNING", what="another job of Slurm")
    with login.popen("server", "start", "--in-job") as starting:
        assert starting.stderr
        assert "waits in Slurm (" in starting.stderr.readline()
        assert "waits in Slurm (" in login.refused("server", "status")
        assert "Slurm ends allocation" in login.type("server", "stop")
        out, said = starting.communicate(timeout=patience())
    assert starting.returncode != 0 and "no server came of it" in said, out
    cluster.run("scancel", held)
    assert "stop" not in login.type("ls")  # the next command asks for one again
    login.type("server", "stop")


def test_what_a_start_fails_of_is_said(login: Login) -> None:
    said = login.refused("server", "start", "--in-job", "--tls-cert", "/etc/none.pem")
    assert "did not start" in said and "tls_key" in said
    login.type("ls")  # it is not kept, else none would start any more
    assert "tls_cert" not in (login.own / "settings.json").read_text()
    login.type("server", "stop")
    said = login.refused("server", "start", "--in-job", "--partition", "none-such")
    assert "none-such" in said
    said = login.refused("server", "start", "--in-job", "--state-dir", str(login.home / "state"))
    assert "no home that machines share" in said
