"""Shares of a GPU: what a task is told of its share, and what holds its frameworks to it. There is
no device here: the driver is tests/nvml.py's, and of PyTorch it is the build for CPUs, whose Python
runs as it is and whose calls into the driver's library are written down."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from accounts import Account, Shared
from conftest import Starter
from harness import ROOT, VENV, Json, Server, muster, native, patience, program, wait_for
from nvml import Driver, device

HOOK = ROOT / "src/node/gpu_share.py"
HAS_TORCH = bool(list(VENV.glob("../lib/python3*/site-packages/torch")))
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="no PyTorch")

# The CPU build, made one that finds a device; `asked` is what it asks the driver's library for.
CUDA = """
import torch
asked = []
torch._C._cuda_getDeviceCount = lambda: 1
torch._C._cuda_init = lambda: asked.append("init")
torch._C._cuda_setMemoryFraction = lambda part, device: asked.append([part, device])
torch.cuda._cudart = torch
torch.cuda.device_count = lambda: 1
"""


class Started:
    """Python as a task with a share has it."""

    def __init__(self, folder: Path) -> None:
        self.hook = folder / "gpu_share"
        self.own = folder / "own"
        self.hook.mkdir()
        self.own.mkdir()
        (self.hook / "sitecustomize.py").write_text(HOOK.read_text())

    def module(self, name: str, text: str) -> None:
        (self.own / f"{name}.py").write_text(text)

    def run(self, text: str, share: str = "0.5", **env: str) -> tuple[Any, str]:
        """The JSON that it printed, and its stderr."""
        done = subprocess.run(
            [VENV / "python", "-c", f"import json, os, sys\n{text}"],
            env={
                **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
                "PYTHONPATH": f"{self.hook}:{self.own}",
                "MUSTER_GPU_SHARE": share,
                **env,
            },
            capture_output=True,
            text=True,
            timeout=patience(),
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr


@pytest.fixture
def started(tmp_path: Path) -> Started:
    return Started(tmp_path)


# ---- the interpreter ----


def test_the_users_sitecustomize_runs(started: Started) -> None:
    text = "print(json.dumps([sys.path, getattr(sys, 'mine', 0), 'sitecustomize' in sys.modules]))"
    (path, mine, there), err = started.run(text)
    assert str(started.hook) not in path and str(started.own) in path
    plain = subprocess.run(
        [VENV / "python", "-c", "import sys; print('sitecustomize' in sys.modules)"],
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (mine, str(there), err) == (0, plain.stdout.strip(), "")
    started.module("sitecustomize", "import sys\nsys.mine = 5\n")
    (_, mine, there), err = started.run(text)
    assert (mine, there, err) == (5, True, "")


def test_a_failing_sitecustomize_is_told_as_ever(started: Started) -> None:
    started.module("sitecustomize", "import nonsense\n")
    _, err = started.run("print(1)")
    assert "nonsense" in err


@needs_torch
@pytest.mark.trains
def test_torch_is_limited_when_cuda_is_initialised(started: Started) -> None:
    text = f"""{CUDA}
before = list(asked)
torch.cuda.init()
torch.cuda.set_per_process_memory_fraction(0.9)  # the user's own goes last
print(json.dumps([before, asked]))
"""
    (before, asked), err = started.run(
        text.replace("fraction(0.9)", "fraction(0.9, 0)"), PYTORCH_CUDA_ALLOC_CONF="backend:native"
    )
    assert before == []
    assert asked == ["init", [0.5, 0], [0.9, 0]]
    assert err == ""


@needs_torch
@pytest.mark.trains
def test_the_share_is_that_of_the_moment(started: Started) -> None:
    """A rank that was forked from an interpreter with another environment."""
    text = f"{CUDA}\nos.environ['MUSTER_GPU_SHARE'] = '0.25'\ntorch.cuda.init()\n"
    asked, _ = started.run(text + "print(json.dumps(asked))")
    assert asked == ["init", [0.25, 0]]
    asked, _ = started.run(text.replace("'0.25'", "''") + "print(json.dumps(asked))")
    assert asked == ["init"]


@needs_torch
@pytest.mark.trains
@pytest.mark.parametrize("name", ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"])
def test_a_fraction_of_the_users_stays(started: Started, name: str) -> None:
    value = "expandable_segments:True,per_process_memory_fraction:0.8"
    text = f"{CUDA}\ntorch.cuda.init()\nprint(json.dumps([asked, os.environ[{name!r}]]))"
    (asked, said), err = started.run(text, **{name: value})
    assert asked == ["init"] and said == value
    assert f"{name} has a per_process_memory_fraction of its own, which stays" in err
    assert "the task's share is 0.5" in err


@needs_torch
@pytest.mark.trains
def test_what_torch_refuses_is_said(started: Started) -> None:
    text = (
        CUDA
        + """
def refuse(part, device): raise RuntimeError("not here")
torch._C._cuda_setMemoryFraction = refuse
torch.cuda.init()
print(json.dumps(torch.cuda.is_initialized()))
"""
    )
    initialised, err = started.run(text)
    assert initialised and "PyTorch is not held to the share of the GPU: not here" in err


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"PYTORCH_ALLOC_CONF": "per_process_memory_fraction:0.5"}),
        (
            {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"},
            {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64,per_process_memory_fraction:0.5"},
        ),
        (
            {"PYTORCH_ALLOC_CONF": "per_process_memory_fraction:0.1"},
            {"PYTORCH_ALLOC_CONF": "per_process_memory_fraction:0.1"},
        ),
    ],
)
def test_a_torch_without_the_private_call(
    started: Started, before: dict[str, str], after: dict[str, str]
) -> None:
    started.module("torch", "class cuda: pass\n")
    text = "import torch; print(json.dumps({n: v for n, v in os.environ.items() if 'ALLOC' in n}))"
    found, _ = started.run(text, **before)
    assert found == after


@pytest.mark.parametrize(
    ("module", "before", "after"),
    [
        ("jax", {}, {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.5"}),
        ("jax", {"XLA_CLIENT_MEM_FRACTION": ".9"}, {"XLA_CLIENT_MEM_FRACTION": ".9"}),
        ("jax", {"XLA_PYTHON_CLIENT_MEM_FRACTION": ".9"}, {"XLA_PYTHON_CLIENT_MEM_FRACTION": ".9"}),
        ("cupy", {}, {"CUPY_GPU_MEMORY_LIMIT": "50.0000%"}),
        ("cupy", {"CUPY_GPU_MEMORY_LIMIT": "1024"}, {"CUPY_GPU_MEMORY_LIMIT": "1024"}),
        ("numbers", {}, {}),
    ],
)
def test_variables_are_set_before_the_import(
    started: Started, module: str, before: dict[str, str], after: dict[str, str]
) -> None:
    found = "{n: v for n, v in os.environ.items() if n.startswith(('XLA', 'CUPY'))}"
    started.module("jax", f"import os\nfound = {found}\n")
    started.module("cupy", f"import os\nfound = {found}\n")
    text = f"import {module}; print(json.dumps(getattr({module}, 'found', {{}})))"
    assert started.run(text, **before)[0] == after
    assert started.run(text, share="", **before)[0] == before, "no share, no change"


# ---- ranks of the launcher ----

RANK = """
import jax, json, os, sys
names = ("MUSTER_GPU_SHARE", "MUSTER_GPU_MEMORY_MIB", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
         "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "XLA_PYTHON_CLIENT_MEM_FRACTION")
fact = {name: os.environ.get(name) for name in names}
fact.update(restart=int(os.environ["TORCHELASTIC_RESTART_COUNT"]), pid=os.getpid(),
            forked="ctypes" in sys.modules)
with open(os.environ["FACTS"], "a") as file:
    file.write(json.dumps(fact) + "\\n")
import time
time.sleep(600)
"""


def test_ranks_divide_the_share(started: Started, tmp_path: Path) -> None:
    """The first ones are started, those after a kill are forked from the parked interpreter."""
    started.module("jax", "")
    facts = tmp_path / "facts"
    facts.touch()
    (tmp_path / "train.py").write_text(RANK)
    command = ["torchrun", "--standalone", "--nproc-per-node=2", "--max-restarts=2"]
    launcher = subprocess.Popen(
        [program().with_name("muster-node"), *command, "--preload=jax", "train.py"],
        cwd=tmp_path,
        env={
            **os.environ,
            "FACTS": str(facts),
            "PYTHON_EXEC": str(VENV / "python"),
            "PYTHONPATH": f"{started.hook}:{started.own}",
            "MUSTER_GPU_SHARE": "0.25",
            "MUSTER_GPU_MEMORY_MIB": "20480",
            "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "25",
            "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=20480M",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def round_of(number: int) -> list[Json]:
        def found() -> list[Json]:
            lines = facts.read_text().split("\n")[:-1]
            told = [fact for fact in map(json.loads, lines) if fact["restart"] == number]
            return told if len(told) == 2 else []

        return wait_for(found, timeout=patience(), what=f"round {number}")

    def parked() -> bool:
        lists = Path(f"/proc/{launcher.pid}/task").glob("*/children")
        children = {int(pid) for one in lists for pid in one.read_text().split()}
        return len(children) >= 2 + 3  # the interpreter, and a rank ready for each

    try:
        first = round_of(0)
        wait_for(parked, timeout=patience(), what="parked ranks")
        os.kill(first[0]["pid"], signal.SIGKILL)
        again = round_of(1)
    finally:
        launcher.terminate()
        launcher.wait(timeout=patience())
    assert [fact["forked"] for fact in first + again] == [False, False, True, True]
    for fact in first + again:
        assert fact["MUSTER_GPU_SHARE"] == "0.125000"
        assert fact["MUSTER_GPU_MEMORY_MIB"] == "10240"
        assert fact["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == "12"
        assert fact["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] == "0=10240M"
        assert fact["XLA_PYTHON_CLIENT_MEM_FRACTION"] == "0.125"


# ---- tasks ----


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    one = Driver(tmp_path / "driver")
    one.say(device(0))
    yield one
    one.close()


SHOW = """
import json, os, sys
found = dict(os.environ, hooked="_muster_gpu_share" in sys.modules)
print("told", json.dumps(found))
"""


def told(server: Server, folder: Path, gpu: float, **fields: Any) -> Json:
    """The environment of a task with that much of a device, and whether its Python is held; with
    what muster says in its log as `said`."""
    (folder / "show.py").write_text(SHOW)
    resources = {"cpu": 1, "memory": "64Mi", "gpu": gpu}
    command = f"python3 {folder / 'show.py'}"
    job = server.submit(native("share", command, resources=resources, **fields))
    server.wait(job, "succeeded")
    records = server.records(job, task="worker/0")
    said = "".join(r.get("text", "") for r in records if r.get("stream") == "muster")
    return {**json.loads(server.log(job, "worker/0").partition("told ")[2]), "said": said}


@pytest.mark.sanitizer
def test_a_task_knows_its_share(start: Starter, driver: Driver, tmp_path: Path) -> None:
    server = start(nodes="", env=driver.env)
    env = told(server, tmp_path, 0.25, env={"PYTHONPATH": "/their/own"})
    assert env["MUSTER_GPU_SHARE"] == "0.25"
    assert env["MUSTER_GPU_MEMORY_MIB"] == str(20 << 10)
    assert env["hooked"]
    ours, own = env["PYTHONPATH"].split(":")
    assert (Path(ours).name, own) == ("gpu_share", "/their/own")
    assert "CUDA_MPS_PIPE_DIRECTORY" not in env
    whole = told(server, tmp_path, 1)
    assert not {"MUSTER_GPU_SHARE", "MUSTER_GPU_MEMORY_MIB", "PYTHONPATH"} & set(whole)
    assert not whole["hooked"]


@contextlib.contextmanager
def mps_daemon(folder: Path) -> Iterator[None]:
    """What a task can see of `nvidia-cuda-mps-control -d`: its pid in a file, and a process."""
    text = """
import os, sys
folder = os.environ["CUDA_MPS_PIPE_DIRECTORY"]
os.makedirs(folder)
with open(os.path.join(folder, "nvidia-cuda-mps-control.pid"), "w") as file:
    file.write(str(os.getpid()))
print("there", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", text],
        env={**os.environ, "CUDA_MPS_PIPE_DIRECTORY": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as daemon:
        assert daemon.stdout is not None and daemon.stdout.readline() == "there\n"
        yield


@pytest.mark.sanitizer
def test_shares_go_through_mps(start: Starter, driver: Driver, tmp_path: Path) -> None:
    pipes = tmp_path / "mps" / str(os.geteuid())
    server = start(nodes="", env={**driver.env, "MUSTER_GPU_MPS": f"{tmp_path}/mps/{{uid}}"})
    env = told(server, tmp_path, 0.255)
    assert f"no MPS daemon at {pipes}: it does not hold tasks to" in env["said"]
    with mps_daemon(pipes):
        env = told(server, tmp_path, 0.255)
        assert env["said"] == ""
        assert env["CUDA_MPS_PIPE_DIRECTORY"] == str(pipes)
        assert env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == "26"
        assert env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] == "0=20889M"
        own = told(server, tmp_path, 0.5, env={"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "90"})
        assert own["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == "90"
        whole = told(server, tmp_path, 1)
        assert not [name for name in whole if name.startswith("CUDA_MPS")]
    assert "no MPS daemon" in told(server, tmp_path, 0.5)["said"], "it has ended"


def test_shares_of_accounts(
    shared: Callable[..., Shared], accounts: list[Account], driver: Driver
) -> None:
    """What holds frameworks is the account's to read, and its daemon is its own."""
    ann = accounts[0]
    settings = {**driver.env, "MUSTER_GPU_MPS": "/nowhere/{uid}"}
    server = shared(nodes="", env=settings)
    ann.write("show.py", SHOW)
    resources = {"cpu": 1, "memory": "64Mi", "gpu": 0.5}
    said = server.output(ann, "python3 show.py", resources=resources)
    env = json.loads(said.partition("told ")[2])
    assert env["hooked"] and env["MUSTER_GPU_SHARE"] == "0.5"
    assert env["CUDA_MPS_PIPE_DIRECTORY"] == f"/nowhere/{ann.uid}"
    hook = Path(env["PYTHONPATH"]).parent
    assert str(server.place) in str(hook)


def test_a_daemon_is_of_one_account(short_path: Path) -> None:
    """It serves one account at a time, and tasks of another would wait for the last to end."""

    def refused(where: str) -> str:
        own = {"MUSTER_SHARED_ACCOUNT": "no", "MUSTER_GPU_MPS": where}
        done = muster("server", "start", state=short_path / "state", env=own)
        assert done.returncode != 0
        return done.stderr

    assert "write a path that begins with /" in refused("pipes")
    if os.geteuid() == 0:
        assert "an MPS daemon serves one at a time" in refused("/run/mps")
