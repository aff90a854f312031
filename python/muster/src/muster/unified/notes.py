"""Python warnings about what is accepted and has no effect here."""

from __future__ import annotations

import sys
import warnings

_OWN = ("muster.unified", "muster_dlrover", "dlrover.")


def note(text: str) -> None:
    """Warns at the line of the program that called into this package."""
    depth, frame = 1, sys._getframe(0)
    while frame.f_back and str(frame.f_globals.get("__name__", "")).startswith(_OWN):
        frame = frame.f_back
        depth += 1
    warnings.warn(text, UserWarning, stacklevel=depth)
