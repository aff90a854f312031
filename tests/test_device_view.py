"""What tasks can open of the machine's devices: nodes of ours with the numbers of NVIDIA's, in a
/dev that only the server of the test has. Behind them is no driver, so the kernel answers ENXIO
where a task may open one."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from conftest import closed
from harness import (
    Json,
    Nobody,
    Server,
    environment,
    kill,
    native,
    program,
    scratch,
    until_there,
    wait_for,
)
from nvml import Driver, device, instance

MAJOR, CAPS_MAJOR = 195, 237
USUAL = ("null", "zero", "full", "random", "urandom", "tty")

# A /dev of its own, then the server in it. $1: a file with a line "name major minor" for each node.
PRIVATE = f"""
set -e
new=$(mktemp -d)
mount -t tmpfs -o mode=755 none $new
for name in {" ".join(USUAL)}; do cp -a /dev/$name $new/; done
mkdir $new/pts $new/shm $new/nvidia-caps $new/infiniband
ln -s pts/ptmx $new/ptmx
ln -s /proc/self/fd $new/fd
while read name major minor; do mknod -m 666 $new/$name c $major $minor; done < "$1"
mount --rbind /dev/pts $new/pts
mount --rbind /dev/shm $new/shm
mount --move $new /dev
rmdir $new
shift
exec "$@"
"""

# Prints for each path what the kernel says to who opens it.
TRY = """
import errno, os, sys
for path in sys.argv[1:]:
    try:
        os.close(os.open(path, os.O_RDWR))
        said = "opened"
    except OSError as e:
        said = errno.errorcode[e.errno]
    print(os.path.basename(path), said, flush=True)
"""


def why_none() -> str:
    if os.geteuid() != 0:
        return "only root makes device nodes"
    done = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "no mount namespace can be made"


pytestmark = [pytest.mark.skipif(bool(why_none()), reason=why_none())]


@dataclass
class Private(Server):
    """A server in a /dev of its own, with the nodes that there are in that."""

    devices: dict[str, tuple[int, int]] = field(default_factory=dict)

    def command(self) -> list[str]:
        text = "".join(f"{name} {major} {minor}\n" for name, (major, minor) in self.devices.items())
        (self.state / "devices").write_text(text)
        return ["unshare", "-m", "sh", "-c", PRIVATE, "sh", f"{self.state}/devices"] + (
            super().command()
        )


@dataclass
class Machine:
    server: Private
    driver: Driver
    copies: Path  # the same devices under other names, where every task reaches them

    def line(self) -> str:
        """The command that tries each node in /dev and its copy."""
        paths = [f"/dev/{name}" for name in self.server.devices]
        paths += [str(self.copies / f"copy-{Path(name).name}") for name in self.server.devices]
        return f"python3 {self.copies / 'try.py'} " + " ".join(paths)

    def said(self, text: str) -> dict[str, str]:
        return dict(line.split() for line in text.splitlines() if len(line.split()) == 2)

    def file(self, n: int) -> str:
        return f"nvidia{self.driver.minor_of(n)}"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    driver = Driver(tmp_path / "driver")
    copies = scratch()
    copies.chmod(0o755)
    (copies / "try.py").write_text(TRY)
    devices = {f"nvidia{driver.minor_of(n)}": (MAJOR, n) for n in range(3)}
    devices |= {"nvidiactl": (MAJOR, 255), "nvidia-uvm": (CAPS_MAJOR - 1, 0)}
    devices |= {f"nvidia-caps/nvidia-cap{n}": (CAPS_MAJOR, n) for n in (1, 30, 31, 40, 41)}
    for name, (major, minor) in devices.items():
        copy = copies / f"copy-{Path(name).name}"
        os.mknod(copy, 0o666 | stat.S_IFCHR, os.makedev(major, minor))
        copy.chmod(0o666)
    one = Machine(Private(nodes="", env=driver.env, devices=devices), driver, copies)
    yield one
    closed(one.server)
    driver.close()
    shutil.rmtree(copies)


def gpus(n: float, *types: str) -> Json:
    return {"cpu": 1, "memory": "256Mi", "gpu": n, **({"gpu_type": list(types)} if types else {})}


def assert_only(machine: Machine, text: str, may: set[str]) -> None:
    """May the devices named be opened, also through a copy, and no others?"""
    said = machine.said(text)
    for name in (Path(path).name for path in machine.server.devices):
        mine = name in may
        assert said[name] == ("ENXIO" if mine else "ENOENT"), (name, said)
        assert said[f"copy-{name}"] == ("ENXIO" if mine else "EPERM"), (name, said)


NOTHING = "nothing enforces which devices a task uses"
EACH_ITS_OWN = "each task has a /dev and a control group of its own, with its devices"
SHARED = {"nvidiactl", "nvidia-uvm"}


@pytest.mark.parametrize("before", ["", "unset CUDA_VISIBLE_DEVICES; ", "CUDA_VISIBLE_DEVICES=0 "])
def test_a_task_opens_its_device_alone(machine: Machine, before: str) -> None:
    machine.driver.say(*(device(n) for n in range(3)))
    machine.server.env = {**machine.driver.env, "CUDA_VISIBLE_DEVICES": "1"}
    machine.server.start()
    job = machine.server.submit(native("has", before + machine.line(), resources=gpus(1)))
    machine.server.wait(job, "succeeded")
    assert_only(machine, machine.server.log(job, "worker/0"), SHARED | {machine.file(1)})


def test_a_task_without_a_device_opens_none(machine: Machine) -> None:
    machine.driver.say(*(device(n) for n in range(3)))
    machine.server.start()
    run = "unset CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES; " + machine.line()
    job = machine.server.submit(native("none", run))
    machine.server.wait(job, "succeeded")
    assert_only(machine, machine.server.log(job, "worker/0"), set())


def test_tasks_side_by_side(machine: Machine, tmp_path: Path) -> None:
    """Each its own, in one job; and what is started inside of a task by exec."""
    machine.driver.say(*(device(n) for n in range(3)))
    machine.server.start()
    go = tmp_path / "go"
    run = f"echo ready; {until_there(go)}; {machine.line()}"
    job = machine.server.submit(native("two", run, replicas=2, resources=gpus(1)))
    for n in range(2):
        wait_for(lambda n=n: "ready" in machine.server.log(job, f"worker/{n}"))  # type: ignore[misc]
        line = ["sh", "-c", f"unset CUDA_VISIBLE_DEVICES; {machine.line()}"]
        done = machine.server.muster("exec", str(job), f"worker/{n}", "--", *line)
        assert_only(machine, done.stdout, SHARED | {machine.file(n)})
    go.touch()
    machine.server.wait(job, "succeeded")
    for n in range(2):
        text = machine.server.log(job, f"worker/{n}")
        assert_only(machine, text, SHARED | {machine.file(n)})


def test_ranks_of_a_launcher(machine: Machine) -> None:
    machine.driver.say(*(device(n) for n in range(3)))
    machine.server.env = {**machine.driver.env, "CUDA_VISIBLE_DEVICES": "2"}
    machine.server.start()
    run = f"torchrun --standalone --nproc-per-node 1 --no-python {machine.line()}"
    job = machine.server.submit(native("ranks", run, resources=gpus(1)))
    machine.server.wait(job, "succeeded")
    assert_only(machine, machine.server.log(job, "worker/0"), SHARED | {machine.file(2)})


def test_instances_have_their_own_files(machine: Machine, tmp_path: Path) -> None:
    """Of one divided device: its file, and of /dev/nvidia-caps those of the instance."""
    minor = machine.driver.minor_of(0)
    for gi, cap in ((9, 30), (11, 40)):
        at = tmp_path / f"capabilities/gpu{minor}/mig/gi{gi}"
        (at / "ci0").mkdir(parents=True)
        for where, number in ((at, cap), (at / "ci0", cap + 1)):
            where.joinpath("access").write_text(
                f"DeviceFileMinor: {number}\nDeviceFileMode: 292\nDeviceFileModify: 1\n"
            )
    machine.driver.say(device(0), instance(0, 9), instance(0, 11, profile="3g.40gb"), device(1))
    caps = {"MUSTER_GPU_CAPABILITIES": str(tmp_path / "capabilities")}
    machine.server.env = {**machine.driver.env, **caps}
    machine.server.start()
    files = {"1g.10gb": (0, 30, 31), "3g.40gb": (0, 40, 41), "NVIDIA H100 80GB HBM3": (1,)}
    for called, (n, *numbers) in files.items():
        job = machine.server.submit(native("part", machine.line(), resources=gpus(1, called)))
        machine.server.wait(job, "succeeded")
        may = SHARED | {machine.file(n)} | {f"nvidia-cap{number}" for number in numbers}
        assert_only(machine, machine.server.log(job, "worker/0"), may)
    both = machine.server.submit(native("both", machine.line(), resources=gpus(2, "MIG")))
    machine.server.wait(both, "succeeded")
    may = SHARED | {machine.file(0)} | {f"nvidia-cap{number}" for number in (30, 31, 40, 41)}
    assert_only(machine, machine.server.log(both, "worker/0"), may)


def test_after_the_server_and_the_agent_were_killed(machine: Machine, tmp_path: Path) -> None:
    """The next attempt is as confined as the first."""
    machine.driver.say(*(device(n) for n in range(3)))
    machine.server.env = {**machine.driver.env, "CUDA_VISIBLE_DEVICES": "1"}
    machine.server.start()
    first, never = tmp_path / "first", tmp_path / "never"
    waits = f"touch {first}; echo pid $$; {until_there(never)}"
    run = f"test -e {first} || {{ {waits}; }}; {machine.line()}"
    job = machine.server.submit(native("again", run, resources=gpus(1), retry={"unknown": 3}))
    wait_for(lambda: "pid" in machine.server.log(job, "worker/0"))
    machine.server.kill()
    machine.server.start()
    (task,) = machine.server.get(f"/v1/jobs/{job}/tasks")["tasks"]
    kill(task["attempts"][-1]["pid"])
    machine.server.wait(job, "succeeded")
    assert_only(machine, machine.server.log(job, "worker/0"), SHARED | {machine.file(1)})


def found(text: str) -> tuple[str, str]:
    """What the doctor says of who keeps devices apart: state, found."""
    (row,) = [c for c in json.loads(text)["checks"] if c["name"] == "devices"]
    return row["state"], row["found"]


def test_the_doctor_says_what_enforces_it(machine: Machine, short_path: Path) -> None:
    """As it is for root here, with the sandbox off, and for a server of an ordinary user's."""
    state, text = found(machine.server.muster("doctor", "--json").stdout)
    assert (state, text) == ("ok", EACH_ITS_OWN)
    machine.driver.say(device(0))
    off = {"MUSTER_SANDBOX": "off", "MUSTER_SHARED_ACCOUNT": "no"}
    machine.server.env = {**machine.driver.env, **off}
    machine.server.start()
    state, text = found(machine.server.muster("doctor", "--json").stdout)
    assert state == "note" and NOTHING in text
    job = machine.server.submit(native("none", machine.line()))
    machine.server.wait(job, "succeeded")
    assert set(machine.said(machine.server.log(job, "worker/0")).values()) == {"ENXIO"}
    nobody = Nobody(short_path)
    if nobody.why_not:
        pytest.skip(nobody.why_not)
    state, text = found(nobody.muster("doctor", "--json").stdout)
    assert state == "note" and NOTHING in text


def test_the_doctor_where_no_namespace_can_be_made() -> None:
    """A user namespace in which no more may be made, root in it."""
    line = 'echo 0 > /proc/sys/user/max_mnt_namespaces && exec "$@"'
    tried = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", line, "sh", program(), "doctor", "--json"],
        env=environment(scratch()),
        capture_output=True,
        text=True,
        check=False,
    )
    if "max_mnt_namespaces" in tried.stderr or "unshare" in tried.stderr:
        pytest.skip("this machine makes no user namespaces")
    state, text = found(tried.stdout)
    assert state == "note" and (NOTHING in text or "the machine's /dev is seen" in text)
