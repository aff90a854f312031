"""The embedded page in a real browser, driven over the DevTools protocol: what a person sees of the
list, of a job with its live output, of text that looks like markup, and without a link."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import Server, native, patience, wait_for
from harness import browser as browser_here

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
MARKUP = "<img src=x onerror=document.title=`taken`>"


class Browser:
    """A headless browser of its own with one tab. The protocol goes over two pipes (descriptors 3
    and 4 of the browser), messages end with a zero byte."""

    def __init__(self, program: str, profile: Path) -> None:
        self.profile = profile
        self.process = subprocess.Popen(
            [
                "/bin/sh",
                "-c",
                'exec "$0" "$@" 3<&0 4>&1 1>&2',
                program,
                *FLAGS,
                f"--user-data-dir={profile}",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.number = 0
        self.rest = b""
        self.session: str | None = None
        self.complaints: list[str] = []
        self.watchdog = threading.Timer(patience(90), self.process.kill)
        self.watchdog.start()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def message(self) -> Any:
        assert self.process.stdout
        while b"\0" not in self.rest:
            more = self.process.stdout.read1(65536)  # type: ignore[attr-defined]
            if not more:
                raise AssertionError("the browser is gone")
            self.rest += more
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def call(self, method: str, **params: Any) -> Any:
        assert self.process.stdin
        self.number += 1
        ask = {"id": self.number, "method": method, "params": params}
        if self.session:
            ask["sessionId"] = self.session
        self.process.stdin.write(json.dumps(ask).encode() + b"\0")
        self.process.stdin.flush()
        while (answer := self.message()).get("id") != self.number:
            self.news(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def news(self, message: Any) -> None:
        """Errors of the page's script and everything its Content-Security-Policy stopped."""
        if message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(message["params"]["exceptionDetails"])[:500])
        elif message.get("method") == "Log.entryAdded":
            entry = message["params"]["entry"]
            if entry["source"] in ("security", "javascript"):
                self.complaints.append(entry["text"])

    def visit(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def value(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    def text(self, selector: str = "body") -> str:
        """What can be seen of an element."""
        element = f"document.querySelector({json.dumps(selector)})"
        found = self.value(f"{element}?.checkVisibility() ? {element}.innerText : ''")
        return str(found or "")

    def sees(self, text: str, selector: str = "body") -> str:
        """The element's text once it has `text` in it."""
        now = ""

        def there() -> bool:
            nonlocal now
            now = self.text(selector)
            return text in now

        try:
            wait_for(there, 20, every=0.05)
        except TimeoutError as late:
            raise TimeoutError(f"{text!r} is not in {selector}: {now[-2000:]!r}") from late
        return now

    def press(self, key: str, code: int) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)

    def close(self) -> None:
        with contextlib.suppress(AssertionError, OSError):
            self.session = None
            self.call("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience(10))
        self.watchdog.cancel()
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()


@pytest.fixture
def browser() -> Iterator[Browser]:
    program = browser_here()
    if not program:
        pytest.skip("no chromium on this machine: tools/setup lint installs it")
    with tempfile.TemporaryDirectory(prefix="mu-page-", ignore_cleanup_errors=True) as profile:
        one = Browser(program, Path(profile))
        try:
            yield one
        finally:
            one.close()


def link(server: Server) -> str:
    url: str = server.api("POST", "/v1/login-link").good().json()["url"]
    return url


def test_jobs_are_listed_and_opened_with_the_keyboard(server: Server, browser: Browser) -> None:
    server.run(native("page-good"))
    server.run(native("page-bad", "echo lost >&2; exit 3"))
    number = server.run(native("训练任务", "echo 你好"))["number"]
    browser.visit(link(server))
    seen = browser.sees("page-good", "#jobs")
    assert "训练任务" in seen and "exited with 3" in seen
    assert browser.value("location.pathname + location.search + location.hash") == "/"
    browser.value(f"document.querySelector('#jobs a[href=\"#{number}\"]').focus()")
    browser.press("Enter", 13)
    browser.call("Input.dispatchKeyEvent", type="char", text="\r")
    browser.sees("训练任务: succeeded", "#title")
    browser.sees("你好", "#log")
    browser.sees("complete", "#tail")
    browser.press("Escape", 27)
    browser.sees("page-bad", "#jobs")
    wait_for(lambda: browser.value("document.title") == "muster")
    browser.value("location.hash = '#page-bad'")
    assert "(exit code 3)" in browser.sees("worker/0", "#tasks")
    assert "lost" in browser.sees("lost", "#log")
    assert not browser.complaints


def test_output_is_live_and_never_markup(server: Server, browser: Browser, tmp_path: Path) -> None:
    go = tmp_path / "go"
    text = (
        f"echo '{MARKUP}'; printf ' 10%%\\r100%%\\n\\033[31mred\\033[0m\\n\\377\\376\\n'; "
        f"printf 'half '; "
        f"while [ ! -e {go} ]; do sleep 0.05; done; echo 'and half'; echo '{MARKUP}' >&2"
    )
    number = server.submit(native(MARKUP, text, 2))
    browser.visit(link(server))
    browser.sees(MARKUP, "#jobs")
    browser.value(f"location.hash = '#{number}/worker/1'")
    seen = browser.sees("half", "#log")
    assert MARKUP in seen and "worker/0" not in seen
    assert "100%" in seen and " 10%" not in seen and "worker/1  red\n" in seen
    assert "live" in browser.text("#tail")
    go.touch()
    assert "worker/1  half and half" in browser.sees("and half", "#log")
    browser.sees(f"{MARKUP}: succeeded", "#title")
    browser.sees("complete", "#tail")
    assert browser.value("document.querySelectorAll('img').length") == 0
    assert browser.value("document.title") != "taken"
    assert not browser.complaints


def test_many_tasks_in_a_narrow_window(server: Server, browser: Browser) -> None:
    small = {"cpu": "10m", "memory": "1Mi"}
    number = server.run(native("n" * 60, "echo here", 120, resources=small), timeout=60)["number"]
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        width=400,
        height=800,
        deviceScaleFactor=1,
        mobile=False,
    )
    browser.visit(link(server))
    browser.sees("n" * 60, "#jobs")
    assert browser.value("document.documentElement.scrollWidth") <= 400
    browser.value(f"location.hash = '#{number}'")
    browser.sees("120 succeeded", "#count")
    browser.sees("complete", "#tail")
    assert browser.text("#log").count("here") == 120
    assert browser.value("document.documentElement.scrollWidth") <= 400
    assert browser.value("document.querySelectorAll('#tasks tbody tr').length") == 120


def test_who_is_not_let_in_reads_how(server: Server, browser: Browser) -> None:
    server.run(native("page-secret"))
    address = server.info()["address"]
    browser.visit(f"{address}/")
    seen = browser.sees("muster open", "#note")
    assert "link that works once" in seen and "page-secret" not in browser.text()
    url = link(server)
    browser.visit(url)
    browser.sees("page-secret", "#jobs")
    browser.visit(f"{address}/#no-such-job")
    browser.visit(f"{address}/?again#no-such-job")
    browser.sees("no-such-job", "#note")
    browser.visit(url)  # once more, in the browser that used it
    browser.sees("page-secret", "#jobs")
    again = urllib.request.Request(url)  # another browser
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(again, timeout=60)
    assert refused.value.code == 403
    assert "used already" in refused.value.read().decode()
