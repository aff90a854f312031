"""Objects made of declared fields: read leniently from plain data, changeable, checked again at any
time, dumped as plain data. Every problem is collected, none raised before all were found.

Coercions are those of the reference (pydantic's lax mode): `"4"` and `4.0` are the integer 4,
`True` is 1, 4.5 is refused, and a number never becomes a text.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Callable, ClassVar, TypeVar

from muster.errors import Problem, ValidationError
from muster.unified.notes import note

M = TypeVar("M", bound="Model")
E = TypeVar("E", bound=Enum)


@dataclass(frozen=True)
class Spot:
    """A place in a document, and the list where its problems are collected."""

    path: str
    problems: list[Problem]

    def at(self, key: str) -> Spot:
        return Spot(f"{self.path}.{key}" if self.path else key, self.problems)

    def say(self, what: str, value: object = None) -> None:
        self.problems.append(Problem(self.path, what, value))


def raise_for(problems: list[Problem]) -> None:
    if problems:
        raise ValidationError(problems)


Read = Callable[[Any, Spot], Any]


@dataclass(frozen=True)
class Field:
    """One field: its keys in a document (the first one present wins), how a value is read, and
    what stands there when none is given; without `default` it is required."""

    name: str
    read: Read
    default: Callable[[], Any] | None = None
    keys: tuple[str, ...] = ()

    def key_in(self, data: Mapping[str, Any]) -> str | None:
        return next((key for key in self.keys or (self.name,) if key in data), None)


# ---- readers: the value as it should be; what is wrong is said at the spot ----


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def anything(value: Any, spot: Spot) -> Any:
    return value


def text(value: Any, spot: Spot) -> Any:
    if isinstance(value, Enum) and isinstance(value, str):
        return str(value.value)
    if not isinstance(value, str):
        spot.say(f"is {_shown(value)}, wanted is a text", value)
    return value


def _number_of(value: Any) -> float | int | None:
    """A finite number, also one written as text; None for anything else."""
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            try:
                value = float(value)
            except ValueError:
                return None
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value


def number(least: float | None = None) -> Read:
    def read(value: Any, spot: Spot) -> Any:
        found = _number_of(value)
        if found is None:
            spot.say(f"is {_shown(value)}, wanted is a number", value)
        elif least is not None and found < least:
            spot.say(f"is {_shown(value)}, must be at least {least:g}", value)
        return value if found is None else float(found)

    return read


def integer(least: int | None = None) -> Read:
    def read(value: Any, spot: Spot) -> Any:
        found = _number_of(value)
        if found is None or found != int(found):
            spot.say(f"is {_shown(value)}, wanted is a whole number", value)
            return value
        if least is not None and found < least:
            spot.say(f"is {_shown(value)}, must be at least {least}", value)
        return int(found)

    return read


_FLAGS: dict[object, bool] = dict.fromkeys((True, "true", "t", "yes", "y", "on", "1"), True)
_FLAGS.update(dict.fromkeys((False, "false", "f", "no", "n", "off", "0"), False))


def flag(value: Any, spot: Spot) -> Any:
    key = value.lower() if isinstance(value, str) else value
    if not isinstance(key, (str, int, float)) or key not in _FLAGS:
        spot.say(f"is {_shown(value)}, wanted is true or false", value)
        return value
    return _FLAGS[key]


def optional(read: Read) -> Read:
    return lambda value, spot: None if value is None else read(value, spot)


def choice(words: type[E]) -> Read:
    def read(value: Any, spot: Spot) -> Any:
        try:
            return words(value)
        except ValueError:
            known = ", ".join(repr(word.value) for word in words)
            spot.say(f"is {_shown(value)}, wanted is one of {known}", value)
            return value

    return read


def one_of(*words: str) -> Read:
    def read(value: Any, spot: Spot) -> Any:
        if value not in words:
            spot.say(f"is {_shown(value)}, wanted is one of {', '.join(map(repr, words))}", value)
        return value

    return read


def mapping(of: Read) -> Read:
    """A mapping with texts as keys; a new dict, so that nobody else's is shared."""

    def read(value: Any, spot: Spot) -> Any:
        if not isinstance(value, Mapping):
            spot.say(f"is {_shown(value)}, wanted is a mapping", value)
            return value
        for key in value:
            if not isinstance(key, str):
                spot.at(str(key)).say(f"the key {_shown(key)} is not a text", key)
        return {key: of(each, spot.at(str(key))) for key, each in value.items()}

    return read


def nested(cls: type[M]) -> Read:
    def read(value: Any, spot: Spot) -> Any:
        if isinstance(value, cls):
            value.recheck(spot)
            return value
        return cls.read(value, spot)

    return read


# ---- models ----


def plain(value: Any) -> Any:
    """As plain data: what a dump holds."""
    if isinstance(value, Model):
        return value.model_dump()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(plain(each) for each in value)
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


class Model:
    """Base of the descriptions. A subclass declares its FIELDS and what must hold between them."""

    FIELDS: ClassVar[tuple[Field, ...]] = ()
    IGNORED: ClassVar[frozenset[str]] = frozenset()  # keys that are no fields, and known not to be

    def __init__(self, **data: Any) -> None:
        problems: list[Problem] = []
        self.fill(data, Spot("", problems))
        raise_for(problems)

    def fill(self, data: Mapping[str, Any], spot: Spot) -> None:
        """Sets every field from `data`, or to its default."""
        before = len(spot.problems)
        for field in self.FIELDS:
            key = field.key_in(data)
            if key is not None:
                value = field.read(data[key], spot.at(field.name))
            elif field.default is None:
                spot.at(field.name).say("is required")
                value = None
            else:
                value = field.default()
            setattr(self, field.name, value)
        self._note_unknown(data, spot)
        if len(spot.problems) == before:
            self.check(spot)

    def _note_unknown(self, data: Iterable[str], spot: Spot) -> None:
        known = {key for field in self.FIELDS for key in (field.name, *field.keys)}
        for key in data:
            if key not in known and key not in self.IGNORED:
                near = difflib.get_close_matches(str(key), sorted(known), 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                note(f"{spot.at(str(key)).path} is not known and is ignored{hint}")

    def recheck(self, spot: Spot) -> None:
        """Reads every field's present value again: it may have been changed since."""
        before = len(spot.problems)
        for field in self.FIELDS:
            value = field.read(getattr(self, field.name), spot.at(field.name))
            setattr(self, field.name, value)
        if len(spot.problems) == before:
            self.check(spot)

    def check(self, spot: Spot) -> None:
        """What must hold between fields; called only when each by itself is right."""

    @classmethod
    def read(cls: type[M], data: Any, spot: Spot) -> M:
        made = cls.__new__(cls)
        if not isinstance(data, Mapping):
            spot.say(f"is {_shown(data)}, wanted is a mapping", data)
            data = {}
            spot = Spot(spot.path, [])
        made.fill(data, spot)
        return made

    @classmethod
    def model_validate(cls: type[M], data: Any) -> M:
        """From plain data (or such an object itself, checked again). Raises ValidationError."""
        problems: list[Problem] = []
        made: M = nested(cls)(data, Spot("", problems))
        raise_for(problems)
        return made

    @classmethod
    def model_validate_json(cls: type[M], document: str | bytes) -> M:
        try:
            data = json.loads(document)
        except ValueError as error:
            raise ValidationError([Problem("", f"is not JSON: {error}")]) from error
        return cls.model_validate(data)

    def model_dump(self) -> dict[str, Any]:
        """As plain data, from which model_validate makes an equal object."""
        return {field.name: plain(getattr(self, field.name)) for field in self.FIELDS}

    def model_dump_json(self, indent: int | None = None) -> str:
        return json.dumps(self.model_dump(), indent=indent, ensure_ascii=False)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.model_dump() == other.model_dump()

    __hash__ = None  # type: ignore[assignment]  # may change

    def __repr__(self) -> str:
        inner = ", ".join(f"{f.name}={getattr(self, f.name, None)!r}" for f in self.FIELDS)
        return f"{type(self).__name__}({inner})"
