"""The guide's reinforcement learning: two trainers, four rollout workers, a reward service.

It asks for two GPUs: on a machine with fewer, declare nodes that have some.

muster server start --nodes 2x16cpu,64Gi,4gpu
python rl.py
"""

import sys

from dlrover.python.unified.api.builder import DLJobBuilder
from omegaconf import DictConfig

args = {"lr": 0.02, "steps": 101, "batch": 128}

job = (
    DLJobBuilder()
    .config(DictConfig(args))
    .role("trainer").train("module.trainer.run").total(2).resource(gpu=1).end()
    .role("rollout").run("module.rollout.run").total(4).resource(cpu=4).end()
    .workload("reward", "module.reward.run").total(1).resource(cpu=2).end()
    .build()
)  # fmt: skip
sys.exit(job.submit(job_name="rl_job", log=True))
