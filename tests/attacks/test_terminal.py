"""A program's or a user's text must not drive the terminal of who reads it: clipboard, title,
cursor and questions that the terminal answers as if somebody typed. Colours, tabs and carriage
returns pass; `--raw` passes all; a pipe has the bytes as they are.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from harness import FINAL, Server, environment, muster, native, program
from test_attach import screen, typed

CLIPBOARD = "\033]52;c;ZXZpbA==\a"
TITLE = "\033]0;title\033\\"
CURSOR = "\033[2J\033[H\033[3A"
ASKS = "\033[6n\033[c\033P$q m\033\\"
MODES = "\033[?1049h\033[>4;2m\033c\033(0"
C1 = "\u009b2J\u009d0;x\u009c"
BAD = b"\x9b2J\xff"
COLOUR = "\033[1;31mred\033[0m"
EVIL = (CLIPBOARD + TITLE + CURSOR + ASKS + MODES + C1).encode() + BAD
SAFE = re.compile(rb"\033\[[0-9;:]*m")


def on_terminal(server: Server, *args: object) -> bytes:
    """What the command line writes to a terminal of its own."""
    pid, fd = pty.fork()
    if pid == 0:
        env = {**environment(server.state), "TERM": "xterm", "NO_COLOR": ""}
        os.execve(program(), ["muster", *map(str, args)], env)
    seen = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(fd, 65536):
            seen += chunk
    os.waitpid(pid, 0)
    os.close(fd)
    return seen


def drives(seen: bytes, own: bytes = rb"\r\033\[K") -> bytes:
    """What of it is no text: controls but line ends, tabs and carriage returns, and C1."""
    left = SAFE.sub(b"", re.sub(own, b"", seen))
    odd = re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]", left)
    with contextlib.suppress(UnicodeDecodeError):
        left.decode()
        return left[odd.start() : odd.start() + 8] if odd else b""
    return left


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    path = tmp_path / "evil"
    path.write_bytes(EVIL + f"\t{COLOUR}\n50 %\r100 %\n\033[32mgreen\nplain\n".encode())
    return path


@pytest.mark.parametrize("replicas", [1, 2])
def test_logs(server: Server, evil: Path, replicas: int) -> None:
    number = server.submit(native("evil", f"cat {evil}", replicas))
    server.wait(number, *FINAL)
    seen = on_terminal(server, "logs", number)
    assert drives(seen) == b""
    for text in (b"^[]52;c;ZXZpbA==^G", b"^[[2J", b"^[[6n", b"^[P$q m^[\\", b"^[[?1049h", b"^[c"):
        assert text in seen
    assert b"\\x9b2J" in seen and b"\\xff" in seen
    assert b"\t" + COLOUR.encode() in seen and b"50 %\r100 %" in seen
    # a colour that was left open ends with its line
    assert b"\033[32mgreen\033[0m\r\n" in seen
    raw = on_terminal(server, "logs", "--raw", number)
    assert EVIL in raw
    if replicas == 1:
        pipe = subprocess.run(
            [program(), "logs", str(number)],
            env=environment(server.state),
            capture_output=True,
            check=True,
        )
        assert pipe.stdout == evil.read_bytes()


def test_split_over_writes(server: Server) -> None:
    """Each byte comes alone; what is a sequence only together is seen whole."""
    pieces = [*EVIL, *COLOUR.encode(), 10]
    text = ";".join(f"printf '\\{byte:o}'" for byte in pieces)
    number = server.submit(native("split", text))
    server.wait(number, *FINAL)
    seen = on_terminal(server, "logs", number)
    assert drives(seen) == b"" and COLOUR.encode() in seen and b"^[[2J^[[H^[[3A" in seen


def test_run_and_attach(server: Server, evil: Path) -> None:
    seen = on_terminal(server, "run", "--name", "r", "--", "sh", "-c", f"cat {evil}; exit 3")
    assert drives(seen) == b"" and b"^[]52;c;" in seen and COLOUR.encode() in seen
    seen = on_terminal(server, "run", "--raw", "--", "cat", evil)
    assert EVIL in seen
    # typed into by a pipe's rules: no terminal of the task's own
    seen = on_terminal(server, "run", "-i", "-T", "--", "sh", "-c", f"cat {evil}")
    assert drives(seen) == b"" and b"^[]52;c;" in seen


@pytest.mark.parametrize("tail", ["--logs", "--tail=9"])
def test_attach_to_a_task_without_a_terminal(server: Server, evil: Path, tail: str) -> None:
    """What it wrote before and what it writes now."""
    number = server.submit(typed("typed", f"cat {evil}; read x; cat {evil}; echo over"))
    server.wait(number, "running")
    with screen(server, "attach", tail, number) as at:
        before = at.read_until("plain\r\n")
        at.type("go on\n")
        after = at.read_until("over\r\n")
    for seen in (before, after):
        assert drives(seen.encode()) == b"" and "^[]52;c;" in seen and COLOUR in seen


def test_what_else_is_said_of_jobs(server: Server, evil: Path) -> None:
    words = CLIPBOARD + CURSOR + COLOUR + C1
    made = native("n", f"cat {evil}; sleep 600", description=words, labels={"a": words})
    number = server.submit(made)
    server.wait(number, "running")
    server.api("POST", f"/v1/jobs/{number}/fail?reason={on_url(words)}").good()
    server.wait(number, *FINAL)
    for args in (
        ("show", number),
        ("show", number, "--origin"),
        ("show", number, "--json"),
        ("ls", "-a"),
        ("ls", "-a", "-o", "wide"),
        ("ls", "-a", "--json"),
        ("explain", number),
        ("events", number),
        ("events", number, "--json"),
        ("env", number),
        ("wait", number),
        ("describe", number),
        ("show", words),
        ("logs", words),
        (words,),
        ("run", f"/nonexistent/{words}"),
        ("submit", "--name", words, "--", "true"),
    ):
        assert drives(on_terminal(server, *args)) == b"", args
    shown = on_terminal(server, "show", number)
    assert b"^[]52;c;" in shown or b"]52" not in shown


def on_url(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def test_a_broken_file(server: Server, tmp_path: Path) -> None:
    """A file's own text stands in the report of what is wrong in it."""
    path = tmp_path / "job.yaml"
    path.write_text(f"name: x\nrun: 'true'\nodd{CLIPBOARD}: 1\n", newline="")
    for verb in ("check", "submit", "convert"):
        assert drives(on_terminal(server, verb, path)) == b"", verb
    named = tmp_path / f"j{CLIPBOARD.replace('/', '')}.yaml"
    named.write_text("name: [\n")
    assert drives(on_terminal(server, "check", named)) == b""
    done = muster("check", named, state=server.state)
    assert CLIPBOARD in done.stdout + done.stderr, shlex.quote(done.stderr)
