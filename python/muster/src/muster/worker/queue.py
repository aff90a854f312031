"""A first-in first-out queue between processes of a job. Its owner holds the items; they are stored
as they were sent, so that the owner neither copies nor looks into them. They die with the owner."""

from __future__ import annotations

import pickle
import sys
import threading
from collections import deque
from concurrent.futures import Future
from typing import Any, Callable, NamedTuple

from muster.worker.board import queue_key
from muster.worker.identity import identity
from muster.worker.remote import wire
from muster.worker.remote.arrival import load
from muster.worker.remote.errors import ActorUnavailable
from muster.worker.remote.process import process
from muster.worker.remote.server import Caller, Reply

ASK = "muster.queue"


class Item(NamedTuple):
    """A pickled object with its buffers apart."""

    pickled: bytes
    buffers: list[Any]

    @classmethod
    def of(cls, value: Any) -> Item:
        pickled, views = wire.dump(value)
        return cls(pickled, [pickle.PickleBuffer(view) for view in views])

    def copied(self) -> Item:
        """One that does not change with the object."""
        return Item(self.pickled, [bytearray(one) for one in self.buffers])

    def value(self, queue: str) -> Any:
        return load(self.pickled, self.buffers, f"the items of queue {queue!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Item, (self.pickled, [pickle.PickleBuffer(one) for one in self.buffers])


class Ask(NamedTuple):
    """One request that cannot be answered yet."""

    what: str
    items: list[Item]
    most: int
    answer: Callable[[Any], None]
    caller: object


class Store:
    """The items of one queue, and who waits for room or for items. Answers are given in the order
    of the requests."""

    def __init__(self) -> None:
        self.size = 0  # 0: not made yet; requests wait
        self._items: deque[Item] = deque()
        self._putters: deque[Ask] = deque()
        self._getters: deque[Ask] = deque()
        self._lock = threading.Lock()

    def open(self, size: int) -> None:
        self.size = size
        self._move()

    def ask(self, ask: Ask) -> None:
        """`put`, `get`, `get_nowait`, `qsize`."""
        with self._lock:
            if ask.what == "put":
                self._putters.append(ask)
            elif ask.what == "get":
                self._getters.append(ask)
        if ask.what == "get_nowait":
            self._move()
            ask.answer(self._take(ask.most))
        elif ask.what == "qsize":
            ask.answer(len(self._items))
        self._move()

    def give_up(self, ask: Ask) -> None:
        """It waits no longer: answered with nothing, unless it has been answered."""
        with self._lock:
            if ask not in self._getters:
                return
            self._getters.remove(ask)
        ask.answer([])

    def forget(self, caller: object) -> None:
        """Its requests are not wanted any more."""
        with self._lock:
            self._putters = deque(ask for ask in self._putters if ask.caller is not caller)
            self._getters = deque(ask for ask in self._getters if ask.caller is not caller)

    def _take(self, most: int) -> list[Item]:
        with self._lock:
            return [self._items.popleft() for _ in range(min(most, len(self._items)))]

    def _move(self) -> None:
        """Takes in what there is room for, hands out what is wanted, until nothing moves."""
        while True:
            done: list[tuple[Ask, Any]] = []
            with self._lock:
                while self._putters and len(self._items) < self.size:
                    ask = self._putters[0]
                    while ask.items and len(self._items) < self.size:
                        self._items.append(ask.items.pop(0))
                    if not ask.items:
                        done.append((self._putters.popleft(), None))
                while self._getters and self._items:
                    ask = self._getters.popleft()
                    most = min(ask.most, len(self._items))
                    done.append((ask, [self._items.popleft() for _ in range(most)]))
            for ask, value in done:
                ask.answer(value)
            if not done:
                return


_stores: dict[str, Store] = {}
_lock = threading.Lock()


def _store(name: str) -> Store:
    with _lock:
        if name not in _stores:
            _stores[name] = Store()
        return _stores[name]


def _handle(reply: Reply, told: tuple[str, str, list[Item], int, float | None]) -> None:
    """A request of another process; answered when it can be."""
    name, what, items, most, timeout = told
    store = _store(name)
    ask = Ask(what, items, most, lambda value: reply.value(value, apart=True), reply.caller)
    reply.caller.cancels[reply.call] = lambda: store.give_up(ask)
    store.ask(ask)
    if what == "get" and timeout is not None:
        _later(timeout, lambda: store.give_up(ask))


def _later(seconds: float, work: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, work)
    timer.daemon = True
    timer.start()


def _forget(caller: Caller) -> None:
    for store in list(_stores.values()):
        store.forget(caller)


class DataQueue:
    """A bounded queue with a name that is its own within the job.

    The process that makes it with `is_master=True` owns it; making it again, there or elsewhere,
    replaces it. Others find the owner by the name and wait until there is one. When the owner dies
    its items are gone: requests on their way raise ActorUnavailable, later ones look for the new
    owner.
    """

    def __init__(self, name: str, is_master: bool = False, size: int = 1000) -> None:
        if size < 1:
            raise ValueError(f"DataQueue {name!r}: size {size}; at least 1 is needed")
        self.name = name
        self.size = size
        self._store: Store | None = None
        self._owner: tuple[str, int] | None = None
        if is_master:
            self._own()

    def _own(self) -> None:
        here, who = process(), identity()
        with _lock:
            known = _stores.get(self.name)
            if known is None or known.size:  # one without a size only keeps early requests
                known = _stores[self.name] = Store()
            self._store = known
        if ASK not in here.server.direct:
            here.server.direct[ASK] = _handle
            here.server.on_lost.append(_forget)
        self._store.open(self.size)
        here.publish()
        value = {"role": who.role.name, "index": who.instance, "size": self.size}
        here.board.put(queue_key(self.name), value)

    # ---- asking ----

    def _ask(self, what: str, items: list[Item], most: int, timeout: float | None) -> Future[Any]:
        if self._store is not None:
            return self._ask_here(self._store, what, items, most, timeout)
        role, index = self._find()
        peer = process().peer(identity().roles[role], index)
        asked = peer.call(ASK, (self.name, what, items, most, timeout))
        asked.tell(self._check)
        return asked

    def _ask_here(
        self, store: Store, what: str, items: list[Item], most: int, timeout: float | None
    ) -> Future[Any]:
        future: Future[Any] = Future()
        items = [item.copied() for item in items]
        ask = Ask(what, items, most, future.set_result, self)
        store.ask(ask)
        if what == "get" and timeout is not None and not future.done():
            _later(timeout, lambda: store.give_up(ask))
        return future

    def _find(self) -> tuple[str, int]:
        """The owner; waits for it."""
        while self._owner is None:
            entry = process().board.get(queue_key(self.name), wait=10)
            if entry is not None:
                self._owner = (str(entry.value["role"]), int(entry.value["index"]))
                break
            print(f"muster: queue {self.name!r} has no owner yet", file=sys.stderr, flush=True)
        return self._owner

    def _check(self, asked: Future[Any]) -> None:
        if not asked.cancelled() and isinstance(asked.exception(), ActorUnavailable):
            self._owner = None

    # ---- for users ----

    def put(self, *objs: Any) -> None:
        """Adds objects in their order; waits while the queue is full."""
        self.put_async(*objs).result()

    def put_async(self, *objs: Any) -> Future[None]:
        """The same without waiting: done when all are in."""
        return self._ask("put", [Item.of(one) for one in objs], 0, None)

    def get(self, batch_size: int = 1, timeout: float | None = None) -> list[Any]:
        """Up to `batch_size` objects: waits until there is at least one, and does not wait for
        more. [] when there was none within `timeout` seconds."""
        got = self._ask("get", [], max(1, batch_size), timeout).result()
        return [item.value(self.name) for item in got]

    def get_nowait(self, max_size: int = 1) -> list[Any]:
        """Up to `max_size` objects that are there now; may be []."""
        got = self._ask("get_nowait", [], max_size, None).result()
        return [item.value(self.name) for item in got]

    def qsize(self) -> int:
        return int(self._ask("qsize", [], 0, None).result())

    def __len__(self) -> int:
        return self.qsize()

    # ---- for coroutines ----

    async def aput(self, *objs: Any) -> None:
        import asyncio  # noqa: PLC0415

        await asyncio.wrap_future(self.put_async(*objs))

    async def aget(self, batch_size: int = 1, timeout: float | None = None) -> list[Any]:
        import asyncio  # noqa: PLC0415

        asked = self._ask("get", [], max(1, batch_size), timeout)
        return [item.value(self.name) for item in await asyncio.wrap_future(asked)]
