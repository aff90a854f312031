"""A server with machines of a laboratory as its nodes. Each machine has muster-node on its own disk
and a host, which is started as a service would: again when it ended, unless the machine is off."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conftest import closed
from harness import Json, alive, by_depth, kill, native, parent, proc_bytes, program, wait_for
from lab import Lab, LabServer, Machine, lab, namespace

PORT = 6879
LABEL = {"at": "lab"}

NVIDIA_SMI = """#!/bin/sh
for n in {numbers}; do
    echo "$n, 00000000:0$n:00.0, GPU-{name}-$n, 16384, [N/A], NVIDIA A100-SXM4-40GB"
done
"""


@dataclass
class Nodes:
    """The server and its machines, all of them up unless a test has done something to them."""

    lab: Lab
    server: LabServer
    gpus: int = 0
    dirs: dict[str, Path] = field(default_factory=dict)  # of hosts that are elsewhere

    # ---- joining ----

    def dir(self, machine: Machine) -> Path:
        return self.dirs.get(machine.name, machine.home / ".muster" / machine.name)

    def add(self, machine: Machine, server: LabServer | None = None, port: int = PORT) -> Json:
        """Or again, with a new token."""
        there = server or self.server
        body = json.dumps({"name": machine.name, "labels": LABEL, "address": machine.address})
        said: Json = there.api("POST", "/v1/machines", body).good().json()
        self.write_conf(machine, tcp=f"{self.lab.address(0)}:{port}", pin=said["pin"],
                        token=said["token"], node=machine.name)  # fmt: skip
        return said

    def write_conf(self, machine: Machine, **values: str) -> None:
        """Changes these lines of host.conf."""
        path = machine.outside(self.dir(machine)) / "host.conf"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        kept = [line for line in lines if line.split("=")[0] not in values]
        new = path.with_suffix(".new")
        new.write_text("\n".join([*kept, *(f"{k}={v}" for k, v in values.items()), ""]))
        new.chmod(0o600)
        new.rename(path)

    def install(self, machine: Machine) -> None:
        """What `muster nodes add` brings, and a driver's program where there are devices."""
        there = machine.outside(machine.home / "bin")
        there.mkdir(parents=True, exist_ok=True)
        shutil.copy2(program().resolve().with_name("muster-node"), there / "muster-node")
        if self.gpus:
            numbers = " ".join(map(str, range(self.gpus)))
            smi = there / "nvidia-smi"
            smi.write_text(NVIDIA_SMI.format(numbers=numbers, name=machine.name))
            smi.chmod(0o755)

    def start_host(self, machine: Machine) -> None:
        bin_dir = machine.home / "bin"
        command = f"PATH={bin_dir}:$PATH; exec {bin_dir}/muster-node host {self.dir(machine)}"
        machine.spawn("sh", "-c", command, log=self.log(machine))

    def log(self, machine: Machine) -> Path:
        return self.lab.folder / f"{machine.name}.host"

    def said(self, machine: Machine) -> str:
        return self.log(machine).read_text(errors="replace")

    def join(self, machine: Machine) -> None:
        self.install(machine)
        self.add(machine)
        self.start_host(machine)

    def power_on(self, machine: Machine) -> None:
        machine.on()
        self.start_host(machine)

    # ---- looking ----

    def state(self, machine: Machine) -> str:
        rows = self.server.get("/v1/nodes")["nodes"]
        return str(next((row["state"] for row in rows if row["name"] == machine.name), "absent"))

    def wait_state(self, state: str, *machines: Machine) -> None:
        for one in machines or self.lab.machines:
            wait_for(lambda m=one: self.state(m) == state, what=f"{one.name} {state}")  # type: ignore[misc]

    def processes(self, machine: Machine) -> dict[str, list[int]]:
        """Those of muster-node there, by what they are; what is left is the tasks'."""
        pids = [pid for pid in machine.pids() if pid != machine.pid and parent(pid) != machine.pid
                or b"muster-node" in proc_bytes(pid, "cmdline")]  # fmt: skip
        lines = {pid: proc_bytes(pid, "cmdline") for pid in pids}
        hosts, *_ = by_depth(pid for pid, line in lines.items() if b"\0host\0" in line)
        keepers, agents, tasks = by_depth(p for p, line in lines.items() if b"\0keeper\0" in line)
        tasks += [
            pid
            for pid, line in lines.items()
            if b"\0host\0" not in line
            and b"\0keeper\0" not in line
            and b"MUSTER_ATTEMPT_COOKIE=" in proc_bytes(pid, "environ")
        ]
        return {"host": hosts, "keeper": keepers, "agent": agents, "task": tasks}

    def kill_host(self, machine: Machine) -> None:
        """And waits: while it dies it holds its lock, and another would leave again."""
        (pid,) = self.processes(machine)["host"]
        kill(pid, signal.SIGKILL)
        wait_for(lambda: not alive(pid), what=f"the end of {machine.name}'s host")

    # ---- jobs ----

    def job(self, name: str, run: str, replicas: int = 1, **fields: Any) -> str:
        """For machines of the laboratory."""
        place = {"labels": LABEL, **fields.pop("place", {})}
        return native(name, run, replicas, place=place, **fields)

    def submit(self, name: str, run: str, replicas: int = 1, **fields: Any) -> int:
        return self.server.submit(self.job(name, run, replicas, **fields))


@contextmanager
def nodes(size: int, gpus: int = 0, disk: str = "", **options: Any) -> Iterator[Nodes]:
    """All of them joined."""
    with lab(size, disk) as place:
        where = ("--agents", f"{place.address(0)}:{PORT}", *options.pop("flags", ()))
        server = LabServer(nodes="name=here,1cpu,1Gi", flags=where, lab=place, **options)
        try:
            server.start()
            one = Nodes(place, server, gpus)
            for machine in place.machines:
                one.join(machine)
            one.wait_state("up")
            yield one
        finally:
            closed(server)


__all__ = ["LABEL", "PORT", "Nodes", "namespace", "nodes"]
