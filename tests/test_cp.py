"""muster cp: files and directories between here and a running task, over the connection of exec."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from harness import Server, native


@pytest.fixture
def number(server: Server) -> Iterator[int]:
    """A job whose only task has a directory of its own."""
    one = server.submit(native("cp", "sleep 600"))
    server.wait(one, "running")
    yield one
    server.stop(one, now=True)
    server.wait(one, "stopped")


def inside(server: Server, number: int, text: str, stdin: str = "") -> str:
    done = server.muster("exec", number, "--", "sh", "-c", text, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tree(folder: Path) -> Path:
    """Of what there is: more than any pipe holds, nothing, a program, a link."""
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/er/big").write_bytes(os.urandom(20_000_000))
    (folder / "empty").touch()
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    (folder / "link").symlink_to("deep/er")
    return folder


def sums(folder: Path) -> dict[str, str]:
    files = [one for one in folder.rglob("*") if one.is_file() and not one.is_symlink()]
    return {str(f.relative_to(folder)): sha256(f.read_bytes()).hexdigest() for f in files}


@pytest.mark.sanitizer
def test_a_directory_there_and_back(server: Server, number: int, tmp_path: Path) -> None:
    sent = tree(tmp_path / "sent")
    assert server.muster("cp", str(sent), f"{number}:").returncode == 0
    assert inside(server, number, "ls -A; readlink sent/link") == "sent\ndeep/er\n"
    done = server.muster("cp", f"{number}/worker/0:sent/", str(tmp_path / "back"))
    assert done.returncode == 0, done.stderr
    back = tmp_path / "back"
    assert sums(back) == sums(sent)
    assert (back / "run").stat().st_mode & 0o777 == 0o755
    assert (back / "link").readlink() == Path("deep/er")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["back", "sent"]


def test_files_get_the_name_that_is_given(server: Server, number: int, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.write_text("one")
    assert server.muster("cp", str(here), f"{number}:there").returncode == 0
    here.write_text("two")
    assert server.muster("cp", str(here), f"{number}:there").returncode == 0
    assert inside(server, number, "cat there; rm there; ls -A") == "two"
    inside(server, number, "mkdir d; echo three > d/x")
    for target, found in ((tmp_path, "x"), (tmp_path / "y", "y")):
        assert server.muster("cp", f"{number}:d/x", str(target)).returncode == 0
        assert (tmp_path / found).read_text() == "three\n"
    assert server.muster("cp", f"{number}:d/x", str(here)).returncode == 0
    assert here.read_text() == "three\n"


def test_what_is_in_the_way_stays(server: Server, number: int, tmp_path: Path) -> None:
    inside(server, number, "mkdir -p d/sent; echo kept > d/sent/x")
    sent = tmp_path / "sent"
    sent.mkdir()
    (sent / "y").touch()
    done = server.muster("cp", str(sent), f"{number}:d")
    assert done.returncode == 1 and "d/sent is a directory there" in done.stderr, done.stderr
    assert inside(server, number, "ls -A d d/sent") == "d:\nsent\n\nd/sent:\nx\n"
    done = server.muster("cp", f"{number}:d/sent", str(tmp_path))
    assert done.returncode != 0 and "is a directory here" in done.stderr, done.stderr
    assert [one.name for one in sent.iterdir()] == ["y"]


def test_what_is_not_there(server: Server, number: int, tmp_path: Path) -> None:
    done = server.muster("cp", f"{number}:gone", str(tmp_path))
    assert done.returncode != 0 and "gone" in done.stderr, done.stderr
    done = server.muster("cp", str(tmp_path / "gone"), f"{number}:")
    assert done.returncode != 0 and "gone" in done.stderr, done.stderr
    done = server.muster("cp", f"{number}/nobody/0:x", str(tmp_path))
    assert done.returncode != 0 and 'has no task "nobody/0"' in done.stderr, done.stderr
    done = server.muster("cp", f"{number}:x", str(tmp_path / "no/such"))
    assert done.returncode != 0 and f"{tmp_path}/no: No such file" in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []
    assert inside(server, number, "ls -A") == ""


@pytest.mark.parametrize(
    "words", [("a", "b"), ("1:a", "2:b"), ("1:.", "b"), ("1:a",), ("1:a/..", "b"), ("a", "..")]
)
def test_what_is_no_copy(server: Server, words: tuple[str, ...]) -> None:
    done = server.muster("cp", *words)
    assert done.returncode == 2 and done.stderr.startswith("error: "), done.stderr


def test_a_directory_that_is_not_there_is_named(
    server: Server, number: int, tmp_path: Path
) -> None:
    nowhere = tmp_path / "nowhere"
    here = server.muster("cp", f"{number}:x", nowhere / "x")
    assert here.returncode != 0 and f"{nowhere}: No such file" in here.stderr, here.stderr
    source = tmp_path / "y"
    source.touch()
    there = server.muster("cp", source, f"{number}:{nowhere}/y")
    assert there.returncode == 1 and f"{nowhere} is no directory there" in there.stderr, there


def test_a_task_cannot_write_elsewhere_here(server: Server, number: int, tmp_path: Path) -> None:
    """Whatever its tar is."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("../evil"), io.BytesIO())
    evil = tmp_path / "archive"
    evil.write_bytes(packed.getvalue())
    tar = tmp_path / "bin/tar"
    tar.parent.mkdir()
    tar.write_text(f"#!/bin/sh\ncat {evil}\n")
    tar.chmod(0o755)
    env = {"PATH": f"{tar.parent}:/usr/bin:/bin"}
    other = server.submit(native("evil", "sleep 600", env=env))
    server.wait(other, "running")
    into = tmp_path / "into"
    into.mkdir()
    done = server.muster("cp", f"{other}:x", str(into))
    assert done.returncode != 0 and '"../evil" has .. in its path' in done.stderr, done.stderr
    assert list(into.iterdir()) == [] and not (tmp_path / "evil").exists()
    server.stop(other, now=True)
    server.wait(other, "stopped")
