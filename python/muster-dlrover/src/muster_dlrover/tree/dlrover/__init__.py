"""DLRover's unified API, as muster runs it."""
