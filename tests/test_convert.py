"""Conversions lose nothing in silence: what cannot be said is listed and refused, what has another
name there is noted, and all of the rest is the same when it is read back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import golden_files
import pytest
from harness import ROOT, Done, muster

GOLDEN = ROOT / "tests/golden"
CASES = golden_files.SHARED / "cases"
SUFFIXES = (".json", ".yaml", ".params", ".native")
FOLDERS = [
    *(GOLDEN / name for name in ("openpai", "openpai-v2", "dlc", "elasticjob")),
    *(CASES / name for name in ("openpai-v1", "openpai-v2", "elasticjob", "sbatch")),
    ROOT / "examples",
]
FILES = sorted(p for folder in FOLDERS for p in folder.rglob("*") if p.suffix in SUFFIXES)
TARGETS = ("dlc", "elasticjob", "openpai-v1", "openpai-v2")
HERE = "/nonexistent/state"  # of the server whose directories no conversion may name
LOST = re.compile(r"warning: (\S+) ")
NOTED = re.compile(r"note: (?:.* gives the job )?([a-z][\w.\[\]~%-]*?):? ")
RENAMED = re.compile(r"note: roles\.(\S+) (?:is written as|.*, written as) (\S+)$", re.M)
JOINED = re.compile(r"note: roles\.(\S+) and the other workers are one type: (\d+) tasks$", re.M)
FIRST = re.compile(r"note: roles\.worker: the first of them is the (\w+), ", re.M)
ENDED = re.compile(r"error: .* was not converted: \d+ fields? would be lost\n")

# One job of each format in all formats: what is said on the way, and what comes of it.
PAIRS = {
    "native": ROOT / "examples/native/hello.yaml",
    "openpai-v1": GOLDEN / "openpai/names.json",
    "openpai-v2": GOLDEN / "openpai-v2/small.yaml",
    "dlc": GOLDEN / "dlc/pytorch.json",
    "elasticjob": GOLDEN / "elasticjob/gang.yaml",
    "servers": GOLDEN / "elasticjob/servers.yaml",
}


@cache
def convert(to: str, path: Path, *more: str) -> Done:
    return muster("convert", *more, "--to", to, path, state=Path(HERE))


def native(path: Path) -> Any:
    """The job in the native form; None for a text that is refused, and was to be."""
    done = convert("native", path, "--json")
    if done.returncode == 2:
        return None
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def about_writing(path: Path, to: str, *more: str) -> str:
    """What converting says of a file, without what reading says of it."""
    read = convert("native", path).stderr
    said = convert(to, path, *more).stderr
    assert said.startswith(read), said
    return said.removeprefix(read)


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
    return any(
        a == b or a.startswith((f"{b}.", f"{b}[")) for a, b in ((path, listed), (listed, path))
    )


def least_and_most(role: dict[str, Any]) -> tuple[int, int]:
    replicas = role.get("replicas", 1)
    return (replicas["min"], replicas["max"]) if isinstance(replicas, dict) else (replicas,) * 2


def with_tasks(role: dict[str, Any], least: int, most: int) -> dict[str, Any]:
    out = {k: v for k, v in role.items() if k != "replicas"}
    if (least, most) != (1, 1):
        out["replicas"] = most if least == most else {"min": least, "max": most}
    return out


def shaped(job: Any, said: str) -> Any:
    """The job with its roles renamed, joined and split as the notes say."""
    roles: dict[str, Any] = {}
    joined = JOINED.findall(said)
    names = dict(RENAMED.findall(said)) | {name: "worker" for name, _ in joined}
    for own, role in job["roles"].items():
        name = names.get(own, own)
        if name not in roles:
            roles[name] = role
            continue
        counts = zip(least_and_most(roles[name]), least_and_most(role), strict=True)
        roles[name] = {**role, **with_tasks(roles[name], *(a + b for a, b in counts))}
    assert not joined or int(joined[-1][1]) == least_and_most(roles["worker"])[1], joined
    if first := FIRST.search(said):
        least, most = least_and_most(roles["worker"])
        alone = with_tasks(roles["worker"], 1, 1)
        rest = with_tasks(roles.pop("worker"), max(least - 1, 1), most - 1)
        roles |= {first[1]: alone} | ({"worker": rest} if most > 1 else {})
    text = json.dumps({k: v for k, v in job.items() if k != "roles"})
    return {**json.loads(text), "roles": roles}


def is_origin(path: str) -> bool:
    """Which format a job came in, not what it does."""
    return path.split(".")[0] in ("conventions", "extra", "framework")


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_nothing_is_lost_in_silence(path: Path, tmp_path: Path) -> None:
    job = native(path)
    if job is None:
        assert "error" in convert("native", path).stderr
        return
    again = tmp_path / "again.yaml"
    again.write_text(convert("native", path).stdout)
    assert HERE not in again.read_text()
    assert native(again) == job, "text, job, native, job"
    for to in TARGETS:
        done = convert(to, path)
        said = about_writing(path, to)
        if done.returncode == 2:  # the target's own rules refuse what would be written
            assert "was not converted" in said and "would be lost" not in said, said
            assert done.stdout == "" and convert(to, path, "--lossy").returncode == 2
            continue
        lost = LOST.findall(said)
        assert done.returncode == (1 if lost else 0), said
        if lost:
            assert done.stdout == "" and ENDED.search(said), said
            done = convert(to, path, "--lossy")
            assert done.returncode == 0 and LOST.findall(done.stderr), done.stderr
        assert HERE not in done.stdout
        there = tmp_path / f"there-{to}.yaml"
        there.write_text(done.stdout)
        back = native(there)
        assert back is not None, f"{to} does not read what it wrote:\n{done.stdout}"
        told = lost + NOTED.findall(said)
        silent = {
            p
            for p in changed(shaped(job, said), back)
            if not is_origin(p) and not any(covers(one, p) for one in told)
        }
        assert not silent, f"{to}: {silent}\n{said}\n{done.stdout}"


@pytest.mark.parametrize("to", ["native", *TARGETS])
@pytest.mark.parametrize("source", PAIRS)
def test_every_pair_of_formats(source: str, to: str) -> None:
    """The file has the exit status, what was said, and the job (of --lossy where it needs that)."""
    path = PAIRS[source]
    done = convert(to, path)
    said = about_writing(path, to).replace(str(path), path.name)
    text = done.stdout or convert(to, path, "--lossy").stdout
    golden_files.compare(
        GOLDEN / "convert" / f"{source}.{to}", f"exit {done.returncode}\n{said}---\n{text}"
    )


def test_a_refused_conversion_can_be_had(tmp_path: Path) -> None:
    """Roles without a place are a loss; --lossy leaves them out and says so."""
    roles = "".join(f"  {n}: {{replicas: 2, run: {n}}}\n" for n in ("a", "b", "c", "d", "e", "f"))
    path = tmp_path / "many.yaml"
    path.write_text(f"name: many\nroles:\n{roles}")
    done = convert("elasticjob", path)
    assert done.returncode == 1 and done.stdout == ""
    assert re.search(
        r"warning: roles\.\w cannot be said in ElasticJob and is left out", done.stderr
    )
    assert "--lossy converts it without them" in done.stderr
    lossy = convert("elasticjob", path, "--lossy")
    assert lossy.returncode == 0 and lossy.stdout.startswith("apiVersion:")
    assert done.stderr.startswith(lossy.stderr)


def test_a_variable_that_is_no_more_is_a_loss(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("name: a\nconventions: openpai-v1\nrun: echo $PAI_JOB_NAME ${HOME} $PAI_NONE\n")
    done = convert("dlc", path)
    assert done.returncode == 1
    uses = re.findall(
        r"warning: roles\.(\w+) uses \$(\w+), which its tasks find no more", done.stderr
    )
    assert uses == [("master", "PAI_JOB_NAME")]
    assert convert("native", path).returncode == 0


@pytest.mark.parametrize("kind", ["PyTorchJob", "XGBoostJob", "OneFlowJob", "MPIJob", "TFJob"])
@pytest.mark.parametrize("pods", [1, 4])
def test_workers_stay_workers(kind: str, pods: int, tmp_path: Path) -> None:
    """DLC to DLC, straight and through the native form."""
    worker = {"Type": "Worker", "PodCount": pods, "Image": "i", "EcsSpec": "ecs.g6.large"}
    body = {"DisplayName": "w", "JobType": kind, "JobSpecs": [worker], "UserCommand": "python a.py"}
    path, own = tmp_path / "job.json", tmp_path / "job.yaml"
    path.write_text(json.dumps(body))
    assert json.loads(convert("dlc", path).stdout) == body
    own.write_text(convert("native", path).stdout)
    assert json.loads(convert("dlc", own).stdout) == body


def test_most_jobs_can_be_said_everywhere() -> None:
    refused = []
    good = [p for p in FILES if native(p) is not None]
    assert len(good) > 40
    for path in good:
        for to in TARGETS:
            if convert(to, path, "--lossy").returncode:
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
    assert done.returncode == 0 and not LOST.findall(done.stderr), done.stderr
    back = tmp_path / "back.json"
    back.write_text(done.stdout)
    assert native(back) == job


@pytest.mark.parametrize("name", ["gang.yaml", "pod-group.yaml", "servers.yaml", "suspended.yaml"])
def test_an_elastic_job_is_the_same_again(name: str, tmp_path: Path) -> None:
    job = native(GOLDEN / "elasticjob" / name)
    own = tmp_path / "job.yaml"
    own.write_text(convert("native", GOLDEN / "elasticjob" / name).stdout)
    done = convert("elasticjob", own)
    assert done.returncode == 0 and not LOST.findall(done.stderr), done.stderr
    back = tmp_path / "back.yaml"
    back.write_text(done.stdout)
    # A gang that a PodGroup said comes back as annotations, without the label of the pods.
    for one in (again := native(back)), job:
        if name == "pod-group.yaml":
            one["extra"]["elasticjob"].pop("pods", None)
    assert again == job
