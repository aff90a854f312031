"""Numbers and names that make no sense to a scheduler, and queues that change under those who wait:
each is refused with its place, or its jobs go on; the server lives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Starter
from harness import Server, native, scratch, wait_for

pytestmark = pytest.mark.sanitizer


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    server = Server(nodes="2x8cpu,16Gi,2gpu", state=scratch())
    yield server.start()
    assert not server.close()


QUOTAS = [
    ("guaranteed: 101%", "3:13: guaranteed is 101%, a percentage is from 0% to 100%"),
    ("guaranteed: nan%", "guaranteed is nan%"),
    ("guaranteed: {gpu: .nan}", "3:19: guaranteed.gpu is "),
    ("guaranteed: {gpu: .inf}", "not a number with at most three decimals"),
    ("guaranteed: {gpu: 1e30}", "guaranteed.gpu is"),
    ("maximum: {gpu: -0.5}", "3:16: maximum.gpu is -0.5, the least is 0"),
    ("weight: 1.5", "3:9: weight is 1.5, not a whole number"),
    ("parent: q", 'queue "q" is below itself: q, q'),
    ("strategy: fifoo", 'strategy is "fifoo"'),
]


@pytest.mark.parametrize(("line", "wrong"), QUOTAS)
def test_quotas(small: Server, line: str, wrong: str) -> None:
    done = small.muster("apply", "-f", "-", stdin=f"kind: quota\nname: q\n{line}\n")
    assert done.returncode == 2 and wrong in done.stderr, done.stderr
    assert small.muster("queues", "q").returncode == 2


JOBS = [
    ({"queue": "nope"}, 'queue "nope" is not known here'),
    ({"limits": {"run_time": 0}}, "limits.run_time is 0, the least is 1ms"),
    ({"limits": {"run_time": "1e999"}}, "not a duration"),
    ({"limits": {"run_time": "10y"}}, "not a duration"),
    ({"replicas": 65536, "resources": {"gpu": 1}}, "needs 65536 gpu, the cluster has 4"),
    ({"replicas": 1 << 32}, "replicas is 4294967296, the most is 65536"),
    ({"array": -1}, "array is -1"),
    ({"array": "0-10:0"}, "array is no array"),
    ({"array": "0-4294967296"}, "array is no array"),
    ({"array": "-3-5"}, "array is no array"),
    ({"array": {"count": 3, "step": 0}}, "array.step is 0"),
    ({"array": {"count": 3, "first": -1}}, "array.first is -1"),
    ({"after": ["selfy"], "name": "selfy"}, 'no job "selfy"'),
    ({"after": [-1]}, "neither the number nor the name of a job"),
    ({"after": [999999]}, "no job 999999"),
]


@pytest.mark.parametrize(("fields", "wrong"), JOBS)
def test_jobs(small: Server, fields: dict[str, object], wrong: str) -> None:
    before = len(small.jobs())
    done = small.muster("submit", "-", stdin=json.dumps({**json.loads(native("j")), **fields}))
    assert done.returncode == 2 and wrong in done.stderr, done.stderr
    assert len(small.jobs()) == before


def test_ten_years_are_a_limit(small: Server) -> None:
    number = small.submit(native("decade", "true", limits={"run_time": "3650d"}))
    assert small.wait(number)["state"] == "succeeded"
    done = small.muster("explain", number)
    assert done.returncode == 0 and done.stdout.startswith("decade succeeded: "), done.stdout
    done = small.muster("drain", "n9")
    assert done.returncode == 2 and 'no node "n9"' in done.stderr


def test_a_node_in_two_zones_by_its_rack(tmp_path: Path, start: Starter) -> None:
    file = tmp_path / "muster.yaml"
    file.write_text(
        "nodes:\n- {name: a, cpus: 4, memory: 8Gi, labels: {zone: z1, rack: r1}}\n"
        "- {name: b, cpus: 4, memory: 8Gi, labels: {zone: z2, rack: r1}}\ntopology: [zone, rack]\n"
    )
    with pytest.raises(RuntimeError, match="r1") as wrong:
        start(nodes="", flags=("--config", str(file)))
    said = str(wrong.value)
    assert "z1" in said and "z2" in said, said


def test_a_queue_that_goes_and_shrinks(start: Starter) -> None:
    """Who waits in a queue that is removed waits in the default one; what runs above a lowered
    maximum runs on."""
    server = start(nodes="2x8cpu,16Gi,2gpu")
    text = "kind: quota\nname: tmp\nmaximum: {gpu: 2}\n"
    assert server.muster("apply", "-f", "-", stdin=text).returncode == 0
    runs = server.submit(native("runs", "sleep 600", resources={"gpu": 2}, queue="tmp"))
    server.wait(runs, "running")
    waits = server.submit(native("waits", "true", resources={"gpu": 1}, queue="tmp"))
    wait_for(lambda: server.job(waits).get("reason"))
    reason = 'queue "tmp" has at most 2 gpu, 2 are in use and it asks for 1'
    assert reason in server.job(waits)["reason"]
    assert server.muster("apply", "-f", "-", stdin=text.replace("2}", "1}")).returncode == 0
    assert server.state_of(runs) == "running"
    wait_for(lambda: "has at most 1 gpu, 2 are in use" in server.job(waits)["reason"])
    full = server.submit(native("full", "sleep 600", resources={"gpu": 2}))
    server.wait(full, "running")
    assert server.muster("rm", "quota/tmp").returncode == 0
    said = ""

    def moved() -> bool:
        nonlocal said
        said = server.muster("explain", waits).stdout
        return "gpu: 1 short" in said

    wait_for(moved, what=said)
    assert "nobody in default" in said, said
    server.kill()
    server.start()
    server.stop(runs, now=True)
    assert server.wait(waits)["state"] == "succeeded"
