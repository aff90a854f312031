"""A real registry of this machine (Debian's docker-registry), images made without network (busybox
and tar), and a gate before the registry that stalls or breaks off in the middle of a transfer."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from harness import free_port, patience, wait_for


class Kinds(NamedTuple):
    """What the documents of an image call themselves and each other."""

    manifest: str
    config: str
    layer: str
    listing: str


OCI = Kinds(
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.config.v1+json",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.index.v1+json",
)
DOCKER = Kinds(
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.container.image.v1+json",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)


def why_none() -> str:
    """What is missing for images; "" when nothing is."""
    for name, package in (
        ("docker-registry", "docker-registry"),
        ("skopeo", "skopeo"),
        ("busybox", "busybox-static"),
    ):
        if not shutil.which(name):
            return f"there is no {name} on this machine (apt: {package})"
    told = subprocess.run(
        ["stat", "-f", "-c", "%T", "/tmp"], capture_output=True, text=True, check=False
    )
    if told.stdout.strip() == "overlayfs":
        return "no overlay of an image can be mounted over the overlay that /tmp is on"
    if subprocess.run(["unshare", "--user", "true"], capture_output=True, check=False).returncode:
        return "no user namespace can be made here, as in a chroot and in some containers"
    return ""


def tree(files: dict[str, bytes | str | None], modes: dict[str, int] | None = None) -> bytes:
    """A layer: bytes are a file, text is what a link leads to, None a directory."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.mode, entry.mtime = (modes or {}).get(name, 0o755), 1_000_000_000
            if content is None:
                entry.type = tarfile.DIRTYPE
                tar.addfile(entry)
            elif isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
                tar.addfile(entry)
            else:
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def busybox_files() -> dict[str, bytes | str | None]:
    """/bin as busybox gives it, with an /etc/marker of its own."""
    program = shutil.which("busybox")
    assert program
    applets = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
    files: dict[str, bytes | str | None] = {
        "bin": None,
        "etc": None,
        "tmp": None,
        "root": None,
        "bin/busybox": Path(program).read_bytes(),
        "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n",
        "etc/group": b"root:x:0:\n",
        "etc/marker": b"of the image\n",
    }
    files |= {f"bin/{name}": "busybox" for name in applets.stdout.split() if name != "busybox"}
    return files


def busybox(**more: bytes | str | None) -> bytes:
    """A layer of these and more."""
    return tree({**busybox_files(), **more})


def of_host(*programs: str) -> dict[str, bytes | str | None]:
    """Programs of this machine with the libraries that they load, as files of a layer."""
    files: dict[str, bytes | str | None] = {}
    for program in programs:
        place = shutil.which(program, path="/usr/bin:/bin:/usr/sbin:/sbin")
        assert place, program
        said = subprocess.run(["ldd", place], capture_output=True, text=True, check=False).stdout
        words = [one for line in said.splitlines() for one in line.split() if one.startswith("/")]
        for path in (place, *words):
            files[path.lstrip("/")] = Path(path).read_bytes()
    return files


def packed(layer: bytes) -> bytes:
    """As push() packs it: the same bytes each time."""
    return gzip.compress(layer, 1, mtime=0)


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


@dataclass
class Registry:
    folder: Path
    user: str = ""
    password: str = ""
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def blobs_sent(self, name: str, before: int) -> list[str]:
        """Layers and configurations that it gave out since its log had so many characters, by a
        line of the log's for each, which comes when it was sent."""
        lines = [one for one in self.log[before:].splitlines() if one.startswith("127.")]
        words = [one.split('"')[1].split() for one in lines if f"GET /v2/{name}/blobs/" in one]
        return [path.rpartition("/")[2] for _, path, _ in words]

    def start(self) -> Registry:
        self.folder.mkdir(exist_ok=True)
        config: dict[str, Any] = {
            "version": 0.1,
            "storage": {
                "filesystem": {"rootdirectory": str(self.folder / "data")},
                "delete": {"enabled": True},
            },
            "http": {"addr": self.address},
        }
        if self.user:
            users = self.folder / "htpasswd"
            made = subprocess.run(
                ["htpasswd", "-Bbn", self.user, self.password], capture_output=True, check=True
            )
            users.write_bytes(made.stdout)
            config["auth"] = {"htpasswd": {"realm": "local", "path": str(users)}}
        file = self.folder / "config.yml"
        file.write_text(json.dumps(config))
        with (self.folder / "log").open("ab") as out:
            self.process = subprocess.Popen(
                ["docker-registry", "serve", str(file)], stdout=out, stderr=out
            )
        wait_for(self.answers, what="the registry")
        return self

    def answers(self) -> bool:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 5).close()
            return True
        return False

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait(patience())
            self.process = None

    def credentials(self) -> dict[str, Any]:
        """As docker login writes them."""
        word = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return {"auths": {self.address: {"auth": word}}}

    def ask(self, method: str, path: str, data: bytes | None = None, kind: str = "") -> str:
        """What the answer says under Location."""
        url = path if path.startswith("http") else f"http://{self.address}{path}"
        request = urllib.request.Request(url, data=data, method=method)
        if kind:
            request.add_header("Content-Type", kind)
        if self.user:
            word = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
            request.add_header("Authorization", f"Basic {word}")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=patience()) as answer:
            return str(answer.headers.get("Location", ""))

    def push_blob(self, name: str, data: bytes) -> dict[str, Any]:
        place = self.ask("POST", f"/v2/{name}/blobs/uploads/", b"")
        mark = "&" if "?" in place else "?"
        kind = "application/octet-stream"
        self.ask("PUT", f"{place}{mark}digest={digest(data)}", data, kind)
        return {"digest": digest(data), "size": len(data)}

    def push(
        self,
        name: str,
        *layers: bytes,
        tag: str = "1",
        arch: str | None = None,
        kinds: Kinds = OCI,
        listed: bool = False,
        **config: Any,
    ) -> str:
        """The image's address; config is what it says of how to run (Env, WorkingDir). listed: the
        tag is of a list that has it for this processor, and something else for another."""
        own = os.uname().machine
        machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(own, own)
        about = {
            "architecture": arch or machine,
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [digest(one) for one in layers]},
        }
        said = self.push_blob(name, json.dumps(about).encode())
        blobs = [self.push_blob(name, packed(one)) for one in layers]
        manifest = {
            "schemaVersion": 2,
            "mediaType": kinds.manifest,
            "config": {"mediaType": kinds.config, **said},
            "layers": [{"mediaType": kinds.layer, **one} for one in blobs],
        }
        body = json.dumps(manifest).encode()
        place = digest(body) if listed else tag
        self.ask("PUT", f"/v2/{name}/manifests/{place}", body, kinds.manifest)
        if listed:
            self.push_list(name, tag, kinds, machine, body)
        return f"{self.address}/{name}:{tag}"

    def push_list(self, name: str, tag: str, kinds: Kinds, machine: str, manifest: bytes) -> None:
        one = {
            "mediaType": kinds.manifest,
            "digest": digest(manifest),
            "size": len(manifest),
            "platform": {"os": "linux", "architecture": machine},
        }
        other = {**one, "platform": {"os": "linux", "architecture": "wasm"}}
        body = {"schemaVersion": 2, "mediaType": kinds.listing, "manifests": [other, one]}
        self.ask("PUT", f"/v2/{name}/manifests/{tag}", json.dumps(body).encode(), kinds.listing)

    def forget(self, name: str, hex_digest: str) -> None:
        """The manifest, and what leads to it."""
        self.ask("DELETE", f"/v2/{name}/manifests/sha256:{hex_digest}")

    def blob_file(self, hex_digest: str) -> Path:
        """Where the registry keeps it on the disk."""
        found = list((self.folder / "data").rglob(f"{hex_digest}/data"))
        assert len(found) == 1, found
        return found[0]


@dataclass
class Gate:
    """Before a registry: after `most` bytes of answers it stalls until it is opened, or breaks
    off."""

    target: int
    most: int
    breaks: bool = False
    port: int = field(default_factory=free_port)
    passed: int = 0
    full: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def forward(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(16384):
                if answers and not self.opened.is_set():
                    self.passed += len(data)
                    if self.passed > self.most:
                        self.full.set()
                        if self.breaks:
                            break
                        self.opened.wait()
                sink.sendall(data)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def serve(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                for one in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self.forward, args=one, daemon=True).start()

    @contextmanager
    def open(self) -> Iterator[Gate]:
        listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.serve, args=(listener,), daemon=True).start()
        try:
            yield self
        finally:
            self.opened.set()
            listener.close()
