"""Train a digit classifier with DistributedDataParallel.

Started by torchrun or dlrover-run, the processes find each other through what these set (RANK,
WORLD_SIZE, MASTER_ADDR, MASTER_PORT).  Started as the tasks of an OpenPAI job, they do so through
the PAI_* variables and through nothing else: each task is one rank, ranks follow the order of the
roles, and task 0 of the first role is the meeting point (its host, and its port labelled "rdzv").
Nothing is downloaded: the digits are drawn here, from a bitmap font that is turned, slanted,
scaled, shifted and covered with noise.  Loss and accuracy are those on digits held back from
training.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

GLYPHS = """
.###. ..#.. .###. ##### ...#. ##### ..##. ##### .###. .###.
#...# .##.. #...# ...#. ..##. #.... .#... ....# #...# #...#
#..## ..#.. ....# ..#.. .#.#. ####. #.... ...#. #...# #...#
#.#.# ..#.. ...#. ...#. #..#. ....# ####. ..#.. .###. .####
##..# ..#.. ..#.. ....# ##### ....# #...# .#... #...# ....#
#...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ...#.
.###. .###. ##### .###. ...#. .###. .###. .#... .###. .##..
"""
SIDE = 16  # pixels
TRAINING_DIGITS, HELD_BACK_DIGITS = 8192, 2048
BATCH = 64  # digits per rank and step
PEAK_RATE = 8e-3
PATIENCE = timedelta(minutes=2)  # for peers that are late or gone


@dataclass(frozen=True)
class Place:
    """Where this process stands in the job."""

    task: str
    rank: int
    world: int
    leader: str  # host of rank 0
    port: int
    launched: bool  # by torchrun or dlrover-run
    keeper: bool  # keeps checkpoints: machines may have no disk in common

    @classmethod
    def from_environment(cls) -> Place:
        return cls.of_launcher() if "LOCAL_RANK" in os.environ else cls.of_task()

    @classmethod
    def of_launcher(cls) -> Place:
        return cls(
            task=f"local rank {variable('LOCAL_RANK')} of node {variable('GROUP_RANK')}",
            rank=int(variable("RANK")),
            world=int(variable("WORLD_SIZE")),
            leader=variable("MASTER_ADDR"),
            port=int(variable("MASTER_PORT")),
            launched=True,
            keeper=variable("LOCAL_RANK") == "0",
        )

    @classmethod
    def of_task(cls) -> Place:
        roles = variable("PAI_TASK_ROLE_LIST").split(",")
        counts = {role: int(variable(f"PAI_TASK_ROLE_TASK_COUNT_{role}")) for role in roles}
        role = variable("PAI_CURRENT_TASK_ROLE_NAME")
        index = int(variable("PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"))
        return cls(
            task=f"{role}/{index}",
            rank=sum(counts[earlier] for earlier in roles[: roles.index(role)]) + index,
            world=sum(counts.values()),
            leader=variable(f"PAI_HOST_IP_{roles[0]}_0"),
            port=int(variable(f"PAI_PORT_LIST_{roles[0]}_0_rdzv").split(",")[0]),
            launched=False,
            keeper=True,
        )

    @property
    def method(self) -> str:
        """Where the launcher keeps the store, env:// knows; else rank 0 keeps it at its address."""
        return "env://" if self.launched else f"tcp://{self.leader}:{self.port}"


def variable(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        sys.exit(
            f"train.py: {name} is not set: run this with torchrun (torchrun --nproc-per-node 2"
            " train.py) or as a task of an OpenPAI job (ddp.json)"
        )
    return value


def directory(where: str) -> Path:
    """The directory that a path or a file: URI names."""
    uri = urlsplit(where)
    if uri.scheme not in ("", "file"):
        sys.exit(f"train.py: cannot write to {where}: name a path or a file: URI with --output")
    return Path(url2pathname(uri.path) if uri.scheme else where)


def glyphs() -> Tensor:
    """The font: ten pictures of 7 x 5 dots, ink is 1."""
    by_line = [line.split() for line in GLYPHS.strip().splitlines()]
    by_digit = zip(*by_line)
    return torch.tensor([[[float(dot == "#") for dot in row] for row in rows] for rows in by_digit])


def draw(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Draw `count` pictures of digits, with their labels; one seed, one set of digits."""
    dice = torch.Generator().manual_seed(seed)

    def between(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(count, generator=dice)

    labels = torch.randint(10, (count,), generator=dice)
    # Both picture and glyph span -1..1, and the map leads from a pixel to its place in the glyph:
    # numbers above 1 leave a margin around the digit, and margins leave room to shift it.
    turn, slant = between(-0.25, 0.25), between(-0.25, 0.25)
    width, height = between(1.2, 1.8), between(1.0, 1.4)
    x = torch.stack([width * turn.cos(), width * (turn.sin() + slant), between(-0.3, 0.3)], dim=1)
    y = torch.stack([-height * turn.sin(), height * turn.cos(), between(-0.2, 0.2)], dim=1)
    size = [count, 1, SIDE, SIDE]
    places = functional.affine_grid(torch.stack([x, y], dim=1), size, align_corners=False)
    ink = functional.grid_sample(glyphs()[labels].unsqueeze(1), places, align_corners=False)
    strength = between(0.6, 1.0).view(count, 1, 1, 1)
    return strength * ink + 0.15 * torch.randn(size, generator=dice), labels


def network() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(SIDE * SIDE, 192),
        nn.ReLU(),
        nn.Linear(192, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


class Trainer:
    """Model, data and progress of one rank."""

    def __init__(self, place: Place, seed: int, epochs: int) -> None:
        # The even seed draws the digits to learn from, the odd one those held back.
        learn = TensorDataset(*draw(TRAINING_DIGITS, 2 * seed))
        shard = (place.world, place.rank)
        self.sampler: DistributedSampler[Any] = DistributedSampler(learn, *shard, seed=seed)
        self.loader = DataLoader(learn, BATCH, sampler=self.sampler)
        pictures, labels = draw(HELD_BACK_DIGITS, 2 * seed + 1)
        self.held_back = pictures[place.rank :: place.world], labels[place.rank :: place.world]

        torch.manual_seed(seed)
        self.network = network()
        self.model = DistributedDataParallel(self.network)
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.epoch = self.step = self.seen = 0  # seen: digits of this epoch, by all ranks
        self.epochs = epochs

    def state(self) -> dict[str, Any]:
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "epoch": self.epoch,
            "step": self.step,
            "seen": self.seen,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch, self.step, self.seen = state["epoch"], state["step"], state["seen"]

    def train_epoch(self, after_step: Callable[[], None]) -> None:
        """Go through what is left of this rank's share of the digits of this epoch.

        The share is another one when the number of ranks has changed meanwhile: so many digits as
        were seen are left out, whoever saw them.
        """
        self.sampler.set_epoch(self.epoch)
        ahead = self.seen // (BATCH * self.sampler.num_replicas)
        for pictures, labels in itertools.islice(self.loader, ahead, None):
            progress = (self.epoch + self.seen / TRAINING_DIGITS) / self.epochs
            for group in self.optimizer.param_groups:
                group["lr"] = PEAK_RATE / 2 * (1 + math.cos(math.pi * min(progress, 1)))
            self.optimizer.zero_grad()
            torch.autograd.backward(functional.cross_entropy(self.model(pictures), labels))
            self.optimizer.step()
            self.step += 1
            self.seen += BATCH * self.sampler.num_replicas
            after_step()
        self.epoch += 1
        self.seen = 0

    @torch.no_grad()
    def quality(self) -> str:
        """Loss and accuracy on the digits held back, over all ranks."""
        pictures, labels = self.held_back
        scores = self.network(pictures)
        loss = functional.cross_entropy(scores, labels, reduction="sum")
        sums = torch.stack([loss, (scores.argmax(1) == labels).sum()])
        dist.all_reduce(sums)
        loss, correct = sums / HELD_BACK_DIGITS
        return f"loss {loss:.3f}  accuracy {100 * correct:.1f} %"


def save(state: dict[str, Any], path: Path) -> None:
    """Replace the checkpoint: a reader finds the old one or the new one, never a part. Where
    keepers share the directory, each has a draft of its own."""
    draft = path.with_suffix(f".{dist.get_rank()}")
    torch.save(state, draft)
    draft.replace(path)


def load(path: Path, place: Place) -> dict[str, Any] | None:
    """The newest checkpoint that a keeper finds at `path`, on every rank; None: there is none.

    Rank 0 need not have it: ranks are numbered anew in each round, and a machine that was away
    comes back with the checkpoint of then.
    """
    content = path.read_bytes() if place.keeper and path.exists() else b""
    step = torch.load(BytesIO(content), weights_only=True)["step"] if content else 0
    mine = torch.tensor([step, len(content)])
    found = [torch.zeros_like(mine) for _ in range(place.world)]
    dist.all_gather(found, mine)
    source = max(range(place.world), key=lambda rank: int(found[rank][0]))
    newest, size = (int(n) for n in found[source])
    if not newest:
        return None
    buffer = bytearray(content if source == place.rank else size)
    dist.broadcast(torch.frombuffer(buffer, dtype=torch.uint8), src=source)
    state: dict[str, Any] = torch.load(BytesIO(buffer), weights_only=True)
    return state


def train(place: Place, options: argparse.Namespace) -> None:
    first = place.rank == 0
    output = directory(options.output)
    checkpoint = output / "checkpoint.pt"
    steps_file = output / options.steps_file if first and options.steps_file else None
    if place.keeper:
        output.mkdir(parents=True, exist_ok=True)

    trainer = Trainer(place, options.seed, options.epochs)

    def after_step() -> None:
        if place.keeper and options.save_every and trainer.step % options.save_every == 0:
            save(trainer.state(), checkpoint)
        if steps_file:
            with steps_file.open("a") as file:
                print(trainer.step, file=file)

    state = load(checkpoint, place) if options.resume else None
    if state:
        trainer.restore(state)
        quality = trainer.quality()
        if first:
            say(f"goes on after epoch {trainer.epoch}, step {trainer.step}  {quality}")
    while trainer.epoch < options.epochs:
        trainer.train_epoch(after_step)
        quality = trainer.quality()
        if place.keeper:
            save(trainer.state(), checkpoint)
        if first:
            say(f"epoch {trainer.epoch}  {quality}")

    quality = trainer.quality()
    if first:
        say(f"checkpoint {checkpoint}  {checkpoint.stat().st_size / 1024:.0f} KiB")
        say(f"final  {quality}")


def say(line: str) -> None:
    print(line, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    option = parser.add_argument
    option("--epochs", type=int, default=6, metavar="N", help="passes over the data (%(default)s)")
    option("--seed", type=int, default=1, metavar="N", help="of digits and weights (%(default)s)")
    option("--output", metavar="DIR", help="path or file: URI for checkpoint.pt ($PAI_OUTPUT_DIR)")
    option("--resume", action="store_true", help="go on from the checkpoint when there is one")
    option("--save-every", type=int, default=0, metavar="N", help="steps; always after an epoch")
    option("--steps-file", metavar="NAME", help="file in the output that gets each step's number")
    parser.set_defaults(output=os.environ.get("PAI_OUTPUT_DIR") or ".")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    place = Place.from_environment()
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=place.method,
        rank=place.rank,
        world_size=place.world,
        timeout=PATIENCE,
    )
    say(f"rank {place.rank} of {place.world} is {place.task}, met at {place.leader}:{place.port}")
    train(place, options)
    dist.barrier()  # nobody leaves, and no worker ends the job, before rank 0 has written all
    dist.destroy_process_group()
    # Where DDP has used gloo, PyTorch 2.13 keeps threads of it after the group is destroyed, and an
    # interpreter that ends beside them may abort.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
