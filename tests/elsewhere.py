"""Agents on other machines, before an engine starts them there: a program in the place of
muster-node that takes the few lines of agent.conf to a directory of its own, which shares nothing
with the server's, and starts the real one over TCP."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from harness import Json, Server, program, wait_for

# Called as muster-node: VERB DIRECTORY. What stands in `server` is what an engine would know.
STARTER = """#!/bin/bash
set -e
there={home}/$(printf %s "$2" | cksum | cut -d' ' -f1)
mkdir -p "$there"
{{ sed -e '/^socket=/d' -e 's|^archive=.*/|code=|' -e 's|^images=.*|images={home}/images|' \
       "$2/agent.conf"
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
