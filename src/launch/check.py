"""The node check's part with PyTorch, a conversation by lines with the launcher:

    it says   probed                                    the driver has what was granted
    it hears  work
    it says   ready MICROSECONDS KIND NCCL DEVICE FIGURES
    it hears  BACKEND INDEX NODES ADDRESS PORT SECONDS  what all nodes of the group do
    it says   ok MICROSECONDS FIGURES

and instead of any of these `self WHY` or `pair WHY`, its last line. KIND is cpu, cuda or hip, and
DEVICE what no other device of any machine is called (`-` where that is not known). Arguments:
`list` if devices were granted by name, `all` if the machine has some and nobody named any, or
`none`; their number and names; 1 for the bandwidth measurement.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

WARM_UP, TIMED = 3, 20
SIZE_DEVICE, SIZE_CPU = 8192, 128
SMALL, LARGE_DEVICE, LARGE_CPU = 1 << 12, 1 << 24, 1 << 20  # elements of float32
WHY_MAX, MARK = 900, " [...]"  # bytes of a reason, what the launcher adds to it besides

given, names, bandwidth = sys.argv[1], sys.argv[3], sys.argv[4] == "1"
# Of what was not granted by name one will do: not every file in /dev is for everybody.
need = {"list": int(sys.argv[2]), "all": 1, "none": 0}[given]


def say(*words: object) -> None:
    print(*words, flush=True)


def end() -> NoReturn:
    os._exit(0)  # threads of torch may hold up the interpreter's own way out


def whole_lines(text: str) -> str:
    """The lines that there is room for, as one line, with a mark where some are missing."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    kept = ""
    for i, line in enumerate(lines):
        longer = f"{kept} {line}".strip()
        room = WHY_MAX if i + 1 == len(lines) else WHY_MAX - len(MARK)
        if len(longer.encode()) > room:
            cut = line.encode()[: WHY_MAX - len(MARK)].decode(errors="ignore")
            return (kept or cut) + MARK
        kept = longer
    return kept


def fail(kind: str, why: str) -> NoReturn:
    say(kind, whole_lines(why))
    end()


def refuse(why: str, which: str = names) -> NoReturn:
    fail("self", f"GPU {which} {'was granted' if given == 'list' else 'is there'}, but {why}")


# ---- the driver, before torch is imported ----


def build() -> dict[str, Any]:
    """What torch/version.py says: which accelerators this build is for."""
    spec = importlib.util.find_spec("torch")
    for folder in (spec and spec.submodule_search_locations) or []:
        with contextlib.suppress(OSError, SyntaxError, ValueError):
            found = {}
            for node in ast.parse((Path(folder) / "version.py").read_text()).body:
                target = node.targets[0] if isinstance(node, ast.Assign) else node
                target = target.target if isinstance(target, ast.AnnAssign) else target
                if isinstance(target, ast.Name):
                    with contextlib.suppress(ValueError):
                        found[target.id] = ast.literal_eval(node.value)  # type: ignore[attr-defined]
            return found
    return {}


class Driver:
    """libcuda, which reads CUDA_VISIBLE_DEVICES as torch will."""

    def __init__(self) -> None:
        try:
            self.lib = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            refuse(f"the CUDA driver cannot be loaded: {error}")
        self.call("cuInit", 0)
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        self.count = count.value

    def call(self, name: str, *args: Any) -> None:
        code = getattr(self.lib, name)(*args)
        if code:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorString(code, ctypes.byref(text))
            refuse(f"the CUDA driver says: {(text.value or b'?').decode()} ({name}: {code})")

    def address(self, number: int) -> str:
        """Where device 0, 1 ... of those visible is, on which kernel: NCCL's own test of two ranks
        on one device."""
        device, text = ctypes.c_int(), ctypes.create_string_buffer(64)
        self.call("cuDeviceGet", ctypes.byref(device), number)
        self.call("cuDeviceGetPCIBusId", text, len(text), device)
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{text.value.decode()}"


def probe() -> tuple[str, str]:
    """(kind, device); ends with a reason where a device that was granted cannot be used."""
    if need == 0:
        return "cpu", "-"
    if importlib.util.find_spec("torch") is None:
        refuse(f"{sys.executable} has no torch to use it with")
    torch = build()
    if torch.get("hip"):
        return "hip", "-"
    if torch and not torch.get("cuda"):
        if given == "all":
            return "cpu", "-"
        refuse(f"torch {torch.get('__version__', '')} in {sys.executable} is built without CUDA")
    driver = Driver()
    listed = names.split(",")
    if driver.count < need:
        which = ",".join(listed[driver.count :]) or names
        refuse(f"CUDA has no such device: it sees {driver.count} of {len(listed)}", which)
    return "cuda", driver.address(0)


# ---- work ----


def timed(torch: Any, device: Any, work: Callable[[], Any]) -> float:
    for _ in range(WARM_UP):
        work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    for _ in range(TIMED):
        work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return (time.perf_counter() - start) / TIMED


def matmul(torch: Any, device: Any) -> float:
    size = SIZE_DEVICE if device.type == "cuda" else SIZE_CPU
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    left = torch.ones(size, size, dtype=kind, device=device)
    right = torch.full((size, size), 0.5, dtype=kind, device=device)
    seconds = timed(torch, device, lambda: torch.mm(left, right))
    found = torch.mm(left, right)[0, 0].item()
    if found != size / 2:
        raise ArithmeticError(f"{device}: matmul gave {found} instead of {size / 2}")
    return seconds


def usable(torch: Any, kind: str) -> list[Any]:
    if kind == "cpu":
        return [torch.device("cpu")]
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if count < need:
        refuse(f"torch {torch.__version__} can use {count} of {len(names.split(','))}")
    return [torch.device("cuda", i) for i in range(count)]


def all_reduce(torch: Any, device: Any, nodes: int, elements: int) -> float:
    dist = torch.distributed
    data = torch.ones(elements, device=device)
    dist.all_reduce(data)
    if data[0].item() != nodes:
        raise ArithmeticError(f"all-reduce gave {data[0].item()} instead of {nodes}")
    data.zero_()
    return timed(torch, device, lambda: dist.all_reduce(data))


def together(torch: Any, device: Any, words: list[str]) -> tuple[float, list[str]]:
    """All-reduce with the others, as they have agreed: NCCL on the device, or gloo."""
    backend, address = words[0], words[3]
    index, nodes, port, seconds = (int(words[i]) for i in (1, 2, 4, 5))
    limit, dist = timedelta(seconds=seconds), torch.distributed
    if backend == "nccl":
        torch.cuda.set_device(device)
    else:
        device = torch.device("cpu")
    store = dist.TCPStore(address, port, nodes, index == 0, timeout=limit)
    dist.init_process_group(backend, store=store, rank=index, world_size=nodes, timeout=limit)
    total = all_reduce(torch, device, nodes, SMALL)
    figures = [f"all-reduce {total * 1e6:.0f} us"]
    if bandwidth:
        large = LARGE_DEVICE if device.type == "cuda" else LARGE_CPU
        took = all_reduce(torch, device, nodes, large)
        figures.append(f"{4 * large / took / 1e9:.2f} GB/s")
        total += took
    dist.barrier()
    dist.destroy_process_group()
    return total, figures


def main() -> None:
    kind, where = probe()
    say("probed")
    if not sys.stdin.readline():
        return
    try:
        import torch
        import torch.distributed

        devices = usable(torch, kind)
        slowest = max(matmul(torch, device) for device in devices)
        what = "torch without CUDA" if need and kind == "cpu" else "torch"
        if devices[0].type == "cuda":
            what = f"{len(devices)} x {torch.cuda.get_device_name(0)}"
        nccl = int(torch.distributed.is_nccl_available())
    except Exception as error:
        fail("self", f"{type(error).__name__}: {error}")
    say("ready", f"{slowest * 1e6:.0f}", kind, nccl, where, f"{what} matmul {slowest * 1e3:.2f} ms")
    words = sys.stdin.readline().split()
    if not words:
        return
    try:
        total, figures = together(torch, devices[0], words)
    except Exception as error:
        fail("pair", f"{type(error).__name__}: {error}")
    say("ok", f"{total * 1e6:.0f}", ", ".join(figures))


main()
end()
