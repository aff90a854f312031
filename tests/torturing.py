"""What tests/torture and tests/torture_machines share: clients that submit jobs until each is
acknowledged, whatever is killed meanwhile, and what must hold of all of them at the end."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import damage
from failing import KINDS, Failing
from harness import FINAL, LIVE, Json, Server, kill, patience, role, wait_for
from silent import Crowd, Limited

CLIENTS = 4
LINES = 20
SETTLE_S = 120.0

# One line of a file is one attempt; a lock lives as long as any process of the task.
TASK = """
echo "$MUSTER_ATTEMPT_COOKIE" >> {work}/ran/$PAI_JOB_NAME
hold() {{ exec {{fd}}>>{work}/held/$1; flock -n $fd || double $1; }}
double() {{ echo "$1 $MUSTER_ATTEMPT_COOKIE" >> {work}/double; }}
IFS=,
for gpu in ${{NVIDIA_VISIBLE_DEVICES#none}}; do hold gpu-$PAI_CURRENT_CONTAINER_IP-$gpu; done
for port in $PAI_CONTAINER_HOST_PORT $PAI_CONTAINER_SSH_PORT; do hold port-$port; done
exec {{never}}<> <(:)
for i in {{1..{lines}}}; do echo line $i; [ {pause} = 0 ] || read -t {pause} -u $never; done
echo end
"""


@dataclass
class Sent:
    tasks: int
    id: str = ""
    number: int = 0
    disturbed: str = ""  # "stop" or "suspend": what its client then asked for


@dataclass
class Torture:
    seed: int
    kills: int
    agents: bool
    work: Path
    server: Server
    faults: list[str] = field(default_factory=list)
    failing: Failing | None = None
    damages: list[str] = field(default_factory=list)  # kinds of files that are damaged
    mended: damage.Mended = field(default_factory=damage.Mended)
    hurt: set[int] = field(default_factory=set)  # jobs of which files of an agent were damaged
    named: int = 0  # jobs that are missing, by the name of the recovery
    astray: int = 0  # jobs that did not succeed, of those of which nothing more is said
    settle_s: float = SETTLE_S  # for all jobs to end, once nothing strikes any more
    crowd: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    done: Counter[str] = field(default_factory=Counter)  # faults that were met
    sent: dict[str, Sent] = field(default_factory=dict)
    doubled: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    # ---- clients ----

    def job_text(self, dice: random.Random, name: str) -> tuple[str, int]:
        pause = dice.choice([0, 0.002, 0.01, 0.03])
        command = TASK.format(work=self.work, lines=LINES, pause=pause).strip()
        tasks = dice.choice([1, 1, 2, 3])
        gpus = dice.choice([0, 0, 1, 2])
        roles = [role("worker", command, tasks, gpuNumber=gpus)]
        if dice.random() < 0.2:
            roles.append(role("ps", command, 1))
            tasks += 1
        text: Json = {"jobName": name, "image": "i", "taskRoles": roles}
        return json.dumps(text), tasks

    def submit_until_acknowledged(self, text: str, key: str) -> Json | None:
        """None when the torture was over before the server took it."""
        deadline = 0.0
        while True:
            try:
                reply = self.server.api("POST", "/v1/jobs", text, headers={"Idempotency-Key": key})
                if reply.status in (200, 201):
                    answer: Json = reply.json()
                    return answer
                if reply.status < 500:
                    self.problems.append(f"{key} was refused: {reply.text[:300]}")
                    return None
            except (OSError, http.client.HTTPException, ValueError):
                pass  # the server is dead, or died before it answered
            if self.over.is_set():
                deadline = deadline or time.monotonic() + patience()
                if time.monotonic() > deadline:
                    self.problems.append(f"{key} was never answered")
                    return None
            time.sleep(0.01)

    def order(self, number: int, what: str) -> bool:
        """Given until it is answered; False when it came too late."""
        deadline = 0.0
        while True:
            try:
                reply = self.server.api("POST", f"/v1/jobs/{number}/{what}")
                if reply.status < 300:
                    return True
                if reply.status < 500:
                    return False
            except (OSError, http.client.HTTPException):
                pass
            if self.over.is_set():
                deadline = deadline or time.monotonic() + patience()
                if time.monotonic() > deadline:
                    self.problems.append(f"{what} of job {number} was never answered")
                    return False
            time.sleep(0.01)

    def disturb(self, dice: random.Random, sent: Sent) -> None:
        sent.disturbed = dice.choice(["stop", "suspend"])
        self.over.wait(dice.random() * 0.1)
        if not self.order(sent.number, sent.disturbed) or sent.disturbed == "stop":
            return
        # A job on its way out of its nodes may not be resumed yet.
        while not self.order(sent.number, "resume"):
            if self.mended.is_missing(sent.number):
                return
            with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
                if self.server.state_of(sent.number) in FINAL:
                    return
            time.sleep(0.01)

    def client(self, index: int) -> None:
        dice = random.Random(f"{self.seed}/{index}")
        count = 0
        while not self.over.is_set():
            key = f"t{index}-{count}"
            count += 1
            text, tasks = self.job_text(dice, key)
            answer = self.submit_until_acknowledged(text, key)
            if answer:
                sent = Sent(tasks, answer["id"], answer["number"])
                with self.lock:
                    self.sent[key] = sent
                if dice.random() < 0.15:
                    self.disturb(dice, sent)
            self.over.wait(dice.random() * 0.2)

    # ---- the killer ----

    def kill_somebody_of_a_job(self, dice: random.Random) -> None:
        found = self.server.agents()
        wanted = found[dice.choice(["keeper", "agent"])]
        if wanted:
            kill(dice.choice(wanted))

    def stop_somebody(self, dice: random.Random) -> None:
        found = self.server.agents()
        pids = [self.server.pid, *found["keeper"], *found["agent"]]
        pid = dice.choice(pids)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            try:
                time.sleep(dice.uniform(0, 0.4))
            finally:
                os.kill(pid, signal.SIGCONT)
            self.done["stop"] += 1

    def crowd_in(self, dice: random.Random) -> None:
        """Until the server is dead: who comes again would come to whoever has its port then."""
        assert isinstance(self.server, Limited)
        before = self.server.said().count("http.crowded")
        self.crowd.enter_context(Crowd(self.server, tls=False))
        wait_for(lambda: self.server.said().count("http.crowded") > before, what="a crowd")
        self.server.get("/v1/server")  # who comes over the Unix socket is still heard
        time.sleep(dice.uniform(0, 0.4))
        self.done["files"] += 1

    def start_again(self, dice: random.Random) -> None:
        kind = dice.choice(self.damages) if self.damages else None
        made = damage.damage(self.server.state, dice, kind) if kind else None
        if not made:
            self.server.start()
            return
        if made.job():
            self.hurt.add(made.job())
        remedy = damage.start_after(self.server, made, self.mended)
        self.done[f"{kind} {remedy}" if remedy else f"damaged {kind}"] += 1

    def make_fault(self, dice: random.Random) -> None:
        """Until the next kill; what a disk was to do and did not comes to nothing."""
        what = dice.choice(self.faults)
        if what == "stop":
            self.stop_somebody(dice)
        elif what == "files":
            self.crowd_in(dice)
        elif what == "clock":
            assert self.failing
            self.failing.shift(dice.randint(-86400, 86400))
            self.done["clock"] += 1
        else:
            assert self.failing
            times = dice.choice([1, 1, 2, 5, 20])
            self.failing.fail(KINDS[what], dice.randrange(40), times)
            time.sleep(dice.uniform(0.05, 0.6))
            self.done[what] += self.failing.left() < times
            self.failing.heal()

    def killer(self) -> None:
        dice = random.Random(f"{self.seed}/killer")
        tty = sys.stderr.isatty()
        for n in range(self.kills):
            time.sleep(dice.uniform(0.02, 0.5))
            if self.agents and dice.random() < 0.7:
                self.kill_somebody_of_a_job(dice)
                time.sleep(dice.uniform(0, 0.1))
            if self.faults:
                self.make_fault(dice)
            self.server.kill()
            self.crowd.close()
            time.sleep(dice.choice([0, 0, dice.uniform(0, 0.3)]))
            self.start_again(dice)
            if tty:
                print(f"\r{n + 1} of {self.kills} kills, {len(self.sent)} jobs", end="",
                      file=sys.stderr, flush=True)  # fmt: skip
        if tty:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    # ---- what must hold ----

    def check_jobs(self) -> list[Json]:
        jobs = self.server.jobs()
        self.named = self.astray = 0
        names = Counter(job["name"] for job in jobs)
        by_name = {job["name"]: job for job in jobs}
        for name, times in names.items():
            if times > 1:
                self.problems.append(f"{name} exists {times} times")
        numbers = Counter(sent.number for sent in self.sent.values())
        self.problems += [f"number {n} was given {t} times" for n, t in numbers.items() if t > 1]
        for name, sent in self.sent.items():
            job = by_name.get(name)
            if not job and self.mended.is_missing(sent.number):
                self.named += 1
            elif not job:
                self.problems.append(f"{name} (number {sent.number}) was acknowledged and is lost")
            elif job["id"] != sent.id:
                self.problems.append(f"{name} is {job['id']}, acknowledged was {sent.id}")
            elif job["state"] == "stopped" and sent.disturbed == "stop":
                continue
            elif self.lost_track(sent.number):
                self.astray += job["state"] != "succeeded"
            elif job["state"] != "succeeded":
                self.problems.append(f"{name} is {job['state']}: {job.get('reason')}")
        return jobs

    def lost_track(self, number: int) -> bool:
        """Of what became of that job records or an agent's files may have said more."""
        return number in self.hurt or number in self.mended.set_back

    def check_attempts(self, job: Json) -> int:
        name = job["name"]
        path = self.work / "ran" / name
        ran = path.read_text().split() if path.exists() else []
        if self.lost_track(job["number"]):
            return len(ran)
        for attempt, times in Counter(ran).items():
            if times > 1:
                self.problems.append(f"{name}: attempt {attempt} ran {times} times")
        tasks = job["task_list"]
        recorded = sum(len(t.get("attempts", [])) for t in tasks)
        if len(set(ran)) > recorded:
            self.problems.append(f"{name}: {len(set(ran))} attempts ran, {recorded} are recorded")
        ended_well = sum(t["state"] == "succeeded" for t in tasks)
        if len(set(ran)) < ended_well:
            self.problems.append(f"{name}: {ended_well} tasks succeeded, {len(ran)} attempts ran")
        alone = not self.agents and not self.sent.get(name, Sent(0)).disturbed
        if alone and (len(ran), recorded) != (job["tasks"], job["tasks"]):
            self.problems.append(
                f"{name}: {len(ran)} runs, {recorded} attempts of {job['tasks']} tasks"
            )
        return len(ran)

    def check_log(self, job: Json) -> None:
        expected = "".join(f"line {i}\n" for i in range(1, LINES + 1)) + "end\n"
        for task in job["task_list"]:
            if task["state"] != "succeeded" or self.lost_track(job["number"]):
                continue
            last = task["attempts"][-1]["attempt"]
            log = self.server.log(job["number"], task["name"], attempt=last)
            if log != expected and not self.may_lack(job, task, log):
                self.problems.append(f"{job['name']} {task['name']}: its log is {log!r}")

    def may_lack(self, job: Json, task: Json, log: str) -> bool:
        """May that log be less than all?"""
        return False

    def survivors(self) -> dict[int, str]:
        """What is left, anywhere."""
        return self.server.survivors()

    def check(self) -> str:
        jobs = self.check_jobs()
        ran = 0
        restarts = 0
        for row in jobs:
            job = self.server.job(row["number"])
            ran += self.check_attempts(job)
            restarts += job["restarts"]
            self.check_log(job)
        double = self.work / "double"
        if double.exists():
            self.problems += [f"held twice: {line}" for line in double.read_text().splitlines()]
        busy = [n for n in self.server.get("/v1/nodes")["nodes"] if n["cpu_used_milli"]]
        self.problems += [f"{n['name']} still counts {n['cpu_used_milli']} as used" for n in busy]
        try:
            wait_for(lambda: not self.survivors(), 10)
        except TimeoutError:
            self.problems.append(f"still there: {self.survivors()}")
        said = f"{len(jobs)} jobs, {ran} attempts, {restarts} job restarts"
        if self.damages:
            said += f", {self.named} missing and named, {self.astray} astray"
        return said

    def settled(self) -> bool:
        live = self.server.jobs(state=LIVE)
        for job in live:  # that somebody resumed it may be what the records lost
            if job["state"] == "suspended" and self.lost_track(job["number"]):
                self.order(job["number"], "resume")
        return not live

    def go(self) -> str:
        for name in ("ran", "held"):
            (self.work / name).mkdir()
        if not self.server.running():
            self.server.start()
        clients = [threading.Thread(target=self.client, args=(i,)) for i in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            self.killer()
        finally:
            self.over.set()
            for client in clients:
                client.join()
        try:
            wait_for(self.settled, self.settle_s, "the end of all jobs", every=0.05)
        except TimeoutError:
            stuck = [j for j in self.server.jobs() if j["state"] not in FINAL]
            for job in stuck[:10]:
                self.problems.append(f"{job['name']} hangs: {job['state']}: {job.get('reason')}")
        if self.failing:
            self.failing.shift(0)
        summary = self.check()
        self.server.kill()
        self.server.start()
        self.check_jobs()
        return summary
