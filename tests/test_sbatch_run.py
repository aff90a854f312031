"""Batch scripts of Slurm as jobs: script, srun on all nodes of the job, files, signals, ends."""

from __future__ import annotations

import signal
import uuid
from pathlib import Path

import pytest
from conftest import Starter
from harness import Server, alive, kill, native, until_there, wait_for
from test_attach import screen
from test_machines import AGENTS, add, host, wait_state, write_conf

NODES = "4x8cpu,8Gi,2gpu"


def script(*lines: str) -> str:
    """Options are the lines that begin with a dash."""
    options = [f"#SBATCH {line}" for line in lines if line.startswith("-")]
    body = [line for line in lines if not line.startswith("-")]
    return "\n".join(["#!/bin/bash", *options, *body, ""])


@pytest.fixture
def slurm(start: Starter) -> Server:
    return start(nodes=NODES)


def output(server: Server, text: str, state: str = "succeeded") -> list[str]:
    number = server.submit(text)
    job = server.wait(number)
    said = server.log(number, "node/0")
    assert job["state"] == state, said
    return said.splitlines()


def test_steps(slurm: Server) -> None:
    """Each task knows its place; a step's exit code is the highest of its tasks'."""
    said = output(
        slurm,
        script(
            "-N2 --ntasks-per-node=2 -c2",
            "srun bash -c 'echo $SLURM_PROCID/$SLURM_NTASKS $SLURM_LOCALID $SLURM_NODEID "
            "$SLURMD_NODENAME $SLURM_STEP_ID' | sort",
            "srun -N1 -n1 bash -c 'exit 3'; echo code $?",
            "srun -n2 bash -c 'kill -9 $$'; echo code $?",
            "srun -n1 /nosuch; echo code $?",
            "srun -t 1:00:00 -n1 -W 0 true && echo in time; srun -t soon true || echo no time",
            "srun -n2 -W 1 sh -c '[ $SLURM_PROCID = 0 ] || exec sleep 1000'; echo waited $?",
        ),
    )
    names = [line.split()[3] for line in said[:4]]
    assert names[0] == names[1] != names[2] == names[3]
    place = [f"{i}/4 {i % 2} {i // 2} {names[i]} 0" for i in range(4)]
    assert said[:4] == place
    assert [line for line in said if line.startswith("code")] == ["code 3", "code 137", "code 127"]
    assert f"srun: error: {names[0]}: task 0: Exited with exit code 3" in said
    assert any("No such file or directory" in line for line in said)
    assert "in time" in said and "no time" in said and "waited 143" in said


def test_hostnames_and_list(slurm: Server) -> None:
    said = output(
        slurm,
        script(
            "-N3",
            "echo $SLURM_JOB_NODELIST $SLURM_NNODES",
            "scontrol show hostnames",
            "srun bash -c 'getent hosts $SLURMD_NODENAME >/dev/null && echo resolves'",
            "scontrol show job || echo refused",
        ),
    )
    said = [line for line in said if not line.startswith("scontrol:")]
    assert said[0].endswith("[1-3] 3")
    front = said[0].split("[")[0]
    assert said[1:4] == [f"{front}{i}" for i in (1, 2, 3)]
    assert said[4:7] == ["resolves"] * 3
    assert said[-1] == "refused"


def test_cores_without_a_limit(slurm: Server) -> None:
    """--exclusive: the script and its steps may use all cores of a node, and count them."""
    said = output(
        slurm,
        script(
            "--exclusive",
            "nproc; echo $SLURM_CPUS_ON_NODE",
            "srun sh -c 'echo $SLURM_CPUS_ON_NODE'",
        ),
    )
    assert said == 3 * said[:1]


def test_labels_input_and_files(slurm: Server, tmp_path: Path) -> None:
    said = output(
        slurm,
        script(
            "-N2 -n4",
            f"-o {tmp_path}/%x-%j.txt -J files",
            f"cd {tmp_path}",
            "srun -l bash -c 'echo a; echo b' | sort",
            "seq 1 200000 | srun -n1 wc -l",
            "printf 'in\\n' | srun -n3 cat",
            "srun -o step-%s-%2t.out bash -c 'echo out; echo err >&2'",
            "srun -o all.out -e err.out bash -c 'echo $SLURM_PROCID; echo err >&2'",
            "echo '0 echo head %t' > multi; echo '* echo rest %t %o' >> multi",
            "srun --multi-prog multi | sort",
        ),
    )
    assert said[:8] == [f"{i}: {c}" for i in range(4) for c in "ab"]
    assert said[8] == "200000"
    assert said[9:12] == ["in"] * 3
    assert said[12:] == ["head 0", "rest 1 0", "rest 2 1", "rest 3 2"]
    for i in range(4):
        assert (tmp_path / f"step-3-{i:02}.out").read_text().split() == ["out", "err"]
    assert sorted((tmp_path / "all.out").read_text().split()) == list("0123")
    assert (tmp_path / "err.out").read_text().split() == ["err"] * 4
    copy = next(tmp_path.glob("files-*.txt")).read_text().splitlines()
    assert copy == said  # the log has it all the same


def test_files_that_several_write(slurm: Server, tmp_path: Path) -> None:
    """Of stdout and stderr in one file, and of steps that share one, nothing is written over."""
    pair = "bash -c 'echo out $SLURM_PROCID; echo err $SLURM_PROCID >&2'"
    output(
        slurm,
        script(
            "-n2",
            f"-o {tmp_path}/both -e {tmp_path}/both",
            f"cd {tmp_path}",
            "for i in 1 2 3; do echo out $i; echo err $i >&2; done",
            f"srun -o shared -e shared {pair}",
            f"srun -o task-%t -e ./task-%t {pair}",
            f"srun -o on-%N {pair}",
            ": > steps",
            "for i in 1 2 3; do srun --overlap -n1 --open-mode=append -o steps seq $i $i & done",
            "wait",
        ),
    )
    lines = {path.name: sorted(path.read_text().split("\n")[:-1]) for path in tmp_path.iterdir()}
    assert lines["both"] == sorted(f"{name} {i}" for name in ("out", "err") for i in (1, 2, 3))
    of_tasks = [[f"err {i}", f"out {i}"] for i in (0, 1)]
    assert lines["shared"] == sorted(of_tasks[0] + of_tasks[1])
    assert [lines["task-0"], lines["task-1"]] == of_tasks
    (node,) = (name for name in lines if name.startswith("on-"))
    assert lines[node] == lines["shared"]
    assert lines["steps"] == ["1", "2", "3"]


def test_srun_on_a_terminal(slurm: Server, tmp_path: Path) -> None:
    """Its stdin is the same open file as its stdout there."""
    (tmp_path / "lines").write_text(20_000 * (99 * "x" + "\n"))
    number = slurm.submit(script("-n1", until_there(tmp_path / "go")))
    slurm.wait(number, "running")
    step = f"srun -n1 cat {tmp_path}/lines; echo END"
    with screen(slurm, "exec", number, "node/0", "--", "sh", "-c", step) as at:
        assert at.code() == 0
        assert at.seen.count("x") == 99 * 20_000
        assert at.seen.endswith("END\r\n")
    (tmp_path / "go").touch()
    assert slurm.wait(number)["state"] == "succeeded"


def test_more_input_than_is_read(slurm: Server, tmp_path: Path) -> None:
    """A node whose tasks leave most of it unread still hears signals, and srun still hears it."""
    (tmp_path / "lines").write_text(60_000 * (199 * "x" + "\n"))
    task = (
        'head -c 3000000 >/dev/null; trap "echo heard; exit 0" TERM; '
        "echo up; : > up; while :; do sleep 0.1; done"
    )
    said = output(
        slurm,
        script(
            "-N2 --ntasks-per-node=1",
            f"cd {tmp_path}",
            "wc -c < lines; srun wc -c < lines; srun -n1 true < lines; echo true $?",
            f"srun -n1 bash -c '{task}' < lines &",
            f"pid=$!; {until_there(tmp_path / 'up')}; kill -TERM $pid; wait $pid; echo code $?",
        ),
    )
    size = str(60_000 * 200)
    assert said[:5] == [size, size, size, "true 0", "up"]
    assert "heard" in said and said[-1] == "code 0"


def test_devices_of_steps_side_by_side(slurm: Server) -> None:
    """Two steps that ask for one device get different ones; a third waits for its turn."""
    said = output(
        slurm,
        script(
            "-n2 --gres=gpu:2",
            "echo all $SLURM_JOB_GPUS",
            "for i in 1 2 3; do",
            "  srun -n1 --gpus-per-task=1 bash -c "
            "'echo step $SLURM_STEP_GPUS; touch up.$SLURM_STEP_ID;"
            " until [ -e up.1 ]; do sleep 0.05; done' &",
            "done; wait",
            "srun -n2 --gpus-per-task=1 bash -c 'echo step $SLURM_STEP_GPUS' | sort",
        ),
    )
    all_of_them = said[0].split()[1].split(",")
    assert len(all_of_them) == 2
    steps = [line.split()[1] for line in said if line.startswith("step")]
    assert set(steps[:2]) == set(all_of_them)
    assert steps[2] in all_of_them


def test_components(slurm: Server) -> None:
    said = output(
        slurm,
        script(
            "-N1 -n1 -c2",
            "-J het",
            "hetjob",
        ).replace("hetjob", "#SBATCH hetjob\n#SBATCH -N2 --ntasks-per-node=1\n")
        + "echo $SLURM_HET_SIZE\n"
        "srun bash -c 'echo one $SLURM_NTASKS'\n"
        "srun --het-group=0,1 bash -c 'echo all $SLURM_PROCID/$SLURM_NTASKS $SLURM_NODEID' | sort\n"
        "srun --het-group=0 echo a : --het-group=1 -n2 echo b | sort\n",
    )
    assert said == ["2", "one 1", "all 0/3 0", "all 1/3 1", "all 2/3 2", "a", "b", "b"]


def test_array_and_dependency(slurm: Server, tmp_path: Path) -> None:
    first = slurm.submit(
        script(
            "-a 2-8:3",
            f"echo $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID > {tmp_path}/$SLURM_ARRAY_TASK_ID",
        )
    )
    then = slurm.submit(script(f"-d afterok:{first}", f"ls {tmp_path}"))
    assert slurm.wait(then)["state"] == "succeeded"
    assert slurm.log(then, "node/0").split() == ["2", "5", "8"]
    assert {p.read_text().split()[0] for p in tmp_path.iterdir()} == {str(first)}


def test_the_script_decides(slurm: Server, tmp_path: Path) -> None:
    """Its exit code is the job's result, and ends what it left on other nodes."""
    said = output(
        slurm,
        script(
            "-N2",
            f"srun bash -c 'echo up; touch {tmp_path}/$SLURM_PROCID; exec sleep 1000' & ",
            f"{until_there(tmp_path / '0')}; {until_there(tmp_path / '1')}",
            "exit 5",
        ),
        state="failed",
    )
    assert "up" in said
    wait_for(lambda: not slurm.survivors(), what="the end of its processes")


@pytest.mark.parametrize("which", ["step", "batch"])
def test_signal_before_the_limit(slurm: Server, which: str) -> None:
    front = "B:" if which == "batch" else ""
    said = output(
        slurm,
        script(
            f"-t 1 --signal={front}USR1@59",
            "trap 'echo script heard; heard=1' USR1",
            'srun bash -c \'trap "echo step heard; exit 0" USR1; '
            "for i in {1..200}; do sleep 0.1; done; echo step not' &",
            "wait $!" if which == "batch" else "wait",
            "[ -z $heard ] || kill $!",
        ),
    )
    assert f"{'script' if which == 'batch' else 'step'} heard" in said


def test_stop_reaches_tasks(slurm: Server, tmp_path: Path) -> None:
    number = slurm.submit(
        script(
            "-N2",
            "trap 'echo script term; exit 1' TERM",
            f'srun bash -c \'trap "echo task term; exit 0" TERM; touch {tmp_path}/$SLURM_PROCID; '
            "while :; do sleep 0.1; done' &",
            "wait",
        )
    )
    wait_for(lambda: len(list(tmp_path.iterdir())) == 2)
    slurm.stop(number)
    assert slurm.wait(number)["state"] == "stopped"
    wait_for(lambda: not slurm.survivors(), what="the end of its processes")


def test_a_dead_srun_leaves_nothing(slurm: Server, tmp_path: Path) -> None:
    number = slurm.submit(
        script(
            "-N2",
            f"srun bash -c 'echo $$ > {tmp_path}/task.$SLURM_PROCID; exec sleep 1000' &",
            f"echo $! > {tmp_path}/pid",
            f"wait; {until_there(tmp_path / 'go')}",
            "srun echo next",
        )
    )
    files = [tmp_path / f"task.{i}" for i in (0, 1)]
    wait_for(lambda: all(f.exists() and f.read_text().endswith("\n") for f in files))
    tasks = [int(f.read_text()) for f in files]
    assert all(alive(pid) for pid in tasks)
    kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    wait_for(lambda: not any(alive(pid) for pid in tasks))
    (tmp_path / "go").touch()
    assert slurm.wait(number)["state"] == "succeeded"
    assert slurm.log(number, "node/0").split()[-2:] == ["next", "next"]


def test_strangers_start_nothing(slurm: Server, tmp_path: Path) -> None:
    """Who does not know the job's secret is sent away by a node, and knows none of the answers."""
    said = output(
        slurm,
        script(
            "-N1",
            "MUSTER_JOB_SECRET=guessed srun touch started; echo code $?",
            "ls started 2>&1 | tail -1",
        ),
    )
    assert "code 255" in said
    assert any("ls: cannot access 'started'" in line for line in said)


def test_variables_of_a_converted_job(slurm: Server, tmp_path: Path) -> None:
    """Its program has them, and no command line of the step shows their values."""
    token = uuid.uuid4().hex
    seen = f"cat /proc/*/cmdline 2>/dev/null | grep -ac '{token[:-1]}[{token[-1]}]'"
    path = tmp_path / "job.yaml"
    path.write_text(
        native("converted", f"echo $TOKEN/$EMPTY/$({seen})", env={"TOKEN": token, "EMPTY": ""})
    )
    done = slurm.muster("convert", "--to", "sbatch", path)
    assert done.returncode == 0, done.stderr
    assert output(slurm, done.stdout) == [f"{token}//0"]


def test_arguments(slurm: Server, tmp_path: Path) -> None:
    path = tmp_path / "train.sbatch"
    path.write_text(script("-n1", 'echo "$#: $1 [$2] $SLURM_JOB_NAME"'))
    done = slurm.muster("run", "train.sbatch", "a", "b c", "--lr", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "4: a [b c] train.sbatch" in done.stdout
    dashes = slurm.muster("run", "--name", "x", path, "--", "y", cwd=tmp_path)
    assert "1: y [] x" in dashes.stdout


def test_commands_of_the_script(slurm: Server, tmp_path: Path) -> None:
    """sbatch, squeue and scancel inside a job are muster's, with the job's own rights."""
    (tmp_path / "next.sh").write_text("#!/bin/bash\n#SBATCH -t 5\necho next $1 $SLURM_JOB_NAME\n")
    said = output(
        slurm,
        script(
            "-J parent",
            f"cd {tmp_path}",
            "sbatch -J child -t 7 next.sh a",
            "long=$(sbatch --parsable --wrap='sleep 1000')",
            "squeue -h -o '%i %j %t' | sort",
            'scancel $long; echo "cancelled $long"',
            "squeue --nonsense || echo refused",
        ),
    )
    parent, child, long = 1, 2, 3
    assert f"Submitted batch job {child}" in said
    assert f"{parent} parent R" in said
    assert f"cancelled {long}" in said
    assert "refused" in said
    assert slurm.wait(child)["state"] == "succeeded"
    assert slurm.log(child, "node/0") == "next a child\n"
    assert slurm.wait(long)["state"] == "stopped"


def test_sbatch_waits_for_its_job(slurm: Server, tmp_path: Path) -> None:
    """As Slurm's: with the job's code, the highest of an array's, also after a new server."""
    go = tmp_path / "go"
    (tmp_path / "own.sh").write_text("#!/bin/bash\n#SBATCH -n1 --wait\nexit 4\n")
    number = slurm.submit(
        script(
            "-J parent",
            f"cd {tmp_path}",
            "sbatch --wait --wrap='exit 7'; echo code $?",
            "sbatch own.sh; echo code $?",
            "sbatch -W -a 0-3 --wrap='exit $((SLURM_ARRAY_TASK_ID % 3))'; echo code $?",
            "sbatch -W --wrap=true && echo well",
            "sbatch -W --parsable -J held --hold --wrap='exit 9' >held & wait $!; echo code $?",
            f"sbatch -W --parsable -J long --wrap='{until_there(go)}; exit 5'; echo code $?",
        )
    )
    wait_for(lambda: slurm.jobs(name="held"), what="a job that is held")
    slurm.stop(slurm.jobs(name="held")[0]["number"])
    wait_for(lambda: slurm.jobs(name="long"), what="the last job")
    slurm.wait(slurm.jobs(name="long")[0]["number"], "running")
    slurm.kill()
    slurm.start()
    go.touch()
    assert slurm.wait(number)["state"] == "succeeded"
    said = slurm.log(number, "node/0").splitlines()
    codes = [line for line in said if line.startswith("code")]
    assert codes == ["code 7", "code 4", "code 2", "code 0", "code 5"] and "well" in said


def test_a_script_on_a_machine_submits_as_well(start: Starter) -> None:
    """Where there is no muster: muster-node asks the server through its agent."""
    server = start(nodes="name=here,1cpu,1Gi", flags=AGENTS)
    home = server.state / "m1"  # with a short path: its agent has a socket there
    write_conf(server, home, add(server))
    with host(home):
        wait_state(server, "up")
        said = output(
            server,
            script(
                "-J parent -c 2",
                "sbatch -J child -c 2 --wrap='echo $SLURM_JOB_NAME on $MUSTER_TASK_NODE' ",
                "long=$(sbatch --parsable -c 1 --wrap='sleep 1000')",
                "squeue -h -o '%i %j %t' | sort",
                "squeue -h -t PD -o waits-%i; squeue -h -t R -o runs-%i -n parent",
                "scancel 99 $long || echo one is not there",
                "sbatch --nonsense=1 --wrap=true",
                "squeue --me >/dev/null && echo listed",
            ),
        )
        assert "Submitted batch job 2" in said and "1 parent R" in said and "listed" in said
        assert "runs-1" in said and "waits-1" not in said and "one is not there" in said
        assert any("--nonsense=1 is no option of sbatch" in line for line in said), said
        assert server.wait(2)["state"] == "succeeded"
        assert server.log(2, "node/0") == "child on m1\n"
        assert server.wait(3)["state"] == "stopped"
