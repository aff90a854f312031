"""What all instances of a job write, as one text: whole lines, each after its instance's name."""

from __future__ import annotations

import base64
import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

from muster.client import Job
from muster.errors import MusterError, Refused

RETRY = 0.2


class MergedLog:
    """Follows a job to its end. A server that restarts is asked on from where it was."""

    def __init__(self, job: Job, to: TextIO | None = None) -> None:
        self.job = job
        self.to = to or sys.stdout
        self._seen: dict[str, dict[str, int]] = {}  # task: attempt and offset after what was shown
        self._partial: dict[tuple[str, int], str] = {}  # of a task's attempt: a line begun
        self._width = 0

    def run(self) -> None:
        """Returns when the job has ended and everything was shown."""
        while not self._follow():
            time.sleep(RETRY)
        for source in list(self._partial):
            self._put(source, "\n")

    def _follow(self) -> bool:
        """One connection; True when it reached the end."""
        body = {"from": self._seen}
        try:
            for record in self.job.client.stream(f"{self.job.path}/logs", {"follow": 1}, body):
                if record.get("end"):
                    return True
                self.add(record)
        except Refused as refused:
            return refused.status < 500
        except (MusterError, ValueError):
            pass
        return False

    def add(self, record: Mapping[str, Any]) -> None:
        """One piece of output, as the server sends it."""
        task, attempt = str(record.get("task", "")), int(record.get("attempt", 1))
        last = self._seen.get(task, {"attempt": 0, "offset": 0})
        if "offset" in record and attempt >= last["attempt"]:
            self._seen[task] = {"attempt": attempt, "offset": int(record["offset"])}
        if "gap" in record:
            text = f"... {record['gap']} bytes of output are not kept ...\n"
        elif "b64" in record:
            text = base64.b64decode(record["b64"]).decode(errors="replace")
        else:
            text = str(record.get("text", ""))
        self._put((task, attempt), text)

    def _put(self, source: tuple[str, int], text: str) -> None:
        task = source[0]
        self._width = max(self._width, len(task))
        *lines, rest = (self._partial.pop(source, "") + text).split("\n")
        for line in lines:
            self.to.write(f"{task:<{self._width}}  {line}\n")
        if rest:
            self._partial[source] = rest
        self.to.flush()
