"""Both editions of DLRover's guide to its unified API, for tests/seeds: their programs run from
examples/dlrover, their tables of options and methods are tried value by value."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from harness import EXAMPLES, Json, Server, environment, patience, scratch
from muster import ValidationError
from muster.unified import DLJobBuilder, JobConfig
from muster.unified.canonical import canonical
from muster.unified.submit import options_of
from promise import OWN, Broken, Example, How, Page, by_tests, expect, rule_of

NODES = "1x16cpu,64Gi,MASTER_RESOURCE:999;2x16cpu,64Gi,4gpu,disk=100Gi,WORKER_RESOURCE:999"
# number, option, its default as the page has it, another value, why nothing acts on it here
NO_MASTER = "a warning: there is no master process"
OPTIONS = [
    (20, "master_cpu", 2, "3", NO_MASTER),
    (20, "master_mem", 4096, "512", NO_MASTER),
    (20, "master_max_restart", 10, "3", NO_MASTER),
    (20, "master_isolation_schedule_resource", "", "M", NO_MASTER),
]
OPTION = "DLROVER_UNIFIED_"
WORK = """
import os
from muster.worker import current_worker
def shows(): print(os.environ["NAME"], os.environ.get("OWN"), current_worker().job_info.user_config)
def fails(): raise SystemExit(3)
"""
MAIN = """
import sys
from dlrover.python.unified.api.builder import DLJobBuilder
sys.exit(DLJobBuilder(){chain}.build().submit(log=True))
"""
Change = Callable[[DLJobBuilder], Any]


class Programs(Page):
    """A server, and the programs of a page run as its reader runs them."""

    document = "unified"

    def open(self) -> None:
        self.server = Server(nodes=NODES)
        self.folder = scratch("seeds")
        (self.folder / "work.py").write_text(WORK)
        self.server.start()

    def close(self) -> None:
        left = self.server.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if left:
            raise Broken(f"still there after the end: {left}")

    def run(self, program: str, code: int = 0, env: Mapping[str, str] = {}) -> str:
        done = subprocess.run(
            [sys.executable, program],
            cwd=EXAMPLES / "dlrover",
            env={**environment(self.server.state), **env},
            capture_output=True,
            text=True,
            timeout=patience(170),
            check=False,
        )
        said = done.stdout + done.stderr
        expect(done.returncode == code, f"exit {done.returncode}: {said[-600:]}")
        return said

    def built(self, chain: str, code: int = 0, env: Mapping[str, str] = {}) -> Json:
        """The job of a program of our own: what its roles do is in work.py."""
        main = self.folder / "main.py"
        main.write_text(MAIN.format(chain=chain))
        self.run(str(main), code, {**env, "DLROVER_WORKING_DIR": str(self.folder)})
        return self.server.job(self.server.jobs()[0]["number"])

    def nodes_of(self, *roles: str) -> set[str]:
        """Of the newest job."""
        tasks = self.server.job(self.server.jobs()[0]["number"])["task_list"]
        return {t["attempts"][-1]["node"] for t in tasks if t["role"] in roles}


class Guide(Programs):
    """02-unified-api-guide: builder and submission."""

    page = "unified guide"
    count = 27
    outlined = False

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
        self.outlined = True
        expect(said.count("weight 3.000, target 3.0") == 7, said[-300:])
        return "7 workers of 3 roles"

    def isolation(self) -> str:
        if not self.outlined:
            self.outline()
        workers = self.nodes_of("actor", "critic", "evaluator")
        expect(workers <= {"n2", "n3"}, f"workers on {workers}")
        return f"workers on {', '.join(sorted(workers))} only"

    def option(self, name: str, default: Any, other: str) -> str:
        job = DLJobBuilder().role("r").run("a.b").end().build()
        env = {f"{OPTION}{name.upper()}": other}
        by_env = JobConfig(**{"job_name": "x", **options_of({}, env)}, dl_config=job)
        plain = JobConfig(**{"job_name": "x", **options_of({}, {})}, dl_config=job)
        if default is not None:
            expect(getattr(plain, name) == default, f"default {getattr(plain, name)}")
        expect(str(getattr(by_env, name)).removesuffix(".0") == other, "the variable is not read")
        return f"{default!r}; {other} from the environment"

    def node_restarts(self) -> str:
        self.option("node_max_restart", 10, "3")
        job = DLJobBuilder().role("r").run("a.b").end().build()
        tree = canonical(JobConfig(job_name="x", node_max_restart=3, dl_config=job))
        expect(tree["retry"]["platform"] == 3, str(tree["retry"]))
        return "retry.platform is 3"

    def job_name(self) -> str:
        self.option("job_name", None, "other")
        job = self.built('.role("r").run("work.shows").end()', env={f"{OPTION}JOB_NAME": "other"})
        expect(job["name"] == "other", job["name"])
        return "the job is called other"

    def job_restarts(self) -> str:
        self.option("job_max_restart", 10, "3")
        chain = '.role("r").run("work.fails").end()'
        job = self.built(chain, 1, {f"{OPTION}JOB_MAX_RESTART": "1"})
        expect(job["restarts"] == 1, str(job["restarts"]))
        return f"started again once; {job['reason']}"

    def worker_isolation(self) -> str:
        self.option("worker_isolation_schedule_resource", "", "W")
        name = f"{OPTION}WORKER_ISOLATION_SCHEDULE_RESOURCE"
        chain = '.device_type("CPU").role("r").run("work.shows").total(3).end()'
        self.built(chain, env={name: "MASTER_RESOURCE"})
        expect(self.nodes_of("r") == {"n1"}, str(self.nodes_of("r")))
        return "all on n1, which has it"

    def resources(self) -> str:
        """A disk and a resource of one's own: only nodes that have them."""
        more = 'resource(disk=1024, ud_resource={"WORKER_RESOURCE": 1})'
        self.built(f'.role("r").run("work.shows").total(2).{more}.end()')
        nodes = self.nodes_of("r")
        expect(nodes <= {"n2", "n3"}, str(nodes))
        return f"on {', '.join(sorted(nodes))}, which have both"

    def collocation_all(self) -> str:
        roles = "".join(f'.role("{r}").run("work.shows").resource(gpu=0.5).end()' for r in "abc")
        self.built(f'.node_num(2).device_per_node(4).device_type("GPU"){roles}'
                   ".with_collocation_all()")  # fmt: skip
        nodes = self.nodes_of("a", "b", "c")
        expect(len(nodes) == 1, str(nodes))
        return f"three roles on {nodes.pop()}"

    def user_config(self) -> str:
        job = self.built('.config({"a": {"b": 1}}).global_env({"OWN": "all"}).role("r")'
                         '.run("work.shows").env({"OWN": "role"}).end()')  # fmt: skip
        said = self.server.log(job["number"]).strip()
        expect(said.endswith("role {'a': {'b': 1}}"), said)
        return said

    def examples(self) -> Iterator[Example]:
        run, worker = "test_unified_run.py", "test_unified_worker.py"
        build = "test_unified_build.py"
        yield Example(3, "single role", "trains with 2 x 2 processes", self.single_role,
                      How.CHANGED, "the module that it names is ours")  # fmt: skip
        yield Example(4, "single role by a dlrover-run line", "runs", self.command_line,
                      How.CHANGED, "Your_dlrover_root_dir is named, dummy_run.py is ours",
                      )  # fmt: skip
        yield by_tests(4, "dlrover-run lines", "2 nodes of 2 processes, their group",
                        f"{run}::test_a_launcher_line",
                        "::test_a_launcher_line_has_the_process_group")  # fmt: skip
        filled = "its gaps are filled in"
        yield Example(5, "multiple roles (outline)", "runs", self.outline, How.CHANGED, filled)
        yield Example(1, "node_num, device_type, config, ...", "in that outline", self.isolation,
                      How.CHANGED, filled)  # fmt: skip
        yield Example(7, "RL", "reward rises", self.reinforcement, How.CHANGED,
                      "the modules that it names are ours, its GPUs are numbers")  # fmt: skip
        own = "roles of our own"
        yield by_tests(8, "PPO", "actor, rollout, reward, trainer",
                        f"{run}::test_reinforcement_learning_mocked", how=How.CHANGED,
                        note="roles that count instead of training")  # fmt: skip
        yield Example(
            9, "env, global_env, config", "the role's own wins", self.user_config, note=OWN
        )
        yield Example(10, "resource: disk", "a node that has it", self.resources,
                      note=f"{OWN}; declared by --nodes")  # fmt: skip
        yield Example(11, "resource: user_defined", "a node that has it", self.resources,
                      note=f"{OWN}; declared by --nodes")  # fmt: skip
        yield by_tests(12, "with_collocation, per_group", "a group shares a node",
                        f"{run}::test_groups_share_nodes", how=How.CHANGED, note=own)  # fmt: skip
        yield Example(13, "with_collocation_all: where", "one node", self.collocation_all, note=OWN)
        yield by_tests(14, "function, class, async, script", "all are entry points",
                        f"{run}::test_an_async_function_is_awaited", "::test_ends_of_a_script",
                        f"{worker}::test_function_is_called_once_on_the_main_thread",
                        "::test_class_is_constructed_then_run")  # fmt: skip
        yield by_tests(15, "entry point not importable", "fails at once, searched paths",
                        f"{run}::test_what_cannot_be_imported_is_not_tried_again")  # fmt: skip
        yield by_tests(16, "job_info.user_config", "in every worker",
                        f"{run}::test_simple_role_knows_itself")  # fmt: skip
        yield Example(19, "DLROVER_UNIFIED_JOB_NAME", "names the job", self.job_name, note=OWN)
        yield Example(19, "DLROVER_UNIFIED_JOB_MAX_RESTART", "so many", self.job_restarts,
                      note=OWN)  # fmt: skip
        yield Example(19, "..._WORKER_ISOLATION_...", "nodes that have it", self.worker_isolation,
                      note=OWN)  # fmt: skip
        yield by_tests(20, "MASTER_CREATE_TIMEOUT", "a server that does not start in time",
                        f"{build}::test_a_server_that_does_not_start_in_time",
                        how=How.CHANGED, note="the server stands for the master")  # fmt: skip
        yield by_tests(20, "MASTER_CPU, ... of a job", "a warning, in words",
                        f"{build}::test_nothing_acts_on_a_master", how=How.SHOWN)  # fmt: skip
        yield by_tests(22, "failover of a process", "it comes back in its place",
                        f"{run}::test_a_killed_process_of_an_elastic_role",
                        how=How.CHANGED, note=own)  # fmt: skip
        yield by_tests(23, "failover_exec_strategy=2", "the role starts anew, the others go on",
                        f"{run}::test_role_failover", "::test_role_failover_within_its_budget",
                        how=How.CHANGED, note=own)  # fmt: skip
        yield by_tests(24, "failover_exec_strategy=1", "all of the job starts anew",
                        f"{run}::test_job_failover_within_its_budget",
                        "::test_a_killed_worker_restarts_the_job",
                        how=How.CHANGED, note=own)  # fmt: skip
        yield Example(21, "node_max_restart", "default, environment, so many faults of nodes",
                      self.node_restarts, How.CHANGED, OWN)  # fmt: skip
        for of, name, default, other, note in OPTIONS:
            yield Example(of, name, "default, environment",
                          partial(self.option, name, default, other), How.SHOWN,
                          note)  # fmt: skip


WRONG_ENV: Any = {"A": 1}
# number, method, values that are fine, values that are not
METHODS: list[tuple[int, str, list[Change], list[Change]]] = [
    (18, "dl_type", [lambda b, t=t: b.dl_type(t) for t in ("PRE", "SFT", "RL", "MULTIMODAL")],  # type: ignore[misc]
     [lambda b: b.dl_type("X")]),
    (1, "node_num", [lambda b: b.node_num(3)],
     [lambda b: b.node_num(0), lambda b: b.node_num("x")]),
    (1, "device_per_node", [lambda b: b.device_per_node(1)], [lambda b: b.device_per_node(0)]),
    (1, "config", [lambda b: b.config({"a": {"b": 1}})], [lambda b: b.config({"a": object()})]),
    (9, "global_env", [lambda b: b.global_env({"A": "1"})], [lambda b: b.global_env(WRONG_ENV)]),
    (6, "workload",
     [lambda b: b.workload("w", "m", "C").end(), lambda b: b.workload("w", "m.C").end()],
     [lambda b: b.workload("w", "main").end()]),
    (12, "with_collocation",
     [lambda b: b.workload("w", "m.C").resource({"gpu": 1}).end().with_collocation("first", "w")],
     [lambda b: b.with_collocation("first", "nobody")]),
    (9, "total", [lambda b: b.workload("w", "m.C").total(3).end()],
     [lambda b: b.workload("w", "m.C").total(-1).end()]),
    (12, "per_group", [lambda b: b.workload("w", "m.C").total(4).per_group(2).end()],
     [lambda b: b.workload("w", "m.C").total(3).per_group(2).end()]),
    (9, "env", [lambda b: b.workload("w", "m.C").env({"A": "1"}).end()],
     [lambda b: b.workload("w", "m.C").env(WRONG_ENV).end()]),
    (9, "resource", [lambda b: b.workload("w", "m.C").resource({"cpu": 1, "memory": 64}).end()],
     [lambda b: b.workload("w", "m.C").resource({"cpu": -1}).end()]),
    (25, "disable_ray_auto_visible_device",
     [lambda b: b.workload("w", "m.C").disable_ray_auto_visible_device().end()], []),
]  # fmt: skip


class OlderGuide(Programs):
    """Unified API Guide [Experimental]."""

    page = "older guide"

    def open(self) -> None:
        super().open()
        self.ends: dict[str, str] = {}

    def service(self) -> str:
        said = self.run("service.py")
        steps = [int(n) for n in re.findall(r"status \{'step': (\d+)", said)]
        expect(len(steps) == 3 and steps == sorted(steps), said[-300:])
        expect("k1 is v1" in said, said[-300:])
        tasks = self.server.job(self.server.jobs()[0]["number"])["task_list"]
        self.ends = {task["role"].lower(): task["state"] for task in tasks}
        return f"asked while it ran: steps {', '.join(map(str, steps))}"

    def role_of_it(self, role: str) -> str:
        if not self.ends:
            self.service()
        expect(self.ends.get(role) == "succeeded", str(self.ends))
        return f"{role} succeeded"

    def method(self, good: list[Change], bad: list[Change]) -> str:
        """Each change on top of a job that is right without it."""
        first = ""
        for change in good:
            self.canonical(change)
        for change in bad:
            try:
                self.canonical(change)
            except ValidationError as error:
                first = first or str(error)
                continue
            raise Broken("a bad value was taken")
        return f"{len(good)} good, {len(bad)} bad" + (f" ({first})" if first else "")

    def canonical(self, change: Change) -> None:
        builder = DLJobBuilder().role("first").run("m.first").end()
        with contextlib.redirect_stderr(io.StringIO()):
            change(builder)
            canonical(JobConfig(job_name="x", dl_config=builder.build()))

    def examples(self) -> Iterator[Example]:
        build, ours = "test_unified_build.py", "the modules that it names are ours"
        yield by_tests(2, "config(DictConfig(args.__dict__))", "of a dict",
                        f"{build}::test_user_config_is_a_dict_config", how=How.CHANGED,
                        note="DictConfig of a dict; the page's own line ends before it comes here",
                        )  # fmt: skip
        yield Example(17, "class entrypoint, get_status", "called while it runs", self.service,
                      How.CHANGED, ours)  # fmt: skip
        yield Example(
            6, "workload(role, module, entry)", "runs", partial(self.role_of_it, "watcher")
        )
        yield by_tests(17, "@rpc(export=True), RoleGroup", "roles call each other",
                        "test_unified_run.py::test_roles_call_each_other",
                        "::test_a_dead_worker_is_told_and_waited_for",
                        how=How.CHANGED, note="roles of our own")  # fmt: skip
        yield Example(18, "trainer(module, class)", "runs", partial(self.role_of_it, "trainer"),
                      How.CHANGED, ours)  # fmt: skip
        yield by_tests(26, "several mistakes", "all of them at once",
                        f"{build}::test_all_problems_at_once", how=How.REFUSED)  # fmt: skip
        yield by_tests(27, "stragglers", "never between tasks that share a node",
                        "test_node_check.py::test_tasks_that_share_a_node_are_not_compared",
                        )  # fmt: skip
        for of, name, good, bad in METHODS:
            yield Example(of, name, "values on both sides", partial(self.method, good, bad),
                          rule_of(bad))  # fmt: skip
