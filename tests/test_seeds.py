"""The rows of make seeds: each promise has one, each says what was tried, and nothing is kept by a
test that did not pass."""

from __future__ import annotations

from collections import defaultdict

import pytest
from harness import ROOT
from promise import Broken, Example, How, Page, Suite, absent, by_tests, short
from promise_rows import BROKEN, PAGES, SKIPPED, listed, rows_of, tried

ROWS = [(page, example) for page in (make() for make in PAGES) for example in page.examples()]
TRIED = """
import pytest
def test_passes(): pass
def test_fails(): assert False, "not kept"
def test_skips(): pytest.skip("no such program here")
@pytest.mark.parametrize("n", [1, 2])
def test_half(n):
    if n == 2:
        pytest.skip("only one of them")
@pytest.fixture
def broken():
    yield
    raise RuntimeError("left behind")
def test_leaves(broken): pass
"""


def test_every_promise_has_a_row() -> None:
    have: dict[str, set[int]] = defaultdict(set)
    counts: dict[str, int] = defaultdict(int)
    for page, example in ROWS:
        have[page.document].add(example.of)
        counts[page.document] = max(counts[page.document], page.count)
    assert have == {name: set(range(1, count + 1)) for name, count in counts.items()}
    assert sum(counts.values()) == 181


def test_rows_say_what_they_are() -> None:
    for page, example in ROWS:
        row = f"{page.page} {example.of} {example.name}"
        assert bool(example.run) + bool(example.tests) == (example.how is not How.NOT_DONE), row
        assert example.note or example.how is not How.CHANGED, f"{row}: what is substituted?"
    names = [(page.page, e.of, e.name, e.promise) for page, e in ROWS]
    assert len(names) == len(set(names))


def test_the_list_is_a_page() -> None:
    text = (ROOT / "doc/promises.md").read_text()
    assert text == listed(make() for make in PAGES) + "\n", "tests/seeds --list > doc/promises.md"


def test_tests_that_rows_name_are_there() -> None:
    tests = Suite(name for _, example in ROWS for name in example.tests)
    tests.collect()
    assert not set(tests.names) - set(tests.known)


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    tmp_path = tmp_path_factory.mktemp("tried")
    (tmp_path / "test_tried.py").write_text(TRIED)
    (tmp_path / "test_unread.py").write_text("import no_such_module\n")
    names = [f"test_tried.py::test_{n}" for n in ("passes", "fails", "skips", "half", "leaves")]
    names += ["test_tried.py::test_half[1]", "test_tried.py::test_gone"]
    names += ["test_unread.py::test_x", "test_nowhere.py::test_x"]
    made = Suite(names, tmp_path)
    made.run()
    return made


def test_only_what_passed_is_kept(tests: Suite) -> None:
    def row(*names: str) -> tuple[str, str]:
        example = by_tests(1, "a", "b", *(f"test_tried.py::test_{n}" for n in names))
        found = tried("page", example, tests)
        return found.verdict, found.happened

    printed = How.PRINTED.value
    assert row("passes") == (printed, "passed: test_tried.py::test_passes")
    assert row("half[1]", "passes")[0] == printed
    for names, why in ((("skips",), "no such program here"), (("half",), "only one of them"),
                       (("passes", "skips"), "no such program here")):  # fmt: skip
        verdict, happened = row(*names)
        assert (verdict, why in happened) == (SKIPPED, True), happened
    for names, why in ((("fails",), "not kept"), (("skips", "fails"), "not kept"),
                       (("leaves",), "left behind"), (("gone",), "there is no such test"),
                       (("skips", "gone"), "there is no such test")):  # fmt: skip
        verdict, happened = row(*names)
        assert (verdict, why in happened) == (BROKEN, True), happened
    for file in ("test_unread.py", "test_nowhere.py"):
        example = Example(1, "a", "b", None, tests=(f"{file}::test_x",))
        assert tried("page", example, tests).verdict == BROKEN


class Shut(Page):
    """It cannot be opened, and leaves something behind."""

    page = "shut"

    def open(self) -> None:
        raise RuntimeError("no server")

    def close(self) -> None:
        raise Broken("still there")


def test_a_page_that_does_not_open_breaks_its_rows(tests: Suite) -> None:
    own = Example(1, "own", "", lambda: "never run")
    passes = by_tests(2, "passes", "", "test_tried.py::test_passes")
    rows = list(rows_of(Shut(), [own, passes, absent(3, "absent", "why")], tests))
    verdicts = [BROKEN, How.PRINTED.value, How.NOT_DONE.value, BROKEN]
    assert [row.verdict for row in rows] == verdicts
    assert "no server" in rows[0].happened and "still there" in rows[3].happened
    rows = list(rows_of(Shut(), [passes], tests))
    assert [row.verdict for row in rows] == [How.PRINTED.value], "nothing is opened for tests"


def test_names_of_one_file_are_short() -> None:
    assert short(["a.py::x", "b.py::y", "a.py::z"]) == ["a.py::x, z", "b.py::y"]
