"""The launcher about itself: the moments it tells to who measures it, and what it changes for
itself and not for its ranks."""

from __future__ import annotations

import json
import resource
from pathlib import Path

from harness import Json, kill, wait_for
from test_launch import ALONE, Launcher, Place, place

__all__ = ["place"]
# Says which limits it finds, then lives until told to end.
LIMITS = """
import os, resource, sys, time
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
restart = os.environ["TORCHELASTIC_RESTART_COUNT"]
with open(f"{sys.argv[1]}/born", "a") as f:
    f.write(f"{soft} {hard} {restart} {os.getpid()} {time.monotonic()}\\n")
while not os.path.exists(f"{sys.argv[1]}/stop"):
    time.sleep(0.01)
"""


def is_parked(launcher: Launcher, ranks: int) -> bool:
    """Beside its ranks and its guard it has the parked interpreter and as many forks."""
    children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
    return len(children) >= 2 * ranks + 2


def test_the_moments_of_a_restart(place: Place) -> None:
    trace = place.dir / "trace"
    script = place.script("import sys; sys.exit(1)")
    flags = ["--standalone", "--max-restarts=1", "--nproc-per-node=2"]
    launcher = place.run(*flags, str(script), MUSTER_LAUNCH_TRACE=str(trace))
    launcher.ends(1)
    lines: list[Json] = [json.loads(line) for line in trace.read_text().splitlines()]
    assert {line["pid"] for line in lines} == {launcher.pid}
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
    moments = [line["moment"] for line in lines if line["moment"] != "ended"]
    once = ["join", "round", "started"]
    assert moments[:8] == ["begin", *once, "gone", *once], moments
    ended = [line for line in lines if line["moment"] == "ended"]
    assert {line["round"] for line in ended} == {0, 1}
    assert {line["local_rank"] for line in ended} == {0, 1}


def test_a_trace_that_cannot_be_written_is_said(place: Place) -> None:
    path = str(place.dir / "none/trace")
    launcher = place.run(*ALONE, str(place.script("")), MUSTER_LAUNCH_TRACE=path)
    assert path in launcher.ends(0)


def test_ranks_keep_their_limit_of_files(place: Place) -> None:
    """The launcher raises its own: a leader has a connection to every other one."""
    former = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, former[1]))
    try:
        launcher = place.start(*ALONE, "--nproc-per-node=1", script=LIMITS)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, former)
    (cold,) = place.wait_lines(1, restart=0)
    own = resource.prlimit(launcher.pid, resource.RLIMIT_NOFILE)
    assert own == (former[1], former[1])
    wait_for(lambda: is_parked(launcher, 1), 30, "a parked interpreter")
    kill(cold.pid)
    (warm,) = place.wait_lines(1, restart=1)
    place.stop()
    assert "warm" in launcher.ends(0)
    assert {(b.rank, b.world) for b in (cold, warm)} == {(200, former[1])}
