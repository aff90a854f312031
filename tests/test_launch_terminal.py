"""A person at the launcher: ranks read what is typed or piped, a debugger's prompt works, Ctrl-C
ends all of it, and the terminal is left as it was."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import VENV, patience, proc_bytes, program, wait_for

LAUNCHER = program().resolve().with_name("muster-node")
DEBUGGED = """
import sys
answer = 41
breakpoint()
print("said", input("and you? "), sys.stdin.isatty(), flush=True)
"""

# One line, byte by byte: what was read ahead would be lost with the rank.
LINES = """
import os
def line():
    text = b""
    while not text.endswith(b"\\n"):
        text += os.read(0, 1)
    return text.decode().strip()
count = os.environ["TORCHELASTIC_RESTART_COUNT"]
print(f"round {count} read {line()}, pid {os.getpid()}", flush=True)
assert line() == "four"
"""


class Terminal:
    """A launcher in a terminal of its own, as its foreground process group."""

    def __init__(self, folder: Path, script: str, *flags: str) -> None:
        (folder / "train.py").write_text(script)
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            env = os.environ | {"PYTHON_EXEC": str(VENV / "python"), "TERM": "dumb"}
            os.execve(LAUNCHER, [str(LAUNCHER), "torchrun", *flags, "train.py"], env)

    def read_until(self, text: str, seconds: float = 40) -> None:
        """What comes up to and with text is taken from what was seen."""
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], patience(seconds))
            assert ready, f"{text!r} did not come: {self.seen!r}"
            with contextlib.suppress(OSError):
                got = os.read(self.fd, 4096)
                self.seen += got.decode()
                continue
            raise AssertionError(f"the terminal ended before {text!r}: {self.seen!r}")
        self.seen = self.seen.partition(text)[2]

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def modes(self) -> list[object]:
        return list(termios.tcgetattr(self.fd))

    def code(self) -> int:
        """The exit code; what is still written is read meanwhile (an ending program waits until a
        terminal has taken its words)."""
        with contextlib.suppress(OSError):
            while chunk := os.read(self.fd, 4096):
                self.seen += chunk.decode()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@contextlib.contextmanager
def terminal(folder: Path, script: str, *flags: str) -> Iterator[Terminal]:
    at = Terminal(folder, script, *flags)
    try:
        yield at
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(at.pid, signal.SIGKILL)
            os.waitpid(at.pid, 0)
        os.close(at.fd)


def test_a_breakpoint_is_answered(tmp_path: Path) -> None:
    with terminal(tmp_path, DEBUGGED, "--nproc-per-node=1") as at:
        at.read_until("(Pdb) ")
        at.type("p answer + 1\n")
        at.read_until("42")
        at.type("continue\n")
        at.read_until("and you? ")
        at.type("hello\n")
        at.read_until("said hello True")
        assert at.code() == 0


def test_ctrl_c_twice_at_a_prompt_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    """The debugger takes the first one as its own and stays; the second one kills it."""
    wait = "import os\nos.write(1, b'begun')\nos.read(0, 1)\n"
    with terminal(tmp_path, wait + DEBUGGED, "--nproc-per-node=1") as at:
        at.read_until("begun")
        before = at.modes()
        at.type("\n")
        at.read_until("(Pdb) ")
        assert at.modes() != before
        at.type("\x03")
        at.read_until("received 2 death signal (SIGINT)")
        at.type("\x03")
        at.read_until("killing the ranks")
        assert at.code() == 1
        assert at.modes() == before


def parked(launcher: int) -> set[int]:
    """The parked interpreter and the rank that it holds ready."""
    listed = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    return {int(pid) for pid in listed if b"parked by muster" in proc_bytes(int(pid), "cmdline")}


@pytest.mark.parametrize("warm", ["on", "off"])
def test_a_pipe_is_read_also_after_a_restart(tmp_path: Path, warm: str) -> None:
    """Each round goes on reading where the one before stopped, whether it was forked or not."""
    script = tmp_path / "train.py"
    script.write_text(LINES)
    with subprocess.Popen(
        [LAUNCHER, "torchrun", "--max-restarts=1", f"--warm={warm}", str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHON_EXEC": str(VENV / "python")},
        text=True,
    ) as process:
        assert process.stdin and process.stdout
        try:
            print("one", file=process.stdin, flush=True)
            assert process.stdout.readline().startswith("round 0 read one, ")
            ready = (
                wait_for(
                    lambda: found if len(found := parked(process.pid)) == 2 else None,
                    timeout=40,
                    what="an interpreter to be parked",
                )
                if warm == "on"
                else set()
            )
            print("two\nthree", file=process.stdin, flush=True)
            said = process.stdout.readline()
            assert said.startswith("round 1 read three, ")
            assert (int(said.rpartition(" ")[2]) in ready) == (warm == "on")
            print("four", file=process.stdin, flush=True)
            assert process.wait(patience(30)) == 0
        finally:
            process.kill()
