"""A server of root's for several people: whose processes jobs are, what those may do, which files
they reach, and who is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from accounts import Account, Shared
from harness import ROOT, Nobody, muster, native, openpai, program, role, wait_for

Starter = Callable[..., Shared]

PROBE = r"""
exec 2>&1
echo id $(id -u) $(id -g) $(id -G | tr ' ' ,)
echo home $HOME $USER $LOGNAME
echo at $(pwd)
grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
echo core $(ulimit -c)
echo again >/dev/stdout
"""


def test_a_job_is_its_owners_process(shared: Starter, accounts: list[Account]) -> None:
    server = shared()
    ann = accounts[0]
    said = server.output(ann, PROBE).splitlines()
    groups = ",".join(map(str, os.getgrouplist(ann.name, ann.entry.pw_gid)))
    assert said[0] == f"id {ann.uid} {ann.entry.pw_gid} {groups}"
    assert said[1] == f"home {ann.home} {ann.name} {ann.name}"
    assert said[2] == f"at {ann.home}"
    words = dict(line.split(":\t") for line in said[3:-2])
    assert int(words["CapEff"], 16) == 0
    assert words["NoNewPrivs"] == "1" and words["Seccomp"] == "2"
    assert said[-2:] == ["core 0", "again"]


def test_a_directory_of_each_task(shared: Starter, accounts: list[Account]) -> None:
    """Without a directory of the submitter tasks start in one of their own, which they may write
    to and nobody else may see; it goes with the job."""
    server = shared()
    ann, ben, _ = accounts
    reply = server.ask(ann, "POST", "/v1/jobs", native("own", "pwd; touch here; sleep 600"))
    number = reply.good().json()["number"]
    server.wait(number, "running")
    place = server.place / f"users/jobs/{number}/g1"
    (made,) = place.glob("*/work/worker.0")
    assert made.owner() == ann.name
    assert ben.run("ls", str(made)).returncode != 0
    assert ann.run("ls", str(made)).returncode == 0
    assert ann.run("ls", str(place.parent.parent)).returncode != 0, "numbers of others are listed"
    assert ann.run("ls", str(server.state)).returncode != 0
    assert server.cli(ann, "stop", "--now", number).returncode == 0
    server.wait(number, "stopped")
    assert server.cli(ann, "rm", number).returncode == 0
    wait_for(lambda: not place.exists())


def test_files_are_opened_with_the_rights_of_the_account(
    shared: Starter, accounts: list[Account], tmp_path: Path
) -> None:
    server = shared()
    ann, ben, _ = accounts
    secret = ben.home / "secret"
    secret.mkdir(mode=0o700)
    os.chown(secret, ben.uid, ben.entry.pw_gid)
    (secret / "main.py").write_text("print('read')\n")
    link = ann.home / "link"
    link.symlink_to(secret)
    for path in (secret, link, Path("/root")):
        done = server.cli(ann, "submit", "--code", path, "--", "cat", "main.py")
        assert done.returncode == 2 and "cannot be read" in done.stderr, done
        assert "chmod" not in done.stderr, "it is not theirs to open to others"
        assert "copy it to a directory of your own and name that with --code" in done.stderr
        theirs = [{"from": str(path), "at": "/mnt/theirs"}]
        job = native("data", "cat /mnt/theirs/main.py", inputs={"data": theirs})
        reply = server.ask(ann, "POST", "/v1/jobs", job)
        assert reply.status == 422 and b"Permission denied" in reply.body, reply.body
    auth = ben.write("auth.json", '{"token": "hunter2"}')
    job = openpai("auth", role(command="true"), authFile=f"file://{auth}")
    reply = server.ask(ann, "POST", "/v1/jobs", job, **{"from": "openpai"})
    assert b"cannot be read" in reply.good().body
    own = ann.home / "code"
    own.mkdir(mode=0o000)
    os.chown(own, ann.uid, ann.entry.pw_gid)
    done = server.cli(ann, "submit", "--code", own, "--", "true")
    assert f"it is yours: chmod -R u+rX {own}" in done.stderr, done
    own.chmod(0o755)
    (own / "main.py").write_text("print('mine')\n")
    done = server.cli(ann, "run", "--code", own, "--", "cat", "code/main.py")
    assert done.returncode == 0 and "print('mine')" in done.stdout, done
    mine = [{"from": str(own), "at": "/mnt/mine"}]
    number = server.submit_as(ann, "cat /mnt/mine/main.py", inputs={"data": mine})
    server.wait(number, "succeeded")
    assert server.log(number) == "print('mine')\n"
    wait_for(lambda: not Path("/mnt/mine").exists(), what="the mount point to go")


def test_what_a_job_makes_belongs_to_its_owner(shared: Starter, accounts: list[Account]) -> None:
    server = shared()
    ann = accounts[0]
    out = ann.home / "out"
    number = server.submit_as(ann, "touch $PAI_OUTPUT/x 2>/dev/null; touch made", output=str(out))
    server.wait(number, "succeeded")
    assert out.owner() == ann.name
    assert (ann.home / "made").owner() == ann.name
    root_only = server.submit_as(ann, "true", output="/root/made-by-a-job")
    job = server.wait(root_only, "failed")
    assert "Permission denied" in job["reason"]
    assert not Path("/root/made-by-a-job").exists()


def test_places_of_its_own(shared: Starter, accounts: list[Account]) -> None:
    server = shared()
    if not re.search(r"^namespaces +ok", server.muster("doctor").stdout, re.M):
        pytest.skip("this machine allows no mount namespaces: muster doctor")
    ann = accounts[0]
    mine = f"mine-{os.getpid()}"
    said = server.output(
        ann,
        f"touch /tmp/{mine} /var/tmp/{mine} /dev/shm/{mine} && ls /tmp /dev/shm; ls /dev | sort",
    )
    devices = said[said.index("/tmp:") :].split("\n\n")[-1]
    for path in (f"/tmp/{mine}", f"/var/tmp/{mine}", f"/dev/shm/{mine}"):
        assert not Path(path).exists(), path
    assert mine in said and "null" in devices and "ptmx" in devices
    for name in ("mem", "kmsg", "vda", "sda", "loop0", "tty1"):
        assert name not in devices.split(), name


def test_terminals_and_exec_are_the_owners(shared: Starter, accounts: list[Account]) -> None:
    server = shared()
    ann, ben, _ = accounts
    number = server.submit_as(ann, "sleep 600")
    server.wait(number, "running")
    done = server.cli(ann, "exec", number, "worker/0", "--", "sh", "-c", "id -u; cat /etc/shadow")
    assert done.stdout.strip() == str(ann.uid) and "Permission denied" in done.stderr
    assert server.cli(ben, "exec", number, "worker/0", "--", "id").returncode != 0
    shown = server.output(ann, "python3 -c 'import pty; pty.spawn([\"tty\"])'")
    assert shown.strip().startswith("/dev/pts/")


def test_who_has_no_account_is_refused(shared: Starter, accounts: list[Account]) -> None:
    server = shared()
    ann, ben, _ = accounts
    server.muster("user", "add", "nosuchperson")
    server.muster("user", "add", "daemon")
    other = Account(ann.name)
    for name in ("nosuchperson", "daemon"):
        other.token = server.muster("token", "create", "--user", name, "-q").stdout.strip()
        done = server.cli(other, "submit", "--", "true")
        assert done.returncode == 5, done
        assert f'there is no account "{name}" on this machine' in done.stderr
        assert f"an admin names one for {name}" in done.stderr
    other.token = server.muster("token", "create", "--user", "nosuchperson", "-q").stdout.strip()
    assert server.muster("user", "set", "nosuchperson", "--account", "root").returncode == 2
    assert server.muster("user", "set", "nosuchperson", "--account", ben.name).returncode == 0
    listed = server.muster("user", "ls").stdout
    assert re.search(rf"^nosuchperson +user +{ben.name} ", listed, re.M), listed
    reply = server.ask(other, "POST", "/v1/jobs", native("hers", "id -u"))
    number = reply.good().json()["number"]
    server.wait(number, "succeeded")
    assert server.log(number).strip() == str(ben.uid)
    assert server.cli(ann, "user", "set", ann.name, "--account", ben.name).returncode == 5


def test_an_account_for_those_who_have_none(shared: Starter, accounts: list[Account]) -> None:
    ben = accounts[1]
    server = shared(env={"MUSTER_JOB_ACCOUNT": ben.name})
    server.muster("user", "add", "nosuchperson")
    other = Account(ben.name)
    other.token = server.muster("token", "create", "--user", "nosuchperson", "-q").stdout.strip()
    assert server.output(other, "id -u").strip() == str(ben.uid)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"JOB_ACCOUNT": "nosuchperson"}, 'account "nosuchperson" is not on this machine'),
        ({"JOB_ACCOUNT": "root"}, 'account "root" is one of the system\'s'),
        ({"JOB_ACCOUNT": "daemon"}, 'account "daemon" is one of the system\'s'),
        ({"JOB_ACCOUNT": "nobody", "SHARED_ACCOUNT": "yes"}, "leave one of them out"),
        ({"USERS_DIR": "some/where"}, 'users_dir is "some/where"'),
        ({"USERS_DIR": "{closed}/users"}, "{closed} lets nobody else through"),
        ({"USERS_DIR": f"/tmp/{'u' * 110}"}, "has 120 bytes, and at most 107 can be: /tmp/uuu"),
        ({"PUBLIC_SOCKET": f"/tmp/{'s' * 110}"}, "--public-socket PATH: a shorter one, or none"),
    ],
)
def test_settings_that_cannot_work(
    accounts: list[Account], settings: dict[str, str], said: str
) -> None:
    """They are found when the server starts, not by the first user whose job is refused."""
    server = Shared(accounts)
    closed = server.place / "closed"
    closed.mkdir(mode=0o700)
    named = {f"MUSTER_{key}": value.format(closed=closed) for key, value in settings.items()}
    server.env = {**server.env, **named}
    try:
        with pytest.raises(RuntimeError, match="the server ended with 2"):
            server.start()
        assert said.format(closed=closed) in server.said(), server.said()
    finally:
        server.close()


def test_the_servers_own_user_needs_nothing(shared: Starter, accounts: list[Account]) -> None:
    server = shared()
    number = server.submit(native("own", "id -u; grep CapEff /proc/self/status"))
    server.wait(number, "succeeded")
    uid, effective = server.log(number).splitlines()
    assert uid == "0"
    assert int(effective.split()[1], 16) == 0x800405FB, "what containers keep"


def test_it_outlives_its_server(shared: Starter, accounts: list[Account]) -> None:
    """The account is noted with the job: a server that starts anew starts a retry as it too."""
    server = shared()
    ann = accounts[0]
    number = server.submit_as(ann, "id -u; test -e go || sleep 600", retry={"unknown": 1})
    server.wait(number, "running")
    server.kill()
    server.start()
    ann.write("go", "")
    job = server.job(number)
    (pid,) = (a["pid"] for t in job["task_list"] for a in t["attempts"])
    assert os.stat(f"/proc/{pid}").st_uid == ann.uid
    os.kill(pid, 15)
    server.wait(number, "succeeded")
    assert server.log(number).split() == [str(ann.uid)] * 2


def test_a_server_that_is_not_root_runs_only_its_own_jobs(short_path: Path) -> None:
    nobody = Nobody(short_path)
    if nobody.why_not:
        pytest.skip(nobody.why_not)
    listen = ("--listen", "127.0.0.1:0")
    assert nobody.muster("server", "start", "--shared-account", "no", *listen).returncode == 0
    try:
        nobody.muster("user", "add", "bob")
        token = nobody.muster("token", "create", "--user", "bob", "-q").stdout.strip()
        address = json.loads((nobody.state / "server.json").read_text())["address"]
        as_bob = {"MUSTER_SERVER": address, "MUSTER_TOKEN": token}
        done = muster("submit", "--", "true", cwd=short_path, env=as_bob)
        assert done.returncode == 5, done
        assert "this server runs jobs of nobody only, because it is not root" in done.stderr
        assert nobody.muster("run", "--", "true").returncode == 0
        assert nobody.muster("server", "start", "--shared-account", "yes", *listen).returncode == 0
        address = json.loads((nobody.state / "server.json").read_text())["address"]
        done = muster(
            "submit", "--", "true", cwd=Path("/"), env={**as_bob, "MUSTER_SERVER": address}
        )
        assert done.returncode == 0, done.stderr
    finally:
        nobody.stop_server()


def test_a_sandbox_that_is_off_is_for_one_person(shared: Starter, accounts: list[Account]) -> None:
    server = shared(env={"MUSTER_SANDBOX": "off"})
    done = server.cli(accounts[0], "submit", "--", "true")
    assert done.returncode == 5 and "because its sandbox is off" in done.stderr, done
    number = server.submit(native("own", "grep NoNewPrivs /proc/self/status"))
    server.wait(number, "succeeded")
    assert server.log(number).split() == ["NoNewPrivs:", "0"]
    both = Shared(accounts, env={"MUSTER_SANDBOX": "off", "MUSTER_SHARED_ACCOUNT": "yes"})
    with pytest.raises(RuntimeError, match="sandbox is off, and shared_account lets others submit"):
        both.start()
    both.close()


def test_every_account_asks_over_a_socket(shared: Starter, accounts: list[Account]) -> None:
    """The kernel says who they are: no user has to be added, no token made."""
    server = shared()
    cem = accounts[2]
    if cem.run("test", "-x", str(program())).returncode != 0:
        pytest.skip(f"{program()} is out of reach for other users")
    server.muster("user", "rm", cem.name)
    where = f"unix:{server.place}/users/sock"

    def ask(*args: str) -> str:
        done = cem.run("env", f"MUSTER_SERVER={where}", str(program()), *args)
        assert done.returncode == 0, done
        return done.stdout

    assert f"worker/0  {cem.uid}\n" in ask("run", "--", "id", "-u")
    assert str(server.state) in re.findall(r"^key .*", ask("doctor"), re.M)[0]
    number = server.submit_as(accounts[0], "sleep 600")
    assert str(number) not in [line.split()[0] for line in ask("ls", "--all").splitlines()[1:]]
    assert cem.run("test", "-r", str(server.state / "sock")).returncode != 0


def test_without_a_public_socket_tasks_ask_over_tcp(
    shared: Starter, accounts: list[Account]
) -> None:
    """They have no socket that their account reaches; the token of their job goes with it."""
    server = shared(env={"MUSTER_PUBLIC_SOCKET": "none"})
    ann = accounts[0]
    ask = (
        "import os, urllib.request\n"
        "own = {'Authorization': 'Bearer ' + os.environ['MUSTER_JOB_TOKEN']}\n"
        "at = f\"{os.environ['MUSTER_SERVER']}/v1/jobs/{os.environ['MUSTER_JOB_NUMBER']}\"\n"
        "print(urllib.request.urlopen(urllib.request.Request(at, headers=own)).status)\n"
    )
    program = ann.write("asks.py", ask, 0o644)
    said = server.output(ann, f"echo $MUSTER_SERVER; exec /usr/bin/python3 {program}")
    assert said.split() == [server.info()["address"], "200"]


def test_it_is_replayed(shared: Starter, accounts: list[Account], tmp_path: Path) -> None:
    """A recording has the accounts, and refusals for want of one, as they were."""
    server = shared()
    server.muster("user", "add", "nosuchperson")
    other = Account(accounts[0].name)
    other.token = server.muster("token", "create", "--user", "nosuchperson", "-q").stdout.strip()
    server.end()
    record = tmp_path / "recording"
    server.flags = ("--record", str(record))
    server.start()
    home = [{"from": str(accounts[0].home), "at": "/mnt/home"}]
    server.wait(server.submit_as(accounts[0], "true", inputs={"data": home}), "succeeded")
    assert server.cli(other, "submit", "--", "true").returncode == 5
    server.end()
    done = server.muster("replay", record)
    assert done.returncode == 0, done


def test_a_job_of_several_roles(shared: Starter, accounts: list[Account]) -> None:
    """Its tasks find each other by the board, over the socket that their account reaches."""
    server = shared()
    ann = accounts[0]
    board = (
        "import os\n"
        "from muster.worker.board import job_board\n"
        "board = job_board(os.environ['MUSTER_JOB_NUMBER'])\n"
        "role = os.environ['MUSTER_ROLE']\n"
        "board.put(role, {'at': role})\n"
        "other = board.get({'a': 'b', 'b': 'a'}[role], wait=600)\n"
        "print('met', other.value['at'], board.job()['owner'])\n"
    )
    shutil.copytree(ROOT / "python/muster/src/muster", ann.home / "muster", dirs_exist_ok=True)
    program = ann.write("meets.py", board, 0o644)
    roles = {name: {"run": f"/usr/bin/python3 {program}"} for name in ("a", "b")}
    job = json.dumps({"name": "several", "roles": roles})
    reply = server.ask(ann, "POST", "/v1/jobs", job, cwd=str(ann.home))
    number = reply.good().json()["number"]
    server.wait(number, "succeeded", "failed")
    assert f"met b {ann.name}" in server.log(number, "a/0")
    assert f"met a {ann.name}" in server.log(number, "b/0")
