"""What bash, zsh and fish offer behind a line that is being typed, each by its own machinery."""

from __future__ import annotations

import contextlib
import os
import pty
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Starter
from harness import Server, environment, kill, native, program, wait_for

# Tab lists, and everything that is offered goes to a file, which is there when the list is whole.
ZSHRC = """
PS1=; LISTMAX=10000
autoload -U compinit; compinit -u -D
compadd() {
    if [[ " ${@[1,(i)(-|--)]} " == *" -"[OAD]" "* ]]; then builtin compadd "$@"; return; fi
    local -a offered
    builtin compadd -A offered "$@"
    print -rl -- $offered >>$OFFERED.new
    builtin compadd "$@"
}
offer() { : >$OFFERED.new; _main_complete; mv $OFFERED.new $OFFERED }
zle -C offer list-choices offer
bindkey '^I' offer
"""
READ = {
    "read": "source <(muster completion zsh); source <(dlc completion zsh)",
    "found": "muster completion zsh >$ZDOTDIR/_muster; dlc completion zsh >$ZDOTDIR/_dlc",
}


class Shell:
    """One of them, in a directory with one file."""

    def __init__(self, name: str, server: Server, folder: Path) -> None:
        if not shutil.which(name):
            pytest.skip(f"no {name}: tools/setup lint installs it")
        self.server, self.here = server, folder / "here"
        self.here.mkdir()
        (self.here / "file.yaml").touch()
        self.env = {
            **environment(server.state),
            "PATH": f"{program().parent}:/usr/bin:/bin",
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),  # fish makes it
            "XDG_DATA_HOME": str(folder / "data"),
            "TERM": "dumb",
        }

    def offered(self, line: str) -> list[str]:
        raise NotImplementedError

    def ask(self, argv: list[str]) -> list[str]:
        done = subprocess.run(
            argv, env=self.env, cwd=self.here, capture_output=True, text=True, check=False
        )
        assert not done.stderr, done.stderr
        return sorted(done.stdout.split("\n"))[1:]

    def close(self) -> None:
        pass


class Bash(Shell):
    def offered(self, line: str) -> list[str]:
        words = line.split(" ")
        script = (
            f"source <({words[0]} completion bash); COMP_WORDS=({shlex.join(words)}); "
            f"COMP_CWORD={len(words) - 1}; _{words[0]}; "
            '[ ${#COMPREPLY[@]} = 0 ] || printf "%s\\n" "${COMPREPLY[@]}"'
        )
        return self.ask(["bash", "-c", script])


class Fish(Shell):
    def offered(self, line: str) -> list[str]:
        script = (
            f"{line.split()[0]} completion fish | source; complete -C {shlex.quote(line)}"
            "| string replace -r '\\t.*' ''"
        )
        return self.ask(["fish", "-c", script])


class Zsh(Shell):
    """It completes for people alone: on a terminal."""

    def __init__(self, server: Server, folder: Path, how: str) -> None:
        super().__init__("zsh", server, folder)
        self.list = folder / "offered"
        found = "fpath=($ZDOTDIR $fpath)\n"
        (folder / ".zshrc").write_text(READ["found"] + "\n" + found + ZSHRC)
        if how == "read":
            (folder / ".zshrc").write_text(ZSHRC + READ["read"] + "\n")
        self.env.update(ZDOTDIR=str(folder), OFFERED=str(self.list))
        self.terminal, inner = pty.openpty()
        os.set_blocking(self.terminal, False)
        self.process = subprocess.Popen(
            ["zsh", "-i"],
            env=self.env,
            cwd=self.here,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)

    def there(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            while os.read(self.terminal, 65536):
                pass
        return self.list.exists()

    def offered(self, line: str) -> list[str]:
        self.list.unlink(missing_ok=True)
        os.write(self.terminal, f"\x15{line}\t".encode())
        wait_for(self.there, what=f"what zsh offers behind {line!r}")
        return sorted(filter(None, self.list.read_text().split("\n")))

    def close(self) -> None:
        kill(self.process.pid)
        self.process.wait()
        os.close(self.terminal)


@pytest.fixture(params=["bash", "fish", "zsh, read", "zsh, found"])
def shell(request: pytest.FixtureRequest, start: Starter, tmp_path: Path) -> Iterator[Shell]:
    server = start(nodes="2x1cpu,1Gi")
    assert server.submit(native("digits", replicas=2, suspend=True)) == 1
    name, _, how = request.param.partition(", ")
    kinds = {"bash": Bash, "fish": Fish}
    one = Zsh(server, tmp_path, how) if name == "zsh" else kinds[name](name, server, tmp_path)
    yield one
    one.close()


def test_shells_offer_what_there_is(shell: Shell) -> None:
    expected = {
        "muster sto": ["stop"],
        "muster stop ": ["1", "digits"],
        "muster logs ": ["1", "digits"],
        "muster logs dig": ["digits"],
        "muster logs -f dig": ["digits"],
        "muster logs digits ": ["worker/0", "worker/1"],
        "muster logs --follow 1 w": ["worker/0", "worker/1"],
        "muster drain n": ["n1", "n2"],
        "muster server sta": ["start", "status"],
        "muster convert --to d": ["dlc"],
        "muster check --fr": ["--from"],
        "muster check fi": ["file.yaml"],
        "dlc sub": ["submit"],
        "dlc submit py": ["pytorchjob"],
        "dlc get ": ["job", "pod", "quota", "specs"],
    }
    assert {line: shell.offered(line) for line in expected} == expected
    assert "openpai-v1" in shell.offered("muster check --from ")
    shell.server.end()
    assert shell.offered("muster stop ") == [], "nobody answers"
