"""What tasks write: pieces as the server sends them, and whole lines made of them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple


class Piece(NamedTuple):
    """Some output of one attempt of a task; it may begin or end within a line."""

    task: str
    attempt: int
    text: str

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Piece:
        """What is no UTF-8 has replacement characters, what is not kept is said."""
        if "gap" in record:
            text = f"... {record['gap']} bytes of output are not kept ...\n"
        elif "b64" in record:
            text = base64.b64decode(record["b64"]).decode(errors="replace")
        else:
            text = str(record.get("text", ""))
        return cls(str(record["task"]), int(record.get("attempt", 1)), text)


class MergedLines:
    """The output of several tasks as one text: whole lines, each after its task's name. Lines of
    two attempts are not mixed either."""

    def __init__(self) -> None:
        self._begun: dict[tuple[str, int], str] = {}
        self._lines: list[str] = []
        self._width = 0

    def add(self, piece: Piece) -> None:
        self._width = max(self._width, len(piece.task))
        *whole, rest = (self._begun.pop(piece[:2], "") + piece.text).split("\n")
        self._lines += [f"{piece.task:<{self._width}}  {line}\n" for line in whole]
        if rest:
            self._begun[piece[:2]] = rest

    def take(self, rest: bool = False) -> str:
        """The lines since the last call; with `rest` also those that have no end yet."""
        for task, attempt in list(self._begun) if rest else []:
            self.add(Piece(task, attempt, "\n"))
        text, self._lines = "".join(self._lines), []
        return text
