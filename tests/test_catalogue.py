"""What jobs point to by name: declared by a file, listed, used, refused when unknown, and all of it
there again after the server was killed."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from harness import Json, Server, environment, program

pytestmark = pytest.mark.sanitizer


def declare(server: Server, text: str, *more: str) -> subprocess.CompletedProcess[str]:
    return server.muster("apply", "-f", "-", *more, stdin=text)


def applied(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return [line.rsplit(None, 1)[-1] for line in done.stdout.splitlines()]


def names(server: Server, kind: str) -> dict[str, Json]:
    done = server.muster("get", kind, "--json")
    assert done.returncode == 0, done.stderr
    return {entry["name"]: entry for entry in json.loads(done.stdout)[kind]}


def job(**changes: Any) -> str:
    spec = {"Type": "Worker", "PodCount": 1, "EcsSpec": "ecs.c6.large", **changes.pop("spec", {})}
    spec = {key: value for key, value in spec.items() if value is not None}
    return json.dumps(
        {
            "DisplayName": "names",
            "JobType": "PyTorchJob",
            "JobSpecs": [spec],
            "UserCommand": "cat $DATA; python /mnt/code/main.py",
            **changes,
        }
    )


@pytest.fixture
def declared(start: Starter, tmp_path: Path) -> Server:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/digits").write_text("0123456789\n")
    (tmp_path / "code").mkdir()
    (tmp_path / "code/main.py").write_text("print('from the source')\n")
    server = start(nodes="2x16cpu,64Gi,4gpu")
    text = f"""
kind: workspace
name: 268456
---
kind: quota
name: vision
description: eight machines
---
kind: virtual-cluster
name: nightly
---
kind: dataset
name: d-digits
uri: {tmp_path}/data
path: /mnt/digits
read_only: true
---
kind: code_source
name: code-1
uri: file://{tmp_path}/code
path: /mnt/code
---
kind: instance_type
name: ecs.own.big
cpu: 3.5
memory: 5Gi
---
kind: image
name: torch
uri: registry.example.org/torch:2
labels: {{system.chipType: CPU}}
"""
    assert applied(declare(server, text)) == ["created"] * 7
    assert applied(declare(server, text)) == ["unchanged"] * 7
    return server


def test_what_ships(start: Starter) -> None:
    server = start(nodes="1x16cpu,64Gi")
    assert list(names(server, "workspaces")) == ["default"]
    assert list(names(server, "quotas")) == ["default", "public"]
    assert names(server, "instance_types")["ecs.g6.xlarge"]["memory"] == "16Gi"
    labels = [image["labels"]["system.framework"] for image in names(server, "images").values()]
    assert "Tensorflow 1.15" in labels
    assert names(server, "datasets") == {}
    done = server.muster("get", "datasets")
    assert (done.returncode, done.stdout) == (0, "") and "no data sets declared" in done.stderr


def test_a_job_uses_names(declared: Server) -> None:
    data = {"DataSourceId": "d-digits", "MountPath": ""}
    text = job(WorkspaceId="268456", DataSources=[data], CodeSource={"CodeSourceId": "code-1"},
               Envs={"DATA": "/mnt/digits/digits"},
               spec={"EcsSpec": "ecs.own.big", "Image": "torch"})  # fmt: skip
    number = declared.submit(text)
    spec = declared.job(number, spec=1)["spec"]
    role = spec["roles"]["master"]
    assert role["resources"] == {"cpu": 3.5, "memory": "5Gi"}
    assert role["image"] == "registry.example.org/torch:2"
    mount = {"from": "dataset:d-digits", "at": "/mnt/digits", "read_only": True}
    assert spec["inputs"]["data"] == [mount]
    assert declared.wait(number)["state"] == "succeeded"
    assert declared.log(number).splitlines() == ["0123456789", "from the source"]


def git(at: Path, *args: str) -> str:
    own = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(["git", "-C", str(at), *own, *args], capture_output=True, check=True)
    return done.stdout.decode().strip()


def test_a_branch_or_commit_is_never_another(declared: Server, tmp_path: Path) -> None:
    """Nothing is fetched: code that is not at what the job names does not run."""

    def tried(**at: str) -> str:
        (tmp_path / "job.json").write_text(job(CodeSource={"CodeSourceId": "code-1", **at}))
        done = declared.muster("run", tmp_path / "job.json")
        assert done.returncode in (0, 2), done.stderr
        return done.stdout if done.returncode == 0 else done.stderr

    assert "from the source" in tried()
    assert 'be at "main", and its directory is no git work tree' in tried(Branch="main")
    git(tmp_path / "code", "init", "-q", "-b", "main")
    git(tmp_path / "code", "add", ".")
    git(tmp_path / "code", "commit", "-q", "-m", "one")
    commit = git(tmp_path / "code", "rev-parse", "HEAD")
    for at in ({"Branch": "main"}, {"Commit": commit}, {"Branch": "gone", "Commit": commit[:9]}):
        assert "from the source" in tried(**at), at
    ran = len(declared.jobs())
    for at in ({"Branch": "gone"}, {"Branch": "main", "Commit": "abc1234"}):
        said = tried(**at)
        assert f"is at branch main, commit {commit[:12]}; nothing is fetched here" in said
        assert f"check it out in {tmp_path}/code, or name no branch and no commit" in said
    (source,) = (s for s in names(declared, "code_sources").values())
    declare(declared, json.dumps({**source, "kind": "code_source", "at": "v2"}))
    assert 'be at "v2"' in tried()  # what the source itself says
    assert len(declared.jobs()) == ran
    git(tmp_path / "code", "tag", "v2")
    assert "from the source" in tried()


@pytest.mark.parametrize(
    ("changes", "wrong", "near"),
    [
        ({"WorkspaceId": "268457"}, 'workspace "268457" is not known here', "268456"),
        ({"CodeSource": {"CodeSourceId": "code-2"}}, 'code source "code-2"', "code-1"),
        ({"DataSources": [{"DataSourceId": "d-digit"}]}, 'data set "d-digit"', "d-digits"),
        ({"spec": {"EcsSpec": "ecs.own.bigg"}}, "no instance type known here", "ecs.own.big"),
        ({"spec": {"Image": "torhc"}}, 'image "torhc" is not known here', "torch"),
        ({"ResourceId": "visoin", "spec": {"EcsSpec": None, "ResourceConfig": {"CPU": "1"}}},
         'queue "visoin" is not known here', "vision"),
    ],
)  # fmt: skip
def test_unknown_names_are_refused(declared: Server, changes: Json, wrong: str, near: str) -> None:
    done = declared.muster("submit", "-", stdin=job(**changes))
    assert done.returncode == 2
    assert wrong in done.stderr and near in done.stderr.split(wrong)[1], done.stderr


def test_a_data_set_that_is_gone_at_the_start_is_said(declared: Server) -> None:
    text = job(DataSources=[{"DataSourceId": "d-digits"}], Envs={"DATA": "/mnt/digits/digits"},
               CodeSource={"CodeSourceId": "code-1", "MountPath": "/opt/elsewhere"},
               UserCommand="ls /mnt/code; python /opt/elsewhere/main.py")  # fmt: skip
    number = declared.submit(text)
    assert declared.wait(number)["state"] == "succeeded"
    assert declared.log(number).splitlines()[-1] == "from the source"
    role = {"replicas": 2, "run": "sleep 600", "resources": {"cpu": 16}}
    front = declared.submit(json.dumps({"name": "front", "roles": {"w": role}}))
    declared.wait(front, "running")
    number = declared.submit(text)
    assert declared.muster("rm", "dataset/d-digits").returncode == 0
    declared.stop(front)
    done = declared.wait(number)
    assert done["state"] == "failed"
    assert 'data set "d-digits" is not known here' in done["reason"], done


def test_quotas_and_virtual_clusters_are_queues(declared: Server) -> None:
    for queue in ("vision", "nightly"):
        number = declared.submit("muster: 1\nname: q\nrun: 'true'\n", queue=queue)
        assert declared.wait(number)["queue"] == queue


def test_the_dlc_command_lists_them(declared: Server, tmp_path: Path) -> None:
    command = tmp_path / "dlc"
    command.symlink_to(program().resolve())
    for what, wanted in (("quota", "vision"), ("quota", "public"), ("specs", "ecs.own.big")):
        done = subprocess.run(
            [command, "get", what], env=environment(declared.state), capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        assert f"| {wanted} " in done.stdout, done.stdout


def test_kept_changed_and_removed(declared: Server) -> None:
    declared.kill()
    declared.start()
    assert list(names(declared, "quotas")) == ["default", "public", "vision"]
    assert applied(declare(declared, "kind: quota\nname: vision\n")) == ["changed"]
    assert "description" not in names(declared, "quotas")["vision"]
    assert declared.muster("rm", "quota/vision", "dataset/d-digits").returncode == 0
    assert list(names(declared, "quotas")) == ["default", "public"] and not names(
        declared, "datasets"
    )
    done = declared.muster("rm", "quota/default")
    assert done.returncode != 0 and "ships with muster" in done.stderr
    changed = "kind: workspace\nname: default\ndescription: ours\n"
    assert applied(declare(declared, changed)) == ["changed"]
    done = declared.muster("rm", "workspace/default")
    assert "as shipped again" in done.stdout
    done = declared.muster("rm", "datasets/d-digit")
    assert done.returncode != 0 and 'no data set "d-digit"' in done.stderr


def test_public_resources_have_a_cap(start: Starter) -> None:
    """Of the page: at most 2 GPUs and 8 cores for each user; in any order that fits."""
    server = start(nodes="2x64cpu,256Gi,8gpu")
    held = [server.submit(job(spec={"EcsSpec": "ecs.gn6i-c4g1.xlarge"}, UserCommand="sleep 600"))
            for _ in range(2)]  # fmt: skip
    for number in held:
        assert server.wait(number, "running")["queue"] == "public"
    third = server.submit(job(spec={"EcsSpec": "ecs.c6.large"}, UserCommand="true"))
    reason = server.wait(third, "queued")["reason"]
    assert 'a user has at most 8 cpu of "public", 8 are in use and it asks for 2' in reason, reason
    other = server.submit(json.dumps({"name": "free", "run": "true"}))
    assert server.wait(other)["state"] == "succeeded"
    assert server.state_of(third) == "queued"
    server.stop(held[0])
    assert server.wait(third)["state"] == "succeeded"
    done = server.muster("submit", "-", stdin=job(spec={"EcsSpec": "ecs.g6.4xlarge"}))
    assert done.returncode != 0 and "asks for 16 cpu" in done.stderr, done.stderr
    assert "user_cpu" in done.stderr
    wider = "kind: quota\nname: public\nuser_cpu: 100\n"
    assert applied(declare(server, wider)) == ["changed"]
    number = server.submit(job(spec={"EcsSpec": "ecs.g6.4xlarge"}, UserCommand="true"))
    assert server.wait(number)["state"] == "succeeded"


BAD = """
kind: dataset
name: a b
path: mnt
---
kind: dataset
name: x
uri: /d
colour: red
---
kind: instance_type
name: t
---
kind: quota
name: q
---
kind: quota
name: q
"""


def test_bad_declarations_say_all_at_once_and_declare_nothing(start: Starter) -> None:
    server = start(nodes="1x16cpu,64Gi")
    done = declare(server, BAD)
    assert done.returncode == 2
    for wrong in (
        "-:2:1: uri is missing",
        '-:3:7: name is "a b"',
        'unknown field "colour"',
        "-:11:1: cpu is missing",
        "-:11:1: memory is missing",
        'quota "q" is declared twice',
        "6 errors in -, nothing was declared",
    ):
        assert wrong in done.stderr, done.stderr
    assert list(names(server, "quotas")) == ["default", "public"]
    done = declare(
        server, "kind: dataset\nname: x\nuri: /d\n---\nmuster: 1\nname: j\nrun: 'true'\n"
    )
    assert done.returncode == 2 and "a second document begins here" in done.stderr
    done = server.muster("submit", "-", stdin="kind: dataset\nname: x\nuri: /d\n")
    assert done.returncode == 2 and "the verb apply declares them" in done.stderr
    done = server.muster("get", "datasets", "-w")
    assert done.returncode == 2 and "muster get datasets" in done.stderr


def test_spot_jobs_are_not_on_public_resources(start: Starter) -> None:
    """The cap of 8 cores is not theirs; `show` says the limit of a job that has none of its own."""
    server = start(nodes="4x16cpu,64Gi", flags=("--prices", "*=1"))
    spot = {"EcsSpec": "ecs.c6.2xlarge", "PodCount": 2, "UseSpotInstance": True}
    tags = {"Settings": {"Tags": {"team": "vision"}}, "UserCommand": "exec sleep 600"}
    number = server.submit(job(spec=spot, **tags))
    assert server.wait(number, "running")["queue"] == "default"
    capped = server.api("POST", "/v1/jobs", job(spec={**spot, "UseSpotInstance": None}, **tags))
    assert capped.status >= 400 and "a user has at most 8 cpu" in capped.text
    shown = server.muster("show", number).stdout
    assert re.search(r"^tags +team=vision$", shown, re.M) and re.search(r"^limit +", shown, re.M)
    assert server.job(number, spec=1)["spec"]["limits"]["run_time"] in ("30h", "1d6h")
    free = server.submit(job(spec={"EcsSpec": "ecs.c6.large"}, JobMaxRunningTimeMinutes=0, **tags))
    assert "run_time" not in server.job(free, spec=1)["spec"].get("limits", {})
    assert "limit  " not in server.muster("show", free).stdout
