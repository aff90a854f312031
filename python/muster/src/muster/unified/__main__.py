"""`python -m muster.unified JSON`: submits the job that the first argument is, and waits for it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from muster.unified.config import JobConfig
from muster.unified.submit import submit_config, watch


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 when the job succeeded, else 1. Raises ValidationError."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        raise ValueError("The job's configuration as JSON is required.")
    return watch(submit_config(JobConfig.model_validate_json(given[0])), None)


if __name__ == "__main__":
    sys.exit(main())
