"""A real Slurm over the machines of a laboratory: munged and slurmd on each, with a network,
mounts, processes, /tmp and a disk of its own; munged and slurmctld at the server's place, which is
the login node. What the daemons have lies at one path, which is another directory on each."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import slurm_cluster
from accounts import Account
from harness import program, wait_for
from lab import PATH, Lab, Machine, holder
from lab import why_none as why_no_lab

CONF = """ClusterName=lab
SlurmctldHost={host}({head})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=15
CredType=cred/munge
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
PluginDir={plugins}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,sched_interval=1,bf_interval=1
PriorityType=priority/basic
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout={timeout}
KillWait=5
"""
NODE = """NodeName={name} NodeHostname={name} NodeAddr={address} CPUs={cpus} RealMemory={memory} \
State=UNKNOWN
"""
PARTITION = "PartitionName=main Nodes=m[1-{size}] Default=YES MaxTime=INFINITE State=UP\n"


def why_none() -> str:
    """Why there can be no such laboratory here; "": there can."""
    return slurm_cluster.why_no_daemons() or why_no_lab()


@dataclass
class LabSlurm:
    lab: Lab
    cpus: int = 8
    memory: int = 16000  # MB
    timeout: int = 15  # seconds until Slurm takes a silent node for down

    @property
    def folder(self) -> Path:
        return self.lab.folder / "slurm"

    def env(self) -> dict[str, str]:
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def run(self, *words: str) -> str:
        """One of Slurm's commands, at the login node."""
        given = [f"{key}={value}" for key, value in self.env().items()]
        return self.lab.head.run("env", *given, *words)

    def conf(self) -> str:
        lab = self.lab
        plugins = next(Path("/usr/lib").glob("*/slurm*/select_cons_tres.so")).parent
        head = CONF.format(
            host=os.uname().nodename.partition(".")[0],
            head=lab.address(0),
            folder=self.folder,
            plugins=plugins,
            timeout=self.timeout,
        )
        nodes = [
            NODE.format(name=one.name, address=one.address, cpus=self.cpus, memory=self.memory)
            for one in lab.machines
        ]
        return head + "".join(nodes) + PARTITION.format(size=lab.size)

    def lay_out(self, folder: Path, key: bytes) -> None:
        for name in ("munge", "state", "spool"):
            (folder / name).mkdir(parents=True)
        (folder / "slurm.conf").write_text(self.conf())
        (folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
        (folder / "munge/key").write_bytes(key)
        (folder / "munge/key").chmod(0o600)
        for path in (folder, folder / "munge", folder / "spool"):
            path.chmod(0o755)

    def munged(self) -> list[str]:
        at = self.folder / "munge"
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "seed-file": "seed"}
        words = [f"--{option}={at / name}" for option, name in files.items()]
        return [daemon("munged"), "--foreground", *words, f"--log-file={at}/log"]

    def start(self) -> LabSlurm:
        """Returns when all nodes are idle."""
        self.lab.folder.chmod(0o711)
        key = os.urandom(1024)
        self.lay_out(self.folder, key)
        given = [f"{name}={value}" for name, value in self.env().items()]
        way, log = self.lab.head.way, self.folder / "head.out"
        self.lab.holders.append(holder(*way, *self.munged(), log=log))
        wait_for((self.folder / "munge/socket").exists, what="munged of the login node")
        ctld = holder(*way, "env", *given, daemon("slurmctld"), "-D", log=log)
        self.lab.holders.append(ctld)
        for machine in self.lab.machines:
            self.lay_out(machine.outside(self.folder), key)
            self.join(machine)
        wait_for(lambda: self.idle() == self.lab.size, what=f"all nodes idle, see {log}")
        return self

    def join(self, machine: Machine) -> None:
        """Its daemons, as at its start."""
        at = machine.outside(self.folder)
        (at / "munge/socket").unlink(missing_ok=True)
        machine.spawn(*self.munged(), log=at / "munged.out")
        wait_for((at / "munge/socket").exists, what=f"munged of {machine.name}")
        given = [f"{name}={value}" for name, value in self.env().items()]
        machine.spawn("env", *given, daemon("slurmd"), "-D", log=at / "slurmd.out")

    def idle(self) -> int:
        try:
            listed = self.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N")
        except RuntimeError:  # slurmctld is not there yet
            return 0
        return len(set(listed.split()))


def daemon(name: str) -> str:
    return shutil.which(name, path=f"/usr/local/sbin:{PATH}") or name


def make_apart(machine: Machine, owner: Account) -> None:
    """What machines of a laboratory see of this one, and nodes of a cluster do not: the home of an
    account, and where muster was built."""
    mine = f"mode=700,uid={owner.uid},gid={owner.entry.pw_gid}"
    for path, options in ((owner.home, mine), (program().resolve().parent, "mode=755")):
        machine.run("mount", "-t", "tmpfs", "-o", options, "apart", path)


__all__ = ["LabSlurm", "make_apart", "why_none"]
