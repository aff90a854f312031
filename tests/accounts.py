"""Accounts of this machine for tests that root runs: three ordinary people, made for the session
and removed at its end, and a server of root's where each of them is a user with a token."""

from __future__ import annotations

import http.client
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness import LIVE, Done, Reply, Server, alone, muster, native, patience, request, with_query


@dataclass
class Account:
    name: str
    token: str = ""
    entry: pwd.struct_passwd = field(init=False)

    def __post_init__(self) -> None:
        self.entry = pwd.getpwnam(self.name)

    @property
    def uid(self) -> int:
        return self.entry.pw_uid

    @property
    def home(self) -> Path:
        return Path(self.entry.pw_dir)

    def write(self, name: str, text: str, mode: int = 0o600) -> Path:
        path = self.home / name
        path.write_text(text)
        path.chmod(mode)
        os.chown(path, self.uid, self.entry.pw_gid)
        return path

    def run(self, *line: str) -> Done:
        """A program as they would start it themselves."""
        return subprocess.run(
            line,
            cwd=self.home,
            user=self.uid,
            group=self.entry.pw_gid,
            extra_groups=os.getgrouplist(self.name, self.entry.pw_gid),
            env={"HOME": str(self.home), "PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )


def why_none() -> str:
    if os.geteuid() != 0:
        return "only root can make accounts and start processes as others"
    if not shutil.which("useradd") or not shutil.which("userdel"):
        return "there is no useradd on this machine"
    return ""


@contextmanager
def people(suffix: str) -> Iterator[list[Account]]:
    names = [f"mt{who}{suffix}" for who in ("ann", "ben", "cem")]

    def admin(*line: str) -> None:
        with alone("accounts"):
            subprocess.run(line, check=False, capture_output=True)

    try:
        for name in names:
            # A password that none is: an account that is locked gets no ssh either.
            admin("useradd", "--create-home", "--shell", "/bin/sh", "--password", "*", name)
        yield [Account(name) for name in names]
    finally:
        for name in names:
            admin("userdel", "--force", "--remove", name)


class Shared(Server):
    """A server of root's for several people; what their jobs make lies where they reach it."""

    def __init__(self, users: list[Account], **more: Any) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="muster-test-", dir="/var/lib"))
        self.place.chmod(0o711)
        env = {
            "MUSTER_SHARED_ACCOUNT": "no",
            "MUSTER_USERS_DIR": str(self.place / "users"),
            **more.pop("env", {}),
        }
        super().__init__(env=env, **more)
        self.users = users
        self.met = False

    def start(self) -> Shared:
        super().start()
        if not self.met:
            self.met = True
            for user in self.users:
                self.muster("user", "add", user.name)
                done = self.muster("token", "create", "--user", user.name, "-q")
                user.token = done.stdout.strip()
        return self

    def close(self, keep: bool = False, states: str = LIVE) -> dict[int, str]:
        left = super().close(keep, states)
        shutil.rmtree(self.place, ignore_errors=True)
        return left

    def cli(self, user: Account, *args: str | Path | int, **env: str) -> Done:
        """The command line as that user, over TCP with their token."""
        own = {"MUSTER_SERVER": self.info()["address"], "MUSTER_TOKEN": user.token}
        return muster(*args, cwd=user.home, env={**own, **env})

    def ask(
        self, user: Account, method: str, path: str, body: str | None = None, **query: str | int
    ) -> Reply:
        address = urlsplit(self.info()["address"])
        assert address.hostname is not None
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=patience())
        headers = {"Authorization": f"Bearer {user.token}"}
        try:
            return request(connection, method, with_query(path, query), body, headers)
        finally:
            connection.close()

    def submit_as(self, user: Account, run: str, **fields: Any) -> int:
        """A job of theirs that starts in their home; its number."""
        text = native("theirs", run, **fields)
        reply = self.ask(user, "POST", "/v1/jobs", text, cwd=str(user.home))
        number: int = reply.good().json()["number"]
        return number

    def output(self, user: Account, run: str, **fields: Any) -> str:
        """What a job of theirs wrote until its end."""
        number = self.submit_as(user, run, **fields)
        self.wait(number, "succeeded", "failed")
        return self.log(number)
