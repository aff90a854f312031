"""A dict whose keys are attributes too: what `user_config` is where omegaconf is not installed."""

from __future__ import annotations

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
