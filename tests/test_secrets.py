"""Secrets by name: kept and listed, given to tasks as variables and as files in memory, masked in
what they print, set anew while they run; and in no file of a server in clear."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from accounts import Account, Shared
from conftest import Starter
from harness import FINAL, Server, environment, muster, native, program, until_there, wait_for
from test_machines import AGENTS, add, host, wait_state, write_conf
from test_secrets_at_rest import FORMS, WORD, Client, in_clear

SECOND = "qwopqwop-second-17"
PEM = f"-----BEGIN KEY-----\n{WORD}-line-one\nanother-line-{WORD}\n-----END KEY-----\n"


def keep(server: Server, name: str, value: str, *flags: str) -> None:
    done = server.muster("secret", "set", name, *flags, stdin=value)
    assert done.returncode == 0, done.stderr


def names(server: Server) -> list[str]:
    return server.muster("secret", "ls", "-q").stdout.split()


def test_set_list_and_remove(start: Starter) -> None:
    server = start(nodes="1x4cpu,8Gi")
    assert names(server) == []
    keep(server, "hf-token", WORD + "\n")
    keep(server, "db/password", PEM)
    assert names(server) == ["db/password", "hf-token"]
    listed = json.loads(server.muster("secret", "ls", "--json").stdout)["secrets"]
    assert [one["name"] for one in listed] == ["db/password", "hf-token"]
    assert all(one["by"] and one["changed_ms"] and "value" not in one for one in listed)
    table = server.muster("secret", "ls")
    assert "hf-token" in table.stdout and "never" in table.stdout and WORD not in table.stdout
    kept = server.get("/v1/secrets")["secrets"]
    assert [one["name"] for one in kept] == ["db/password", "hf-token"]

    for bad, said in (
        ("../x", "is no name of a secret"),
        ("a/b/c", "is no name of a secret"),
        ("-x", "-x"),
        ("x" * 300, "is no name of a secret"),
    ):
        done = server.muster("secret", "set", bad, stdin="y")
        assert done.returncode and said in done.stderr, done.stderr
    assert server.api("PUT", "/v1/secrets/a%20b", b"x").status == 400
    done = server.muster("secret", "set", "empty", stdin="")
    assert done.returncode and "is empty" in done.stderr
    done = server.muster("secret", "set", "large", stdin="x" * ((1 << 20) + 2))
    assert done.returncode and "more than 1048576 bytes" in done.stderr
    keep(server, "large", "x" * (1 << 20))
    done = server.muster("secret", "set", "hf-token", WORD)
    assert done.returncode and "no value behind it" in done.stderr

    assert server.muster("secret", "rm", "hf-token", "large").returncode == 0
    assert names(server) == ["db/password"]
    done = server.muster("secret", "rm", "hf-token")
    assert done.returncode and "muster secret ls" in done.stderr
    types = [e["type"] for e in server.get("/v1/events", limit=1000)["events"]]
    assert types.count("secret.created") == 3 and types.count("secret.removed") == 2
    server.kill()
    server.start()
    assert names(server) == ["db/password"]


def test_a_typed_value_is_not_shown(start: Starter) -> None:
    server = start(nodes="1x4cpu,8Gi")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [program(), "secret", "set", "typed"],
        env=environment(server.state),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as typing:
        os.close(theirs)
        said = b""
        while b"): " not in said:
            said += os.read(ours, 1000)
        os.write(ours, WORD.encode() + b"\n")
        with contextlib.suppress(OSError):  # how a terminal says that nobody is there any more
            while more := os.read(ours, 1000):
                said += more
    os.close(ours)
    assert typing.returncode == 0 and WORD.encode() not in said, said
    secrets = [{"name": "typed", "env": "T"}]
    job = server.run(native("typed", 'test "$T" = ' + WORD, secrets=secrets))
    assert job["state"] == "succeeded", job


LOOK = r"""
echo "var $TOKEN"
cat $MUSTER_SECRETS/db/password
stat -c '%a %F' $MUSTER_SECRETS/db/password /run/mine/token
stat -f -c %T $MUSTER_SECRETS /run/mine
cat /run/mine/token >/dev/null && ls /run/mine
printf %s "$TOKEN" | head -c 5; printf '%s\n' "$TOKEN" | tail -c +6
printf 'begin-%s-end\n' "$TOKEN"
echo core $(ulimit -c) $(ulimit -Hc)
echo short $SHORT
env | grep -c ^PRE_
"""


def given(**more: Any) -> str:
    secrets = [
        {"name": "token", "env": "TOKEN"},
        {"name": "token", "file": "/run/mine/token"},
        "db/password",
        {"name": "short", "env": "SHORT"},
        {"name": "absent", "env": "NOT", "optional": True},
        {"name": "db/*", "env": "PRE_"},
    ]
    return native("given", run=LOOK, secrets=secrets, **more)


def test_tasks_get_them_and_logs_do_not_show_them(start: Starter) -> None:
    server = start(nodes="1x4cpu,8Gi")
    keep(server, "token", WORD)
    keep(server, "db/password", PEM)
    keep(server, "db/user", "ada")
    keep(server, "short", "abc")
    job = server.run(given())
    log = server.log(job["number"])
    assert job["state"] == "succeeded", (job, log)
    stars = "*" * len(WORD)
    lines = log.splitlines()
    assert lines[0] == f"var {stars}"
    assert lines[1] == "*" * len("-----BEGIN KEY-----")
    assert lines[2:5] == [
        "*" * len(f"{WORD}-line-one"),
        "*" * len(f"another-line-{WORD}"),
        "*" * len("-----END KEY-----"),
    ]
    assert lines[5:7] == ["400 regular file"] * 2
    assert lines[7:9] == ["tmpfs"] * 2
    assert lines[9] == "token"
    assert lines[10] == stars, "in two pieces, which the log joins again"
    assert lines[11] == f"begin-{stars}-end"
    assert lines[12] == "core 0 0"
    assert lines[13] == "short abc", "less than 8 bytes are not looked for"
    assert lines[14] == "2"
    assert in_clear(server.state) == []

    [one] = [s for s in server.get("/v1/secrets")["secrets"] if s["name"] == "token"]
    assert one["used_job"] == job["number"]
    audit = json.loads(server.muster("audit", "--json").stdout)["entries"]
    used = [e for e in audit if e["action"] == "secret.used"]
    assert {e["object"].split()[1] for e in used} == {"token", "db/password", "db/user", "short"}
    assert all(f"job {job['number']}, from worker/0 on" in e["object"] for e in used)
    spec = json.dumps(server.job(job["number"], spec=1))
    assert WORD not in spec and "db/password" in spec


def test_what_is_not_there_is_refused(start: Starter) -> None:
    server = start(nodes="1x4cpu,8Gi")
    keep(server, "hf-token", WORD)
    reply = server.api("POST", "/v1/jobs", native("no", secrets=["hf-tokn"]))
    assert reply.status == 400 and '\\"hf-token\\"?' in reply.text, reply.text
    reply = server.api("POST", "/v1/jobs", native("no", secrets=["else"]))
    assert reply.status == 400 and "secret set else" in reply.text, reply.text
    assert server.jobs() == []
    # removed while the job waits: its own fault, said with what to do
    waits = server.submit(native("late", secrets=["hf-token"], suspend=True))
    assert server.muster("secret", "rm", "hf-token").returncode == 0
    assert server.muster("resume", waits).returncode == 0
    job = server.wait(waits, *FINAL)
    assert job["state"] == "failed" and "not there any more" in json.dumps(job), job
    keep(server, "binary", "a\0b")
    job = server.run(native("var", secrets=[{"name": "binary", "env": "B"}]))
    assert job["state"] == "failed" and "has a zero byte" in json.dumps(job), job
    # its directory is to have nothing else
    job = server.run(native("etc", secrets=[{"name": "binary", "file": "/etc/passwd"}]))
    assert job["state"] == "failed" and "/etc" in json.dumps(job), job


def test_a_value_set_anew_reaches_tasks_that_run(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="1x4cpu,8Gi")
    keep(server, "token", WORD)
    first, seen = tmp_path / "first", tmp_path / "seen"
    look = f"""
cmp -s $MUSTER_SECRETS/token {tmp_path}/want1 && touch {first}
until cmp -s $MUSTER_SECRETS/token {tmp_path}/want2; do sleep 0.01; done
cat $MUSTER_SECRETS/token; echo; echo $OLD
touch {seen}; exec sleep 600
"""
    (tmp_path / "want1").write_text(WORD)
    (tmp_path / "want2").write_text(SECOND)
    keep(server, "gone", "which is removed while it runs")
    secrets = ["gone", "token", {"name": "token", "env": "OLD"}]
    number = server.submit(native("runs", look, secrets=secrets))
    other = server.submit(native("other", "exec sleep 600"))
    until_there(first)
    assert server.muster("secret", "rm", "gone").returncode == 0
    keep(server, "token", SECOND)
    until_there(seen)
    stars = ["*" * len(SECOND), "*" * len(WORD)]
    wait_for(lambda: server.log(number).splitlines() == stars)
    tasks = [t for n in (number, other) for t in server.get(f"/v1/jobs/{n}/tasks")["tasks"]]
    assert [len(t["attempts"]) for t in tasks] == [1, 1], "nothing was started anew"
    assert in_clear(server.state) == []
    again = server.run(
        native("next", f'test "$T" = {SECOND}', secrets=[{"name": "token", "env": "T"}])
    )
    assert again["state"] == "succeeded", "a new attempt has the new value"


def elastic(name: str, seen: Path) -> str:
    wait = f"until grep -q {SECOND} /run/tls/ca.pem; do sleep 0.01; done; touch {seen}"
    return f"""
apiVersion: elastic.iml.github.io/v1alpha1
kind: ElasticJob
metadata: {{name: {name}}}
spec:
  distributionStrategy: AllreduceStrategy
  replicaSpecs:
    worker:
      replicas: 1
      template:
        spec:
          containers:
            - name: main
              image: x
              command:
                - sh
                - -c
                - echo $PASSWORD $S3_key; cat /run/tls/ca.pem; {wait}; exec sleep 600
              env:
                - name: PASSWORD
                  valueFrom: {{secretKeyRef: {{name: db, key: password}}}}
              envFrom: [{{secretRef: {{name: s3}}, prefix: S3_}}]
              volumeMounts: [{{name: tls, mountPath: /run/tls}}]
          volumes: [{{name: tls, secret: {{secretName: tls}}}}]
"""


OPENPAI = f"""
protocolVersion: 2
name: pai
type: job
prerequisites: [{{type: dockerimage, name: i, uri: "r.example/a:1"}}]
secrets:
  pw: {WORD}
taskRoles:
  w:
    dockerImage: i
    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}
    commands: ["echo <% $secrets.pw %>; exec sleep 600"]
"""
SCRIPT = """#!/bin/bash
#SBATCH -J script -n 1
echo $TOKEN
exec sleep 600
"""
DLC = {
    "DisplayName": "dlc",
    "JobType": "PyTorchJob",
    "UserCommand": "echo $TOKEN; exec sleep 600",
    "JobSpecs": [{"Type": "Worker", "Image": "r.example/a:1", "EcsSpec": "ecs.c6.large"}],
}


def test_each_format_has_them_and_no_file_does(start: Starter, tmp_path: Path) -> None:
    """Secrets of Kubernetes by muster, by kubectl's document, by the job's own text, by --set."""
    rec, seen = tmp_path / "rec", tmp_path / "seen"
    server = start(nodes="1x64cpu,64Gi", flags=("--record", str(rec), "--log-level", "debug"))
    client = Client(server)
    for name in ("db/password", "token"):
        keep(server, name, WORD)
    for name, key in (("s3", "key"), ("tls", "ca.pem")):
        secret = {"metadata": {"name": name}, "stringData": {key: WORD}}
        client.call("POST", "/api/v1/namespaces/default/secrets", json.dumps(secret))
    sets = "inputs.secrets=[{name: token, env: TOKEN}]"
    jobs = {
        server.submit(elastic("elastic", seen)): 3,
        server.submit(OPENPAI): 1,
        server.submit(SCRIPT, set=sets): 1,
        server.submit(json.dumps(DLC), set=sets): 1,
    }
    stars = "*" * len(WORD)

    def masked(number: int, times: int) -> bool:
        log = server.log(number)
        assert WORD not in log
        return log.count(stars) == times

    for number, times in jobs.items():
        server.wait(number, "running")
        wait_for(partial(masked, number, times))
    backup = tmp_path / "backup.tar"
    assert server.muster("backup", backup).returncode == 0
    assert in_clear(server.state, rec) == []
    assert not any(form in backup.read_bytes() for form in FORMS)
    for number in jobs:
        for path in ("", "/origin", "/events", "/explain"):
            assert WORD not in server.api("GET", f"/v1/jobs/{number}{path}").text
    # what kubectl changes is in the file at once, and no task is started anew
    secret = {"metadata": {"name": "tls"}, "stringData": {"ca.pem": SECOND}}
    client.call("PUT", "/api/v1/namespaces/default/secrets/tls", json.dumps(secret))
    until_there(seen)
    assert server.log(min(jobs)).count("*") == 3 * len(WORD)

    server.kill()  # the next server tells agents what is set anew
    server.start()
    keep(server, "db/password", SECOND)
    for number in jobs:
        server.stop(number, now=True)
        server.wait(number, *FINAL)
    server.end()
    assert in_clear(server.state, rec) == []
    done = muster("replay", rec, "--quiet", env={"MUSTER_STATE_DIR": "/nonexistent/state"})
    assert done.returncode == 0 and "same as recorded" in done.stdout, done.stdout + done.stderr


def test_on_a_machine_nothing_is_on_its_disk(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="name=here,1cpu,1Gi", flags=AGENTS)
    home, first, seen = tmp_path / "machine", tmp_path / "first", tmp_path / "seen"
    keep(server, "token", WORD)
    keep(server, "db/password", PEM)
    write_conf(server, home, add(server))
    look = f"""
echo $TOKEN; cat $MUSTER_SECRETS/db/password; touch {first}
until grep -q {SECOND} /run/mine/token; do sleep 0.01; done
cat /run/mine/token; touch {seen}; exec sleep 600
"""
    secrets = [
        {"name": "token", "env": "TOKEN"},
        {"name": "token", "file": "/run/mine/token"},
        "db/password",
    ]
    with host(home):
        wait_state(server, "up")
        job = server.submit(native("far", look, secrets=secrets, place={"engine": "machines"}))
        until_there(first)
        assert in_clear(server.state, home) == []
        keep(server, "token", SECOND)
        until_there(seen)
        stars = [len(WORD), 19, len(WORD) + 9, len(WORD) + 13, 17, len(SECOND)]
        wait_for(lambda: [len(one) for one in server.log(job).splitlines()] == stars)
        assert set(server.log(job)) == {"*", "\n"}
        server.stop(job, now=True)
        server.wait(job, *FINAL)
        assert in_clear(server.state, home) == []


def test_each_user_has_their_own(shared: Callable[..., Shared], accounts: list[Account]) -> None:
    """Files belong to the account of the task; another's secret is not there for one."""
    server = shared()
    ann, ben, _ = accounts
    server.muster("user", "set", ann.name, "--project", "vision")
    done = server.ask(ann, "PUT", "/v1/secrets/token", WORD)
    assert done.status == 200, done.text
    assert server.ask(ann, "PUT", "/v1/secrets/shared", WORD, project="vision").status == 200
    look = "cat $MUSTER_SECRETS/token; echo; stat -c '%a %U' $MUSTER_SECRETS $MUSTER_SECRETS/token"
    lines = server.output(ann, look, secrets=["token"]).splitlines()
    assert lines == ["*" * len(WORD), f"700 {ann.name}", f"400 {ann.name}"]
    for secret, project in (("token", "default"), ("shared", "vision"), ("../x", "default")):
        text = native("no", secrets=[secret], project=project)
        reply = server.ask(ben, "POST", "/v1/jobs", text)
        assert reply.status == 400, reply.text
    assert server.ask(ben, "GET", "/v1/secrets").json() == {"secrets": []}
    assert server.ask(ben, "GET", "/v1/secrets", owner=ann.name).status == 403
    assert server.ask(ben, "DELETE", "/v1/secrets/token", owner=ann.name).status == 403
    number = server.submit_as(
        ann, f"test $S = {WORD}", project="vision", secrets=[{"name": "shared", "env": "S"}]
    )
    assert server.wait(number, *FINAL)["state"] == "succeeded"
