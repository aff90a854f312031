"""Agents on other machines, before an engine starts them there: a program in the place of
muster-node that takes the few lines of agent.conf to a directory of its own, which shares nothing
with the server's, and starts the real one over TCP; and machines in network namespaces."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness import ROOT, Json, Server, program, wait_for

NETNS_LAB = ROOT.parent / "shared/tools/netns-lab"

# Called as muster-node: VERB DIRECTORY. What stands in `server` is what an engine would know.
STARTER = """#!/bin/bash
set -e
there={home}/$(printf %s "$2" | cksum | cut -d' ' -f1)
mkdir -p "$there"
{{ sed -e '/^socket=/d' -e 's|^archive=.*/|code=|' "$2/agent.conf"
   echo cache={home}/code
   cat {home}/server; }} > "$there/agent.conf"
exec {run}{node} "$1" "$there" 2>> "$there/agent.err"
"""


@dataclass
class Elsewhere:
    """A machine's directory, and the program that starts agents in it."""

    home: Path
    run: str = ""  # before the program: how to get there
    starter: Path = field(init=False)

    def __post_init__(self) -> None:
        node = program().resolve().with_name("muster-node")
        self.home.mkdir(parents=True, exist_ok=True)
        self.starter = self.home / "starter"
        self.starter.write_text(STARTER.format(home=self.home, run=self.run, node=node))
        self.starter.chmod(0o755)

    @property
    def env(self) -> dict[str, str]:
        return {"MUSTER_NODE_PROGRAM": str(self.starter)}

    def know(self, server: Server, pin: str = "", tcp: str = "") -> None:
        """Tells this machine where the server is: agents to come, and those that are there."""
        says = told(server)
        lines = f"tcp={tcp or says['address']}\npin={pin or says['pin']}\n"
        (self.home / "server").write_text(lines)
        for conf in self.home.glob("*/agent.conf"):
            kept = [one for one in conf.read_text().splitlines() if one[:4] not in ("tcp=", "pin=")]
            fresh = conf.with_suffix(".new")
            fresh.write_text("\n".join(kept) + "\n" + lines)
            fresh.rename(conf)

    def said(self) -> str:
        return "".join(one.read_text() for one in self.home.glob("*/agent.err"))


def told(server: Server) -> Json:
    """What the server says of its agents of other machines."""
    agents: Json = server.get("/v1/server")["agents"]
    return agents


def joined(server: Server) -> int:
    return int(told(server)["joined"])


def wait_joined(server: Server, n: int = 1) -> None:
    wait_for(lambda: joined(server) >= n, what=f"{n} agents")


def why_no_lab() -> str:
    """Why there are no machines in network namespaces here; "": there are."""
    if not NETNS_LAB.exists():
        return "shared/tools/netns-lab is not beside this clone"
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not shutil.which("nft", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
        return "nft is not installed"
    return ""


@dataclass
class Lab:
    """Machines m1 ... mN, and the switch 0 that the server is at."""

    folder: Path
    net: str

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, "NETNS_LAB_DIR": str(self.folder), "NETNS_LAB_NET": self.net}

    def do(self, *args: str | int) -> str:
        command = [str(NETNS_LAB), *map(str, args)]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)
        # Processes are listed first: one that was just being made when the others stopped ends.
        gone = args[0] in ("freeze", "thaw") and "No such process" in done.stderr
        assert done.returncode == 0 or gone, (command, done.stdout, done.stderr)
        if args[0] == "thaw":
            self.continue_entered()
        return done.stdout

    def continue_entered(self) -> None:
        """An nsenter stops itself when what it started is stopped, and stays so: it is outside."""
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = entry.read_bytes().split(b"\0")
                if words[0] == b"nsenter" and any(str(self.folder).encode() in w for w in words):
                    os.kill(int(entry.parent.name), signal.SIGCONT)

    def way(self, machine: int) -> str:
        """A prefix that runs a command there."""
        where = f"NETNS_LAB_DIR={self.folder} NETNS_LAB_NET={self.net}"
        return f"env {where} {NETNS_LAB} exec {machine} "


@contextmanager
def lab(machines: int) -> Iterator[Lab]:
    """Below /var/tmp: /tmp, where the server's directories are, each machine has its own."""
    pid = os.getpid()
    one = Lab(Path(f"/var/tmp/muster-lab-{pid}"), f"10.{77 + pid % 150}.{pid // 150 % 250}")
    one.do("up", machines)
    try:
        yield one
    finally:
        one.do("down")
        shutil.rmtree(one.folder, ignore_errors=True)


@dataclass
class LabServer(Server):
    """A server at the switch of a laboratory: no other network reaches it."""

    place: Lab | None = None

    def command(self) -> list[str]:
        assert self.place
        return [*self.place.way(0).split(), *super().command()]
