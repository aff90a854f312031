"""Why a job waits, until when, and what would start it: asked as a user would, and each suggestion
carried out."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from harness import Json, Server, native, wait_for

pytestmark = pytest.mark.sanitizer

NODES = "4x16cpu,64Gi,4gpu"


def gpus(name: str, tasks: int, each: int, run_time: str = "", **more: Any) -> str:
    if run_time:
        more["limits"] = {"run_time": run_time}
    return native(name, "sleep 600", tasks, resources={"cpu": 1, "gpu": each}, **more)


def explain(server: Server, number: int) -> Json:
    answer: Json = server.get(f"/v1/jobs/{number}/explain")
    return answer


def waits(server: Server, text: str) -> int:
    """A job that waits, and has been looked at."""
    number = server.submit(text)
    wait_for(lambda: server.job(number).get("reason"))
    assert server.state_of(number) == "queued"
    return number


def too_large(server: Server, text: str) -> int:
    """The same of a job for which there are no nodes."""
    done = server.muster("submit", "--wait", "--json", "-", stdin=text)
    assert done.returncode == 0, done.stderr
    number = int(json.loads(done.stdout)["number"])
    wait_for(lambda: server.job(number).get("reason"))
    return number


def runs(server: Server, text: str) -> int:
    number = server.submit(text)
    server.wait(number, "running")
    return number


def said(server: Server, *words: str | Path | int) -> str:
    done = server.muster("explain", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def crowded(start: Starter) -> Server:
    """Ten of sixteen gpus are in use: two nodes for half an hour, half a node for 50 minutes."""
    server = start(nodes=NODES)
    runs(server, gpus("a", 2, 4, "30m"))
    runs(server, gpus("b", 1, 2, "50m"))
    return server


def carry_out(server: Server, way: Json) -> int:
    words = shlex.split(way["how"])
    assert words[:2] == ["muster", "submit"]
    done = server.muster("submit", "--json", *words[2:])
    assert done.returncode == 0, done.stderr
    number = int(json.loads(done.stdout)["number"])
    server.wait(number, "running")
    return number


def test_what_is_short_and_until_when(crowded: Server) -> None:
    number = waits(crowded, gpus("big", 4, 4))
    e = explain(crowded, number)
    assert (e["why"], e["resource"], e["short_by"]) == ("resource", "gpu", 10000)
    assert e["unfit"]["nodes"] == 4
    assert {"why": "resource", "resource": "gpu", "nodes": 4} in e["unfit"]["counts"]
    assert [end["name"] for end in e["ends"]] == ["b", "a"]
    assert e["promised"] and e["expected_ms"] == e["not_later_ms"]
    assert e["rank"]["priority"] == 5
    assert [c["name"] for c in e["checks"]] == [
        "SelfQuotaLimit",
        "AncestorQuotaLimit",
        "UserLimit",
        "QueueStrategyLimit",
    ]
    text = said(crowded, number)
    assert text.startswith("big waits: gpu: 10 short")
    assert "ahead    nobody in default" in text
    assert "when 2 b and 1 a reach their limits; not later than" in text
    listed = crowded.muster("ls", "-o", "wide").stdout
    assert "PROMISED" in listed and ", about " in listed
    assert "starts by" in crowded.muster("show", number).stdout


def test_each_way_is_true(crowded: Server) -> None:
    """Fewer tasks, fewer gpus a task: what is said to start starts."""
    number = waits(crowded, gpus("big", 2, 4))
    e = explain(crowded, number)
    ways = {way["kind"]: way for way in e["ways"]}
    assert set(ways) == {"replicas", "gpu"}
    assert ways["replicas"]["what"] == "replicas=1"
    assert ways["gpu"]["set"] == ["roles.worker.resources.gpu=3"] or ways["gpu"]["set"] == [
        "roles.worker.resources.gpu=2"
    ]
    assert "now if   replicas=1" in said(crowded, number)
    changed = carry_out(crowded, ways["gpu"])
    assert crowded.wait(number)["state"] == "stopped"
    assert f"replaced by job {changed}" in crowded.job(number)["reason"]
    crowded.stop(changed, now=True)
    crowded.wait(changed)
    again = waits(crowded, gpus("big", 2, 4))
    (way,) = (w for w in explain(crowded, again)["ways"] if w["kind"] == "replicas")
    carry_out(crowded, way)


def test_beside_a_promise(crowded: Server) -> None:
    big = waits(crowded, gpus("big", 4, 4))
    for kind in ("run_time", "priority"):
        small = waits(crowded, gpus("small", 2, 2))
        e = explain(crowded, small)
        assert (e["why"], e["blocker"]["number"], e["ahead"]) == ("reserved", big, 1)
        assert f"job {big} (big) was promised it" in said(crowded, small)
        (way,) = (w for w in e["ways"] if w["kind"] == kind)
        started = carry_out(crowded, way)
        crowded.stop(started, now=True)
        crowded.wait(started)


def test_one_change(crowded: Server) -> None:
    big = waits(crowded, gpus("big", 4, 4))
    small = waits(crowded, gpus("small", 2, 2))
    text = said(crowded, small, "--what-if", "priority=9")
    assert "small with priority=9 would start at once" in text
    assert f"delays   {big} big from" in text
    assert f"do it    muster submit --like {small} --replace --set priority=9" in text
    text = said(crowded, small, "--what-if", "run_time=20m")
    assert "would start at once" in text and "delays" not in text
    both = said(crowded, small, "--what-if", "replicas=1", "--what-if", "gpu=4")
    assert "would wait" in both
    huge = said(crowded, small, "--what-if", "gpu=1000")
    assert "would wait" in huge and f"submit --like {small} --replace --wait --set" in huge
    assert crowded.state_of(small) == "queued"


def test_a_file(crowded: Server, tmp_path: Path) -> None:
    big = waits(crowded, gpus("big", 4, 4))
    path = tmp_path / "job.json"
    path.write_text(gpus("new", 1, 4, "20m"))
    before = len(crowded.jobs())
    text = said(crowded, "--file", path)
    assert text.startswith("new would start at once")
    assert "worker/0" in text
    path.write_text(gpus("new", 1, 4))
    answer = json.loads(said(crowded, "--file", path, "--json"))
    e = answer["explain"]
    assert (answer["state"], e["why"], e["blocker"]["number"]) == ("queued", "reserved", big)
    assert e["expected_ms"] > e["ends"][0]["at_ms"] - 1
    urgent = said(crowded, "--file", path, "--set", "priority=9")
    assert "would start at once" in urgent and f"{big} big from" in urgent
    assert len(crowded.jobs()) == before


def test_what_never_fits(crowded: Server) -> None:
    never = "worker asks 9 gpu a task, the largest node has 4"
    number = too_large(crowded, gpus("huge", 1, 9))
    assert explain(crowded, number)["never"] == never
    assert f"  never    on these nodes: {never}\n" in said(crowded, number)
    assert "never" not in explain(crowded, waits(crowded, gpus("big", 4, 4)))


def test_what_waits_for_another_job(crowded: Server, tmp_path: Path) -> None:
    big = waits(crowded, gpus("big", 4, 4))
    later = json.dumps({**json.loads(gpus("later", 1, 1)), "after": [big]})
    path = tmp_path / "job.json"
    path.write_text(later)
    why = f"waits for job {big} (big) to end well: it is queued"
    assert said(crowded, "--file", path).splitlines()[0] == f"later {why}"
    number = waits(crowded, later)
    said_so = said(crowded, number, "--what-if", "priority=9").splitlines()
    assert said_so[0] == f"later with priority=9 {why}"
    assert "later with after=[] would wait: there is room" in said(
        crowded, number, "--what-if", "after=[]"
    )


QUEUES = """
kind: quota
name: small
maximum: {gpu: 3}
---
kind: quota
name: large
"""


def test_queues(start: Starter) -> None:
    server = start(nodes=NODES)
    assert server.muster("apply", "-f", "-", stdin=QUEUES).returncode == 0
    runs(server, gpus("a", 1, 2, "30m", queue="small"))
    number = waits(server, gpus("b", 1, 2, queue="small"))
    e = explain(server, number)
    assert (e["why"], e["ends"][0]["name"]) == ("quota", "a")
    (check,) = (c for c in e["checks"] if c["name"] == "SelfQuotaLimit")
    assert (check["status"], check["exceed_resources"]) == ("Exceeded", ["gpu"])
    assert check["limit"]["gpu_milli"] == 3000
    assert "quota    small uses 2 of 3 gpu" in said(server, number)
    assert {way["what"] for way in e["ways"]} >= {"queue=large", "gpu=1"}
    (way,) = (w for w in e["ways"] if w["what"] == "queue=large")
    carry_out(server, way)


def test_constraints(crowded: Server) -> None:
    """A label that no node has, a node that is taken, tasks that keep apart."""
    number = too_large(crowded, gpus("c", 1, 1, place={"labels": {"zone": "x"}}))
    e = explain(crowded, number)
    assert (e["why"], e["resource"]) == ("labels", "label zone=x")
    assert "expected_ms" not in e
    (way,) = e["ways"]
    assert way["what"] == "labels=none"
    carry_out(crowded, way)
    pinned = waits(crowded, gpus("p", 1, 4, place={"nodes": ["n1"]}))
    (way,) = (w for w in explain(crowded, pinned)["ways"] if w["kind"] == "nodes")
    assert list(way["places"].values()) == ["n4"]
    apart = too_large(crowded, native("s", "sleep 600", 6, place={"apart": ["worker"]}))
    e = explain(crowded, apart)
    assert {w["what"] for w in e["ways"]} == {"apart=none", "replicas=4"}
    carry_out(crowded, e["ways"][0])


def test_other_reasons(crowded: Server) -> None:
    big = waits(crowded, gpus("big", 2, 4))
    after = waits(crowded, gpus("after", 1, 1, after=[{"job": big}]))
    assert explain(crowded, after)["why"] == "after"
    held = crowded.submit(gpus("held", 1, 2, "20m", suspend=True))
    e = explain(crowded, held)
    assert e["would_start"] and e["ways"][0]["how"] == f"muster resume {held}"
    assert crowded.muster("resume", held).returncode == 0
    crowded.wait(held, "running")
    crowded.api("POST", "/v1/nodes/n4/drain").good()
    wait_for(lambda: explain(crowded, big)["why"] == "nodes_down" or True)
    unfit = {c["why"]: c["nodes"] for c in explain(crowded, big)["unfit"]["counts"]}
    assert unfit["drained"] == 1


def test_a_promise_without_nodes_is_none(crowded: Server) -> None:
    """It was told a time; since then no node has what it asks for."""
    big = waits(crowded, gpus("big", 3, 4))
    assert "not_later_ms" in explain(crowded, big)
    for node in ("n1", "n2", "n3", "n4"):
        crowded.api("POST", f"/v1/nodes/{node}/drain").good()
    wait_for(lambda: "not_later_ms" not in explain(crowded, big))
    e = explain(crowded, big)
    assert "not_later_ms" not in e and "expected_ms" not in e
    assert "starts" not in said(crowded, big)
    assert "promised_ms" not in crowded.job(big)


def test_by_what_jobs_ran_before(start: Starter) -> None:
    """Five of its owner and name ran, the sixth waits for one like them; after a restart, too."""
    server = start(nodes="1x4cpu,4Gi,1gpu")
    for _ in range(5):
        assert server.run(native("quick", "true", resources={"gpu": 1}))["state"] == "succeeded"
    runs(server, gpus("quick", 1, 1, "2h"))
    number = waits(server, gpus("quick", 1, 1, "2h"))
    for _ in range(2):
        e = explain(server, number)
        assert (e["run_time"]["source"], e["run_time"]["of"]) == ("learnt", "name")
        assert (e["run_time"]["jobs"], e["run_time"]["limit_ms"]) == (5, 2 * 3600 * 1000)
        assert e["run_time"]["low_ms"] <= e["run_time"]["median_ms"] <= e["run_time"]["high_ms"]
        limit, learnt = e["estimates"]
        assert (limit["source"], learnt["source"]) == ("limit", "learnt")
        assert limit["at_ms"] == e["expected_ms"] > learnt["at_ms"]
        assert learnt["earliest_ms"] <= learnt["at_ms"] <= learnt["latest_ms"]
        assert (e["ahead"], e["ahead_known"], e["promised"]) == (0, True, True)
        text = said(server, number)
        assert "by run times of the past (known of 1 of 1 jobs)" in text
        assert "by limits of run time about" in text
        assert "as the last 5 jobs of its owner and name did" in text
        server.kill()
        server.start()
        wait_for(lambda: server.job(number).get("reason"))


def test_not_before(start: Starter) -> None:
    """The bound names its condition."""
    server = start(nodes="1x4cpu,4Gi,1gpu")
    runs(server, gpus("a", 1, 1, "1h"))
    numbers = [server.submit(gpus(f"b{i}", 1, 1, "1h")) for i in range(3)]
    wait_for(lambda: server.job(numbers[-1]).get("reason"))
    e = explain(server, numbers[-1])
    assert (e["ahead"], e["ahead_known"], e.get("at_least")) == (2, True, None)
    assert [one["name"] for one in e["ahead_jobs"]] == ["b0", "b1"]
    assert 0 < e["not_before_ms"] < e["expected_ms"]
    assert [end["name"] for end in e["ends"]] == ["b1", "b0", "a"]
    assert [end["waits"] for end in e["ends"]] == [True, True, False]


BAD = [
    (("foo",), "not FIELD=VALUE"),
    (("replica=2",), 'unknown field "replica"'),
    (("replicas=x",), "not a whole number"),
    (("replicas=2", "roles.worker.replicas=3"), "contradict each other"),
    (("place={}", "topology=none"), "contradict each other"),
    (("queue=nowhere",), "nowhere"),
    (("priority=12",), "priority"),
]


def test_bad_input(crowded: Server, tmp_path: Path) -> None:
    number = waits(crowded, gpus("big", 4, 4))
    for changes, what in BAD:
        words = [word for change in changes for word in ("--what-if", change)]
        done = crowded.muster("explain", number, *words)
        assert (done.returncode, what in done.stderr) == (2, True), (changes, done.stderr)
    done = crowded.muster("explain", 1, "--what-if", "replicas=1")
    assert "does not wait" in done.stderr
    done = crowded.muster("submit", "--like", 1, "--replace")
    assert "does not wait any more" in done.stderr
    assert crowded.muster("submit", "--replace", tmp_path / "x").returncode == 2
    assert crowded.muster("explain", number, "--set", "replicas=1").returncode == 2
    assert crowded.muster("explain", "nobody").returncode != 0
    assert crowded.state_of(number) == "queued"
