"""make install and make uninstall: each PREFIX has what was put there, and loses just that."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from harness import ROOT, muster, patience, program

pytestmark = pytest.mark.skipif(
    program() != ROOT / "build/release/muster", reason="what is installed is build/release"
)


def make(*words: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    return subprocess.run(
        ["make", *words], cwd=ROOT, env=env, capture_output=True, text=True, timeout=patience(),
        check=False,
    )  # fmt: skip


def good(*words: str) -> str:
    done = make(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()[-1]


def files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir()}


def test_each_prefix_has_its_own(tmp_path: Path) -> None:
    """Two in turn: the second is not the first, and each goes by itself."""
    one, other = tmp_path / "one", tmp_path / "other"
    for prefix in (one, other):
        assert good("install", f"PREFIX={prefix}") == f"installed {prefix}/bin/muster"
    assert files(one) == files(other)
    assert {
        "bin/muster",
        "libexec/muster/muster-node",
        "libexec/muster/muster-node.xz",
        "libexec/muster/torchrun/torchrun",
    } <= files(one)
    assert {"share/man/man1/muster.1", "share/fish/vendor_completions.d/muster.fish"} <= files(one)
    listed = re.findall(r"^  ([a-z][a-z-]*)  +\w", muster("help").stdout, re.M)
    pages = {f"share/man/man1/muster-{verb}.1" for verb in listed}
    assert len(pages) > 30
    assert pages | {"share/man/man1/muster.1"} == {p for p in files(one) if "/man1/" in p}
    assert {"share/doc/muster/README.md", "share/doc/muster/doc/operating.md"} <= files(one)
    assert not [path for path in files(one) if "__pycache__" in path]
    said = subprocess.run(
        [one / "bin/muster", "version"], capture_output=True, text=True, check=True
    )
    assert said.stdout.startswith("muster ")
    # What others put beside it stays, with its folders; what Python kept of ours goes.
    mine = [one / "bin/mine", one / "share/muster/examples/mine.yaml", one / "share/doc/x/y"]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    module = next(one.rglob("share/muster/python/**/__init__.py"))
    subprocess.run(
        ["python3", "-c", f"import py_compile; py_compile.compile({str(module)!r})"], check=True
    )
    assert good("uninstall", f"PREFIX={one}").endswith(f" files from {one}")
    assert files(one) == {str(path.relative_to(one)) for path in mine}
    assert not (one / "libexec").exists()
    good("uninstall", f"PREFIX={other}")
    assert not other.exists(), "it was made for it"
    done = make("uninstall", f"PREFIX={other}")
    assert done.returncode != 0 and f"nothing of muster is installed in {other}" in done.stderr


def test_a_stage_for_packages(tmp_path: Path) -> None:
    stage = tmp_path / "stage"
    (stage / "usr").mkdir(parents=True)
    where = ["PREFIX=/usr/local", f"DESTDIR={stage}"]
    assert good("install", *where) == f"installed {stage}/usr/local/bin/muster"
    assert str(stage) not in (stage / "usr/local/share/muster/installed").read_text()
    good("uninstall", *where)
    assert [str(p.relative_to(stage)) for p in stage.rglob("*")] == ["usr"], "it was there before"


def test_a_newer_one_takes_what_only_the_older_had(tmp_path: Path) -> None:
    prefix = tmp_path / "p"
    good("install", f"PREFIX={prefix}")
    before = files(prefix)
    listed = prefix / "share/muster/installed"
    old = prefix / "share/man/man1/muster-old.1"
    old.write_text("of the older one")
    listed.write_text(listed.read_text() + "file share/man/man1/muster-old.1\n")
    good("install", f"PREFIX={prefix}")
    assert files(prefix) == before
    good("uninstall", f"PREFIX={prefix}")
    assert not prefix.exists()


def test_what_is_no_place(tmp_path: Path) -> None:
    done = make("install", "PREFIX=relative/path")
    assert done.returncode != 0 and "PREFIX is a whole path" in done.stderr
    bad = tmp_path / "share/muster/installed"
    bad.parent.mkdir(parents=True)
    bad.write_text("file ../../../etc/passwd\n")
    done = make("uninstall", f"PREFIX={tmp_path}")
    assert done.returncode != 0 and "not a list of what was installed" in done.stderr
