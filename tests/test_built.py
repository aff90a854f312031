"""How the programs are built: hardened, named whole in `make sbom`, the same bytes anywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from harness import ROOT

BUILD = (ROOT / "build/release/muster").resolve().parent
PROGRAMS = ("muster", "muster-node")


def said(*argv: str | Path) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_hardening(name: str) -> None:
    program = BUILD / name
    head, parts = said("readelf", "-hW", program), said("readelf", "-lW", program)
    dynamic, names = said("readelf", "-dW", program), said("readelf", "-sW", program)
    assert re.search(r"Type: +DYN", head), "no PIE: its code lies at the same address each time"
    assert "GNU_RELRO" in parts and "BIND_NOW" in dynamic, "no full RELRO"
    assert re.search(r"GNU_STACK .* RW +0x", parts), "its stack runs code"
    assert "RWE" not in parts and "TEXTREL" not in dynamic, "memory that is written and runs"
    assert not re.search(r"RPATH|RUNPATH", dynamic), "it looks for libraries in a folder of its own"
    assert "__stack_chk_fail" in names, "no stack protector"
    assert len(set(re.findall(r"__\w+_chk\b", names))) > 5, "no fortified calls"
    assert ("INTERP" not in parts) == (name == "muster-node"), "muster-node runs in any image"


def test_fortify_is_of_the_highest_level() -> None:
    """What the compiler was told; level 3 since gcc 12 and clang 9."""
    commands = (ROOT / "build/release/compile_commands.json").read_text()
    of_main = [one for one in json.loads(commands) if one["file"].endswith("main/muster.c")]
    assert of_main and all("-D_FORTIFY_SOURCE=3" in one["command"] for one in of_main)


@pytest.mark.slow
def test_sbom(tmp_path: Path) -> None:
    out = tmp_path / "sbom.json"
    said(ROOT / "tools/sbom", "--output", out)
    text = out.read_text()
    wrong = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
    assert wrong is None, wrong
    sbom = json.loads(text)
    parts = {one["bom-ref"]: one for one in sbom["components"]}
    for name in PROGRAMS:
        real = said("sha256sum", (ROOT / "build/release" / name).resolve()).split()[0]
        assert parts[f"program:{name}"]["hashes"][0]["content"] == real
    needs = {one["ref"]: one["dependsOn"] for one in sbom["dependencies"]}
    wanted = re.findall(r"NEEDED.*\[(.*)\]", said("readelf", "-dW", BUILD / "muster"))
    assert len(wanted) > 5
    assert {f"file:{name}" for name in wanted} <= set(needs["program:muster"])
    assert {"file:libuv_a.a", "file:libmbedtls.a", "file:libc.a"} <= set(
        needs["program:muster-node"]
    )
    assert all(one.get("version") for one in parts.values()), "a part without a version"
    said(ROOT / "tools/sbom", "--output", tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == text


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_builds_give_the_same_bytes(tmp_path: Path) -> None:
    files = said("git", "-C", ROOT, "ls-files", "-z", "--cached").split("\0")
    made = []
    for folder in ("one", "two/levels/down"):
        there = tmp_path / folder
        for name in filter(None, files):
            if not name.startswith(("tests/", "console/shots/")) and (ROOT / name).is_file():
                (there / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, there / name)
        env = os.environ | {"CCACHE_DISABLE": "1"}
        options = ("--buildtype=debugoptimized", "--prefix=/")
        for argv in (
            ("meson", "setup", "build/release", *options),
            ("ninja", "-C", "build/release", *(f"src/main/{name}" for name in PROGRAMS)),
        ):
            subprocess.run(argv, cwd=there, env=env, capture_output=True, check=True)
        made.append([(there / "build/release/src/main" / name).read_bytes() for name in PROGRAMS])
    assert made[0] == made[1]
