"""A character model of the nanoGPT kind, trained by however many processes there are. The process
group is there when `run` is called: muster made it, one rank a process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from dlrover.python.unified.api.runtime.worker import current_worker
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

BLOCK, WIDTH, HEADS, LAYERS = 32, 48, 4, 2


class CharModel(nn.Module):
    def __init__(self, letters: int) -> None:
        super().__init__()
        self.letters = nn.Embedding(letters, WIDTH)
        self.places = nn.Embedding(BLOCK, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, letters)

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[1]
        causal = nn.Transformer.generate_square_subsequent_mask(n, device=x.device)
        h = self.letters(x) + self.places(torch.arange(n, device=x.device))
        out: Tensor = self.head(self.body(h, mask=causal, is_causal=True))
        return out


def load(folder: str) -> tuple[Tensor, int]:
    text = (Path(__file__).parents[4] / folder / "input.txt").read_text()
    letters = sorted(set(text))
    return torch.tensor([letters.index(c) for c in text]), len(letters)


def batch(data: Tensor, size: int) -> tuple[Tensor, Tensor]:
    at = torch.randint(len(data) - BLOCK - 1, (size,))
    x = torch.stack([data[i : i + BLOCK] for i in at.tolist()])
    y = torch.stack([data[i + 1 : i + BLOCK + 1] for i in at.tolist()])
    return x, y


def run() -> None:
    args: Any = current_worker().job_info.user_config
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(7)
    data, letters = load(args.data_dir)
    # Its own device, if it was given one that torch can use.
    has_device = torch.cuda.is_available()
    device = torch.device(os.environ["ACCELERATE_TORCH_DEVICE"] if has_device else "cpu")
    model = DistributedDataParallel(CharModel(letters).to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    torch.manual_seed(100 + rank)  # every rank reads other pieces of the text
    first = last = 0.0
    for step in range(int(args.get("steps", 80))):
        x, y = (part.to(device) for part in batch(data, int(args.batch_size)))
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        mean = loss.detach()
        dist.all_reduce(mean)
        last = float(mean) / world
        first = first or last
        if rank == 0 and step % 20 == 0:
            print(f"step {step}  loss {last:.3f}  ({world} processes)")
    if rank == 0:
        print(f"loss {first:.3f} -> {last:.3f}")
    if not last < first - 0.5:
        raise RuntimeError(f"it learnt nothing: loss {first:.3f} -> {last:.3f}")
