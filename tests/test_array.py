"""Arrays: one submission, many jobs; seen as one line, steered as one or one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from harness import Json, Server, native, wait_for


def submit(server: Server, name: str, run: str, **fields: Any) -> int:
    return server.submit(native(name, run, **fields))


def counts(server: Server, array: int) -> dict[str, int]:
    found: dict[str, int] = server.job(array)["member_states"]
    return found


def test_each_job_knows_which_it_is(server: Server, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    run = (
        "echo $MUSTER_ARRAY_JOB $MUSTER_ARRAY_INDEX $MUSTER_ARRAY_COUNT $MUSTER_ARRAY_FIRST "
        f"$MUSTER_ARRAY_LAST $MUSTER_ARRAY_STEP > {out}/$MUSTER_ARRAY_INDEX"
    )
    array = submit(server, "knows", run, array="1-9:4")
    assert server.wait(array)["state"] == "succeeded"
    assert {p.name: p.read_text().split() for p in out.iterdir()} == {
        str(i): [str(array), str(i), "3", "1", "9", "4"] for i in (1, 5, 9)
    }


def test_one_line_and_its_jobs(server: Server) -> None:
    array = submit(server, "line", "exit $((MUSTER_ARRAY_INDEX == 2))", array=4)
    assert server.wait(array)["state"] == "failed"
    assert [j["number"] for j in server.jobs(name="line")] == [array]
    line = server.muster("ls", "--name", "line").stdout.splitlines()[1]
    assert line.split()[:2] == [str(array), "line[0-3]"]
    assert "1 failed, 3 succeeded" in line
    listed = json.loads(server.muster("ls", str(array), "--json").stdout)["jobs"]
    assert [(j["array"], j["index"]) for j in listed] == [(array, i) for i in range(4)]
    failed = server.muster("ls", str(array), "--state", "failed", "-q").stdout
    assert failed == f"{array}[2]\n"
    shown = server.muster("show", str(array)).stdout
    assert "line[0-3]" in shown
    assert f"muster ls {array} --state failed" in shown
    assert "[2] worker/0 on n" in shown
    one = server.muster("show", f"{array}[2]").stdout
    assert one.startswith(f"{array}[2] line")
    missing = server.muster("show", f"line[{9}]")
    assert missing.returncode != 0
    assert "its indices are 0-3" in missing.stderr
    assert server.muster("rm", str(array)).returncode == 0
    assert server.api("GET", f"/v1/jobs/{array + 1}").status == 404


def test_run_follows_all_of_them(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "job.json"
    file.write_text(native("all", "echo out $MUSTER_ARRAY_INDEX", array=3))
    done = server.muster("run", file)
    assert done.returncode == 0, done.stderr
    for i in range(3):
        assert f"[{i}]  out {i}" in done.stdout
    assert "3 succeeded" in done.stdout
    array = server.jobs(name="all")[0]["number"]
    assert server.muster("logs", str(array)).stdout == "".join(
        f"[{i}]  out {i}\n" for i in range(3)
    )
    assert server.muster("logs", f"{array}[1]").stdout == "out 1\n"
    file.write_text(native("bad", "exit $((MUSTER_ARRAY_INDEX % 2))", array=3))
    bad = server.muster("run", file, "--json")
    assert bad.returncode == 1
    told = json.loads(bad.stdout)
    assert told["member_states"] == {"failed": 1, "succeeded": 2}
    array = told["number"]
    again = server.muster("submit", "-q", "--like", f"{array}[1]").stdout.strip()
    assert server.job(again)["indices"] == "1"
    assert server.muster("wait", again).returncode == 1


def test_so_many_at_a_time(server: Server) -> None:
    array = submit(server, "few", "sleep 600", array={"count": 5, "at_once": 2})
    wait_for(lambda: counts(server, array).get("running") == 2)
    assert counts(server, array)["queued"] == 3
    why = server.muster("explain", str(array)).stdout
    assert "few[2] waits: its array runs 2 at a time" in why
    assert server.muster("stop", f"{array}[0]").returncode == 0
    wait_for(lambda: server.state_of(f"{array}[2]") == "running")
    assert counts(server, array) == {"running": 2, "queued": 2, "stopped": 1}
    assert server.muster("exec", str(array), "worker/0", "--", "true").returncode != 0
    assert server.muster("stop", "--now", str(array)).returncode == 0
    assert server.muster("wait", str(array)).returncode == 3
    assert counts(server, array) == {"stopped": 5}


def test_jobs_after_arrays(server: Server) -> None:
    first = submit(server, "prep", "test $MUSTER_ARRAY_INDEX = 0 || sleep 600", array=2)
    each = submit(
        server, "each", "true", array=2, after=[{"job": first, "match": "index", "ended": "well"}]
    )
    last = submit(server, "last", "true", after=[{"job": first, "ended": "any"}])
    wait_for(lambda: server.state_of(f"{each}[0]") == "succeeded")
    assert "waits for array" in server.job(last)["reason"]
    assert f"waits for {first}[1] (prep) to end well: it is " in server.job(f"{each}[1]")["reason"]
    server.stop(f"{first}[1]", now=True)
    assert server.wait(last)["state"] == "succeeded"
    ended = server.wait(each)
    assert ended["state"] == "failed"
    assert "and it has stopped" in ended["reason"]


@pytest.mark.parametrize(
    "array", ["-1", "10001", '"0-10000"', '"3-1"', '{"count": 2, "at": 1}', "[1]"]
)
def test_what_is_no_array(server: Server, array: str) -> None:
    text = json.dumps({"name": "no", "run": "true"})[:-1] + f', "array": {array}}}'
    reply = server.api("POST", "/v1/jobs", text)
    assert reply.status == 422 or reply.status == 400, reply.text
    assert "array" in reply.text


def test_ten_thousand_through_a_kill(start: Starter) -> None:
    server = start(nodes="2cpu,2Gi")
    text = native("many", "sleep 600", array="0-9999%2")
    array = server.submit(text, key="once")
    wait_for(lambda: counts(server, array).get("running") == 2)
    server.kill()
    server.start()
    assert server.submit(text, key="once") == array
    assert counts(server, array) == {"running": 2, "queued": 9998}
    assert len(server.jobs()) == 1
    # A page of members is a page, wherever it begins.
    page = server.get("/v1/jobs", array=str(array), limit=100)
    page = server.get("/v1/jobs", array=str(array), limit=100, before=page["next"])
    assert [j["index"] for j in page["jobs"]] == list(range(100, 200))
    assert server.muster("stop", "--now", str(array)).returncode == 0
    wait_for(lambda: server.state_of(array) == "stopped")


def test_tasks_are_counted_while_members_run_and_after_their_end(start: Starter) -> None:
    """A running array says how many of its tasks run; what has ended, how many ended well."""
    server = start()
    go = server.state / "go"
    run = f"until test -e {go}; do sleep 0.05; done; test $MUSTER_ARRAY_INDEX != 1"
    number = server.submit(native("counted", run, replicas=2, array="0-2"))

    def counted(view: Json) -> tuple[int, int, int]:
        return view["tasks_running"], view["tasks_succeeded"], view["tasks_failed"]

    wait_for(lambda: counted(server.job(number)) == (6, 0, 0), 60, "six tasks")
    go.touch()
    server.wait(number, "failed", timeout=60)
    # of the member that fails, the other task may have ended either way
    running, succeeded, failed = counted(server.job(number))
    assert running == 0 and succeeded == 4 and failed in (1, 2)
    assert counted(server.job(f"{number}[0]")) == (0, 2, 0)
    listed = {job["number"]: job for job in server.jobs(all=1)}
    assert counted(listed[number]) == (0, 4, failed)


def test_lists_say_what_they_leave_out(start: Starter) -> None:
    """50 of N on a pipe; all numbers with -q; with -a the jobs of arrays too."""
    server = start(nodes="1x1cpu,1Gi")
    array = server.submit(native("sweep", "true", array="0-2"))
    server.wait(array, "succeeded")
    numbers = [server.submit(native(f"j{i}", suspend=True)) for i in range(60)]
    listed = server.muster("ls")
    assert len(listed.stdout.splitlines()) == 51, "a head and 50 jobs"
    assert listed.stderr.startswith("50 of 61 jobs; -a lists all, --before "), listed.stderr
    quiet = server.muster("ls", "-q").stdout.split()
    assert quiet == [str(n) for n in reversed([array, *numbers])]
    assert len(server.muster("ls", "-q", "--limit", "7").stdout.split()) == 7
    everything = server.muster("ls", "-a")
    labels = [line.split()[0] for line in everything.stdout.splitlines()[1:]]
    assert labels[60:] == [str(array), *(f"{array}[{i}]" for i in range(3))]
    assert not everything.stderr
    few = server.muster("ls", "--name", "sweep")
    assert not few.stderr, "nothing is left out"


def test_a_watched_list_is_printed_when_it_changes(start: Starter) -> None:
    server = start(nodes="1x1cpu,1Gi")
    number = server.submit(native("seen", suspend=True))
    out = server.state / "watched"
    with out.open("wb") as to, server.popen("ls", "--watch", "-q", to=to) as watching:
        wait_for(lambda: out.read_text() == f"{number}\n", what="the first look")
        second = server.submit(native("seen too", suspend=True))
        wait_for(lambda: out.read_text() == f"{number}\n\n{second}\n{number}\n", what="the change")
        watching.terminate()
        watching.wait()
    refused = server.muster("ls", "--watch", "--json")
    assert refused.returncode == 2 and "--watch shows tables" in refused.stderr
