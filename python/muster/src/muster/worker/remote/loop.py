"""One event loop in a thread of its own, for coroutine functions that others call."""

from __future__ import annotations

import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    import asyncio


class BackgroundLoop:
    def __init__(self) -> None:
        import asyncio  # noqa: PLC0415

        self._asyncio = asyncio
        self.loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        threading.Thread(target=self.loop.run_forever, name="muster-loop", daemon=True).start()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Its result; the calling thread waits."""
        return self._asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def start(self, function: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
        """Starts a coroutine; what is returned cancels it. Order of starting is kept."""
        made: list[asyncio.Task[None]] = []

        def begin() -> None:
            task = self.loop.create_task(function())
            made.append(task)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        def cancel() -> None:
            self.loop.call_soon_threadsafe(lambda: made and made[0].cancel())

        self.loop.call_soon_threadsafe(begin)
        return cancel


_loop: BackgroundLoop | None = None
_lock = threading.Lock()


def background_loop() -> BackgroundLoop:
    """Made at the first need."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = BackgroundLoop()
        return _loop
