"""Machines of a laboratory that `muster nodes add` has brought to an ordinary account's server: its
own directories, its own ssh, nothing of root's."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from accounts import Account
from conftest import closed
from harness import VENV, Done, environment, patience, program
from lab import LabServer, Machine, as_user, lab
from lab_nodes import PORT, Nodes
from lab_ssh import Ssh


@dataclass
class OwnServer(LabServer):
    """Started by an ordinary account, in its own directories."""

    owner: Account | None = None

    @property
    def account(self) -> Account:
        assert self.owner
        return self.owner

    def command(self) -> list[str]:
        assert self.lab
        own = super().command()[len(self.lab.head.way) :]
        return [*self.lab.head.way, *as_user(self.account.entry), *own]

    def start(self) -> OwnServer:
        os.chown(self.state, self.account.uid, self.account.entry.pw_gid)
        super().start()
        return self

    def as_owner(self, *args: str, cwd: Path | None = None, name: str | Path = "") -> Done:
        """The command line as its owner types it, at the server's place; `name`: a link to it."""
        assert self.lab
        return subprocess.run(
            [*self.lab.head.way, *as_user(self.account.entry), str(name or program()), *args],
            env=environment(self.state, HOME=str(self.account.home)),
            cwd=cwd or self.account.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience(),
            check=False,
        )


class Added(Nodes):
    """Machines that `muster nodes add` has brought, and what it said of each."""

    server: OwnServer

    def __init__(self, server: OwnServer, ssh: Ssh) -> None:
        assert server.lab
        super().__init__(server.lab, server)
        names = [one.name for one in self.lab.machines]
        words = ("nodes", "add", *names, "--ssh", " ".join(ssh.words), "--json")
        done = server.as_owner(*words, "--label", "at=lab")
        assert done.returncode == 0, done.stdout + done.stderr
        self.rows = {row["name"]: row for row in json.loads(done.stdout)["machines"]}
        assert {row["state"] for row in self.rows.values()} == {"connected"}, self.rows

    @property
    def owner(self) -> Account:
        return self.server.account

    def start_host(self, machine: Machine) -> None:
        """As cron does, by the line that `add` says."""
        (line,) = [one for one in self.rows[machine.name]["notes"] if "@reboot" in one]
        start = line.partition("@reboot")[2].strip()
        machine.spawn(*as_user(self.owner.entry), "sh", "-c", start, log=self.log(machine))


@contextmanager
def added(owner: Account) -> Iterator[Added]:
    if owner.run(str(program()), "version").returncode:
        pytest.skip(f"{program()} is out of reach for other users")
    with lab(4) as place:
        place.folder.chmod(0o711)
        place.shared.chmod(0o777)
        for machine in place.machines:
            os.chown(machine.outside(machine.home), owner.uid, owner.entry.pw_gid)
        ssh = Ssh(place, owner.name)
        server = OwnServer(
            nodes="name=here,1cpu,1Gi",
            flags=("--agents", f"{place.address(0)}:{PORT}"),
            env={"MUSTER_PYTHON": str(VENV / "python"), "HOME": str(owner.home)},
            lab=place,
            owner=owner,
        )
        try:
            server.start()
            yield Added(server, ssh)
        finally:
            closed(server)
            ssh.close()


__all__ = ["Added", "OwnServer", "added"]
