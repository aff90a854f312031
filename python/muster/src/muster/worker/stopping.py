"""The request to stop, which arrives as SIGTERM.

What happens then is the program's choice:

- It has read `current_worker().stopping` (or waited in `wait_stop`): it is left to end by itself,
  within the grace time of the job; after that it is killed.
- It has installed a handler of its own for SIGTERM: that one is called, as in any program.
- Neither: SystemExit(143) is raised in the main thread, so that `finally` blocks and context
  managers run, and the process ends.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType

CODE = 128 + signal.SIGTERM


class Stopping:
    """Has a stop been asked for, and does the program look for it?"""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._aware = False

    def __call__(self, _signal: int = 0, _frame: FrameType | None = None) -> None:
        """The handler of SIGTERM."""
        self._asked.set()
        if not self._aware:
            raise SystemExit(CODE)

    def listen(self) -> None:
        """From now on SIGTERM asks for the stop; on the main thread only."""
        signal.signal(signal.SIGTERM, self)

    @property
    def asked(self) -> bool:
        """As the program sees it: reading it takes the end of the process into its own hands."""
        self._aware = True
        return self._asked.is_set()

    def asked_quietly(self) -> bool:
        """The same for ourselves: changes nothing."""
        return self._asked.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Until a stop is asked for; False: not within `timeout` seconds."""
        self._aware = True
        return self._asked.wait(timeout)


stopping = Stopping()
