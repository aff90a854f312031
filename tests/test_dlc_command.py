"""`dlc`, the command line of PAI-DLC, against a real server: what its pages and the scripts written
around it rely on."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Done, Json, Server, environment, patience, program, wait_for

PARAMS = """\
name=test_cli_tfjob_001
workers=1
worker_cpu=4
worker_gpu=0
worker_memory=4Gi
worker_shared_memory=4Gi
worker_image=registry-vpc.cn-beijing.aliyuncs.com/pai-dlc/tensorflow-training:1.12.2PAI-cpu-py27-ubuntu16.04
command=echo good && A=b sleep 0.1
resource_id={quota} \n\
workspace_id={workspace}
"""
pytestmark = pytest.mark.sanitizer


class Dlc:
    def __init__(self, server: Server, home: Path) -> None:
        self.server, self.home = server, home
        self.program = home / "dlc"
        self.program.symlink_to(program().resolve())

    def __call__(self, *args: str | Path, **more: str) -> Done:
        return subprocess.run(
            [str(self.program), *map(str, args)],
            env={**environment(self.server.state), "HOME": str(self.home), **more},
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience(60),
            check=False,
        )

    def submit(self, *args: str | Path) -> str:
        done = self("submit", *args)
        assert done.returncode == 0, done.stderr
        return str(re.findall(r"dlc[0-9a-z]{13}", done.stdout)[-1])

    def job(self, job: str) -> Json:
        done = self("get", "job", job)
        assert done.returncode == 0, done.stderr
        found: Json = json.loads(done.stdout)
        return found

    def ended(self, job: str) -> Json:
        final = ("Succeeded", "Failed", "Stopped")
        return wait_for(lambda: j if (j := self.job(job))["Status"] in final else None, 30)


@pytest.fixture
def dlc(server: Server, tmp_path: Path) -> Iterator[Dlc]:
    declared = server.muster("apply", "-f", "-", stdin="kind: workspace\nname: 12345\n")
    assert declared.returncode == 0, declared.stderr
    yield Dlc(server, tmp_path)


def params(folder: Path, quota: str = "vision", workspace: str = "12345") -> Path:
    path = folder / "tfjob.params"
    path.write_text(PARAMS.format(quota=quota, workspace=workspace))
    return path


def test_both_commands_of_the_page(dlc: Dlc, tmp_path: Path) -> None:
    params(tmp_path)
    done = dlc("submit", "tfjob", "--job_file", "./tfjob.params")
    assert done.returncode == 0, done.stderr
    request, table = done.stdout.split("\n+", 1)
    body = json.loads(request)
    assert body["JobType"] == "TFJob" and body["JobSpecs"][0]["PodCount"] == 1
    assert re.search(r"\n   \"", request), "an indent of 3"
    assert re.search(r"\| JobId +\| RequestId +\|\n", table)
    job = re.findall(r"dlc[0-9a-z]+", table)[-1]
    done = dlc("get", "job", job)
    found = json.loads(done.stdout)
    assert found["JobId"] == job and list(found) == sorted(found)
    assert found["UserCommand"] == "echo good && A=b sleep 0.1"
    assert found["ResourceId"] == "vision" and found["WorkspaceId"] == "12345"
    found = dlc.ended(job)
    assert found["Status"] == "Succeeded" and found["ReasonCode"] == "JobSucceeded"
    words = [h["Status"] for h in found["StatusHistory"]]
    assert words == ["Queuing", "EnvPreparing", "Running", "Stopping", "Succeeded"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["GmtSuccessedTime"])
    assert [p["PodId"] for p in found["Pods"]] == [f"{job}-worker-0"]


def test_placeholders_of_the_page_are_refused(dlc: Dlc, tmp_path: Path) -> None:
    path = params(tmp_path, "<替换成您的资源配额ID>", "<替换成您的WorkspaceID>")
    done = dlc("submit", "tfjob", "--job_file", path)
    assert done.returncode == 2 and not done.stdout
    assert "tfjob.params:9:13: resource_id is" in done.stderr
    assert "tfjob.params:10:14: workspace_id is" in done.stderr


def test_the_file_goes_before_flags_and_the_kind_is_one(dlc: Dlc, tmp_path: Path) -> None:
    path = params(tmp_path)
    job = dlc.submit("TFJob", "--name=other", "--priority", "7", "--job_file", path)
    found = dlc.ended(job)
    assert found["DisplayName"] == "test_cli_tfjob_001" and found["Priority"] == 7
    path.write_text(path.read_text() + "kind=PyTorchJob\n")
    done = dlc("submit", "tfjob", "--job_file", path)
    assert done.returncode == 2 and "kind=PyTorchJob" in done.stderr


FLAGS = ("--worker_count", "1", "--worker_cpu", "1", "--worker_memory=1Gi", "--worker_image=me/i",
         "--resource_id", "default")  # fmt: skip


def test_create_with_flags_and_follow(dlc: Dlc) -> None:
    text = ("create", "job", "--kind", "PyTorchJob", *FLAGS)
    done = dlc(*text, "--name", "well", "--command", "echo $RANK\necho two", "--interactive")
    assert done.returncode == 0, done.stderr
    words = re.findall(r"^Job dlc[0-9a-z]+ is \[(\w+)\]$", done.stdout, re.M)
    assert words[0] == "Queuing" and words[-1] == "Succeeded" and "Running" in words
    job = re.findall(r"dlc[0-9a-z]{13}", done.stdout)[-1]
    done = dlc("logs", job, f"{job}-master-0")
    assert done.stdout.splitlines()[2:] == ["0", "two"], "two heading lines, then the text"
    pod = json.loads(dlc("get", "pod", job, f"{job}-master-0").stdout)
    assert pod["Status"] == "Succeeded" and any("started" in e for e in pod["Events"])
    done = dlc(*text, "--name", "ill", "--command", "exit 3", "--interactive=true")
    assert done.returncode == 1 and "exited with 3" in done.stderr


def test_all_that_is_not_known_is_told(dlc: Dlc) -> None:
    """A script of the cloud, with its workspace and its quota: at once, with what to do."""
    flags = ("--workers=1", "--worker_cpu=1", "--worker_memory", "1", "--worker_image=me/i")
    own = ("--enable_credential=true", "--disable_ecs_stock_check=true")
    text = ("submit", "pytorchjob", *flags, *own, "--name=n", "--command=true")
    done = dlc(*text, "--workspace_id", "86989", "--resource_id=quotanur5zmaur63")
    assert done.returncode == 2 and "2 errors in dlc, nothing was submitted" in done.stderr
    for what in ('queue "quotanur5zmaur63" is not known here', "default, public",
                 'workspace "86989" is not known here', "kind: workspace"):  # fmt: skip
        assert what in done.stderr
    assert "--wait" not in done.stderr, "there is no file to submit again"
    for warning in ("CredentialConfig has no effect", "DisableEcsStockCheck has no effect"):
        assert warning in done.stderr


def test_the_older_command(dlc: Dlc) -> None:
    """Memory without a unit, and a kind that bodies have no word for."""
    flags = [flag.removesuffix("Gi") for flag in FLAGS]
    text = ("create", "job", "--kind", "BatchJob", *flags, "--name", "old")
    done = dlc(*text, "--command", "echo $RANK")
    assert done.returncode == 0, done.stderr
    assert "taken for an ElasticBatchJob" in done.stderr and "taken as 1Gi" in done.stderr
    job = re.findall(r"dlc[0-9a-z]{13}", done.stdout)[-1]
    body = dlc.job(job)
    assert body["JobType"] == "ElasticBatchJob"
    assert body["JobSpecs"][0]["ResourceConfig"]["Memory"] == "1Gi"
    assert dlc.ended(job)["Status"] == "Succeeded"


def test_stop_list_delete(dlc: Dlc) -> None:
    job = dlc.submit("pytorchjob", *FLAGS, "-n", "a-long-one", "--command", "sleep 600")
    wait_for(lambda: dlc.job(job)["Status"] == "Running")
    listed = dlc("get", "job", "--display_name", "LONG", "--status", "Running").stdout
    rows = [[c.strip() for c in r.strip("|").split("|")] for r in listed.splitlines() if "|" in r]
    assert rows[1][:4] == ["a-long-one", job, "PyTorchJob", "Running"]
    refused = dlc("delete", "job", job)
    assert refused.returncode != 0 and refused.stderr
    done = dlc("stop", "job", job, "--force")
    assert done.returncode == 0 and f"Job {job} is [Stopped]" in done.stdout
    assert dlc.job(job)["ReasonCode"] == "JobStoppedByUser"
    assert dlc("delete", "job", job).returncode == 0
    gone = dlc("get", "job", job)
    assert gone.returncode != 0 and not gone.stdout


def test_list_is_paged(dlc: Dlc) -> None:
    for i in range(3):
        dlc.ended(dlc.submit("pytorchjob", *FLAGS, "--name", f"page-{i}", "--command", "true"))
    seen = []
    for number in "123":
        done = dlc("get", "job", "--display_name_regex", "^page-", "--page_num", number,
                   "--page_size", "1")  # fmt: skip
        seen += re.findall(r"page-\d", done.stdout)
    assert seen == ["page-2", "page-1", "page-0"]


def test_config(dlc: Dlc, tmp_path: Path) -> None:
    url = str(dlc.server.info()["address"]).removeprefix("http://")
    token = (dlc.server.state / "token").read_text().strip()
    keys = ("--access_id", "AK", "--access_key", token, "--region", "cn-beijing")
    done = dlc("config", "--protocol", "http", "--endpoint", url, *keys)
    path = tmp_path / ".dlc/config"
    assert done.returncode == 0 and path.stat().st_mode & 0o777 == 0o600
    other = {"MUSTER_STATE_DIR": str(tmp_path / "nothing")}
    assert dlc("get", "quota", **other).returncode == 0, "by endpoint and key alone"
    path.chmod(0o644)
    assert "chmod 600" in dlc("get", "quota", **other).stderr
    assert dlc("-k", "wrong", "get", "quota", **other).returncode != 0
    dlc("config", "--endpoint", "pai-dlc.cn-beijing.aliyuncs.com")
    done = dlc("get", "quota")
    assert done.returncode == 0 and "is not used" in done.stderr


def test_small_verbs(dlc: Dlc) -> None:
    assert "ecs.g6.xlarge" in dlc("get", "specs").stdout
    for shell in ("bash", "zsh", "fish", "powershell"):
        assert "submit" in dlc("completion", shell).stdout
    bash = dlc("completion", "bash").stdout
    assert subprocess.run(["bash", "-n"], input=bash, text=True, check=False).returncode == 0
    assert "dlc get job [ID]" in dlc("help").stdout
    wrong_ones = {
        "dlc get?": ["gte", "job"],
        "--page_size?": ["get", "job", "--page_siz", "1"],
        "workers?": ["submit", "tfjob", "--worker", "1"],
    }
    for near, wrong in wrong_ones.items():
        done = dlc(*wrong)
        assert done.returncode == 2 and near in done.stderr and not done.stdout


def test_the_link_is_built() -> None:
    link = program().parent / "dlc"
    assert link.is_symlink() and os.access(link, os.X_OK)
