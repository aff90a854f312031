"""The thread that reads answers for which nobody waits in `result()`, and ends calls whose time
is over."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.worker.remote.future import RpcFuture
    from muster.worker.remote.peer import Peer

LOOK = 2.0  # seconds between looks at connections that say nothing


class Readers:
    """One per process. Connections are armed for one event at a time: while one is not, a thread
    that waits for its own answer reads it."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._peers: dict[int, Peer] = {}
        self._timed: dict[int, RpcFuture] = {}
        self._next = float("inf")
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._epoll.register(self._wake_read, select.EPOLLIN)
        threading.Thread(target=self._run, name="muster-replies", daemon=True).start()

    def add(self, number: int, peer: Peer) -> None:
        """A new connection, not armed."""
        self._peers[number] = peer
        self._epoll.register(number, 0)

    def remove(self, number: int) -> None:
        self._peers.pop(number, None)
        with contextlib.suppress(OSError, ValueError):
            self._epoll.unregister(number)

    def arm(self, number: int) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._epoll.modify(number, select.EPOLLIN | select.EPOLLONESHOT)

    def disarm(self, number: int) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._epoll.modify(number, 0)

    def time(self, call: RpcFuture, end: float) -> None:
        """Ends the call when its time is over."""
        self._timed[call.number] = call
        if end < self._next:
            self._next = end
            with contextlib.suppress(BlockingIOError):
                os.write(self._wake_write, b"x")

    def untime(self, call: RpcFuture) -> None:
        self._timed.pop(call.number, None)

    def close(self) -> None:
        """After a fork, in the child."""
        self._epoll.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _run(self) -> None:
        looked = time.monotonic()
        while True:
            now = time.monotonic()
            events = self._epoll.poll(max(0.0, min(LOOK, self._next - now)))
            for number, _ in events:
                peer = self._peers.get(number)
                if peer is not None:
                    peer.read_here()
                elif number == self._wake_read:
                    with contextlib.suppress(BlockingIOError):
                        os.read(number, 4096)
            now = time.monotonic()
            if now >= self._next or self._timed:
                self._expire(now)
            if now - looked > LOOK:
                looked = now
                for peer in list(self._peers.values()):
                    peer.look()

    def _expire(self, now: float) -> None:
        for call in list(self._timed.values()):
            if call.end is not None and call.end <= now:
                self._timed.pop(call.number, None)
                call.expire()
        ends = [call.end for call in list(self._timed.values()) if call.end is not None]
        self._next = min(ends, default=float("inf"))
