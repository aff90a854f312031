"""OpenPAI's job reference (job_tutorial.md), for tests/seeds: its examples, its table of variables,
what it says of each field, and the rules of the fields."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from functools import partial
from typing import Any

from harness import EXAMPLES, FINAL, VENV, Json, Server, muster, openpai, role, scratch, wait_for
from promise import (
    OWN,
    Broken,
    Example,
    How,
    Page,
    Skipped,
    absent,
    by_tests,
    expect,
    rule_of,
    warning,
)

PYTHON = VENV / "python"
COMPLETE = EXAMPLES / "openpai/tf/tensorflow-distributed.json"
# What the page calls the detailed format, as it stands there.
SPECIFICATION = """{
  "jobName":   String,
  "image":     String,
  "authFile":  String,
  "dataDir":   String,
  "outputDir": String,
  "codeDir":   String,
  "virtualCluster": String,
  "taskRoles": [
    {
      "name":       String,
      "taskNumber": Integer,
      "cpuNumber":  Integer,
      "memoryMB":   Integer,
      "shmMB":      Integer,
      "gpuNumber":  Integer,
      "portList": [
        {
          "label": String,
          "beginAt": Integer,
          "portNumber": Integer
        }
      ],
      "command":    String,
      "minFailedTaskCount": Integer,
      "minSucceededTaskCount": Integer
    }
  ],
  "gpuType": String,
  "retryCount": Integer,
  "jobEnvs": {
    "foo", Integer,
    "key", String,
    ...
  },
  "extras": {
    "foo", Integer,
    "key", String,
    ...
  }
}
"""


def job(**changes: Any) -> Json:
    return {"jobName": "rule", "image": "i", "taskRoles": [role()], **changes}


def of_role(**changes: Any) -> Json:
    return job(taskRoles=[{k: v for k, v in role(**changes).items() if v is not ...}])


def of_port(**changes: Any) -> Json:
    return of_role(portList=[{"label": "web", "beginAt": 0, "portNumber": 1, **changes}])


# number, field, its rule on the page, values that are fine, values that are not
RULES: list[tuple[int, str, str, list[Json], list[Json]]] = [
    (3, "jobName", "^[A-Za-z0-9\\-._~]+$, required", [job(jobName="a-b.c_d~e")],
     [job(jobName="a b"), job(jobName=""), {k: v for k, v in job().items() if k != "jobName"}]),
    (5, "image", "required", [job(image="r.example/x:1")],
     [job(image=""), {k: v for k, v in job().items() if k != "image"}]),
    (7, "authFile", "optional", [job(authFile="$PAI_DEFAULT_FS_URI/a")], [job(authFile=1)]),
    (9, "dataDir", "optional", [job(dataDir="$PAI_DEFAULT_FS_URI/d")], [job(dataDir=1)]),
    (10, "outputDir", "optional", [job(outputDir="$PAI_DEFAULT_FS_URI/o")], [job(outputDir=[])]),
    (12, "codeDir", "optional", [job(codeDir="")], [job(codeDir=1)]),
    (14, "virtualCluster", "optional", [job(virtualCluster="default")], [job(virtualCluster=1)]),
    (16, "taskRoles", "one at least", [job(taskRoles=[role("a"), role("b")])],
     [job(taskRoles=[]), {k: v for k, v in job().items() if k != "taskRoles"}]),
    (16, "taskRole.name", "^[A-Za-z0-9._~]+$, unique", [of_role(name="ps_1")],
     [of_role(name="a b"), of_role(name=...), job(taskRoles=[role("a"), role("a")])]),
    (17, "taskRole.taskNumber", "no less than 1", [of_role(taskNumber=3)], [of_role(taskNumber=0)]),
    (17, "taskRole.cpuNumber", "no less than 1", [of_role(cpuNumber=1)], [of_role(cpuNumber=0)]),
    (17, "taskRole.memoryMB", "no less than 100", [of_role(memoryMB=100)], [of_role(memoryMB=99)]),
    (17, "taskRole.shmMB", "no more than memory", [of_role(memoryMB=128, shmMB=128)],
     [of_role(memoryMB=128, shmMB=129)]),
    (17, "taskRole.gpuNumber", "no less than 0", [of_role(gpuNumber=0)], [of_role(gpuNumber=-1)]),
    (23, "taskRole.portList", "optional", [of_port(), of_role(portList=[])],
     [of_role(portList={})]),
    (23, "portType.label", "^[A-Za-z0-9._~]+$", [of_port(label="a.b~c")], [of_port(label="a-b")]),
    (23, "portType.beginAt", "0 for random", [of_port(beginAt=0), of_port(beginAt=20000)],
     [of_port(beginAt=-1)]),
    (23, "portType.portNumber", "number of ports", [of_port(portNumber=3)],
     [of_port(portNumber=0)]),
    (26, "taskRole.command", "can not be empty", [of_role(command="x")],
     [of_role(command=""), of_role(command=...)]),
    (27, "taskRole.minFailedTaskCount", "null or no less than 1",
     [of_role(minFailedTaskCount=None), of_role(minFailedTaskCount=1)],
     [of_role(minFailedTaskCount=0)]),
    (29, "taskRole.minSucceededTaskCount", "null or no less than 1",
     [of_role(minSucceededTaskCount=None), of_role(minSucceededTaskCount=1)],
     [of_role(minSucceededTaskCount=0)]),
    (22, "gpuType", "optional", [job(gpuType="K80")], [job(gpuType=1)]),
    (30, "retryCount", "no less than 0; -1, -2 as there", [job(retryCount=0), job(retryCount=3)],
     [job(retryCount=-3)]),
    (31, "jobEnvs", "key-value pairs", [job(jobEnvs={"foo": 1, "key": "x"})], [job(jobEnvs=[1])]),
    (34, "extras", "key-value pairs", [job(extras={"foo": 1, "key": "x"})], [job(extras="x")]),
]  # fmt: skip

# The page's table of variables; {R} and {i}: every role and task, {L}: every label.
VARIABLES = [
    ("PAI_JOB_NAME", "jobName in config file"),
    ("PAI_USER_NAME", "user who submits the job"),
    ("PAI_DEFAULT_FS_URI", "default file system uri"),
    ("PAI_TASK_ROLE_COUNT", "number of task roles"),
    ("PAI_TASK_ROLE_LIST", "comma separated role names"),
    ("PAI_TASK_ROLE_TASK_COUNT_{R}", "task count of the role"),
    ("PAI_HOST_IP_{R}_{i}", "host IP of each task"),
    ("PAI_PORT_LIST_{R}_{i}_{L}", "ports of each task by type"),
    ("PAI_RESOURCE_{R}", "gpuNumber,cpuNumber,memMB,shmMB"),
    ("PAI_MIN_FAILED_TASK_COUNT_{R}", "minFailedTaskCount"),
    ("PAI_MIN_SUCCEEDED_TASK_COUNT_{R}", "minSucceededTaskCount"),
    ("PAI_CURRENT_TASK_ROLE_NAME", "name of the current role"),
    ("PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", "index, from 0"),
]
COUNTS = {"ps_server": 2, "worker": 2}


class JobReference(Page):
    """github.com/microsoft/pai, docs/job_tutorial.md."""

    page = "openpai job_tutorial"
    document = "openpai"
    count = 59

    def open(self) -> None:
        env = {"MUSTER_PYTHON": str(PYTHON)} if PYTHON.exists() else {}
        self.server = Server(nodes="2x16cpu,64Gi,4gpu", env=env)
        self.server.start()
        self.folder = scratch("seeds")
        self.env: dict[str, str] = {}
        self.owner = self.ends = ""
        self.jobs = 0

    def close(self) -> None:
        left = self.server.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if left:
            raise Broken(f"still there after the end: {left}")

    def hello(self) -> str:
        done = self.server.muster("run", EXAMPLES / "openpai/hello.json")
        lines = done.stdout.count("hello from greeter/")
        expect(done.returncode == 0 and lines >= 2, f"exit {done.returncode}: {done.stderr[-300:]}")
        return f"{lines} tasks said hello, exit 0"

    def comments(self) -> str:
        expect("// customized tensorflow docker image" in COMPLETE.read_text(), "no comments")
        done = muster("check", COMPLETE, state=self.folder)
        expect(done.returncode == 0 and "2 roles, 4 tasks" in done.stdout, done.stdout[-300:])
        return done.stdout.splitlines()[0]

    def specification(self) -> str:
        path = self.folder / "spec.json"
        path.write_text(SPECIFICATION)
        done = muster("check", path, state=self.folder)
        said = done.stdout + done.stderr
        expect(done.returncode == 2 and "spec.json:2:16: String is not a value" in said, said)
        return "spec.json:2:16: String is not a value"

    def unknown_cluster(self) -> str:
        done = self.server.muster("submit", COMPLETE)
        expect(done.returncode == 2 and '"your_virtual_cluster"' in done.stderr, done.stderr[-300:])
        return done.stderr.splitlines()[0]

    def complete(self) -> str:
        code = self.server.state / "fs/path/tensorflow-distributed-jobguid/code"
        shutil.copytree(COMPLETE.parent / "code", code)
        cluster = "kind: virtual-cluster\nname: your_virtual_cluster\n"
        done = self.server.muster("apply", "-f", "-", stdin=cluster)
        expect(done.returncode == 0, done.stderr)
        done = self.server.muster("submit", "--json", COMPLETE)
        expect(done.returncode == 0, done.stderr)
        number = json.loads(done.stdout)["number"]
        wait_for(lambda: self.server.state_of(number) in FINAL, 300, "the example", every=0.1)
        job = self.server.job(number)
        said = "".join(r.get("text", "") for r in self.server.records(number))
        if job["state"] != "succeeded" and re.search("No matching|Could not find a version", said):
            raise Skipped("pip cannot reach a package index (the example installs scipy)")
        if "No module named 'numpy'" in said or "'numpy' is missing" in said:
            raise Skipped("no numpy: tools/setup python installs it")
        expect(job["state"] == "succeeded", f"{job['state']}: {job.get('reason')}")
        self.ends = ", ".join(f"{t['name']} {t['state']}" for t in job["task_list"])
        return str(job.get("reason"))

    def killed(self) -> str:
        if not self.ends:
            self.complete()
        wanted = "ps_server/0 stopped, ps_server/1 stopped, worker/0 succeeded, worker/1 succeeded"
        expect(self.ends == wanted, self.ends)
        return self.ends

    def read_environment(self) -> None:
        dump = "env"
        port = [{"label": "grpc", "beginAt": 0, "portNumber": 2}]
        text = openpai(
            "variables",
            role("ps_server", "true", 2, portList=port),
            role("worker", dump, 2, gpuNumber=1, minFailedTaskCount=2, minSucceededTaskCount=2),
        )
        done = self.server.run(text)
        log = self.server.log(done["number"], "worker/1")
        self.env = dict(line.split("=", 1) for line in log.splitlines() if "=" in line)
        self.owner = done["owner"]

    def expected(self, name: str) -> str:
        """A pattern for its value."""
        known: dict[str, str] = {
            "PAI_JOB_NAME": "variables",
            "PAI_USER_NAME": re.escape(self.owner),
            "PAI_DEFAULT_FS_URI": "file:///.+",
            "PAI_TASK_ROLE_COUNT": "2",
            "PAI_TASK_ROLE_LIST": "ps_server,worker",
            "PAI_CURRENT_TASK_ROLE_NAME": "worker",
            "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX": "1",
            "PAI_RESOURCE_ps_server": "0,1,128,64",
            "PAI_RESOURCE_worker": "1,1,128,64",
            "PAI_MIN_FAILED_TASK_COUNT_ps_server": "1",
            "PAI_MIN_FAILED_TASK_COUNT_worker": "2",
            "PAI_MIN_SUCCEEDED_TASK_COUNT_ps_server": "",
            "PAI_MIN_SUCCEEDED_TASK_COUNT_worker": "2",
        }
        if name.startswith("PAI_TASK_ROLE_TASK_COUNT_"):
            return "2"
        if name.startswith("PAI_HOST_IP_"):
            return r"127\.\d+\.\d+\.\d+|\d+\.\d+\.\d+\.\d+"
        if name.startswith("PAI_PORT_LIST_"):
            return r"\d+,\d+" if name.endswith("grpc") else r"\d+"
        return known[name]

    def variable(self, pattern: str) -> str:
        if not self.env:
            self.read_environment()
        names = {
            pattern.format(R=r, i=i, L=label)
            for r, n in COUNTS.items()
            for i in range(n)
            for label in ("http", "ssh", *(("grpc",) if r == "ps_server" else ()))
        }
        for name in sorted(names):
            expect(name in self.env, f"{name} is not set")
            value = self.env[name]
            expect(re.fullmatch(self.expected(name), value), f"{name}={value}")
        shown = min(names)
        return f"{shown}={self.env[shown]}" + (f" and {len(names) - 1} more" * (len(names) > 1))

    def rule(self, good: list[Json], bad: list[Json]) -> str:
        first = ""
        for tree in good:
            self.checked(tree)
        for tree in bad:
            said = self.checked(tree, 2).splitlines()[0].partition(": ")[2]
            first = first or said
        return f"{len(good)} good, {len(bad)} bad" + (f" ({first})" if first else "")

    def checked(self, tree: Json, code: int = 0) -> str:
        """What check says of it; 2: it is refused."""
        (self.folder / "job.json").write_text(json.dumps(tree))
        done = muster("check", self.folder / "job.json", state=self.folder)
        said = (done.stdout + done.stderr).strip()
        expect(done.returncode == code, f"exit {done.returncode}: {tree}: {said[-300:]}")
        return said

    def ended(self, tree: Json, **more: Any) -> Json:
        """That job, run under a name of its own: the one before it may not be over."""
        self.jobs += 1
        return self.server.run(json.dumps({**tree, "jobName": f"row-{self.jobs}", **more}))

    def said(self, tree: Json, **more: Any) -> list[str]:
        done = self.ended(tree, **more)
        lines = self.server.log(done["number"]).splitlines()
        expect(done["state"] == "succeeded", f"{done.get('reason')}: {lines}")
        return lines

    def warned(self, tree: Json, words: str) -> str:
        return warning(self.server, self.ended(tree)["number"], words)

    def rdma(self) -> str:
        said = self.checked(job(jobEnvs={"paiAzRDMA": True}))
        expect("warning" in said and "paiAzRDMA" in said, said[-300:])
        return "warned"

    def hdfs(self) -> str:
        tree = job(codeDir="hdfs://10.0.0.1:9000/c")
        reply = self.server.api("POST", "/v1/jobs", json.dumps(tree))
        expect(reply.status >= 400 and "hdfs" in reply.text, reply.text[-300:])
        return str(reply.json().get("detail") or reply.json().get("title"))

    def directories(self) -> str:
        """Variables in the configuration file, and what tasks are told of it."""
        at = "$PAI_DEFAULT_FS_URI/$PAI_JOB_NAME"
        show = "echo $PAI_DATA_DIR; echo $PAI_OUTPUT_DIR; echo $PAI_DEFAULT_FS_URI/$PAI_JOB_NAME"
        data, output, here = self.said(
            of_role(command=show), dataDir=f"{at}/data", outputDir=f"{at}/output"
        )
        expect([data, output] == [f"{here}/data", f"{here}/output"], f"{data} {output} {here}")
        return f"PAI_DATA_DIR={data}"

    def foreign_data(self) -> str:
        uri = "hdfs://10.0.0.1:9000/data"
        lines = self.said(of_role(command="echo $PAI_DATA_DIR"), dataDir=uri)
        expect(lines == [uri], str(lines))
        return f"PAI_DATA_DIR={uri}, nothing is mounted"

    def mounts(self) -> None:
        if not re.search(r"^namespaces +ok", self.server.muster("doctor").stdout, re.M):
            raise Skipped("this machine allows no mount namespaces")

    def read_only(self) -> str:
        self.mounts()
        code = self.server.state / "fs/mine/code"
        code.mkdir(parents=True)
        (code / "t.sh").write_text("echo from code\n")
        lines = self.said(
            of_role(command="sh code/t.sh; touch code/x 2>&1 || echo refused"),
            codeDir="$PAI_DEFAULT_FS_URI/mine/code",
        )
        expect(lines[0] == "from code" and lines[-1] == "refused", str(lines))
        expect("Read-only file system" in lines[1], lines[1])
        return lines[1]

    def default_cluster(self) -> str:
        queue = self.ended(job())["queue"]
        expect(queue == "default", queue)
        return "queue default"

    def memory(self) -> str:
        command = "head -c 400M /dev/zero | tail -c 400M >/dev/null"
        done = self.ended(of_role(memoryMB=128, command=command))
        reason = str(done.get("reason"))
        if "no cgroup" in reason or done["state"] == "succeeded":
            raise Skipped("no limit of memory here: muster doctor")
        expect("memory" in reason, reason)
        return reason

    def cores(self) -> str:
        """The kernel's limit of processor time, as the task's own control group has it."""
        command = (
            "group=$(grep -o 'muster-[^/]*' /proc/self/cgroup | head -n 1); "
            'find /sys/fs/cgroup/ -path "*/${group:-none}/*" '
            "'(' -name cpu.cfs_quota_us -o -name cpu.max ')' -exec cat {} +"
        )
        lines = self.said(of_role(cpuNumber=2, command=command))
        if not lines:
            raise Skipped("no control group for cores here: muster doctor")
        expect(lines[0].split()[0] == "200000", str(lines))
        return "at most 200 ms of processor time in 100 ms"

    def shared_memory(self) -> str:
        self.mounts()
        show = 'echo "$PAI_CURRENT_TASK_ROLE_SHM_MB" $(df -m --output=size /dev/shm | tail -n 1)'
        lines = self.said(of_role(command=show)) + self.said(of_role(shmMB=100, command=show))
        expect(lines == ["64 64", "100 100"], str(lines))
        return "100 MB where it says 100, 64 where it says nothing"

    def gpu_type(self) -> str:
        kinds = Server(nodes="1x4cpu,8Gi,1gpu:V100;1x4cpu,8Gi,1gpu:K80").start()
        try:
            done = kinds.run(json.dumps(of_role(gpuNumber=1) | {"gpuType": "K80"}))
            node = kinds.job(done["number"])["task_list"][0]["attempts"][0]["node"]
            other = json.dumps(of_role(gpuNumber=1) | {"gpuType": "A100"})
            refused = kinds.api("POST", "/v1/jobs", other)
        finally:
            left = kinds.close()
        expect(done["state"] == "succeeded" and node == "n2" and not left, f"on {node}, {left}")
        expect(refused.status >= 400 and "A100" in refused.text, refused.text[-300:])
        return f"K80: on {node}; A100: {refused.json().get('detail')}"

    def implicit_ports(self) -> str:
        if not self.env:
            self.read_environment()
        names = [f"PAI_PORT_LIST_worker_{i}_{label}" for i in (0, 1) for label in ("http", "ssh")]
        ports = [self.env.get(name, "") for name in names]
        expect(all(p.isdigit() for p in ports) and len(set(ports)) == 4, str(ports))
        return f"http and ssh of two tasks: {', '.join(ports)}"

    def example_variables(self) -> str:
        if not self.env:
            self.read_environment()
        hosts = self.env.get("PAI_TASK_ROLE_ps_server_HOST_LIST", "")
        expect(re.fullmatch(r"[\d.]+:\d+,[\d.]+:\d+", hosts), hosts)
        for name in ("PAI_DATA_DIR", "PAI_OUTPUT_DIR"):
            expect(name in self.env, f"{name} is not set")
        return f"PAI_TASK_ROLE_ps_server_HOST_LIST={hosts}"

    def command(self) -> str:
        lines = self.said(of_role(command="echo $PAI_CURRENT_TASK_ROLE_NAME | tr a-z A-Z"))
        expect(lines == ["WORKER"], str(lines))
        return "bash runs it: echo $PAI_CURRENT_TASK_ROLE_NAME | tr a-z A-Z: WORKER"

    def retries(self) -> str:
        done = self.ended(of_role(command="exit 3"), retryCount=2)
        attempts = self.server.job(done["number"])["task_list"][0]["attempts"]
        expect(done["state"] == "failed" and len(attempts) == 3, f"{len(attempts)} attempts")
        return "retryCount 2: three attempts"

    def never_fails(self) -> str:
        command = "exit $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"
        done = self.ended(of_role(taskNumber=2, minFailedTaskCount=None, command=command))
        expect(done["state"] == "succeeded", str(done.get("reason")))
        return str(done.get("reason"))

    def environment(self) -> str:
        lines = self.said(
            of_role(command='echo "$batch_size $job_model $literal"'),
            jobEnvs={"batch_size": 32, "job_model": "resnet20", "literal": "$PAI_JOB_NAME"},
        )
        expect(lines == ["32 resnet20 $PAI_JOB_NAME"], str(lines))
        return f"{lines[0]}: numbers too, nothing is substituted"

    def extras(self) -> str:
        (self.folder / "job.json").write_text(json.dumps(job(extras={"foo": 1, "key": "x"})))
        done = muster("convert", "--to", "openpai-v1", self.folder / "job.json", state=self.folder)
        expect(done.returncode == 0, done.stderr[-300:])
        kept = json.loads(done.stdout)["extras"]
        expect(kept == {"foo": 1, "key": "x"}, str(kept))
        return "kept, convert gives them back"

    def no_text(self) -> str:
        said = self.checked(job(gpuType=None), 2)
        expect("gpuType is null" in said, said[-300:])
        return "gpuType is null, not a text"

    def all_errors(self) -> str:
        said = self.checked(job(jobName="a b", image="", retryCount=-3), 2)
        expect("3 errors in" in said, said[-300:])
        return "3 errors, each with its place"

    def states(self) -> str:
        """Of the first one, which has all GPUs; of one that waits for it and is stopped."""
        held = of_role(taskNumber=8, gpuNumber=1, command="sleep 600")
        front = self.server.submit(json.dumps(held | {"jobName": "front"}))
        self.server.wait(front, "running")
        behind = self.server.submit(json.dumps(held | {"jobName": "behind"}))
        words = [self.server.job(behind)["word"], self.server.job(front)["word"]]
        for number in (behind, front):
            self.server.stop(number, now=True)
            self.server.wait(number, "stopped")
        words += [self.ended(of_role(command=c))["word"] for c in ("true", "false")]
        words.append(self.server.job(behind)["word"])
        expect(words == ["WAITING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"], str(words))
        return ", ".join(words)

    def examples(self) -> Iterator[Example]:
        yield from self.configuration()
        yield from self.resources()
        yield from self.rules_of_ends()
        for of, (name, promise) in enumerate(VARIABLES, 37):
            yield Example(of, name, promise, partial(self.variable, name), note=OWN)
        yield from self.rest()
        for of, name, promise, good, bad in RULES:
            tried = partial(self.rule, good, bad)
            yield Example(of, name, promise, tried, rule_of(bad))

    def configuration(self) -> Iterator[Example]:
        yield Example(1, "JSON with // comments", "is read", self.comments,
                      note="the complete example is checked")  # fmt: skip
        yield Example(2, "detailed format", "as it is printed", self.specification, How.REFUSED)
        yield by_tests(4, "jobName: unique", "a second one is refused",
                        "test_openpai_run.py::test_a_name_in_use_is_refused", how=How.REFUSED,
                        note="while the first lives; when it has ended the name is free",
                        )  # fmt: skip
        here = "a stand-in from a registry of this machine"
        yield by_tests(5, "image", "tasks run in it",
                       "test_images.py::test_openpai_jobs_name_their_image",
                       how=How.CHANGED, note=here)  # fmt: skip
        yield by_tests(6, "each task in one Docker container", "files of its own",
                       "test_images.py::test_what_tasks_write_is_their_own", how=How.CHANGED,
                       note="a container that muster makes, without Docker")  # fmt: skip
        yield by_tests(7, "authFile", "three lines",
                       "test_images.py::test_the_auth_file_of_openpai",
                       how=How.CHANGED, note=here)  # fmt: skip
        yield absent(8, "docker.io for Docker Hub", "no test asks the internet")
        yield Example(9, "dataDir", "PAI_DATA_DIR is its address", self.foreign_data, note=OWN)
        yield by_tests(10, "outputDir: default", "Output/$jobName is made",
                        "test_openpai_run.py::test_output_directory_is_made", how=How.CHANGED,
                        note="Output/USER/JOB, as the servers had it")  # fmt: skip
        yield Example(11, "codeDir on hdfs://", "no client of HDFS", self.hdfs, How.REFUSED)
        yield by_tests(11, "HDFS", "code is read from there",
                        "test_openpai_run.py::test_storage_roots", how=How.CHANGED,
                        note="--roots: a directory of this machine in its place")  # fmt: skip
        yield by_tests(12, "codeDir", "is made in the task's directory",
                        "test_openpai_run.py::test_code_is_staged_under_its_own_name",
                        "::test_staged_code_is_a_copy")  # fmt: skip
        yield Example(12, "codeDir: readonly", "cannot be written", self.read_only, note=OWN)
        yield by_tests(13, "codeDir: less than 200MB", "more is refused",
                        "test_openpai_run.py::test_code_limit", how=How.REFUSED)  # fmt: skip
        yield Example(14, "virtualCluster: not there", "as the page has it", self.unknown_cluster,
                      How.REFUSED)  # fmt: skip
        yield Example(15, "virtualCluster: omitted", "default", self.default_cluster, note=OWN)

    def resources(self) -> Iterator[Example]:
        numbers = "declared nodes: their GPUs are numbers"
        yield Example(18, "memoryMB", "more than it is killed", self.memory,
                      note=f"{OWN}: 400 MB in a task of 128")  # fmt: skip
        yield Example(19, "cpuNumber", "no more than these cores", self.cores,
                      note=f"{OWN}: the limit is read, where there can be one")  # fmt: skip
        yield Example(20, "shmMB", "a /dev/shm of that size", self.shared_memory, note=OWN)
        yield by_tests(21, "gpuNumber", "devices of its own",
                        "test_openpai_run.py::test_gpus_are_handed_out",
                        how=How.CHANGED, note=numbers)  # fmt: skip
        yield Example(22, "gpuType", "a node that has it", self.gpu_type, How.CHANGED, numbers)
        yield by_tests(23, "beginAt 0", "ports that nobody has",
                        "test_openpai_run.py::test_host_list_and_ports_agree")  # fmt: skip
        yield by_tests(24, "beginAt n", "these ports, for one task a machine",
                        "test_openpai_run.py::test_static_ports_exclude_each_other",
                        "::test_static_port_range_for_two_tasks_of_a_role_never_fits")  # fmt: skip
        yield Example(25, "http and ssh", "every task has them", self.implicit_ports, note=OWN)
        yield Example(26, "command", "variables work in it", self.command, note=OWN)

    def rules_of_ends(self) -> Iterator[Example]:
        yield by_tests(27, "minFailedTaskCount: n", "so many fail the job",
                        "test_openpai_run.py::test_first_failure_fails_the_job",
                        "::test_failures_below_the_count_do_not",
                        "test_first_death.py::test_the_second_failure_is_not_called_the_first",
                        )  # fmt: skip
        yield Example(
            28, "minFailedTaskCount: null", "the job succeeds", self.never_fails, note=OWN
        )
        yield by_tests(29, "minSucceededTaskCount: n", "so many end the job",
                        "test_openpai_run.py::test_enough_successes_end_the_job")  # fmt: skip
        yield Example(30, "retryCount", "so many retries", self.retries, note=OWN)
        yield by_tests(30, "retryCount: classes", "0 none, -1 as long as it helps",
                        "test_openpai_run.py::test_no_retry_by_default",
                        "::test_retry_until_it_works", "::test_user_failures_are_not_retried",
                        "::test_service_runs_for_ever")  # fmt: skip
        yield Example(31, "jobEnvs", "in every task, not substituted", self.environment, note=OWN)
        yield Example(32, "jobEnvs.paiAzRDMA", "a warning", self.rdma, How.SHOWN)
        yield by_tests(33, "jobEnvs.isDebug", "what failed is kept",
                        "test_openpai_run.py::test_debug_hold", how=How.CHANGED,
                        note="its task is kept for muster exec, not for ssh")  # fmt: skip
        yield Example(34, "extras", "kept", self.extras, How.SHOWN)
        yield Example(35, "null for a text", "gpuType: null", self.no_text, How.REFUSED)
        yield Example(36, "several mistakes", "all of them at once", self.all_errors, How.REFUSED)

    def rest(self) -> Iterator[Example]:
        yield Example(50, "variables of the example", "hosts and directories",
                      self.example_variables, note=OWN)  # fmt: skip
        yield Example(
            51, "variables in the config file", "dataDir, outputDir", self.directories, note=OWN
        )
        yield Example(
            52, "complete example", "runs to its end", self.complete, How.CHANGED,
            "its virtual cluster is declared; tf_cnn_benchmarks.py trains with numpy, "
            "not with TensorFlow",
        )  # fmt: skip
        yield Example(53, "kill the job when 2 completed", "ps are stopped", self.killed,
                      How.CHANGED, "that run of the complete example")  # fmt: skip
        yield by_tests(54, "job exit spec", "codes and classes",
                        "test_openpai_run.py::test_task_words_of_openpai",
                        "::test_user_failures_are_not_retried",
                       note="codes 0 and 255, the class of 139")  # fmt: skip
        yield Example(55, "job states", "the five words", self.states, note=OWN)
        yield absent(56, "ssh into a task", "muster exec; nothing listens on the port")
        yield by_tests(57, "web portal: jobs", "listed, opened, live output",
                        "test_page.py::test_jobs_are_listed_and_opened_with_the_keyboard",
                        "::test_output_is_live_and_never_markup")  # fmt: skip
        yield absent(57, "web portal: submission form", "the page shows jobs and their output")
        yield Example(58, "hello-world job", "runs", self.hello,
                      note="examples/openpai/hello.json; the page only names one")  # fmt: skip
        yield by_tests(59, "jobs on a cluster", "a job of OpenPAI on machines runs as on one",
                       "test_engines.py::test_the_same_events")  # fmt: skip
