"""What once went wrong, each as small as it can be shown."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Starter
from harness import Server, alive, environment, kill, muster, native, program, wait_for

SLOW = """#!/bin/sh
[ "$1" = keeper ] && while ! test -e {go}; do sleep 0.01; done
exec {real} "$@"
"""


def slow_keepers(place: Path) -> Path:
    """The programs, with keepers that begin only when a file is there."""
    shutil.copy2(program().resolve(), place / "muster")
    node = place / "muster-node"
    node.write_text(SLOW.format(go=place / "go", real=program().resolve().parent / "muster-node"))
    node.chmod(0o755)
    return place / "muster"


@pytest.mark.sanitizer
def test_server_dies_between_keeper_and_its_pid(
    start: Starter, short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keeper lived, its pid was not written yet: the next server started a second one."""
    server = start(nodes="4cpu,8Gi")
    server.end()
    monkeypatch.setenv("MUSTER_BIN", str(slow_keepers(short_path)))
    server.start()
    number = server.submit(native("once", f"echo x >> {short_path}/n; echo line"))
    wait_for(lambda: server.agents(number)["keeper"] or server.survivors())
    server.kill()
    server.start()
    time.sleep(0.5)  # longer than a recovered server waits before it launches again
    (short_path / "go").touch()
    job = server.wait(number)
    assert job["state"] == "succeeded", job
    assert (short_path / "n").read_text() == "x\n"
    assert [len(t["attempts"]) for t in job["task_list"]] == [1]
    assert server.log(number) == "line\n"


def test_keeper_dies_daemon_without_environment(start: Starter, tmp_path: Path) -> None:
    """Only its cgroup told to whom the daemon belongs."""
    if os.geteuid() != 0:
        pytest.skip("cgroups need root here")
    server = start(nodes="4cpu,8Gi")
    daemon = f"env -i setsid sh -c 'echo $$ > {tmp_path}/pid; exec sleep 300' >/dev/null 2>&1"
    run = f"({daemon} &); while ! test -s {tmp_path}/pid; do sleep 0.01; done; echo up; sleep 600"
    number = server.submit(native("bare", run, retry={"platform": "never"}))
    wait_for(lambda: "up" in server.log(number))
    if any("no cgroup" in r.get("text", "") for r in server.records(number)):
        server.stop(number, now=True)
        pytest.skip("no writable cgroup here")
    pid = int((tmp_path / "pid").read_text())
    kill(server.agents(number)["keeper"][0])
    assert server.wait(number)["state"] == "failed"
    assert not alive(pid)


def test_many_tasks_on_one_node(server: Server) -> None:
    """Every task is told all its peers: the launch of a node grew with the square of the tasks."""
    small = {"cpu": "10m", "memory": "1Mi"}
    job = server.run(native("wide", "true", 1200, resources=small), timeout=60)
    assert job["state"] == "succeeded", job["reason"]


def test_a_server_whose_status_nobody_takes_has_ended(short_path: Path) -> None:
    """As in a container whose first process looks after no children: a row of it stays."""
    with subprocess.Popen(
        [program(), "server", "run", "--listen", "none"], env=environment(short_path)
    ) as one:
        wait_for((short_path / "server.json").exists)
        done = muster("server", "stop", state=short_path)
        assert done.returncode == 0, done.stderr
        assert one.poll() == 0
