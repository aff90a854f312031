"""A folder as a gzipped tar that is the same for the same content: what a submitter sends along to
a server that does not see its files."""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from muster.errors import MusterError

LEFT_OUT = frozenset(
    (".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", ".mypy_cache")
    + (".pytest_cache", ".ruff_cache", ".ipynb_checkpoints")
)
MOST_BYTES = 512 << 20


class Snapshot(NamedTuple):
    """An open file with the archive, and the SHA-256 of its bytes."""

    file: IO[bytes]
    hash: str


def _files(folder: Path) -> Iterator[Path]:
    """Files and links below a folder, in order of their names; without what tools leave there."""
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        links = [name for name in folders if (Path(where) / name).is_symlink()]
        for name in sorted(names + links):
            if not name.endswith((".pyc", ".pyo")):
                yield Path(where) / name


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Without what differs between two machines; sockets and devices are left out."""
    if not (info.isfile() or info.issym()):
        return None
    info.uid = info.gid = 0
    info.mtime = 0
    info.uname = info.gname = ""
    return info


def _fill(tar: tarfile.TarFile, folder: Path) -> None:
    total = 0
    for path in _files(folder):
        total += path.lstat().st_size
        if total > MOST_BYTES:
            raise MusterError(
                f"{folder} holds more than {MOST_BYTES >> 20} MiB, too much to send along: "
                "submit from a smaller folder, or set DLROVER_WORKING_DIR to one"
            )
        tar.add(path, str(path.relative_to(folder)), recursive=False, filter=_plain)


def snapshot(folder: Path) -> Snapshot:
    """Raises MusterError when the folder holds more than MOST_BYTES."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  # the caller's to close
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6, mtime=0) as packed:
        tar = tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT)  # noqa: SIM115
        _fill(tar, folder)
        tar.close()
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(1 << 20):
        digest.update(piece)
    return Snapshot(file, digest.hexdigest())
