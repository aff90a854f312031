"""DLRover's unified API on muster: `dlrover.python.unified...` is served from `tree/`, by the
finder in `muster_dlrover.hook`. Imported at the start of every Python: keep it empty."""
