"""What can go wrong, in few classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class MusterError(Exception):
    """Base of every error of this package."""


class Unreachable(MusterError):
    """No server answers, or its connection broke in the middle of an answer."""


class Refused(MusterError):
    """The server understood and said no. `status` is HTTP's, `code` muster's word (`input`,
    `not_found`, `denied`, `cannot` ...), `hint` what to do instead, `problems` every single one."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.code = str(problem.get("code", ""))
        self.detail = str(problem.get("detail") or problem.get("title") or f"HTTP {status}")
        self.hint = str(problem.get("hint") or "")
        self.problems: list[dict[str, Any]] = list(problem.get("errors") or [])
        lines = [self.detail + (f" ({self.hint})" if self.hint else "")]
        if len(self.problems) > 1:
            lines += [f"  {p.get('what', '')}" for p in self.problems]
        super().__init__("\n".join(lines))


class Problem(NamedTuple):
    """One thing wrong with a job: where (`workloads.trainer.total`), what, and the value found."""

    path: str
    what: str
    value: object = None

    def __str__(self) -> str:
        return f"{self.path}: {self.what}" if self.path else self.what


class ValidationError(MusterError, ValueError):
    """A job that cannot be built, with all its problems at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        n = len(self.problems)
        head = [f"{n} problems with this job"] if n > 1 else []
        super().__init__("\n".join([*head, *map(str, self.problems)]))
