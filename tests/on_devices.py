#!/usr/bin/env python3
"""What muster promises of GPUs, tried on the driver and the devices of this machine. One line an
item: `seen`, `not seen (why)`, or `FAILED (evidence)`; exit status 1 when one failed.

    make build && python3 tests/on_devices.py [--only N,...] [--python PYTHON]

What computes needs a PyTorch that sees a GPU, in the Python that runs this or in --python. It takes
less than 8 minutes; nothing else may use the devices meanwhile.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness import (
    ROOT,
    Json,
    Server,
    alive,
    free_port,
    kill,
    muster,
    native,
    program,
    scratch,
    until_there,
    wait_for,
)

GIB = 1 << 30
ALL_S, ITEM_S = 460, 120
OFTEN = {"MUSTER_GPU_INTERVAL_MS": "250"}


class NotSeen(Exception):
    """Why it cannot be seen here."""


class Failed(Exception):
    """What was found instead."""


def expect(good: object, found: object) -> None:
    if not good:
        raise Failed(str(found))


class Driver:
    """NVIDIA's library, asked by itself."""

    def __init__(self) -> None:
        try:
            self.lib = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError as e:
            raise NotSeen(f"no driver library: {e}") from e
        code = self.lib.nvmlInit_v2()
        if code != 0:
            raise NotSeen(f"the driver does not answer (NVML {code})")

    def handle(self, n: int) -> ctypes.c_void_p:
        found = ctypes.c_void_p()
        code = self.lib.nvmlDeviceGetHandleByIndex_v2(n, ctypes.byref(found))
        expect(code == 0, f"device {n}: NVML {code}")
        return found

    def text(self, function: str, n: int) -> str:
        out = ctypes.create_string_buffer(96)
        code = getattr(self.lib, function)(self.handle(n), out, len(out))
        expect(code == 0, f"{function} of device {n}: NVML {code}")
        return out.value.decode()

    def name(self, n: int) -> str:
        return self.text("nvmlDeviceGetName", n)

    def uuid(self, n: int) -> str:
        return self.text("nvmlDeviceGetUUID", n)


# ---- what tasks run ----

USED = """
import os, subprocess
def used():
    line = ["nvidia-smi", "-i", os.environ["CUDA_VISIBLE_DEVICES"].split(",")[0],
            "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return int(subprocess.run(line, capture_output=True, text=True, check=True).stdout)
"""
# Says what is used of its device before anything else; the first one then waits to be killed.
HOLDS = (
    USED
    + """
import sys, time
print("used", used(), flush=True)
if os.path.exists(sys.argv[1]):
    sys.exit()
import torch
from torch.utils.data import DataLoader
free, _ = torch.cuda.mem_get_info()
held = torch.empty(free // 2, dtype=torch.uint8, device="cuda")
pinned = torch.empty(4 << 30, dtype=torch.uint8, pin_memory=True)
data = torch.arange(1 << 16).float().reshape(-1, 1)
loader = iter(DataLoader(data, batch_size=4, num_workers=4, pin_memory=True))
next(loader)
open(sys.argv[1], "w").close()
print("holds", os.getpid(), flush=True)
while True:
    time.sleep(600)
"""
)
TAKE = """
import sys, torch
total = torch.cuda.get_device_properties(0).total_memory
held = torch.empty(int(total * float(sys.argv[1])), dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
print("took", sys.argv[1], flush=True)
"""
ASSERT = """
import torch
x = torch.zeros(4, device="cuda")
x[torch.tensor([9], device="cuda")] += 1
torch.cuda.synchronize()
"""
BUSY = """
import os, sys, torch
x = torch.ones(8192, 8192, device="cuda")
print("busy", flush=True)
while not os.path.exists(sys.argv[1]):
    x = (x @ x).clamp(max=1)
    torch.cuda.synchronize()
"""
OPENS = """
import os, sys
for path in sys.argv[1:]:
    try:
        os.close(os.open(path, os.O_RDWR))
        print(path, "opened", flush=True)
    except OSError as e:
        print(path, "refused", e.errno, flush=True)
"""


class Machine:
    """A server on what there is here, and what tasks find."""

    def __init__(self, python: str) -> None:
        self.python = python
        self.sees_cuda: bool | None = None  # its torch; None: not asked yet
        self.driver = Driver()
        self.folder = scratch("on")
        self.folder.chmod(0o755)
        self.env = {**OFTEN, "MUSTER_PYTHON": python}
        self.server = Server(nodes="", env=self.env).start()
        (self.node,) = self.server.get("/v1/nodes")["nodes"]
        self.devices = [d for d in self.node.get("devices", []) if "slot" in d]

    def close(self) -> None:
        self.server.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def needs_devices(self) -> None:
        if not self.devices:
            raise NotSeen(
                f"the server offers no device: {self.node.get('gpu_error', 'none found')}"
            )

    def needs_cuda(self) -> None:
        self.needs_devices()
        if self.sees_cuda is None:
            text = "import torch, sys; sys.exit(not torch.cuda.is_available())"
            done = subprocess.run([self.python, "-c", text], capture_output=True, check=False)
            self.sees_cuda = done.returncode == 0
        if not self.sees_cuda:
            raise NotSeen(f"torch of {self.python} sees no GPU")

    def script(self, name: str, text: str, *args: object) -> str:
        """The command line that runs it."""
        path = self.folder / f"{name}.py"
        path.write_text(text)
        return shlex.join([self.python, str(path), *map(str, args)])

    def path(self, name: str) -> Path:
        return self.folder / name

    def submit(self, name: str, run: str, gpu: float = 1, **fields: Any) -> int:
        types = fields.pop("gpu_type", None)
        resources: Json = {"cpu": 1, "memory": "12Gi" if gpu else "256Mi", "gpu": gpu}
        if types:
            resources["gpu_type"] = [types]
        if not any(d["memory"] > 4 * GIB for d in self.devices) or "light" in fields:
            resources["memory"] = "256Mi"
        fields.pop("light", None)
        return self.server.submit(native(name, run, resources=resources, **fields))

    def says(self, job: int, text: str) -> str:
        """Its output, when the text is in it; a job that ended without it has failed."""

        def there() -> str | None:
            said = self.server.log(job, "worker/0")
            over = self.server.state_of(job) in ("failed", "stopped", "succeeded")
            expect(text in said or not over, f"{self.server.job(job).get('reason')}: {said[-300:]}")
            return said if text in said else None

        return wait_for(there)

    def succeeds(self, job: int) -> str:
        self.server.wait(job)
        expect(self.server.state_of(job) == "succeeded", self.server.job(job).get("reason"))
        return self.server.log(job, "worker/0")

    def check(self, name: str) -> Json:
        rows = json.loads(muster("doctor", "--json", env=self.env).stdout)["checks"]
        (row,) = [c for c in rows if c["name"] == name]
        return dict(row)

    def node_now(self) -> Json:
        (found,) = self.server.get("/v1/nodes")["nodes"]
        return dict(found)


# ---- the items ----


def ends(m: Machine) -> str:
    """A rank's end is told when its memory is free."""
    m.needs_cuda()
    mark = m.path("held")
    script = m.script("holds", HOLDS)  # written; the launcher starts it itself
    run = f"PYTHON_EXEC={m.python} torchrun --nproc-per-node 1 {script.split()[-1]} {mark}"
    job = m.submit("holds", run, launcher={"max_restarts": 3})
    found = re.search(r"holds (\d+)", m.says(job, "holds "))
    expect(found, "no rank said its process")
    assert found
    kill(int(found[1]))
    used = [int(n) for n in re.findall(r"used (\d+)", m.succeeds(job))]
    expect(len(used) == 2, f"{len(used)} starts for one kill: {used} MiB")
    expect(used[1] < used[0] + 1024, f"{used[1]} MiB used at the next start, {used[0]} before")
    return f"{used[0]} MiB used before, {used[1]} at the next start"


def node_check(m: Machine) -> str:
    m.needs_cuda()
    script = m.path("trained.py")
    script.write_text("print('trained')\n")
    line = [str(program().with_name("muster-node")), "dlrover-run", "--network-check"]
    line += ["--nnodes=1", "--nproc_per_node=1", f"--rdzv-endpoint=127.0.0.1:{free_port()}"]
    line += ["--rdzv-id=check", "--local-addr=127.0.0.1", str(script)]
    quoted = shlex.join(line)
    bad = m.submit("bad", f"CUDA_VISIBLE_DEVICES=99 PYTHON_EXEC={m.python} {quoted}")
    m.server.wait(bad)
    said = m.server.log(bad, "worker/0")
    expect("GPU 99 was granted, but" in said and "trained" not in said.split(), said[-400:])
    good = f"PYTHON_EXEC={m.python} torchrun {script}"
    job = m.submit("good", good, launcher={"node_check": True})
    m.succeeds(job)
    told = [e["text"] for e in m.server.events(job) if e["type"] == "launch.check"]
    expect(told and "no GPU granted" not in told[0], told)
    halves = m.submit("halves", good, 0.5, replicas=2, launcher={"node_check": True}, light=True)
    m.succeeds(halves)
    told = [e["text"] for e in m.server.events(halves) if e["type"] == "launch.check"]
    expect(any("over gloo" in t or "all-reduce" in t for t in told), told)
    return "GPU 99 is named, a granted one passes, two tasks of one device agree"


def examples(m: Machine) -> str:
    m.needs_cuda()
    sets = ["replicas=1", "launcher.ranks_per_node=1", "resources.gpu=1"]
    sets += [f"env.OUT={m.path('ddp')}", f"env.PYTHON_EXEC={m.python}"]
    ddp = [str(ROOT / "examples/native/ddp.yaml"), "--code", str(ROOT / "examples/openpai/ddp")]
    for one in sets:
        ddp += ["--set", f"roles.worker.{one}"]
    for name, line in {"hello": [str(ROOT / "examples/native/hello.yaml")], "ddp": ddp}.items():
        done = m.server.muster("run", *line, timeout=ITEM_S)
        said = done.stdout + done.stderr
        expect(done.returncode == 0, f"{name}: {said[-400:]}")
    return "hello, and ddp with a device granted; those of examples/dlrover are not run here"


def types(m: Machine) -> str:
    m.needs_devices()
    model = m.devices[0]["model"]
    common = re.search(r"(RTX )?\b[A-Z]{1,2}\d+[A-Z]?\b", model)
    names = [model, *([common[0], common[0].lower()] if common else [])]
    for name in names:
        m.succeeds(m.submit("named", "true", gpu_type=name, light=True))
    text = native("other", resources={"cpu": 1, "memory": "64Mi", "gpu": 1, "gpu_type": "NO-SUCH"})
    said = m.server.muster("submit", "-", stdin=text).stderr
    expect("no node has gpu type NO-SUCH" in said and model in said, said[-300:])
    return ", ".join(names)


def smi() -> dict[str, list[str]]:
    """By UUID: model, PCI address, driver, MiB; nothing where there is no nvidia-smi."""
    if not shutil.which("nvidia-smi"):
        return {}
    what = "--query-gpu=uuid,name,pci.bus_id,driver_version,memory.total"
    line = ["nvidia-smi", what, "--format=csv,noheader,nounits"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    rows = [row.split(", ") for row in done.stdout.splitlines()]
    return {row[0]: row[1:] for row in rows if len(row) == 5}


def details(m: Machine) -> list[str]:
    table = smi()
    for d in m.devices:
        if d["uuid"].startswith("MIG"):
            continue
        n = d["number"]
        told = (m.driver.name(n), m.driver.uuid(n))
        expect((d["model"], d["uuid"]) == told, f"{d} where the driver says {told}")
        model, pci, driver, mib = table.get(d["uuid"], [d["model"], d["pci"], "", ""])
        same = (d["model"], d["pci"].lower()) == (model, pci.lower())
        expect(same, f"{d} where nvidia-smi says {table.get(d['uuid'])}")
        expect(driver in ("", m.node["gpu_driver"]), f"{m.node['gpu_driver']} is {driver}")
        expect(not mib or abs(d["memory"] / GIB - int(mib) / 1024) < 2, f"{d} has {mib} MiB")
    return [f"as {'nvidia-smi' if table else 'the driver'} says"]


def two_servers(m: Machine) -> str:
    other = Server(nodes="", env=m.env).start()
    try:
        go, whole = m.path("go-two"), len(m.devices)
        first = m.submit("first", f"echo has; {until_there(go)}", whole, light=True)
        m.says(first, "has")
        resources = {"cpu": 1, "memory": "64Mi", "gpu": whole}
        second = other.submit(native("second", "echo has", resources=resources))
        wait_for(lambda: "another server" in str(other.events(second)) + str(other.job(second)))
        expect("has" not in other.log(second), "both servers gave the same device")
        go.touch()
        m.succeeds(first)
        other.wait(second, "succeeded")
    finally:
        other.close()
    return "two servers take turns"


@contextlib.contextmanager
def holding(m: Machine) -> Iterator[int]:
    """A process outside muster with 10 percent of the first device."""
    line = f"{TAKE}\nimport time\nwhile True: time.sleep(600)\n"
    one = subprocess.Popen([m.python, "-c", line, "0.1"], stdout=subprocess.PIPE, text=True)
    try:
        assert one.stdout
        expect("took" in one.stdout.readline(), "the process outside could not take memory")
        yield one.pid
    finally:
        one.kill()
        one.wait()


def devices(m: Machine) -> str:
    m.needs_devices()
    found = details(m)
    show = m.submit("order", "echo order=$CUDA_DEVICE_ORDER", light=True)
    expect("order=PCI_BUS_ID" in m.succeeds(show), m.server.log(show))
    found += ["PCI_BUS_ID", two_servers(m)]
    try:
        m.needs_cuda()
    except NotSeen as why:
        return "; ".join([*found, f"memory of others not tried: {why}"])
    with holding(m):
        wait_for(lambda: "outside muster" in str(m.node_now()))
    wait_for(lambda: "outside muster" not in str(m.node_now()))
    return "; ".join([*found, "memory of others closes a device until it is free"])


def errors(m: Machine) -> str:
    m.needs_cuda()
    never = dict.fromkeys(("platform", "unknown", "user"), "never")
    programs = {"oom": m.script("oom", TAKE, 2), "assert": m.script("assert", ASSERT)}
    jobs = {
        (name, dialect): m.submit(name, line, conventions=[dialect], retry=never)
        for name, line in programs.items()
        for dialect in ("native", "openpai-v1", "openpai-v2", "dlc")
    }
    for which, job in jobs.items():
        m.server.wait(job, "failed")
        (attempt,) = m.server.get(f"/v1/jobs/{job}/tasks")["tasks"][0]["attempts"]
        expect(attempt["class"] == "user", f"{which} is {attempt['class']}: {attempt.get('text')}")
    return f"{len(jobs)} ends are the user's"


def share(m: Machine) -> str:
    m.needs_cuda()
    m.succeeds(m.submit("less", m.script("less", TAKE, 0.3), 0.5))
    never = dict.fromkeys(("platform", "unknown", "user"), "never")
    job = m.submit("more", m.script("more", TAKE, 0.7), 0.5, retry=never)
    m.server.wait(job)
    said = m.server.log(job, "worker/0")
    expect("out of memory" in said and "took" not in said, said[-300:])
    return "half of a device gives 0.3 of its memory and refuses 0.7"


def doctor(m: Machine) -> str:
    m.needs_devices()
    row = m.check("gpus")
    expect(row["state"] in ("ok", "note") and m.devices[0]["model"] in row["found"], row)
    torch = m.check("torch")
    try:
        m.needs_cuda()
    except NotSeen:
        expect(torch["state"] == "missing" and torch["remedy"], torch)
    else:
        expect(torch["state"] == "ok", torch)
    return f"{row['found']}; {torch['found']}"


def isolation(m: Machine) -> str:
    m.needs_devices()
    files = [f"/dev/nvidia{d['minor']}" for d in m.devices]
    missing = [path for path in files if not Path(path).exists()]
    if missing:
        raise NotSeen(f"there is no {missing[0]}")
    row = m.check("devices")
    if row["state"] != "ok":
        raise NotSeen(row["found"])
    line = f"unset CUDA_VISIBLE_DEVICES; {m.script('opens', OPENS, *files)}"
    said = m.succeeds(m.submit("none", line, 0))
    expect(said.count("refused") == len(files), f"without a device: {said}")
    said = m.succeeds(m.submit("one", line, 1))
    expect(said.count("opened") == 1, f"with one device: {said}")
    return "without a device none can be opened, with one that one"


def figures(m: Machine) -> str:
    m.needs_cuda()
    go = m.path("go-busy")
    job = m.submit("busy", m.script("busy", BUSY, go))
    m.says(job, "busy")
    gpu = m.server.get(f"/v1/jobs/{job}/tasks")["tasks"][0]["attempts"][0]["gpus"][0]

    def seen() -> Json | None:
        (d,) = [d for d in m.node_now()["devices"] if d.get("number") == gpu]
        busy = d.get("utilisation", 0) >= 50 and d.get("memory_used", 0) > GIB // 4
        return dict(d) if busy and d.get("processes") else None

    d = wait_for(seen)
    watts = d.get("milliwatts", 0) / 1000
    expect(20 < watts < 2000 and 10 < d.get("temperature", 0) < 110, d)
    text = m.server.api("GET", "/metrics").text
    expect(f'uuid="{d["uuid"]}"' in text and "muster_device_sm_clock_mhz" in text, "/metrics")
    shown = m.server.muster("show", job).stdout
    go.touch()
    m.succeeds(job)
    expect("% busy" in shown, f"muster show: {shown[-300:]}")
    return f"{d['utilisation']}% busy, {watts:.0f} W, {d['temperature']} C"


ITEMS: dict[str, Callable[[Machine], str]] = {
    "end of a rank": ends,
    "node check": node_check,
    "examples": examples,
    "gpu_type": types,
    "devices": devices,
    "errors": errors,
    "shares": share,
    "doctor": doctor,
    "isolation": isolation,
    "figures": figures,
}


def too_late(*_: object) -> None:
    raise TimeoutError("not within its time")


def try_item(m: Machine, run: Callable[[Machine], str], limit: int) -> tuple[bool, str]:
    signal.alarm(max(limit, 1))
    try:
        return True, f"seen ({run(m)})"
    except NotSeen as why:
        return True, f"not seen ({why})"
    except Exception as e:
        return False, f"FAILED ({type(e).__name__}: {e})"
    finally:
        signal.alarm(0)


def stop_all(m: Machine) -> str:
    """What an item that failed has left."""
    for job in m.server.jobs():
        if job["state"] not in ("succeeded", "failed", "stopped"):
            m.server.stop(job["number"], now=True)
            m.server.wait(job["number"])
    return "all stopped"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="N,...", help="these items")
    parser.add_argument("--python", default=sys.executable, help="whose torch computes")
    options = parser.parse_args()
    only = {int(n) for n in options.only.split(",") if n}
    if not program().exists():
        sys.exit(f"{program()} is not there: make build")
    signal.signal(signal.SIGALRM, too_late)
    ends_at = time.monotonic() + ALL_S
    try:
        machine = Machine(options.python)
    except NotSeen as why:
        print(f"nothing can be seen: {why}")
        return 0
    good = True
    try:
        for n, (name, run) in enumerate(ITEMS.items(), 1):
            if only and n not in only:
                continue
            left = int(ends_at - time.monotonic())
            fine, said = try_item(machine, run, min(ITEM_S, left))
            print(f"{n:2} {name:<14} {' '.join(said.split())}", flush=True)
            good = good and fine
            if not fine and alive(machine.server.pid):
                try_item(machine, stop_all, 30)
    finally:
        machine.close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
