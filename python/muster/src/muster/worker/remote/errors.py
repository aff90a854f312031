"""What a remote call can end with."""

from __future__ import annotations


class RpcError(RuntimeError):
    """A call that failed. `remote_traceback` is where it did in the other process ("" when it did
    not fail there), `remote_type` the class of the exception there; the exception itself, where it
    could be sent, is `__cause__`."""

    def __init__(self, text: str, remote_traceback: str = "", remote_type: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.remote_traceback = remote_traceback
        self.remote_type = remote_type

    def __str__(self) -> str:
        if not self.remote_traceback:
            return self.text
        return f"{self.text}\n\nthere:\n{self.remote_traceback.rstrip()}"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.text, self.remote_traceback, self.remote_type)


class ActorUnavailable(RpcError):
    """The other process is dead, or died before it answered: whether it did what was asked is not
    known."""


class MessageTooLarge(RpcError):
    """More than MUSTER_RPC_MAX_BYTES. `call` is the number of the call it belongs to."""

    call = 0


class NoActorsError(ValueError, RuntimeError):
    """A role that has no instances, or that the job does not have."""


class ScatterError(ValueError, AssertionError):
    """Arguments that cannot be dealt out to the instances of a role."""


def failure(method: str, actor: str, why: str) -> str:
    return f"Error executing user_rpc({method}) on {actor}: {why}"
