"""What people do with a running task, where that is on another machine: a terminal, its stdin, a
signal; and the node check of a launcher there. All of it goes over the agent's one connection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Starter
from harness import VENV, Server, native, wait_for
from test_attach import LEAVE, screen
from test_machines import AGENTS, add, host, wait_state, write_conf
from test_node_check import SCRIPT

LISTENS = """
trap 'echo signalled' USR1
echo ready
while read -r line || [ $? -gt 128 ]; do [ -z "$line" ] || echo got $line; done
echo over
"""


@pytest.fixture
def server(start: Starter, tmp_path: Path) -> Iterator[Server]:
    """With two machines, and no room for a task beside them."""
    env = {"MUSTER_PYTHON": str(VENV / "python")}
    one = start(nodes="name=here,1cpu,1Gi", flags=AGENTS, env=env)
    homes = [tmp_path / "m1", tmp_path / "m2"]
    for home in homes:
        write_conf(one, home, add(one, home.name))
    with host(homes[0]), host(homes[1]):
        for home in homes:
            wait_state(one, "up", home.name)
        yield one


def test_a_terminal_input_and_signals(server: Server) -> None:
    number = server.submit(native("listens", LISTENS, stdin=True, tty=True, resources={"cpu": 2}))
    wait_for(lambda: "ready" in server.log(number), what="the task")
    node = server.job(number)["task_list"][0]["attempts"][0]["node"]
    assert node in ("m1", "m2")

    with screen(server, "exec", number, "--", "sh") as at:
        at.type("stty size; echo on $MUSTER_NODE\n")
        at.see("33 99")
        at.see(f"on {node}")
        at.type("exit 7\n")
        assert at.code() == 7

    with screen(server, "attach", number) as at:
        at.read_until("Ctrl-P Ctrl-Q leaves it running")
        at.type("one\n")
        at.see("got one")
        at.type(LEAVE)
        at.see("worker/0 goes on")
        assert at.code() == 0
    assert server.muster("signal", number, "USR1").returncode == 0
    wait_for(lambda: "signalled" in server.log(number), what="the signal")
    assert server.muster("attach", "--eof", number, stdin="two\n").returncode == 0
    server.wait(number, "succeeded")
    said = server.log(number).replace("\r", "").splitlines()
    spoken = [line for line in said if line not in ("one", "two")]  # its terminal's echo
    assert spoken == ["ready", "got one", "signalled", "got two", "over"]


def test_the_node_check_there(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    job = native("checked", f"exec torchrun {script}", 2, launcher={"node_check": True},
                 resources={"cpu": 2}, place={"apart": ["worker"]})  # fmt: skip
    number = server.submit(job)
    server.wait(number, "succeeded")
    told = [e["text"] for e in server.events(number) if e["type"] == "launch.check"]
    for node in ("m1", "m2"):
        figures = rf"{node}: no GPU granted, matmul .* partner \d+ us$"
        assert any(re.match(figures, text) for text in told), told
