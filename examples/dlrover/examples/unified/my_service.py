"""The guide's class entrypoint: its `get_status` is called by another role while it runs. `done`
and `step` are filled in: it works until it is asked to stop, or was asked for its status often
enough."""

from __future__ import annotations

import time

from dlrover.python.unified.api.runtime import rpc
from dlrover.python.unified.api.runtime.worker import current_worker

state = {"step": 0, "asked": 0}


def done() -> bool:
    return current_worker().stopping or state["asked"] >= 3


def step() -> None:
    state["step"] += 1
    time.sleep(0.01)


class TrainerService:
    def __init__(self) -> None:
        self.state = state

    @rpc(export=True)
    def get_status(self) -> dict[str, int]:
        self.state["asked"] += 1
        return self.state

    def run(self) -> None:
        args = current_worker().job_info.user_config
        print(f"k1 is {args.k1}")
        # main training loop
        while not done():
            step()
        print(f"done after {self.state['step']} steps")
