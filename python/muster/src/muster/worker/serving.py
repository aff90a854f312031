"""When a worker begins to answer calls, and how long it stays for them."""

from __future__ import annotations

from muster.worker.remote.process import process
from muster.worker.remote.registry import registry
from muster.worker.stopping import stopping

DRAIN = 2.0


def serve() -> None:
    """Lets others call what is registered. Function and class entrypoints do it by themselves,
    scripts with their first `export_rpc_method` or `export_rpc_instance`; a script whose functions
    are only marked calls it: what is marked in the script is registered too."""
    import sys  # noqa: PLC0415

    main = sys.modules.get("__main__")
    if main is not None:
        registry.add_marked(main)
    process().publish()


def serve_until_stopped() -> None:
    stopping.wait()


def leave() -> None:
    """The process ends: calls that run are answered first, for a moment."""
    process().drain(DRAIN)
