"""One session of the vendor's own packages against a server: every operation once well and once
badly, or many requests of odd characters. Run by the Python of an environment that has them; says
what came of it as JSON lines.

  dlc_session.py calls          [name, "ok" or the Code of the error]
  dlc_session.py odd COUNT      requests accepted, and the same with one bit flipped refused
"""

from __future__ import annotations

import http.client
import inspect
import json
import os
import random
import re
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from alibabacloud_aiworkspace20210204 import models as w
from alibabacloud_aiworkspace20210204.client import Client as SpaceClient
from alibabacloud_pai_dlc20201203 import models as m
from alibabacloud_pai_dlc20201203.client import Client as JobClient
from alibabacloud_tea_openapi.models import Config

ENDPOINT = os.environ["ENDPOINT"]
PARTS = ("query", "body")


def config(**more: Any) -> Config:
    settings = {
        "access_key_id": os.environ["ALIBABA_CLOUD_ACCESS_KEY_ID"],
        "access_key_secret": os.environ["ALIBABA_CLOUD_ACCESS_KEY_SECRET"],
        "security_token": os.environ.get("ALIBABA_CLOUD_SECURITY_TOKEN") or None,
        "endpoint": ENDPOINT,
        "protocol": "http",
    }
    return Config(**{**settings, **more})


def code_of(error: Exception) -> str:
    return str(getattr(error, "code", None) or type(error).__name__)


def say(name: str, result: str, **more: Any) -> None:
    print(json.dumps({"name": name, "result": result, **more}), flush=True)


def call(name: str, client: Any, method: str, *args: Any) -> Any:
    """The answer's body as the client's model has it; None for an error."""
    if not hasattr(client, method):
        return None
    function = getattr(client, method)
    if len(inspect.signature(function).parameters) > len(args):  # newer ones want it always
        models = w if isinstance(client, SpaceClient) else m
        kind = "".join(part.capitalize() for part in method.split("_")) + "Request"
        args = (*args, getattr(models, kind)())
    try:
        answer = function(*args)
    except Exception as error:  # every kind of its errors is of interest
        message = str(getattr(error, "message", "") or error)
        say(name, code_of(error), message=message[:300])
        return None
    body = answer.body
    said = body.to_map() if hasattr(body, "to_map") else {}
    say(name, "ok", body=said)
    return body


JOB: dict[str, Any] = {
    "WorkspaceId": "default",
    "DisplayName": "session",
    "JobType": "PyTorchJob",
    "JobSpecs": [
        {
            "Type": "Worker",
            "Image": "registry/any:1",
            "PodCount": 2,
            "ResourceConfig": {"CPU": "1", "Memory": "1Gi"},
        }
    ],
    "UserCommand": "echo hello from $RANK",
    "ResourceId": "default",
    "Settings": {"Tags": {"team": "中 a&b"}},
}


def finished(jobs: Any, job: str) -> Any:
    deadline = time.monotonic() + 120
    while True:
        body = jobs.get_job(job, m.GetJobRequest()).body
        if body.status in ("Succeeded", "Failed", "Stopped"):
            return body
        if time.monotonic() > deadline:
            raise TimeoutError(f"job {job} is {body.status}")
        time.sleep(0.02)


def jobs_well_and_badly(jobs: Any) -> None:
    made = call("CreateJob", jobs, "create_job", m.CreateJobRequest().from_map(JOB))
    call(
        "CreateJob!", jobs, "create_job", m.CreateJobRequest().from_map({**JOB, "JobType": "NoJob"})
    )
    job = made.job_id
    body = finished(jobs, job)
    say("ends", body.status)
    pod = body.pods[0].pod_id
    requests = [
        ("GetJob", "get_job", (job, m.GetJobRequest(need_detail=True))),
        ("GetJob!", "get_job", ("dlc0000000000000", m.GetJobRequest())),
        (
            "ListJobs",
            "list_jobs",
            (
                m.ListJobsRequest(
                    workspace_id="default",
                    display_name="SESS",
                    job_type="PyTorchJob",
                    status="Succeeded",
                    tags={"team": "中 a&b"},
                    show_own=True,
                    sort_by="DisplayName",
                    order="asc",
                    page_number=1,
                    page_size=10,
                ),
            ),
        ),
        ("ListJobs!", "list_jobs", (m.ListJobsRequest(status="Nonsense"),)),
        ("GetJobEvents", "get_job_events", (job, m.GetJobEventsRequest(max_events_num=3))),
        ("GetJobEvents!", "get_job_events", (job, m.GetJobEventsRequest(start_time="noon"))),
        ("GetPodEvents", "get_pod_events", (job, pod, m.GetPodEventsRequest())),
        ("GetPodEvents!", "get_pod_events", (job, "nopod", m.GetPodEventsRequest())),
        ("GetPodLogs", "get_pod_logs", (job, pod, m.GetPodLogsRequest(max_lines=5))),
        ("GetPodLogs!", "get_pod_logs", (job, pod, m.GetPodLogsRequest(pod_uid="none"))),
        (
            "GetJobMetrics",
            "get_job_metrics",
            (job, m.GetJobMetricsRequest(metric_type="CpuCoreUsage")),
        ),
        ("GetJobMetrics!", "get_job_metrics", (job, m.GetJobMetricsRequest(metric_type="Mood"))),
        ("GetWebTerminal!", "get_web_terminal", (job, pod, m.GetWebTerminalRequest())),
        (
            "GetJobSanityCheckResult",
            "get_job_sanity_check_result",
            (job, m.GetJobSanityCheckResultRequest(sanity_check_number=1)),
        ),
        (
            "GetJobSanityCheckResult!",
            "get_job_sanity_check_result",
            (job, m.GetJobSanityCheckResultRequest()),
        ),
        (
            "ListJobSanityCheckResults",
            "list_job_sanity_check_results",
            (job, m.ListJobSanityCheckResultsRequest()),
        ),
        (
            "ListJobSanityCheckResults!",
            "list_job_sanity_check_results",
            ("dlc0", m.ListJobSanityCheckResultsRequest()),
        ),
        (
            "ListEcsSpecs",
            "list_ecs_specs",
            (m.ListEcsSpecsRequest(page_size=100, sort_by="Memory", order="asc"),),
        ),
        ("ListEcsSpecs!", "list_ecs_specs", (m.ListEcsSpecsRequest(sort_by="Beauty"),)),
        (
            "GetToken",
            "get_token",
            (m.GetTokenRequest(target_type="job", target_id=job, expire_time=60),),
        ),
        ("GetToken!", "get_token", (m.GetTokenRequest(target_type="moon", target_id=job),)),
        ("UpdateJob", "update_job", (job, m.UpdateJobRequest(priority=1))),
        ("UpdateJob!", "update_job", (job, m.UpdateJobRequest(priority=7))),
        ("StopJob!", "stop_job", (job,)),
    ]
    for name, method, args in requests:
        call(name, jobs, method, *args)
    long = jobs.create_job(m.CreateJobRequest().from_map({**JOB, "UserCommand": "sleep 100"})).body
    call("DeleteJob!", jobs, "delete_job", long.job_id)
    call("StopJob", jobs, "stop_job", long.job_id)
    say("stopped", finished(jobs, long.job_id).status)
    call("DeleteJob", jobs, "delete_job", job)
    call("deleted", jobs, "get_job", job, m.GetJobRequest())


def boards(jobs: Any) -> None:
    asked = m.CreateTensorboardRequest(
        summary_path="/tmp", display_name="tb", workspace_id="default"
    )
    call(
        "CreateTensorboard!",
        jobs,
        "create_tensorboard",
        m.CreateTensorboardRequest(display_name="x"),
    )
    board = call("CreateTensorboard", jobs, "create_tensorboard", asked).tensorboard_id
    call("GetTensorboard", jobs, "get_tensorboard", board, m.GetTensorboardRequest())
    call("GetTensorboard!", jobs, "get_tensorboard", "tbcnone", m.GetTensorboardRequest())
    call(
        "ListTensorboards",
        jobs,
        "list_tensorboards",
        m.ListTensorboardsRequest(tensorboard_id=board),
    )
    call("ListTensorboards!", jobs, "list_tensorboards", m.ListTensorboardsRequest(page_number=0))
    minutes = m.UpdateTensorboardRequest(max_running_time_minutes=7)
    call("UpdateTensorboard", jobs, "update_tensorboard", board, minutes)
    call(
        "UpdateTensorboard!",
        jobs,
        "update_tensorboard",
        board,
        m.UpdateTensorboardRequest(max_running_time_minutes=0),
    )
    shared = m.GetTensorboardSharedUrlRequest(expire_time_seconds="60")
    call("GetTensorboardSharedUrl?", jobs, "get_tensorboard_shared_url", board, shared)
    call("GetTensorboardSharedUrl!", jobs, "get_tensorboard_shared_url", "none", shared)
    call("StopTensorboard?", jobs, "stop_tensorboard", board, m.StopTensorboardRequest())
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        status = jobs.get_tensorboard(board, m.GetTensorboardRequest()).body.status
        if status in ("Failed", "Stopped", "Succeeded"):
            break
        time.sleep(0.05)
    call("StopTensorboard!", jobs, "stop_tensorboard", board, m.StopTensorboardRequest())
    call("StartTensorboard", jobs, "start_tensorboard", board, m.StartTensorboardRequest())
    call("StartTensorboard!", jobs, "start_tensorboard", "none", m.StartTensorboardRequest())
    call("DeleteTensorboard?", jobs, "delete_tensorboard", board, m.DeleteTensorboardRequest())
    call("DeleteTensorboard!", jobs, "delete_tensorboard", "none", m.DeleteTensorboardRequest())


def templates_and_tags(jobs: Any) -> None:
    """What the newest client has and the pinned one has not."""
    if not hasattr(jobs, "create_job_template"):
        return
    content = json.dumps({**JOB, "DisplayName": "from-template"})
    made = call(
        "CreateJobTemplate",
        jobs,
        "create_job_template",
        m.CreateJobTemplateRequest(
            template_name="t",
            workspace_id="default",
            content=content,
            constraints={"$.JobType": "locked", "$.DisplayName": "required"},
        ),
    )
    call(
        "CreateJobTemplate!",
        jobs,
        "create_job_template",
        m.CreateJobTemplateRequest(template_name="t"),
    )
    if not made:
        return
    tpl = made.template_id
    call(
        "ListJobTemplates",
        jobs,
        "list_job_templates",
        m.ListJobTemplatesRequest(workspace_id="default"),
    )
    call("ListJobTemplates!", jobs, "list_job_templates", m.ListJobTemplatesRequest())
    call("GetJobTemplate", jobs, "get_job_template", tpl, m.GetJobTemplateRequest())
    call("GetJobTemplate!", jobs, "get_job_template", tpl, m.GetJobTemplateRequest(version="9"))
    call(
        "UpdateJobTemplate",
        jobs,
        "update_job_template",
        tpl,
        m.UpdateJobTemplateRequest(content=content),
    )
    call("UpdateJobTemplate!", jobs, "update_job_template", "none", m.UpdateJobTemplateRequest())
    version = m.SetJobTemplateDefaultVersionRequest
    call(
        "SetJobTemplateDefaultVersion",
        jobs,
        "set_job_template_default_version",
        tpl,
        version(version=2),
    )
    call(
        "SetJobTemplateDefaultVersion!",
        jobs,
        "set_job_template_default_version",
        tpl,
        version(version=9),
    )
    ask = {"TemplateId": tpl, "TemplateVersion": 1, "DisplayName": "mine"}
    job = call("templated", jobs, "create_job", m.CreateJobRequest().from_map(ask))
    call(
        "templated!", jobs, "create_job", m.CreateJobRequest().from_map({**ask, "JobType": "TFJob"})
    )
    call("DeleteJobTemplate", jobs, "delete_job_template", tpl)
    call("DeleteJobTemplate!", jobs, "delete_job_template", tpl)
    if not job:
        return
    tag = m.TagResourcesRequest(
        resource_id=[job.job_id],
        resource_type="Job",
        tag=[m.TagResourcesRequestTag(key="k", value="v")],
    )
    call("TagResources", jobs, "tag_resources", tag)
    call(
        "TagResources!",
        jobs,
        "tag_resources",
        m.TagResourcesRequest(resource_id=["dlc0"], resource_type="Job"),
    )
    call("tagged", jobs, "list_jobs", m.ListJobsRequest(tags={"k": "v"}))
    gone = m.UntagResourcesRequest(resource_id=[job.job_id], resource_type="Job", tag_key=["k"])
    call("UntagResources", jobs, "untag_resources", gone)
    call("UntagResources!", jobs, "untag_resources", m.UntagResourcesRequest(resource_type="Job"))
    call("untagged", jobs, "list_jobs", m.ListJobsRequest(tags={"k": "v"}))
    call(
        "GetMetrics",
        jobs,
        "get_metrics",
        m.GetMetricsRequest(job_id=job.job_id, metric_name="JOB_MEMORY_FREE"),
    )
    call("GetMetrics!", jobs, "get_metrics", m.GetMetricsRequest(job_id="dlc0"))


def data(spaces: Any) -> None:
    asked = w.CreateDatasetRequest(
        name="数据-1",
        property="DIRECTORY",
        data_source_type="NAS",
        uri="nas://x.cn-hangzhou/",
        options=json.dumps({"mountPath": "/mnt/data/nas"}),
    )
    made = call("CreateDataset", spaces, "create_dataset", asked).dataset_id
    call("CreateDataset!", spaces, "create_dataset", w.CreateDatasetRequest(name="_x"))
    call(
        "ListDatasets",
        spaces,
        "list_datasets",
        w.ListDatasetsRequest(workspace_id="default", name="数据"),
    )
    call("ListDatasets!", spaces, "list_datasets", w.ListDatasetsRequest(page_number=0))
    call("GetDataset", spaces, "get_dataset", made)
    call("GetDataset!", spaces, "get_dataset", "d-none")
    call("UpdateDataset", spaces, "update_dataset", made, w.UpdateDatasetRequest(description="x"))
    call("UpdateDataset!", spaces, "update_dataset", made, w.UpdateDatasetRequest(options="{"))
    call("PublishDataset", spaces, "publish_dataset", made)
    call("PublishDataset!", spaces, "publish_dataset", "d-none")
    label = w.CreateDatasetLabelsRequest().from_map({"Labels": [{"Key": "k", "Value": "v"}]})
    call("CreateDatasetLabels", spaces, "create_dataset_labels", made, label)
    call(
        "CreateDatasetLabels!",
        spaces,
        "create_dataset_labels",
        made,
        w.CreateDatasetLabelsRequest(),
    )
    gone = w.DeleteDatasetLabelsRequest(label_keys="k")
    call("DeleteDatasetLabels", spaces, "delete_dataset_labels", made, gone)
    call(
        "DeleteDatasetLabels!",
        spaces,
        "delete_dataset_labels",
        made,
        w.DeleteDatasetLabelsRequest(),
    )
    if hasattr(spaces, "create_dataset_version"):
        second = w.CreateDatasetVersionRequest(
            uri="nas://x.cn-hangzhou/v2", property="DIRECTORY", data_source_type="NAS"
        )
        call("CreateDatasetVersion", spaces, "create_dataset_version", made, second)
        call(
            "CreateDatasetVersion!",
            spaces,
            "create_dataset_version",
            made,
            w.CreateDatasetVersionRequest(),
        )
        call(
            "ListDatasetVersions",
            spaces,
            "list_dataset_versions",
            made,
            w.ListDatasetVersionsRequest(),
        )
        call(
            "ListDatasetVersions!",
            spaces,
            "list_dataset_versions",
            "d-none",
            w.ListDatasetVersionsRequest(),
        )
        call("GetDatasetVersion", spaces, "get_dataset_version", made, "v2")
        call("GetDatasetVersion!", spaces, "get_dataset_version", made, "v9")
        new = w.UpdateDatasetVersionRequest(description="second")
        call("UpdateDatasetVersion", spaces, "update_dataset_version", made, "v2", new)
        call("UpdateDatasetVersion!", spaces, "update_dataset_version", made, "v9", new)
        call("DeleteDatasetVersion!", spaces, "delete_dataset_version", made, "v1")
        call("DeleteDatasetVersion", spaces, "delete_dataset_version", made, "v2")
    call("DeleteDataset", spaces, "delete_dataset", made)
    call("DeleteDataset!", spaces, "delete_dataset", made)


def code_and_images(spaces: Any) -> None:
    asked = w.CreateCodeSourceRequest(workspace_id="default", display_name="c", code_repo="/tmp")
    made = call("CreateCodeSource", spaces, "create_code_source", asked).code_source_id
    call(
        "CreateCodeSource!",
        spaces,
        "create_code_source",
        w.CreateCodeSourceRequest(workspace_id="default"),
    )
    call(
        "ListCodeSources",
        spaces,
        "list_code_sources",
        w.ListCodeSourcesRequest(workspace_id="default"),
    )
    call("ListCodeSources!", spaces, "list_code_sources", w.ListCodeSourcesRequest(order="up"))
    call("GetCodeSource", spaces, "get_code_source", made)
    call("GetCodeSource!", spaces, "get_code_source", "code-none")
    call("PublishCodeSource", spaces, "publish_code_source", made)
    call("PublishCodeSource!", spaces, "publish_code_source", "code-none")
    call("DeleteCodeSource", spaces, "delete_code_source", made)
    call("DeleteCodeSource!", spaces, "delete_code_source", made)
    labels = ["system.supported.dlc=true", "system.framework=Tensorflow 1.15",
              "system.pythonVersion=3.6", "system.chipType=CPU"]  # fmt: skip
    call("ListImages", spaces, "list_images", w.ListImagesRequest(labels=",".join(labels)))
    call("ListImages!", spaces, "list_images", w.ListImagesRequest(order="up"))
    image = w.AddImageRequest().from_map(
        {"Name": "mine", "ImageUri": "r/x:1", "Labels": [{"Key": "a", "Value": "b"}]}
    )
    made = call("AddImage", spaces, "add_image", image).image_id
    call("AddImage!", spaces, "add_image", w.AddImageRequest(name="Bad Name", image_uri="r/x:1"))
    call("GetImage", spaces, "get_image", made, w.GetImageRequest(verbose=True))
    call("GetImage!", spaces, "get_image", "image-none", w.GetImageRequest())
    label = w.AddImageLabelsRequest().from_map({"Labels": [{"Key": "q", "Value": "1"}]})
    call("AddImageLabels", spaces, "add_image_labels", made, label)
    call("AddImageLabels!", spaces, "add_image_labels", made, w.AddImageLabelsRequest())
    call("RemoveImageLabels", spaces, "remove_image_labels", made, "a")
    call("RemoveImageLabels!", spaces, "remove_image_labels", "image-none", "a")
    call("ListImageLabels", spaces, "list_image_labels", w.ListImageLabelsRequest(image_id=made))
    call("PublishImage", spaces, "publish_image", made)
    call("PublishImage!", spaces, "publish_image", "image-none")
    call("RemoveImage", spaces, "remove_image", made)
    call("RemoveImage!", spaces, "remove_image", made)


def workspaces(spaces: Any) -> None:
    everything = w.ListWorkspacesRequest(
        page_number=1, page_size=10, workspace_name="", module_list="PAI"
    )
    call("ListWorkspaces", spaces, "list_workspaces", everything)
    call("ListWorkspaces!", spaces, "list_workspaces", w.ListWorkspacesRequest(page_number=0))
    asked = w.CreateWorkspaceRequest(workspace_name="team_a", description="d", env_types=["prod"])
    call("CreateWorkspace", spaces, "create_workspace", asked)
    call("CreateWorkspace!", spaces, "create_workspace", asked)
    call("GetWorkspace", spaces, "get_workspace", "team_a", w.GetWorkspaceRequest())
    call("GetWorkspace!", spaces, "get_workspace", "nowhere", w.GetWorkspaceRequest())
    new = w.UpdateWorkspaceRequest(description="e")
    call("UpdateWorkspace", spaces, "update_workspace", "team_a", new)
    call("UpdateWorkspace!", spaces, "update_workspace", "nowhere", new)
    members = w.CreateMemberRequest().from_map(
        {"Members": [{"UserId": "ada", "Roles": ["PAI.AlgoDeveloper"]}]}
    )
    nobody = w.CreateMemberRequest().from_map({"Members": [{"UserId": "nobody-here", "Roles": []}]})
    call("CreateMember", spaces, "create_member", "team_a", members)
    call("CreateMember!", spaces, "create_member", "team_a", nobody)
    call("ListMembers", spaces, "list_members", "team_a", w.ListMembersRequest())
    call("ListMembers!", spaces, "list_members", "nowhere", w.ListMembersRequest())
    call("GetMember", spaces, "get_member", "team_a", w.GetMemberRequest(user_id="ada"))
    call("GetMember!", spaces, "get_member", "team_a", w.GetMemberRequest(user_id="nobody-here"))
    call("AddMemberRole", spaces, "add_member_role", "team_a", "team_a-ada", "PAI.AlgoDeveloper")
    call("AddMemberRole!", spaces, "add_member_role", "team_a", "team_a-ada", "PAI.WorkspaceAdmin")
    call(
        "RemoveMemberRole", spaces, "remove_member_role", "team_a", "team_a-ada", "PAI.LabelManager"
    )
    call(
        "RemoveMemberRole!",
        spaces,
        "remove_member_role",
        "team_a",
        "team_a-ada",
        "PAI.AlgoDeveloper",
    )
    call("ListPermissions", spaces, "list_permissions", "team_a")
    call(
        "GetPermission",
        spaces,
        "get_permission",
        "team_a",
        "PaiDLC:GetJob",
        w.GetPermissionRequest(),
    )
    call(
        "DeleteMembers",
        spaces,
        "delete_members",
        "team_a",
        w.DeleteMembersRequest(member_ids="team_a-ada"),
    )
    call(
        "DeleteMembers!", spaces, "delete_members", "team_a", w.DeleteMembersRequest(member_ids="x")
    )
    mine = w.UpdateDefaultWorkspaceRequest(workspace_id="team_a")
    call("UpdateDefaultWorkspace", spaces, "update_default_workspace", mine)
    nowhere = w.UpdateDefaultWorkspaceRequest(workspace_id="nowhere")
    call("UpdateDefaultWorkspace!", spaces, "update_default_workspace", nowhere)
    call("GetDefaultWorkspace", spaces, "get_default_workspace", w.GetDefaultWorkspaceRequest())
    call("DeleteWorkspace", spaces, "delete_workspace", "team_a")
    call("DeleteWorkspace!", spaces, "delete_workspace", "team_a")
    call("ListQuotas", spaces, "list_quotas", w.ListQuotasRequest())
    call("ListResources", spaces, "list_resources", w.ListResourcesRequest())
    call("ListProducts", spaces, "list_products", w.ListProductsRequest())
    call("ListModels!", spaces, "list_models", w.ListModelsRequest())
    call("GetModel!", spaces, "get_model", "m-1")


def listed(client: Any, name: str, key: str, **asked: Any) -> Any:
    """The names in a list, in its order; an error's code; "" for what the package cannot ask."""
    models = w if isinstance(client, SpaceClient) else m
    method = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    kind = getattr(models, f"{name}Request")
    if not set(asked) <= set(inspect.signature(kind.__init__).parameters):
        return ""
    try:
        body = getattr(client, method)(kind(**asked)).body.to_map()
    except Exception as error:  # every kind of its errors is of interest
        return code_of(error)
    return " ".join(one[key] for one in body[name.removeprefix("List")])


def lists(jobs: Any, spaces: Any) -> None:
    """Made in the order m z a, in a workspace of their own."""
    own = f"lists_{os.getpid()}"
    spaces.create_workspace(w.CreateWorkspaceRequest(workspace_name=own, env_types=["prod"]))
    here = {"workspace_id": own}
    boards = []
    for name in ("m", "z", "a"):
        code = {"WorkspaceId": own, "DisplayName": name, "CodeRepo": "/tmp"}
        spaces.create_code_source(w.CreateCodeSourceRequest().from_map(code))
        options = json.dumps({"mountPath": f'/mnt/"{name}"'})
        data = {"Name": name, "Property": "FILE", "DataSourceType": "NAS", "Uri": "nas://x/"}
        last = spaces.create_dataset(
            w.CreateDatasetRequest().from_map({**data, "WorkspaceId": own, "Options": options})
        ).body.dataset_id
        image = {"Name": name, "ImageUri": f"r/{name}:1", "WorkspaceId": own}
        spaces.add_image(w.AddImageRequest().from_map(image))
        board = m.CreateTensorboardRequest(summary_path="/tmp", display_name=name, **here)
        boards.append(jobs.create_tensorboard(board).body.tensorboard_id)
    call("quoted", spaces, "get_dataset", last)
    names = {
        "ListCodeSources": "DisplayName",
        "ListDatasets": "Name",
        "ListImages": "Name",
        "ListTensorboards": "DisplayName",
        "ListWorkspaces": "WorkspaceName",
    }
    for name, key in names.items():
        client = jobs if name == "ListTensorboards" else spaces
        where = {} if name == "ListWorkspaces" else here
        orders = ("", "asc", "desc")
        asked = {
            **{order: {"order": order} if order else {} for order in orders},
            **{f"by {order}": {"sort_by": key, "order": order} for order in orders[1:]},
            "bad": {"sort_by": "Beauty"},
            "elsewhere": {"workspace_id": "team_b"},
        }
        said = {how: listed(client, name, key, **{**where, **ask}) for how, ask in asked.items()}
        say(f"lists {name}", "ok", body=said)
    for board in boards:
        call("StopTensorboard?", jobs, "stop_tensorboard", board, m.StopTensorboardRequest())
    call("lists gone", spaces, "delete_workspace", own)


def fields(*clients: Any) -> None:
    """What each operation of the package may send."""
    sent: dict[str, dict[str, list[str]]] = {}
    for client in clients:
        for function in Path(inspect.getfile(client)).read_text().split("\n    def "):
            action = re.search(r"action\s*=\s*'(\w+)'", function)
            if action:
                parts = {part: re.findall(rf"{part}\['(\w+)'\]", function) for part in PARTS}
                sent.setdefault(action[1], parts)
    say("fields", "ok", body=sent)


def calls() -> None:
    jobs, spaces = JobClient(config()), SpaceClient(config())
    fields(JobClient, SpaceClient)
    lists(jobs, spaces)
    workspaces(spaces)
    data(spaces)
    code_and_images(spaces)
    jobs_well_and_badly(jobs)
    boards(jobs)
    templates_and_tags(jobs)
    prefixed = JobClient(config(endpoint=f"http://{ENDPOINT}/behind/a/proxy", protocol=None))
    call("prefix", prefixed, "list_jobs", m.ListJobsRequest())
    schemed = SpaceClient(config(endpoint=f"http://{ENDPOINT}", protocol=None))
    call("scheme", schemed, "list_workspaces", w.ListWorkspacesRequest())
    wrong = JobClient(config(access_key_secret="wrong"))
    call("secret!", wrong, "list_jobs", m.ListJobsRequest())
    unknown = JobClient(config(access_key_id="LTAInobody"))
    call("key!", unknown, "list_jobs", m.ListJobsRequest())


# ---- odd characters ----

ALPHABET = [chr(c) for c in range(32, 127)] + list("中é€😀\t\n")


def odd_text(dice: random.Random) -> str:
    return "".join(dice.choice(ALPHABET) for _ in range(dice.randrange(1, 30)))


def seen_requests() -> list[dict[str, Any]]:
    """What the client's HTTP layer sends, from now on."""
    from darabonba.core import DaraCore

    kept: list[dict[str, Any]] = []

    def watched(original: Any) -> Any:
        def do_action(request: Any, *args: Any, **more: Any) -> Any:
            kept.append(
                {
                    "method": request.method,
                    "path": request.pathname,
                    "query": dict(request.query or {}),
                    "headers": dict(request.headers),
                }
            )
            return original(request, *args, **more)

        return do_action

    DaraCore.do_action = staticmethod(watched(DaraCore.do_action))
    return kept


def flipped(request: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """One bit of what is signed, of a part whose every bit counts."""
    bad = {**request, "headers": dict(request["headers"]), "query": dict(request["query"])}
    key = dice.choice(["nonce", "query"])
    if key == "nonce":
        name, where = "x-acs-signature-nonce", bad["headers"]
    else:
        name = dice.choice([k for k, v in bad["query"].items() if v])
        where = bad["query"]
    text = where[name]
    at = dice.randrange(len(text))
    where[name] = text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :]
    return bad


def raw(connection: http.client.HTTPConnection, request: dict[str, Any]) -> tuple[int, Any]:
    target = request["path"] + ("?" + urlencode(request["query"]) if request["query"] else "")
    connection.request(request["method"], target, headers=request["headers"])
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def odd(count: int) -> None:
    dice = random.Random(7)
    jobs, spaces = JobClient(config()), SpaceClient(config())
    kept = seen_requests()
    connection = http.client.HTTPConnection(ENDPOINT)
    refused = replayed = 0
    for i in range(count):
        if i % 2:
            jobs.list_jobs(m.ListJobsRequest(display_name=odd_text(dice), caller=odd_text(dice)))
        else:
            spaces.list_datasets(w.ListDatasetsRequest(name=odd_text(dice), label=odd_text(dice)))
        status, body = raw(connection, flipped(kept[-1], dice))
        refused += status == 400 and body["Code"] == "SignatureDoesNotMatch"
        if i % 50 == 0:
            status, body = raw(connection, kept[-1])
            replayed += status == 400 and body["Code"] == "SignatureNonceUsed"
    say("odd", "ok", accepted=len(kept), refused=refused, replayed=replayed)


if __name__ == "__main__":
    if sys.argv[1] == "calls":
        calls()
    else:
        odd(int(sys.argv[2]))
