"""The user's own configuration: taken as it comes, handed on as plain data.

OmegaConf is used where it is installed and never required: without it a mapping stays a dict.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from collections.abc import Mapping
from enum import Enum
from typing import Any

from muster.unified.model import Spot


def _omegaconf() -> Any:
    try:
        omegaconf = importlib.import_module("omegaconf")
    except ImportError:
        return None
    return omegaconf


def _is_omegaconf(value: object) -> bool:
    """Without importing what nobody imported yet."""
    module = sys.modules.get("omegaconf")
    return module is not None and bool(module.OmegaConf.is_config(value))


def read(value: Any, spot: Spot) -> Any:
    """None is an empty one, a mapping a DictConfig (where there is omegaconf) with its
    interpolations resolved; anything else stays as it is."""
    if value is None:
        return {}
    if isinstance(value, argparse.Namespace):
        value = vars(value)
    if isinstance(value, dict) and value:
        value = _dict_config(value)
    if _is_omegaconf(value):
        try:
            sys.modules["omegaconf"].OmegaConf.resolve(value)
        except Exception as error:  # omegaconf's many, a resolver's own
            spot.say(f"cannot be resolved: {str(error).splitlines()[0]}")
    return value


def _dict_config(value: dict[Any, Any]) -> Any:
    """What OmegaConf cannot hold stays a dict; `plain` names the culprit."""
    omegaconf = _omegaconf()
    if omegaconf is None:
        return value
    try:
        return omegaconf.DictConfig(value)
    except Exception:  # its errors have no common base that every version exports
        return value


def plain(value: Any, spot: Spot) -> Any:
    """What JSON can hold; everything else is said with its place and type, and left in place."""
    if _is_omegaconf(value):
        value = sys.modules["omegaconf"].OmegaConf.to_container(value, resolve=True)
    if isinstance(value, argparse.Namespace):
        value = vars(value)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                kind = type(key).__name__
                spot.at(str(key)).say(f"the key {key!r} ({kind}) cannot go into JSON", key)
        return {key: plain(each, spot.at(str(key))) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, spot.at(str(i))) for i, each in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        spot.say(f"{value!r} cannot go into JSON", value)
    elif isinstance(value, Enum) or not isinstance(value, (str, int, float, type(None))):
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        spot.say(f"a value of type {kind} cannot go into JSON", value)
    return value
