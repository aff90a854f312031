"""Which instance of which job this process is, as its environment says: `MUSTER_*` of the server
and `MUSTER_UNIFIED`, the description that the submitter left. Read once; user code may change the
environment afterwards."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

ACTOR = re.compile(r"(?P<role>.+)_(?P<world>\d+)-(?P<rank>\d+)_(?P<local>\d+)-(?P<at>\d+)", re.S)


class NotInWorker(RuntimeError, AttributeError):
    """Asked for what only a process of a job has. (An AttributeError too: that is what programs
    that also run outside of jobs are used to catching.)"""


class RolePlan(NamedTuple):
    """A role of this job: how many instances, how many of them share a group."""

    name: str
    total: int
    per_group: int
    backend: str
    is_driver: bool
    task_role: str  # its name among the job's tasks, which take fewer characters

    def actor(self, rank: int) -> str:
        """The name of an instance: `training_2-1_1-0`."""
        group = self.per_group
        return f"{self.name}_{self.total}-{rank}_{group}-{rank % group}"


class Identity(NamedTuple):
    """This process in its job."""

    job_name: str
    job_number: str
    role: RolePlan
    instance: int  # its index in the role
    attempt: int
    restarts: int
    address: str
    secret: bytes
    accelerator_type: str
    failover: int
    described: bool  # did the submitter leave a description (`MUSTER_UNIFIED`)?
    spec: dict[str, Any]  # the whole description of the role
    roles: dict[str, RolePlan]


def role_plan(name: str, told: Mapping[str, Any]) -> RolePlan:
    return RolePlan(
        name,
        int(told.get("total") or 0),
        max(1, int(told.get("per_group") or 1)),
        str(told.get("backend") or "simple"),
        bool(told.get("is_driver", True)),
        str(told.get("task_role") or name),
    )


def _own_role(name: str, spec: Mapping[str, Any], environ: Mapping[str, str]) -> RolePlan:
    """A role that the description leaves out: what the server says about it."""
    return role_plan(name, {"total": environ.get("MUSTER_REPLICAS", 1), **spec})


def _by_launcher(environ: Mapping[str, str]) -> dict[str, Any]:
    """The description of a role whose job says none, when the launcher started this process: its
    ranks are the instances, and the program makes its process group itself."""
    if "TORCHELASTIC_RUN_ID" not in environ:
        return {}
    return {
        "total": environ.get("WORLD_SIZE"),
        "per_group": environ.get("LOCAL_WORLD_SIZE"),
        "backend": "elastic",
        "comm_auto_setup_process_group": False,
    }


def read_identity(environ: Mapping[str, str]) -> Identity:
    """Raises NotInWorker outside of a job."""
    name, index = environ.get("MUSTER_ROLE"), environ.get("MUSTER_INDEX")
    if name is None or index is None:
        raise NotInWorker(
            "this process is not part of a job (MUSTER_ROLE and MUSTER_INDEX are not set): "
            "current_worker(), RPC and queues work in processes that a submitted job starts"
        )
    unified = json.loads(environ.get("MUSTER_UNIFIED") or "{}")
    job, spec = unified.get("job", {}), unified.get("role") or _by_launcher(environ)
    if not unified and spec:
        index = environ.get("RANK", index)
    roles = {role: role_plan(role, told) for role, told in unified.get("roles", {}).items()}
    name = next((role for role, plan in roles.items() if plan.task_role == name), name)
    if name not in roles:
        roles[name] = _own_role(name, spec, environ)
    return Identity(
        job_name=str(job.get("name") or environ.get("MUSTER_JOB_NAME", "")),
        job_number=environ.get("MUSTER_JOB_NUMBER", ""),
        role=roles[name],
        instance=int(index),
        attempt=int(environ.get("MUSTER_ATTEMPT", "1")),
        restarts=int(environ.get("MUSTER_RESTART_COUNT", "0")),
        address=environ.get("MUSTER_ADDRESS") or "127.0.0.1",
        secret=environ.get("MUSTER_JOB_SECRET", "").encode(),
        accelerator_type=str(job.get("accelerator_type") or "CPU"),
        failover=int(job.get("failover", 0)),
        described=bool(unified),
        spec=spec,
        roles=roles,
    )


_identity: Identity | None = None


def identity() -> Identity:
    """This process's own, read at the first call."""
    global _identity
    if _identity is None:
        _identity = read_identity(os.environ)
    return _identity
