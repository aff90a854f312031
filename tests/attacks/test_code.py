"""What an upload of code tries: to change another job's code, to fill the disk, to make what no
code needs, to lead out of its directory; and what becomes of content that was changed on disk."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from accounts import Account, Shared
from harness import Server, wait_for
from muster import Client, Refused

Starter = Callable[..., Shared]
Tell = Callable[[tarfile.TarFile], None]


def client_of(server: Server, monkeypatch: pytest.MonkeyPatch, token: str = "") -> Client:
    own = token or (server.state / "token").read_text().strip()
    monkeypatch.setenv("MUSTER_SERVER", server.info()["address"])
    monkeypatch.setenv("MUSTER_TOKEN", own)
    return Client()


def archive(tell: Tell) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        tell(tar)
    return out.getvalue()


def add(tar: tarfile.TarFile, name: str, text: str = "", **more: Any) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(text)
    for key, value in more.items():
        setattr(info, key, value)
    tar.addfile(info, io.BytesIO(text.encode()))


def code(text: str) -> bytes:
    return archive(lambda tar: add(tar, "main.py", text))


def put(client: Client, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    for offset in range(0, len(data), 1 << 20):
        where: dict[str, str | int] = {"part": "x", "offset": offset}
        client.call("PUT", f"/v1/archives/{digest}", where, data[offset : offset + (1 << 20)])
    client.call("POST", f"/v1/archives/{digest}", {"part": "x"})
    return f"sha256:{digest}"


def said_by(client: Client, run: str, kept: str, **fields: Any) -> str:
    job = client.submit({"name": "c", "run": run, "inputs": {"code": {"archive": kept}}, **fields})
    job.wait(60)
    return "".join(line.split("  ", 1)[-1] + "\n" for line in job.logs().splitlines())


def reason_of(client: Client, kept: str) -> str:
    job = client.submit({"name": "c", "run": "true", "inputs": {"code": {"archive": kept}}})
    assert job.wait(60) == "failed"
    return str(job.show()["reason"])


def kept_bytes(server: Server) -> int:
    folder = server.state / "archives"
    return sum(p.lstat().st_blocks * 512 for p in folder.rglob("*")) if folder.exists() else 0


SPOIL = "chmod -R u+w . 2>/dev/null; echo 'print(\"spoiled\")' >main.py && echo wrote"


def test_a_job_changes_no_other_jobs_code(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(server, monkeypatch)
    kept = put(client, code("print('good')\n"))
    assert said_by(client, SPOIL, kept) == "wrote\n", "a job may write where it works"
    said = said_by(client, "python3 main.py", kept)
    assert said == "good\n", f"another job's program said: {said}"


def test_nor_that_of_another_account(
    shared: Starter, accounts: list[Account], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = shared()
    ann, ben, _ = accounts
    kept = put(client_of(server, monkeypatch, ann.token), code("print('good')\n"))
    assert said_by(client_of(server, monkeypatch, ann.token), SPOIL, kept) == "wrote\n"
    of_ben = client_of(server, monkeypatch, ben.token)
    said = said_by(of_ben, "python3 main.py; stat -c %U main.py .; pwd", kept).splitlines()
    assert said[:3] == ["good", ben.name, ben.name], f"the other's program said: {said}"
    assert ann.run("ls", said[3]).returncode != 0


def test_a_small_archive_of_zeros(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """2 MiB that say 3 GiB."""
    client = client_of(server, monkeypatch)
    info = tarfile.TarInfo("zeros")
    info.size = 3 << 30
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as packed:
        packed.write(info.tobuf())
        block = bytes(1 << 20)
        for _ in range(3 << 10):
            packed.write(block)
        packed.write(bytes(1024))
    with pytest.raises(Refused) as error:
        put(client, out.getvalue())
    assert error.value.status == 413, error.value
    assert kept_bytes(server) < 16 << 20, f"{kept_bytes(server)} bytes lie there"


def test_very_many_files(start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> None:
    server = start(env={"MUSTER_CODE_FILES": "1000"})
    client = client_of(server, monkeypatch)

    def files(n: int) -> bytes:
        def tell(tar: tarfile.TarFile) -> None:
            for i in range(n):
                add(tar, f"d/{i}")

        return archive(tell)

    put(client, files(900))
    with pytest.raises(Refused, match="more than 1000 files") as error:
        put(client, files(1100))
    assert error.value.status == 413


def hard_link(tar: tarfile.TarFile) -> None:
    add(tar, "hard", type=tarfile.LNKTYPE, linkname="../../../../../etc/passwd")


def link_through(tar: tarfile.TarFile) -> None:
    add(tar, "d", type=tarfile.DIRTYPE, mode=0o755)
    add(tar, "d/up", type=tarfile.SYMTYPE, linkname="..")
    add(tar, "out", type=tarfile.SYMTYPE, linkname="d/up/..")


def below_a_link(tar: tarfile.TarFile) -> None:
    add(tar, "here", type=tarfile.SYMTYPE, linkname=".")
    add(tar, "here/x", "1")


BAD: dict[str, tuple[Tell, str]] = {
    "device": (lambda tar: add(tar, "dev", type=tarfile.CHRTYPE, devmajor=1, devminor=3), "dev"),
    "disk": (lambda tar: add(tar, "dev", type=tarfile.BLKTYPE, devmajor=8), "dev"),
    "fifo": (lambda tar: add(tar, "pipe", type=tarfile.FIFOTYPE), "pipe"),
    "setuid": (lambda tar: add(tar, "su", "x", mode=0o4755), "su"),
    "setgid": (lambda tar: add(tar, "sg", "x", mode=0o2755), "sg"),
    "link out": (lambda tar: add(tar, "out", type=tarfile.SYMTYPE, linkname="../../x"), "out"),
    "absolute link": (lambda tar: add(tar, "out", type=tarfile.SYMTYPE, linkname="/etc"), "out"),
    "link through links": (link_through, "out"),
    "below a link": (below_a_link, "here/x"),
    "hard link out": (hard_link, "hard"),
    "absolute": (lambda tar: add(tar, "/tmp/muster-absolute", "x"), "/tmp/muster-absolute"),
    "above": (lambda tar: add(tar, "a/../../b", "x"), "a/../../b"),
    "deep": (lambda tar: add(tar, "a/" * 200 + "b", "x"), "a/a/a"),
    "long": (lambda tar: add(tar, "a" * 300, "x"), "aaa"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_no_code_has(server: Server, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    tell, name = BAD[kind]
    client = client_of(server, monkeypatch)
    with pytest.raises(Refused) as error:
        put(client, archive(tell))
    assert name in str(error.value), error.value
    assert error.value.status in (400, 413), error.value
    assert not Path("/tmp/muster-absolute").exists()


def test_content_that_was_changed_on_disk(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(server, monkeypatch)
    good, other = code("print('good')\n"), code("print('evil')\n")
    kept = put(client, good)
    place = server.state / "archives" / kept.removeprefix("sha256:")
    if place.is_dir():
        (place / "main.py").write_text("print('evil')\n")
    else:
        place.chmod(0o600)
        place.write_bytes(other)
    job = client.submit(
        {"name": "c", "run": "python3 main.py", "inputs": {"code": {"archive": kept}}}
    )
    assert job.wait(60) == "failed", f"it ran: {job.logs()}"
    assert "was changed" in job.show()["reason"]
    wait_for(lambda: not place.exists())
    assert said_by(client, "python3 main.py", put(client, good)) == "good\n"


def test_a_users_quota(
    shared: Starter, accounts: list[Account], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = shared(env={"MUSTER_STORE_QUOTA": "3Mi"})
    ann, ben, _ = accounts
    of_ann = client_of(server, monkeypatch, ann.token)
    kept = []
    with pytest.raises(Refused) as error:
        for _ in range(10):
            kept.append(put(of_ann, code(os.urandom(1 << 19).hex())))
    assert len(kept) in (4, 5) and error.value.status in (413, 507), (len(kept), error.value)
    assert "store_quota" in str(error.value)
    put(client_of(server, monkeypatch, ben.token), code(os.urandom(1 << 19).hex()))


def test_room_is_made_of_what_no_job_needs(
    start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of a job that lives goes, nor what was named within a day; of the rest the oldest."""
    server = start(env={"MUSTER_STORE_QUOTA": "3700Ki"})
    client = client_of(server, monkeypatch)

    def age(kept: str, days: int) -> Path:
        path = server.state / "archives" / kept.removeprefix("sha256:")
        then = path.stat().st_mtime - days * 24 * 3600
        os.utime(path, (then, then))
        return path

    kept = [put(client, code(os.urandom(1 << 19).hex())) for _ in range(5)]
    inputs = {"code": {"archive": kept[0]}}
    job = client.submit({"name": "lives", "run": "sleep 600", "inputs": inputs})
    needed, older, old = (age(kept[i], 5 - i) for i in range(3))
    fresh = [server.state / "archives" / name.removeprefix("sha256:") for name in kept[3:]]
    put(client, code(os.urandom(1 << 20).hex()))
    assert [p.exists() for p in (needed, older, old, *fresh)] == [True, False, True, True, True]
    job.stop()
    job.wait(60)
    put(client, code(os.urandom(1 << 20).hex()))
    assert [p.exists() for p in (needed, old, *fresh)] == [False, False, True, True]
    with pytest.raises(Refused) as error:
        put(client, code(os.urandom(1 << 20).hex()))
    assert error.value.status == 507
