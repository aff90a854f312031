"""Specifications of devices (CDI): tasks in images get what these say of their devices, and not
what they say of others."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import registry as registries
from conftest import closed
from harness import Json, native, program, wait_for
from nvml import Driver, device, instance
from registry import Registry, busybox, tree
from test_device_view import CAPS_MAJOR, MAJOR, Private, gpus, why_none

if why := registries.why_none() or why_none():
    pytestmark = pytest.mark.skip(reason=why)

LIBRARIES = f"/usr/lib/{os.uname().machine}-linux-gnu"
VERSION = "580.159.04"

# What lies in $1 lies in /var/run/cdi.
SPECIFIED = """
set -e
mount -t tmpfs -o mode=755 none /run
mkdir /run/cdi
mount --bind "$1" /run/cdi
shift
exec "$@"
"""


@dataclass
class Specified(Private):
    """A server on a machine with devices and what its administrator says of them."""

    def command(self) -> list[str]:
        self.specs.mkdir(mode=0o755, exist_ok=True)
        return ["unshare", "-m", "sh", "-c", SPECIFIED, "sh", str(self.specs), *super().command()]

    @property
    def specs(self) -> Path:
        return self.state / "specs"

    def doctor(self) -> tuple[str, str]:
        """What it says there: state, found."""
        enter = ["nsenter", f"--mount=/proc/{self.pid}/ns/mnt", str(program())]
        said = subprocess.run(
            [*enter, "doctor", "--json"],
            env={**os.environ, **self.env, "MUSTER_STATE_DIR": str(self.state)},
            capture_output=True,
            text=True,
            check=True,
        )
        (row,) = [one for one in json.loads(said.stdout)["checks"] if one["name"] == "cdi"]
        return row["state"], row["found"]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    registry = Registry(tmp_path_factory.mktemp("registry") / "open").start()
    files = registries.of_host("ldconfig")
    yield registry.push("team/loader", busybox(), tree({**files, "sbin": "usr/sbin"}))
    registry.stop()


@dataclass
class Machine:
    server: Specified
    driver: Driver
    files: Path  # what the specification mounts
    image: str

    def say(self, *more: Json, **edits: object) -> Json:
        """A specification of devices 0 and 1, each with a file of its own, and more devices."""
        devices = [
            {
                "name": f"GPU-{n}",
                "containerEdits": {
                    "deviceNodes": [{"path": f"/dev/{self.file(n)}"}],
                    "mounts": [self.mount(f"of-{n}", f"/opt/of-{n}")],
                    "env": [f"OF_{n}=yes"],
                },
            }
            for n in range(2)
        ]
        library = f"{LIBRARIES}/libcuda.so.{VERSION}"
        link = f"libcuda.so.1::{LIBRARIES}/libcuda.so"
        hook = {"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook"}
        return {
            "cdiVersion": "0.6.0",
            "kind": "nvidia.com/gpu",
            "devices": [*devices, *more],
            "containerEdits": {
                "deviceNodes": [{"path": "/dev/nvidiactl"}, {"path": "/dev/nvidia-uvm"}],
                "env": ["NVIDIA_VISIBLE_DEVICES=void", "FROM_SPEC=yes"],
                "mounts": [self.mount("library", library)],
                "hooks": [
                    {**hook, "args": ["nvidia-cdi-hook", "create-symlinks", "--link", link]},
                    {**hook, "args": ["nvidia-cdi-hook", "update-ldcache", "--folder", LIBRARIES]},
                    {**hook, "path": "/bin/false", "args": ["false"]},
                ],
                "additionalGids": [44],
                **edits,
            },
        }

    def mount(self, name: str, at: str) -> Json:
        return {"hostPath": f"{self.files}/{name}", "containerPath": at, "options": ["ro", "bind"]}

    def file(self, n: int) -> str:
        return f"nvidia{self.driver.minor_of(n)}"

    def put(self, name: str, text: str) -> None:
        self.server.specs.mkdir(mode=0o755, exist_ok=True)
        (self.server.specs / name).write_text(text)
        (self.server.specs / name).chmod(0o644)

    def look(self, name: str, resources: Json) -> list[str]:
        """What a task in an image sees."""
        run = f"""export PATH=$PATH:/sbin
cd /dev; find . -type c -name 'nvidia*' | sort
for file in /opt/*; do test ! -e $file || echo $file $(cat $file) $(env | grep ^OF_); done
test -n "$FROM_SPEC" || exit 0
echo $FROM_SPEC $NVIDIA_VISIBLE_DEVICES $(id -G)
cd {LIBRARIES}
ls | grep cuda; readlink libcuda.so; readlink libcuda.so.1; ldconfig -p | grep -c cuda.so
(echo change >libcuda.so.{VERSION}) 2>/dev/null || echo read-only
"""
        job = self.server.run(native(name, run=run, image=self.image, resources=resources))
        assert job["state"] == "succeeded", job
        return self.server.log(job["number"]).splitlines()


@pytest.fixture
def machine(tmp_path: Path, image: str) -> Iterator[Machine]:
    driver = Driver(tmp_path / "driver")
    files = tmp_path / "files"
    files.mkdir()
    for name in ("of-0", "of-1"):
        (files / name).write_text(name)
    source = tmp_path / "library.c"
    source.write_text("int cuda;\n")
    options = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    subprocess.run(["gcc", *options, "-o", files / "library", source], check=True)
    names = [f"nvidia{driver.minor_of(n)}" for n in range(2)]
    devices = {name: (MAJOR, n) for n, name in enumerate(names)}
    devices |= {"nvidiactl": (MAJOR, 255), "nvidia-modeset": (MAJOR, 254)}
    devices |= {"nvidia-uvm": (CAPS_MAJOR - 1, 0)}
    devices |= {f"nvidia-caps/nvidia-cap{n}": (CAPS_MAJOR, n) for n in (30, 31, 40, 41)}
    env = {**driver.env, "CUDA_VISIBLE_DEVICES": "1"}
    flags = ("--runtime", "auto")
    one = Machine(Specified(nodes="", flags=flags, env=env, devices=devices), driver, files, image)
    driver.say(device(0), device(1))
    yield one
    closed(one.server)
    driver.close()


def yaml_of(tree: object, indent: str = "") -> str:
    """In blocks, as nvidia-ctk writes it."""
    if isinstance(tree, dict):
        parts = [(f"{indent}{key}:", value) for key, value in tree.items()]
    elif isinstance(tree, list):
        parts = [(f"{indent}-", value) for value in tree]
    else:
        return f" {json.dumps(tree)}\n"
    text = "".join(front + yaml_of(value, f"{indent}  ") for front, value in parts)
    return f"\n{text}" if indent else text


def test_a_task_has_what_the_specification_says(machine: Machine) -> None:
    """Its device's and what all share, links and the loader's cache, and nothing of device 0."""
    machine.put("nvidia.yaml", "---\n" + yaml_of(machine.say()))
    machine.server.start()
    seen = machine.look("has", gpus(1))
    own = sorted(f"./{name}" for name in (machine.file(1), "nvidiactl", "nvidia-uvm"))
    assert seen[:3] == own, seen
    assert seen[3] == "/opt/of-1 of-1 OF_1=yes", seen
    assert seen[4].startswith("yes 1 "), seen
    assert "44" in seen[4].split()[2:], seen
    libraries = ["libcuda.so", "libcuda.so.1", f"libcuda.so.{VERSION}"]
    assert seen[5:8] == libraries, seen
    assert seen[8:11] == ["libcuda.so.1", f"libcuda.so.{VERSION}", "2"], seen
    assert seen[-1] == "read-only", seen
    state, found = machine.server.doctor()
    assert (state, found) == ("ok", "images get devices as /var/run/cdi/nvidia.yaml says")
    assert machine.look("none", {"cpu": 1}) == []


def said(machine: Machine, text: str) -> bool:
    logs = [one for one in machine.server.state.rglob("*") if one.is_file()]
    return any(text in one.read_text(errors="replace") for one in logs if one.stat().st_size < 1e6)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("broken.yaml", "kind: [", "/var/run/cdi/broken.yaml: "),
        ("new.json", '{"kind": "nvidia.com/gpu", "cdiVersion": "2.0.0"}', "cdiVersion"),
        ("old.json", "", "libcuda.so.1.2 is not on this machine"),
    ],
)
def test_one_that_cannot_be_used(machine: Machine, name: str, text: str, why: str) -> None:
    """Devices are shown as without, and log and doctor say why."""
    missing = {"hostPath": "/nowhere/libcuda.so.1.2", "containerPath": "/libcuda.so.1"}
    machine.put(name, text or json.dumps(machine.say(mounts=[missing])))
    machine.server.start()
    seen = machine.look("has", gpus(1))
    own = (machine.file(1), "nvidiactl", "nvidia-uvm", "nvidia-modeset")
    assert seen == sorted(f"./{one}" for one in own), seen
    wait_for(lambda: said(machine, "cdi.unused") and said(machine, why))
    state, found = machine.server.doctor()
    assert state == "note" and why in found, found


def test_one_that_others_may_write_is_not_read(machine: Machine) -> None:
    machine.put("nvidia.json", json.dumps(machine.say()))
    (machine.server.specs / "nvidia.json").chmod(0o666)
    machine.server.start()
    assert "./nvidia-modeset" in machine.look("has", gpus(1))
    state, found = machine.server.doctor()
    assert state == "note" and "others may write it" in found, found


def test_instances(machine: Machine, tmp_path: Path) -> None:
    """Of one device: the files of the instance's capabilities, and not those of the other."""
    minor = machine.driver.minor_of(0)
    for gi, cap in ((9, 30), (11, 40)):
        at = tmp_path / f"capabilities/gpu{minor}/mig/gi{gi}"
        (at / "ci0").mkdir(parents=True)
        for where, number in ((at, cap), (at / "ci0", cap + 1)):
            where.joinpath("access").write_text(f"DeviceFileMinor: {number}\n")
    parts = [
        {
            "name": f"0:{n}",
            "containerEdits": {
                "deviceNodes": [
                    {"path": f"/dev/{machine.file(0)}"},
                    *({"path": f"/dev/nvidia-caps/nvidia-cap{one}"} for one in (cap, cap + 1)),
                ]
            },
        }
        for n, cap in enumerate((30, 40))
    ]
    machine.driver.say(device(0), instance(0, 9), instance(0, 11, profile="3g.40gb"), device(1))
    machine.put("nvidia.json", json.dumps({**machine.say(), "devices": parts}))
    caps = {"MUSTER_GPU_CAPABILITIES": str(tmp_path / "capabilities")}
    machine.server.env = {**machine.driver.env, **caps}
    machine.server.start()
    for profile, cap in (("1g.10gb", 30), ("3g.40gb", 40)):
        seen = machine.look("part", gpus(1, profile))
        own = (machine.file(0), "nvidiactl", "nvidia-uvm")
        files = [*own, *(f"nvidia-caps/nvidia-cap{one}" for one in (cap, cap + 1))]
        assert seen[:5] == sorted(f"./{one}" for one in files), seen
    state, found = machine.server.doctor()
    assert state == "note" and f"/dev/{machine.file(1)} alone" in found, found
