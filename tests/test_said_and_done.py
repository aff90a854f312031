"""What the command line says is what happens: flags that win, values that are looked at before
something is ended for them, refusals that `check` tells as a server does, and words that fit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from harness import ROOT, Server, muster, native, wait_for

BOM = "\ufeff"


def document(text: str) -> Any:
    return json.loads(text)


# ---- which server, and with which settings ----


def test_state_dir_wins_over_the_environment(server: Server, short_path: Path) -> None:
    env = {"MUSTER_SERVER": f"unix:{server.socket}"}
    other = short_path / "other"
    made = muster("server", "start", "--listen", "127.0.0.1:0", state=other)
    assert made.returncode == 0, made.stderr
    shown = muster("server", "status", "--json", "--state-dir", other, env=env)
    stopped = muster("server", "stop", "--json", "--state-dir", other, env=env)
    assert document(shown.stdout)["state_dir"] == str(other), shown.stdout
    assert document(stopped.stdout)["state_dir"] == str(other), stopped.stdout
    assert server.running()
    assert document(muster("server", "status", "--json", env=env).stdout)["pid"] == server.pid


@pytest.mark.parametrize(
    "flag, value",
    [("listen", "banana"), ("listen", "::1"), ("agents", "here"), ("python", "/nope")],
)
def test_values_are_looked_at_first(short_path: Path, flag: str, value: str) -> None:
    state = short_path / "s"
    env = {"MUSTER_LISTEN": "127.0.0.1:0"}
    try:
        assert muster("server", "start", state=state, env=env).returncode == 0
        before = document(muster("server", "status", "--json", state=state).stdout)["pid"]
        done = muster("server", "start", f"--{flag}", value, state=state, env=env)
        assert done.returncode == 2, done.stderr
        assert value in done.stderr and "did not start" not in done.stderr
        after = document(muster("server", "status", "--json", state=state).stdout)["pid"]
        assert after == before
    finally:
        muster("server", "stop", state=state)


def test_config_says_where_the_directory_is_from(short_path: Path, start: Starter) -> None:
    def source(done: Any) -> str:
        rows = {r["name"]: r["from"] for r in document(done.stdout)["config"]}
        return str(rows["state_dir"])

    state = short_path / "s"
    assert source(muster("config", "--json", state=state)) == "environment"
    assert source(muster("config", "--json", "--state-dir", state)) == "flag"
    assert source(start(nodes="4cpu,8Gi").muster("config", "--json")) == "environment"


def test_a_refused_pilot_leaves_no_port(start: Starter, short_path: Path) -> None:
    """Slurm says no: what was opened for its nodes is closed, here and in the next server."""
    prefix = short_path / "no"
    prefix.write_text("#!/bin/sh\necho 'sbatch: error: invalid partition' >&2\nexit 1\n")
    prefix.chmod(0o755)
    server = start(nodes="4cpu,8Gi", flags=("--slurm-prefix", str(prefix)))

    def port() -> str:
        rows = {r["name"]: r["value"] for r in server.get("/v1/config")["config"]}
        return str(rows["agents"])

    server.muster("pilot", "start", "--nodes", 1)
    wait_for(lambda: [p for p in server.get("/v1/pilots")["pilots"] if p["state"] == "over"])
    wait_for(lambda: not (server.state / "agents.port").exists())
    wait_for(lambda: "agents" not in server.info() and port() == "none")
    server.kill()
    (server.state / "agents.port").write_text("1")  # as older servers left it
    server.start()
    wait_for(lambda: "agents" not in server.info() and port() == "none")


# ---- files ----

REFUSED = {
    "roles.a.after": "roles:\n  a:\n    run: 'true'\n    after: b\n  b:\n    run: 'true'\n",
    "roles.worker.run_as": "run: 'true'\nrun_as: nobody\n",
    "place.tolerations": "run: 'true'\nplace:\n  tolerations: [gpu]\n",
    "health.check": "run: 'true'\nhealth:\n  check: before_start\n",
    "health.hang_after": "run: 'true'\nhealth:\n  hang_after: 5m\n",
    "health.on_fault": "run: 'true'\nhealth:\n  on_fault: restart\n",
    "inputs.code.git": "run: 'true'\ninputs:\n  code:\n    git: https://example.org/a.git\n",
}


@pytest.mark.parametrize("path", REFUSED)
def test_check_refuses_what_every_server_refuses(server: Server, path: str) -> None:
    text = f"name: refused\n{REFUSED[path]}"
    done = muster("check", "--json", "-", stdin=text)
    assert done.returncode == 2, done.stdout
    (problem,) = document(done.stdout)["problems"]
    field = path.rpartition(".")[2]
    lines = text.splitlines()
    assert problem["path"] == path
    assert field in lines[problem["line"] - 1] or field in lines[problem["line"] - 2]
    said = server.muster("submit", "--json", "-", stdin=text)
    assert said.returncode == 2
    (same,) = document(said.stdout)["problems"]
    assert (same["what"], same["line"]) == (problem["what"], problem["line"])


def test_the_page_of_fields_marks_them() -> None:
    marked = re.findall(r"^\| `(\w+)` .*\*Refused: ", (ROOT / "doc/job.md").read_text(), re.M)
    assert sorted(marked) == sorted(path.rpartition(".")[2] for path in REFUSED)


def test_interpreters_that_are_not_there(server: Server) -> None:
    text = native("nopython", "true", inputs={"interpreter": "/nope2"})
    done = server.muster("submit", "-", stdin=text)
    assert done.returncode == 2, done.stdout
    assert "/nope2" in done.stderr and "inputs.interpreter" in done.stderr


def test_byte_order_marks(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{BOM}name: marked\nrun: echo\nreplicas: 2\n")
    done = muster("check", "--json", "a.yaml", cwd=tmp_path)
    answer = document(done.stdout)
    assert (answer["ok"], answer["tasks"]) == (True, 2), answer
    (tmp_path / "b.yaml").write_text(f"{BOM}nam: marked\nrun: echo\n")
    muster("check", "--fix", "b.yaml", cwd=tmp_path)
    assert (tmp_path / "b.yaml").read_text() == f"{BOM}name: marked\nrun: echo\n"


def test_arrays_are_counted_and_kept(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text('name: many\nrun: "true"\nreplicas: 2\narray: "0-9%3"\n')
    assert document(muster("check", "--json", "a.yaml", cwd=tmp_path).stdout)["tasks"] == 20
    assert "20 tasks" in muster("check", "a.yaml", cwd=tmp_path).stdout
    script = muster("convert", "--to", "sbatch", "--lossy", "a.yaml", cwd=tmp_path).stdout
    assert "--array=0-9%3\n" in script


def test_each_change_of_a_file_names_it(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("nam: x\nrun: 'true'\nreplica: 2\n")
    done = muster("check", "--fix", "a.yaml", cwd=tmp_path)
    changed = [line for line in done.stdout.splitlines() if "->" in line]
    assert len(changed) == 2, done.stdout
    assert all(line.startswith("changed a.yaml:") for line in changed), done.stdout


def test_refusals_as_a_document(server: Server, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("name: x\nruns: y\n")
    for verb in ("run", "submit"):
        done = server.muster(verb, "bad.yaml", "--json", cwd=tmp_path)
        assert done.returncode == 2
        answer = document(done.stdout)
        assert (answer["ok"], answer["file"]) == (False, "bad.yaml")
        assert answer["problems"][0]["line"] == 2


def test_missing_files(server: Server, tmp_path: Path) -> None:
    for words in (
        ("run", "no.yaml"),
        ("restore", "no.tar"),
        ("replay", "no"),
        ("backup", "no/such.tar"),
    ):
        done = server.muster(*words, cwd=tmp_path)
        assert done.returncode == 2, (words, done.stderr)
        assert "no" in done.stderr
    (tmp_path / "a.yaml").write_text(native("first-of-two"))
    done = server.muster("submit", "a.yaml", "no.yaml", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("no.yaml") == 1, done.stderr


# ---- jobs ----


def test_names_that_no_job_has(server: Server) -> None:
    for verb in ("show", "stop", "logs", "events"):
        for name in ("", "a/b"):
            done = server.muster(verb, name)
            assert done.returncode == 2, (verb, name, done.stderr)
            assert f'no job "{name}"' in done.stderr and "/v1" not in done.stderr


def test_a_member_of_an_array_can_be_waited_for(server: Server) -> None:
    number = server.submit(native("before", array=2))
    done = server.muster("submit", "-q", "--after", f"{number}[0]", "-", stdin=native("behind"))
    assert done.returncode == 0, done.stderr
    assert server.wait(done.stdout.strip())["state"] == "succeeded"


def test_lists_have_bounds(server: Server) -> None:
    server.submit(native("bounded", array=3))
    for number in range(3):
        server.submit(native(f"bounded-{number}"))
    listed = server.muster("ls", "-a", "-n", 3, "--json")
    assert len(document(listed.stdout)["jobs"]) == 3
    wrong = server.muster("ls", "--from", "foo")
    assert wrong.returncode == 2 and "foo" in wrong.stderr and "native" in wrong.stderr
    assert server.muster("ls", "--from", "openpai").returncode == 0


def test_the_hint_after_a_failure_fits(server: Server) -> None:
    done = server.muster("run", "--name", "talks", "--", "sh", "-c", "echo only here; exit 3")
    assert done.returncode == 1
    (words,) = re.findall(r"muster'? (logs .*)", done.stdout)
    again = server.muster(*words.split())
    assert "only here" in again.stdout, again.stdout + again.stderr
    done = server.muster("run", "--name", "silent", "--", "/no/such/program")
    assert done.returncode == 1
    assert "muster logs" not in done.stdout and f"show {server.job('silent')['number']}" in (
        done.stdout
    )


def test_who_restarted_a_task_is_an_event(server: Server) -> None:
    number = server.submit(native("turned", "sleep 600"))
    wait_for(lambda: server.job(number)["state"] == "running")
    assert server.muster("restart", number, "worker/0").returncode == 0
    asked = [e for e in server.get(f"/v1/jobs/{number}/events")["events"] if e["type"] == "asked"]
    assert len(asked) == 1 and asked[0]["text"].startswith("worker/0: restarted by ")
    shown = server.muster("show", number).stdout
    assert "restarted by" in shown
    server.muster("signal", number, "USR1", "worker/0")  # only for who catches it
    events = server.get(f"/v1/jobs/{number}/events")["events"]
    (sent,) = [e["text"] for e in events if e["type"] == "job.signal"]
    assert sent.startswith("SIGUSR1 to worker/0: ") and "sent by" in sent
    server.muster("stop", number)


def test_dependencies_are_said_once(server: Server) -> None:
    first = server.submit(native("first-one", "sleep 600"))
    second = server.submit(native("second-one", after=[first]))
    wait_for(lambda: server.job(second).get("reason"))
    for verb in ("show", "explain"):
        said = server.muster(verb, second).stdout
        assert said.count("waits for") == 1, said
    server.muster("stop", second, first)


def test_declared_nodes_were_never_added(server: Server) -> None:
    done = server.muster("nodes", "rm", "n1")
    assert done.returncode != 0 and "n1" in done.stderr and "port" not in done.stderr


def test_a_program_of_an_environment_is_found(server: Server, tmp_path: Path) -> None:
    """It lies beside a Python that is not the job's: the line to type is said."""
    folder = tmp_path / "env" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    (folder / "hurry-up").write_text("#!/bin/sh\necho hurried\n")
    (folder / "hurry-up").chmod(0o755)
    done = server.muster("run", "--", "hurry-up", cwd=tmp_path)
    assert done.returncode == 1
    assert "env/bin/python" in done.stdout and "--python" in done.stdout, done.stdout
    # A program of an image is looked for in no folder of this machine.
    image = ("--image", "127.0.0.1:1/none:1", "--runtime", "bwrap", "--set", "retry.platform=0")
    done = server.muster("run", *image, "--", "hurry-up", cwd=tmp_path)
    assert done.returncode != 0 and "--python" not in done.stdout, done.stdout


# ---- other programs ----


def test_help_of_dlc_lists_its_commands() -> None:
    done = muster("version")
    assert done.returncode == 0
    program = Path(os.environ.get("MUSTER_BIN") or ROOT / "build/release/muster").parent / "dlc"
    said = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    assert said.returncode == 0 and "dlc submit" in said.stdout and "dlc logs" in said.stdout


def test_client_configurations_as_documents(server: Server) -> None:
    keys = document(server.muster("client-config", "dlc", "--json").stdout)
    assert {"access_key_id", "access_key_secret", "endpoint"} <= keys.keys()
    assert document(server.muster("client-config", "openpai", "--json").stdout)[0]["cluster"]
    config = document(server.muster("client-config", "kubectl", "--json").stdout)
    assert config["kind"] == "Config"


def test_all_settings_are_in_the_table() -> None:
    page = (ROOT / "doc/operating.md").read_text()
    names = {row["name"] for row in document(muster("config", "--json").stdout)["config"]}
    missing = {n for n in names - {"state_dir", "config"} if f"`{n}`" not in page}
    assert not missing
