"""The process that reads a data set for a DataLoader in another one. It does what it is told over
a socket pair, and ends when the other end is gone."""

from __future__ import annotations

import os
import pickle
import random
import signal
import socket
import traceback
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any, Callable, NamedTuple

from muster.worker.remote.channel import Channel
from muster.worker.remote.wire import ERROR, RESULT, frame


class Plan(NamedTuple):
    """What a helper needs to know of the loader."""

    kind: int
    dataset: Any
    auto_collation: bool
    collate: Callable[[Any], Any]
    drop_last: bool
    begin: Callable[[int], None] | None
    number: int
    helpers: int
    seed: int


def _fetcher(plan: Plan) -> Any:
    """torch's own reader of the data set, in a process that looks like torch's own helper."""
    import torch  # noqa: PLC0415

    kinds: Any = import_module("torch.utils.data.dataloader")._DatasetKind
    worker: Any = import_module("torch.utils.data._utils.worker")

    torch.set_num_threads(1)
    seed = plan.seed + plan.number
    random.seed(seed)
    torch.manual_seed(seed)
    worker._worker_info = worker.WorkerInfo(
        id=plan.number, num_workers=plan.helpers, seed=seed, dataset=plan.dataset
    )
    if plan.begin is not None:
        plan.begin(plan.number)
    return kinds.create_fetcher(
        plan.kind, plan.dataset, plan.auto_collation, plan.collate, plan.drop_last
    )


def _answer(number: int, error: BaseException) -> list[Any]:
    try:
        pickled = pickle.dumps(error)
    except Exception:
        pickled = b""
    return frame(
        ERROR, number, "", (type(error).__name__, str(error), traceback.format_exc(), pickled)
    )


def work(connection: Connection) -> None:
    """The helper's whole life."""
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, signal.SIG_IGN)  # it ends with who it works for
    channel = Channel(socket.socket(fileno=os.dup(connection.fileno())))
    connection.close()
    fetcher: Any = None
    while True:
        try:
            message = channel.receive()
            if message is None:
                return
            try:
                if fetcher is None:
                    fetcher = _fetcher(message.value())
                    continue
                pieces = frame(RESULT, message.call, "", fetcher.fetch(message.value()))
            except Exception as error:
                pieces = _answer(message.call, error)
            channel.send(pieces)
        except (OSError, EOFError):
            return
