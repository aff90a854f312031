"""The side that calls: this process's connection to one instance, shared by all its threads.

Who waits for an answer reads it from the connection itself when nobody else is reading; answers
that nobody waits for are read by one background thread. Connecting, with the wait for an address
or for a restart, is a thread's work of its own, so that making a call never waits for it.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from muster.worker.remote.address import Address, dial
from muster.worker.remote.arrival import load
from muster.worker.remote.channel import Channel
from muster.worker.remote.errors import ActorUnavailable, MessageTooLarge, RpcError, failure
from muster.worker.remote.future import Options, RpcFuture
from muster.worker.remote.wire import CALL, CANCEL, RESULT, Message, frame

if TYPE_CHECKING:
    from muster.worker.remote.process import Process

SOON = 64 << 10  # bytes that a socket takes without making its writer wait
SAY = 10.0  # seconds between lines about what is waited for


class Peer:
    """One instance, as seen from here."""

    def __init__(self, process: Process, role: str, index: int, actor: str) -> None:
        self.process = process
        self.role, self.index, self.actor = role, index, actor
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._reader = 0  # the thread that reads
        self._armed: Channel | None = None  # what the background thread listens to
        self._channel: Channel | None = None
        self._connecting = False
        self._oldest = 0  # of the calls, at the last tick
        self._dead = 0  # version of the address that was found dead
        self._version = 0
        self._calls: dict[int, RpcFuture] = {}  # sent, not answered
        self._waiting: deque[RpcFuture] = deque()  # not sent

    # ---- asking ----

    def call(self, method: str, value: Any, options: Options = Options()) -> RpcFuture:  # noqa: B008
        """Sends a call; `value` is what the other side's handler gets."""
        call = RpcFuture(self, method, options)
        try:
            call.pieces = frame(CALL, call.number, method, value)
        except MessageTooLarge as error:
            raise MessageTooLarge(failure(method, self.actor, str(error))) from None
        if call.end is not None:
            self.process.readers.time(call, call.end)
        self._submit(call)
        return call

    def _submit(self, call: RpcFuture) -> None:
        later = _in_event_loop() and sum(map(len, call.pieces)) > SOON
        with self._lock:
            channel = self._channel
            if channel is None or self._connecting or later:
                self._waiting.append(call)
                self._connect()
                return
            self._calls[call.number] = call
        self._send(channel, call)

    def _send(self, channel: Channel, call: RpcFuture) -> None:
        try:
            channel.send(call.pieces)
        except OSError as error:
            self._lost(channel, error)
        except BaseException:  # a signal's handler, in the middle of a frame
            self._lost(channel, ConnectionAbortedError("interrupted while sending"))
            raise
        else:
            if not (call.wait or call.retries):
                call.pieces = []
            self.process.readers.expect(self)

    def forget(self, call: RpcFuture) -> None:
        """Its answer is not wanted any more."""
        self.process.readers.untime(call)
        with self._lock:
            sent, channel = self._calls.pop(call.number, None), self._channel
        if sent is not None and channel is not None:
            with contextlib.suppress(OSError):
                channel.send(frame(CANCEL, call.number, "", None))

    # ---- reading ----

    def attend(self, call: RpcFuture, end: float | None) -> None:
        """Reads answers until that of `call` is here, if nobody else reads; else returns."""
        if call.end is not None:
            end = call.end if end is None else min(end, call.end)
        if self._reader == threading.get_ident() and self._channel is not None:
            self._read(self._channel, call, end)  # in a callback of an answer that it has read
            return
        if self._channel is None or not self._reading.acquire(blocking=False):
            return
        try:
            self._reader = threading.get_ident()
            channel = self._channel
            if channel is not None:
                if self._armed is channel:
                    self.process.readers.disarm(channel.number)
                    self._armed = None
                self._read(channel, call, end)
        finally:
            self._reader = 0
            self._reading.release()
            self._finished()
        if call.end is not None and not call.done() and time.monotonic() >= call.end:
            call.expire()

    def _read(self, channel: Channel, call: RpcFuture, end: float | None) -> None:
        try:
            while channel.ready or not call.done():
                if not channel.ready and self._channel is channel:
                    left = None if end is None else end - time.monotonic()
                    slice_ = 2.0 if left is None else min(2.0, left)
                    if not channel.poll(slice_):
                        if left is not None and left <= slice_:
                            return
                        self.look()
                        continue
                if self._channel is not channel:
                    return
                self._answer(channel.receive())
        except (OSError, EOFError) as error:
            self._lost(channel, error)
        except BaseException:  # a signal's handler: part of a message may be lost
            self._lost(channel, ConnectionAbortedError("interrupted while reading"))
            raise

    def read_here(self) -> None:
        """By the background thread: reads what has come. It listens no longer from here on: who
        holds `_reading` at this moment sees to that when it lets go."""
        self._armed = None
        if not self._reading.acquire(blocking=False):
            return
        channel = self._channel
        if channel is not None and channel.large:
            threading.Thread(target=self._read_held, args=(True,), daemon=True).start()
        else:
            self._read_held(False)

    def _read_held(self, wait: bool) -> None:
        channel = self._channel
        try:
            self._reader = threading.get_ident()
            message = channel.receive(wait) if channel is not None else None
            while channel is not None and message is not None:
                self._answer(message)
                message = channel.receive(wait=False)
        except (OSError, EOFError) as error:
            if channel is not None:
                self._lost(channel, error)
        finally:
            self._reader = 0
            self._reading.release()
            self._finished()

    @property
    def has_calls(self) -> bool:
        return bool(self._calls)

    def tend(self) -> bool:
        """By the background thread, at each tick: listens for answers when a call has been alone
        since the last one. False when there are no calls."""
        try:
            oldest = next(iter(self._calls))
        except (StopIteration, RuntimeError):  # none; or they change this moment
            return self.has_calls
        if oldest == self._oldest:
            self.listen()
        self._oldest = oldest
        return True

    def listen(self) -> None:
        """Leaves the connection to the background thread while answers are missing and nobody
        reads. Who reads calls it when it has finished, so that nothing is forgotten; that the
        background thread is woken for nothing now and then does no harm."""
        channel = self._channel
        if channel is None or not self._calls or self._armed is channel or self._reading.locked():
            return
        self._armed = channel
        self.process.readers.arm(channel.number)

    def _finished(self) -> None:
        """After reading: others that wait have nobody to read for them now."""
        if self._calls:
            self.listen()

    def look(self) -> None:
        """Is the other machine still there?"""
        channel = self._channel
        if channel is not None and self._calls and channel.silent():
            self._lost(channel, TimeoutError("its machine does not answer"))

    def _answer(self, message: Message | None) -> None:
        call = self._calls.pop(message.call, None) if message is not None else None
        if call is None or message is None:
            return
        if call.end is not None:
            self.process.readers.untime(call)
        try:
            value = message.value(f"the answers of {call.method!r}")
        except Exception as error:
            call.fail(f"its answer cannot be read: {type(error).__name__}: {error}")
            return
        if message.kind == RESULT:
            call.settle(value)
        else:
            call.fail_with(self._remote_error(call, value))

    def _remote_error(self, call: RpcFuture, told: tuple[str, str, str, bytes]) -> RpcError:
        kind, text, trace, pickled = told
        error = RpcError(failure(call.method, self.actor, text), trace, kind)
        with contextlib.suppress(Exception):
            cause = load(pickled, [], f"the error of {call.method!r}") if pickled else None
            error.__cause__ = cause if isinstance(cause, BaseException) else None
        return error

    # ---- the connection ----

    def _lost(self, channel: Channel, why: BaseException) -> None:
        """The connection is gone: its calls fail, or wait for the instance's restart."""
        with self._lock:
            if self._channel is not channel:
                return
            self._channel, self._dead = None, self._version
            calls, self._calls = list(self._calls.values()), {}
            self.process.readers.remove(channel.number)
            again = [call for call in calls if _asks_again(call)]
            self._waiting.extendleft(reversed(again))
            if self._waiting:
                self._connect()
        channel.hang_up()
        for call in calls:
            if call not in again:
                self._unavailable(call, f"it died, or its connection broke ({why})")

    def _unavailable(self, call: RpcFuture, why: str) -> None:
        self.process.readers.untime(call)
        call.fail(f"the actor is not available: {why}", ActorUnavailable)

    def _connect(self) -> None:
        """Starts the thread that connects and sends what waits; with the lock held."""
        if not self._connecting:
            self._connecting = True
            threading.Thread(target=self._connector, name="muster-connect", daemon=True).start()

    def _connector(self) -> None:
        search = Search(self)
        while True:
            with self._lock:
                while self._waiting and self._waiting[0].done():
                    self._waiting.popleft()
                if not self._waiting:
                    self._connecting = False
                    return
                channel = self._channel
                call = self._waiting.popleft() if channel is not None else None
                if call is not None:
                    call.patient = False
                    self._calls[call.number] = call
            if channel is not None and call is not None:
                self._send(channel, call)
                continue
            try:
                search.step()
            except Exception as error:
                self._give_up(f"{type(error).__name__}: {error}", everyone=True)

    def _connected(self, channel: Channel, version: int) -> None:
        with self._lock:
            self._channel, self._version = channel, version
            self.process.readers.add(channel.number, self)

    def _give_up(self, why: str, everyone: bool) -> None:
        """Fails what waits: all of it, or what does not wait for a restart."""
        with self._lock:
            calls = list(self._waiting)
            keep = [] if everyone else [call for call in calls if _may_wait(call)]
            self._waiting = deque(keep)
        for call in calls:
            if call not in keep:
                self._unavailable(call, why)

    def drop(self) -> None:
        """After a fork, in the child: the connection is the parent's."""
        if self._channel is not None:
            self._channel.sock.close()


def _asks_again(call: RpcFuture) -> bool:
    """After its instance died before answering."""
    if call.wait or call.retries <= 0:
        return call.wait
    call.retries -= 1
    call.patient = True
    return True


def _may_wait(call: RpcFuture) -> bool:
    """For a restart, when nothing answers at the address."""
    return call.wait or call.patient or call.retries > 0


def _in_event_loop() -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


class Search:
    """The way to a connection: address, dial, and what to say and when to give up meanwhile."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.board = peer.process.board
        self.started = self.said = time.monotonic()
        self.ended_at = float("inf")
        self.pause = 0.25
        self.tried = 0

    def step(self) -> None:
        """One look at the board and one attempt."""
        peer, key = self.peer, self.peer.process.key(self.peer.role, self.peer.index)
        entry = self.board.get(key)
        if entry is None or (entry.version == self.tried and entry.version <= peer._dead):
            self.pause = min(8.0, self.pause * 2)
            entry = self.board.get(key, after=peer._dead, wait=self.pause)
        if entry is None:
            self.tried = 0  # next time the old address again: a busy process may answer yet
            self._nothing_yet()
            return
        self.tried = entry.version
        try:
            channel = dial(Address.read(entry.value), peer.process.secret)
        except OSError as error:
            with peer._lock:
                peer._dead = entry.version
            peer._give_up(f"nothing answers at {entry.value.get('address')}: {error}", False)
            self._nothing_yet()
            return
        peer._connected(channel, entry.version)

    def _nothing_yet(self) -> None:
        """Gives up on an instance that has ended for good, seen twice: between the end of one and
        its restart there may be a moment that looks the same."""
        peer, now = self.peer, time.monotonic()
        ended = self.board.ended(peer.role, peer.index)
        if ended and now - self.ended_at > 0.2:
            peer._give_up(ended, True)
        elif ended:
            time.sleep(0.25)
        self.ended_at = min(self.ended_at, now) if ended else float("inf")
        if now - self.said > SAY:
            self.said = now
            print(
                f"muster: calls to {peer.actor} wait since {now - self.started:.0f} s: "
                "it has not registered its functions yet",
                file=sys.stderr,
                flush=True,
            )
