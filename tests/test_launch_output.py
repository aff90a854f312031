"""What the launcher does with the output of ranks, beside the real torchrun: the same files, the
same prefixes, the same lines; and what torchrun does not have: last lines in the summary, a console
that takes nothing, one that is gone.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import VENV, alive, kill, parent, patience, processes, program, wait_for
from warm_torch import WarmTorch

OURS = (str(program().resolve().with_name("muster-node")), "torchrun")
LIMIT = 60.0

SPEAKER = """\
import os, sys
rank = os.environ["RANK"]
for i in range(3):  # one write for each: Python is unbuffered here, and print would make two
    sys.stdout.write(f"out {i} of {rank}, apple {i}\\n")
    sys.stderr.write(f"err {i} of {rank}, pear {i}\\n")
sys.stdout.write(f"10%\\r20%\\r\\nlast line of {rank}\\n")
"""


@dataclass
class Run:
    rc: int
    out: str
    err: str
    files: dict[str, str]


def contents(base: Path) -> dict[str, str]:
    """Files below base: path with the random part of the run's directory replaced, and text."""
    found = {}
    for path in sorted(p for p in base.rglob("*") if p.is_file()):
        name = re.sub(r"^[^/]+_[a-z0-9_]{8}/", "RUN/", str(path.relative_to(base)))
        found[name] = path.read_text()
    return found


def run(torch: WarmTorch | None, place: Path, *args: str, script: str = SPEAKER) -> Run:
    """The given torchrun runs the script, or ours when there is none."""
    place.mkdir(parents=True)
    (place / "speak.py").write_text(script)
    logs = place / "logs"
    logs.mkdir()
    words = ["--log-dir", str(logs), *args, str(place / "speak.py")]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PATH": f"{VENV}:{os.environ['PATH']}"}
    if torch:
        done = torch.torchrun(words, env)
    else:
        done = subprocess.run(
            [*OURS, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience(LIMIT),
            check=False,
            env=env,
        )
    return Run(done.returncode, done.stdout, done.stderr, contents(logs))


def lines_of(text: str) -> list[str]:
    """Lines of ranks, in an order that does not depend on who was faster."""
    return sorted(line for line in text.splitlines() if re.search(r" \d of \d|%|last line", line))


def copies(files: dict[str, str]) -> dict[str, list[str]]:
    return {name: sorted(text.splitlines()) for name, text in files.items()}


FLAGS = {
    "nothing": [],
    "redirect": ["-r", "3"],
    "redirect some": ["-r", "0:1,1:2"],
    "tee": ["-t", "3"],
    "tee some": ["-t", "0:3,1:1"],
    "tee and redirect": ["-t", "1", "-r", "2"],
    "ranks filter": ["--local-ranks-filter", "1"],
    "ranks filter, tee": ["-t", "3", "--local-ranks-filter", "0"],
    "ranks filter, redirect": ["-r", "1", "--local-ranks-filter", "0"],
    "filters": [
        *["-t", "3", "--duplicate-stdout-filters", "apple 1,apple 2"],
        *["--duplicate-stderr-filters", "pear 0"],
    ],
    "filters without a match": ["-t", "1", "--duplicate-stdout-filters", "cherry"],
    "role": ["-t", "1", "--role", "trainer"],
}


@pytest.mark.parametrize("case", list(FLAGS))
def test_same_files_and_lines_as_torchrun(case: str, tmp_path: Path, torch: WarmTorch) -> None:
    args = ["--nproc-per-node", "2", *FLAGS[case]]
    ours = run(None, tmp_path / "ours", *args)
    theirs = run(torch, tmp_path / "theirs", *args)
    assert (ours.rc, theirs.rc) == (0, 0), ours.err + theirs.err
    assert copies(ours.files) == copies(theirs.files)
    assert lines_of(ours.out) == lines_of(theirs.out)
    assert lines_of(ours.err) == lines_of(theirs.err)


def test_prefix_template_as_torchrun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch: WarmTorch
) -> None:
    monkeypatch.setenv("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "<${role_name} $rank>")
    args = ["--nproc-per-node", "2", "-t", "1"]
    ours, theirs = run(None, tmp_path / "ours", *args), run(torch, tmp_path / "theirs", *args)
    assert lines_of(ours.out) == lines_of(theirs.out)
    assert "<default 1>last line of 1" in ours.out


def test_error_file_lies_where_torchrun_puts_it(tmp_path: Path, torch: WarmTorch) -> None:
    script = (
        "from torch.distributed.elastic.multiprocessing.errors import record\n"
        "@record\ndef main():\n    raise ValueError('batch is empty')\nmain()\n"
    )
    ours = run(None, tmp_path / "ours", script=script)
    theirs = run(torch, tmp_path / "theirs", script=script)
    assert (ours.rc, theirs.rc) == (1, 1)
    assert list(ours.files) == list(theirs.files) == ["RUN/attempt_0/0/error.json"]
    assert "ValueError: batch is empty" in ours.err.split("speak.py failed: rank 0")[1]


def test_summary_has_the_last_lines_of_stderr(tmp_path: Path) -> None:
    script = (
        "import os, sys, time\n"
        "if os.environ['RANK'] != '1':\n    time.sleep(600)\n"
        "print('one\\nlast words', file=sys.stderr)\nsys.exit(7)\n"
    )
    for way in ([], ["-r", "3"], ["-t", "3"]):
        place = tmp_path / ("ours" + "".join(way))
        ours = run(None, place, "--nproc-per-node", "3", *way, script=script)
        assert ours.rc == 1
        summary = ours.err[ours.err.index("speak.py failed: rank 1 (local rank 1") :]
        assert "exited with 7" in summary
        assert "  | one\n  | last words\n" in summary
        assert "2 other ranks were stopped because of it" in summary
        assert "--max-restarts 3 would have started it again" in summary
        assert len(summary.splitlines()) <= 24


def test_attempts_have_directories_of_their_own(tmp_path: Path, torch: WarmTorch) -> None:
    script = (
        "import os, sys\nn = os.environ['TORCHELASTIC_RESTART_COUNT']\n"
        "print('attempt', n)\nsys.exit(n == '0')\n"
    )
    args = ["--max-restarts", "1", "-r", "1"]
    ours = run(None, tmp_path / "ours", *args, script=script)
    theirs = run(torch, tmp_path / "theirs", *args, script=script)
    assert (ours.rc, theirs.rc) == (0, 0)
    assert ours.files == theirs.files
    assert ours.files["RUN/attempt_1/0/stdout.log"] == "attempt 1\n"


@dataclass
class Started:
    process: subprocess.Popen[bytes]
    place: Path


@pytest.fixture
def place() -> Iterator[Path]:
    path = Path(f"/tmp/muster-output-{os.getpid()}")
    path.mkdir()
    yield path
    shutil.rmtree(path)


def start(place: Path, script: str, *args: str, stdout: int, stderr: int) -> Started:
    (place / "speak.py").write_text(script)
    process = subprocess.Popen(
        [*OURS, "--log-dir", str(place / "logs"), *args, str(place / "speak.py")],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        cwd=place,
    )
    return Started(process, place)


FLOOD = """\
import os, sys
line = b"x" * 79 + b"\\n"
for i in range(256):
    sys.stdout.buffer.write(line * 13107)
open("written", "w").close()
"""


def stdout_full(pid: int) -> bool:
    """What this process writes to its standard output waits for a reader."""
    pipe = os.open(f"/proc/{pid}/fd/1", os.O_WRONLY | os.O_NONBLOCK)
    try:
        return not select.select([], [pipe], [], 0)[1]
    finally:
        os.close(pipe)


def rss_kb(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0])


def test_a_flood_needs_no_memory_and_waits_for_its_reader(place: Path) -> None:
    read_end, write_end = os.pipe()
    started = start(place, FLOOD, "-t", "1", stdout=write_end, stderr=subprocess.DEVNULL)
    os.close(write_end)
    pid = started.process.pid
    try:
        wait_for(lambda: stdout_full(pid), what="the launcher to wait for the reader")
        log = next(place.rglob("stdout.log"))
        children = [p for p in processes(str(place / "speak.py")) if parent(p) == pid]
        wait_for(lambda: any(map(stdout_full, children)), what="the rank to wait for the launcher")
        assert not (place / "written").exists()
        assert rss_kb(pid) < (200_000 if "asan" in OURS[0] else 16_000)
        total, most = 0, 0
        while chunk := os.read(read_end, 1 << 20):
            assert log.stat().st_size < total + (8 << 20), "it ran ahead of its reader"
            total += len(chunk)
            if alive(pid):
                most = max(most, rss_kb(pid))
        assert started.process.wait(patience(LIMIT)) == 0
        lines = 256 * 13107
        assert total == lines * (80 + len("[default0]:"))
        assert log.stat().st_size == lines * 80
        assert most < (200_000 if "asan" in OURS[0] else 24_000)
    finally:
        kill(pid)
        started.process.wait()
        os.close(read_end)


@pytest.mark.parametrize("way", ["reader gone", "closed"])
def test_a_launcher_without_console_goes_on(way: str, place: Path) -> None:
    script = (
        "import os, sys\n"
        "print('out', flush=True)\nprint('err', file=sys.stderr, flush=True)\n"
        "open('done', 'w').close()\n"
    )
    (place / "speak.py").write_text(script)
    words = " ".join([*OURS, "--log-dir", str(place / "logs"), "-t", "3", "speak.py"])
    shell = f"exec {words} >&- 2>&-"
    if way == "reader gone":
        shell = f"{{ {words}; echo $? > rc; }} 2>&1 | true"
    subprocess.run(["bash", "-c", shell], cwd=place, timeout=patience(LIMIT), check=way == "closed")
    wait_for((place / "done").exists, 10, "the rank's end")
    if way == "reader gone":
        wait_for(lambda: (place / "rc").exists() and (place / "rc").read_text() == "0\n", 10)
    texts = sorted(p.read_text() for p in place.rglob("std*.log"))
    assert texts == ["err\n", "out\n"]


def test_a_child_that_holds_the_pipe_does_not_hold_the_launcher(place: Path) -> None:
    script = (
        "import os, sys, time\n"
        "pid = os.fork()\n"
        "if pid == 0:\n    time.sleep(300)\n"
        "open('child', 'w').write(str(pid))\n"
        "sys.stderr.write('no line end')\nsys.stderr.flush()\nos._exit(3)\n"
    )
    (place / "speak.py").write_text(script)
    done = subprocess.run(
        [*OURS, "--log-dir", str(place / "logs"), str(place / "speak.py")],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=patience(LIMIT),
        check=False,
    )
    assert done.returncode == 1
    assert "  | no line end\n" in done.stderr
    child = int((place / "child").read_text())
    wait_for(lambda: not alive(child), what="what the rank left to be gone")


def test_progress_bars_show_while_they_grow(place: Path) -> None:
    script = (
        "import os, sys, time\n"
        "sys.stderr.write('\\r 50%')\nsys.stderr.flush()\n"
        "while not os.path.exists('seen'):\n    time.sleep(0.01)\n"
        "sys.stderr.write('\\r100%\\n')\n"
    )
    read_end, write_end = os.pipe()
    started = start(place, script, stdout=subprocess.DEVNULL, stderr=write_end)
    os.close(write_end)
    try:
        text = b""
        while b" 50%" not in text:
            chunk = os.read(read_end, 4096)
            assert chunk, text
            text += chunk
        (place / "seen").touch()
        while chunk := os.read(read_end, 4096):
            text += chunk
        assert b"\r 50%\r100%\n" in text
        assert started.process.wait(patience(LIMIT)) == 0
    finally:
        kill(started.process.pid, signal.SIGKILL)
        started.process.wait()
        os.close(read_end)


def test_no_files_with_dev_null(place: Path, torch: WarmTorch) -> None:
    (place / "speak.py").write_text("import os\nprint(repr(os.environ['TORCHELASTIC_ERROR_FILE']))")
    words = ["--log-dir", "/dev/null", "-t", "3", str(place / "speak.py")]
    ours = subprocess.run(
        [*OURS, *words], capture_output=True, text=True, timeout=patience(LIMIT), check=False
    )
    for done in (ours, torch.torchrun(words, os.environ)):
        assert (done.returncode, done.stdout) == (0, "''\n"), done.stderr


def test_temporary_directory_goes_when_nothing_is_in_it(place: Path) -> None:
    (place / "speak.py").write_text("import sys\nsys.exit(0)\n")
    tmp = place / "tmp"
    tmp.mkdir()
    env = {**os.environ, "TMPDIR": str(tmp)}
    command = [*OURS, str(place / "speak.py")]
    subprocess.run(command, env=env, timeout=patience(LIMIT), check=True)
    assert list(tmp.iterdir()) == []
    subprocess.run([*OURS, "-r", "1", command[-1]], env=env, timeout=patience(LIMIT), check=True)
    names = [str(p.relative_to(tmp)) for p in tmp.rglob("*.log")]
    assert len(names) == 1
    assert re.fullmatch(r"torchelastic_\w{8}/[^/]+_\w{8}/attempt_0/0/stdout.log", names[0])
