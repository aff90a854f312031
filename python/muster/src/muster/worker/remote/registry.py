"""What this process lets others call: functions and methods by name."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any, Callable, TypeVar, Union, overload

F = TypeVar("F", bound=Callable[..., Any])
Name = Union[str, Callable[..., Any], None]
MARK = "__muster_rpc__"
GRACE = 1.0  # seconds in which a name that is asked for may still be registered


class Registry:
    """Names to callables. Registering the same function again is nothing new, and a bound method
    takes the place of its own bare function."""

    def __init__(self) -> None:
        self._entries: dict[str, Callable[..., Any]] = {}
        self._changed = threading.Condition()
        self.on_first: Callable[[], None] = lambda: None

    def add(self, name: str, function: Callable[..., Any]) -> None:
        """Raises ValueError for a name that another function has."""
        if not callable(function):
            raise TypeError(f"RPC method {name!r}: {function!r} cannot be called")
        with self._changed:
            known = self._entries.get(name)
            if known is not None and not _same(known, function):
                raise ValueError(f"RPC method '{name}' already registered.")
            if known is None or getattr(known, "__self__", None) is None:
                self._entries[name] = function
            self._changed.notify_all()
        self.on_first()

    def find(self, name: str) -> Callable[..., Any]:
        """Raises ValueError for what is not registered, after a moment: a caller may be faster
        than the statements that register one name after the other."""
        found = self._entries.get(name)
        if found is None:
            with self._changed:
                self._changed.wait_for(lambda: name in self._entries, GRACE)
            found = self._entries.get(name)
        if found is None:
            names = ", ".join(sorted(self._entries)) or "nothing"
            raise ValueError(f"RPC method '{name}' not found; registered: {names}")
        return found

    def peek(self, name: str) -> Callable[..., Any] | None:
        return self._entries.get(name)

    def __len__(self) -> int:
        return len(self._entries)

    def add_marked(self, holder: object, prefix: str = "") -> None:
        """Everything marked with @rpc that is reachable as an attribute of a module or object."""
        for name, function in marked(holder):
            self.add(f"{prefix}.{name}" if prefix else name, function)


def _same(known: Any, other: Any) -> bool:
    if getattr(known, "__func__", known) is not getattr(other, "__func__", other):
        return False
    first, second = getattr(known, "__self__", None), getattr(other, "__self__", None)
    return first is second or first is None or second is None


def marked(holder: object) -> Iterator[tuple[str, Callable[..., Any]]]:
    """(name, callable) of what is marked in a module, a class or an object; properties and the
    like are not touched."""
    if isinstance(holder, ModuleType):
        yield from ((_mark(value), value) for value in list(vars(holder).values()) if _mark(value))
        return
    kind = holder if isinstance(holder, type) else type(holder)
    places = [*reversed(kind.__mro__)]
    names = {
        at: _mark(value) for base in places for at, value in vars(base).items() if _mark(value)
    }
    if not isinstance(holder, type):
        names.update(
            {at: _mark(v) for at, v in getattr(holder, "__dict__", {}).items() if _mark(v)}
        )
    yield from ((name, getattr(holder, attribute)) for attribute, name in names.items())


def _mark(value: Any) -> str:
    try:
        found = getattr(getattr(value, "__func__", value), "__dict__", {}).get(MARK, "")
    except Exception:  # a module may hold objects that object to being looked at
        return ""
    return found if isinstance(found, str) else ""


def method_name(method: str | Callable[..., Any]) -> str:
    """The name to call: of a function the one that @rpc gave it, else its own."""
    if isinstance(method, str):
        return method
    return _mark(method) or str(getattr(method, "__name__", method))


registry = Registry()


# ---- @rpc ----


def _bound_already(function: Any, frame: FrameType | None) -> bool:
    """Has this function been given its name before? A function that is just being decorated has
    not: this tells `@rpc` from `@rpc(stub)`."""
    path = str(getattr(function, "__qualname__", "")).split(".")
    if frame is not None and frame.f_locals.get(path[-1]) is function:
        return True
    found: Any = sys.modules.get(str(getattr(function, "__module__", "")))
    for name in path:
        found = getattr(found, name, None)
    return found is function


def _in_class_body(function: Any) -> bool:
    around = str(getattr(function, "__qualname__", "")).rpartition(".")[0]
    return bool(around) and not around.endswith("<locals>")


def _marker(name: Name, export: bool) -> Callable[[F], F]:
    def mark(function: F) -> F:
        plain: Any = getattr(function, "__func__", function)
        said = method_name(name) if name is not None else str(plain.__name__)
        setattr(plain, MARK, said)
        if export and not _in_class_body(plain):
            registry.add(said, function)
        return function

    return mark


@overload
def rpc(name: F) -> F: ...
@overload
def rpc(name: Name = None, export: bool = False) -> Callable[[F], F]: ...
def rpc(name: Any = None, export: bool = False) -> Any:
    """Marks a function or method as one that other instances of the job may call.

    `@rpc`, `@rpc()`, `@rpc(name="n")`, `@rpc(stub)` (the name of another function). What is marked
    in the entry's module, and methods of the entry's object, are registered before it starts;
    `export=True` registers a function at once (a method with its object).
    """
    plain = callable(name) and not isinstance(name, str)
    if plain and not export and not _bound_already(name, sys._getframe(1)):
        return _marker(None, False)(name)
    return _marker(name, export)


def export_rpc_method(name: str, function: Callable[..., Any]) -> None:
    """Registers a function under a name."""
    registry.add(name, function)


def export_rpc_instance(namespace: str | None, instance: object) -> None:
    """Registers the marked methods of an object, as `namespace.method`, or bare without one."""
    registry.add_marked(instance, namespace or "")
