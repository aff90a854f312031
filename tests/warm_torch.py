"""An interpreter that has imported PyTorch once and is forked by all tests of a run (of one worker
of it) that need PyTorch, but do not look at how an interpreter starts: PyTorch's own torchrun
beside ours, real clients of a store. Its import takes two seconds, what is looked at mostly a tenth
of one.

Ranks and programs of jobs are not started from here. Who is their parent, their session, what they
see in the environment as they start and what a kill takes along is what those tests are about."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from select import select

from harness import VENV, patience

SERVE = """
import json, os, runpy, sys
import torch.distributed.run as torchrun
print("ready", flush=True)
for line in sys.stdin:
    ask = json.loads(line)
    pid = os.fork()
    if pid == 0:
        for number, path in enumerate([ask["stdin"], ask["out"], ask["err"]]):
            os.dup2(os.open(path, os.O_RDWR), number)
        sys.stdin = open(0, closefd=False)
        os.environ.clear()
        os.environ.update(ask["env"])
        sys.path[:0] = filter(None, ask["env"].get("PYTHONPATH", "").split(":"))
        sys.argv = ask["argv"]
        if ask["argv"][0].endswith("/torchrun"):
            sys.exit(torchrun.main())
        runpy.run_path(sys.argv[0], run_name="__main__")
        sys.exit(0)
    _, status = os.waitpid(pid, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


@dataclass
class WarmTorch:
    process: subprocess.Popen[str]

    def said(self) -> str:
        assert self.process.stdout
        ready, _, _ = select([self.process.stdout], [], [], patience())
        assert ready, f"it did not end within {patience()} s"
        return self.process.stdout.readline().strip()

    def run(
        self, argv: list[str], env: Mapping[str, str], told: str = "", stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """A program of Python, to its end; torchrun is PyTorch's. It reads a text, or a file."""
        with tempfile.TemporaryDirectory() as folder:
            files = {name: Path(folder, name) for name in ("stdin", "out", "err")}
            for name, path in files.items():
                path.write_text(told if name == "stdin" else "")
            ask = {"argv": argv, "env": dict(env), **{n: str(p) for n, p in files.items()}}
            ask["stdin"] = stdin or ask["stdin"]
            assert self.process.stdin
            print(json.dumps(ask), file=self.process.stdin, flush=True)
            status = int(self.said())
            out, err = files["out"].read_text(), files["err"].read_text()
            return subprocess.CompletedProcess(argv, status, out, err)

    def torchrun(
        self, args: list[str], env: Mapping[str, str], stdin: str = "/dev/null"
    ) -> subprocess.CompletedProcess[str]:
        return self.run([str(VENV / "torchrun"), *args], env, stdin=stdin)


@contextmanager
def warm_torch() -> Iterator[WarmTorch]:
    with subprocess.Popen(
        [str(VENV / "python"), "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            torch = WarmTorch(process)
            assert torch.said() == "ready"
            yield torch
        finally:
            process.kill()
