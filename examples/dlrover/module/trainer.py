"""Trainer: REINFORCE with a baseline. Two of them learn one policy, each from half of the rollout
workers; gradients are averaged by the process group that muster made."""

from __future__ import annotations

import os
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
    # Its own device, if it was given one that torch can use. The other roles have none.
    has_device = torch.cuda.is_available()
    device = torch.device(os.environ["ACCELERATE_TORCH_DEVICE"] if has_device else "cpu")
    model = DistributedDataParallel(new_policy().to(device))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    rollout, reward = RoleGroup("rollout"), RoleGroup("reward")
    mine = [rollout[i] for i in range(rank, len(rollout), world)]
    first = mean = 0.0
    for step in range(args.steps):
        weights = {name: weight.cpu() for name, weight in model.module.state_dict().items()}
        for worker in [actor.call("load", weights) for actor in mine]:
            worker.result()
        batches = [actor.call("generate", args.batch).result() for actor in mine]
        states = torch.cat([states for states, _ in batches])
        actions = torch.cat([actions for _, actions in batches])
        rewards = reward.call_rank0("score", states, actions).result()
        states, actions, rewards = (part.to(device) for part in (states, actions, rewards))

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
