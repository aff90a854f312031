"""The bundled DDP example, unchanged, under every launcher and in jobs of two formats: ranks and an
agent are killed on the way, and it still learns to read. Then the example of the ElasticJob page:
its PNG reader, and its checkpoints through a restart."""

from __future__ import annotations

import importlib.util
import re
import signal
import struct
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from conftest import Starter
from harness import (
    EXAMPLES,
    ROOT,
    VENV,
    environment,
    kill,
    openpai,
    patience,
    proc_bytes,
    processes,
    program,
    role,
    wait_for,
)  # fmt: skip

TORCH = list(ROOT.glob(".venv/lib/python3*/site-packages/torch/version.py"))
DDP = EXAMPLES / "openpai/ddp"
ELASTIC = EXAMPLES / "elasticjob"
MNIST = ELASTIC / "examples/pytorch/mnist/cnn_train.py"
PYTHON = {"MUSTER_PYTHON": str(VENV / "python")}
EPOCHS = 4
SAVE_EVERY = 8

pytestmark = [
    pytest.mark.skipif(not TORCH, reason="no PyTorch in .venv: tools/setup python installs it"),
]


def rank_process(mark: Path, script: str, number: int) -> int:
    """The process of a rank of a first round: an interpreter whose first word is the script. Its
    launcher has the script among its arguments as well, but not there."""

    def look() -> int:
        for pid in processes(str(mark)):
            words = proc_bytes(pid, "cmdline").decode(errors="replace").split("\0")
            words = [word for word in words if word != "-u"]
            ours = Path(words[0]).name.startswith("python") and words[1].endswith(script)
            if ours and f"RANK={number}".encode() in proc_bytes(pid, "environ").split(b"\0"):
                return pid
        return 0

    return wait_for(look, 20, f"rank {number}")


class Training:
    """What the example leaves behind, watched while it runs."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.arguments = (
            f"--epochs {EPOCHS} --resume --save-every {SAVE_EVERY} --output {output} "
            "--steps-file steps"
        )

    def steps(self) -> list[int]:
        path = self.output / "steps"
        return [int(n) for n in path.read_text().split("\n")[:-1]] if path.exists() else []

    def wait_steps(self, more: int, since: int = 0) -> None:
        wait_for(lambda: len(self.steps()) >= since + more, 90, f"{more} steps after {since}")

    def kill_rank(self, number: int) -> None:
        self.wait_steps(20)
        pid = rank_process(self.output, "train.py", number)
        kill(pid)
        self.wait_steps(SAVE_EVERY, len(self.steps()))

    def learned(self, said: str, restarts: int) -> None:
        steps = self.steps()
        breaks = [(a, b) for a, b in zip(steps, steps[1:]) if b != a + 1]
        # Rank 0 saves and then writes the step: between the two it may end, and so skip a line.
        assert all(a - SAVE_EVERY < b <= a + 2 for a, b in breaks), breaks
        assert steps[0] == 1 and len(breaks) <= restarts
        assert len(re.findall(r"goes on after epoch \d+, step [1-9]", said)) == restarts, said
        accuracy = float(re.findall(r"final  loss [\d.]+  accuracy ([\d.]+) %", said)[-1])
        assert accuracy > 95


@contextmanager
def started(folder: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """By itself, without a server; nothing of it stays. What it says goes to folder/said."""
    env = environment(OMP_NUM_THREADS="1")
    with (folder / "said").open("wb") as out:
        process = subprocess.Popen(
            command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(patience(10))
        finally:
            process.kill()
            for pid in processes(str(folder)):
                kill(pid)


def launcher(name: str) -> list[str]:
    node = program().resolve().parent / "muster-node"
    return [str(VENV / "torchrun")] if name == "torch" else [str(node), name]


# ---- alone ----


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) for n in ("torch", "dlrover-run")] + ["torchrun"],
)
def test_alone(tmp_path: Path, name: str) -> None:
    training = Training(tmp_path / "out")
    flags = ["--standalone", "--nproc-per-node=2", "--max-restarts=3", str(DDP / "train.py")]
    with started(tmp_path, *launcher(name), *flags, *training.arguments.split()) as process:
        if name != "torch":  # which does not survive it
            training.kill_rank(1)
        wait_for(lambda: process.poll() is not None, 120, "the end")
        said = (tmp_path / "said").read_text()
        assert process.returncode == 0, said
    training.learned(said, restarts=int(name != "torch"))


# ---- in a job ----


def end_of(run: subprocess.Popen[str]) -> str:
    out, err = run.communicate(timeout=patience(150))
    assert run.returncode == 0, out + err
    return out + err


@pytest.mark.slow  # the same faults on real nodes are test_survival's
def test_in_a_native_job(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="2x2cpu,8Gi", env=PYTHON)
    training = Training(tmp_path / "out")
    file = EXAMPLES / "native/ddp.yaml"
    run = server.popen(
        "run", "--code", DDP, file, "--set", f"roles.worker.run=torchrun ddp/train.py "
        f"{training.arguments}",
    )  # fmt: skip
    training.kill_rank(3)
    job = server.jobs(name="ddp")[0]["number"]
    kill(server.agents(job)["agent"][1])
    training.wait_steps(SAVE_EVERY, len(training.steps()))
    training.learned(end_of(run), restarts=2)
    kinds = [event["type"] for event in server.events(job)]
    assert "launch.failed" in kinds and "launch.lost" in kinds


@pytest.mark.slow  # an ElasticJob's in test_elasticjob_run trains in the same way
@pytest.mark.parametrize("name", ["torchrun", "dlrover-run"])
def test_in_an_openpai_job(start: Starter, tmp_path: Path, name: str) -> None:
    """torchrun is muster's because the server says so, dlrover-run because the user does."""
    env = {**PYTHON, **({"MUSTER_TORCHRUN": "always"} if name == "torchrun" else {})}
    server = start(nodes="2x2cpu,8Gi", env=env)
    training = Training(tmp_path / "out")
    command = (
        f"{name} --nnodes=$PAI_TASK_ROLE_TASK_COUNT_worker --max-restarts=3 "
        f"ddp/train.py {training.arguments}"
    )
    worker = role("worker", command, 2, memoryMB=2048)
    text = openpai("launched", worker, codeDir=str(DDP), jobEnvs={"OMP_NUM_THREADS": 1})
    file = tmp_path / "job.json"
    file.write_text(text)
    more = ["--set", "conventions=[openpai-v1, dlrover]"] if name == "dlrover-run" else []
    run = server.popen("run", file, *more)
    training.kill_rank(1)
    training.learned(end_of(run), restarts=1)


# ---- the ElasticJob page's script ----


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def filtered(kind: int, lines: list[bytes]) -> bytes:
    """As the PNG specification defines its filters, for one byte per pixel."""
    out = b""
    above = bytes(len(lines[0]))
    for line in lines:
        out += bytes([kind])
        for i, x in enumerate(line):
            a, b, c = (line[i - 1], above[i], above[i - 1]) if i else (0, above[0], 0)
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            out += bytes([(x - (0, a, b, (a + b) // 2, paeth)[kind]) % 256])
        above = line
    return out


def png(head: bytes, packed: bytes) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        check = zlib.crc32(kind + body)
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)

    half = len(packed) // 2
    data = [(b"IDAT", packed[:half]), (b"IDAT", packed[half:])]
    parts = [(b"IHDR", head), (b"tEXt", b"a\0b"), *data]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts) + chunk(b"IEND", b"")


def test_the_png_reader(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    reader = module(MNIST)
    lines = [bytes((x * x * 7 + y * 31 + x * y * 13) % 256 for x in range(11)) for y in range(9)]
    head = struct.pack(">IIBBBBB", 11, 9, 8, 0, 0, 0, 0)
    path = tmp_path / "a.png"
    good = [png(head, zlib.compress(filtered(kind, lines))) for kind in range(5)]
    for content in good:
        path.write_bytes(content)
        assert reader.read_png(path).tolist() == [list(line) for line in lines]
    whole = zlib.compress(filtered(0, lines))
    colour = struct.pack(">IIBBBBB", 11, 9, 8, 2, 0, 0, 0)
    bad = {
        "not a PNG": b"GIF89a",
        "damaged": good[1][:-20],
        "damaged: it": good[1].replace(b"tEXta", b"tEXtb"),
        "8-bit grey": png(colour, whole),
        "bytes of": png(head, zlib.compress(filtered(0, lines[:5]))),
        "no filter of type 9": png(head, zlib.compress(b"\x09" + filtered(0, lines)[1:])),
    }
    for why, content in bad.items():
        path.write_bytes(content)
        with pytest.raises(ValueError, match=why):
            reader.read_png(path)


@pytest.mark.slow
def test_the_elastic_example_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    digits = tmp_path / "digits"
    made = [str(VENV / "python"), str(ELASTIC / "make_mnist_png.py"), str(digits)]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    flags = ["--standalone", "--nproc_per_node=2", "--max_restarts=3", str(MNIST)]
    data = [f"--training_data={digits}/training/", f"--validation_data={digits}/testing/"]
    command = [*launcher("dlrover-run"), *flags, *data, "--num_epochs=4"]
    with started(tmp_path, *command) as process:
        said = tmp_path / "said"
        wait_for(lambda: "epoch 1 " in said.read_text(), 90, "an epoch")
        pid = rank_process(digits, "cnn_train.py", 1)
        kill(pid, signal.SIGKILL)
        wait_for(lambda: process.poll() is not None, 120, "the end")
        text = said.read_text()
        assert process.returncode == 0, text
    assert re.search(r"goes on after epoch [1-4]", text), text
    assert re.findall(r"^epoch (\d)", text, re.MULTILINE)[-1] == "4"
    assert float(re.findall(r"final  loss [\d.]+  accuracy ([\d.]+) %", text)[-1]) > 70
    assert sorted(p.name for p in (tmp_path / "mnist").iterdir()) == ["model.pt"]
