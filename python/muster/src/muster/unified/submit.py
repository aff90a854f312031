"""`DLJob.submit()`: options, the call, the wait for the end, and what is said meanwhile."""

from __future__ import annotations

import os
import secrets
import sys
import sysconfig
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muster.client import Client, Job
from muster.errors import MusterError, Problem, ValidationError
from muster.output import MergedLines
from muster.unified.canonical import canonical, without_effect
from muster.unified.config import DLConfig, JobConfig
from muster.unified.enums import AcceleratorType
from muster.unified.notes import note

PREFIX = "DLROVER_UNIFIED_"
WORKING_DIR = "DLROVER_WORKING_DIR"
REASON_EVERY = 10.0
FIRST_REASON = 2.0
LOG_DRAIN = 10.0
STARTED = (
    "no server yet: started one for you (ends after 1 h without work; "
    '"muster server stop" ends it now)'
)
WAITING = ("queued", "suspended")


class Handle:
    """A submitted job as its submitter sees it."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def __repr__(self) -> str:
        return f"Handle({self.number}, {self.name!r})"

    @property
    def number(self) -> int:
        """Its number, for `muster show`."""
        return self.job.number

    @property
    def name(self) -> str:
        return self.job.name

    def status(self) -> str:
        """`queued`, `running` ... `succeeded`, `failed`, `stopped`."""
        return self.job.status()

    def reason(self) -> str:
        """One sentence: why it waits, or why it ended so."""
        return str(self.job.show().get("reason") or "")

    def logs(self, task: str | None = None) -> str:
        """What its instances (or only `role/0`, or a role) wrote so far."""
        return self.job.logs(task)

    def wait(self, timeout: float | None = None) -> int:
        """0 when it has succeeded, else 1. Raises TimeoutError."""
        return 0 if self.job.wait(timeout) == "succeeded" else 1

    def stop(self, now: bool = False) -> None:
        """Asks for the end; with `now` without grace."""
        self.job.stop(now)


# ---- options ----


def options_of(given: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Keywords over environment over (by leaving out) defaults. As in the reference the two are
    laid over each other key by key: where they name one field by different aliases, the alias that
    the field lists first wins."""
    known = {key for field in JobConfig.FIELDS for key in (field.name, *field.keys)}
    said = {
        key[len(PREFIX) :].lower(): value
        for key, value in environ.items()
        if key.startswith(PREFIX)
    }
    if "dl_config" in said:
        raise ValidationError([Problem("dl_config", f"cannot be given as {PREFIX}DL_CONFIG")])
    if "dl_config" in given:
        raise ValidationError([Problem("dl_config", "is the job itself, not an option")])
    for key in given:
        if key not in known:
            note(f"submit(): the option {key} is not known and is ignored")
    merged = {key: value for key, value in {**said, **given}.items() if key in known}
    return {"job_name": "", **merged}


def cluster_has_devices(client: Client) -> bool:
    """Has any node of the cluster a GPU? A cluster that does not say is given the benefit."""
    try:
        nodes = client.call("GET", "/v1/nodes")["nodes"]
    except (MusterError, KeyError, TypeError):
        return True
    return not nodes or any(node.get("gpus") for node in nodes)


def surroundings() -> dict[str, str]:
    """What the tasks need to import what the submitter does."""
    passed = {"MUSTER_DLROVER": os.environ.get("MUSTER_DLROVER"), "PYTHONPATH": python_path()}
    return {name: value for name, value in passed.items() if value}


def python_path() -> str:
    """Where the submitter finds modules besides its interpreter's packages: the tasks look there
    too. Its own PYTHONPATH, the directory of its script, and this package where it runs from a
    source tree."""
    said = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if script and getattr(sys.modules["__main__"], "__spec__", None) is None:
        said.append(os.path.dirname(os.path.abspath(script)))
    own = Path(__file__).resolve().parents[2]
    if own not in {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}:
        said.append(str(own))
    return os.pathsep.join(dict.fromkeys(os.path.abspath(each) for each in said))


# ---- submission ----


def submit(job: DLConfig, given: Mapping[str, Any]) -> Handle:
    return submit_config(JobConfig(**options_of(given, os.environ), dl_config=job))


def submit_config(config: JobConfig) -> Handle:
    """Hands the job to the server, which is started when none answers. A job without a name gets
    one."""
    config.job_name = config.job_name or f"dlrover-{secrets.token_hex(3)}"
    canonical(config)  # all that can be wrong is told before a server is started
    for text in without_effect(config):
        note(text)
    client = Client()
    if client.ensure_server(config.master_create_timeout):
        print(STARTED, file=sys.stderr)
    choose_device_type(config.dl_config, client)
    cwd = config.dl_config.global_envs.get(WORKING_DIR) or os.getcwd()
    tree = canonical(config, surroundings=surroundings() if client.local else {})
    if not client.local:
        # Neither this machine's Python nor its folders are there.
        tree["inputs"] = {"code": {"archive": client.upload(cwd)}}
    handle = Handle(client.submit(tree, cwd=os.path.abspath(cwd)))
    for warning in handle.job.answer.get("warnings") or []:
        note(str(warning.get("what", warning) if isinstance(warning, dict) else warning))
    return handle


def choose_device_type(job: DLConfig, client: Client) -> None:
    """A job that nobody gave a device type computes on what the cluster has."""
    if job.device_type_from_cluster and not cluster_has_devices(client):
        job.accelerator_type = AcceleratorType.CPU


# ---- the wait ----


def show_log(job: Job) -> None:
    """Writes what all instances write, in whole lines, until the job has ended."""
    merged = MergedLines()
    for piece in job.follow():
        merged.add(piece)
        sys.stdout.write(merged.take())
        sys.stdout.flush()
    sys.stdout.write(merged.take(rest=True))
    sys.stdout.flush()


def watch(handle: Handle, log: bool | None) -> int:
    """Blocks until the job has ended, through restarts of the server: 0 when it has succeeded, else
    1. `log` None: the merged log is shown when stdout is a terminal."""
    thread = None
    if sys.stdout.isatty() if log is None else log:
        thread = threading.Thread(target=show_log, args=(handle.job,), daemon=True)
        thread.start()
    try:
        code = _wait(handle)
    except KeyboardInterrupt:
        print(
            f"\njob {handle.number} goes on; follow it: muster logs -f {handle.number}, "
            f"stop it: muster stop {handle.number}",
            file=sys.stderr,
        )
        raise KeyboardInterrupt from None
    if thread:
        thread.join(LOG_DRAIN)
    if code:
        print(f"job {handle.number} {handle.status()}: {handle.reason()}", file=sys.stderr)
    return code


def _wait(handle: Handle) -> int:
    told, patience = "", FIRST_REASON
    while True:
        try:
            return handle.wait(patience)
        except TimeoutError:
            told = _say_why(handle, told)
            patience = REASON_EVERY


def _say_why(handle: Handle, told: str) -> str:
    """One line on stderr when the job waits for another reason than last told."""
    try:
        tree = handle.job.show()
    except MusterError:
        return told
    reason = str(tree.get("reason") or "")
    if tree["state"] not in WAITING or reason == told:
        return told
    print(f"job {handle.number} is {tree['state']}: {reason}", file=sys.stderr)
    return reason
