"""Where an instance is reached: TCP from everywhere, a Unix-domain socket (a third to a half of
the time for small messages) from the same machine."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from muster.worker.remote.channel import Channel, ProtocolError, authenticate, settle

TIMEOUT = 1.0


@lru_cache(maxsize=1)
def machine() -> str:
    """This machine, as far as Unix-domain sockets reach: the running kernel and its network."""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id") as file:
        return f"{file.read().strip()}-{os.stat('/proc/self/ns/net').st_ino}"
    return ""


class Address(NamedTuple):
    host: str
    port: int
    local: str = ""
    machine: str = ""

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Address:
        """From what the board says; OSError where it makes no sense."""
        host, _, port = str(told.get("address", "")).rpartition(":")
        if not port.isdigit():
            raise OSError(f"no address: {told}")
        local, where = str(told.get("local", "")), str(told.get("machine", ""))
        return cls(host.strip("[]"), int(port), local, where)

    @property
    def near(self) -> bool:
        return bool(self.local) and bool(self.machine) and self.machine == machine()


def _connected(address: Address) -> socket.socket:
    if address.near:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(TIMEOUT)
            sock.connect("\0" + address.local)
            return sock
        except OSError:
            sock.close()
    return socket.create_connection((address.host, address.port), TIMEOUT)


def dial(address: Address, secret: bytes) -> Channel:
    """A channel to it. Raises OSError within about a second where nobody is there."""
    sock = _connected(address)
    try:
        sock.setblocking(True)
        authenticate(sock, secret, calling=True)
        settle(sock)
    except BaseException:
        sock.close()
        raise
    return Channel(sock)


__all__ = ["Address", "ProtocolError", "dial", "machine"]
