"""Golden files of the PAI-DLC dialect: what `muster check` and `muster convert` make of them.

Each case NAME.json or NAME.params in tests/golden/dlc has NAME.yaml (the job in muster's own words)
and, for tasks ROLE/INDEX, NAME.ROLE.INDEX.env (one variable a line). Cases that are wrong, or that
ask for what has no effect, have NAME.messages: what is said of them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import golden_files
import pytest
from golden_files import SHARED, compare, convert, task_environment, variables
from harness import ROOT, muster

GOLDEN = golden_files.GOLDEN / "dlc"
DOC = ROOT / "doc" / "dialect-dlc.md"

TASKS = [
    ("public.json", "worker/0"),
    ("quota.json", "worker/0"),
    ("tfjob.params", "worker/0"),
    ("ddp.params", "master/0"),
    ("ddp.params", "worker/1"),
    ("pytorch.json", "worker/2"),
    ("tf.json", "chief/0"),
    ("tf.json", "evaluator/0"),
    ("mpi.json", "master/0"),
    ("mpi.json", "worker/1"),
    ("ray.json", "head/0"),
    ("ray.json", "worker-gpu/0"),
    ("slurm.json", "worker/0"),
    ("slurm.json", "worker/1"),
    ("xgboost.json", "worker/1"),
    ("oneflow.json", "master/0"),
    ("batch.json", "worker/3"),
    ("ignored.json", "master/0"),
]
CASES = sorted({case for case, _ in TASKS})
WRONG = ["bad.json", "rules.json", "bad.params", "seed.params"]

pytestmark = pytest.mark.sanitizer


def stem(case: str) -> str:
    return case.rsplit(".", 1)[0]


def said(case: Path) -> tuple[int, str]:
    """Exit code and problems, one a line: where, how bad, what, and what to write."""
    done = muster("check", "--json", case)
    answer = json.loads(done.stdout)
    one = answer[0] if isinstance(answer, list) else answer
    assert one["dialect"] == "dlc"
    lines = [
        f"{p.get('line', 0)}:{p.get('col', 0)} {p['severity']}: {p['what']} | {p['hint']}"
        for p in one["problems"]
    ]
    return done.returncode, "\n".join(lines) + "\n"


@pytest.mark.parametrize(("case", "task"), TASKS)
def test_environment(case: str, task: str) -> None:
    text = variables(task_environment(GOLDEN / case, task))
    text = re.sub(r"dlc[0-9a-z]{13}", "{id}", text)
    compare(GOLDEN / f"{stem(case)}.{task.replace('/', '.')}.env", text)


@pytest.mark.parametrize("case", CASES)
def test_native(case: str) -> None:
    compare(GOLDEN / f"{stem(case)}.yaml", convert(GOLDEN / case))


@pytest.mark.parametrize("case", CASES)
def test_native_reads_back(case: str, tmp_path: Path) -> None:
    """The converted job is a job of muster's own format; converting it again changes nothing, and
    its tasks see the same."""
    first = convert(GOLDEN / case)
    again = tmp_path / "job.yaml"
    again.write_text(first)
    assert convert(again) == first
    task = dict(TASKS)[case]
    assert task_environment(again, task) == task_environment(GOLDEN / case, task)


@pytest.mark.parametrize("case", [*WRONG, "ignored.json"])
def test_messages(case: str) -> None:
    code, text = said(GOLDEN / case)
    assert code == (2 if case in WRONG else 0)
    compare(GOLDEN / f"{case}.messages", text)


def test_misspelt_is_mended(tmp_path: Path) -> None:
    job = tmp_path / "job.json"
    text = (GOLDEN / "quota.json").read_text()
    job.write_text(text.replace("UserCommand", "UserComand").replace("TFJob", "TfJob"))
    assert muster("check", job).returncode == 2
    muster("check", "--fix", job)
    assert job.read_text() == text


def test_command_is_kept_as_written(tmp_path: Path) -> None:
    """Windows line ends, no final newline, and everything a shell has."""
    job = tmp_path / "job.params"
    command = "a=1 && echo \"$a\" '#' = ; ls | wc -l"
    head = "\r\n".join(["kind=PyTorchJob", "name=x", "workers=1", "worker_spec=ecs.c6.large"])
    job.write_bytes(f"{head}\r\ncommand={command} ".encode())
    done = muster("convert", "--json", job)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["roles"]["master"]["run"] == command


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published page is not beside the clone")
def test_published_file(tmp_path: Path) -> None:
    """The parameter file of the vendor's page, taken from the page: its placeholders are refused,
    and with them filled in it is a job."""
    page = next((SHARED / "seeds").glob("002*")).read_text()
    block = re.search(r"^ *name=test_cli_tfjob_001$.*?^ *workspace_id=.*?$", page, re.S | re.M)
    assert block
    job = tmp_path / "tfjob.params"
    job.write_text(block[0])
    done = muster("check", job)
    assert done.returncode == 2
    assert (done.stdout + done.stderr).count("a placeholder that was not filled in") == 2
    job.write_text(re.sub(r"<.*?>", "268456", block[0]))
    assert '    run: "echo good && sleep 120"' in convert(job)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded requests are not beside the clone")
def test_recorded_request(tmp_path: Path) -> None:
    path = SHARED / "cases" / "dlc-wire" / "acs-createjob-chinese-body.json"
    body = json.loads(path.read_text())["body"]
    job = tmp_path / "body.json"
    job.write_text(body)
    done = muster("convert", "--json", job)
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout)
    assert out["name"] == "作业-1"
    assert out["labels"] == {"组": "甲"}
    assert out["roles"]["master"]["run"] == json.loads(body)["UserCommand"]
    assert out["roles"]["worker"]["ports"]["custom"] == 100


def test_document_names_every_field() -> None:
    """doc/dialect-dlc.md speaks of every row of the tables in the code."""
    page = DOC.read_text()
    folder = ROOT / "src" / "dialect" / "dlc"
    fields = re.findall(
        r'\b(?:FIELD|FIELD_MANY|FIELD_SAME|OTHER)\((?:[A-Z_0-9]+,\s*)?"(\w+)"',
        (folder / "fields.c").read_text(),
    )
    params = re.findall(r'^\s+\{ "(\w+)", PARAM_', (folder / "params.c").read_text(), re.M)
    words = re.findall(r'\{ "(\w+)", JOB_', (folder / "words.c").read_text())
    exits = re.findall(r'ROW\(\w+, "(\w+)"', (folder / "words.c").read_text().replace("-", ""))
    kinds = re.findall(r'\.name = "(\w+Job)"', (folder / "types.c").read_text())
    specs = re.findall(r'ECS\("([\w.-]+)"', (folder / "types.c").read_text())
    env = re.findall(r'put(?:_number|f)?\(w, "(\w+)"', (folder / "env.c").read_text())
    assert len(fields) > 100 and len(params) > 30 and len(words) > 15 and len(exits) > 15
    assert len(kinds) == 10 and len(specs) > 30 and len(env) > 12
    named = set(re.findall(r"[\w.-]+", page))
    missing = {*fields, *params, *words, *exits, *kinds, *specs, *env} - named
    assert not missing, sorted(missing)
