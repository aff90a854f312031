"""A real server records; the replay decides the same, parts where an option is another one, and
says where a recording is cut."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from conftest import Starter
from harness import Done, Json, muster, native

NOWHERE = Path("/nonexistent/state")


def replay(recording: Path, *more: str) -> Done:
    return muster("replay", recording, *more, state=NOWHERE)


def lines(recording: Path, *more: str) -> list[Json]:
    return [json.loads(line) for line in replay(recording, "--json", *more).stdout.splitlines()]


def test_a_recorded_server_is_replayed(start: Starter, tmp_path: Path) -> None:
    recording = tmp_path / "rec"
    server = start(nodes="1x4cpu,8Gi", flags=("--record", str(recording)))
    whole = {"cpu": 4}
    first = server.submit(native("first", "sleep 600", resources=whole))
    server.wait(first, "running")
    fails = server.submit(native("fails", "exit 3", resources=whole))
    later = server.submit(native("later", "true", resources=whole))
    stopped = server.submit(native("stopped", "true", resources=whole))
    server.stop(stopped)
    server.kill()  # the recording goes on in another segment
    server.start()
    server.stop(first, now=True)
    server.wait(fails, "failed")
    server.wait(later, "succeeded")
    server.end()
    assert recording.stat().st_mode & 0o777 == 0o700
    for file in recording.glob("*/*"):
        assert file.stat().st_mode & 0o777 == 0o600
    key = (server.state / "agent.key").read_bytes()
    for file in recording.glob("*/*"):
        assert key not in file.read_bytes() and key.hex().encode() not in file.read_bytes()

    done = replay(recording)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "same as recorded" in done.stdout
    assert f"job {fails} (fails) waits: " in done.stdout
    assert "allocated: 1 task on n1 [n1]" in done.stdout
    told = lines(recording)
    assert told[-1]["verdict"] == "same" and told[-1]["complete"]
    assert told[-1]["segments"] == 2

    wait = next(one for one in told if one.get("what") == "waits")
    then = replay(recording, "--quiet", "--at", str(wait["input"])).stdout
    assert "queued" in then and wait["text"] in then

    other = replay(recording, "--quiet", "--set", "default_run=1h")
    assert other.returncode == 0
    assert "the decisions part at input" in other.stdout and "promised: by" in other.stdout
    assert replay(recording, "--set", "nonsense=1").returncode == 2

    cut = tmp_path / "cut"
    shutil.copytree(recording, cut)
    inputs = cut / "000002" / "inputs"
    inputs.write_bytes(inputs.read_bytes()[:-7])
    broken = replay(cut, "--quiet")
    assert broken.returncode == 2
    assert "000002/inputs: byte " in broken.stderr and "it is cut" in broken.stderr
    assert "complete inputs before it were replayed, as recorded" in broken.stderr
