"""The vendor's own packages, pinned and newest, against a live server: the two programs of the page
on submitting jobs, every operation well and badly, requests of odd characters, rights, and what a
client sees that sends nonsense. tools/setup clients installs the packages."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from conftest import closed
from harness import ROOT, Json, Server, native, scratch, wait_for

CLIENTS = ROOT / "build/clients"
SESSION = ROOT / "tests/clients/dlc_session.py"
PAGES = ROOT.parent / "shared/seeds"
PYTHONS = {"pinned": CLIENTS / "dlc/bin/python", "newest": CLIENTS / "dlc-newest/bin/python"}


def installed(which: str) -> Path:
    python = PYTHONS[which]
    if not list(python.parents[1].glob(".muster-*")):
        pytest.skip(f"the {which} packages are not here: tools/setup clients")
    return python


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    data = scratch("data")
    (data / "file").write_text("here\n")
    one = Server(flags=("--roots", f"nas://={data},nas://***.cn-hangzhou/={data}"))
    try:
        one.start()
        one.api("POST", "/v1/users", json.dumps({"name": "ada", "role": "user"})).good()
        one.api("POST", "/v1/users", json.dumps({"name": "bob", "role": "user"})).good()
        one.api("POST", "/v1/users", json.dumps({"name": "eve", "role": "reader"})).good()
        yield one
    finally:
        closed(one)


def endpoint(server: Server) -> str:
    return str(server.info()["address"]).removeprefix("http://")


def key(server: Server, owner: str | None = None, **more: Any) -> Json:
    body = {"label": "test", **({"owner": owner} if owner else {}), **more}
    made: Json = server.api("POST", "/v1/keys", json.dumps(body)).good().json()
    return made


def client_env(server: Server) -> dict[str, str]:
    made = key(server)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(server.state),
        "LANG": "C.UTF-8",
        "ENDPOINT": endpoint(server),
        "ALIBABA_CLOUD_ACCESS_KEY_ID": made["id"],
        "ALIBABA_CLOUD_ACCESS_KEY_SECRET": made["secret"],
    }


def session(server: Server, which: str, *args: str, program: Path = SESSION) -> list[Json]:
    done = subprocess.run(
        [installed(which), program, *args],
        env=client_env(server),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


# ---- the real packages ----

CODES = {  # of the calls that are meant to fail, where it is not NotFound
    "InvalidParameter": "CreateJob ListJobs GetJobEvents GetJobMetrics ListEcsSpecs GetToken "
    "ListTensorboards UpdateTensorboard ListDatasets UpdateDataset ListCodeSources ListImages "
    "AddImage ListWorkspaces templated CreateDataset",
    "MissingParameter": "GetJobSanityCheckResult CreateTensorboard CreateJobTemplate "
    "ListJobTemplates CreateDatasetLabels DeleteDatasetLabels CreateDatasetVersion "
    "CreateCodeSource AddImageLabels TagResources UntagResources",
    "NotSupported": "AddMemberRole RemoveMemberRole ListModels GetModel",
    "BadRequest": "UpdateJob GetWebTerminal StopJob DeleteJob StopTensorboard DeleteDatasetVersion",
    "Conflict": "CreateWorkspace",
    "SignatureDoesNotMatch": "secret",
    "InvalidAccessKeyId.NotFound": "key",
}


def expected(name: str) -> str:
    for code, names in CODES.items():
        if name in names.split():
            return code
    return "NotFound"


def check_lists(by: dict[str, Json]) -> None:
    """Sorted up and down, by time and by name; "" where the package has no such parameter."""
    assert json.loads(by["quoted"]["body"]["Options"]) == {"mountPath": '/mnt/"a"'}
    for name in ("ListCodeSources", "ListDatasets"):
        assert by[f"lists {name}"]["body"][""] == "m z a", name
    for name in ("ListCodeSources", "ListDatasets", "ListImages", "ListTensorboards"):
        said = {how: names.split() for how, names in by[f"lists {name}"]["body"].items()}
        own = {how: [one for one in names if len(one) == 1] for how, names in said.items()}
        assert own["asc"] == ["m", "z", "a"] and own["desc"] == ["a", "z", "m"], (name, said)
        assert own[""] == own["desc" if name == "ListTensorboards" else "asc"], name
        assert own["by asc"] in (["a", "m", "z"], []) and own["by desc"] in (["z", "m", "a"], [])
        assert said["bad"] in (["InvalidParameter"], []), name
        assert own["elsewhere"] == [], name
    spaces = by["lists ListWorkspaces"]["body"]
    assert spaces["asc"].split()[-1] == spaces["desc"].split()[0] != "default", spaces
    assert spaces["bad"] == "InvalidParameter"


def served_fields() -> dict[str, dict[str, set[str]]]:
    """What the table of operations says of each, by query and body; a body that is read whole is
    left out."""
    table = (ROOT / "src/api/dlc/ops.c").read_text().replace("\\\n", "")
    texts: dict[str, str] = {}

    def words(source: str) -> str:
        parts = re.findall(r'"([^"]*)"|(\w+)', source)
        said = "".join(text or texts.get(name, "") for text, name in parts)
        return re.sub(r"=\S+", "", said)  # the words that a value may be

    for name, source in re.findall(
        r'^#define ([A-Z_]+)\s+((?:[A-Z]+ +)?".*)$', table, re.MULTILINE
    ):
        texts[name] = words(source)
    served = {}
    rows = re.findall(
        r'    (?:DLC|AIW)\("(\w+)", "\w+", "[^"]*", \w+, [\w| ]+,([^;]*?)\),\n', table
    )
    for name, source in rows:
        query, body = re.split(r",(?=[^,]*$)", source)
        served[name] = {"query": set(re.findall(r"[\w.]+", words(query)))}
        if body.strip() != "NULL":
            served[name]["body"] = set(re.findall(r"[\w.]+", words(body)))
    return served


def check_fields(sent: dict[str, dict[str, list[str]]]) -> None:
    """Each parameter and member that the package can send is one that the operation knows: it is
    honoured, refused with a reason or warned about."""
    served = served_fields()
    assert len(served) > 80 and "Labels" in served["AddImage"]["body"]
    unknown = [
        (name, part, field)
        for name, parts in sent.items()
        for part, names in parts.items()
        for field in names
        if name in served and part in served[name] and field not in served[name][part]
    ]
    assert not unknown


@pytest.mark.parametrize("which", ["pinned", "newest"])
def test_every_operation_well_and_badly(server: Server, which: str) -> None:
    said = session(server, which, "calls")
    wrong = []
    for line in said:
        name, result = line["name"], line["result"]
        if name.endswith("!") and result != expected(name[:-1]):
            wrong.append((name, result, line.get("message")))
        if name[0].isupper() and name[-1].isalpha() and result != "ok":
            wrong.append((name, result, line.get("message")))
    assert not wrong, wrong
    by = {line["name"]: line for line in said}
    assert by["ends"]["result"] == "Succeeded" and by["stopped"]["result"] == "Stopped"
    assert by["deleted"]["result"] == "NotFound"
    assert by["prefix"]["result"] == by["scheme"]["result"] == "ok"
    job = by["GetJob"]["body"]
    assert [pod["Type"] for pod in job["Pods"]] == ["master", "worker"]
    assert job["Settings"]["Tags"] == {"team": "中 a&b"} and job["UserCommand"].startswith("echo")
    assert job["GmtSuccessedTime"].endswith("Z") and job["ReasonCode"] == "JobSucceeded"
    assert [state["Status"] for state in job["StatusHistory"]][-1] == "Succeeded"
    assert by["GetPodLogs"]["body"]["Logs"] == ["hello from 0"]
    assert by["ListJobs"]["body"]["TotalCount"] >= 1
    assert len(by["GetJobEvents"]["body"]["Events"]) == 3
    specs = by["ListEcsSpecs"]["body"]["EcsSpecs"]
    assert specs == sorted(specs, key=lambda spec: spec["Memory"]) and len(specs) > 10
    assert by["ListImages"]["body"]["Images"][0]["ImageUri"].startswith("registry")
    check_lists(by)
    check_fields(by["fields"]["body"])
    if which == "newest":
        assert by["templated"]["result"] == "ok"
        assert by["tagged"]["body"]["TotalCount"] == 1
        assert by["untagged"]["body"]["TotalCount"] == 0
        assert by["ListDatasetVersions"]["body"]["TotalCount"] == 2


@pytest.mark.parametrize("count", [150, 1000])
def test_odd_characters(server: Server, count: int) -> None:
    """Both schemes, every second request each; one flipped bit of any is refused."""
    said = session(server, "pinned", "odd", str(count))[0]
    assert said["accepted"] == said["refused"] == count
    assert said["replayed"] == (count + 49) // 50


def page_programs() -> list[str]:
    """The two programs of the page, as they stand there."""
    for path in sorted(PAGES.glob("*.txt")) if PAGES.is_dir() else []:
        text = path.read_text()
        if "alibabacloud_pai_dlc20201203" not in text:
            continue
        first = text[text.index("#!/usr/bin/env python3") :]
        end = "if __name__ == '__main__':\n    main()\n"
        second = text[text.index("    from alibabacloud_pai_dlc20201203.client import Client\n") :]
        second = second[: second.index("    job.user_command\n") + len("    job.user_command\n")]
        return [
            first[: first.index(end) + len(end)],
            "".join(line[4:] if line.strip() else line for line in second.splitlines(True)),
        ]
    return []


def pointed_here(program: str) -> str:
    """Only the endpoint and the protocol, and the placeholders the page asks to replace."""
    text, n = re.subn(
        r"endpoint=(?:f?['\"][^'\"]*['\"])(?:\.format\(region_id\))?,",
        "endpoint=__import__('os').environ['ENDPOINT'], protocol='http',",
        program,
    )
    assert n in (1, 2)
    return re.sub(r"<替换成您自己的\w+>", "default", text)


def run_program(server: Server, text: str, folder: Path) -> str:
    path = folder / "program.py"
    path.write_text(text)
    done = subprocess.run(
        [installed("pinned"), path],
        env=client_env(server),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check_first(server: Server, text: str, folder: Path) -> None:
    said = run_program(server, text, folder)
    assert "is Succeeded" in said and "sample-dlc-job" in said and "TFJob" in said, said
    assert "create dataset with id: d-" in said, said
    again = run_program(server, text, folder)
    assert "create dataset" not in again and "is Succeeded" in again, again


def test_the_programs_of_the_page_in_haste(server: Server, tmp_path: Path) -> None:
    """Without the sleeping in their command and in their loop."""
    programs = page_programs()
    if not programs:
        pytest.skip("the pages are not here")
    first = pointed_here(programs[0])
    hasty = first.replace("sleep 30", "sleep 0.1").replace("time.sleep(5)", "time.sleep(0.05)")
    assert hasty != first
    check_first(server, hasty, tmp_path)
    said = run_program(server, pointed_here(programs[1]), tmp_path)
    assert said.startswith("job status:"), said


def test_the_programs_of_the_page(server: Server, tmp_path: Path) -> None:
    programs = page_programs()
    if not programs:
        pytest.skip("the pages are not here")
    assert "is Succeeded" in run_program(server, pointed_here(programs[0]), tmp_path)
    assert run_program(server, pointed_here(programs[1]), tmp_path).startswith("job status:")


# ---- by hand: what no package sends ----


def signed(made: Json, method: str, path: str, **more: Any) -> dict[str, str]:
    """The old scheme's headers of a request without a query, by another implementation."""
    nonce = more.get("nonce") or os.urandom(16).hex()
    version = more.get("version", "2020-12-03")
    date = formatdate(time.time() + more.get("off", 0), usegmt=True)
    own = {
        "x-acs-signature-nonce": nonce,
        "x-acs-version": version,
        "x-acs-signature-method": "HMAC-SHA1",
    }
    if "session" in made:
        own["x-acs-security-token"] = made["session"]
    kind = more.get("type", "")
    text = f"{method}\napplication/json\n\n{kind}\n{date}\n"
    text += "".join(f"{k}:{own[k]}\n" for k in sorted(own)) + path
    mac = hmac.new(made["secret"].encode(), text.encode(), hashlib.sha1).digest()
    headers = {**own, "date": date, "accept": "application/json"}
    if kind:
        headers["content-type"] = kind
    return {**headers, "authorization": f"acs {made['id']}:{base64.b64encode(mac).decode()}"}


def send(
    server: Server, method: str, target: str, headers: dict[str, str], body: bytes | None = None
) -> tuple[int, Json]:
    connection = http.client.HTTPConnection(endpoint(server), timeout=30)
    try:
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        said: Json = json.loads(answer.read())
        return answer.status, said
    finally:
        connection.close()


def ask(server: Server, made: Json, method: str, path: str, **more: Any) -> tuple[int, Json]:
    body = more.pop("body", None)
    return send(server, method, path, signed(made, method, path, **more), body)


def code(answer: tuple[int, Json]) -> tuple[int, str]:
    status, said = answer
    assert said["Message"] and said["RequestId"] and "HostId" in said, said
    return status, said["Code"]


def test_who_is_refused(server: Server) -> None:
    made = key(server)
    jobs = "/api/v1/jobs"
    assert ask(server, made, "GET", jobs)[0] == 200
    assert code(send(server, "GET", jobs, {"x-acs-version": "2020-12-03"})) == (
        400,
        "MissingAccessKeyId",
    )
    assert code(ask(server, {**made, "secret": "x"}, "GET", jobs)) == (400, "SignatureDoesNotMatch")
    assert code(ask(server, {**made, "id": "x"}, "GET", jobs)) == (
        404,
        "InvalidAccessKeyId.NotFound",
    )
    assert code(ask(server, made, "GET", jobs, off=-1000)) == (400, "InvalidTimeStamp.Expired")
    assert code(ask(server, made, "GET", jobs, off=1000)) == (400, "InvalidTimeStamp.Expired")
    assert ask(server, made, "GET", jobs, nonce="once")[0] == 200
    assert code(ask(server, made, "GET", jobs, nonce="once")) == (400, "SignatureNonceUsed")
    both = {**signed(made, "GET", jobs), "x-acs-content-sha256": "0"}
    assert code(send(server, "GET", jobs, both)) == (400, "IncompleteSignature")
    server.api("POST", f"/v1/keys/{made['id']}/disable").good()
    assert code(ask(server, made, "GET", jobs)) == (403, "InvalidAccessKeyId.Inactive")
    short = key(server, session_s=60)
    assert ask(server, short, "GET", jobs)[0] == 200
    stolen = {k: v for k, v in short.items() if k != "session"}
    assert code(ask(server, stolen, "GET", jobs)) == (403, "InvalidSecurityToken.Expired")
    token = server.api("POST", "/v1/tokens", json.dumps({"label": "t"})).good().json()["token"]
    bearer = {"x-acs-version": "2020-12-03", "x-acs-bearer-token": token}
    assert send(server, "GET", jobs, bearer)[0] == 200
    assert code(send(server, "GET", jobs, {**bearer, "x-acs-bearer-token": "no"})) == (
        401,
        "InvalidBearerToken",
    )


def test_nonsense_is_answered_in_the_same_shape(server: Server) -> None:
    made = key(server)
    jobs = "/api/v1/jobs"
    kind = "application/json"
    assert code(ask(server, made, "GET", "/api/v1/nothing")) == (404, "InvalidAction.NotFound")
    assert code(ask(server, made, "GET", "/")) == (404, "InvalidAction.NotFound")
    assert code(ask(server, made, "PATCH", jobs)) == (405, "InvalidMethod")
    assert code(ask(server, made, "GET", jobs, version="1999-01-01")) == (400, "InvalidVersion")
    assert code(ask(server, made, "GET", "/api/v1/workspaces")) == (404, "InvalidAction.NotFound")
    for body in (b"", b"{", b"[]", b"null", b'"x"', b'{"a":1,"a":2}', b"\xff\xfe", b"{}" * 3):
        status, said = code(ask(server, made, "POST", jobs, body=body, type=kind))
        assert (status, said) == (400, "InvalidParameter"), body
    assert code(ask(server, made, "POST", jobs, body=b"a: b", type="text/yaml"))[0] == 415
    large = b'{"x":"' + b"x" * (5 << 20) + b'"}'
    assert code(ask(server, made, "POST", jobs, body=large, type=kind)) == (413, "RequestTooLarge")
    assert code(ask(server, made, "GET", f"{jobs}/..%2F..%2Fetc")) == (404, "NotFound")
    assert code(ask(server, made, "GET", f"{jobs}/%ff"))[0] in (400, 404)
    nul = signed(made, "GET", f"{jobs}/%00")
    assert code(send(server, "GET", f"{jobs}/%00", nul)) == (400, "InvalidParameter")
    assert ask(server, made, "GET", "/any/where/api/v1/jobs")[0] == 400  # signed with the prefix
    without = signed(made, "GET", jobs)
    assert send(server, "GET", f"/any/where{jobs}", without)[0] == 200
    assert (
        send(
            server, "GET", jobs, {**signed(made, "GET", jobs), "Host": f"http://{endpoint(server)}"}
        )[0]
        == 200
    )


def test_the_priority_of_a_job_that_waits(server: Server) -> None:
    made, kind = key(server), "application/json"

    def update(job: str, priority: int) -> tuple[int, Json]:
        body = json.dumps({"Priority": priority, "Description": f"at {priority}"}).encode()
        return ask(server, made, "PUT", f"/api/v1/jobs/{job}", body=body, type=kind)

    size = {"CPU": "1", "Memory": "1Gi"}
    spec = {"Type": "Worker", "Image": "x/y", "PodCount": 1, "ResourceConfig": size}
    job = {"DisplayName": "turn", "JobType": "PyTorchJob", "UserCommand": "sleep 600"}
    public = {**job, "JobSpecs": [{**spec, "ResourceConfig": None, "EcsSpec": "ecs.c6.large"}]}
    numbers = {}
    for name, text in (
        ("quota", {**job, "ResourceId": "default", "Priority": 3, "JobSpecs": [spec]}),
        ("public", public),
    ):
        status, said = ask(
            server, made, "POST", "/api/v1/jobs", body=json.dumps(text).encode(), type=kind
        )
        assert status == 200, said
        numbers[name] = said["JobId"]
    waits = numbers["quota"]
    server.wait(waits, "running")
    status, said = update(waits, 8)
    assert (status, said["Code"]) == (400, "BadRequest")
    assert said["Message"] == "the job is Running: Priority counts while it is Queuing"
    server.api("POST", f"/v1/jobs/{waits}/suspend").good()
    server.wait(waits, "suspended")
    assert code(update(waits, 0)) == (400, "InvalidParameter")
    assert update(waits, 8)[0] == 200
    told = ask(server, made, "GET", f"/api/v1/jobs/{waits}")[1]
    assert (told["Priority"], told["Description"], told["Status"]) == (8, "at 8", "Queuing")
    assert code(update(numbers["public"], 8)) == (400, "NotSupported")
    for one in numbers.values():
        server.stop(one, now=True)
        server.wait(one)


def test_others_jobs_and_readers(server: Server) -> None:
    ada, bob, eve = (key(server, name) for name in ("ada", "bob", "eve"))
    body = json.dumps(
        {
            "DisplayName": "adas",
            "JobType": "PyTorchJob",
            "UserCommand": "echo $SECRET",
            "ResourceId": "default",
            "Envs": {"SECRET": "hidden"},
            "JobSpecs": [
                {
                    "Type": "Worker",
                    "Image": "x/y",
                    "PodCount": 1,
                    "ResourceConfig": {"CPU": "1", "Memory": "1Gi"},
                }
            ],
        }
    ).encode()
    kind = "application/json"
    status, made = ask(server, ada, "POST", "/api/v1/jobs", body=body, type=kind)
    assert status == 200, made
    job = f"/api/v1/jobs/{made['JobId']}"
    assert ask(server, ada, "GET", job)[1]["Envs"] == {"SECRET": "hidden"}
    for path, method in (("", "GET"), ("/stop", "POST"), ("", "DELETE"), ("/events", "GET")):
        assert code(ask(server, bob, method, job + path)) == (404, "NotFound")
    assert ask(server, bob, "GET", "/api/v1/jobs")[1]["TotalCount"] == 0
    assert ask(server, ada, "GET", "/api/v1/jobs")[1]["TotalCount"] == 1
    assert code(ask(server, eve, "POST", "/api/v1/jobs", body=body, type=kind)) == (
        403,
        "Forbidden.RAM",
    )
    space = b'{"WorkspaceName":"mine"}'
    answer = ask(
        server, bob, "POST", "/api/v1/workspaces", body=space, type=kind, version="2021-02-04"
    )
    assert code(answer) == (403, "Forbidden.RAM")
    path = "/api/v1/tokens"
    status, token = send(
        server,
        "GET",
        f"{path}?TargetType=job&TargetId={made['JobId']}",
        signed(ada, "GET", f"{path}?TargetId={made['JobId']}&TargetType=job"),
    )
    assert status == 200, token
    query = f"?Token={token['Token']}"
    assert send(server, "GET", job + query, signed(bob, "GET", job + query))[0] == 200
    stop = f"{job}/stop{query}"  # reads, and no more
    assert code(send(server, "POST", stop, signed(bob, "POST", stop))) == (400, "InvalidParameter")


def test_jobs_of_other_front_ends(server: Server) -> None:
    """A job submitted otherwise is listed, read and stopped in the words of DLC."""
    made = key(server)
    job = server.api("POST", "/v1/jobs", native("by-hand", "sleep 100", 2)).good().json()
    path = f"/api/v1/jobs/dlc{job['id']}"
    status, said = ask(server, made, "GET", path)
    assert status == 200 and said["JobType"] == "PyTorchJob" and said["DisplayName"] == "by-hand"
    assert said["JobSpecs"][0]["PodCount"] == 2 and said["WorkspaceId"] == "default"
    wait_for(lambda: ask(server, made, "GET", path)[1]["Status"] == "Running", what="running")
    assert len(ask(server, made, "GET", path)[1]["Pods"]) == 2
    assert ask(server, made, "POST", f"{path}/stop")[0] == 200
    wait_for(lambda: ask(server, made, "GET", path)[1]["Status"] == "Stopped", what="stopped")
    assert server.get(f"/v1/jobs/{job['number']}")["state"] == "stopped"


def test_the_page_says_what_is_not_done() -> None:
    """Every name that is refused or has no effect stands on the page."""
    table = (ROOT / "src/api/dlc/ops.c").read_text()
    page = (ROOT / "doc/api-dlc.md").read_text()
    names = set(re.findall(r"[ \"][-!]([A-Za-z.]{2,})", table))
    assert len(names) > 40
    assert not [name for name in names if f"`{name}`" not in page]


def test_the_page_says_what_is_served() -> None:
    """doc/api-dlc.md names every operation of the table, and no other."""
    table = (ROOT / "src/api/dlc/ops.c").read_text()
    rows = re.findall(r'(?:DLC|AIW|NOT)\((?:DLC_\w+, )?"(\w+)", "(?:GET|PUT|POST|DELETE)"', table)
    page = (ROOT / "doc/api-dlc.md").read_text()
    named = re.findall(r"^\| `(\w+)` \| (?:GET|PUT|POST|DELETE) \|", page, re.MULTILINE)
    assert sorted(named) == sorted(rows)
