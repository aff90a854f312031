"""Jobs that submit jobs: `server: submit`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from accounts import Account, Shared
from harness import Server, native, program

Starter = Callable[..., Server]
ENTRY = "exec 2>&1\nset -e\n"


def test_a_job_submits_watches_and_stops_jobs(server: Server) -> None:
    muster = program()
    script = f"""{ENTRY}
child=$({muster} submit -q -- sh -c 'echo from the child')
{muster} wait $child
{muster} logs $child
long=$({muster} submit -q -- sleep 600)
{muster} stop --now $long
{muster} wait $long || true
{muster} ls --all >/dev/null
echo $child $long"""
    parent = server.submit(native("parent", script, server="submit"))
    job = server.wait(parent, "succeeded", "failed")
    said = server.log(parent)
    assert job["state"] == "succeeded", said
    assert "from the child" in said
    child, stopped = map(int, said.splitlines()[-1].split())
    told = server.job(child)
    assert told["parent"] == parent and told["owner"] == job["owner"]
    assert server.state_of(stopped) == "stopped"
    assert f"job {parent}" in server.muster("show", child).stdout
    assert "parent" not in server.job(parent)


def test_a_job_that_does_not_say_so_is_told_what_to_say(server: Server) -> None:
    muster = program()
    number = server.submit(native("mute", f"{muster} submit -- true; test $? = 5"))
    server.wait(number, "succeeded", "failed")
    said = server.log(number)
    assert "server: submit" in said, said
    assert server.state_of(number) == "succeeded", said


def test_children_of_children(server: Server) -> None:
    muster = program()
    inner = f"{muster} submit -q -- true >&2; env -u MUSTER_JOB_TOKEN true"
    script = f"{ENTRY}{muster} run --set server=submit -- sh -c '{inner}'"
    parent = server.submit(native("grand", script, server="submit"))
    server.wait(parent, "succeeded", "failed")
    said = server.log(parent)
    assert server.state_of(parent) == "succeeded", said
    children = [j for j in server.get("/v1/jobs", limit=20)["jobs"] if j["number"] > parent]
    parents = [server.job(j["number"]).get("parent") for j in reversed(children)]
    assert parents[:2] == [parent, children[-1]["number"]], said


def test_children_run_as_the_account_of_their_parent(
    shared: Callable[..., Shared], accounts: list[Account]
) -> None:
    server = shared()
    muster = program()
    if Path("/tmp") in muster.resolve().parents:
        pytest.skip("tasks of an account have a /tmp of their own, and the programs lie in /tmp")
    ann, ben, _ = accounts
    victim = server.submit_as(ben, "exec sleep 600")
    server.wait(victim, "running")
    script = f"""{ENTRY}
{muster} run -- id -un
{muster} stop {victim} || echo refused $?
{muster} token create || echo refused $?"""
    said = server.output(ann, script, server="submit")
    assert ann.name in said.split(), said
    assert said.count("refused 5") == 2, said
    assert server.state_of(victim) == "running"
