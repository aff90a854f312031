"""What a submission takes from the shell it is typed in: the Python, variables, options with the
words of Slurm; and what is said while a job waits."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from harness import (
    EXAMPLES,
    ROOT,
    VENV,
    Server,
    muster,
    native,
    patience,
    program,
    until_there,
    wait_for,
)

TORCH = list(ROOT.glob(".venv/lib/python3*/site-packages/torch/version.py"))
HELLO = EXAMPLES / "openpai/hello.json"
MNIST = EXAMPLES / "elasticjob/mnist.yaml"
NO_VENV = {"VIRTUAL_ENV": "", "CONDA_PREFIX": ""}


def environment_at(folder: Path, module: str) -> Path:
    """A virtual environment with one module that no other Python has."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=patience(120)
    )
    site = next(folder.glob("lib/python3*/site-packages"))
    (site / f"{module}.py").write_text(f"word = 'of {folder.name}'\n")
    return folder


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment_at(tmp_path_factory.mktemp("own") / "mine", "only_mine")


def importing(folder: Path, module: str = "only_mine") -> Path:
    script = folder / "use.py"
    script.write_text(f"import sys\nimport {module}\nprint({module}.word, *sys.argv[1:])\n")
    return script


def number_of(said: str) -> int:
    found = re.match(r"(\d+) ", said)
    assert found, said
    return int(found[1])


def chosen(server: Server, job: int) -> dict[str, Any]:
    """The body of the job's event, which there is once."""
    events = server.get(f"/v1/jobs/{job}/events")["events"]
    (found,) = [one["body"] for one in events if one["type"] == "interpreter"]
    assert isinstance(found, dict)
    return {"path": found["path"], "from": found["from"]}


# ---- the interpreter ----


def test_the_environment_of_the_shell(server: Server, venv: Path, tmp_path: Path) -> None:
    script = importing(tmp_path)
    done = server.muster("run", script, "--epochs", 3, env={**NO_VENV, "VIRTUAL_ENV": str(venv)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "of mine --epochs 3" in done.stdout
    number = number_of(done.stdout)
    assert chosen(server, number) == {"path": f"{venv}/bin/python", "from": "VIRTUAL_ENV"}
    job = server.job(number)
    assert (job["python"], job["python_from"]) == (f"{venv}/bin/python", "VIRTUAL_ENV")
    assert f"{venv}/bin/python" in server.muster("show", number).stdout
    conda = {**NO_VENV, "CONDA_PREFIX": str(venv)}
    done = server.muster("run", script, env=conda)
    assert done.returncode == 0, done.stdout + done.stderr
    assert chosen(server, number_of(done.stdout))["from"] == "CONDA_PREFIX"


def test_the_first_python_of_the_path(server: Server, venv: Path, tmp_path: Path) -> None:
    path = f"{venv}/bin:{os.environ['PATH']}"
    done = server.muster("run", importing(tmp_path), env={**NO_VENV, "PATH": path})
    assert done.returncode == 0, done.stdout + done.stderr
    found = chosen(server, number_of(done.stdout))
    assert found == {"path": f"{venv}/bin/python3", "from": "PATH"}


@pytest.mark.parametrize("named", ["bin/python", "bin/python3", ""])
def test_a_named_python_wins(server: Server, venv: Path, tmp_path: Path, named: str) -> None:
    script = importing(tmp_path)
    args = ("run", "--python", venv / named, script)
    done = server.muster(*args, env={**NO_VENV, "VIRTUAL_ENV": str(VENV.parent)})
    assert done.returncode == 0, done.stdout + done.stderr
    found = chosen(server, number_of(done.stdout))
    assert found["from"] == "option" and found["path"].startswith(f"{venv}/bin/python")


def test_a_relative_python(server: Server, tmp_path: Path) -> None:
    environment_at(tmp_path / ".venv", "only_here")
    script = importing(tmp_path, "only_here")
    done = server.muster("run", "--python", ".venv/bin/python", script.name, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("value", ["nowhere/python", "/bin/ls", "no-such-python", "/etc/passwd"])
def test_what_is_no_python_is_refused(server: Server, tmp_path: Path, value: str) -> None:
    done = server.muster("submit", "--python", value, importing(tmp_path))
    assert done.returncode == 2, done.stdout
    assert f"--python {value}" in done.stderr and "--python .venv/bin/python" in done.stderr
    reply = server.api("POST", "/v1/jobs", native("r", "true"), query={"python": "bin/python"})
    assert reply.status == 400 and "absolute" in reply.text


def test_jobs_with_images_take_only_a_named_one(server: Server, venv: Path, tmp_path: Path) -> None:
    """Another system's job brings its image's Python; as long as tasks run on the host that is
    the server's."""
    own = {**NO_VENV, "VIRTUAL_ENV": str(venv)}
    imaged = tmp_path / "image.yaml"
    imaged.write_text("name: imaged\nimage: some/image\nrun: 'true'\n")
    for file in (HELLO, imaged):
        done = server.muster("run", file, env=own)
        assert done.returncode == 0, done.stdout + done.stderr
        assert chosen(server, number_of(done.stdout))["from"] == "server"
        done = server.muster("run", "--python", venv, file, env=own)
        assert done.returncode == 0, done.stdout + done.stderr
        assert chosen(server, number_of(done.stdout))["from"] == "option"
    job = json.loads(native("own", "true"))
    job["inputs"] = {"interpreter": sys.executable}
    done = server.muster("run", "-", env=own, stdin=json.dumps(job))
    assert chosen(server, number_of(done.stdout)) == {"path": sys.executable, "from": "job"}


def test_again_has_the_same_python(server: Server, venv: Path, tmp_path: Path) -> None:
    script = importing(tmp_path)
    first = number_of(server.muster("run", "--python", venv, script).stdout)
    done = server.muster("submit", "-q", "--like", first, env=NO_VENV)
    again = int(done.stdout)
    assert server.wait(again)["state"] == "succeeded"
    assert chosen(server, again) == chosen(server, first)


def test_a_server_that_comes_again_knows_it(start: Starter, venv: Path) -> None:
    server = start()
    done = server.muster("submit", "-q", "--python", venv, "--", "sleep", 600)
    number = int(done.stdout)
    server.kill()
    server.start()
    assert server.job(number)["python"] == f"{venv}/bin/python"
    assert server.muster("stop", "--now", number).returncode == 0


def test_a_task_that_submits(server: Server, venv: Path, tmp_path: Path) -> None:
    """Its environment goes with its job; the new job has what that one was made from."""
    script = importing(tmp_path)
    line = ["sh", "-c", f"exec {program()} submit -q --name inner {script}"]
    given = ("--python", venv, "--name", "outer", "--set", "server=submit")
    outer = number_of(server.muster("run", *given, "--", *line).stdout)
    inner = int(server.log(outer, "worker/0").strip())
    assert server.wait(inner)["state"] == "succeeded"
    assert chosen(server, inner)["path"].startswith(f"{venv}/bin/python")


def test_the_missing_module(server: Server, venv: Path, tmp_path: Path) -> None:
    """The line that is printed is typed as it is, and the program then ends well."""
    project = tmp_path / "project"
    project.mkdir()
    script = importing(project)
    environment_at(project / ".venv", "only_mine")
    args = ["run", "--python", str(VENV / "python"), str(script), "a b", "it's"]
    done = server.muster(*args, env=NO_VENV)
    assert done.returncode == 1
    assert (
        f"its Python   {VENV}/python (named at submission) has no module only_mine" in done.stdout
    )
    line = re.search(r"  with it      (\S*muster run .*)", done.stdout)
    assert line, done.stdout
    assert str(project / ".venv/bin/python") in line[1]
    assert str(VENV) not in line[1]
    again = server.muster(*shlex.split(line[1])[1:], env=NO_VENV)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "of .venv a b it's" in again.stdout
    nobody = server.muster("run", "--", "python3", "-c", "import no_such_module_anywhere")
    assert "has no module no_such_module_anywhere" in nobody.stdout
    assert re.search(r"none of \d+ has it", nobody.stdout)


# ---- variables ----


def test_variables_of_the_shell(server: Server, tmp_path: Path) -> None:
    lines = tmp_path / "vars.env"
    lines.write_text("# ours\nexport A='from file'\nB=from file\n\nC=\"x=y\"\nD\n")
    show = "echo [$A] [$B] [$C] [$D] [$E] [$RANK]"
    shell = {"A": "shell a", "D": "shell d", "E": "shell e", "RANK": "7", "PAI_X": "no"}
    rows: list[tuple[list[str | Path], str]] = [
        ([], "[] [] [] [] [] []"),
        (["--export", "none"], "[] [] [] [] [] []"),
        (["--export", "all"], "[shell a] [] [] [shell d] [shell e] []"),
        (["--export", "A,E=e,RANK"], "[shell a] [] [] [] [e] [7]"),
        (["--env", "D", "--env", "E=1"], "[] [] [] [shell d] [1] []"),
        (["--env-file", lines], "[from file] [from file] [x=y] [shell d] [] []"),
        (
            ["--export=ALL", "--env-file", lines, "-e", "A=last"],
            "[last] [from file] [x=y] [shell d] [shell e] []",
        ),
    ]
    for options, expected in rows:
        done = server.muster("run", *options, "--", "sh", "-c", show, env=shell)
        assert done.returncode == 0, done.stdout + done.stderr
        assert expected in done.stdout, options
    refused: list[list[str]] = [["--env", "NOT_SET"], ["--export", "NOT_SET"], ["--env", "=x"]]
    for words in [*refused, ["--env-file", "/no/such"]]:
        done = server.muster("submit", *words, "--", "true")
        assert done.returncode == 2, done.stdout
        assert words[0] in done.stderr


def test_variables_over_http(server: Server) -> None:
    kind = {"Content-Type": "application/vnd.muster.submission+json"}
    text = native("enveloped", "echo [$A][$B]")
    body = json.dumps({"text": text, "env": {"A": 'a\n"x"', "B": "ü"}})
    reply = server.api("POST", "/v1/jobs", body, headers=kind, query={"env": "B=last"})
    number = reply.good().json()["number"]
    assert server.wait(number)["state"] == "succeeded"
    assert server.log(number, "worker/0") == '[a "x"][last]\n'
    again = server.api(
        "POST", "/v1/jobs", '{"env": {"A": "2"}}', headers=kind, query={"like": number}
    )
    number = again.good().json()["number"]
    assert server.wait(number)["state"] == "succeeded"
    assert server.log(number, "worker/0") == "[2][]\n"
    wrong = ["", "[]", "7", '{"text": 7}', '{"text": "x", "env": []}']
    wrong += ['{"text": "x", "env": {"A": 1}}', '{"text": "x", "env": {"A=B": "c"}}']
    for one in [*wrong, '{"text": "x", "env": {"": "c"}}', "{}", "\xff"]:
        reply = server.api("POST", "/v1/jobs", one, headers=kind)
        assert reply.status == 400, (one, reply.text)
    done = server.muster("explain", "--file", HELLO, "--env", "A=b")
    assert done.returncode == 0, done.stderr


def test_an_array_says_it_once(server: Server, venv: Path) -> None:
    done = server.muster("submit", "-q", "-a", 3, "--python", venv, "--", "true")
    number = int(done.stdout)
    server.wait(number)
    assert chosen(server, number)["from"] == "option"


def test_many_variables(server: Server) -> None:
    """More than fits into the address of a request."""
    shell = {f"MANY_{i}": "v" * 1000 for i in range(100)}
    done = server.muster(
        "run", "--export", "all", "--", "sh", "-c", "env | grep -c MANY_", env=shell
    )
    assert done.returncode == 0, done.stderr
    assert "100" in done.stdout


def test_values_are_in_no_listing_and_no_log(start: Starter, tmp_path: Path) -> None:
    server = start()
    lines = tmp_path / "vars.env"
    lines.write_text("T2=sesame-two\nT3=sesame three bad\n")
    shell = {"T1": "sesame-one"}
    args: list[str | Path] = ["--env", "T1", "--env-file", lines, "--export", "T4=sesame-four"]
    files: list[list[str | Path]] = [["--", "true"], [HELLO]]
    for file in files:
        done = server.muster("submit", "-q", *args, *file, env=shell)
        assert done.returncode == 0, done.stderr
        server.wait(int(done.stdout))
    bad = server.muster("submit", *args, "--env", "T5", "--", "true", env=shell)
    assert bad.returncode == 2 and "sesame" not in bad.stderr
    said = [
        server.said(),
        *(server.muster(*v).stdout for v in (["ls", "-a"], ["show", 1], ["events", 1])),
    ]
    assert not [text for text in said if "sesame" in text]
    listing = server.get("/v1/jobs", **{"state": "succeeded"})
    assert "sesame" not in json.dumps(listing)


# ---- options ----

OPTIONS: list[tuple[list[str], str, Any]] = [
    (["--time", "2h"], "limits.run_time", "2h"),
    (["-t", "1-02:30"], "limits.run_time", "1d2h30m"),
    (["-t", "1:30:00"], "limits.run_time", "1h30m"),
    (["--time", "90:00"], "limits.run_time", "1h30m"),
    (["--priority", "7"], "priority", 7),
    (["--queue", "default"], "queue", "default"),
    (["-p", "default"], "queue", "default"),
    (["--partition=default"], "queue", "default"),
    (["--array", "0-3%2"], "array", {"count": 4, "at_once": 2}),
    (["-a", "4"], "array", 4),
    (["--retry", "3"], "retry.unknown", 3),
    (["--retry", "always"], "retry.unknown", "always"),
    (["--requeue"], "retry.platform", "always"),
    (["--name", "named"], "name", "named"),
    (["-J", "named"], "name", "named"),
    (["--job-name=named"], "name", "named"),
]
OF_A_ROLE: list[tuple[list[str], str, Any]] = [
    (["--gpus", "1"], "resources.gpu", 1),
    (["-G", "1"], "resources.gpu", 1),
    (["--gpu", "1"], "resources.gpu", 1),
    (["--gres=gpu:1"], "resources.gpu", 1),
    (["--cpus", "2"], "resources.cpu", 2),
    (["-c", "2"], "resources.cpu", 2),
    (["--cpus-per-task=2"], "resources.cpu", 2),
    (["--mem", "1Gi"], "resources.memory", "1Gi"),
    (["--memory", "1Gi"], "resources.memory", "1Gi"),
    (["--nodes", "2"], "replicas", 2),
    (["-N", "2"], "replicas", 2),
    (["-n", "2"], "replicas", 2),
]
DLC = {"DisplayName": "d", "JobType": "PyTorchJob", "UserCommand": "true"}
DLC_ROLE = {
    "Type": "Worker",
    "PodCount": 1,
    "Image": "registry.example/i:1",
    "EcsSpec": "ecs.c6.large",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Of each dialect a job with one role, which is never started: its queue holds it."""
    folder = tmp_path_factory.mktemp("files")
    openpai = json.loads(HELLO.read_text())
    (folder / "o.json").write_text(json.dumps(openpai))
    (folder / "d.json").write_text(json.dumps({**DLC, "JobSpecs": [DLC_ROLE]}))
    (folder / "n.yaml").write_text("name: n\nrun: 'true'\n")
    (folder / "e.yaml").write_text(
        "apiVersion: elastic.iml.github.io/v1alpha1\nkind: ElasticJob\nmetadata: {name: e}\n"
        "spec:\n  distributionStrategy: AllreduceStrategy\n  replicaSpecs:\n    worker:\n"
        "      replicas: 1\n      template:\n        spec:\n          restartPolicy: Never\n"
        "          containers:\n            - {name: main, image: i, command: ['true']}\n"
    )
    named = {name: [str(folder / name)] for name in ("o.json", "d.json", "n.yaml", "e.yaml")}
    return {**named, "command": ["--", "true"]}


def field(spec: dict[str, Any], path: str) -> Any:
    at: Any = spec
    for step in path.split("."):
        at = at.get(step) if isinstance(at, dict) else None
    return at


def spec_of(server: Server, options: list[str], words: list[str]) -> dict[str, Any]:
    done = server.muster("submit", "-q", "--wait", "--set", "suspend=true", *options, *words)
    assert done.returncode == 0, (options, words, done.stderr)
    number = int(done.stdout)
    found: dict[str, Any] = server.job(number, spec=1)["spec"]
    assert server.muster("stop", "--now", number).returncode == 0
    return found


@pytest.mark.parametrize("dialect", ["o.json", "d.json", "n.yaml", "e.yaml", "command"])
def test_options_in_every_dialect(
    server: Server, files: dict[str, list[str]], dialect: str
) -> None:
    words = files[dialect]
    for options, path, value in OPTIONS:
        found = field(spec_of(server, options, words), path)
        assert found == value or (path == "queue" and found is None), (options, found)
    for options, path, value in OF_A_ROLE:
        spec = spec_of(server, options, words)
        (role,) = spec["roles"].values()
        assert field(role, path) == value, (options, role)
        if options[0] in ("--nodes", "-N"):
            assert spec["place"]["spread"] == list(spec["roles"])


@pytest.mark.parametrize("dialect", ["o.json", "d.json", "n.yaml", "e.yaml", "command"])
def test_waiting_for_others(server: Server, files: dict[str, list[str]], dialect: str) -> None:
    held = [server.submit(native(f"held{i}", "true", suspend=True)) for i in range(2)]
    both = ",".join(map(str, held))
    slurm = f"afterok:{held[0]},afterany:{held[1]}"
    for options, ends in (
        (["--after", both], ["well", "well"]),
        (["--dependency", slurm], ["well", "any"]),
    ):
        after = spec_of(server, options, files[dialect])["after"]
        after = [one if isinstance(one, dict) else {"job": one} for one in after]
        assert [one["job"] for one in after] == held
        assert [one.get("ended", "well") for one in after] == ends
    assert server.muster("stop", *held).returncode == 0


def test_one_of_a_name_at_a_time(server: Server, tmp_path: Path) -> None:
    """Each waits for all of its name that have not ended, however they end; other names do not."""
    go = tmp_path / "go"
    file = tmp_path / "step.yaml"
    file.write_text(native("step", until_there(go)))
    held = server.submit(native("step", "true", suspend=True))
    words = ("submit", "--quiet", "--dependency", "singleton")
    numbers = [int(server.muster(*words, file).stdout) for _ in range(2)]
    other = int(server.muster(*words, "--name", "other", file).stdout)
    after = [server.get(f"/v1/jobs/{n}", spec=1)["spec"].get("after", []) for n in numbers]
    assert [[one["job"] for one in each] for each in after] == [[held], [held, numbers[0]]]
    assert {one["ended"] for each in after for one in each} == {"any"}
    assert "after" not in server.get(f"/v1/jobs/{other}", spec=1)["spec"]
    server.wait(other, "running")
    assert server.state_of(numbers[0]) == server.state_of(numbers[1]) == "queued"
    server.stop(held)
    server.wait(numbers[0], "running")
    assert server.state_of(numbers[1]) == "queued"
    go.touch()
    assert [server.wait(n)["state"] for n in (*numbers, other)] == ["succeeded"] * 3
    script = tmp_path / "train.sbatch"
    script.write_text("#!/bin/sh\n#SBATCH -J step -d singleton -c 1\ntrue\n")
    assert server.muster("run", script).returncode == 0


def test_which_role_is_asked(server: Server, tmp_path: Path) -> None:
    two = tmp_path / "two.yaml"
    two.write_text("name: two\nroles: {a: {run: 'true'}, b: {run: 'true'}}\n")
    for options in (["--gpus", "1"], ["--cpus", "1"], ["--mem", "1Gi"], ["--nodes", "2"]):
        done = server.muster("submit", *options, two)
        assert done.returncode == 2, done.stdout
        assert f"{options[0]}: {two} has 2 roles" in done.stderr and "--set roles.a." in done.stderr
    assert server.muster("run", "--priority", 3, "--time", "1h", two).returncode == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--time", "30"],
        ["--time", "soon"],
        ["--time", "1:2:3:4"],
        ["--priority", "0"],
        ["--priority", "high"],
        ["--array", "1,3,5"],
        ["--array", "all"],
        ["--after", "a b"],
        ["--after", ""],
        ["--dependency", "singleton:3"],
        ["--dependency", "afterok"],
        ["--gpus", "many"],
        ["--gres", "licence:2"],
        ["--cpus", "x"],
        ["--mem", "4096"],
        ["--mem", "big"],
        ["--nodes", "0"],
        ["--nodes", "2", "--replicas", "3"],
        ["--retry", "twice"],
        ["-d", "afterok:12"],
    ],
)
def test_values_are_checked(server: Server, options: list[str]) -> None:
    done = server.muster("run", *options, "--", "true")
    assert done.returncode == 2, done.stdout
    first = done.stderr.splitlines()[0]
    assert options[-2] in first or "--detach" in first, first
    assert len(done.stderr.splitlines()) >= 2, "what to write instead"


def test_detach(server: Server) -> None:
    done = server.muster("run", "-d", "-q", "--", "sleep", 600)
    assert done.returncode == 0
    number = int(done.stdout)
    assert server.state_of(number) in ("queued", "starting", "running")
    assert server.muster("stop", "--now", number).returncode == 0
    done = server.muster("run", "--detach", "--json", "--", "true")
    assert json.loads(done.stdout)["name"] == "true"


@pytest.mark.parametrize(
    ("word", "right"),
    [
        ("kill", "muster stop JOB"),
        ("cancel", "muster stop JOB"),
        ("delete", "muster rm JOB"),
        ("list", "muster ls"),
        ("status", "muster show JOB"),
        ("ps", "muster ls"),
        ("jobs", "muster ls"),
        ("top", "muster nodes"),
    ],
)
def test_words_of_other_systems(word: str, right: str) -> None:
    done = muster(word, 12)
    assert done.returncode == 2
    assert f'"{word}" is no verb' in done.stderr and right in done.stderr


# ---- scripts ----


def test_scripts(server: Server, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("import sys; print('py', *sys.argv)\n")
    (tmp_path / "bash.sh").write_text('#!/usr/bin/env bash\necho "bash $BASH_VERSION $@"\n')
    (tmp_path / "plain.sh").write_text('echo "plain $0 $@"\n')
    (tmp_path / "flags.sh").write_text('#!/bin/sh -e\nfalse\necho "not here"\n')
    rows = [
        (["x.py", "--epochs", "3", "--help"], 0, "py x.py --epochs 3 --help"),
        (["bash.sh", "-x", "a b"], 0, "-x a b"),
        (["plain.sh", "--", "c"], 0, "plain plain.sh -- c"),
        (["flags.sh"], 1, ""),
    ]
    for words, status, said in rows:
        done = server.muster("run", *words, cwd=tmp_path)
        assert done.returncode == status, done.stdout + done.stderr
        assert said in done.stdout
        assert "not here" not in done.stdout
        check = server.muster("check", *words, cwd=tmp_path)
        assert check.returncode == 0, check.stderr
        assert f"{words[0]} is fine: {Path(words[0]).stem}" in check.stdout
        assert all(word in check.stdout for word in words)
    done = server.muster("submit", "-q", "x.py", "later", cwd=tmp_path)
    number = int(done.stdout)
    assert server.wait(number)["name"] == "x"
    assert "py x.py later" in server.log(number, "worker/0")
    assert server.muster("run", "gone.py", cwd=tmp_path).returncode == 2


# ---- while it waits ----


def test_followers_say_why_it_waits(start: Starter) -> None:
    server = start(nodes="1x2cpu,1Gi")
    first = server.submit(native("first", "sleep 600", resources={"cpu": 2}))
    server.wait(first, "running")
    run = server.popen("run", "--name", "second", "--cpus", "2", "--", "echo", "ran")
    wait_for(lambda: server.jobs(name="second", state="queued"))
    second = server.jobs(name="second")[0]["number"]
    others = [server.popen("logs", "-f", second), server.popen("wait", second)]
    quiet = [server.popen(*verb, "-q", second) for verb in (["logs", "-f"], ["wait"])]
    quiet.append(server.popen("wait", "--json", second))
    line = re.compile(rf"{second} waits: .*cpu.*; 1st in default")
    lines = []
    for process in (run, *others):
        assert process.stderr
        lines.append(process.stderr.readline())
    assert all(line.match(one) for one in lines), lines
    assert server.muster("stop", "--now", first).returncode == 0
    for process in (run, *others):
        out, err = process.communicate(timeout=patience(60))
        assert process.returncode == 0, err
        assert not line.search(err), "said again though nothing changed"
    for process in quiet:
        out, err = process.communicate(timeout=patience(60))
        assert "waits" not in out + err


def test_the_line_is_written_again_on_a_terminal(start: Starter) -> None:
    server = start(nodes="1x2cpu,1Gi")
    first = server.submit(native("first", "sleep 600", resources={"cpu": 2}))
    server.wait(first, "running")
    words = ["run", "--name", "second", "--cpus", "2", "--", "echo", "ran"]
    typed = shlex.join([str(program()), *words])
    process = subprocess.Popen(
        ["script", "-qec", typed, "/dev/null"],
        env={**os.environ, "MUSTER_STATE_DIR": str(server.state), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    said = b""
    while b"waits: " not in said:
        piece = os.read(process.stdout.fileno(), 4096)
        assert piece, said
        said += piece
    assert server.muster("stop", "--now", first).returncode == 0
    rest, _ = process.communicate(timeout=patience(60))
    said += rest
    assert process.returncode == 0, said
    assert re.search(rb"\r\x1b\[K\d+ waits: [^\n]*\r\x1b\[K", said), "no line of its own is left"
    assert b"ran" in said


# ---- other names ----


def names_on_path(folder: Path) -> dict[str, str]:
    done = subprocess.run(
        [
            "env",
            "-i",
            "PATH=/usr/bin:/bin",
            "bash",
            "-c",
            f'eval "$({folder} env)"; for n in dlc torchrun dlrover-run; do command -v $n; done',
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return {Path(line).name: line for line in done.stdout.splitlines()}


def test_env_of_the_build_tree() -> None:
    found = names_on_path(program())
    assert set(found) == {"dlc", "torchrun", "dlrover-run"}
    for name, path in found.items():
        done = subprocess.run([path, "--help"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (name, done.stderr)


def test_env_of_an_installed_tree(tmp_path: Path) -> None:
    """A prefix with a space and a quote in it."""
    prefix = tmp_path / "o'ne two"
    libexec = prefix / "libexec/muster"
    libexec.mkdir(parents=True)
    (prefix / "bin").mkdir()
    node = program().resolve().parent / "muster-node"
    shutil.copy2(program().resolve(), prefix / "bin/muster")
    shutil.copy2(node.resolve(), libexec / "muster-node")
    for folder, name in (("torchrun", "torchrun"), ("launch", "dlrover-run")):
        (libexec / folder).mkdir()
        (libexec / folder / name).symlink_to("../muster-node")
    (libexec / "dlc").symlink_to("../../bin/muster")
    link = tmp_path / "muster"
    link.symlink_to(prefix / "bin/muster")
    found = names_on_path(link)
    assert set(found) == {"dlc", "torchrun", "dlrover-run"}
    assert all(path.startswith(str(libexec)) for path in found.values())


# ---- a fresh shell ----


def fresh(home: Path, line: str) -> subprocess.CompletedProcess[str]:
    """The line as it is typed in the project's directory, in a shell without anything."""
    plain = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    plain["XDG_CONFIG_HOME"] = str(home / "config")  # root's keys lie in /etc without it
    return subprocess.run(
        ["bash", "-c", line],
        env=plain,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=patience(240),
        check=False,
    )


def printed_lines() -> list[str]:
    readme = [(ROOT / name).read_text() for name in ("README.md", "README.zh-CN.md")]
    demo = re.sub(r'"\n\s+"', "", (ROOT / "tools/demo").read_text())  # a text in parts is one
    lines = [
        m[1] for text in readme for m in re.finditer(r"^(build/release/muster run .*)$", text, re.M)
    ]
    lines += [m[1] for m in re.finditer(r"yours: (build/release/muster [^\"]*)\"", demo)]
    return lines


@pytest.mark.timeout(600)
@pytest.mark.skipif(not TORCH, reason="no PyTorch in .venv: tools/setup python installs it")
@pytest.mark.skipif(not (ROOT / "build/release/muster").exists(), reason="not built: make build")
def test_printed_lines_in_a_fresh_shell(short_path: Path) -> None:
    lines = printed_lines()
    assert len(lines) >= 3
    try:
        for line in dict.fromkeys(lines):  # the same line once
            done = fresh(short_path, line)
            if done.returncode != 0:  # an assert would show a part of it
                pytest.fail(f"{line}: {done.returncode}\n{done.stdout}\n{done.stderr}")
            assert "succeeded" in done.stdout
        assert len(set(lines)) == 1, "README and the demo say the same line"
    finally:
        fresh(short_path, "build/release/muster server stop")


def test_scripts_need_no_right_to_run(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "x.sh"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(stat.S_IRUSR)
    done = server.muster("run", script)
    assert done.returncode == 0 and "ran" in done.stdout
