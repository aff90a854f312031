"""The rows that tests/seeds prints: trying an example, a line of the table, the same as a page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from beyond_pages import Beyond
from dlc_pages import DlcPage
from elasticjob_pages import ElasticJob
from kubectl_pages import Kubectl
from openpai_pages import JobReference
from promise import Broken, Example, How, Page, Skipped, Suite, short
from unified_pages import Guide, OlderGuide

BROKEN, SKIPPED = "BROKEN", "skipped"
PAGES: tuple[type[Page], ...] = (
    Guide, OlderGuide, JobReference, ElasticJob, Kubectl, DlcPage, Beyond,
)  # fmt: skip


@dataclass
class Row:
    page: str
    of: int
    example: str
    promise: str
    verdict: str
    happened: str
    note: str
    seconds: float


def tried(page: str, example: Example, tests: Suite) -> Row:
    started = time.monotonic()
    verdict, happened = example.how.value, ""
    try:
        if example.tests:
            happened = tests.happened(example.tests)
        elif example.run:
            happened = example.run()
    except Broken as broken:
        verdict, happened = BROKEN, str(broken)
    except Skipped as skipped:
        verdict, happened = SKIPPED, str(skipped)
    except Exception as error:  # an example must not take the table with it
        verdict, happened = BROKEN, f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - started + tests.seconds(example.tests)
    happened = " ".join(happened.split())
    return Row(
        page, example.of, example.name, example.promise, verdict, happened, example.note, seconds
    )


def trouble(step: Callable[[], None]) -> str:
    try:
        step()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def rows_of(page: Page, examples: list[Example], tests: Suite) -> Iterator[Row]:
    """A page that cannot be opened breaks its rows, but for those that tests try; what its end
    leaves behind is a row more."""
    opens = any(example.run for example in examples)
    found = trouble(page.open) if opens else ""

    def not_opened() -> str:
        raise Broken(f"the page was not opened: {found}")

    for example in examples:
        cannot = found and example.run
        yield tried(page.page, replace(example, run=not_opened) if cannot else example, tests)
    found = trouble(page.close) if opens else ""
    if found:
        yield Row(page.page, 0, "the end of the page", "leaves nothing", BROKEN, found, "", 0)


def show(row: Row) -> None:
    cut = 600 if row.verdict in (BROKEN, SKIPPED) else 120
    happened = row.happened if len(row.happened) <= cut else row.happened[: cut - 1] + "…"
    print(
        f"{row.page:<20} {row.of:>2}  {row.example:<41} {row.promise:<33.33} {row.verdict:<38} "
        f"{row.seconds:6.2f} s  {happened}{f'  [{row.note}]' if row.note else ''}",
        flush=True,
    )


def counted(verdicts: Iterable[str], words: Iterable[str]) -> dict[str, int]:
    found = list(verdicts)
    return {word: found.count(word) for word in words}


def in_words(count: dict[str, int]) -> str:
    return ", ".join(f"{n} {word}" for word, n in count.items())


def in_order(page: Page) -> list[Example]:
    """As the page has them."""
    return sorted(page.examples(), key=lambda e: e.of)


def listed(pages: Iterable[Page]) -> str:
    """doc/promises.md: every row as it is written, without trying it."""
    rows = [(page, example) for page in pages for example in in_order(page)]
    count = counted((e.how.value for _, e in rows), (how.value for how in How))
    promises = {(page.document, example.of) for page, example in rows}
    lines = [
        "# What the published pages promise",
        "",
        f"{len(promises)} promises in {len(rows)} rows, as `make seeds` tries them:",
        "",
        "| rows | |",
        "|---|---|",
        *(f"| {n} | {word} |" for word, n in count.items()),
        "",
        "*Runs as printed*: what the page prints is used as it is, a program, a file, a command; "
        "or a field, a word, a variable,",
        "where the job around it is our own: then the row says so, or the test shows it. A row "
        "names the tests that try it, or has a",
        "command of its own; what is not done is not tried. A test that is skipped skips its rows, "
        "with its reason. Numbers are the",
        "places of promises in their page. This page is made: `tests/seeds --list`.",
    ]
    page_now = ""
    for page, e in rows:
        if page.page != page_now:
            page_now = page.page
            lines += ["", f"## {page_now}", "", "| | example | promise | how | tried by |",
                      "|---|---|---|---|---|"]  # fmt: skip
        how = e.how.value + (f": {e.note}" if e.note and e.how is not How.NOT_DONE else "")
        by = ", ".join(f"`{name}`" for name in short(e.tests)) or ("its own command" * bool(e.run))
        cells = (str(e.of), e.name, e.promise, how, by)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def wanted(pages: Iterable[Page], text: str) -> list[tuple[Page, list[Example]]]:
    """Pages with the examples whose name has this text; pages without one are left out."""
    chosen = [(page, [e for e in in_order(page) if text in e.name]) for page in pages]
    return [(page, examples) for page, examples in chosen if examples]
