"""The launcher's command line: its table beside doc/launch.md and beside torch's own parser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from harness import ROOT, muster, patience, program
from warm_torch import WarmTorch

NODE = program().resolve().with_name("muster-node")
BEGIN = "<!-- flags: written by muster-node launch-flags -->\n"
END = "<!-- end of flags -->"
OPTIONS = """
import json
from torch.distributed.run import get_args_parser
actions = [a for a in get_args_parser()._actions if a.option_strings]
print(json.dumps([[a.option_strings, a.nargs != 0, a.default] for a in actions]))
"""


def table() -> str:
    done = subprocess.run(
        [NODE, "launch-flags"], capture_output=True, text=True, timeout=patience(10), check=True
    )
    return done.stdout


def launch(*words: str, name: str = "launch") -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PET_", "MUSTER_"))}
    return subprocess.run(
        [NODE, name, *words],
        capture_output=True,
        text=True,
        timeout=patience(20),
        env=env,
        check=False,
    )


def test_the_page_is_the_table() -> None:
    page = (ROOT / "doc/launch.md").read_text()
    shown = page[page.index(BEGIN) + len(BEGIN) : page.index(END)]
    assert shown == table(), "write the output of `muster-node launch-flags` between the markers"


def test_every_flag_of_torchrun_is_known(tmp_path: Path, torch: WarmTorch) -> None:
    (tmp_path / "options.py").write_text(OPTIONS)
    asked = torch.run([str(tmp_path / "options.py")], os.environ)
    assert asked.returncode == 0, asked.stderr
    rows = [line for line in table().splitlines() if line.startswith("| `") and "torchrun" in line]
    assert len(rows) > 30
    for names, takes_value, default in json.loads(asked.stdout):
        if "--help" in names:
            continue
        long = next(n for n in names if n.startswith("--")).replace("_", "-")
        cell = [r for r in rows if f"`{long} " in r or f"`{long}`" in r]
        assert len(cell) == 1, long
        assert (f"`{long}`" in cell[0]) != takes_value, long
        short = [n for n in names if not n.startswith("--")]
        assert all(f"`{n}` `--" in cell[0] for n in short), long
        if isinstance(default, str | int) and not isinstance(default, bool) and default != "":
            assert f"| `{default}` |" in cell[0], f"{long}: {default}"


@pytest.mark.parametrize("name", ["launch", "torchrun", "dlrover-run"])
def test_help_and_usage(name: str) -> None:
    done = launch("--help", name=name)
    assert done.returncode == 0, done.stderr
    assert "--nproc-per-node" in done.stdout
    assert ("--network-check" in done.stdout) == (name != "torchrun")
    wrong = launch("--nproc-per-nod3=2", "x.py", name=name)
    assert wrong.returncode == 2
    assert "--nproc-per-node" in wrong.stderr
    assert "sage: " in wrong.stderr
    assert launch("--nnodes=3:2", "x.py", name=name).returncode == 1
    assert launch(name=name).returncode == 2


def test_names_of_links(tmp_path: Path) -> None:
    for name in ("torchrun", "dlrover-run"):
        (tmp_path / name).symlink_to(NODE)
        done = subprocess.run(
            [tmp_path / name, "--bogus", "x"],
            capture_output=True,
            text=True,
            timeout=patience(10),
            check=False,
        )
        assert done.returncode == 2
        assert name in done.stderr
        folder = "launch" if name == "dlrover-run" else name
        assert (NODE.parent / folder / name).resolve() == NODE.resolve()


def test_muster_launch_is_the_launcher() -> None:
    done = muster("launch", "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout == launch("--help").stdout
    assert "launch" in muster("help").stdout


def test_python_module(tmp_path: Path) -> None:
    script = tmp_path / "say.py"
    script.write_text("import sys; print(sys.executable, sys.argv[1:])\n")
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHON_EXEC", "PYTHONPATH")}
    env |= {"PYTHONPATH": str(ROOT / "python/muster/src"), "MUSTER_NODE_BIN": str(NODE)}
    done = subprocess.run(
        [sys.executable, "-m", "muster.launch", "--standalone", script, "a b", "--nnodes=9"],
        capture_output=True,
        text=True,
        timeout=patience(30),
        check=False,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{sys.executable} ['a b', '--nnodes=9']\n"
    lost = subprocess.run(
        [sys.executable, "-m", "muster.launch", "x.py"],
        capture_output=True,
        text=True,
        timeout=patience(30),
        check=False,
        env=env | {"MUSTER_NODE_BIN": "/nonexistent"},
    )
    assert lost.returncode == 1
    assert "/nonexistent" in lost.stderr
