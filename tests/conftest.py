"""Fixtures: servers of their own for tests that need one, one shared server for the rest."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import nvml
import pytest
from accounts import Account, Shared, people, why_none
from harness import VENV, Server, program, scratch
from warm_torch import WarmTorch, warm_torch

Starter = Callable[..., Server]


def pytest_configure(config: pytest.Config) -> None:
    """MUSTER_TEST_GPUS=1: all tests as on a machine with a GPU (tests/nvml.py). A pytest that a
    test or another one starts has it already."""
    # A shell without job control starts what is to run beside it with SIGINT ignored, and who is
    # started from there ignores it too: a test that interrupts a program would wait for its limits.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.environ.get("MUSTER_TEST_GPUS") and "FAKE_NVML" not in os.environ:
        folder = nvml.pretend()
        config.add_cleanup(lambda: nvml.pretend_no_more(folder))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A run of many minutes says at once what failed, also when it is broken off."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\nFAILED {report.nodeid} ({report.when})", flush=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Nothing here can run without the program: say so once, in the place of each test."""
    if program().exists():
        return
    missing = pytest.mark.skip(reason=f"{program()} is not built")
    for item in items:
        item.add_marker(missing)


def closed(server: Server) -> None:
    said = server.said() + server.agents_said()
    left = server.close()
    assert not left, f"still there after the end: {left}"
    for word in ("AddressSanitizer", "LeakSanitizer", "runtime error:", "muster: bug at"):
        assert word not in said, said[-8000:]


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Shared by all tests that leave it running: 4 nodes of 16 cpus, 64 GiB and 4 GPUs."""
    one = Server(flags=("--queues", "default,vision"))
    try:
        one.start()
        yield one
    finally:
        closed(one)


@pytest.fixture(scope="session")
def torch() -> Iterator[WarmTorch]:
    """One import of PyTorch for many tests."""
    if not (VENV / "torchrun").exists():
        pytest.skip("no PyTorch in .venv: tools/setup python installs it")
    with warm_torch() as one:
        yield one


@pytest.fixture
def start() -> Iterator[Starter]:
    """start(nodes=..., flags=..., env=...) gives a server that only this test has."""
    made: list[Server] = []

    def starter(**options: object) -> Server:
        one = Server(**options)  # type: ignore[arg-type]
        made.append(one)
        return one.start()

    yield starter
    for one in made:
        closed(one)


@pytest.fixture(scope="session")
def accounts() -> Iterator[list[Account]]:
    """Three ordinary accounts of this machine, for tests of root."""
    if why_none():
        pytest.skip(why_none())
    with people(f"{os.getpid():x}") as made:
        yield made


@pytest.fixture
def shared(accounts: list[Account]) -> Iterator[Callable[..., Shared]]:
    """shared() gives a server of root's where each of the accounts is a user with a token."""
    made: list[Shared] = []

    def starter(**options: object) -> Shared:
        one = Shared(accounts, **options)
        made.append(one)
        return one.start()

    yield starter
    for one in made:
        closed(one)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory with a short path, for state directories of servers started by the test."""
    path = scratch()
    yield path
    shutil.rmtree(path, ignore_errors=True)
