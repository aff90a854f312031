"""A dict whose keys are attributes too: what `user_config` is where omegaconf is not installed."""

from __future__ import annotations

from typing import Any, NoReturn


class AttrDict(dict[str, Any]):
    """`config.lr` and `config["lr"]` are the same; it cannot be changed."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the configuration has no {name!r}: {sorted(self)}") from None

    def _frozen(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("the configuration of a job cannot be changed by its workers")

    __setattr__ = __delattr__ = __setitem__ = __delitem__ = _frozen
    update = pop = popitem = clear = setdefault = __ior__ = _frozen

    def __reduce__(self) -> tuple[Any, ...]:
        return AttrDict, (dict(self),)


def attributes(value: Any) -> Any:
    """The value with each mapping in it made an AttrDict."""
    if isinstance(value, dict):
        return AttrDict({str(key): attributes(one) for key, one in value.items()})
    if isinstance(value, list):
        return [attributes(one) for one in value]
    return value
