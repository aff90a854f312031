"""Frames: what one message looks like on a connection.

    head     kind, length of the method's name, number of buffers, call, size of the pickle,
             size of all buffers
    sizes    of each buffer
    name     of the method
    pickle   protocol 5, without the buffers
    buffers  of arrays and tensors, straight from where they lie

A frame is written from a list of pieces, so that nothing large is copied to be sent.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
from functools import lru_cache
from typing import Any, NamedTuple, Union

from muster.worker.remote.arrival import load
from muster.worker.remote.errors import MessageTooLarge
from muster.worker.remote.tensors import dispatch_table

CALL, RESULT, ERROR, CANCEL = 1, 2, 3, 4
HEAD = struct.Struct("<BxHIQQQ")
INLINE = 16 << 10  # smaller buffers are not worth a piece of their own
MOST_BUFFERS = 1 << 16
Piece = Union[bytes, bytearray, memoryview]


class Message(NamedTuple):
    """A frame that has arrived; the pickle is still one."""

    kind: int
    call: int
    name: str
    pickled: Any
    buffers: list[Any]

    def value(self, what: str = "") -> Any:
        """`what` names it in a warning; the arguments of its method when left out."""
        return load(self.pickled, self.buffers, what or f"the arguments of {self.name!r}")


@lru_cache(maxsize=1)
def most_bytes() -> int:
    """The largest message that is sent or taken."""
    return int(os.environ.get("MUSTER_RPC_MAX_BYTES") or 2 << 30)


def dump(value: Any) -> tuple[bytes, list[memoryview]]:
    views: list[memoryview] = []

    def apart(buffer: pickle.PickleBuffer) -> bool:
        """False, as pickle wants it, when the buffer travels apart from the pickle."""
        try:
            view = buffer.raw()
        except BufferError:
            return True
        if view.nbytes < INLINE or len(views) >= MOST_BUFFERS:
            return True
        views.append(view)
        return False

    table = dispatch_table()
    if table is None:
        return pickle.dumps(value, 5, buffer_callback=apart), views
    file = io.BytesIO()
    pickler = pickle.Pickler(file, 5, buffer_callback=apart)
    pickler.dispatch_table = table
    pickler.dump(value)
    return file.getvalue(), views


def frame(kind: int, call: int, name: str, value: Any) -> list[Piece]:
    """The pieces of a message. Raises MessageTooLarge, and what pickle raises."""
    pickled, views = dump(value)
    sizes = [view.nbytes for view in views]
    total, word = sum(sizes), name.encode()
    most = most_bytes()
    if len(pickled) + total > most:
        raise MessageTooLarge(
            f"a message of {len(pickled) + total:,} bytes is more than the {most:,} that may be "
            "sent (MUSTER_RPC_MAX_BYTES, the same in both processes)"
        )
    head = HEAD.pack(kind, len(word), len(sizes), call, len(pickled), total)
    if not sizes:
        return [head + word + pickled]
    return [head + struct.pack(f"<{len(sizes)}Q", *sizes) + word, pickled, *views]
