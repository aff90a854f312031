"""The thread that reads answers for which nobody waits in `result()`, and ends calls whose time
is over."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from typing import TYPE_CHECKING

from muster.worker.remote.memory import pool

if TYPE_CHECKING:
    from muster.worker.remote.future import RpcFuture
    from muster.worker.remote.peer import Peer

LOOK = 2.0  # seconds between looks at connections that say nothing
TICK = 0.002  # seconds an answer may stay unread when nobody waits for it in any way
QUIET = 25  # ticks without work, after which there are none


class Readers:
    """One per process. Most calls are waited for as soon as they are made, and read by who waits:
    so a connection is listened to here only when a call has been left alone for a tick, or when it
    is asked for (`arm`); for one event at a time."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._peers: dict[int, Peer] = {}
        self._timed: dict[int, RpcFuture] = {}
        self._next = float("inf")
        self._alone: set[Peer] = set()  # have calls that nobody may be waiting for
        self._ticking = False
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

    def expect(self, peer: Peer) -> None:
        """The peer has been asked something."""
        self._alone.add(peer)
        if not self._ticking:
            self._ticking = True
            self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_write, b"x")

    def time(self, call: RpcFuture, end: float) -> None:
        """Ends the call when its time is over."""
        self._timed[call.number] = call
        if end < self._next:
            self._next = end
            self._wake()

    def untime(self, call: RpcFuture) -> None:
        self._timed.pop(call.number, None)

    def close(self) -> None:
        """After a fork, in the child."""
        self._epoll.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _run(self) -> None:
        looked, quiet = time.monotonic(), 0
        while True:
            pause = TICK if self._ticking else LOOK
            for number, _ in self._epoll.poll(max(0.0, min(pause, self._next - time.monotonic()))):
                self._event(number)
            now = time.monotonic()
            if self._timed and now >= self._next:
                self._expire(now)
            if self._ticking:
                quiet = 0 if self._alone else quiet + 1
                self._tend(quiet)
            if now - looked > LOOK:
                looked = now
                pool.trim()
                for peer in list(self._peers.values()):
                    peer.look()

    def _event(self, number: int) -> None:
        peer = self._peers.get(number)
        if peer is not None:
            peer.read_here()
        elif number == self._wake_read:
            with contextlib.suppress(BlockingIOError):
                os.read(number, 4096)

    def _tend(self, quiet: int) -> None:
        """Listens where calls are left alone; stops to tick after a while without any."""
        for peer in list(self._alone):
            if not peer.tend():
                self._alone.discard(peer)
                if peer.has_calls:
                    self._alone.add(peer)
        if quiet > QUIET:
            self._ticking = False
            if self._alone:
                self._ticking = True

    def _expire(self, now: float) -> None:
        for call in list(self._timed.values()):
            if call.end is not None and call.end <= now:
                self._timed.pop(call.number, None)
                call.expire()
        ends = [call.end for call in list(self._timed.values()) if call.end is not None]
        self._next = min(ends, default=float("inf"))
