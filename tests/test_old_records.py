"""Databases that earlier versions wrote: kept as they were, opened by today's server."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3

from conftest import Starter
from harness import FINAL, ROOT, Server, wait_for

FIXTURES = ROOT / "tests/fixtures"


def test_version_1_is_read_and_goes_on(start: Starter) -> None:
    """store-v1.db: one job that has ended, one that was suspended before it ever ran."""

    server: Server = start(nodes="2cpu,2Gi")
    server.kill()
    for name in ("muster.db", "muster.db-wal", "muster.db.mark"):
        (server.state / name).unlink(missing_ok=True)
    shutil.copy(FIXTURES / "store-v1.db", server.state / "muster.db")
    (server.state / "muster.db.v2").write_bytes(b"of an earlier migration")
    server.start()
    assert [path.name for path in server.state.glob("muster.db.v*")] == ["muster.db.v1"]
    assert f"copy={server.state}/muster.db.v1" in server.said()
    with contextlib.closing(sqlite3.connect(server.state / "muster.db.v1")) as kept:
        assert kept.execute("PRAGMA user_version").fetchone() == (1,)
        assert kept.execute("SELECT name FROM job ORDER BY id").fetchall() == [
            ("first",),
            ("waits",),
        ]
    assert [j["name"] for j in server.jobs()] == ["waits", "first"]
    assert server.state_of(1) == "succeeded"
    assert server.state_of(2) == "suspended"
    assert server.muster("resume", "2").returncode == 0
    wait_for(lambda: server.state_of(2) in FINAL, 20, "the resumed job")
    assert server.state_of(2) == "succeeded"
    assert "resumed" in "".join(r.get("text", "") for r in server.records(2))
