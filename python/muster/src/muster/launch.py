"""`python -m muster.launch ARGS`: the elastic launcher, run by this interpreter.

This process becomes `muster-node launch`, and the ranks get this interpreter (unless PYTHON_EXEC
names another). The program is found by $MUSTER_NODE_BIN, else beside this package's installation,
else beside the `muster` of PATH.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path


def candidates() -> Iterator[Path]:
    """Where muster-node may be, the surest place first."""
    here = Path(__file__).resolve().parent
    for root in here.parents:
        yield root / "libexec/muster/muster-node"
        yield root / "build/release/muster-node"
    muster = shutil.which("muster")
    if muster:
        bin_dir = Path(muster).resolve().parent
        yield bin_dir / "muster-node"
        yield bin_dir.parent / "libexec/muster/muster-node"


def find() -> Path | None:
    """The program that does the work; None where nothing is installed."""
    named = os.environ.get("MUSTER_NODE_BIN")
    if named:
        return Path(named)
    return next((path for path in candidates() if os.access(path, os.X_OK)), None)


def main() -> int:
    """Does not return where the program is found."""
    program = find()
    if program is None:
        print(
            "muster.launch: muster-node is neither beside this package nor beside a muster in "
            "PATH\n  set MUSTER_NODE_BIN to it (make install puts it in libexec/muster)",
            file=sys.stderr,
        )
        return 1
    if sys.executable:
        os.environ.setdefault("PYTHON_EXEC", sys.executable)
    try:
        os.execv(program, [str(program), "launch", *sys.argv[1:]])
    except OSError as error:
        print(f"muster.launch: {program}: {error.strerror}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
