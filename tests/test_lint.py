"""tools/metrics and tools/lint on small trees of their own: figures that may only improve, include
cycles, hubs, purpose blocks, shares of tests, words of names, and the form of commit subjects."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import ROOT, patience

PURPOSE = "/* What this file is for,\n * and what it does not do. */\n"
TEST = PURPOSE + "int tested;\n" * 20
WORDS = """# a list
a b base c f few gone hub job many mark moon one page two words x y z
[before another]
old
"""
GLOSSARY = "| term | meaning | where |\n|---|---|---|\n| façade | It keeps nothing. | `base` |\n"


def run(tree: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, *words], cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=patience(300), check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def put(tree: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def held(tree: Path, figures: dict[str, int] | None = None) -> dict[str, int]:
    path = tree / "tools/budget.json"
    if figures is not None:
        path.write_text(json.dumps({"subjects_after": "0" * 40, "figures": figures}))
    found: dict[str, int] = json.loads(path.read_text())["figures"]
    return found


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree that meets every limit."""
    (tmp_path / "tools").mkdir()
    for tool in ("metrics", "layers", "lint", "words"):
        shutil.copy2(ROOT / "tools" / tool, tmp_path / "tools")
    put(tmp_path, {"src/LAYERS": "base:\njob: base\n", "src/base/test/test_base.c": TEST})
    put(tmp_path, {"src/base/one.c": PURPOSE + "int one;\n", "src/base/one.h": "extern int one;\n"})
    put(tmp_path, {"tools/words.txt": WORDS, "doc/glossary.md": GLOSSARY})
    held(tmp_path, {})
    return tmp_path


def metrics(tree: Path, *words: str) -> tuple[int, str]:
    return run(tree, "tools/metrics", *words)


def test_a_tree_that_meets_every_limit(tree: Path) -> None:
    status, said = metrics(tree)
    assert status == 0, said
    verdicts = {line.split()[-1] for line in said.splitlines()[1:]}
    assert verdicts == {"ok"}


def test_a_cycle_between_modules(tree: Path) -> None:
    """No header includes in a circle, so only modules do: a.c -> b.h, b.c -> a.h."""
    put(tree, {
        "src/base/a.c": PURPOSE + '#include "base/a.h"\n\n#include "base/b.h"\n',
        "src/base/b.c": PURPOSE + '#include "base/b.h"\n\n#include "base/c.h"\n',
        "src/base/c.h": '#include "base/a.h"\n', "src/base/a.h": "", "src/base/b.h": "",
    })  # fmt: skip
    status, said = metrics(tree)
    assert status == 1
    assert "src/base/a.c:1: include cycle of 3 modules: base/a base/b base/c" in said
    assert "3 of 4 in 1 cycles, largest 3" in said
    held(tree, {"modules in include cycles": 3, "modules in the largest include cycle": 3})
    status, said = metrics(tree)
    assert status == 0, said
    assert "include cycle of 3" in metrics(tree, "--debts")[1]
    (tree / "src/base/c.h").write_text("")
    status, said = metrics(tree)
    assert status == 1
    assert "modules in include cycles: 0 meets the limit of 0, held at 3; write it down" in said
    assert metrics(tree, "--write")[0] == 0
    assert held(tree) == {} and metrics(tree)[0] == 0


def test_what_tests_include_makes_no_cycle(tree: Path) -> None:
    put(tree, {
        "src/base/two.c": PURPOSE + '#include "base/two.h"\n\n#include "base/one.h"\n',
        "src/base/two.h": "",
        "src/base/test/one.c": PURPOSE + '#include "base/two.h"\n',
    })  # fmt: skip
    assert metrics(tree)[0] == 0


def test_figures_may_only_improve(tree: Path) -> None:
    short = {f"src/base/{name}.c": f"/* {name} alone */\nint {name};\n" for name in ("x", "y")}
    put(tree, {**short, "src/base/z.c": "int z;\n"})
    name = "short purpose blocks, base"
    status, said = metrics(tree)
    assert status == 1
    for path, lines in (("x", 1), ("y", 1), ("z", 0)):
        assert f"src/base/{path}.c:1: purpose block, lines ({lines} < 2) [{name}: 3 > 0]" in said
    held(tree, {name: 2})
    status, said = metrics(tree, "--write")
    assert status == 1 and f"[{name}: 3 > 2]" in said
    assert held(tree) == {name: 2}, "a worse figure is not written"
    put(tree, {"src/base/z.c": PURPOSE + "int z;\n"})
    assert metrics(tree)[0] == 0
    put(tree, {"src/base/y.c": "// The first line,\n// the second.\nint y;\n"})
    status, said = metrics(tree)
    assert status == 1
    assert f"tools/budget.json:1: {name}: 1 is better than 2; write it down" in said
    status, said = metrics(tree, "--write")
    assert status == 0 and f"{name}: 1 is better than 2" in said
    assert held(tree) == {name: 1} and metrics(tree)[0] == 0
    whole = json.loads((tree / "tools/budget.json").read_text())
    assert whole["subjects_after"] == "0" * 40, "what else the file says stays"


def test_a_figure_of_what_is_gone(tree: Path) -> None:
    held(tree, {"hubs, gone": 1})
    status, said = metrics(tree)
    assert status == 1 and "hubs, gone: is no longer measured; write it down" in said
    assert metrics(tree, "--write")[0] == 0 and held(tree) == {}


def test_hubs_of_a_folder(tree: Path) -> None:
    def files(folder: str, header: str, n: int, users: int) -> dict[str, str]:
        include = f'\n#include "{header}"\n'
        return {f"src/{folder}/f{i}.c": PURPOSE + (include if i < users else "") for i in range(n)}

    tests = {f"src/{folder}/test/t.c": TEST for folder in ("few", "many")}
    headers = {"src/few/hub.h": "", "src/many/hub.h": ""}
    put(tree, {"src/LAYERS": "base:\nfew: base\nmany: base\n", **tests, **headers})
    put(tree, files("few", "few/hub.h", 4, 4))
    put(tree, files("many", "many/hub.h", 5, 3))
    status, said = metrics(tree)
    assert status == 0, said
    put(tree, files("many", "base/one.h", 5, 5))
    assert metrics(tree)[0] == 0, "base/ is for everybody"
    put(tree, files("many", "many/hub.h", 5, 4))
    status, said = metrics(tree)
    assert status == 1
    assert "src/many/hub.h:1: hub: 80 % of the .c files of many include it, 4 of 5" in said


def test_shares_of_tests(tree: Path) -> None:
    put(tree, {"src/LAYERS": "base:\njob: base\n", "src/job/job.c": PURPOSE + "int job;\n" * 28,
               "src/job/test/t.c": PURPOSE + "int t;\n" * 3, "src/base/words.h": ""})  # fmt: skip
    status, said = metrics(tree)
    assert status == 1
    assert "src/job:1: C test lines of job (5 of 35, 14 < 15 %)" in said
    held(tree, {"C test lines of job, %": 13})
    assert "C test lines of job, %: 14 is better than 13" in metrics(tree)[1]
    held(tree, {"C test lines of job, %": 14})
    assert metrics(tree)[0] == 0
    put(tree, {"src/base/one.c": PURPOSE + "int one;\n" * 40})
    status, said = metrics(tree)
    assert status == 1 and "C test lines as a share of C lines (27 < 30 %)" in said


LEARNED = "names of words to be learned"


def words(tree: Path) -> tuple[int, list[str]]:
    status, said = run(tree, "tools/words")
    return status, said.splitlines()


def test_names_of_plain_words(tree: Path) -> None:
    put(tree, {
        "src/base/old_mark.c": PURPOSE + "struct facade_pages3 {\n    int of;\n};\n",
        "src/base/old_mark.h": "enum job_x { A };\nstruct elsewhere;\n",
        "src/base/test/crew.c": PURPOSE + "struct crew {\n    int n;\n};\n",
    })  # fmt: skip
    status, said = words(tree)
    assert (status, said) == (0, ["words: 0 of 5 names have words to be learned"])
    put(tree, {
        "src/base/crew.h": "/* struct shelf { not here. */\n\nunion mark_old {\n    int n;\n};\n",
        "src/base/old_mark.c": PURPOSE + 'const char *told = "struct shelf {";\nstruct my_crew{\n',
    })  # fmt: skip
    status, said = words(tree)
    assert status == 0
    assert said == [
        "src/base/crew.h:1: file crew: crew", "src/base/crew.h:3: union mark_old: old",
        "src/base/old_mark.c:4: struct my_crew: my crew",
        "words: 3 of 7 names have words to be learned",
    ]  # fmt: skip
    status, out = metrics(tree)
    assert status == 1 and f"src/base/crew.h:3: union mark_old: old [{LEARNED}: 3 > 0]" in out
    held(tree, {LEARNED: 3})
    status, out = metrics(tree)
    assert status == 0, out
    (tree / "src/base/crew.h").unlink()
    assert f"{LEARNED}: 1 is better than 3; write it down" in metrics(tree)[1]
    put(tree, {"doc/glossary.md": GLOSSARY + "| my crew | All. | `base/one.c`, `src/LAYERS` |\n"})
    assert words(tree)[1] == ["words: 0 of 5 names have words to be learned"]


def test_a_glossary_that_is_wrong(tree: Path) -> None:
    def refused(rows: str) -> str:
        put(tree, {"doc/glossary.md": GLOSSARY + rows})
        status, said = words(tree)
        assert status == 1 and said[:-1], said
        status, out = metrics(tree)
        assert status == 1 and said[0] in out, out
        return said[0]

    gone = refused("| mast | A pole. | `base/one.c`, `base/gone.c` |\n")
    assert gone == "doc/glossary.md:4: mast: there is no base/gone.c"
    assert "'Egg' stands after 'façade'" in refused("| Egg | It rolls. | `base` |\n")
    assert "'page' is a term of the glossary" in refused("| page | A sheet. | `base` |\n")
    letters = [chr(ord("a") + i) for i in range(26)]
    pairs = [f"| f{a}{b} | It is one. | `base` |\n" for a in letters[1:] for b in letters]
    assert "61 terms, more than 60" in refused("".join(pairs[:60]))
    put(tree, {"doc/glossary.md": GLOSSARY + "".join(pairs[:59])})
    assert words(tree)[0] == 0
    for line in ("[before another] shelf", "egg [before another]"):
        put(tree, {"tools/words.txt": f"base\n{line}\nold\n"})
        status, said = words(tree)
        heading = f"tools/words.txt:2: [before another] stands alone on its line, not {line!r}"
        assert status == 1 and heading in said, said
    (tree / "tools/words.txt").unlink()
    status, out = metrics(tree)
    assert status == 1 and "tools/words:1:" in out and "words.txt" in out


def git(tree: Path, *words: str) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    name = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
    done = subprocess.run(
        ["git", *name, *words], cwd=tree, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(tree: Path, subject: str) -> str:
    git(tree, "commit", "-q", "--allow-empty", "-m", subject)
    return git(tree, "rev-parse", "HEAD")


def subjects(tree: Path) -> tuple[int, str]:
    return run(tree, "tools/lint", "--only", "subjects")


def record(tree: Path, start: str) -> None:
    (tree / "tools/budget.json").write_text(json.dumps({"subjects_after": start, "figures": {}}))


def test_subjects_of_commits(tree: Path) -> None:
    git(tree, "init", "-q", "-b", "main")
    git(tree, "add", ".")
    record(tree, commit(tree, "Whatever it was called before the rule."))
    good = (
        "base: keep what one says", "one: add a second", "src/base: pass a size",
        "base, tools: refuse an empty name", "build: bring the option back", "all: embed a mark",
        "base/test: feed the reader odd bytes",
    )  # fmt: skip
    for subject in good:
        commit(tree, subject)
    status, said = subjects(tree)
    assert status == 0 and f"{len(good)} commits" in said, said
    bad = {
        "base: one table of options": "'one' is no verb",
        "base: fixed the reader": "'fixed' is no verb",
        "base: keeps the order": "'keeps' is no verb",
        "base: adding a file": "'adding' is no verb",
        "base: Keep the order": "'Keep' is no verb",
        "base: format": "not `area: verb object`",
        "keep the order": "not `area: verb object`",
        "moon: keep the order": "'moon' is no folder or file",
        "base, moon: keep the order": "'moon' is no folder or file",
        "base: keep " + "o" * 62: "73 characters, more than 72",
    }
    for subject in bad:
        commit(tree, subject)
    status, said = subjects(tree)
    assert status == 1
    for subject, why in bad.items():
        assert f"{subject}: {why}" in said
    assert not [subject for subject in good if subject in said]


def test_subjects_of_folders_that_are_gone(tree: Path) -> None:
    """A commit may name what there was when it was made, and what it took away."""
    git(tree, "init", "-q", "-b", "main")
    git(tree, "add", ".")
    record(tree, commit(tree, "the first"))
    (tree / "src/moon").mkdir()
    (tree / "src/moon/dust.c").write_text("")
    git(tree, "add", ".")
    commit(tree, "moon: add dust")
    git(tree, "rm", "-qr", "src/moon")
    commit(tree, "moon: go away")
    status, said = subjects(tree)
    assert status == 0, said
    commit(tree, "moon: come back")
    status, said = subjects(tree)
    assert status == 1 and "moon: come back: 'moon' is no folder or file" in said, said
    assert "add dust" not in said and "go away" not in said, said


def test_subjects_where_history_is_short(tree: Path) -> None:
    status, said = subjects(tree)
    assert status == 0 and "skipped: there is no git history here" in said
    git(tree, "init", "-q", "-b", "main")
    git(tree, "add", ".")
    commit(tree, "the first")
    git(tree, "checkout", "-q", "-b", "other")
    commit(tree, "the second")
    status, said = subjects(tree)
    assert status == 1 and "the second" in said and "the first" not in said, "since main"
    git(tree, "branch", "-q", "-D", "main")
    status, said = subjects(tree)
    assert status == 0 and "skipped: this history does not reach back to 000000000000" in said
