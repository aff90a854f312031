"""A rank of --run-path: the script runs by runpy, what it raises goes to the error file without
@record, and a rank that has run it exits together with the others of its node."""

import faulthandler
import json
import os
import runpy
import sys
import time
import traceback


def write_error_file(error: Exception) -> None:
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path:
        return
    more = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
    with open(path, "w") as file:
        json.dump(
            {"message": {"message": f"{type(error).__name__}: {error}", "extraInfo": more}}, file
        )


def run() -> None:
    faulthandler.enable(all_threads=True)
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    except Exception as error:
        write_error_file(error)
        raise


def main() -> None:
    report, release, index = (int(x) for x in os.environ.pop("MUSTER_EXIT_GATE").split(","))
    os.set_inheritable(report, False)
    os.set_inheritable(release, False)
    del sys.argv[0]
    run()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    os.write(report, index.to_bytes(4, sys.byteorder))
    os.read(release, 1)


main()
