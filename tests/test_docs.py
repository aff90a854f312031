"""What the program says of itself: help, manual, completion, and the commands of README.md."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from harness import ROOT, muster, program

VERBS = (
    "server",
    "run",
    "submit",
    "check",
    "convert",
    "ls",
    "show",
    "logs",
    "events",
    "wait",
    "stop",
    "suspend",
    "resume",
    "rm",
    "exec",
    "cp",
    "attach",
    "nodes",
    "explain",
    "launch",
    "config",
    "schema",
    "simulate",
    "replay",
    "doctor",
    "env",
    "completion",
    "version",
    "open",
)


def test_help_lists_every_verb() -> None:
    done = muster("help")
    assert done.returncode == 0
    listed = set(re.findall(r"^\s+(?:muster )?([a-z]+)\b", done.stdout, re.M))
    assert not set(VERBS) - listed
    assert muster("--help").stdout == done.stdout
    bare = muster()
    assert bare.returncode == 2
    assert max(len(line) for line in done.stdout.splitlines()) <= 100


@pytest.mark.sanitizer
@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_explains_itself(verb: str) -> None:
    done = muster(verb, "--help")
    assert done.returncode == 0, done.stderr
    assert f"muster {verb}" in done.stdout
    examples = [line for line in done.stdout.splitlines() if line.strip().startswith("muster ")]
    assert len(examples) >= 2, "usage and at least one example"
    assert muster("help", verb).stdout == done.stdout


def test_typing_errors_are_understood() -> None:
    done = muster("submti")
    assert done.returncode == 2
    assert "submit" in done.stderr


def test_version() -> None:
    done = muster("version")
    assert done.returncode == 0
    assert re.search(r"\d+\.\d+\.\d+", done.stdout)
    assert muster("--version").stdout == done.stdout


def test_completion_knows_every_verb() -> None:
    for shell in ("bash", "zsh", "fish"):
        done = muster("completion", shell)
        assert done.returncode == 0, done.stderr
        for verb in VERBS:
            assert re.search(rf"\b{verb}\b", done.stdout), f"{shell} does not complete {verb}"


def test_manual_lists_every_verb() -> None:
    pages = sorted((ROOT / "doc").rglob("*.[1-8]"))
    text = "".join(page.read_text() for page in pages)
    if not text:
        done = muster("man")
        assert done.returncode == 0, "there is neither a manual in doc/ nor `muster man`"
        text = done.stdout
    plain = text.replace("\\-", "-")
    for verb in VERBS:
        assert re.search(rf"\b{verb}\b", plain), verb


def test_schema_is_json() -> None:
    done = muster("schema", "job")
    assert done.returncode == 0, done.stderr
    schema = json.loads(done.stdout)
    assert schema["properties"]["name"]
    assert "roles" in schema["properties"]


def test_doctor() -> None:
    done = muster("doctor")
    assert done.returncode in (0, 1), done.stderr
    for word in ("cgroup", "namespace", "disk"):
        assert word in done.stdout.lower(), word
    rows = json.loads(muster("doctor", "--json").stdout)
    assert rows


MAP = (ROOT / "ARCHITECTURE.md").read_text()


def part_of_map(begin: str, end: str) -> str:
    return MAP[MAP.index(f"\n## {begin}") : MAP.index(f"\n## {end}")]


def walk() -> str:
    """The life of a job."""
    return part_of_map("1. ", "Where it is decided")


def has_function(path: Path, name: str) -> bool:
    """A definition: it begins its line, and its body follows its parameters."""
    heads = re.finditer(
        rf"^(?![ #*/])[^;{{}}\n]*\b{name}\([^;{{}}]*\)\s*\{{", path.read_text(), re.M
    )
    return any(True for _ in heads)


STEPS = re.findall(r"`([\w/]+\.c): (\w+)`", walk())


@pytest.mark.parametrize(("file", "function"), STEPS, ids=lambda part: part)
def test_steps_of_the_walk_are_there(file: str, function: str) -> None:
    assert has_function(ROOT / "src" / file, function), f"{file} has no {function}()"


def test_the_walk_is_short() -> None:
    numbers = [int(n) for n in re.findall(r"^(\d+)\. ", walk(), re.M)]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= 15, numbers
    assert re.findall(r"^\*\*(\w+)\*\*$", walk(), re.M) == ["Submitted", "Running", "Ended"]
    for step in re.split(r"^\d+\. ", walk(), flags=re.M)[1:]:
        assert re.search(r"`[\w/]+\.c: \w+`", step), step
    assert len({file for file, _ in STEPS}) <= 50
    assert not has_function(ROOT / "src/ctl/turn.c", "store_commit"), "it is only called there"


def test_what_decides_is_there() -> None:
    table = part_of_map("Where it is decided", "2. ")
    for row in table.split("|---|---|\n")[1].splitlines():
        places = re.findall(r"`([\w/]+\.c)(?:: (\w+)`((?:, `\w+`)*))?", row)
        assert places or not row, row
        for file, function, more in places:
            assert (ROOT / "src" / file).exists() or "/" not in file, row
            for name in filter(None, (function, *re.findall(r"\w+", more))):
                assert has_function(ROOT / "src" / file, name), f"{file} has no {name}()"


PAGES = [ROOT / "README.md", *sorted((ROOT / "doc").glob("from-*.md"))]


def commands(page: Path) -> list[str]:
    """`muster ...` of the page: in sentences and tables, and lines of its blocks, in which two
    blanks begin a remark."""
    text = page.read_text()
    blocks = "\n".join(re.findall(r"^```[a-z]*\n(.*?)^```", text, re.M | re.S))
    found = re.findall(r"^(muster .*?)(?:\s{2,}.*)?$", blocks, re.M)
    found += re.findall(r"`(muster [a-z][^`\n]*)`", text)
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_the_pages_are_known(page: Path) -> None:
    """Verbs and options exist (--help says so), named files are there."""
    assert len(commands(page)) >= 5, "its commands are not found"
    for line in commands(page):
        words = shlex.split(line.split("|")[0].split("&&")[0].split(";")[0], comments=True)
        verb = words[1]
        done = muster(verb, "--help")
        assert done.returncode == 0, line
        known = done.stdout
        for word in words[2 : words.index("--") if "--" in words else len(words)]:
            if word.startswith("--"):
                assert word.split("=")[0] in known, f"{word} of: {line}"
            elif word.startswith("examples/"):
                assert (ROOT / word).exists(), line


def test_check_reads_every_example() -> None:
    files = [p for p in (ROOT / "examples").rglob("*") if p.suffix in (".json", ".yaml")]
    assert files
    for path in files:
        done = muster("check", path)
        assert done.returncode == 0, f"{path}: {done.stdout}{done.stderr}"


def test_program_is_one_of_two() -> None:
    assert program().exists()
    assert program().resolve().with_name("muster-node").exists()
