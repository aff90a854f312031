"""A dict whose keys are attributes too: what `user_config` is where omegaconf is not installed."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any


class AttrDict(dict[str, Any]):
    """`config.lr` and `config["lr"]` are the same. A change stays in the process that makes it."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the configuration has no {name!r}: {sorted(self)}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = attributes(value)

    def __delattr__(self, name: str) -> None:
        if name not in self:
            raise AttributeError(f"the configuration has no {name!r}")
        del self[name]


def attributes(value: Any) -> Any:
    """The value with each mapping in it made an AttrDict."""
    if isinstance(value, dict):
        return AttrDict({str(key): attributes(one) for key, one in value.items()})
    if isinstance(value, list):
        return [attributes(one) for one in value]
    return value


class Description(AttrDict):
    """A description as its submitter validated it: its fields are attributes, and it dumps as the
    models of `muster.unified` (and pydantic's) do."""

    def model_dump(
        self,
        *,
        mode: str = "python",
        include: Collection[str] | None = None,
        exclude: Collection[str] | None = None,
        exclude_none: bool = False,
    ) -> dict[str, Any]:
        """As plain data, which the caller may change."""
        del mode  # it is JSON's already
        return {
            key: _plain(value)
            for key, value in self.items()
            if (include is None or key in include)
            and key not in (exclude or ())
            and not (exclude_none and value is None)
        }

    def model_dump_json(self, *, indent: int | None = None, **chosen: Any) -> str:
        return json.dumps(self.model_dump(**chosen), indent=indent, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value


def description(fields: dict[str, Any]) -> Description:
    """The fields, each mapping among them a Description too."""
    return Description(
        (key, description(value) if isinstance(value, dict) else attributes(value))
        for key, value in fields.items()
    )
