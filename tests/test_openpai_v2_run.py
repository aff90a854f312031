"""What jobs of OpenPAI's protocol version 2 are promised, by real tasks: commands and templates,
the environment in both spellings, secrets that nobody else sees, completion, retries, gangs,
storages.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import Starter
from harness import Server, proc_bytes, processes, wait_for

VARIABLE = re.compile(r"^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$", re.M)
SECRET = "hush $HOME 'a' \"b\""


def variables(text: str) -> dict[str, str]:
    return {m[1]: m[2] for m in VARIABLE.finditer(text)}


def role(*commands: str, instances: int = 1, gpu: int = 0, **fields: object) -> dict[str, object]:
    return {
        "instances": instances,
        "dockerImage": "image",
        "resourcePerInstance": {"cpu": 1, "memoryMB": 128, "gpu": gpu},
        "commands": list(commands),
        **fields,
    }


def document(name: str, roles: dict[str, dict[str, object]], **fields: object) -> str:
    """JSON is YAML."""
    tree = {
        "protocolVersion": 2,
        "name": name,
        "type": "job",
        "prerequisites": [{"name": "image", "type": "dockerimage", "uri": "ubuntu:22.04"}],
        "taskRoles": roles,
        **fields,
    }
    return json.dumps(tree)


def complete(name: str) -> str:
    """Two roles, templates, a deployment."""
    wait = {"minFailedInstances": 1, "minSucceededInstances": -1}
    return document(
        name,
        {
            "ps_server": role(
                "echo role <% $parameters.model.name %>", "env", instances=2, completion=wait
            ),
            "worker": role(
                "echo lr <% $parameters.lr %> from <% $data.uri[0] %>",
                "env",
                instances=2,
                data="mnist",
                completion=wait,
            ),
        },
        prerequisites=[
            {"name": "image", "type": "dockerimage", "uri": "ubuntu:22.04"},
            {"name": "mnist", "type": "data", "uri": ["/data/mnist"]},
        ],
        parameters={"lr": 0.5, "model": {"name": "resnet"}},
        deployments=[
            {
                "name": "here",
                "taskRoles": {
                    "worker": {
                        "preCommands": ["echo before <% $data.name %>"],
                        "postCommands": ["echo after"],
                    }
                },
            }
        ],
        defaults={"deployment": "here"},
    )


@pytest.mark.sanitizer
def test_each_task_sees_what_is_documented(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(complete("complete"))
    job = server.run(path.read_text())
    number = job["number"]
    assert job["state"] == "succeeded", job
    assert job["word"] == "SUCCEEDED"
    seen = {
        f"{r}/{i}": server.log(number, f"{r}/{i}") for r in ("ps_server", "worker") for i in (0, 1)
    }
    for task, text in seen.items():
        lines, env = text.splitlines(), variables(text)
        if task.startswith("worker"):
            assert lines[:2] == ["before mnist", "lr 0.5 from /data/mnist"]
            assert lines[-1] == "after"
        else:
            assert lines[0] == "role resnet"
        shown = server.muster("check", "--env", task, path)
        promised = variables(shown.stdout)
        names = {n for n in promised if n.startswith(("PAI_", "FC_", "HIVED_"))}
        assert not names - env.keys()
        differs = re.compile(
            r"PORT|_IP|HOST_LIST|_UID$|^FC_(FRAMEWORK|POD|CONFIGMAP)_NAME$|CONTAINER_ID|WORK_DIR"
        )
        for name in sorted(n for n in names if not differs.search(n)):
            assert env[name] == promised[name], name
        for name in ("ps_server", "psserver", "worker"):
            assert env[f"PAI_TASK_ROLE_{name}_HOST_LIST"].split(",") == [
                f"{env[f'PAI_HOST_IP_{name}_{i}']}:{env[f'PAI_PORT_LIST_{name}_{i}_http']}"
                for i in (0, 1)
            ]
        index, own = task.split("/")[1], task.split("/")[0]
        assert env["PAI_CURRENT_TASK_ROLE_NAME"] == own
        assert env["PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"] == env["FC_TASK_INDEX"] == index
        assert env["FC_TASKROLE_NAME"] == own.replace("_", "")
        assert env["PAI_CONTAINER_SSH_PORT"] == env[f"PAI_PORT_LIST_{own}_{index}_ssh"]
        assert env["PAI_MIN_SUCCEEDED_TASK_COUNT_worker"] == "-1"
        assert env["PAI_RESOURCE_worker"] == "0,1,128,0"
    told = {variables(text)["PAI_PORT_LIST_worker_1_http"] for text in seen.values()}
    assert len(told) == 1, "all tasks are told the same"


def test_secrets_are_seen_by_the_command_alone(server: Server, tmp_path: Path) -> None:
    reach = tmp_path / "reached"
    go = tmp_path / "go"
    text = document(
        "secret",
        {
            "w": role(
                f"printf %s <% $secrets.token %> > {reach}.bare",
                f'printf "%s" "<% $secrets.token %>" > {reach}.double',
                f"printf %s '<% $secrets.token %>' > {reach}.single",
                f"cat > {reach}.here <<END\n<% $secrets.token %>\nEND",
                "env | grep -c PAI_SECRET || true",
                "env",
                f"touch {reach}",
                f"until test -e {go}; do sleep 0.05; done",
            )
        },
        secrets={"token": SECRET},
    )
    number = server.submit(text)
    wait_for(reach.exists, what="the task to have come so far")
    alive = processes(str(reach))
    assert alive
    for pid in alive:
        assert b"hush" not in proc_bytes(pid, "cmdline")
    go.touch()
    assert server.wait(number)["state"] == "succeeded"
    for form in ("bare", "double", "single"):
        assert Path(f"{reach}.{form}").read_text() == SECRET
    assert Path(f"{reach}.here").read_text() == SECRET + "\n"
    assert server.log(number).splitlines()[0] == "0"
    for verb in (("ls",), ("show", number), ("events", number), ("logs", number)):
        done = server.muster(*verb)
        assert done.returncode == 0
        assert "hush" not in done.stdout + done.stderr, verb
    assert "hush" not in server.said() + server.agents_said()
    origin = json.loads(server.api("GET", f"/v1/jobs/{number}/origin").good().text)
    assert origin["secrets"]["token"] == "***", "nobody reads it again, as on the original"
    assert server.job(server.submit("", like=number))["name"] == "secret"


# ---- completion and retries ----


def test_the_first_role_that_is_through_ends_the_job(server: Server) -> None:
    """Without a policy a role's own count is its limit, as the servers had it."""
    job = server.run(document("first", {"ps": role("sleep 600"), "worker": role("true")}))
    assert job["state"] == "succeeded"
    ps = next(t for t in job["task_list"] if t["name"] == "ps/0")
    assert ps["state"] == "stopped"
    assert ps["attempts"][-1]["foreign_code"] == -220


def test_all_are_waited_for_with_minus_one(server: Server, tmp_path: Path) -> None:
    wait = {"minSucceededInstances": -1}
    mark = tmp_path / "mark"
    job = server.run(
        document(
            "all",
            {
                "quick": role("true", completion=wait),
                "slow": role(f"sleep 0.3; touch {mark}", completion=wait),
            },
        )
    )
    assert job["state"] == "succeeded" and mark.exists()


@pytest.mark.parametrize(
    ("command", "code", "attempts"),
    [
        ("exit 3", 255, 2),  # unknown: up to jobRetryCount
        ("echo 'ImportError: no' >&2; exit 1", 232, 1),  # sure to fail again
        ("exit 210", 210, 1),
        ("nosuchcommand", 220, 1),
        ("echo $NOT_SET", 255, 2),  # as the runtime's shell: an unset variable ends it
        ("false | true", 255, 2),
    ],
)
def test_exit_codes_decide(server: Server, command: str, code: int, attempts: int) -> None:
    job = server.run(document("ends", {"w": role(command)}, jobRetryCount=1))
    assert job["state"] == "failed"
    last = job["task_list"][0]["attempts"][-1]
    assert last["foreign_code"] == code, last
    assert job["restarts"] == attempts - 1


def test_tasks_are_retried_alone_without_a_gang(server: Server, tmp_path: Path) -> None:
    text = document(
        "alone",
        {
            "w": role(
                f'echo "$FC_TASK_ATTEMPT_ID" >> {tmp_path}/$FC_TASK_INDEX',
                'test "$FC_TASK_INDEX" = 0 || test "$FC_TASK_ATTEMPT_ID" = 2',
                instances=2,
                taskRetryCount=2,
            )
        },
        extras={"gangAllocation": False},
    )
    job = server.run(text)
    assert job["state"] == "succeeded" and job["restarts"] == 0, job
    assert (tmp_path / "0").read_text().split() == ["0"]
    assert (tmp_path / "1").read_text().split() == ["0", "1", "2"]


def test_without_a_gang_tasks_come_as_room_appears(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="1x2cpu,4Gi")
    go = tmp_path / "go"
    roles = {"w": role("env", f"until test -e {go}; do sleep 0.05; done", instances=3)}
    refused = server.api("POST", "/v1/jobs", body=document("gang", roles))
    assert refused.status >= 400 and "cannot run here" in refused.text
    number = server.submit(document("loose", roles, extras={"gangAllocation": False}))
    running = wait_for(
        lambda: [t for t in server.job(number)["task_list"] if t["state"] == "running"],
        what="some tasks to run",
    )
    assert len(running) <= 2
    go.touch()
    job = server.wait(number)
    assert job["state"] == "succeeded"
    first = variables(server.log(number, "w/0"))
    assert "PAI_HOST_IP_w_0" in first and "PAI_HOST_IP_w_2" not in first
    assert first["PAI_TASK_ROLE_w_HOST_LIST"].count(":") == 2
    assert "PAI_HOST_IP_w_2" in variables(server.log(number, "w/2"))


# ---- storages, plugins, kept texts ----


def test_storages_are_roots_of_the_server(start: Starter, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("from the storage\n")
    server = start(nodes="4cpu,8Gi", flags=("--roots", f"storage://nfs={tmp_path}"))
    text = document(
        "storages",
        {"w": role("cat /mnt/nfs/file", "cat /there/file")},
        extras={"storages": [{"name": "nfs"}, {"name": "nfs", "mountPath": "/there"}]},
    )
    job = server.run(text)
    assert job["state"] == "succeeded", job
    assert server.log(job["number"]) == "from the storage\n" * 2
    unknown = document("no", {"w": role("true")}, extras={"storages": [{"name": "nfs2"}]})
    refused = server.api("POST", "/v1/jobs", body=unknown)
    assert refused.status >= 400
    assert "storage://nfs2" in refused.text and "roots" in refused.text


def test_plugins_and_callbacks_are_around_the_command(server: Server) -> None:
    prerequisites = [
        {"name": "image", "type": "dockerimage", "uri": "u"},
        {
            "name": "p",
            "type": "script",
            "callbacks": [
                {"event": "taskStarts", "commands": ["echo 2"]},
                {"event": "taskSucceeds", "commands": ["echo 4"]},
            ],
        },
    ]
    plugin = {
        "plugin": "cmd",
        "parameters": {"preCommands": ["echo 1"], "postCommands": ["echo 5"]},
    }
    job = server.run(
        document(
            "around",
            {"w": role("echo 3", prerequisites=["p"])},
            prerequisites=prerequisites,
            extras={"com.microsoft.pai.runtimeplugin": [plugin]},
        )
    )
    assert server.log(job["number"]).split() == ["1", "2", "3", "4", "5"]


def test_lists_show_both_versions(server: Server) -> None:
    server.run(document("listed-v2", {"w": role("true")}))
    done = server.muster("ls", "--from", "openpai", "--all")
    assert done.returncode == 0 and "listed-v2" in done.stdout
    assert {j["dialect"] for j in server.jobs(**{"from": "openpai-v2"})} == {"openpai-v2"}
