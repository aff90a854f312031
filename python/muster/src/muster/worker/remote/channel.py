"""A connection to another process of the same job, over which messages travel both ways.

The transport is Python's own: sockets, and the challenge of `multiprocessing.connection`, with
which both ends prove that they know the job's secret before either reads anything else of the
other. Until then at most a few hundred bytes are read, and nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import threading
from typing import Any

from muster.worker.remote.errors import MessageTooLarge
from muster.worker.remote.memory import pool
from muster.worker.remote.wire import HEAD, MOST_BUFFERS, Message, Piece, most_bytes

BUFFER = 64 << 10
MOST_PIECES = 1000  # below IOV_MAX
PATIENCE = 5  # seconds for each step of the challenge
STUCK = 4  # retransmissions without an answer, after which a peer counts as gone: about 5 s


class ProtocolError(ConnectionError):
    """The other end does not speak this protocol, or is not of this job."""


def authenticate(sock: socket.socket, secret: bytes, calling: bool) -> None:
    """Each end proves to the other that it knows the secret. Raises ProtocolError."""
    from multiprocessing import AuthenticationError, connection  # noqa: PLC0415

    if not secret:
        raise ProtocolError("this process has no secret of its job (MUSTER_JOB_SECRET)")
    steps = [connection.answer_challenge, connection.deliver_challenge]
    with connection.Connection(os.dup(sock.fileno())) as raw:
        limit = struct.pack("ll", PATIENCE, 0)
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            sock.setsockopt(socket.SOL_SOCKET, option, limit)
        try:
            for step in steps if calling else reversed(steps):
                step(raw, secret)
        except (OSError, EOFError, ValueError, AssertionError, AuthenticationError) as e:
            raise ProtocolError(f"the other end is not of this job: {e}") from e
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            sock.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", 0, 0))


def settle(sock: socket.socket) -> None:
    """No delays, and a peer whose machine is gone is noticed within seconds."""
    if sock.family != socket.AF_INET:
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 2), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class Channel:
    """A connected and authenticated socket. One thread at a time may receive; any may send."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.number = sock.fileno()
        self._sending = threading.Lock()
        self._buffer = memoryview(bytearray(BUFFER))
        self._start = self._end = 0
        self._poll = select.poll()
        self._poll.register(self.number, select.POLLIN)

    def hang_up(self) -> None:
        """Ends it for both sides; the descriptor lives until nobody uses it any more."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    # ---- sending ----

    def send(self, frame: list[Piece]) -> None:
        """Writes a frame whole. Raises OSError."""
        with self._sending:
            if len(frame) == 1:
                self.sock.sendall(frame[0])
                return
            rest = [memoryview(piece).cast("B") for piece in frame]
            while rest:
                rest = _after(rest, self.sock.sendmsg(rest[:MOST_PIECES]))

    # ---- receiving ----

    def poll(self, seconds: float | None) -> bool:
        """Is there something to receive, now or within that time?"""
        return bool(self._poll.poll(None if seconds is None else max(0.0, seconds) * 1000))

    def silent(self) -> bool:
        """Has the other machine stopped answering what was sent to it?"""
        if self.sock.family != socket.AF_INET or not hasattr(socket, "TCP_INFO"):
            return False
        info = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)
        return info[2] >= STUCK  # tcpi_retransmits

    def _size(self) -> int:
        """Of the message that has begun; 0 where even its head is not here."""
        if self._end - self._start < HEAD.size:
            return 0
        _, name, buffers, _, pickled, total = HEAD.unpack_from(self._buffer, self._start)
        return int(HEAD.size + 8 * buffers + name + pickled + total)

    @property
    def ready(self) -> bool:
        """Is a whole message here already, or the beginning of one that does not fit?"""
        size = self._size()
        return size > BUFFER or 0 < size <= self._end - self._start

    @property
    def large(self) -> bool:
        """Has a message begun that takes time to receive?"""
        return self._size() > BUFFER

    def receive(self, wait: bool = True) -> Message | None:
        """The next message; None where it is not here as a whole and `wait` is false. Raises
        OSError, EOFError, ProtocolError; MessageTooLarge once the message has been skipped."""
        while True:
            size, here = self._size(), self._end - self._start
            if size and (size <= here or (size > BUFFER and wait)):
                return self._take(size)
            if size > BUFFER:
                return None
            if self._start:
                self._buffer[:here] = bytes(self._buffer[self._start : self._end])
                self._start, self._end = 0, here
            try:
                flags = 0 if wait else socket.MSG_DONTWAIT
                got = self.sock.recv_into(self._buffer[here:], 0, flags)
            except BlockingIOError:
                return None
            if not got:
                raise EOFError("the other end closed the connection")
            self._end += got

    def _take(self, size: int) -> Message:
        kind, name, buffers, call, pickled, total = HEAD.unpack_from(self._buffer, self._start)
        if not 1 <= kind <= 4 or buffers > MOST_BUFFERS:
            raise ProtocolError("not a message")
        if pickled + total > most_bytes():
            self._skip(size)
            raise _too_large(call, pickled + total)
        self._start += HEAD.size
        sizes = struct.unpack(f"<{buffers}Q", self._exact(8 * buffers)) if buffers else ()
        if sum(sizes) != total:
            raise ProtocolError("not a message")
        word = self._exact(name).decode(errors="replace") if name else ""
        data = self._exact(pickled)
        return Message(kind, call, word, data, [self._exact(n) for n in sizes])

    def _exact(self, size: int) -> Any:
        """So many bytes, first of what is here already."""
        if size <= self._end - self._start:
            self._start += size
            return bytearray(self._buffer[self._start - size : self._start])
        memory = pool.room(size)
        if size:
            self._fill(memoryview(memory))
        return memory

    def _fill(self, view: memoryview) -> None:
        here = min(len(view), self._end - self._start)
        view[:here] = self._buffer[self._start : self._start + here]
        self._start += here
        while here < len(view):
            got = self.sock.recv_into(view[here:])
            if not got:
                raise EOFError("the other end closed the connection in a message")
            here += got

    def _skip(self, size: int) -> None:
        scratch = memoryview(bytearray(1 << 20))
        while size:
            step = min(size, len(scratch))
            self._fill(scratch[:step])
            size -= step


def _too_large(call: int, size: int) -> MessageTooLarge:
    error = MessageTooLarge(
        f"a message of {size:,} bytes was refused: the receiver takes at most {most_bytes():,} "
        "(MUSTER_RPC_MAX_BYTES, the same in both processes)"
    )
    error.call = call
    return error


def _after(pieces: list[memoryview], sent: int) -> list[memoryview]:
    """What is left of them when so many bytes are gone."""
    done = 0
    while done < len(pieces) and sent >= len(pieces[done]):
        sent -= len(pieces[done])
        done += 1
    left = pieces[done:]
    if left and sent:
        left[0] = left[0][sent:]
    return left
