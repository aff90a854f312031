"""PyTorch's own torchrun, many times: the program is imported once and forked for each run, because
its import takes two seconds and what is looked at takes a tenth of one."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from select import select

from harness import VENV, patience

SERVE = """
import json, os, sys
import torch.distributed.run as torchrun
print("ready", flush=True)
for line in sys.stdin:
    ask = json.loads(line)
    pid = os.fork()
    if pid == 0:
        for number, path in enumerate([ask["stdin"], ask["out"], ask["err"]]):
            os.dup2(os.open(path, os.O_RDWR), number)
        os.environ.clear()
        os.environ.update(ask["env"])
        sys.argv = [ask["name"], *ask["args"]]
        sys.exit(torchrun.main())
    _, status = os.waitpid(pid, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


@dataclass
class Torchrun:
    process: subprocess.Popen[str]

    def said(self, seconds: float) -> str:
        assert self.process.stdout
        ready, _, _ = select([self.process.stdout], [], [], patience(seconds))
        assert ready, f"torchrun did not end within {patience(seconds)} s"
        return self.process.stdout.readline().strip()

    def run(
        self, args: list[str], env: dict[str, str], stdin: str = "/dev/null"
    ) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            out.touch()
            err.touch()
            name = str(VENV / "torchrun")
            ask = {"name": name, "args": args, "env": env, "stdin": stdin}
            ask |= {"out": str(out), "err": str(err)}
            assert self.process.stdin
            print(json.dumps(ask), file=self.process.stdin, flush=True)
            rc = int(self.said(60))
            return subprocess.CompletedProcess([name, *args], rc, out.read_text(), err.read_text())


@contextmanager
def real_torchrun() -> Iterator[Torchrun]:
    process = subprocess.Popen(
        [str(VENV / "python"), "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    torchrun = Torchrun(process)
    try:
        assert torchrun.said(60) == "ready"
        yield torchrun
    finally:
        process.kill()
        process.wait()
