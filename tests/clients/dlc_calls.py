"""Calls of the vendor's own DLC package, one a line of standard input, one answer a line:
["create", {...}], ["list"], ["get", id], ["stop", id]. One process, because loading the package
takes longer than all of its calls."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from alibabacloud_pai_dlc20201203 import models as m
from alibabacloud_pai_dlc20201203.client import Client
from alibabacloud_tea_openapi.models import Config


def answer(client: Any, name: str, *args: Any) -> Any:
    if name == "create":
        return client.create_job(m.CreateJobRequest().from_map(args[0])).body.to_map()
    if name == "list":
        return client.list_jobs(m.ListJobsRequest(page_size=100)).body.to_map()
    if name == "get":
        return client.get_job(args[0], m.GetJobRequest()).body.to_map()
    return client.stop_job(args[0]).body.to_map()


def main() -> None:
    client = Client(
        Config(
            access_key_id=os.environ["ALIBABA_CLOUD_ACCESS_KEY_ID"],
            access_key_secret=os.environ["ALIBABA_CLOUD_ACCESS_KEY_SECRET"],
            endpoint=os.environ["ENDPOINT"],
            protocol="http",
        )
    )
    for line in sys.stdin:
        try:
            said = {"value": answer(client, *json.loads(line))}
        except Exception as error:  # every kind of its errors is of interest
            said = {"error": str(getattr(error, "code", None) or error)}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
