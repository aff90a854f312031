"""The guide's outline of several roles, filled in; and its isolated scheduling: workers only on
nodes that were declared for them.

muster server start --nodes '1x16cpu,64Gi,MASTER_RESOURCE:999;2x16cpu,64Gi,4gpu,WORKER_RESOURCE:999'
python roles.py
"""

import sys

from dlrover.python.unified.api.builder import DLJobBuilder

worker_node_num, device_per_worker_node, log_level = 2, 4, "INFO"

job = (
    DLJobBuilder()
    .node_num(worker_node_num)  # total machine number
    .device_per_node(device_per_worker_node)  # device number per machine
    .device_type("GPU")  # device type
    .config({"steps": 50, "lr": 0.1, "target": 3.0})  # global training variables setting
    .global_env({"DLROVER_LOG_LEVEL": log_level})  # global environment variables setting
    .role("actor")
    .run("examples.unified.my_train.run")  # any workloads
    .resource(gpu=1)  # resource unit for this role group
    .total(4)  # total workloads number for this role group
    .per_group(2)
    .role("critic")
    .run("examples.unified.my_train.run")  # any workloads
    .resource(gpu=0.5, cpu=1)
    .total(2)
    .workload("evaluator", "examples.unified.my_train.run")  # any workloads in another way
    .resource(cpu=1)
    .with_collocation("actor", "critic")
    .build()
)
sys.exit(
    job.submit(
        "roles",
        master_isolation_schedule_resource="MASTER_RESOURCE",
        worker_isolation_schedule_resource="WORKER_RESOURCE",
        log=True,
    )
)
