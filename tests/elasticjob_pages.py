"""The ElasticJob page on gang scheduling of multi-node training, for tests/seeds: its cases by
muster's own verbs, its training, and what it says beside them. kubectl_pages.py has its session."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from harness import EXAMPLES, FINAL, ROOT, VENV, Json, Server, scratch, wait_for
from promise import Broken, Example, How, Page, Skipped, absent, by_tests, expect

PYTHON = VENV / "python"
PAGE_JOBS = ROOT / "tests/golden/elasticjob"  # the page's YAML, its indentation restored
PAGE_DATA = "/data/mnist_png"
REJECTED = re.compile(
    r'Gang "dlrover/torch-mnist-gang" gets rejected due to member Pod "[^"]+" is unschedulable '
    r'with reason "0/2 nodes are available: 2 Insufficient [^"]*"'
)


class ElasticJob(Page):
    """github.com/intelligent-machine-learning/dlrover, docs on gang scheduling.

    The page's script and data are in its image. Here the script is given as the job's code, and the
    data is mounted as a hostPath; where the engine mounts nothing the command names the data's own
    path, and the row says so. The three cases need no training: their command only waits.
    """

    page = "elasticjob gang"
    document = "elasticjob"
    count = 18

    def open(self) -> None:
        self.folder = scratch("seeds")
        self.data = self.folder / "mnist_png"
        self.server = Server(nodes="2x16cpu,64Gi,1gpu").start()
        env = {"MUSTER_PYTHON": str(PYTHON)} if PYTHON.exists() else {}
        self.large = Server(nodes="4x4cpu,8Gi,1gpu", env=env).start()

    def close(self) -> None:
        left = {**self.server.close(), **self.large.close()}
        shutil.rmtree(self.folder, ignore_errors=True)
        if left:
            raise Broken(f"still there after the end: {left}")

    def said(self, server: Server, *args: str | Path | int) -> str:
        done = server.muster(*args)
        expect(done.returncode == 0, f"{' '.join(map(str, args))}: {done.stderr[-300:]}")
        return done.stdout

    def pods(self) -> list[list[str]]:
        """NAME READY STATUS of each, without a head."""
        lines = self.said(self.server, "get", "pods", "-n", "dlrover").splitlines()[1:]
        return [line.split()[:3] for line in lines]

    def states(self) -> str:
        return " ".join(sorted(row[2] for row in self.pods()))

    def applied(self, name: str, *changes: tuple[str, str]) -> int:
        text = (PAGE_JOBS / f"{name}.yaml").read_text()
        text = re.sub(r'"dlrover-run .*?testing/"', '"sleep 600"', text, flags=re.DOTALL)
        for old, new in changes:
            text = text.replace(old, new)
        path = self.folder / f"{name}.yaml"
        path.write_text(text)
        found: Json = json.loads(self.said(self.server, "apply", "-f", path, "--json"))
        return int(found["number"])

    def stop(self, number: int) -> None:
        self.server.stop(number, now=True)
        self.server.wait(number, "stopped")

    def all_wait(self) -> str:
        number = self.applied("gang")
        expect(self.states() == "Pending Pending Pending Pending Running", str(self.pods()))
        pod = ("describe", "pod", "torch-mnist-gang-edljob-worker-2", "-n", "dlrover")
        wait_for(lambda: REJECTED.search(self.said(self.server, *pod)), what="the page's event")
        self.stop(number)
        return "4 Pending, master Running, FailedScheduling"

    def two_run(self) -> str:
        number = self.applied("gang", ("min-available: 4", "min-available: 2"))
        wanted = "Pending Pending Running Running Running"  # one that is placed may be starting
        wait_for(lambda: self.states() == wanted, what="two to run")
        self.stop(number)
        return "2 Running, 2 Pending, master Running"

    def suspend(self) -> str:
        phase = ("get", "elasticjobs", "torch-mnist", "-n", "dlrover")
        number = self.applied("suspended")
        first, alone = self.said(self.server, *phase).split()[4], self.states()
        self.applied("suspended", ("suspend: true", "suspend: false"))
        self.server.wait(number, "running")
        then, all_of_them = self.said(self.server, *phase).split()[4], len(self.pods())
        self.stop(number)
        happened = f"{first}, pods: {alone}; then {then}, {all_of_them} pods"
        expect(happened == "Suspended, pods: Running; then Running, 5 pods", happened)
        return happened

    def job(self, mounted: bool) -> Path:
        """The page's job with its data as a volume, or named where it lies."""
        text = (PAGE_JOBS / "gang.yaml").read_text()
        if mounted:
            volume = f"volumes: [{{name: data, hostPath: {{path: {self.data}}}}}]"
            mount = f"volumeMounts: [{{name: data, mountPath: {PAGE_DATA}}}]"
            text = text.replace(
                "          containers:", f"          {volume}\n          containers:"
            )
            text = text.replace(
                "            - name: main", f"            - {mount}\n              name: main"
            )
        else:
            text = text.replace(PAGE_DATA, str(self.data))
        path = self.folder / "train.yaml"
        path.write_text(text)
        return path

    def submit(self) -> tuple[int, str]:
        """Its number, and what is different from the page."""
        code = ("--code", EXAMPLES / "elasticjob/examples", "--json")
        done = self.large.muster("submit", self.job(True), *code)
        if done.returncode == 0:
            return int(json.loads(done.stdout)["number"]), "data mounted"
        expect("mounts nothing" in done.stderr, done.stderr[:300])
        text = self.said(self.large, "submit", self.job(False), *code)
        return int(json.loads(text)["number"]), "own data path, no mounts"

    def command(self) -> str:
        if not list(ROOT.glob(".venv/lib/python3*/site-packages/torch/version.py")):
            raise Skipped("no PyTorch: tools/setup python installs it")
        digits = [str(PYTHON), str(EXAMPLES / "elasticjob/make_mnist_png.py"), str(self.data)]
        subprocess.run(digits, check=True, stdout=subprocess.DEVNULL)
        number, different = self.submit()
        wait_for(lambda: self.large.state_of(number) in FINAL, 240, "the training", every=0.1)
        job, said = self.large.job(number), self.large.log(number)
        expect(job["state"] == "succeeded", f"{job['state']}: {job.get('reason')}: {said[-300:]}")
        checks = [e for e in self.large.events(number) if e["type"] == "launch.check"]
        expect(len(checks) >= 4, f"{len(checks)} results of the node check")
        expect("8 processes on" in said, "not 8 processes")
        accuracy = re.findall(r"epoch 5  .*accuracy ([\d.]+) %", said)
        expect(accuracy and float(accuracy[0]) > 60, f"accuracy {accuracy} % after 5 epochs")
        return f"8 ranks, {accuracy[0]} % right; {different}"

    def master(self) -> str:
        """A row of the listing; no task of the job and no process."""
        number = self.applied("gang", ("min-available: 4", "min-available: 2"))
        self.server.wait(number, "running")
        shown = [row for row in self.pods() if "dlrover-master-0" in row[0]]
        tasks = {task["name"].partition("/")[0] for task in self.server.job(number)["task_list"]}
        self.stop(number)
        expect([row[1:] for row in shown] == [["1/1", "Running"]], str(shown))
        expect(tasks == {"worker"}, str(tasks))
        return f"{' '.join(shown[0])}; the job has workers alone"

    def policies(self) -> str:
        """Nothing is said of them."""
        path = PAGE_JOBS / "gang.yaml"
        text = path.read_text()
        expect("restartPolicy: Always" in text and "imagePullPolicy: Always" in text, "not there")
        done = self.server.muster("check", path)
        said = done.stdout + done.stderr
        expect(done.returncode == 0 and "Policy" not in said, said)
        return said.splitlines()[-1].rpartition("/")[2]

    def node_number(self) -> str:
        text = (PAGE_JOBS / "gang.yaml").read_text()
        echo = '"echo nodes $NODE_NUM"'
        text = re.sub(r'"dlrover-run .*?testing/"', echo, text, flags=re.DOTALL)
        number = int(self.large.submit(text))
        job = self.large.wait(number)
        said = self.large.log(number)
        expect(job["state"] == "succeeded" and said == "nodes 4\n" * 4, f"{job['state']}: {said}")
        return "4 in each of 4 workers"

    def examples(self) -> Iterator[Example]:
        waits, muster_says = "the command waits", "muster apply and get for kubectl"
        instead = f"{waits}; {muster_says}"
        yield by_tests(1, "YAML of the page", "its indentation is lost",
                        "test_golden_elasticjob.py::test_lost_indentation_is_one_error",
                        how=How.REFUSED)  # fmt: skip
        yield by_tests(3, "gang name, min-available", "so many at once, or none",
                        "test_elasticjob_run.py::test_the_rest_comes_one_by_one",
                        "::test_gang_group_of_two_jobs", how=How.CHANGED, note=waits)  # fmt: skip
        yield by_tests(4, "one name in two namespaces", "two gangs",
                        "test_elasticjob_run.py::test_namespaces",
                        how=How.CHANGED, note=instead)  # fmt: skip
        yield Example(5, "torch-mnist-gang, 2 GPUs, min 4", "all workers pending", self.all_wait,
                      How.CHANGED, instead)  # fmt: skip
        yield Example(7, "torch-mnist-gang, 2 GPUs, min 2", "two run, two are pending",
                      self.two_run, How.CHANGED, instead)  # fmt: skip
        yield by_tests(8, "min-available 3 of 4", "three begin, the fourth comes later",
                        "test_elasticjob_run.py::test_too_few_become_enough", how=How.CHANGED,
                        note="dlrover-run --nnodes=3:$NODE_NUM with a program that waits",
                        )  # fmt: skip
        yield Example(9, "torch-mnist, suspend", "only the master; then Running", self.suspend,
                      How.CHANGED, instead)  # fmt: skip
        yield by_tests(11, "suspend of a running job", "its workers go",
                        "test_elasticjob_run.py::test_apply",
                        how=How.CHANGED, note=instead)  # fmt: skip
        yield Example(
            12, "dlrover-run of torch-mnist-gang", "4 checked workers train", self.command,
            How.CHANGED, "script by --code, data on this machine, two GPUs are numbers",
        )  # fmt: skip
        yield Example(13, "NODE_NUM", "the value of replicas", self.node_number,
                      How.CHANGED, "the command prints it")  # fmt: skip
        yield Example(14, "pod of the master", "shown without a process", self.master, How.SHOWN)
        yield Example(15, "restartPolicy, imagePullPolicy", "Always", self.policies, How.SHOWN)
        yield absent(15, "imagePullPolicy: Always", "a job keeps the image of its submission")
        yield absent(16, "pods on a Kubernetes cluster", "on Kubernetes nothing runs yet")
        yield by_tests(17, "PodGroup", "a gang that a template names",
                        "test_golden_elasticjob.py::test_native", how=How.SHOWN,
                        note="read with the job, compared; nothing is started")  # fmt: skip
        yield by_tests(18, "ScalePlan", "not acted on", "test_golden_elasticjob.py::test_messages",
                        how=How.REFUSED)  # fmt: skip
