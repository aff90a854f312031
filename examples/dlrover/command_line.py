"""The guide's second single role: a dlrover-run line is the whole job.

python command_line.py
"""

import sys
from pathlib import Path

from dlrover.python.unified.api.builder import DLJobBuilder

Your_dlrover_root_dir = Path(__file__).resolve().parent / "root"

# Conveniently convert a CLI command into a job
cmd = f"dlrover-run --nnodes=1 --nproc_per_node=1 {Your_dlrover_root_dir}/dlrover/python/unified/tests/integration_test/dummy_run.py --test 0"  # noqa: E501
job = DLJobBuilder().by_dlrover_run_cmd(cmd).build()
sys.exit(job.submit("test_cmd_api", master_cpu=1, master_memory=128, log=True))
