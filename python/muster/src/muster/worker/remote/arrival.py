"""How a message's pickle becomes objects. Tensors on a GPU are pickled as torch does it: each
storage as the bytes of a `torch.save`, with the sender's device in them. Here they go to the device
of that number, to the current one where this process does not see so many, and to the CPU, with a
warning, where it sees none. Pickle itself tells when it meets such a storage, so they may lie
anywhere: in containers, data classes, modules, state dicts."""

from __future__ import annotations

import io
import pickle
import re
import warnings
from typing import Any

STORAGE = ("torch.storage", "_load_from_bytes")  # what torch pickles as the maker of a storage
MARK = re.compile(STORAGE[1].encode())
_told: set[str] = set()


def load(pickled: Any, buffers: list[Any], what: str) -> Any:
    """What was pickled. `what` names it in a warning: "the arguments of 'step'"."""
    if MARK.search(pickled) is None:
        return pickle.loads(pickled, buffers=buffers)
    return _Unpickler(io.BytesIO(pickled), buffers, what).load()


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, buffers: list[Any], what: str) -> None:
        super().__init__(file, buffers=buffers)
        self._what = what

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return self._storage if (module, name) == STORAGE else found

    def _storage(self, data: bytes) -> Any:
        import torch  # noqa: PLC0415

        return torch.load(io.BytesIO(data), map_location=self._place, weights_only=False)

    def _place(self, storage: Any, location: str) -> Any:
        """For `map_location`: the storage where it belongs; None: where its location says."""
        import torch  # noqa: PLC0415

        if not location.startswith("cuda"):
            return None
        if not torch.cuda.is_available():
            self._tell(location)
            return storage
        if (torch.device(location).index or 0) < torch.cuda.device_count():
            return None
        return storage.cuda(torch.cuda.current_device())

    def _tell(self, location: str) -> None:
        if self._what not in _told:
            _told.add(self._what)
            warnings.warn(
                f"{self._what} hold tensors on the sender's {location}; they are on the CPU here, "
                "where torch sees no GPU (said once)",
                RuntimeWarning,
                stacklevel=2,
            )
