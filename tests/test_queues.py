"""Queues as their users meet them: declared in a file or by apply, shown as a tree, kept over a
kill; what is free, and what draining a node would mean."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import Starter
from harness import Json, Server, native

pytestmark = pytest.mark.sanitizer

SETTINGS = """
nodes: 2x32cpu,256Gi,8gpu:A100,rack=r1;1x32cpu,256Gi,8gpu:A100,rack=r2;1x8cpu,32Gi
topology: [rack]
prices: {A100: 2.5, "*": 1}
half_life: 14d
queues:
  - default
  - {name: research, guaranteed: {gpu: 50%}, strategy: fifo}
  - {name: vision, parent: research, cells: {node: 1}, maximum: {gpu: 16}, user: {gpu: 50%}}
"""


def queues(server: Server, *more: str) -> dict[str, Json]:
    done = server.muster("queues", *more, "--json")
    assert done.returncode == 0, done.stderr
    return {queue["name"]: queue for queue in json.loads(done.stdout)["queues"]}


def sleeper(name: str, gpu: float, replicas: int = 1) -> str:
    return native(name, "sleep 600", replicas=replicas, resources={"gpu": gpu})


@pytest.fixture
def server(start: Starter, tmp_path: Path) -> Server:
    file = tmp_path / "muster.yaml"
    file.write_text(SETTINGS)
    return start(nodes="", flags=("--config", str(file)))


def test_a_tree_of_queues(server: Server) -> None:
    settings = {s["name"]: s["value"] for s in server.get("/v1/config")["config"]}
    assert settings["queues"] == "default,research,vision"
    assert settings["topology"] == "rack" and settings["half_life"] == "14d"
    running = server.submit(sleeper("front", 2, 3), queue="vision")
    lent = server.submit(sleeper("lent", 8, 2), queue="default")
    for number in (running, lent):
        server.wait(number, "running")
    waits = server.submit(sleeper("big", 8), queue="research")
    server.wait(waits, "queued")

    tree = queues(server)
    assert list(tree) == ["default", "public", "research", "vision"]
    assert tree["research"]["guaranteed"]["gpu_milli"] == 12000
    assert tree["vision"]["guaranteed"] == {"cpu_milli": 32000, "memory": 256 << 30,
                                            "gpu_milli": 8000}  # fmt: skip
    assert tree["vision"]["maximum"] == {"gpu_milli": 16000}
    assert tree["research"]["used"]["gpu_milli"] == tree["vision"]["used"]["gpu_milli"] == 6000
    assert tree["default"]["borrowed"]["gpu_milli"] == 16000
    assert tree["vision"]["borrowed"]["gpu_milli"] == 0
    assert (tree["vision"]["running"], tree["research"]["waiting"]) == (1, 1)
    assert tree["research"]["first"]["number"] == waits and tree["research"]["first"]["reason"]

    shown = server.muster("queues").stdout.splitlines()
    assert shown[0].split()[:3] == ["QUEUE", "STRATEGY", "GUARANTEED"]
    assert re.match(r"research +fifo +12 gpu +- +6 gpu +0 +0 +1 +3 big: gpu: ", shown[3])
    assert re.match(r"  vision +backfill +8 gpu, 32 cpu, 256 GiB +16 gpu +6 gpu ", shown[4])
    one = server.muster("queues", "vision").stdout
    assert re.search(r"USER +USAGE +HELD +AT MOST +RUNNING +WAITING\n", one), one
    assert re.search(r"\n\S+ +0.0\d h +6 gpu +8 gpu +1 ", one), one
    assert server.muster("queues", "-q").stdout.split() == list(tree)
    done = server.muster("queues", "visoin")
    assert done.returncode == 2 and 'no queue "visoin"' in done.stderr and "vision" in done.stderr

    metrics = server.api("GET", "/metrics").text
    assert 'muster_queue_jobs{queue="research",state="queued"} 1\n' in metrics
    assert 'muster_queue_used{queue="vision",resource="gpu"} 6\n' in metrics
    assert 'muster_queue_guaranteed{queue="vision",resource="memory"} 274877906944\n' in metrics
    assert 'muster_queue_maximum{queue="vision",resource="gpu"} 16\n' in metrics
    assert 'muster_free_gpu_blocks{size="2"} 1\n' in metrics
    assert re.search(r"^muster_plan_seconds_bucket\{le=\"\+Inf\"\} \d+$", metrics, re.M)
    assert len(re.findall(r"^# TYPE muster_plan_seconds ", metrics, re.M)) == 1

    done = server.muster("submit", "-", "--queue", "vision", stdin=sleeper("much", 9, 1))
    assert done.returncode == 2
    assert 'asks for 9 gpu, and a user has at most 8 gpu of "vision"' in done.stderr, done.stderr

    usage = queues(server, "vision")["vision"]["users"][0]["usage"]
    server.kill()
    server.start()
    assert queues(server, "vision")["vision"]["users"][0]["usage"] >= usage
    assert queues(server)["vision"]["used"]["gpu_milli"] == 6000


def test_what_is_free_and_what_a_drain_would_mean(server: Server) -> None:
    share = server.submit(sleeper("share", 0.5))
    two = server.submit(sleeper("two", 5, 2))
    for number in (share, two):
        server.wait(number, "running")
    nodes = json.loads(server.muster("nodes", "--free", "--json").stdout)
    assert nodes["free"]["gpu_milli"] == 13500 and nodes["free"]["idle_gpus"] == 13
    assert sum(int(size) * n for size, n in nodes["free"]["blocks"].items()) == 13
    by_name = {node["name"]: node for node in nodes["nodes"]}
    assert sorted(d for n in by_name.values() for d in n.get("gpu_free", []))[10] == 500
    lines = server.muster("nodes", "--free").stdout.splitlines()
    assert lines[0].split() == ["NODE", "STATE", "CPU", "MEMORY", "GPU", "TYPE", "WHOLE", "DEVICES"]
    assert re.match(r"free: 13.5 gpu \(13 whole: ", lines[-1]), lines[-1]

    busy = next(n for n in by_name if by_name[n]["gpu_idle"] in (2, 3))
    plan = json.loads(server.muster("drain", busy, "--dry-run", "--json").stdout)["nodes"][0]
    assert plan["dry_run"] and not plan["drained"]
    assert {task["number"] for task in plan["tasks"]} <= {share, two}
    assert all(task["to"] != busy for task in plan["tasks"]), plan
    text = server.muster("drain", busy, "--dry-run").stdout
    assert f"{busy}: " in text and "each would find a place elsewhere now" in text, text
    full = server.submit(sleeper("full", 8))
    server.wait(full, "running")
    text = server.muster("drain", busy, "--dry-run").stdout
    assert "no: gpu: " in text, text
    assert by_name[busy]["state"] == "up"
    assert server.muster("drain", busy).returncode == 0
    assert f"{busy}  drained" in re.sub(" +", "  ", server.muster("nodes").stdout)
    assert "drained already" in server.muster("drain", busy, "--dry-run").stdout
    assert "takes tasks again" in server.muster("drain", "--undo", busy).stdout
    done = server.muster("drain", "n9", "--dry-run")
    assert done.returncode == 2 and 'no node "n9"' in done.stderr


BAD = [
    ("name: a\nparent: b\n---\nkind: quota\nname: b\nparent: a\n",
     '3:9: queue "a" is below itself: a, b, a'),
    ("name: a\nguaranteed: {gpu: 13}\n",
     "3:13: queues are guaranteed 25 gpu together (a 13 gpu, research 50 %), "
     "and the cluster has 24 gpu"),
    ("name: a\nguaranteed: 60%\n", "guaranteed 110 % of the gpu of the cluster together"),
    ("name: a\nparent: reserch\n", 'parent "reserch" is not known here'),
    ("name: a\ncells: {rack: 2}\n",
     "2 equal cells of rack are guaranteed, and the cluster has 1"),
    ("name: a\nguaranteed: {gpu: -1}\n", "guaranteed.gpu is -1, the least is 0"),
]  # fmt: skip


def test_declared_changed_and_refused(server: Server) -> None:
    for text, wrong in BAD:
        done = server.muster("apply", "-f", "-", stdin=f"kind: quota\n{text}")
        assert done.returncode == 2 and wrong in done.stderr, (text, done.stderr)
    assert list(queues(server)) == ["default", "public", "research", "vision"]
    text = """
kind: virtual_cluster
name: vc1
capacity: 25
maxCapacity: 50
---
kind: quota
name: nlp
parent: vc1
guaranteed: {gpu: 50%}
reclaim: false
---
kind: workspace
name: team
queue: nlp
"""
    assert server.muster("apply", "-f", "-", stdin=text).returncode == 0
    tree = queues(server)
    assert tree["vc1"]["guaranteed"]["gpu_milli"] == 6000
    assert tree["vc1"]["maximum"]["gpu_milli"] == 12000 and tree["vc1"]["depth"] == 0
    assert tree["nlp"]["guaranteed"] == {"cpu_milli": 0, "memory": 0, "gpu_milli": 3000}
    assert tree["nlp"]["parent"] == "vc1" and not tree["nlp"]["reclaim"]
    done = server.muster("rm", "virtual_cluster/vc1")
    assert done.returncode == 2 and 'its parent "vc1" is not known here' in done.stderr
    job = json.loads(native("j", "true"))
    number = server.submit(json.dumps({**job, "project": "team"}))
    assert server.wait(number)["queue"] == "nlp"
    server.kill()
    server.start()
    assert queues(server)["nlp"] == tree["nlp"]


def test_settings_that_make_no_sense_start_no_server(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="1x8cpu,8Gi")
    server.end()
    for text, wrong in {
        "queues:\n- {name: a, parent: b}\n": 'its parent "b" is not known here',
        "queues:\n- {name: a, weight: -3}\n": "2:21: queues: weight is -3, the least is 1",
        "prices: {A100: dear}\n": "write prices by model",
    }.items():
        file = tmp_path / "bad.yaml"
        file.write_text(text)
        done = server.muster("server", "start", "--config", file)
        assert done.returncode != 0 and wrong in done.stderr, done.stderr
    server.start()
