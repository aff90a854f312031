"""Code that a submitter of another machine brings along: uploaded by its content, unpacked once."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest
from harness import Server, wait_for
from muster import Client, Refused
from muster.snapshot import snapshot
from muster.unified import DLJobBuilder


@pytest.fixture
def remote(server: Server, monkeypatch: pytest.MonkeyPatch) -> Client:
    """The server as another machine sees it: over TCP, with its token."""
    info = server.get("/v1/server")
    monkeypatch.setenv("MUSTER_SERVER", info["address"])
    monkeypatch.setenv("MUSTER_TOKEN", (server.state / "token").read_text().strip())
    return Client()


def folder(path: Path, **files: str) -> Path:
    path.mkdir()
    for name, text in files.items():
        (path / name.replace("_py", ".py")).write_text(text)
    return path


def packed(**files: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def put(client: Client, data: bytes, digest: str, part: str = "x") -> None:
    for offset in range(0, len(data), 1 << 20):
        piece = data[offset : offset + (1 << 20)]
        where: dict[str, str | int] = {"part": part, "offset": offset}
        client.call("PUT", f"/v1/archives/{digest}", where, piece)
    client.call("POST", f"/v1/archives/{digest}", {"part": part})


def test_a_snapshot_is_its_content(tmp_path: Path) -> None:
    one = folder(tmp_path / "a", x_py="1", y="2")
    two = folder(tmp_path / "b", y="2", x_py="1")
    (two / "__pycache__").mkdir()
    (two / "__pycache__/x.pyc").write_text("z")
    os.utime(two / "y", (1, 1))
    assert snapshot(one).hash == snapshot(two).hash
    (two / "y").write_text("3")
    assert snapshot(one).hash != snapshot(two).hash


def test_uploaded_code_is_where_tasks_start(remote: Client, tmp_path: Path) -> None:
    big = os.urandom(3 << 20).hex()  # several pieces
    code = folder(tmp_path / "a", hello="good morning\n", big=big)
    archive = remote.upload(code)
    assert remote.upload(code) == archive
    job = remote.submit(
        {"name": "up", "run": "cat hello; wc -c <big", "inputs": {"code": {"archive": archive}}}
    )
    assert job.wait(30) == "succeeded"
    assert [line.split("  ", 1)[1] for line in job.logs().splitlines()] == [
        "good morning",
        str(len(big)),
    ]


def test_a_copy_of_each_generation(remote: Client, tmp_path: Path) -> None:
    """A task that starts again in its generation finds what it wrote, the next starts afresh."""
    archive = remote.upload(folder(tmp_path / "a", x_py="1"))
    said = tmp_path / "said"
    said.touch()
    run = (
        f"a=$(ls | tr '\\n' ' '); touch seen; echo $a >>{said}; test -e {tmp_path}/go || sleep 600"
    )
    job = remote.submit({"name": "up", "run": run, "inputs": {"code": {"archive": archive}}})
    wait_for(lambda: said.read_text() == "x.py\n")
    job.restart("worker/0")
    wait_for(lambda: said.read_text() == "x.py\nseen x.py\n")
    (tmp_path / "go").touch()
    job.restart()
    assert job.wait(60) == "succeeded"
    assert said.read_text() == "x.py\nseen x.py\nx.py\n"


def test_the_builder_sends_its_folder_along(
    remote: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = folder(tmp_path / "a", far_py="import os\ndef run(): print(os.path.exists('far.py'))\n")
    monkeypatch.chdir(code)
    job = DLJobBuilder().device_type("CPU").role("r").run("far.run").total(2).end().build()
    assert job.submit("far", log=False) == 0
    assert sorted(job.handle.logs().splitlines()) == ["r/0  True", "r/1  True"]
    assert str(code) not in str(job.handle.job.show(spec=1))


def test_what_is_not_what_it_says(remote: Client) -> None:
    good = packed(a="1")
    digest = hashlib.sha256(good).hexdigest()
    for data, name, said in (
        (good + b"x", digest, "not those of this hash"),
        (b"no tar", hashlib.sha256(b"no tar").hexdigest(), "no gzipped tar"),
        (good, "abc", "no SHA-256"),
        (good, "../" + digest[3:], "nothing is at"),
    ):
        with pytest.raises(Refused, match=said):
            put(remote, data, name)
    with pytest.raises(Refused) as error:
        remote.call("GET", f"/v1/archives/{digest}")
    assert error.value.status == 404
    with pytest.raises(Refused, match="offset is 5, and 0 bytes are here"):
        remote.call("PUT", f"/v1/archives/{digest}", {"part": "y", "offset": 5}, b"12345")
    with pytest.raises(Refused, match="part is missing"):
        remote.call("PUT", f"/v1/archives/{digest}", {"part": "../x"}, b"12345")


def test_nothing_is_unpacked_outside(remote: Client, server: Server, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    data = packed(**{"inside": "1", f"..{outside}": "2", str(outside): "3"})
    digest = hashlib.sha256(data).hexdigest()
    with pytest.raises(Refused):
        put(remote, data, digest)
    assert not outside.exists()
    assert not list((server.state / "archives").glob(f"*{digest}*"))


def test_code_that_an_older_version_unpacked(remote: Client, server: Server) -> None:
    """Nobody knows what jobs made of it: it counts as not kept, and is replaced."""
    data = packed(a="old")
    digest = hashlib.sha256(data).hexdigest()
    put(remote, data, digest)
    place = server.state / "archives" / digest
    inputs = {"code": {"archive": f"sha256:{digest}"}}
    job = remote.submit({"name": "x", "run": "sleep 600", "inputs": inputs})
    wait_for(lambda: job.status() == "running")
    place.unlink()
    place.mkdir()
    (place / "a").write_text("changed")
    job.restart()
    assert job.wait(60) == "failed"
    assert "is not kept any more: send it again" in job.show()["reason"]
    with pytest.raises(Refused, match="is not kept here"):
        remote.submit({"name": "x", "run": "cat a", "inputs": inputs})
    put(remote, data, digest)
    again = remote.submit({"name": "x", "run": "cat a", "inputs": inputs})
    assert again.wait(60) == "succeeded"
    assert "old" in again.logs()


@pytest.mark.parametrize(
    ("archive", "said"),
    [
        ("sha256:" + "0" * 64, "is not kept here"),
        ("sha256:12", "no hash of an archive"),
        ("md5:" + "0" * 64, "no hash of an archive"),
    ],
)
def test_a_job_names_an_archive_that_is_not_there(remote: Client, archive: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        remote.submit({"name": "x", "run": "true", "inputs": {"code": {"archive": archive}}})


def test_strangers_upload_nothing(remote: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_TOKEN", "0" * 64)
    with pytest.raises(Refused) as error:
        remote.call("PUT", "/v1/archives/" + "0" * 64, {"part": "x", "offset": 0}, b"1")
    assert error.value.status == 401
