"""What an example of a published page promises, and how trying it can end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class Broken(Exception):
    """What happened instead."""


class Skipped(Exception):
    """Why it could not be tried here."""


@dataclass
class Example:
    name: str
    promise: str
    run: Callable[[], str]  # what happened, in a few words


def expect(condition: object, happened: str) -> None:
    if not condition:
        raise Broken(happened)
