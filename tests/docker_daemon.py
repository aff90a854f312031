"""A daemon of Docker's of a test's own (Debian's docker.io): its socket, images and containers lie
in a folder, and it and its containerd are started and ended by their process numbers. It needs
root; an account is in its group, as users are in the group docker."""

from __future__ import annotations

import grp
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import HANG_S, patience, wait_for

DAEMONS = ("containerd", "dockerd")
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def why_none() -> str:
    """What is missing for a daemon; "" when nothing is."""
    if os.geteuid() != 0:
        return "only root starts Docker's daemon"
    for name in ("docker", *DAEMONS):
        if not shutil.which(name, path=PATH):
            return f"there is no {name} on this machine (apt: docker.io)"
    return ""


class Daemon:
    """why_not says why it does not run."""

    def __init__(self, folder: Path, group: int = 0) -> None:
        self.folder, self.group = folder, grp.getgrgid(group).gr_name
        self.socket = folder / "docker.sock"
        self.host = f"unix://{self.socket}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.why_not = why_none()

    def start(self) -> Daemon:
        if self.why_not:
            return self
        self.folder.mkdir(parents=True, exist_ok=True)
        pipe = self.folder / "containerd.sock"
        text = f'version = 2\nroot = "{self.folder}/c"\nstate = "{self.folder}/s"\n'
        text += 'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
        (self.folder / "containerd.toml").write_text(f'{text}[grpc]\naddress = "{pipe}"\n')
        (self.folder / "daemon.json").write_text("{}")
        places = (
            *("--containerd", pipe, "--data-root", self.folder / "data"),
            *("--exec-root", self.folder / "exec", "--pidfile", self.folder / "pid"),
            *("--config-file", self.folder / "daemon.json"),
        )
        bare = ("--iptables=false", "--bridge=none", "--storage-driver", "vfs")
        self._run("containerd", "--config", self.folder / "containerd.toml")
        if self._comes(pipe):
            self._run("dockerd", *bare, *places, "--host", self.host, "--group", self.group)
        if not self._comes(pipe) or not self._comes(self.socket) or not self.answers():
            said = (self.folder / "log").read_text(errors="replace").strip().splitlines()
            self.why_not = f"Docker's daemon does not run here: {said[-1] if said else ''}"
            self.stop()
        return self

    def _run(self, name: str, *args: str | Path) -> None:
        with (self.folder / "log").open("ab") as log:
            command = [shutil.which(name, path=PATH) or name, *map(str, args)]
            env = {**os.environ, "PATH": PATH}
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=env))

    def _comes(self, socket: Path) -> bool:
        """Or its process has ended."""
        wait_for(
            lambda: socket.exists() or any(one.poll() is not None for one in self.processes),
            timeout=2 * HANG_S,
            what=str(socket),
        )
        return all(one.poll() is None for one in self.processes)

    def docker(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["docker", *args],
            env={**os.environ, "PATH": PATH, "DOCKER_HOST": self.host},
            capture_output=True,
            text=True,
            timeout=patience(),
            check=False,
        )

    def answers(self) -> bool:
        return self.docker("version", "--format", "json").returncode == 0

    def containers(self) -> list[dict[str, str]]:
        listed = self.docker("ps", "--all", "--format", "{{json .}}").stdout
        return [json.loads(line) for line in listed.splitlines()]

    def stop(self) -> None:
        for one in reversed(self.processes):
            one.terminate()
            one.wait(patience())
        self.processes = []
        mounted = (line.split()[1] for line in Path("/proc/mounts").read_text().splitlines())
        for at in reversed([one for one in mounted if one.startswith(f"{self.folder}/")]):
            subprocess.run(["umount", at], check=True)  # what the daemon leaves


@contextmanager
def daemon(folder: Path, group: int = 0) -> Iterator[Daemon]:
    one = Daemon(folder, group).start()
    try:
        yield one
    finally:
        one.stop()
