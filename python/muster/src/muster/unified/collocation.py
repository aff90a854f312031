"""Sets of roles that share nodes, and how much of an accelerator each of them then needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.errors import Problem
from muster.unified.workload import BaseWorkloadDesc


@dataclass(frozen=True)
class Collocation:
    """The names as written; which roles they mean is known when all are defined."""

    names: tuple[str, ...]
    excluded: tuple[str, ...] = ()

    def resolve(self, roles: Sequence[str], problems: list[Problem]) -> list[str]:
        """The roles, each once, in the order written. A name is matched exactly, else without
        regard to case."""
        out = {match for name in self.excluded for match in find(name, roles)}
        found: dict[str, None] = {}
        for name in self.names:
            matches = find(name, roles)
            if not matches:
                what = f"Role '{name}' is not defined in workloads, but is included in collocation."
                problems.append(Problem("collocations", what, name))
            elif len(matches) > 1:
                what = f"'{name}' may be any of the roles {', '.join(matches)}"
                problems.append(Problem("collocations", what, name))
            else:
                found.update(dict.fromkeys(role for role in matches if role not in out))
        if not found and not problems:
            problems.append(Problem("collocations", "No roles to collocate."))
        return list(found)

    @staticmethod
    def apply(
        name: str,
        roles: Sequence[str],
        workloads: Mapping[str, BaseWorkloadDesc],
        problems: list[Problem],
    ) -> None:
        """Puts the roles into one group, each with an equal share of an accelerator. What else
        they need they keep; the reference throws it away."""
        for role in roles:
            workload = workloads[role]
            if workload.group:
                what = f"Role {role} has already been assigned to a group: {workload.group}"
                problems.append(Problem("collocations", what, role))
                continue
            workload.group = name
            workload.resource.accelerator = 1 / len(roles)


def find(name: str, roles: Sequence[str]) -> list[str]:
    """The roles a name means: itself, or those that differ only in case."""
    if name in roles:
        return [name]
    return [role for role in roles if role.casefold() == str(name).casefold()]
