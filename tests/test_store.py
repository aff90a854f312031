"""The c10d store of the launcher against torch's own libuv server: the same calls of real clients
and the same bytes by hand get the same answers; then sixteen real processes meet through it.

Run as a program this file is the part that needs PyTorch (`test_store.py PART ...`), so that the
tests themselves never import it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import re
import select
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from harness import ROOT, VENV, patience, program
from warm_torch import WarmTorch

SERVER = Path(
    os.environ.get("MUSTER_STORE_SERVER")
    or program().resolve().parents[2] / "src/launch/launch_store_server"
)
TORCH = list(ROOT.glob(".venv/lib/python3*/site-packages/torch/version.py"))
RANKS = 16
Call = Callable[[Any], Any]
OPERATIONS = 600

pytestmark = [
    pytest.mark.skipif(not TORCH, reason="no PyTorch in .venv: tools/setup python installs it"),
    pytest.mark.sanitizer,
]


@contextlib.contextmanager
def serving(*command: str | Path) -> Iterator[int]:
    """The port of a server that lives as long as its stdin; it must end well."""
    with subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        try:
            yield int(process.stdout.readline())
        finally:
            _, said = process.communicate(timeout=patience(20))
    assert process.returncode == 0, said


def environment() -> dict[str, str]:
    """PyTorch asks for the names of its peers; a resolver that is not there costs seconds."""
    quick = {"RES_OPTIONS": "timeout:1 attempts:1", "TORCH_CPP_LOG_LEVEL": "FATAL"}
    return {**os.environ, "PYTHONPATH": str(ROOT / "tests"), **quick}


def part(where: WarmTorch, *args: object, told: str = "") -> None:
    """Runs a part of this file where PyTorch is."""
    done = where.run([__file__, *map(str, args)], environment(), told)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


# ---- real clients ----


def distributed() -> Any:
    return importlib.import_module("torch.distributed")


def own_store(**options: Any) -> Any:
    return distributed().TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, **options)


def client(port: int, libuv: bool = True) -> Any:
    return distributed().TCPStore("127.0.0.1", port, is_master=False, use_libuv=libuv)


def outcome(call: Call, store: Any) -> object:
    """What came back or was raised, without what two connections may differ in."""
    try:
        value = call(store)
    except Exception as error:
        text = re.sub(r"fd=\d+|\]:\d+|port: \d+", "#", str(error).split("\n", 1)[0])
        return type(error).__name__, re.sub(r"\d+\.\d+\.\d+\.\d+:\d+", "#", text)
    if isinstance(value, list):
        return sorted(value, key=repr) if all(isinstance(x, str) for x in value) else value
    return value


SHORT, LONG = timedelta(milliseconds=30), timedelta(minutes=10)
KEYS = ("a", "b", "n", "m", "long/" + "k" * 300, "", "é")
NUMBERS = ("n", "m", "fresh")


def values(dice: random.Random) -> bytes:
    return dice.choice((b"", b"0", b"17", b"text", bytes(range(256)), dice.randbytes(70000)))


def simple(dice: random.Random) -> tuple[str, Call]:
    """One call that never waits."""
    key, value, other = dice.choice(KEYS), values(dice), values(dice)
    number, delta = dice.choice(NUMBERS), dice.randint(-9, 9)
    queue = dice.choice(("q", "r", "a"))
    some = dice.sample(KEYS, dice.randint(1, 4))
    calls: list[tuple[str, Call]] = [
        (f"set {key!r}", lambda s: s.set(key, value)),
        (f"set {key!r}", lambda s: s.set(key, other)),
        (f"compare_set {key!r}", lambda s: s.compare_set(key, value, other)),
        (f"compare_set {key!r} new", lambda s: s.compare_set(key, b"", other)),
        (f"append {key!r}", lambda s: s.append(key, other)),
        (f"check {some}", lambda s: s.check(some)),
        (f"delete {key!r}", lambda s: s.delete_key(key)),
        (f"add {number}", lambda s: s.add(number + "#", delta)),
        (f"delete {number}", lambda s: s.delete_key(number + "#")),
        (f"multi_set {some}", lambda s: s.multi_set(some, [value] * len(some))),
        ("num_keys", lambda s: s.num_keys()),
        ("list_keys", lambda s: s.list_keys()),
        (f"queue_push {queue}", lambda s: s.queue_push(queue, value)),
        (f"queue_len {queue}", lambda s: s.queue_len(queue)),
        (f"queue_pop {queue}", lambda s: s.queue_pop(queue, False)),
        ("barrier of one", lambda s: s.barrier(f"bar{delta}", 1)),
        ("extended", lambda s: s.has_extended_api()),
    ]
    return dice.choice(calls)


def waiting(dice: random.Random, first: Any) -> tuple[str, Call]:
    """One call that waits: long for what is there, for a moment for what is not."""
    kind = dice.choice(("get", "multi_get", "wait", "queue_pop", "barrier"))
    keys = ["q"] if kind == "queue_pop" else dice.sample(KEYS, dice.randint(1, 3))
    if kind == "barrier":
        return "barrier of two", lambda s: s.barrier("alone", 100000, SHORT)
    limit = LONG if first.check(keys) else SHORT

    def call(store: Any) -> Any:
        store.set_timeout(limit)
        if kind == "get":
            return store.get(keys[0])
        if kind == "multi_get":
            return store.multi_get(keys)
        if kind == "wait":
            return store.wait(keys, limit)
        return store.queue_pop("q")

    return f"{kind} {keys} in {limit}", call


def clones(store: Any) -> list[Any]:
    prefix = distributed().PrefixStore
    return [store, store.clone(), prefix("p", store), prefix("x/y", prefix("p", store))]


def same_calls(port: int, seed: int) -> None:
    dice = random.Random(seed)
    master = own_store()
    theirs, ours = clones(client(master.port)), clones(client(port))
    for step in range(OPERATIONS):
        i = dice.randrange(len(ours))
        what, call = simple(dice) if dice.random() < 0.88 else waiting(dice, theirs[i])
        want, got = outcome(call, theirs[i]), outcome(call, ours[i])
        if want != got:
            raise SystemExit(f"seed {seed} step {step}: {what}: torch {want!r}, here {got!r}")
        for one in (theirs[i], ours[i]):
            one.set_timeout(LONG)
            # What has no answer is done before another connection goes on.
            one.num_keys()


def both(master: Any, port: int, what: str, run: Callable[[int], object]) -> None:
    want, got = run(master.port), run(port)
    if want != got:
        raise SystemExit(f"{what}: torch {want!r}, here {got!r}")


def threads_wait(port: int) -> object:
    """Waits in threads are ended by what another connection does; a barrier of four."""
    stores = [client(port) for _ in range(4)]
    found: list[object] = [None] * 4

    def at(i: int, call: Call) -> threading.Thread:
        thread = threading.Thread(target=lambda: found.__setitem__(i, outcome(call, stores[i])))
        thread.start()
        return thread

    results: list[object] = []
    rounds: tuple[tuple[tuple[Call, ...], tuple[Call, ...]], ...] = (
        ((lambda s: s.get("late"), lambda s: s.wait(["late", "later"], LONG)),
         (lambda s: s.set("late", "1"), lambda s: s.add("later", 3))),
        ((lambda s: s.queue_pop("work"), lambda s: s.multi_get(["u", "v"])),
         (lambda s: s.queue_push("work", "w"), lambda s: s.multi_set(["u", "v"], ["1", "2"]))),
        ((lambda s: s.barrier("four", 4), lambda s: s.barrier("four", 4)),
         (lambda s: threading.Thread(target=lambda: s.barrier("four", 4)).start(),
          lambda s: s.barrier("four", 4))),
    )  # fmt: skip
    for calls, then in rounds:
        under_way = [at(i, call) for i, call in enumerate(calls)]
        for store, act in zip(stores[2:], then):
            act(store)
        for thread in under_way:
            thread.join(30)
        results.append(list(found))
    return results


def odd_calls(port: int, libuv: bool) -> object:
    """Once each: what is closed, what is refused, what is large."""
    store = client(port, libuv)
    found: list[object] = []

    def note(call: Call, one: Any = None) -> None:
        found.append(outcome(call, one or store))

    large = bytes(3_000_000)
    note(lambda s: s.set("large", large))
    note(lambda s: s.get("large") == large)
    note(lambda s: s.append("large", large))
    note(lambda s: len(s.get("large")))
    note(lambda s: s.set("text", "abc"))
    note(lambda s: s.get("text"))
    note(lambda s: s.add("text", 1), client(port))
    note(lambda s: s.queue_push("q", "1"))
    note(lambda s: s.wait(["absent", "text"], SHORT))
    note(lambda s: s.set("text", "1"))
    note(lambda s: s.add("text", 2**62))
    note(lambda s: s.get("text"))
    note(lambda s: s.num_keys())
    return found


def clients(port: int, seed: int) -> None:
    master = own_store()
    both(master, port, "threads", threads_wait)
    for libuv in (True, False):
        both(master, port, f"once each, libuv={libuv}", partial(odd_calls, libuv=libuv))
    for i in range(3):
        # Every sequence on a store of its own: the second server of a pair is started by the test.
        same_calls(int(sys.stdin.readline()), seed + i)


def test_real_clients_get_the_same_answers(torch: WarmTorch) -> None:
    seed = random.randrange(10**6)
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(serving(SERVER)) for _ in range(4)]
        told = "".join(f"{port}\n" for port in ports[1:])
        part(torch, "clients", ports[0], seed, told=told)


# ---- bytes by hand ----

MAGIC = b"\0\xce\xf7\x85\x3c"
PING = b"\x0dping"
CANCEL, NUM_KEYS = b"\x0c", b"\x07"


def n64(n: int) -> bytes:
    return struct.pack("<Q", n & (2**64 - 1))


def text(*strings: bytes) -> bytes:
    return b"".join(n64(len(s)) + s for s in strings)


def op(code: int, *strings: bytes, number: int | None = None) -> bytes:
    return bytes([code]) + text(*strings) + (b"" if number is None else n64(number))


def listed(code: int, *strings: bytes, pairs: bool = False) -> bytes:
    return bytes([code]) + n64(len(strings) // (2 if pairs else 1)) + text(*strings)


WHOLE = (
    op(1, b"k", b"v") + op(3, b"k") + op(3, b"none") + op(2, b"k", b"v", b"w")
    + op(2, b"e", b"", b"made") + op(2, b"f", b"x", b"y") + op(4, b"i", number=-3)
    + listed(5, b"k", b"i") + listed(5, b"k", b"zz") + listed(5) + listed(6) + listed(6, b"i")
    + op(9, b"k", b"!") + listed(10, b"k", b"none", b"i")
    + listed(11, b"x", b"1", b"y", b"", pairs=True)
    + NUM_KEYS + op(8, b"e") + op(8, b"e") + CANCEL + PING + op(14, b"q", b"1") + op(14, b"q", b"")
    + op(16, b"q") + op(15, b"q") + op(15, b"q") + op(15, b"q") + op(18, b"b", number=1)
    + op(3, b"b") + op(1, b"", b"of nothing") + op(3, b"") + op(18, b"neg", number=-1) + NUM_KEYS
)  # fmt: skip

# Who sends what; every step ends when a ping of that connection is answered, or it is closed.
CASES: dict[str, list[tuple[str, bytes]]] = {
    "in one segment": [("a", WHOLE)],
    "pipelined behind a wait": [("a", listed(6, b"w")), ("a", WHOLE), ("b", op(1, b"w", b""))],
    "wait and set of two": [("a", listed(6, b"x", b"y")), ("b", op(1, b"x", b"")),
                            ("b", op(8, b"x")), ("b", op(4, b"y", number=0))],
    "the same key twice": [("a", listed(6, b"x", b"x")), ("b", op(9, b"x", b""))],
    "two waits of one key": [("a", listed(6, b"x") * 2), ("b", op(1, b"x", b""))],
    "two waits": [("a", listed(6, b"x")), ("a", listed(6, b"y", b"z")), ("b", op(1, b"x", b"")),
                  ("b", op(1, b"y", b"")), ("b", op(1, b"z", b""))],
    "an instant wait in a wait": [("a", listed(6, b"x")), ("a", listed(6)),
                                  ("b", op(1, b"x", b""))],
    "cancel": [("a", listed(6, b"x")), ("a", CANCEL), ("b", op(1, b"x", b"")), ("a", CANCEL)],
    "compare_set wakes": [("a", listed(6, b"x")), ("b", op(2, b"x", b"", b""))],
    "multi_set wakes": [("a", listed(6, b"x")), ("b", listed(11, b"x", b"1", pairs=True))],
    "push wakes one": [("a", listed(6, b"q")), ("b", listed(6, b"q")), ("c", op(14, b"q", b"1")),
                       ("c", op(14, b"q", b"2"))],
    "set wakes who waits for a queue": [("a", listed(6, b"q")), ("b", op(1, b"q", b""))],
    "queue, key and delete": [("a", op(14, b"q", b"1")), ("a", op(8, b"q")), ("a", op(3, b"q")),
                              ("a", NUM_KEYS), ("a", op(16, b"q")), ("a", listed(5, b"q"))],
    "barrier": [("a", op(18, b"b", number=3)), ("b", op(18, b"b", number=3)), ("b", CANCEL),
                ("c", op(18, b"b", number=3)), ("b", op(18, b"b", number=3)), ("c", op(3, b"b"))],
    "barrier of two sizes": [("a", op(18, b"b", number=3)), ("b", op(18, b"b", number=2))],
    "barrier and set": [("a", op(18, b"b", number=3)), ("b", op(1, b"b", b"100")),
                        ("b", op(18, b"b", number=3))],
    "barrier on text": [("a", op(1, b"b", b"x")), ("a", op(18, b"b", number=3))],
    "wait and barrier": [("a", listed(6, b"b")), ("b", op(18, b"b", number=2)),
                         ("c", op(18, b"b", number=2))],
    "barrier twice": [("a", op(18, b"b", number=2)), ("a", op(18, b"b", number=2))],
    "add to text": [("a", op(1, b"k", b" 12abc")), ("a", op(4, b"k", number=5)),
                    ("a", op(3, b"k"))],
    "add to a word": [("a", op(1, b"k", b"abc")), ("a", op(4, b"k", number=5))],
    "add to nothing": [("a", op(1, b"k", b"")), ("a", op(4, b"k", number=5))],
    "add over the end": [("a", op(1, b"k", b"9223372036854775807")), ("a", op(4, b"k", number=1)),
                         ("a", op(3, b"k"))],
    "add to too much": [("a", op(1, b"k", b"9223372036854775808")), ("a", op(4, b"k", number=1))],
    "magic again": [("a", PING), ("a", MAGIC)],
    "unknown": [("a", PING + b"\x13" + PING)],
    "unknown, last": [("a", b"\xff")],
    "longest key": [("a", op(1, b"k" * 8192, b"v")), ("a", op(3, b"k" * 8192))],
    "key too long": [("a", b"\x01" + n64(8193))],
    "key far too long": [("a", b"\x03" + n64(-1))],
    "value too long": [("a", b"\x01" + text(b"k") + n64(2**23 + 1))],
    "value far too long": [("a", b"\x0e" + text(b"k") + n64(-1))],
    "too many to check": [("a", b"\x05" + n64(131073))],
    "too many to wait for": [("a", b"\x06" + n64(131073))],
    "too many to get": [("a", b"\x0a" + n64(131073))],
    "too many to set": [("a", b"\x0b" + n64(131073))],
    "many": [("a", listed(5, *[b""] * 131072)), ("a", op(1, b"", b"")),
             ("a", listed(5, *[b""] * 131072)), ("a", listed(10, *[b""] * 1000))],
}  # fmt: skip


class Raw:
    """A connection by hand. What comes is collected until a ping comes back."""

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.settimeout(patience(20))
        self.sock.sendall(MAGIC)
        self.pings = 0
        self.got = b""
        self.open = True

    def ping(self) -> None:
        """Until everything before it is answered; the ping's own answer is left out."""
        self.pings += 1
        mark = b"\xf0" + struct.pack(">H", self.pings) + b"\x0f"
        with contextlib.suppress(OSError):
            self.sock.sendall(b"\x0d" + mark)
        while self.open and mark not in self.got:
            self.receive()
        self.got = self.got.replace(mark, b"")

    def receive(self) -> None:
        try:
            piece = self.sock.recv(1 << 20)
        except ConnectionResetError:
            piece = b""
        self.got += piece
        self.open = bool(piece)

    def send(self, data: bytes, step: int = 0) -> None:
        with contextlib.suppress(ConnectionError):
            for i in range(0, len(data), step or len(data)):
                self.sock.sendall(data[i : i + (step or len(data))])


def played(port: int, steps: list[tuple[str, bytes]], step: int = 0) -> object:
    """What each connection had got after each step."""
    raws: dict[str, Raw] = {}
    seen = []
    for who, data in steps:
        raw = raws.setdefault(who, Raw(port))
        if raw.open:
            raw.send(data, step)
        # The sender first: what it did to the others is under way to them before its ping is back.
        for one in (raw, *raws.values()):
            if one.open:
                one.ping()
        seen.append({name: (one.got, one.open) for name, one in raws.items()})
    for one in raws.values():
        one.sock.close()
    return seen


@contextlib.contextmanager
def torch_stores(count: int) -> Iterator[list[int]]:
    """Ports of that many servers of torch."""
    with subprocess.Popen(
        [str(VENV / "python"), __file__, "serve", str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    ) as process:
        assert process.stdin and process.stdout
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.stdin.close()


def serve(count: int) -> None:
    stores = [own_store(use_libuv=True) for _ in range(count)]
    print(json.dumps([store.port for store in stores]), flush=True)
    sys.stdin.read()


def test_the_same_bytes_get_the_same_answers() -> None:
    wrong = []
    with torch_stores(len(CASES) + 2) as theirs:
        for (name, steps), port in zip(CASES.items(), theirs):
            with serving(SERVER) as ours:
                if played(port, steps) != played(ours, steps):
                    wrong.append(name)
        for size, port in zip((1, 7), theirs[len(CASES) :]):
            with serving(SERVER) as ours:
                want, got = (played(p, [("a", WHOLE)], size) for p in (port, ours))
                if want != got:
                    wrong.append(f"{size} bytes at a time: {want} {got}")
    assert not wrong


def ended(sock: socket.socket, seconds: float) -> bool:
    ready, _, _ = select.select([sock], [], [], patience(seconds))
    with contextlib.suppress(ConnectionResetError):
        return bool(ready) and sock.recv(1) == b""
    return True


def test_what_is_no_client_is_closed() -> None:
    with serving(SERVER, "--hello", "200", "--connections", "3") as port:
        for start in (b"\0\xce\xf7\x85\x3d", b"GET / HTTP/1.1\r\n\r\n", PING, b"", MAGIC[:4]):
            with socket.create_connection(("127.0.0.1", port)) as sock:
                sock.sendall(start)
                assert ended(sock, 10), start
        good = [Raw(port) for _ in range(3)]
        for raw in good:
            raw.ping()
        with socket.create_connection(("127.0.0.1", port)) as fourth:
            assert ended(fourth, 10)
        for raw in good:
            raw.ping()
            assert raw.open
            raw.sock.close()


def test_a_full_store_lets_the_others_go_on() -> None:
    with serving(SERVER, "--total", str(1 << 20)) as port:
        good, greedy = Raw(port), Raw(port)
        good.send(op(1, b"k", b"kept"))
        greedy.send(b"".join(op(14, b"q", bytes(60000)) for _ in range(40)))
        greedy.ping()
        assert not greedy.open
        good.send(op(3, b"k"))
        good.ping()
        assert good.got == text(b"kept")
        good.sock.close()


# ---- the real thing ----


def rank(port: int, number: int) -> None:
    dist = distributed()
    os.environ.update(
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
        RANK=str(number),
        WORLD_SIZE=str(RANKS),
        TORCHELASTIC_USE_AGENT_STORE="True",
        GLOO_SOCKET_IFNAME="lo",
    )
    dist.init_process_group("gloo", init_method="env://", timeout=timedelta(minutes=10))
    half = [dist.new_group(list(range(i, RANKS, 2))) for i in range(2)][number % 2]
    dist.monitored_barrier(timeout=timedelta(minutes=10))
    found: list[Any] = [None] * RANKS
    dist.all_gather_object(found, {"rank": number})
    assert found == [{"rank": i} for i in range(RANKS)]
    neighbours: list[Any] = [None] * (RANKS // 2)
    dist.all_gather_object(neighbours, number, group=half)
    assert neighbours == list(range(number % 2, RANKS, 2))
    dist.destroy_process_group()


def ranks(port: int) -> None:
    """Forked after the import, which would otherwise be most of the time."""
    library: Any = importlib.import_module("torch")
    library.set_num_threads(1)
    distributed()
    pids = []
    for number in range(RANKS):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                rank(port, number)
                status = 0
            except BaseException:
                traceback.print_exc()
            os._exit(status)
        pids.append(pid)
    bad = [pid for pid in pids if os.waitpid(pid, 0)[1] != 0]
    if bad:
        raise SystemExit(f"{len(bad)} of {RANKS} ranks failed")


def test_sixteen_ranks_meet(torch: WarmTorch) -> None:
    with serving(SERVER) as port:
        part(torch, "ranks", port)


if __name__ == "__main__":
    name, *rest = sys.argv[1:]
    parts: dict[str, Callable[..., None]] = {"clients": clients, "serve": serve, "ranks": ranks}
    parts[name](*map(int, rest))
