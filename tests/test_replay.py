"""A real server records; the replay decides the same, parts where an option is another one, and
says where a recording is cut."""

from __future__ import annotations

import getpass
import json
import shutil
import urllib.request
from pathlib import Path

from conftest import Starter
from harness import Done, Json, muster, native, patience

NOWHERE = Path("/nonexistent/state")


def replay(recording: Path, *more: str) -> Done:
    return muster("replay", recording, *more, state=NOWHERE)


def lines(recording: Path, *more: str) -> list[Json]:
    return [json.loads(line) for line in replay(recording, "--json", *more).stdout.splitlines()]


def test_a_recorded_server_is_replayed(start: Starter, tmp_path: Path) -> None:
    recording = tmp_path / "rec"
    server = start(nodes="1x4cpu,8Gi", flags=("--record", str(recording)))
    whole = {"cpu": 4}
    first = server.submit(native("first", "sleep 600", resources=whole))
    server.wait(first, "running")
    fails = server.submit(native("fails", "exit 3", resources=whole))
    later = server.submit(native("later", "true", resources=whole))
    stopped = server.submit(native("stopped", "true", resources=whole))
    server.stop(stopped)
    server.kill()  # the recording goes on in another segment
    server.start()
    server.stop(first, now=True)
    server.wait(fails, "failed")
    server.wait(later, "succeeded")
    server.end()
    assert recording.stat().st_mode & 0o777 == 0o700
    for file in recording.glob("*/*"):
        assert file.stat().st_mode & 0o777 == 0o600
    key = (server.state / "agent.key").read_bytes()
    for file in recording.glob("*/*"):
        assert key not in file.read_bytes() and key.hex().encode() not in file.read_bytes()

    done = replay(recording)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "same as recorded" in done.stdout
    assert f"job {fails} (fails) waits: " in done.stdout
    assert "allocated: 1 task on n1 [n1]" in done.stdout
    told = lines(recording)
    assert told[-1]["verdict"] == "same" and told[-1]["complete"]
    assert told[-1]["segments"] == 2

    wait = next(one for one in told if one.get("what") == "waits")
    then = replay(recording, "--quiet", "--at", str(wait["input"])).stdout
    assert "queued" in then and wait["text"] in then

    other = replay(recording, "--quiet", "--set", "default_run=1h")
    assert other.returncode == 0
    assert "the decisions part at input" in other.stdout and "promised: by" in other.stdout
    assert replay(recording, "--set", "nonsense=1").returncode == 2

    cut = tmp_path / "cut"
    shutil.copytree(recording, cut)
    inputs = cut / "000002" / "inputs"
    inputs.write_bytes(inputs.read_bytes()[:-7])
    broken = replay(cut, "--quiet")
    assert broken.returncode == 2
    assert "000002/inputs: byte " in broken.stderr and "it is cut" in broken.stderr
    assert "complete inputs before it were replayed, as recorded" in broken.stderr


def test_users_that_change_meanwhile_are_replayed(start: Starter, tmp_path: Path) -> None:
    """Users, keys and tokens are not in a recording; that they changed is."""
    recording = tmp_path / "rec"
    server = start(nodes="1x4cpu,8Gi", flags=("--record", str(recording)))
    first = server.submit(native("first", "sleep 600", resources={"cpu": 4}))
    server.wait(first, "running")

    def change(*line: str) -> str:
        done = server.muster(*line)
        assert done.returncode == 0, done
        return done.stdout.strip()

    change("user", "add", "somebody", "--project", "vision")
    token = change("token", "create", "--user", "somebody", "-q")
    change("key", "create", "--user", "somebody")
    then = server.submit(native("then", "true", resources={"cpu": 4}))
    change("user", "set", "somebody", "--disabled")
    server.kill()  # and in another segment
    server.start()
    change("user", "rm", "somebody")
    server.stop(first, now=True)
    server.wait(then, "succeeded")
    server.end()
    done = replay(recording)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "same as recorded" in done.stdout
    for file in recording.glob("*/inputs"):
        text = file.read_bytes()
        assert token.encode() not in text and b"somebody" not in text


def test_what_other_clients_put_is_replayed(start: Starter, tmp_path: Path) -> None:
    """Holding a job together with its document, an answer that leads to the next command, tags and
    things that are no jobs: the same state, and nothing of what the documents say."""
    recording = tmp_path / "rec"
    flags = ("--record", str(recording), "--kubectl-http", "on")
    server = start(nodes="1x4cpu,8Gi", flags=flags)
    address = str(server.info()["address"])
    token = server.muster("token", "create").stdout.strip()

    def ask(method: str, path: str, body: Json, kind: str = "application/json") -> int:
        request = urllib.request.Request(
            address + path, json.dumps(body).encode(),
            {"Content-Type": kind, "Authorization": f"Bearer {token}"}, method=method,
        )  # fmt: skip
        with urllib.request.urlopen(request, timeout=patience(20)) as answer:
            return int(answer.status)

    jobs = "/apis/elastic.iml.github.io/v1alpha1/namespaces/default/elasticjobs"
    merge = "application/merge-patch+json"
    container = {"name": "main", "command": ["sleep", "600"], "resources": {"requests": {"cpu": 3}}}
    worker = {"replicas": 1, "bogus": 1, "template": {"spec": {"containers": [container]}}}
    job = {"metadata": {"name": "a"}, "spec": {"suspend": True, "replicaSpecs": {"worker": worker}}}
    assert ask("POST", jobs, job) == 201  # sent again without the unknown field
    first = server.submit(native("other", "sleep 600", resources={"cpu": 2}))
    server.wait(first, "running")
    assert ask("PATCH", f"{jobs}/a", {"spec": {"suspend": False}}, merge) == 200
    server.wait(1, "queued")
    assert ask("PATCH", f"{jobs}/a", {"metadata": {"labels": {"x": "KEPT"}}}, merge) == 200
    configs = "/api/v1/namespaces/default/configmaps"
    assert ask("POST", configs, {"metadata": {"name": "c"}, "data": {"k": "KEPT"}}) == 201
    assert ask("PATCH", f"{configs}/c", {"data": {"k": "KEPT again"}}, merge) == 200
    assert ask("DELETE", f"{configs}/c", {}) == 200
    user = server.info()["user"] if "user" in server.info() else getpass.getuser()
    assert ask("PUT", f"/rest-server/api/v2/jobs/{user}~other/tag", {"value": "tag"}) == 200
    server.kill()  # the next segment begins with documents that it does not know
    server.start()
    address = str(server.info()["address"])
    assert ask("PATCH", f"{jobs}/a", {"metadata": {"labels": {"x": "y"}}}, merge) == 200
    server.stop(first, now=True)
    server.wait(1, "running")
    assert ask("PATCH", f"{jobs}/a", {"spec": {"suspend": True}}, merge) == 200
    server.wait(1, "suspended")
    assert ask("DELETE", f"/rest-server/api/v1/jobs/{user}~other", {}) in (200, 202)
    server.end()
    done = replay(recording)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "same as recorded" in done.stdout
    for file in recording.glob("*/*"):
        assert b"KEPT" not in file.read_bytes()
