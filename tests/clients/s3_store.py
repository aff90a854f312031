"""A store that speaks S3, in this process: DATA PORT AHEAD. Its clock is AHEAD seconds ahead. Keys
come by the environment; a bucket is a directory in DATA. Run by the Python of build/clients/s3."""

from __future__ import annotations

import datetime
import sys
import time

from nanio import cli
from nanio.auth import sigv4

AHEAD = datetime.timedelta(seconds=int(sys.argv[3]))


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Clock:
        return super().now(tz) + AHEAD


if AHEAD:
    own = time.time
    time.time = lambda: own() + AHEAD.total_seconds()
    sigv4.datetime = Clock
serve = ["serve", "--data-dir", sys.argv[1], "--host", "127.0.0.1", "--port", sys.argv[2]]
sys.exit(cli.main(serve))
