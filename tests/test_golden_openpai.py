"""Golden files of the OpenPAI v1 dialect: what `muster check` and `muster convert` make of them.

Each tests/golden/openpai/NAME.json has NAME.yaml (the job in muster's own words) and, for tasks
ROLE/INDEX, NAME.ROLE.INDEX.env (one variable a line). What differs from machine to machine (user,
storage root, addresses, free ports, ids) is written as a name in braces.
"""

from __future__ import annotations

import re
from pathlib import Path

import golden_files
import pytest
from golden_files import compare, convert, task_environment, variables
from harness import muster

GOLDEN = golden_files.GOLDEN / "openpai"
SHARED = golden_files.SHARED / "cases" / "openpai-v1"

TASKS = [
    ("hello", "main/0"),
    ("full", "ps_server/1"),
    ("full", "worker/0"),
    ("names", "a.b~c/0"),
    ("names", "Worker/1"),
    ("service", "serving/0"),
    ("numbers-as-text", "main/1"),
]
CASES = sorted({case for case, _ in TASKS})

pytestmark = pytest.mark.sanitizer


def places(env: dict[str, str]) -> list[tuple[str, str]]:
    """What to replace by which name, longest first."""
    replace: dict[str, str] = {}
    for value in (v for k, v in env.items() if k.startswith("PAI_HOST_IP_")):
        replace[value] = "{ip}"
    ports = 0
    for name, value in env.items():
        if not name.startswith("PAI_PORT_LIST_"):
            continue
        for port in value.split(","):
            if port not in replace and not 20000 <= int(port) <= 20001:  # the fixtures' fixed range
                replace[port] = f"{{port{ports}}}"
                ports += 1
    return sorted(replace.items(), key=lambda item: -len(item[0]))


def normal_environment(env: dict[str, str]) -> str:
    words = places(env)
    root, user = env["PAI_DEFAULT_FS_URI"], env["HADOOP_USER_NAME"]
    normal = {}
    for name, value in env.items():
        if name in ("APP_ID", "PAI_CONTAINER_ID"):
            value = re.sub(r"[0-9a-z]{13}|(?<=_)\d+", "{id}", value)
        elif re.search(r"(HOST_IP|CONTAINER_IP|PORT|HOST_LIST)", name):
            for word, stand_in in words:
                value = re.sub(rf"(?<![\d.]){re.escape(word)}(?![\d.])", stand_in, value)
        else:
            value = normal_site(value, root, user)
        normal[name] = value
    return variables(normal)


def normal_site(text: str, root: str, user: str) -> str:
    text = text.replace(root, "{fs}") if root else text
    text = re.sub(rf"\{{fs\}}/(Output/)?{re.escape(user)}\b", r"{fs}/\1{user}", text)
    return re.sub(rf"^{re.escape(user)}(?=~|$)", "{user}", text)


@pytest.mark.parametrize(("case", "task"), TASKS)
def test_environment(case: str, task: str) -> None:
    env = task_environment(GOLDEN / f"{case}.json", task)
    compare(GOLDEN / f"{case}.{task.replace('/', '.')}.env", normal_environment(env))


@pytest.mark.parametrize("case", CASES)
def test_native(case: str) -> None:
    source = GOLDEN / f"{case}.json"
    env = task_environment(source, dict(TASKS)[case])
    root, user = env["PAI_DEFAULT_FS_URI"], env["HADOOP_USER_NAME"]
    compare(GOLDEN / f"{case}.yaml", normal_site(convert(source), root, user))


@pytest.mark.parametrize("case", CASES)
def test_native_reads_back(case: str, tmp_path: Path) -> None:
    """The converted job is a job of muster's own format; converting it again changes nothing."""
    first = convert(GOLDEN / f"{case}.json")
    again = tmp_path / "job.yaml"
    again.write_text(first)
    assert convert(again) == first


def test_all_errors_at_once() -> None:
    done = muster("check", GOLDEN / "bad.json")
    assert done.returncode == 2
    said = done.stdout + done.stderr
    for message in (GOLDEN / "bad.messages").read_text().splitlines():
        assert message in said
    assert said.count("bad.json:") >= len((GOLDEN / "bad.messages").read_text().splitlines())


PROMISED = [
    "PAI_JOB_NAME",
    "PAI_USER_NAME",
    "PAI_DEFAULT_FS_URI",
    "PAI_TASK_ROLE_COUNT",
    "PAI_TASK_ROLE_LIST",
    "PAI_TASK_ROLE_TASK_COUNT_{R}",
    "PAI_HOST_IP_{R}_{i}",
    "PAI_PORT_LIST_{R}_{i}_http",
    "PAI_PORT_LIST_{R}_{i}_ssh",
    "PAI_RESOURCE_{R}",
    "PAI_MIN_FAILED_TASK_COUNT_{R}",
    "PAI_MIN_SUCCEEDED_TASK_COUNT_{R}",
    "PAI_CURRENT_TASK_ROLE_NAME",
    "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX",
    "PAI_TASK_ROLE_{R}_HOST_LIST",
    "PAI_{R}_{i}_http_PORT",
    "PAI_CONTAINER_HOST_IP",
    "PAI_CURRENT_CONTAINER_IP",
    "PAI_CONTAINER_HOST_PORT",
    "PAI_CURRENT_CONTAINER_PORT",
    "PAI_CONTAINER_SSH_PORT",
    "PAI_CONTAINER_HOST_PORT_LIST",
    "PAI_CONTAINER_HOST_http_PORT_LIST",
    "PAI_CONTAINER_ID",
    "PAI_TASK_INDEX",
    "PAI_TASK_ROLE_INDEX",
    "PAI_USERNAME",
    "PAI_DATA_DIR",
    "PAI_OUTPUT_DIR",
    "PAI_CODE_DIR",
    "PAI_TASK_ROLE_NAME",
    "PAI_TASK_ROLE_NUM",
    "PAI_CURRENT_TASK_ROLE_TASK_COUNT",
    "PAI_TASK_CPU_NUM",
    "PAI_CURRENT_TASK_ROLE_CPU_COUNT",
    "PAI_TASK_MEM_MB",
    "PAI_CURRENT_TASK_ROLE_MEM_MB",
    "PAI_TASK_GPU_NUM",
    "PAI_CURRENT_TASK_ROLE_GPU_COUNT",
    "PAI_CURRENT_TASK_ROLE_SHM_MB",
    "PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT",
    "PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT",
    "PAI_TASKS_NUM",
    "PAI_JOB_TASK_COUNT",
    "PAI_TASK_ROLES_NUM",
    "PAI_JOB_TASK_ROLE_COUNT",
    "PAI_JOB_TASK_ROLE_LIST",
    "PAI_WORK_DIR",
    "PAI_RESOURCE",
    "PAI_FRAMEWORK_NAME",
    "FRAMEWORK_NAME",
    "APP_ID",
    "HADOOP_USER_NAME",
]


def shared_tasks() -> list[tuple[str, str, int]]:
    """Each role of each published example, with its number of tasks."""
    rows = []
    for path in sorted(SHARED.glob("*.json")):
        text = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE)
        for role in re.findall(r'"name":\s*"([^"]+)",\s*"taskNumber":\s*(\d+)', text):
            rows.append((path.name, role[0], int(role[1])))
    return rows


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published examples are not beside the clone")
def test_published_examples() -> None:
    rows = shared_tasks()
    assert rows
    for name, role, count in rows:
        source = SHARED / name
        convert(source)
        env = task_environment(source, f"{role}/{count - 1}")
        promised = {
            word.format(R=r, i=i)
            for word in PROMISED
            for file, r, n in rows
            if file == name
            for i in range(n)
        }
        assert not promised - env.keys(), name
        assert not env["PAI_TASK_ROLE_LIST"].endswith(",")
        assert env["PAI_CONTAINER_HOST_PORT_LIST"].endswith(";")
