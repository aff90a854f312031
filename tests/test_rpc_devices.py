"""Tensors on a GPU in calls between roles and in queues. A sender with a GPU is one whose storages
say so when torch pickles them: torch's own format, with "cuda:0" where a real one has it."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from cluster import SOURCE, Cluster
from harness import patience

sys.path.insert(0, str(SOURCE))
from muster.worker.queue import DataQueue  # noqa: E402
from muster.worker.remote import RoleGroup, RpcError, arrival, wire  # noqa: E402

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.trains
if torch.cuda.is_available():
    pytest.skip("needs a process that sees no GPU: CUDA_VISIBLE_DEVICES=", allow_module_level=True)

# What makes a process a sender with a GPU: its storages say that they are on one, and its tensors
# are pickled as torch pickles those.
SENDER = """
import torch
from muster.worker.remote import wire
def on_gpu(location="cuda:0"):
    torch.serialization.register_package(1, lambda storage: location, lambda *_: None)
    wire.dispatch_table = lambda: None
"""
SERVED = (
    SENDER
    + """
import muster.worker as w
from muster.worker import DataQueue, rpc
@rpc
def same(x): return x
@rpc
def device(x): return str(x.device)
@rpc
async def later(x): return str(x.device)
@rpc
def from_gpu(shape):
    on_gpu()
    return {"made": torch.ones(shape)}
class Bad(Exception): pass
@rpc
def fail():
    on_gpu()
    raise Bad(torch.ones(2))
@rpc
def fill(name):
    on_gpu()
    queue = DataQueue(name, is_master=True, size=4)
    queue.put({"item": torch.arange(3)})
"""
)


@dataclass
class Batch:
    rows: Any
    more: list[Any] = field(default_factory=list)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process."""
    registry = torch.serialization._package_registry
    monkeypatch.setattr(torch.serialization, "_package_registry", list(registry))
    monkeypatch.setattr(wire, "dispatch_table", lambda: None)
    torch.serialization.register_package(1, lambda storage: "cuda:0", lambda *_: None)


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrival, "_told", set())


def sent() -> dict[str, Any]:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    return {
        "nested": [(torch.arange(4.0), {"deep": torch.ones(2, 2, dtype=torch.bfloat16)})],
        "data class": Batch(torch.zeros(5), [torch.eye(2)]),
        "module": model,
        "state": model.state_dict(),
        "view": torch.arange(12).view(3, 4)[1:, ::2],
        "sparse": torch.eye(3).to_sparse(),
        "text": "cuda:0",
    }


def check(back: dict[str, Any], want: dict[str, Any]) -> None:
    nested, rows = back["nested"][0], back["data class"]
    assert torch.equal(nested[0], want["nested"][0][0])
    assert torch.equal(nested[1]["deep"], want["nested"][0][1]["deep"])
    assert torch.equal(rows.rows, torch.zeros(5)) and torch.equal(rows.more[0], torch.eye(2))
    for name, value in want["module"].state_dict().items():
        assert torch.equal(back["module"].state_dict()[name], value), name
        assert torch.equal(back["state"][name], value), name
    assert torch.equal(back["view"], want["view"])
    assert torch.equal(back["sparse"].to_dense(), torch.eye(3))
    assert back["text"] == "cuda:0"
    tensors = [nested[0], rows.rows, back["view"], back["sparse"], *back["module"].parameters()]
    assert {one.device.type for one in tensors} == {"cpu"}


def test_the_bytes_are_those_of_a_gpu(sender: None) -> None:
    """Plain pickle does with them what it does with real ones on a machine without a GPU."""
    pickled, _ = wire.dump(torch.ones(3))
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        pickle.loads(pickled)


def test_everything_arrives_on_the_cpu(sender: None) -> None:
    want = sent()
    pickled, views = wire.dump(want)
    with pytest.warns(RuntimeWarning, match="the arguments of 'step' hold tensors on the sender's"):
        back = wire.Message(wire.CALL, 1, "step", pickled, views).value()
    check(back, want)


def test_buffers_of_the_connection_will_do(sender: None) -> None:
    """Received bytes lie in bytearrays and maps, not in bytes."""
    pickled, views = wire.dump({"x": torch.ones(3)})
    for kind in (bytearray, memoryview):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            back = arrival.load(kind(pickled), views, "it")
        assert torch.equal(back["x"], torch.ones(3))


def test_it_is_said_once_for_each_call(sender: None) -> None:
    pickled, views = wire.dump([torch.ones(3), torch.zeros(2)])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for what in ("one", "one", "two"):
            arrival.load(pickled, views, what)
    assert [str(one.message).split(" hold ")[0] for one in said] == ["one", "two"]


@pytest.mark.parametrize(
    ("location", "place"), [("cuda:0", "cuda:0"), ("cuda:1", "cuda:1"), ("cuda:5", "current: 1")]
)
def test_where_there_is_a_gpu(location: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for the driver's answers (two devices, the second is current) and for its memory;
    that torch asks for these devices is what this shows."""
    registry = torch.serialization._package_registry
    placed: list[str] = []

    def restore(storage: Any, where: str) -> Any:
        placed.append(where)
        return storage

    def current(storage: Any, device: int) -> Any:
        placed.append(f"current: {device}")
        return storage

    monkeypatch.setattr(torch.serialization, "_package_registry", list(registry))
    torch.serialization.register_package(1, lambda storage: location, restore)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(torch.UntypedStorage, "cuda", current)
    pickled = pickle.dumps(torch.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arrival.load(pickled, [], "it")
    assert placed == [place]


def test_calls_and_answers(cluster: Cluster, sender: None) -> None:
    cluster.serve(SERVED, "svc/0")
    actor = RoleGroup("svc")[0]
    assert actor.call("device", torch.ones(3)).result(patience()) == "cpu"
    assert actor.call("later", torch.ones(3)).result(patience()) == "cpu"
    assert actor.call("device", torch.ones(3)).result(patience()) == "cpu"
    with pytest.warns(RuntimeWarning, match="the answers of 'from_gpu' hold tensors on the sender"):
        back = actor.call("from_gpu", (2, 2)).result(patience())
    assert torch.equal(back["made"], torch.ones(2, 2))
    assert back["made"].device.type == "cpu"
    served = cluster.processes["svc/0"]
    served.terminate()
    said = served.communicate(timeout=patience())[1]
    assert said.count("the arguments of 'device' hold tensors") == 1
    assert said.count("the arguments of 'later' hold tensors") == 1


def test_what_an_exception_holds(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.serve(SERVED, "svc/0")
    monkeypatch.syspath_prepend(str(cluster.folder))  # where the class of the exception is
    with (
        pytest.warns(RuntimeWarning, match="the error of 'fail' hold"),
        pytest.raises(RpcError) as raised,
    ):
        RoleGroup("svc")[0].call("fail").result(patience())
    assert raised.value.__cause__ is not None
    assert raised.value.__cause__.args[0].tolist() == [1, 1]


def test_queues(cluster: Cluster) -> None:
    cluster.serve(SERVED, "svc/0")
    RoleGroup("svc")[0].call("fill", "q").result(patience())
    with pytest.warns(RuntimeWarning, match="the items of queue 'q' hold tensors"):
        item = DataQueue("q").get()[0]
    assert item["item"].tolist() == [0, 1, 2] and item["item"].device.type == "cpu"


def test_importing_muster_leaves_torch_alone() -> None:
    """Also after a message without tensors."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import muster, muster.worker;"
        "from muster.worker.remote import wire; import pickle;"
        "wire.Message(1, 1, 'f', pickle.dumps(((1,), {})), []).value();"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(SOURCE)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_storages_of_the_cpu_are_left_to_torch() -> None:
    pickled = pickle.dumps(torch.arange(3))
    assert arrival.MARK.search(pickled) is not None
    assert arrival.load(pickled, [], "it").tolist() == [0, 1, 2]
