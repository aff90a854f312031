"""What a job of an ordinary user tries on a server of root's: to be root, to read what is not its
own, to make itself an admin, to make files elsewhere, to outlive its end."""

from __future__ import annotations

import os
import platform
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from accounts import Account, Shared
from harness import alone, native, wait_for

Starter = Callable[..., Shared]


def test_is_not_root(shared: Starter, accounts: list[Account]) -> None:
    said = shared().output(accounts[0], "id -u; grep CapEff /proc/self/status")
    uid, effective = said.splitlines()
    assert uid == str(accounts[0].uid), f"the job ran as uid {uid}"
    assert int(effective.split()[1], 16) == 0, f"the job had capabilities: {effective}"


def test_reads_no_others_environment(shared: Starter, accounts: list[Account]) -> None:
    server = shared()
    ann, ben, _ = accounts
    victim = server.submit_as(ben, "sleep 600", env={"PASSPHRASE": "correct-horse"})
    server.wait(victim, "running")
    said = server.output(ann, "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; true")
    assert "correct-horse" not in said, "another user's environment was read"


def test_makes_itself_no_admin(shared: Starter, accounts: list[Account]) -> None:
    server = shared()
    state, ann = server.state, accounts[0]
    said = server.output(
        ann,
        f"exec 2>&1; cat {state}/token; cat {state}/*.key; "
        f"curl -s --unix-socket {state}/sock http://muster/v1/users "
        f'-d \'{{"name": "eve", "role": "admin"}}\'; true',
    )
    token = (state / "token").read_text().strip()
    assert token not in said, "the server's token was read"
    users = server.get("/v1/users")["users"]
    assert "eve" not in [u["name"] for u in users], "the job made an admin"


def test_touches_no_other_job(shared: Starter, accounts: list[Account]) -> None:
    """Signals, files and directories of a job of another account."""
    server = shared()
    ann, ben, _ = accounts
    victim = server.submit_as(ben, "umask 077; touch mine; sleep 600")
    server.wait(victim, "running")
    (pid,) = (a["pid"] for t in server.job(victim)["task_list"] for a in t["attempts"])
    said = server.output(
        ann,
        f"exec 2>&1; kill -9 {pid} && echo killed; cat {ben.home}/mine && echo read; "
        f"ls /proc/{pid}/root/ && echo looked; true",
    )
    for word in ("killed", "read", "looked"):
        assert word not in said.split(), said
    assert server.state_of(victim) == "running"


def test_mounts_make_no_files_elsewhere(shared: Starter, accounts: list[Account]) -> None:
    """A mount point in a place of the system's: /etc/nologin would keep everybody out."""
    server = shared()
    ann = accounts[0]
    mine = ann.write("empty", "")
    climbing = "/mnt/none/../../etc/made-by-a-job"
    folder = ann.home / "folder"
    ann.run("mkdir", str(folder))
    for at in ("/etc/nologin", "/root/.ssh/authorized_keys", "/etc/cron.d/mine", climbing):
        source = folder if at == climbing else mine
        job = native("mount", "sleep 600", inputs={"data": [{"from": str(source), "at": at}]})
        reply = server.ask(ann, "POST", "/v1/jobs", job)
        if reply.status < 300:
            number = reply.json()["number"]
            server.wait(number, "running", "failed")
        assert not Path(os.path.normpath(at)).exists(), f"the server made {at}"


def test_leaves_nothing_behind(shared: Starter, accounts: list[Account]) -> None:
    """A daemon that gave up its session, its environment and its parent ends with its job."""
    server = shared()
    ann = accounts[0]
    file = ann.home / "pid"
    hidden = f"echo $$ >{file}; exec sleep 600"
    hide = f"setsid env -i sh -c '{hidden}' </dev/null >/dev/null 2>&1 &"
    number = server.submit_as(ann, f"{hide} while ! test -s {file}; do sleep 0.05; done; true")
    server.wait(number, "succeeded")
    pid = int(file.read_text())
    wait_for(lambda: not os.path.exists(f"/proc/{pid}"))


def test_links_lead_the_server_nowhere(shared: Starter, accounts: list[Account]) -> None:
    """Its own directories are replaced by links while the server works in them as root."""
    server = shared()
    ann = accounts[0]
    target = server.place / "target"
    target.mkdir()
    (target / "kept").write_text("")
    reply = server.ask(
        ann,
        "POST",
        "/v1/jobs",
        native("link", f"cd ../..; rm -rf work; ln -s {target} work; sleep 600"),
    )
    number = reply.good().json()["number"]
    server.wait(number, "running")
    top = server.place / f"users/jobs/{number}"
    wait_for(lambda: any(p.is_symlink() for p in top.glob("g1/*/work")))
    assert server.cli(ann, "stop", "--now", number).returncode == 0
    server.wait(number, "stopped")
    server.cli(ann, "rm", number)
    wait_for(lambda: not top.exists())
    assert (target / "kept").exists(), "removing the job removed another's files"


TAKER = """
import socket, sys
held = []
for cpu in range(1024):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.bind(chr(0) + f"muster/cpu/{cpu}")
    held.append(one)
print("taken", flush=True)
sys.stdin.read()
"""


def test_nobody_takes_the_cores_first(shared: Starter, accounts: list[Account]) -> None:
    server = shared()
    ann, ben, _ = accounts
    with (
        subprocess.Popen(
            ["/usr/bin/python3", "-c", TAKER],
            user=ben.uid,
            group=ben.entry.pw_gid,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as taker,
        alone("cores"),
    ):
        assert taker.stdout and taker.stdin and taker.stdout.readline() == "taken\n"
        number = server.submit_as(ann, "nproc", place={"pin_cpus": True})
        server.wait(number, "succeeded")
        taker.stdin.close()
    said = "".join(str(r.get("text", "")) for r in server.records(number))
    assert "not bound to cores" not in said, said
    assert said.strip().endswith("1"), said


def test_mounts_show_no_file_of_the_servers(shared: Starter, accounts: list[Account]) -> None:
    """Files that the server writes for a job are mounted with its own rights; a path through their
    folder is not one of them."""
    server = shared()
    ann = accounts[0]
    through = f"{server.state}/runs/1/g1/n1/../../../../token"
    job = native(
        "mount", "cat /mnt/token", inputs={"data": [{"from": through, "at": "/mnt/token"}]}
    )
    reply = server.ask(ann, "POST", "/v1/jobs", job)
    assert reply.status == 422 and b"Permission denied" in reply.body, reply.body


KEYS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
session = -3
found = libc.syscall(250, 10, session, b"user", b"of-the-server", 0)  # KEYCTL_SEARCH
print("found" if found > 0 else "nothing")
"""
KEEP = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(250, 1, None)  # KEYCTL_JOIN_SESSION_KEYRING
assert libc.syscall(248, b"user", b"of-the-server", b"secret", 6, -3) > 0
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
def test_finds_no_keys_of_the_servers(shared: Starter, accounts: list[Account]) -> None:
    """The server was started in a session that holds a key of the kernel."""

    class Keeper(Shared):
        def command(self) -> list[str]:
            return [sys.executable, "-c", KEEP, *super().command()]

    server = Keeper(accounts)
    try:
        server.start()
        accounts[0].write("keys.py", KEYS)
        assert server.output(accounts[0], "/usr/bin/python3 ~/keys.py").strip() == "nothing"
        own = server.submit(native("own", f"/usr/bin/python3 {accounts[0].home}/keys.py"))
        server.wait(own, "succeeded")
        assert server.log(own).strip() == "found", "the key was there to be found"
    finally:
        server.close()


def writable_mount(kind: str, option: str = "") -> str:
    """Where a hierarchy of control groups is mounted in which groups can be made; "" for none."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, at, type_, options, *_ = line.split()
        if (
            type_ == kind
            and (not option or option in options.split(","))
            and os.access(at, os.W_OK)
        ):
            return at
    return ""


class WithoutVersion1(Shared):
    """A server on a machine whose devices are those of control groups of version 2."""

    def command(self) -> list[str]:
        at = writable_mount("cgroup", "devices")
        hide = f'umount {at} && exec "$@"' if at else 'exec "$@"'
        return ["unshare", "--mount", "sh", "-c", hide, "sh", *super().command()]


@pytest.mark.parametrize("version", [1, 2])
def test_opens_no_device_that_lies_about(accounts: list[Account], version: int) -> None:
    """A node of a device that it was not given, in a place that it can reach: there is no driver
    behind this one, so who may open it hears that. Nor does root's own job make one."""
    if not writable_mount(*(("cgroup", "devices") if version == 1 else ("cgroup2",))):
        pytest.skip(f"no control group of devices (version {version}) can be made here")
    server = (Shared if version == 1 else WithoutVersion1)(accounts)
    try:
        server.start()
        ann = accounts[0]
        node = ann.home / "node"
        node.unlink(missing_ok=True)
        os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(60, 1))
        os.chmod(node, 0o666)
        said = server.output(
            ann, f"exec 2>&1; cat {node}; cat /dev/null && head -c 1 /dev/zero | wc -c"
        )
        assert "Operation not permitted" in said and said.strip().endswith("1"), said
        made = ann.home / "made"
        own = server.submit(
            native("own", f"exec 2>&1; cat {node}; mknod {made} c 1 3; test -c {made}")
        )
        server.wait(own, "failed")
        assert server.log(own).count("Operation not permitted") == 2, server.log(own)
    finally:
        server.close()
