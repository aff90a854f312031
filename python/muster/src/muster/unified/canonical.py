"""A built job in muster's own words: `canonical(config)` is the tree that is submitted. Pure; what
is accepted without effect here is named by `without_effect(config)`.

What the reference does and this does not: with `worker_isolation_schedule_resource=W` it takes a
flat 100 of W for each group and 1 for each instance inside, so that a node with 999 holds nine
groups of any size. Here each instance takes 1 of W.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

from muster.errors import Problem
from muster.unified import user_config
from muster.unified.config import JobConfig
from muster.unified.enums import AcceleratorType, MasterStateBackendType
from muster.unified.model import Spot, plain, raise_for
from muster.unified.resource import ResourceDesc
from muster.unified.roles import NOSET_ENVS
from muster.unified.workload import BaseWorkloadDesc, CustomWorkloadDesc, ElasticWorkloadDesc

MB = 1 << 20  # as in the reference's own defaults: 4096, 8192
NONE, JOB, ROLE = 0, 1, 2  # failover_exec_strategy: any other number is none
NEVER, LATER, NOW = 0, 1, 2  # failover_trigger_strategy
MOST_RESTARTS = 1_000_000
OWN_RESOURCES = ("cpu", "memory", "shm", "disk", "gpu", "gpu_type")
Tree = dict[str, Any]


def task_role(role: str) -> str:
    """The role's name among muster's tasks: itself where muster takes it, else with `~XX` for each
    byte of what it does not."""
    if re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", role):
        return role
    taken = re.compile(rb"[A-Za-z0-9_-]")
    return "".join(
        chr(byte) if taken.match(bytes([byte])) else f"~{byte:02X}" for byte in role.encode()
    )


def canonical(
    config: JobConfig,
    interpreter: str = sys.executable,
    surroundings: Mapping[str, str] | None = None,
) -> Tree:
    """Raises ValidationError for what neither JSON nor muster can say. `interpreter` is the Python
    whose packages the tasks get, `surroundings` what they have unless the job says others.
    """
    problems: list[Problem] = []
    spot = Spot("", problems)
    job = config.dl_config
    live = {role: each for role, each in job.workloads.items() if each.total > 0}
    if not live:
        spot.at("workloads").say("No roles with instances: every role has total 0")
    given = user_config.plain(job.user_config, spot.at("user_config"))
    roles = {
        task_role(role): _role(config, role, each, spot.at("workloads").at(role))
        for role, each in live.items()
    }
    tree: Tree = {
        "name": config.job_name,
        "roles": roles,
        "retry": _retry(config),
        "inputs": {"interpreter": interpreter},
    }
    for role in roles.values():
        role["env"] = {**(surroundings or {}), **role["env"]}
    if job.dl_type:
        tree["labels"] = {"dl_type": job.dl_type}
    together = _together(live)
    if together:
        tree["place"] = {"together": together}
    if given not in (None, {}):
        tree["config"] = given
    raise_for(problems)
    return tree


MASTERS = (
    "master_cpu",
    "master_mem",
    "master_max_restart",
    "master_isolation_schedule_resource",
)
NO_MASTER = "there is no master process, the server keeps the job and may be killed at any time"


def without_effect(config: JobConfig) -> list[str]:
    """What the job says that muster accepts and does not act upon."""
    defaults = {field.name: field.default() for field in JobConfig.FIELDS if field.default}
    notes = [
        f"{name} is accepted, nothing acts on it: {NO_MASTER}"
        for name in MASTERS
        if getattr(config, name) != defaults[name]
    ]
    if config.master_state_backend_type is not MasterStateBackendType.RAY_INTERNAL:
        notes.append(
            "master_state_backend_type is accepted, nothing acts on it: the server keeps the state"
        )
    for name, known in (("exec", (NONE, JOB, ROLE)), ("trigger", (NEVER, LATER, NOW))):
        field = f"failover_{name}_strategy"
        value = getattr(config, field)
        if value not in known:
            notes.append(f"{field} {value} is not known and is taken for 0")
    for role, workload in config.dl_config.workloads.items():
        if workload.node_group_failover.enabled:
            notes.append(f"node_group_failover of role {role!r} is not acted upon")
    return notes


def _together(live: Mapping[str, BaseWorkloadDesc]) -> list[Tree]:
    """Roles of one group share nodes: group g of each."""
    groups: dict[str, list[str]] = {}
    for role, workload in live.items():
        if workload.group:
            groups.setdefault(workload.group, []).append(task_role(role))
    return [{"roles": roles} for roles in groups.values() if len(roles) > 1]


# ---- failover ----


def _retries(config: JobConfig) -> bool:
    """Is anything started anew at all?"""
    return config.failover_exec_strategy in (JOB, ROLE) and config.failover_trigger_strategy in (
        LATER,
        NOW,
    )


def _retry(config: JobConfig) -> Tree:
    """The budget of whole restarts is the smallest of the limits that each of them draws on."""
    by_role = config.failover_exec_strategy == ROLE
    tree: Tree = {"scope": "role" if by_role else "job"}
    if not _retries(config):
        return {**tree, "unknown": 0, "user": 0, "platform": 0}
    live = [each for each in config.dl_config.workloads.values() if each.total]
    budget = _count(min([config.job_max_restart, *(each.max_restart for each in live)]))
    per_node = min((each.per_node_max_failure for each in live), default=0)
    return {
        **tree,
        "per_node": _count(per_node) + 1,
        "unknown": budget,
        "user": budget,
        "platform": _count(config.node_max_restart),
    }


def _count(number: int) -> int:
    """The reference takes any number; below zero is none."""
    return min(max(number, 0), MOST_RESTARTS)


def _done(config: JobConfig, workload: BaseWorkloadDesc) -> Tree:
    """When a role decides the end. With no driver at all every role counts: the job then lasts
    until all have ended (the reference ends it at once)."""
    done: Tree = {"failed": 1 if config.failover_trigger_strategy == NOW else "at_end"}
    driven = any(each.is_driver and each.total for each in config.dl_config.workloads.values())
    if driven and not workload.is_driver:
        done["succeeded"] = "never"
    return done


# ---- roles ----


def _role(config: JobConfig, role: str, workload: BaseWorkloadDesc, spot: Spot) -> Tree:
    tree: Tree = {
        "replicas": _replicas(workload),
        "per_group": workload.per_group,
        "driver": workload.is_driver,
        "python": _entrypoint(workload),
        "env": _env(config, role, workload, spot),
        "resources": _resources(config, workload.resource, spot.at("resource")),
        "done": _done(config, workload),
    }
    if isinstance(workload, ElasticWorkloadDesc):
        tree["launcher"] = _launcher(config, workload)
    if workload.restart:
        tree["restart"] = workload.restart
    return tree


def _entrypoint(workload: BaseWorkloadDesc) -> str:
    if isinstance(workload, CustomWorkloadDesc):
        return f"{workload.module_name}.{workload.class_name}"
    return workload.entry_point


def _ranged(workload: BaseWorkloadDesc) -> bool:
    return isinstance(workload, ElasticWorkloadDesc) and workload.min_nodes not in (
        None,
        workload.groups,
    )


def _replicas(workload: BaseWorkloadDesc) -> Any:
    if isinstance(workload, ElasticWorkloadDesc) and workload.min_nodes and _ranged(workload):
        return {"min": workload.min_nodes * workload.per_group, "max": workload.total}
    return workload.total


def _launcher(config: JobConfig, workload: ElasticWorkloadDesc) -> Tree:
    """One process a task. A failed rank begins a new round within the task's budget."""
    limits = [workload.max_restart]
    if config.failover_exec_strategy == ROLE:
        limits.append(config.job_max_restart)
    tree: Tree = {
        "ranks_per_node": 1,
        "max_restarts": _count(min(limits)) if _retries(config) else 0,
        "node_check": workload.comm_pre_check and workload.total > workload.per_group,
    }
    if _ranged(workload):
        tree["node_unit"] = workload.per_group * workload.node_unit
    return tree


def _env(config: JobConfig, role: str, workload: BaseWorkloadDesc, spot: Spot) -> Tree:
    """Later ones win: the job's name, everybody's, the role's name, the role's own."""
    env = {"JOB": config.job_name, **config.dl_config.global_envs, "ROLE": role, **workload.envs}
    if workload.rank_based_gpu_selection:
        env.update(NOSET_ENVS)
    env["MUSTER_UNIFIED"] = json.dumps(_unified(config, workload, spot), separators=(",", ":"))
    return env


def _unified(config: JobConfig, workload: BaseWorkloadDesc, spot: Spot) -> Tree:
    """What the worker's runtime wants to know: the job, its role, and who else is there."""
    given = workload.model_dump()
    given["resource"] = plain(workload.resource)
    given["config"] = user_config.plain(workload.config, spot.at("config"))
    given["sub_stage"] = user_config.plain(workload.sub_stage, spot.at("sub_stage"))
    given["backend"] = given["backend"] or "simple"
    return {
        "job": {
            "name": config.job_name,
            "accelerator_type": config.dl_config.accelerator_type.value,
            "failover": config.failover_exec_strategy,
            "trigger": config.failover_trigger_strategy,
        },
        "role": given if not spot.problems else {},
        "roles": {
            name: {
                "total": each.total,
                "per_group": each.per_group,
                "backend": each.backend or "simple",
                "is_driver": each.is_driver,
                "task_role": task_role(name),
            }
            for name, each in config.dl_config.workloads.items()
        },
    }


# ---- resources ----


def _resources(config: JobConfig, resource: ResourceDesc, spot: Spot) -> Tree:
    tree: Tree = {}
    if resource.cpu:
        tree["cpu"] = _thousandths(resource.cpu, ROUND_HALF_UP)
    if resource.memory:
        tree["memory"] = resource.memory * MB
    if resource.disk:
        tree["disk"] = resource.disk * MB
    if config.dl_config.accelerator_type is not AcceleratorType.CPU and resource.accelerator:
        tree["gpu"] = _devices(resource.accelerator, spot.at("accelerator"))
    for name, amount in resource.user_defined.items():
        if name in OWN_RESOURCES:
            spot.at("user_defined").at(name).say(f"{name!r} is no custom resource")
        elif amount:
            tree[name] = _thousandths(amount, ROUND_HALF_UP)
    if config.worker_isolation_schedule_resource:
        name = config.worker_isolation_schedule_resource
        tree[name] = max(tree.get(name, 0), 1)
    return tree


def _thousandths(value: float, rounding: str) -> float | int:
    """With at most three decimals, and never nothing where something was asked for."""
    exact = Decimal(repr(value)).quantize(Decimal("0.001"), rounding)
    number = float(max(exact, Decimal("0.001")))
    return int(number) if number == int(number) else number


def _devices(value: float, spot: Spot) -> float | int:
    """Shares are cut down to a thousandth, so that k of 1/k fit on one device."""
    if value < 1:
        return _thousandths(value, ROUND_FLOOR)
    if value != math.floor(value):
        spot.say(
            f"is {value:g}: more than one accelerator is given whole, a share is below 1", value
        )
    return int(value)
