"""The variables of tasks: the page, `check --env` and what a task really sees name the same."""

from __future__ import annotations

import json
import re

import pytest
from harness import ROOT, Json, Server, native

OURS = re.compile(
    r"MUSTER_|PET_|CUDA_VISIBLE|NVIDIA_VISIBLE|MASTER_|(LOCAL_)?(RANK|WORLD_SIZE)$|NODE_RANK$|"
    r"VIRTUAL_ENV$|PYTHONUNBUFFERED$"
)
JOBS: dict[str, Json] = {
    "native": {"ports": {"web": 1}, "config": {"a": 1}},
    "pytorch": {"conventions": ["pytorch"]},
    "array": {"array": "0-1"},
    "launcher": {
        "launcher": {"ranks_per_node": 1, "max_restarts": 2, "node_unit": 1, "node_check": True}
    },
}


def on_page() -> set[str]:
    text = (ROOT / "doc/environment.md").read_text()
    return set(re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE))


@pytest.mark.parametrize("kind", JOBS)
def test_the_page_and_the_check_name_what_a_task_sees(server: Server, kind: str) -> None:
    text = native(f"sees-{kind}", "env -0 | tr '\\n\\0' ' \\n'", replicas=2, **JOBS[kind])
    number = server.submit(text)
    server.wait(number, "succeeded", timeout=60)
    task = f"{number}[1]" if kind == "array" else str(number)
    names = [line.split("=")[0] for line in server.log(task, "worker/1").splitlines()]
    seen = {name for name in names if OURS.match(name)}
    assert "MUSTER_JOB_SECRET" in seen

    file = server.state / f"sees-{kind}.json"
    file.write_text(text)
    screen = server.muster("check", "--env", "worker/1", "--json", file)
    assert screen.returncode == 0, screen
    told = json.loads(screen.stdout)
    named = {n for n in told["env"] if OURS.match(n)} | set(told["made_when_it_starts"])
    assert seen <= named
    assert named - seen <= {"VIRTUAL_ENV", "PYTHONUNBUFFERED"}  # where the server has a Python

    page = on_page()
    plain = {re.sub(r"^MUSTER_PORT_.*", "MUSTER_PORT_LABEL", name) for name in seen}
    assert plain <= page, plain - page
