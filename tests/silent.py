"""A server that may have few descriptors, and a crowd of clients that connect, say nothing and take
them: what tests/faults/test_descriptors.py and tests/torture share."""

from __future__ import annotations

import resource
import selectors
import socket
import ssl
import threading
from dataclasses import dataclass

from harness import Server, patience

HELLO = b"\x16\x03\x01\x02\x00\x01\x00"  # how a TLS handshake begins; the rest never comes
HANDSHAKES = 400  # those that shake hands cost more: a part of a larger crowd does


@dataclass
class Limited(Server):
    """A server that may have so many descriptors."""

    files: int = 1024

    def command(self) -> list[str]:
        shell = f'ulimit -n {self.files} && exec "$@"'
        return ["sh", "-c", shell, "sh", *super().command()]


def port(server: Server) -> int:
    return int(server.info()["address"].rpartition(":")[2])


def anybody() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def silent(to: int, tls: ssl.SSLContext | None, first: bytes) -> socket.socket | None:
    """A client that connects, says so much, and nothing more. None: it was not let in."""
    one = socket.socket()
    one.settimeout(patience())
    try:
        one.connect(("127.0.0.1", to))
        if tls:
            one = tls.wrap_socket(one)
        elif first:
            one.sendall(first)
    except OSError:
        one.close()
        return None
    return one


class Crowd:
    """As many silent clients as the server's limit. Who is sent away comes again, until the end."""

    def __init__(self, server: Limited, tls: bool) -> None:
        self.port, self.tls = port(server), tls
        self.first = HELLO if tls else b""
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.size = min(server.files, hard - 200)  # this process needs some, too
        self.there = selectors.DefaultSelector()
        self.done = threading.Event()
        self.again = threading.Thread(target=self.come_again)

    def add(self, tls: ssl.SSLContext | None = None) -> None:
        one = silent(self.port, tls, self.first)
        if one:
            self.there.register(one, selectors.EVENT_READ)

    def come_again(self) -> None:
        while not self.done.wait(0.01):
            for key, _ in self.there.select(0)[:64]:
                one = key.fileobj
                assert isinstance(one, socket.socket)
                self.there.unregister(one)
                one.close()
                self.add()

    def __enter__(self) -> Crowd:
        shakes = min(self.size // 3 + 30, HANDSHAKES) if self.tls else 0
        context = anybody()
        self.again.start()
        for i in range(self.size):
            if i < shakes:
                self.add(context)
            else:
                self.add()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.again.join()
        for key in list(self.there.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self.there.close()
