"""Asks the training service how far it is."""

from __future__ import annotations

import time

from dlrover.python.unified.api.runtime import RoleGroup


def run() -> None:
    service = RoleGroup("TRAINER")
    for _ in range(3):
        print("status", service.call_rank0("get_status").result())
        time.sleep(0.05)
