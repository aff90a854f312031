"""The node check's part with an accelerator: matmul on every device, then all-reduce within the
group (NCCL, or gloo where there is no device). Arguments: index, number of nodes, address and port
of index 0 (port 0: alone), 1 for the bandwidth measurement. Prints one line: "ok MICROSECONDS
FIGURES", "self WHY" or "pair WHY".
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

WARM_UP, TIMED = 3, 20
SIZE_DEVICE, SIZE_CPU = 8192, 128
SMALL, LARGE_DEVICE, LARGE_CPU = 1 << 12, 1 << 24, 1 << 20  # elements of float32
LIMIT = timedelta(seconds=180)


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


def all_reduce(torch: Any, device: Any, group: tuple[int, int, str, int], elements: int) -> float:
    dist = torch.distributed
    index, nodes, address, port = group
    if not dist.is_initialized():
        store = dist.TCPStore(address, port, nodes, index == 0, timeout=LIMIT)
        backend = "nccl" if device.type == "cuda" else "gloo"
        dist.init_process_group(backend, store=store, rank=index, world_size=nodes, timeout=LIMIT)
    data = torch.ones(elements, device=device)
    dist.all_reduce(data)
    if data[0].item() != nodes:
        raise ArithmeticError(f"all-reduce gave {data[0].item()} instead of {nodes}")
    data.zero_()
    return timed(torch, device, lambda: dist.all_reduce(data))


def main() -> None:
    index, nodes = int(sys.argv[1]), int(sys.argv[2])
    address, port, bandwidth = sys.argv[3], int(sys.argv[4]), sys.argv[5] == "1"
    figures = []
    try:
        import torch
        import torch.distributed

        devices = [torch.device("cpu")]
        if torch.cuda.is_available():
            devices = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
        slowest = max(matmul(torch, device) for device in devices)
        what = "torch"
        if devices[0].type == "cuda":
            what = f"{len(devices)} x {torch.cuda.get_device_name(0)}"
        figures.append(f"{what} matmul {slowest * 1e3:.2f} ms")
    except Exception as error:
        print(f"self {type(error).__name__}: {error}".replace("\n", " "))
        return
    total = slowest
    try:
        if nodes > 1 and port > 0:
            if devices[0].type == "cuda":
                torch.cuda.set_device(devices[0])
            group = (index, nodes, address, port)
            seconds = all_reduce(torch, devices[0], group, SMALL)
            figures.append(f"all-reduce {seconds * 1e6:.0f} us")
            total += seconds
            if bandwidth:
                large = LARGE_DEVICE if devices[0].type == "cuda" else LARGE_CPU
                seconds = all_reduce(torch, devices[0], group, large)
                figures.append(f"{4 * large / seconds / 1e9:.2f} GB/s")
                total += seconds
            torch.distributed.barrier()
            torch.distributed.destroy_process_group()
    except Exception as error:
        print(f"pair {type(error).__name__}: {error}".replace("\n", " "))
        return
    print(f"ok {total * 1e6:.0f} {', '.join(figures)}")


main()
sys.stdout.flush()
os._exit(0)  # threads of torch may hold up the interpreter's own way out
