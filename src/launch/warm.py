"""The parked interpreter, from the inside.

The launcher starts Python with the ranks' own command line and environment, and with this file in
front of PYTHONPATH as `sitecustomize`. The interpreter meets it at the very end of its start, right
before it would look at its script. Here it imports what the ranks import, forks ranks ahead of
time, and stays. A rank that is told to begin leaves this file, and the interpreter goes on by
itself: what it does with sys.argv, sys.path[0], __main__, tracebacks and its exit code is its own
doing, there is no copy of it here and no frame of ours below the script.

The first start of two runs `-c pass` and only proves that this file is met at all (not so with -E,
-I or -S in a wrapper): a script never runs because of a parked interpreter.

Messages (SOCK_SEQPACKET). Control: in: command line; modules with the ranks'
environment; "fill N" with the ranks' socket. Out:
"hello", "ready KIB", "failed MODULE: WHY", "unsafe WHY". Ranks' socket: out: "parked PID", "begin
INDEX PID"; in: INDEX with four descriptors (request, stdin, stdout, stderr).
"""

from __future__ import annotations

import _socket
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

FIRST_SIGNAL, LAST_SIGNAL = 1, 64
MESSAGE_MAX = 1 << 18
PR_SET_PDEATHSIG = 1
DEVICES = ("/dev/nvidia", "/dev/kfd", "/dev/dri/", "/dev/davinci", "/dev/accel", "/dev/mthreads")
TITLE = b"python (parked by muster)"


def open_socket(fd: int) -> _socket.socket:
    os.set_inheritable(fd, False)
    return _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, fd)


def receive(sock: _socket.socket, n_fds: int) -> tuple[bytes, list[int]]:
    """One message and its descriptors; the end of the socket is the end of this process."""
    data, extra, _, _ = sock.recvmsg(MESSAGE_MAX, _socket.CMSG_SPACE(4 * n_fds))
    if not data:
        os._exit(0)
    raw = b"".join(item[2] for item in extra)
    return data, [int.from_bytes(raw[i : i + 4], sys.byteorder) for i in range(0, len(raw), 4)]


class Shown:
    """What ps and /proc/PID/environ show of this process. The parked one hides its command line
    (nobody should take it for a rank) and the launcher's mark (what ranks leave behind is found and
    killed by it); ranks show both again."""

    def __init__(self, cookie_name: bytes) -> None:
        import ctypes

        with open("/proc/self/stat", "rb") as file:
            field = file.read().rpartition(b")")[2].split()
        args, args_end, env, env_end = (int(value) for value in field[45:49])
        self.move = ctypes.memmove
        line = ctypes.string_at(args, args_end - args)
        block = ctypes.string_at(env, env_end - env)
        at = (b"\0" + block).find(b"\0" + cookie_name + b"=")
        title = (TITLE[: len(line) - 1]).ljust(len(line), b"\0")
        self.places = [(args, line, title)]
        if at >= 0:
            self.places.append((env + at, cookie_name[:1], b"_"))

    def hide(self) -> None:
        for at, _, hidden in self.places:
            self.move(at, hidden, len(hidden))

    def show(self) -> None:
        for at, shown, _ in self.places:
            self.move(at, shown, len(shown))


def signals() -> dict[int, Any]:
    found: dict[int, Any] = {}
    for number in range(FIRST_SIGNAL, LAST_SIGNAL + 1):
        try:
            found[number] = signal.getsignal(number)
        except ValueError:
            continue
    return found


def preload(control: _socket.socket, modules: list[str]) -> None:
    """As the script would: its directory comes first. Signal handlers that a module sets are kept
    from the ranks only where Python set them."""
    before = signals()
    script = len(sys.argv) > 0 and sys.argv[0] != "-m"
    first = os.path.dirname(os.path.realpath(sys.argv[0])) if script else os.getcwd()
    sys.path.insert(0, first)
    for name in modules:
        try:
            __import__(name)
        except BaseException as error:
            control.send(f"failed {name}: {type(error).__name__}: {error}".encode()[:400])
    if first in sys.path:
        sys.path.remove(first)
    for number, handler in signals().items():
        if handler is not before[number] and before[number] is not None:
            signal.signal(number, before[number])


def threads() -> list[str]:
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as file:
                names.append(file.read().strip())
        except OSError:
            continue
    return names


def unsafe() -> str:
    """Why ranks must not be forked from here; "" when they may. Pools made for forking (OpenBLAS)
    end their threads when a process forks and start them again later: one fork tells."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_initialized():
        return "CUDA was initialised by an import"
    for fd in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            continue
        if target.startswith(DEVICES):
            return f"an import opened {target}"
    if len(threads()) == 1:
        return ""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    for _ in range(100):
        names = threads()
        if len(names) == 1:
            return ""
        time.sleep(0.001)
    return f"an import started threads that outlive a fork: {', '.join(sorted(names)[:4])}"


def private_kib() -> int:
    total = 0
    try:
        with open("/proc/self/smaps_rollup") as file:
            for line in file:
                if line.startswith("Private_"):
                    total += int(line.split()[1])
    except OSError:
        pass
    return total


def stream(fd: int, old: Any, name: str) -> Any:
    """As the interpreter makes it under -u, bound to what the descriptor is now."""
    import io

    if not isinstance(old, io.TextIOWrapper):
        return old
    reads = fd == 0
    raw: Any = io.FileIO(fd, "rb" if reads else "wb", closefd=False)
    raw.name = name
    text: Any = io.TextIOWrapper(
        io.BufferedReader(raw) if reads else raw,
        encoding=old.encoding,
        errors=old.errors,
        newline="\n",
        write_through=True,
    )
    text.mode = "r" if reads else "w"
    return text


def read_request(fd: int) -> tuple[bytes, dict[bytes, bytes]]:
    """A working directory ("": stay) and an environment; of two equal names the first counts."""
    tokens = os.pread(fd, os.fstat(fd).st_size, 0).split(b"\0")
    os.close(fd)
    found: dict[bytes, bytes] = {}
    for entry in tokens[1:-1]:
        name, sign, value = entry.partition(b"=")
        if sign and name:
            found.setdefault(name, value)
    return tokens[0], found


class Origin:
    """Whose child a rank is, and what stood between the launcher and this process and changed the
    environment (a wrapper named as the interpreter; Python itself, PEP 538): ranks get the same
    change."""

    def __init__(self, launcher: int, given: dict[bytes, bytes]) -> None:
        import ctypes

        self.prctl = ctypes.CDLL(None).prctl
        self.launcher = launcher
        now = dict(os.environb)
        self.gone = [name for name in given if name not in now]
        self.made = {name: value for name, value in now.items() if given.get(name) != value}

    def take(self, environment: dict[bytes, bytes]) -> None:
        os.environ.clear()
        environment.update(self.made)
        for name, value in environment.items():
            if name not in self.gone:
                os.environb[name] = value


def reseed() -> None:
    """What a fresh interpreter draws by chance, or learns of itself, anew (`random` does it by
    itself)."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.seed()
    threading = sys.modules.get("threading")
    if threading is not None and hasattr(threading.Thread, "_set_native_id"):
        threading.main_thread()._set_native_id()  # CPython keeps the parent's
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        process.current_process().authkey = os.urandom(32)


def tell_gpu_share() -> None:
    """Frameworks that were imported here took their share of a GPU from this environment; the
    rank's may be another (node/gpu_share.py)."""
    ours = sys.modules.get("_muster_gpu_share")
    if ours is not None:
        ours.environment_changed()


def become_rank(bench: _socket.socket, origin: Origin, intermediate: int) -> bytes:
    """In a forked child: wait to be the launcher's own child, then for the order to begin."""
    os.setsid()
    while os.getppid() == intermediate:
        time.sleep(0.0005)
    origin.prctl(PR_SET_PDEATHSIG, signal.SIGKILL.value, 0, 0, 0)
    if os.getppid() != origin.launcher:
        os._exit(1)
    reseed()
    bench.send(f"parked {os.getpid()}".encode())
    index, fds = receive(bench, 4)
    request = fds[0]
    for number, fd in enumerate(fds[1:]):
        os.dup2(fd, number)
        os.close(fd)
    directory, environment = read_request(request)
    if directory:
        os.chdir(directory)
    origin.take(environment)
    tell_gpu_share()
    interpreter: Any = sys
    interpreter.stdin = interpreter.__stdin__ = stream(0, sys.__stdin__, "<stdin>")
    interpreter.stdout = interpreter.__stdout__ = stream(1, sys.__stdout__, "<stdout>")
    interpreter.stderr = interpreter.__stderr__ = stream(2, sys.__stderr__, "<stderr>")
    return index


def park(control: _socket.socket, origin: Origin) -> tuple[_socket.socket, bytes]:
    """Forks ranks whenever told; returns only in a rank: its socket and its index."""
    while True:
        order, fds = receive(control, 1)
        bench = open_socket(fds[0])
        child = os.fork()
        if child == 0:
            control.close()
            intermediate = os.getpid()
            for _ in range(int(order.split()[1])):
                if os.fork() == 0:
                    return bench, become_rank(bench, origin, intermediate)
            os._exit(0)
        bench.close()
        os.waitpid(child, 0)


def clean_path(given: dict[bytes, bytes]) -> None:
    """PYTHONPATH without this file."""
    here = os.path.dirname(__file__)
    rest = [entry for entry in os.environ.pop("PYTHONPATH").split(":") if entry != here]
    if rest or b"PYTHONPATH" in given:
        os.environ["PYTHONPATH"] = ":".join(rest)


def own_customize() -> ModuleType | None:
    """The user's sitecustomize, which this file stands in front of."""
    here = os.path.dirname(__file__)
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    sys.modules.pop("sitecustomize", None)
    try:
        __import__("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        return None
    return sys.modules["sitecustomize"]


def main(setting: str) -> ModuleType | None:
    control_fd, archive, launcher, stage, cookie_name = setting.split(",")
    control = open_socket(int(control_fd))
    if stage == "1":
        line, _ = receive(control, 1)
        os.set_inheritable(int(control_fd), True)
        os.environ["MUSTER_WARM"] = f"{control_fd},{archive},{launcher},2,{cookie_name}"
        command = [os.fsdecode(word) for word in line.split(b"\0")[:-1]]
        # A wrapper named as the interpreter may have added options: they stay.
        own = getattr(sys, "orig_argv", command[:1] + ["-u", "-c", "pass"])
        os.execve(sys.executable, own[:-3] + command[1:], os.environ)
    control.send(b"hello")
    modules, fds = receive(control, 1)
    _, given = read_request(fds[0])
    os.close(int(archive))
    del os.environ["MUSTER_WARM"]
    clean_path(given)
    origin = Origin(int(launcher), given)
    if cookie_name in os.environ:
        os.environ[cookie_name] = os.environ[cookie_name]  # a copy of its own in C's environ
    shown = Shown(cookie_name.encode())
    shown.hide()
    customize = own_customize()
    preload(control, [name for name in modules.decode().split(",") if name])
    reason = unsafe()
    if reason:
        control.send(b"unsafe " + reason.encode()[:400])
        os._exit(0)
    import gc

    gc.collect()
    gc.freeze()  # else the first collection of every rank would copy all of it
    control.send(f"ready {private_kib()}".encode())
    bench, index = park(control, origin)
    shown.show()
    bench.send(b"begin %s %d" % (index, os.getpid()))
    bench.close()
    return customize


try:
    user_customize = main(os.environ["MUSTER_WARM"])
except BaseException:
    os._exit(70)
# A rank from here on.
if user_customize is None:
    # What the interpreter expects where there is no such module.
    raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
sys.modules["sitecustomize"] = user_customize
