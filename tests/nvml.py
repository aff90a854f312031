"""A machine whose devices are lines of a file: tests/fixtures/nvml.c in the place of the driver's
library; and a CUDA driver that is not there."""

from __future__ import annotations

import ctypes
import functools
import os
import random
import re
import stat
import subprocess
from pathlib import Path

from harness import ROOT, scratch

H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"
GIB = 1 << 30


@functools.cache
def library(name: str = "nvidia-ml", source: str = "nvml") -> Path:
    """Compiled once for each text of it, in a folder of its own."""
    out, text = ROOT / f"build/{source}/lib{name}.so.1", ROOT / f"tests/fixtures/{source}.c"
    if not out.exists() or out.stat().st_mtime < text.stat().st_mtime:
        out.parent.mkdir(parents=True, exist_ok=True)
        new = out.with_suffix(f".{os.getpid()}")
        options = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["gcc", *options, "-o", new, text], check=True)
        new.rename(out)
    return out


@functools.cache
def fake_torch() -> str:
    """PYTHONPATH where tests/fixtures/torch/fake_torch.py is called torch."""
    folder = ROOT / "build/cuda/python"
    (folder / "torch").mkdir(parents=True, exist_ok=True)
    texts = {
        "__init__": "from fake_torch import *\nfrom fake_torch import __version__\n",
        "distributed": "from fake_torch import *\n",
        "version": "__version__ = '2.11.0+cu130'\ncuda: str = '13.0'\nhip: str = None\n",
    }
    for name, text in texts.items():
        new = folder / f"torch/{name}.{os.getpid()}"
        new.write_text(text)
        new.rename(folder / f"torch/{name}.py")
    return f"{folder}:{ROOT / 'tests/fixtures/torch'}"


def cuda(*addresses: str) -> dict[str, str]:
    """The environment of programs that find a CUDA driver with such devices (tests/fixtures/cuda.c)
    and a PyTorch that only stands for one."""
    return {
        "LD_LIBRARY_PATH": str(library("cuda", "cuda").parent),
        "FAKE_CUDA": ",".join(addresses),
        "PYTHONPATH": fake_torch(),
    }


class Driver:
    """What it answers from now on; env is for the processes that ask. Its devices have numbers in
    /dev that no other test's have: servers of one machine never give the same one twice."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.minor = random.SystemRandom().randrange(1000, 1 << 30)
        self.env = {"LD_LIBRARY_PATH": str(library().parent), "FAKE_NVML": str(path)}
        self.say()

    def minor_of(self, n: int) -> int:
        """Not the driver's numbers, as on machines that found their devices in any order."""
        return self.minor // 10 * 10 + 7 - n

    def close(self) -> None:
        for front in ("/run/muster/gpus/", "/run/lock/muster-gpu-", "/tmp/muster-gpu-"):
            place = Path(front)
            folder, name = (place, "") if front.endswith("/") else (place.parent, place.name)
            for lock in folder.glob(f"{name}{self.minor // 10}?*"):
                lock.unlink()

    def say(self, *devices: str, before: str = "") -> None:
        text = "driver 580.159.04\ncuda 12080\n" + before + "".join(devices)
        text = re.sub(r"minor (\d)\n", lambda m: f"minor {self.minor_of(7 - int(m[1]))}\n", text)
        new = self.path.with_suffix(".new")
        new.write_text(text)
        new.rename(self.path)


def device(n: int, model: str = H100, *more: str, used: int = 0) -> str:
    lines = [
        f"device {model}",
        f"uuid GPU-{n}{n}{n}{n}",
        f"pci 00000000:{n:02X}:00.0",
        f"minor {7 - n}",
        f"memory {80 * GIB}",
        f"used {used}",
        *(f"{figure} 0" for figure in ("busy", "temperature", "power", "ecc")),
        *more,
    ]
    return "".join(f"{line}\n" for line in lines)


def instance(n: int, gi: int, *more: str, profile: str = "1g.10gb", model: str = H100) -> str:
    """One of the last device: number n of the machine, with the ids (gi, 0)."""
    lines = [
        f"instance {model} MIG {profile}",
        f"uuid MIG-{n}{gi}{gi}",
        f"gi {gi}",
        "ci 0",
        f"memory {10 * GIB}",
        *more,
    ]
    return "".join(f"{line}\n" for line in lines)


# ---- all tests as on a machine with devices ----

NEW_MOUNTS, NULL = 0x20000, os.makedev(1, 3)


def show_devices(folder: Path, *names: str) -> None:
    """From now on this process and its children have a /dev with such files besides: they can be
    opened, and are nothing. For root."""
    if ctypes.CDLL(None, use_errno=True).unshare(NEW_MOUNTS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    for words in ("--make-rslave /", f"-t tmpfs -o mode=755 dev {folder}"):
        subprocess.run(["mount", *words.split()], check=True)
    for entry in os.scandir("/dev"):
        new, seen = folder / entry.name, entry.stat(follow_symlinks=False)
        if entry.is_symlink():
            new.symlink_to(os.readlink(entry.path))
        elif entry.is_dir():
            new.mkdir()
            subprocess.run(["mount", "--rbind", entry.path, new], check=True)
        elif stat.S_ISCHR(seen.st_mode) or stat.S_ISBLK(seen.st_mode):
            os.mknod(new, seen.st_mode, seen.st_rdev)
            os.chown(new, seen.st_uid, seen.st_gid)
            new.chmod(stat.S_IMODE(seen.st_mode))
    for name in {*names} - {*os.listdir(folder)}:
        os.mknod(folder / name, stat.S_IFCHR | 0o666, NULL)
        (folder / name).chmod(0o666)
    subprocess.run(["mount", "--rbind", folder, "/dev"], check=True)
    subprocess.run(["umount", "--lazy", folder], check=True)


def pretend() -> Path:
    """Everything that this process starts finds a driver with one device, and its file where this
    process is root. What it has made lies in the folder."""
    folder = scratch("gpu")
    driver, dev = folder / "driver", folder / "dev"
    lines = device(0).replace("minor 7\n", "minor 0\n")
    driver.write_text(f"driver 580.159.04\ncuda 13000\n{lines}")
    os.environ.update(LD_LIBRARY_PATH=str(library().parent), FAKE_NVML=str(driver))
    folder.chmod(0o755)
    driver.chmod(0o644)
    if os.geteuid() == 0:
        dev.mkdir()
        show_devices(dev, "nvidia0", "nvidiactl", "nvidia-uvm")
    return folder


def pretend_no_more(folder: Path) -> None:
    """Removes the folder, and nothing that may still be mounted there."""
    (folder / "driver").unlink()
    if (folder / "dev").is_dir():
        (folder / "dev").rmdir()
    folder.rmdir()
