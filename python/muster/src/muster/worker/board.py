"""The job's board: small values that the tasks of a job leave for each other, kept by the server.
A server that restarts only delays a look-up: each request is asked again until it answers."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Callable, NamedTuple
from urllib.parse import quote

from muster.client import FINAL, Client
from muster.errors import Refused, Unreachable

POLL = 20.0  # seconds a look-up stays at the server
ON_ITS_WAY = ("queued", "starting", "restarting", "suspended")


class Entry(NamedTuple):
    value: dict[str, Any]
    version: int


def address_key(role: str, index: int) -> str:
    return f"rpc/{quote(role, safe='')}/{index}"


def queue_key(name: str) -> str:
    return f"queue/{quote(name, safe='')}"


class Board:
    """The board of one job."""

    def __init__(self, client: Client, number: str) -> None:
        self.client = client
        self.path = f"/v1/jobs/{number}"

    def patient(self, ask: Callable[[], Any], seconds: float) -> Any:
        """The answer, also of a server that is away for up to `seconds`."""
        end = time.monotonic() + seconds
        while True:
            try:
                return ask()
            except Unreachable:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def put(self, key: str, value: dict[str, Any], seconds: float = 3600) -> int:
        """Leaves a value; its version."""
        text = json.dumps(value)

        def ask() -> Any:
            return self.client.call("PUT", f"{self.path}/board", {"key": key}, text)

        return int(self.patient(ask, seconds)["version"])

    def get(self, key: str, after: int = 0, wait: float = 0) -> Entry | None:
        """The value of a version greater than `after`, at once or within `wait` seconds."""
        end = time.monotonic() + wait
        while True:
            left = end - time.monotonic()
            try:
                return self._once(key, after, max(0.0, min(left, POLL)))
            except Unreachable:
                time.sleep(0.05)
            except Refused as error:
                if error.status != 404:
                    raise
                if end <= time.monotonic():
                    return None
                time.sleep(0.01)

    def _once(self, key: str, after: int, wait: float) -> Entry:
        query: dict[str, str | int] = {"key": key, "after": after}
        if wait > 0:
            query["wait"] = f"{wait:.3g}"
        told = self.client.call("GET", f"{self.path}/board", query, timeout=wait + 30)
        value = told["value"]
        return Entry(json.loads(value) if isinstance(value, str) else value, int(told["version"]))

    def tasks(self) -> list[dict[str, Any]]:
        def ask() -> Any:
            return self.client.call("GET", f"{self.path}/tasks")

        return list(self.patient(ask, 60)["tasks"])

    def job(self) -> dict[str, Any]:
        return dict(self.patient(lambda: self.client.call("GET", self.path), 60))

    def ended(self, role: str, index: int) -> str:
        """Why an instance will never answer: it has ended for good. "" while it may."""
        for task in self.tasks():
            if task["role"] == role and int(task["index"]) == index:
                state = str(task["state"])
                if state not in FINAL or self.job()["state"] in ON_ITS_WAY:
                    return ""
                return f"it has {state}" if state != "stopped" else "it was stopped"
        return "the job has no such instance"


def job_board(number: str) -> Board:
    return Board(Client(os.environ.get("MUSTER_SERVER")), number)
