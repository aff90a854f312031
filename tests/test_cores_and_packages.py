"""place.pin_cpus: cores that no other task is bound to, on the whole machine; inputs.requirements:
packages of a file that lies in the job's code or data."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from conftest import Starter
from harness import Server, alone, wait_for

pytestmark = pytest.mark.sanitizer

CORES = len(os.sched_getaffinity(0))
SHOW = "grep Cpus_allowed_list /proc/self/status"


def pinned(name: str, cpus: int, run: str, replicas: int = 1) -> str:
    return f"""
muster: 1
name: {name}
place: {{pin_cpus: true}}
roles:
  worker:
    replicas: {replicas}
    run: {run!r}
    resources: {{cpu: {cpus}, memory: 100Mi}}
"""


def cores_of(server: Server, job: int, task: str) -> set[int]:
    found: set[int] = set()
    for part in server.log(job, task).split()[-1].split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


@pytest.mark.skipif(CORES < 2, reason="two cores are needed")
def test_cores_of_its_own(start: Starter) -> None:
    with alone("cores"):
        bind_cores(start)


def bind_cores(start: Starter) -> None:
    server, other = start(nodes="1x64cpu,8Gi"), start(nodes="1x64cpu,8Gi")
    held = server.submit(pinned("held", 1, f"{SHOW}; sleep 600", replicas=CORES - 1))
    tasks = [f"worker/{i}" for i in range(CORES - 1)]
    wait_for(lambda: all("list" in server.log(held, task) for task in tasks), 20, "cores")
    taken = [cores_of(server, held, task) for task in tasks]
    assert all(len(cores) == 1 for cores in taken)
    held_cores = set[int]().union(*taken)
    assert len(held_cores) == CORES - 1
    last = other.submit(pinned("last", 1, SHOW))
    other.wait(last, "succeeded")
    assert not cores_of(other, last, "worker/0") & held_cores
    more = other.submit(pinned("more", 2, SHOW))
    other.wait(more, "succeeded")
    said = [r["text"] for r in other.records(more) if r["stream"] == "muster"]
    text = f"not bound to cores: 2 cores of its own are wanted, 1 of {CORES} are free"
    assert any(text in line for line in said), said
    assert len(cores_of(other, more, "worker/0")) == CORES
    server.stop(held)
    server.wait(held, "stopped")
    again = other.submit(pinned("again", CORES, SHOW))
    other.wait(again, "succeeded")
    assert len(cores_of(other, again, "worker/0")) == CORES
    assert not [r for r in other.records(again) if r["stream"] == "muster"]


def wheel(folder: Path) -> Path:
    path = folder / "mustercores-1.0-py3-none-any.whl"
    info = "mustercores-1.0.dist-info"
    texts = {
        "mustercores.py": "WORD = 'from the file'\ndef main():\n    print('as a program')\n",
        f"{info}/entry_points.txt": "[console_scripts]\nmustercores = mustercores:main\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: mustercores\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as out:
        for name, text in texts.items():
            out.writestr(name, text)
    return path


@pytest.mark.trains
def test_packages_are_kept(start: Starter, tmp_path: Path) -> None:
    """What the same words installed is there for the next job, its programs too."""
    server = start(nodes="2x16cpu,8Gi")
    index = tmp_path / "index"
    index.mkdir()
    wheel(index)
    text = f"""
muster: 1
name: kept
inputs: {{python: [mustercores]}}
roles:
  w:
    replicas: 2
    run: |
      python -c 'import mustercores; print(mustercores.WORD)'
      mustercores
      head -1 $(command -v mustercores)
    env: {{PIP_NO_INDEX: '1', PIP_FIND_LINKS: {index}}}
place: {{spread: [w]}}
"""
    first = server.submit(text)
    assert server.wait(first)["state"] == "succeeded", server.log(first)
    (index / "mustercores-1.0-py3-none-any.whl").unlink()
    second = server.submit(text)
    assert server.wait(second)["state"] == "succeeded", server.records(second)
    for number in (first, second):
        for task in ("w/0", "w/1"):
            word, said, program = server.log(number, task).splitlines()
            assert (word, said) == ("from the file", "as a program")
            assert f"runs/{number}/" in program
    other = server.submit(text.replace("[mustercores]", "['mustercores==1.0']"))
    assert server.wait(other)["state"] == "failed"
    kept = [p.name for p in (server.state / "packages").iterdir()]
    assert len(kept) == 1 and not kept[0].startswith("."), kept


@pytest.mark.trains
def test_packages_of_a_file(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="1x16cpu,8Gi")
    code = tmp_path / "code"
    code.mkdir()
    (code / "requirements.txt").write_text(f"{wheel(tmp_path)}\n")
    text = f"""
muster: 1
name: packages
inputs:
  code: {{dir: {code}}}
  requirements: code/requirements.txt
run: python -c 'import mustercores; print(mustercores.WORD)'
"""
    number = server.submit(text)
    assert server.wait(number)["state"] == "succeeded", server.log(number)
    assert server.log(number) == "from the file\n"
    number = server.submit(text.replace("code/req", "code/no-req"))
    assert server.wait(number)["state"] == "failed"
    said = "".join(r["text"] for r in server.records(number) if r["stream"] == "muster")
    assert "code/no-requirements.txt is not there: nothing is installed from it" in said
    (code / "requirements.txt").write_text("no-such-package-of-muster @ file:///nowhere.whl\n")
    number = server.submit(text)
    job = server.wait(number)
    assert job["state"] == "failed" and "pip install failed" in job["reason"], job
