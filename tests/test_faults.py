"""Things die: the server, agents, keepers, tasks. What was promised stays true."""

from __future__ import annotations

import fcntl
import json
import shutil
import signal
from pathlib import Path

import pytest
from conftest import Starter
from harness import (
    Json,
    Nobody,
    Server,
    alive,
    free_port,
    kill,
    native,
    openpai,
    patience,
    role,
    until_there,
    wait_for,
)

DECADES = [10**n for n in range(7)]

# A run of a few lines now, and of the rest when the test lets it.
COUNT = "seq -f 'line %g' 1 3; {go}; seq -f 'line %g' 4 40"


def agent_of(server: Server, number: int, kind: str) -> int:
    return wait_for(lambda: server.agents(number)[kind], what=f"{kind} of {number}")[0]


def task_pids(server: Server, number: int) -> list[int]:
    found = [
        t["attempts"][-1].get("pid") for t in server.job(number)["task_list"] if t.get("attempts")
    ]
    return [pid for pid in found if pid]


@pytest.mark.sanitizer
def test_server_dies_the_job_goes_on(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="2x4cpu,8Gi")
    number = server.submit(native("on", COUNT.format(go=until_there(tmp_path / "go")), 2))
    server.wait(number, "running")
    wait_for(lambda: "line 3" in server.log(number, "worker/0"))
    pids = task_pids(server, number)
    server.kill()
    assert all(alive(pid) for pid in pids)
    server.start()
    (tmp_path / "go").touch()
    job = server.wait(number)
    assert job["state"] == "succeeded", job
    assert job["generation"] == 1
    for i in range(2):
        assert server.log(number, f"worker/{i}") == "".join(f"line {k}\n" for k in range(1, 41))
        assert len(job["task_list"][i]["attempts"]) == 1


@pytest.mark.parametrize("removed", ["keeper.lock", "keeper.*"])
def test_keeper_without_its_files_is_found(start: Starter, tmp_path: Path, removed: str) -> None:
    """They tell a server that starts who lives: without them it looks among the processes."""
    server = start()
    number = server.submit(native("on", COUNT.format(go=until_there(tmp_path / "go"))))
    server.wait(number, "running")
    wait_for(lambda: "line 3" in server.log(number))
    (task,), keeper = task_pids(server, number), agent_of(server, number, "keeper")
    server.kill()
    (run,) = server.state.glob("runs/*/g1/*")
    gone = list(run.glob(removed))
    for path in gone:
        path.unlink()
    server.start()
    assert gone and server.agents(number)["keeper"] == [keeper]
    assert task_pids(server, number) == [task] and alive(task)
    (tmp_path / "go").touch()
    job = server.wait(number)
    assert job["state"] == "succeeded" and job["generation"] == 1, job
    assert len(job["task_list"][0]["attempts"]) == 1
    assert server.log(number) == "".join(f"line {k}\n" for k in range(1, 41))


def test_job_ends_while_the_server_is_dead(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="4cpu,8Gi")
    go = until_there(tmp_path / "go")
    good = server.submit(native("ends", f"{go}; echo the end"))
    bad = server.submit(native("breaks", f"{go}; exit 6"))
    for number in (good, bad):
        server.wait(number, "running")
    pids = task_pids(server, good) + task_pids(server, bad)
    server.kill()
    (tmp_path / "go").touch()
    wait_for(lambda: not any(alive(pid) for pid in pids))
    server.start()
    assert server.wait(good)["state"] == "succeeded"
    failed = server.wait(bad)
    assert failed["state"] == "failed"
    assert failed["task_list"][0]["attempts"][0]["exit_code"] == 6
    assert server.log(good) == "the end\n"


def test_run_keeps_following(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="4cpu,8Gi", flags=("--listen", "none"))
    count = COUNT.format(go=until_there(tmp_path / "go"))
    file = tmp_path / "said"
    with file.open("wb") as out:
        run = server.popen("run", "--name", "follow", "--", "sh", "-c", count, to=out)
    wait_for(lambda: "line 3" in file.read_text(), what="the first lines")
    server.kill()
    wait_for(lambda: "server gone" in file.read_text(), what="what is said of it")
    server.start()
    (tmp_path / "go").touch()
    assert run.wait(patience()) == 0, file.read_text()
    lines = [line.split()[-1] for line in file.read_text().splitlines() if "line " in line]
    assert lines == [str(k) for k in range(1, 41)], "no line lost or doubled"


def test_queued_jobs_and_results_survive(start: Starter) -> None:
    server = start(nodes="4cpu,8Gi")
    done = server.run(native("before"))["number"]
    front = server.submit(native("front", "sleep 600", resources={"cpu": 4}))
    server.wait(front, "running")
    queued = server.submit(native("queued", "echo at last"))
    held = server.submit(native("held", suspend=True))
    server.kill()
    server.start()
    assert server.state_of(done) == "succeeded"
    assert server.state_of(front) == "running"
    assert server.state_of(queued) == "queued"
    assert server.state_of(held) == "suspended"
    server.stop(front, now=True)
    assert server.wait(queued)["state"] == "succeeded"
    assert server.log(queued) == "at last\n"


def test_ordinary_end_and_restart(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="4cpu,8Gi")
    number = server.submit(native("stays", f"{until_there(tmp_path / 'go')}; echo fine"))
    server.wait(number, "running")
    assert server.end() == 0
    server.start()
    (tmp_path / "go").touch()
    assert server.wait(number)["state"] == "succeeded"
    assert server.log(number) == "fine\n"


@pytest.mark.sanitizer
def test_agent_dies_its_tasks_go_with_it(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="4cpu,8Gi")
    lives = f"test $(wc -l < {tmp_path}/n) -ge 2 || sleep 600"
    run = f"echo attempt $$; echo x >> {tmp_path}/n; {lives}"
    number = server.submit(native("agent", run))
    wait_for(lambda: "attempt" in server.log(number))
    pids = task_pids(server, number)
    kill(agent_of(server, number, "agent"))
    job = server.wait(number)
    assert job["state"] == "succeeded", job
    first, second = job["task_list"][0]["attempts"]
    assert first["state"] == "lost" and first["class"] == "platform"
    assert second["state"] == "succeeded"
    assert not any(alive(pid) for pid in pids)
    assert server.log(number, attempt=1).startswith("attempt"), "what was printed before is kept"


def test_keeper_dies(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="4cpu,8Gi")
    run = f"echo x >> {tmp_path}/n; test $(wc -l < {tmp_path}/n) -ge 2 || sleep 600"
    number = server.submit(native("keeper", run))
    wait_for(lambda: (tmp_path / "n").exists() and task_pids(server, number))
    pids = [*task_pids(server, number), agent_of(server, number, "agent")]
    kill(agent_of(server, number, "keeper"))
    job = server.wait(number)
    assert job["state"] == "succeeded", job
    assert not any(alive(pid) for pid in pids)
    assert job["task_list"][0]["attempts"][0]["state"] == "lost"


def test_agent_dies_while_the_server_is_dead(start: Starter) -> None:
    server = start(nodes="4cpu,8Gi")
    number = server.submit(openpai("both", role("worker", "echo up; sleep 600"), retryCount=0))
    wait_for(lambda: "up" in server.log(number))
    pids = task_pids(server, number)
    agent = agent_of(server, number, "agent")
    server.kill()
    kill(agent)
    wait_for(lambda: not any(alive(pid) for pid in pids))
    server.start()
    wait_for(lambda: server.job(number)["restarts"] >= 1, what="the platform's fault is retried")
    server.wait(number, "running")
    server.stop(number, now=True)
    assert server.wait(number)["state"] == "stopped"


def test_newer_run_of_older_records_ends(start: Starter, tmp_path: Path) -> None:
    """The records go back to when a job waited, and its run lives on: that has ended before the job
    starts again, in the same place."""
    server = start(nodes="1cpu,1Gi")
    first = server.submit(native("first", "sleep 600", retry={"platform": 0}))
    server.wait(first, "running")
    once = f"exec 9>>{tmp_path}/lock; flock -n 9 || touch {tmp_path}/twice; echo x >>{tmp_path}/ran"
    number = server.submit(native("second", f"{once}; {until_there(tmp_path / 'go')}"))
    server.kill()
    kept = [shutil.copy(path, tmp_path) for path in server.state.glob("muster.db*")]
    server.start()
    server.stop(first, now=True)
    wait_for((tmp_path / "ran").exists, what="its run")
    pids = [agent_of(server, number, "agent"), agent_of(server, number, "keeper")]
    server.kill()
    kill(pids[0], signal.SIGSTOP)  # before it can come and be told to leave
    for path in server.state.glob("muster.db*"):
        path.unlink()
    for copy in kept:
        shutil.copy(copy, server.state)
    server.start()
    wait_for(lambda: not any(alive(pid) for pid in pids), what="the end of its run")
    wait_for(lambda: (tmp_path / "ran").read_text() == "x\nx\n", what="its next run")
    (tmp_path / "go").touch()
    job = server.wait(number)
    assert job["state"] == "succeeded", job
    assert len(job["task_list"][0]["attempts"]) == 1
    assert not (tmp_path / "twice").exists()
    assert f"records.went_back job={number}" in server.said()


def test_task_killed_from_outside(server: Server) -> None:
    number = server.submit(native("victim", "echo up; sleep 600", retry={"platform": "never"}))
    wait_for(lambda: "up" in server.log(number))
    kill(task_pids(server, number)[0])
    job = server.wait(number)
    attempt = job["task_list"][0]["attempts"][0]
    assert job["state"] == "failed"
    assert attempt["signal"] == signal.SIGKILL
    assert attempt["by"] == "stranger"
    assert "SIGKILL" in job["reason"]


def test_daemons_do_not_escape(server: Server, tmp_path: Path) -> None:
    daemon = (
        "import os,sys,time\n"
        "if os.fork(): sys.exit()\n"
        "os.setsid()\n"
        "if os.fork(): sys.exit()\n"
        f"open('{tmp_path}/pid','w').write(str(os.getpid()))\n"
        "time.sleep(300)\n"
    )
    (tmp_path / "daemon.py").write_text(daemon)
    run = (
        f"python3 {tmp_path}/daemon.py; "
        f"env -i setsid sleep 301 >/dev/null 2>&1 & echo $! > {tmp_path}/bare; "
        f"while ! test -s {tmp_path}/pid; do sleep 0.01; done; echo left"
    )
    job = server.run(native("escape", run))
    assert job["state"] == "succeeded", server.log(job["number"])
    escaped = int((tmp_path / "pid").read_text())
    bare = int((tmp_path / "bare").read_text())
    assert not alive(escaped), "the end of a task is told when nothing of it is left"
    assert not alive(bare)


def test_a_process_without_its_main_thread_does_not_escape(short_path: Path) -> None:
    """The kernel calls it a zombie, and its other thread holds files (a device's too). Where there
    are groups they name it; here is none."""
    nobody = Nobody(short_path)
    if nobody.why_not:
        pytest.skip(nobody.why_not)
    held, told = nobody.home / "held", nobody.home / "pid"
    daemon = short_path / "daemon.py"
    daemon.write_text(
        "import ctypes, fcntl, os, platform, threading, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        f"held = open('{held}', 'w')\n"
        "fcntl.flock(held, fcntl.LOCK_EX)\n"
        "threading.Thread(target=time.sleep, args=(300,)).start()\n"
        f"open('{told}', 'w').write(str(os.getpid()))\n"
        "exit_thread = 60 if platform.machine() == 'x86_64' else 93\n"
        "ctypes.CDLL(None).syscall(ctypes.c_long(exit_thread), ctypes.c_long(0))\n"
    )
    run = (
        f"python3 {daemon} >/dev/null 2>&1; while ! test -s {told}; do sleep 0.01; done; "
        f"while ! grep -sq State:.Z /proc/$(cat {told})/status; do sleep 0.01; done"
    )
    try:
        (short_path / "job.json").write_text(native("headless", run))
        done = nobody.muster("run", short_path / "job.json")
        assert done.returncode == 0, done.stdout + done.stderr
        with held.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where it is held
    finally:
        nobody.stop_server()


def test_out_of_memory(server: Server) -> None:
    eat = "import mmap\nb=[]\nwhile True:\n b.append(b'x'*(8<<20))\n"
    job = server.run(
        openpai("oom", role(command=f'python3 -c "{eat}"', memoryMB=100), retryCount=3), timeout=60
    )
    attempt = job["task_list"][0]["attempts"][-1]
    if not attempt.get("oom"):
        limited = [r["text"] for r in server.records(job["number"]) if r.get("stream") == "muster"]
        if any("no cgroup" in text for text in limited):
            assert job["state"] == "failed" and attempt["by"] == "limit"
            pytest.skip("no writable memory cgroup here: memory is watched, not enforced")
    assert attempt["oom"], attempt
    assert job["state"] == "failed"
    assert job["restarts"] == 0, "it would happen again"
    assert "out of memory" in job["reason"]
    assert attempt["foreign_code"] == 196


def test_log_cap_keeps_head_and_tail(start: Starter) -> None:
    """Whole segments of 4 MiB are dropped in the middle, which is said once."""
    server = start(nodes="4cpu,8Gi", flags=("--log-head", "1Mi", "--log-tail", "1Mi"))
    lines = 3_000_000
    job = server.run(native("long", f"seq 1 {lines}"))
    assert job["state"] == "succeeded"
    records = server.records(job["number"])
    gaps = [r["gap"] for r in records if "gap" in r]
    text = "".join(r.get("text", "") for r in records)
    whole = sum((len(str(i)) + 1) * (min(lines, 10 ** len(str(i)) - 1) - i + 1) for i in DECADES)
    assert len(gaps) == 1
    assert abs(len(text) + gaps[0] - whole) < whole // 500, "the gap counts record headers too"
    assert text.startswith("1\n2\n3\n") and text.endswith(f"{lines}\n")
    assert 2 << 20 < len(text) < 14 << 20
    kept = sum(p.stat().st_size for p in server.state.glob("runs/*/g*/*/log/**/*") if p.is_file())
    assert kept < 14 << 20
    said = server.muster("logs", job["number"]).stdout
    assert "MiB" in said or "left out" in said or str(gaps[0]) in said


def test_full_pipe_does_not_stop_a_job_without_server(start: Starter, tmp_path: Path) -> None:
    server = start(nodes="4cpu,8Gi")
    go = until_there(tmp_path / "go")
    number = server.submit(native("loud", f"{go}; seq 1 200000; echo last"))
    server.wait(number, "running")
    pids = task_pids(server, number)
    server.kill()
    (tmp_path / "go").touch()
    wait_for(lambda: not any(alive(pid) for pid in pids))
    server.start()
    assert server.wait(number)["state"] == "succeeded"
    assert server.log(number).endswith("200000\nlast\n")


def test_killed_client_in_the_middle_of_a_log_stream(server: Server) -> None:
    number = server.submit(native("stream", "while :; do seq 1 1000; sleep 0.01; done"))
    server.wait(number, "running")
    clients = [server.popen("logs", "-f", number) for _ in range(5)]
    for client in clients:
        assert client.stdout
        client.stdout.readline()
        client.kill()
        client.communicate()
    assert server.get("/healthz")
    server.stop(number, now=True)
    assert server.wait(number)["state"] == "stopped"


def test_a_port_that_is_free_again_is_taken(start: Starter) -> None:
    """A task must have this one port: when it tries again, it looks at the port again."""
    import socket

    held = socket.socket()
    held.bind(("0.0.0.0", 0))
    held.listen(1)
    port = held.getsockname()[1]
    server = start(nodes="4cpu,8Gi")
    number = server.submit(native("port", "true", ports={"web": {"count": 1, "first": port}}))

    def conflicts() -> list[Json]:
        return [e for e in server.events(number) if "; again in " in e.get("text", "")]

    wait_for(conflicts, 60)
    held.close()
    job = server.wait(number, "succeeded", timeout=60)
    said = conflicts()
    placed = [e["at_ms"] for e in server.events(number) if e["type"] == "task.started"]
    assert "again in 1s" in said[0]["text"]
    assert job["state"] == "succeeded" and len(placed) == 1
    assert len(said) <= 3, said  # it was not found taken for a minute, try after try


def test_port_taken_from_outside_leads_to_new_ports(start: Starter) -> None:
    import socket

    held = []
    first = free_port(20)
    for port in range(first, first + 4):
        s = socket.socket()
        s.bind(("0.0.0.0", port))
        s.listen()
        held.append(s)
    try:
        server = start(nodes="4cpu,8Gi", flags=("--ports", f"{first}-{first + 19}"))
        job = server.run(
            openpai("ports", role(command="echo $PAI_CONTAINER_HOST_PORT"), retryCount=0)
        )
        assert job["state"] == "succeeded", json.dumps(job)
        port = int(server.log(job["number"]))
        assert first + 4 <= port < first + 20
    finally:
        for s in held:
            s.close()


def test_servers_of_one_machine_give_no_port_twice(start: Starter) -> None:
    """The tasks never listen, so nobody could see the port taken."""
    first, second = (start(nodes="4cpu,8Gi") for _ in range(2))
    ports = {"web": {"count": 1, "first": free_port(1)}}
    job = native("port", "exec sleep 1000", ports=ports)
    number = first.submit(job)
    first.wait(number, "running")
    waiting = second.submit(job)
    wait_for(lambda: [e for e in second.events(waiting) if "of another server" in e["text"]])
    assert not any(e["type"] == "task.started" for e in second.events(waiting))
    first.stop(number, now=True)
    second.wait(waiting, "running")
