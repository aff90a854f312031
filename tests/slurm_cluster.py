"""A real Slurm on this machine, for tests: its own munged, slurmctld and a slurmd for each node,
all below one directory (../shared/tools/slurm-local)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness import ROOT, alone, free_port, patience, proc_bytes, wait_for

SLURM_LOCAL = ROOT.parent / "shared/tools/slurm-local"
PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "squeue", "xz")
SBIN = "/usr/local/sbin:/usr/sbin:/sbin"


def why_no_daemons() -> str:
    path = os.environ.get("PATH", "") + ":" + SBIN
    missing = [name for name in PROGRAMS if not shutil.which(name, path=path)]
    return f"no {', '.join(missing)} here: tools/setup slurm" if missing else ""


def why_none() -> str:
    """Why no Slurm can be started here; "": it can."""
    return why_no_daemons() or ("" if SLURM_LOCAL.exists() else f"no {SLURM_LOCAL}")


@dataclass
class Slurm:
    home: Path
    port: int
    n_nodes: int

    def env(self) -> dict[str, str]:
        return {"SLURM_CONF": str(self.home / "slurm.conf")}

    def local(self, *words: str) -> str:
        own = {"SLURM_LOCAL_DIR": str(self.home), "SLURM_LOCAL_PORT": str(self.port)}
        done = subprocess.run(
            [SLURM_LOCAL, *words],
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            timeout=patience(300),
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(self, *words: str) -> str:
        """One of Slurm's commands."""
        done = subprocess.run(
            words,
            env={**os.environ, **self.env()},
            capture_output=True,
            text=True,
            timeout=patience(120),
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def state(self, job: str) -> str:
        return self.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").strip()

    def wait_idle(self) -> None:
        """Nothing of a test before runs or ends there any more, and all nodes can be had."""
        self.run("scancel", "--state=PENDING", "--me")
        self.run("scancel", "--state=RUNNING", "--me")
        idle = "-h", "-N", "-t", "idle", "-o", "%N"
        wait_for(
            lambda: len(set(self.run("sinfo", *idle).split())) == self.n_nodes,
            what="all nodes of Slurm idle",
        )


@contextmanager
def slurm(nodes: int = 4, *options: str) -> Iterator[Slurm]:
    """One at a time on this machine: clusters have the same names of nodes and numbers of jobs, by
    which processes are told apart."""
    with alone("slurm"):
        home = Path(tempfile.mkdtemp(prefix="sl-", dir="/tmp"))
        cluster = Slurm(home, free_port(nodes + 1), nodes)
        try:
            cluster.local("start", str(nodes), "--requeue-after", "15", *options)
            yield cluster
        finally:
            cluster.local("stop")
            shutil.rmtree(home, ignore_errors=True)


def children() -> dict[int, list[int]]:
    """Of every process of this machine."""
    found: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(path.read_text().rsplit(")", 1)[1].split()[1])
            found.setdefault(parent, []).append(int(path.parent.name))
    return found


def processes_on(node: str, jobs: set[str]) -> set[int]:
    """All that these jobs of Slurm have on that node: what Slurm started there with what looks
    after it, and all that comes of it."""
    mine: set[int] = set()
    for pid in (int(path.name) for path in Path("/proc").glob("[0-9]*")):
        words = proc_bytes(pid, "environ").split(b"\0")
        there = f"SLURMD_NODENAME={node}".encode() in words
        if there and any(f"SLURM_JOB_ID={job}".encode() in words for job in jobs):
            mine.add(pid)
    below, left = children(), list(mine)
    above = {pid: parent for parent, pids in below.items() for pid in pids}
    mine |= {
        above[pid] for pid in left if b"slurmstepd" in proc_bytes(above.get(pid, 0), "cmdline")
    }
    while left:
        for pid in below.get(left.pop(), []):
            if pid not in mine:
                mine.add(pid)
                left.append(pid)
    return mine


def stop_node(cluster: Slurm, node: str, jobs: set[str]) -> set[int]:
    """As if it was switched off: nothing there answers, and nobody is told. What stood still then;
    it is the caller's to end."""
    cluster.local("kill", node, "STOP")
    stopped: set[int] = set()
    while more := processes_on(node, jobs) - stopped:  # what began meanwhile, too
        for pid in more:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        stopped |= more
    return stopped


def end_node(cluster: Slurm, node: str, stopped: set[int]) -> None:
    cluster.local("kill", node)
    for pid in stopped:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
