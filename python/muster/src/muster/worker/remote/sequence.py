"""A list whose parts are still on their way."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, overload


class FutureSequence(Sequence[Any]):
    """Looks like one list; an index or a slice waits only for the parts that it touches."""

    def __init__(self, futures: Sequence[Future[Any]], lengths: Sequence[int]) -> None:
        self._futures = list(futures)
        self._lengths = list(lengths)

    def __len__(self) -> int:
        return sum(self._lengths)

    def __repr__(self) -> str:
        return f"FutureSequence(lens={self._lengths})"

    def _part(self, at: int) -> Sequence[Any]:
        values: Sequence[Any] = self._futures[at].result()
        if len(values) != self._lengths[at]:
            raise ValueError(
                f"part {at} has {len(values)} values, expected {self._lengths[at]}: a function "
                "called by call_batch returns one value for each that it was given"
            )
        return values

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        if at < 0:
            at += len(self)
        for part, length in enumerate(self._lengths):
            if 0 <= at < length:
                return self._part(part)[at]
            at -= length
        raise IndexError("FutureSequence index out of range")

    def wait(self) -> list[Any]:
        """All values."""
        return [value for part in range(len(self._futures)) for value in self._part(part)]
