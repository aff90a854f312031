"""What published pages promise, how each promise is kept here, and how trying it can end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import ClassVar

from harness import ROOT, Server


class How(Enum):
    """What became of a promise. What is only parsed is not said to run."""

    PRINTED = "runs as printed"
    CHANGED = "runs with these substitutions"
    SHOWN = "accepted and shown, nothing acts on it"
    REFUSED = "refused, with the reason"
    NOT_DONE = "not done"


OWN = "in a job of our own"


class Broken(Exception):
    """What happened instead."""


class Skipped(Exception):
    """Why it could not be tried here."""


@dataclass
class Example:
    of: int  # which promise of its page
    name: str
    promise: str
    run: Callable[[], str] | None  # what happened, in a few words
    how: How = How.PRINTED
    note: str = ""  # the substitutions, what was tried; or what happens instead
    tests: tuple[str, ...] = ()  # which try it, as pytest names them; instead of run


class Page:
    """Promises, numbered from 1; several examples may be of one, each has one at least."""

    page: ClassVar[str]  # as rows name it
    document: ClassVar[str]  # whose numbers these are: several pages may share them
    count: ClassVar[int] = 0  # promises of that document

    def open(self) -> None:
        """What its examples need; not called to list them."""

    def close(self) -> None:
        pass

    def examples(self) -> Iterator[Example]:
        raise NotImplementedError


def absent(of: int, name: str, note: str) -> Example:
    """A promise of the page that nothing keeps."""
    return Example(of, name, note, None, How.NOT_DONE)


def by_tests(
    of: int, name: str, promise: str, *tests: str, how: How = How.PRINTED, note: str = ""
) -> Example:
    """A promise that end-to-end tests try: file::name in tests/, or ::name in the file before."""
    full: list[str] = []
    for test in tests:
        file, _, name_of_it = test.partition("::")
        full.append(f"{file or full[-1].partition('::')[0]}::{name_of_it}")
    return Example(of, name, promise, None, how, note, tuple(full))


def rule_of(bad: Sequence[object]) -> How:
    """A field's rule: what the page forbids is refused; without that the field is only read."""
    return How.REFUSED if bad else How.SHOWN


def expect(condition: object, happened: str) -> None:
    if not condition:
        raise Broken(happened)


def warning(server: Server, job: int, words: str) -> str:
    """What `muster show` warns of, with these words in it."""
    shown = server.muster("show", job).stdout
    found = re.search(rf"^warning +(.*{re.escape(words)}.*)$", shown, re.M)
    if not found:
        raise Broken(f"no warning with {words!r}: {shown[-400:]}")
    return found[1]


# ---- examples that are tests ----


@dataclass
class Outcome:
    """Of one test with one set of parameters."""

    word: str  # passed, failed, skipped
    why: str
    seconds: float


class Suite:
    """Runs tests, each once however many examples name it, all in one pytest."""

    def __init__(self, names: Iterable[str], folder: Path = ROOT / "tests") -> None:
        self.names = sorted(set(names))
        self.folder = folder
        self.outcomes: dict[str, list[Outcome]] = defaultdict(list)
        self.known: Counter[str] = Counter()  # names that there are, by how many tests have them
        self.said = ""

    def pytest(self, *args: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *args],
            cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.stdout + done.stderr

    def collect(self) -> None:
        """What there is, under its name with and without parameters."""
        files = {name.partition("::")[0] for name in self.names}
        there = sorted(file for file in files if (self.folder / file).is_file())
        self.said = self.pytest("--collect-only", "-q", *there) if there else ""
        for line in self.said.splitlines():
            path, found, test = line.partition("::")
            if found:
                self.known.update(both(f"{Path(path).name}::{test}"))

    def run(self) -> None:
        self.collect()
        there = [name for name in self.names if self.known[name]]
        if not there:
            return
        with tempfile.TemporaryDirectory(prefix="seeds-", dir="/tmp") as folder:
            report = Path(folder, "report.xml")
            options = [f"--junitxml={report}", "-o", "junit_family=xunit1", "-q"]
            # As tools/check: most of a test's time is waiting for processes.
            options += ["-n", str(min((os.cpu_count() or 1) + 1, 4)), "--dist", "worksteal"]
            self.said = self.pytest(*options, f"--basetemp={folder}/t", *there)
            if report.is_file():
                self.read(ElementTree.parse(report).getroot())

    def read(self, report: ElementTree.Element) -> None:
        for case in report.iter("testcase"):
            file = Path(case.get("file") or "").name
            word, why = "passed", ""
            for child in case:
                if child.tag in ("failure", "error"):
                    word, why = "failed", child.get("message") or child.text or child.tag
                elif child.tag == "skipped" and word == "passed":
                    word, why = "skipped", child.get("message") or "skipped"
            for name in both(f"{file}::{case.get('name')}"):
                self.outcomes[name].append(Outcome(word, why, float(case.get("time") or 0)))

    def seconds(self, names: Iterable[str]) -> float:
        return sum(one.seconds for name in names for one in self.outcomes[name])

    def happened(self, names: tuple[str, ...]) -> str:
        """All have passed, with all of their parameters; else Broken or Skipped. A test that is
        not there, or of which nothing was heard, has not passed."""
        for name in names:
            expect(self.known[name], f"{name}: there is no such test: {self.said[-300:]}")
            for one in self.outcomes[name]:
                expect(one.word != "failed", f"{name} failed: {one.why}")
            heard = len(self.outcomes[name])
            expect(
                heard >= self.known[name], f"{name}: nothing was heard of it: {self.said[-300:]}"
            )
        for name in names:
            for one in self.outcomes[name]:
                if one.word == "skipped":
                    raise Skipped(f"{name}: {one.why}")
        return f"passed: {', '.join(short(names))}"


def both(name: str) -> set[str]:
    return {name, name.partition("[")[0]}


def short(names: Iterable[str]) -> list[str]:
    """file::a, b of tests that share a file."""
    by: dict[str, list[str]] = defaultdict(list)
    for name in names:
        file, _, test = name.partition("::")
        by[file].append(test)
    return [f"{file}::{', '.join(tests)}" for file, tests in by.items()]
