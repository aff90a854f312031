"""A line of `dlrover-run` or `torchrun` as one training role. The table of flags says what each
one means here; what has no effect is named, never dropped in silence."""

from __future__ import annotations

import glob
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Callable

from muster.errors import Problem, ValidationError

PROGRAMS = ("dlrover-run", "torchrun")


@dataclass(frozen=True)
class Flag:
    """`name` with dashes; underscores are the same. `value` says what it takes (None: nothing),
    `use` what becomes of it: `drop` is named in a warning, `same` is how things are anyway."""

    name: str
    value: str | None = "text"
    use: str = "drop"
    native: bool = False  # dlrover-run's own
    short: str = ""


FLAGS = (
    Flag("nnodes", use="nnodes"),
    Flag("nproc-per-node", use="nproc"),
    Flag("max-restarts", "int", "max_restarts"),
    Flag("module", None, "module", short="-m"),
    Flag("no-python", None, "no_python"),
    Flag("run-path", None, "same"),
    Flag("standalone", None, "standalone"),
    Flag("rdzv-backend"),
    Flag("rdzv-endpoint"),
    Flag("rdzv-id"),
    Flag("rdzv-conf"),
    Flag("monitor-interval", "float"),
    Flag("start-method", "spawn|fork|forkserver"),
    Flag("event-log-handler"),
    Flag("role"),
    Flag("log-dir"),
    Flag("redirects", short="-r"),
    Flag("tee", short="-t"),
    Flag("local-ranks-filter"),
    Flag("duplicate-stdout-filters"),
    Flag("duplicate-stderr-filters"),
    Flag("node-rank", "int"),
    Flag("master-addr"),
    Flag("master-port", "int"),
    Flag("local-addr"),
    Flag("logs-specs"),
    Flag("numa-binding", "node|socket|exclusive|core-complex"),
    Flag("signals-to-handle"),
    Flag("shutdown-timeout", "int"),
    Flag("virtual-local-rank", None),
    Flag("node-check", None, "check", native=True),
    Flag("network-check", None, "check", native=True),
    Flag("precheck", "0|1|2", "precheck", native=True),
    Flag("node-unit", "int", "node_unit", native=True),
    Flag("accelerator", "nvidia.com/gpu|ascend-npu|mthreads.com/gpu", "accelerator", native=True),
    Flag("auto-config", None, native=True),
    Flag("auto-tunning", None, native=True),
    Flag("exclude-straggler", None, native=True),
    Flag("save-at-breakpoint", None, native=True),
    Flag("training-port", "int", native=True),
    Flag("numa-affinity", None, native=True),
    Flag("membind-policy", native=True),
    Flag("comm-perf-test", None, native=True),
    Flag("ucp-device-type", native=True),
)


@dataclass
class Line:
    """What a line asks for."""

    program: str = ""
    entrypoint: str = ""
    min_nodes: int = 1
    nodes: int = 1
    nproc: str = "1"  # a number, or gpu, cpu, auto, xpu
    check: bool = False
    node_unit: int = 1
    max_restarts: int | None = None
    accelerator: bool = False
    dropped: list[str] = field(default_factory=list)


def fail(what: str) -> ValidationError:
    return ValidationError([Problem("", what)])


def parse(command: str, environ: Mapping[str, str]) -> Line:
    """Raises ValidationError (a ValueError). `environ` holds `PET_*` defaults, as torchrun's."""
    try:
        words = shlex.split(command.strip())
    except ValueError as error:
        raise fail(f"{command!r} is no shell command: {error}") from error
    program = os.path.basename(words[0]) if words else ""
    if program not in PROGRAMS:
        got = words[0] if words else ""
        raise fail(f"Only 'dlrover-run' and 'torchrun' command is supported, got '{got}'")
    given, dropped, rest = _options(program, words[1:])
    _defaults(given, program, environ)
    if not rest:
        raise fail(f"{program}: no training script in {command!r}")
    line = Line(program=program, dropped=dropped, entrypoint=shlex.join(rest))
    _apply(line, given)
    return line


# ---- the words of a line ----


def _known(program: str) -> list[Flag]:
    return [flag for flag in FLAGS if program == "dlrover-run" or not flag.native]


def _find(program: str, name: str) -> Flag:
    """By its long name; torchrun also takes a beginning that is no other flag's."""
    name = name.replace("_", "-")
    known = _known(program)
    for flag in known:
        if flag.name == name:
            return flag
    near = [flag for flag in known if name and flag.name.startswith(name)]
    if program == "torchrun" and len(near) == 1:
        return near[0]
    if program == "torchrun" and len(near) > 1:
        raise fail(f"torchrun: --{name} may be {', '.join('--' + flag.name for flag in near)}")
    native = any(flag.name == name for flag in FLAGS)
    hint = " (dlrover-run has it)" if native else ""
    raise fail(f"{program}: --{name} is not known{hint}")


def _split(program: str, word: str) -> tuple[Flag, str | None]:
    """The flag of a word, and the value that is part of the word."""
    if word.startswith("--"):
        name, sign, value = word[2:].partition("=")
        return _find(program, name), value if sign else None
    for flag in _known(program):
        if flag.short and word.startswith(flag.short):
            value = word[len(flag.short) :]
            if flag.value is None and value:
                break
            return flag, (value[1:] if value.startswith("=") else value) or None
    raise fail(f"{program}: {word} is not known")


def _options(program: str, words: Sequence[str]) -> tuple[dict[str, str], list[str], list[str]]:
    """The options in front of the script by their use, those without effect, and the rest."""
    given: dict[str, str] = {}
    dropped: list[str] = []
    left = list(words)
    while left and left[0].startswith("-") and left[0] != "-":
        word = left.pop(0)
        if word == "--":
            break
        flag, value = _split(program, word)
        if flag.value is None and value is not None:
            raise fail(f"{program}: --{flag.name} takes no value, {value!r} was given")
        if flag.value is not None and value is None:
            if not left or left[0].startswith("--"):
                raise fail(f"{program}: --{flag.name} wants a value")
            value = left.pop(0)
        value = _checked(program, flag, value)
        if flag.use == "drop":
            dropped.append(f"--{flag.name}")
        given[flag.use] = value
    return given, dropped, left


def _checked(program: str, flag: Flag, value: str | None) -> str:
    kinds: dict[str, Callable[[str], object]] = {"int": int, "float": float, "text": str}
    if flag.value is None or value is None:
        return "1"
    if flag.value in kinds:
        try:
            kinds[flag.value](value)
        except ValueError:
            raise fail(f"{program}: --{flag.name} is {value!r}, wanted is a number") from None
    elif value not in flag.value.split("|"):
        raise fail(f"{program}: --{flag.name} is {value!r}, wanted is {flag.value}")
    return value


def _defaults(given: dict[str, str], program: str, environ: Mapping[str, str]) -> None:
    """`PET_NNODES` and the like stand where the line says nothing."""
    for flag in _known(program):
        variable = "PET_" + flag.name.upper().replace("-", "_")
        if flag.use in ("drop", "same") or flag.use in given or variable not in environ:
            continue
        value = environ[variable]
        if flag.value is not None:
            given[flag.use] = _checked(program, flag, value)
        elif value not in ("", "0"):
            given[flag.use] = "1"


# ---- what they mean ----


def nodes_range(text: object) -> tuple[int, int]:
    """`4` or `2:4` as (least, most). Raises ValueError."""
    low, sign, high = str(text).partition(":")
    least, most = int(low), int(high if sign else low)
    if sign and not 1 <= least <= most:
        raise ValueError(f"{text} is no range of nodes")
    return least, most


def _apply(line: Line, given: Mapping[str, str]) -> None:
    if "no_python" in given:
        raise fail(
            f"{line.program}: --no-python runs no Python; `muster run -- {line.program} ...` does"
        )
    if "nnodes" in given and "standalone" not in given:
        try:
            line.min_nodes, line.nodes = nodes_range(given["nnodes"])
        except ValueError:
            raise fail(
                f"{line.program}: --nnodes is {given['nnodes']!r}, wanted is N or MIN:MAX"
            ) from None
    line.nproc = given.get("nproc", "1")
    if line.nproc not in ("gpu", "cpu", "auto", "xpu") and not line.nproc.lstrip("-").isdigit():
        raise fail(
            f"{line.program}: --nproc-per-node is {line.nproc!r}, wanted is a number, gpu, cpu, "
            "xpu or auto"
        )
    line.check = "check" in given or given.get("precheck", "0") != "0"
    line.node_unit = int(given.get("node_unit", "1"))
    line.max_restarts = int(given["max_restarts"]) if "max_restarts" in given else None
    line.accelerator = "accelerator" in given
    if "module" in given:
        line.entrypoint = f"-m {line.entrypoint}"


def local_devices() -> int:
    """GPUs of this machine, as far as device files tell."""
    return len(glob.glob("/dev/nvidia[0-9]*"))


def processes(word: str, devices: int | None) -> tuple[int, bool]:
    """`--nproc-per-node` as a number, and whether it counts devices. `devices` is what the job said
    a node has; where it did not, this machine stands for the nodes, as with torchrun."""
    if word.lstrip("-").isdigit():
        return int(word), True
    if word == "cpu":
        return os.cpu_count() or 1, False
    found = devices or local_devices()
    if found:
        return found, True
    if word == "auto":
        return os.cpu_count() or 1, False
    raise fail(
        f"--nproc-per-node={word}: this machine has no such device; say .device_per_node(N) "
        "before the line, or give the number"
    )
