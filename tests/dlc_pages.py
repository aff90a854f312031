"""PAI-DLC's page on submitting a training job (创建训练任务), for tests/seeds: both commands of its
command line, the jobs its programs submit, its fields and their rules."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from typing import Any

from harness import FINAL, Json, Server, environment, muster, program, scratch, wait_for
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

# The page's tfjob.params, as it stands there.
DLC_PARAMS = """\
name=test_cli_tfjob_001
workers=1
worker_cpu=4
worker_gpu=0
worker_memory=4Gi
worker_shared_memory=4Gi
worker_image=registry-vpc.cn-beijing.aliyuncs.com/pai-dlc/tensorflow-training:1.12.2PAI-cpu-py27-ubuntu16.04
command=echo good && sleep 120
resource_id=<替换成您的资源配额ID> \n\
workspace_id=<替换成您的WorkspaceID>
"""
DLC_PUBLIC: Json = {
    "WorkspaceId": "12345",
    "DisplayName": "sample-dlc-job",
    "JobType": "TFJob",
    "JobSpecs": [
        {
            "Type": "Worker",
            "Image": "registry-vpc.cn-hangzhou.aliyuncs.com/pai-dlc/tensorflow-training:1.15",
            "PodCount": 1,
            "EcsSpec": "ecs.c6.large",
            "UseSpotInstance": False,
        },
    ],
    "UserCommand": "echo 'Hello World' && ls -R /mnt/data/ && sleep 30 && echo 'DONE'",
}
DLC_QUOTA: Json = {
    "ResourceId": "quota1",
    "WorkspaceId": "12345",
    "DisplayName": "sample-dlc-job",
    "JobType": "TFJob",
    "JobSpecs": [
        {
            "Type": "Worker",
            "Image": "registry-vpc.cn-hangzhou.aliyuncs.com/pai-dlc/tensorflow-training:"
            "1.15-cpu-py36-ubuntu18.04",
            "PodCount": 1,
            "ResourceConfig": {"CPU": "1", "Memory": "2Gi"},
        }
    ],
    "UserCommand": 'echo "Hello World"',
}


def dlc_job(**changes: Any) -> Json:
    return {**DLC_QUOTA, "JobType": "PyTorchJob", **changes}


def advanced(**settings: Any) -> Json:
    return dlc_job(Settings={"AdvancedSettings": settings})


def spot(bid: float) -> Json:
    offer = {"SpotStrategy": "SpotWithPriceLimit", "SpotDiscountLimit": bid}
    one = {**DLC_PUBLIC["JobSpecs"][0], "UseSpotInstance": True, "SpotSpec": offer}
    return {**DLC_PUBLIC, "JobType": "PyTorchJob", "JobSpecs": [one]}


QUOTA_SPEC: Json = DLC_QUOTA["JobSpecs"][0]
NAMED: Json = {"AssignNodeSpec": {"EnableAssignNode": True, "NodeNames": "n1"}}
GPU: Json = {"CPU": "1", "GPU": "1"}
CHECKED: Json = {"EnableSanityCheck": True}
NETWORK = {"VpcId": "vpc-1", "SwitchId": "vsw-1", "SecurityGroupId": "sg-1"}
VPC: Json = {**DLC_PUBLIC, "UserCommand": "true", "UserVpc": NETWORK}
# number, field, its rule on the page, bodies that are fine, bodies that are not
DLC_RULES: list[tuple[int, str, str, list[Json], list[Json]]] = [
    (16, "环境变量", "at most 20", [dlc_job(Envs={f"E{i}": "1" for i in range(20)})],
     [dlc_job(Envs={f"E{i}": "1" for i in range(21)})]),
    (25, "优先级", "1 to 9", [dlc_job(Priority=1), dlc_job(Priority=9)],
     [dlc_job(Priority=0), dlc_job(Priority=10)]),
    (42, "customPortList", "ports and ranges, not 23456",
     [advanced(customPortList="10000;10001-10010")],
     [advanced(customPortList="23456"), advanced(customPortList="23450-23460")]),
    (43, "customPortNumPerWorker", "a number, the list excludes it",
     [advanced(customPortNumPerWorker=100)],
     [advanced(customPortNumPerWorker=2, customPortList="10000"),
      advanced(customPortNumPerWorker="many")]),
    (24, "最高出价", "1折 to 9折", [spot(0.1), spot(0.9)], [spot(0), spot(0.15), spot(1)]),
    (39, "指定节点调度", "only with a quota", [dlc_job(JobSpecs=[{**QUOTA_SPEC, **NAMED}])],
     [{**DLC_PUBLIC, "JobSpecs": [{**DLC_PUBLIC["JobSpecs"][0], **NAMED}]}]),
    (51, "健康检测", "PyTorch with GPUs, of a quota",
     [dlc_job(Settings=CHECKED, JobSpecs=[{**QUOTA_SPEC, "ResourceConfig": GPU}])],
     [dlc_job(Settings=CHECKED), {**DLC_PUBLIC, "JobType": "PyTorchJob", "Settings": CHECKED}]),
]  # fmt: skip


class DlcPage(Page):
    """help.aliyun.com, PAI-DLC: submitting a training job (创建训练任务)."""

    page = "pai-dlc jobs"
    document = "dlc"
    count = 67

    def open(self) -> None:
        self.home = scratch("seeds")
        (self.home / "bucket/digits").mkdir(parents=True)
        (self.home / "bucket/digits/part-0").write_text("from the bucket\n")
        served = f"oss://bucket.oss-cn-beijing.aliyuncs.com/={self.home}/bucket"
        self.server = Server(
            nodes="2x16cpu,64Gi,4gpu", flags=("--roots", served, "--prices", "*=0.5")
        )
        self.server.start()
        declared = self.server.muster("apply", "-f", "-", stdin=self.names())
        expect(declared.returncode == 0, declared.stderr)
        (self.home / "dlc").symlink_to(program().resolve())
        self.job = ""
        self.seen: dict[str, list[str]] = {}

    def names(self) -> str:
        """The workspace and the quota of the page, a data set in two versions, a public one."""
        (self.home / "v1").mkdir()
        (self.home / "v2").mkdir()
        (self.home / "v2/which").write_text("the second\n")
        names: list[Json] = [
            {"kind": "workspace", "name": "12345"},
            {"kind": "quota", "name": "quota1"},
            {"kind": "dataset", "name": "d-own", "uri": str(self.home / "v1"), "path": "/mnt/data"},
            {"kind": "dataset", "name": "d-own:v2", "uri": str(self.home / "v2"),
             "path": "/mnt/data"},
            {"kind": "dataset", "name": "d-public", "uri": str(self.home / "v2"),
             "path": "/mnt/public", "read_only": True},
        ]  # fmt: skip
        return json.dumps(names)

    def close(self) -> None:
        left = self.server.close()
        shutil.rmtree(self.home, ignore_errors=True)
        if left:
            raise Broken(f"still there after the end: {left}")

    def dlc(self, line: str) -> subprocess.CompletedProcess[str]:
        """A line of the page, by a shell in the folder of dlc and tfjob.params."""
        env = {**environment(self.server.state), "HOME": str(self.home)}
        return subprocess.run(
            line, shell=True, cwd=self.home, env=env, capture_output=True, text=True, check=False
        )

    def placeholders(self) -> str:
        (self.home / "tfjob.params").write_text(DLC_PARAMS)
        done = self.dlc("./dlc submit tfjob --job_file  ./tfjob.params")
        said = done.stderr.splitlines()
        expect(done.returncode == 2 and not done.stdout, f"exit {done.returncode}")
        expect("tfjob.params:9:" in said[0] and ":10:" in done.stderr, said[0])
        return said[0].partition(": ")[2]

    def submit(self) -> str:
        text = DLC_PARAMS.replace("<替换成您的资源配额ID>", "quota1")
        (self.home / "tfjob.params").write_text(text.replace("<替换成您的WorkspaceID>", "12345"))
        done = self.dlc("./dlc submit tfjob --job_file  ./tfjob.params")
        found = re.findall(r"^\| (dlc[0-9a-z]+) ", done.stdout, re.M)
        expect(done.returncode == 0 and found, f"exit {done.returncode}: {done.stderr[-300:]}")
        self.job = found[0]
        return f"JobId {self.job}"

    def get(self) -> str:
        if not self.job:
            self.submit()

        def running() -> Json | None:
            done = self.dlc(f"./dlc get job {self.job}")
            found: Json = json.loads(done.stdout)
            return found if found["Status"] == "Running" else None

        job = wait_for(running, 20, "Running")
        expect(job["UserCommand"] == "echo good && sleep 120", str(job["UserCommand"]))
        number = self.server.job(self.job)["number"]
        wait_for(lambda: self.server.log(number) == "good\n", 20, "its output")
        self.dlc(f"./dlc stop job {self.job} --force")
        return f'JSON, Status {job["Status"]}, it wrote "good"'

    def public(self) -> str:
        data = self.home / "nas"
        data.mkdir()
        (data / "part-0").write_text("x")
        source = {"Uri": f"file://{data}", "MountPath": "/mnt/data/nas"}
        text = json.dumps({**DLC_PUBLIC, "DataSources": [source]})
        reply = self.server.api("POST", "/v1/jobs", text)
        if "mounts nothing" in reply.text:
            raise Skipped('this machine mounts nothing ("muster doctor")')
        number = reply.good().json()["number"]
        wait_for(lambda: self.server.state_of(number) in FINAL, 60, "the job", every=0.1)
        job, said = self.server.job(number), self.server.log(number)
        expect(job["word"] == "Succeeded", f"{job['word']}: {job.get('reason')}: {said[-200:]}")
        lines = said.split("\n")
        expect(lines[0] == "Hello World" and "part-0" in lines and "DONE" in lines, said[-200:])
        return "Hello World, its data at /mnt/data/nas, DONE"

    def quota(self) -> str:
        job = self.server.run(json.dumps(DLC_QUOTA))
        said = self.server.log(job["number"])
        expect(job["word"] == "Succeeded" and said == "Hello World\n", f"{job['word']}: {said}")
        return f"{job['word']}, user_command read back"

    def run(self, body: Json, end: str = "Succeeded") -> Json:
        """The job when it is over."""
        reply = self.server.api("POST", "/v1/jobs", json.dumps(body))
        if "mounts nothing" in reply.text:
            raise Skipped('this machine mounts nothing ("muster doctor")')
        job = self.server.wait(reply.good().json()["number"])
        said = self.server.log(job["number"])[-300:]
        expect(job["word"] == end, f"{job['word']}: {job.get('reason')}: {said}")
        return job

    def lines(self, body: Json, task: str = "") -> list[str]:
        return self.server.log(self.run(body)["number"], task or None).splitlines()

    def warned(self, body: Json, words: str) -> str:
        """What is shown of a job that has it."""
        return warning(self.server, self.run(body)["number"], words)

    def refused(self, body: Json, words: str) -> str:
        reply = self.server.api("POST", "/v1/jobs", json.dumps(body))
        expect(reply.status >= 400 and words in reply.text, reply.text[-300:])
        return str(reply.json().get("detail"))

    def name(self) -> str:
        if not self.job:
            self.submit()
        found: Json = json.loads(self.dlc(f"./dlc get job {self.job}").stdout)
        expect(found["DisplayName"] == "test_cli_tfjob_001", str(found["DisplayName"]))
        return str(found["DisplayName"])

    def tags(self) -> str:
        number = self.run(dlc_job(Settings={"Tags": {"team": "vision"}}))["number"]
        shown = re.search(r"^tags +team=vision$", self.server.muster("show", number).stdout, re.M)
        expect(shown, "show has no tags")
        return "muster show: tags team=vision"

    def images(self) -> str:
        said = self.server.muster("get", "images").stdout.splitlines()
        expect(len(said) == 3 and "tensorflow-training" in "".join(said), str(said))
        return "the two of the page are listed, with their labels"

    def data_sets(self, version: str = "") -> str:
        """Written where it is mounted, and found where it lies."""
        source = {"DataSourceId": "d-own"} | ({"DataSourceVersion": version} if version else {})
        command = "cat /mnt/data/which; echo result > /mnt/data/result"
        lines = self.lines(dlc_job(DataSources=[source], UserCommand=command))
        place = self.home / (version or "v1")
        expect((place / "result").read_text() == "result\n", "no result")
        expect(("the second" in lines) == (version == "v2"), str(lines))
        return f"/mnt/data is {place.name} of it, and was written to"

    def results(self) -> str:
        source = [{"DataSourceId": "d-own"}]
        self.run(dlc_job(DataSources=source, UserCommand="echo 0.93 > /mnt/data/accuracy"))
        found = self.lines(dlc_job(DataSources=source, UserCommand="cat /mnt/data/accuracy"))
        expect(found == ["0.93"], str(found))
        return "the next job reads what the first one wrote"

    def public_set(self) -> str:
        command = "cat /mnt/public/which; touch /mnt/public/x 2>&1 || true"
        said = self.lines(dlc_job(DataSources=[{"DataSourceId": "d-public"}], UserCommand=command))
        expect(said[0] == "the second" and "Read-only file system" in said[-1], str(said))
        return said[-1]

    def storage(self) -> str:
        source = [{"Uri": "cpfs://cpfs-1.cn-beijing/p/", "MountPath": "/mnt/data"}]
        return self.refused(dlc_job(DataSources=source), "cpfs")

    def bucket(self) -> str:
        uri = "oss://bucket.oss-cn-beijing.aliyuncs.com/digits/"
        said = self.lines(
            dlc_job(DataSources=[{"Uri": uri, "MountPath": "/mnt/oss"}],
                    UserCommand="cat /mnt/oss/part-0")
        )  # fmt: skip
        expect(said == ["from the bucket"], str(said))
        return f"{uri} at /mnt/oss"

    def hello(self) -> str:
        said = self.lines(dlc_job(UserCommand="python -c \"print('Hello World')\""))
        expect(said == ["Hello World"], str(said))
        return "Hello World"

    def common(self) -> str:
        names = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
        show = "; ".join(f"echo {name}=${name}" for name in names)
        job = self.run(dlc_job(JobSpecs=[{**QUOTA_SPEC, "PodCount": 2}], UserCommand=show))
        one, two = (self.server.log(job["number"], t).split() for t in ("master/0", "worker/0"))
        expect(one[:3] == two[:3] and one[2] == "WORLD_SIZE=2", f"{one} {two}")
        expect((one[3], two[3]) == ("RANK=0", "RANK=1"), f"{one} {two}")
        return " ".join(two)

    def kind(self, job_type: str, variables: str) -> str:
        """Two pods of a kind, what each finds in its environment."""
        spec = [{**QUOTA_SPEC, "PodCount": 2}]
        job = self.run(
            {**DLC_QUOTA, "JobType": job_type, "JobSpecs": spec,
             "UserCommand": f"env | grep -E '^({variables})=' | sort"}
        )  # fmt: skip
        said = {t["name"]: self.server.log(job["number"], t["name"]) for t in job["task_list"]}
        for task, text in said.items():
            expect(text.count("\n") == len(variables.split("|")), f"{task}: {text}")
        expect(len(set(said.values())) == 2, str(said))
        return " ".join(list(said.values())[1].split())

    def literal(self) -> str:
        said = self.lines(dlc_job(Envs={"PLACE": "$HOME/x"}, UserCommand='echo "$PLACE"'))
        expect(said == ["$HOME/x"], str(said))
        return "PLACE=$HOME/x, as it was given"

    def roles(self) -> str:
        kinds = ("Chief", "PS", "Worker", "Evaluator", "GraphLearn")
        specs = [{**QUOTA_SPEC, "Type": kind} for kind in kinds]
        wait = 'case $TF_CONFIG in *\'"task":{"type":"\'[cw]*) ;; *) exec sleep 600 ;; esac'
        job = self.run({**DLC_QUOTA, "JobSpecs": specs, "UserCommand": wait})
        ends = {t["name"].partition("/")[0]: t["state"] for t in job["task_list"]}
        expect(sorted(ends) == sorted(kind.lower() for kind in kinds), str(ends))
        done = sorted(name for name, state in ends.items() if state == "succeeded")
        expect(done == ["chief", "worker"], str(ends))
        return "chief and worker are waited for, ps, evaluator and graphlearn are stopped"

    def instances(self) -> str:
        spec = [{**DLC_PUBLIC["JobSpecs"][0], "PodCount": 2, "EcsSpec": "ecs.g6.large"}]
        job = self.run({**DLC_PUBLIC, "JobSpecs": spec, "UserCommand": "true"})
        asked = self.server.job(job["number"], spec=1)["spec"]["roles"]["worker"]
        expect(asked["replicas"] == 2 and asked["resources"]["memory"] == "8Gi", str(asked))
        return f"2 nodes of {asked['resources']}"

    def resources(self) -> str:
        """A device of its own, and no more memory than it asked for."""
        spec = [{**QUOTA_SPEC, "ResourceConfig": {"CPU": "1", "GPU": "1", "Memory": "128Mi"}}]
        command = "echo $NVIDIA_VISIBLE_DEVICES; head -c 400M /dev/zero | tail -c 400M >/dev/null"
        body = dlc_job(JobSpecs=spec, UserCommand=command)
        job = self.server.run(json.dumps(body))
        if job["word"] == "Succeeded":
            raise Skipped("no limit of memory here: muster doctor")
        expect("memory" in job["reason"], job["reason"])
        device = self.server.log(job["number"]).split()[0]
        expect(device.isdigit(), device)
        return f"device {device}; {job['reason']}"

    def shared(self) -> str:
        config = {"CPU": "1", "Memory": "1Gi", "SharedMemory": "256Mi"}
        show = "df -m --output=size /dev/shm | tail -n 1"
        size = self.lines(dlc_job(JobSpecs=[{**QUOTA_SPEC, "ResourceConfig": config}],
                                  UserCommand=show))[0].strip()  # fmt: skip
        doctor = self.server.muster("doctor").stdout
        if size != "256" and not re.search(r"^namespaces +ok", doctor, re.M):
            raise Skipped("this machine allows no mount namespaces")
        expect(size == "256", f"{size} MB")
        return "256 MB where it says 256Mi"

    def named_node(self) -> str:
        named = {"AssignNodeSpec": {"EnableAssignNode": True, "NodeNames": "n2"}}
        job = self.run(dlc_job(JobSpecs=[{**QUOTA_SPEC, **named}]))
        node = self.server.job(job["number"])["task_list"][0]["attempts"][0]["node"]
        expect(node == "n2", node)
        return "n2 asked, n2 given"

    def services(self) -> str:
        """Both at once, as the page's line of advanced settings has them."""
        settings = {"createSvcForAllWorkers": "true", "customPortNumPerWorker": "100"}
        command = (
            'echo "$CUSTOM_PORTS" | tr ";" "\\n" | sort -u | wc -l; '
            "getent hosts $JOB_NAME-master-0 $JOB_NAME-worker-0 | wc -l"
        )
        spec = [{**QUOTA_SPEC, "PodCount": 2}]
        body = dlc_job(JobSpecs=spec, UserCommand=command, Settings={"AdvancedSettings": settings})
        number = self.run(body)["number"]
        self.seen = {t: self.server.log(number, t).split() for t in ("master/0", "worker/0")}
        expect({said[1] for said in self.seen.values()} == {"2"}, str(self.seen))
        return "both names resolve in both"

    def ports(self) -> str:
        if not self.seen:
            self.services()
        expect([said[0] for said in self.seen.values()] == ["100", "100"], str(self.seen))
        return "100 ports a worker"

    def spot(self) -> str:
        """The market has 0.5: a bid above it runs, one below waits."""
        self.run({**spot(0.6), "UserCommand": "true"})
        low = self.server.submit(json.dumps({**spot(0.3), "UserCommand": "true"}))
        reason = wait_for(lambda: self.server.job(low).get("reason"), what="why it waits")
        self.server.stop(low)
        expect("bids" in reason, reason)
        return f"0.6: Succeeded; 0.3: {reason}"

    def idle(self) -> str:
        """One that takes what is idle has all devices; one that is sure of them comes."""
        spec = [{**QUOTA_SPEC, "PodCount": 2, "ResourceConfig": {**GPU, "GPU": "4"}}]
        taking = dlc_job(JobSpecs=spec, UserCommand="sleep 600",
                         Settings={"OversoldType": "ForceQuotaOverSold"})  # fmt: skip
        first = self.server.submit(json.dumps(taking))
        self.server.wait(first, "running")
        self.run(dlc_job(JobSpecs=spec, UserCommand="true"))
        reasons = [e["text"] for e in self.server.events(first) if e["type"] == "requeued"]
        self.server.stop(first, now=True)
        self.server.wait(first, "stopped")
        expect(reasons, str(self.server.events(first)))
        return str(reasons[0])

    def default_limit(self) -> str:
        number = self.run(dlc_job())["number"]
        limits = self.server.job(number, spec=1)["spec"]["limits"]
        expect(limits["run_time"] in ("30h", "1d6h"), str(limits))
        shown = re.search(r"^limit +(.*)$", self.server.muster("show", number).stdout, re.M)
        expect(shown, "show has no limit")
        assert shown
        return shown[0]

    def fault_tolerance(self) -> str:
        args = "--enable-job-restart=True --max-num-of-job-restart=2"
        settings = {"EnableErrorMonitoringInAIMaster": True, "ErrorMonitoringArgs": args}
        body = dlc_job(Settings=settings, UserCommand="kill -9 $$")
        job = self.run(body, "Failed")
        expect(job["restarts"] == 2, str(job["restarts"]))
        return f"started again twice; {job['reason']}"

    def hangs(self) -> str:
        args = "--enable-job-restart=True --enable-job-hang-detection=True"
        settings = {"EnableErrorMonitoringInAIMaster": True, "ErrorMonitoringArgs": args}
        return self.warned(dlc_job(Settings=settings), "hang-detection")

    def rule(self, good: list[Json], bad: list[Json]) -> str:
        path, first = self.home / "job.json", ""
        for tree in good:
            path.write_text(json.dumps(tree))
            done = muster("check", path, state=self.home)
            expect(done.returncode == 0, f"a good value was refused: {done.stdout[-200:]}")
        for tree in bad:
            path.write_text(json.dumps(tree))
            done = muster("check", path, state=self.home)
            said = [s for s in (done.stdout + done.stderr).splitlines() if "warning" not in s]
            expect(done.returncode == 2, f"a bad value was taken: {tree}")
            first = first or said[0].partition(": ")[2]
        return f"{len(good)} good, {len(bad)} bad ({first})"

    def examples(self) -> Iterator[Example]:
        yield from self.command_line()
        yield from self.environment()
        yield from self.resource_fields()
        yield from self.frameworks()
        yield from self.advanced()
        yield from self.programs()
        for of, name, promise, good, bad in DLC_RULES:
            yield Example(of, name, promise, partial(self.rule, good, bad), rule_of(bad))

    def command_line(self) -> Iterator[Example]:
        yield Example(56, "tfjob.params, not filled in", "says what to write", self.placeholders,
                      How.REFUSED)  # fmt: skip
        yield Example(56, "dlc submit tfjob --job_file", "submits", self.submit, How.CHANGED,
                      "both placeholders filled in")  # fmt: skip
        yield Example(57, "dlc get job <jobID>", "shows the job", self.get)
        yield absent(1, "新建任务 (form of the console)", "the page shows jobs, it submits none")
        yield Example(2, "任务名称", "shown by dlc get job", self.name)
        yield Example(3, "标签", "shown", self.tags, note=OWN)
        yield by_tests(61, "停止, 删除", "dlc stop job, dlc delete job",
                        "test_dlc_command.py::test_stop_list_delete")  # fmt: skip

    def environment(self) -> Iterator[Example]:
        yield Example(4, "官方镜像", "listed", self.images, How.SHOWN)
        with_image = "test_images.py::test_the_image_config_of_dlc"
        yield by_tests(5, "自定义镜像, 镜像地址", "tasks run in it", with_image, how=How.CHANGED,
                       note="a stand-in from a registry of this machine")  # fmt: skip
        yield by_tests(6, "镜像仓库用户名, 密码", "the registry is asked with them", with_image,
                       how=How.CHANGED, note="a registry of this machine")  # fmt: skip
        yield by_tests(6, "镜像仓库密码: on the disk", "never in clear",
                       "test_secrets_at_rest.py::test_nothing_is_in_clear",
                       note="kept sealed")  # fmt: skip
        yield absent(7, "镜像加速", "a service of the cloud")
        here = "a directory of this machine"
        yield Example(8, "自定义数据集", "at its mount path", self.data_sets, How.CHANGED, here)
        yield Example(9, "数据集: 版本", "v2", partial(self.data_sets, "v2"), How.CHANGED, here)
        yield Example(10, "公共数据集", "read-only", self.public_set, How.CHANGED, here)
        yield Example(11, "OSS, NAS, CPFS", "one that nothing serves", self.storage, How.REFUSED)
        yield Example(12, "直接挂载 (OSS)", "at its mount path", self.bucket, How.CHANGED,
                      f"--roots: {here} for the bucket")  # fmt: skip
        yield Example(13, "启动命令", "python -c \"print('Hello World')\"", self.hello, note=OWN)
        yield Example(14, "通用环境变量", "MASTER_ADDR and the others", self.common, note=OWN)
        yield Example(15, "训练结果", "stays in the mounted data set", self.results,
                      How.CHANGED, here)  # fmt: skip
        yield Example(16, "环境变量: literal", "Key:Value", self.literal, note=OWN)
        made = "a package that the test makes, in a job of muster's own words"
        yield by_tests(17, "三方库列表", "installed before the command",
                        "test_cores_and_packages.py::test_packages_are_kept",
                        how=How.CHANGED, note=made)  # fmt: skip
        yield by_tests(18, "requirements.txt文件目录", "installed before the command",
                        "test_cores_and_packages.py::test_packages_of_a_file",
                        how=How.CHANGED, note=made)  # fmt: skip
        yield by_tests(19, "在线配置: branch, commit", "not what lies there instead",
                        "test_catalogue.py::test_a_branch_or_commit_is_never_another",
                        how=How.REFUSED)  # fmt: skip
        yield absent(19, "在线配置: git", "a code source is a directory, nothing is fetched")
        yield by_tests(20, "本地上传", "the tasks start in it",
                        "test_archives.py::test_uploaded_code_is_where_tasks_start",
                        how=How.CHANGED, note="by muster's API, not by DLC's")  # fmt: skip

    def resource_fields(self) -> Iterator[Example]:
        yield absent(21, "资源类型 (灵骏智算, 通用计算)", "all nodes are of one kind")
        yield by_tests(22, "公共资源: 8 cores, 2 GPUs", "more waits, or is refused",
                        "test_catalogue.py::test_public_resources_have_a_cap",
                        "::test_spot_jobs_are_not_on_public_resources")  # fmt: skip
        yield by_tests(23, "资源配额", "a queue of its own",
                        "test_catalogue.py::test_quotas_and_virtual_clusters_are_queues",
                        )  # fmt: skip
        yield Example(24, "竞价资源", "runs when its bid is enough", self.spot, How.CHANGED,
                      "--prices: a price that is set, not a market")  # fmt: skip
        yield by_tests(25, "优先级: order", "9 before 1",
                        "test_dlc_run.py::test_higher_priority_first")  # fmt: skip
        yield Example(
            36, "Worker, PS, Chief, Evaluator, ...", "who is waited for", self.roles, note=OWN
        )
        yield Example(37, "节点数量, 资源规格", "so many of that size", self.instances, note=OWN)
        yield Example(38, "CPU, GPU, 内存", "held to", self.resources, How.CHANGED,
                      "declared nodes: their GPUs are numbers")  # fmt: skip
        yield Example(38, "共享内存", "a /dev/shm of that size", self.shared, note=OWN)
        yield Example(39, "指定节点调度: n2", "runs there", self.named_node, note=OWN)
        yield Example(44, "闲时资源", "gives way to who is sure", self.idle, note=OWN)
        yield by_tests(45, "CPU亲和性", "cores of its own",
                        "test_cores_and_packages.py::test_cores_of_its_own", how=How.CHANGED,
                        note="place.pin_cpus in muster's own words")  # fmt: skip
        yield Example(49, "专有网络", "a warning", partial(self.warned, VPC, "UserVpc"), How.SHOWN)

    def frameworks(self) -> Iterator[Example]:
        yield by_tests(26, "TensorFlow", "TF_CONFIG: all meet",
                        "test_dlc_run.py::test_tf_config_hosts_can_be_connected_to",
                        how=How.CHANGED, note="a program of sockets, not TensorFlow")  # fmt: skip
        real = "test_real_frameworks.py"
        yield by_tests(26, "TensorFlow itself", "replicas and parameter servers train",
                        f"{real}::test_replicas_mirror_each_other[Worker]",
                        "::test_a_chief_trains_on_a_parameter_server")  # fmt: skip
        yield by_tests(27, "PyTorch", "trains, torchrun without flags",
                        "test_dlc_run.py::test_three_jobs_train_on_one_machine",
                        "::test_torchrun_needs_no_flags")  # fmt: skip
        yield by_tests(28, "ElasticBatch", "independent workers",
                        "test_dlc_run.py::test_elastic_batch_starts_with_what_there_is",
                        "::test_elastic_batch_restarts_one_pod_alone")  # fmt: skip
        meet = "MASTER_ADDR|MASTER_PORT|WORLD_SIZE|RANK"
        for of, name, never in ((29, "XGBoost", ""), (30, "OneFlow", ", OneFlow itself never ran")):
            yield Example(of, name, "MASTER_ADDR and the others",
                          partial(self.kind, f"{name}Job", meet), How.CHANGED,
                          f"a command shows them{never}")  # fmt: skip
        yield by_tests(29, "XGBoost itself", "its workers boost the same trees",
                        f"{real}::test_trees_are_boosted_together")  # fmt: skip
        yield by_tests(31, "MPIJob", "mpirun starts ranks in the pods",
                        "test_dlc_run.py::test_mpirun_starts_ranks_in_pods",
                        "::test_remote_shell_reaches_every_pod")  # fmt: skip
        yield by_tests(32, "Slurm", "a script with srun, sbatch, squeue",
                        "test_dlc_run.py::test_a_slurm_job_is_a_script",
                        )  # fmt: skip
        yield by_tests(33, "Ray", "head and two workers are one cluster",
                        "test_rayjob.py::test_workers_of_one_machine_are_one_cluster[0]",
                        )  # fmt: skip
        juicer = {**DLC_QUOTA, "JobType": "DataJuicerJob"}
        yield Example(34, "DataJuicer", "a later edition",
                      partial(self.refused, juicer, "DataJuicerJob"), How.REFUSED)  # fmt: skip
        own = partial(self.refused, {**DLC_QUOTA, "JobType": "MyJob"}, "no such kind of job")
        yield Example(35, "自定义框架", "a later edition", own, How.REFUSED)

    def advanced(self) -> Iterator[Example]:
        yield Example(
            40, "createSvcForAllWorkers=true", "names of all workers", self.services, note=OWN
        )
        yield Example(41, "customPortNumPerWorker=100", "$CUSTOM_PORTS", self.ports, note=OWN)
        yield by_tests(42, "customPortList: whose", "the job's own",
                        "test_dlc_run.py::test_listed_ports_are_the_jobs_own")  # fmt: skip
        yield by_tests(46, "最长运行时长", "stopped after it",
                        "test_dlc_run.py::test_over_its_time_it_is_stopped", how=How.CHANGED,
                        note="0.3 s for its least of a minute")  # fmt: skip
        yield Example(47, "最长运行时长: default", "30 hours", self.default_limit,
                      note=f"{OWN}: the limit is read, not waited for")  # fmt: skip
        yield by_tests(48, "保留时长", "its resources are held",
                        "test_dlc_run.py::test_retention",
                        "test_lifecycle.py::test_a_job_whose_resources_are_kept_has_its_result",
                        )  # fmt: skip
        yield Example(50, "自动容错", "started again", self.fault_tolerance, note=OWN)
        yield Example(50, "自动容错: hangs, rates", "a warning", self.hangs, How.SHOWN)
        yield absent(51, "健康检测 (SanityCheck)", "checked as a field, no node is checked")
        role = dlc_job(CredentialConfig={"EnableCredentialInject": True})
        yield Example(52, "实例RAM角色", "a warning", partial(self.warned, role, "credentials"),
                      How.SHOWN)  # fmt: skip

    def programs(self) -> Iterator[Example]:
        yield Example(
            53, "job of the first program (public)", "runs to DONE", self.public, How.CHANGED,
            "its body, as native submission; data in a directory of this machine",
        )  # fmt: skip
        yield by_tests(53, "the first program", "by the vendor's package",
                        "test_dlc_client.py::test_the_programs_of_the_page_in_haste",
                        how=How.CHANGED,
                        note="endpoint, placeholders; its sleeping is cut short")  # fmt: skip
        yield Example(
            54, "job of the second program (quota)", "prints Hello World", self.quota, How.CHANGED,
            "its body, as native submission",
        )  # fmt: skip
        yield by_tests(54, "the second program", "by the vendor's package",
                        "test_dlc_client.py::test_the_programs_of_the_page_in_haste",
                        how=How.CHANGED, note="endpoint, placeholders")  # fmt: skip
        every = "test_dlc_client.py::test_every_operation_well_and_badly"
        yield by_tests(55, "pip: versions of the page", "and the newest ones", every)
        yield by_tests(58, "详情, 操作日志", "GetJob, GetJobEvents", every, how=How.CHANGED,
                        note="the job's events")  # fmt: skip
        yield absent(59, "资源视图 (GetJobMetrics)", "no curves are recorded")
        yield by_tests(60, "克隆", "the same job again",
                        "test_first_run.py::test_submit_several_and_like", how=How.CHANGED,
                        note="muster submit --like")  # fmt: skip
        yield by_tests(62, "TensorBoard", "made, started, stopped by the package", every,
                        how=How.CHANGED,
                        note="its record; the program must be on the machine")  # fmt: skip
        yield absent(63, "监控与报警", "/metrics has figures of the server and its queues")
        yield absent(64, "账单", "nothing is charged")
        yield absent(65, "日志转发至 SLS", "logs stay with the server")
        yield absent(66, "消息通知", "accepted with a warning, nobody is told")
        yield absent(67, "常见问题, 使用案例", "other pages, nothing to try on this one")
