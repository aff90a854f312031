"""A WebSocket's client, as small as a test needs it: text messages, by RFC 6455."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import ssl
import struct
from urllib.parse import urlsplit

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Refused(Exception):
    """Another answer than 101; the first line of it and the body."""


class WebSocket:
    def __init__(
        self, url: str, timeout: float = 120, context: ssl.SSLContext | None = None
    ) -> None:
        parts = urlsplit(url)
        host = parts.hostname or ""
        assert parts.scheme == ("wss" if context else "ws")
        self.socket = socket.create_connection((host, parts.port or 80), timeout)
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname=host)
        key = base64.b64encode(os.urandom(16))
        head = (
            f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\n"
            f"Connection: keep-alive, Upgrade\r\nSec-WebSocket-Key: {key.decode()}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n"
        )
        self.socket.sendall(head.encode())
        self.data = b""
        while b"\r\n\r\n" not in self.data:
            self.more()
        answer, self.data = self.data.split(b"\r\n\r\n", 1)
        if not answer.startswith(b"HTTP/1.1 101"):
            raise Refused(answer.split(b"\r\n")[0].decode(), self.data.decode())
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
        assert accept in answer, answer

    def more(self) -> None:
        piece = self.socket.recv(65536)
        if not piece:
            raise EOFError
        self.data += piece

    def need(self, n: int) -> bytes:
        while len(self.data) < n:
            self.more()
        taken, self.data = self.data[:n], self.data[n:]
        return taken

    def frame(self, kind: int, data: bytes, final: bool = True) -> None:
        length = (
            bytes([0x80 | len(data)])
            if len(data) < 126
            else struct.pack(">BH", 0xFE, len(data))
            if len(data) < 65536
            else struct.pack(">BQ", 0xFF, len(data))
        )
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        self.socket.sendall(bytes([kind | 0x80 * final]) + length + mask + masked)

    def send(self, text: str) -> None:
        self.frame(1, text.encode())

    def receive(self) -> tuple[int, bytes]:
        """Kind and data of a frame; the server sends none in pieces."""
        first, length = self.need(2)
        assert first & 0xF0 == 0x80 and length < 128
        if length == 126:
            (length,) = struct.unpack(">H", self.need(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", self.need(8))
        return first & 0x0F, self.need(length)

    def close(self) -> None:
        self.socket.close()
