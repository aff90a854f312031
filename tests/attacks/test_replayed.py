"""A signed request that somebody saw on the wire, sent again: also after the server began anew."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import os
import time
from email.utils import formatdate
from urllib.parse import urlsplit

import pytest
from conftest import Starter
from harness import Json, Reply, Server, patience, request

PATH = "/api/v1/jobs"


def sign(key: Json, ahead_s: float) -> dict[str, str]:
    """The headers of a list of jobs, signed in the vendor's older way."""
    own = {
        "x-acs-signature-method": "HMAC-SHA1",
        "x-acs-signature-nonce": os.urandom(16).hex(),
        "x-acs-version": "2020-12-03",
    }
    date = formatdate(time.time() + ahead_s, usegmt=True)
    text = f"GET\napplication/json\n\n\n{date}\n"
    text += "".join(f"{name}:{own[name]}\n" for name in sorted(own)) + PATH
    mac = hmac.new(key["secret"].encode(), text.encode(), hashlib.sha1).digest()
    who = f"acs {key['id']}:{base64.b64encode(mac).decode()}"
    return {**own, "date": date, "accept": "application/json", "authorization": who}


def send(server: Server, headers: dict[str, str]) -> Reply:
    parts = urlsplit(server.info()["address"])
    assert parts.hostname
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=patience())
    try:
        return request(connection, "GET", PATH, None, headers)
    finally:
        connection.close()


@pytest.mark.parametrize("ahead_s", [0, -300, 600], ids=["now", "a slow clock", "a fast clock"])
def test_signed_requests_are_good_once(start: Starter, ahead_s: int) -> None:
    server = start()
    made = server.muster("key", "create", "--json")
    key = json.loads(made.stdout)
    seen = sign(key, ahead_s)
    assert send(server, seen).status == 200
    for _ in range(3):
        again = send(server, seen)
        assert again.status == 400 and again.json()["Code"] == "SignatureNonceUsed", again.text
        assert send(server, sign(key, ahead_s)).status == 200, "an honest client goes on"
        server.kill()
        server.start()
    for name in ("dlc-nonces.0", "dlc-nonces.1"):
        path = server.state / name
        assert not path.exists() or path.stat().st_mode & 0o077 == 0
