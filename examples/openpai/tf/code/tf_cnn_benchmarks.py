"""Asynchronous training with parameter servers, behind the flags of tf_cnn_benchmarks.

OpenPAI's complete example runs TensorFlow's benchmark of this name.  This program takes that
example's flags and does the same kind of work with numpy alone: parameter servers each hold a part
of the parameters, every worker pulls all of them over TCP, computes a gradient on its own batch and
pushes it back without waiting for the other workers.  Parameter servers run until they are stopped.

The model is a stand-in: --model=resnet20 trains a multilayer perceptron with as many residual
blocks as one stage of ResNet-20 has, on pictures of 32 x 32 pixels (CIFAR-10 in its binary form
where --data_dir has it, otherwise pictures made here).
"""

from __future__ import annotations

import argparse
import contextlib
import re
import signal
import socket
import socketserver
import struct
import sys
import threading
import time
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Pixels = NDArray[np.uint8]
    Labels = NDArray[np.int64]

CLASSES = 10
WIDTH = 64  # of the hidden layers
FEATURES = 8 * 8 * 3  # a picture, averaged over squares of 4 x 4 pixels
RECORD = 1 + 3 * 32 * 32  # CIFAR-10, binary: the label, then the red, green and blue planes
SEED = 20
PATIENCE_S = 60.0  # for parameter servers that start later than a worker
FRAME_MAX = 64 << 20


def fail(why: str) -> NoReturn:
    sys.exit(f"tf_cnn_benchmarks.py: {why}")


def say(line: str) -> None:
    print(line, flush=True)


# --- the model ------------------------------------------------------------------------------------


class Model:
    """A perceptron with residual blocks; all its parameters lie in one flat vector."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.blocks = self.blocks_of(name)
        self.shapes: list[tuple[int, ...]] = [(FEATURES, WIDTH), (WIDTH,)]
        self.shapes += [(WIDTH, WIDTH), (WIDTH,), (WIDTH, WIDTH)] * self.blocks
        self.shapes += [(WIDTH, CLASSES), (CLASSES,)]
        self.size = sum(int(np.prod(shape)) for shape in self.shapes)

    @staticmethod
    def blocks_of(name: str) -> int:
        """Blocks in one stage of the CIFAR ResNet of that depth: 3 for resnet20."""
        depth = re.fullmatch(r"resnet(\d{1,3})(_v2)?", name)
        blocks, rest = divmod(int(depth[1]) - 2, 6) if depth else (0, 1)
        if rest or not 1 <= blocks <= 18:
            fail(f"--model={name}: known are resnet20, 32, 44, 56 and 110 (as small stand-ins)")
        return blocks

    def initial(self) -> Floats:
        """The parameters to begin with, the same in every process."""
        dice = np.random.default_rng(SEED)
        flat = np.zeros(self.size, np.float32)
        for layer in self.layers(flat):
            if layer.ndim == 2:
                layer[:] = dice.normal(0, (len(layer) * self.blocks) ** -0.5, layer.shape)
        return flat

    def layers(self, flat: Floats) -> list[Floats]:
        """Views of `flat`, one for each matrix and bias."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        pieces = np.split(flat, ends[:-1])
        return [piece.reshape(shape) for piece, shape in zip(pieces, self.shapes)]

    def gradient(self, flat: Floats, pictures: Floats, labels: Labels) -> tuple[float, Floats]:
        """The mean cross entropy of a batch, and its gradient in the order of `flat`."""
        first, first_bias, *hidden, last, last_bias = self.layers(flat)
        blocks = [hidden[at : at + 3] for at in range(0, len(hidden), 3)]

        stream = [np.maximum(pictures @ first + first_bias, 0)]
        inner = []
        for widen, bias, narrow in blocks:
            inner.append(np.maximum(stream[-1] @ widen + bias, 0))
            stream.append(stream[-1] + inner[-1] @ narrow)
        scores = stream[-1] @ last + last_bias
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        loss = -float(np.log(chances[rows, labels] + 1e-9).mean())

        error = chances
        error[rows, labels] -= 1
        error /= len(labels)
        backwards = [error.sum(axis=0), stream[-1].T @ error]
        error = error @ last.T
        for (widen, _, narrow), entered, active in zip(blocks[::-1], stream[-2::-1], inner[::-1]):
            inside = (error @ narrow.T) * (active > 0)
            backwards += [active.T @ error, inside.sum(axis=0), entered.T @ inside]
            error = error + inside @ widen.T
        error = error * (stream[0] > 0)
        backwards += [error.sum(axis=0), pictures.T @ error]
        return loss, np.concatenate([part.ravel() for part in reversed(backwards)])


# --- the data -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    origin: str
    pictures: Pixels  # one row each, planes of red, green, blue
    labels: Labels

    def batches(self, size: int, worker: int) -> Iterator[tuple[Floats, Labels]]:
        """Endless batches, every worker drawing its own."""
        dice = np.random.default_rng([SEED, worker])
        while True:
            chosen = dice.integers(len(self.labels), size=size)
            squares = self.pictures[chosen].reshape(size, 3, 8, 4, 8, 4).astype(np.float32)
            features = squares.mean(axis=(3, 5)).reshape(size, FEATURES) / 64 - 2
            yield features.astype(np.float32), self.labels[chosen]


def made_up_data() -> Data:
    """Noisy pictures around one pattern of coloured patches per class."""
    dice = np.random.default_rng(SEED)
    patterns = dice.normal(128, 24, (CLASSES, 3, 8, 8)).repeat(4, axis=2).repeat(4, axis=3)
    labels = dice.integers(CLASSES, size=4096)
    pictures = patterns[labels] + dice.normal(0, 64, (len(labels), 3, 32, 32))
    pixels = pictures.clip(0, 255).astype(np.uint8)
    return Data("made here", pixels.reshape(len(labels), -1), labels)


def read_data(where: str) -> Data:
    """CIFAR-10 from a directory of data_batch_*.bin, or made-up data, saying why."""
    folder = local_path(where)
    files = sorted(folder.rglob("data_batch_*.bin")) if folder else []
    if not files:
        say(f"no data_batch_*.bin in {where or '--data_dir'}: training on pictures made here")
        return made_up_data()
    for file in files:
        if file.stat().st_size % RECORD or not file.stat().st_size:
            fail(f"{file}: not CIFAR-10 in binary form (records of {RECORD} bytes)")
    records = np.concatenate([np.fromfile(file, np.uint8).reshape(-1, RECORD) for file in files])
    labels = records[:, 0].astype(np.int64)
    if labels.max() >= CLASSES:
        fail(f"{where}: label {labels.max()}, CIFAR-10 has 0 to {CLASSES - 1}")
    return Data(f"from {where}", records[:, 1:], labels)


def local_path(where: str) -> Path | None:
    """The path that a path or file: URI names; None for nothing and for other stores."""
    uri = urlsplit(where)
    if uri.scheme not in ("", "file") or not where:
        return None
    return Path(url2pathname(uri.path) if uri.scheme else where)


# --- the exchange ---------------------------------------------------------------------------------
#
# A frame is the length of its body, a word, and the body. All numbers are little-endian.
#
#   HELLO  u64 first, u64 count: the parameters the worker expects there   -> OK, or REFUSED text
#   PULL                                                                   -> OK u64 version, f32...
#   PUSH   f32...: a gradient                                              -> OK u64 version


class Word(IntEnum):
    HELLO = 1
    PULL = 2
    PUSH = 3
    OK = 4
    REFUSED = 5


HEAD = struct.Struct("<IB")
VERSION = struct.Struct("<Q")


def send(link: socket.socket, word: Word, body: bytes = b"") -> None:
    link.sendall(HEAD.pack(len(body), word) + body)


def receive(link: socket.socket) -> tuple[Word, bytes]:
    """The next frame; ConnectionError when the peer is gone, ValueError when it talks nonsense."""
    length, word = HEAD.unpack(receive_exactly(link, HEAD.size))
    if length > FRAME_MAX:
        raise ValueError(f"a frame of {length} bytes, at most {FRAME_MAX} are taken")
    return Word(word), receive_exactly(link, length)


def receive_exactly(link: socket.socket, count: int) -> bytes:
    buffer = bytearray(count)
    rest = memoryview(buffer)
    while rest:
        got = link.recv_into(rest)
        if not got:
            raise ConnectionError("connection closed")
        rest = rest[got:]
    return bytes(buffer)


def numbers(body: bytes, count: int) -> Floats:
    if len(body) != 4 * count:
        raise ValueError(f"{len(body)} bytes are not {count} numbers")
    return np.frombuffer(body, "<f4")


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    @classmethod
    def list_of(cls, text: str, flag: str) -> list[Address]:
        addresses = []
        for item in text.split(","):
            host, _, port = item.strip().rpartition(":")
            if not host or not re.fullmatch(r"\d{1,5}", port) or not 0 < int(port) < 65536:
                fail(f"{flag}={text}: {item!r} is not host:port")
            addresses.append(cls(host, int(port)))
        return addresses

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Part:
    """The slice of the parameters that one parameter server holds."""

    first: int
    count: int
    layout = struct.Struct("<QQ")

    @classmethod
    def of(cls, size: int, server: int, servers: int) -> Part:
        first, end = size * server // servers, size * (server + 1) // servers
        return cls(first, end - first)

    @classmethod
    def unpack(cls, body: bytes) -> Part:
        if len(body) != cls.layout.size:
            raise ValueError(f"{len(body)} bytes do not name a part")
        return cls(*cls.layout.unpack(body))

    def pack(self) -> bytes:
        return self.layout.pack(self.first, self.count)

    @property
    def span(self) -> slice:
        return slice(self.first, self.first + self.count)

    def __str__(self) -> str:
        return f"parameters {self.first} to {self.first + self.count - 1}"


# --- the parameter server -------------------------------------------------------------------------


class Shard:
    """The parameters of one server; every gradient is applied as it comes."""

    def __init__(self, part: Part, parameters: Floats, rate: float) -> None:
        self.part = part
        self.parameters = parameters
        self.rate = np.float32(rate)
        self.version = 0  # gradients applied so far
        self.lock = threading.Lock()

    def answer(self, word: Word, body: bytes) -> bytes:
        """The body of the OK; ValueError says why a request is refused."""
        if word is Word.HELLO:
            if Part.unpack(body) != self.part:
                raise ValueError(f"{self.part} are here: is --model the same in every task?")
            return b""
        if word is Word.PULL:
            with self.lock:
                return VERSION.pack(self.version) + self.parameters.tobytes()
        if word is Word.PUSH:
            gradient = numbers(body, self.part.count)
            with self.lock:
                self.parameters -= self.rate * gradient
                self.version += 1
                return VERSION.pack(self.version)
        raise ValueError(f"{word.name} is no request")


class Conversation(socketserver.BaseRequestHandler):
    """A worker's requests, one after the other, until it hangs up."""

    server: ParameterServer
    request: socket.socket

    def handle(self) -> None:
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(ConnectionError):
            try:
                while True:
                    send(self.request, Word.OK, self.server.shard.answer(*receive(self.request)))
            except ValueError as why:
                say(f"refused {self.client_address[0]}: {why}")
                send(self.request, Word.REFUSED, str(why).encode())


class ParameterServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, at: Address, shard: Shard) -> None:
        super().__init__((at.host, at.port), Conversation)
        self.shard = shard


def stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(0)


def serve(options: argparse.Namespace, model: Model) -> None:
    """Serve this task's part of the parameters until a signal ends it."""
    at = options.ps_hosts[options.task_index]
    part = Part.of(model.size, options.task_index, len(options.ps_hosts))
    shard = Shard(part, model.initial()[part.span], options.init_learning_rate)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    try:
        server = ParameterServer(at, shard)
    except OSError as why:
        fail(f"cannot serve at {at}: {why.strerror}")
    try:
        say(f"ps {options.task_index}: {part} of {model.size} at {at}, until stopped")
        server.serve_forever()
    finally:
        say(f"ps {options.task_index}: stopped, {shard.version} gradients applied")


# --- the worker -----------------------------------------------------------------------------------


class Remote:
    """A worker's end of the conversation with one parameter server."""

    def __init__(self, at: Address, part: Part) -> None:
        self.at = at
        self.part = part
        self.pulled = 0
        self.link = self.connect()
        self.ask(Word.HELLO, part.pack())
        self.receive()

    def connect(self) -> socket.socket:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                link = socket.create_connection((self.at.host, self.at.port), timeout=PATIENCE_S)
            except OSError as why:
                if time.monotonic() > deadline:
                    fail(f"no parameter server at {self.at} for {PATIENCE_S:.0f} s: {why}")
                time.sleep(0.1)
            else:
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return link

    def ask(self, word: Word, body: bytes = b"") -> None:
        try:
            send(self.link, word, body)
        except OSError as why:
            fail(f"lost the parameter server at {self.at}: {why}")

    def receive(self) -> bytes:
        try:
            word, body = receive(self.link)
        except (OSError, ValueError) as why:
            fail(f"lost the parameter server at {self.at}: {why}")
        if word is not Word.OK:
            fail(f"the parameter server at {self.at} refuses: {body.decode(errors='replace')}")
        return body


class Parameters:
    """All parameters, wherever they are; questions go to all servers before answers are read."""

    def __init__(self, servers: list[Address], size: int) -> None:
        parts = [Part.of(size, index, len(servers)) for index in range(len(servers))]
        self.size = size
        self.remotes = [Remote(at, part) for at, part in zip(servers, parts)]

    def pull(self) -> Floats:
        for remote in self.remotes:
            remote.ask(Word.PULL)
        flat = np.empty(self.size, np.float32)
        for remote in self.remotes:
            body = remote.receive()
            (remote.pulled,) = VERSION.unpack_from(body)
            flat[remote.part.span] = numbers(body[VERSION.size :], remote.part.count)
        return flat

    def push(self, gradient: Floats) -> float:
        """Hand in a gradient; answers how many others came between it and the pull, on average."""
        for remote in self.remotes:
            remote.ask(Word.PUSH, gradient[remote.part.span].astype("<f4").tobytes())
        between = 0
        for remote in self.remotes:
            (version,) = VERSION.unpack(remote.receive())
            between += version - remote.pulled - 1
        return between / len(self.remotes)


def speed(seconds: list[float], batch_size: int) -> str:
    """Images per second as TensorFlow's benchmark prints them."""
    rates = batch_size / np.array(seconds)
    uncertainty = rates.std() / len(rates) ** 0.5
    jitter = 1.4826 * np.median(np.abs(rates - np.median(rates)))
    mean = batch_size / np.mean(seconds)
    return f"images/sec: {mean:.1f} +/- {uncertainty:.1f} (jitter = {jitter:.1f})"


def work(options: argparse.Namespace, model: Model) -> None:
    """Train on this worker's batches; the first worker saves what came of it."""
    data = read_data(options.data_dir)
    parameters = Parameters(options.ps_hosts, model.size)
    say(f"Model:       {model.name} (stand-in, {model.blocks} blocks, {model.size} parameters)")
    say(f"Dataset:     {options.data_name}, {len(data.labels)} pictures {data.origin}")
    say(f"Batch size:  {options.batch_size} per worker, {len(options.worker_hosts)} workers")
    say(f"Variables:   {options.variable_update}, {len(options.ps_hosts)} servers")
    say("Step\tImg/sec\tloss")

    seconds: list[float] = []
    between: list[float] = []
    batches = data.batches(options.batch_size, options.task_index)
    for step, (pictures, labels) in zip(range(1, options.num_batches + 1), batches):
        begin = time.perf_counter()
        loss, gradient = model.gradient(parameters.pull(), pictures, labels)
        between.append(parameters.push(gradient))
        seconds.append(time.perf_counter() - begin)
        if step == 1 or step % options.display_every == 0:
            say(f"{step}\t{speed(seconds, options.batch_size)}\t{loss:.3f}")
    say("-" * 64)
    say(f"total images/sec: {options.batch_size * len(seconds) / sum(seconds):.2f}")
    say(f"gradients of other workers between pull and push: {np.mean(between):.2f} on average")
    say("-" * 64)
    if options.task_index == 0 and options.train_dir:
        save(model, parameters.pull(), options.train_dir)


def save(model: Model, flat: Floats, where: str) -> None:
    folder = local_path(where)
    if not folder:
        say(f"nothing saved: --train_dir={where} is neither a path nor a file: URI")
        return
    folder.mkdir(parents=True, exist_ok=True)
    draft, final = folder / "model.new.npz", folder / "model.npz"
    np.savez(draft, *model.layers(flat))
    draft.replace(final)
    say(f"saved {final}  {final.stat().st_size / 1024:.0f} KiB")


# --- the command line -----------------------------------------------------------------------------


def positive(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tf_cnn_benchmarks.py", description=__doc__.partition("\n")[0], allow_abbrev=False
    )
    flag = parser.add_argument
    flag("--job_name", required=True, choices=["ps", "worker"])
    flag("--task_index", type=int, default=0)
    flag("--ps_hosts", required=True, metavar="HOST:PORT,...")
    flag("--worker_hosts", required=True, metavar="HOST:PORT,...", help="counted, not contacted")
    flag("--model", default="resnet20")
    flag("--batch_size", type=positive, default=32)
    flag("--num_batches", type=positive, default=100, help="per worker (%(default)s)")
    flag("--display_every", type=positive, default=10)
    flag("--init_learning_rate", type=float, default=0.05)
    flag("--data_name", default="cifar10", choices=["cifar10"])
    flag("--data_dir", default="", help="with data_batch_*.bin, else pictures are made here")
    flag("--train_dir", default="", help="where worker 0 leaves model.npz")
    flag("--variable_update", default="parameter_server", choices=["parameter_server"])
    flag("--local_parameter_device", default="cpu", choices=["cpu"])
    options, unknown = parser.parse_known_args()
    if unknown:
        parser.error(f"{' '.join(unknown)}: this stand-in has only the flags shown above")

    options.ps_hosts = Address.list_of(options.ps_hosts, "--ps_hosts")
    options.worker_hosts = Address.list_of(options.worker_hosts, "--worker_hosts")
    tasks = len(options.ps_hosts if options.job_name == "ps" else options.worker_hosts)
    if not 0 <= options.task_index < tasks:
        parser.error(f"--task_index={options.task_index}: there are {tasks} {options.job_name}s")
    return options


def main() -> None:
    options = arguments()
    model = Model(options.model)
    if options.job_name == "ps":
        serve(options, model)
    else:
        work(options, model)


if __name__ == "__main__":
    main()
