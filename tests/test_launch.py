"""The launcher as its users meet it: `torchrun` of muster-node on this machine, one process per
node, plain scripts where the ranks need not talk and gloo where they must.

Every fault here is one that torchrun 2.13 either does not survive or survives late; what is
asserted is that the ranks run again, that nothing is left behind, and that the exit code is
torchrun's."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from harness import ROOT, VENV, alive, free_port, kill, patience, processes, sanitized, wait_for

# Says where and who it is, then does what MODE says. Nothing is imported that takes time.
PLAIN = """
import os, signal, sys, time
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
restart = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
out, mode = sys.argv[1], sys.argv[2]
if mode == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(f"{out}/born", "a") as f:
    f.write(f"{rank} {world} {restart} {os.getpid()} {time.monotonic()}\\n")
if mode == "daemon":
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open(f"{out}/daemon.{rank}", "w") as f:
                f.write(str(os.getpid()))
            time.sleep(1000)
        os._exit(0)
    while not os.path.exists(f"{out}/daemon.{rank}"):
        time.sleep(0.01)
if mode == "fail" or (mode == "fail-once" and restart == 0 and rank == 0):
    sys.exit(7)
if mode == "barrier" and rank == 0:
    sys.exit(0)
while mode not in ("quick", "daemon") and not os.path.exists(f"{out}/stop"):
    time.sleep(0.01)
"""


def node_program() -> Path:
    return Path(os.environ.get("MUSTER_NODE_BIN") or ROOT / "build/release/muster-node")


@dataclass
class Born:
    rank: int
    world: int
    restart: int
    pid: int
    at: float


@dataclass
class Launcher:
    process: subprocess.Popen[bytes]
    said: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def words(self) -> str:
        return self.said.read_text(errors="replace")

    def ends(self, code: int, timeout: float = 20) -> str:
        wait_for(lambda: self.process.poll() is not None, timeout, f"the end: {self.words()}")
        assert self.process.returncode == code, self.words()
        return self.words()

    def ranks(self) -> list[int]:
        """Children of the launcher that run the script."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [
            int(pid)
            for pid in children
            if b"script.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]


@dataclass
class Place:
    """A directory of scripts and marks, and the launchers that were started there."""

    dir: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    launchers: list[Launcher] = field(default_factory=list)

    def script(self, text: str) -> Path:
        path = self.dir / "script.py"
        path.write_text(text)
        return path

    def start(self, *flags: str, script: str = PLAIN, mode: str = "wait") -> Launcher:
        path = self.script(script)
        return self.run(*flags, str(path), str(self.dir), mode)

    def run(self, *argv: str, **env: str) -> Launcher:
        said = self.dir / f"said.{len(self.launchers)}"
        with said.open("wb") as out:
            process = subprocess.Popen(
                [str(node_program()), "torchrun", *argv],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**self.environment(), **env},
                cwd=self.dir,
            )
        self.launchers.append(Launcher(process, said))
        return self.launchers[-1]

    def environment(self) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PET_", "MUSTER_", "RANK"))}
        env["PATH"] = f"{VENV}:{env['PATH']}"
        env["MUSTER_TEST_MARK"] = self.mark
        env["OMP_NUM_THREADS"] = "1"
        return env

    def lines(self, name: str) -> list[Born]:
        path = self.dir / name
        if not path.exists():
            return []
        found = []
        for line in path.read_text().splitlines():
            rank, world, restart, pid, at = line.split()
            found.append(Born(int(rank), int(world), int(restart), int(pid), float(at)))
        return found

    def wait_lines(
        self, n: int, name: str = "born", timeout: float = 20, **want: int
    ) -> list[Born]:
        """n lines with these values, the last ones."""

        def look() -> list[Born] | None:
            fit = [b for b in self.lines(name) if all(getattr(b, k) == v for k, v in want.items())]
            return fit[-n:] if len(fit) >= n else None

        try:
            return wait_for(look, timeout, f"{n} lines of {name} with {want}")
        except TimeoutError as late:
            said = "\n".join(one.words() for one in self.launchers)
            raise AssertionError(f"{late}: {self.lines(name)}\n{said}") from None

    def stop(self) -> None:
        (self.dir / "stop").touch()

    def left(self) -> dict[int, str]:
        return processes(self.mark)

    def nothing_left(self, timeout: float = 3) -> None:
        wait_for(lambda: not self.left(), timeout, "the end of everything")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    for launcher in made.launchers:
        if launcher.process.poll() is None:
            launcher.process.kill()
        launcher.process.wait()
    try:
        made.nothing_left()
    finally:
        for pid in made.left():
            kill(pid)


def elastic(port: int, nodes: str, ranks: int = 1, *more: str) -> list[str]:
    return [
        f"--nnodes={nodes}", f"--nproc-per-node={ranks}", "--rdzv-backend=c10d", "--rdzv-id=job",
        f"--rdzv-endpoint=127.0.0.1:{port}", "--max-restarts=3", *more,
    ]  # fmt: skip


ALONE = ["--standalone", "--max-restarts=3"]


# ---- one node ----


@pytest.mark.parametrize("ranks", [2, 4])
def test_standalone_runs_all_ranks(place: Place, ranks: int) -> None:
    launcher = place.start("--standalone", f"--nproc-per-node={ranks}", mode="quick")
    launcher.ends(0)
    born = place.lines("born")
    assert sorted(b.rank for b in born) == list(range(ranks))
    assert {b.world for b in born} == {ranks}


def test_exit_codes_are_torchruns(place: Place) -> None:
    said = place.start("--standalone", "--nproc-per-node=2", mode="fail").ends(1)
    assert "exited with 7" in said or "exit code 7" in said
    assert place.run("--nproc-per-nod=2", "--no-such-flag", "x.py").process.wait(patience(10)) == 2


@pytest.mark.parametrize("nodes", ["3:2", "0", "a:b"])
def test_impossible_nnodes_are_refused(place: Place, nodes: str) -> None:
    assert place.run(f"--nnodes={nodes}", "x.py").ends(1).count("\n") <= 4


def test_all_ranks_exit_1_at_once(place: Place) -> None:
    place.script("import sys; sys.exit(1)")
    said = place.run(*ALONE, "--nproc-per-node=4", str(place.dir / "script.py")).ends(1)
    assert said.count("started again") == 3


@pytest.mark.parametrize("text", [None, "def broken(:\n"])
def test_a_script_that_never_started_spends_no_restart(place: Place, text: str | None) -> None:
    if text is not None:
        place.script(text)
    said = place.run(*ALONE, "--nproc-per-node=2", str(place.dir / "script.py")).ends(1)
    assert "started again" not in said


def test_a_failed_rank_is_started_again(place: Place) -> None:
    launcher = place.start(*ALONE, "--nproc-per-node=2", mode="fail-once")
    place.wait_lines(2, restart=1)
    place.stop()
    said = launcher.ends(0)
    assert re.search(
        r"rank 0 on \S+ exited with 7: started again in \d\.\d\d s, restart 1 of \d+ \(round 1",
        said,
    )


def test_ranks_that_ignore_sigterm_are_killed(place: Place) -> None:
    launcher = place.start(*ALONE, "--nproc-per-node=2", "--shutdown-timeout=1", mode="stubborn")
    first = place.wait_lines(2)
    kill(first[0].pid)
    place.wait_lines(2, restart=1)
    assert not alive(first[1].pid)
    place.stop()
    launcher.ends(0)


def test_a_stopped_rank_does_not_hold_a_restart(place: Place) -> None:
    launcher = place.start(*ALONE, "--nproc-per-node=2", "--shutdown-timeout=1")
    first = place.wait_lines(2)
    os.kill(first[0].pid, signal.SIGSTOP)
    kill(first[1].pid)
    place.wait_lines(2, restart=1)
    place.stop()
    launcher.ends(0)


def test_daemons_of_ranks_do_not_stay(place: Place) -> None:
    place.start("--standalone", "--nproc-per-node=2", mode="daemon").ends(0)
    assert len(list(place.dir.glob("daemon.*"))) == 2
    place.nothing_left()


def test_a_rank_that_is_done_waits_for_the_others(place: Place) -> None:
    launcher = place.start(*ALONE, "--nproc-per-node=2", mode="barrier")
    born = place.wait_lines(2)
    done = next(b.pid for b in born if b.rank == 0)
    wait_for(lambda: not alive(done), what="the end of rank 0")
    assert launcher.process.poll() is None
    place.stop()
    launcher.ends(0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGUSR1])
def test_workers_die_with_the_launcher(place: Place, number: signal.Signals) -> None:
    launcher = place.start(*ALONE, "--nproc-per-node=2")
    place.wait_lines(2)
    launcher.process.send_signal(number)
    launcher.process.wait()
    place.nothing_left(1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_the_ranks_and_the_launcher(place: Place, number: signal.Signals) -> None:
    launcher = place.start(*ALONE, "--nproc-per-node=2")
    place.wait_lines(2)
    launcher.process.send_signal(number)
    assert f"received {number.value} death signal" in launcher.ends(1)
    place.nothing_left(1)


# ---- several nodes ----


def test_under_nohup_a_terminal_that_goes_away_ends_nothing(place: Place) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        launcher = place.start(*ALONE, "--nproc-per-node=2")
    finally:
        signal.signal(signal.SIGHUP, before)
    place.wait_lines(2)
    launcher.process.send_signal(signal.SIGHUP)
    place.stop()
    launcher.ends(0)


def test_two_nodes_meet_at_an_endpoint(place: Place) -> None:
    port = free_port()
    nodes = [place.start(*elastic(port, "2", 2), mode="quick") for _ in range(2)]
    for node in nodes:
        node.ends(0)
    assert sorted(b.rank for b in place.lines("born")) == [0, 1, 2, 3]


def test_static_nodes_share_the_masters_port(place: Place) -> None:
    port = free_port()
    text = PLAIN + (
        "\nassert os.environ['MASTER_PORT'] == sys.argv[3]"
        "\nassert os.environ['MASTER_ADDR'] == '127.0.0.1'"
        "\nassert os.environ['GROUP_RANK'] == str(rank)"
        "\nimport torch.distributed as dist\ndist.init_process_group('gloo')\ndist.barrier()"
        "\ndist.destroy_process_group()\n"
    )
    path = place.script(text)
    for rank in (1, 0):
        place.run(
            "--nnodes=2", "--nproc-per-node=1", f"--node-rank={rank}", "--master-addr=127.0.0.1",
            f"--master-port={port}", str(path), str(place.dir), "quick", str(port),
        )  # fmt: skip
    for node in place.launchers:
        node.ends(0, 40)


def test_a_node_that_joins_makes_the_world_larger(place: Place) -> None:
    port = free_port()
    place.start(*elastic(port, "1:2", 1, "--rdzv-conf=last_call_timeout=1"))
    place.wait_lines(1, world=1)
    place.start(*elastic(port, "1:2", 1, "--rdzv-conf=last_call_timeout=1"))
    place.wait_lines(2, world=2)
    place.stop()
    for node in place.launchers:
        node.ends(0)


def two_nodes(place: Place) -> tuple[Launcher, Launcher]:
    """The one that leads, and the other; min is 1."""
    port = free_port()
    flags = elastic(port, "1:2", 1, "--rdzv-conf=last_call_timeout=20")
    leader = place.start(*flags)

    def listens() -> bool:
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    wait_for(listens, what="the leader to listen")
    other = place.start(*flags)
    place.wait_lines(2, world=2)
    return leader, other


@pytest.mark.parametrize("which", ["leader", "other"])
def test_a_lost_node_does_not_end_the_job(place: Place, which: str) -> None:
    leader, other = two_nodes(place)
    lost, left = (leader, other) if which == "leader" else (other, leader)
    lost.process.kill()
    place.wait_lines(1, world=1)
    place.stop()
    left.ends(0)


@pytest.mark.parametrize("which", ["leader", "other"])
def test_a_node_that_is_told_to_leave_does_not_end_the_job(place: Place, which: str) -> None:
    leader, other = two_nodes(place)
    leaves, left = (leader, other) if which == "leader" else (other, leader)
    leaves.process.terminate()
    leaves.ends(1)
    place.wait_lines(1, world=1)
    place.stop()
    left.ends(0)


def test_a_silent_leader_is_replaced(place: Place) -> None:
    leader, other = two_nodes(place)
    os.kill(leader.pid, signal.SIGSTOP)
    try:
        place.wait_lines(1, world=1)
    finally:
        leader.process.kill()
    place.stop()
    other.ends(0)


def test_a_latecomer_finds_the_leader_that_took_over(place: Place) -> None:
    port = free_port()
    flags = elastic(port, "1:2", 1, "--rdzv-conf=last_call_timeout=3")
    place.start(*flags)
    place.start(*flags)
    place.wait_lines(2, world=2)
    place.launchers[0].process.kill()
    place.launchers[0].process.wait()
    before = len(place.lines("born"))
    place.wait_lines(before + 1)
    place.start(*flags)
    wait_for(lambda: len([b for b in place.lines("born") if b.world == 2]) >= 4, 15, "a world of 2")
    place.stop()
    for node in place.launchers[1:]:
        node.ends(0)


# ---- what does not fit together ----


def test_a_strangers_port_is_said(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        launcher = place.start(*elastic(port, "2", 1, "--rdzv-conf=join_timeout=4"))
        said = launcher.ends(1)
    assert str(port) in said and "launcher" in said


def test_a_taken_port_of_this_machine_is_not_waited_for(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        args = [f"--master-port={port}", str(place.script(PLAIN)), str(place.dir), "quick"]
        said = place.run(*args).ends(1, 20)  # and not the 600 s of join_timeout
    assert f"port {port} is in use by another program" in said
    assert "--master-port" in said


def test_an_endpoint_nobody_answers_at_ends_in_time(place: Place) -> None:
    launcher = place.run(
        "--nnodes=2", f"--master-port={free_port()}", "--master-addr=127.0.0.1", "--node-rank=1",
        "--rdzv-conf=join_timeout=2", str(place.script(PLAIN)), str(place.dir), "quick",
    )  # fmt: skip
    said = launcher.ends(1)
    assert "refused" in said
    assert place.lines("born") == []


def test_a_wrong_token_is_refused(place: Place) -> None:
    port = free_port()
    path = str(place.script(PLAIN))
    good = place.run(*elastic(port, "2"), path, str(place.dir), "quick", MUSTER_RDZV_TOKEN="right")
    wait_for(lambda: not bindable(port), what="the leader to listen")
    bad = place.run(*elastic(port, "2"), path, str(place.dir), "quick", MUSTER_RDZV_TOKEN="wrong")
    assert "token" in bad.ends(1)
    place.run(*elastic(port, "2"), path, str(place.dir), "quick", MUSTER_RDZV_TOKEN="right").ends(0)
    good.ends(0)


def bindable(port: int) -> bool:
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def test_a_node_rank_is_given_once(place: Place) -> None:
    port = free_port()
    flags = ["--nnodes=3", "--node-rank=1", "--master-addr=127.0.0.1", f"--master-port={port}"]
    zero = ["--nnodes=3", "--node-rank=0", "--master-addr=127.0.0.1", f"--master-port={port}"]
    place.start(*zero)
    first = place.start(*flags)
    second = place.start(*flags)

    def refused() -> Launcher | None:
        ended = [one for one in (first, second) if one.process.poll() is not None]
        return ended[0] if ended else None

    loser = wait_for(refused, what="one of the two to be refused")
    assert "node rank 1 is taken" in loser.ends(1)


def test_the_launcher_is_small(place: Place) -> None:
    launcher = place.start(*ALONE, "--nproc-per-node=2")
    place.wait_lines(2)
    text = Path(f"/proc/{launcher.pid}/smaps_rollup").read_text()
    private = sum(int(n) for n in re.findall(r"Private_\w+:\s+(\d+) kB", text))
    place.stop()
    launcher.ends(0)
    assert private <= 2048 or sanitized(), text
