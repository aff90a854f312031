"""A script that a `dlrover-run` line starts: says who it is and what it was given."""

import argparse
import os

parser = argparse.ArgumentParser()
parser.add_argument("--test", type=int, required=True)
print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}, test {parser.parse_args().test}")
