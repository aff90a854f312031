"""The jobs of DLRover's page on gang scheduling, on a real server with two declared GPUs: its three
cases and what its commands show."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from conftest import Starter
from harness import EXAMPLES, ROOT, Done, Server, native, wait_for

GOLDEN = ROOT / "tests" / "golden" / "elasticjob"
PYTHON = ROOT / ".venv/bin/python"
TORCH = list(ROOT.glob(".venv/lib/python3*/site-packages/torch/version.py"))
TWO_GPUS = "2x16cpu,64Gi,1gpu"
GANG, MASTER = "torch-mnist-gang", "elasticjob-torch-mnist-gang-dlrover-master-0"
# Both generations of Koordinator's message.
REJECTED = re.compile(
    r'^Gang(Group)? "[^"]+" gets rejected due to member Pod "([^"/]+/)?[^"]+" is unschedulable '
    r'with reason "0/\d+ nodes are available:.*"(, alreadyWaitForBound: \d+)?$'
)
FIT = (
    "0/2 nodes are available: 2 Insufficient koordinator.sh/gpu-core, "
    "2 Insufficient koordinator.sh/gpu-memory-ratio."
)

pytestmark = pytest.mark.sanitizer


def page(name: str, *changes: tuple[str, str], command: str = "sleep 600") -> str:
    """The page's job, its training replaced by a command that waits."""
    text = (GOLDEN / f"{name}.yaml").read_text()
    text = re.sub(r'"dlrover-run .*?testing/"', json.dumps(command), text, flags=re.DOTALL)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def written(server: Server, text: str) -> Path:
    path = server.state / "job.yaml"
    path.write_text(text)
    return path


def good(done: Done) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def pods(server: Server, namespace: str = "dlrover") -> dict[str, str]:
    """Names to READY STATUS, as `muster get pods` prints them."""
    head, *rest = rows(good(server.muster("get", "pods", "-n", namespace)))
    assert head == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    return {row[0]: f"{row[1]} {row[2]}" for row in rest}


def phase(server: Server, name: str) -> str:
    head, row = rows(good(server.muster("get", "elasticjobs", name, "-n", "dlrover")))
    assert head == ["NAME", "PHASE", "AGE"]
    assert row[0] == name
    return row[1]


def workers(name: str, **states: str) -> dict[str, str]:
    return {f"{name}-edljob-worker-{i}": states[f"w{i}"] for i in range(4)}


def events(server: Server, pod: str) -> list[list[str]]:
    """Type, Reason, Age, From, Message."""
    text = good(server.muster("describe", "pod", pod, "-n", "dlrover"))
    block = text.partition("Events:\n")[2].splitlines()
    assert block[0].split() == ["Type", "Reason", "Age", "From", "Message"]
    assert set(block[1]) == {" ", "-"}
    return [re.split(r"  +", line.strip()) for line in block[2:]]


def test_case_1_all_wait(start: Starter) -> None:
    """Two GPUs are less than the gang's minimum of four: every worker is pending."""
    server = start(nodes=TWO_GPUS)
    done = server.muster("submit", written(server, page("gang")))
    assert (
        "waits until there are nodes for it: worker needs 4 gpu, the cluster has 2" in done.stderr
    )
    pending = "0/1 Pending"
    assert pods(server) == {
        MASTER: "1/1 Running",
        **workers(GANG, w0=pending, w1=pending, w2=pending, w3=pending),
    }
    assert phase(server, GANG) == "Running"  # its master is
    ((kind, reason, age, scheduler, message),) = events(server, f"{GANG}-edljob-worker-1")
    assert (kind, reason, scheduler) == ("Warning", "FailedScheduling", "default-scheduler")
    assert re.fullmatch(r"\d+s", age)
    assert message == (
        f'Gang "dlrover/{GANG}" gets rejected due to member Pod "{GANG}-edljob-worker-2" '
        f'is unschedulable with reason "{FIT}"'
    )
    assert REJECTED.match(message)
    assert server.job(1)["tasks_running"] == 0
    assert not server.agents(1)["agent"]

    def folded() -> str | None:
        server.run(native("other"))  # whatever ends makes the scheduler look again
        ((*_, age, _, again),) = events(server, f"{GANG}-edljob-worker-3")
        assert again == message
        return age if "(x2 over " in age else None

    age = wait_for(folded, what="the second look")
    assert re.fullmatch(r"\d+s \(x2 over \d+s\)", age)
    detail = json.loads(good(server.muster("describe", "pod", MASTER, "--json")))
    assert detail["status"] == "Running"
    assert detail["labels"]["elasticjob.dlrover/replica-type"] == "dlrover-master"


def test_case_2_two_run(start: Starter) -> None:
    """With a minimum of two, two run and two wait; the others come one by one as room appears."""
    server = start(nodes=TWO_GPUS)
    text = page("gang", ("min-available: 4", "min-available: 2"))
    number = server.submit(text)
    server.wait(number, "running")
    now = pods(server)
    assert sorted(now.values()) == ["0/1 Pending"] * 2 + ["1/1 Running"] * 3
    assert now[MASTER] == "1/1 Running"
    waiting = [name for name, state in now.items() if state == "0/1 Pending"]
    ((kind, reason, _, _, message),) = wait_for(lambda: events(server, waiting[0]))
    assert (kind, reason, message) == ("Warning", "FailedScheduling", FIT)
    runs = next(name for name in now if "worker" in name and name not in waiting)
    assert [row[1] for row in events(server, runs)] == ["Scheduled", "Started"]
    explained = good(server.muster("explain", number))
    assert "is running: 2 of 4 tasks; 2 more wait: gpu: 2 short" in explained
    assert "; they join when there is room" in explained
    assert ", 2 join when there is room" in good(server.muster("show", number))


def test_case_2_with_the_pages_command(start: Starter) -> None:
    """Two start, three are needed: the launchers wait for the third, which has no room yet."""
    server = start(nodes=TWO_GPUS)
    text = (GOLDEN / "gang.yaml").read_text().replace("min-available: 4", "min-available: 2")
    number = server.submit(text)
    server.wait(number, "running")
    wait_for(
        lambda: all(
            "waiting for nodes: 2 of 3 to 4 nodes" in server.log(number, f"worker/{i}")
            for i in (0, 1)
        ),
        what="both launchers",
    )
    assert sorted(pods(server).values()) == ["0/1 Pending"] * 2 + ["1/1 Running"] * 3
    waiting = f"{GANG}-edljob-worker-3"
    ((kind, reason, _, _, message),) = wait_for(lambda: events(server, waiting))
    assert (kind, reason, message) == ("Warning", "FailedScheduling", FIT)
    assert server.job(number)["state"] == "running"


def test_a_script_that_is_not_there_is_started_once(start: Starter) -> None:
    """The launcher says that again would not help, and the job's retries believe it."""
    server = start(nodes=TWO_GPUS)
    launch = "dlrover-run --nnodes=2 --nproc_per_node=1 no_such_script.py"
    text = page("gang", ("min-available: 4", "min-available: 2"), command=launch)
    number = server.submit(text.replace("replicas: 4", "replicas: 2"))
    assert server.wait(number)["state"] == "failed"
    said = [e["text"] for e in server.events(number) if e["type"] == "launch.over"]
    assert len(said) == 1 and "starting it again would not help" in said[0]
    assert [len(task["attempts"]) for task in server.job(number)["task_list"]] == [1, 1]


def test_too_few_become_enough(start: Starter) -> None:
    """The launchers that wait begin when the third has a place."""
    server = start(nodes="3x16cpu,64Gi,1gpu")
    holds = server.submit(native("holds", "sleep 600", resources={"cpu": 1, "gpu": 1}))
    server.wait(holds, "running")
    launch = "dlrover-run --nnodes=3:$NODE_NUM --nproc_per_node=1 --no-python -- sleep 600"
    number = server.submit(page("gang", ("min-available: 4", "min-available: 2"), command=launch))
    server.wait(number, "running")
    assert server.job(number)["tasks_running"] == 2
    server.stop(holds, now=True)
    wait_for(
        lambda: any(e["type"] == "launch.round" for e in server.events(number)), what="a round"
    )
    assert server.job(number)["tasks_running"] == 3


def test_the_rest_comes_one_by_one(start: Starter) -> None:
    server = start(nodes="3x16cpu,64Gi,1gpu")
    holds = server.submit(native("holds", "sleep 600", resources={"cpu": 1, "gpu": 1}))
    server.wait(holds, "running")
    number = server.submit(page("gang", ("min-available: 4", "min-available: 2")))
    server.wait(number, "running")
    assert server.job(number)["tasks_running"] == 2
    server.stop(holds, now=True)
    wait_for(lambda: server.job(number)["tasks_running"] == 3, what="the third worker")
    assert sorted(pods(server).values()) == ["0/1 Pending"] + ["1/1 Running"] * 4


def test_case_3_suspend(start: Starter) -> None:
    """Suspended: the master is there, no worker exists; resumed they are made."""
    server = start(nodes=TWO_GPUS)
    number = server.submit(page("suspended"))
    master = "elasticjob-torch-mnist-dlrover-master-0"
    assert phase(server, "torch-mnist") == "Suspended"
    assert pods(server) == {master: "1/1 Running"}
    explained = good(server.muster("explain", number))
    assert f"it would start at once: muster resume {number}" in explained
    good(server.muster("resume", number))
    server.wait(number, "running")
    assert phase(server, "torch-mnist") == "Running"
    running = "1/1 Running"
    assert pods(server) == {
        master: running,
        **workers("torch-mnist", w0=running, w1=running, w2=running, w3=running),
    }


def test_gang_group_of_two_jobs(start: Starter) -> None:
    """Gangs of two jobs in two namespaces: both start or none does."""
    server = start(nodes="1x16cpu,64Gi,4gpu")
    note = "gang.scheduling.koordinator.sh/min-available: 4"
    both = f"{note}\n            gang.scheduling.koordinator.sh/groups: [a/{GANG}, b/{GANG}]"
    two = ("replicas: 4", "replicas: 2"), (note, both.replace(": 4", ": 2", 1))
    first = server.submit(page("gang", ("namespace: dlrover", "namespace: a"), *two))
    alone = f"starts together with gang b/{GANG}, which no job has"
    assert server.job(first)["reason"] == alone
    holds = server.submit(native("holds", "sleep 600", resources={"cpu": 1, "gpu": 1}))
    server.wait(holds, "running")
    second = server.submit(page("gang", ("namespace: dlrover", "namespace: b"), *two))
    for number in (first, second):  # there is room for one of them
        job = server.job(number)
        assert job["state"] == "queued"
        assert job["reason"].startswith("2 jobs start together; torch-mnist-gang: gpu: 1 short")
    server.stop(holds, now=True)
    server.wait(first, "running")
    server.wait(second, "running")
    server.stop(first, now=True)
    server.stop(second, now=True)


def test_suspended_and_too_large(start: Starter) -> None:
    """What is short is said before the job is resumed."""
    server = start(nodes=TWO_GPUS)
    number = server.submit(page("gang", ("single-job", "single-job\n  suspend: true")))
    assert server.state_of(number) == "suspended"
    explained = good(server.muster("explain", number))
    assert explained.startswith(
        f"{GANG} is suspended; resumed now it would wait: gpu: 2 short, 2 of 4 worker tasks fit"
    )
    answer = server.get(f"/v1/jobs/{number}/explain")
    assert (answer["would_start"], answer["resource"], answer["short_by"]) == (False, "gpu", 2000)


def test_apply(start: Starter) -> None:
    """The page's way of suspending: the file applied again with another `suspend`."""
    server = start(nodes=TWO_GPUS)
    path = written(server, page("suspended"))
    assert "4 tasks" in good(server.muster("apply", "-f", path))
    assert phase(server, "torch-mnist") == "Suspended"
    assert "unchanged: suspended" in good(server.muster("apply", "-f", path))
    path.write_text(page("suspended", ("suspend: true", "suspend: false")))
    assert "configured: queued, resumed by" in good(server.muster("apply", "-f", path))
    server.wait(1, "running")
    assert "unchanged: running" in good(server.muster("apply", "-f", path))
    other = ("replicas: 4", "replicas: 2")
    path.write_text(page("suspended", ("suspend: true", "suspend: false"), other))
    done = server.muster("apply", "-f", path)
    assert done.returncode == 2
    assert "roles.worker.replicas is 4, not 2" in done.stderr
    assert re.search(r"muster stop 1 +\(then again\)", done.stderr)
    path.write_text(page("suspended"))
    applied = json.loads(good(server.muster("apply", "-f", path, "--json")))
    assert (applied["number"], applied["applied"]) == (1, "configured")
    server.wait(1, "suspended")
    assert list(pods(server).values()) == ["1/1 Running"]
    server.stop(1)
    server.wait(1, "stopped")
    assert json.loads(good(server.muster("apply", "-f", path, "--json")))["number"] == 2
    assert server.muster("apply").returncode == 2


def test_namespaces(start: Starter) -> None:
    """One name in two namespaces is two gangs; without -n all are shown with theirs."""
    server = start(nodes=TWO_GPUS)
    server.submit(page("gang"))
    server.submit(page("gang", ("namespace: dlrover", "namespace: other")))
    text = good(server.muster("get", "pods"))
    assert rows(text)[0][0] == "NAMESPACE"
    assert [row[0] for row in rows(text)[1:]] == ["dlrover"] * 5 + ["other"] * 5
    assert list(pods(server, "other"))[0] == MASTER
    done = server.muster("describe", "pod", MASTER)
    assert done.returncode == 2
    assert "2 namespaces have a pod" in done.stderr
    names = json.loads(good(server.muster("get", "ej", "-n", "other", "--json")))["jobs"]
    assert [job["name"] for job in names] == [GANG]


def test_watch(start: Starter) -> None:
    """A row for each change, through the life of a job."""
    server = start(nodes=TWO_GPUS)
    number = server.submit(page("suspended", command="true"))
    watcher = server.popen("get", "pods", "-n", "dlrover", "-w")
    assert watcher.stdout
    seen: list[list[str]] = [watcher.stdout.readline().split() for _ in range(2)]
    assert seen[1][0].endswith("master-0")
    good(server.muster("resume", number))
    while sum("Completed" in row for row in seen) < 5:
        assert (line := watcher.stdout.readline()), seen
        seen.append(line.split())
    watcher.terminate()
    watcher.communicate()
    assert sorted(row[0][-8:] for row in seen if "Completed" in row) == [
        "master-0", "worker-0", "worker-1", "worker-2", "worker-3",
    ]  # fmt: skip


@pytest.mark.skipif(not TORCH, reason="no PyTorch in .venv: tools/setup python installs it")
def test_it_trains(start: Starter, tmp_path: Path) -> None:
    """The page's command with fewer processes: dlrover-run, the script at its path, the data as a
    volume (or where it lies, where nothing can be mounted)."""
    server = start(nodes="2x4cpu,8Gi", env={"MUSTER_PYTHON": str(PYTHON)})
    data = tmp_path / "mnist_png"
    subprocess.run([PYTHON, EXAMPLES / "elasticjob/make_mnist_png.py", data], check=True)
    train = (
        "dlrover-run --nnodes=2:$NODE_NUM --nproc_per_node=1 --max_restarts=3 "
        "examples/pytorch/mnist/cnn_train.py --num_epochs 1 "
        "--training_data /data/mnist_png/training/ --validation_data /data/mnist_png/testing/"
    )
    text = page("suspended", ("suspend: true", "suspend: false"), ("replicas: 4", "replicas: 2"),
                command=train)  # fmt: skip
    volume = f"volumes: [{{name: data, hostPath: {{path: {data}}}}}]"
    mount = "volumeMounts: [{name: data, mountPath: /data/mnist_png}]"
    mounted = text.replace("          containers:", f"          {volume}\n          containers:")
    mounted = mounted.replace("- name: main", f"- {mount}\n              name: main")
    code = ("--code", EXAMPLES / "elasticjob/examples", "--json")
    done = server.muster("submit", written(server, mounted), *code)
    if done.returncode and "mounts nothing" in done.stderr:
        text = text.replace("/data/mnist_png", str(data))
        done = server.muster("submit", written(server, text), *code)
    number = json.loads(good(done))["number"]
    server.wait(number, "succeeded", timeout=200)
    said = server.log(number)
    assert "2 processes on" in said, said
    assert re.search(r"epoch 1  .*accuracy", said)
    assert sorted(pods(server).values()) == ["0/1 Completed"] * 3


def test_unknown_things(start: Starter) -> None:
    server = start(nodes=TWO_GPUS)
    done = server.muster("get", "deployments")
    assert done.returncode == 2
    assert "elasticjobs pods" in done.stderr
    done = server.muster("describe", "pod", "nobody")
    assert done.returncode == 2
    assert 'no pod "nobody"' in done.stderr
    assert "no pods" in server.muster("get", "pods").stderr
