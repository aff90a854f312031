"""Keeps the frameworks of a task to its share of a GPU's memory.

PYTHONPATH of a task with a share leads here first, so Python runs this file at its start, as
`sitecustomize`. It steps aside at once: sys.path is without its directory, and the user's own
`sitecustomize` runs. What stays looks at imports, and acts on those of the frameworks below. The
share is read when it is needed (a rank of muster's launcher has a part of its task's); what the
user says in the frameworks' own variables or functions wins.

PyTorch: `torch.cuda.set_per_process_memory_fraction`, when CUDA is initialised and not before. Why
not by PYTORCH_CUDA_ALLOC_CONF: older versions end with an error at its key
`per_process_memory_fraction`, and a value that stands under one of its two names hides what a
script sets later under the other.

Others have variables, set right before they are imported.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

SHARE = "MUSTER_GPU_SHARE"
NAME = "_muster_gpu_share"  # as others find this module, once `sitecustomize` is the user's
TORCH_CONFIGURATION = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
TORCH_FRACTION = "per_process_memory_fraction"
# module: the variable that is set, those of which one is enough, the share as it is said there
VARIABLES = {
    "jax": (
        "XLA_PYTHON_CLIENT_MEM_FRACTION",
        ("XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"),
        "{:g}",
    ),
    "cupy": ("CUPY_GPU_MEMORY_LIMIT", ("CUPY_GPU_MEMORY_LIMIT",), "{:.4%}"),
}


def share() -> float | None:
    """The part of the device's memory that is this process's; None: no part of one."""
    try:
        value = float(os.environ.get(SHARE, ""))
    except ValueError:
        return None
    return value if 0 < value < 1 else None


def say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"muster: {text}\n")


# ---- frameworks ----


def limit_cuda(torch: Any, part: float) -> None:
    for name in TORCH_CONFIGURATION:
        if TORCH_FRACTION in os.environ.get(name, ""):
            say(
                f"{name} has a {TORCH_FRACTION} of its own, which stays; the task's share is "
                f"{part:g}"
            )
            return
    for device in range(torch.cuda.device_count()):
        torch.cuda.set_per_process_memory_fraction(part, device)


def after_torch(torch: Any) -> None:
    def on_cuda() -> None:
        part = share()
        try:
            if part is not None:
                limit_cuda(torch, part)
        except Exception as error:
            say(f"PyTorch is not held to the share of the GPU: {error}")

    # Not public, and the only way to be there when CUDA is initialised without doing it oneself.
    # Where a version has it no more, it knows the key of the configuration.
    call = getattr(torch.cuda, "_lazy_call", None)
    if call is not None:
        call(on_cuda)
    else:
        configure_torch()


def configure_torch() -> None:
    part = share()
    set_ones = [name for name in TORCH_CONFIGURATION if os.environ.get(name)]
    if part is None or any(TORCH_FRACTION in os.environ[name] for name in set_ones):
        return
    for name in set_ones or TORCH_CONFIGURATION[-1:]:
        before = os.environ.get(name, "").rstrip(",")
        key = f"{TORCH_FRACTION}:{part:g}"
        os.environ[name] = before + "," + key if before else key


def set_variable(module: str) -> None:
    part = share()
    name, others, form = VARIABLES[module]
    if part is not None and not any(os.environ.get(other) for other in others):
        os.environ[name] = form.format(part)


def environment_changed() -> None:
    """For who puts another environment in the place of this process's (launch/warm.py)."""
    for module in VARIABLES:
        if module in sys.modules:
            set_variable(module)


# ---- imports ----


class Finder:
    """Finds nothing itself: has the others find a framework, and acts around its execution."""

    @staticmethod
    def watch(loader: Any, name: str) -> None:
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            ours = module.__name__ == name
            if ours and name in VARIABLES:
                set_variable(name)
            execute(module)
            if ours and name == "torch":
                after_torch(module)

        loader.exec_module = exec_module

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "torch" and name not in VARIABLES:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    self.watch(spec.loader, name)
                return spec
        return None


def next_customize() -> ModuleType | None:
    """The user's `sitecustomize`, which this file stands in front of."""
    here = os.path.dirname(__file__)
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    sys.modules[NAME] = sys.modules.pop("sitecustomize")
    try:
        __import__("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        return None
    return sys.modules["sitecustomize"]


if __name__ == "sitecustomize":
    sys.meta_path.insert(0, Finder())
    user_customize = next_customize()
    if user_customize is None:
        # What the interpreter expects where there is no such module.
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    sys.modules["sitecustomize"] = user_customize
