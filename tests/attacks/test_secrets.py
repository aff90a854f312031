"""Who copies the state directory (a backup, a disk, a recording) learns no value of a variable from
it: not of any dialect, wherever the value was given, and not with all that lies in the directory.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from conftest import Starter
from harness import FINAL, Server, environment, muster, native, openpai, patience, program, role
from test_secrets_at_rest import WORD, Client, in_clear

SLEEPS = "exec sleep 600"
RUN = {"cpu": 1, "memory": "64Mi"}
V2 = f"""
protocolVersion: 2
name: pai2
type: job
prerequisites: [{{type: dockerimage, name: i, uri: "r.example/a:1"}}]
secrets: {{pw: {WORD}}}
taskRoles:
  w:
    dockerImage: i
    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}
    commands: ["export B=<% $secrets.pw %>", {SLEEPS}]
"""
CONTAINER = {
    "name": "main",
    "image": "r.example/a:1",
    "command": ["sh", "-c", SLEEPS],
    "env": [{"name": "A", "value": WORD}],
}
ELASTIC = {
    "apiVersion": "elastic.iml.github.io/v1alpha1",
    "kind": "ElasticJob",
    "metadata": {"name": "elastic"},
    "spec": {
        "distributionStrategy": "AllreduceStrategy",
        "replicaSpecs": {
            "worker": {"replicas": 1, "template": {"spec": {"containers": [CONTAINER]}}}
        },
    },
}
DLC = {
    "DisplayName": "dlc",
    "JobType": "PyTorchJob",
    "UserCommand": SLEEPS,
    "Envs": {"A": WORD},
    "JobSpecs": [{"Type": "Worker", "Image": "r.example/a:1", "EcsSpec": "ecs.c6.large"}],
}
KUBE = "/apis/elastic.iml.github.io/v1alpha1/namespaces/default/elasticjobs"


def submit_all(server: Server, client: Client) -> dict[str, int]:
    server.submit(native("file", SLEEPS, env={"A": WORD}))
    server.submit(native("set", SLEEPS), set=f"env.A={WORD}")
    body = {"text": native("flag", SLEEPS), "env": {"A": WORD}}
    server.api(
        "POST",
        "/v1/jobs",
        json.dumps(body),
        headers={"Content-Type": "application/vnd.muster.submission+json"},
    ).good()
    server.submit(native("array", SLEEPS, env={"A": WORD}, array="0-1"))
    server.submit(native("held", SLEEPS, env={"A": WORD}, suspend=True))
    server.submit(openpai("pai1", role(command=SLEEPS), jobEnvs={"A": WORD}))
    server.submit(V2)
    client.dlc("POST", "/api/v1/jobs", json.dumps(DLC))
    client.call("POST", KUBE, json.dumps(ELASTIC), Content_Type="application/json")
    config = {"metadata": {"name": "c"}, "data": {"a": WORD}}
    client.call("POST", "/api/v1/namespaces/default/configmaps", json.dumps(config))
    return {job["name"]: job["number"] for job in server.jobs()}


def test_values_of_variables(start: Starter, tmp_path: Path) -> None:
    rec = tmp_path / "rec"
    server = start(nodes="1x64cpu,64Gi", flags=("--record", str(rec), "--log-level", "debug"))
    client = Client(server)
    jobs = submit_all(server, client)
    for name, number in jobs.items():
        if name != "held":
            server.wait(number, "running")
    assert in_clear(server.state, rec) == []

    # their owner has all of it
    for name in ("file", "set", "flag", "dlc", "elastic"):
        shown = server.api("GET", f"/v1/jobs/{jobs[name]}?spec=1").good().text
        assert WORD in shown, name
    for name in ("file", "array", "dlc", "elastic"):
        assert WORD in server.api("GET", f"/v1/jobs/{jobs[name]}/origin").good().text, name
    got = json.loads(client.call("GET", f"{KUBE}/elastic"))
    assert WORD in json.dumps(got["spec"])
    env = muster("env", jobs["file"], "worker/0", state=server.state)
    assert env.returncode != 0 or WORD in env.stdout
    # and finds the jobs by what they say
    assert jobs["file"] in [j["number"] for j in server.jobs(name="file")]

    server.kill()
    server.start()
    assert in_clear(server.state, rec) == []
    for number in jobs.values():
        server.stop(number, now=True)
        server.wait(number, *FINAL)
    again = server.submit("", like=jobs["file"])
    server.wait(again, "running")
    assert WORD in server.api("GET", f"/v1/jobs/{again}?spec=1").good().text
    server.stop(again, now=True)
    server.wait(again, *FINAL)
    server.end()
    assert in_clear(server.state, rec) == []


def key_of(server: Server) -> Path:
    settings = server.api("GET", "/v1/config").good().json()["config"]
    return Path(next(one["value"] for one in settings if one["name"] == "seal_key"))


def run_server(state: Path, **env: str) -> str:
    """What a server says that does not start there."""
    done = subprocess.run(
        [program(), "server", "run", "--listen", "none"],
        env={**environment(state), **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=patience(),
        check=False,
    )
    assert done.returncode != 0, done.stdout
    return done.stdout


def test_a_copied_state_directory(start: Starter, tmp_path: Path) -> None:
    """Elsewhere, with all that is in it, nothing of it is opened; with the key it is as it was."""
    config = tmp_path / "config"
    server = start(nodes="1x4cpu,8Gi", env={"XDG_CONFIG_HOME": str(config)})
    number = server.submit(native("j", SLEEPS, env={"A": WORD}))
    server.wait(number, "running")
    key = key_of(server)
    assert key.parent == config / "muster/keys" and key.stat().st_mode & 0o777 == 0o600
    assert key.parent.stat().st_mode & 0o777 == 0o700
    assert f"key      {key}\n" in muster("server", "status", state=server.state).stdout
    assert str(key) in muster("doctor", state=server.state).stdout
    server.stop(number, now=True)
    server.wait(number, *FINAL)
    server.end()
    bytes_of_key = key.read_bytes()
    for at, _, names in os.walk(server.state):
        for name in names:
            file = Path(at) / name
            assert not file.is_file() or bytes_of_key not in file.read_bytes(), file

    other = start(nodes="1x4cpu,8Gi", env={"XDG_CONFIG_HOME": str(config)})
    assert key_of(other) != key
    other.end()
    shutil.rmtree(other.state)
    shutil.copytree(server.state, other.state)
    away = tmp_path / "away.key"
    key.rename(away)
    assert f"their key {key} is not there" in run_server(other.state)
    assert not key.exists()
    other.flags = ("--seal-key", str(away))
    other.start()
    assert WORD in other.api("GET", f"/v1/jobs/{number}?spec=1").good().text


def test_keys_that_are_none(start: Starter) -> None:
    """An empty file, a cut one or one of zeros (a full disk, a lost page) is not replaced."""
    server = start(nodes="1x4cpu,8Gi")
    keys = [key_of(server), server.state / "agent.key"]
    server.end()
    for key in keys:
        right = key.read_bytes()
        for bad in (b"", right[:-1], right + b"x", bytes(32)):
            key.write_bytes(bad)
            said = run_server(server.state)
            assert str(key) in said and "put the right one back" in said, said
            assert key.read_bytes() == bad
        key.write_bytes(right)
    server.start()


def test_an_older_directory_goes_on(start: Starter, tmp_path: Path) -> None:
    """Its key lies in it, where the version before put it; it is said, and moved by hand."""
    server = start(nodes="1x4cpu,8Gi")
    number = server.submit(native("j", "true", env={"A": WORD}))
    server.wait(number, *FINAL)
    old, key = server.state / "identity.key", key_of(server)
    server.end()
    key.rename(old)
    (server.state / "seal_key.path").unlink()
    server.start()
    assert key_of(server) == old
    said = muster("doctor", state=server.state).stdout
    assert "who copies the state directory has it too" in said
    server.end()
    new = tmp_path / "new.key"
    old.rename(new)
    assert "nothing in" in run_server(server.state)
    server.flags = ("--seal-key", str(new))
    server.start()
    assert WORD in server.api("GET", f"/v1/jobs/{number}?spec=1").good().text
    assert not old.exists()


def test_a_wrong_key_loses_no_job(start: Starter) -> None:
    server = start(nodes="1x4cpu,8Gi")
    number = server.submit(native("j", SLEEPS, env={"A": WORD}))
    server.wait(number, "running")
    key = key_of(server)
    server.end()
    right = key.read_bytes()
    key.write_bytes(b"x" * 32)
    said = run_server(server.state)
    assert "sealed with another key, and 1 job lives in them" in said
    key.write_bytes(right)
    server.start()
    assert server.job(number)["state"] == "running"
    assert WORD in server.api("GET", f"/v1/jobs/{number}?spec=1").good().text


def test_a_recording_elsewhere(start: Starter, tmp_path: Path) -> None:
    rec = tmp_path / "rec"
    server = start(nodes="1x4cpu,8Gi", flags=("--record", str(rec)))
    number = server.submit(native("j", "true", env={"A": WORD}))
    server.wait(number, *FINAL)
    key = key_of(server)
    server.end()
    done = muster("replay", rec, "--quiet")
    assert done.returncode == 0 and "same as recorded" in done.stdout, done.stderr
    away, wrong = tmp_path / "away.key", tmp_path / "wrong.key"
    key.rename(away)
    wrong.write_bytes(b"x" * 32)
    wrong.chmod(0o600)
    done = muster("replay", rec, "--quiet")
    assert done.returncode == 2 and f"its server's key {key} is not here" in done.stderr
    assert "--seal-key FILE" in done.stderr
    done = muster("replay", rec, "--quiet", "--seal-key", wrong)
    assert (
        done.returncode == 2 and "is not the key that the recording is sealed with" in done.stderr
    )
    done = muster("replay", rec, "--quiet", "--seal-key", away)
    assert done.returncode == 0 and "same as recorded" in done.stdout, done.stderr


def test_where_no_key_can_be_made(tmp_path: Path) -> None:
    state = Server().state
    (tmp_path / "muster").mkdir()
    (tmp_path / "muster/keys").write_text("")
    said = run_server(state, XDG_CONFIG_HOME=str(tmp_path))
    assert "making the key" in said and "--seal-key FILE" in said, said
    assert not (state / "seal_key.path").exists()
    shutil.rmtree(state)
