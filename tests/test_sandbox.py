"""Programs that bind memory, read each other and make namespaces of their own work in a task,
although it has only the rights of a container; calls that reach for the machine are refused."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from accounts import Account, Shared
from harness import ROOT, VENV, Server, native

# Two ranks send each other messages that are too long for their mailboxes: OpenMPI then has one
# read the memory of the other. ctypes, so that no compiler and no package is needed.
RANKS = r"""
import ctypes, sys
mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
world = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
byte = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_byte"))
assert mpi.MPI_Init(None, None) == 0
rank, size = ctypes.c_int(), 4 << 20
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
data = ctypes.create_string_buffer(bytes([65 + rank.value]) * size, size)
got = ctypes.create_string_buffer(size)
assert mpi.MPI_Sendrecv(data, size, byte, 1 - rank.value, 7, got, size, byte, 1 - rank.value, 7,
                        world, None) == 0
sys.stdout.write(f"rank {rank.value} got {got.raw[:1] + got.raw[-1:]}\n")
mpi.MPI_Finalize()
"""
PROGRAMS = {
    "numactl": ("numactl", "numactl --membind=0 --cpunodebind=0 echo well"),
    "interleave": ("numactl", "numactl --interleave=all echo well"),
    "bwrap": (
        "bwrap",
        "bwrap --unshare-user --unshare-pid --ro-bind / / --dev /dev --tmpfs /run echo well",
    ),
    "unshare": ("unshare", "unshare --user --map-root-user --mount mount -t tmpfs none /mnt "
                           "&& echo well"),
}  # fmt: skip


def needs(program: str) -> None:
    if not shutil.which(program):
        pytest.skip(f"no {program} on this machine")
    own = subprocess.run(["unshare", "--user", "true"], check=False, capture_output=True)
    if program in ("bwrap", "unshare") and own.returncode != 0:
        pytest.skip("the kernel makes no user namespaces here (in a chroot it never does)")


def out_of(server: Server, run: str) -> str:
    number = server.submit(native("sandboxed", f"exec 2>&1; {run}"))
    server.wait(number, "succeeded", "failed")
    return server.log(number)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(server: Server, name: str) -> None:
    program, line = PROGRAMS[name]
    needs(program)
    assert out_of(server, line).endswith("well\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_an_account(
    shared: Callable[..., Shared], accounts: list[Account], name: str
) -> None:
    program, line = PROGRAMS[name]
    needs(program)
    assert shared().output(accounts[0], f"exec 2>&1; {line}").endswith("well\n")


def test_ranks_read_each_other(server: Server, tmp_path: Path) -> None:
    needs("mpirun")
    file = tmp_path / "ranks.py"
    file.write_text(RANKS)
    said = out_of(
        server,
        "mpirun --allow-run-as-root --oversubscribe -np 2 --mca btl self,vader "
        f"--mca btl_vader_single_copy_mechanism cma {sys.executable} {file}",
    )
    assert "rank 0 got b'BB'" in said and "rank 1 got b'AA'" in said, said
    assert "CMA" not in said and "permission" not in said.lower(), said


DREAMER = """
def dreaming():
    import time
    print("begun", flush=True)
    time.sleep(600)
dreaming()
"""
SPY = """
import subprocess, sys
dreamer = subprocess.Popen([sys.executable, sys.argv[2]], stdout=subprocess.PIPE)
dreamer.stdout.readline()
subprocess.run([sys.argv[1], "dump", "--pid", str(dreamer.pid)])
dreamer.kill()
"""


def test_a_profiler_looks_into_a_program(server: Server, tmp_path: Path) -> None:
    spy = VENV / "py-spy"
    if not spy.exists():
        pytest.skip("no py-spy in .venv: tools/setup python installs it")
    (tmp_path / "dreamer.py").write_text(DREAMER)
    (tmp_path / "spy.py").write_text(SPY)
    said = out_of(server, f"{sys.executable} {tmp_path}/spy.py {spy} {tmp_path}/dreamer.py")
    assert "dreaming (" in said, said


CALLS = r"""
import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)
def error(*words):
    ctypes.set_errno(0)
    rc = libc.syscall(*words)
    return 0 if rc >= 0 else ctypes.get_errno()
path = ctypes.c_char_p(b"/tmp")
print(json.dumps({
    "swapon": error(167, path, 0), "reboot": error(169, 0, 0, 0, 0),
    "sethostname": error(170, path, 1), "init_module": error(175, 0, 0, path),
    "kexec_load": error(246, 0, 0, 0, 0),
    "add_key": error(248, path, path, 0, 0, 0), "perf_event_open": error(298, 0, 0, 0, 0, 0),
    "bpf": error(321, 0, 0, 0), "userfaultfd": error(323, 0), "io_uring_setup": error(425, 1, 0),
    "of the future": error(4000), "personality": error(135, 0x0040000),
    "usual personality": error(135, 0xffffffff), "audit": error(41, 16, 3, 9),
    "netlink": error(41, 16, 3, 0), "getpid": error(39),
}))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
def test_calls_that_are_refused(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "calls.py"
    file.write_text(CALLS)
    said = json.loads(out_of(server, f"{sys.executable} {file}"))
    refused = ("swapon", "reboot", "sethostname", "init_module", "kexec_load", "perf_event_open",
               "bpf", "userfaultfd", "personality")  # fmt: skip
    assert {name: said[name] for name in refused} == dict.fromkeys(refused, 1), said
    unknown = ("add_key", "io_uring_setup", "of the future")
    assert {name: said[name] for name in unknown} == dict.fromkeys(unknown, 38), said
    assert said["audit"] == 22
    for name in ("usual personality", "netlink", "getpid"):
        assert said[name] == 0, (name, said)


def test_a_program_cannot_take_back_rights(server: Server) -> None:
    """setuid programs give nothing; devices of the machine cannot be made."""
    assert "NoNewPrivs:\t1" in out_of(server, "grep NoNewPrivs /proc/self/status")
    said = out_of(server, "mknod /tmp/disk-$$ b 254 0; echo $?; mount -t tmpfs none /mnt; echo $?")
    assert said.splitlines()[-1] == "32" and "Operation not permitted" in said, said


FORKS = """
import os, time
n = 0
try:
    while n < 200:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        n += 1
except BlockingIOError:
    print("stopped at", n)
"""


@pytest.mark.skipif(
    not os.access("/sys/fs/cgroup/pids", os.W_OK),
    reason="no control group of processes (version 1) can be made here",
)
def test_processes_without_end_are_stopped(
    shared: Callable[..., Shared], accounts: list[Account]
) -> None:
    server = shared(env={"MUSTER_TASK_PIDS": "64"})
    accounts[0].write("forks.py", FORKS)
    said = server.output(accounts[0], "python3 forks.py")
    assert 50 < int(said.split()[-1]) < 64, said


# Two files of devices in a /dev of the program's own; what a task sees of them.
SEES = """
import sys
from pathlib import Path
from harness import Server, native
from nvml import Driver, device, show_devices
folder, nodes = Path(sys.argv[1]), sys.argv[2]
driver = Driver(folder / "driver")
driver.say(device(0))
(folder / "dev").mkdir()
show_devices(folder / "dev", "nvidiactl", "nvidia0", f"nvidia{driver.minor_of(0)}")
server = Server(nodes=nodes, env=driver.env).start()
try:
    job = server.submit(native("sees", "ls /dev", resources={"cpu": 1, "gpu": 1}))
    server.wait(job, "succeeded")
    names = [name for name in server.log(job).split() if name.startswith("nvidia")]
    names = sorted({*names} - {"nvidia-uvm"})  # where the machine has it
    print(*(name.replace(str(driver.minor_of(0)), "N") for name in names))
finally:
    driver.close()
    assert not server.close()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a /dev of its own to show")
@pytest.mark.parametrize(
    ("nodes", "seen"), [("", "nvidiaN nvidiactl\n"), ("1x4cpu,8Gi,1gpu", "\n")]
)
def test_devices_that_a_task_sees(tmp_path: Path, nodes: str, seen: str) -> None:
    """Its own; of a declared node none, also where the machine has one of that number."""
    done = subprocess.run(
        [sys.executable, "-c", SEES, tmp_path, nodes],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, seen), done.stderr
