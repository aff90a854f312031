"""The side that is called: takes connections, reads calls, runs them, answers.

Several threads wait for messages of all connections at once. The one that the kernel wakes reads
what has come on a connection and runs it, call after call, so that quick calls cost no handing from
thread to thread. A call that takes longer than a tick is noticed by a watcher: it gives the
connection and the calls behind the slow one to other threads. Up to 64 slow calls run at once; more
wait in line, while one thread is always left to read. Coroutine functions run on one event loop of
their own and do not count.
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
from muster.worker.remote.memory import pool
from muster.worker.remote.registry import Registry
from muster.worker.remote.wire import CALL, CANCEL, ERROR, RESULT, Message, Piece, frame

MOST_THREADS = 64
TICK = 0.002  # seconds after which a call is a slow one
QUIET = 25  # ticks without calls, after which there are none
MOST_STRANGERS = 128  # connections that have not proved themselves yet; more have to wait
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
        self.line: deque[Task] = deque()  # those that the thread which read them is to run
        self.cancels: dict[int, Callable[[], Any]] = {}


class Run:
    """A thread that runs the calls of one connection."""

    __slots__ = ("caller", "count", "running", "seen", "slow")

    def __init__(self, caller: Caller | None) -> None:
        self.caller = caller
        self.count = 0  # calls begun
        self.seen = -1  # of them, at the watcher's last look
        self.running = caller is None
        self.slow = caller is None  # the connection is not this thread's any more


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
        self._threads = self._idle = 0
        self._busy = 0  # threads with slow calls
        self._runs: set[Run] = set()
        self._work_came = threading.Event()
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
        threading.Thread(target=self._watch, name="muster-rpc-watch", daemon=True).start()
        with self._lock:
            self._add_thread()
        port = listener.getsockname()[1]
        return (f"[{host}]:{port}" if ":" in host else f"{host}:{port}"), local

    def _accept(self, listeners: list[socket.socket]) -> None:
        poll = select.poll()
        for listener in listeners:
            poll.register(listener, select.POLLIN)
        by_number = {listener.fileno(): listener for listener in listeners}
        while True:
            if len(self._strangers) >= MOST_STRANGERS:
                self._hurry()
                time.sleep(0.005)
                continue
            for number, _ in poll.poll(1000 if self._strangers else None):
                try:
                    sock, _ = by_number[number].accept()
                except OSError:
                    time.sleep(0.05)  # too many open files: they become fewer
                    continue
                self._greet(sock)
            self._hurry()

    def _greet(self, sock: socket.socket) -> None:
        self._strangers[sock] = time.monotonic() + 5
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
        """With the lock held."""
        self._threads += 1
        threading.Thread(target=self._work, name="muster-rpc", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                task = None
                if self._line and self._busy < MOST_THREADS:
                    task = self._line.popleft()
                    self._busy += 1
                else:
                    self._idle += 1
            if task is not None:
                self._run_slow(task)
                continue
            events = self._epoll.poll(IDLE, 1)
            with self._lock:
                self._idle -= 1
                if not events and self._idle:
                    self._threads -= 1
                    return
            for number, _ in events:
                self._event(number)

    def _event(self, number: int) -> None:
        if number == self._bell:
            with contextlib.suppress(BlockingIOError):
                os.read(self._bell, 1)
            return
        caller = self._callers.get(number)
        if caller is None:
            return
        run = Run(caller)
        self._runs.add(run)
        if not self._work_came.is_set():
            self._work_came.set()
        try:
            self._serve(caller, run)
        finally:
            self._runs.discard(run)

    def _run_slow(self, task: Task) -> None:
        """A call from the line, beside others."""
        run = Run(None)
        self._runs.add(run)
        try:
            task()
        finally:
            self._runs.discard(run)
            with self._lock:
                self._busy -= 1

    def _serve(self, caller: Caller, run: Run) -> None:
        """Reads and runs what comes on a connection, until nothing does or it is taken away."""
        tasks = caller.line
        while self._read(caller):
            with self._lock:
                if tasks and (
                    self._busy >= MOST_THREADS or caller.begun != caller.taken - len(tasks)
                ):
                    self._line.extend(tasks)
                    tasks.clear()
                    self._summon()
            if not tasks:
                self._listen(caller)
                return
            if not self._run_quick(tasks, run):
                return

    def _run_quick(self, tasks: deque[Task], run: Run) -> bool:
        """Runs calls one after the other; False when one was slow."""
        while True:
            with self._lock:
                if run.slow:
                    self._busy -= 1
                    return False
                run.running = bool(tasks)
                if not tasks:
                    return True
                task = tasks.popleft()
                run.count += 1
            task()

    def _listen(self, caller: Caller) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._epoll.modify(caller.number, ONCE)

    def _summon(self) -> None:
        """Threads for what is in line; with the lock held."""
        need = min(len(self._line), MOST_THREADS - self._busy)
        wake = min(need, self._idle)
        if wake > 0:
            with contextlib.suppress(BlockingIOError):
                os.write(self._ring, b"x" * wake)
        for _ in range(min(need - wake, MOST_THREADS + 1 - self._threads)):
            self._add_thread()

    def _watch(self) -> None:
        """Looks for slow calls, at each tick while there are calls."""
        quiet = 0
        while True:
            if quiet > QUIET:
                self._work_came.clear()
                while not self._runs and not self._work_came.wait(5):
                    pool.trim()
            time.sleep(TICK)
            runs = list(self._runs)
            quiet = 0 if runs else quiet + 1
            for run in runs:
                if run.running and not run.slow and run.seen == run.count:
                    self._part(run)
                run.seen = run.count
            with self._lock:
                if not self._idle and self._threads <= MOST_THREADS:
                    self._add_thread()
                if self._line:
                    self._summon()

    def _part(self, run: Run) -> None:
        """Takes the connection from a thread that runs a slow call."""
        caller = run.caller
        with self._lock:
            if caller is None or run.slow or not run.running or run.seen != run.count:
                return
            run.slow = True
            self._busy += 1
            self._line.extend(caller.line)
            caller.line = deque()
        self._listen(caller)

    # ---- calls ----

    def _read(self, caller: Caller) -> bool:
        """Reads what has come; False when the connection has ended."""
        while len(self._line) > MOST_WAITING:
            time.sleep(0.001)
        wait = False
        while self._read_one(caller, wait):
            if not caller.ready:
                return True
            wait = True
        return False

    def _read_one(self, caller: Caller, wait: bool) -> bool:
        try:
            message = caller.receive(wait)
        except MessageTooLarge as error:
            Reply(self, caller, error.call, "").error(error, apart=True)
            return True
        except (OSError, EOFError):
            self._drop(caller)
            return False
        if message is not None and message.kind == CALL:
            self._dispatch(caller, message)
        elif message is not None and message.kind == CANCEL:
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
        caller.line.append(lambda: self._run(reply, message, turn))

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
        while (self._runs or self._line) and time.monotonic() < end:
            time.sleep(0.005)


def _is_coroutine(function: Any) -> bool:
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code is not None and bool(code.co_flags & COROUTINE)
