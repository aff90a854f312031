"""What one instance needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from muster.unified.model import Field, Model, integer, mapping, number


class ResourceDesc(Model):
    """Cores, memory and disk in MB, accelerators (a share of one is allowed), custom resources."""

    cpu: float
    memory: int
    disk: int
    accelerator: float
    user_defined: dict[str, float]

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("cpu", number(0), lambda: 0.0),
        Field("memory", integer(0), lambda: 0, ("memory", "mem")),
        Field("disk", integer(0), lambda: 0),
        Field("accelerator", number(0), lambda: 0.0, ("accelerator", "acc", "gpu")),
        Field("user_defined", mapping(number(0)), dict, ("user_defined", "ud_resource")),
    )

    @classmethod
    def get_or_default(cls, resource: Mapping[str, Any]) -> ResourceDesc:
        """From plain data; one that is empty asks for one accelerator."""
        made = cls.model_validate(resource)
        made.default_accelerator()
        return made

    def default_accelerator(self) -> None:
        if self.is_empty():
            self.accelerator = 1.0

    def is_empty(self) -> bool:
        """Nothing that places an instance; memory and disk alone do not count."""
        return self.cpu == 0 and self.accelerator == 0 and not self.user_defined

    def __add__(self, other: ResourceDesc) -> ResourceDesc:
        names = {**self.user_defined, **other.user_defined}
        return ResourceDesc(
            cpu=self.cpu + other.cpu,
            memory=self.memory + other.memory,
            disk=self.disk + other.disk,
            accelerator=self.accelerator + other.accelerator,
            user_defined={
                name: self.user_defined.get(name, 0.0) + other.user_defined.get(name, 0.0)
                for name in names
            },
        )

    def __mul__(self, factor: float) -> ResourceDesc:
        return ResourceDesc(
            cpu=self.cpu * factor,
            memory=int(self.memory * factor),
            disk=int(self.disk * factor),
            accelerator=self.accelerator * factor,
            user_defined={name: value * factor for name, value in self.user_defined.items()},
        )
