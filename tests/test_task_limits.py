"""What holds a task to what it asked for, seen from inside: a /dev/shm of the size, a share of the
cores; and what is said where the machine allows neither."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from conftest import closed
from harness import Json, Nobody, Server, native, openpai, role, until_there, wait_for

pytestmark = pytest.mark.sanitizer

MIB = 1 << 20
FILL = "head -c 3000000 /dev/zero >/dev/shm/mine; echo filled $?"
SHOW = "df -B1 --output=size /dev/shm | tail -1; ls /dev/shm"


@dataclass
class Confined(Server):
    """A server whose processes may make no mount namespaces."""

    def command(self) -> list[str]:
        words = 'echo 0 >/proc/sys/user/max_mnt_namespaces; exec "$@"'
        return ["unshare", "-U", "-r", "sh", "-ec", words, "sh", *super().command()]


def namespaces(server: Server) -> None:
    if "namespaces  ok" not in server.muster("doctor").stdout:
        pytest.skip("this machine allows no mount namespaces")


def said(server: Server, job: int) -> list[str]:
    return [r["text"].rstrip() for r in server.records(job) if r["stream"] == "muster"]


# ---- /dev/shm ----


def ended(server: Server, job: int, task: str) -> bool:
    return server.log(job, task).endswith("mine\n")


def test_shared_memory_of_its_own(server: Server, tmp_path: Path) -> None:
    """Of the asked size, of each task alone, and what a command by exec sees."""
    namespaces(server)
    go = tmp_path / "go"
    run = f"ls -A /dev/shm; echo $MUSTER_TASK_INDEX >/dev/shm/me; {FILL}; {SHOW}; {until_there(go)}"
    asks = {"cpu": 1, "memory": "64Mi", "shm": "2Mi"}
    number = server.submit(native("own", run=run, replicas=2, resources=asks))
    for task in ("worker/0", "worker/1"):
        wait_for(partial(ended, server, number, task), what="the list")
        log = server.log(number, task).split()
        assert log[-5:] == ["filled", "1", str(2 * MIB), "me", "mine"], log
        inside = server.muster(
            "exec", str(number), task, "--", "sh", "-c", f"cat /dev/shm/me; {SHOW}"
        )
        assert inside.stdout.split() == [task[-1], str(2 * MIB), "me", "mine"]
    assert not Path("/dev/shm/me").exists()
    go.touch()
    server.wait(number, "succeeded")
    assert said(server, number) == []


def attempts(server: Server, number: int) -> list[Json]:
    found: list[Json] = server.job(number)["task_list"][0].get("attempts", [])
    return found


def test_shared_memory_of_an_attempt(server: Server) -> None:
    """The next one finds it empty; that of a failure that is held can still be looked at."""
    namespaces(server)
    run = "ls -A /dev/shm; touch /dev/shm/left; exit 3"
    asks = {"cpu": 1, "memory": "64Mi", "shm": "1Mi"}
    more: Json = {"retry": {"unknown": 1}, "health": {"debug_hold": True}}
    number = server.submit(native("again", run, resources=asks, **more))
    wait_for(
        lambda: [a.get("exit_code") for a in attempts(server, number)] == [3, 3],
        what="two failures",
    )
    assert server.log(number, "worker/0") == ""
    held = server.muster("exec", number, "worker/0", "--", "sh", "-c", SHOW)
    assert held.stdout.split() == [str(MIB), "left"], held.stderr
    server.stop(number, now=True)
    server.wait(number)


def test_shared_memory_by_format(server: Server) -> None:
    """OpenPAI's 64 MB unless the file says another; DLC's and a pod's only where they are asked
    for, else the machine's as it is."""
    namespaces(server)
    run, machine = SHOW.split(";")[0], os.statvfs("/dev/shm")
    pods = {"Type": "Worker", "PodCount": 1, "Image": "registry.example/dlc:1"}

    def dlc(**more: str) -> str:
        config = {"CPU": "1", "Memory": "1Gi", **more}
        spec = [{**pods, "ResourceConfig": config}]
        job = {"DisplayName": "dlc", "JobType": "PyTorchJob", "JobSpecs": spec}
        return json.dumps({**job, "UserCommand": run})

    volume = {"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "3Mi"}}
    one: Json = {"name": "main", "image": "i", "command": ["sh", "-c", run]}
    one["volumeMounts"] = [{"name": "m", "mountPath": "/dev/shm"}]
    template = {"spec": {"containers": [one], "volumes": [volume]}}
    elastic = {
        "apiVersion": "elastic.iml.github.io/v1alpha1",
        "kind": "ElasticJob",
        "metadata": {"name": "elastic"},
        "spec": {"replicaSpecs": {"worker": {"replicas": 1, "template": template}}},
    }
    sizes = {
        openpai("pai", role(command=run)): 64 * MIB,
        openpai("pai", role(command=run, shmMB=5)): 5 * MIB,
        dlc(): machine.f_frsize * machine.f_blocks,
        dlc(SharedMemory="7Mi"): 7 * MIB,
        json.dumps(elastic): 3 * MIB,
        native("plain", run): machine.f_frsize * machine.f_blocks,
    }
    for text, size in sizes.items():
        number = server.submit(text)
        server.wait(number, "succeeded")
        assert server.log(number).split() == [str(size)], text


def test_shared_memory_where_it_cannot_be() -> None:
    """No namespaces; a state directory that lies in it. The task runs with the machine's, and its
    log says why, once."""
    asks = {"cpu": 1, "memory": "64Mi", "shm": "2Mi"}
    job = native("none", "touch /dev/shm/; echo ran", replicas=2, resources=asks)
    if subprocess.run(["unshare", "-U", "-r", "true"], check=False).returncode == 0:
        confined = Confined(nodes="1x8cpu,8Gi")
        try:
            tell(confined.start(), job, "this machine allows no mount namespace: ")
        finally:
            closed(confined)
    within = Server(nodes="1x8cpu,8Gi", state=Path(tempfile.mkdtemp(dir="/dev/shm", prefix="mu-")))
    try:
        tell(within.start(), job, f"{within.state}/runs/1/g1/n1 lies in it")
    finally:
        closed(within)


def tell(server: Server, job: str, why: str) -> None:
    number = server.submit(job)
    server.wait(number, "succeeded")
    assert server.log(number) == "ran\n" * 2
    lines = [line for line in said(server, number) if line.startswith("/dev/shm is")]
    assert len(lines) == 1 and why in lines[0], lines
    assert "/dev/shm is the machine's, not one of 2Mi for each task: " in lines[0]


# ---- cores ----


def group_of(lines: str, controller: str) -> Path:
    """Where the cgroup is that /proc/self/cgroup names."""
    by_names = {line.split(":")[1]: line.split(":", 2)[2] for line in lines.splitlines()}
    names = next((n for n in by_names if controller in n.split(",")), "")
    kind = "cgroup" if names else "cgroup2"
    for line in Path("/proc/mounts").read_text().splitlines():
        _, at, what, options = line.split()[:4]
        if what == kind and (not names or controller in options.split(",")):
            return Path(at + by_names[names])
    raise AssertionError(f"no {controller} in {lines}")


def test_cores_are_a_limit(server: Server, tmp_path: Path) -> None:
    """A loop that never rests is held back; by the kernel's count, not by the clock."""
    if "cgroups     ok" not in server.muster("doctor").stdout:
        pytest.skip("this machine lets nobody make cgroups")
    go = tmp_path / "go"
    run = f"cat /proc/self/cgroup; while ! test -e {go}; do :; done"
    number = server.submit(native("busy", run, resources={"cpu": 0.01, "memory": "64Mi"}))
    lines = wait_for(lambda: server.log(number), what="the names of the groups")
    group = group_of(lines, "cpu")
    assert group.name.startswith("muster-")
    quota = group / "cpu.cfs_quota_us"
    limit = quota if quota.exists() else group / "cpu.max"
    assert limit.read_text().split()[0] == "1000"

    def throttled() -> int:
        counts = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
        return int(counts["nr_throttled"])

    wait_for(throttled, what="the first time that it was held back")
    go.touch()
    server.wait(number, "succeeded")
    wait_for(lambda: not group.exists(), what="the end of the group")


def test_cores_where_no_group_can_be_made(short_path: Path) -> None:
    """It runs, and its log says once what is not held."""
    nobody = Nobody(short_path)
    if nobody.why_not:
        pytest.skip(nobody.why_not)
    try:
        for asks, words in (
            ({"cpu": 1}, "no cgroup of cpu here: tasks may use more cores than they asked for"),
            ({"cpu": 1, "memory": "64Mi"}, "no cgroup here: the memory of tasks is watched "),
        ):
            (short_path / "job.json").write_text(native("free", replicas=2, resources=asks))
            done = nobody.muster("run", short_path / "job.json")
            assert done.returncode == 0, done.stdout + done.stderr
            assert done.stdout.count("no cgroup") == 1 and words in done.stdout, done.stdout
    finally:
        nobody.stop_server()
