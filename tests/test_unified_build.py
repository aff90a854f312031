"""The unified API up to the job that is submitted: builders, their errors, the canonical tree.
Cases mirror those of the reference's own tests and the behaviour measured on it."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from harness import ROOT
from muster.client import Job
from muster.errors import MusterError, ValidationError
from muster.unified import (
    AcceleratorType,
    CustomWorkloadDesc,
    DLConfig,
    DLJob,
    DLJobBuilder,
    DLStreamType,
    ElasticWorkloadDesc,
    JobConfig,
    ResourceDesc,
    RLJob,
    RLJobBuilder,
    RLRoleType,
    SimpleWorkloadDesc,
    command,
    entry,
)
from muster.unified import submit as submitting
from muster.unified.__main__ import main as driver_main
from muster.unified.canonical import canonical, task_role, without_effect
from muster.unified.roles import NOSET_ENVS
from omegaconf import DictConfig, OmegaConf

Build = Callable[[], Any]
ONLY = "Only 'dlrover-run' and 'torchrun' command is supported"
SCRIPT = "/some/where/dummy_run.py"
PYTHON_ROOTS = [str(ROOT / "python/muster/src"), str(ROOT / "python/muster-dlrover/src")]


def refused(build: Build) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        build()
    return caught.value


def paths(error: ValidationError) -> list[str]:
    return [problem.path for problem in error.problems]


def simple(role: str = "a", entrypoint: str = "m.f") -> Any:
    return DLJobBuilder().device_type("CPU").role(role).run(entrypoint)


def config_of(job: DLConfig, **options: Any) -> JobConfig:
    return JobConfig(**{"job_name": "job", **options}, dl_config=job)


def tree_of(job: DLConfig, **options: Any) -> dict[str, Any]:
    return canonical(config_of(job, **options), "/usr/bin/python3")


# ---- entrypoints ----


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("test.test", "MODULE_FUNC"),
        ("my.module.run", "MODULE_FUNC"),
        ("a.b", "MODULE_FUNC"),
        ("test.py", "PY_CMD"),
        ("test.py --test1", "PY_CMD"),
        ("./test.py", "PY_CMD"),
        ("/path/test.py", "PY_CMD"),
        ("python x.py", "PY_CMD"),
        ("/bin/bash -c 'x'", "PY_CMD"),
        ("'my script.py' --a", "PY_CMD"),
        ("-m pkg.mod --a 1", "PY_CMD"),
        ("test", None),
        ("abc", None),
        ("", None),
        ("a-b.c", None),
        ("main", None),
        ("-m", None),
        ("a.b c", None),
        ("it's not", None),
    ],
)
def test_entrypoint_kinds(text: str, kind: str | None) -> None:
    assert entry.entrypoint_type(text) == kind


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("m.x::b", "m.x.b"),
        ("tset::main", "tset.main"),
        ("  a::b ", "a.b"),
        ("x.py --a b::c", "x.py --a b.c"),
        ("script.py 'a b'", "script.py 'a b'"),
    ],
)
def test_entrypoints_are_normalized(given: str, kept: str) -> None:
    assert simple(entrypoint=given).build().workloads["a"].entry_point == kept


# ---- the reference's builder tests ----


def rl_job() -> RLJob:
    return (
        RLJobBuilder()
        .node_num(2)
        .device_per_node(4)
        .device_type("GPU")
        .config({"k1": "v1"})
        .global_env({"e0": "v0"})
        .trainer("tests.trainer::run")
        .end()
        .actor("tests.actor::run")
        .total(4)
        .per_group(2)
        .env({"e1": "v1"})
        .end()
        .rollout("tests.rollout::run")
        .total(4)
        .per_group(2)
        .env({"e2": "v2"})
        .end()
        .reward("tests.reward::run")
        .total(4)
        .per_group(2)
        .env({"e3": "v3"})
        .end()
        .reference("tests.reference::run")
        .total(4)
        .per_group(2)
        .end()
        .critic("tests.critic::run")
        .total(4)
        .per_group(2)
        .end()
        .with_collocation("ACTOR", "ROLLOUT")
        .build()
    )


def test_basic() -> None:
    job = rl_job()
    assert list(job.workloads) == [
        *("TRAINER", "ACTOR", "ROLLOUT", "REWARD", "REFERENCE", "CRITIC"),
    ]
    assert job.get_workload("ACTOR").entry_point == "tests.actor.run"
    assert [job.workloads[r].total for r in ("TRAINER", "ACTOR", "REWARD")] == [1, 4, 4]
    assert [job.workloads[r].per_group for r in ("ACTOR", "ROLLOUT", "CRITIC")] == [2, 2, 2]
    assert job.workloads["ROLLOUT"].envs == {"e2": "v2"}
    assert job.config == {"k1": "v1"}
    assert job.env == {"e0": "v0"}
    assert (job.node_num, job.device_per_node, job.device_type) == (2, 4, "GPU")
    assert job.collocations == [{"ACTOR", "ROLLOUT"}]
    assert job.stream_type is DLStreamType.TASK_STREAM
    assert [job.workloads[r].is_driver for r in job.workloads] == [True] + [False] * 5
    assert isinstance(job.workloads["ACTOR"], ElasticWorkloadDesc)
    assert isinstance(job.workloads["ROLLOUT"], SimpleWorkloadDesc)
    trainer = job.workloads["TRAINER"].resource
    assert (trainer.cpu, trainer.memory, trainer.accelerator) == (4, 8192, 0)
    with pytest.raises(KeyError):
        job.get_workload("nobody")


@pytest.mark.parametrize(
    ("program", "flags", "check"),
    [
        ("dlrover-run", "--node_check", True),
        ("dlrover-run", "--network-check", True),
        ("dlrover-run", "--precheck=1", True),
        ("dlrover-run", "", False),
        ("torchrun", "", True),
        ("/opt/bin/torchrun", "", True),
    ],
)
def test_by_line(program: str, flags: str, check: bool) -> None:
    cmd = f"{program} --nnodes=2 --nproc_per_node=2 {flags} {SCRIPT} --test 0"
    job = DLJobBuilder().by_dlrover_run_cmd(cmd).build()
    role = job.workloads["ELASTIC"]
    assert isinstance(role, ElasticWorkloadDesc)
    assert (role.total, role.per_group, role.resource.accelerator) == (4, 2, 1.0)
    assert (job.node_num, job.device_per_node) == (2, 2)
    assert role.entry_point == f"{SCRIPT} --test 0"
    assert role.comm_pre_check is check
    assert role.comm_auto_setup_process_group
    assert (job.config, job.env, role.envs) == ({}, {}, {})


def test_extra_flags() -> None:
    job = (
        DLJobBuilder()
        .train("m.f")
        .end()
        .role("other")
        .run("m.g")
        .end()
        .no_setup_process_group()
        .skip_node_check()
        .build()
    )
    elastic, other = job.workloads["ELASTIC"], job.workloads["other"]
    assert isinstance(elastic, ElasticWorkloadDesc)
    assert not elastic.comm_auto_setup_process_group
    assert not elastic.comm_pre_check
    assert not hasattr(other, "comm_pre_check")


@pytest.mark.parametrize(
    "build",
    [
        lambda: DLJobBuilder().build(),
        lambda: DLJobBuilder().node_num(1).build(),
        lambda: DLJobBuilder().node_num(1).device_per_node(1).build(),
        lambda: DLJobBuilder().config({"a": 1}).device_type("CPU").build(),
        lambda: DLJobBuilder().role("a").build(),
    ],
)
def test_no_roles(build: Build) -> None:
    error = refused(build)
    assert "At least one workload must be defined." in str(error)
    assert "No roles" in str(error)


def test_validation() -> None:
    error = refused(lambda: DLJobBuilder().device_type("mem").train("a.b").build())
    assert paths(error) == ["accelerator_type"]
    assert isinstance(error, ValueError)
    error = refused(lambda: RLJobBuilder().trainer("a.b").build())
    assert "'actor' must be configured." in str(error)
    assert "Invalid entrypoint." in str(refused(lambda: RLJobBuilder().trainer("").build()))
    job = RLJobBuilder().trainer("a.b").end().actor("a.c").build()
    assert isinstance(job, RLJob)


def test_rl_rules() -> None:
    error = refused(lambda: RLJobBuilder().actor("a.b").end().as_data_stream().build())
    assert "Invalid stream type for RLJob, expected TASK_STREAM" in str(error)
    error = refused(lambda: RLJobBuilder().actor("a.b").end().role("x").run("a.b").build())
    assert "Invalid role 'x' for RLJob, supported roles are" in str(error)
    assert DLJobBuilder().role("x").run("a.b").end().as_data_stream().build().stream_type == (
        "DATA_STREAM"
    )


def test_invalid_collocation() -> None:
    def two() -> DLJobBuilder:
        made = DLJobBuilder().role("a").run("m.f").end().role("b").run("m.f").end()
        assert isinstance(made, DLJobBuilder)
        return made

    error = refused(lambda: two().with_collocation("a", "b").with_collocation("a").build())
    assert "Role a has already been assigned to a group: collocation_0" in str(error)
    error = refused(lambda: two().with_collocation("a", "nobody").build())
    assert "Role 'nobody' is not defined in workloads, but is included in collocation." in str(
        error
    )
    assert "No roles" in str(refused(lambda: two().with_collocation().build()))
    error = refused(
        lambda: DLJobBuilder().with_collocation_all().role("a").run("m.f").end().build()
    )
    assert "No roles" in str(error)


def test_collocation_all() -> None:
    job = (
        RLJobBuilder()
        .trainer("a.b")
        .end()
        .actor("a.b")
        .end()
        .rollout("a.b")
        .end()
        .with_collocation_all()
        .build()
    )
    assert job.collocations == [{"ACTOR", "ROLLOUT"}]
    assert job.workloads["TRAINER"].group is None
    job = simple("a").role("b").run("m.f").role("C").run("m.f").with_collocation_all("c").build()
    assert job.collocations == [{"a", "b"}]


def collocated(*shapes: tuple[str, int, int]) -> Any:
    builder = DLJobBuilder().node_num(2).device_per_node(4)
    for role, total, per_group in shapes:
        builder.role(role).run("m.f").total(total).per_group(per_group)
    return builder


def test_shares() -> None:
    job = (
        collocated(("a", 4, 2), ("b", 4, 2), ("c", 2, 1), ("d", 2, 1))
        .with_collocation("a", "b")
        .with_collocation("c", "d")
        .build()
    )
    assert [w.group for w in job.workloads.values()] == ["collocation_0"] * 2 + [
        "collocation_1"
    ] * 2
    assert {w.resource.accelerator for w in job.workloads.values()} == {0.5}
    triple = collocated(("a", 2, 1), ("b", 2, 1), ("c", 2, 1)).with_collocation_all().build()
    assert triple.workloads["b"].resource.accelerator == pytest.approx(1 / 3)
    mixed = collocated(("a", 12, 6), ("b", 4, 2)).with_collocation("a", "b").build()
    (group,) = mixed.workload_group
    assert (group.num, group.resource.accelerator) == (2, 4.0)
    assert [w.total for w in mixed.workloads.values()] == [12, 4]


def test_six_roles_fit_on_one_device() -> None:
    builder = DLJobBuilder().device_per_node(1)
    for role in "abcdef":
        builder.role(role).run("m.f").resource(cpu=1, memory=64)
    job = builder.with_collocation_all().build()
    tree = tree_of(job)
    assert [each["resources"]["gpu"] for each in tree["roles"].values()] == [0.166] * 6
    assert tree["roles"]["a"]["resources"]["memory"] == 64 << 20
    assert tree["place"] == {"together": [{"roles": list("abcdef")}]}


def test_two_roles_share_the_only_device() -> None:
    def two() -> Any:
        return DLJobBuilder().device_per_node(1).role("a").run("m.f").role("b").run("m.f")

    assert "Total accelerator resource 2" in str(refused(two().build))
    assert two().with_collocation("a", "b").build().workload_group[0].resource.accelerator == 1


def test_collocated_counts_must_match() -> None:
    error = refused(lambda: collocated(("a", 4, 1), ("b", 2, 1)).with_collocation("a", "b").build())
    assert "Instance number for workload 'b' is inconsistent" in str(error)
    assert paths(error) == ["workloads.b.total"]


@pytest.mark.parametrize(
    ("roles", "named", "meant"),
    [
        (("actor", "rollout"), ("actor", "rollout"), {"actor", "rollout"}),
        (("actor", "rollout"), ("ACTOR", "Rollout"), {"actor", "rollout"}),
        (("Actor", "actor", "b"), ("actor", "b"), {"actor", "b"}),
    ],
)
def test_collocation_names(roles: tuple[str, ...], named: tuple[str, ...], meant: set[str]) -> None:
    builder = collocated(*[(role, 1, 1) for role in roles])
    assert builder.with_collocation(*named).build().collocations == [meant]


def test_ambiguous_collocation_name() -> None:
    builder = collocated(("Actor", 1, 1), ("actor", 1, 1), ("b", 1, 1))
    assert "may be any of" in str(refused(builder.with_collocation("ACTOR", "b").build))


def test_disable_ray_auto_visible_device() -> None:
    job = (
        RLJobBuilder()
        .actor("a.b")
        .end()
        .rollout("a.b")
        .disable_ray_auto_visible_device()
        .env({"k": "v"})
        .end()
        .with_collocation("Actor", "rollout")
        .build()
    )
    assert job.workloads["ROLLOUT"].envs == {**NOSET_ENVS, "k": "v"}
    assert len(NOSET_ENVS) == 7
    undone = simple().disable_ray_auto_visible_device().enable_ray_auto_visible_device().build()
    assert undone.workloads["a"].envs == {}


def test_elastic() -> None:
    def trained(entrypoint: str) -> DLJob:
        return (
            DLJobBuilder()
            .node_num(2)
            .device_per_node(2)
            .device_type("CPU")
            .config({})
            .train(entrypoint)
            .nnodes(2)
            .nproc_per_node(2)
            .end()
            .build()
        )

    job = trained("test::main")
    role = job.workloads["ELASTIC"]
    assert (role.entry_point, role.total, role.per_group) == ("test.main", 4, 2)
    assert role.resource.accelerator == 1.0
    assert role.backend == "elastic"
    assert paths(refused(lambda: trained("test"))) == ["workloads.ELASTIC.entry_point"]


def test_role_builder() -> None:
    job = simple(entrypoint="tset::main").env(None).sub_stage(None).build()
    assert (job.workloads["a"].envs, job.workloads["a"].sub_stage) == ({}, [])
    assert simple().sub_stage([1]).build().workloads["a"].sub_stage == [1]
    assert paths(refused(simple(entrypoint="bad").build)) == ["workloads.a.entry_point"]
    assert paths(refused(simple().total(-1).build)) == ["workloads.a.total"]


# ---- what the reference's code does besides (or should have done) ----


@pytest.mark.parametrize(
    ("calls", "total", "per_group"),
    [
        ([("nnodes", 3), ("nproc_per_node", 4)], 12, 4),
        ([("nproc_per_node", 4), ("nnodes", 3)], 12, 4),
        ([("total", 6), ("nproc_per_node", 2)], 12, 2),
        ([("nproc_per_node", 2), ("total", 6)], 6, 2),
        ([("nproc_per_node", 0), ("nproc_per_node", 2)], 2, 2),
        ([("nnodes", "3"), ("nproc_per_node", 4.0)], 12, 4),
    ],
)
def test_counts_of_a_training_role(
    calls: list[tuple[str, Any]], total: int, per_group: int
) -> None:
    role: Any = DLJobBuilder().node_num(12).train("m.f")
    for name, value in calls:
        role = getattr(role, name)(value)
    made = role.build().workloads["ELASTIC"]
    assert (made.total, made.per_group) == (total, per_group)


def test_per_group_must_divide() -> None:
    error = refused(DLJobBuilder().train("m.f").nnodes(3).per_group(4).build)
    assert "instance_number 3 must be divisible by per_group 4" in str(error)


def test_counts_belong_to_training_roles() -> None:
    with pytest.raises(AttributeError, match="nnodes"):
        simple().nnodes(2)
    with pytest.raises(AttributeError, match="submit"):
        DLJobBuilder().submit()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("given", "total"), [("4", 4), (4.0, 4), (True, 1), (0, 0), ("4.0", 4)])
def test_whole_numbers(given: Any, total: int) -> None:
    made = simple().total(given).build().workloads["a"].total
    assert made == total
    assert type(made) is int


BAD_ROLES: list[tuple[str, Callable[[Any], Any], str]] = [
    ("half", lambda r: r.total(4.5), "workloads.a.total"),
    ("text", lambda r: r.total("four"), "workloads.a.total"),
    ("none", lambda r: r.total(None), "workloads.a.total"),
    ("negative", lambda r: r.total(-1), "workloads.a.total"),
    ("no group", lambda r: r.per_group(0), "workloads.a.per_group"),
    ("not divisible", lambda r: r.total(5).per_group(3), "workloads.a.total"),
    ("env value", lambda r: r.env({"k": 1}), "workloads.a.envs.k"),
    ("env key", lambda r: r.env({1: "k"}), "workloads.a.envs.1"),
    ("env kind", lambda r: r.env(["k"]), "workloads.a.envs"),
    ("cpu", lambda r: r.resource(cpu=-1), "workloads.a.resource.cpu"),
    ("cpu text", lambda r: r.resource(cpu="x"), "workloads.a.resource.cpu"),
    ("memory", lambda r: r.resource(memory=1.5), "workloads.a.resource.memory"),
    ("nan", lambda r: r.resource(cpu=float("nan")), "workloads.a.resource.cpu"),
    ("custom", lambda r: r.resource(user_defined={"x": -1}), "workloads.a.resource.user_defined.x"),
    ("restart", lambda r: r.restart("node"), "workloads.a.restart"),
    ("node_num", lambda r: r.end().node_num(0), "node_number"),
    ("device_per_node", lambda r: r.end().device_per_node(0), "device_per_node"),
    ("device_type", lambda r: r.end().device_type("cpu"), "accelerator_type"),
    ("dl_type", lambda r: r.end().dl_type("XYZ"), "dl_type"),
    ("global_env", lambda r: r.end().global_env({"k": 1}), "global_envs.k"),
    ("entry", lambda r: r.role("b").run(""), "workloads.b.entry_point"),
    ("entry kind", lambda r: r.role("b").run(7), "workloads.b.entry_point"),
    (
        "exceeds the node",
        lambda r: r.total(4).per_group(4).end().device_per_node(2),
        "workloads.a.resource.accelerator",
    ),
    ("exceeds all", lambda r: r.end().device_per_node(1).role("b").run("m.f"), "workloads"),
]


@pytest.mark.parametrize(
    ("change", "path"), [b[1:] for b in BAD_ROLES], ids=[b[0] for b in BAD_ROLES]
)
def test_bad_values(change: Callable[[Any], Any], path: str) -> None:
    assert paths(refused(change(simple()).build)) == [path]


def test_all_problems_at_once() -> None:
    builder = (
        simple("a", "abc")
        .total(-1)
        .env({"k": 1})
        .role("b")
        .train("x")
        .nnodes("q")
        .device_type("mem")
        .node_num(0)
        .with_collocation("nobody")
    )
    assert sorted(paths(refused(builder.build))) == [
        "accelerator_type",
        "collocations",
        "node_number",
        "workloads.a.entry_point",
        "workloads.a.envs.k",
        "workloads.a.total",
        "workloads.b.entry_point",
        "workloads.b.nnodes",
    ]


def test_hundred_instances_are_the_clusters_business() -> None:
    job = DLJobBuilder().device_per_node(1).role("a").run("m.f").total(100).build()
    assert job.workloads["a"].total == 100


def test_roles_and_their_names() -> None:
    assert "Role must be set before calling run()." in str(
        refused(lambda: DLJobBuilder().run("m.f"))
    )
    again = "Role 'x' is already defined."
    assert again in str(refused(lambda: DLJobBuilder().role("x").run("m.f").end().train("m.f")))
    assert again in str(refused(lambda: DLJobBuilder().workload("x", "m.f").end().run("m.f")))
    job = DLJobBuilder().role("").train("m.f").role("Größe 1").run("m.f").build()
    assert list(job.workloads) == ["ELASTIC", "Größe 1"]
    with pytest.raises(TypeError):
        DLJobBuilder().global_env(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("resource", "wanted"),
    [
        ({"gpu": 2}, (0, 0, 2)),
        ({"gpu": 2, "cpu": 1}, (1, 0, 2)),
        ({"mem": 8192, "cpu": 1}, (1, 8192, 0)),
        ({"acc": 0.5}, (0, 0, 0.5)),
        ({"accelerator": 1, "gpu": 2}, (0, 0, 1)),
        ({"cpu": "2", "memory": 64.0}, (2, 64, 0)),
        ({"memory": 64}, (0, 64, 1)),
        ({"disk": 64}, (0, 0, 1)),
        ({}, (0, 0, 1)),
    ],
)
@pytest.mark.parametrize("as_dict", [True, False])
def test_resources(
    resource: dict[str, Any], wanted: tuple[float, float, float], as_dict: bool
) -> None:
    role = simple().resource(resource) if as_dict else simple().resource(**resource)
    made = role.build().workloads["a"].resource
    assert (made.cpu, made.memory, made.accelerator) == wanted


def test_a_later_resource_replaces() -> None:
    made = simple().resource(cpu=4).resource(accelerator=1).build().workloads["a"].resource
    assert (made.cpu, made.accelerator) == (0, 1)
    custom = simple().resource(ud_resource={"X": 2}).build().workloads["a"].resource
    assert (custom.accelerator, custom.user_defined) == (0, {"X": 2.0})
    assert simple().resource(1, 2, 3, 4).build().workloads["a"].resource.disk == 3


def test_unknown_resource_is_named() -> None:
    with pytest.warns(UserWarning, match="workloads.a.resource.gpus .* did you mean gpu"):
        simple().resource(gpus=1, cpu=1).build()


@pytest.mark.parametrize(
    ("key", "timeout", "on"), [("k", 20, False), ("", 60, False), ("k", 60, True)]
)
def test_node_group_failover(key: str, timeout: int, on: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        role = simple().enable_node_group_failover(key, timeout)
    assert role.build().workloads["a"].node_group_failover.enabled is on


def test_node_group_failover_between() -> None:
    error = refused(lambda: simple().enable_node_group_failover("k", 30))
    assert paths(error) == ["workloads.a.node_group_failover.timeout"]


def test_older_generations() -> None:
    job = (
        DLJobBuilder()
        .dl_type("SFT")
        .node_num(1)
        .device_per_node(4)
        .config({"k1": "v1"})
        .trainer("some.module", "Trainer")
        .end()
        .workload("reward", "some.module", "Reward")
        .total(2)
        .per_node(2)
        .envs({"a": "b"})
        .role("x")
        .run("m.f")
        .build()
    )
    assert job.workloads["TRAINER"].entry_point == "some.module.Trainer"
    assert job.workloads["TRAINER"].resource.memory == 8192
    reward = job.workloads["reward"]
    assert (reward.entry_point, reward.per_group) == ("some.module.Reward", 2)
    assert reward.envs == {"a": "b"}
    assert tree_of(job)["labels"] == {"dl_type": "SFT"}
    for name in ("SFT", "PRE", "RL", "MULTIMODAL"):
        builder = DLJobBuilder().role("a").run("m.f").end()
        assert getattr(builder, f"{name}_type")().build().dl_type == name


def test_dlrover_run_of_both_generations() -> None:
    line = DLJobBuilder().dlrover_run("dlrover-run --nnodes=2 --nproc_per_node=2 x.py").end()
    assert line.build().workloads["ELASTIC"].total == 4
    call = DLJobBuilder().dlrover_run("m::f", nnodes=2, nproc_per_node=2).end()
    assert call.build().workloads["ELASTIC"].entry_point == "m.f"


# ---- launchers' lines ----


def parsed(cmd: str, **environ: str) -> command.Line:
    return command.parse(cmd, environ)


@pytest.mark.parametrize(
    ("cmd", "wanted"),
    [
        ("torchrun --nnodes=1 x.py", {"nodes": 1, "nproc": "1", "entrypoint": "x.py"}),
        ("torchrun --nproc_per_node=2 x.py", {"nodes": 1, "nproc": "2"}),
        ("torchrun --nproc-per-node 2 x.py", {"nproc": "2"}),
        ("torchrun --nproc 2 --nn 3 x.py", {"nproc": "2", "nodes": 3}),
        ("torchrun --nnodes=1:4 x.py", {"min_nodes": 1, "nodes": 4}),
        ("torchrun --nproc_per_node=gpu x.py", {"nproc": "gpu"}),
        ("torchrun --standalone --nnodes 3 x.py", {"nodes": 1}),
        ("torchrun x.py --nproc=4", {"nproc": "1", "entrypoint": "x.py --nproc=4"}),
        ("torchrun -- x.py -a", {"entrypoint": "x.py -a"}),
        ("torchrun x.py -a 'b c' '$d'", {"entrypoint": "x.py -a 'b c' '$d'"}),
        ("torchrun -m pkg.mod --a 1", {"entrypoint": "-m pkg.mod --a 1"}),
        ("torchrun --max-restarts=3 x.py", {"max_restarts": 3}),
        ("torchrun --max_restarts 3 x.py", {"max_restarts": 3}),
        ("torchrun -r 3 -t3 x.py", {"dropped": ["--redirects", "--tee"]}),
        ("torchrun --rdzv-id=c --rdzv_id 1 x.py", {"dropped": ["--rdzv-id", "--rdzv-id"]}),
        ("dlrover-run --node_unit=2 --auto-tunning x.py", {"node_unit": 2}),
        ("dlrover-run --auto_tunning x.py", {"dropped": ["--auto-tunning"]}),
        ("dlrover-run --accelerator ascend-npu x.py", {"accelerator": True}),
        ("dlrover-run --precheck 0 x.py", {"check": False}),
        ("dlrover-run --training_port 6 --nnodes=3:6 x.py", {"min_nodes": 3, "nodes": 6}),
    ],
)  # fmt: skip
def test_lines(cmd: str, wanted: Mapping[str, Any]) -> None:
    line = parsed(cmd)
    assert {key: getattr(line, key) for key in wanted} == wanted


def test_line_defaults_from_the_environment() -> None:
    line = parsed("torchrun x.py", PET_NNODES="3", PET_NPROC_PER_NODE="2", PET_RDZV_ID="x")
    assert (line.nodes, line.nproc, line.dropped) == (3, "2", [])
    assert parsed("torchrun --nnodes 1 x.py", PET_NNODES="3").nodes == 1
    assert parsed("torchrun x.y", PET_MODULE="1").entrypoint == "-m x.y"


@pytest.mark.parametrize(
    ("cmd", "text"),
    [
        ("unsupported-run x.py", f"{ONLY}, got 'unsupported-run'"),
        ("", f"{ONLY}, got ''"),
        ("python -m torch.distributed.run x.py", "got 'python'"),
        ("torchrun --nnodes=1", "no training script"),
        ("torchrun --nnodes", "wants a value"),
        ("torchrun --nnodes=x x.py", "--nnodes is 'x'"),
        ("torchrun --nnodes=4:2 x.py", "--nnodes is '4:2'"),
        ("torchrun --nproc_per_node=many x.py", "--nproc-per-node is 'many'"),
        ("torchrun --node_check x.py", "dlrover-run has it"),
        ("torchrun --rdzv=x x.py", "may be --rdzv-backend, --rdzv-endpoint"),
        ("torchrun --whatever x.py", "--whatever is not known"),
        ("torchrun -x x.py", "-x is not known"),
        ("torchrun --standalone=1 x.py", "takes no value"),
        ("torchrun --start-method=thread x.py", "spawn|fork|forkserver"),
        ("torchrun --max-restarts=many x.py", "wanted is a number"),
        ("torchrun --no-python ./x", "--no-python runs no Python"),
        ("torchrun 'x.py", "is no shell command"),
        ("dlrover-run --nnode=2 x.py", "--nnode is not known"),
    ],
)  # fmt: skip
def test_bad_lines(cmd: str, text: str) -> None:
    with pytest.raises(ValueError, match="."):
        DLJobBuilder().by_dlrover_run_cmd(cmd)
    assert text in str(refused(lambda: DLJobBuilder().by_dlrover_run_cmd(cmd)))


def test_lines_that_fail_at_build() -> None:
    job = DLJobBuilder().by_dlrover_run_cmd("torchrun --nnodes=0 x.py")
    assert "node_number" in paths(refused(job.build))
    job = DLJobBuilder().by_dlrover_run_cmd("torchrun --nnodes=1 train")
    assert "Invalid entrypoint." in str(refused(job.build))
    job = DLJobBuilder().by_dlrover_run_cmd("dlrover-run --nnodes=3 --node_unit=2 x.py")
    assert paths(refused(job.build)) == ["workloads.ELASTIC.node_unit"]


def test_what_a_line_drops_is_named() -> None:
    with pytest.warns(UserWarning, match="--rdzv-endpoint, --master-port") as caught:
        DLJobBuilder().by_dlrover_run_cmd(
            "torchrun --rdzv_endpoint=h:1 --master_port=2 --rdzv_endpoint=h:2 x.py"
        )
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_line_under_a_role_with_a_device_type() -> None:
    builder = DLJobBuilder().role("gpt").device_type("GPU")
    job = builder.by_dlrover_run_cmd("dlrover-run --nnodes=2:4 --nproc_per_node=2 x.py").build()
    assert list(job.workloads) == ["gpt"]
    assert not job.device_type_from_cluster
    role = tree_of(job)["roles"]["gpt"]
    assert (role["replicas"], role["per_group"]) == ({"min": 4, "max": 8}, 2)
    assert role["launcher"]["node_unit"] == 2
    job = DLJobBuilder().by_dlrover_run_cmd("torchrun x.py").device_type("GPU").build()
    assert not job.device_type_from_cluster


@pytest.mark.parametrize(
    ("word", "said", "here", "wanted"),
    [
        ("gpu", 4, 0, (4, True)),
        ("gpu", None, 2, (2, True)),
        ("auto", None, 2, (2, True)),
        ("auto", None, 0, (os.cpu_count(), False)),
        ("cpu", 4, 2, (os.cpu_count(), False)),
        ("3", None, 0, (3, True)),
    ],
)
def test_processes_of_a_line(
    word: str, said: int | None, here: int, wanted: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "local_devices", lambda: here)
    assert command.processes(word, said) == wanted


def test_no_devices_to_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "local_devices", lambda: 0)
    builder = DLJobBuilder()
    error = refused(lambda: builder.by_dlrover_run_cmd("torchrun --nproc_per_node=gpu x.py"))
    assert "device_per_node(N)" in str(error)
    job = DLJobBuilder().by_dlrover_run_cmd("torchrun --nproc_per_node=cpu x.py").build()
    assert job.device_type == "CPU"


# ---- descriptions ----


def test_workload_descriptions() -> None:
    cpu = {"cpu": 1}
    made = SimpleWorkloadDesc(entry_point="a::b", resource=cpu)
    assert made.entry_point == "a.b"
    assert made.entry_point_type == "MODULE_FUNC"
    for data, text in [
        ({"entry_point": "a_b_c", "resource": cpu}, "Invalid entrypoint."),
        ({"entry_point": "a.b", "resource": {}}, "Resource must not be empty"),
        ({"entry_point": "a.b", "total": 5, "per_group": 3}, "divisible"),
        ({"entry_point": "a.b", "rank_based_gpu_selection": True}, "rank_based_gpu_selection"),
        (
            {
                "entry_point": "a.b",
                "rank_based_gpu_selection": True,
                "total": 2,
                "per_group": 2,
                "resource": {"gpu": 2},
            },
            "rank_based_gpu_selection",
        ),
        ({}, "entry_point: is required"),
        ({"entry_point": "a.b", "comm_timeout_s": -1}, "comm_timeout_s"),
    ]:
        assert text in str(refused(lambda data=data: ElasticWorkloadDesc(**data)))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"entry_point": "a.b"}, ElasticWorkloadDesc),
        ({"entrypoint": "a.b", "num": 2, "res": {"acc": 1}}, ElasticWorkloadDesc),
        ({"backend": "simple", "entry_point": "a.b"}, SimpleWorkloadDesc),
        ({"backend": None, "entry_point": "a.b"}, SimpleWorkloadDesc),
        ({"module_name": "a", "class_name": "B"}, CustomWorkloadDesc),
        ({"backend": "custom", "module_name": "a", "class_name": "B"}, CustomWorkloadDesc),
    ],
)
def test_kinds_in_json(data: dict[str, Any], kind: type) -> None:
    config = DLConfig.model_validate({"workloads": {"r": data}})
    assert type(config.workloads["r"]) is kind
    assert DLConfig.model_validate_json(config.model_dump_json()) == config


def test_unknown_kind_in_json() -> None:
    bad = {"workloads": {"r": {"backend": "odd", "entry_point": "a.b"}, "s": 7}}
    error = refused(lambda: DLConfig.model_validate(bad))
    assert paths(error) == ["workloads.r.backend", "workloads.s"]
    assert "workloads: is required" in str(refused(lambda: DLConfig.model_validate({})))
    assert "is not JSON" in str(refused(lambda: DLConfig.model_validate_json("{")))
    assert "wanted is a mapping" in str(refused(lambda: JobConfig.model_validate([])))


def test_resource_arithmetic() -> None:
    one = ResourceDesc.model_validate({"gpu": 1, "mem": 5, "ud_resource": {"x": 1}})
    two = one + ResourceDesc(cpu=1, user_defined={"x": 1, "y": 2})
    assert two.model_dump() == {
        "cpu": 1.0,
        "memory": 5,
        "disk": 0,
        "accelerator": 1.0,
        "user_defined": {"x": 2.0, "y": 2.0},
    }
    assert (one * 2.5).memory == 12
    assert ResourceDesc.get_or_default({"mem": 5}).accelerator == 1


def json_job() -> dict[str, Any]:
    return {
        "job_name": "nanogpt",
        "dl_config": {
            "user_config": {"a": 1},
            "global_envs": {"k": "v"},
            "node_number": 2,
            "accelerator_type": "CPU",
            "device_per_node": 2,
            "workloads": {
                "train": {
                    "backend": "elastic",
                    "entry_point": "m.f",
                    "total": 4,
                    "per_group": 2,
                    "resource": {"accelerator": 1},
                },
                "bare": {"backend": "simple", "entry_point": "m.f", "environment": {"x": "y"}},
            },
        },
        "master_cpu": 1,
        "master_memory": 64,
        "timeout": "5",
    }


def test_json_job() -> None:
    config = JobConfig.model_validate(json_job())
    assert (config.master_mem, config.master_create_timeout) == (64, 5.0)
    assert config.dl_config.workloads["bare"].envs == {"x": "y"}
    assert config.dl_config.workloads["bare"].resource.is_empty()
    assert JobConfig.model_validate(config.model_dump()) == config
    assert JobConfig.model_validate_json(config.model_dump_json()) == config


def test_groups() -> None:
    """The worked example of the reference: two nodes' worth of A and B, one of C."""
    half: dict[str, Any] = {"entry_point": "m.f", "group": "g", "backend": "simple"}
    bundle = {"acc": 0.5, "cpu": 1, "mem": 100, "ud_resource": {"X": 2}}
    config = DLConfig.model_validate(
        {
            "workloads": {
                "A": {**half, "total": 4, "per_group": 2, "resource": {"gpu": 0.5}},
                "B": {**half, "total": 2, "resource": bundle},
                "C": {"entry_point": "m.f", "resource": {"gpu": 1}},
            }
        }
    )
    first, second = config.workload_group
    assert (first.name, first.num, first.workloads) == ("g", 2, ["A", "B"])
    assert first.resource == ResourceDesc(cpu=1, memory=100, accelerator=1.5, user_defined={"X": 2})
    assert (second.num, second.resource.accelerator) == (1, 1)
    tree = tree_of(config)
    assert tree["place"] == {"together": [{"roles": ["A", "B"]}]}
    config.workloads["B"].total = 1
    assert "is inconsistent" in str(refused(lambda: config.workload_group))


def test_dump_is_an_identity() -> None:
    for job in (
        rl_job(),
        collocated(("a", 2, 1), ("b", 2, 1), ("c", 2, 1)).with_collocation_all().build(),
    ):
        assert type(job).model_validate(job.model_dump()) == job
        assert type(job).model_validate_json(job.model_dump_json()) == job
        config = config_of(job)
        again = JobConfig.model_validate_json(config.model_dump_json())
        assert again == config
        assert canonical(again, "p") == canonical(config, "p")


def test_changes_between_build_and_submit() -> None:
    job = simple().total(4).per_group(2).build()
    job.workloads["a"].max_restart = 3
    assert tree_of(job)["retry"]["unknown"] == 3
    job.workloads["a"].total = 5
    job.workloads["a"].max_restart = "many"
    error = refused(lambda: config_of(job))
    assert paths(error) == ["workloads.a.max_restart"]
    job.workloads["a"].max_restart = "4"
    assert "divisible" in str(refused(lambda: config_of(job)))
    job.workloads["a"].total = "8"
    assert tree_of(job)["roles"]["a"]["replicas"] == 8


# ---- the user's configuration ----


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (None, None),
        ({}, None),
        ({"a": 1, "b": "${a}"}, {"a": 1, "b": 1}),
        (DictConfig({"a": {"b": [1, 2]}, "c": "${a.b}"}), {"a": {"b": [1, 2]}, "c": [1, 2]}),
        (argparse.Namespace(lr=0.1), {"lr": 0.1}),
        ("text", "text"),
        ([1, {"a": None}], [1, {"a": None}]),
    ],
)
def test_user_config(given: Any, plain: Any) -> None:
    job = simple().config(given).build()
    assert tree_of(job).get("config") == plain


def test_user_config_is_a_dict_config() -> None:
    config = simple().config({"a": 1}).config({"b": "${c}", "c": 2}).build().user_config
    assert OmegaConf.is_config(config)
    assert config.b == 2
    assert "a" not in config


def test_user_config_without_omegaconf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "omegaconf", None)
    job = simple().config({"a": 1}).build()
    assert type(job.user_config) is dict
    assert tree_of(job)["config"] == {"a": 1}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"a": {"b": [1, object()]}}, "user_config.a.b.1: a value of type builtins.object"),
        ({"a": {1, 2}}, "user_config.a: a value of type builtins.set"),
        ({"a": float("nan")}, "user_config.a: nan"),
        ({1: "a"}, "user_config.1: the key 1 (int)"),
        (SimpleNamespace(a=1), "user_config: a value of type types.SimpleNamespace"),
        ({"a": AcceleratorType.CPU}, "user_config.a: a value of type muster.unified.enums"),
    ],
)
def test_user_config_that_is_no_json(given: Any, text: str) -> None:
    job = simple().config(given).build()
    assert text in str(refused(lambda: tree_of(job)))
    assert text in str(refused(job.model_dump_json))


def test_user_config_that_cannot_be_resolved() -> None:
    assert paths(refused(simple().config({"a": "${nothing}"}).build)) == ["user_config"]


# ---- the canonical tree ----


def without_unified(tree: dict[str, Any]) -> dict[str, Any]:
    for role in tree["roles"].values():
        role["env"].pop("MUSTER_UNIFIED")
    return tree


def test_tree_of_one_training_role() -> None:
    job = (
        DLJobBuilder()
        .config({"lr": 0.1})
        .node_num(2)
        .device_per_node(2)
        .train("nanogpt.train.run")
        .nnodes(2)
        .nproc_per_node(2)
        .end()
        .build()
    )
    assert without_unified(tree_of(job)) == {
        "name": "job",
        "roles": {
            "ELASTIC": {
                "replicas": 4,
                "per_group": 2,
                "driver": True,
                "python": "nanogpt.train.run",
                "launcher": {"ranks_per_node": 1, "max_restarts": 10, "node_check": True},
                "env": {"JOB": "job", "ROLE": "ELASTIC"},
                "resources": {"gpu": 1},
                "done": {"failed": 1},
            }
        },
        "retry": {"scope": "job", "per_node": 4, "unknown": 10, "user": 10, "platform": 10},
        "inputs": {"interpreter": "/usr/bin/python3"},
        "config": {"lr": 0.1},
    }


def test_tree_of_several_roles() -> None:
    job = (
        DLJobBuilder()
        .device_type("CPU")
        .global_env({"JOB": "mine", "A": "global", "ROLE": "lost"})
        .role("trainer")
        .train("m.train")
        .total(2)
        .resource(gpu=1)
        .role("rollout")
        .run("m.rollout")
        .total(4)
        .per_group(2)
        .resource(cpu=0.3333, mem=100, disk=10, user_defined={"X": 1.5})
        .env({"A": "own", "ROLE": "kept"})
        .not_driver()
        .restart("task")
        .workload("nobody", "m.f")
        .total(0)
        .with_collocation("trainer", "rollout")
        .build()
    )
    assert without_unified(tree_of(job, worker_isolation_schedule_resource="W")) == {
        "name": "job",
        "roles": {
            "trainer": {
                "replicas": 2,
                "per_group": 1,
                "driver": True,
                "python": "m.train",
                "launcher": {"ranks_per_node": 1, "max_restarts": 10, "node_check": True},
                "env": {"JOB": "mine", "A": "global", "ROLE": "trainer"},
                "resources": {"W": 1},
                "done": {"failed": 1},
            },
            "rollout": {
                "replicas": 4,
                "per_group": 2,
                "driver": False,
                "python": "m.rollout",
                "env": {"JOB": "mine", "A": "own", "ROLE": "kept"},
                "resources": {
                    "cpu": 0.333,
                    "memory": 100 << 20,
                    "disk": 10 << 20,
                    "X": 1.5,
                    "W": 1,
                },
                "done": {"failed": 1, "succeeded": "never"},
                "restart": "task",
            },
        },
        "place": {"together": [{"roles": ["trainer", "rollout"]}]},
        "retry": {"scope": "job", "per_node": 4, "unknown": 10, "user": 10, "platform": 10},
        "inputs": {"interpreter": "/usr/bin/python3"},
    }


def test_what_the_worker_is_told() -> None:
    job = (
        DLJobBuilder()
        .role("a")
        .train("m.f")
        .total(2)
        .per_group(2)
        .sub_stage([1])
        .role("b c")
        .run("m.g")
        .not_driver()
        .build()
    )
    role = job.workloads["a"]
    role.rank_based_gpu_selection = True
    role.config = {"k": [1]}
    tree = tree_of(job, failover_exec_strategy=2, failover_trigger_strategy=1)
    env = tree["roles"]["a"]["env"]
    told = json.loads(env["MUSTER_UNIFIED"])
    assert told["job"] == {"name": "job", "accelerator_type": "GPU", "failover": 2, "trigger": 1}
    assert told["role"] == {**role.model_dump(), "config": {"k": [1]}}
    assert told["roles"] == {
        "a": {
            "total": 2,
            "per_group": 2,
            "backend": "elastic",
            "is_driver": True,
            "task_role": "a",
        },
        "b c": {
            "total": 1,
            "per_group": 1,
            "backend": "simple",
            "is_driver": False,
            "task_role": "b~20c",
        },
    }
    assert NOSET_ENVS.items() <= env.items()
    role.config = {"k": object()}
    assert paths(refused(lambda: tree_of(job))) == ["workloads.a.config.k"]


def test_a_custom_role() -> None:
    data = {"workloads": {"c": {"module_name": "m.n", "class_name": "C", "backend": "custom"}}}
    tree = tree_of(DLConfig.model_validate(data))
    assert tree["roles"]["c"]["python"] == "m.n.C"
    assert tree["roles"]["c"]["resources"] == {}


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("trainer", "trainer"),
        ("a.b-c_d", "a.b-c_d"),
        ("a b", "a~20b"),
        ("a~20b", "a~7E20b"),
        ("ü", "~C3~BC"),
        ("a..b", "a~2E~2Eb"),
        (".a", "~2Ea"),
    ],
)
def test_names_of_tasks(role: str, name: str) -> None:
    assert task_role(role) == name


@pytest.mark.parametrize(
    ("options", "retry", "failed", "restarts"),
    [
        ({}, ("job", 7, 10), 1, 7),
        ({"job_max_restart": 2}, ("job", 2, 10), 1, 7),
        ({"failover_exec_strategy": 0}, ("job", 0, 0), 1, 0),
        ({"failover_exec_strategy": 9}, ("job", 0, 0), 1, 0),
        ({"failover_exec_strategy": 2}, ("role", 7, 10), 1, 7),
        ({"failover_exec_strategy": 2, "job_max_restart": 1}, ("role", 1, 10), 1, 1),
        ({"failover_trigger_strategy": 1}, ("job", 7, 10), "at_end", 7),
        ({"failover_trigger_strategy": 0}, ("job", 0, 0), "at_end", 0),
        ({"node_max_restart": 4}, ("job", 7, 4), 1, 7),
        ({"node_max_restart": -1, "job_max_restart": -1}, ("job", 0, 0), 1, 7),
    ],
)
def test_failover(
    options: dict[str, int], retry: tuple[str, int, int], failed: object, restarts: int
) -> None:
    job = simple().role("b").train("m.f").build()
    job.workloads["b"].max_restart = 7
    tree = tree_of(job, **options)
    scope, budget, platform = retry
    per_node = tree["retry"].pop("per_node", None)
    assert per_node == (None if restarts == 0 else 4)
    assert tree["retry"] == {
        "scope": scope,
        "unknown": budget,
        "user": budget,
        "platform": platform,
    }
    assert [role["done"]["failed"] for role in tree["roles"].values()] == [failed] * 2
    assert tree["roles"]["b"]["launcher"]["max_restarts"] == restarts


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda r: r.nnodes(2), True),
        (lambda r: r.nproc_per_node(2), False),
        (lambda r: r.nnodes(2).skip_node_check(), False),
    ],
)
def test_node_check(change: Callable[[Any], Any], check: bool) -> None:
    job = change(DLJobBuilder().device_type("CPU").train("m.f")).build()
    assert tree_of(job)["roles"]["ELASTIC"]["launcher"]["node_check"] is check


def test_without_any_driver() -> None:
    tree = tree_of(RLJobBuilder().actor("m.f").build())
    assert tree["roles"]["ACTOR"]["done"] == {"failed": 1}


@pytest.mark.parametrize(
    ("device", "accelerator", "gpu"),
    [
        ("CPU", 1, None),
        ("GPU", 2.0, 2),
        ("TPU", 1, 1),
        ("GPU", 0.5, 0.5),
        ("GPU", 1 / 3, 0.333),
        ("GPU", 0.00001, 0.001),
    ],
)
def test_devices(device: str, accelerator: float, gpu: float | None) -> None:
    job = simple().resource(gpu=accelerator).device_type(device).build()
    assert tree_of(job)["roles"]["a"]["resources"].get("gpu") == gpu


def test_devices_and_a_half() -> None:
    job = simple().resource(gpu=1.5).device_type("GPU").build()
    error = refused(lambda: tree_of(job))
    assert paths(error) == ["workloads.a.resource.accelerator"]
    assert "given whole" in str(error)


def test_custom_resources_have_names_of_their_own() -> None:
    job = simple().resource(user_defined={"cpu": 1}).build()
    assert paths(refused(lambda: tree_of(job))) == ["workloads.a.resource.user_defined.cpu"]


def test_nothing_to_run() -> None:
    job = simple().total(0).build()
    assert "No roles with instances" in str(refused(lambda: tree_of(job)))


def test_a_range_cannot_be_collocated() -> None:
    job = simple().role("b").train("m.f").nnodes("1:2").role("c").run("m.f").total(2)
    assert paths(refused(job.with_collocation("b", "c").build)) == ["workloads.b.min_nodes"]
    assert "MIN:MAX" in str(refused(DLJobBuilder().train("m.f").nnodes("4:2").build))


def test_what_has_no_effect_is_named() -> None:
    job = simple().enable_node_group_failover("rack").build()
    options = {
        "master_isolation_schedule_resource": "M",
        "failover_exec_strategy": 9,
        "failover_trigger_strategy": -1,
        "master_state_backend_type": "HDFS",
    }
    said = " | ".join(without_effect(config_of(job, **options)))
    for word in ("master_isolation", "exec_strategy 9", "trigger_strategy -1", "backend", "'a'"):
        assert word in said
    assert without_effect(config_of(simple().build())) == []


@pytest.mark.parametrize(
    ("option", "value"), [("master_max_restart", "3"), ("master_cpu", 4), ("master_mem", 512)]
)
def test_nothing_acts_on_a_master(option: str, value: Any) -> None:
    """There is none: what it would be given is accepted and shown for what it is."""
    (said,) = without_effect(config_of(simple().build(), **{option: value}))
    assert said.startswith(f"{option} is accepted, nothing acts on it: there is no master process")


def test_a_server_that_does_not_start_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """master_create_timeout bounds the start of the server that a submission needs."""
    slow = tmp_path / "muster"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    monkeypatch.setenv("MUSTER_BIN", str(slow))
    monkeypatch.setenv("MUSTER_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("MUSTER_SERVER", raising=False)
    monkeypatch.setenv("DLROVER_UNIFIED_MASTER_CREATE_TIMEOUT", "0.2")
    with pytest.raises(MusterError, match="did not start within 0.2 s"):
        simple().build().submit("x")


# ---- submission ----


class FakeClient:
    """A server's client that takes every job and ends it at once."""

    trees: list[dict[str, Any]] = []
    cwd = ""
    gpus = 0
    local = True

    def __init__(self) -> None:
        self.trees.clear()

    def ensure_server(self, within: float | None = None) -> bool:
        return True

    def call(self, method: str, path: str) -> Any:
        assert (method, path) == ("GET", "/v1/nodes")
        return {"nodes": [{"name": "n1", "gpus": self.gpus}]}

    def submit(self, tree: dict[str, Any], *, cwd: str) -> Any:
        self.trees.append(tree)
        type(self).cwd = cwd
        state = "failed" if "fail" in tree["name"] else "succeeded"
        show = {"state": state, "reason": "as asked"}
        return SimpleNamespace(
            number=7,
            name=tree["name"],
            answer={"warnings": []},
            wait=lambda timeout=None: state,
            status=lambda: state,
            show=lambda: show,
        )


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> type[FakeClient]:
    for key in list(os.environ):
        if key.startswith("DLROVER_UNIFIED_"):
            monkeypatch.delenv(key)
    monkeypatch.setattr(submitting, "Client", FakeClient)
    return FakeClient


def test_submit_names(client: type[FakeClient], monkeypatch: pytest.MonkeyPatch) -> None:
    job = simple().build()
    with pytest.raises(MusterError, match="not been submitted"):
        _ = job.handle
    assert job.submit() == 0
    name = client.trees[0]["name"]
    assert name.startswith("dlrover-")
    assert len(name) == len("dlrover-") + 6
    monkeypatch.setenv("DLROVER_UNIFIED_JOB_NAME", "env")
    assert (job.submit(), client.trees[0]["name"]) == (0, "env")
    assert (job.submit(job_name="keyword"), client.trees[0]["name"]) == (0, "keyword")
    assert (job.submit("first", job_name="second"), job.handle.name) == (0, "first")
    assert job.submit("first", master_cpu=8, blocking=False) == 0
    monkeypatch.setenv("DLROVER_UNIFIED_JOB_NAME", "")
    assert job.submit() == 0
    assert client.trees[0]["name"].startswith("dlrover-")


def test_submit_result(client: type[FakeClient], capfd: pytest.CaptureFixture[str]) -> None:
    job = simple().build()
    assert job.submit("fails") == 1
    said = capfd.readouterr().err
    assert "no server yet: started one" in said
    assert "job 7 failed: as asked" in said
    assert job.submit("fails", blocking=False) == 0
    assert (job.handle.status(), job.handle.wait(), job.handle.number) == ("failed", 1, 7)


def test_submit_options(client: type[FakeClient], monkeypatch: pytest.MonkeyPatch) -> None:
    job = simple().build()
    monkeypatch.setenv("DLROVER_UNIFIED_JOB_MAX_RESTART", "2")
    monkeypatch.setenv("DLROVER_UNIFIED_BLOCKING", "no")
    monkeypatch.setenv("DLROVER_UNIFIED_WHATEVER", "1")
    assert job.submit("x") == 0
    assert client.trees[0]["retry"]["unknown"] == 2
    job.submit("x", job_max_restart=1)
    assert client.trees[0]["retry"]["unknown"] == 1
    with pytest.warns(UserWarning, match="job_max_restarts is not known"):
        job.submit("x", job_max_restarts=1)
    monkeypatch.setenv("DLROVER_UNIFIED_JOB_MAX_RESTART", "many")
    job.workloads["a"].total = -1
    assert sorted(paths(refused(lambda: job.submit("x")))) == [
        "job_max_restart",
        "workloads.a.total",
    ]
    monkeypatch.setenv("DLROVER_UNIFIED_DL_CONFIG", "{}")
    assert paths(refused(lambda: job.submit("x"))) == ["dl_config"]


def test_option_aliases() -> None:
    def config(given: dict[str, Any], environ: dict[str, str]) -> JobConfig:
        job = simple().build()
        return JobConfig(**submitting.options_of(given, environ), dl_config=job)

    memory = {"DLROVER_UNIFIED_MASTER_MEMORY": "1"}
    mem = {"DLROVER_UNIFIED_MASTER_MEM": "1"}
    assert config({"master_mem": 2}, mem).master_mem == 2
    assert config({"master_memory": 2}, mem).master_mem == 2
    assert config({"master_mem": 2}, memory).master_mem == 1
    assert config({}, mem).master_mem == 1
    assert config({"timeout": 3}, {}).master_create_timeout == 3
    assert config({}, {}).master_create_timeout == 600


@pytest.mark.parametrize(("gpus", "wanted"), [(0, {}), (4, {"gpu": 1})])
def test_device_type_of_the_cluster(
    client: type[FakeClient], monkeypatch: pytest.MonkeyPatch, gpus: int, wanted: dict[str, int]
) -> None:
    monkeypatch.setattr(client, "gpus", gpus)
    job = DLJobBuilder().by_dlrover_run_cmd("dlrover-run x.py").build()
    assert JobConfig.model_validate(config_of(job).model_dump()).dl_config.device_type_from_cluster
    job.submit("x")
    assert client.trees[0]["roles"]["ELASTIC"]["resources"] == wanted


def test_working_directory(client: type[FakeClient], tmp_path: Path) -> None:
    simple().build().submit("x")
    assert client.cwd == os.getcwd()
    simple().global_env({"DLROVER_WORKING_DIR": str(tmp_path)}).build().submit("x")
    assert client.cwd == str(tmp_path)


def test_modules_are_found_where_the_submitter_finds_them(
    client: type[FakeClient], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"lib{os.pathsep}{tmp_path}")
    simple().build().submit("x")
    places = client.trees[0]["roles"]["a"]["env"]["PYTHONPATH"].split(os.pathsep)
    assert places[:2] == [str(tmp_path / "lib"), str(tmp_path)]
    assert places[-1] == PYTHON_ROOTS[0]
    simple().env({"PYTHONPATH": "/mine"}).build().submit("x")
    assert client.trees[0]["roles"]["a"]["env"]["PYTHONPATH"] == "/mine"


def test_driver(client: type[FakeClient]) -> None:
    with pytest.raises(ValueError, match="required"):
        driver_main([])
    assert driver_main([json.dumps(json_job()), "ignored"]) == 0
    assert client.trees[0]["name"] == "nanogpt"
    assert driver_main([json.dumps({**json_job(), "job_name": "fails"})]) == 1


def test_merged_log(capsys: pytest.CaptureFixture[str]) -> None:
    records: list[list[dict[str, Any]]] = [
        [
            {"task": "a/0", "attempt": 1, "offset": 9, "text": "one\nhal"},
            {"task": "long/10", "attempt": 2, "offset": 5, "b64": "/w=="},
        ],
        [
            {"task": "a/0", "attempt": 1, "offset": 12, "text": "f\n"},
            {"task": "a/0", "attempt": 1, "offset": 20, "gap": 8},
            {"end": True, "state": "succeeded"},
        ],
    ]
    asked: list[Any] = []

    def stream(path: str, query: object, body: Mapping[str, Any]) -> Any:
        asked.append(json.loads(json.dumps(body)))
        return iter(records.pop(0))

    client: Any = SimpleNamespace(stream=stream)
    submitting.show_log(Job(client, 7, "x", {}))
    assert capsys.readouterr().out.splitlines() == [
        "a/0  one",
        "a/0      half",
        "a/0      ... 8 bytes of output are not kept ...",
        "long/10  \ufffd",
    ]
    assert asked[0] is None
    assert asked[1]["from"]["long/10"] == {"attempt": 2, "offset": 5}


# ---- beside a real DLRover ----


def python(code: str, *roots: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if key != "MUSTER_DLROVER"}
    env["PYTHONPATH"] = os.pathsep.join([*roots, *PYTHON_ROOTS])
    return subprocess.run(
        [sys.executable, "-c", f"import muster_dlrover.hook\n{code}"],
        env={**env, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


WHERE = "import dlrover, sys; print(dlrover.__file__)"


@pytest.fixture
def real(tmp_path: Path) -> str:
    (tmp_path / "dlrover").mkdir()
    (tmp_path / "dlrover/__init__.py").write_text("REAL = True\n")
    info = tmp_path / "dlrover-0.6.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dlrover\nVersion: 0.6.1\n")
    return str(tmp_path)


def test_imports_of_the_pages() -> None:
    code = """
from dlrover.python.unified.api.builder import DLJob, DLJobBuilder, RLJobBuilder, RLRoleType
from dlrover.python.unified.api.builder.base import DLJobBuilder as same
from dlrover.python.unified.api.builder.rl import RLJob
from dlrover.python.unified.common.config import DLConfig, JobConfig
from dlrover.python.unified.common.workload_desc import ElasticWorkloadDesc, get_entrypoint_type
from dlrover.python.unified.common.enums import ACCELERATOR_TYPE
assert same is DLJobBuilder
job = DLJobBuilder().train("a.b").build()
assert isinstance(job.workloads["ELASTIC"], ElasticWorkloadDesc)
import sys
assert not [name for name in sys.modules if name.startswith("omegaconf")]
"""
    done = python(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_real_dlrover_is_used_and_named(real: str) -> None:
    done = python(WHERE, real)
    assert done.stdout.startswith(real)
    assert done.stderr.splitlines() == [
        "muster-dlrover: real dlrover 0.6.1 is installed and used; to run on muster: "
        "pip uninstall dlrover, or set MUSTER_DLROVER=1"
    ]


def test_ours_is_used_on_demand(real: str) -> None:
    done = python(WHERE, real, MUSTER_DLROVER="1")
    assert "muster_dlrover/tree/dlrover" in done.stdout
    (line,) = done.stderr.splitlines()
    assert "MUSTER_DLROVER is set" in line
    assert "0.6.1" in line


def test_a_directory_of_that_name_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "dlrover/docs").mkdir(parents=True)
    done = python(WHERE, str(tmp_path))
    assert "muster_dlrover/tree/dlrover" in done.stdout
    assert done.stderr == ""


def test_a_tree_on_the_path_is_no_real_dlrover(tmp_path: Path) -> None:
    tree = ROOT / "python/muster-dlrover/src/muster_dlrover/tree"
    copy = tmp_path / "muster_dlrover/tree"
    shutil.copytree(tree, copy)
    for each in (tree, copy):
        done = python(WHERE, str(each))
        assert done.stdout.startswith(str(each))
        assert done.stderr == ""


def test_the_hook_imports_nothing_at_start() -> None:
    code = "import sys; sys.exit(any(n.startswith(('muster.', 'dlrover')) for n in sys.modules))"
    assert python(code).returncode == 0
    line = (ROOT / "python/muster-dlrover/muster_dlrover.pth").read_text()
    assert line.startswith("import sys; ")
    broken = subprocess.run([sys.executable, "-S", "-c", line], check=False, capture_output=True)
    assert (broken.returncode, broken.stderr) == (0, b"")


def test_driver_module() -> None:
    done = python(
        "import runpy; runpy.run_module('dlrover.python.unified.driver.main', run_name='__main__')"
    )
    assert "is required" in done.stderr


def test_role_names_compare_as_texts() -> None:
    job = (
        DLJobBuilder().role(RLRoleType.ACTOR).run("m.f").with_collocation(RLRoleType.ACTOR).build()
    )
    assert [(type(role), role) for role in job.workloads] == [(str, "ACTOR")]
