"""What every runtime has to keep of an image and of what muster promises to a task in one: a name,
a line of shell that a task runs, and what it has to print (doc/images.md, "What a task has").

One task runs all of them, so that a runtime is asked once for each user and kind of node. `{...}`
are names of Made, which the test fills in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from registry import Registry, busybox_files, tree

MARK = "@@"
SHM, MEMORY = 48 << 20, 256 << 20
# {}: what is waited for, and given up after ten seconds at least.
UNTIL = "n=0; until {}; do n=$((n + 1)); test $n -lt 500 || exit; usleep 20000; done; echo done"


@dataclass(frozen=True)
class Check:
    name: str
    run: str
    want: str  # a pattern for the whole of what is printed, less blanks at the end


@dataclass(frozen=True)
class Made:
    """What a test made for its job."""

    state: Path  # the server's directory
    shared: Path  # data of the job, which it may write
    fixed: Path  # data that it may only read
    code: Path
    outside: Path  # a file that no job was given
    port: int  # on which something listens on this machine's loopback


CHECKS = (
    # the files of the image
    Check("files", "cat /etc/marker", "of the image"),
    Check("upper-layer", "cat /etc/both", "upper"),
    Check("lower-layer", "cat /etc/lower", "lower"),
    Check("whiteout", "ls /etc/gone", ".*No such file.*"),
    Check("opaque-directory", "ls -A /opaque", "new"),
    Check("symbolic-link", "readlink /etc/link; cat /etc/link", "marker\nof the image"),
    Check("modes", "stat -c %a /etc/marker /etc/private /tmp", "755\n640\n1777"),
    Check("times", "stat -c %Y /etc/marker", "1000000000"),
    Check("owners", "stat -c %u:%g /etc/marker /", "0:0\n0:0"),
    Check("host-is-not-there", "ls {outside} 2>&1 | grep -c 'No such file'", "1"),
    # what is written
    Check("new-file", "echo x >/new && cat /new", "x"),
    Check("changed-file", "echo more >>/etc/both && cat /etc/both", "upper\nmore"),
    Check("removed-file", "rm /etc/lower && ls /etc/lower", ".*No such file.*"),
    Check("removed-directory", "rm -r /opaque && mkdir /opaque && ls -A /opaque", ""),
    Check("renamed-directory", "mv /lib/old /lib/renamed && cat /lib/renamed/f", "f"),
    Check("hard-link", "ln /etc/marker /etc/second && stat -c %h /etc/second", "2"),
    Check("fifo", "mkfifo /tmp/p && (echo through >/tmp/p &) && cat /tmp/p", "through"),
    Check("temporary-files", "mktemp -d /tmp/XXXXXX | grep -c /tmp/", "1"),
    # the environment
    Check("image-environment", "echo $FROM_IMAGE", "yes"),
    Check("job-environment", "echo $FROM_JOB", "a b"),
    Check("job-wins", "echo $FROM_BOTH", "job"),
    Check("image-path", "echo $PATH", "/bin:/extra"),
    Check("home", "echo $HOME", "/root"),
    Check("server-environment", "echo _$OF_THE_SERVER", "_"),
    Check("task-variables", "echo $MUSTER_TASK_INDEX $MUSTER_JOB_NAME", "0 semantics"),
    Check("entrypoint", "ls /entrypoint-ran", ".*No such file.*"),
    # users
    Check("root", "id -u; id -g; whoami", "0\n0\nroot"),
    Check("change-owner", "touch /o && chown 5:60 /o && echo done", "done"),
    Check("other-user", "su tool -s /bin/sh -c 'echo as tool'", "as tool"),
    Check("no-new-privileges", "grep NoNewPrivs /proc/self/status", r"NoNewPrivs:\s+1"),
    Check("filter", "grep ^Seccomp: /proc/self/status", r"Seccomp:\s+2"),
    Check("no-mounts", "mkdir /m; mount -t tmpfs no /m; grep -c ' /m ' /proc/mounts", "(?s).*\n0"),
    # processes
    Check("no-host-processes", "cat /proc/[0-9]*/comm 2>/dev/null | grep -cx muster-node", "0"),
    Check("orphans-are-reaped", "sh -c '(exit 3) & echo $! >/tmp/orphan'; "
          + UNTIL.format("! test -e /proc/$(cat /tmp/orphan)"), "done"),
    Check("pipes-and-groups", "sh -c 'seq 1 1000' | wc -l", "1000"),
    Check("input-is-empty", "cat | wc -c", "0"),
    # devices and kernel file systems
    Check("null-and-zero", "echo x >/dev/null; head -c 4 /dev/zero | wc -c", "4"),
    Check("random", "head -c 8 /dev/urandom | wc -c", "8"),
    Check("standard-streams", "readlink /dev/fd; echo out >/dev/stdout", "/proc/self/fd\nout"),
    Check("terminals", "ls -d /dev/pts /dev/ptmx", "/dev/ptmx\n/dev/pts"),
    Check("new-terminal", "exec 3<>/dev/ptmx && echo opened", "opened"),
    Check("no-disks", "find /dev -type b | wc -l", "0"),
    Check("no-memory-device", "ls /dev/mem /dev/kmem 2>&1 | grep -c 'No such file'", "2"),
    Check("shared-memory", "df -k /dev/shm | awk 'END {{print $2 * 1024}}'", str(SHM)),
    Check("shared-memory-is-written", "echo x >/dev/shm/x && cat /dev/shm/x && rm /dev/shm/x", "x"),
    Check("proc", "test -e /proc/self/stat && echo there", "there"),
    Check("proc-is-kept", "echo 1 >/proc/sys/kernel/sysrq", "(?s).+"),
    Check("sys", "test -d /sys/class && ! touch /sys/x 2>/dev/null && echo kept", "kept"),
    # names and network
    Check("names-of-peers", "grep -c 'worker-1$' /etc/hosts", "1"),
    Check("resolver", "test -e /etc/resolv.conf && echo there", "there"),
    Check("host-network", "nc -w 9 127.0.0.1 {port} </dev/null && echo reached", "reached"),
    Check("reserved-port", "(echo hello | nc -l -p $MUSTER_PORT_WEB >/dev/null &); "
          + UNTIL.format("nc -w 9 127.0.0.1 $MUSTER_PORT_WEB </dev/null 2>&-"), "hello\ndone"),
    # directories of the job
    Check("code", "cat code/part", "code"),
    Check("code-is-kept", "echo x 2>/dev/null >code/part; cat code/part", "code"),
    Check("data", "cat {shared}/in", "data"),
    Check("data-is-written", "echo from in here >{shared}/out && cat {shared}/out", "from in here"),
    Check("fixed-data", "cat {fixed}/in; touch {fixed}/x 2>/dev/null || echo kept", "data\nkept"),
    Check("server-is-hidden", "ls {state}/muster.db 2>&1 | grep -c 'No such file'", "1"),
    # limits
    Check("open-files", "test $(ulimit -n) -ge 1024 && echo enough", "enough"),
    # secrets
    Check("secret-file", "stat -c '%a %u' $MUSTER_SECRETS/token", "400 0"),
    Check("secret-is-in-memory", "stat -f -c %T $MUSTER_SECRETS", "tmpfs"),
    Check("secret-variable", "test \"$T\" = \"$(cat $MUSTER_SECRETS/token)\" && echo same", "same"),
    Check("secret-is-masked", "cat $MUSTER_SECRETS/token", r"\*+"),
)  # fmt: skip

# What a runtime does not do, by check, and why; doc/images.md has the same rows.
LACKS: dict[str, dict[str, str]] = {
    "bwrap": {},
    "podman": {"no-host-processes": "tasks share the node's process namespace, as on the host"},
    "docker": {},
}


def image(registry: Registry) -> str:
    """Of two layers; what it says of how to run is not what muster runs."""
    users = b"root:x:0:0:root:/root:/bin/sh\ntool:x:5:60:tool:/:/bin/sh\n"
    lower = tree(
        {
            **busybox_files(),
            "etc/passwd": users,
            "etc/lower": b"lower\n",
            "etc/both": b"lower\n",
            "etc/gone": b"gone\n",
            "etc/link": "marker",
            "etc/private": b"",
            "opaque": None,
            "opaque/old": b"",
            "lib": None,
            "lib/old": None,
            "lib/old/f": b"f\n",
            "entrypoint": b"#!/bin/sh\ntouch /entrypoint-ran\n",
        },
        modes={"etc/private": 0o640, "tmp": 0o1777},
    )
    upper = tree(
        {
            "etc/both": b"upper\n",
            "etc/.wh.gone": b"",
            "opaque/.wh..wh..opq": b"",
            "opaque/new": b"",
            "work": None,
        }
    )
    return registry.push(
        "team/semantics",
        lower,
        upper,
        Env=["PATH=/bin:/extra", "FROM_IMAGE=yes", "FROM_BOTH=image"],
        WorkingDir="/work",
        Entrypoint=["/entrypoint"],
        User="tool",
    )


def script(made: Made) -> str:
    names = {name: str(getattr(made, name)) for name in Made.__dataclass_fields__}
    return "\n".join(
        f"echo '{MARK} {one.name}'; ( {one.run.format(**names)} ) 2>&1" for one in CHECKS
    )


def answers(log: str) -> dict[str, str]:
    """By name; of one that ended the script all behind it are missing."""
    found = re.split(rf"^{MARK} (\S+)\n", log, flags=re.M)
    return {name: said.rstrip() for name, said in zip(found[1::2], found[2::2], strict=True)}
