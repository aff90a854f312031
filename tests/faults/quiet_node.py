#!/usr/bin/env python3
"""Stands in for muster-node where a job has more tasks than a machine has processes: an agent that
speaks to the server as any other does and starts nothing. A task whose command is `true` is
reported as started and ended, another one runs until it is stopped. With a file `hold` in the
server's state directory nothing is reported until that is gone. Standard library only."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

HELLO, WELCOME, LAUNCH, STOP, FACT, ACK, LOG, RELEASE, PING, PONG = range(1, 11)
STARTED, ENDED, REFUSED, RELEASED = range(1, 5)
BY_ITSELF = 1
LAUNCH_FORM = 6  # the newest (src/wire/message.h): for an older one each launch is written anew
Task = tuple[int, int]


class Body:
    """Of a frame, read from its front (src/wire/message.c)."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> int:
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return int(value)

    def text(self) -> bytes | None:
        n = self.take("I")
        if n == 0xFFFFFFFF:
            return None
        self.at += n
        return self.data[self.at - n : self.at]

    def texts(self, each: int = 1) -> None:
        for _ in range(self.take("I") * each):
            self.text()


def text(value: str) -> bytes:
    return struct.pack("<I", len(value)) + value.encode()


def launch(body: Body) -> tuple[int, list[tuple[Task, int, bytes]]]:
    """Its sequence number; role and index, attempt and command of each of its tasks."""
    body.at += 12
    seq = body.take("I")
    body.text(), body.text()
    body.at += 8
    for _ in range(3):
        body.text()
    body.at += 8
    body.text(), body.text()
    body.texts()
    body.text(), body.text()
    body.texts(2)
    for _ in range(body.take("I")):
        body.text(), body.text()
        body.at += 1
    body.at += 24
    tasks: list[tuple[Task, int, bytes]] = []
    run = b""
    for _ in range(body.take("I")):
        place = (body.take("I"), body.take("I"))
        body.text()
        attempt = body.take("I")
        for _ in range(body.take("I")):
            if not body.take("B"):
                body.text(), body.text()
        if not body.take("B"):
            run = body.text() or b""
        body.texts()
        for _ in range(2):
            numbers = body.take("I")
            body.at += 4 * numbers
        body.at += 8 + 8 + 4 + 4 + 8 + 1
        tasks.append((place, attempt, run))
    return seq, tasks


@dataclass
class Agent:
    folder: Path
    conf: dict[str, str] = field(default_factory=dict)
    launched: int = 0
    live: dict[Task, int] = field(default_factory=dict)
    facts: list[bytes] = field(default_factory=list)  # from first on
    first: int = 1
    link: socket.socket | None = None

    def send(self, kind: int, seq: int, body: bytes = b"") -> None:
        assert self.link
        self.link.sendall(struct.pack("<IBQ", 9 + len(body), kind, seq) + body)

    def fact(self, kind: int, task: Task = (0, 0), attempt: int = 0, by: int = 0) -> None:
        exited = kind == ENDED and by == BY_ITSELF
        signal = 0 if exited or kind != ENDED else 15
        body = struct.pack("<BIIIQIQ", kind, *task, attempt, time.time_ns() // 10**6, 1, 0)
        body += struct.pack("<BIIBBB", exited, 0, signal, 0, 0, by) + text("")
        body += struct.pack("<Q", 0) + text("")
        self.facts.append(body)
        self.send(FACT, self.first + len(self.facts) - 1, body)

    def end(self, task: Task, by: int) -> None:
        attempt = self.live.pop(task, None)
        if attempt:
            self.fact(ENDED, task, attempt, by)

    def wait(self) -> None:
        hold = Path(self.conf["socket"]).with_name("hold")
        while hold.exists():
            time.sleep(0.02)

    def take(self, kind: int, seq: int, body: Body) -> bool:
        """False: it may leave."""
        if kind == WELCOME:
            for i, fact in enumerate(self.facts):
                self.send(FACT, self.first + i, fact)
        elif kind == LAUNCH:
            number, tasks = launch(body)
            for task, attempt, run in tasks if number > self.launched else []:
                self.wait()
                self.live[task] = attempt
                self.fact(STARTED, task, attempt)
                if run == b"true":
                    self.end(task, BY_ITSELF)
            self.launched = max(self.launched, number)
        elif kind == STOP:
            every, named = body.take("B"), (body.take("I"), body.take("I"))
            body.at += 1
            by = body.take("B")
            for ended in list(self.live) if every else [named]:
                self.end(ended, by)
            if every:
                self.fact(RELEASED)
        elif kind == ACK:
            del self.facts[: max(0, seq + 1 - self.first)]
            self.first = max(self.first, seq + 1)
        elif kind == PING:
            self.send(PONG, seq)
        return kind != RELEASE

    def serve(self) -> bool:
        """True: nothing is left to do; the server has everything."""
        assert self.link
        job, generation = int(self.conf["job"]), int(self.conf["generation"])
        ask = f"Authorization: Bearer {self.conf['token']}\r\n\r\n"
        ask = "Connection: Upgrade\r\nUpgrade: muster/1\r\n" + ask
        self.link.sendall(f"GET /v1/agents HTTP/1.1\r\nHost: muster\r\n{ask}".encode())
        data = bytearray()
        while b"\r\n\r\n" not in data:
            data += self.more()
        if b" 101 " not in data[: data.index(b"\r\n")]:
            return True
        del data[: data.index(b"\r\n\r\n") + 4]
        hello = struct.pack("<IQI", 1, job, generation) + text(self.conf["node"])
        hello += struct.pack("<IIQI", os.getpid(), self.launched, self.first, LAUNCH_FORM)
        self.send(HELLO, 0, hello)
        while True:
            while len(data) >= 4 and len(data) >= 4 + struct.unpack_from("<I", data)[0]:
                n, kind, seq = struct.unpack_from("<IBQ", data)
                body = Body(bytes(data[13 : 4 + n]))
                del data[: 4 + n]
                if not self.take(kind, seq, body):
                    return True
            data += self.more()

    def more(self) -> bytes:
        assert self.link
        data = self.link.recv(1 << 20)
        if not data:
            raise ConnectionError
        return data

    def run(self) -> None:
        lines = (self.folder / "agent.conf").read_text().splitlines()
        self.conf = dict(line.split("=", 1) for line in lines)
        done = False
        while not done:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as self.link:
                self.link.connect(self.conf["socket"])
                done = self.serve()
            if not self.folder.exists():
                return
            time.sleep(0 if done else 0.02)


def main() -> None:
    verb, folder = sys.argv[1], Path(sys.argv[2])
    if verb != "keeper":
        return
    stat = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    new = folder / "keeper.pid.new"
    new.write_text(f"{os.getpid()} {stat[19]}\n")
    new.rename(folder / "keeper.pid")
    Agent(folder).run()


if __name__ == "__main__":
    main()
