"""A built job: what `build()` returns and `submit()` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from muster.errors import MusterError
from muster.unified.config import DLConfig
from muster.unified.enums import DLStreamType, RLRoleType
from muster.unified.model import Field, Spot, choice

if TYPE_CHECKING:
    from muster.unified.submit import Handle


def _sets(value: Any, spot: Spot) -> Any:
    if not isinstance(value, (list, tuple)):
        spot.say(f"is {value!r}, wanted is a list of sets of roles", value)
        return value
    return [set(each) for each in value]


class DLJob(DLConfig):
    """A job of several roles. Its fields may be changed until it is submitted, which checks them
    again."""

    stream_type: DLStreamType
    collocations: list[set[str]]

    FIELDS: ClassVar[tuple[Field, ...]] = (
        *DLConfig.FIELDS,
        Field("stream_type", choice(DLStreamType), lambda: DLStreamType.TASK_STREAM),
        Field("collocations", _sets, list),
    )

    _handle: Handle | None = None

    @property
    def handle(self) -> Handle:
        """The submitted job: its status, logs, wait and stop. Raises MusterError before
        `submit()`."""
        if self._handle is None:
            raise MusterError("the job has not been submitted yet")
        return self._handle

    def submit(
        self,
        job_name: str | None = None,
        /,
        blocking: bool = True,
        log: bool | None = None,
        **options: Any,
    ) -> int:
        """Submits the job and waits for its end: 0 when it succeeded, else 1; with
        `blocking=False` 0 as soon as the server has it (`handle` then says more).

        Options are the fields of `JobConfig`; a keyword goes before an environment variable
        `DLROVER_UNIFIED_<FIELD>`, that before the default. `log` writes what the instances write
        to stdout, line by line with their names; left out: when stdout is a terminal. A server is
        started when none answers. Raises ValidationError, Refused and Unreachable."""
        from muster.unified.submit import submit, watch  # no client is needed to build a job

        if job_name is not None:
            options["job_name"] = job_name
        self._handle = submit(self, options)
        return watch(self._handle, log) if blocking else 0


class RLJob(DLJob):
    """A job whose roles are those of reinforcement learning."""

    def check(self, spot: Spot) -> None:
        super().check(spot)
        if self.stream_type is not DLStreamType.TASK_STREAM:
            spot.at("stream_type").say(
                "Invalid stream type for RLJob, expected TASK_STREAM", self.stream_type.value
            )
        known = [role.value for role in RLRoleType]
        if RLRoleType.ACTOR.value not in self.workloads:
            spot.at("workloads").say("'actor' must be configured.")
        for role in self.workloads:
            if role not in known:
                spot.at("workloads").at(role).say(
                    f"Invalid role '{role}' for RLJob, supported roles are {known}", role
                )
