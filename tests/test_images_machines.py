"""Tasks in images on machines: each has a store of its own, and what it pulls with comes with the
launch."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import registry as registries
from conftest import Starter
from harness import Server, native, wait_for
from registry import Registry, busybox
from test_images import LOOK, check_look, early, said, until
from test_machines import AGENTS, add, host, wait_state, write_conf

if why := registries.why_none():
    pytestmark = pytest.mark.skip(reason=why)

LABEL = {"at": "machine"}


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    if not shutil.which("htpasswd"):
        pytest.skip("there is no htpasswd on this machine (apt: apache2-utils)")
    folder = tmp_path_factory.mktemp("private") / "one"
    one = Registry(folder, user="alice", password="pass-4711-word").start()
    yield one
    one.stop()


@pytest.fixture
def server(start: Starter) -> Server:
    found = start(nodes="name=here,1cpu,1Gi", flags=(*AGENTS, "--runtime", "auto"))
    assert isinstance(found, Server)
    return found


@contextmanager
def machines(server: Server, *homes: Path) -> Iterator[None]:
    with ExitStack() as all_of_them:
        for home in homes:
            write_conf(server, home, add(server, home.name, labels=LABEL))
            all_of_them.enter_context(host(home))
        for home in homes:
            wait_state(server, "up", home.name)
        yield


def job(run: str, replicas: int = 1, **fields: Any) -> str:
    place = {"labels": LABEL, "spread": ["worker"]}
    return native("far", run=run, replicas=replicas, place=place, **fields)


def holds_secret(folder: Path, private: Registry) -> list[Path]:
    word = base64.b64encode(f"{private.user}:{private.password}".encode())
    return [
        file
        for file in folder.rglob("*")
        if file.is_file()
        and "images/trees" not in str(file)
        and any(one in file.read_bytes() for one in (private.password.encode(), word))
    ]


def test_each_machine_pulls_into_its_own_store(
    server: Server, private: Registry, tmp_path: Path
) -> None:
    upper = registries.tree({"work": None, "etc/.wh.gone": b"", "etc/upper": b"upper\n"})
    lower = busybox(**{"etc/gone": b"gone\n"})
    env = ["PATH=/bin:/extra", "FROM_IMAGE=yes"]
    image = private.push("team/far", lower, upper, Env=env, WorkingDir="/work")
    auth = tmp_path / "auth.json"
    auth.write_text(json.dumps(private.credentials()))
    homes = [tmp_path / "m1", tmp_path / "m2"]
    go = tmp_path / "go"
    wait = f"until test -e {go}; do sleep 0.05; done"
    before = len(private.log)
    with machines(server, *homes):
        inputs: dict[str, Any] = {"registry_auth": str(auth)}
        inputs["data"] = [{"from": str(tmp_path), "at": str(tmp_path)}]
        number = server.submit(job(f"{LOOK}; {wait}", 2, image=image, inputs=inputs))
        for task in ("worker/0", "worker/1"):
            wait_for(lambda t=task: "\n0\n" in server.log(number, t), what="what it sees")  # type: ignore[misc]
            done = server.muster("exec", number, task, "--", "cat", "/etc/marker")
            assert done.stdout == "of the image\n", done.stderr
        go.touch()
        assert server.wait(number)["state"] == "succeeded"
        for task in ("worker/0", "worker/1"):
            check_look(server.log(number, task))
        stores = [sorted(one.name for one in (home / "images/trees").iterdir()) for home in homes]
        assert stores[0] == stores[1] and len(stores[0]) == 1, stores
        assert not (server.state / "images/trees").exists(), "the server has pulled nothing"
        # The layers came once from the registry, to the server, and from there to both.
        assert len(private.blobs_sent("team/far", before)) == 3
        assert len(list((server.state / "images-packed").glob("?" * 64))) == 1
        assert not list(tmp_path.glob("m?/images/packed/*")), "what was unpacked is not kept twice"
        # Both are machines of the server's account: its store serves others with credentials only.
        (digest,) = server.job(number)["images"].values()
        by_digest = f"{image.rpartition(':')[0]}@{digest}"
        refused = server.run(job("true", image=by_digest))
        assert "the registry wants credentials" in refused["reason"], refused
    for folder in (*homes, server.state):
        assert not holds_secret(folder, private)


def test_machines_run_images_where_the_server_does_not(
    start: Starter, private: Registry, tmp_path: Path
) -> None:
    """As on a login node. Without a machine such a job is refused."""
    image = private.push("team/login", busybox())
    auth = tmp_path / "auth.json"
    auth.write_text(json.dumps(private.credentials()))
    empty = tmp_path / "empty"
    empty.mkdir()
    server = start(
        nodes="name=here,1cpu,1Gi",
        flags=(*AGENTS, "--runtime", "auto"),
        env={"PATH": str(empty)},
    )
    text = job("cat /etc/marker", image=image, inputs={"registry_auth": str(auth)})
    refused = server.api("POST", "/v1/jobs", text)
    assert refused.status >= 400 and "cannot be run here" in refused.text, refused.text
    with machines(server, tmp_path / "m1"):
        taken = server.api("POST", "/v1/jobs", text).good()
        assert "cannot be run on the server's own machine" in taken.text, taken.text
        done = server.wait(taken.json()["number"])
        assert done["state"] == "succeeded", done
        assert server.log(done["number"]) == "of the image\n"


def stores(server: Server) -> dict[str, Any]:
    """By node, of those of which it is known."""
    nodes = json.loads(server.muster("nodes", "--json").stdout)["nodes"]
    return {one["name"]: one["images"] for one in nodes if "images" in one}


def test_what_images_take_on_a_machine(server: Server, private: Registry, tmp_path: Path) -> None:
    """Of each its own, also after the host was started anew; the server's machine has none."""
    image = private.push("team/takes", busybox())
    auth = tmp_path / "auth.json"
    auth.write_text(json.dumps(private.credentials()))
    inputs: dict[str, Any] = {"registry_auth": str(auth)}
    home, other = tmp_path / "m1", tmp_path / "m2"
    with machines(server, home, other):
        assert stores(server) == {}
        place = {"nodes": ["m1"]}
        done = server.run(native("takes", image=image, inputs=inputs, place=place))
        assert done["state"] == "succeeded", done
        wait_for(lambda: list(stores(server)) == ["m1"], what="what its host says")
        (store,) = stores(server)["m1"]
        assert store["dir"] == str(home / "images") and store["images"] == 1
        assert 0 < store["bytes"] < store["limit"] == 64 << 30 and store["free"] > 0
        wide = server.muster("nodes", "-o", "wide").stdout
        (line,) = [one for one in wide.splitlines() if one.startswith("m1 ")]
        assert re.search(r"/64 GiB, \S+ \S+ free", line), wide
        assert wide.count(" free") == 1, wide
        doctor = server.muster("doctor").stdout
        assert re.search(r"^images +ok +none are kept yet", doctor, re.M), "that is its own machine"
    wait_for(lambda: stores(server) == {}, what="the end of the host")
    with host(home):
        wait_for(lambda: list(stores(server)) == ["m1"], what="its next host")
        assert stores(server)["m1"][0]["images"] == 1


def test_nothing_is_fetched_to_a_disk_that_no_image_runs_from(
    server: Server, private: Registry, tmp_path: Path
) -> None:
    """As where the home directory of a machine is on NFS; here it is on an overlay."""
    places = {name: tmp_path / name for name in ("lowerdir", "upperdir", "workdir")}
    on = tmp_path / "on"
    for one in (*places.values(), on):
        one.mkdir()
    options = ",".join(f"{name}={one}" for name, one in places.items())
    mount = ["mount", "-t", "overlay", "-o", options, "none", str(on)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no overlay can be mounted here")
    image = private.push("team/unfit", busybox())
    auth = tmp_path / "auth.json"
    auth.write_text(json.dumps(private.credentials()))
    before = len(private.log)
    try:
        with machines(server, on / "m1"):
            done = server.run(job("true", image=image, inputs={"registry_auth": str(auth)}))
        assert done["state"] == "failed", done
        assert "no image can run from a state directory on overlayfs" in done["reason"], done
        assert private.blobs_sent("team/unfit", before) == []
        assert not (on / "m1/images/trees").exists()
    finally:
        subprocess.run(["umount", "-l", str(on)], check=True)


# ---- while a job waits ----


def test_the_next_image_comes_to_the_machine_of_a_job_that_waits(
    server: Server, private: Registry, tmp_path: Path
) -> None:
    """With the credentials of the job, which are kept nowhere; its task starts with no pull."""
    image = private.push("team/early", busybox())
    auth = tmp_path / "auth.json"
    auth.write_text(json.dumps(private.credentials()))
    inputs: dict[str, Any] = {"registry_auth": str(auth)}
    home, go = tmp_path / "m1", tmp_path / "go"
    with machines(server, home):
        nodes = server.get("/v1/nodes")["nodes"]
        (mine,) = [one for one in nodes if one["name"] == "m1"]
        resources = {"cpu": mine["cpu_milli"] // 1000}
        data = {"data": [{"from": str(tmp_path), "at": str(tmp_path)}]}
        first = server.submit(job(until(go), resources=resources, inputs=data))
        wait_for(lambda: server.job(first)["state"] == "running", what="who is first")
        run = "cat /etc/marker"
        number = server.submit(job(run, image=image, resources=resources, inputs=inputs))
        wait_for(
            lambda: (
                [(one.get("node"), one["step"]) for one in early(server, number)]
                == [("m1", "ready")]
            ),
            what="its image on the machine",
        )
        assert server.job(number)["state"] == "queued"
        assert f"{image}: on m1" in server.muster("explain", number).stdout
        assert f"{image}: on m1" in server.muster("show", number).stdout
        assert len(list((home / "images/trees").iterdir())) == 1
        assert not (server.state / "images/trees").exists()
        before = len(private.log)
        go.touch()
        assert server.wait(number)["state"] == "succeeded"
        assert server.log(number) == "of the image\n"
        assert private.blobs_sent("team/early", before) == [], "nothing was fetched again"
        assert "it was on this node" in said(server, number)
    for folder in (home, server.state):
        assert not holds_secret(folder, private)
