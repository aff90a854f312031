"""The older guide's job: a trainer by module and class, and a second role that asks it how far it
is.

python service.py
"""

import sys

from dlrover.python.unified.api.builder import DLJobBuilder

dl_job = (
    DLJobBuilder()
    .dl_type("SFT")
    .node_num(1)
    .device_per_node(4)
    .device_type("CPU")
    .config({"k1": "v1"})
    .trainer("examples.unified.my_service", "TrainerService")
    .workload("watcher", "examples.unified.watch", "run").total(1).resource({"cpu": 1}).end()
    .build()
)  # fmt: skip

sys.exit(dl_job.submit(job_name="service", log=True))
