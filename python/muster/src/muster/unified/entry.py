"""Entrypoints: the text that names what an instance runs, `module.func` or `script.py --args`."""

from __future__ import annotations

import re
import shlex

from muster.unified.enums import WorkloadEntrypointType

INVALID = "Invalid entrypoint."
_MODULE_FUNC = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*(?:\.[a-zA-Z_][a-zA-Z0-9_]*)+")
_MODULE_SCRIPT = re.compile(r"-m\s+[a-zA-Z_][a-zA-Z0-9_.]*(\s.*)?", re.DOTALL)


def normalize(text: str) -> str:
    """Without outer blanks, and with `::` as `.` everywhere (in arguments too, as the reference
    does it)."""
    return text.strip().replace("::", ".")


def _first_word(text: str) -> str:
    """The program of a command, its quoting undone; a text that is no shell text has only blanks
    to go by."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    return words[0] if words else ""


def entrypoint_type(text: str) -> WorkloadEntrypointType | None:
    """What a normalised entrypoint is; None where it is none. `-m package.module args` is ours: a
    launcher's line can say it."""
    text = text.strip()
    if text.endswith(".py") or "/" in text or _first_word(text).endswith(".py"):
        return WorkloadEntrypointType.PY_CMD
    if _MODULE_SCRIPT.fullmatch(text):
        return WorkloadEntrypointType.PY_CMD
    if _MODULE_FUNC.fullmatch(text):
        return WorkloadEntrypointType.MODULE_FUNC
    return None
