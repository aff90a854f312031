"""Lets `import dlrover` find the modules in `tree/`, unless a real DLRover is installed.

The real one is never shadowed in silence: it is what gets imported, and one line on stderr says so,
unless `MUSTER_DLROVER=1` asks for muster's, which is said too. Runs at the start of every Python of
the environment (`muster_dlrover.pth`): nothing is imported here before somebody wants `dlrover`.
"""

from __future__ import annotations

import sys
from os import environ, path  # loaded by every Python already

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

NAME = "dlrover"


class Finder:
    """Answers for the package `dlrover` only: what is below is found in its directory."""

    def __init__(self) -> None:
        self.said = False

    def find_spec(
        self,
        name: str,
        parents: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if name != NAME:
            return None
        found = self._found()
        if found is None or _is_tree(found):
            return found or self._ours()
        wanted = environ.get("MUSTER_DLROVER", "") not in ("", "0")
        self._say(wanted)
        return self._ours() if wanted else found

    def _found(self) -> ModuleSpec | None:
        """What would be imported without this finder; a mere directory of that name, as a checkout
        makes one, is no package."""
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if isinstance(finder, Finder) or find is None:
                continue
            spec: ModuleSpec | None = find(NAME, None)
            if spec is not None:
                return spec if _is_package(spec) else None
        return None

    def _ours(self) -> ModuleSpec | None:
        from importlib.util import spec_from_file_location

        root = path.join(path.dirname(path.abspath(__file__)), "tree", NAME)
        return spec_from_file_location(
            NAME, path.join(root, "__init__.py"), submodule_search_locations=[root]
        )

    def _say(self, ours: bool) -> None:
        if self.said:
            return
        self.said = True
        if ours:
            text = f"MUSTER_DLROVER is set: muster's is used, not the real dlrover {_version()}"
        else:
            text = (
                f"real dlrover {_version()} is installed and used; to run on muster: "
                "pip uninstall dlrover, or set MUSTER_DLROVER=1"
            )
        print(f"muster-dlrover: {text}", file=sys.stderr)


def _is_tree(spec: ModuleSpec) -> bool:
    """Is it a `tree/` of ours that stands on the path by itself?"""
    tail = path.join("muster_dlrover", "tree", NAME, "__init__.py")
    return bool(spec.origin) and path.abspath(str(spec.origin)).endswith(tail)


def _is_package(spec: ModuleSpec) -> bool:
    places = spec.submodule_search_locations or ()
    return bool(spec.origin) or any(path.isdir(path.join(place, "python")) for place in places)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(NAME)
    except PackageNotFoundError:
        return "(of unknown version)"


def install() -> None:
    """In front of the others, once."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())


install()
