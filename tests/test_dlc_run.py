"""What PAI-DLC jobs are promised, by real tasks: one world of PyTorch processes, names and ports
that peers reach each other by, success policies, limits, retention."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from harness import ROOT, Json, Server, program, wait_for

TORCH = list(ROOT.glob(".venv/lib/python3*/site-packages/torch/version.py"))
needs_torch = pytest.mark.skipif(not TORCH, reason="no PyTorch in .venv: tools/setup python")
PYTHON = {"MUSTER_PYTHON": str(ROOT / ".venv/bin/python")}

TRAIN = """
import os, torch
import torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(1)
model = torch.nn.Linear(8, 1)
torch.manual_seed(2 + dist.get_rank())  # each has data of its own; DDP would import much more
truth = torch.arange(8.0)
losses = []
for _ in range(60):
    x = torch.randn(32, 8)
    loss = ((model(x)[:, 0] - x @ truth) ** 2).mean()
    model.zero_grad()
    loss.backward()
    for part in model.parameters():
        dist.all_reduce(part.grad)
        part.data -= 0.05 * part.grad / dist.get_world_size()
    losses.append(loss.item())
weights = model.weight.detach().clone()
dist.all_reduce(weights)
same = torch.allclose(weights / dist.get_world_size(), model.weight.detach(), atol=1e-6)
line = f"rank={dist.get_rank()} world={dist.get_world_size()} same={same}"
line += f" trained={losses[-1] < losses[0] / 10} port={os.environ['MASTER_PORT']}\\n"
os.write(1, line.encode())  # one write: other ranks write there too
dist.destroy_process_group()
"""

# Every task listens at its own address of TF_CONFIG, meets all others, and waits for all of them.
MEET = """
import json, os, socket, threading
conf = json.loads(os.environ["TF_CONFIG"])
task, cluster = conf["task"], conf["cluster"]
everyone = [(t, i, h) for t, hosts in cluster.items() for i, h in enumerate(hosts)]
mine = [h for t, i, h in everyone if (t, i) == (task["type"], task["index"])]
host, port = mine[0].rsplit(":", 1)
listener = socket.create_server((host, int(port)))
def say(where):
    while True:
        try:
            with socket.create_connection(where) as s:
                s.sendall(f"{task['type']}/{task['index']}\\n".encode())
                return
        except ConnectionRefusedError:
            pass
for _, _, h in everyone:
    a, p = h.rsplit(":", 1)
    threading.Thread(target=say, args=((a, int(p)),)).start()
heard = set()
while len(heard) < len(everyone):
    s, _ = listener.accept()
    heard.add(s.makefile().readline().strip())
print("met", *sorted(heard), flush=True)
"""


@pytest.fixture
def first_port() -> Iterator[None]:
    """Servers of other tests know nothing of each other, and this port is what all try first; or
    2222 of a TFJob."""
    with Path(tempfile.gettempdir(), "muster-tests-23456").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def spec(type_: str = "Worker", pods: int = 1, **fields: Any) -> Json:
    resources = {"CPU": "1", "Memory": "2Gi"}
    return {"Type": type_, "PodCount": pods, "ResourceConfig": resources, **fields}


def create(name: str, type_: str, command: str, *specs: Json, **fields: Any) -> str:
    body = {
        "DisplayName": name,
        "JobType": type_,
        "JobSpecs": list(specs) or [spec()],
        "UserCommand": command,
        "ResourceId": "default",
    }
    return json.dumps({**body, **fields})


def events(server: Server, job: int, type_: str) -> list[str]:
    return [str(e.get("text", "")) for e in server.events(job) if e["type"] == type_]


def ended_well(job: Json) -> None:
    assert job["state"] == "succeeded", job


# ---- PyTorchJob ----


@needs_torch
@pytest.mark.usefixtures("first_port")
def test_three_jobs_train_on_one_machine(start: Starter, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    server = start(nodes="1x16cpu,64Gi", env=PYTHON)
    text = create("ddp", "PyTorchJob", f"python {script}", spec(pods=2))
    numbers = [server.submit(text) for _ in range(3)]
    ports = set()
    for number in numbers:
        ended_well(server.wait(number, timeout=180))
        lines = [server.log(number, task) for task in ("master/0", "worker/0")]
        for rank, line in enumerate(lines):
            assert f"rank={rank} world=2 same=True trained=True" in line
        found = set(re.findall(r"port=(\d+)", "".join(lines)))
        assert len(found) == 1, "one address for the whole job"
        ports |= found
        moved = events(server, number, "task.port")
        if found == {"23456"}:
            assert not moved
        else:
            # More than once where a test of another server had the port that came next.
            assert "master/0: port 23456 (master) is taken" in moved[-1]
            assert found.pop() in moved[-1]
    assert len(ports) == 3 and "23456" in ports


@needs_torch
@pytest.mark.usefixtures("first_port")
@pytest.mark.parametrize(("setting", "ranks"), [("never", 1), ("always", 2)])
def test_torchrun_needs_no_flags(start: Starter, tmp_path: Path, setting: str, ranks: int) -> None:
    """PyTorch's, and muster's, whose nodes are all tasks of the job."""
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    server = start(nodes="2x16cpu,64Gi", env={**PYTHON, "MUSTER_TORCHRUN": setting})
    command = f"command -v torchrun; torchrun --nproc_per_node {ranks} {script}"
    specs = (spec("Master", ResourceConfig={"CPU": "1", "Memory": "4Gi"}), spec(pods=1))
    number = server.submit(
        create("run", "PyTorchJob", command, *specs, Envs={"OMP_NUM_THREADS": "1"})
    )
    ended_well(server.wait(number, timeout=200))
    log = server.log(number)
    trained = re.findall(rf"rank=(\d) world={2 * ranks} same=True trained=True", log)
    assert sorted(trained) == list("0123")[: 2 * ranks]
    ours = str(program().resolve().parent) in log
    assert ours == (setting == "always"), log


NAMES = """
import os, socket
def known(name):
    try:
        return socket.gethostbyname(name)
    except OSError:
        return "unknown"
job = "dlc" + os.environ["WHO"] if "WHO" in os.environ else os.environ["JOB_NAME"]
for pod in ("master-0", "worker-0", "worker-1"):
    print(pod, known(f"{job}-{pod}"), flush=True)
print("custom", os.environ.get("CUSTOM_PORTS"), "master", os.environ["MASTER_ADDR"], flush=True)
"""


def job_id(server: Server, number: int) -> str:
    return f"dlc{server.job(number)['id']}"


def names_seen(server: Server, number: int, task: str) -> dict[str, str]:
    lines = server.log(number, task).splitlines()
    return dict(line.split(" ", 1) for line in lines if " " in line)


def test_workers_reach_each_other_by_pod_name(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "names.py"
    script.write_text(NAMES)
    advanced = {"createSvcForAllWorkers": True, "customPortNumPerWorker": 3}
    number = server.submit(
        create(
            "svc",
            "PyTorchJob",
            f"python3 {script}",
            spec(pods=3),
            Settings={"AdvancedSettings": advanced},
        )
    )
    ended_well(server.wait(number))
    taken: list[str] = []
    for task in ("master/0", "worker/0", "worker/1"):
        seen = names_seen(server, number, task)
        assert "unknown" not in seen.values()
        custom, _, master = seen["custom"].partition(" master ")
        assert seen["master-0"] == master
        ports = custom.split(";")
        assert len(ports) == 3
        taken += ports
    assert len(set(taken)) == 9, "one machine: no port twice"


def test_without_services_only_the_master_has_a_name(server: Server) -> None:
    command = "grep -o 'dlc[0-9a-z]*-[a-z]*-[0-9]*' /etc/hosts; echo end"
    number = server.submit(create("plain", "PyTorchJob", command, spec(pods=3)))
    ended_well(server.wait(number))
    for task in ("master/0", "worker/0", "worker/1"):
        found = server.log(number, task).split()
        assert found == [f"{job_id(server, number)}-master-0", "end"]


def test_listed_ports_are_the_jobs_own(server: Server) -> None:
    lines = [
        "name=ports",
        "kind=PyTorchJob",
        "workers=1",
        "worker_cpu=1",
        "worker_memory=1Gi",
        "resource_id=default",
        "advanced_settings=createSvcForAllWorkers=true,customPortList=19000;19002-19003",
        "command=echo $CUSTOM_PORTS && sleep 600",
    ]
    first = server.submit("\n".join(lines))
    wait_for(lambda: "19000;19002;19003" in server.log(first), what="the ports")
    second = server.submit("\n".join(lines))
    wait_for(lambda: "port 19000" in server.job(second).get("reason", ""), what="why it waits")
    server.stop(first, now=True)
    wait_for(lambda: "19000;19002;19003" in server.log(second), what="its turn")
    server.stop(second, now=True)
    server.wait(second, "stopped")
    lines[2] = "workers=2"
    refused = server.api("POST", "/v1/jobs", "\n".join(lines))
    assert refused.status == 422 and "port 19000" in refused.text, "no host has it twice"


# ---- TFJob ----


@pytest.mark.usefixtures("first_port")
def test_tf_config_hosts_can_be_connected_to(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "meet.py"
    script.write_text(MEET)
    roles = (spec("Chief"), spec("PS", 2), spec("Worker", 2))
    number = server.submit(create("tf", "TFJob", f"python3 {script}", *roles))
    job = server.wait(number)
    ended_well(job)
    expected = "met chief/0 ps/0 ps/1 worker/0 worker/1"
    for task in ("chief/0", "worker/0", "worker/1"):
        assert expected in server.log(number, task)
    moved = events(server, number, "task.port")
    assert all("2222" in text for text in moved), moved
    # All of them, and more than once, where a test of another server has 2222.
    assert len({text.partition(":")[0] for text in moved}) >= 4, "one host, one has 2222"


# ---- success policies ----

# The chief ends well; everybody else would run for ever.
BY_ROLE = """
case $(echo "$TF_CONFIG" | grep -o '"task":{"type":"[a-z]*"') in
*chief*) sleep 0.3 ;;
*) exec sleep 600 ;;
esac
"""
WORKERS = """
case $(echo "$TF_CONFIG" | grep -o '"task":{"type":"[a-z]*"') in
*ps*) exec sleep 600 ;;
esac
"""


def tasks(job: Json) -> dict[str, str]:
    return {t["name"]: t["state"] for t in job["task_list"]}


def test_chief_worker_policy(server: Server) -> None:
    roles = (spec("Chief"), spec("Worker", 2), spec("PS"))
    text = create("chief", "TFJob", BY_ROLE, *roles, SuccessPolicy="ChiefWorker")
    job = server.run(text)
    ended_well(job)
    assert tasks(job) == {
        "chief/0": "succeeded",
        "ps/0": "stopped",
        "worker/0": "stopped",
        "worker/1": "stopped",
    }


def test_all_workers_policy_does_not_wait_for_servers(server: Server) -> None:
    job = server.run(create("all", "TFJob", WORKERS, spec("Worker", 2), spec("PS", 2)))
    ended_well(job)
    assert tasks(job)["worker/1"] == "succeeded" and tasks(job)["ps/0"] == "stopped"


def test_failed_worker_fails_the_job(server: Server) -> None:
    job = server.run(
        create("one", "PyTorchJob", "[ $RANK = 1 ] && exit 7; sleep 600", spec(pods=3))
    )
    assert job["state"] == "failed" and "worker/0" in job["reason"] and "7" in job["reason"]


# ---- limits, priority, retention ----


def test_over_its_time_it_is_stopped(server: Server) -> None:
    text = create("long", "PyTorchJob", "sleep 600", JobMaxRunningTimeMinutes=1)
    job = server.wait(server.submit(text, set="limits.run_time=300ms"))
    assert job["state"] == "stopped" and job["word"] == "Stopped"
    assert "limit of 300ms" in job["reason"]


def test_higher_priority_first(start: Starter) -> None:
    server = start(nodes="1x2cpu,4Gi")
    fill = server.submit(create("fill", "PyTorchJob", "sleep 600", spec(pods=2)))
    server.wait(fill, "running")
    low, high = (
        server.submit(create(name, "PyTorchJob", "true", spec(pods=2), Priority=priority))
        for name, priority in (("low", 1), ("high", 9))
    )
    server.stop(fill, now=True)
    for number in (low, high):
        ended_well(server.wait(number))
    began = [server.job(n)["started_ms"] for n in (high, low)]
    assert began == sorted(began)


@pytest.mark.parametrize(
    ("code", "policy", "word", "end"),
    [
        (0, "Always", "SucceededReserving", "succeeded"),
        (5, "OnFailure", "FailedReserving", "failed"),
        (0, "OnFailure", None, "succeeded"),
    ],
)
def test_retention(start: Starter, code: int, policy: str, word: str | None, end: str) -> None:
    server = start(nodes="1x1cpu,4Gi")
    kept = {"JobReservedMinutes": 30, "JobReservedPolicy": policy}
    number = server.submit(create("kept", "PyTorchJob", f"exit {code}", Settings=kept))
    if word:
        wait_for(lambda: server.job(number).get("word") == word, what=word)
        assert f"({word})" in server.muster("show", number).stdout
        behind = server.submit(create("behind", "PyTorchJob", "true"))
        wait_for(lambda: server.job(behind).get("reason"), what="why it waits")
        assert server.state_of(behind) == "queued", "its resources are held"
        server.stop(number)
        ended_well(server.wait(behind))
    assert server.wait(number)["state"] == end


# ---- ElasticBatchJob ----


def test_elastic_batch_starts_with_what_there_is(start: Starter) -> None:
    server = start(nodes="1x2cpu,8Gi")
    scaling = {"MinReplicas": 1, "MaxReplicas": 4}
    number = server.submit(
        create("batch", "ElasticBatchJob", "echo $RANK; sleep 600", spec(AutoScalingSpec=scaling))
    )
    server.wait(number, "running")
    wanted = ["running"] * 2 + ["waiting"] * 2  # the job runs as soon as one of them does
    wait_for(lambda: sorted(tasks(server.job(number)).values()) == wanted, what="two pods")


def test_elastic_batch_restarts_one_pod_alone(server: Server, tmp_path: Path) -> None:
    mark = tmp_path / "again"
    command = f"[ $RANK = 1 ] && ! [ -e {mark} ] && touch {mark} && kill -9 $$; sleep 0.2"
    job = server.run(create("alone", "ElasticBatchJob", command, spec(pods=3)))
    ended_well(job)
    assert [len(t["attempts"]) for t in job["task_list"]] == [1, 2, 1]
    assert job["generation"] == 1


# ---- MPIJob ----

MPIRUN = os.environ.get("MUSTER_TEST_MPIRUN") or shutil.which("mpirun")


def mounts(server: Server) -> None:
    """Files of MPI lie in /etc/mpi of the task's view."""
    said = server.muster("doctor").stdout
    if not re.search(r"^namespaces +ok", said, re.M):
        pytest.skip("this machine allows no mount namespaces")


def test_remote_shell_reaches_every_pod(server: Server) -> None:
    mounts(server)
    command = """
    cat /etc/mpi/hostfile
    for host in $(cut -d' ' -f1 /etc/mpi/hostfile); do
        $OMPI_MCA_plm_rsh_agent $host 'echo at $MUSTER_ROLE/$MUSTER_TASK_INDEX;' 'exit 3'
        echo "status $?"
        $OMPI_MCA_plm_rsh_agent $host '(touch $TMPDIR/x); dirname $TMPDIR'
    done
    ls $TMPDIR
    $OMPI_MCA_plm_rsh_agent nobody true; echo "status $?"
    """
    gpus = {"CPU": "1", "GPU": "2", "Memory": "1Gi"}
    roles = (spec("Master"), spec("Worker", 2, ResourceConfig=gpus))
    job = server.run(create("rsh", "MPIJob", command, *roles))
    ended_well(job)
    name = job_id(server, job["number"])
    said = server.log(job["number"], "master/0").splitlines()
    assert [line for line in said if "is no pod" not in line] == [
        f"{name}-worker-0 slots=2",
        f"{name}-worker-1 slots=2",
        "at worker/0",
        "status 3",
        "/etc/mpi/tmp",
        "at worker/1",
        "status 3",
        "/etc/mpi/tmp",
        "status 255",
    ]


def test_files_stay_when_the_job_that_came_first_ends(server: Server, tmp_path: Path) -> None:
    """Both jobs have files at one place of the machine, and the first one had to make it."""
    mounts(server)

    def held(name: str) -> int:
        command = f"until [ -e {tmp_path / name} ]; do sleep 0.05; done; cat /etc/mpi/hostfile"
        return server.submit(create(name, "MPIJob", command, spec("Master"), spec("Worker")))

    first = held("first")
    server.wait(first, "running")
    second = held("second")
    server.wait(second, "running")
    (tmp_path / "first").touch()
    ended_well(server.wait(first))
    gone = f"runs/{first}/g1/*/made"
    wait_for(lambda: not list(server.state.glob(gone)), what="its agents to clean up")
    (tmp_path / "second").touch()
    ended_well(server.wait(second))
    assert server.log(second, "master/0") == f"{job_id(server, second)}-worker-0 slots=1\n"


@pytest.mark.skipif(not MPIRUN, reason="no mpirun: install OpenMPI")
def test_mpirun_starts_ranks_in_pods(start: Starter) -> None:
    server = start()
    mounts(server)
    rank = "echo rank $OMPI_COMM_WORLD_RANK of 3 in $MUSTER_ROLE/$MUSTER_TASK_INDEX"
    command = f"{MPIRUN} --allow-run-as-root -np 3 sh -c '{rank}'"
    job = server.run(create("mpi", "MPIJob", command, spec(pods=3)), timeout=60)
    said = server.log(job["number"], "master/0")
    assert job["state"] == "succeeded", (job["reason"], said)
    found = sorted(re.findall(r"rank (\d) of 3 in (\w+/\d)", said))
    assert [r for r, _ in found] == ["0", "1", "2"]
    assert {pod for _, pod in found} == {"master/0", "worker/0", "worker/1"}


SCRIPT = """
echo pod $MUSTER_ROLE/$MUSTER_TASK_INDEX of $SLURM_NNODES
srun -l bash -c 'echo $MUSTER_ROLE/$MUSTER_TASK_INDEX $SLURM_PROCID $SLURM_NODEID' | sort
srun -N1 -n1 bash -c 'getent hosts $SLURMD_NODENAME >/dev/null && echo resolves'
awk '{ for (i = 2; i <= NF; i++) if ($i ~ /^dlc.*-/) print substr($i, 17) }' /etc/hosts | sort -u
squeue -h -o '%i %j %T'
echo submitted $(sbatch --parsable --wrap='echo inner')
exit 3
"""


def test_a_slurm_job_is_a_script(start: Starter) -> None:
    """Its command runs once, on the first of its pods; srun reaches all of them, whatever their
    role; sbatch and squeue are there, and the script's end is the job's."""
    server = start(nodes="3x8cpu,16Gi")
    mounts(server)
    specs = [spec("Controller"), spec(pods=2)]
    job = server.run(create("batch", "SlurmJob", SCRIPT, *specs), timeout=60)
    number = job["number"]
    said = server.log(number, "worker/0").splitlines()
    assert said[:5] == ["pod worker/0 of 3", "0: worker/0 0 0", "1: worker/1 1 1",
                        "2: controller/0 2 2", "resolves"]  # fmt: skip
    assert said[5:8] == ["-controller-0", "-worker-0", "-worker-1"]
    assert said[8:] == [f"{number} batch RUNNING", f"submitted {number + 1}"]
    assert job["state"] == "failed", job["reason"]
    assert [server.log(number, pod) for pod in ("worker/1", "controller/0")] == ["", ""]
    assert server.wait(number + 1)["state"] == "succeeded"
    assert server.log(number + 1, "node/0") == "inner\n"


# Two ranks of a pod talk through files that OpenMPI names alike in all pods of a machine.
SUMS = """
import ctypes
mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
world, kind, add = (ctypes.byref(ctypes.c_char.in_dll(mpi, f"ompi_mpi_{name}"))
                    for name in ("comm_world", "double", "op_sum"))
rank = ctypes.c_int()
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
n = 100_000
mine, sums = ((ctypes.c_double * n)(*[rank.value + 1.0] * n) for _ in range(2))
for _ in range(20):
    mpi.MPI_Allreduce(mine, sums, n, kind, add, world)
assert list(sums) == [10.0] * n
mpi.MPI_Finalize()
print("summed", flush=True)
"""


@pytest.mark.skipif(not MPIRUN, reason="no mpirun: install OpenMPI")
def test_ranks_of_a_pod_share_memory(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="1x16cpu,16Gi,4gpu")
    mounts(server)
    (tmp_path / "sums.py").write_text(SUMS)
    command = f"{MPIRUN} --allow-run-as-root -np 4 python3 {tmp_path}/sums.py"
    gpus = {"CPU": "2", "GPU": "2", "Memory": "1Gi"}
    text = create("sums", "MPIJob", command, spec(pods=2, ResourceConfig=gpus))
    job = server.run(text, timeout=60)
    said = server.log(job["number"], "master/0")
    assert job["state"] == "succeeded" and said.count("summed") == 4, (job["reason"], said)
