"""Golden files of OpenPAI's protocol version 2: `muster check` and `convert` of it.

Each tests/golden/openpai-v2/NAME.yaml that is right has NAME.native (the job in muster's own
words), NAME.written (the job back in version 2), NAME.messages and, for tasks ROLE/INDEX,
NAME.ROLE.INDEX.env; one that is wrong has NAME.messages only. The published cases, where they are
beside the clone, have theirs under published/.
"""

from __future__ import annotations

import re
from pathlib import Path

import golden_files
import pytest
from golden_files import compare, convert, messages, task_environment, variables
from harness import muster

GOLDEN = golden_files.GOLDEN / "openpai-v2"
SHARED = golden_files.SHARED / "cases" / "openpai-v2"

RIGHT = ("full", "loose", "small", "rules")
WRONG = ("bad", "templates")
TASKS = (("full", "worker/2"), ("full", "ps_server/1"), ("loose", "map/3"), ("rules", "b/0"))
HEAD = """protocolVersion: 2
name: x
type: job
prerequisites: [{name: i, type: dockerimage, uri: u}]
"""
ROLE = "dockerImage: i, resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}"

pytestmark = pytest.mark.sanitizer


def lost(path: Path) -> str:
    """What a conversion says on stderr, without places."""
    done = muster("convert", "--to", "openpai-v2", path)
    found = re.findall(r"^(?:[^ ]*: )?(?:warning|note): (.*)$", done.stderr, re.M)
    return "".join(f"# {line}\n" for line in found)


def normal(env: dict[str, str]) -> str:
    """What differs from machine to machine by name: addresses, ports, ids, the user, the root."""
    user, root, job = env["PAI_USER_NAME"], env["PAI_DEFAULT_FS_URI"], env["FC_FRAMEWORK_UID"]
    ports: dict[str, str] = {}
    for name, value in env.items():
        if name.startswith("PAI_PORT_LIST_"):
            for port in value.split(","):
                ports.setdefault(port, f"{{port{len(ports)}}}")
    shown = {}
    for name, value in env.items():
        if re.search(r"(HOST_IP|CONTAINER_IP|PORT|HOST_LIST)", name):
            value = re.sub(r"\d+\.\d+\.\d+\.\d+", "{ip}", value)
            value = re.sub(r"\b\d{4,5}\b", lambda m: ports.get(m[0], m[0]), value)
        value = value.replace(job, "{id}")
        if name == "APP_ID":
            value = "{app}"
        if root:
            value = value.replace(root, "{fs}")
        value = re.sub(rf"^{re.escape(user)}(?=~|$)", "{user}", value)
        shown[name] = value
    return variables(shown)


@pytest.mark.parametrize("case", RIGHT)
def test_native(case: str) -> None:
    compare(GOLDEN / f"{case}.native", convert(GOLDEN / f"{case}.yaml"))


@pytest.mark.parametrize("case", RIGHT)
def test_native_reads_back(case: str, tmp_path: Path) -> None:
    """Converting the converted job again changes nothing, and its tasks see the same."""
    first = convert(GOLDEN / f"{case}.yaml")
    again = tmp_path / "job.yaml"
    again.write_text(first)
    assert convert(again) == first
    for name, task in TASKS:
        if name == case:
            ours = normal(task_environment(again, task))
            assert ours == normal(task_environment(GOLDEN / f"{case}.yaml", task))


@pytest.mark.parametrize("case", RIGHT)
def test_written(case: str, tmp_path: Path) -> None:
    """Version 2 -> job -> version 2 -> job is the same job."""
    text = convert(GOLDEN / f"{case}.yaml", "openpai-v2")
    compare(GOLDEN / f"{case}.written", text)
    again = tmp_path / "job.yaml"
    again.write_text(text)
    assert convert(again) == convert(GOLDEN / f"{case}.yaml")


@pytest.mark.parametrize("case", RIGHT + WRONG)
def test_messages(case: str) -> None:
    code, said = messages(GOLDEN / f"{case}.yaml")
    assert code == (0 if case in RIGHT else 2), said
    compare(GOLDEN / f"{case}.messages", said)


@pytest.mark.parametrize(("case", "task"), TASKS)
def test_environment(case: str, task: str) -> None:
    text = normal(task_environment(GOLDEN / f"{case}.yaml", task))
    compare(GOLDEN / f"{case}.{task.replace('/', '.')}.env", text)


def test_from_openpai_is_either_version(tmp_path: Path) -> None:
    """--from openpai takes the version that the text looks like."""
    for path, title in (
        (GOLDEN / "small.yaml", "openpai v2"),
        (golden_files.GOLDEN / "openpai" / "hello.json", "openpai v1"),
    ):
        done = muster("check", "--from", "openpai", path)
        assert done.returncode == 0 and title in done.stdout, done.stdout + done.stderr


def test_what_version_2_cannot_say(tmp_path: Path) -> None:
    """One warning for each canonical field that is lost or changed."""
    path = tmp_path / "job.yaml"
    path.write_text(
        """name: all of it
priority: 3
labels: {team: vision}
limits: {run_time: 2h}
roles:
  a-b:
    replicas: {min: 1, max: 2}
    argv: [python, "a b.py"]
    env: {BATCH: "64"}
    resources: {cpu: 1.5, memory: 1Gi, gpu: 0.5}
    ports: {web: {count: 2, first: 8080}}
inputs:
  code: /src
  data: [{from: /data, at: /data}]
"""
    )
    said = lost(path)
    for field in (
        "name", "priority", "labels", "limits", "roles.a-b", "roles.a_b.replicas", "roles.a_b.argv",
        "roles.a_b.env.BATCH", "roles.a_b.resources.cpu", "roles.a_b.resources.gpu",
        "roles.a_b.resources.shm", "roles.a_b.ports.web", "roles.a_b.image", "inputs.code",
        "inputs.data[0]",
    ):  # fmt: skip
        assert re.search(rf"^# {re.escape(field)} ", said, re.M), f"{field}: {said}"
    again = tmp_path / "again.yaml"
    again.write_text(convert(path, "openpai-v2"))
    code, text = messages(again)
    assert code == 0, text


BAD = {
    "tab": (HEAD + "taskRoles:\n\ta: 1\n", "tab"),
    "twice": (HEAD + "name: y\ntaskRoles: {}\n", "name"),
    "empty": (HEAD + "taskRoles: {}\n", "taskRoles is empty"),
    "list": (HEAD + "taskRoles: [a]\n", "taskRoles is a list, not a map"),
    "nothing to run": (
        HEAD + f"taskRoles: {{w: {{{ROLE}, commands: ['', '  ']}}}}\n",
        "nothing to run",
    ),
    "minus one": (HEAD + f"taskRoles: {{w: {{{ROLE}, instances: -1, commands: [x]}}}}\n", "-1"),
    "no map": (HEAD + f"secrets: [a]\ntaskRoles: {{w: {{{ROLE}, commands: [x]}}}}\n", "secrets is"),
    "too many": (
        HEAD + f"taskRoles: {{w: {{{ROLE}, instances: 65536, commands: [x]}}, "
        f"v: {{{ROLE}, commands: [x]}}}}\n",
        "65537 tasks",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input(what: str, tmp_path: Path) -> None:
    text, expected = BAD[what]
    path = tmp_path / "job.yaml"
    path.write_text(text)
    code, said = messages(path)
    assert code == 2, said
    assert expected in said


def test_anchors_and_long_lines(tmp_path: Path) -> None:
    """Neither takes long, and each is one clear error."""
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for i in range(1, 9):
        bomb += f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n"
    path = tmp_path / "job.yaml"
    for text in (
        HEAD + bomb + "taskRoles: {}\n",
        HEAD + f"taskRoles: {{w: {{{ROLE}, commands: ['echo {'x' * (1 << 20)}']}}}}\n",
        HEAD + f"taskRoles: {{w: {{{ROLE}, commands: ['echo {'<% ' * 30000}']}}}}\n",
    ):
        path.write_text(text)
        done = muster("check", path)
        assert done.returncode == 2
        assert len(done.stderr + done.stdout) < 20000


def test_secrets_of_the_wrong_kind_are_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(
        HEAD + "secrets: {a: [hunter2]}\n"
        f"taskRoles: {{w: {{{ROLE}, commands: ['<% $secrets.a %> <% $secrets.b %>']}}}}\n"
    )
    done = muster("check", path)
    shown = "\n".join(line for line in done.stdout.splitlines() if " | " not in line)
    assert "hunter2" not in shown + done.stderr


def test_storages_of_the_plugin(tmp_path: Path) -> None:
    """teamwise_storage, with a storage that extras.storages has too."""
    path = tmp_path / "job.yaml"
    plugin = "com.microsoft.pai.runtimeplugin"
    text = HEAD + f"taskRoles: {{w: {{{ROLE}, commands: ['true']}}}}\nextras:\n"
    mounts = "  storages: [{name: nfs, mountPath: /data}]\n"
    named = "{plugin: teamwise_storage, parameters: {storageConfigNames: %s}}"
    path.write_text(text + mounts + f"  {plugin}: [{named % '[nfs, team, team]'}]\n")
    told = convert(path)
    mounted = re.findall(r"from: (.*)\n +at: (.*)", told)
    assert mounted == [("storage://nfs", "/data"), ("storage://team", "/mnt/team")]
    for names, said in (
        ("[]", "names no storage"),
        ("nfs", "is no list of at most 256 names"),
        ("[{a: b}]", "storageConfigNames[0] is no name of a storage"),
    ):
        path.write_text(text + f"  {plugin}: [{named % names}]\n")
        code, told = messages(path)
        assert said in told and (code == 0) == (names == "[]"), told


def test_dashes_in_names_of_roles(tmp_path: Path) -> None:
    """Taken as the releases did that had them; --fix makes what later ones take."""
    path = tmp_path / "job.yaml"
    path.write_text(
        HEAD + f"taskRoles: {{my-role: {{{ROLE}, commands: ['true']}}}}\n"
        "deployments: [{name: d, taskRoles: {my-role: {preCommands: [x]}}}]\n"
        "defaults: {deployment: d}\n"
        "extras:\n  hivedScheduler: {taskRoles: {my-role: {skuNum: 1}}}\n"
        "  com.microsoft.pai.runtimeplugin:\n"
        '    [{plugin: cmd, parameters: {preCommands: [y]}, taskroles: ["my-role"]}]\n'
    )
    code, said = messages(path)
    assert code == 0 and said.count("later releases take no - in names") == 4, said
    assert "my-role:" in convert(path)
    assert muster("check", "--fix", path).returncode == 0
    assert "my-role" not in path.read_text() and path.read_text().count("my_role") == 4
    code, said = messages(path)
    assert code == 0 and "no - in names" not in said
    path.write_text(HEAD + f"taskRoles: {{-x: {{{ROLE}, commands: ['true']}}}}\n")
    assert messages(path)[0] == 2


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published examples are not beside the clone")
def test_published_cases(tmp_path: Path) -> None:
    cases = sorted(SHARED.glob("*.yaml"))
    assert cases
    for case in cases:
        code, said = messages(case)
        assert code == 0, f"{case.name}: {said}"
        compare(GOLDEN / "published" / f"{case.stem}.messages", said)
        text = convert(case)
        compare(GOLDEN / "published" / f"{case.stem}.native", text)
        (tmp_path / "job.yaml").write_text(text)
        assert convert(tmp_path / "job.yaml") == text
        (tmp_path / "written.yaml").write_text(convert(case, "openpai-v2"))
        assert convert(tmp_path / "written.yaml") == text
