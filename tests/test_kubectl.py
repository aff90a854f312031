"""The real kubectl against a server: the sessions of DLRover's page as text, every verb once good
and once bad, watches, conflicts, patches. MUSTER_KUBECTL=/where/it/is runs another version than the
one in PATH. Skipped where there is no kubectl."""

from __future__ import annotations

import concurrent.futures
import json
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Starter
from harness import (
    Done,
    Server,
    environment,
    kubectl,
    kubectls,
    native,
    openpai,
    patience,
    role,
    wait_for,
)

KUBECTL = kubectl()
GOLDEN = Path(__file__).parent / "golden" / "elasticjob"
TWO_GPUS = "2x16cpu,64Gi,1gpu"
JOBS = "/apis/elastic.iml.github.io/v1alpha1/namespaces/dlrover/elasticjobs"

pytestmark = pytest.mark.skipif(not KUBECTL, reason="kubectl is not here: tools/setup clients")

SMALL = """
apiVersion: elastic.iml.github.io/v1alpha1
kind: ElasticJob
metadata: {name: small, namespace: dlrover}
spec:
  distributionStrategy: AllreduceStrategy
  suspend: true
  replicaSpecs:
    worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: main
              command: [bash, -c, "COMMAND"]
              resources: {requests: {cpu: 1, memory: 64Mi}}
"""
CONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: m, cluster: {server: "ADDRESS"}}]
users: [{name: u, user: {}}]
contexts: [{name: c, context: {cluster: m, user: u, namespace: dlrover}}]
current-context: c
"""


def small(*changes: tuple[str, str], command: str = "sleep 600") -> str:
    text = SMALL.replace("COMMAND", command)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def page(name: str, *changes: tuple[str, str]) -> str:
    """The page's job, its training replaced by a command that waits."""
    text = (GOLDEN / f"{name}.yaml").read_text()
    text = re.sub(r'"dlrover-run .*?testing/"', '"sleep 600"', text, flags=re.DOTALL)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def address(server: Server) -> str:
    found = server.info()["address"]
    assert isinstance(found, str)
    return found


class Kube:
    def __init__(self, server: Server, config: str, program: str = KUBECTL or "") -> None:
        self.server = server
        self.program = program
        home = server.state / "kube"
        home.mkdir(exist_ok=True)
        (home / "config").write_text(config)
        self.env = environment(KUBECONFIG=str(home / "config"), HOME=str(home))

    def run(self, *args: str, stdin: str = "") -> Done:
        return subprocess.run(
            [self.program, *args], env=self.env, input=stdin, capture_output=True, text=True,
            timeout=patience(60), check=False,
        )  # fmt: skip

    def __call__(self, *args: str, stdin: str = "") -> str:
        done = self.run(*args, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refused(self, *args: str, stdin: str = "") -> str:
        done = self.run(*args, stdin=stdin)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def popen(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.program, *args], env=self.env, text=True, stdout=subprocess.PIPE
        )

    def json(self, *args: str) -> Any:
        return json.loads(self("get", *args, "-o", "json", "--show-managed-fields"))

    def http(
        self,
        method: str,
        path: str,
        body: str = "",
        kind: str = "application/json",
        token: str = "",
        accept: str = "application/json",
    ) -> tuple[int, Any]:
        headers = {"Content-Type": kind, "Accept": accept, "User-Agent": "kubectl/v1.32.0"}
        ask = urllib.request.Request(
            address(self.server) + path,
            body.encode() or None,
            {**headers, "Authorization": f"Bearer {token}"} if token else headers,
            method=method,
        )
        try:
            with urllib.request.urlopen(ask, timeout=patience(20)) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as answer:
            return answer.code, json.loads(answer.read())

    def text(self, path: str) -> str:
        with urllib.request.urlopen(address(self.server) + path, timeout=patience(20)) as answer:
            found: bytes = answer.read()
        return found.decode()


@pytest.fixture
def kube(start: Starter) -> Callable[..., Kube]:
    def made(**options: Any) -> Kube:
        server = start(nodes=TWO_GPUS, flags=("--kubectl-http", "on"), **options)
        return Kube(server, CONFIG.replace("ADDRESS", address(server)))

    return made


LABELLED = """        metadata:
          labels: {team: vision, tier: "1"}
          annotations: {owner.example/mail: ada@example.com}
        spec:"""
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def test_pods_carry_what_the_template_says(kube: Callable[..., Kube]) -> None:
    """Labels and annotations of the template are the pods', and selectors find them by it."""
    k = kube()
    text = small(("        spec:", LABELLED), ("suspend: true", "suspend: false"))
    k("apply", "-f", "-", stdin=text)
    workers = [f"pod/small-edljob-worker-{i}" for i in range(2)]
    find = ("get", "pods", "-o", "name", "-l")
    assert k(*find, "team=vision").split() == workers
    assert k(*find, "tier in (1, 2),elasticjob.dlrover/replica-index=1").split() == workers[1:]
    assert k(*find, "team=speech").split() == []
    assert k(*find, "elasticjob.dlrover/name=small").split()[-2:] == workers
    pod = json.loads(k("get", workers[0], "-o", "json"))
    labels, notes = pod["metadata"]["labels"], pod["metadata"]["annotations"]
    assert (labels["team"], labels["tier"], labels["app"]) == ("vision", "1", "dlrover")
    assert notes == {"owner.example/mail": "ada@example.com"}
    described = k("describe", workers[0])
    assert re.search(r"^Annotations: +owner.example/mail: ada@example.com$", described, re.M)
    gang = page("gang")
    k("apply", "-f", "-", stdin=gang)
    pod = json.loads(k("get", "pod", "torch-mnist-gang-edljob-worker-0", "-o", "json"))
    assert pod["metadata"]["annotations"] == {
        "gang.scheduling.koordinator.sh/name": "torch-mnist-gang",
        "gang.scheduling.koordinator.sh/min-available": "4",
    }


def test_uids_are_uuids(kube: Callable[..., Kube]) -> None:
    """Of everything, the same at every look and after a restart, and the pod knows its own."""
    k = kube()
    field = "valueFrom: {fieldRef: {fieldPath: metadata.uid}}"
    echo = "echo job $JOB_UID pod $OWN; sleep 600"
    k("create", "configmap", "c", "--from-literal=a=b")
    k(
        "apply", "-f", "-",
        stdin=small(
            ("suspend: true", "suspend: false"),
            ("command:", f"env: [{{name: OWN, {field}}}]\n              command:"),
            command=echo,
        ),
    )  # fmt: skip

    def uids() -> dict[str, str]:
        found = {}
        for what in ("elasticjobs", "pods", "nodes", "namespaces", "configmaps"):
            for item in json.loads(k("get", what, "-o", "json"))["items"]:
                found[f"{what}/{item['metadata']['name']}"] = item["metadata"]["uid"]
                for owner in item["metadata"].get("ownerReferences", []):
                    assert owner["uid"] == found[f"elasticjobs/{owner['name']}"]
        return found

    first = uids()
    assert {name.split("/")[0] for name in first} == {
        "elasticjobs", "pods", "nodes", "namespaces", "configmaps"
    }  # fmt: skip
    assert all(UUID.fullmatch(uid) for uid in first.values()), first
    assert len(set(first.values())) == len(first)
    wait_for(lambda: "pod " in k("logs", "small-edljob-worker-1"), what="its output")
    own = first["pods/small-edljob-worker-1"]
    line = f"job {first['elasticjobs/small']} pod {own}\n"
    assert k("logs", "small-edljob-worker-1") == line
    events = json.loads(k("get", "events", "-o", "json"))["items"]
    assert events and all(UUID.fullmatch(e["metadata"]["uid"]) for e in events)
    assert {e["involvedObject"]["uid"] for e in events} <= set(first.values())
    assert {e["involvedObject"]["name"] for e in events} >= {"small", "small-edljob-worker-1"}
    k.server.kill()
    k.server.start()
    k = Kube(k.server, CONFIG.replace("ADDRESS", address(k.server)))
    assert uids() == first
    k("delete", "elasticjob", "small")


def undescribed(value: Any, schema: Any, path: str) -> list[str]:
    """The fields of an object that its schema does not have, and those it has without a word."""
    if isinstance(value, list):
        items = [undescribed(item, schema["items"], f"{path}[]") for item in value]
        return [found for some in items for found in some]
    missing = []
    if isinstance(value, dict) and "additionalProperties" not in schema:
        fields = schema.get("properties", {})
        for key in value:
            if not fields.get(key, {}).get("description"):
                missing.append(f"{path}.{key}")
            else:
                missing += undescribed(value[key], fields[key], f"{path}.{key}")
    return missing


def unexplained(k: Kube, kinds: dict[str, str], group: str = "api/v1") -> set[str]:
    """What is shown of these kinds (plural: kind) and `explain` does not say."""
    schemas = k.http("GET", f"/openapi/v3/{group}")[1]["components"]["schemas"]
    missing = set()
    for plural, kind in kinds.items():
        schema = schemas[f"muster.{group.rpartition('/')[2]}.{kind}"]
        items = k.http("GET", f"/{group}/{plural}")[1]["items"]
        assert items, plural
        missing |= {path for item in items for path in undescribed(item, schema, kind)}
    return missing


def masked(text: str) -> list[str]:
    """Lines without their ages and the width of columns."""
    text = re.sub(r"\b\d+(s|m|m\d+s)\b", "AGE", text)
    return [re.sub(r" {2,}", "  ", line).rstrip() for line in text.splitlines()]


# ---- the page ----


def test_suspended_session(kube: Callable[..., Kube]) -> None:
    """The page's third case: created suspended, resumed by a patch, deleted."""
    k = kube()
    path = k.server.state / "job.yaml"
    path.write_text(page("suspended"))
    assert k("apply", "-f", str(path)) == "elasticjob.elastic.iml.github.io/torch-mnist created\n"
    assert masked(k("get", "elasticjob")) == ["NAME  PHASE  AGE", "torch-mnist  Suspended  AGE"]
    master = "elasticjob-torch-mnist-dlrover-master-0  1/1  Running  0  AGE"
    head = "NAME  READY  STATUS  RESTARTS  AGE"
    assert masked(k("get", "pods")) == [head, master]
    assert k("apply", "-f", str(path)).endswith(" unchanged\n")
    resume = ("patch", "elasticjob", "torch-mnist", "--type", "merge", "-p")
    assert k(*resume, '{"spec":{"suspend":false}}').endswith(" patched\n")
    workers = [f"torch-mnist-edljob-worker-{i}  1/1  Running  0  AGE" for i in range(4)]
    wait_for(lambda: masked(k("get", "pods")) == [head, master, *workers], what="the workers")
    assert masked(k("get", "elasticjob")) == ["NAME  PHASE  AGE", "torch-mnist  Running  AGE"]
    assert k(*resume, '{"spec":{"suspend":false}}').endswith(" patched (no change)\n")
    assert k("delete", "-f", str(path)).startswith(
        'elasticjob.elastic.iml.github.io "torch-mnist" deleted'
    )
    assert "No resources found in dlrover namespace" in k.run("get", "elasticjob").stderr
    assert k.server.state_of(1) == "stopped"


def test_gang_session(kube: Callable[..., Kube]) -> None:
    """Its first case: all workers wait, and their events say why."""
    k = kube()
    k("apply", "-f", "-", stdin=page("gang"))
    gang = "torch-mnist-gang"
    assert masked(k("get", "pods", "-n", "dlrover"))[1:] == [
        f"elasticjob-{gang}-dlrover-master-0  1/1  Running  0  AGE",
        *[f"{gang}-edljob-worker-{i}  0/1  Pending  0  AGE" for i in range(4)],
    ]
    message = (
        f'Gang "dlrover/{gang}" gets rejected due to member Pod "{gang}-edljob-worker-2" is '
        'unschedulable with reason "0/2 nodes are available: 2 Insufficient '
        'koordinator.sh/gpu-core, 2 Insufficient koordinator.sh/gpu-memory-ratio."'
    )

    def folded() -> bool:
        k.server.run(native("other"))  # whatever ends makes the scheduler look again
        text = k("describe", "pod", f"{gang}-edljob-worker-1")
        block = masked(text.partition("Events:\n")[2])
        assert block[0] == "  Type  Reason  Age  From  Message"
        assert block[2].endswith(f"  default-scheduler  {message}")
        return block[2] == (
            f"  Warning  FailedScheduling  AGE (x2 over AGE)  default-scheduler  {message}"
        )

    wait_for(folded, what="the second look")
    pod = k.json("pod", f"{gang}-edljob-worker-1")
    assert pod["status"]["phase"] == "Pending"
    assert pod["metadata"]["labels"]["elasticjob.dlrover/rank-index"] == "1"
    assert "is waiting to start" in k.refused("logs", f"{gang}-edljob-worker-1")


VERSIONS: list[Any] = [pytest.param(str(path), id=path.parent.name) for path in kubectls()]


@pytest.mark.parametrize("program", VERSIONS or [""])
def test_session_of_a_version(start: Starter, program: str) -> None:
    """The oldest and the newest kubectl, over TLS as people use it."""
    if not program:
        pytest.skip("tools/setup clients did not bring any")
    server = start(nodes=TWO_GPUS)
    config = server.muster("client-config", "kubectl", "--namespace", "dlrover").stdout
    k = Kube(server, config, program)
    job = "elasticjob.elastic.iml.github.io/small"
    assert k("apply", "-f", "-", stdin=small()) == f"{job} created\n"
    assert k("apply", "-f", "-", stdin=small()) == f"{job} unchanged\n"
    assert masked(k("get", "elasticjob"))[1] == "small  Suspended  AGE"
    odd = small(("replicas: 2", "replicas: 2\n      bogus: 1"))
    assert 'unknown field "spec.replicaSpecs.worker.bogus"' in k.refused(
        "apply", "-f", "-", stdin=odd
    )
    for output in ("plaintext", "plaintext-openapiv2"):
        text = k("explain", "pods.status", "--recursive", f"--output={output}")
        assert re.search(r"restartCount\t<integer>", text), output
    k.env["KUBE_EDITOR"] = "sed -i s/suspend:.true/suspend:\\ false/"
    watcher = k.popen("get", "elasticjob", "-w", "--no-headers")
    assert watcher.stdout
    assert watcher.stdout.readline().split()[:2] == ["small", "Suspended"]
    assert k("edit", "elasticjob", "small") == f"{job} edited\n"
    while watcher.stdout.readline().split()[1] != "Running":
        pass
    assert "condition met" in k("wait", "--for=jsonpath={.status.phase}=Running", job)
    assert "Controlled By:  ElasticJob/small" in k("describe", "pods")
    k("create", "configmap", "one", "--from-literal=a=b")
    assert k("get", "cm", "one", "-o", "jsonpath={.data}") == '{"a":"b"}'
    assert k("delete", "elasticjob", "small", "--timeout=30s").startswith(job.replace("/", ' "'))
    assert k("auth", "can-i", "create", "elasticjobs") == "yes\n"
    watcher.terminate()
    watcher.communicate()


# ---- what there is ----


def test_discovery(kube: Callable[..., Kube]) -> None:
    k = kube()
    assert re.search(r"Server Version: .*v1\.32\.0\+muster", k("version"))
    rows = {line.split()[-1]: line.split() for line in k("api-resources").splitlines()}
    assert rows["ElasticJob"] == [
        "elasticjobs",
        "elastic.iml.github.io/v1alpha1",
        "true",
        "ElasticJob",
    ]
    assert {"Pod", "Event", "Node", "Namespace", "ConfigMap", "PodGroup", "ScalePlan"} < set(rows)
    assert "control plane" in k("cluster-info")
    assert re.search(r"suspend\t<boolean>", k("explain", "elasticjob.spec"))
    assert "FIELD: command <[]string>" in k(
        "explain", "elasticjob.spec.replicaSpecs.worker.template.spec.containers.command"
    )
    assert "phase\t<string>" in k("explain", "pods.status", "--recursive")
    old = k("explain", "--output=plaintext-openapiv2", "elasticjobs.spec.replicaSpecs")
    assert re.search(r"worker\t<Object> -required-\n *role `worker`", old)
    with urllib.request.urlopen(f"{address(k.server)}/openapi/v2", timeout=patience(20)) as answer:
        tag = {"If-None-Match": answer.headers["ETag"]}
    with pytest.raises(urllib.error.HTTPError, match="304"):
        urllib.request.urlopen(urllib.request.Request(answer.url, headers=tag))
    plain = k.http("GET", "/apis")[1]
    assert plain["kind"] == "APIGroupList"
    assert [r["name"] for r in k.http("GET", "/api/v1")[1]["resources"]][0] == "pods"
    assert len(k("get", "nodes", "-o", "name").split()) == 2
    assert k("get", "namespace", "dlrover", "-o", "name") == "namespace/dlrover\n"
    assert "could not find" in k.refused("get", "--raw", "/apis/nobody/v1")


# ---- writing ----


def test_validation(kube: Callable[..., Kube]) -> None:
    k = kube()
    odd = small(("replicas: 2", "replicas: 2\n      bogus: 1"))
    said = k.refused("apply", "-f", "-", stdin=odd)
    assert 'strict decoding error: unknown field "spec.replicaSpecs.worker.bogus"' in said
    done = k.run("apply", "-f", "-", "--validate=warn", stdin=odd)
    assert 'Warning: unknown field "spec.replicaSpecs.worker.bogus"' in done.stderr
    assert "bogus" not in k("get", "elasticjob", "small", "-o", "jsonpath={.spec}")
    k("delete", "elasticjob", "small")
    assert "Warning" not in k.run("create", "-f", "-", "--validate=false", stdin=odd).stderr
    assert "AlreadyExists" in k.refused("create", "-f", "-", stdin=small())
    said = k.refused(
        "apply", "-f", "-", stdin=small(("replicas: 2", "replicas: -1"), ("small", "x"))
    )
    assert (
        'The ElasticJob "x" is invalid: spec.replicaSpecs.worker.replicas: Invalid value: -1'
        in said
    )
    ignored = small(("replicas: 2", "replicas: 2\n      restartTimeout: 5"), ("small", "why"))
    assert "Warning: " in k.run("apply", "-f", "-", stdin=ignored).stderr
    said = k.refused("apply", "-f", "-", stdin=small(("name: small", f"name: {'x' * 300}")))
    assert "must be no more than 253 characters" in said
    plan = small(("kind: ElasticJob", "kind: ScalePlan"))
    assert "ScalePlans are retired" in k.refused("create", "-f", "-", stdin=plan)
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: []}\n"
    assert "pods are made by their jobs" in k.refused("create", "-f", "-", stdin=pod)


def test_changes(kube: Callable[..., Kube]) -> None:
    k = kube()
    k("apply", "-f", "-", stdin=small())
    patch = ("patch", "elasticjob", "small")
    said = k.refused(*patch, "-p", '{"spec":{"suspend":false}}')
    assert "application/strategic-merge-patch+json is not supported by" in said
    more = '[{"op":"replace","path":"/spec/replicaSpecs/worker/replicas","value":3}]'
    assert "roles.worker.replicas is 2, not 3" in k.refused(*patch, "--type", "json", "-p", more)
    assert "Forbidden" in k.refused(*patch, "--type", "json", "-p", more, "--dry-run=server")
    test = '[{"op":"test","path":"/spec/suspend","value":false}]'
    said = k.refused(*patch, "--type", "json", "-p", test)
    assert 'The ElasticJob "small" is invalid: patch: Invalid value: testing value' in said
    merge = "application/merge-patch+json"
    for part, key in (("labels", "b d"), ("annotations", "a@b")):
        code, said = k.http(
            "PATCH", f"{JOBS}/small", f'{{"metadata":{{"{part}":{{"{key}":""}}}}}}', merge
        )
        assert code == 422
        assert f'metadata.{part}: Invalid value: "{key}"' in said["message"]
    would = k.http("PATCH", f"{JOBS}/small?dryRun=All", '{"spec":{"suspend":false}}', merge)[1]
    assert (would["metadata"]["generation"], would["spec"]["suspend"]) == (2, False)
    k("label", "elasticjob", "small", "team=vision")
    k("annotate", "elasticjob", "small", "note=hello")
    assert k("get", "elasticjob", "-l", "team=vision", "-o", "name").endswith("/small\n")
    assert k("get", "elasticjob", "-l", "team in (a,b)", "-o", "name") == ""
    assert k("get", "elasticjob", "--field-selector", "metadata.name!=small", "-o", "name") == ""
    old = k("get", "elasticjob", "small", "-o", "yaml")
    assert "note: hello" in old
    k("annotate", "elasticjob", "small", "note=again", "--overwrite")
    assert "the object has been modified" in k.refused("replace", "-f", "-", stdin=old)
    assert k("replace", "-f", "-", stdin=small()).endswith(" replaced\n")
    assert k("apply", "--server-side", "-f", "-", stdin=small()).endswith(" serverside-applied\n")
    assert k.json("elasticjob", "small")["metadata"]["managedFields"][0]["manager"] == "kubectl"
    k("apply", "--dry-run=server", "-f", "-", stdin=small(("true", "false")))
    assert k.json("elasticjob", "small")["status"]["phase"] == "Suspended"
    k.env["KUBE_EDITOR"] = "sed -i s/suspend:.true/suspend:\\ false/"
    assert k("edit", "elasticjob", "small").endswith(" edited\n")
    k.server.wait(1, "running")


def test_secrets_of_others(kube: Callable[..., Kube]) -> None:
    """Who may read a job and not change it sees no values of variables: neither of the job as it
    was sent, nor of its document as it was changed, nor in what kubectl keeps in an annotation."""
    k = kube()
    assert k.server.muster("user", "add", "rita", "--project", "dlrover").returncode == 0
    rita = k.server.muster("token", "create", "--user", "rita", "-q").stdout.strip()
    env = ("name: main", "name: main\n              env: [{name: A, value: hush}]")
    k("apply", "-f", "-", stdin=small(env))
    rows = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    for _ in ("as it was sent", "as it was changed"):
        for path, accept in ((f"{JOBS}/small", "application/json"), (JOBS, rows)):
            mine = json.dumps(k.http("GET", path, accept=accept)[1])
            seen = json.dumps(k.http("GET", path, token=rita, accept=accept)[1])
            assert "last-applied" in mine
            assert "hush" in mine
            assert "hush" not in seen
        assert '"***"' in json.dumps(k.http("GET", f"{JOBS}/small", token=rita)[1])
        number = k.server.get("/v1/jobs")["jobs"][0]["number"]
        native = json.dumps(k.http("GET", f"/v1/jobs/{number}?origin=1", token=rita)[1])
        assert "last-applied" in native and "hush" not in native
        k("label", "elasticjob", "small", "a=b")


def test_two_clients_at_once(kube: Callable[..., Kube]) -> None:
    """Of ten that replace the same version one comes through."""
    k = kube()
    k("create", "-f", "-", stdin=small())
    job = k.json("elasticjob", "small")

    def put(i: int) -> int:
        mine = json.loads(json.dumps(job))
        mine["metadata"]["annotations"] = {"by": str(i)}
        return k.http("PUT", f"{JOBS}/small", json.dumps(mine))[0]

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        codes = sorted(pool.map(put, range(10)))
    assert codes == [200] + [409] * 9


def test_kept_objects(kube: Callable[..., Kube]) -> None:
    k = kube()
    kinds = (
        ("v1", "ConfigMap", "data: {a: b}"),
        ("v1", "Secret", "stringData: {key: value}"),
        ("v1", "PersistentVolumeClaim", "spec: {accessModes: [ReadWriteOnce]}"),
        ("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", "spec: {minMember: 2}"),
    )
    text = "\n---\n".join(
        f"apiVersion: {v}\nkind: {kind}\nmetadata: {{name: one}}\n{rest}" for v, kind, rest in kinds
    )
    assert k("apply", "-f", "-", stdin=text).count("created") == 4
    assert k("apply", "-f", "-", stdin=text).count("created") == 0
    assert masked(k("get", "configmap"))[1] == "one  1  AGE"
    assert k("get", "secret", "one", "-o", "jsonpath={.data.key}") == "dmFsdWU="
    assert k.json("pvc", "one")["status"]["phase"] == "Bound"
    k("label", "configmap", "one", "x=y")
    assert k("get", "cm", "-l", "x=y", "-o", "name") == "configmap/one\n"
    kept = {"configmaps": "ConfigMap", "secrets": "Secret",
            "persistentvolumeclaims": "PersistentVolumeClaim"}  # fmt: skip
    assert not unexplained(k, kept)
    assert not unexplained(k, {"podgroups": "PodGroup"}, "apis/scheduling.sigs.k8s.io/v1alpha1")
    changed = text.replace("a: b", "a: c")
    assert "configmap/one configured" in k("apply", "-f", "-", stdin=changed)
    group = small(("template:\n", "template:\n        metadata: {labels: {GROUP: one}}\n"),
                  ("GROUP", "pod-group.scheduling.sigs.k8s.io"))  # fmt: skip
    k("create", "-f", "-", stdin=group)
    assert k.server.get("/v1/jobs/1", spec=1)["spec"]["gang"][0]["min"] == 2
    assert k("delete", "cm,secret,pvc,podgroup", "one").count("deleted") == 4
    assert k("get", "cm", "-o", "name") == ""
    # from 1.32 on these two send protobuf
    k("create", "configmap", "two", "--from-literal=a=b", "--from-literal=text=\u00e4 \n")
    k("create", "secret", "generic", "two", "--from-literal=key=value")
    at = "/api/v1/namespaces/dlrover"
    config, secret = (k.http("GET", f"{at}/{kind}/two")[1] for kind in ("configmaps", "secrets"))
    assert config["data"] == {"a": "b", "text": "\u00e4 \n"}
    assert (secret["data"], secret["type"]) == ({"key": "dmFsdWU="}, "Opaque")
    for plural, body in (("secrets", '{"a":"!"}'), ("configmaps", '{"a":1}')):
        code, _ = k.http("POST", f"{at}/{plural}", f'{{"metadata":{{"name":"q"}},"data":{body}}}')
        assert code == 400, body
    dry, merge = f"{at}/configmaps/two?dryRun=All", "application/merge-patch+json"
    would = k.http("PATCH", dry, '{"data":{"a":"c"}}', merge)[1]
    assert would == {**config, "data": {**config["data"], "a": "c"}}
    # namespaces are there as soon as one is named; one that is made goes when it has no jobs
    assert k("create", "namespace", "team") == "namespace/team created\n"
    all_of, jobs = "/api/v1/namespaces", JOBS.replace("dlrover", "team")
    for name, code in (("team", 409), ("default", 409), ("x_y", 422)):
        assert k.http("POST", all_of, f'{{"metadata":{{"name":"{name}"}}}}')[0] == code, name
    k.http("PATCH", f"{all_of}/team", '{"metadata":{"labels":{"a":"b"}}}', merge)
    found = k.http("GET", f"{all_of}?labelSelector=a%3Db")[1]["items"]
    assert [one["metadata"]["name"] for one in found] == ["team"]
    spec = {"replicaSpecs": {"worker": {"replicas": 1, "template": {"spec": {"containers": [
        {"name": "main", "command": ["true"]}]}}}}, "suspend": True}  # fmt: skip
    job = {"metadata": {"generateName": "made-"}, "spec": spec}
    made = k.http("POST", jobs, json.dumps(job))[1]["metadata"]["name"]
    assert re.fullmatch(r"made-[0-9a-f]{6}", made)
    assert k.http("DELETE", f"{all_of}/team")[0] == 409
    assert k.http("DELETE", f"{jobs}/{made}")[0] == 200
    k("delete", "namespace", "team")
    assert k.http("DELETE", f"{all_of}/team")[0] == 404


# ---- watching, deleting, many ----


def test_watch(kube: Callable[..., Kube]) -> None:
    k = kube()
    k("create", "-f", "-", stdin=small(command="true"))
    watcher = k.popen("get", "pods", "-w")
    assert watcher.stdout
    seen = [watcher.stdout.readline().split() for _ in range(2)]
    assert seen[1][0] == "elasticjob-small-dlrover-master-0"
    jobs = k.popen("get", "elasticjob", "-w", "-o", "name")
    k("patch", "elasticjob", "small", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    assert "condition met" in k(
        "wait", "--for=jsonpath={.status.phase}=Succeeded", "elasticjob/small", "--timeout=30s"
    )
    while sum("Completed" in row for row in seen) < 3:
        seen.append(watcher.stdout.readline().split())
    k("delete", "elasticjob", "small")
    while [row[0][-8:] + row[2] for row in seen].count("worker-0Completed") < 2:
        seen.append(watcher.stdout.readline().split())
    for one in (watcher, jobs):
        one.terminate()
        one.communicate()
    states = [row[2] for row in seen if row[0].endswith("worker-0")]
    assert states[-2:] == ["Completed", "Completed"]  # ended, and deleted
    assert not k.server.get("/v1/jobs")["jobs"]


def test_watch_by_version(kube: Callable[..., Kube]) -> None:
    """From a version on only what is newer; what is gone since then; 410 when it makes no sense."""
    k = kube()
    k("create", "-f", "-", stdin=small(command="true"))
    k("create", "-f", "-", stdin=small(("small", "other")))
    version = k.http("GET", JOBS)[1]["metadata"]["resourceVersion"]
    k("label", "elasticjob", "small", "a=b")
    k("delete", "elasticjob", "other")
    short = f"{address(k.server)}{JOBS}?watch=true&resourceVersion={version}&timeoutSeconds=1"
    ending = urllib.request.urlopen(short, timeout=patience(20))

    def events(query: str, n: int) -> list[tuple[str, str]]:
        url = f"{address(k.server)}{JOBS}?watch=true&{query}"
        with urllib.request.urlopen(url, timeout=patience(20)) as answer:
            lines = [json.loads(answer.readline()) for _ in range(n)]
        named = [(x["type"], x["object"]) for x in lines]
        return [
            (kind, o["metadata"].get("name") or str(o.get("code") or o["metadata"]["annotations"]))
            for kind, o in named
        ]

    assert sorted(events(f"resourceVersion={version}", 2)) == [
        ("DELETED", "other"), ("MODIFIED", "small"),
    ]  # fmt: skip
    # one that had ended is forgotten: the client that listed it hears of it
    k("patch", "elasticjob", "small", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    k.server.wait(1, "succeeded")
    version = k.http("GET", JOBS)[1]["metadata"]["resourceVersion"]
    k("delete", "elasticjob", "small")
    assert events(f"resourceVersion={version}", 1) == [("DELETED", "small")]
    k("create", "-f", "-", stdin=small())
    assert events("resourceVersion=0", 1) == [("ADDED", "small")]
    assert events("resourceVersion=99999999", 1) == [("ERROR", "410")]
    assert k.http("GET", f"{JOBS}?watch=true&resourceVersion=x")[0] == 400
    # clients from 1.35 on list by watching; without a mark at the end they wait for ever
    listing = "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch="
    assert events(f"{listing}NotOlderThan&resourceVersion={version}", 2) == [
        ("ADDED", "small"), ("BOOKMARK", "{'k8s.io/initial-events-end': 'true'}"),
    ]  # fmt: skip
    assert k.http("GET", f"{JOBS}?watch=true&{listing}Exact")[0] == 422
    assert b'"MODIFIED"' in ending.read()
    assert k.http("GET", f"{JOBS}?watch=true&resourceVersionMatch=NotOlderThan")[0] == 422


def test_many(kube: Callable[..., Kube]) -> None:
    k = kube()
    text = "\n---\n".join(small(("name: small", f"name: job-{i:03}")) for i in range(200))
    assert k("apply", "-f", "-", stdin=text).count(" created") == 200
    names = k("get", "elasticjob", "-o", "name").split()
    assert names == sorted(names)
    assert len(names) == 200
    assert sorted(k("get", "elasticjob", "--chunk-size=30", "-o", "name").split()) == names
    status, gone = k.http("DELETE", JOBS)
    assert (status, gone["status"]) == (200, "Success")
    assert k("get", "elasticjob", "-o", "name") == ""


def test_delete_while_starting(kube: Callable[..., Kube]) -> None:
    k = kube()
    k("create", "-f", "-", stdin=small(("true", "false"), command="trap '' TERM; sleep 600"))
    k("delete", "elasticjob", "small", "--wait=false", "--grace-period=0", "--force")
    wait_for(lambda: k("get", "elasticjob,pods", "-o", "name") == "", what="the end")
    assert "not found" in k.refused("delete", "elasticjob", "small")


# ---- reading ----


def test_logs(kube: Callable[..., Kube]) -> None:
    k = kube()
    k("create", "-f", "-", stdin=small(("true", "false"), command="seq 5; sleep 1; echo last"))
    assert k("logs", "-f", "small-edljob-worker-0") == "1\n2\n3\n4\n5\nlast\n"
    assert k("logs", "small-edljob-worker-0", "--tail=2") == "5\nlast\n"
    assert k("logs", "small-edljob-worker-0", "--limit-bytes=3") == "1\n2"
    pod = "/api/v1/namespaces/dlrover/pods/small-edljob-worker-0/log"
    assert k.text(f"{pod}?tailLines=0") == k.text(f"{pod}?sinceTime=2222-01-01T00:00:00Z") == ""
    assert k.http("GET", f"{pod}?previous=true")[0] == k.http("GET", f"{pod}?sinceTime=x")[0] == 400
    timed = k("logs", "small-edljob-worker-0", "--timestamps", "-c", "main")
    assert re.fullmatch(r"(\d{4}-\d\d-\d\dT[\d:.]+Z \w+\n){6}", timed)
    assert "not valid for pod" in k.refused("logs", "small-edljob-worker-0", "-c", "side")
    assert "submitted" in k("logs", "elasticjob-small-dlrover-master-0")
    k.server.wait(1, "succeeded")
    text = k("describe", "elasticjob", "small")
    assert re.search(r"Normal +Succeeded", text)
    assert "Scheduled" in k("events")
    shown = {"pods": "Pod", "events": "Event", "nodes": "Node", "namespaces": "Namespace"}
    assert not unexplained(k, shown)
    group = "apis/elastic.iml.github.io/v1alpha1"
    assert not unexplained(k, {"elasticjobs": "ElasticJob"}, group)


def test_others_jobs(kube: Callable[..., Kube]) -> None:
    """What other front ends submitted is seen here, and stopped."""
    k = kube()
    number = k.server.submit(openpai("From_Pai", role(command="echo hi; sleep 600")))
    k.server.wait(number, "running")
    assert k("get", "elasticjob", "-n", "default", "-o", "name").endswith("/from-pai\n")
    job = k.json("elasticjob", "from-pai", "-n", "default")
    assert job["metadata"]["annotations"] == {"muster/from": "openpai-v1", "muster/number": "1"}
    assert job["status"]["phase"] == "Running"
    wait_for(lambda: k("logs", "from-pai-edljob-worker-0", "-n", "default") == "hi\n")
    k("delete", "elasticjob", "from-pai", "-n", "default")
    assert k.server.state_of(number) == "stopped"


def test_rows_are_of_objects(kube: Callable[..., Kube]) -> None:
    """What a row says without reading its job's document is what the object says, whatever the job
    was written in; and pages have every name once, with its newest job."""
    k = kube()
    more: dict[str, Any] = {
        "labels": {"team": 'a"b', "x": ""},
        "limits": {"pending": "90s"},
        "project": "dlrover",
    }
    for name in ("plain", "labelled"):
        k.server.submit(native(name, "sleep 600", suspend=True, **more))
    k.server.submit(openpai("From_Pai", role(command="sleep 600")))
    k.server.submit(native("twice", "sleep 600", suspend=True))
    noted = (
        "{name: small,",
        "{name: small, labels: {a: b}, annotations: {pending_timeout: '600'},",
    )
    k.server.submit(small(noted))
    k(
        "create",
        "-f",
        "-",
        stdin=small(("small", "sent"), ("name: sent", "name: sent, labels: {c: d}")),
    )
    k("label", "elasticjob", "sent", "later=1")
    k("label", "elasticjob", "labelled", "later=2")
    k.server.run(native("twice", labels={"newest": "yes"}))
    rows = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    for path in (JOBS.replace("/namespaces/dlrover", ""), "/api/v1/pods"):
        items = k.http("GET", path)[1]["items"]
        cells = []
        for what in ("None", "Metadata", "Object"):
            table = k.http("GET", f"{path}?includeObject={what}", accept=rows)[1]
            age = [column["name"] for column in table["columnDefinitions"]].index("Age")
            cells.append([c[:age] + c[age + 1 :] for c in (row["cells"] for row in table["rows"])])
            found = [row.get("object", {}) for row in table["rows"]]
            if what != "None":
                assert [one["metadata"] for one in found] == [item["metadata"] for item in items]
        assert found == items
        assert cells[0] == cells[1] == cells[2]
        told: list[str] = []
        rest = ""
        while True:
            page = k.http("GET", f"{path}?limit=2{rest}", accept=rows)[1]
            told += [row["object"]["metadata"]["uid"] for row in page["rows"]]
            if "continue" not in page["metadata"]:
                break
            rest = f"&continue={page['metadata']['continue']}"
        assert sorted(told) == sorted(item["metadata"]["uid"] for item in items)
    jobs = {i["metadata"]["name"]: i for i in k.http("GET", JOBS)[1]["items"]}
    assert sorted(jobs) == ["labelled", "plain", "sent", "small"]
    assert jobs["labelled"]["metadata"]["labels"] == {"team": 'a"b', "x": "", "later": "2"}
    assert jobs["labelled"]["metadata"]["annotations"]["pending_timeout"] == "90"
    assert jobs["sent"]["metadata"]["labels"] == {"c": "d", "later": "1"}
    assert jobs["small"]["metadata"]["annotations"] == {"pending_timeout": "600"}


# ---- who ----


def test_credentials(start: Starter) -> None:
    """Over TLS with a token; nothing without, and nothing over http unless it is switched on."""
    server = start(nodes=TWO_GPUS)
    done = server.muster("client-config", "kubectl", "--namespace", "dlrover")
    assert done.returncode == 0, done.stderr
    k = Kube(server, done.stdout)
    k("create", "-f", "-", stdin=small())
    assert k("get", "elasticjob", "-o", "name").endswith("/small\n")
    bad = re.sub(r"token: \S+", "token: nobody", done.stdout)
    assert "You must be logged in" in Kube(server, bad).refused("get", "elasticjob")
    plain = Kube(server, CONFIG.replace("ADDRESS", address(server)))
    assert "You must be logged in" in plain.refused("get", "elasticjob")


def test_rights(kube: Callable[..., Kube]) -> None:
    """Another's job is not there, or may be read and not written; a name is each namespace's."""
    k = kube()
    for user in (("ada",), ("bob",), ("rita", "--role", "reader", "--project", "dlrover")):
        assert k.server.muster("user", "add", *user).returncode == 0

    def token(user: str) -> str:
        return k.server.muster("token", "create", "--user", user, "-q").stdout.strip()

    ada, bob, rita = (token(user) for user in ("ada", "bob", "rita"))
    job = k("create", "--dry-run=client", "-o", "json", "-f", "-", stdin=small())
    merge = "application/merge-patch+json"
    hold = '{"spec":{"suspend":false}}'
    assert k.http("POST", JOBS, job, token=rita)[0] == 403
    assert k.http("POST", JOBS, job, token=ada)[0] == 201
    assert k.http("GET", f"{JOBS}/small", token=ada)[0] == 200
    assert k.http("GET", f"{JOBS}/small", token=bob)[0] == 404
    assert k.http("PATCH", f"{JOBS}/small", hold, merge, bob)[0] == 404
    assert k.http("DELETE", f"{JOBS}/small", token=bob)[0] == 404
    assert k.http("GET", JOBS, token=bob)[1]["items"] == []
    assert k.http("GET", f"{JOBS}/small", token=rita)[0] == 200
    assert k.http("PATCH", f"{JOBS}/small", hold, merge, rita)[0] == 403
    assert k.http("POST", JOBS, job, token=bob)[0] == 201  # he sees no job of that name
    assert (
        k.http("GET", f"{JOBS}/small", token=ada)[1]["metadata"]["uid"]
        != (k.http("GET", f"{JOBS}/small", token=bob)[1]["metadata"]["uid"])
    )
    # of both the newest is meant, and when it is gone the one that still runs

    def uids(path: str) -> list[str]:
        code, one = k.http("GET", path, token=rita)
        return [x["metadata"]["uid"] for x in one.get("items", [one] if code == 200 else [])]

    def shown() -> tuple[list[str], ...]:
        return uids(JOBS), uids(f"{JOBS}?limit=1"), uids(f"{JOBS}/small")

    first, second = (
        k.http("GET", f"{JOBS}/small", token=who)[1]["metadata"]["uid"] for who in (ada, bob)
    )
    assert shown() == ([second],) * 3
    assert k.http("DELETE", f"{JOBS}/small", token=bob)[0] == 200
    wait_for(lambda: shown() == ([first],) * 3, what="the other one")
    # what they are told of it
    reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    for bearer, verb, sub, may in (
        (ada, "create", "", True), (rita, "create", "", False), (rita, "watch", "", True),
        (ada, "get", "scale", False), (ada, "fly", "", False),
    ):  # fmt: skip
        asked = {"verb": verb, "group": "elastic.iml.github.io", "resource": "elasticjobs",
                 "subresource": sub}  # fmt: skip
        review = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
                  "spec": {"resourceAttributes": asked}}  # fmt: skip
        code, told = k.http("POST", reviews, json.dumps(review), token=bearer)
        assert (code, told["status"]["allowed"]) == (201, may), (verb, sub)
    assert re.search(r"pods +\[\] +\[\] +\[get list watch\]", k("auth", "can-i", "--list"))
    assert "muster:admin" in k("auth", "whoami")
    kept = "/api/v1/namespaces/dlrover/secrets"
    secret = '{"metadata":{"name":"s"},"stringData":{"a":"b"}}'
    assert k.http("POST", kept, secret, token=ada)[0] == 201
    assert k.http("GET", f"{kept}/s", token=bob)[0] == 404
    assert k.http("POST", kept, secret, token=bob)[0] == 409
    assert k.server.muster("user", "rm", "bob").returncode == 0
    assert k.http("GET", JOBS, token=bob)[0] == 401
    # of two namespaces the same name, on different pages
    elsewhere = JOBS.replace("/dlrover/", "/other/")
    other = json.dumps(json.loads(job)).replace('"dlrover"', '"other"')
    assert k.http("POST", elsewhere, other)[0] == 201
    everywhere = "/apis/elastic.iml.github.io/v1alpha1/elasticjobs"
    page, seen = k.http("GET", f"{everywhere}?limit=1")[1], []
    while True:
        seen += [x["metadata"]["namespace"] for x in page["items"]]
        if "continue" not in page["metadata"]:
            break
        after = page["metadata"]["continue"]
        page = k.http("GET", f"{everywhere}?limit=1&continue={after}")[1]
    assert sorted(seen) == ["dlrover", "other"]


def test_bad_requests(kube: Callable[..., Kube]) -> None:
    k = kube()
    assert k.http("POST", JOBS, "{}", "text/html")[0] == 415
    assert k.http("POST", JOBS, '{"kind":')[0] == 400
    assert k.http("POST", JOBS, '{"kind":"Pod"}')[0] == 400
    assert k.http("POST", JOBS, '{"metadata":{"name":"../x"}}')[0] == 422
    assert k.http("POST", JOBS, '{"metadata":{"name":"x","namespace":"other"}}')[0] == 400
    assert k.http("DELETE", "/api/v1/nodes/n1")[0] == 405
    assert k.http("GET", f"{JOBS}?labelSelector=a%20in%20b")[0] == 400
    assert k.http("GET", "/api/v1/pods?fieldSelector=spec.x%3D1")[0] == 400
    assert k.http("GET", f"{JOBS}?limit=x")[0] == 400
    assert k.http("GET", f"{JOBS}?continue=x")[0] == 400
    assert k.http("GET", f"{JOBS}/nobody")[1]["reason"] == "NotFound"
    assert k.http("GET", f"{JOBS}/nobody/scale")[0] == 404
    assert k.http("POST", JOBS, "x" * 5_000_000)[1]["reason"] == "RequestEntityTooLarge"
    assert k.http("GET", f"{JOBS}/a%00b")[1]["reason"] == "BadRequest"
    assert k.http("GET", f"{JOBS}/..%2fx")[0] == k.http("GET", f"{JOBS}/%2e%2e")[0] == 404
    protobuf = "application/vnd.kubernetes.protobuf"
    assert k.http("POST", JOBS, "{}", protobuf)[0] == 400
    assert k.http("POST", JOBS, "k8s\0\n\x0c\x12\nElasticJob", protobuf)[0] == 415
    assert k.http("POST", JOBS, "k8s\0\n\v\x12\tConfigMap", protobuf)[0] == 400  # another kind
    crowd = ",".join(f'"k{i}":""' for i in range(5000))
    assert k.http("POST", JOBS, f'{{"metadata":{{"labels":{{{crowd}}}}}}}')[0] == 400
    kept = "/api/v1/namespaces/dlrover/secrets"
    for body in ('"stringData":[1]', '"data":"x"', '"metadata":{"name":"q","labels":[1]}'):
        assert k.http("POST", kept, f'{{"metadata":{{"name":"q"}},{body}}}')[0] == 400, body
    for header in ("Origin: http://127.0.0.1", "Host: 127.0.0.1.example.org", "Host: localhost.x"):
        name, value = header.split(": ")
        ask = urllib.request.Request(f"{address(k.server)}{JOBS}", headers={name: value})
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(ask, timeout=patience(20))
    k("create", "-f", "-", stdin=small())
    for kind, body, code in (
        ("application/merge-patch+json", "[]", 400),
        ("application/json-patch+json", "{}", 400),
        ("application/json-patch+json", '[{"op":"remove","path":"/x"}]', 422),
        ("application/merge-patch+json", '{"metadata":{"name":"y"}}', 400),
        ("application/merge-patch+json", '{"metadata":{"resourceVersion":"1000"}}', 409),
        ("text/plain", "{}", 415),
    ):
        assert k.http("PATCH", f"{JOBS}/small", body, kind)[0] == code, body
