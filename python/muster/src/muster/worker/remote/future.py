"""The answer of a call that is on its way. A `concurrent.futures.Future`, with these differences:
`result()` reads the answer from the connection itself where nobody else does, `cancel()` tells the
other process, and `await future` works in any event loop."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Generator, Sequence
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from muster.worker.remote.errors import RpcError, failure
from muster.worker.remote.wire import Piece

if TYPE_CHECKING:
    from muster.worker.remote.peer import Peer

# Both are one class since Python 3.11; before, programs may catch either.
RpcTimeout: type[Exception] = TimeoutError
if not issubclass(TimeoutError, FutureTimeout):
    RpcTimeout = type("RpcTimeout", (TimeoutError, FutureTimeout), {})
numbers = itertools.count(1)


class Options(NamedTuple):
    """What `_rpc_timeout`, `_rpc_retries` and `_rpc_wait` ask for."""

    timeout: float | None = None
    retries: int = 0
    wait: bool = False


class RpcFuture(Future):  # type: ignore[type-arg]
    """One call."""

    def __init__(self, peer: Peer, method: str, options: Options) -> None:
        super().__init__()
        self.peer = peer
        self.method = method
        self.number = next(numbers)
        self.pieces: list[Piece] = []
        self.wait = options.wait
        self.retries = options.retries
        self.patient = False  # it is asked again: it waits for the restart
        self.timeout = options.timeout
        self.end = None if options.timeout is None else time.monotonic() + options.timeout

    # ---- for who waits ----

    def result(self, timeout: float | None = None) -> Any:
        """What the other function returned. Raises RpcError with what it raised, TimeoutError."""
        timeout = self._help(timeout)
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        timeout = self._help(timeout)
        return super().exception(timeout)

    def _help(self, timeout: float | None) -> float | None:
        """Reads the answer where this thread may; what is left of the time."""
        if self.done():
            return timeout
        end = None if timeout is None else time.monotonic() + timeout
        self.peer.attend(self, end)
        return None if end is None else max(0.0, end - time.monotonic())

    def __await__(self) -> Generator[Any, None, Any]:
        import asyncio  # noqa: PLC0415

        return asyncio.wrap_future(self).__await__()

    def cancel(self) -> bool:
        """Nobody wants the answer any more. What has not begun in the other process will not, and
        a coroutine is cancelled there; a plain function that runs is left to end."""
        was_done = self.done()
        done = super().cancel()
        if done and not was_done:
            self.peer.forget(self)
        return done

    def add_done_callback(self, fn: Callable[[Any], Any]) -> None:
        """Calls `fn` with this future when it is done, in the thread that reads the answer."""
        super().add_done_callback(fn)
        self.peer.listen()

    # ---- for who answers ----

    def tell(self, fn: Callable[[Any], Any]) -> None:
        """The same for who will read the answer too."""
        super().add_done_callback(fn)

    def settle(self, value: Any) -> None:
        with contextlib.suppress(InvalidStateError):
            self.set_result(value)

    def fail(self, why: str, kind: type[RpcError] = RpcError) -> None:
        self.fail_with(kind(failure(self.method, self.peer.actor, why)))

    def fail_with(self, error: BaseException) -> None:
        with contextlib.suppress(InvalidStateError):
            self.set_exception(error)

    def expire(self) -> None:
        """Its time is over."""
        why = f"no answer within {self.timeout:g} s"
        self.fail_with(RpcTimeout(failure(self.method, self.peer.actor, why)))
        self.peer.forget(self)


class Gathered(Future):  # type: ignore[type-arg]
    """Several answers as one: done when all are, `combine` makes the value of them. One that
    failed fails it, with the names of all that did."""

    def __init__(
        self,
        members: Sequence[Future[Any]],
        combine: Callable[[list[Any]], Any] = list,
    ) -> None:
        super().__init__()
        self._members = members
        self._combine = combine
        self._left = itertools.count(len(members) - 1, -1)
        if not members:
            self.set_result(combine([]))
        for member in members:
            (member.tell if isinstance(member, RpcFuture) else member.add_done_callback)(
                self._one_done
            )

    def _one_done(self, _member: Future[Any]) -> None:
        if next(self._left) > 0:
            return
        with contextlib.suppress(InvalidStateError):
            try:
                self.set_result(self._values())
            except Exception as error:
                self.set_exception(error)

    def _values(self) -> Any:
        failed = [one for one in self._members if one.cancelled() or one.exception(0)]
        if not failed:
            return self._combine([one.result(0) for one in self._members])
        error = None if failed[0].cancelled() else failed[0].exception(0)
        if len(failed) == 1 and error is not None:
            raise error
        names = ", ".join(getattr(getattr(one, "peer", None), "actor", "?") for one in failed)
        method = getattr(failed[0], "method", "")
        why = getattr(error, "text", "") or f"{type(error).__name__}: {error}"
        told = getattr(error, "remote_traceback", "")
        kind = type(error) if isinstance(error, RpcError) else RpcError
        raise kind(failure(method, names, f"the first: {why}"), told) from error

    def result(self, timeout: float | None = None) -> Any:
        return super().result(self._help(timeout))

    def exception(self, timeout: float | None = None) -> BaseException | None:
        return super().exception(self._help(timeout))

    def _help(self, timeout: float | None) -> float | None:
        """Waits for each member, reading its answer."""
        end = None if timeout is None else time.monotonic() + timeout
        for member in self._members:
            left = None if end is None else max(0.0, end - time.monotonic())
            with contextlib.suppress(Exception):
                member.exception(left)
        return None if end is None else max(0.0, end - time.monotonic())

    def add_done_callback(self, fn: Callable[[Any], Any]) -> None:
        super().add_done_callback(fn)
        for member in self._members:
            if isinstance(member, RpcFuture):
                member.peer.listen()

    def cancel(self) -> bool:
        for member in self._members:
            member.cancel()
        return super().cancel() or self.cancelled()

    def __await__(self) -> Generator[Any, None, Any]:
        import asyncio  # noqa: PLC0415

        return asyncio.wrap_future(self).__await__()
