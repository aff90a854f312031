"""This process as one end of remote calls: its server, its connections, its board. One object,
made at the first need; a forked child starts with none."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING

from muster.worker.identity import RolePlan, identity
from muster.worker.remote.registry import registry

if TYPE_CHECKING:
    from muster.worker.board import Board
    from muster.worker.remote.peer import Peer
    from muster.worker.remote.readers import Readers
    from muster.worker.remote.server import Server


class Process:
    def __init__(self) -> None:
        self.who = identity()
        self.secret = self.who.secret
        self._lock = threading.RLock()
        self._board: Board | None = None
        self._readers: Readers | None = None
        self._server: Server | None = None
        self._published = False
        self._peers: dict[tuple[str, int], Peer] = {}

    @property
    def board(self) -> Board:
        if self._board is None:
            from muster.worker.board import job_board  # noqa: PLC0415

            self._board = job_board(self.who.job_number)
        return self._board

    @property
    def readers(self) -> Readers:
        if self._readers is None:
            from muster.worker.remote.readers import Readers  # noqa: PLC0415

            with self._lock:
                self._readers = self._readers or Readers()
        return self._readers

    @property
    def server(self) -> Server:
        """Not yet to be found by others: that is `publish`."""
        if self._server is None:
            from muster.worker.remote.server import Server  # noqa: PLC0415

            with self._lock:
                self._server = self._server or Server(registry, self.secret)
        return self._server

    @property
    def serves(self) -> bool:
        return self._published

    def key(self, role: str, index: int) -> str:
        from muster.worker.board import address_key  # noqa: PLC0415

        return address_key(role, index)

    def peer(self, plan: RolePlan, index: int) -> Peer:
        """The connection to an instance."""
        found = self._peers.get((plan.name, index))
        if found is None:
            from muster.worker.remote.peer import Peer  # noqa: PLC0415

            with self._lock:
                made = Peer(self, plan.task_role, index, plan.actor(index))
                found = self._peers.setdefault((plan.name, index), made)
        return found

    def publish(self) -> None:
        """From now on others can call; once. The board is told by a thread of its own, which is
        as patient as it takes."""
        with self._lock:
            if self._published or not self.who.job_number:
                return
            self._published = True
            address, local = self.server.start(self.who.address)
        threading.Thread(target=self._tell, args=(address, local), daemon=True).start()

    def _tell(self, address: str, local: str) -> None:
        from muster.worker.remote.address import machine  # noqa: PLC0415

        value = {"address": address, "attempt": self.who.attempt, "restart": self.who.restarts}
        if local and machine():
            value.update(local=local, machine=machine())
        try:
            self.board.put(self.key(self.who.role.task_role, self.who.instance), value)
        except Exception as error:
            print(f"muster: cannot be called by other instances: {error}", file=sys.stderr)

    def drain(self, seconds: float) -> None:
        if self._published:
            self.server.drain(seconds)

    def leave(self) -> None:
        """After a fork, in the child: all that is open belongs to the parent."""
        with contextlib.suppress(Exception):
            if self._server is not None:
                self._server.forget()
            if self._readers is not None:
                self._readers.close()
            for peer in self._peers.values():
                peer.drop()


_process: Process | None = None


def process() -> Process:
    """Raises NotInWorker outside of a job."""
    global _process
    if _process is None:
        _process = Process()
    return _process


def _forked() -> None:
    global _process
    if _process is not None:
        _process.leave()
        _process = None


os.register_at_fork(after_in_child=_forked)
