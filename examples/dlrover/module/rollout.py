"""Rollout worker: acts by the policy it was given last. It has no loop of its own: the trainer
asks."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import torch
from dlrover.python.unified.api.runtime import rpc
from torch import Tensor

from module.policy import STATES, new_policy

policy = new_policy()
over = threading.Event()


@rpc()
def load(weights: Mapping[str, Tensor]) -> None:
    policy.load_state_dict(weights)


@rpc()
@torch.no_grad()
def generate(n: int) -> tuple[Tensor, Tensor]:
    """n states, and what the policy does in each."""
    states = torch.randn(n, STATES)
    choice: Any = torch.distributions.Categorical(logits=policy(states))
    return states, choice.sample()


@rpc()
def finish() -> None:
    over.set()


def run() -> None:
    torch.set_num_threads(1)
    over.wait()
