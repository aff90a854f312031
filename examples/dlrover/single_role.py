"""The guide's single role: a character model trained by 2 x 2 processes.

python single_role.py
"""

import argparse
import sys

import torch
from dlrover.python.unified.api.builder import DLJobBuilder
from omegaconf import DictConfig

parser = argparse.ArgumentParser()
parser.add_argument("--data_dir", default="data/nanogpt/")
parser.add_argument("--batch_size", type=int, default=16)
args = parser.parse_args()

job = (
    DLJobBuilder()
    .config(DictConfig(args.__dict__))
    .node_num(2)
    .device_per_node(2)
    .device_type("GPU" if torch.cuda.is_available() else "CPU")
    .train("examples.unified.elastic.nanogpt.train.run")
    .nnodes(2)
    .nproc_per_node(2)
    .end()  # optional, for type hinting
    .build()
)
sys.exit(job.submit(job_name="nanogpt", log=True))
