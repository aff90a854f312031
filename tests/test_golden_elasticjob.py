"""Golden files of the ElasticJob dialect: what `muster check` and `muster convert` make of them.

Each tests/golden/elasticjob/NAME.yaml that is right has NAME.native (the job in muster's own
words), NAME.messages (what is said about it, `line:col: ...`) and, for tasks ROLE/INDEX,
NAME.ROLE.INDEX.env; one that is wrong has NAME.messages only. The published cases, where they are
beside the clone, have theirs under published/.
"""

from __future__ import annotations

import re
from pathlib import Path

import golden_files
import pytest
from golden_files import compare, convert, messages, task_environment, variables

GOLDEN = golden_files.GOLDEN / "elasticjob"
SHARED = golden_files.SHARED / "cases" / "elasticjob"
PAGE = golden_files.SHARED / "seeds" / "004_89d6b646eeac31f8.txt"

RIGHT = ("gang", "suspended", "servers", "pod-group", "secrets")
WRONG = ("bad", "wrong", "no-min", "lost", "bad-secrets")
TASKS = (
    ("gang", "worker/3"),
    ("servers", "ps/1"),
    ("servers", "worker/1"),
    ("servers", "evaluator/0"),
    ("pod-group", "worker/5"),
)
pytestmark = pytest.mark.sanitizer


@pytest.mark.parametrize("case", RIGHT)
def test_native(case: str) -> None:
    compare(GOLDEN / f"{case}.native", convert(GOLDEN / f"{case}.yaml"))


@pytest.mark.parametrize("case", RIGHT)
def test_native_reads_back(case: str, tmp_path: Path) -> None:
    """Converting the converted job again changes nothing, and its tasks see the same."""
    first = convert(GOLDEN / f"{case}.yaml")
    again = tmp_path / "job.yaml"
    again.write_text(first)
    assert convert(again) == first
    for name, task in TASKS:
        if name == case:
            assert task_environment(again, task) == task_environment(GOLDEN / f"{case}.yaml", task)


@pytest.mark.parametrize("case", RIGHT + WRONG)
def test_messages(case: str) -> None:
    code, said = messages(GOLDEN / f"{case}.yaml")
    assert code == (0 if case in RIGHT else 2), said
    compare(GOLDEN / f"{case}.messages", said)


@pytest.mark.parametrize(("case", "task"), TASKS)
def test_environment(case: str, task: str) -> None:
    text = variables(task_environment(GOLDEN / f"{case}.yaml", task))
    compare(GOLDEN / f"{case}.{task.replace('/', '.')}.env", text)


def test_lost_indentation_is_one_error(tmp_path: Path) -> None:
    text = (GOLDEN / "lost.yaml").read_text()
    # The same without what stands there twice: then it parses, and means nothing.
    short = "\n".join(dict.fromkeys(re.findall(r"^[a-z]\w+:(?: \S+)?$", text, re.M)))
    keys = dict.fromkeys(line.split(":")[0] for line in short.splitlines())
    unique = "".join(f"{k}:\n" if k in ("metadata", "spec") else f"{k}: x\n" for k in keys)
    unique = unique.replace("apiVersion: x", "apiVersion: elastic.iml.github.io/v1alpha1")
    unique = unique.replace("kind: x", "kind: ElasticJob")
    (tmp_path / "short.yaml").write_text(unique)
    for path in (GOLDEN / "lost.yaml", tmp_path / "short.yaml"):
        code, said = messages(path)
        assert code == 2
        assert len(re.findall(r"^\d+:\d+: ", said, re.M)) == 1, said
        assert "indentation" in said


def test_second_document_of_others(tmp_path: Path) -> None:
    """Only formats that take several documents get them."""
    path = tmp_path / "two.yaml"
    path.write_text("name: a\nrun: x\n---\nname: b\nrun: x\n")
    code, said = messages(path)
    assert code == 2
    assert "4:1: a second document begins here" in said


def test_references() -> None:
    """$(NAME) of what comes before is replaced, $$ is one $, everything else stays."""
    env = task_environment(GOLDEN / "servers.yaml", "worker/0")
    assert env["BOTH"] == f"{env['POD_IP']}:8080"
    assert env["WHERE"].endswith(":$(PORT)/$(PORT)/$(UNKNOWN)")


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published examples are not beside the clone")
def test_published_cases(tmp_path: Path) -> None:
    cases = sorted(SHARED.glob("*.yaml"))
    assert cases
    for case in cases:
        code, said = messages(case)
        plan = "scaleplan" in case.name
        assert code == (2 if plan else 0), f"{case.name}: {said}"
        compare(GOLDEN / "published" / f"{case.stem}.messages", said)
        if plan:
            assert "retired" in said
            continue
        text = convert(case)
        compare(GOLDEN / "published" / f"{case.stem}.native", text)
        (tmp_path / "job.yaml").write_text(text)
        assert convert(tmp_path / "job.yaml") == text


@pytest.mark.skipif(not PAGE.exists(), reason="the page is not beside the clone")
def test_the_page(tmp_path: Path) -> None:
    """Its two jobs lost their indentation: one error each. With it they are our first two cases."""
    page = PAGE.read_text()
    jobs = re.findall(
        r"apiVersion: elastic.*?(?=# optionalCompare|- The torch-mnist Job)", page, re.S
    )
    assert len(jobs) == 2
    for job, case in zip(jobs, ("gang", "suspended"), strict=True):
        path = tmp_path / f"{case}.yaml"
        path.write_text(job)
        code, said = messages(path)
        assert code == 2
        assert len(re.findall(r"^\d+:\d+: ", said, re.M)) == 1, said
        ours = [line.strip() for line in (GOLDEN / f"{case}.yaml").read_text().splitlines()]
        for line in (line.strip() for line in job.splitlines()):
            short = re.sub(r" +#.*$", "", line)
            assert any(o.startswith(short) for o in ours), line
