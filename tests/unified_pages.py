"""Both editions of DLRover's guide to its unified API, for tests/seeds: their programs run from
examples/dlrover, their tables of options and methods are tried value by value."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from harness import EXAMPLES, Server, environment, patience
from muster import ValidationError
from muster.unified import DLJobBuilder, JobConfig
from muster.unified.canonical import canonical
from muster.unified.submit import options_of
from promise import Broken, Example, How, expect

NODES = "1x16cpu,64Gi,MASTER_RESOURCE:999;2x16cpu,64Gi,4gpu,WORKER_RESOURCE:999"
# option, its default as the page has it, another value, whether something acts on it
OPTIONS = [
    ("job_name", None, "other", True),
    ("master_cpu", 2, "3", False),
    ("master_mem", 4096, "512", False),
    ("master_create_timeout", 600, "5", False),
    ("node_max_restart", 10, "3", False),
    ("job_max_restart", 10, "3", True),
    ("master_max_restart", 10, "3", False),
    ("master_isolation_schedule_resource", "", "M", False),
    ("worker_isolation_schedule_resource", "", "W", True),
]
Change = Callable[[DLJobBuilder], Any]


class Programs:
    """A server, and the programs of a page run as its reader runs them."""

    page = ""

    def __init__(self) -> None:
        self.server = Server(nodes=NODES)
        self.server.start()

    def close(self) -> None:
        left = self.server.close()
        if left:
            raise Broken(f"still there after the end: {left}")

    def run(self, program: str, **env: str) -> str:
        done = subprocess.run(
            [sys.executable, program],
            cwd=EXAMPLES / "dlrover",
            env=environment(self.server.state, **env),
            capture_output=True,
            text=True,
            timeout=patience(170),
            check=False,
        )
        said = done.stdout + done.stderr
        expect(done.returncode == 0, f"exit {done.returncode}: {said[-600:]}")
        return said

    def nodes_of(self, role: str) -> set[str]:
        tasks = self.server.job(self.server.jobs()[0]["number"])["task_list"]
        return {t["attempts"][-1]["node"] for t in tasks if t["role"] == role}


class Guide(Programs):
    """02-unified-api-guide: builder and submission."""

    page = "unified guide"

    def single_role(self) -> str:
        said = self.run("single_role.py")
        found = re.search(r"loss ([\d.]+) -> ([\d.]+)", said)
        expect(found and "(4 processes)" in said, said[-300:])
        assert found
        return f"4 processes, {found.group(0)}"

    def command_line(self) -> str:
        said = self.run("command_line.py")
        expect("rank 0 of 1, test 0" in said, said[-300:])
        return "rank 0 of 1, test 0"

    def reinforcement(self) -> str:
        said = self.run("rl.py")
        found = re.search(r"reward ([\d.]+) -> ([\d.]+)", said)
        expect(found and float(found.group(2)) > float(found.group(1)), said[-300:])
        assert found
        return found.group(0)

    def outline(self) -> str:
        said = self.run("roles.py")
        expect(said.count("weight 3.000, target 3.0") == 7, said[-300:])
        return "7 workers of 3 roles"

    def isolation(self) -> str:
        workers = self.nodes_of("actor") | self.nodes_of("critic") | self.nodes_of("evaluator")
        expect(workers <= {"n2", "n3"}, f"workers on {workers}")
        return f"workers on {', '.join(sorted(workers))} only"

    def option(self, name: str, default: Any, other: str) -> str:
        job = DLJobBuilder().role("r").run("a.b").end().build()
        env = {f"DLROVER_UNIFIED_{name.upper()}": other}
        by_env = JobConfig(**{"job_name": "x", **options_of({}, env)}, dl_config=job)
        plain = JobConfig(**{"job_name": "x", **options_of({}, {})}, dl_config=job)
        if default is not None:
            expect(getattr(plain, name) == default, f"default {getattr(plain, name)}")
        expect(str(getattr(by_env, name)).removesuffix(".0") == other, "the variable is not read")
        return f"{default!r}; {other} from the environment"

    def examples(self) -> Iterator[Example]:
        yield Example("single role", "trains with 2 x 2 processes", self.single_role)
        yield Example("single role by a dlrover-run line", "runs", self.command_line)
        yield Example("multiple roles (outline)", "runs", self.outline)
        yield Example("isolated scheduling", "workers on their nodes", self.isolation)
        yield Example("RL", "reward rises", self.reinforcement)
        for name, default, other, acts in OPTIONS:
            tried = partial(self.option, name, default, other)
            how = How.PRINTED if acts else How.SHOWN
            yield Example(name, "default, environment", tried, how)


WRONG_ENV: Any = {"A": 1}
# method, values that are fine, values that are not
METHODS: list[tuple[str, list[Change], list[Change]]] = [
    ("dl_type", [lambda b, t=t: b.dl_type(t) for t in ("PRE", "SFT", "RL", "MULTIMODAL")],  # type: ignore[misc]
     [lambda b: b.dl_type("X")]),
    ("node_num", [lambda b: b.node_num(3)], [lambda b: b.node_num(0), lambda b: b.node_num("x")]),
    ("device_per_node", [lambda b: b.device_per_node(1)], [lambda b: b.device_per_node(0)]),
    ("config", [lambda b: b.config({"a": {"b": 1}})], [lambda b: b.config({"a": object()})]),
    ("global_env", [lambda b: b.global_env({"A": "1"})], [lambda b: b.global_env(WRONG_ENV)]),
    ("workload",
     [lambda b: b.workload("w", "m", "C").end(), lambda b: b.workload("w", "m.C").end()],
     [lambda b: b.workload("w", "main").end()]),
    ("with_collocation",
     [lambda b: b.workload("w", "m.C").resource({"gpu": 1}).end().with_collocation("first", "w")],
     [lambda b: b.with_collocation("first", "nobody")]),
    ("with_collocation_all", [lambda b: b.workload("w", "m.C").end().with_collocation_all()], []),
    ("total", [lambda b: b.workload("w", "m.C").total(3).end()],
     [lambda b: b.workload("w", "m.C").total(-1).end()]),
    ("per_group", [lambda b: b.workload("w", "m.C").total(4).per_group(2).end()],
     [lambda b: b.workload("w", "m.C").total(3).per_group(2).end()]),
    ("env", [lambda b: b.workload("w", "m.C").env({"A": "1"}).end()],
     [lambda b: b.workload("w", "m.C").env(WRONG_ENV).end()]),
    ("resource", [lambda b: b.workload("w", "m.C").resource({"cpu": 1, "memory": 64}).end()],
     [lambda b: b.workload("w", "m.C").resource({"cpu": -1}).end()]),
    ("disable_ray_auto_visible_device",
     [lambda b: b.workload("w", "m.C").disable_ray_auto_visible_device().end()], []),
]  # fmt: skip


class OlderGuide(Programs):
    """Unified API Guide [Experimental]."""

    page = "older guide"

    def service(self) -> str:
        said = self.run("service.py")
        steps = [int(n) for n in re.findall(r"status \{'step': (\d+)", said)]
        expect(len(steps) == 3 and steps == sorted(steps), said[-300:])
        expect("k1 is v1" in said, said[-300:])
        return f"asked while it ran: steps {', '.join(map(str, steps))}"

    def method(self, good: list[Change], bad: list[Change]) -> str:
        """Each change on top of a job that is right without it."""
        first = ""
        for change in good:
            self.built(change)
        for change in bad:
            try:
                self.built(change)
            except ValidationError as error:
                first = first or str(error)
                continue
            raise Broken("a bad value was taken")
        return f"{len(good)} good, {len(bad)} bad" + (f" ({first})" if first else "")

    def built(self, change: Change) -> None:
        builder = DLJobBuilder().role("first").run("m.first").end()
        with contextlib.redirect_stderr(io.StringIO()):
            change(builder)
            canonical(JobConfig(job_name="x", dl_config=builder.build()))

    def examples(self) -> Iterator[Example]:
        yield Example("class entrypoint, get_status", "called while it runs", self.service)
        for name, good, bad in METHODS:
            how = How.REFUSED if bad else How.SHOWN
            yield Example(name, "as its row says", partial(self.method, good, bad), how)
