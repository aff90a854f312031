"""Machines of elastic jobs that fall silent: the others go on in the next round, and what comes
back late is told to stop before it takes part again. No torch: what is tested is who meets whom."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from harness import ROOT, Json, Server, alive, native, until_there, wait_for
from test_machines import (
    AGENTS,
    add,
    ask,
    host,
    node,
    of_machine,
    power_off,
    wait_state,
    write_conf,
)

# A line for each start of a rank, to a file that all machines of the test see. What a rank of an
# earlier round still says after it was told of another stands there too.
RANK = r"""
import os, sys, time
env = os.environ
who = " ".join(f"{n}={env.get(n)}" for n in ("RANK", "WORLD_SIZE", "MUSTER_TASK_NODE"))
with open(sys.argv[1] + "/said", "a") as out:
    out.write(f"up {who} pid={os.getpid()}\n")
while not os.path.exists(sys.argv[1] + "/end"):
    time.sleep(0.05)
"""
UP = re.compile(r"^up RANK=(\d+) WORLD_SIZE=(\d+) MUSTER_TASK_NODE=(\S+) pid=(\d+)$", re.MULTILINE)


class Machines:
    """Some machines of a server, each a directory with a host of its own."""

    def __init__(self, server: Server, folder: Path, n: int) -> None:
        self.server, self.folder = server, folder
        self.said = {f"m{i}": add(server, f"m{i}") for i in range(1, n + 1)}
        self.hosts: dict[str, ExitStack] = {}

    def home(self, name: str) -> Path:
        return self.folder / name

    def on(self, name: str) -> None:
        write_conf(self.server, self.home(name), self.said[name])
        self.hosts[name] = ExitStack()
        self.hosts[name].enter_context(host(self.home(name)))

    def off(self, name: str) -> None:
        power_off(self.home(name))
        self.hosts.pop(name).close()

    def signal(self, name: str, number: signal.Signals) -> None:
        for pid in of_machine(self.home(name)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)


@contextmanager
def machines(server: Server, folder: Path, n: int) -> Iterator[Machines]:
    all_of_them = Machines(server, folder, n)
    try:
        for name in all_of_them.said:
            all_of_them.on(name)
        for name in all_of_them.said:
            wait_state(server, "up", name)
        yield all_of_them
    finally:
        for name in all_of_them.said:
            all_of_them.signal(name, signal.SIGCONT)
        for name in list(all_of_them.hosts):
            all_of_them.off(name)


def wait_away(server: Server, number: int, there: bool = True) -> None:
    """The host of a machine and the job's agent there are noticed one after the other."""
    wait_for(
        lambda: ("away" in server.get(f"/v1/jobs/{number}")) == there,
        what="its agent's silence" if there else "its agent",
    )


class Job:
    """Tasks with a rank each, one on a machine."""

    def __init__(self, server: Server, folder: Path, **fields: Any) -> None:
        self.server, self.folder = server, folder / "seen"
        self.folder.mkdir()
        script = self.folder / "rank.py"
        script.write_text(RANK)
        run = f"torchrun --monitor-interval=1 {script} {self.folder}"
        shape: Json = {
            "resources": {"cpu": 2},
            "launcher": {"ranks_per_node": 1, "max_restarts": 3},
            "retry": {"scope": "task", "platform": 3},
        }
        self.number = server.submit(native("ranks", run, **{**shape, **fields}))

    def starts(self) -> list[tuple[int, int, str, int]]:
        said = self.folder / "said"
        text = said.read_text() if said.exists() else ""
        return [(int(r), int(w), n, int(p)) for r, w, n, p in UP.findall(text)]

    def wait_size(self, size: int) -> list[str]:
        """Living ranks of a world of that size: where they are."""

        def there() -> list[str] | None:
            rows = [row for row in self.starts() if alive(row[3]) and row[1] == size]
            return sorted(row[2] for row in rows) if len(rows) == size else None

        found = wait_for(there, what=f"a world of {size}")
        assert found
        return found

    def wait_world(self, *names: str) -> None:
        """Exactly these machines have living ranks, all of a world of that size."""
        size = len(names)

        def there() -> bool:
            rows = [row for row in self.starts() if alive(row[3])]
            mine = [row for row in rows if row[1] == size and row[2] in names]
            return sorted(row[2] for row in mine) == sorted(names)

        wait_for(there, what=f"a world of {', '.join(names)}")

    def end(self) -> None:
        (self.folder / "end").touch()


@pytest.fixture
def server(start: Starter) -> Server:
    """Its own node is too small for a task."""
    env = {"MUSTER_PYTHON": str(ROOT / ".venv/bin/python")}
    return start(nodes="name=here,1cpu,1Gi", flags=AGENTS, env=env)


def test_an_elastic_job_leaves_a_frozen_machine(server: Server, tmp_path: Path) -> None:
    """Its kernel still answers TCP. Thawed, its old ranks end before it meets the others again."""
    with machines(server, tmp_path, 3) as lab:
        job = Job(server, tmp_path, replicas={"min": 2, "max": 3})
        job.wait_world("m1", "m2", "m3")
        old = [row[3] for row in job.starts() if row[2] == "m2"]
        lab.signal("m2", signal.SIGSTOP)
        job.wait_world("m1", "m3")
        assert server.state_of(job.number) == "running"
        for verb in ("show", "explain"):
            said = server.muster(verb, str(job.number)).stdout
            assert re.search(r"machine +m2, silent since .*: the others go on without it", said)
        assert "goes on without machine m2, which is silent" in server.muster("ls").stdout
        held = node(server, "m2")
        assert held and held["tasks"] == 1, "its devices are nobody else's"
        lab.signal("m2", signal.SIGCONT)
        job.wait_world("m1", "m2", "m3")
        assert not any(alive(pid) for pid in old)
        job.end()
        attempts = server.wait(job.number, "succeeded")["task_list"]
        assert [len(task["attempts"]) for task in attempts] == [1, 1, 1]
        said = server.muster("events", str(job.number)).stdout
        assert "its machine has been silent for" in said


def test_an_elastic_job_leaves_a_machine_that_is_off(server: Server, tmp_path: Path) -> None:
    """Also when the server is another one meanwhile; and it comes back with nothing."""
    with machines(server, tmp_path, 3) as lab:
        job = Job(server, tmp_path, replicas={"min": 2, "max": 3})
        job.wait_world("m1", "m2", "m3")
        lab.off("m2")
        server.kill()
        server.start()
        for name in ("m1", "m3"):  # the port is another one
            write_conf(server, lab.home(name), lab.said[name])
        job.wait_world("m1", "m3")
        lab.on("m2")
        job.wait_world("m1", "m2", "m3")
        job.end()
        tasks = server.wait(job.number, "succeeded")["task_list"]
        assert sorted(len(task["attempts"]) for task in tasks) == [1, 1, 2]


def test_a_spare_takes_the_place_of_a_machine(server: Server, tmp_path: Path) -> None:
    with machines(server, tmp_path, 3) as lab:
        job = Job(server, tmp_path, replicas=2, spares=1)
        first, second = job.wait_size(2)
        (spare,) = {"m1", "m2", "m3"} - {first, second}
        wait_for(lambda: (node(server, spare) or {})["tasks"] == 1, what="the spare's place")
        lab.signal(first, signal.SIGSTOP)
        job.wait_world(second, spare)
        lab.signal(first, signal.SIGCONT)
        job.end()
        tasks = server.wait(job.number, "succeeded")["task_list"]
        assert [len(task["attempts"]) for task in tasks] == [1, 1, 1]


def test_a_job_ends_without_a_machine_that_it_left(server: Server, tmp_path: Path) -> None:
    with machines(server, tmp_path, 3) as lab:
        job = Job(server, tmp_path, replicas={"min": 2, "max": 3})
        job.wait_world("m1", "m2", "m3")
        lab.off("m2")
        job.wait_world("m1", "m3")
        job.end()
        wait_for(lambda: server.state_of(job.number) == "stopping", what="the end of the others")
        lab.on("m2")
        server.wait(job.number, "succeeded")


def test_a_machine_that_is_needed_is_waited_for(server: Server, tmp_path: Path) -> None:
    with machines(server, tmp_path, 2) as lab:
        job = Job(server, tmp_path, replicas=2)
        job.wait_world("m1", "m2")
        lab.signal("m2", signal.SIGSTOP)
        wait_state(server, "down", "m2")
        wait_away(server, job.number)
        for verb in ("show", "explain"):
            said = server.muster(verb, str(job.number)).stdout
            assert re.search(r"machine +m2, silent since .*: the job waits for it", said), said
        assert "waits for machine m2, which is silent" in server.muster("ls").stdout
        (away,) = server.get(f"/v1/jobs/{job.number}")["away"]
        assert away["node"] == "m2" and away["tasks"] == 1 and not away["left"]
        lab.signal("m2", signal.SIGCONT)
        wait_state(server, "up", "m2")
        wait_away(server, job.number, there=False)
        assert len(job.starts()) == 2, "nothing was started anew"
        job.end()
        server.wait(job.number, "succeeded")


@pytest.mark.parametrize("how", ["back", "fenced", "removed"])
def test_a_job_on_a_silent_machine_is_stopped(server: Server, tmp_path: Path, how: str) -> None:
    with machines(server, tmp_path, 2) as lab:
        job = Job(server, tmp_path, replicas=2)
        job.wait_world("m1", "m2")
        lab.off("m2")
        wait_state(server, "down", "m2")
        wait_away(server, job.number)
        said = server.muster("stop", str(job.number)).stdout
        assert "m2, silent since" in said and "it ends when that is back" in said, said
        alone = {"m1": 0, "m2": 1}
        wait_for(
            lambda: {n: (node(server, n) or {})["tasks"] for n in alone} == alone,
            what="the end on the machine that is there",
        )
        assert server.state_of(job.number) == "stopping"
        if how == "back":
            lab.on("m2")
        elif how == "fenced":
            status, _ = ask(server, "POST", "/v1/machines/m2/fence", {"reason": "powered off"})
            assert status == 200
        else:
            status, said = ask(server, "DELETE", "/v1/machines/m2")
            assert status == 409 and f"({job.number} ranks)" in str(said), said
            assert ask(server, "DELETE", "/v1/machines/m2?force=1")[0] == 200
        assert "away" not in server.wait(job.number, "stopped")


def on_one_machine(server: Server, number: int, runs: Path) -> None:
    wait_for(lambda: runs.exists() and runs.read_text(), what="the first attempt")
    server.wait(number, "running")


def test_a_fence_command_is_the_second_witness(start: Starter, tmp_path: Path) -> None:
    fence = f'echo "$MUSTER_MACHINE" >> {tmp_path}/fenced'
    server = start(
        nodes="name=here,1cpu,1Gi", flags=(*AGENTS, "--fence", fence, "--fence-after", "1s")
    )
    runs, end = tmp_path / "runs", tmp_path / "end"
    run = f"echo $MUSTER_TASK_NODE >> {runs}; {until_there(end)}"
    with machines(server, tmp_path, 2) as lab:
        fields: Json = {"resources": {"cpu": 2}, "retry": {"platform": 1}}
        number = server.submit(native("fixed", run, **fields))
        on_one_machine(server, number, runs)
        lost = runs.read_text().strip()
        lab.off(lost)
        wait_for(lambda: len(runs.read_text().split()) == 2, what="the second attempt")
        assert runs.read_text().split()[1] != lost
        assert (tmp_path / "fenced").read_text() == f"{lost}\n"
        end.touch()
        server.wait(number, "succeeded")
        actions = [row["action"] for row in server.get("/v1/audit")["entries"]]
        assert actions.count("machine.fence") == 1


def test_a_fence_that_fails_is_said(start: Starter, tmp_path: Path) -> None:
    server = start(
        nodes="name=here,1cpu,1Gi",
        flags=(*AGENTS, "--fence", "echo no such host >&2; exit 3", "--fence-after", "1s"),
    )
    runs, end = tmp_path / "runs", tmp_path / "end"
    run = f"echo $MUSTER_TASK_NODE >> {runs}; {until_there(end)}"
    with machines(server, tmp_path, 1) as lab:
        number = server.submit(native("fixed", run, resources={"cpu": 2}))
        on_one_machine(server, number, runs)
        lab.signal("m1", signal.SIGSTOP)
        said = "its fence failed, try 1 of 3: no such host"
        wait_for(lambda: said in (node(server, "m1") or {}).get("why", ""), what="the failure")
        assert said in server.muster("nodes").stdout
        assert said in server.muster("show", str(number)).stdout
        assert server.state_of(number) == "running"
        lab.signal("m1", signal.SIGCONT)
        wait_state(server, "up", "m1")
        end.touch()
        server.wait(number, "succeeded")


def test_none_is_fenced_while_none_is_heard(start: Starter, tmp_path: Path) -> None:
    fence = f"touch {tmp_path}/fenced"
    server = start(
        nodes="name=here,1cpu,1Gi", flags=(*AGENTS, "--fence", fence, "--fence-after", "1s")
    )
    runs, end = tmp_path / "runs", tmp_path / "end"
    run = f"echo $MUSTER_TASK_NODE >> {runs}; {until_there(end)}"
    with machines(server, tmp_path, 2) as lab:
        number = server.submit(native("fixed", run, resources={"cpu": 2}))
        on_one_machine(server, number, runs)
        server.kill()  # as cut off from all of them
        for name in ("m1", "m2"):
            lab.signal(name, signal.SIGSTOP)
        server.start()
        lost = runs.read_text().strip()
        said = "not fenced while no machine is heard"
        wait_for(lambda: said in (node(server, lost) or {}).get("why", ""), what="why not")
        assert not (tmp_path / "fenced").exists() and server.state_of(number) == "running"
        for name in ("m1", "m2"):
            write_conf(server, lab.home(name), lab.said[name])  # the port is another one
            lab.signal(name, signal.SIGCONT)
        end.touch()
        server.wait(number, "succeeded")
