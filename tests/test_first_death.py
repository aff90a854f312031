"""Who died first: the reason of the job, the launcher's event and the hint after the job name the
same rank, and it is the one that did. Eight ranks on four nodes hold on to each other by sockets,
so that the others die of the first one's end at once."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator

import pytest
from conftest import Starter, closed
from harness import ROOT, Server, native, openpai, patience, role, wait_for

PYTHON = str(ROOT / ".venv/bin/python")
RANKS = 8
# What the one rank does; the others raise ConnectionResetError, some of them before the kernel has
# told of the end of the first.
KINDS: dict[str, str] = {
    "code": "os._exit(3)",
    "raise": "raise ValueError('the batch is empty')",
    "kill": "os.kill(os.getpid(), signal.SIGKILL)",
    "segv": "os.kill(os.getpid(), signal.SIGSEGV)",
    "abort": "os.abort()",
    "children": "leave_children(); os._exit(5)",
}
HOW = {
    "code": ("exited with 3", ""),
    "raise": ("exited with 1", "ValueError: the batch is empty"),
    "kill": ("killed (SIGKILL", ""),
    "segv": ("killed (SIGSEGV", ""),
    "abort": ("killed (SIGABRT", ""),
    "children": ("exited with 5", ""),
}
RANK = r"""
import os, select, signal, socket, subprocess, sys
folder, kind, root = sys.argv[1], sys.argv[2], int(sys.argv[3])
rank = int(os.environ.get("RANK", os.environ["MUSTER_TASK_INDEX"]))

def leave_children():
    for _ in range(3):  # each with a session of its own, and in no hurry
        subprocess.Popen(["sleep", "1000"], start_new_session=True)

def name(n):
    return f"\0{folder}.{n}"

mine = socket.socket(socket.AF_UNIX)
mine.bind(name(rank))
mine.listen(16)
peers = []
for other in range(rank):
    one = socket.socket(socket.AF_UNIX)
    while one.connect_ex(name(other)):
        select.select([], [], [], 0.01)  # it is not there yet
    peers.append(one)
for other in range(rank + 1, 8):
    peers.append(mine.accept()[0])
for one in peers:
    one.sendall(b"x")  # a barrier
for one in peers:
    one.recv(1)
if rank == root:
    exec(kind)
select.select(peers, [], [])
raise ConnectionResetError("a peer has gone")
"""


@pytest.fixture(scope="module")
def four() -> Iterator[Server]:
    one = Server(nodes="4x4cpu,8Gi", env={"MUSTER_PYTHON": PYTHON})
    try:
        yield one.start()
    finally:
        closed(one)


count = itertools.count()


def text_of(server: Server, launched: bool, kind: str, root: int) -> str:
    script = server.state / "rank.py"
    if not script.exists():
        script.write_text(RANK)
    mark = f"first-{os.getpid()}-{next(count)}"
    args = f'{script} {mark} "{KINDS[kind]}" {root}'
    if launched:
        return native(
            mark,
            f"torchrun {args}",
            replicas=4,
            resources={"cpu": 3, "memory": "512Mi"},
            launcher={"ranks_per_node": 2, "max_restarts": 0},
        )
    run = f"exec {PYTHON} {args}"
    return native(mark, run, replicas=RANKS, resources={"cpu": 2, "memory": "256Mi"})


def check(server: Server, launched: bool, kind: str, root: int) -> None:
    """Runs the job as a user does, and reads what is said in three places."""
    file = server.state / "job.json"
    file.write_text(text_of(server, launched, kind, root))
    screen = server.muster("run", file, timeout=patience(120))
    assert screen.returncode == 1, screen
    failed = re.search(r"^first-\S+ failed: (.*)$", screen.stdout, re.MULTILINE)
    hint = re.search(r"its output   \S*muster logs (\d+) (\S+) ", screen.stdout)
    assert failed and hint, screen.stdout
    reason, first, (how, words) = failed[1], hint[2], HOW[kind]
    job = server.job(hint[1])
    assert job["reason"] == reason
    assert job["first"] == [first], (job["first"], first)
    if launched:
        said = [e for e in server.events(hint[1]) if e["type"] == "launch.failed"]
        assert [re.sub(" on .*", "", e["text"]) for e in said] == [f"rank {root}"], (reason, said)
        assert reason == f"{first}: {said[0]['text']}"
        assert said[0]["task"] == first
        how = how.replace("killed", "was killed")
    else:
        assert first == f"worker/{root}", reason
        assert re.fullmatch(rf"worker/{root} on n\d .*, first of {RANKS}", reason), reason
    assert how in reason
    assert words in screen.stdout


@pytest.mark.parametrize("launched", [False, True], ids=["tasks", "ranks"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_one_that_was_first_is_named(four: Server, kind: str, launched: bool) -> None:
    check(four, launched, kind, 5)


@pytest.mark.slow
@pytest.mark.parametrize("launched", [False, True], ids=["tasks", "ranks"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_of_a_hundred(four: Server, kind: str, launched: bool) -> None:
    """Eight of each kind and each way, every rank once: 96, and those above."""
    for root in range(RANKS):
        check(four, launched, kind, root)


@pytest.mark.parametrize("restart", [False, True], ids=["stays", "restarted"])
def test_the_second_failure_is_not_called_the_first(start: Starter, restart: bool) -> None:
    """`minFailedTaskCount` 2: the job ends by the second, and its reason names the first; also when
    the server was killed between the two."""
    server = start()
    go = server.state / "go"
    command = (
        f"case $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX in 2) exit 3;; "
        f"0) until test -e {go}; do sleep 0.05; done; exit 4;; *) exec sleep 1000;; esac"
    )
    four_of_it = role(command=command, count=4, minFailedTaskCount=2)
    text = openpai("two", four_of_it, retryCount=0)
    number = server.submit(text)
    wait_for(lambda: "task.failed" in [e["type"] for e in server.events(number)], 60)
    if restart:
        server.kill()
        server.start()
    go.touch()
    job = server.wait(number, "failed", timeout=60)
    assert re.fullmatch(r"worker/2 on n\d exited with 3, first of 4", job["reason"]), job["reason"]
    assert job["first"] == ["worker/2"]
    closing = [e for e in server.events(number) if e["type"] == "closing"]
    assert [e["body"]["first"] for e in closing] == [["worker/2"]]
