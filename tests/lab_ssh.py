"""sshd on machines of a laboratory, and what ssh needs at the server's place to reach them: keys
and a configuration of its own. Whoever logs in is at home where the machine's disk is."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import wait_for
from lab import PATH, Lab, Machine, as_user, run

THERE = """HostKey {sshd}/host
AuthorizedKeysFile {sshd}/authorized
StrictModes no
UsePAM no
PidFile none
PermitRootLogin yes
MaxSessions 100
MaxStartups 100
SetEnv HOME={home} PATH={path}
"""
HERE = """Host *
  User {user}
  IdentityFile {folder}/user
  LogLevel ERROR
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
"""
MASTERS = """  ControlPath {folder}/%h
  ControlMaster auto
  ControlPersist 600
"""


class Ssh:
    """As that user, from the server's place; `masters`: over one kept connection to a machine."""

    def __init__(self, lab: Lab, user: str = "root", masters: bool = False) -> None:
        self.lab, self.entry, self.masters = lab, pwd.getpwnam(user), masters
        self.folder = Path(tempfile.mkdtemp(prefix="ssh-", dir="/tmp"))
        for name in ("host", "user"):
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name])
        shutil.copy(self.folder / "user.pub", self.folder / "authorized")
        self.write_config()
        for path in (self.folder, *self.folder.iterdir()):
            os.chown(path, self.entry.pw_uid, self.entry.pw_gid)
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        for machine in lab.machines:
            self.install(machine)
            self.serve(machine)

    def write_config(self) -> None:
        names = [f"Host {one.name}\n  HostName {one.address}\n" for one in self.lab.machines]
        every = HERE + (MASTERS if self.masters else "")
        text = every.format(user=self.entry.pw_name, folder=self.folder)
        (self.folder / "config").write_text("".join(names) + text)

    def install(self, machine: Machine) -> None:
        """Its files are copied: /tmp is another one there."""
        there, inside = machine.outside(machine.home) / "sshd", machine.home / "sshd"
        there.mkdir()
        for name in ("host", "authorized"):
            shutil.copy(self.folder / name, there / name)
        text = THERE.format(sshd=inside, home=machine.home, path=os.environ["PATH"])
        (there / "config").write_text(text)

    def serve(self, machine: Machine) -> None:
        """Returns when it lets in."""
        sshd = shutil.which("sshd", path=PATH)
        start = f"mkdir -p /run/sshd && exec {sshd} -D -f {machine.home}/sshd/config"
        machine.spawn("sh", "-c", start)
        wait_for(lambda: self.call(machine, "true").wait() == 0, what=f"sshd of {machine.name}")

    @property
    def words(self) -> list[str]:
        return ["ssh", "-F", str(self.folder / "config")]

    def call(
        self, machine: Machine, *command: str, out: int | None = None
    ) -> subprocess.Popen[bytes]:
        words = [*self.lab.head.way, *as_user(self.entry), *self.words, machine.name, *command]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out or subprocess.DEVNULL)

    def close(self) -> None:
        if self.masters:
            for machine in self.lab.machines:
                self.call(machine, "-O", "exit").wait()
        shutil.rmtree(self.folder)
