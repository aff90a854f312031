"""Descriptions of roles: how many instances, in which groups, running what, needing what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Union

from muster.unified import entry
from muster.unified.enums import WorkloadEntrypointType
from muster.unified.model import (
    Field,
    Model,
    Spot,
    anything,
    flag,
    integer,
    mapping,
    nested,
    one_of,
    optional,
    text,
)
from muster.unified.resource import ResourceDesc

EMPTY_RESOURCE = (
    "Resource must not be empty. Please specify at least one of cpu, accelerator, or custom."
)
RANK_BASED = "rank_based_gpu_selection is only valid when per_group > 1 and resources(gpu) <= 1."


def _entry_point(value: Any, spot: Spot) -> Any:
    if not isinstance(value, str):
        return text(value, spot)
    value = entry.normalize(value)
    if entry.entrypoint_type(value) is None:
        spot.say(
            f"{entry.INVALID} {value!r} is neither module.function nor a script (x.py --args)",
            value,
        )
    return value


def _list(value: Any, spot: Spot) -> Any:
    if not isinstance(value, (list, tuple)):
        spot.say(f"is {value!r}, wanted is a list", value)
        return value
    return list(value)


class NodeGroupFailover(Model):
    """Which label groups nodes that fail together. Kept for the program to see; not acted upon."""

    enabled: bool
    group_label_key: str
    timeout: int

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("enabled", flag, lambda: False),
        Field("group_label_key", text, lambda: ""),
        Field("timeout", integer(60), lambda: 300),
    )


_TOTAL = Field("total", integer(0), lambda: 1, ("total", "num", "number"))
_COMMON = (
    _TOTAL,
    Field("resource", nested(ResourceDesc), ResourceDesc, ("resource", "res")),
    Field("envs", mapping(text), dict, ("env", "environment", "envs")),
    Field("per_node_max_failure", integer(), lambda: 3),
    Field("max_restart", integer(), lambda: 10),
    Field("group", optional(text), lambda: None),
    Field("per_group", integer(1), lambda: 1),
    Field("config", mapping(anything), dict),
    Field("rank_based_gpu_selection", flag, lambda: False),
    Field("is_driver", flag, lambda: True),
    Field("node_group_failover", nested(NodeGroupFailover), NodeGroupFailover),
    Field("sub_stage", _list, list),
    Field("restart", optional(one_of("job", "role", "task")), lambda: None),
)
_ENTRY = Field("entry_point", _entry_point, None, ("entry_point", "entrypoint"))


class BaseWorkloadDesc(Model):
    """What every role has. `restart` is ours: what a retry of one instance starts anew, instead of
    what the job's failover strategy says."""

    backend: str | None
    entry_point: str
    total: int
    resource: ResourceDesc
    envs: dict[str, str]
    per_node_max_failure: int
    max_restart: int
    group: str | None
    per_group: int
    config: dict[str, Any]
    rank_based_gpu_selection: bool
    is_driver: bool
    node_group_failover: NodeGroupFailover
    sub_stage: list[Any]
    restart: str | None

    FIELDS: ClassVar[tuple[Field, ...]] = (_ENTRY, *_COMMON)

    def fill(self, data: Mapping[str, Any], spot: Spot) -> None:
        """An empty resource is refused where it was written down; a role may leave it out."""
        before = len(spot.problems)
        super().fill(data, spot)
        given = any(key in data for key in ("resource", "res"))
        if len(spot.problems) == before and given and self.resource.is_empty():
            spot.at("resource").say(EMPTY_RESOURCE)

    def check(self, spot: Spot) -> None:
        if self.total % self.per_group:
            spot.at("total").say(
                f"instance_number {self.total} must be divisible by per_group {self.per_group}.",
                self.total,
            )
        if self.rank_based_gpu_selection and (self.per_group <= 1 or self.resource.accelerator > 1):
            spot.at("rank_based_gpu_selection").say(RANK_BASED)

    def model_dump(self) -> dict[str, Any]:
        """An empty resource was left out, and is left out again."""
        made = super().model_dump()
        if self.resource.is_empty() and not (self.resource.memory or self.resource.disk):
            del made["resource"]
        return made

    @property
    def entry_point_type(self) -> WorkloadEntrypointType | None:
        return entry.entrypoint_type(self.entry_point)

    @property
    def groups(self) -> int:
        """Groups of `per_group` instances."""
        return self.total // self.per_group


class ElasticWorkloadDesc(BaseWorkloadDesc):
    """A training role: its instances are the ranks of one world. `min_nodes` and `node_unit` are
    ours: the job starts with so many groups (of `total` / `per_group`), and goes on with a multiple
    of the unit."""

    comm_pre_check: bool
    comm_auto_setup_process_group: bool
    comm_backend: str
    comm_timeout_s: int | None
    min_nodes: int | None
    node_unit: int

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("backend", one_of("elastic"), lambda: "elastic"),
        *BaseWorkloadDesc.FIELDS,
        Field("comm_pre_check", flag, lambda: True),
        Field("comm_auto_setup_process_group", flag, lambda: True),
        Field("comm_backend", text, lambda: "auto"),
        Field("comm_timeout_s", optional(integer(0)), lambda: None),
        Field("min_nodes", optional(integer(1)), lambda: None),
        Field("node_unit", integer(1), lambda: 1),
    )

    def check(self, spot: Spot) -> None:
        super().check(spot)
        if self.min_nodes is not None and self.min_nodes > self.groups:
            spot.at("min_nodes").say(
                f"is {self.min_nodes}, more than the {self.groups} nodes of the role",
                self.min_nodes,
            )
        fixed = self.min_nodes is None or self.min_nodes == self.groups
        if self.groups and self.node_unit > 1 and (fixed and self.groups % self.node_unit):
            spot.at("node_unit").say(
                f"{self.groups} nodes are not divisible by node_unit {self.node_unit}",
                self.node_unit,
            )


class SimpleWorkloadDesc(BaseWorkloadDesc):
    """A role whose instances know nothing of each other."""

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("backend", optional(one_of("simple")), lambda: "simple"),
        *BaseWorkloadDesc.FIELDS,
    )


class CustomWorkloadDesc(BaseWorkloadDesc):
    """A role that is a class of its own kind, which takes job_info and actor_info."""

    module_name: str
    class_name: str

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("backend", one_of("custom"), lambda: "custom"),
        Field("module_name", text),
        Field("class_name", text),
        Field("entry_point", text, lambda: "", ("entry_point", "entrypoint")),
        *_COMMON,
    )


WorkloadDesc = Union[ElasticWorkloadDesc, SimpleWorkloadDesc, CustomWorkloadDesc]
_KINDS: dict[object, type[BaseWorkloadDesc]] = {
    "elastic": ElasticWorkloadDesc,
    "simple": SimpleWorkloadDesc,
    "custom": CustomWorkloadDesc,
    None: SimpleWorkloadDesc,
}


def _kind_of(data: Mapping[str, Any]) -> object:
    """The backend of a description that may not say it: the one it fits best."""
    if "backend" in data:
        return data["backend"]
    return "custom" if "module_name" in data and "class_name" in data else "elastic"


def read_workload(value: Any, spot: Spot) -> Any:
    """A description of any kind."""
    if isinstance(value, BaseWorkloadDesc):
        value.recheck(spot)
        return value
    if not isinstance(value, Mapping):
        spot.say(f"is {value!r}, wanted is a mapping", value)
        return value
    kind = _kind_of(value)
    if not isinstance(kind, (str, type(None))) or kind not in _KINDS:
        spot.at("backend").say(f"is {kind!r}, wanted is elastic, simple or custom", kind)
        return value
    return _KINDS[kind].read(value, spot)
