"""The side that is called: takes connections, reads calls, runs them, answers.

Several threads wait for messages of all connections at once; the one that the kernel wakes reads
a message, lets the others have the connection again, and runs the call itself. So a call costs no
handing from thread to thread, and reading never waits for a call to end: one thread is always left
to read. Up to 64 calls run at once; more wait in line. Coroutine functions run on one event loop
of their own and do not count.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import socket
import threading
import time
import traceback
from collections import deque
from types import CoroutineType
from typing import Any, Callable

from muster.worker.remote.channel import Channel, authenticate, settle
from muster.worker.remote.errors import MessageTooLarge
from muster.worker.remote.loop import background_loop
from muster.worker.remote.registry import Registry
from muster.worker.remote.wire import CALL, CANCEL, ERROR, RESULT, Message, Piece, frame

MOST_THREADS = 64
MOST_STRANGERS = 64  # connections that have not proved themselves yet
MOST_WAITING = 10_000  # calls in line; then reading pauses
IDLE = 30.0
ONCE = select.EPOLLIN | select.EPOLLONESHOT
COROUTINE = 0x80  # CO_COROUTINE
Task = Callable[[], None]


class Caller(Channel):
    """A connection that calls come from."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        self.taken = 0  # calls of plain functions that were read ...
        self.begun = 0  # ... and that were begun: in the same order
        self.cancels: dict[int, Callable[[], Any]] = {}
        self.dropped: set[int] = set()


class Reply:
    """The answer to one call, given once, by whichever thread."""

    def __init__(self, server: Server, caller: Caller, call: int, name: str) -> None:
        self.server, self.caller, self.call, self.name = server, caller, call, name

    def value(self, value: Any, apart: bool = False) -> None:
        """`apart`: the sender may not wait for the network."""
        try:
            pieces = frame(RESULT, self.call, "", value)
        except Exception as error:
            text = f"its result cannot be sent: {type(error).__name__}: {error}"
            pieces = self._error(type(error).__name__, text, "", None)
        self._send(pieces, apart)

    def error(self, error: BaseException, apart: bool = False) -> None:
        kind = type(error).__name__
        told = "".join(traceback.format_exception(type(error), error, _below(error)))
        self._send(self._error(kind, f"{kind}: {error}", told, error), apart)

    def _error(self, kind: str, text: str, told: str, error: BaseException | None) -> list[Piece]:
        try:
            inner = pickle.dumps(error) if error is not None else b""
        except Exception:
            inner = b""
        return frame(ERROR, self.call, "", (kind, text, told, inner))

    def _send(self, pieces: list[Piece], apart: bool) -> None:
        self.caller.cancels.pop(self.call, None)
        if apart and sum(map(len, pieces)) > 64 << 10:
            threading.Thread(target=self._write, args=(pieces,), daemon=True).start()
        else:
            self._write(pieces)

    def _write(self, pieces: list[Piece]) -> None:
        with contextlib.suppress(OSError):  # nobody is left to tell
            self.caller.send(pieces)


def _below(error: BaseException) -> Any:
    """The traceback without our own frames."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__") == __name__:
        trace = trace.tb_next
    return trace


class Server:
    """What a process answers with. `direct` are names whose handlers never wait: the reading
    thread runs them itself, in order, and they answer through a Reply."""

    def __init__(self, registry: Registry, secret: bytes) -> None:
        self.registry = registry
        self.secret = secret
        self.direct: dict[str, Callable[[Reply, Any], None]] = {}
        self.on_lost: list[Callable[[Caller], None]] = []
        self._lock = threading.Lock()
        self._threads = self._idle = self._running = 0
        self._strangers: dict[socket.socket, float] = {}
        self._callers: dict[int, Caller] = {}
        self._line: deque[Task] = deque()
        self._epoll = select.epoll()
        self._bell, self._ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._epoll.register(self._bell, select.EPOLLIN)

    # ---- connections ----

    def start(self, host: str) -> tuple[str, str]:
        """Listens; the address for others and the one for this machine ("" where there is none)."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, 0), family=family, backlog=512)
        listeners, local = [listener], ""
        with contextlib.suppress(OSError):
            near = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            local = f"muster-rpc-{os.urandom(12).hex()}"
            near.bind("\0" + local)
            near.listen(512)
            listeners.append(near)
        threading.Thread(target=self._accept, args=(listeners,), daemon=True).start()
        self._add_thread()
        port = listener.getsockname()[1]
        return (f"[{host}]:{port}" if ":" in host else f"{host}:{port}"), local

    def _accept(self, listeners: list[socket.socket]) -> None:
        poll = select.poll()
        for listener in listeners:
            poll.register(listener, select.POLLIN)
        by_number = {listener.fileno(): listener for listener in listeners}
        while True:
            for number, _ in poll.poll(1000 if self._strangers else None):
                try:
                    sock, _ = by_number[number].accept()
                except OSError:
                    time.sleep(0.05)  # too many open files: they become fewer
                    continue
                self._greet(sock)
            self._hurry()

    def _greet(self, sock: socket.socket) -> None:
        if len(self._strangers) >= MOST_STRANGERS:
            sock.close()
            return
        self._strangers[sock] = time.monotonic() + 10
        threading.Thread(target=self._admit, args=(sock,), daemon=True).start()

    def _hurry(self) -> None:
        """Ends connections that take too long to prove themselves."""
        now = time.monotonic()
        for sock, end in list(self._strangers.items()):
            if now > end:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def _admit(self, sock: socket.socket) -> None:
        try:
            authenticate(sock, self.secret, calling=False)
            settle(sock)
        except OSError:
            sock.close()
            return
        finally:
            self._strangers.pop(sock, None)
        caller = Caller(sock)
        self._callers[caller.number] = caller
        self._epoll.register(caller.number, ONCE)

    def _drop(self, caller: Caller) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._epoll.unregister(caller.number)
        if self._callers.get(caller.number) is caller:
            del self._callers[caller.number]
        caller.hang_up()
        for cancel in list(caller.cancels.values()):
            cancel()
        for tell in self.on_lost:
            tell(caller)

    def forget(self) -> None:
        """After a fork, in the child: these connections are the parent's."""
        self._epoll.close()
        os.close(self._bell)
        os.close(self._ring)
        for caller in self._callers.values():
            caller.sock.close()

    # ---- threads ----

    def _add_thread(self) -> None:
        self._threads += 1
        threading.Thread(target=self._work, name="muster-rpc", daemon=True).start()

    def _spare(self) -> bool:
        """Is another thread there to read while this one does something else?"""
        with self._lock:
            if not self._idle:
                if self._threads > MOST_THREADS:
                    return False
                self._add_thread()
        return True

    def _work(self) -> None:
        while True:
            task = self._next_task()
            if task is None:
                return
            try:
                task()
            except BaseException:
                traceback.print_exc()
            with self._lock:
                self._running -= 1

    def _next_task(self) -> Task | None:
        """What this thread is to run; None when it is one too many."""
        while True:
            with self._lock:
                if self._line and (self._idle or self._threads <= MOST_THREADS):
                    task = self._line.popleft()
                    self._running += 1
                    break
                self._idle += 1
            events = self._epoll.poll(IDLE, 1)
            with self._lock:
                self._idle -= 1
                if not events and self._idle:
                    self._threads -= 1
                    return None
            for number, _ in events:
                self._ready(number)
        self._pass_on()
        return task

    def _pass_on(self) -> None:
        """Before this thread runs a call: another is there to read, and knows if more is to run."""
        self._spare()
        if self._line:
            with contextlib.suppress(BlockingIOError):
                os.write(self._ring, b"x")

    def _ready(self, number: int) -> None:
        """Reads what has come on a connection and puts its calls in line."""
        if number == self._bell:
            with contextlib.suppress(BlockingIOError):
                os.read(self._bell, 1)
            return
        caller = self._callers.get(number)
        while len(self._line) > MOST_WAITING:
            time.sleep(0.001)
        if caller is None or not self._receive(caller, wait=False):
            return
        while caller.ready:
            if caller.large:
                self._spare()
            if not self._receive(caller, wait=True):
                return
        with contextlib.suppress(OSError, ValueError):
            self._epoll.modify(number, ONCE)

    # ---- calls ----

    def _receive(self, caller: Caller, wait: bool) -> bool:
        """Reads one message, if it is there; False when the connection has ended."""
        try:
            message = caller.receive(wait)
        except MessageTooLarge as error:
            Reply(self, caller, error.call, "").error(error, apart=True)
            return True
        except (OSError, EOFError):
            self._drop(caller)
            return False
        if message is None:
            return True
        if message.kind == CALL:
            self._dispatch(caller, message)
        elif message.kind == CANCEL:
            self._cancel(caller, message.call)
        return True

    def _dispatch(self, caller: Caller, message: Message) -> None:
        reply = Reply(self, caller, message.call, message.name)
        direct = self.direct.get(message.name)
        if direct is not None:
            try:
                direct(reply, message.value())
            except Exception as error:
                reply.error(error, apart=True)
            return
        function = self.registry.peek(message.name)
        if function is not None and _is_coroutine(function):
            self._start_coroutine(reply, function, message)
            return
        turn = caller.taken
        caller.taken += 1
        self._line.append(lambda: self._run(reply, message, turn))

    def _cancel(self, caller: Caller, call: int) -> None:
        cancel = caller.cancels.pop(call, None)
        if cancel is not None:
            cancel()

    def _run(self, reply: Reply, message: Message, turn: int) -> None:
        """A plain function, begun after those that its caller asked for before."""
        caller, gone = reply.caller, []
        caller.cancels[reply.call] = lambda: gone.append(True)
        problem: Exception | None = None
        try:
            function = self.registry.find(message.name)
            args, kwargs = message.value()
        except Exception as error:
            problem = error
        while caller.begun != turn:
            time.sleep(0.00005)
        caller.begun += 1
        if problem is not None:
            reply.error(problem)
            return
        if gone:
            return
        try:
            result = function(*args, **kwargs)
            if type(result) is CoroutineType:
                result = background_loop().run(result)
        except BaseException as error:
            reply.error(error)
        else:
            reply.value(result)

    def _start_coroutine(
        self, reply: Reply, function: Callable[..., Any], message: Message
    ) -> None:
        async def run() -> None:
            try:
                args, kwargs = message.value()
                result = await function(*args, **kwargs)
            except BaseException as error:
                reply.error(error, apart=True)
            else:
                reply.value(result, apart=True)

        reply.caller.cancels[reply.call] = background_loop().start(run)

    def drain(self, seconds: float) -> None:
        """Gives running calls that time to be answered."""
        end = time.monotonic() + seconds
        while (self._running or self._line) and time.monotonic() < end:
            time.sleep(0.005)


def _is_coroutine(function: Any) -> bool:
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code is not None and bool(code.co_flags & COROUTINE)
