"""`current_worker()`: the job and the instance that this process is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.worker.attrdict import Description, attributes, description
from muster.worker.identity import Identity, identity
from muster.worker.stopping import stopping


@dataclass(frozen=True)
class JobInfo:
    """The job. `user_config` is a DictConfig where omegaconf is installed, else a dict whose keys
    are attributes as well; what is no mapping comes as it was given."""

    name: str
    job_id: str
    user_config: Any
    accelerator_type: str


@dataclass(frozen=True)
class ActorInfo:
    """The instance. `spec` is the whole description of its role, which dumps as it was validated
    (`spec.model_dump()`, `spec.resource.model_dump()`); `sub_master` the name of the one that
    leads an elastic role, else None."""

    name: str
    role: str
    spec: Description
    sub_master: str | None
    rank: int
    node_rank: int
    local_rank: int
    total: int


class Worker:
    """This process. `job_info` and `actor_info` say what it is, `stopping` whether it is to end."""

    def __init__(self, job_info: JobInfo, actor_info: ActorInfo) -> None:
        self._job_info = job_info
        self._actor_info = actor_info

    @property
    def job_info(self) -> JobInfo:
        return self._job_info

    @property
    def actor_info(self) -> ActorInfo:
        return self._actor_info

    @property
    def stopping(self) -> bool:
        """True from the moment a stop is asked for. A program that reads it ends by itself, within
        the grace time; one that never does is ended by SystemExit (`muster.worker.stopping`)."""
        return stopping.asked

    def wait_stop(self, timeout: float | None = None) -> bool:
        """Sleeps until a stop is asked for; False when it was not within `timeout` seconds."""
        return stopping.wait(timeout)


def user_config(path: str | None) -> Any:
    """The job's configuration: this process's own copy, as programs are used to change theirs."""
    given: Any = {}
    if path:
        with open(path, encoding="utf-8") as file:
            given = json.load(file)
    if not isinstance(given, (dict, list)):
        return given
    try:
        from omegaconf import OmegaConf  # noqa: PLC0415
    except ImportError:
        return attributes(given)
    config = OmegaConf.create(given)
    OmegaConf.resolve(config)
    return config


def actor_info(who: Identity, environ: Mapping[str, str]) -> ActorInfo:
    plan = who.role
    rank = int(environ.get("RANK") or who.instance)
    return ActorInfo(
        name=plan.actor(who.instance),
        role=plan.name,
        spec=description(who.spec),
        sub_master=f"{plan.name}-master" if plan.backend == "elastic" else None,
        rank=rank,
        node_rank=rank // plan.per_group,
        local_rank=rank % plan.per_group,
        total=plan.total,
    )


_worker: Worker | None = None


def current_worker() -> Worker:
    """The worker that this process is. Outside of a job: NotInWorker, a RuntimeError (and an
    AttributeError)."""
    global _worker
    if _worker is None:
        who = identity()
        job = JobInfo(
            who.job_name,
            who.job_name,
            user_config(os.environ.get("MUSTER_CONFIG")),
            who.accelerator_type,
        )
        _worker = Worker(job, actor_info(who, os.environ))
    return _worker
