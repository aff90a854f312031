"""The Makefile: what is built does not depend on what was made before, and every target runs from a
clean clone."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import ROOT, VENV, patience

# A package that is not there yet; a build that is only configured.
PKG_CONFIG = """#!/bin/sh
case " $* " in *" cmocka "*) [ -e {there} ] || exit 1 ;; esac
exec {real} "$@"
"""
NINJA = """#!/bin/sh
case " $* " in *" product "*) exit 0 ;; esac
exec {real} "$@"
"""


def clone(folder: Path) -> Path:
    """What git has of this tree, with what is changed in it."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    return folder


def environment(**more: str) -> dict[str, str]:
    ours = ("MAKE", "MFLAGS", "MUSTER_")
    return {**{k: v for k, v in os.environ.items() if not k.startswith(ours)}, **more}


def make(tree: Path, *words: str, **env: str) -> str:
    done = subprocess.run(
        ["make", *words], cwd=tree, env=environment(**env), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=patience(1800), check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"make {' '.join(words)}: {done.stdout[-4000:]}"
    return done.stdout


def stand_in(folder: Path, name: str, text: str, **words: object) -> None:
    real = shutil.which(name)
    assert real
    path = folder / name
    path.write_text(text.format(real=real, **words))
    path.chmod(0o755)


def targets(tree: Path) -> set[str]:
    said = subprocess.run(
        ["meson", "introspect", "--targets", "build/release"], cwd=tree, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return {target["name"] for target in json.loads(said.stdout)}


@pytest.mark.slow
def test_packages_that_come_later_are_seen(tmp_path: Path) -> None:
    """The tree was built before those of the tests were there."""
    if subprocess.run(["pkg-config", "--exists", "cmocka"], check=False).returncode:
        pytest.skip("libcmocka-dev is not here: tools/setup lint installs it")
    tree, tools, there = clone(tmp_path / "tree"), tmp_path / "tools", tmp_path / "there"
    tools.mkdir()
    stand_in(tools, "pkg-config", PKG_CONFIG, there=there)
    stand_in(tools, "ninja", NINJA)
    path = f"{tools}:{os.environ['PATH']}"
    needing = {"explain_load", "plan_digest", "test_sched_plan"}
    make(tree, "build-release", PATH=path)
    assert "sched_load" in targets(tree) and not needing & targets(tree)
    there.touch()
    make(tree, "build-release", PATH=path)
    assert needing < targets(tree)
    before = (tree / "build/release/meson-logs/meson-log.txt").stat().st_mtime_ns
    make(tree, "build-release", PATH=path)
    assert (tree / "build/release/meson-logs/meson-log.txt").stat().st_mtime_ns == before


def lend(tree: Path) -> None:
    """What tools/setup installs for a tree, of this one: nothing is fetched again."""
    (tree / ".venv").mkdir()
    for path in VENV.parent.iterdir():
        if not path.name.startswith(".muster-"):
            (tree / ".venv" / path.name).symlink_to(path)
    clients = tree / "build/clients"
    clients.mkdir(parents=True)
    for path in (ROOT / "build/clients").glob("*/"):
        (clients / path.name).mkdir()
        for inner in path.iterdir():
            if not inner.name.startswith(".muster-") or path.name in ("npm", "kubectl"):
                (clients / path.name / inner.name).symlink_to(inner)
    marks = {".venv/.muster-examples": "", ".venv/.muster-dev": "-dev"}
    names = ("dlc", "dlc-newest", "s3", "node", "ray", "trainers")
    marks |= {f"build/clients/{name}/.muster": f"-{name}" for name in names}
    for mark, name in marks.items():
        said = (tree / f"tools/requirements{name}.txt").read_bytes() + f"{tree}\n".encode()
        file = tree / f"{mark}-{hashlib.sha256(said).hexdigest()[:16]}"
        if file.parent.is_dir():
            file.touch()
    activate = (VENV / "activate").read_text()
    (tree / ".venv/bin").unlink()
    (tree / ".venv/bin").mkdir()
    for path in VENV.iterdir():
        (tree / ".venv/bin" / path.name).symlink_to(path)
    (tree / ".venv/bin/activate").unlink()
    (tree / ".venv/bin/activate").write_text(activate.replace(str(VENV.parent), f"{tree}/.venv"))


# Twice from nothing; after that in an order in which each finds what the one before left.
WALK = (
    "help", "bench ONLY=sched", "clean", "seeds",
    "torture KILLS=3 TIMES=1 ONLY=gone SEEDS=4000", "torture-machines FAULTS=3",
    "torture-slurm FAULTS=1 SEED=1", "chaos",
    "install PREFIX={prefix}", "uninstall PREFIX={prefix}", "demo", "format",
    "lint ONLY=layers", "lint-all ONLY=shellcheck", "fuzz SECONDS_PER_TARGET=1", "check ONLY=unit",
    "check-all ONLY=build", "build", "sbom", "clean",
)  # fmt: skip


@pytest.mark.timeout(3600)
@pytest.mark.slow
def test_every_target_runs_from_a_clean_clone(tmp_path: Path) -> None:
    tree, prefix = clone(tmp_path / "tree"), tmp_path / "prefix"
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tree, check=True)
    lend(tree)
    shown = {line.split()[1] for line in make(tree, "help").splitlines()}
    assert shown == {line.split()[0] for line in WALK}
    for line in WALK:
        print(f"$ make {line}", make(tree, *line.format(prefix=prefix).split())[-300:], sep="\n")
    changed = subprocess.run(
        ["git", "diff", "--stat"], cwd=tree, capture_output=True, text=True, check=True
    )
    assert changed.stdout == "", "make format finds nothing to do"
