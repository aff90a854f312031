"""`python -m dlrover.python.unified.driver.main JSON`."""

import sys

from muster.unified.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
