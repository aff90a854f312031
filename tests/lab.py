"""Machines that are namespaces of this one, for tests of what crosses a network. Each has a
network, process ids, mounts, a hostname, a boot id and a disk of its own; of this machine it sees
the system's files, and neither /tmp, where servers of tests are, nor another machine's disk. One
folder, of which only tasks are told, is on all machines, for what they leave to the test.

Place 0 is the server's: this machine's files and processes, in a network of its own. The bridge
between all of them is in a namespace that has nothing else, so laboratories do not meet, and
nothing of one shows outside. What holds a namespace ends with the test program, however that ends.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness import Server, all_pids, proc_bytes, start_time, wait_for

NET = "10.77.0"
MACHINES_MAX = 64
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
PROGRAMS = {
    "ip": "iproute2",
    "nft": "nftables",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
}

# Nothing listens there: who asks is refused at once, and waits for no answer.
RESOLVER = "nameserver 127.0.0.1\n"

# The first process of a machine: makes what is its own, then buries orphans. $1 is the name, $2 the
# disk, $3 where the disk is seen from inside, for all machines the same, $4 what all of them share.
INIT = """
set -e
mount --make-rprivate /
hostname "$1"
mount -t tmpfs -o mode=755 run /run
mkdir /run/disk /run/shared
mount --bind "$2" /run/disk
mount --bind "$4" /run/shared
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs -o mode=1777 tmp /var/tmp
mkdir "$3"
mount --move /run/disk "$3"
mkdir -p "$3/shared"
mount --move /run/shared "$3/shared"
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t proc proc /proc
mount --bind "$3/etc/hosts" /etc/hosts
[ ! -e /etc/resolv.conf ] || mount --bind "$3/etc/resolv.conf" /etc/resolv.conf
[ ! -f /etc/machine-id ] || mount --bind "$3/etc/machine-id" /etc/machine-id
mount --bind "$3/etc/boot_id" /proc/sys/kernel/random/boot_id
ip link set lo up
: > "$3/etc/ready"
set +e
while :; do sleep 1000 & wait $!; done
"""


def run(command: Sequence[str | Path], text: str = "") -> str:
    done = subprocess.run(
        [str(word) for word in command],
        input=text,
        env={**os.environ, "PATH": PATH},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command}: {done.stderr or done.stdout}")
    return done.stdout


@functools.cache
def why_none() -> str:
    """Why there can be no laboratory here; "": there can."""
    if os.geteuid() != 0:
        return "network namespaces are made by root"
    for name, package in PROGRAMS.items():
        if not shutil.which(name, path=PATH):
            return f"{name} is not installed ({package})"
    try:
        with lab(1) as one:
            one.at(1).run("true")
    except (RuntimeError, TimeoutError) as failed:
        return f"namespaces cannot be made here: {failed}"
    return ""


def as_user(entry: pwd.struct_passwd) -> list[str]:
    """Before a command: runs it as that account of this machine, with nothing of root's."""
    ids = ["--reuid", str(entry.pw_uid), "--regid", str(entry.pw_gid), "--clear-groups"]
    return ["setpriv", *ids, "--inh-caps=-all", "--"] if entry.pw_uid else []


def holder(*command: str | Path, log: Path | None = None) -> subprocess.Popen[bytes]:
    """A process that is there for its namespaces, as long as this program is."""
    with open(log or os.devnull, "ab") as out:
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *map(str, command)],
            env={**os.environ, "PATH": PATH},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


@dataclass
class Place:
    """An end of the network: 0 is the server's."""

    lab: Lab
    number: int
    pid: int = 0  # that holds its namespaces; 0: it is off

    @property
    def name(self) -> str:
        return f"m{self.number}"

    @property
    def address(self) -> str:
        return self.lab.address(self.number)

    @property
    def way(self) -> list[str]:
        """Before a command: runs it there."""
        assert self.pid, f"{self.name} is off"
        return ["nsenter", "-t", str(self.pid), "-n", "--"]

    def run(self, *command: str | Path) -> str:
        return run([*self.way, *command])

    def spawn(self, *command: str | Path, log: Path | None = None) -> None:
        """Runs there until the machine is off, as nobody's child; what it says goes to that file.
        An nsenter that stayed would stop with what it started, and not go on with it."""
        with open(log or os.devnull, "ab") as out:
            subprocess.run(
                [*self.way, "setsid", "--fork", *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                check=True,
            )

    def connect(self) -> None:
        """A cable from the bridge to its network."""
        far = ["netns", str(self.pid)]
        with suppress(RuntimeError):  # the cable of a machine that was off
            self.lab.ip("link", "del", self.cable)
        self.lab.ip("link", "add", self.cable, "type", "veth", "peer", "name", "eth0", *far)
        self.lab.ip("link", "set", self.cable, "master", "br0", "up")
        self.run("ip", "addr", "add", f"{self.address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "link", "set", "eth0", "up")
        self.run("ip", "route", "add", "default", "dev", "eth0")

    @property
    def cable(self) -> str:
        return f"v{self.number}"

    def limit(self, rate: str) -> None:
        """What comes to it, by the second: "80mbit"; "": without a limit."""
        with suppress(RuntimeError):
            self.lab.tool("tc", "qdisc", "del", "dev", self.cable, "root")
        if rate:
            shape = ["tbf", "rate", rate, "burst", "64k", "latency", "200ms"]
            self.lab.tool("tc", "qdisc", "add", "dev", self.cable, "root", *shape)


@dataclass
class Machine(Place):
    """One that can be switched off. Its files are at `home`, which is the same path on all of them;
    `outside` is where the test finds them."""

    boots: int = 0

    @property
    def home(self) -> Path:
        return self.lab.folder / "home"

    @property
    def disk(self) -> Path:
        return self.lab.disks / self.name

    def outside(self, inside: Path | str) -> Path:
        return self.disk / Path(inside).relative_to(self.lab.folder)

    @property
    def way(self) -> list[str]:
        assert self.pid, f"{self.name} is off"
        target = ["nsenter", "-t", str(self.pid), "-n", "-u", "-i", "-m", "-p", "--wd=/", "--"]
        return [*target, "env", "-u", "XDG_RUNTIME_DIR", f"HOME={self.home}"]

    def on(self) -> None:
        """Its disk is as it was, and nothing runs."""
        assert not self.pid, f"{self.name} is on"
        etc = self.disk / "etc"
        for folder in (self.disk / "home", etc):
            folder.mkdir(parents=True, exist_ok=True)
        (etc / "hosts").write_text(self.lab.hosts)
        (etc / "resolv.conf").write_text(RESOLVER)
        if not (etc / "machine-id").exists():
            (etc / "machine-id").write_text(f"{uuid.uuid4().hex}\n")
        (etc / "boot_id").write_text(f"{uuid.uuid4()}\n")
        (etc / "ready").unlink(missing_ok=True)
        log = self.lab.folder / f"{self.name}.log"
        own = ["--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child=KILL"]
        init = ["init", self.name, self.disk, self.lab.folder, self.lab.shared]
        unshare = ["unshare", *own, "--", "bash", "-c", INIT, *map(str, init)]
        process = holder(*self.lab.switch_way, *unshare, log=log)
        self.lab.holders.append(process)

        def is_up() -> int:
            assert process.poll() is None, log.read_text()
            return first_child(process.pid) if (etc / "ready").exists() else 0

        try:
            self.pid = wait_for(is_up, what=self.name, every=0.002)
        except AssertionError as failed:
            raise RuntimeError(str(failed)) from failed
        self.boots += 1
        self.connect()

    def off(self) -> None:
        """At once and silently. The cable goes first: dying sockets say so to their peers."""
        self.lab.unplug(self)
        self.die()

    def die(self) -> None:
        pid, self.pid = self.pid, 0
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: start_time(pid) is None, what=f"the end of {self.name}")

    def pids(self) -> list[int]:
        """What lives there, as numbers of this machine."""
        if not self.pid:
            return []
        mark = namespace(self.pid)
        return [pid for pid in all_pids() if namespace(pid) == mark and start_time(pid)]

    def freeze(self) -> None:
        """Until none goes on: one may be starting another. Its kernel still answers."""
        while going := [pid for pid in self.pids() if state(pid) not in "TtZX"]:
            for pid in going:
                signal_to(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in self.pids():
            signal_to(pid, signal.SIGCONT)


def first_child(pid: int) -> int:
    """Below `unshare`, or below the nsenter that started one."""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
    return 0


def namespace(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def state(pid: int) -> str:
    return (proc_bytes(pid, "stat").rpartition(b")")[2].split() or [b"X"])[0].decode()


def signal_to(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


@dataclass
class Lab:
    folder: Path
    size: int
    disk: str = ""  # of each machine, as tmpfs has it ("64m"); "": without a limit
    holders: list[subprocess.Popen[bytes]] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    switch: int = 0

    # ---- what there is ----

    @property
    def head(self) -> Place:
        return self.places[0]

    @property
    def machines(self) -> list[Machine]:
        return [one for one in self.places if isinstance(one, Machine)]

    def at(self, number: int) -> Machine:
        one = self.places[number]
        assert isinstance(one, Machine)
        return one

    def address(self, number: int) -> str:
        return f"{NET}.{10 + number}"

    @property
    def hosts(self) -> str:
        rows = [f"{self.address(n)} m{n}" for n in range(self.size + 1)]
        return "\n".join(["127.0.0.1 localhost", *rows, ""])

    @property
    def shared(self) -> Path:
        """Where tasks leave for the test what happened, on any machine: the same path on all."""
        return self.folder / "shared"

    @property
    def disks(self) -> Path:
        """Disks that are limited are mounted where the switch is, and nowhere else."""
        inside = self.folder / "disks"
        return Path(f"/proc/{self.switch}/root{inside}") if self.disk else inside

    # ---- making and ending it ----

    @property
    def switch_way(self) -> list[str]:
        return ["nsenter", "-t", str(self.switch), "-n", "-m", "--"]

    def tool(self, *command: str) -> str:
        return run([*self.switch_way, *command])

    def ip(self, *words: str) -> str:
        return self.tool("ip", *words)

    def nft(self, *words: str) -> str:
        return self.tool("nft", *words)

    def hold(self, *namespaces: str) -> int:
        """A process in new namespaces."""
        process = holder("unshare", *namespaces, "--", "sleep", "infinity")
        self.holders.append(process)
        wait_for(
            lambda: process.poll() is not None or proc_bytes(process.pid, "comm") == b"sleep\n",
            what="new namespaces",
            every=0.002,
        )
        if process.poll() is not None:
            raise RuntimeError(f"unshare {' '.join(namespaces)} ended with {process.returncode}")
        return process.pid

    def up(self) -> None:
        self.shared.mkdir()
        self.switch = self.hold("--net", "--mount", "--propagation", "private")
        self.ip("link", "add", "br0", "type", "bridge")
        self.ip("link", "set", "br0", "up")
        self.nft("add table bridge lab")
        self.nft("add chain bridge lab cuts { type filter hook forward priority 0; }")
        head = Place(self, 0)
        self.places.append(head)
        head.pid = self.hold("--net")
        head.connect()
        for number in range(1, self.size + 1):
            one = Machine(self, number)
            inside = self.folder / "disks" / one.name
            inside.mkdir(parents=True)
            if self.disk:
                self.tool("mount", "-t", "tmpfs", "-o", f"size={self.disk}", "disk", str(inside))
            self.places.append(one)
            one.on()

    def down(self) -> None:
        for one in self.machines:
            if one.pid:
                one.die()
        for process in self.holders:
            process.kill()
            process.wait()

    # ---- the network ----

    def number(self, place: int | Place) -> int:
        return place if isinstance(place, int) else place.number

    def half(self, sender: int | Place, receiver: int | Place) -> None:
        """Drops what one sends to the other, silently; the way back is open."""
        here, there = self.number(sender), self.number(receiver)
        match = f"ip saddr {self.address(here)} ip daddr {self.address(there)}"
        self.nft(f"add rule bridge lab cuts {match} counter drop")

    def cut(self, one: int | Place, other: int | Place) -> None:
        self.half(one, other)
        self.half(other, one)

    def unplug(self, place: int | Place) -> None:
        self.ip("link", "set", self.places[self.number(place)].cable, "down")

    def heal(self) -> None:
        """All cuts, and the cables of those that are on."""
        self.nft("flush chain bridge lab cuts")
        for one in self.places:
            if one.pid:
                self.ip("link", "set", one.cable, "up")


@contextmanager
def lab(size: int, disk: str = "") -> Iterator[Lab]:
    """Below /var/tmp: what is below /tmp no machine sees."""
    assert 0 < size <= MACHINES_MAX
    folder = Path(tempfile.mkdtemp(prefix="muster-lab-", dir="/var/tmp"))
    one = Lab(folder, size, disk)
    try:
        one.up()
        yield one
    finally:
        with contextlib.ExitStack() as last:
            last.callback(shutil.rmtree, folder, ignore_errors=True)
            one.down()


@dataclass
class LabServer(Server):
    """A server at place 0: its port for machines is in no other network."""

    lab: Lab | None = None

    def command(self) -> list[str]:
        assert self.lab
        return [*self.lab.head.way, *super().command()]


__all__ = ["Lab", "LabServer", "Machine", "Place", "as_user", "lab", "why_none"]
