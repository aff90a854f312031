"""Processes of `python -m muster.worker` that believe they are tasks of one job, beside a double of
the server's board. For the tests and the benchmark of the worker runtime alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import muster.worker.context
import muster.worker.identity
import muster.worker.queue
import muster.worker.remote.process
from board import Board
from harness import ROOT, patience, scratch
from muster.worker.remote.registry import registry

Json = dict[str, Any]
SECRET = "5e" * 32
SOURCE = ROOT / "python/muster/src"


def role(total: int = 1, **more: object) -> Json:
    return {"total": total, "per_group": 1, "backend": "simple", "is_driver": True, **more}


class Cluster:
    """A board, and processes that believe they are tasks of one job."""

    def __init__(self) -> None:
        self.folder = scratch()
        self.board = Board(self.folder / "sock")
        self.roles: Json = {"test": role()}
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.version = 0

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def env(self, name: str, index: int, job: Json | None = None) -> dict[str, str]:
        told = {"name": "job", "accelerator_type": "CPU", "failover": 1, **(job or {})}
        unified = {"job": told, "role": self.roles[name], "roles": self.roles}
        return {
            "PYTHONPATH": str(SOURCE),
            "MUSTER_JOB_NAME": "job",
            "MUSTER_JOB_NUMBER": "1",
            "MUSTER_ROLE": name,
            "MUSTER_INDEX": str(index),
            "MUSTER_REPLICAS": str(self.roles[name]["total"]),
            "MUSTER_ADDRESS": "127.0.0.1",
            "MUSTER_SERVER": self.board.url,
            "MUSTER_JOB_SECRET": SECRET,
            "MUSTER_UNIFIED": json.dumps(unified),
        }

    def start(
        self, task: str, entry: str, env: Mapping[str, str] | None = None, job: Json | None = None
    ) -> subprocess.Popen[str]:
        name, _, index = task.partition("/")
        self.board.tasks[task] = "running"
        one = subprocess.Popen(
            [sys.executable, "-m", "muster.worker", entry],
            cwd=self.folder,
            env={**os.environ, **self.env(name, int(index), job), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes[task] = one
        return one

    def serve(self, module: str, *tasks: str, entry: str = "serve") -> None:
        """These tasks run a module of that text, whose entry serves until it is stopped."""
        self.write("served.py", module + SERVE)
        for task in tasks:
            name = task.partition("/")[0]
            if name not in self.roles:
                total = sum(one.startswith(f"{name}/") for one in tasks)
                self.roles[name] = role(total)
        for task in tasks:
            self.start(task, f"served.{entry}")
        self.enter()

    def run(self, entry: str, env: Mapping[str, str] | None = None, **more: Any) -> Ended:
        """One task of role `one`, to its end."""
        self.roles.setdefault("one", role(**more))
        process = self.start("one/0", entry, env)
        out, err = process.communicate(timeout=patience())
        return Ended(process.returncode, out, err)

    def enter(self) -> None:
        """This very process is task test/0."""
        leave()
        os.environ.update(self.env("test", 0))

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.communicate()
        leave()
        self.board.shutdown()
        self.board.server_close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Ended:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def json(self) -> Any:
        return json.loads(self.out)


SERVE = """

def serve():
    from muster.worker import current_worker
    current_worker().wait_stop()
"""


def leave() -> None:
    """This process belongs to no job."""
    for name in [name for name in os.environ if name.startswith("MUSTER_")]:
        if name not in KEPT:
            del os.environ[name]
    muster.worker.identity._identity = None
    muster.worker.context._worker = None
    muster.worker.remote.process._process = None
    muster.worker.queue._stores.clear()
    registry._entries.clear()


KEPT = {name for name in os.environ if name.startswith("MUSTER_")}
