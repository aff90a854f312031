"""The kubectl session of the ElasticJob page on gang scheduling, for tests/seeds: what the page
prints and what the real kubectl prints here, as text with ages masked. The page's own controller
has no pod here, and its cluster has 13 nodes instead of two."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

from harness import ROOT, Server, environment, kubectl, native, patience, wait_for
from promise import Example, How, Page, Skipped, expect

JOBS = ROOT / "tests/golden/elasticjob"
NODES = "2x16cpu,64Gi,1gpu"
HEAD = "NAME READY STATUS RESTARTS AGE"
MASTER = "elasticjob-torch-mnist-dlrover-master-0 1/1 Running 0"
WORKER = "torch-mnist-edljob-worker-{} {}"
JOB = "get elasticjob -n dlrover"
RUNNING, PENDING = "1/1 Running 0", "0/1 Pending 0"
ALL_WAIT = [f"{HEAD}", f"{MASTER} 3m45s", *[f"{WORKER.format(i, PENDING)} 3m38s" for i in range(4)]]
TWO_RUN = [f"{HEAD}", f"{MASTER} 15m"] + [
    f"{WORKER.format(i, RUNNING if i in (0, 3) else PENDING)} 15m" for i in range(4)
]
REJECTED = (
    'default-scheduler Gang "dlrover/torch-mnist" gets rejected due to member Pod '
    '"torch-mnist-edljob-worker-2" is unschedulable with reason "0/13 nodes are available: 2 '
    "Insufficient koordinator.sh/gpu-core, 2 Insufficient koordinator.sh/gpu-memory-ratio"
)
# Of the page's two rows the second: here the first look is counted with the others.
EVENTS = [
    "Type Reason Age From Message",
    "---- ------ ---- ---- -------",
    f"Warning FailedScheduling 10s (x2 over 13s) {REJECTED}",
]


def masked(text: str) -> list[str]:
    """Lines without ages, the width of columns, how many nodes there are, and how many looks an
    event counts. `68s` and `15m` are the same age here."""
    text = re.sub(r"(?<=[ (])(\d+[smh]){1,2}(?=[ )]|$)", "AGE", text, flags=re.MULTILINE)
    text = re.sub(r"0/\d+ nodes", "0/N nodes", text)
    text = re.sub(r"\(x\d+ over", "(xN over", text)
    text = re.sub(r'gpu-memory-ratio[.,].*?"$', "gpu-memory-ratio", text, flags=re.MULTILINE)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def same(printed: str, page: list[str]) -> None:
    is_now, was = masked(printed), masked("\n".join(page))
    expect(is_now == was, f"{is_now} instead of {was}")


class Kubectl(Page):
    """The three cases of the page, by kubectl."""

    page = "elasticjob kubectl"
    document = "elasticjob"
    waits = is_suspended = False

    def open(self) -> None:
        self.program = kubectl()
        self.server = Server(nodes=NODES).start()
        home = self.server.state / "kube"
        home.mkdir()
        config = self.server.muster("client-config", "kubectl", "--namespace", "default")
        (home / "config").write_text(config.stdout)
        self.env = environment(KUBECONFIG=str(home / "config"), HOME=str(home))

    def close(self) -> None:
        left = self.server.close()
        expect(not left, f"still there after the end: {left}")

    def kubectl(self, line: str, stdin: str = "") -> str:
        if not self.program:
            raise Skipped("no kubectl")
        done = subprocess.run(
            [self.program, *line.split()], env=self.env, input=stdin, capture_output=True,
            text=True, timeout=patience(60), check=False,
        )  # fmt: skip
        expect(done.returncode == 0, f"kubectl {line}: {done.stderr[-300:]}")
        return done.stdout

    def create(self, name: str, *changes: tuple[str, str], literally: bool = False) -> None:
        """literally: with the page's own command, else one that waits."""
        text = (JOBS / f"{name}.yaml").read_text().replace("torch-mnist-gang", "torch-mnist")
        if not literally:
            text = re.sub(r'"dlrover-run .*?testing/"', '"sleep 600"', text, flags=re.DOTALL)
        for old, new in changes:
            text = text.replace(old, new)
        said = self.kubectl("apply -f -", text)
        expect(said == "elasticjob.elastic.iml.github.io/torch-mnist created\n", said)

    def delete(self) -> None:
        self.kubectl("delete elasticjob torch-mnist -n dlrover --grace-period=0 --force")

    def apply(self) -> str:
        self.create("gang", literally=True)
        self.delete()
        return "elasticjob.elastic.iml.github.io/torch-mnist created"

    def all_wait(self) -> str:
        self.create("gang")
        self.waits = True
        same(self.kubectl("get pods -n dlrover"), ALL_WAIT)
        return "the listing as printed"

    def events(self) -> str:
        """Of a worker that waits since the listing before."""

        def shown() -> list[str]:
            self.server.run(native("other", "true"))  # its end makes the scheduler look again
            text = self.kubectl("describe pod torch-mnist-edljob-worker-2 -n dlrover")
            return masked(text.partition("Events:\n")[2])

        if not self.waits:
            self.all_wait()
        wanted = masked("\n".join(EVENTS))
        wait_for(lambda: shown() == wanted, what="the page's events")
        self.delete()
        return "one event (x2 or more), in the page's words"

    def two_run(self) -> str:
        self.create("gang", ("min-available: 4", "min-available: 2"), literally=True)
        wait_for(lambda: self.kubectl("get pods -n dlrover").count("Running") == 3, what="two")
        text = self.kubectl("get pods -n dlrover")
        states = sorted(" ".join(line.split()[1:]) for line in masked(text))
        wanted = sorted(" ".join(line.split()[1:]) for line in masked("\n".join(TWO_RUN)))
        expect(states == wanted, text)
        logs = "logs torch-mnist-edljob-worker-0 -n dlrover"
        wait_for(
            lambda: "waiting for nodes: 2 of 3 to 4" in self.kubectl(logs), what="its launcher"
        )
        pending = "describe pod torch-mnist-edljob-worker-3 -n dlrover"
        shown = masked(self.kubectl(pending).partition("Events:\n")[2])[2:]
        expect(len(shown) == 1 and "Warning FailedScheduling AGE" in shown[0], str(shown))
        text = self.kubectl("get pods -n dlrover")
        expect(text.count("Running") == 3 and text.count("Pending") == 2, text)
        self.delete()
        return "two of the page's rows Running, two Pending, with the page's command"

    def suspended(self) -> str:
        self.create("suspended")
        self.is_suspended = True
        same(self.kubectl(JOB), ["NAME PHASE AGE", "torch-mnist Suspended 28s"])
        same(self.kubectl("get pods -n dlrover"), [HEAD, f"{MASTER} 68s"])
        return "the listings as printed"

    def resumed(self) -> str:
        if not self.is_suspended:
            self.suspended()
        merge = '{"spec":{"suspend":false}}'
        self.kubectl(f"patch elasticjob torch-mnist -n dlrover --type merge -p {merge}")
        wait_for(lambda: "Running" in self.kubectl(JOB), what="the job")
        same(self.kubectl(JOB), ["NAME PHASE AGE", "torch-mnist Running 2m52s"])
        pods = len(self.kubectl("get pods -n dlrover -o name").split())
        expect(pods == 5, f"{pods} pods")
        self.delete()
        return "the listings as printed"

    def examples(self) -> Iterator[Example]:
        two = "two nodes for the page's 13"
        yield Example(2, "kubectl apply -f", "created", self.apply, How.CHANGED,
                      "the YAML's indentation is restored")  # fmt: skip
        yield Example(5, "get pods: gang of 4", "all workers are pending", self.all_wait,
                      How.CHANGED, f"the command waits; {two}")  # fmt: skip
        yield Example(6, "describe pod: gang of 4", "FailedScheduling", self.events,
                      How.CHANGED, f"the command waits; {two}")  # fmt: skip
        yield Example(7, "get pods: gang of 2", "two run, two are pending", self.two_run,
                      How.CHANGED, two)  # fmt: skip
        yield Example(9, "get elasticjob: suspend", "Suspended", self.suspended,
                      How.CHANGED, "the command waits")  # fmt: skip
        yield Example(10, "suspend: false", "Running, 5 pods", self.resumed,
                      How.CHANGED, "the command waits; patched, for lack of an editor")  # fmt: skip
