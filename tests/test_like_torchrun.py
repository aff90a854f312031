"""What torchrun does that its documentation does not say, beside the real one: each case runs under
PyTorch's launcher and under ours, and what was seen must be the same. Environment and command line
of the ranks are in test_rank_env, their output in test_launch_output."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from harness import VENV, free_port, patience, program
from warm_torch import WarmTorch

LAUNCHER = program().resolve().with_name("muster-node")
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
TELL_PLACE = 'echo "$MASTER_ADDR $MASTER_PORT $TORCHELASTIC_RUN_ID"'
TELL_LINE = "import os, sys; print(sys.argv[1:], os.environ['TORCHELASTIC_SIGNALS_TO_HANDLE'])\n"
Done = subprocess.CompletedProcess[str]


@dataclass
class Launchers:
    """Both of them, in one directory with the same environment."""

    folder: Path
    torch: WarmTorch | None

    def env(self, which: str, more: dict[str, str]) -> dict[str, str]:
        own = {"PATH": f"{VENV}:/usr/bin:/bin", "PYTHON_EXEC": str(VENV / "python")}
        place = self.folder / which
        place.mkdir(exist_ok=True)
        return own | {"HOME": str(self.folder), "PLACE": str(place), "TMPDIR": str(place)} | more

    def ours(self, *args: str, stdin: str = "/dev/null", **more: str) -> Done:
        with Path(stdin).open() as file:
            return subprocess.run(
                [LAUNCHER, "torchrun", *args],
                stdin=file,
                capture_output=True,
                text=True,
                env=self.env("ours", more),
                timeout=patience(60),
                check=False,
            )

    def theirs(self, *args: str, stdin: str = "/dev/null", **more: str) -> Done:
        assert self.torch
        return self.torch.torchrun(list(args), self.env("theirs", more), stdin)

    def theirs_alone(self, *args: str, stdin: str = "/dev/null", **more: str) -> Done:
        """A torchrun that was not forked: its --run-path starts ranks by multiprocessing."""
        with Path(stdin).open() as file:
            return subprocess.run(
                [VENV / "torchrun", *args],
                stdin=file,
                capture_output=True,
                text=True,
                env=self.env("theirs", more),
                timeout=patience(60),
                check=False,
            )

    def both(self, *args: str, stdin: str = "/dev/null", **more: str) -> tuple[Done, Done]:
        return self.theirs(*args, stdin=stdin, **more), self.ours(*args, stdin=stdin, **more)

    def script(self, text: str) -> str:
        path = self.folder / "train.py"
        path.write_text(text)
        return str(path)


@pytest.fixture
def launchers(torch: WarmTorch, tmp_path: Path) -> Launchers:
    return Launchers(tmp_path, torch)


def place_of(done: Done, port: str) -> list[str]:
    """Address, port and run id with what is drawn by chance replaced by a word for it."""
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    if words[1] != port and 0 < int(words[1]) < 65536:
        words[1] = "FREE"
    return [re.sub(f"^{UUID}$", "UUID", word) for word in words]


@pytest.mark.parametrize(
    ("flags", "seen"),
    [
        ("", "localhost FREE UUID"),
        ("--standalone", "localhost FREE UUID"),
        ("--standalone --rdzv-id=mine", "localhost FREE UUID"),
        ("--rdzv-id=mine", "localhost FREE UUID"),
        ("--master-port={port}", "127.0.0.1 {port} none"),
        ("--master-port={port} --rdzv-id=mine", "127.0.0.1 {port} mine"),
        ("--master-addr=localhost --master-port={port}", "localhost {port} none"),
        ("--rdzv-backend=static --rdzv-endpoint=localhost:{port}", "localhost {port} none"),
        ("--rdzv-endpoint=localhost:{port}", "localhost {port} none"),
        ("--rdzv-backend=c10d", "localhost FREE none"),
        ("--rdzv-backend=c10d --rdzv-endpoint=localhost:0", "localhost FREE none"),
        ("--rdzv-backend=c10d --rdzv-id=mine", "localhost FREE mine"),
        (
            "--nnodes=1:4 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 "
            "--rdzv-conf=last_call_timeout=1",
            "localhost FREE none",
        ),
    ],
)
def test_where_one_node_meets_itself(launchers: Launchers, flags: str, seen: str) -> None:
    def place(run: Any) -> list[str]:
        port = str(free_port())
        line = [word.format(port=port) for word in flags.split()]
        words = place_of(run(*line, "--no-python", "sh", "-c", TELL_PLACE), port)
        return ["PORT" if word == port else word for word in words]

    theirs, ours = place(launchers.theirs), place(launchers.ours)
    if theirs[0] not in ("localhost", "127.0.0.1"):
        theirs[0] = "localhost"  # this machine's name where it has one
    assert theirs == seen.format(port="PORT").split()
    assert ours == theirs


def test_port_zero_is_a_free_one(launchers: Launchers) -> None:
    """There torchrun tells its ranks port 0, where nothing can be."""
    theirs, ours = launchers.both("--master-port=0", "--no-python", "sh", "-c", TELL_PLACE)
    assert theirs.stdout.split()[1] == "0"
    assert int(ours.stdout.split()[1]) > 0


@pytest.mark.parametrize(
    "line",
    [
        "SCRIPT -- a",
        "SCRIPT -- -- a --",
        "-- SCRIPT -- a",
        "-- SCRIPT a",
        "SCRIPT a -- b",
        "SCRIPT --",
        "--nproc-per-node 1 -- SCRIPT --nproc-per-node 5",
        "--logs-specs=default SCRIPT",
        "--logs-specs=mine SCRIPT",
        "--event-log-handler=null SCRIPT",
        "--event-log-handler=dynamic_rendezvous SCRIPT",
        "--event-log-handler=mine SCRIPT",
        "--signals-to-handle=SIGUSR1,SIGTERM SCRIPT",
        "--signals-to-handle=SIGNONE,SIGTERM SCRIPT",
        "--signals-to-handle=sigterm,15,SIGTERM,SIGTERM SCRIPT",
        "--signals-to-handle= SCRIPT",
        "--signals-to-handle=SIGKILL SCRIPT",
        "--signals-to-handle=SIGRTMIN SCRIPT",
        "--log-dir=SCRIPT SCRIPT",
    ],
)
def test_lines_that_are_taken_apart_alike(launchers: Launchers, line: str) -> None:
    script = launchers.script(TELL_LINE)
    words = [word.replace("SCRIPT", script) for word in line.split()]
    theirs, ours = launchers.both(*words)
    assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout), ours.stderr


def events(done: Done) -> list[Any]:
    """What the console handler wrote, without what is drawn by chance and with all its keys."""
    found = []
    for line in done.stderr.splitlines():
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        said = event["metadata"]
        more = json.loads(said["metadata"])
        for key in ("run_id", "hostname"):
            assert said.pop(key)
        for key in ("worker_id", "duration_ms", "raw_error"):
            said[key] = said[key] is not None
        more["worker_pid"] = [pid is not None for pid in more.get("worker_pid", [])]
        said["metadata"] = list(more.items())
        said["total_run_time"] = "seconds"
        event["metadata"] = sorted(said.items())
        found.append(list(event.items()))
    return found


@pytest.mark.parametrize(
    ("program", "code", "n"),
    [("true", 0, 7), ("test $RANK = 1 && exit 3; exec sleep 600", 1, 11)],
)
def test_events_on_the_console(launchers: Launchers, program: str, code: int, n: int) -> None:
    flags = ("--nproc-per-node=2", "--max-restarts=1", "--event-log-handler=console", "--role=r")
    theirs, ours = launchers.both(*flags, "--no-python", "sh", "-c", program)
    assert (theirs.returncode, ours.returncode) == (code, code)
    assert len(events(theirs)) == n
    assert events(ours) == events(theirs)


STDIN = """
import os
place = os.environ["PLACE"] + "/" + os.environ["RANK"]
open(place, "w").write(os.readlink("/proc/self/fd/0"))
"""


def test_every_rank_has_the_launchers_stdin(launchers: Launchers) -> None:
    given = launchers.folder / "given"
    given.write_text("what was given\n")
    script = launchers.script(STDIN)
    for done in launchers.both("--nproc-per-node=2", script, stdin=str(given)):
        assert done.returncode == 0, done.stderr
    for rank in ("theirs/0", "theirs/1", "ours/0", "ours/1"):
        assert (launchers.folder / rank).read_text() == str(given)


# ---- --run-path: the slow ones are the same under the real one ----


@dataclass
class RunPath:
    launchers: Launchers
    which: str

    def run(self, script: str, stdin: str = "/dev/null") -> Done:
        run = self.launchers.ours if self.which == "ours" else self.launchers.theirs_alone
        path = self.launchers.script(script)
        return run("--nproc-per-node=2", "--run-path", path, stdin=stdin)

    def errors(self) -> dict[str, Any]:
        """The error files of the ranks, by local rank."""
        found = (self.launchers.folder / self.which).glob("**/error.json")
        return {path.parent.name: json.loads(path.read_text()) for path in found}


@pytest.fixture(params=["ours", pytest.param("theirs", marks=pytest.mark.slow)])
def run_path(request: pytest.FixtureRequest, tmp_path: Path) -> RunPath:
    return RunPath(Launchers(tmp_path, None), str(request.param))


def test_run_path_has_no_stdin(run_path: RunPath) -> None:
    given = run_path.launchers.folder / "given"
    given.write_text("what was given\n")
    done = run_path.run("import sys\nassert sys.stdin.read() == ''\n", stdin=str(given))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("end", "code", "files"),
    [
        ("pass", 0, set()),
        ("sys.exit(0)", 0, set()),
        ("sys.exit(3)", 1, set()),
        ("raise ValueError('as asked')", 1, {"1"}),
        ("os.abort()", 1, set()),
    ],
)
def test_run_path_ends_as_there(run_path: RunPath, end: str, code: int, files: set[str]) -> None:
    """Rank 1 ends so; rank 0 has nothing more to do, or is stopped."""
    done = run_path.run(f"import os, sys\nif os.environ['RANK'] == '1':\n    {end}\n")
    assert done.returncode == code, done.stderr
    found = run_path.errors()
    assert found.keys() == files
    for file in found.values():
        said = file["message"]
        assert said["message"] == "ValueError: as asked"
        assert said["extraInfo"]["py_callstack"].endswith("ValueError: as asked\n")
        assert said["extraInfo"]["timestamp"].isdigit()


KEPT = """
import os, time
place = os.environ["PLACE"] + "/pid"
def state():
    with open("/proc/" + open(place).read() + "/stat") as file:
        return file.read().rpartition(")")[2].split()[0]
if os.environ["RANK"] == "0":
    with open(place + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(place + ".new", place)
else:
    while not os.path.exists(place) or state() not in "SZ":
        time.sleep(0.005)
    print("rank 0 is in state", state())
"""


def test_run_path_keeps_a_rank_until_the_others_have_run(run_path: RunPath) -> None:
    """Rank 0 is done and still there when rank 1 is: both exit together."""
    done = run_path.run(KEPT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "rank 0 is in state S\n"


def test_run_path_waits_for_nobody_who_left_by_the_back_door(launchers: Launchers) -> None:
    script = launchers.script("import os\nif os.environ['RANK'] == '1':\n    os._exit(0)\n")
    done = launchers.ours("--nproc-per-node=2", "--run-path", script)
    assert done.returncode == 0, done.stderr


# ---- the launcher's own error file ----

# As torch's @record writes it, and more.
RECORDED = """
import json, os, signal, sys
if os.environ["RANK"] == "1":
    more = {"py_callstack": "Traceback ...", "timestamp": "17", "own": [1, None, {"a": 1.5}]}
    with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
        message = {"message": "ValueError: \\u00e4", "extraInfo": more}
        json.dump({"message": message, "x": "y"}, file)
    sys.exit(3)
signal.pause()
"""


def test_the_root_failure_reaches_the_launchers_error_file(launchers: Launchers) -> None:
    script = launchers.script(RECORDED)
    seen = []
    for which in ("theirs", "ours"):
        own = launchers.folder / f"{which}.json"
        run = launchers.theirs if which == "theirs" else launchers.ours
        assert run("--nproc-per-node=2", script, TORCHELASTIC_ERROR_FILE=str(own)).returncode == 1
        seen.append(json.loads(own.read_text()))
    assert seen[0]["message"]["errorCode"] == 3
    assert seen[1] == seen[0]


@pytest.mark.parametrize(
    ("program", "code"), [("exit 7", 7), ("kill -9 $$$$", -signal.SIGKILL)], ids=["exit", "signal"]
)
def test_a_failure_without_a_file_is_told_in_words(
    launchers: Launchers, program: str, code: int
) -> None:
    """torchrun writes nothing then."""
    own = launchers.folder / "own.json"
    done = launchers.ours("--no-python", "sh", "-c", program, TORCHELASTIC_ERROR_FILE=str(own))
    assert done.returncode == 1
    root = json.loads(own.read_text())["message"]
    assert root["errorCode"] == code
    assert "rank 0" in root["message"]


def test_a_signal_is_told_in_the_launchers_error_file(launchers: Launchers) -> None:
    own = launchers.folder / "own.json"
    with subprocess.Popen(
        [LAUNCHER, "torchrun", "--no-python", "sh", "-c", "echo up; sleep 600"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=launchers.env("ours", {"TORCHELASTIC_ERROR_FILE": str(own)}),
        text=True,
    ) as process:
        assert process.stdout and process.stdout.readline() == "up\n"
        process.terminate()
        assert process.wait(patience(40)) == 1
    said = json.loads(own.read_text())["message"]["message"]
    assert said == f"SignalException: Process {process.pid} got signal: 15"


# ---- the hang watchdog ----

WATCHED = """
import json, os, signal, time
path = os.environ["TORCHELASTIC_TIMER_FILE"]
def ask(scope, after, number=9):
    request = {"version": 1, "pid": os.getpid(), "scope_id": scope, "signal": number}
    request["expiration_time"] = time.time() + after if after >= 0 else after
    with open(path, "w") as file:
        file.write(json.dumps(request) + "\\n")
ask("taken back", 0.3)
ask("taken back", -1)
ask("only a note", 0.01, -1)
if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    ask("later", 600)
    ask("one step", 0.2)
    signal.pause()
os.write(1, f"ended {path}\\n".encode())  # at once: two ranks write
"""
WATCHED_BY_TORCH = """
import os, signal, sys
from torch.distributed.elastic import timer
path = os.environ["TORCHELASTIC_TIMER_FILE"]
timer.configure(timer.FileTimerClient(path, signal.SIGKILL))
with timer.expires(after=600, scope="taken back"):
    pass
if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    with timer.expires(after=0.2, scope="one step"):
        signal.pause()
os.write(1, f"ended {path}\\n".encode())  # at once: two ranks write
"""


@pytest.mark.parametrize(
    ("text", "given"),
    [
        pytest.param(WATCHED, True, id="path"),
        pytest.param(WATCHED, False, id="no path"),
        pytest.param(WATCHED_BY_TORCH, False, id="torch", marks=pytest.mark.slow),
    ],
)
def test_a_rank_that_hangs_is_ended_and_started_again(
    launchers: Launchers, text: str, given: bool
) -> None:
    """torchrun ends itself too: there is nobody left to start the rank again."""
    path = launchers.folder / "timers"
    more = {"TORCHELASTIC_ENABLE_FILE_TIMER": "1"}
    if given:
        more["TORCHELASTIC_TIMER_FILE"] = str(path)
    script = launchers.script(text)
    done = launchers.ours("--nproc-per-node=2", "--max-restarts=1", script, **more)
    assert done.returncode == 0, done.stderr
    assert re.search(r'rank 1 \(pid \d+\): its hang timer "one step" expired', done.stderr)
    used = {line.removeprefix("ended ") for line in done.stdout.splitlines()}
    assert len(used) == 1
    assert not given or used == {str(path)}
    assert not os.path.exists(used.pop()), "the pipe goes with the launcher"


def test_a_process_of_somebody_else_is_left_alone(launchers: Launchers) -> None:
    other = subprocess.Popen(["sleep", "600"])
    request = {"pid": other.pid, "scope_id": "x", "expiration_time": 1, "signal": 9}
    script = launchers.script(
        "import json, os, signal\n"
        "fd = os.open(os.environ['TORCHELASTIC_TIMER_FILE'], os.O_WRONLY)\n"
        f"other = {request!r}\n"
        "own = other | {'pid': os.getpid()}\n"
        "os.write(fd, b'nonsense\\n' + b'x' * 9000 + b'\\n')\n"
        "for request in (other, own):\n"
        "    os.write(fd, (json.dumps(request) + '\\n').encode())\n"
        "while True:\n    signal.pause()\n"
    )
    try:
        done = launchers.ours(script, TORCHELASTIC_ENABLE_FILE_TIMER="1")
        assert done.returncode == 1
        assert 'its hang timer "x" expired' in done.stderr
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
