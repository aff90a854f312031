"""Conversions lose nothing in silence: through the native form a job is the same, and through
another system's format all of it is the same but what was listed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from harness import ROOT, Done, muster

GOLDEN = ROOT / "tests/golden"
CASES = ROOT.parent / "shared/cases"
SUFFIXES = (".json", ".yaml", ".params", ".native")
FOLDERS = [*(GOLDEN / name for name in ("openpai", "dlc", "elasticjob")), CASES, ROOT / "examples"]
FILES = sorted(p for folder in FOLDERS for p in folder.rglob("*") if p.suffix in SUFFIXES)
LISTED = re.compile(r"warning: (\S+) ")


@cache
def convert(to: str, path: Path, *more: str) -> Done:
    return muster("convert", *more, "--to", to, path, state=Path("/nonexistent/state"))


def native(path: Path) -> Any:
    """The job in the native form; None for a text that is refused, and was to be."""
    done = convert("native", path, "--json")
    if done.returncode == 2:
        return None
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@cache
def targets() -> tuple[str, ...]:
    """Formats that are written."""
    hello = ROOT / "examples/native/hello.yaml"
    known = ("dlc", "elasticjob", "openpai-v1", "openpai-v2")
    said = {name: convert(name, hello).stderr for name in known}
    found = [n for n, text in said.items() if not re.search("is only read|is no format", text)]
    assert {"dlc", "elasticjob", "openpai-v1"} <= set(found)
    return tuple(found)


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from leaves(value, f"{path}.{key}" if path else key)
    else:
        yield path, tree


def changed(before: Any, after: Any) -> set[str]:
    """Paths whose values are not the same."""
    old, new = dict(leaves(before)), dict(leaves(after))
    return {p for p in old.keys() | new.keys() if (p in old, old.get(p)) != (p in new, new.get(p))}


def covers(listed: str, path: str) -> bool:
    """The path itself, what it is a part of, or a part that is a whole in the other form."""
    return any(a == b or a.startswith(f"{b}.") for a, b in ((path, listed), (listed, path)))


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_nothing_is_lost_in_silence(path: Path, tmp_path: Path) -> None:
    job = native(path)
    if job is None:
        assert "error" in convert("native", path).stderr
        return
    again = tmp_path / "again.yaml"
    again.write_text(convert("native", path).stdout)
    assert native(again) == job, "text, job, native, job"
    for to in targets():
        done = convert(to, path)
        if done.returncode:
            assert "in " in done.stderr and "was not converted" in done.stderr, done.stderr
            continue
        there = tmp_path / f"there-{to}.yaml"
        there.write_text(done.stdout)
        back = native(there)
        assert back is not None, f"{to} does not read what it wrote:\n{done.stdout}"
        listed = set(LISTED.findall(done.stderr))
        silent = {p for p in changed(job, back) if not any(covers(one, p) for one in listed)}
        assert not silent, f"{to}: {silent}\n{done.stderr}\n{done.stdout}"


def test_most_jobs_can_be_said_everywhere() -> None:
    refused = []
    good = [p for p in FILES if native(p) is not None]
    assert len(good) > 40
    for path in good:
        for to in targets():
            if convert(to, path).returncode:
                refused.append(f"{path.name} as {to}")
    assert len(refused) <= len(good) * 3 // 20, refused


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if p.parent.name == "dlc" and p.suffix in (".json", ".params")],
    ids=lambda p: p.name,
)
def test_a_dlc_job_is_the_same_dlc_job_again(path: Path, tmp_path: Path) -> None:
    job = native(path)
    if job is None:
        return
    own = tmp_path / "job.yaml"
    own.write_text(convert("native", path).stdout)
    done = convert("dlc", own)
    assert not LISTED.findall(done.stderr), done.stderr
    back = tmp_path / "back.json"
    back.write_text(done.stdout)
    assert native(back) == job


@pytest.mark.parametrize("name", ["gang.yaml", "pod-group.yaml", "servers.yaml", "suspended.yaml"])
def test_an_elastic_job_is_the_same_again(name: str, tmp_path: Path) -> None:
    job = native(GOLDEN / "elasticjob" / name)
    own = tmp_path / "job.yaml"
    own.write_text(convert("native", GOLDEN / "elasticjob" / name).stdout)
    done = convert("elasticjob", own)
    assert done.returncode == 0 and not LISTED.findall(done.stderr), done.stderr
    back = tmp_path / "back.yaml"
    back.write_text(done.stdout)
    assert native(back) == job
