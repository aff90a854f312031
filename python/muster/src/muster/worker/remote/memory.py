"""Memory for what is about to be received. Large pieces are mapped and not filled with zeros first;
the kernel still has to find their pages, which takes as long as receiving does. So a few stay for
the next message of the same size, once nothing made of them is left, and for seconds only."""

from __future__ import annotations

import mmap
import sys
import threading
import time
from typing import Any

LARGE = 1 << 20
HUGE = 4 << 20
MOST_PIECES = 8
MOST_BYTES = 512 << 20
STAY = 5.0
UNUSED = 3  # references to a piece that nobody uses: the entry, a variable, the question


def mapped(size: int) -> mmap.mmap:
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if size >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


class Piece:
    __slots__ = ("memory", "used")

    def __init__(self, memory: mmap.mmap) -> None:
        self.memory = memory
        self.used = time.monotonic()


class Pool:
    """The mapped pieces that may be used again."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._lock = threading.Lock()
        self._counts = bool(getattr(sys, "_is_gil_enabled", lambda: True)())

    def room(self, size: int) -> Any:
        """Writable memory of that size."""
        if size < LARGE:
            return bytearray(size)
        if not self._counts:
            return mapped(size)
        with self._lock:
            for piece in self._pieces:
                memory = piece.memory
                if len(memory) == size and sys.getrefcount(memory) == UNUSED:
                    piece.used = time.monotonic()
                    return memory
            memory = mapped(size)
            self._keep(Piece(memory))
            return memory

    def _keep(self, piece: Piece) -> None:
        self._pieces.append(piece)
        while (
            len(self._pieces) > MOST_PIECES
            or sum(len(one.memory) for one in self._pieces) > MOST_BYTES
        ):
            self._pieces.pop(0)  # who uses it keeps it

    def trim(self) -> None:
        """Lets go of what has not been asked for lately."""
        if not self._pieces:
            return
        with self._lock:
            least = time.monotonic() - STAY
            self._pieces = [piece for piece in self._pieces if piece.used > least]


pool = Pool()
