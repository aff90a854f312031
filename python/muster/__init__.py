"""muster from Python. `python -m muster.launch` starts the elastic launcher."""
