"""What a job's program tries on its server with what it finds in its environment: commands that
are its owner's or an admin's, other jobs, tokens of other jobs and of what has ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from accounts import Account, Shared
from harness import Reply, Server, native, wait_for

Starter = Callable[..., Server]
ASK = (
    'ask() { curl -sS -o /dev/null -w "%{http_code} " --unix-socket "${MUSTER_SERVER#unix:}" '
    '-H "Authorization: Bearer $MUSTER_JOB_TOKEN" "$@"; }\nexec 2>&1\n'
)
HERE = "http://muster/v1"
CHILD = '{"name": "child", "run": "true"}'
SAYS = "echo $MUSTER_JOB_TOKEN; exec sleep 600"


def token_of(server: Server, number: int) -> str:
    server.wait(number, "running")
    return wait_for(lambda: server.log(number).strip())


def ask(server: Server, token: str, method: str, path: str, body: str | None = None) -> Reply:
    return server.api(method, f"/v1{path}", body, headers={"Authorization": f"Bearer {token}"})


def refusals(victim: int) -> list[tuple[str, str, str]]:
    """What nobody's program may."""
    return [
        ("POST", "/users", '{"name": "eve", "role": "admin"}'),
        ("POST", "/tokens", "{}"),
        ("POST", "/keys", "{}"),
        ("GET", "/tokens", ""),
        ("GET", "/users", ""),
        ("POST", "/login-link", ""),
        ("GET", f"/jobs/{victim}", ""),
        ("GET", f"/jobs/{victim}/logs", ""),
        ("POST", f"/jobs/{victim}/stop", ""),
        ("POST", f"/jobs/{victim}/restart", ""),
        ("PUT", f"/jobs/{victim}/board?key=a", "x"),
        ("POST", "/catalogue", "kind: workspace\nname: mine\n"),
        ("POST", "/nodes/n1/drain", ""),
        ("POST", "/server/stop", ""),
        ("GET", "/audit", ""),
        ("GET", "/config", ""),
        ("GET", "/jobs", ""),
        ("POST", "/jobs", CHILD),
    ]


def what_came(said: str) -> list[int]:
    return [int(word) for word in said.split() if word.isdecimal()]


@pytest.mark.parametrize("how", ["by its token", "as its account"])
def test_commands_nothing_but_its_job(start: Starter, how: str) -> None:
    """Also where a task runs as the user of the server, who is its admin."""
    server = start()
    victim = server.submit(native("victim", "exec sleep 600"))
    server.wait(victim, "running")
    tried = refusals(victim)
    script = ASK if how == "by its token" else ASK.replace("$MUSTER_JOB_TOKEN", "")
    if how == "as its account":
        script = script.replace('-H "Authorization: Bearer "', "")
    for method, path, body in tried:
        script += f"ask -X {method} '{HERE}{path}'" + (f" -d '{body}'" if body else "") + "\n"
    number = server.submit(native("tries", script))
    server.wait(number, "succeeded")
    came = what_came(server.log(number))
    assert len(came) == len(tried)
    wrong = [row for row, status in zip(tried, came, strict=True) if status != 403]
    assert not wrong, f"a job's program may {wrong}"
    assert server.state_of(victim) == "running"


def test_hides_that_it_is_a_jobs_program(start: Starter) -> None:
    """Without environment, session and parent; and below a keeper of an earlier server."""
    server = start()
    call = f"curl -sS -o /dev/null -w '%{{http_code}}\\n' --unix-socket {server.socket}"
    victim = server.submit(native("victim", "exec sleep 600"))
    server.wait(victim, "running")
    number = server.submit(
        native(
            "hides",
            f"""at=$PWD/asked; go=$PWD/go; rm -f $at $go
setsid -f env -i PATH=$PATH sh -c "until test -e $go; do sleep 0.05; done
{call} -X POST {HERE}/jobs/{victim}/stop >$at.now; mv $at.now $at" </dev/null >/dev/null 2>&1
echo $go
until test -e $at; do sleep 0.05; done
cat $at""",
        )
    )
    server.wait(number, "running")
    go = wait_for(lambda: server.log(number).strip())
    server.kill()
    server.start()
    server.wait(number, "running")
    Path(go).touch()
    server.wait(number, "succeeded")
    assert what_came(server.log(number)) == [403]
    assert server.state_of(victim) == "running"


def test_a_token_that_it_was_given_speaks_for_itself(start: Starter) -> None:
    """Typed into a task, or in a file of the submitter's: that is no accident."""
    server = start()
    token = server.muster("token", "create", "-q").stdout.strip()
    asks = f'ask -H "Authorization: Bearer $GIVEN" {HERE}/users'
    script = ASK.replace('-H "Authorization: Bearer $MUSTER_JOB_TOKEN" ', "") + asks
    number = server.submit(native("given", script, env={"GIVEN": token}))
    server.wait(number, "succeeded")
    assert what_came(server.log(number)) == [200]
    wrong = server.submit(native("wrong", script, env={"GIVEN": "x" * 43}))
    server.wait(wrong, "succeeded")
    assert what_came(server.log(wrong)) == [401]


def test_reaches_its_own_job(start: Starter) -> None:
    server = start()
    own = "jobs/$MUSTER_JOB_NUMBER"
    number = server.submit(
        native(
            "own",
            f"""{ASK}
ask -X PUT "{HERE}/{own}/board?key=a" -d one
for at in "" /tasks /board "/board?key=a" /events /logs; do ask "{HERE}/{own}$at"; done
ask "{HERE}/jobs/own"
ask -X POST "{HERE}/{own}/fail?reason=enough"
exec sleep 600""",
        )
    )
    job = server.wait(number, "failed")
    assert "enough" in job["reason"]
    assert what_came(server.log(number))[:8] == [200] * 8


def test_tokens_of_other_jobs(start: Starter) -> None:
    server = start()
    first, second = (server.submit(native(name, SAYS)) for name in ("first", "second"))
    token = token_of(server, first)
    assert ask(server, token, "GET", f"/jobs/{first}").status == 200
    assert ask(server, token, "GET", f"/jobs/{second}").status == 403
    assert ask(server, token, "PUT", f"/jobs/{second}/board?key=a", "x").status == 403
    assert ask(server, token, "POST", f"/jobs/{second}/stop").status == 403
    mark, its_id, generation, proof = token.split(".")
    theirs = token_of(server, second).split(".")[1]
    for wrong in (
        f"{mark}.{theirs}.{generation}.{proof}",
        f"{mark}.{its_id}.2.{proof}",
        f"{mark}.{its_id}.{generation}.{'0' * 64}",
        f"{mark}.{its_id}.{generation}.",
        f"{mark}.{its_id}.{generation}.{proof}0",
        f"{mark}.{its_id}.0{generation}.{proof}",
        "mj.",
        "mj." + "x" * 4000,
    ):
        assert ask(server, wrong, "GET", f"/jobs/{first}").status == 401, wrong
        assert ask(server, wrong, "GET", f"/jobs/{second}").status == 401, wrong


def test_ends_with_its_generation_and_its_job(start: Starter) -> None:
    server = start()
    number = server.submit(native("again", SAYS))
    first = token_of(server, number)
    assert ask(server, first, "PUT", f"/jobs/{number}/board?key=a", "x").status == 200
    server.kill()
    server.start()
    assert ask(server, first, "GET", f"/jobs/{number}").status == 200, "a restart lost the token"
    server.api("POST", f"/v1/jobs/{number}/restart").good()
    wait_for(lambda: server.job(number)["generation"] == 2)
    assert ask(server, first, "GET", f"/jobs/{number}").status == 401
    second = wait_for(lambda: next((w for w in server.log(number).split() if w != first), ""))
    assert ask(server, second, "GET", f"/jobs/{number}").status == 200
    assert server.muster("stop", "--now", number).returncode == 0
    server.wait(number, "stopped")
    assert ask(server, second, "GET", f"/jobs/{number}").status == 401


def test_other_systems_interfaces_do_not_know_it(start: Starter) -> None:
    server = start()
    number = server.submit(native("faces", SAYS))
    token = token_of(server, number)
    kube = {"User-Agent": "kubectl/v1.30", "Authorization": f"Bearer {token}"}
    dlc = {"x-acs-version": "2020-12-03", "x-acs-bearer-token": token}
    for path, headers in (
        ("/rest-server/api/v2/jobs", {"Authorization": f"Bearer {token}"}),
        ("/api/v1/pods", kube),
        ("/api/v1/jobs", dlc),
    ):
        assert server.api("GET", path, headers=headers).status in (401, 403), path


def test_programs_of_an_account_use_their_board(
    shared: Callable[..., Shared], accounts: list[Account]
) -> None:
    """On a server of root's: over the socket that they reach, and nothing else of it."""
    server = shared()
    ann, ben, _ = accounts
    victim = server.submit_as(ben, "exec sleep 600")
    server.wait(victim, "running")
    said = server.output(
        ann,
        f"""{ASK}
ask -X PUT "{HERE}/jobs/$MUSTER_JOB_NUMBER/board?key=a" -d one
ask "{HERE}/jobs/{victim}"
ask "{HERE}/tokens"
ask -X POST "{HERE}/tokens" -d '{{}}'""",
    )
    assert what_came(said) == [200, 403, 403, 403], said
