"""The guide's function entrypoint, with a `train` of its own."""

from __future__ import annotations

from typing import Any

from dlrover.python.unified.api.runtime.worker import current_worker


def train(args: Any) -> None:
    weight = 0.0
    for _ in range(args.steps):
        weight -= args.lr * 2 * (weight - args.target)
    print(f"weight {weight:.3f}, target {args.target}")


def run() -> None:
    args = current_worker().job_info.user_config
    # prepare data, model, optimizer using args
    train(args)
