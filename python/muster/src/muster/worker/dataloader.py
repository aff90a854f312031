"""Batches of a torch DataLoader fetched by helper processes: what `patch_dataloader_ray` does with
actors in DLRover. The data set is read in the helpers only; batches come in the sampler's order."""

from __future__ import annotations

import pickle
import socket
import warnings
import weakref
from collections import deque
from importlib import import_module
from typing import TYPE_CHECKING, Any

from muster.worker.dataloader_helper import Plan, work
from muster.worker.remote.channel import Channel
from muster.worker.remote.wire import CALL, RESULT, Message, frame

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

PRELOAD = ["torch.utils.data", "muster.worker.dataloader_helper"]


class HelperDied(RuntimeError):
    """A helper process ended without having been asked to."""


class Helper:
    """One process that fetches batches, in the order in which it is asked for them."""

    def __init__(self, plan: Plan, context: Any) -> None:
        ours, theirs = socket.socketpair()
        from multiprocessing.connection import Connection  # noqa: PLC0415

        passed = Connection(theirs.detach())
        self.process: BaseProcess = context.Process(target=work, args=(passed,), daemon=True)
        self.process.start()
        passed.close()
        self.channel = Channel(ours)
        self.ended = False
        self._send(0, plan)

    def _send(self, number: int, value: Any) -> None:
        try:
            self.channel.send(frame(CALL, number, "", value))
        except OSError:
            raise self._died() from None

    def _died(self) -> HelperDied:
        self.process.join(1)
        code = self.process.exitcode
        return HelperDied(f"a data loader's helper process died (exit code {code})")

    def ask(self, index: Any) -> None:
        self._send(1, index)

    def answer(self, timeout: float) -> Message:
        """The next batch, or what went wrong with it."""
        if timeout > 0 and not self.channel.poll(timeout):
            raise RuntimeError(f"DataLoader timed out after {timeout:g} seconds")
        try:
            message = self.channel.receive()
        except (OSError, EOFError):
            raise self._died() from None
        assert message is not None
        return message


def _close(helpers: list[Helper]) -> None:
    for helper in helpers:
        helper.channel.hang_up()
    for helper in helpers:
        helper.process.join(5)


def _context(loader: Any) -> Any:
    """How helpers are started: as the loader says, else from a server process that has torch
    loaded and no threads, so that each takes milliseconds and inherits no locks."""
    import multiprocessing  # noqa: PLC0415

    if getattr(loader, "multiprocessing_context", None) is not None:
        return loader.multiprocessing_context
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    return context


class RayDataLoaderIter:
    """An iterator over a DataLoader's batches, fetched by `num_actors` helper processes. Up to
    `prefetch_factor` + 1 batches are asked for ahead of each helper; `num_workers` does not
    matter. Helpers end with the iterator, and with this process however it ends."""

    def __init__(self, loader: Any, num_actors: int = 1) -> None:
        if num_actors < 1:
            raise ValueError(f"num_actors: {num_actors}; at least 1 is needed")
        if loader.prefetch_factor is None:
            warnings.warn(
                "prefetch_factor is not set: each batch is fetched while it is waited for. "
                "Set prefetch_factor=2 or so (torch wants num_workers > 0 with it).",
                stacklevel=2,
            )
        self._indices = iter(loader._index_sampler)
        self._length = loader
        self._timeout = float(loader.timeout or 0)
        self._pin = bool(loader.pin_memory)
        self._asked: deque[Helper] = deque()
        self._turn = 0
        self._helpers = self._start(loader, num_actors)
        self._end = weakref.finalize(self, _close, self._helpers)
        for _ in range((int(loader.prefetch_factor or 0) + 1) * num_actors):
            self._ask()

    def _start(self, loader: Any, number: int) -> list[Helper]:
        import torch  # noqa: PLC0415

        seed = int(torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item())
        context = _context(loader)
        plans = [
            Plan(
                kind=loader._dataset_kind,
                dataset=loader.dataset,
                auto_collation=loader._auto_collation,
                collate=loader.collate_fn,
                drop_last=loader.drop_last,
                begin=loader.worker_init_fn,
                number=i,
                helpers=number,
                seed=seed,
            )
            for i in range(number)
        ]
        return [Helper(plan, context) for plan in plans]

    def _ask(self) -> None:
        """Asks the next helper in turn for the next batch."""
        open_ones = [helper for helper in self._helpers if not helper.ended]
        if not open_ones:
            return
        try:
            index = next(self._indices)
        except StopIteration:
            return
        helper = open_ones[self._turn % len(open_ones)]
        self._turn += 1
        helper.ask(index)
        self._asked.append(helper)

    def __iter__(self) -> RayDataLoaderIter:
        return self

    def __len__(self) -> int:
        return len(self._length)

    def __next__(self) -> Any:
        while self._asked:
            helper = self._asked.popleft()
            message = helper.answer(self._timeout)
            value = message.value()
            if message.kind == RESULT:
                self._ask()
                return self._pinned(value)
            if value[0] == "StopIteration":
                helper.ended = True
                self._ask()
                continue
            self._end()
            self._raise(value)
        self._end()
        raise StopIteration

    def _pinned(self, batch: Any) -> Any:
        if not self._pin:
            return batch
        import torch  # noqa: PLC0415

        pinning: Any = import_module("torch.utils.data._utils.pin_memory")
        return pinning.pin_memory(batch) if torch.cuda.is_available() else batch

    def _raise(self, told: tuple[str, str, str, bytes]) -> None:
        """The helper's exception, with its traceback there as the cause."""
        kind, text, trace, pickled = told
        there = RuntimeError(f"in a data loader's helper process:\n{trace}")
        try:
            error = pickle.loads(pickled)
        except Exception:
            error = None
        if isinstance(error, Exception):
            raise error from there
        raise RuntimeError(f"{kind}: {text}") from there


def patch_dataloader_ray() -> None:
    """From now on every torch DataLoader of this process fetches its batches in a helper process.
    (The name is DLRover's; no Ray is involved.)"""
    loaders: Any = import_module("torch.utils.data").DataLoader

    def helped(loader: Any) -> RayDataLoaderIter:
        return RayDataLoaderIter(loader)

    loaders._get_iterator = helped
