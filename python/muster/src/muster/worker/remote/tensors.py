"""How torch tensors on the CPU travel: as what they are plus one buffer, which is sent from where
it lies and received into where it stays. A tensor that is not contiguous is copied once; tensors
that share memory arrive as tensors that do not. Tensors elsewhere go torch's own way."""

from __future__ import annotations

import copyreg
import ctypes
import pickle
import sys
from typing import Any, Callable


def rebuild(data: Any, dtype: Any, shape: tuple[int, ...], requires_grad: bool) -> Any:
    """The tensor over its received bytes."""
    import torch  # noqa: PLC0415

    if 0 in shape:
        tensor = torch.empty(shape, dtype=dtype)
    else:
        tensor = torch.frombuffer(data, dtype=dtype).view(shape)
    return tensor.requires_grad_() if requires_grad else tensor


def _memory(tensor: Any) -> Any:
    """The tensor's bytes where they are; they live as long as this."""
    size = tensor.numel() * tensor.element_size()
    data = (ctypes.c_ubyte * size).from_address(tensor.data_ptr())
    data.tensor = tensor
    return data


def reduce_tensor(tensor: Any) -> Any:
    """For pickle: how to make this tensor again."""
    import torch  # noqa: PLC0415

    plain = tensor.layout == torch.strided and tensor.device.type == "cpu"
    if not plain or tensor.is_quantized or tensor.__dict__:
        return tensor.__reduce_ex__(2)
    requires_grad = bool(tensor.requires_grad and tensor.is_leaf)
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous()
    shape = tuple(flat.shape)
    data = pickle.PickleBuffer(b"" if 0 in shape else _memory(flat))
    return rebuild, (data, flat.dtype, shape, requires_grad)


def dispatch_table() -> dict[type, Callable[[Any], Any]] | None:
    """What pickle is to do otherwise; None where torch is not in use."""
    torch = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    if tensor is None:
        return None
    return {**copyreg.dispatch_table, tensor: reduce_tensor}
