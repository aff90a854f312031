"""Faults of machines and of what is between them: nothing is lost and nothing is doubled. Each task
writes down its attempt, on a disk that only the test and tasks know of, and holds a lock there for
as long as any process of it lives: two attempts of one task at a time would show."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import closed
from failing import Failing
from harness import Json, alive, kill, native, proc_bytes, until_there, wait_for
from lab import LabServer, Machine, why_none
from lab_nodes import PORT, Nodes, nodes

TASK = """
exec {{fd}}>>{there}/lock.$MUSTER_INDEX
flock -n $fd || echo $MUSTER_ATTEMPT_COOKIE >> {there}/double
echo $MUSTER_ATTEMPT_COOKIE $MUSTER_NODE >> {there}/ran
echo begins; {until}; echo ends
"""


class Work:
    """A job on machines, each task on one of its own, until it is let go."""

    def __init__(self, c: Nodes, name: str, tasks: int = 1, on: str = "", until: str = "",
                 **fields: Any) -> None:  # fmt: skip
        self.nodes, self.name, self.tasks = c, name, tasks
        self.there.mkdir()
        run = TASK.format(there=self.there, until=until or until_there(self.go))
        place: Json = {"apart": ["worker"], **({"nodes": on.split()} if on else {})}
        self.number = c.submit(name, run, tasks, place=place, **fields)

    @property
    def there(self) -> Path:
        return self.nodes.lab.shared / self.name

    @property
    def go(self) -> Path:
        return self.there / "go"

    def ran(self) -> list[tuple[str, str]]:
        """Attempts and where they ran, in their order."""
        path = self.there / "ran"
        rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        return [(row[0], row[1]) for row in rows]

    def started(self, n: int = 0) -> Work:
        wait_for(lambda: len(self.ran()) >= (n or self.tasks), what=f"{self.name} to run")
        self.nodes.server.wait(self.number, "running")
        return self

    def at(self, machine: Machine) -> list[str]:
        return [attempt for attempt, node in self.ran() if node == machine.name]

    def ends(self, attempts: int = 0) -> Json:
        """Let go, and all that must hold: so many attempts in all, each of which ran once."""
        self.go.touch()
        job = self.nodes.server.wait(self.number, "succeeded")
        recorded = [one for task in job["task_list"] for one in task["attempts"]]
        ran = Counter(attempt for attempt, _ in self.ran())
        assert set(ran.values()) == {1}, ran
        assert len(ran) == len(recorded) == (attempts or self.tasks), (ran, recorded)
        assert not (self.there / "double").exists(), (self.there / "double").read_text()
        for task in job["task_list"]:
            last = task["attempts"][-1]["attempt"]
            log = self.nodes.server.log(self.number, task["name"], attempt=last)
            assert log == "begins\nends\n", (task["name"], log)
        return job


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Failing | None:
    """The server's disk and wall clock."""
    if why_none() or not shutil.which("gcc"):
        return None
    return Failing(tmp_path_factory.mktemp("failing") / "told", "muster.db")


@pytest.fixture(scope="module")
def three(failing: Failing | None) -> Iterator[Nodes]:
    if why_none():
        pytest.skip(why_none())
    env = failing.env if failing else {}
    with nodes(3, gpus=1, env=env, flags=("--log-level", "debug")) as made:
        yield made


@pytest.fixture
def c(three: Nodes) -> Iterator[Nodes]:
    """All up, and up again; nothing of a job is left on any machine."""
    yield three
    three.wait_state("up")

    def left() -> dict[str, dict[str, list[int]]]:
        found = {one.name: three.processes(one) for one in three.lab.machines}
        return {k: v for k, v in found.items() if v["keeper"] or v["agent"] or v["task"]}

    wait_for(lambda: not left(), what=f"the end of {left()}")


# ---- what is between them ----


def test_no_way_to_the_servers_files(c: Nodes) -> None:
    """And none around by what this machine's kernel has of it."""
    state, socket = c.server.state, c.server.socket
    program = (
        "import glob, socket, sys\n"
        f"s = socket.socket(socket.AF_UNIX)\n"
        f"assert s.connect_ex({str(socket)!r}) == 2\n"
        f"assert not glob.glob({str(state)!r}) and not glob.glob('/proc/*/root{state}')\n"
        "print('apart')"
    )
    look = f'test -e {state} && exit 3; test -e {socket} && exit 4; python3 -c "$LOOK"; hostname'
    number = c.submit("apart", look, 3, place={"apart": ["worker"]}, env={"LOOK": program})
    assert c.server.wait(number)["state"] == "succeeded", c.server.log(number)
    assert sorted(c.server.log(number).split()) == ["apart"] * 3 + ["m1", "m2", "m3"]
    assert state.exists() and socket.exists()


def test_cut_off_both_ways_and_one_way(c: Nodes) -> None:
    """Between the server and its machines. Tasks end while nobody hears of it."""
    work = Work(c, "cut", 3).started()
    one, two, three = c.lab.machines
    c.lab.cut(0, one)
    c.lab.half(two, 0)
    c.lab.half(0, three)
    c.wait_state("down")
    assert c.server.state_of(work.number) == "running", "silence is no end"
    work.go.touch()
    wait_for(lambda: not any(c.processes(m)["task"] for m in c.lab.machines), what="their ends")
    assert c.server.state_of(work.number) == "running"
    c.lab.heal()
    work.ends()


def test_half_of_the_machines_cut_off_while_a_job_starts(c: Nodes) -> None:
    """What was asked for before its machine fell silent starts once."""
    one, two, three = c.lab.machines
    c.lab.cut(0, one)
    c.lab.cut(0, two)
    work = Work(c, "half", 3)  # the server does not know yet
    wait_for(lambda: work.at(three), what="the one that can")
    c.wait_state("down", one, two)
    assert len(work.ran()) == 1
    c.lab.heal()
    work.started().ends()


def test_cut_between_two_machines(c: Nodes) -> None:
    """Their tasks cannot talk; the server sees both and takes their output."""
    port = 9000
    say = (
        "import socket, sys\n"
        "s = socket.create_server(('', int(sys.argv[1]))); print('there', flush=True)\n"
        "c = s.accept()[0]\n"
        "for line in c.makefile(): print('heard', line.strip(), flush=True)\n"
    )
    talk = (
        "import socket, sys, time\n"
        "while True:\n"
        "    try: c = socket.create_connection((sys.argv[2], int(sys.argv[1]))); break\n"
        "    except OSError: time.sleep(0.02)\n"
        "for line in sys.stdin: c.sendall(line.encode()); print('said', line.strip(), flush=True)\n"
    )
    there = c.lab.shared / "talk"
    os.mkfifo(there)
    run = (
        f'if [ $MUSTER_INDEX = 0 ]; then exec python3 -u -c "$SAY" {port}; fi\n'
        f'exec python3 -u -c "$TALK" {port} $(echo $MUSTER_PEERS | tr , "\\n" | '
        f"sed -n 's|^worker/0=||p') < {there}"
    )
    number = c.submit("talk", run, 2, place={"apart": ["worker"]}, env={"SAY": say, "TALK": talk})
    c.server.wait(number, "running")

    def log() -> str:
        return c.server.log(number)

    with there.open("w", buffering=1) as line:
        line.write("one\n")
        wait_for(lambda: "heard one" in log(), what="the first line")
        placed = {
            row["name"]: row["attempts"][0]["node"] for row in c.server.job(number)["task_list"]
        }
        hears, talks = (int(placed[f"worker/{i}"].removeprefix("m")) for i in (0, 1))
        c.lab.cut(hears, talks)
        line.write("two\n")
        wait_for(lambda: "said two" in log(), what="what only one machine knows")
        assert "heard two" not in log()
        c.wait_state("up")
        c.lab.heal()
        wait_for(lambda: "heard two" in log(), what="the line that was under way")
        c.lab.half(talks, hears)
        line.write("three\n")
        wait_for(lambda: "said three" in log(), what="what only one machine knows")
        c.wait_state("up")
        c.lab.heal()
    job = c.server.wait(number, "succeeded")
    assert [len(task["attempts"]) for task in job["task_list"]] == [1, 1]
    assert c.server.log(number, "worker/0") == "there\nheard one\nheard two\nheard three\n"


MEET = """
import os, socket, time
index, node = int(os.environ["MUSTER_INDEX"]), os.environ["MUSTER_NODE"]
peers = dict(one.split("=") for one in os.environ["MUSTER_PEERS"].split(","))
here = socket.create_server(("", 9001))
while True:
    try:
        there = socket.create_connection((peers[f"worker/{1 - index}"], 9001))
        break
    except OSError:
        time.sleep(0.02)
there.sendall(node.encode())
there.close()
print(node, "hears", here.accept()[0].recv(9).decode())
"""


def test_a_declared_node_and_a_machine_meet(c: Nodes) -> None:
    """The server's own nodes are reached where machines reach the server."""
    job = native("meet", 'exec python3 -c "$MEET"', 2, env={"MEET": MEET},
                 place={"apart": ["worker"], "nodes": ["here", "m1"]})  # fmt: skip
    number = c.server.submit(job)
    c.server.wait(number, "succeeded")
    assert sorted(c.server.log(number).splitlines()) == ["here hears m1", "m1 hears here"]


# ---- machines ----


def test_switched_off(c: Nodes) -> None:
    """Silently. The job waits for it; what ran there runs again when it is back without it."""
    work = Work(c, "off", 3).started()
    machine = c.lab.at(2)
    machine.off()
    c.wait_state("down", machine)
    assert c.server.state_of(work.number) == "running" and len(work.ran()) == 3
    c.power_on(machine)
    work.started(4)
    job = work.ends(4)
    assert sorted(len(task["attempts"]) for task in job["task_list"]) == [1, 1, 2]
    lost = next(t["attempts"][0] for t in job["task_list"] if len(t["attempts"]) == 2)
    assert lost["state"] == "lost" and lost["node"] == "m2", lost


def test_frozen(c: Nodes) -> None:
    """Its kernel still answers TCP."""
    work = Work(c, "frozen", 3).started()
    machine = c.lab.at(1)
    machine.freeze()
    c.wait_state("down", machine)
    assert "it fell silent" in c.server.said()
    work.go.touch()
    wait_for(lambda: "succeeded" in str(c.server.job(work.number)["task_list"]), what="the others")
    machine.thaw()
    work.ends()


def test_the_server_is_killed_while_machines_are_silent(c: Nodes) -> None:
    """One is off, one cannot be reached, one is well: a new server takes none of them for lost."""
    work = Work(c, "both", 3).started()
    one, two, _ = c.lab.machines
    one.off()
    c.lab.cut(0, two)
    c.server.kill()
    c.server.start()
    c.wait_state("up", c.lab.at(3))
    assert c.server.state_of(work.number) == "running"
    c.power_on(one)
    work.started(4)
    assert len(work.at(one)) == 2, "what is on the machine that cannot be reached is not lost"
    c.lab.heal()
    c.wait_state("up")
    work.ends(4)


@pytest.mark.parametrize("restarted", [False, True])
def test_comes_back_with_its_old_tasks(c: Nodes, restarted: bool) -> None:
    """Whoever fenced it was wrong: it was only cut off. What it has of before ends first."""
    machine, other = c.lab.at(1), c.lab.at(2)
    name = f"fenced-{restarted}"
    work = Work(c, name, on="m1 m2", retry={"platform": 9}).started()
    (first,) = work.ran()
    machine, other = (machine, other) if first[1] == "m1" else (other, machine)
    (task,) = [p for p in c.processes(machine)["task"] if b"bash" in proc_bytes(p, "cmdline")][:1]
    c.lab.cut(0, machine)
    c.wait_state("down", machine)
    said = c.server.api("POST", f"/v1/machines/{machine.name}/fence", '{"reason": "a mistake"}')
    assert said.status == 200, said.text
    wait_for(lambda: work.at(other), what="the second attempt")
    if restarted:
        c.server.kill()
        c.server.start()
    assert alive(task), "nobody could tell it to end"
    c.lab.heal()
    c.wait_state("up", machine)
    wait_for(lambda: not alive(task), what="the end of what was fenced")
    # That both ran at a time is what the fence said cannot be.
    (work.there / "double").unlink(missing_ok=True)
    job = work.ends(2)
    assert [one["node"] for one in job["task_list"][0]["attempts"]] == [machine.name, other.name]


# ---- programs ----


@pytest.mark.parametrize("who", ["agent", "keeper"])
def test_killed_with_its_tasks(c: Nodes, who: str) -> None:
    work = Work(c, who, retry={"platform": 9}).started()
    machine = c.lab.at(int(work.ran()[0][1].removeprefix("m")))
    before = c.processes(machine)
    (pid,) = before[who]
    kill(pid, signal.SIGKILL)
    work.started(2)
    assert not any(alive(pid) for pid in before["task"]), "before the next attempt"
    work.ends(2)


def test_host_and_server_are_killed(c: Nodes) -> None:
    """Both at a time, too: what runs does not notice."""
    work = Work(c, "programs", 3).started()
    one, two, _ = c.lab.machines
    c.kill_host(one)
    c.server.kill()
    c.kill_host(two)
    c.server.start()
    c.wait_state("up", c.lab.at(3))
    for machine in (one, two):
        c.start_host(machine)
    c.wait_state("up")
    work.ends()


def test_a_host_dies_while_it_starts_what_it_was_told(c: Nodes) -> None:
    machine = c.lab.at(1)
    (host,) = c.processes(machine)["host"]
    kill(host, signal.SIGSTOP)
    work = Work(c, "halfway", on="m1")
    wait_for(lambda: c.server.state_of(work.number) == "starting", what="its start")
    c.kill_host(machine)
    c.start_host(machine)
    work.started().ends()


# ---- where the server is, and who ----


def move(c: Nodes, port: int, certificate: bool) -> None:
    """It ends, and comes back at another port, or with another certificate."""
    c.server.end()
    c.server.flags = ("--agents", f"{c.lab.address(0)}:{port}", "--log-level", "debug")
    if certificate:
        for name in ("agents.pem", "agents.key"):
            (c.server.state / name).unlink()
    c.server.start()


def test_the_servers_address_changes(c: Nodes) -> None:
    work = Work(c, "address", 3).started()
    try:
        move(c, PORT + 1, certificate=False)
        for machine in c.lab.machines:
            c.write_conf(machine, tcp=f"{c.lab.address(0)}:{PORT + 1}")
        c.wait_state("up")
        work.ends()
    finally:
        move(c, PORT, certificate=False)
        for machine in c.lab.machines:
            c.write_conf(machine, tcp=f"{c.lab.address(0)}:{PORT}")


def test_the_certificate_is_renewed(c: Nodes) -> None:
    """Machines refuse the new one until they are added again, and what runs goes on."""
    work = Work(c, "renewed", 3).started()
    move(c, PORT, certificate=True)
    for machine in c.lab.machines:
        wait_for(lambda m=machine: "another certificate" in c.said(m), what="the refusal")  # type: ignore[misc]
    assert c.server.state_of(work.number) == "running"
    for machine in c.lab.machines:
        c.add(machine)
        c.kill_host(machine)  # as `nodes add` does
        c.start_host(machine)
    c.wait_state("up")
    work.ends()


def test_the_clock_is_wrong(c: Nodes, failing: Failing | None) -> None:
    """By ten minutes either way, between server and machines: certificates, tokens, silence and
    limits of time know nothing of it."""
    if not failing:
        pytest.skip("no gcc on this machine")
    work = Work(c, "clock", 2, limits={"run_time": "5m"}).started()
    try:
        for seconds in (600, -600):
            failing.shift(seconds)
            machine = c.lab.at(3)
            c.kill_host(machine)
            c.wait_state("down", machine)
            c.start_host(machine)
            c.wait_state("up", machine)
            assert c.server.state_of(work.number) == "running"
    finally:
        failing.shift(0)
    work.ends()


def test_two_servers_on_one_machine(c: Nodes) -> None:
    """From two directories: both run there, and neither gives out a device that the other has."""
    machine = c.lab.at(1)
    first = Work(c, "first", on="m1", resources={"gpu": 1, "cpu": 0.5})
    first.started()
    where = ("--agents", f"{c.lab.address(0)}:{PORT + 2}")
    other = LabServer(nodes="name=here,1cpu,1Gi", flags=where, lab=c.lab)
    second = Nodes(c.lab, other, gpus=1)
    folder = machine.home / "other" / machine.name
    second.dirs[machine.name] = folder
    try:
        other.start()
        second.add(machine, port=PORT + 2)
        second.start_host(machine)
        second.wait_state("up", machine)
        small = {"cpu": 0.5, "memory": "64Mi"}
        plain = Work(second, "plain", on="m1", resources=small)
        plain.started().ends()
        taken = Work(second, "taken", on="m1",
                     resources={"gpu": 1, **small})  # fmt: skip
        wait_for(lambda: other.job(taken.number)["task_list"][0]["attempts"], what="its refusal")
        assert not taken.ran()
        first.ends()
        taken.started()
        taken.go.touch()
        other.wait(taken.number, "succeeded")
        assert len(taken.ran()) == 1
    finally:
        closed(other)
        for pid in c.processes(machine)["host"]:
            if str(folder).encode() in proc_bytes(pid, "cmdline"):
                kill(pid, signal.SIGKILL)


def test_a_server_takes_a_machine_over(c: Nodes) -> None:
    """From the same directory: what the first one has there ends, and it is told when the machine
    is its own again."""
    machine = c.lab.at(1)
    work = Work(c, "over", on="m1", retry={"platform": 9}).started()
    other = LabServer(
        nodes="name=here,1cpu,1Gi",
        flags=("--agents", f"{c.lab.address(0)}:{PORT + 2}"),
        lab=c.lab,
    )
    before = c.processes(machine)["task"]
    try:
        other.start()
        Nodes(c.lab, other).add(machine, port=PORT + 2)
        c.kill_host(machine)
        c.start_host(machine)
        Nodes(c.lab, other).wait_state("up", machine)
        wait_for(lambda: not any(alive(pid) for pid in before), what="the end of the first's")
        assert c.server.state_of(work.number) == "running", "it cannot know"
        c.wait_state("down", machine)
    finally:
        closed(other)
    c.add(machine)
    c.kill_host(machine)
    c.start_host(machine)
    c.wait_state("up", machine)
    work.started(2).ends(2)


# ---- its disk ----


def lacks(c: Nodes, number: int) -> bool:
    """Does its log say that it is not all: by a line, or as a hole of that size?"""
    lost = re.compile(r"\d+ bytes of output are lost: No space")
    return any("gap" in row or lost.match(row["text"]) for row in c.server.records(number))


@pytest.fixture
def small() -> Iterator[Nodes]:
    """A machine whose disk holds little more than what it needs."""
    if why_none():
        pytest.skip(why_none())
    with nodes(1, disk="24m", flags=("--log-level", "debug")) as one:
        yield one


def test_the_disk_of_a_machine_is_full(small: Nodes) -> None:
    """What runs goes on and its facts arrive; of its output what found no room is named; and the
    next job starts when there is room again."""
    c, machine = small, small.lab.at(1)
    fill = c.lab.shared / "full/fill"
    loud = f"{until_there(fill)}; head -c 8000000 /dev/zero | tr '\\0' x; echo"
    work = Work(c, "full", until=f"{loud}; {until_there(fill.with_name('go'))}")
    work.started()
    silent = c.submit("silent", f"{until_there(fill)}; echo lost")
    c.server.wait(silent, "running")
    filler = machine.outside(machine.home) / "filler"
    for size in (65536, 1):
        with filler.open("ab") as file, pytest.raises(OSError):
            while True:
                os.write(file.fileno(), bytes(size))
    fill.touch()
    c.server.wait(silent, "succeeded")
    assert lacks(c, silent), "all of its output is lost"
    next_one = Work(c, "next", resources={"cpu": 0.1, "memory": "8Mi"})
    work.go.touch()
    job = c.server.wait(work.number, "succeeded")
    assert len(job["task_list"][0]["attempts"]) == len(work.ran()) == 1
    assert lacks(c, work.number)
    filler.unlink()
    next_one.go.touch()
    last = c.server.wait(next_one.number)
    assert last["state"] == "succeeded", last
    ran = Counter(attempt for attempt, _ in next_one.ran())
    assert set(ran.values()) == {1}
