"""The worker runtime of jobs of several roles: real processes of `python -m muster.worker`, real
calls between them, and a double of the server's board (tests/board.py)."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
import os
import pickle
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster import SERVE, Cluster, Json, leave, role
from harness import free_port, patience, wait_for
from muster.worker import (
    ActorUnavailable,
    DataQueue,
    FutureSequence,
    MessageTooLarge,
    PrimeMasterApi,
    RoleActor,
    RoleGroup,
    RpcError,
    create_rpc_proxy,
    current_worker,
    export_rpc_instance,
    export_rpc_method,
    rpc,
)
from muster.worker.environment import granted_device, variables
from muster.worker.identity import NotInWorker, read_identity
from muster.worker.remote.registry import Registry, registry
from muster.worker.torch_group import chosen_backend


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    one = Cluster()
    yield one
    one.close()


# ---- entry points ----


def test_function_is_called_once_on_the_main_thread(cluster: Cluster) -> None:
    cluster.write(
        "pkg/entry.py",
        """
        import signal, threading
        def main():
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            print("ran", threading.current_thread() is threading.main_thread())
            return 7
        """,
    )
    for name in ("pkg.entry.main", "pkg.entry:main"):
        ended = cluster.run(name)
        assert (ended.code, ended.out) == (0, "ran True\n"), ended.err


def test_configuration_is_passed_where_it_is_taken(cluster: Cluster) -> None:
    cluster.write(
        "entry.py",
        """
        def takes(args): print(args.lr, args["model"]["depth"], args.model.depth)
        def has_default(args=None): print(args)
        class Takes:
            def run(self, config): print(config.lr)
        async def waits(config):
            import asyncio
            await asyncio.sleep(0.01)
            print(config.model.layers[0].size)
        def changes(config):
            config.lr = 2
            config.new = {"deep": 1}
            print(config["lr"], config.new.deep)
        """,
    )
    path = cluster.write(
        "config.json", '{"lr": 0.5, "model": {"depth": 3, "layers": [{"size": 9}]}}'
    )
    said = {"takes": "0.5 3 3\n", "has_default": "None\n", "Takes": "0.5\n", "waits": "9\n"}
    for name, expected in {**said, "changes": "2 1\n"}.items():
        ended = cluster.run(f"entry.{name}", {"MUSTER_CONFIG": str(path)})
        assert (ended.code, ended.out) == (0, expected), ended.err


def test_class_is_constructed_then_run(cluster: Cluster) -> None:
    cluster.write(
        "entry.py",
        """
        from muster.worker import rpc
        from muster.worker.remote.registry import registry
        @rpc(export=True)
        def free(): return 1
        class Service:
            def __init__(self): self.state = {"step": 0}
            @rpc(export=True)
            def get_status(self): return self.state
            @rpc
            def bare(self): return self.state["step"]
            @property
            def trap(self): raise RuntimeError("touched")
            def run(self):
                print(sorted(registry._entries))
                print(registry.find("get_status")(), registry.find("bare")(), self.bare())
        """,
    )
    ended = cluster.run("entry.Service")
    assert ended.code == 0, ended.err
    assert ended.out == "['bare', 'free', 'get_status']\n{'step': 0} 0 0\n"


def test_class_without_run(cluster: Cluster) -> None:
    cluster.write(
        "served.py",
        """
        from muster.worker import rpc
        class Idle:
            @rpc
            def double(self, n): return 2 * n
        """,
    )
    ended = cluster.run("served.Idle")
    assert ended.code == 1 and "'Idle' has no run()" in ended.err and "not_driver" in ended.err
    cluster.roles["idle"] = role(is_driver=False)
    process = cluster.start("idle/0", "served.Idle")
    cluster.enter()
    assert RoleGroup("idle").call_rank0("double", 4).result(patience()) == 8
    process.terminate()
    assert process.wait(patience()) == 0


@pytest.mark.parametrize(
    ("ending", "code", "said"),
    [
        ("", 0, ""),
        ("sys.exit(0)", 0, ""),
        ("sys.exit(None)", 0, ""),
        ("sys.exit(3)", 3, ""),
        ("sys.exit('text')", 1, "text\n"),
        ("raise ValueError('bad')", 1, "ValueError: bad"),
        ("raise KeyboardInterrupt", 130, ""),
        ("os.kill(os.getpid(), 11)", -11, ""),
    ],
)
def test_every_exit_is_reported(cluster: Cluster, ending: str, code: int, said: str) -> None:
    cluster.write("script.py", f"import os, sys\n{ending}\n")
    cluster.write("entry.py", f"import os, sys\ndef main():\n    {ending or 'pass'}\n")
    for entry in ("script.py", "entry.main"):
        ended = cluster.run(entry)
        assert ended.code == code, ended.err
        assert said in ended.err
        assert "muster/worker" not in ended.err, "the traceback begins in the user's code"


def test_script_is_main_with_its_arguments(cluster: Cluster) -> None:
    cluster.write("sub/beside.py", "VALUE = 5\n")
    cluster.write(
        "sub/x.py",
        """
        import sys, pickle, beside
        class Thing: pass
        pickle.dumps(Thing())
        print(__name__, sys.argv, beside.VALUE, __file__)
        """,
    )
    ended = cluster.run("sub/x.py --name 'a b' c")
    assert ended.code == 0, ended.err
    assert ended.out == "__main__ ['sub/x.py', '--name', 'a b', 'c'] 5 sub/x.py\n"


def test_what_cannot_be_found_is_named(cluster: Cluster) -> None:
    cluster.write("pkg/__init__.py", "")
    cluster.write("pkg/mod.py", "import no_such_thing\n")
    cluster.write("ok.py", "def train(): pass\nvalue = 3\n")
    ended = cluster.run("pkg.sub.deep.run")
    assert ended.code == 1
    assert "'pkg.sub.deep' was not found: 'pkg.sub' is not there" in ended.err
    assert f"\n  {cluster.folder}\n" in ended.err
    assert "No module named 'no_such_thing'" in cluster.run("pkg.mod.run").err
    ended = cluster.run("ok.trian")
    assert "'ok' has no 'trian'" in ended.err and "there is train" in ended.err
    assert "is a int, no function" in cluster.run("ok.value").err
    assert "'missing.py' cannot be read" in cluster.run("missing.py").err


def test_outside_of_a_job() -> None:
    leave()
    with pytest.raises(NotInWorker, match="not part of a job"):
        current_worker()
    with pytest.raises(AttributeError):
        RoleGroup("a")
    assert issubclass(NotInWorker, RuntimeError)


# ---- who am I ----


def test_environment_and_context(cluster: Cluster) -> None:
    cluster.roles["rollout"] = role(4, per_group=2)
    cluster.write(
        "entry.py",
        """
        import json, os
        from muster.worker import current_worker
        NAMES = "NAME RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK".split()
        at_import = {name: os.environ.get(name) for name in NAMES}
        def main():
            job, actor = current_worker().job_info, current_worker().actor_info
            print(json.dumps([at_import, job.name, job.job_id, job.accelerator_type, actor.name,
                actor.role, actor.spec.per_group, actor.sub_master, actor.rank, actor.node_rank,
                actor.local_rank, actor.total]))
            try:
                actor.rank = 1
            except AttributeError:
                pass
            else:
                raise SystemExit("not frozen")
        """,
    )
    process = cluster.start("rollout/3", "entry.main")
    out, err = process.communicate(timeout=patience())
    assert process.returncode == 0, err
    env, *rest = json.loads(out)
    assert env == {
        "NAME": "rollout_4-3_2-1",
        "RANK": "3",
        "WORLD_SIZE": "4",
        "LOCAL_RANK": "1",
        "LOCAL_WORLD_SIZE": "2",
        "NODE_RANK": None,
    }
    assert rest == ["job", "job", "CPU", "rollout_4-3_2-1", "rollout", 2, None, 3, 1, 1, 4]


@pytest.mark.parametrize(
    ("kind", "spec", "env", "device"),
    [
        ("GPU", {}, {"CUDA_VISIBLE_DEVICES": "3"}, "cuda:0"),
        ("GPU", {}, {}, "cpu"),
        ("GPU", {"rank_based_gpu_selection": True}, {"CUDA_VISIBLE_DEVICES": "0,1,2"}, "cuda:2"),
        ("GPU", {}, {"CUDA_VISIBLE_DEVICES": "5,6,7,8", "MUSTER_GPUS": "7,8"}, "cuda:2"),
        ("GPU", {}, {"CUDA_VISIBLE_DEVICES": "", "MUSTER_GPUS": "7,8"}, "cpu"),
        ("GPU", {"rank_based_gpu_selection": True}, {"CUDA_VISIBLE_DEVICES": ""}, "cpu"),
        ("CPU", {}, {"CUDA_VISIBLE_DEVICES": "0"}, "cpu"),
        ("TPU", {}, {}, "cpu"),
    ],
)
def test_device_of_elastic_roles(kind: str, spec: Json, env: dict[str, str], device: str) -> None:
    spec = {"backend": "elastic", "total": 8, "per_group": 4, **spec}
    unified = {"job": {"accelerator_type": kind}, "role": spec, "roles": {"actor": spec}}
    told = {"MUSTER_ROLE": "actor", "MUSTER_INDEX": "6", "RANK": "6", "WORLD_SIZE": "8", **env}
    made = variables(read_identity({**told, "MUSTER_UNIFIED": json.dumps(unified)}), told)
    assert made["ACCELERATE_TORCH_DEVICE"] == device
    assert (made["NODE_RANK"], made["LOCAL_RANK"]) == ("1", "2")


@pytest.mark.parametrize(
    ("asked", "device", "cuda", "nccl", "backend"),
    [
        ("auto", "cuda:0", True, True, "cpu:gloo,cuda:nccl"),
        ("auto", "cuda:0", True, False, "gloo"),
        ("auto", "cuda:0", False, True, "gloo"),
        ("auto", "cpu", True, True, "gloo"),
        ("nccl", "cpu", True, True, "nccl"),
    ],
)
def test_backend_of_the_group(
    asked: str, device: str, cuda: bool, nccl: bool, backend: str
) -> None:
    assert chosen_backend(asked, device, cuda, nccl) == backend


def test_granted_devices() -> None:
    assert granted_device([], ["0", "1"]) == "cpu"
    assert granted_device(["7", "8"], ["5", "6", "7", "8"]) == "cuda:2"
    with pytest.raises(RuntimeError, match="GPU 4 was granted"):
        granted_device(["4"], ["5", "6"])


# ---- the end ----


def test_stop_of_a_program_that_does_not_look(cluster: Cluster) -> None:
    cluster.write(
        "entry.py",
        """
        import time
        def main():
            try:
                print("up", flush=True)
                while True:  # Python looks for signals between calls: one just before a long
                    time.sleep(0.01)  # sleep would be seen after it
            finally:
                print("cleaned", flush=True)
        """,
    )
    cluster.roles["one"] = role()
    process = cluster.start("one/0", "entry.main")
    assert process.stdout and process.stdout.readline() == "up\n"
    process.terminate()
    out, _ = process.communicate(timeout=patience())
    assert (process.returncode, out) == (143, "cleaned\n")


def test_stop_of_a_program_that_looks(cluster: Cluster) -> None:
    cluster.write(
        "entry.py",
        """
        import time
        from muster.worker import current_worker
        def main():
            worker = current_worker()
            print(worker.stopping, flush=True)
            while not worker.stopping:
                time.sleep(0.01)
            print("saved", flush=True)
        """,
    )
    cluster.roles["one"] = role()
    process = cluster.start("one/0", "entry.main")
    assert process.stdout and process.stdout.readline() == "False\n"
    process.terminate()
    out, _ = process.communicate(timeout=patience())
    assert (process.returncode, out) == (0, "saved\n")


def test_own_handler_of_sigterm(cluster: Cluster) -> None:
    cluster.write(
        "x.py",
        """
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
        print("up", flush=True)
        while True:
            time.sleep(0.01)
        """,
    )
    cluster.roles["one"] = role()
    process = cluster.start("one/0", "x.py")
    assert process.stdout and process.stdout.readline() == "up\n"
    process.terminate()
    assert process.wait(patience()) == 9


def test_failed_rank_of_an_elastic_role_restarts_the_job(cluster: Cluster) -> None:
    cluster.write("entry.py", "def main(): raise ValueError('bad')\n")
    quiet = {"backend": "elastic", "comm_auto_setup_process_group": False}
    cluster.roles["one"] = role(2, **quiet)
    env = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    assert cluster.run("entry.main", env).code == 1
    ((path, query),) = cluster.board.commands
    assert path == "/restart" and query["counted"] == ["1"]
    assert query["reason"] == ["one_2-0_1-0 failed: ValueError: bad"]
    cluster.board.commands.clear()

    process = cluster.start("one/0", "entry.main", env)  # an echo: the stop is on its way
    assert process.stderr
    wait_for(lambda: "ValueError: bad" in process.stderr.readline() or None, 10)  # type: ignore[union-attr]
    process.terminate()
    assert process.wait(patience()) == 1
    other = cluster.start("one/0", "entry.main", env, {"failover": 2})
    assert other.wait(patience()) == 1
    assert cluster.board.commands == []


# ---- registration ----


def test_rpc_marks_and_exports() -> None:
    leave()

    @rpc
    def bare() -> str:
        return "bare"

    @rpc()
    def called() -> str:
        return "called"

    @rpc(export=True)
    def exported() -> str:
        return "exported"

    def stub() -> str:
        raise NotImplementedError

    @rpc(stub, export=True)
    def by_stub() -> str:
        return "by stub"

    @rpc(stub)  # type: ignore[call-arg]
    def by_bare_stub() -> str:
        return "by bare stub"

    @rpc(name="named", export=True)
    def other() -> str:
        return "named"

    functions: list[Any] = [bare, called, by_stub, by_bare_stub]
    assert [one() for one in functions] == ["bare", "called", "by stub", "by bare stub"]
    assert sorted(registry._entries) == ["exported", "named", "stub"]
    assert registry.find("stub")() == "by stub"
    export_rpc_method("exported", exported)  # the same function: nothing new
    with pytest.raises(ValueError, match=r"^RPC method 'exported' already registered\.$"):
        export_rpc_method("exported", other)
    with pytest.raises(ValueError, match="RPC method 'named' already registered"):
        rpc(name="named", export=True)(bare)


def test_methods_are_bound_once() -> None:
    class Base:
        @rpc(name="hi", export=True)
        def hello(self) -> str:
            return f"hello of {type(self).__name__}"

        @staticmethod
        @rpc
        def fixed() -> int:
            return 4

    class Derived(Base):
        def hello(self) -> str:
            return "overridden"

    names = Registry()
    one = Derived()
    names.add_marked(one, "ns")
    names.add_marked(one, "ns")
    assert names.find("ns.hi")() == "overridden" and names.find("ns.fixed")() == 4
    with pytest.raises(ValueError, match="'ns.hi' already registered"):
        names.add_marked(Derived(), "ns")
    with pytest.raises(ValueError, match="'nothing' not found; registered: ns.fixed, ns.hi"):
        names.find("nothing")


# ---- calls ----

MODULE = """
import asyncio, os, threading, time
import muster.worker as w
from muster.worker import rpc

seen = []

@rpc
def echo(*args, **kwargs): return [list(args), kwargs]
@rpc
def who(): return w.current_worker().actor_info.rank
@rpc
def same(x): return x
@rpc
def total(x): return int(x.sum())
@rpc
def double(items, by=2): return [by * i for i in items]
@rpc
def boom():
    seen.append("boom")
    raise KeyError("missing")
class Odd(Exception):
    def __init__(self, a, b): super().__init__(a)
@rpc
def odd(): raise Odd("a", "b")
@rpc
def leave(): raise SystemExit(4)
@rpc
def unpicklable(): return threading.Lock()
@rpc
def sleep(seconds):
    time.sleep(seconds)
    seen.append(seconds)
    return seconds
@rpc
async def nap(seconds):
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        seen.append("cancelled")
        raise
    return seconds
met = []
@rpc
async def meet(n):
    met.append(asyncio.Event())
    if len(met) == n:
        for one in met:
            one.set()
    await met[-1].wait()
    return n
@rpc
async def ask_other(rank):
    return await w.RoleGroup("svc")[rank].acall("who")
@rpc
def note(x): seen.append(x)
@rpc
def noted(): return seen
@rpc
def pid(): return os.getpid()
class Thing:
    @rpc
    def hello(self, name): return f"hello {name}"
    @rpc
    async def wave(self): return "wave"
w.export_rpc_instance("ns", Thing())
"""


class Thing:
    @rpc
    def hello(self, name: str) -> str:
        raise NotImplementedError

    @rpc
    async def wave(self) -> str:
        raise NotImplementedError


@pytest.fixture
def two(cluster: Cluster) -> Cluster:
    """Two instances of role `svc`."""
    cluster.serve(MODULE, "svc/0", "svc/1")
    return cluster


def test_role_group(two: Cluster) -> None:
    group = RoleGroup("svc")
    assert [actor.name for actor in group] == ["svc_2-0_1-0", "svc_2-1_1-0"]
    assert group.call("who").result(patience()) == [0, 1]

    def who() -> int:
        raise NotImplementedError

    assert group.call(who).result() == [0, 1]
    answers = group.call("echo", [1, 2], key=["a", "b"], _scatter=True).result()
    assert answers == [[[1], {"key": "a"}], [[2], {"key": "b"}]]
    for bad in ([1], (1, 2), "ab"):
        with pytest.raises(AssertionError, match="a list of 2 values is needed"):
            group.call("echo", bad, _scatter=True)
    assert group.call_rank0("who").result() == 0
    assert group[1].call("who").result() == 1 and len(group[0:2]) == 2


def test_role_group_without_actors(two: Cluster) -> None:
    two.roles["none"] = role(0)
    two.enter()
    for name in ("none", "unheard"):
        with pytest.raises(ValueError, match=f"No actors found for role '{name}'"):
            RoleGroup(name)
        with pytest.raises(RuntimeError):
            RoleGroup(name)
        group = RoleGroup(name, optional=True)
        assert len(group) == 0 and group.call("x").result() == []
        with pytest.raises(ValueError, match=r"^No actors in the role group\.$"):
            group.call_rank0("x")


def test_call_batch(two: Cluster) -> None:
    answers = RoleGroup("svc").call_batch("double", 4, [1, 2, 3, 4], by=3)
    assert isinstance(answers, FutureSequence)
    assert repr(answers) == "FutureSequence(lens=[2, 2])" and len(answers) == 4
    assert (answers[0], answers[-1], answers[1:3]) == (3, 12, [6, 9])
    assert answers.wait() == list(answers) == [3, 6, 9, 12]
    with pytest.raises(IndexError):
        answers[4]
    with pytest.raises(ValueError, match="3 values, and 4 to deal out"):
        RoleGroup("svc").call_batch("double", 4, [1, 2, 3])


@pytest.mark.parametrize(
    ("actors", "size", "lengths"),
    [(4, 5, [2, 2, 1, 0]), (5, 6, [2, 2, 2, 0, 0]), (2, 1, [1, 0]), (3, 0, [0, 0, 0])],
)
def test_call_batch_parts(
    cluster: Cluster, actors: int, size: int, lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.roles["many"] = role(actors)
    cluster.enter()

    def call(_self: object, _method: str, items: list[int]) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_result(items)
        return future

    monkeypatch.setattr(RoleActor, "call", call)
    answers = RoleGroup("many").call_batch("m", size, list(range(size)))
    assert repr(answers) == f"FutureSequence(lens={lengths})"
    assert list(answers) == list(range(size))


def test_proxy(two: Cluster) -> None:
    proxy = create_rpc_proxy("svc_2-1_1-0", "ns", Thing)
    assert proxy.hello("you") == "hello you"
    assert asyncio.run(proxy.wave()) == "wave"
    with pytest.raises(ValueError, match="no name of an actor"):
        create_rpc_proxy("nonsense", "ns", Thing)


def test_errors_tell_where(two: Cluster) -> None:
    actor = RoleGroup("svc")[0]
    with pytest.raises(RuntimeError) as caught:
        actor.call("boom").result(patience())
    error = caught.value
    assert isinstance(error, RpcError) and error.remote_type == "KeyError"
    assert str(error).startswith(
        "Error executing user_rpc(boom) on svc_2-0_1-0: KeyError: 'missing'"
    )
    assert 'raise KeyError("missing")' in error.remote_traceback
    assert error.remote_traceback in str(error) + "\n"
    assert isinstance(error.__cause__, KeyError)
    assert pickle.loads(pickle.dumps(error)).remote_type == "KeyError"
    with pytest.raises(RpcError, match=r"user_rpc\(odd\) on svc_2-0_1-0: Odd: a"):
        actor.call("odd").result()
    with pytest.raises(RpcError, match="SystemExit: 4"):
        actor.call("leave").result()
    with pytest.raises(RpcError, match="its result cannot be sent: TypeError"):
        actor.call("unpicklable").result()
    with pytest.raises(
        RpcError, match="RPC method 'nothing' not found; registered: ask_other, boom"
    ):
        actor.call("nothing").result()
    with pytest.raises(RpcError, match=r"user_rpc\(boom\) on svc_2-0_1-0, svc_2-1_1-0: the first"):
        RoleGroup("svc").call("boom").result()
    assert actor.call("who").result() == 0


def test_coroutines_on_both_sides(two: Cluster) -> None:
    async def main() -> None:
        group = RoleGroup("svc")
        # Each returns when the hundredth has begun.
        naps = await asyncio.gather(*(group[i % 2].call("meet", 50) for i in range(100)))
        assert naps == [50] * 100
        assert await group.acall("who") == [0, 1]
        assert await group.call("who") == [0, 1]
        assert await group[0].acall("ask_other", 1) == 1

    asyncio.run(main())


def test_timeouts_and_cancellation(two: Cluster) -> None:
    actor = RoleGroup("svc")[0]
    actor.call("who").result(patience())
    with pytest.raises(concurrent.futures.TimeoutError, match=r"no answer within 0\.2 s"):
        actor.call("sleep", 600, _rpc_timeout=0.2).result()
    with pytest.raises(concurrent.futures.TimeoutError):
        actor.call("nap", 600).result(timeout=0.1)

    async def wait() -> None:
        with pytest.raises(concurrent.futures.TimeoutError):
            await actor.call("nap", 600, _rpc_timeout=0.2)

    asyncio.run(wait())
    future = actor.call("nap", 600)
    assert actor.call("who").result() == 0
    assert future.cancel() and future.cancelled()
    wait_for(lambda: "cancelled" in actor.call("noted").result() or None, 5)
    assert actor.call("sleep", 0.01).result() == 0.01


def test_calls_of_one_caller_begin_in_order(two: Cluster) -> None:
    actor = RoleGroup("svc")[0]
    calls = [actor.call("note", i) for i in range(500)]
    for call in calls:
        call.result(patience())
    assert actor.call("noted").result() == list(range(500))


def test_200_calls_at_once(two: Cluster) -> None:
    actor = RoleGroup("svc")[0]
    calls = [actor.call("sleep", 0.05) for _ in range(200)]
    assert actor.call("nap", 0.01).result(patience()) == 0.01, "coroutines do not wait in line"
    done = list(concurrent.futures.as_completed(calls, 20))
    assert len(done) == 200 and all(call.result() == 0.05 for call in done)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda i: actor.call("same", i).result(patience()), range(400)))
    assert answers == list(range(400))


def test_arrays_are_not_copied_twice(two: Cluster) -> None:
    numpy = pytest.importorskip("numpy")
    actor = RoleGroup("svc")[0]
    array = numpy.arange(32 << 20, dtype=numpy.int64)  # 256 MiB
    assert actor.call("total", array).result(patience()) == int(array.sum())
    array = numpy.ones((4, 1 << 18), dtype=numpy.float32)
    back = actor.call("same", {"a": array, "b": array[:, ::2]}).result()
    back["a"][0] = 3  # writable
    assert back["a"].shape == (4, 1 << 18) and (back["b"] == 1).all()


@pytest.mark.trains
def test_tensors(two: Cluster) -> None:
    import torch

    actor = RoleGroup("svc")[0]
    sent = {
        "bf16": torch.randn(300, 300).to(torch.bfloat16),
        "bool": torch.ones(100_000, dtype=torch.bool),
        "scalar": torch.tensor(3.5),
        "empty": torch.empty(0, 5),
        "odd": torch.arange(400_000).view(400, 1000).t(),
        "complex": torch.randn(5000, dtype=torch.complex64).conj(),
        "grad": torch.nn.Parameter(torch.ones(50_000)),
    }
    back = actor.call("same", sent).result(patience())
    for name, tensor in sent.items():
        assert torch.equal(back[name], tensor), name
        assert back[name].dtype == tensor.dtype
    assert isinstance(back["grad"], torch.nn.Parameter) and back["grad"].requires_grad
    back["bf16"].zero_()
    model = torch.nn.Linear(300, 100)
    state = actor.call("same", model.state_dict()).result()
    assert torch.equal(state["weight"], model.weight)


def test_messages_have_a_limit(cluster: Cluster) -> None:
    from muster.worker.remote.wire import most_bytes

    numpy = pytest.importorskip("numpy")
    cluster.roles["svc"] = role()
    cluster.write("served.py", MODULE + SERVE)
    cluster.start("svc/0", "served.serve", {"MUSTER_RPC_MAX_BYTES": "1000000"})
    cluster.enter()
    actor = RoleGroup("svc")[0]
    assert actor.call("total", numpy.ones(1000)).result(patience()) == 1000
    most_bytes.cache_clear()
    with pytest.raises(RpcError, match="8,000,1.. bytes was refused: the receiver takes at most"):
        actor.call("total", numpy.ones(1_000_000)).result(patience())
    assert actor.call("who").result() == 0, "the connection goes on"
    os.environ["MUSTER_RPC_MAX_BYTES"] = "2000000"
    most_bytes.cache_clear()
    try:
        with pytest.raises(MessageTooLarge, match="more than the 2,000,000 that may be sent"):
            actor.call("total", numpy.ones(1_000_000))
    finally:
        del os.environ["MUSTER_RPC_MAX_BYTES"]
        most_bytes.cache_clear()


# ---- strangers ----


class Bomb:
    """Makes a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_strangers_get_nothing(two: Cluster) -> None:
    from muster.worker.remote.address import Address, dial
    from muster.worker.remote.wire import CALL, frame

    told = two.board.value("rpc/svc/0")
    for address in (Address.read(told), Address.read({"address": told["address"]})):
        with pytest.raises(OSError, match="not of this job"):
            dial(address, b"wrong")
    host, port = told["address"].split(":")
    path = two.folder / "bomb"
    bomb = b"".join(frame(CALL, 1, "same", ((Bomb(path),), {})))
    with socket.create_connection((host, int(port)), 5) as raw:
        assert b"CHALLENGE" in raw.recv(100)
        with contextlib.suppress(OSError):
            raw.sendall(bomb * 100)
            while raw.recv(100):
                pass
    idle = [socket.create_connection((host, int(port)), 5) for _ in range(30)]
    assert RoleGroup("svc")[0].call("who").result(patience()) == 0
    for one in idle:
        one.close()
    assert not path.exists()


# ---- the dead and the late ----


def restart(cluster: Cluster, task: str) -> subprocess.Popen[str]:
    return cluster.start(task, "served.serve")


def test_calls_to_the_dead_fail_soon(two: Cluster) -> None:
    actor = RoleGroup("svc")[0]
    actor.call("who").result(patience())
    waiting = actor.call("sleep", 600)
    actor.call("who").result()
    two.processes["svc/0"].kill()
    with pytest.raises(ActorUnavailable, match=r"user_rpc\(sleep\) on svc_2-0_1-0"):
        waiting.result()
    with pytest.raises(ActorUnavailable):
        actor.call("who").result()
    with pytest.raises(ActorUnavailable, match=r"on svc_2-0_1-0"):
        RoleGroup("svc").call("who").result()


def test_calls_wait_for_the_restart_when_asked(two: Cluster) -> None:
    actor = RoleGroup("svc")[0]
    first = actor.call("pid").result(patience())
    on_its_way = actor.call("sleep", 0.3, _rpc_wait=True)
    counted = actor.call("sleep", 0.3, _rpc_retries=1)
    two.processes["svc/0"].kill()
    two.processes["svc/0"].wait()
    late = actor.call("pid", _rpc_wait=True)
    with pytest.raises(ActorUnavailable):  # who does not wait is told, who waits is not
        actor.call("pid").result()
    assert not late.done()
    restart(two, "svc/0")
    assert late.result(patience()) not in (first, None)
    assert (on_its_way.result(patience()), counted.result(patience())) == (0.3, 0.3)
    assert actor.call("pid").result() == late.result()


def test_the_ended_are_not_waited_for(two: Cluster) -> None:
    two.roles["late"] = role(2)
    two.enter()
    two.board.tasks.update({"late/0": "waiting", "late/1": "failed"})
    with pytest.raises(ActorUnavailable, match="it has failed"):
        RoleGroup("late")[1].call("x").result()
    call = RoleGroup("late")[0].call("who")
    with pytest.raises(concurrent.futures.TimeoutError):
        RoleGroup("late")[0].call("who", _rpc_timeout=0.1).result()
    assert not call.done()
    two.start("late/0", "served.serve")
    assert call.result(patience()) == 0


def test_a_script_serves_what_it_exports(cluster: Cluster) -> None:
    cluster.write(
        "script.py",
        """
        import time
        import muster.worker as w
        w.export_rpc_method("add", lambda a, b: a + b)
        @w.rpc
        def marked(): return "marked"
        time.sleep(0.2)
        w.serve()
        w.current_worker().wait_stop()
        """,
    )
    cluster.roles["svc"] = role()
    cluster.start("svc/0", "script.py")
    cluster.enter()
    actor = RoleGroup("svc")[0]
    assert actor.call("add", 1, 2).result(patience()) == 3
    assert actor.call("marked").result() == "marked"


def test_who_waits_in_vain_says_so(two: Cluster, capfd: pytest.CaptureFixture[str]) -> None:
    from muster.worker.remote import peer

    two.roles["never"] = role()
    two.enter()
    two.board.tasks["never/0"] = "running"
    said, peer.SAY = peer.SAY, 0.3
    try:
        call = RoleGroup("never")[0].call("x")
        wait_for(lambda: "calls to never_1-0_1-0 wait since" in capfd.readouterr().err or None, 8)
        call.cancel()
    finally:
        peer.SAY = said


def test_an_ended_instance_goes_on_serving_when_nobody_waits_for_it(cluster: Cluster) -> None:
    cluster.roles["svc"] = role(is_driver=False)
    cluster.write("served.py", MODULE + "\ndef done(): return None\n")
    process = cluster.start("svc/0", "served.done")
    cluster.enter()
    assert RoleGroup("svc")[0].call("who").result(patience()) == 0
    process.terminate()
    assert process.wait(patience()) == 0


def test_the_last_answer_is_sent_before_the_end(cluster: Cluster) -> None:
    cluster.serve(
        """
import threading, time
from muster.worker import rpc
over = threading.Event()
@rpc
def finish():
    over.set()
    time.sleep(0.3)
    return "finished"
def until():
    over.wait()
""",
        "svc/0",
        entry="until",
    )
    assert RoleGroup("svc")[0].call("finish").result(patience()) == "finished"
    assert cluster.processes["svc/0"].wait(patience()) == 0


def test_callbacks_may_call(two: Cluster) -> None:
    actor = RoleGroup("svc")[0]
    actor.call("who").result(patience())
    nested: list[Any] = []
    done = threading.Event()

    def then(_: object) -> None:
        nested.append(actor.call("same", "nested").result(patience()))
        done.set()

    actor.call("sleep", 0.02).add_done_callback(then)
    assert done.wait(patience()) and nested == ["nested"]
    done.clear()
    first = actor.call("sleep", 0.02)
    first.tell(then)
    assert first.result(patience()) == 0.02 and done.wait(patience()) and len(nested) == 2


def test_a_child_process_calls_too(two: Cluster) -> None:
    actor = RoleGroup("svc")[0]
    assert actor.call("who").result(patience()) == 0
    pid = os.fork()
    if pid == 0:
        code = 1
        with contextlib.suppress(BaseException):
            code = 40 + int(RoleGroup("svc")[1].call("who").result(patience()))
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 41
    assert actor.call("who").result() == 0, "the parent's connection is its own"


# ---- queues ----

QUEUES = """
from muster.worker import DataQueue, rpc, current_worker
queues = {}
@rpc
def own(name, size): queues[name] = DataQueue(name, is_master=True, size=size)
@rpc
def put(name, *items): queues[name].put(*items)
@rpc
def get(name, n): return queues[name].get(n)
@rpc
def crash():
    import os
    os._exit(1)
"""


def test_queue(cluster: Cluster) -> None:
    cluster.serve(QUEUES, "svc/0")
    actor = RoleGroup("svc")[0]
    early = threading.Thread(target=lambda: DataQueue("q").put("early"), daemon=True)
    early.start()
    actor.call("own", "q", 10).result(patience())
    early.join(patience())
    queue = DataQueue("q", is_master=False)
    assert actor.call("get", "q", 5).result() == ["early"]
    assert queue.qsize() == 0 and queue.get_nowait() == []
    queue.put({"a": 1})
    assert queue.qsize() == len(queue) == 1
    queue.put(2, 3)
    assert actor.call("get", "q", 2).result() == [{"a": 1}, 2]
    actor.call("put", "q", 4).result()
    assert queue.get(10) == [3, 4]
    assert queue.get(1, timeout=0.1) == []
    waiting = concurrent.futures.ThreadPoolExecutor(1).submit(queue.get, 3)
    time.sleep(0.1)
    queue.put_async("late")
    assert waiting.result(patience()) == ["late"]


def test_queue_blocks_when_full_and_many_may_wait(cluster: Cluster) -> None:
    cluster.serve(QUEUES, "svc/0")
    RoleGroup("svc")[0].call("own", "q", 2).result(patience())
    queue = DataQueue("q")
    puts = [queue.put_async(i) for i in range(100)]
    wait_for(lambda: puts[1].done() or None, 5)
    time.sleep(0.1)
    assert not puts[2].done() and queue.qsize() == 2
    assert [queue.get(1)[0] for _ in range(100)] == list(range(100))
    assert all(put.done() for put in puts)

    async def both() -> list[Any]:
        got = asyncio.gather(*(queue.aget(1) for _ in range(70)))
        await asyncio.sleep(0.05)
        for i in range(70):
            await queue.aput(i)
        return [one[0] for one in await got]

    assert asyncio.run(both()) == list(range(70))


def test_queue_of_a_dead_owner(cluster: Cluster) -> None:
    numpy = pytest.importorskip("numpy")
    cluster.serve(QUEUES, "svc/0", "svc/1")
    first, second = RoleGroup("svc")
    first.call("own", "q", 3).result(patience())
    queue = DataQueue("q")
    queue.put(numpy.arange(100_000))
    (back,) = queue.get()
    assert back.sum() == sum(range(100_000))
    first.call("crash")
    with pytest.raises(ActorUnavailable):
        queue.get()
    second.call("own", "q", 3).result(patience())
    queue.put("to the new owner")
    assert second.call("get", "q", 1).result() == ["to the new owner"]


# ---- the job ----


def test_prime_master_api(two: Cluster) -> None:
    for state, stage, code in [
        ("queued", "INIT", 0),
        ("starting", "READY", 0),
        ("running", "RUNNING", 0),
        ("restarting", "READY", 0),
        ("stopping", "STOPPING", 0),
        ("succeeded", "STOPPED", 0),
        ("failed", "STOPPED", 1),
        ("stopped", "STOPPED", 1),
    ]:
        two.board.job.update(state=state, restarts=2)
        status = PrimeMasterApi.get_status()
        assert (status.stage, status.exit_code, status.job_restart_count) == (stage, code, 2)
    assert PrimeMasterApi.wait().stage == "STOPPED"
    assert asyncio.run(PrimeMasterApi.get_status.async_call()).stage == "STOPPED"
    assert PrimeMasterApi.get_all_roles() == ["test", "svc"]
    workers = PrimeMasterApi.get_workers_by_role("svc")
    assert [one.name for one in workers] == ["svc_2-0_1-0", "svc_2-1_1-0"]
    assert PrimeMasterApi.get_actor_info("svc_2-1_1-0").rank == 1
    for wrong in ("svc_2-2_1-1", "svc_3-1_1-0", "x"):
        with pytest.raises(RuntimeError, match="no actor"):
            PrimeMasterApi.get_actor_info(wrong)
    with pytest.raises(ValueError, match="No actors found for role 'x'"):
        PrimeMasterApi.get_workers_by_role("x")
    assert PrimeMasterApi.get_workers_by_role("x", optional=True) == []
    PrimeMasterApi.restart_actors(["svc_2-1_1-0", "svc_2-0_1-0"])
    PrimeMasterApi.stop()
    PrimeMasterApi.restart()
    paths = [path for path, _ in two.board.commands]
    assert paths == ["/restart", "/stop", "/restart"]
    assert two.board.commands[0][1]["task"] == ["svc/1", "svc/0"]
    assert two.board.commands[2][1]["counted"] == ["1"]
    PrimeMasterApi.register_data_queue("q", "svc_2-1_1-0", 5)
    assert PrimeMasterApi.get_data_queue_owner("q") == "svc_2-1_1-0"


# ---- torch ----


@pytest.mark.trains
def test_data_loader(cluster: Cluster) -> None:
    cluster.write(
        "data.py",
        """
        import os, time
        import torch
        from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
        from muster.worker import RayDataLoaderIter, patch_dataloader_ray
        class Numbers(Dataset):
            def __len__(self): return 100
            def __getitem__(self, i): return i, os.getpid()
        class Broken(Numbers):
            def __getitem__(self, i): raise LookupError(f"no item {i}")
        class Stream(IterableDataset):
            def __iter__(self):
                info = get_worker_info()
                return iter(range(info.id, 9, info.num_workers))
        class Deadly(Numbers):
            def __getitem__(self, i): os._exit(7)
        def main():
            patch_dataloader_ray()
            batches = list(DataLoader(Numbers(), batch_size=10))
            assert [len(b[0]) for b in batches] == [10] * 10
            assert torch.cat([b[0] for b in batches]).tolist() == list(range(100))
            assert os.getpid() not in torch.cat([b[1] for b in batches]).tolist()
            many = list(RayDataLoaderIter(DataLoader(Numbers(), batch_size=7), num_actors=2))
            assert torch.cat([b[0] for b in many]).tolist() == list(range(100))
            assert len(set(torch.cat([b[1] for b in many]).tolist())) == 2
            stream = RayDataLoaderIter(DataLoader(Stream(), batch_size=None), num_actors=2)
            assert sorted(int(i) for i in stream) == list(range(9))
            for dataset, error in ((Broken(), LookupError), (Deadly(), RuntimeError)):
                try:
                    next(iter(DataLoader(dataset)))
                except error as caught:
                    print(error.__name__, caught, bool(caught.__cause__), flush=True)
            held = iter(DataLoader(Numbers(), batch_size=10))
            print(int(next(held)[1][0]), flush=True)
            os.kill(os.getpid(), 9)
        """,
    )
    ended = cluster.run("data.main")
    assert ended.code == -9, ended.err
    broken, deadly, helper = ended.out.splitlines()
    assert broken == "LookupError no item 0 True"
    assert "helper process died (exit code 7)" in deadly
    wait_for(lambda: not Path(f"/proc/{helper}").exists() or None, 5, "the helper's end")


@pytest.mark.trains
def test_process_group(cluster: Cluster) -> None:
    cluster.write(
        "group.py",
        """
        import os
        import torch, torch.distributed as dist
        def main():
            tensor = torch.ones(1) * (dist.get_rank() + 1)
            dist.all_reduce(tensor)
            print(tensor.item(), dist.get_backend(), "MASTER_ADDR" in os.environ,
                os.environ["NODE_RANK"], os.environ["ACCELERATE_TORCH_DEVICE"])
        """,
    )
    cluster.roles["actor"] = role(2, backend="elastic", comm_backend="auto", comm_timeout_s=20)
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    processes = [
        cluster.start(f"actor/{i}", "group.main", {**common, "RANK": str(i)}) for i in range(2)
    ]
    for i, process in enumerate(processes):
        out, err = process.communicate(timeout=patience())
        assert process.returncode == 0, err
        assert out == f"3.0 gloo False {i} cpu\n"


def test_start_is_quick(cluster: Cluster) -> None:
    """Nothing heavy is loaded before the user's own code."""
    cluster.write("entry.py", "import sys\ndef main(): print(' '.join(sys.modules))\n")
    ended = cluster.run("entry.main", {"MUSTER_JOB_NUMBER": ""})
    assert ended.code == 0, ended.err
    heavy = {"asyncio", "torch", "numpy", "inspect", "http.client", "multiprocessing", "logging"}
    assert not set(ended.out.split()) & heavy


def test_signals_reach_a_waiting_call(cluster: Cluster) -> None:
    cluster.write(
        "served.py",
        MODULE
        + SERVE
        + """
def asks():
    try:
        print("asking", flush=True)
        w.RoleGroup("svc")[0].call("sleep", 60).result()
    finally:
        print(w.RoleGroup("svc")[0].call("who").result(), flush=True)
""",
    )
    cluster.roles.update(svc=role(), one=role())
    cluster.start("svc/0", "served.serve")
    process = cluster.start("one/0", "served.asks")
    assert process.stdout and process.stdout.readline() == "asking\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=patience())
    assert (process.returncode, out) == (143, "0\n"), err


def test_exports_need_callables() -> None:
    leave()
    with pytest.raises(TypeError, match="cannot be called"):
        export_rpc_method("x", 3)  # type: ignore[arg-type]
    export_rpc_instance(None, Thing())
    assert sorted(registry._entries) == ["hello", "wave"]
