"""The job as a whole: `DLConfig` is what its author says, `JobConfig` adds how it is submitted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from muster.errors import Problem
from muster.unified import user_config
from muster.unified.enums import AcceleratorType, MasterStateBackendType
from muster.unified.model import (
    Field,
    Model,
    Spot,
    anything,
    choice,
    flag,
    integer,
    mapping,
    number,
    one_of,
    optional,
    raise_for,
    text,
)
from muster.unified.resource import ResourceDesc
from muster.unified.workload import BaseWorkloadDesc, WorkloadDesc, read_workload

DL_TYPES = ("PRE", "SFT", "RL", "MULTIMODAL")
NO_WORKLOADS = "At least one workload must be defined. (No roles: .role(...).run(...), .train(...))"
SLACK = 1e-9  # sums of shares as 1/3 + 1/3 + 1/3 are not exact


@dataclass
class WorkloadGroup:
    """Instances that share a node: in each of `num` groups `per_group` of every role."""

    name: str
    num: int
    workloads: list[str] = field(default_factory=list)
    resource: ResourceDesc = field(default_factory=ResourceDesc)


def _workloads(value: Any, spot: Spot) -> Any:
    found = mapping(read_workload)(value, spot)
    if isinstance(value, Mapping) and not value:
        spot.say(NO_WORKLOADS)
    return found


class DLConfig(Model):
    """Roles, node shape, environment and the user's configuration. `dl_type` is a label;
    `device_type_from_cluster` says that nobody chose the accelerator, so that a cluster without
    devices is taken for CPU."""

    user_config: Any
    workloads: dict[str, WorkloadDesc]
    global_envs: dict[str, str]
    node_number: int
    accelerator_type: AcceleratorType
    device_per_node: int
    dl_type: str | None
    device_type_from_cluster: bool

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("user_config", user_config.read, dict),
        Field("workloads", _workloads),
        Field("global_envs", mapping(text), dict),
        Field("node_number", integer(1), lambda: 1),
        Field("accelerator_type", choice(AcceleratorType), lambda: AcceleratorType.GPU),
        Field("device_per_node", integer(1), lambda: 8),
        Field("dl_type", optional(one_of(*DL_TYPES)), lambda: None),
        Field("device_type_from_cluster", flag, lambda: False),
    )
    IGNORED = frozenset({"stream_type", "collocations"})  # a DLJob's own, already in the groups

    @property
    def workload_group(self) -> list[WorkloadGroup]:
        """The groups in the order of their first roles. Raises ValidationError."""
        problems: list[Problem] = []
        groups = self.find_groups(Spot("", problems))
        raise_for(problems)
        return groups

    def find_groups(self, spot: Spot) -> list[WorkloadGroup]:
        groups: dict[str, WorkloadGroup] = {}
        for role, workload in self.workloads.items():
            name = workload.group or f"_group_{role}"
            group = groups.setdefault(name, WorkloadGroup(name, workload.groups))
            group.workloads.append(role)
            group.resource += workload.resource * workload.per_group
            if workload.total != group.num * workload.per_group:
                first = group.workloads[0]
                spot.at("workloads").at(role).at("total").say(
                    f"Instance number for workload '{role}' is inconsistent: total "
                    f"{workload.total} with per_group {workload.per_group} makes "
                    f"{workload.groups} groups, '{first}' in the same group {name} makes "
                    f"{group.num}.",
                    workload.total,
                )
        return list(groups.values())

    def check(self, spot: Spot) -> None:
        """Counts of roles that share nodes, and room for the accelerators. As in the reference the
        sum is over roles, not instances: whether all instances fit is the cluster's answer."""
        for group in self.find_groups(spot):
            wanted = group.resource.accelerator
            if wanted > self.device_per_node + SLACK:
                spot.at("workloads").at(group.workloads[0]).at("resource.accelerator").say(
                    f"Group {group.name} accelerator resource {wanted:g} exceeds "
                    f"device_per_node {self.device_per_node}."
                )
        total = sum(each.resource.accelerator for each in self.workloads.values())
        if total > self.node_number * self.device_per_node + SLACK:
            spot.at("workloads").say(
                f"Total accelerator resource {total:g} exceeds node_number {self.node_number} * "
                f"device_per_node {self.device_per_node}."
            )
        for role, workload in self.workloads.items():
            self._check_range(role, workload, spot.at("workloads").at(role))

    def _check_range(self, role: str, workload: BaseWorkloadDesc, spot: Spot) -> None:
        if getattr(workload, "min_nodes", None) in (None, workload.groups) or not workload.group:
            return
        partners = [
            name
            for name, other in self.workloads.items()
            if other.group == workload.group and name != role
        ]
        if partners:
            spot.at("min_nodes").say(
                f"a role with a range of nodes cannot share nodes (here with {partners[0]})"
            )

    def model_dump(self) -> dict[str, Any]:
        made = super().model_dump()
        made["user_config"] = user_config.plain(self.user_config, Spot("", []))
        return made

    def model_dump_json(self, indent: int | None = None) -> str:
        """Raises ValidationError where the configuration holds what JSON cannot."""
        problems: list[Problem] = []
        user_config.plain(self.user_config, Spot("user_config", problems))
        raise_for(problems)
        return json.dumps(self.model_dump(), indent=indent, ensure_ascii=False)

    # The builder's words for the same fields.

    @property
    def node_num(self) -> int:
        return self.node_number

    @property
    def device_type(self) -> AcceleratorType:
        return self.accelerator_type

    @property
    def config(self) -> Any:
        return self.user_config

    @property
    def env(self) -> dict[str, str]:
        return self.global_envs

    def get_workload(self, role: str) -> WorkloadDesc:
        """Raises KeyError."""
        return self.workloads[role]


def _dl_config(value: Any, spot: Spot) -> Any:
    """A job that came as an object is checked under its own names (`workloads.trainer.total`)."""
    if isinstance(value, DLConfig):
        value.recheck(Spot("", spot.problems))
        return value
    return DLConfig.read(value, spot)


class JobConfig(Model):
    """A job with everything that `submit()` takes. There is no master process, the server keeps the
    job: `master_create_timeout` bounds the start of a server when none answers; what else speaks of
    a master is accepted, and a warning says that nothing acts on it."""

    job_name: str
    dl_config: DLConfig
    master_cpu: int
    master_mem: int
    master_create_timeout: float
    master_state_backend_type: MasterStateBackendType
    master_state_backend_config: dict[str, Any]
    node_max_restart: int
    job_max_restart: int
    master_max_restart: int
    failover_trigger_strategy: int
    failover_exec_strategy: int
    master_isolation_schedule_resource: str
    worker_isolation_schedule_resource: str

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("job_name", text),
        Field("dl_config", _dl_config),
        Field("master_cpu", integer(), lambda: 2),
        Field("master_mem", integer(), lambda: 4096, ("master_memory", "master_mem")),
        Field(
            "master_create_timeout",
            number(),
            lambda: 600.0,
            ("master_create_timeout", "timeout"),
        ),
        Field(
            "master_state_backend_type",
            choice(MasterStateBackendType),
            lambda: MasterStateBackendType.RAY_INTERNAL,
        ),
        Field("master_state_backend_config", mapping(anything), dict),
        Field("node_max_restart", integer(), lambda: 10),
        Field("job_max_restart", integer(), lambda: 10),
        Field("master_max_restart", integer(), lambda: 10),
        Field("failover_trigger_strategy", integer(), lambda: 2),
        Field("failover_exec_strategy", integer(), lambda: 1),
        Field("master_isolation_schedule_resource", text, lambda: ""),
        Field("worker_isolation_schedule_resource", text, lambda: ""),
    )

    def model_dump(self) -> dict[str, Any]:
        """The job inside as a DLConfig, whatever it was built as."""
        made = super().model_dump()
        made["dl_config"] = {each.name: made["dl_config"][each.name] for each in DLConfig.FIELDS}
        return made

    def model_dump_json(self, indent: int | None = None) -> str:
        self.dl_config.model_dump_json()
        return super().model_dump_json(indent)
