"""`python -m muster.worker ENTRYPOINT`."""

import sys

from muster.worker.start import main

if __name__ == "__main__":
    sys.exit(main())
