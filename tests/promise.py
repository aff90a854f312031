"""What an example of a published page promises, how it is kept here, and how trying it can end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


class How(Enum):
    """What became of a promise. What is only parsed is not said to run."""

    PRINTED = "runs as printed"
    CHANGED = "runs with these substitutions"
    SHOWN = "accepted and shown, nothing acts on it"
    REFUSED = "refused, with the reason"
    NOT_DONE = "not done"


class Broken(Exception):
    """What happened instead."""


class Skipped(Exception):
    """Why it could not be tried here."""


@dataclass
class Example:
    name: str
    promise: str
    run: Callable[[], str] | None  # what happened, in a few words; None: there is nothing to try
    how: How = How.PRINTED
    note: str = ""  # the substitutions; or what happens instead


def absent(name: str, note: str) -> Example:
    """A promise of the page that nothing keeps."""
    return Example(name, note, None, How.NOT_DONE)


def expect(condition: object, happened: str) -> None:
    if not condition:
        raise Broken(happened)
