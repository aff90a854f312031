"""Train a convolutional network to read digits, with DistributedDataParallel.

Started by dlrover-run or torchrun: the processes find each other through what these set.  The
digits are 8-bit grey PNG files in one directory per label, as in the mnist_png data set:
DIR/<label>/<name>.png.  A checkpoint is written after every epoch, on every node; a restart goes on
from the newest one that any node has, whatever the number of processes is by then.
"""

from __future__ import annotations

import argparse
import os
import struct
import sys
import zlib
from collections.abc import Iterator
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

PATIENCE = timedelta(minutes=5)  # for peers that are late or gone
SIDE = 28  # pixels
LABELS = 10


# ---- PNG, as much of it as grey pictures need ----


def chunks(png: bytes, where: Path) -> Iterator[tuple[bytes, bytes]]:
    if not png.startswith(b"\x89PNG\r\n\x1a\n"):
        raise ValueError(f"{where} is not a PNG file")
    at = 8
    while at + 12 <= len(png):
        (length,) = struct.unpack_from(">I", png, at)
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        checked = png[at + 8 + length : at + 12 + length]
        if checked != struct.pack(">I", zlib.crc32(kind + body)):
            break
        yield kind, body
        if kind == b"IEND":
            return
        at += 12 + length
    raise ValueError(f"{where} is damaged: it ends or changes at byte {at}")


def mean(left: int, above: int, _corner: int) -> int:
    return (left + above) // 2


def nearest(left: int, above: int, corner: int) -> int:
    """The Paeth predictor: which of the three is nearest to left + above - corner."""
    to_left, to_above = abs(above - corner), abs(left - corner)
    to_corner = abs(left + above - 2 * corner)
    if to_left <= to_above and to_left <= to_corner:
        return left
    return above if to_above <= to_corner else corner


def unfilter(kind: int, line: bytes, above: bytes) -> bytes:
    """One line of one byte per pixel, as it was before the filter."""
    if kind == 0:
        return line
    if kind == 2:
        return bytes((up + d) & 255 for up, d in zip(above, line))
    guess = {1: lambda left, up, corner: left, 3: mean, 4: nearest}.get(kind)
    if not guess:
        raise ValueError(f"there is no filter of type {kind}")
    out = bytearray()
    left = corner = 0
    for up, d in zip(above, line):
        left, corner = (guess(left, up, corner) + d) & 255, up
        out.append(left)
    return bytes(out)


def read_png(path: Path) -> Tensor:
    """The pixels, height x width, 0 to 255."""
    parts = list(chunks(path.read_bytes(), path))
    width, height, *form = struct.unpack(">IIBBBBB", parts[0][1])
    if form != [8, 0, 0, 0, 0]:
        raise ValueError(f"{path} is no plain 8-bit grey picture")
    packed = b"".join(body for kind, body in parts if kind == b"IDAT")
    limit = height * (width + 1)
    raw = zlib.decompressobj().decompress(packed, limit)
    if len(raw) != limit:
        raise ValueError(f"{path} has {len(raw)} bytes of {limit}")
    pixels, line = bytearray(), bytes(width)
    for start in range(0, limit, width + 1):
        line = unfilter(raw[start], raw[start + 1 : start + 1 + width], line)
        pixels += line
    return torch.frombuffer(pixels, dtype=torch.uint8).view(height, width)


class Digits(Dataset[Any]):
    """The pictures below a directory; read when they are asked for."""

    def __init__(self, directory: str) -> None:
        self.files = sorted(Path(directory).glob("[0-9]/*.png"))
        if not self.files:
            raise SystemExit(f"cnn_train.py: no {directory}/<label>/*.png")

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        path = self.files[index]
        picture = read_png(path)
        if picture.shape != (SIDE, SIDE):
            raise ValueError(f"{path} is not {SIDE} x {SIDE}")
        return picture.unsqueeze(0) / 255 - 0.13, int(path.parent.name)


# ---- training ----


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2, padding=2),  # 14 x 14
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),  # 7 x 7
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 7 * 7, 64),
        nn.ReLU(),
        nn.Linear(64, LABELS),
    )


class Trainer:
    """Model, data and progress of one process."""

    def __init__(self, options: argparse.Namespace, device: torch.device) -> None:
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.device = device
        learn, held_back = Digits(options.training_data), Digits(options.validation_data)
        self.sampler: DistributedSampler[Any] = DistributedSampler(learn)
        self.loader = DataLoader(learn, options.batch_size, sampler=self.sampler)
        # Every picture once, whatever the number of processes: no sampler that fills up.
        mine = torch.utils.data.Subset(held_back, range(self.rank, len(held_back), self.world))
        self.validation = DataLoader(mine, 256)

        torch.manual_seed(1)
        self.network = network().to(device)
        self.model = DistributedDataParallel(self.network)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=options.learning_rate)
        self.epoch = 0

    def state(self) -> dict[str, Any]:
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "epoch": self.epoch,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch = state["epoch"]

    def train_epoch(self) -> None:
        self.sampler.set_epoch(self.epoch)
        for pictures, labels in self.loader:
            self.optimizer.zero_grad()
            scores = self.model(pictures.to(self.device))
            torch.autograd.backward(functional.cross_entropy(scores, labels.to(self.device)))
            self.optimizer.step()
        self.epoch += 1

    @torch.no_grad()
    def quality(self) -> str:
        sums = torch.zeros(3, device=self.device)  # loss, correct, all
        for pictures, labels in self.validation:
            scores, wanted = self.network(pictures.to(self.device)), labels.to(self.device)
            loss = functional.cross_entropy(scores, wanted, reduction="sum")
            correct = (scores.argmax(1) == wanted).sum()
            sums += torch.stack([loss, correct, torch.full_like(loss, len(labels))])
        dist.all_reduce(sums)
        loss, correct = sums[:2] / sums[2]
        return f"loss {loss:.3f}  accuracy {100 * correct:.1f} %"


class Checkpoints:
    """checkpoint.pt in a directory that may be shared by all nodes or be each node's own."""

    def __init__(self, directory: str, device: torch.device) -> None:
        self.path = Path(directory) / "checkpoint.pt"
        self.device = device
        self.keeper = os.environ["LOCAL_RANK"] == "0"

    def write(self, state: dict[str, Any], path: Path) -> None:
        """A reader finds the old one or the new one, never a part."""
        if not self.keeper:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{dist.get_rank()}")
        torch.save(state, draft)
        draft.replace(path)

    def save(self, state: dict[str, Any]) -> None:
        self.write(state, self.path)

    def finish(self, state: dict[str, Any]) -> Path:
        """The result takes the place of the checkpoint: the next run starts from the beginning."""
        result = self.path.with_name("model.pt")
        self.write(state, result)
        dist.barrier()  # nobody has anything left that a restart would have to repeat
        if self.keeper:
            self.path.unlink(missing_ok=True)
        return result

    def load(self) -> dict[str, Any] | None:
        """The newest checkpoint that any process finds, on all of them; None: there is none."""
        try:
            content = self.path.read_bytes()
            epoch = torch.load(BytesIO(content), weights_only=True)["epoch"]
        except FileNotFoundError:
            content, epoch = b"", 0
        mine = torch.tensor([epoch, len(content)], device=self.device)
        found = [torch.zeros_like(mine) for _ in range(dist.get_world_size())]
        dist.all_gather(found, mine)
        source = max(range(len(found)), key=lambda rank: int(found[rank][0]))
        newest, size = (int(n) for n in found[source])
        if not newest:
            return None
        buffer = bytearray(content if source == dist.get_rank() else size)
        data = torch.frombuffer(buffer, dtype=torch.uint8).to(self.device)
        dist.broadcast(data, src=source)
        state: dict[str, Any] = torch.load(
            BytesIO(bytes(data.cpu().tolist())), map_location=self.device, weights_only=True
        )
        return state


def say(line: str) -> None:
    if dist.get_rank() == 0:
        print(line, flush=True)


def train(options: argparse.Namespace, device: torch.device) -> None:
    trainer = Trainer(options, device)
    checkpoints = Checkpoints(options.save_dir, device) if options.save else None
    state = checkpoints.load() if checkpoints else None
    if state:
        trainer.restore(state)
        say(f"goes on after epoch {trainer.epoch}")
    while trainer.epoch < options.num_epochs:
        trainer.train_epoch()
        say(f"epoch {trainer.epoch}  {trainer.quality()}")
        if checkpoints:
            checkpoints.save(trainer.state())
    say(f"final  {trainer.quality()}")
    if checkpoints:
        say(f"saved {checkpoints.finish(trainer.state())}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    option = parser.add_argument
    option("--training_data", required=True, metavar="DIR", help="DIR/<label>/*.png to learn from")
    option("--validation_data", required=True, metavar="DIR", help="the same, to measure by")
    option("--num_epochs", type=int, default=1, metavar="N", help="passes (%(default)s)")
    option("--batch_size", type=int, default=8, metavar="N", help="per process (%(default)s)")
    option("--learning_rate", type=float, default=1e-2, metavar="X", help="of Adam (%(default)s)")
    option("--no-save", dest="save", action="store_false", help="no checkpoints, no model.pt")
    option("--save_dir", default="mnist", metavar="DIR", help="where they are (%(default)s)")
    return parser.parse_args()


def choose_device() -> torch.device:
    """A device of its own for each process of this node, else processors for all."""
    local, here = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    if torch.cuda.is_available() and here <= torch.cuda.device_count():
        torch.cuda.set_device(local)
        return torch.device("cuda", local)
    return torch.device("cpu")


@record
def main() -> None:
    options = arguments()
    if "LOCAL_RANK" not in os.environ:
        sys.exit("cnn_train.py: start it with dlrover-run or torchrun (torchrun cnn_train.py ...)")
    torch.set_num_threads(1)
    device = choose_device()
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
    say(f"{dist.get_world_size()} processes on {device.type}")
    train(options, device)
    dist.barrier()
    dist.destroy_process_group()
    # Where DDP has used gloo, PyTorch 2.13 keeps threads of it after the group is destroyed, and an
    # interpreter that ends beside them may abort.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
