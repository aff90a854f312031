"""Tasks in images: pulled from a real registry, run as root, as another account and as a plain
user, and what is left when something fails in the middle."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import registry as registries
from accounts import Account, Shared
from conftest import Starter, closed
from harness import (
    EXAMPLES,
    VENV,
    Done,
    Nobody,
    Server,
    environment,
    kill,
    native,
    openpai,
    program,
    role,
    wait_for,
)
from nvml import Driver, device, library
from registry import Gate, Registry, busybox, tree
from test_device_view import Private
from test_device_view import why_none as why_no_view

if why := registries.why_none():
    pytestmark = pytest.mark.skip(reason=why)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    one = Registry(tmp_path_factory.mktemp("registry") / "open").start()
    yield one
    one.stop()


@pytest.fixture(scope="module")
def image(registry: Registry) -> str:
    upper = tree({"work": None, "work/.wh.no": b"", "etc/.wh.gone": b"", "etc/upper": b"upper\n"})
    lower = busybox(**{"etc/gone": b"gone\n"})
    env = ["PATH=/bin:/extra", "FROM_IMAGE=yes"]
    return registry.push("team/tool", lower, upper, Env=env, WorkingDir="/work")


@pytest.fixture
def images(start: Starter) -> Server:
    """A server whose jobs run in their images."""
    server = start(flags=("--runtime", "auto"))
    assert isinstance(server, Server)
    return server


WAYS = ("unpacked as it comes", "copied", "old skopeo")

# A policy demands something, although not of these registries: only a copy looks at policies.
POLICY = {
    "default": [{"type": "insecureAcceptAnything"}],
    "transports": {"docker": {"registry.example": [{"type": "reject"}]}},
}
OLD = """#!/bin/sh
for word; do test "$word" != experimental-image-proxy || exit 1; done
exec %s "$@"
"""


@pytest.fixture
def way(start: Starter, tmp_path: Path, request: pytest.FixtureRequest) -> Server:
    """A server whose images come in that way."""
    env: dict[str, str] = {}
    if request.param == WAYS[1]:
        policy = tmp_path / "home/.config/containers/policy.json"
        policy.parent.mkdir(parents=True)
        policy.write_text(json.dumps(POLICY))
        env["HOME"] = str(tmp_path / "home")
    elif request.param == WAYS[2]:
        old = tmp_path / "bin/skopeo"
        old.parent.mkdir()
        old.write_text(OLD % shutil.which("skopeo"))
        old.chmod(0o755)
        env["PATH"] = f"{old.parent}:{os.environ['PATH']}"
    server = start(flags=("--runtime", "auto"), env=env)
    assert isinstance(server, Server)
    return server


every_way = pytest.mark.parametrize("way", WAYS, indirect=True)
both_ways = pytest.mark.parametrize("way", WAYS[:2], indirect=True)


def halfway(server: Server) -> set[str]:
    """What is there of images that are being made."""
    return {
        str(one.relative_to(server.state / "images/half").relative_to(half))
        for half in halves(server)
        for one in (server.state / "images/half" / half).rglob("*")
    }


def said(server: Server, job: int) -> str:
    return "".join(r["text"] for r in server.records(job) if r["stream"] == "muster")


def trees(server: Server) -> list[str]:
    folder = server.state / "images/trees"
    return sorted(os.listdir(folder)) if folder.exists() else []


def halves(server: Server) -> list[str]:
    folder = server.state / "images/half"
    return sorted(os.listdir(folder)) if folder.exists() else []


def layers(state: Path) -> list[str]:
    """Of tasks in images; each is removed by a process beside its agent, also after the job."""
    return [one for one, _, _ in os.walk(state) if one.endswith("/up") and "/roots/" in one]


LOOK = "cat /etc/marker /etc/upper; ls /etc/gone 2>&1; pwd; echo $FROM_IMAGE $PATH $HOME; id -u"


def check_look(log: str, work: str = "/work") -> None:
    lines = log.splitlines()
    assert lines[:2] == ["of the image", "upper"], log
    assert "No such file" in lines[2], log
    assert lines[3:] == [work, "yes /bin:/extra /root", "0"], log


def test_a_task_runs_in_its_image(images: Server, image: str) -> None:
    job = images.run(native("look", run=LOOK, image=image))
    assert job["state"] == "succeeded", job
    check_look(images.log(job["number"]))
    assert "sha256:" in said(images, job["number"])
    shown = images.muster("show", job["number"])
    (digest,) = images.job(job["number"])["images"].values()
    assert f"image      {image}, {digest}, run by bwrap" in shown.stdout, shown.stdout


# ---- how it comes ----


def check_way(server: Server, came: set[str]) -> None:
    """While its last layer is on its way."""
    early = "root/bin/busybox" in came
    assert early != ("HOME" in server.env or "PATH" in server.env), came


@every_way
def test_layers_are_unpacked_while_they_come(way: Server, registry: Registry) -> None:
    """Unless it has to be a copy. Nothing of it is used before all is there."""
    name = registry.push("team/comes", busybox(**{"etc/big": os.urandom(3_000_000)}))
    with Gate(registry.port, most=2_900_000).open() as gate:
        there = name.replace(registry.address, gate.address)
        number = way.submit(native("comes", run="wc -c </etc/big", image=there))
        wait_for(gate.full.is_set, what="a half image")
        wait_for(
            lambda: bool(halfway(way) & {"root/bin/busybox", "pulled/version"}), what="its files"
        )
        check_way(way, halfway(way))
        assert not trees(way)
        gate.opened.set()
        assert way.wait(number)["state"] == "succeeded"
    assert way.log(number) == "3000000\n"
    assert len(trees(way)) == 1 and not halves(way)


@both_ways
def test_many_layers_and_one_of_them_twice(way: Server, registry: Registry) -> None:
    """More than come at once, and what stands in the middle is applied again at the end."""
    large = [tree({f"l{i}": os.urandom(400_000), "last": f"l{i}"}) for i in range(8)]
    hides = tree({".wh.l3": b""})
    name = registry.push("team/many", busybox(), *large, hides, large[3])
    job = way.run(native("many", run="cat /l? | wc -c; readlink /last", image=name))
    assert job["state"] == "succeeded", job
    assert way.log(job["number"]) == "3200000\nl3\n"
    gone = registry.push("team/many", busybox(), *large, large[3], hides, tag="2")
    job = way.run(native("gone", run="ls /l? | wc -l; readlink /last", image=gone))
    assert way.log(job["number"]) == "7\nl3\n"


@both_ways
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("kinds", [registries.OCI, registries.DOCKER])
def test_documents_of_every_kind(
    way: Server, registry: Registry, kinds: registries.Kinds, listed: bool
) -> None:
    """Of OCI and Docker, alone and in lists for several processors; skopeo as a server writes
    Docker's manifests anew."""
    name = marked(registry, "team/kinds", f"{kinds} {listed}".encode(), kinds=kinds, listed=listed)
    job = way.run(native("kinds", run="cat /etc/which", image=name))
    assert job["state"] == "succeeded", job
    assert way.log(job["number"]) == f"{kinds} {listed}"


def outputs(printed: str) -> list[str]:
    """What `run` printed, less its own lines."""
    front = "worker/0  "
    return [one[len(front) :] for one in printed.splitlines() if one.startswith(front)]


def test_a_plain_user_without_a_daemon(image: str, short_path: Path) -> None:
    """From the command line, as somebody who may nothing."""
    nobody = Nobody(short_path)
    if nobody.why_not:
        pytest.skip(nobody.why_not)
    try:
        done = nobody.muster("run", "--runtime", "auto", "--image", image, "--", "sh", "-c", LOOK)
        assert done.returncode == 0, done.stderr
        assert f"image {image}" in done.stderr, "how far it is"
        lines = outputs(done.stdout)
        told = [one for one in lines if one.startswith(f"image {image}")]
        assert told and "fetched and unpacked" in told[-1], lines
        check_look("\n".join(lines[len(told) :]), str(nobody.home))
    finally:
        nobody.stop_server()


LOOK_AT_SECRETS = """
cat $MUSTER_SECRETS/token | wc -c
stat -c '%a %u' $MUSTER_SECRETS/token /run/keys/key
stat -f -c %T $MUSTER_SECRETS /run/keys
test "$T" = "$(cat /run/keys/key)" && echo same; echo $T
"""
SAW_SECRETS = ["9", "400 0", "400 0", "tmpfs", "tmpfs", "same", "*********"]
SECRETS = ["token", {"name": "token", "env": "T"}, {"name": "token", "file": "/run/keys/key"}]


def test_secrets_in_an_image(images: Server, image: str, short_path: Path) -> None:
    """As root and as a plain user, whose tasks are root in a user namespace."""
    text = native("secrets", run=LOOK_AT_SECRETS, image=image, secrets=SECRETS)
    assert images.muster("secret", "set", "token", stdin="abcdefghi").returncode == 0
    job = images.run(text)
    assert job["state"] == "succeeded", images.log(job["number"])
    assert images.log(job["number"]).splitlines() == SAW_SECRETS
    wrong = native("x", image=image, secrets=[{"name": "token", "file": "/etc/marker"}])
    assert "no secrets can lie in /etc" in images.run(wrong)["reason"], "it has other files"
    nobody = Nobody(short_path)
    if nobody.why_not:
        pytest.skip(nobody.why_not)
    (nobody.home / "job.yaml").write_text(text)
    assert nobody.muster("server", "start").returncode == 0
    try:
        done = nobody.muster("secret", "set", "token", stdin="abcdefghi")
        assert done.returncode == 0, done.stderr
        done = nobody.muster("run", "--runtime", "auto", "job.yaml")
        assert done.returncode == 0, done.stdout + done.stderr
        lines = [one.split("  ", 1)[1] for one in done.stdout.splitlines() if "worker/0  " in one]
        assert lines[-len(SAW_SECRETS) :] == SAW_SECRETS
    finally:
        nobody.stop_server()


def test_only_who_says_so_runs_it_on_the_host(start: Starter, image: str, tmp_path: Path) -> None:
    """The job, or the server, here by its environment; lists and the job itself say it."""
    server = start(env={"MUSTER_RUNTIME": "auto"})
    assert isinstance(server, Server)
    run = f"until test -e {tmp_path}/go; do sleep 0.05; done; cat /etc/marker"
    body = native("asks", run=run, image=image, runtime="host")
    asked = server.submit(body)
    wait_for(lambda: "on the host, not in its image" in server.muster("ls").stdout, what="ls")
    (tmp_path / "go").touch()
    server.wait(asked)
    default = server.run(native("default", run="cat /etc/marker", image=image))
    assert server.log(default["number"]) == "of the image\n" and default["runtime"] == "bwrap"
    server.kill()
    server.env = {"MUSTER_RUNTIME": "host"}
    server.start()
    done = server.muster("submit", "--image", image, "--", "cat", "/etc/marker")
    assert "is not used, tasks run on the host" in done.stderr
    for number, word in ((asked, "host"), (default["number"], "bwrap"), (3, "host")):
        assert server.wait(number)["runtime"] == word
    assert "not used: run on the host" in server.muster("show", asked).stdout
    assert "run by bwrap" in server.muster("show", default["number"]).stdout


def test_without_a_runtime_it_is_refused(start: Starter, image: str, tmp_path: Path) -> None:
    """With the reason of each, and what to type; nothing runs on the host instead."""
    (tmp_path / "bin").mkdir()
    for name in ("sh", "true"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    server = start(env={"MUSTER_RUNTIME": "auto", "PATH": str(tmp_path / "bin")})
    assert isinstance(server, Server)
    done = server.muster("submit", "--image", image, "--", "true")
    assert done.returncode == 2 and "bwrap: skopeo, which pulls images" in done.stderr, done.stderr
    assert "--runtime host" in done.stderr
    assert server.muster("ls", "--all", "-q").stdout == ""
    assert server.run(native("host", image=image, runtime="host"))["runtime"] == "host"


def test_a_job_applied_again_is_the_same(images: Server, image: str, tmp_path: Path) -> None:
    """What it got is noted beside it: its text says nothing of a runtime."""
    run = "cat /etc/marker; sleep 1000"
    file = tmp_path / "job.json"
    file.write_text(native("same", run=run, image=image))
    assert images.muster("apply", "-f", file).returncode == 0
    done = images.muster("apply", "-f", file)
    assert done.returncode == 0 and "unchanged" in done.stdout, done.stderr
    assert "runtime" not in images.muster("show", "same", "--spec").stdout
    wait_for(lambda: images.log(1) == "of the image\n", what="its image")
    images.stop(1, now=True)
    assert images.wait(1)["runtime"] == "bwrap"


def test_an_interpreter_of_the_image_is_not_looked_for_here(images: Server, image: str) -> None:
    inputs = {"interpreter": "/only/in/the/image/python3"}
    job = images.run(native("inside", run="cat /etc/marker", image=image, inputs=inputs))
    assert job["state"] == "succeeded", job
    again = images.api("POST", "/v1/jobs", native("outside", runtime="bwrap", inputs=inputs))
    assert again.status >= 400 and "inputs.interpreter" in again.text, again.text


def test_what_tasks_write_is_their_own(images: Server, image: str) -> None:
    """Of each task, and gone with it; the job's directories are the same in all of them."""
    run = "echo $MUSTER_TASK_INDEX >>/etc/mine; cat /etc/mine; rm /etc/marker; ls /dev/shm | wc -l"
    job = images.run(native("write", run=run, replicas=3, image=image))
    assert job["state"] == "succeeded", job
    for i in range(3):
        assert images.log(job["number"], f"worker/{i}") == f"{i}\n0\n"
    again = images.run(native("again", run="cat /etc/mine /etc/marker", image=image))
    log = images.log(again["number"])
    assert "of the image" in log and "'/etc/mine': No such file" in log
    wait_for(lambda: not layers(images.state), what="the end of the layers")


def test_peers_code_and_exec(images: Server, image: str, tmp_path: Path) -> None:
    go = tmp_path / "go"
    code = tmp_path / "code"
    code.mkdir()
    (code / "part.txt").write_text("code\n")
    wait = f"until test -e {go}; do sleep 0.05; done"
    run = f"cat code/part.txt; grep -c 'worker-1$' /etc/hosts; {wait}"
    body = native(
        "peers",
        run=run,
        replicas=2,
        image=image,
        inputs={"code": {"dir": str(code)}, "data": [{"from": str(tmp_path), "at": str(tmp_path)}]},
    )
    number = images.submit(body)
    tasks = ("worker/0", "worker/1")
    wait_for(lambda: all("code\n1" in images.log(number, one) for one in tasks), what="output")
    done = images.muster("exec", number, "worker/1", "--", "cat", "/etc/marker")
    assert done.stdout == "of the image\n", done.stderr
    shell = images.muster("exec", number, "worker/0", stdin="echo $FROM_IMAGE in $(pwd)\n")
    assert "yes in /work" in shell.stdout, shell.stderr
    go.touch()
    assert images.wait(number)["state"] == "succeeded"


def test_openpai_jobs_name_their_image(images: Server, image: str) -> None:
    job = images.run(openpai("pai", role("main", "cat /etc/marker"), image=image))
    assert job["state"] == "succeeded", job
    assert images.log(job["number"], "main/0") == "of the image\n"


def test_an_example_runs_in_the_image_that_it_names(
    start: Starter, registry: Registry, tmp_path: Path
) -> None:
    """As it is written: who runs the node says where its registry has a copy."""
    stand_in = registry.push("mirror/debian", busybox(**{"bin/told": b"yes"}), tag="12")
    conf = tmp_path / "home/.config/containers/registries.conf"
    conf.parent.mkdir(parents=True)
    place = stand_in.removesuffix(":12")
    conf.write_text(
        f'[[registry]]\nprefix = "docker.io/library/debian"\nlocation = "{place}"\n'
        "insecure = true\n"
    )
    server = start(flags=("--runtime", "auto"), env={"HOME": str(tmp_path / "home")})
    assert isinstance(server, Server)
    done = server.muster("run", EXAMPLES / "openpai/hello.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hello from greeter/0 of job hello: task 1 of 2" in done.stdout
    job = server.job(1)
    (name,) = job["images"]
    assert job["runtime"] == "bwrap" and name.endswith("debian:12"), job
    (tree_of_it,) = trees(server)
    assert (server.state / "images/trees" / tree_of_it / "root/bin/told").exists()


# ---- which image it is ----


def told(server: Server, job: int) -> list[dict[str, Any]]:
    """Its events of images."""
    return [one for one in server.events(job) if one["type"] == "image"]


def marked(registry: Registry, name: str, text: bytes, **more: Any) -> str:
    return registry.push(name, busybox(**{"etc/which": text}), **more)


def test_a_job_keeps_the_image_that_it_was_submitted_with(
    images: Server, registry: Registry, tmp_path: Path
) -> None:
    """The tag moves while the job waits; a restarted one, of a restarted server, has it too."""
    name = marked(registry, "team/moves", b"first\n")
    run = f"cat /etc/which; until test -e {tmp_path}/go; do sleep 0.05; done"
    data = [{"from": str(tmp_path), "at": str(tmp_path)}]
    body = native("moves", run=run, image=name, inputs={"data": data}, suspend=True)
    number = images.submit(body)
    wait_for(lambda: bool(told(images, number)), what="the digest")
    digest = f"sha256:{told(images, number)[0]['body']['digest']}"
    marked(registry, "team/moves", b"second\n")
    shown = images.muster("show", number)
    assert f"image      {name}, {digest}, run by bwrap" in shown.stdout, shown.stdout
    images.muster("resume", number)
    wait_for(lambda: images.log(number) == "first\n", what="the image of the submission")
    images.kill()
    images.start()
    images.muster("restart", number)
    wait_for(lambda: images.job(number)["generation"] == 2, what="the second generation")
    (tmp_path / "go").touch()
    job = images.wait(number)
    assert job["state"] == "succeeded" and job["images"] == {name: digest}, job
    assert images.log(number) == "first\nfirst\n"
    fresh = images.run(native("fresh", run="cat /etc/which", image=name))
    assert images.log(fresh["number"]) == "second\n"
    steps = [(one["text"].split(" ")[0], "bytes" in one["body"]) for one in told(images, number)]
    assert steps[0] == ("image", False) and ("n1", True) in steps, steps


def test_an_image_that_is_gone_is_said(images: Server, registry: Registry) -> None:
    """Its tag and manifest were removed while the job waited."""
    name = marked(registry, "team/goes", b"gone\n")
    number = images.submit(native("goes", image=name, suspend=True))
    wait_for(lambda: bool(told(images, number)), what="the digest")
    registry.forget("team/goes", told(images, number)[0]["body"]["digest"])
    images.muster("resume", number)
    job = images.wait(number)
    assert job["state"] == "failed" and "no such tag or digest" in job["reason"], job


def test_a_held_task_keeps_its_root(images: Server, image: str) -> None:
    """As long as it is held for debugging."""
    command = "echo left behind >/etc/evidence; exit 3"
    text = openpai("held", role(command=command), jobEnvs={"isDebug": True}, image=image)
    number = images.submit(text)
    read = ("exec", number, "worker/0", "--", "cat", "/etc/evidence")
    wait_for(lambda: images.muster(*read).stdout == "left behind\n", what="the evidence")
    wait_for(
        lambda: (
            [a.get("exit_code") for t in images.job(number)["task_list"] for a in t["attempts"]]
            == [3]
        ),
        what="the end",
    )
    assert images.muster(*read).stdout == "left behind\n"
    assert len(layers(images.state)) == 1
    images.stop(number, now=True)
    assert images.wait(number)["state"] in ("failed", "stopped")
    wait_for(lambda: not layers(images.state), what="the end of its layer")


def test_a_state_directory_on_an_overlay_is_named(images: Server, tmp_path: Path) -> None:
    """As it is in a container: by the doctor, who asks for that directory."""
    lower, upper, work, on = (tmp_path / name for name in ("lower", "upper", "work", "on"))
    for one in (lower, upper, work, on):
        one.mkdir()
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    mount = ["mount", "-t", "overlay", "-o", options, "none", str(on)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no overlay can be mounted here")
    try:
        done = images.muster("doctor", "--state-dir", on / "state")
    finally:
        subprocess.run(["umount", str(on)], check=True)
    assert "no image can run from a state directory on overlayfs" in done.stdout, done.stdout
    assert "images can be run by bwrap" in images.muster("doctor").stdout


# ---- while a job waits ----


def early(server: Server, job: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.job(job).get("early_images", [])
    return found


def until(file: Path) -> str:
    return f"until test -e {file}; do sleep 0.05; done"


ALL = {"cpu": 8, "memory": "64Mi"}  # of a node


def blocker(server: Server, go: Path) -> int:
    """All of the node is its."""
    number = server.submit(native("blocks", run=until(go), resources=ALL))
    wait_for(lambda: server.job(number)["state"] == "running", what="who is first")
    return number


@pytest.fixture
def busy(start: Starter) -> Server:
    """A server of one node."""
    server = start(nodes="1x8cpu,8Gi", flags=("--runtime", "auto"))
    assert isinstance(server, Server)
    return server


def test_the_next_image_comes_while_its_job_waits(
    busy: Server, registry: Registry, tmp_path: Path
) -> None:
    """It starts with no pull then; whoever looks is told how far it is."""
    name = registry.push("team/next", busybox(**{"etc/big": os.urandom(3_000_000)}))
    go = tmp_path / "go"
    with Gate(registry.port, most=2_900_000).open() as gate:
        there = name.replace(registry.address, gate.address)
        first = blocker(busy, go)
        number = busy.submit(native("next", run="wc -c </etc/big", image=there, resources=ALL))
        wait_for(gate.full.is_set, what="a half image")
        wait_for(
            lambda: [one["step"] for one in early(busy, number)] == ["fetching"], what="its image"
        )
        assert not trees(busy) and len(halves(busy)) == 1
        wait_for(lambda: "while it waits" in busy.muster("show", number).stdout, what="show")
        wait_for(lambda: "while it waits" in busy.muster("explain", number).stdout, what="explain")
        gate.opened.set()
        wait_for(lambda: early(busy, number)[0]["step"] == "ready", what="all of it")
        assert f"{there}: on this machine" in busy.muster("explain", number).stdout
    assert busy.job(number)["state"] == "queued" and len(trees(busy)) == 1
    before = len(registry.log)
    go.touch()
    assert busy.wait(number)["state"] == "succeeded" and busy.wait(first)["state"] == "succeeded"
    assert busy.log(number) == "3000000\n"
    assert registry.blobs_sent("team/next", before) == [], "nothing was fetched again"
    assert "it was on this node" in said(busy, number)
    told_all = [one["body"] for one in told(busy, number)]
    assert [one for one in told_all if one.get("bytes") and "node" not in one], told_all


def test_a_job_that_is_stopped_ends_its_early_image(
    busy: Server, registry: Registry, tmp_path: Path
) -> None:
    """And the image of the next one comes, which nobody stopped."""
    big = busybox(**{"etc/big": os.urandom(3_000_000)})
    name, other = registry.push("team/ends", big), registry.push("team/other", busybox())
    go = tmp_path / "go"
    with Gate(registry.port, most=2_900_000).open() as gate:
        blocker(busy, go)
        there = name.replace(registry.address, gate.address)
        number = busy.submit(native("ends", image=there, resources=ALL))
        wait_for(gate.full.is_set, what="a half image")
        second = busy.submit(native("other", image=other, resources=ALL))
        wait_for(lambda: bool(early(busy, second)), what="its turn")
        busy.stop(number)
        wait_for(lambda: early(busy, second)[0]["step"] == "ready", what="the other image")
        assert len(trees(busy)) == 1
    go.touch()
    assert busy.wait(second)["state"] == "succeeded"
    assert not halves(busy)


def test_an_early_image_that_fails_is_told_and_fetched_again(
    busy: Server, registry: Registry, tmp_path: Path
) -> None:
    name = registry.push("team/breaks", busybox(**{"etc/big": os.urandom(3_000_000)}))
    go = tmp_path / "go"
    gate = Gate(registry.port, most=2_900_000, breaks=True)
    with gate.open():
        blocker(busy, go)
        there = name.replace(registry.address, gate.address)
        number = busy.submit(native("breaks", run="wc -c </etc/big", image=there, resources=ALL))
        wait_for(lambda: bool(early(busy, number)), what="its turn")
        wait_for(lambda: early(busy, number)[0]["step"] == "failed", what="the failure")
        assert busy.job(number)["state"] == "queued"
        shown = busy.muster("show", number).stdout
        assert f"{there}: did not come while it waits" in shown, shown
        gate.opened.set()
        go.touch()
        assert busy.wait(number)["state"] == "succeeded"
    assert busy.log(number) == "3000000\n"


def test_an_early_image_has_the_credentials_of_its_job(
    busy: Server, private: Registry, kept: str, tmp_path: Path
) -> None:
    """What they fetched is not there for others, whose jobs wait or start."""
    go, file = tmp_path / "go", tmp_path / "config.json"
    file.write_text(json.dumps(private.credentials()))
    blocker(busy, go)
    mine = busy.submit(
        native("mine", image=kept, inputs={"registry_auth": str(file)}, resources=ALL)
    )
    wait_for(lambda: [one["step"] for one in early(busy, mine)] == ["ready"], what="its image")
    (digest,) = busy.job(mine)["images"].values()
    by_digest = f"{kept.rpartition(':')[0]}@{digest}"
    other = busy.submit(native("other", image=by_digest, resources=ALL))
    wait_for(lambda: [one["step"] for one in early(busy, other)] == ["failed"], what="no access")
    assert "credentials" in early(busy, other)[0]["problem"]
    go.touch()
    assert busy.wait(mine)["state"] == "succeeded"
    assert busy.wait(other)["state"] == "failed"
    check_secret(busy, private, mine)


def test_early_images_take_no_room_of_those_ahead(
    start: Starter, registry: Registry, tmp_path: Path
) -> None:
    """The limit of the store holds one of them beside the one in use."""
    size = 3_000_000
    flags = ("--runtime", "auto", "--images-size", "12000000")
    server = start(nodes="1x8cpu,8Gi", flags=flags)
    assert isinstance(server, Server)
    names = [
        registry.push(f"team/room{i}", busybox(**{"etc/big": os.urandom(size)})) for i in range(3)
    ]
    go = tmp_path / "go"
    data = [{"from": str(tmp_path), "at": str(tmp_path)}]
    jobs = [
        server.submit(
            native(f"room{i}", run=until(go), image=one, resources=ALL, inputs={"data": data})
        )
        for i, one in enumerate(names)
    ]
    wait_for(lambda: bool(early(server, jobs[2])), what="its turn")
    wait_for(lambda: early(server, jobs[2])[0]["step"] == "failed", what="no room")
    assert early(server, jobs[1])[0]["step"] == "ready", early(server, jobs[1])
    assert "beside images that are in use" in early(server, jobs[2])[0]["problem"]
    go.touch()
    for number in jobs:
        assert server.wait(number)["state"] == "succeeded"


# ---- one pull, however many ask ----


def test_eight_tasks_and_two_jobs_pull_once(images: Server, registry: Registry) -> None:
    name = registry.push("team/once", busybox(**{"etc/once": os.urandom(200_000)}))
    before = len(registry.log)
    resources = {"cpu": 1, "memory": "32Mi"}
    jobs = [
        images.submit(native(f"once{i}", replicas=8, image=name, resources=resources))
        for i in range(2)
    ]
    for number in jobs:
        assert images.wait(number)["state"] == "succeeded"
    sent = wait_for(
        lambda: found if len(found := registry.blobs_sent("team/once", before)) >= 2 else None,
        what="its configuration and its layer",
    )
    assert len(sent) == len(set(sent)) == 2, sent


def test_images_share_layers(images: Server, registry: Registry) -> None:
    """What another image brought is not fetched again and lies on the disk once."""
    base = busybox(**{"etc/big": os.urandom(3_000_000), "etc/lower": b"lower\n"})
    first = registry.push("team/shares", base, tree({"etc/top": b"first\n"}))
    job = images.run(native("first", run="cat /etc/top", image=first))
    assert images.log(job["number"]) == "first\n", job
    before = len(registry.log)
    top = tree({"etc/top": b"second\n", "etc/.wh.lower": b""})
    second = registry.push("team/shares2", base, top)
    look = "wc -c </etc/big; cat /etc/top; test -e /etc/lower || echo gone; echo x >>/etc/big"
    job = images.run(native("second", run=look, image=second))
    assert images.log(job["number"]).split() == ["3000000", "second", "gone"], job
    sent = registry.blobs_sent("team/shares2", before)
    assert len(sent) == 2, "its configuration and its own layer"
    kept = images.state / "images/trees"
    files = [(kept / one / "root/etc/big").stat() for one in trees(images)]
    assert len(files) == 2 and len({one.st_ino for one in files}) == 1, files
    assert {one.st_size for one in files} == {3_000_000}, "a task writes into its own layer"
    (store,) = images.get("/v1/nodes")["nodes"][0]["images"]
    assert store["images"] == 2 and store["bytes"] < 2 * 3_000_000 + 2_000_000, store
    again = images.run(native("again", run="cat /etc/lower", image=first))
    assert images.log(again["number"]) == "lower\n"


# ---- what cannot be had ----


def reason(images: Server, name: str, **fields: Any) -> str:
    job = images.run(native("no", image=name, **fields))
    assert job["state"] == "failed", job
    return str(job["reason"])


def test_reasons_say_what_to_do(images: Server, registry: Registry, tmp_path: Path) -> None:
    address = registry.address
    assert "no such" in reason(images, f"{address}/team/nothing:1")
    other = registry.push("team/other", busybox(), arch="s390x")
    why = reason(images, other)
    assert "linux/s390x" in why and "build it for linux/" in why
    bare = registry.push("team/bare", tree({"etc": None, "etc/x": b"x"}))
    assert "the image has no shell" in reason(images, bare, run="true && true")
    done = images.muster("submit", "--image", "Bad//Name", "--", "true")
    assert done.returncode == 2 and "has no valid name" in done.stderr
    assert not trees(images) or all(len(one) == 64 for one in trees(images))


def test_packages_are_refused_with_an_image(images: Server, image: str) -> None:
    reply = images.api("POST", "/v1/jobs", native("p", image=image, inputs={"python": ["x"]}))
    assert "packages are not installed into images" in reply.text


@both_ways
def test_a_damaged_layer_is_not_used(way: Server, registry: Registry) -> None:
    layer = busybox(**{"etc/damaged": os.urandom(100_000)})
    name = registry.push("team/damaged", layer)
    file = registry.blob_file(registries.digest(registries.packed(layer)).split(":")[1])
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(bytes(data))
    before = trees(way)
    number = way.submit(native("damaged", image=name, retry={"platform": "never"}))
    job = way.wait(number)
    assert job["state"] == "failed", job
    assert "damaged" in job["reason"] or "broke off" in job["reason"], job["reason"]
    assert trees(way) == before and not halves(way)


@both_ways
def test_a_registry_that_dies_in_the_middle(way: Server, registry: Registry) -> None:
    name = registry.push("team/middle", busybox(**{"etc/big": os.urandom(3_000_000)}))
    before = trees(way)
    with Gate(registry.port, most=1_000_000, breaks=True).open() as gate:
        there = name.replace(registry.address, gate.address)
        number = way.submit(native("middle", image=there, retry={"platform": "never"}))
        job = way.wait(number)
        assert job["state"] == "failed", job
        assert "registry" in job["reason"], job["reason"]
        assert trees(way) == before and not halves(way)
        gate.opened.set()
        assert way.run(native("then", run="cat /etc/marker", image=there))["state"] == "succeeded"


@both_ways
def test_an_agent_killed_in_the_middle(way: Server, registry: Registry) -> None:
    """Nothing half made is used, and what is left of it goes."""
    name = registry.push("team/killed", busybox(**{"etc/big": os.urandom(3_000_000)}))
    before = trees(way)
    with Gate(registry.port, most=1_000_000).open() as gate:
        there = name.replace(registry.address, gate.address)
        number = way.submit(native("killed", run="cat /etc/marker", image=there))
        wait_for(gate.full.is_set, what="a half image")
        wait_for(lambda: bool(halves(way)), what="a half tree")
        live = way.agents(number)
        (agent,) = live["agent"]
        kill(agent)
        gate.opened.set()
        assert way.wait(number)["state"] == "succeeded"
    assert way.log(number) == "of the image\n"
    assert len(trees(way)) == len(before) + 1 and not halves(way)


@both_ways
def test_a_full_disk_is_named(way: Server, registry: Registry) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    name = registry.push("team/full", busybox(**{"etc/big": bytes(30_000_000)}))
    folder = way.state / "images"
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        number = way.submit(native("full", image=name, retry={"platform": "never"}))
        job = way.wait(number)
        assert job["state"] == "failed", job
        assert "space" in job["reason"], job["reason"]
        assert not trees(way) and not halves(way)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@both_ways
def test_what_unpacks_to_too_much_is_given_up(way: Server, registry: Registry) -> None:
    """Of an archive that is small itself; nothing of it stays."""
    size = 10_000_000
    way.kill()
    way.flags = (*way.flags, "--images-size", str(size))
    way.start()
    layer = busybox(**{"etc/zeros": bytes(4 * size)})
    assert len(registries.packed(layer)) < size / 2
    why = reason(way, registry.push("team/bomb", layer))
    assert "unpacked the archive has more than" in why, why
    assert not trees(way) and not halves(way)


@both_ways
def test_what_does_not_fit_is_not_fetched(way: Server, registry: Registry) -> None:
    """It says what it wants and what there is; an image that nobody uses makes way before."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    big, old, new = (
        registry.push(f"team/{one}", busybox(**{"etc/big": os.urandom(size)}))
        for one, size in (("big", 30_000_000), ("old", 9_500_000), ("new", 5_000_000))
    )
    folder = way.state / "images"
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "none", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        before = len(registry.log)
        job = way.run(native("big", image=big, retry={"platform": "never"}))
        assert job["state"] == "failed" and "there is space for" in job["reason"], job
        assert "/v2/team/big/manifests" in registry.log[before:]
        sent = registry.blobs_sent("team/big", before)
        assert len(sent) <= 1 and not halves(way), "at most its configuration"
        if "HOME" in way.env:
            return  # a copy wants room twice
        for name in (old, new):
            job = way.run(native("fits", run="cat /etc/marker", image=name))
            assert job["state"] == "succeeded", job["reason"]
            wait_for(lambda: not layers(way.state), what="the end of its layer")
        assert len(trees(way)) == 1, "the disk has no room for both"
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


# ---- credentials ----


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    if not shutil.which("htpasswd"):
        pytest.skip("there is no htpasswd on this machine (apt: apache2-utils)")
    folder = tmp_path_factory.mktemp("private") / "one"
    one = Registry(folder, user="alice", password="pass-4711-word").start()
    yield one
    one.stop()


@pytest.fixture(scope="module")
def kept(private: Registry) -> str:
    return private.push("team/kept", busybox())


def check_secret(server: Server, private: Registry, job: int) -> None:
    """In no file below the state directory, and in nothing that is shown of the job."""
    word = base64.b64encode(f"{private.user}:{private.password}".encode())
    secrets = (private.password.encode(), word)
    for file in server.state.rglob("*"):
        if file.is_file() and "images/trees" not in str(file):
            data = file.read_bytes()
            assert not [one for one in secrets if one in data], file
    shown = [
        server.muster("show", job, "--spec").stdout,
        server.muster("show", job, "--json").stdout,
        server.muster("events", job).stdout,
        said(server, job),
        server.said() + server.agents_said(),
    ]
    for text in shown:
        assert not [one for one in secrets if one.decode() in text], text


def test_without_credentials_it_is_refused(images: Server, kept: str) -> None:
    assert "the registry wants credentials" in reason(images, kept)


def test_a_file_of_docker_login(
    images: Server, private: Registry, kept: str, tmp_path: Path
) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(private.credentials()))
    file.chmod(0o600)
    job = images.run(native("file", image=kept, inputs={"registry_auth": str(file)}))
    assert job["state"] == "succeeded", job
    check_secret(images, private, job["number"])
    # It is there now, and for nobody else by its digest either.
    (digest,) = images.job(job["number"])["images"].values()
    by_digest = f"{kept.rpartition(':')[0]}@{digest}"
    assert "the registry wants credentials" in reason(images, by_digest)
    again = images.run(native("by", image=by_digest, inputs={"registry_auth": str(file)}))
    assert again["state"] == "succeeded", again
    # What one's own credentials fetched is there for one's next job.
    wrong = {"auths": {private.address: {"auth": base64.b64encode(b"alice:no").decode()}}}
    file.write_text(json.dumps(wrong))
    assert "refused" in reason(images, kept, inputs={"registry_auth": str(file)})


ALONE = """#!/bin/sh
for word; do
    case $word in --*authfile=*) export HOME=/nowhere XDG_CONFIG_HOME=/nowhere ;; esac
done
exec %s "$@"
"""


@pytest.mark.parametrize("newer", [False, True])
def test_what_docker_login_left(
    start: Starter, private: Registry, kept: str, tmp_path: Path, newer: bool
) -> None:
    """For the account of a node. Newer: a skopeo that looks at no file but the one it is given."""
    login, program = tmp_path / "home/.docker/config.json", tmp_path / "bin/skopeo"
    for one in (login, program):
        one.parent.mkdir(parents=True)
    login.write_text(json.dumps(private.credentials()))
    program.write_text((ALONE if newer else '#!/bin/sh\nexec %s "$@"\n') % shutil.which("skopeo"))
    program.chmod(0o755)
    env = {"HOME": str(tmp_path / "home"), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    server = start(flags=("--runtime", "auto"), env=env)
    assert isinstance(server, Server)
    job = server.run(native("login", run="cat /etc/marker", image=kept))
    assert job["state"] == "succeeded", job
    assert job["images"][kept].startswith("sha256:"), "the server has asked, too"
    login.unlink()
    assert "the registry wants credentials" in reason(server, kept)


def test_credentials_that_are_others_now(images: Server, tmp_path: Path) -> None:
    """The old ones fetch nothing more; what came by them is there for who had them."""
    if not shutil.which("htpasswd"):
        pytest.skip("there is no htpasswd on this machine (apt: apache2-utils)")
    one = Registry(tmp_path / "registry", user="alice", password="first-4711-word").start()
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    try:
        first = one.push("team/rotates", busybox())
        old.write_text(json.dumps(one.credentials()))
        job = images.run(native("first", image=first, inputs={"registry_auth": str(old)}))
        assert job["state"] == "succeeded", job
        one.stop()
        one.password = "second-4712-word"
        one.start()
        new.write_text(json.dumps(one.credentials()))
        later = one.push("team/rotates", busybox(**{"etc/which": b"later\n"}), tag="2")
        assert "refused" in reason(images, later, inputs={"registry_auth": str(old)})
        job_by_new = native("new", run="cat /etc/which", image=later)
        fields = {**json.loads(job_by_new), "inputs": {"registry_auth": str(new)}}
        job = images.run(json.dumps(fields))
        assert images.log(job["number"]) == "later\n", job
        (digest,) = job["images"].values()
        by_digest = f"{later.rpartition(':')[0]}@{digest}"
        assert "refused" in reason(images, by_digest, inputs={"registry_auth": str(old)})
    finally:
        one.stop()


def test_the_auth_file_of_openpai(
    images: Server, private: Registry, kept: str, tmp_path: Path
) -> None:
    file = tmp_path / "auth"
    file.write_text(f"{private.address}\n{private.user}\n{private.password}\n")
    job = images.run(openpai("auth", role("main", "true"), image=kept, authFile=str(file)))
    assert job["state"] == "succeeded", job
    check_secret(images, private, job["number"])


def test_the_image_config_of_dlc(images: Server, private: Registry, kept: str) -> None:
    """Also where an option changes the job, which is read anew then."""
    login = {"Username": private.user, "Password": private.password}
    spec: dict[str, object] = {
        "Type": "Worker",
        "Image": kept,
        "PodCount": 1,
        "EcsSpec": "ecs.g6.large",
    }
    spec["ImageConfig"] = login
    text = json.dumps(
        {
            "DisplayName": "dlc",
            "JobType": "PyTorchJob",
            "JobSpecs": [spec],
            "UserCommand": "cat /etc/marker",
        }
    )
    for query in ({}, {"name": "other"}):
        number = images.submit(text, **{"from": "dlc"}, **query)
        job = images.wait(number)
        assert job["state"] == "succeeded", job
        assert "of the image" in images.log(number)
        check_secret(images, private, number)


# ---- other accounts ----


def test_another_account_is_root_inside_and_itself_outside(
    shared: Callable[..., Shared], private: Registry, kept: str
) -> None:
    """What its tasks make is its own, the server's files are out of reach, and its store is not
    that of others: their credentials are asked for."""
    server = shared(flags=("--runtime", "auto"))
    ann, ben = server.users[:2]
    file = ann.write("auth.json", json.dumps(private.credentials()))
    auth = {"registry_auth": str(file)}
    place = server.state
    run = f"id -u; cat /etc/marker; echo 1 >made; ls {place} 2>&1; ls /proc/self/ns >/dev/null"
    log = server.output(ann, run, image=kept, inputs=auth)
    lines = log.splitlines()
    assert lines[:2] == ["0", "of the image"], log
    assert f"{place}: No such file" in log.replace("'", ""), log
    assert (ann.home / "made").stat().st_uid == ann.uid
    number = server.submit_as(ben, "cat /etc/marker", image=kept)
    job = server.wait(number)
    assert job["state"] == "failed" and "wants credentials" in job["reason"], job
    stores = server.place / "users/images"
    assert sorted(int(one.name) for one in stores.iterdir()) == sorted([ann.uid, ben.uid])
    assert {one.stat().st_uid for one in (stores / str(ann.uid)).rglob("*")} == {ann.uid}


def test_the_early_image_of_another_account_lies_in_its_store(
    shared: Callable[..., Shared], private: Registry, kept: str
) -> None:
    """It came with its rights and credentials, and its task finds it there."""
    server = shared(nodes="1x8cpu,8Gi", flags=("--runtime", "auto"))
    ann = server.users[0]
    go = ann.home / "go"
    file = ann.write("auth.json", json.dumps(private.credentials()))
    first = server.submit_as(ann, until(go), resources=ALL)
    wait_for(lambda: server.job(first)["state"] == "running", what="who is first")
    auth = {"registry_auth": str(file)}
    number = server.submit_as(ann, "cat /etc/marker", image=kept, inputs=auth, resources=ALL)
    wait_for(lambda: [one["step"] for one in early(server, number)] == ["ready"], what="its image")
    store = server.place / f"users/images/{ann.uid}"
    assert len(os.listdir(store / "trees")) == 1
    assert {one.stat().st_uid for one in (store, *store.rglob("*"))} == {ann.uid}
    before = len(private.log)
    go.touch()
    assert server.wait(number)["state"] == "succeeded"
    assert private.blobs_sent("team/kept", before) == []


# ---- users and groups inside ----

USERS = b"root:x:0:0:root:/root:/bin/sh\ntool:x:5:60:tool:/:/bin/sh\n"
INSTALL = "dpkg -i /tool.deb 2>&1; cat /usr/share/tool; stat -c %u:%g /usr/share/tool"
CHANGE = "touch /f && chown 5:60 /f && stat -c %u:%g /f; su tool -s /bin/sh -c 'id -u; id -g'"


def package(folder: Path) -> bytes:
    """With a file of another user, as packages of daemons have them."""
    top = folder / "package"
    (top / "DEBIAN").mkdir(parents=True)
    (top / "usr/share").mkdir(parents=True)
    about = "Package: tool\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.c>\nDescription: x\n"
    (top / "DEBIAN/control").write_text(about)
    (top / "usr/share/tool").write_text("installed\n")
    os.chown(top / "usr/share/tool", 5, 60)
    made = folder / "tool.deb"
    subprocess.run(["dpkg-deb", "-b", str(top), str(made)], capture_output=True, check=True)
    return made.read_bytes()


@pytest.fixture(scope="module")
def installs(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An image in which dpkg works."""
    if os.geteuid() != 0 or not shutil.which("dpkg-deb"):
        pytest.skip("wants root and dpkg")
    empty: dict[str, bytes | str | None] = {
        "var/lib/dpkg/status": b"",
        "var/lib/dpkg/available": b"",
    }
    empty |= {
        f"var/lib/dpkg/{name}/.keep": b"" for name in ("info", "updates", "triggers", "parts")
    }
    names = ("dpkg", "dpkg-deb", "dpkg-split", "dpkg-query", "tar", "ldconfig")
    more = {"tool.deb": package(tmp_path_factory.mktemp("package")), "etc/passwd": USERS}
    return registry.push(
        "team/dpkg", busybox(), tree({**registries.of_host(*names), **empty, **more})
    )


def has_range(name: str) -> bool:
    return all(f"{name}:" in Path(f"/etc/sub{kind}id").read_text() for kind in "ug")


def check_change(log: str, many: bool) -> None:
    assert "Setting up tool (1)" in log, log
    lines = log.splitlines()
    seen = lines[lines.index("installed") + 1 :]
    assert seen == (["5:60", "5:60", "5", "60"] if many else ["0:0", "0:0", "0", "0"]), log


def test_users_in_an_image_of_an_account(shared: Callable[..., Shared], installs: str) -> None:
    """With the ranges that the node has for an account they are real; without, it seems so."""
    server = shared(flags=("--runtime", "auto"))
    ann = server.users[0]
    log = server.output(ann, f"{INSTALL}; {CHANGE}", image=installs)
    check_change(log, has_range(ann.name))


@pytest.mark.parametrize("who", ["nobody", "account"])
def test_users_in_an_image_of_a_plain_user(
    who: str, accounts: list[Account], installs: str, short_path: Path
) -> None:
    """From the range by newuidmap, and without one; what others own in there goes too."""
    name = accounts[0].name if who == "account" else "nobody"
    user = Nobody(short_path, name)
    if user.why_not:
        pytest.skip(user.why_not)
    many = has_range(name) and shutil.which("newuidmap") is not None
    try:
        line = f"{INSTALL}; {CHANGE}; mkdir -m 700 /own && touch /own/f && chown -R 5 /own"
        run = ("run", "--runtime", "auto", "--image", installs, "--", "sh", "-c", line)
        done = user.muster(*run)
        assert done.returncode == 0, done.stderr
        check_change("\n".join(outputs(done.stdout)), many)
        wait_for(lambda: not layers(user.state), what="the end of the layer")
        said = user.muster("doctor").stdout
        assert ("with one user" in said) != many, said
    finally:
        user.stop_server()


def test_what_images_take_is_shown(start: Starter, image: str) -> None:
    """Of the store of this machine, with its limit and what is free."""
    images = start(flags=("--runtime", "auto", "--images-size", "3Gi"))
    assert isinstance(images, Server)
    assert re.search(r"^images +ok +none are kept yet", images.muster("doctor").stdout, re.M)
    assert all("images" not in one for one in images.get("/v1/nodes")["nodes"])
    assert images.muster("run", "--image", image, "--", "true").returncode == 0
    for node in json.loads(images.muster("nodes", "--json").stdout)["nodes"]:
        (store,) = node["images"]
        assert store["dir"] == str(images.state / "images") and store["images"] == 1
        assert 0 < store["bytes"] < store["limit"] == 3 << 30 and store["free"] > 0, store
    assert re.search(r"/3\.0 GiB, \S+ \S+ free", images.muster("nodes", "-o", "wide").stdout)
    assert re.search(r"^images +ok +\S+ \S+/3\.0 GiB in /", images.muster("doctor").stdout, re.M)


def test_where_a_part_of_proc_is_hidden(registry: Registry, short_path: Path) -> None:
    """As containers have it: the kernel lets plain users mount no other /proc. The task sees the
    machine's, and all else is as elsewhere."""
    user = Nobody(short_path)
    if user.why_not:
        pytest.skip(user.why_not)
    image = registry.push("team/hidden", busybox())
    hide = 'mount --bind /dev/null /proc/keys && exec setpriv --reuid 65534 --clear-groups "$@"'

    def muster(*words: str) -> Done:
        command = ["unshare", "-m", "sh", "-c", hide, "sh", str(program()), *words]
        home = environment(user.state, HOME=str(user.home), MUSTER_LISTEN="none")
        return subprocess.run(
            command, env=home, cwd=user.home, capture_output=True, text=True, check=False
        )

    assert "tasks see the processes of the machine" in muster("doctor").stdout
    assert "tasks see the processes of the machine" not in user.muster("doctor").stdout
    try:
        line = "cat /proc/*/comm 2>&- | grep -cx muster-node; echo of $(cat /proc/self/comm)"
        done = muster("run", "--image", image, "--", "sh", "-c", line)
        found = outputs(done.stdout)
        assert done.returncode == 0 and int(found[0]) > 0, done.stdout + done.stderr
        assert found[1] == "of cat", found
    finally:
        user.stop_server()


SWITCHED_OFF = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"'


def test_where_no_user_namespace_can_be_made(image: str, short_path: Path) -> None:
    """By a plain user: of each runtime it is said why not, with what to type, and no job that names
    an image is taken. The limit is that of a namespace of the test's own."""
    user = Nobody(short_path)
    if user.why_not:
        pytest.skip(user.why_not)

    def muster(*words: str) -> Done:
        become = ["setpriv", "--reuid", "65534", "--clear-groups"]
        enter = ["unshare", "--user", "--map-current-user", "--keep-caps"]
        command = [*become, *enter, "sh", "-c", SWITCHED_OFF, "sh", str(program()), *words]
        home = environment(user.state, HOME=str(user.home), MUSTER_LISTEN="none")
        return subprocess.run(
            command, env=home, cwd=user.home, capture_output=True, text=True, check=False
        )

    says = ("bwrap: user namespaces cannot be made", "user.max_user_namespaces=10000")
    try:
        done = muster("run", "--runtime", "auto", "--image", image, "--", "true")
        reasons = (*says, "podman: ", "--runtime host")
        assert done.returncode == 2, done.stdout + done.stderr
        assert all(one in done.stderr for one in reasons), done.stderr
        said = muster("doctor").stdout
        wanted = (*says, "podman: ", "docker: ", "jobs that name an image are refused")
        assert all(one in said for one in wanted), said
    finally:
        user.stop_server()


# ---- the driver of the node's devices ----


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    one = Driver(tmp_path / "driver")
    yield one
    one.close()


def test_the_driver_is_shown_in_images(
    registry: Registry, start: Starter, tmp_path: Path, driver: Driver
) -> None:
    """Its libraries, of NVML's version alone and known to the image's loader, and nvidia-smi; to
    tasks with devices."""
    place, version = tmp_path / "lib", "580.159.04"
    place.mkdir()
    names = {"nvidia-ml": version, "cuda": version, "nvidia-ptxjitcompiler": "570.1"}
    for name, own in names.items():
        shutil.copy(library(), place / f"lib{name}.so.{own}")
        (place / f"lib{name}.so.1").symlink_to(f"lib{name}.so.{own}")
    smi = tmp_path / "bin/nvidia-smi"
    smi.parent.mkdir()
    smi.write_text("#!/bin/sh\necho devices\n")
    smi.chmod(0o755)
    driver.say(device(0))
    env = {
        **driver.env,
        "LD_LIBRARY_PATH": str(place),
        "PATH": f"{smi.parent}:{os.environ['PATH']}",
    }
    server = start(nodes="", flags=("--runtime", "auto"), env=env)
    assert isinstance(server, Server)
    files = registries.of_host("ldconfig")
    image = registry.push("team/loader", busybox(), tree({**files, "sbin": "usr/sbin"}))
    look = "find /usr -name 'lib[cn]*' -size +0 | sort; ldconfig -p | grep -c cuda.so.1; nvidia-smi"
    run = f"export PATH=$PATH:/usr/bin:/sbin; {look}"
    job = server.run(native("driver", run=run, image=image, resources={"cpu": 1, "gpu": 1}))
    assert job["state"] == "succeeded", job
    log = server.log(job["number"])
    shown = [Path(one).name for one in log.splitlines() if "lib" in one and "libc.so" not in one]
    assert shown == ["libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1"], log
    assert log.splitlines()[-2:] == ["1", "devices"], log
    job = server.run(native("none", run=f"{run}; true", image=image))
    assert "libcuda" not in server.log(job["number"])


def test_infiniband_is_there(registry: Registry) -> None:
    """Behind the file is no driver: who may open it is told so."""
    if why := why_no_view():
        pytest.skip(why)
    image = registry.push("team/infiniband", busybox())
    devices = {"infiniband/uverbs0": (231, 192)}
    server = Private(flags=("--runtime", "auto"), devices=devices).start()
    try:
        look = "cat /dev/infiniband/uverbs0 2>&1; true"
        text = openpai("ib", role("main", look), image=image, jobEnvs={"paiAzRDMA": True})
        job = server.run(text)
        assert job["state"] == "succeeded", job
        assert "No such device or address" in server.log(job["number"], "main/0")
    finally:
        closed(server)


# ---- what muster brings ----


def test_launcher_and_client_in_an_image(images: Server, registry: Registry) -> None:
    """Neither is in the image: torchrun starts ranks again in there, and Python imports muster."""
    python = Path("/usr/bin/python3").resolve()
    if not python.exists():
        pytest.skip("there is no Python of the system")
    layer = tree({**registries.of_host(python.name)})
    name = registry.push("team/python", busybox(), layer)
    rank = "test $TORCHELASTIC_RESTART_COUNT = 1 || exit 3; cat /etc/marker"
    launch = f"torchrun --nproc-per-node 2 --max-restarts 1 --no-python sh -c '{rank}'"
    client = f"{python} -c 'import muster; print(muster.Client.__name__, muster.__file__)'"
    library = f"/usr/lib/{python.name}"
    job = images.run(
        native(
            "launch",
            run=f"{launch} && {client} && ! touch $PYTHONPATH/x",
            image=name,
            conventions=["torchrun"],
            inputs={"data": [{"from": library, "at": library}]},
        )
    )
    assert job["state"] == "succeeded", (job, images.log(job["number"]))
    log = images.log(job["number"])
    assert log.count("of the image\n") == 2, log
    assert "Client /" in log and "Read-only file system" in log, log


LIBRARIES = (
    *("libffi.so.8", "libstdc++.so.6", "libgcc_s.so.1", "libssl.so.3", "libcrypto.so.3"),
    *("liblzma.so.5", "libbz2.so.1.0", "libuuid.so.1"),
    *("libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1"),
)
STEP = """
import sys
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
model(torch.randn(8, 4)).sum().backward()
mine = model.module.weight.grad.clone()
mean = mine.clone()
dist.all_reduce(mean)
same = torch.allclose(mine, mean / dist.get_world_size())
sys.stdout.write(f"the same of both: {same}\\n")  # at once: two ranks have one output
del model
dist.barrier()
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_pytorch_in_an_image(images: Server, registry: Registry, tmp_path: Path) -> None:
    """Two ranks; PyTorch is too large for a layer of a test, so the job shows it there."""
    python = Path("/usr/bin/python3").resolve()
    packages = (VENV.parent / f"lib/{python.name}/site-packages").resolve()
    if not (packages / "torch/version.py").exists():
        pytest.skip("there is no PyTorch for the Python of the system")
    folder = Path(f"/usr/lib/{os.uname().machine}-linux-gnu")
    found = [folder / one for one in LIBRARIES if (folder / one).exists()]
    libraries: dict[str, bytes | str | None] = {
        str(one).lstrip("/"): one.read_bytes() for one in found
    }
    layer = tree({**registries.of_host(python.name), **libraries})
    name = registry.push("team/pytorch", busybox(), layer)
    code = tmp_path / "code"
    code.mkdir()
    (code / "step.py").write_text(STEP)
    shown = (str(packages), f"/usr/lib/{python.name}")
    job = images.run(
        native(
            "pytorch",
            run="torchrun --nproc-per-node 2 code/step.py",
            image=name,
            conventions=["torchrun"],
            env={"PYTHON_EXEC": str(python), "PYTHONPATH": str(packages)},
            resources={"cpu": 2, "memory": "2Gi"},
            inputs={
                "code": {"dir": str(code)},
                "data": [{"from": one, "at": one, "read_only": True} for one in shown],
            },
        )
    )
    log = images.log(job["number"])
    assert job["state"] == "succeeded", log[-3000:]
    assert log.count("the same of both: True") == 2, log
