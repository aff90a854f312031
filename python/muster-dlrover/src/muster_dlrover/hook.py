"""Lets `import dlrover` find the modules in `tree/`, unless a real DLRover is installed.

The real one is never shadowed in silence: it is what gets imported, and one line on stderr says so,
unless `MUSTER_DLROVER=1` asks for muster's, which is said too. Runs at the start of every Python of
the environment (`muster_dlrover.pth`): nothing is imported here before somebody wants `dlrover`.
"""

from __future__ import annotations

import sys

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
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if name != NAME:
            return None
        import os

        real = self._real()
        wanted = os.environ.get("MUSTER_DLROVER", "") not in ("", "0")
        if real is None:
            return self._ours()
        self._say(wanted)
        return self._ours() if wanted else real

    def _real(self) -> ModuleSpec | None:
        """What would be imported without this finder, unless that is `tree/` itself; a mere
        directory of that name, as a checkout makes one, is no package."""
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if isinstance(finder, Finder) or find is None:
                continue
            spec: ModuleSpec | None = find(NAME, None)
            if spec is not None:
                return spec if _is_real(spec) else None
        return None

    def _ours(self) -> ModuleSpec | None:
        import os
        from importlib.util import spec_from_file_location

        root = _root()
        return spec_from_file_location(
            NAME, os.path.join(root, "__init__.py"), submodule_search_locations=[root]
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


def _root() -> str:
    import os

    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "tree", NAME)


def _is_real(spec: ModuleSpec) -> bool:
    import os

    places = [os.path.abspath(place) for place in spec.submodule_search_locations or ()]
    if _root() in places:
        return False
    return bool(spec.origin) or any(os.path.isdir(os.path.join(p, "python")) for p in places)


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
