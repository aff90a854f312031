"""What a role is to run: `module.function`, `module.Class` or `script.py --args`. Found here, with
errors that say what was looked for and where."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from types import CodeType, ModuleType
from typing import Any, Callable


class EntrypointError(Exception):
    """The entry point cannot be run; the message is meant for the user."""


def is_script(text: str) -> bool:
    """`script.py --args`, or `-m package.module --args` as a launcher's line says it: all but a
    dotted name."""
    return text.endswith(".py") or not all(part.isidentifier() for part in text.split("."))


def dotted(text: str) -> str:
    """`module:function`, as packages write their entry points, is `module.function`."""
    name = text.replace(":", ".", 1)
    return text if is_script(name) else name


def _searched() -> str:
    return "\n".join(f"  {path or os.getcwd()}" for path in sys.path)


def _part(module: str) -> str:
    """The first part of a module's name that does not exist."""
    names = module.split(".")
    for i in range(len(names)):
        part = ".".join(names[: i + 1])
        try:
            if part not in sys.modules and importlib.util.find_spec(part) is None:
                return part
        except (ImportError, ValueError):
            return part
    return module


def _missing(name: str, error: ModuleNotFoundError) -> EntrypointError:
    part = _part(name)
    within = f": {part!r} is not there" if part != name else ""
    return EntrypointError(
        f"entry point: module {name!r} was not found{within} ({error}).\n"
        f"Searched, from {os.getcwd()}:\n{_searched()}"
    )


def import_entry(text: str) -> tuple[ModuleType, Any]:
    """The module and what it has under the last name. Raises EntrypointError; what the module
    itself raises comes as it is."""
    name, _, attribute = text.rpartition(".")
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise _missing(name, error) from None
        raise
    if not hasattr(module, attribute):
        import difflib  # noqa: PLC0415

        near = difflib.get_close_matches(attribute, dir(module), 3, 0.5)
        hint = f"; there is {', '.join(near)}" if near else ""
        where = getattr(module, "__file__", None) or name
        raise EntrypointError(f"entry point: {name!r} has no {attribute!r} ({where}){hint}")
    return module, getattr(module, attribute)


def wants_argument(function: Callable[..., Any]) -> bool:
    """Does it take one positional argument, the configuration? One that has a default is not
    meant for us; keyword-only parameters do not count."""
    plain = getattr(function, "__func__", function)
    code, defaults = getattr(plain, "__code__", None), getattr(plain, "__defaults__", None)
    if isinstance(code, CodeType) and not hasattr(plain, "__wrapped__"):
        return code.co_argcount - len(defaults or ()) - (plain is not function) == 1
    import inspect  # noqa: PLC0415

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds and p.default is p.empty for p in parameters) == 1


def is_module(words: list[str]) -> bool:
    return len(words) > 1 and words[0] == "-m"


def script_words(command: str) -> list[str]:
    import shlex  # noqa: PLC0415

    try:
        return shlex.split(command)
    except ValueError as error:
        raise EntrypointError(f"entry point {command!r}: {error}") from None


def script_code(path: str) -> CodeType:
    """The compiled script. Raises EntrypointError, SyntaxError."""
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        raise EntrypointError(
            f"entry point: the script {path!r} cannot be read: {error.strerror} "
            f"(from {os.getcwd()})"
        ) from None
    return compile(source, path, "exec")


def main_module(path: str) -> ModuleType:
    """A fresh `__main__` for a script, as Python itself would make it."""
    module = ModuleType("__main__")
    module.__file__ = path
    module.__dict__.update(__builtins__=__builtins__, __spec__=None, __cached__=None)
    return module
