"""A real sshd of the test's own: on a loopback port, as the test's user, with keys, configuration
and a home directory of its own for whoever logs in."""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from harness import free_port, wait_for

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def why_no_sshd() -> str:
    """Why there is no machine to reach by ssh; "": there is."""
    if not SSHD or not shutil.which("ssh") or not shutil.which("ssh-keygen"):
        return "openssh-server and openssh-client are not installed"
    return ""


def key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


@dataclass
class Machine:
    """What ssh reaches as `name`."""

    folder: Path
    name: str = "far1"
    path: str = ""  # in front of PATH there
    before: tuple[str, ...] = ()  # sshd's own command line: in a machine of the laboratory
    address: str = "127.0.0.1"
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def dir(self) -> Path:
        return self.home / ".muster" / self.name

    @property
    def ssh(self) -> str:
        """For --ssh: knows the machine, the key and nothing else of this user's."""
        return "ssh -F " + shlex.quote(str(self.folder / "ssh_config"))

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True)
        key(self.folder / "host_key")
        key(self.folder / "user_key")
        public = (self.folder / "user_key.pub").read_text()
        (self.folder / "authorized").write_text(public)
        self.know(self.folder / "host_key.pub")
        self.configure()
        self.start()

    def know(self, public: Path) -> None:
        kind, text = public.read_text().split()[:2]
        (self.folder / "known").write_text(f"[{self.address}]:{self.port} {kind} {text}\n")

    def configure(self, port: int = 0) -> None:
        user = pwd.getpwuid(os.getuid()).pw_name
        path = f"{self.path}:{os.environ['PATH']}" if self.path else os.environ["PATH"]
        (self.folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress {self.address}\nHostKey {self.folder}/host_key\n"
            f"AuthorizedKeysFile {self.folder}/authorized\nStrictModes no\nUsePAM no\n"
            f"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPidFile none\n"
            f"PermitRootLogin yes\nSetEnv HOME={self.home} XDG_RUNTIME_DIR={self.folder}/none "
            f"PATH={path}\n"
        )
        (self.folder / "ssh_config").write_text(
            f"Host {self.name}\n  HostName {self.address}\n  Port {port or self.port}\n"
            f"  User {user}\n  IdentityFile {self.folder}/user_key\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {self.folder}/known\n  GlobalKnownHostsFile none\n"
            "  StrictHostKeyChecking yes\n"
        )

    def start(self) -> None:
        assert SSHD
        (self.folder / "sshd.log").unlink(missing_ok=True)
        if os.geteuid() == 0:  # where the system's own has never run
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        with (self.folder / "sshd.log").open("ab") as log:
            process = subprocess.Popen(
                [*self.before, SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        log_file = self.folder / "sshd.log"
        wait_for(
            lambda: "listening" in log_file.read_text() or process.poll() is not None, what="sshd"
        )
        assert process.poll() is None, log_file.read_text()
        self.process = process

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None

    def conf(self) -> dict[str, str]:
        lines = (self.dir / "host.conf").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)
