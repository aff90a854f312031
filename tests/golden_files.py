"""What the tests of golden files share: a text and the file it should be, and what `muster check`
and `muster convert` say of a job, in the form in which the files have it.

GOLDEN_UPDATE=1 writes the files anew; read the difference before it is committed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from harness import ROOT, muster

GOLDEN = ROOT / "tests" / "golden"
SHARED = ROOT.parent / "shared"  # what was published, where it is beside the clone
UPDATE = bool(os.environ.get("GOLDEN_UPDATE"))
VARIABLE = re.compile(r"^([A-Za-z_][A-Za-z0-9_.~]*)=(.*)$")


def compare(path: Path, text: str) -> None:
    if UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.exists(), f"{path.name}: GOLDEN_UPDATE=1 writes it"
    assert text == path.read_text(), f"{path.name}: GOLDEN_UPDATE=1 writes it anew"


def messages(path: Path) -> tuple[int, str]:
    """Exit code, and each problem as `line:col: what`, with its hint below."""
    done = muster("check", path.name, cwd=path.parent)
    lines = []
    for line in (done.stdout + done.stderr).splitlines():
        if line.startswith(f"{path.name}:"):
            lines.append(line.removeprefix(f"{path.name}:"))
        elif (hint := re.match(r"^ +\| +\^+ (.*)$", line)) and lines:
            lines.append(f"    {hint[1]}")
    return done.returncode, "\n".join(lines) + "\n"


def convert(path: Path, to: str = "native") -> str:
    """The job in that format, without comments."""
    done = muster("convert", "--lossy", "--to", to, path)
    assert done.returncode == 0, f"{path.name}: {done.stderr}"
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    return "\n".join(lines) + "\n"


def task_environment(path: Path, task: str) -> dict[str, str]:
    """What its dialect gives to a task, by name."""
    done = muster("check", "--env", task, path)
    assert done.returncode == 0, f"{path.name}: {done.stderr}"
    said = done.stdout.split("\n# argv: ")[0]  # a command may have lines like these
    found = (VARIABLE.match(line) for line in said.splitlines())
    return dict(sorted((m[1], m[2]) for m in found if m and not m[1].startswith("MUSTER_")))


def variables(env: dict[str, str]) -> str:
    """As files have them: one a line."""
    return "".join(f"{name}={value}\n" for name, value in env.items())
