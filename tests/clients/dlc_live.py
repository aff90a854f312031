"""What the newest of the vendor's packages does with jobs that run: signals, dashboards, histories.
Says what came of each as JSON lines, like dlc_session.py, which it shares everything with.

  dlc_live.py FOLDER      FOLDER has a program called ray
"""

from __future__ import annotations

import sys
import time
import urllib.request
from typing import Any

from alibabacloud_pai_dlc20201203 import models as m
from alibabacloud_pai_dlc20201203.client import Client as JobClient
from dlc_session import JOB, call, config, finished, say  # type: ignore[import-not-found]

LISTENS = """python3 -u -c 'import signal, time
signal.signal(signal.SIGUSR1, lambda *_: print("saved"))
print("ready"); time.sleep(100)'"""


def until(what: str, condition: Any) -> Any:
    deadline = time.monotonic() + 120
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.02)
    return value


def lines(jobs: Any, job: str, pod: str) -> list[str]:
    said: list[str] = jobs.get_pod_logs(job, pod, m.GetPodLogsRequest()).body.logs
    return said


def to(jobs: Any, job: str, name: str, signal: str, **target: Any) -> Any:
    meant = m.SignalTarget(**target) if target else None
    asked = m.CreateSignalRequest(signal=signal, target=meant)
    return call(name, jobs, "create_signal", job, asked)


def got(jobs: Any, name: str, job: str, signal: Any) -> None:
    call(name, jobs, "get_signal", job, signal.signal_id, m.GetSignalRequest())


def signals(jobs: Any) -> None:
    made = m.CreateJobRequest().from_map({**JOB, "UserCommand": LISTENS})
    job = jobs.create_job(made).body.job_id
    pods = [f"{job}-master-0", f"{job}-worker-0"]
    until("ready", lambda: all("ready" in lines(jobs, job, pod) for pod in pods))
    got(
        jobs,
        "heard",
        job,
        to(jobs, job, "CreateSignal", "SIGUSR1", scope="roles", roles=["Worker"]),
    )
    until("saved", lambda: "saved" in lines(jobs, job, pods[1]))
    say("alone", "ok", body=lines(jobs, job, pods[0]))
    got(jobs, "pods", job, to(jobs, job, "CreateSignal", "10", scope="pods", pod_names=pods))
    until(
        "saved", lambda: lines(jobs, job, pods[0]).count("saved") == 1
    )  # two at once would be one
    got(jobs, "GetSignal", job, to(jobs, job, "CreateSignal", "usr1"))
    until("saved", lambda: lines(jobs, job, pods[0]).count("saved") == 2)
    got(jobs, "deaf", job, to(jobs, job, "CreateSignal", "SIGUSR2"))
    to(jobs, job, "KILL!", "SIGKILL")
    to(jobs, job, "SCOPE!", "SIGUSR1", scope="moon")
    to(jobs, job, "ROLES!", "SIGUSR1", scope="roles")
    to(jobs, job, "ROLE!", "SIGUSR1", scope="roles", roles=["ps"])
    to(jobs, job, "POD!", "SIGUSR1", scope="pods", pod_names=["none"])
    to(jobs, "dlc0000000000000", "CreateSignal!", "SIGUSR1")
    call("GetSignal!", jobs, "get_signal", job, "sig0", m.GetSignalRequest())
    page = m.ListSignalsRequest(page_number="2", page_size="3", order="asc")
    call("ListSignals", jobs, "list_signals", job, page)
    call("failed", jobs, "list_signals", job, m.ListSignalsRequest(status="Failed"))
    call("ListSignals!", jobs, "list_signals", job, m.ListSignalsRequest(page_number="0"))
    call("GetDashboard!", jobs, "get_dashboard", job, m.GetDashboardRequest())
    terminal = m.GetWebTerminalRequest(is_shared=True)
    call("GetWebTerminal", jobs, "get_web_terminal", job, pods[1], terminal)
    call("GetWebTerminal!", jobs, "get_web_terminal", job, f"{job}-worker-9", terminal)
    jobs.stop_job(job)
    finished(jobs, job)
    to(jobs, job, "ENDED!", "SIGUSR1")
    call("TERMINAL!", jobs, "get_web_terminal", job, pods[1], terminal)


def ray(jobs: Any, folder: str) -> None:
    spec = {**JOB["JobSpecs"][0], "PodCount": 1}
    asked = {
        **JOB,
        "JobType": "RayJob",
        "JobSpecs": [{**spec, "Type": "Head"}, {**spec, "Type": "Worker"}],
        "UserCommand": "sleep 100",
        "Envs": {"PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin"},
    }
    job = jobs.create_job(m.CreateJobRequest().from_map(asked)).body.job_id
    until("running", lambda: jobs.get_job(job, m.GetJobRequest()).body.status == "Running")
    call("GetRayDashboard", jobs, "get_ray_dashboard", job, m.GetRayDashboardRequest())
    call("GetDashboard", jobs, "get_dashboard", job, m.GetDashboardRequest())
    jobs.stop_job(job)
    finished(jobs, job)
    call("GetRayDashboard!", jobs, "get_ray_dashboard", job, m.GetRayDashboardRequest())


def history(jobs: Any, folder: str) -> None:
    asked = m.CreateRayHistoryServerRequest(
        display_name="old", storage_path=folder, workspace_id="default"
    )
    made = call("CreateRayHistoryServer", jobs, "create_ray_history_server", asked)
    one = made.ray_history_server_id
    request = m.GetRayHistoryServerRequest()

    def running() -> Any:
        body = jobs.get_ray_history_server(one, request).body
        return body if body.status == "Running" else None

    said = until("a history", running)
    say("GetRayHistoryServer", "ok", body=said.to_map())
    call("listed", jobs, "list_ray_history_servers", m.ListRayHistoryServersRequest(id_prefix=one))
    until("its files", lambda: reads(said.ray_history_server_url))
    say("files", "ok", body=reads(said.ray_history_server_url))
    request = m.DeleteRayHistoryServerRequest()
    call("RUNNING!", jobs, "delete_ray_history_server", one, request)
    call(
        "StopRayHistoryServer",
        jobs,
        "stop_ray_history_server",
        one,
        m.StopRayHistoryServerRequest(),
    )
    call(
        "StartRayHistoryServer",
        jobs,
        "start_ray_history_server",
        one,
        m.StartRayHistoryServerRequest(),
    )
    until("a history again", running)
    jobs.stop_ray_history_server(one, m.StopRayHistoryServerRequest())
    call("DeleteRayHistoryServer", jobs, "delete_ray_history_server", one, request)
    call(
        "GetRayHistoryServer!",
        jobs,
        "get_ray_history_server",
        one,
        m.GetRayHistoryServerRequest(),
    )


def reads(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=60) as page:
            return str(page.read().decode())
    except OSError:
        return ""


if __name__ == "__main__":
    client = JobClient(config())
    history(client, sys.argv[1])
    signals(client)
    ray(client, sys.argv[1])
