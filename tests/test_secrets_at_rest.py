"""No registry password is in clear in any file of a server: after a job of each dialect, all that
was kept of it (records, recordings, launch files, logs) is searched, and so is what one may read.
"""

from __future__ import annotations

import base64
import contextlib
import getpass
import http.client
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from conftest import Starter
from harness import FINAL, ROOT, Server, muster, request

WORD = "zyzzyva-93"
FORMS = [
    WORD.encode(),
    *(base64.b64encode(f"{pad}{WORD}".encode())[4:-4] for pad in ("", "x", "xy")),
    WORD.encode().hex().encode(),
]
SLEEPS = "exec sleep 600"


def dlc(name: str) -> str:
    image = {"DockerRegistry": "r.example", "Username": "u", "Password": WORD, "Auth": WORD}
    spec = {"Type": "Worker", "Image": "r.example/a:1", "EcsSpec": "ecs.c6.large"}
    return json.dumps(
        {
            "DisplayName": name,
            "JobType": "PyTorchJob",
            "UserCommand": SLEEPS,
            "JobSpecs": [{**spec, "ImageConfig": image}],
        }
    )


def of_openpai_1(where: Path) -> str:
    (where / "auth").write_text(f"r.example\nu\n{WORD}\n")
    role = {"name": "w", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 100, "command": SLEEPS}
    job = {"jobName": "pai1", "image": "r.example/a:1", "authFile": f"{where}/auth"}
    return json.dumps({**job, "taskRoles": [role]})


OPENPAI_2 = f"""
protocolVersion: 2
name: pai2
type: job
prerequisites:
  - type: dockerimage
    name: i
    uri: r.example/a:1
    auth: {{username: u, password: <% $secrets.pw %>, registryuri: r.example}}
secrets:
  pw: |-
    {WORD}
taskRoles:
  w:
    dockerImage: i
    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}
    commands: [{SLEEPS}]
"""
PARAMS = f"""name=params
kind=pytorchjob
command={SLEEPS}
workers=1
worker_image=r.example/a:1
worker_spec=ecs.c6.large
image_repo_username=u
image_repo_password={WORD}
"""
ELASTIC = f"""
apiVersion: elastic.iml.github.io/v1alpha1
kind: ElasticJob
metadata: {{name: elastic}}
spec:
  distributionStrategy: AllreduceStrategy
  replicaSpecs:
    worker:
      replicas: 1
      template:
        spec:
          imagePullSecrets: [{{name: pull}}]
          containers:
            - {{name: main, image: "r.example/a:1", command: [sh, -c, {SLEEPS}]}}
"""


def native(where: Path) -> str:
    (where / "native-auth").write_text(WORD)
    inputs = {"registry_auth": f"{where}/native-auth"}
    return json.dumps({"name": "native", "run": SLEEPS, "inputs": inputs})


def in_clear(*dirs: Path) -> list[str]:
    found = []
    for top in dirs:
        for at, _, names in os.walk(top):
            for name in names:
                file = Path(at) / name
                with contextlib.suppress(OSError):  # sockets, and what ended meanwhile
                    data = file.read_bytes()
                    found += [f"{file}: {form!r}" for form in FORMS if form and form in data]
    return found


class Client:
    """The façades, over TCP as their clients come."""

    def __init__(self, server: Server) -> None:
        self.address = urlsplit(server.info()["address"]).netloc
        body = json.dumps({"owner": getpass.getuser()})
        self.token = server.api("POST", "/v1/tokens", body).good().json()["token"]

    def call(self, method: str, path: str, body: str | None = None, **headers: str) -> str:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if "x-acs-bearer-token" not in named:
            named["Authorization"] = f"Bearer {self.token}"
        wire = http.client.HTTPConnection(self.address, timeout=30)
        with contextlib.closing(wire):
            return request(wire, method, path, body, named).good().text

    def dlc(self, method: str, path: str, body: str | None = None) -> str:
        return self.call(
            method, path, body, x_acs_version="2020-12-03", x_acs_bearer_token=self.token
        )


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Path]:
    """Of the users, not of the server."""
    (tmp_path / "users").mkdir()
    yield tmp_path / "users"


def test_nothing_is_in_clear(start: Starter, tmp_path: Path, files: Path) -> None:
    rec = tmp_path / "rec"
    server = start(nodes="1x64cpu,64Gi", flags=("--record", str(rec), "--log-level", "debug"))
    client = Client(server)
    secret = {"r.example": {"username": "u", "password": WORD}}
    kept = {
        "metadata": {"name": "pull"},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": json.dumps({"auths": secret})},
    }
    client.call("POST", "/api/v1/namespaces/default/secrets", json.dumps(kept))
    template = {"TemplateName": "t", "WorkspaceId": "default", "Content": dlc("made")}
    made = json.loads(client.dlc("POST", "/api/v1/jobtemplates", json.dumps(template)))
    client.dlc("POST", "/api/v1/jobs", dlc("by-api"))
    by_template = {"TemplateId": made["TemplateId"], "DisplayName": "by-template"}
    client.dlc("POST", "/api/v1/jobs", json.dumps(by_template))
    for text in (dlc("json"), PARAMS, of_openpai_1(files), OPENPAI_2, ELASTIC, native(files)):
        server.submit(text)
    refused = dlc("refused").replace("PyTorchJob", "PyTorch")
    assert server.api("POST", "/v1/jobs", refused).status == 400
    assert server.api("POST", "/v1/jobs", dlc("cut")[:-1]).status == 400
    jobs = {job["name"]: job["number"] for job in server.jobs()}
    assert len(jobs) == 8
    for number in jobs.values():
        server.wait(number, "running")
    again = server.submit("", like=jobs["pai2"])  # from the sealed text
    server.wait(again, "running")
    assert in_clear(server.state, rec) == []

    # nobody is shown them again; the owner can still submit the job once more
    for number in jobs.values():
        for path in ("", "/origin", "/events"):
            assert WORD not in server.api("GET", f"/v1/jobs/{number}{path}").good().text
    origin = json.loads(server.api("GET", f"/v1/jobs/{jobs['json']}/origin").good().text)
    assert origin["JobSpecs"][0]["ImageConfig"]["Password"] == "***"
    assert origin["JobSpecs"][0]["ImageConfig"]["Username"] == "u"
    pull = json.loads(client.call("GET", "/api/v1/namespaces/default/secrets/pull"))
    assert WORD in base64.b64decode(pull["data"][".dockerconfigjson"]).decode()  # its maker's

    server.kill()
    server.start()
    for number in (*jobs.values(), again):
        server.stop(number, now=True)
        server.wait(number, *FINAL)
    assert in_clear(server.state, rec) == []
    server.end()
    assert in_clear(server.state, rec) == []
    done = muster("replay", rec, "--quiet", env={"MUSTER_STATE_DIR": "/nonexistent/state"})
    assert done.returncode == 0 and "same as recorded" in done.stdout, done.stdout + done.stderr


def test_the_key_is_a_file_of_its_own(start: Starter, tmp_path: Path) -> None:
    """Elsewhere by a setting; what it sealed is not read without it, and it is never replaced."""
    key = tmp_path / "keys" / "seal.key"
    server = start(nodes="1x4cpu,8Gi", flags=("--seal-key", str(key)))
    number = server.submit(dlc("sealed"))
    assert key.stat().st_mode & 0o777 == 0o600
    assert not (server.state / "identity.key").exists()
    assert not (server.state / "seal_key.path").exists()
    server.end()

    right = key.read_bytes()
    for bad, said in ((b"", "has 0 bytes, not 32"), (right[:-1], "has 31 bytes, not 32")):
        key.write_bytes(bad)
        with pytest.raises(RuntimeError, match=said):
            server.start()
        assert key.read_bytes() == bad
    key.unlink()
    with pytest.raises(RuntimeError, match=r"their key .*seal\.key is not there"):
        server.start()
    assert not key.exists()
    key.write_bytes(right)
    key.chmod(0o644)
    with pytest.raises(RuntimeError, match="others may use the key"):
        server.start()

    key.chmod(0o600)
    server.start()
    assert server.submit("", like=number)
    server.end()
    key.write_bytes(b"x" * 32)
    with pytest.raises(RuntimeError, match="sealed with another key, and 2 jobs live in them"):
        server.start()
    key.write_bytes(right)
    server.start()
    for one in server.jobs():
        server.stop(one["number"], now=True)
        server.wait(one["number"], *FINAL)
    server.end()
    key.write_bytes(b"x" * 32)
    server.start()
    assert "what another key sealed cannot be read" in server.said()
    reply = server.api("POST", "/v1/jobs?like=" + str(number))
    assert reply.status == 422 and "sealed with another key" in reply.text
    assert len(server.jobs()) == 2
    assert server.api("GET", f"/v1/jobs/{number}/origin").text == ""
    assert server.submit(native(tmp_path))
    server.end()
    server.start()  # the new key counts
    assert "what another" not in server.said().rpartition("server.ending")[2]


def test_older_records_are_sealed(start: Starter) -> None:
    """What an earlier version left in clear, in pages that are not in use any more too."""
    server = start(nodes="1x4cpu,8Gi")
    server.kill()
    for name in ("muster.db", "muster.db-wal", "muster.db.mark"):
        (server.state / name).unlink(missing_ok=True)
    shutil.copy(ROOT / "tests/fixtures/store-v1.db", server.state / "muster.db")
    with contextlib.closing(sqlite3.connect(server.state / "muster.db")) as db:
        (ended,) = db.execute("SELECT id FROM job WHERE name = 'first'").fetchone()
        text, masked = dlc("first"), dlc("first").replace(WORD, "***")
        db.execute("UPDATE origin SET text = ?, masked = ? WHERE job = ?", (text, masked, ended))
        db.execute("UPDATE job SET dialect = 'dlc' WHERE id = ?", (ended,))
        db.execute("INSERT INTO secret VALUES ('ada', 'registry/1', ?)", (WORD.encode(),))
        spec = json.dumps({"owner": "ada", "created_ms": 1, "spec": {"data": {"a": WORD}}})
        db.execute("INSERT INTO object VALUES ('k8s.secrets', 'default', 's', ?, 1)", (spec,))
        db.execute("INSERT INTO secret VALUES ('ada', 'gone', ?)", (WORD.encode() * 3000,))
        db.commit()
        db.execute("DELETE FROM secret WHERE name = 'gone'")
        db.commit()
    assert in_clear(server.state)
    server.start()
    assert in_clear(server.state) == []
    assert [job["name"] for job in server.jobs()] == ["waits", "first"]
    again = server.submit("", like=1)
    assert server.job(again)["name"] == "first"
    assert server.job(1, spec=1)["spec"]["roles"] and server.jobs(name="first")
    assert WORD in Client(server).call("GET", "/api/v1/namespaces/default/secrets/s")
