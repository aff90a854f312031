"""`DLJobBuilder`: a job said in one chain of calls, in the union of what the generations of the
API promised. `RLJobBuilder` adds the roles of reinforcement learning."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from muster.errors import Problem, ValidationError
from muster.unified import command
from muster.unified.collocation import Collocation
from muster.unified.enums import DLStreamType, RLRoleType
from muster.unified.job import DLJob, RLJob
from muster.unified.model import Spot, integer, raise_for
from muster.unified.notes import note
from muster.unified.roles import Count, ElasticRoleBuilder, RoleBuilder
from muster.unified.workload import BaseWorkloadDesc, ElasticWorkloadDesc

if TYPE_CHECKING:
    from typing_extensions import Self

ELASTIC = "ELASTIC"
TRAINER_RESOURCE = {"cpu": 4, "memory": 8192}


def _refuse(what: str) -> ValidationError:
    return ValidationError([Problem("", what)])


class DLJobBuilder:
    """Builds a `DLJob`. Methods that define a role return the role's builder, all others this."""

    _made: type[DLJob] = DLJob

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}
        self._envs: dict[str, Any] = {}
        self._last_role: str | None = None
        self._roles: dict[str, RoleBuilder[Any]] = {}
        self._collocations: list[Collocation] = []
        self._elastic_flags: dict[str, bool] = {}

    # ---- the job ----

    def dl_type(self, dl_type: str = "SFT") -> Self:
        """What kind of learning it is: PRE, SFT, RL or MULTIMODAL; a label of the job."""
        self._fields["dl_type"] = dl_type
        return self

    def SFT_type(self) -> Self:
        return self.dl_type("SFT")

    def PRE_type(self) -> Self:
        return self.dl_type("PRE")

    def RL_type(self) -> Self:
        return self.dl_type("RL")

    def MULTIMODAL_type(self) -> Self:
        return self.dl_type("MULTIMODAL")

    def node_num(self, num: Count = 1) -> Self:
        """Machines; with `device_per_node` the room that the roles must fit in. It does not place:
        `per_group` does."""
        self._fields["node_number"] = num
        return self

    def device_per_node(self, num: Count = 8) -> Self:
        self._fields["device_per_node"] = num
        return self

    def device_type(self, device_type: str = "GPU") -> Self:
        """`CPU`, `GPU` or `TPU`."""
        self._fields["accelerator_type"] = device_type
        self._fields.pop("device_type_from_cluster", None)
        return self

    def config(self, config: Any) -> Self:
        """The user's configuration, which the instances find in `job_info.user_config`. A later
        call replaces an earlier one."""
        self._fields["user_config"] = config
        return self

    def global_env(self, env: Mapping[str, str]) -> Self:
        """Environment variables of all roles, over those of earlier calls."""
        self._envs.update(env)
        return self

    def as_task_stream(self) -> Self:
        self._fields["stream_type"] = DLStreamType.TASK_STREAM
        return self

    def as_data_stream(self) -> Self:
        self._fields["stream_type"] = DLStreamType.DATA_STREAM
        return self

    def no_setup_process_group(self) -> Self:
        """Training roles make their process group themselves."""
        self._elastic_flags["comm_auto_setup_process_group"] = False
        return self

    def skip_node_check(self) -> Self:
        """Training roles start without a check of their nodes."""
        self._elastic_flags["comm_pre_check"] = False
        return self

    # ---- roles ----

    def role(self, role: str) -> Self:
        """The name of the roles defined from here on; it stays set."""
        self._last_role = role.value if isinstance(role, RLRoleType) else role
        return self

    def run(self, entrypoint: str) -> RoleBuilder[Self]:
        """A role of instances that know nothing of each other. Needs `.role(...)` before."""
        if self._last_role is None:
            raise _refuse("Role must be set before calling run().")
        return RoleBuilder(self, self._last_role, entrypoint)

    def train(self, entrypoint: str) -> ElasticRoleBuilder[Self]:
        """A role whose instances are the ranks of one world; without `.role(...)` it is ELASTIC."""
        return ElasticRoleBuilder(self, self._last_role or ELASTIC, entrypoint)

    def workload(
        self, role: str, entrypoint: str, class_name: str | None = None
    ) -> RoleBuilder[Self]:
        """`.role(role).run(entrypoint)`; with a third argument those are module and class."""
        return self.role(role).run(
            entrypoint if class_name is None else f"{entrypoint}.{class_name}"
        )

    def trainer(self, entrypoint: str, class_name: str | None = None) -> RoleBuilder[Self]:
        """The role TRAINER, which drives the others: module and class, or one entrypoint."""
        name = entrypoint if class_name is None else f"{entrypoint}.{class_name}"
        builder = RoleBuilder(self, RLRoleType.TRAINER.value, name)
        return builder.resource(TRAINER_RESOURCE)

    def add_role_builder(self, role: str, role_builder: RoleBuilder[Any]) -> None:
        """Called by role builders themselves."""
        if role in self._roles:
            raise _refuse(f"Role '{role}' is already defined.")
        self._roles[role] = role_builder

    # ---- launchers' lines ----

    def by_dlrover_run_cmd(self, cmd: str) -> Self:
        """One training role from a line of `dlrover-run` or `torchrun`. Raises ValidationError."""
        self._by_line(cmd)
        return self

    def dlrover_run(
        self, entrypoint: str, /, nnodes: Count = 1, nproc_per_node: Count = 1
    ) -> ElasticRoleBuilder[Self]:
        """A training role from an entrypoint, or from a whole `dlrover-run` line, as two older
        editions of the API had it."""
        words = entrypoint.split(None, 1)
        if words and os.path.basename(words[0]) in command.PROGRAMS:
            return self._by_line(entrypoint)
        return self.train(entrypoint).nnodes(nnodes).nproc_per_node(nproc_per_node)

    def _by_line(self, cmd: str) -> ElasticRoleBuilder[Self]:
        line = command.parse(cmd, os.environ)
        said = integer(1)(self._fields.get("device_per_node"), Spot("", []))
        nproc, devices = command.processes(line.nproc, said if isinstance(said, int) else None)
        if line.dropped:
            names = ", ".join(dict.fromkeys(line.dropped))
            note(f"{line.program}: without effect on muster: {names}")
        self.node_num(line.nodes).device_per_node(nproc)
        self._line_device_type(line, devices)
        if line.program == "dlrover-run" and not line.check:
            self.skip_node_check()
        role = self.train(line.entrypoint)
        nodes = f"{line.min_nodes}:{line.nodes}" if line.min_nodes != line.nodes else line.nodes
        role.nnodes(nodes).nproc_per_node(nproc)
        role._launch(line.node_unit, line.max_restarts)
        return role

    def _line_device_type(self, line: command.Line, devices: bool) -> None:
        """A line seldom says what it computes on: then the cluster does, at submission."""
        if "accelerator_type" in self._fields:
            return
        if line.accelerator or not devices:
            self.device_type("GPU" if line.accelerator else "CPU")
        else:
            self._fields["device_type_from_cluster"] = True

    # ---- collocation ----

    def with_collocation(self, *roles: str) -> Self:
        """These roles share nodes, group by group, and each accelerator there."""
        self._collocations.append(Collocation(roles))
        return self

    def with_collocation_all(self, *exclude_roles: str) -> Self:
        """All roles defined so far but these share nodes."""
        self._collocations.append(Collocation(tuple(self._roles), exclude_roles))
        return self

    # ---- the end ----

    def build(self) -> DLJob:
        """The job. Raises ValidationError with everything that is wrong."""
        problems: list[Problem] = []
        workloads: dict[str, BaseWorkloadDesc] = {
            role: builder._build(problems) for role, builder in self._roles.items()
        }
        sets = self._share(workloads, problems)
        for workload in workloads.values():
            if isinstance(workload, ElasticWorkloadDesc):
                vars(workload).update(self._elastic_flags)
        data = {
            **self._fields,
            "global_envs": self._envs,
            "workloads": workloads,
            "collocations": sets,
        }
        job = self._read(data, problems)
        raise_for(problems)
        return job

    def _share(
        self, workloads: Mapping[str, BaseWorkloadDesc], problems: list[Problem]
    ) -> list[set[str]]:
        """Before groups are checked: what shares an accelerator needs only its share."""
        sound = not problems
        sets = [each.resolve(tuple(workloads), problems) for each in self._collocations]
        if sound:
            for index, roles in enumerate(sets):
                Collocation.apply(f"collocation_{index}", roles, workloads, problems)
        return [set(roles) for roles in sets]

    def _read(self, data: Mapping[str, Any], problems: list[Problem]) -> DLJob:
        """The workloads were checked one by one already: what they said is not said twice."""
        again: list[Problem] = []
        job = self._made.read(data, Spot("", again))
        problems.extend(each for each in again if each not in problems)
        return job


class RLJobBuilder(DLJobBuilder):
    """The same with the roles of reinforcement learning by name. The trainer drives; the others are
    stopped when it has ended."""

    _made = RLJob

    def build(self) -> RLJob:
        """The job. Raises ValidationError with everything that is wrong."""
        return cast(RLJob, super().build())

    def actor(self, entrypoint: str) -> ElasticRoleBuilder[Self]:
        return self._trained(RLRoleType.ACTOR, entrypoint)

    def critic(self, entrypoint: str) -> ElasticRoleBuilder[Self]:
        return self._trained(RLRoleType.CRITIC, entrypoint)

    def rollout(self, entrypoint: str) -> RoleBuilder[Self]:
        return self._served(RLRoleType.ROLLOUT, entrypoint)

    def reference(self, entrypoint: str) -> RoleBuilder[Self]:
        return self._served(RLRoleType.REFERENCE, entrypoint)

    def reward(self, entrypoint: str) -> RoleBuilder[Self]:
        return self._served(RLRoleType.REWARD, entrypoint)

    def _trained(self, role: RLRoleType, entrypoint: str) -> ElasticRoleBuilder[Self]:
        return ElasticRoleBuilder(self, role.value, entrypoint).not_driver()

    def _served(self, role: RLRoleType, entrypoint: str) -> RoleBuilder[Self]:
        return RoleBuilder(self, role.value, entrypoint).not_driver()

    def with_collocation_all(self, *exclude_roles: str) -> Self:
        """All roles but the trainer share nodes."""
        return super().with_collocation_all(RLRoleType.TRAINER.value, *exclude_roles)
