"""Trainer: REINFORCE with a baseline. Two of them learn one policy, each from half of the rollout
workers; gradients are averaged by the process group that muster made."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from dlrover.python.unified.api.runtime import RoleGroup
from dlrover.python.unified.api.runtime.worker import current_worker
from torch.nn.parallel import DistributedDataParallel

from module.policy import new_policy


def run() -> None:
    args = current_worker().job_info.user_config
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = DistributedDataParallel(new_policy())
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    rollout, reward = RoleGroup("rollout"), RoleGroup("reward")
    mine = [rollout[i] for i in range(rank, len(rollout), world)]
    first = mean = 0.0
    for step in range(args.steps):
        weights = model.module.state_dict()
        for worker in [actor.call("load", weights) for actor in mine]:
            worker.result()
        batches = [actor.call("generate", args.batch).result() for actor in mine]
        states = torch.cat([states for states, _ in batches])
        actions = torch.cat([actions for _, actions in batches])
        rewards = reward.call_rank0("score", states, actions).result()

        choice: Any = torch.distributions.Categorical(logits=model(states))
        chosen = choice.log_prob(actions)
        loss = -(chosen * (rewards - rewards.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        total = rewards.mean()
        dist.all_reduce(total)
        mean = float(total) / world
        first = first or mean
        if rank == 0 and step % 20 == 0:
            print(f"step {step}  reward {mean:.3f}")
    dist.barrier()
    if rank == 0:
        print(f"reward {first:.3f} -> {mean:.3f}")
        rollout.call("finish").result()
        reward.call("finish").result()
    if not mean > first + 0.2:
        raise RuntimeError(f"it learnt nothing: reward {first:.3f} -> {mean:.3f}")
