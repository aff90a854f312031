"""Builders of single roles. Values are kept as given and checked when the job is built, so that
`build()` names everything that is wrong at once.

Whatever a role builder does not know it hands to the job's builder, so that `.end()` may be left
out. Its own attributes have leading underscores for that reason: none may hide a method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Union

from muster.errors import Problem
from muster.unified.command import nodes_range
from muster.unified.model import Spot, raise_for
from muster.unified.notes import note
from muster.unified.resource import ResourceDesc
from muster.unified.workload import (
    BaseWorkloadDesc,
    ElasticWorkloadDesc,
    NodeGroupFailover,
    SimpleWorkloadDesc,
)

if TYPE_CHECKING:
    from typing_extensions import Self

    from muster.unified.builder import DLJobBuilder

NOSET = (
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "ASCEND_RT_VISIBLE_DEVICES",
    "HABANA_VISIBLE_MODULES",
    "NEURON_RT_VISIBLE_CORES",
    "TPU_VISIBLE_CHIPS",
    "ONEAPI_DEVICE_SELECTOR",
)
NOSET_ENVS = {f"RAY_EXPERIMENTAL_NOSET_{name}": "true" for name in NOSET}
FAILOVER_IGNORED_BELOW = 30
Count = Union[int, str]
B = TypeVar("B", bound="DLJobBuilder")


class RoleBuilder(Generic[B]):
    """One role. Every method but `end` returns this builder."""

    _kind: type[BaseWorkloadDesc] = SimpleWorkloadDesc
    _verb = "run"

    def __init__(self, job: B, role: str, entrypoint: Any) -> None:
        self._job = job
        self._role_name = role
        self._data: dict[str, Any] = {"entry_point": entrypoint}
        self._resource: Any = {}
        self._envs: dict[str, Any] = {}
        self._problems: list[Problem] = []
        job.add_role_builder(role, self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if not hasattr(self._job, name):
            raise AttributeError(f"neither a role made by {self._verb}() nor its job has {name!r}")
        return getattr(self._job, name)

    def _spot(self) -> Spot:
        return Spot(f"workloads.{self._role_name}", self._problems)

    # ---- how many, where ----

    def total(self, num: Count = 1) -> Self:
        """Instances of this role; 0 is a role that is not there."""
        self._data["total"] = num
        return self

    def per_group(self, num: Count = 1) -> Self:
        """Instances that share a node."""
        self._data["per_group"] = num
        return self

    def per_node(self, num: Count = 1) -> Self:
        """`per_group`, as the first edition of the API called it."""
        return self.per_group(num)

    # ---- what it gets ----

    def env(self, env: Mapping[str, str] | None = None) -> Self:
        """Environment variables, over those of earlier calls and of `global_env`."""
        if env is None:
            return self
        if isinstance(env, Mapping):
            self._envs.update(env)
        else:
            self._spot().at("envs").say(f"is {env!r}, wanted is a mapping", env)
        return self

    def envs(self, envs: Mapping[str, str] | None = None) -> Self:
        return self.env(envs)

    def resource(
        self,
        cpu: float | str | Mapping[str, Any] | None = 0,
        memory: float | str = 0,
        disk: float | str = 0,
        accelerator: float | str = 0,
        **named: Any,
    ) -> Self:
        """What each instance needs: a mapping or keywords. Memory and disk in MB; `gpu` and `acc`
        are the accelerator, `mem` the memory, `user_defined` (`ud_resource`) custom resources. A
        later call replaces an earlier one."""
        base: dict[str, Any] = {"memory": memory, "disk": disk, "accelerator": accelerator}
        given = {key: value for key, value in base.items() if value != 0}
        if isinstance(cpu, Mapping):
            given.update(cpu)
        elif cpu is not None and cpu != 0:
            given["cpu"] = cpu
        self._resource = {**given, **named}
        return self

    def disable_ray_auto_visible_device(self) -> Self:
        """The variables that keep Ray from hiding devices; programs may ask for them."""
        self._envs.update(NOSET_ENVS)
        return self

    def enable_ray_auto_visible_device(self) -> Self:
        for name in NOSET_ENVS:
            self._envs.pop(name, None)
        return self

    def sub_stage(self, sub_stage: Sequence[Any] | None = None) -> Self:
        """Kept in the role's description, for the program to see."""
        self._data["sub_stage"] = list(sub_stage or [])
        return self

    # ---- how it ends ----

    def not_driver(self) -> Self:
        """The job does not wait for this role; it is stopped when the drivers have ended."""
        self._data["is_driver"] = False
        return self

    def restart(self, what: str) -> Self:
        """What a retry of one instance starts anew: its `task`, the `role`, or the whole `job`;
        left out, the job's failover strategy says it. muster's own."""
        self._data["restart"] = what
        return self

    def enable_node_group_failover(self, group_label_key: str, timeout: int = 300) -> Self:
        """Raises ValidationError for a time from 30 to 59 s. A shorter one and an empty key leave
        it off, as in the reference."""
        if not group_label_key or timeout < FAILOVER_IGNORED_BELOW:
            note(
                f"enable_node_group_failover({group_label_key!r}, {timeout}) is ignored: it takes "
                "a label and at least 60 seconds"
            )
            return self
        spot = Spot(f"workloads.{self._role_name}.node_group_failover", [])
        made = {"enabled": True, "group_label_key": group_label_key, "timeout": timeout}
        self._data["node_group_failover"] = NodeGroupFailover.read(made, spot)
        raise_for(spot.problems)
        return self

    # ---- leaving ----

    def end(self) -> B:
        """The job's builder."""
        return self._job

    def _build(self, problems: list[Problem]) -> BaseWorkloadDesc:
        """Its description; what is wrong goes into `problems`."""
        problems.extend(self._problems)
        spot = Spot(f"workloads.{self._role_name}", problems)
        before = len(problems)
        resource = ResourceDesc.read(self._resource, spot.at("resource"))
        data = {**self._data, "envs": self._envs}
        if len(problems) == before:
            resource.default_accelerator()
            data["resource"] = resource
        return self._kind.read(data, spot)


class ElasticRoleBuilder(RoleBuilder[B]):
    """A training role: nodes of equally many processes each."""

    _kind = ElasticWorkloadDesc
    _verb = "train"

    def _count(self, key: str) -> int:
        """A number given before; one that is none is told about by `build()`."""
        try:
            return int(self._data.get(key, 1))
        except (TypeError, ValueError):
            return 0

    def _take(self, name: str, num: Count) -> int | None:
        try:
            if isinstance(num, float) and num != int(num):
                raise ValueError
            return int(num)
        except (TypeError, ValueError):
            self._spot().at(name).say(f"is {num!r}, wanted is a whole number", num)
            return None

    def total(self, num: Count = 1) -> Self:
        self._data.pop("min_nodes", None)
        return super().total(num)

    def nnodes(self, num: Count) -> Self:
        """Nodes: a number, or `"2:4"` for a job that starts with two and takes up to four."""
        self._data.pop("min_nodes", None)
        if isinstance(num, str) and ":" in num:
            try:
                self._data["min_nodes"], num = nodes_range(num)
            except ValueError:
                self._spot().at("nnodes").say(f"is {num!r}, wanted is N or MIN:MAX", num)
                return self
        nodes = self._take("nnodes", num)
        if nodes is not None:
            self._data["total"] = nodes * self._count("per_group")
        return self

    def nproc_per_node(self, num: Count) -> Self:
        """Processes on each node; the number of nodes stays."""
        taken = self._take("nproc_per_node", num)
        if taken is not None:
            per_group = self._count("per_group")
            nodes = self._count("total") // per_group if per_group else 1
            self._data["per_group"] = taken
            self._data["total"] = nodes * taken
        return self

    def _launch(self, node_unit: int, max_restarts: int | None) -> None:
        """What a launcher's line says besides."""
        self._data["node_unit"] = node_unit
        if max_restarts is not None:
            self._data["max_restart"] = max_restarts
