"""What must come of it when somebody asks for something: written by hand, after doc/identity.md.

Seven answers an operation: of an admin; of a user, about their own; of a user of the job's
project; of a user who has nothing to do with it; and of a reader: about their own, of the job's
project, of somebody else's. OK is anything but 401, 403 and 404: they may, whatever comes of it.
Operations whose objects are not made by the test answer 404 to whoever may look for them."""

from __future__ import annotations

OK = 200
Answers = tuple[int, ...]

# "A job is read by its owner, by members of its project and by admins; for others it does not
# exist."
READS_JOB = (OK, OK, OK, 404, OK, OK, 404)
# "One that one may read and not change gives denied"; a reader is told so before anything else ...
CHANGES_JOB = (OK, OK, 403, 404, 403, 403, 403)
# ... or after the job was looked for: of one that they may not read they learn nothing either way.
CHANGES_JOB_SEEN = (OK, OK, 403, 404, 403, 403, 404)
EVERYBODY = (OK,) * 7  # with a token that is good
USERS = (OK, OK, OK, OK, 403, 403, 403)  # readers change nothing
ADMINS = (OK, 403, 403, 403, 403, 403, 403)
NOBODY = (403,) * 7
# What is one's own: keys and tokens. Others' do not exist for one; readers have tokens and no keys.
OWN_KEY = (OK, OK, 404, 404, 403, 403, 403)
OWN_TOKEN = (OK, OK, 404, 404, OK, 404, 404)
SEES_USER = (OK, OK, 404, 404, OK, 404, 404)
CHANGES_USER = (OK, OK, 403, 403, OK, 403, 403)  # own e-mail and password, of readers too
# There is none of what is asked for.
NONE = (404,) * 7
NONE_TO_CHANGE = (404, 404, 404, 404, 403, 403, 403)


def table(*rows: tuple[Answers, str]) -> dict[str, Answers]:
    return {name.strip(): answers for answers, names in rows for name in names.strip().split("\n")}


# No token is looked at: the same with a bad one as without.
OPEN = {
    "GET /",
    "GET /login",
    "GET /healthz",
    "GET /readyz",
    "* 1",
    "* 2",
    "GET 2 info",
    "GET 1 authn/info",
    "GET 2 authn/info",
    "POST 1 token",
    "POST 1 authn/basic/login",
    "POST 2 authn/basic/login",
}

NATIVE = table(
    (
        EVERYBODY,
        """GET /
        GET /healthz
        GET /readyz
        GET /metrics
        GET /v1/openapi.json
        GET /v1/server
        GET /v1/config
        GET /v1/certificate
        GET /v1/jobs
        GET /v1/events
        GET /v1/pods
        GET /v1/queues
        GET /v1/queues/{queue}
        GET /v1/nodes
        GET /v1/catalogue/{kind}
        GET /v1/users
        GET /v1/keys
        GET /v1/tokens
        GET /v1/secrets
        POST /v1/tokens
        POST /v1/login-link
        POST /v1/explain""",
    ),
    (
        READS_JOB,
        """GET /v1/jobs/{job}
        GET /v1/jobs/{job}/tasks
        GET /v1/jobs/{job}/origin
        GET /v1/jobs/{job}/explain
        GET /v1/jobs/{job}/events
        GET /v1/jobs/{job}/logs
        POST /v1/jobs/{job}/logs
        GET /v1/pods/{pod}""",
    ),
    (
        CHANGES_JOB,
        """DELETE /v1/jobs/{job}
        POST /v1/jobs/{job}/stop
        POST /v1/jobs/{job}/restart
        POST /v1/jobs/{job}/fail
        POST /v1/jobs/{job}/signal
        POST /v1/jobs/{job}/suspend
        POST /v1/jobs/{job}/resume
        PUT /v1/jobs/{job}/board
        GET /v1/jobs/{job}/exec
        GET /v1/jobs/{job}/attach""",
    ),
    (CHANGES_JOB_SEEN, "GET /v1/jobs/{job}/board"),
    (
        USERS,
        """POST /v1/jobs
        POST /v1/keys
        PUT /v1/archives/{hash}
        POST /v1/archives/{hash}""",
    ),
    (NONE, "GET /v1/archives/{hash}"),
    (
        ADMINS,
        """POST /v1/server/stop
        POST /v1/backup
        POST /v1/nodes/{node}/drain
        POST /v1/nodes/{node}/undrain
        GET /v1/machines
        POST /v1/machines
        DELETE /v1/machines/{machine}
        POST /v1/machines/{machine}/fence
        GET /v1/pilots
        POST /v1/pilots
        GET /v1/pilots/{pilot}
        POST /v1/pilots/{pilot}/stop
        POST /v1/users
        DELETE /v1/users/{user}
        POST /v1/catalogue
        DELETE /v1/catalogue/{kind}/{name}
        GET /v1/audit""",
    ),
    (SEES_USER, "GET /v1/users/{user}"),
    (CHANGES_USER, "PATCH /v1/users/{user}"),
    (
        OWN_KEY,
        """DELETE /v1/keys/{key}
        POST /v1/keys/{key}/disable
        POST /v1/keys/{key}/enable""",
    ),
    (USERS, "PUT /v1/secrets/{secret}\nPUT /v1/secrets/{secret}/{member}"),
    (NONE_TO_CHANGE, "DELETE /v1/secrets/{secret}\nDELETE /v1/secrets/{secret}/{member}"),
    (OWN_TOKEN, "DELETE /v1/tokens/{token}"),
    (NOBODY, "GET /login"),  # needs a link
    ((401,) * 7, "GET /v1/agents"),  # needs an agent's token
)

# What a job's programs may, of their own job alone; of all else nothing, whoever its owner is.
OF_JOB = {
    "GET /v1/jobs/{job}",
    "GET /v1/jobs/{job}/tasks",
    "GET /v1/jobs/{job}/events",
    "GET /v1/jobs/{job}/logs",
    "POST /v1/jobs/{job}/logs",
    "GET /v1/jobs/{job}/board",
    "PUT /v1/jobs/{job}/board",
    "POST /v1/jobs/{job}/restart",
    "POST /v1/jobs/{job}/fail",
    "POST /v1/jobs/{job}/stop",
    "GET /v1/jobs/{job}/exec",  # mpirun starts ranks by it
}

# And those of a job with `server: submit`, of jobs of its owner.
OF_SUBMITTING_JOB = {
    "POST /v1/jobs",
    "GET /v1/jobs",
    "GET /v1/jobs/{job}",
    "GET /v1/jobs/{job}/tasks",
    "GET /v1/jobs/{job}/events",
    "GET /v1/jobs/{job}/logs",
    "POST /v1/jobs/{job}/logs",
    "POST /v1/jobs/{job}/stop",
}

# 400 is NoUserError, NoGroupError and the like there: OpenPAI had no 404 for them.
OPENPAI = table(
    (
        EVERYBODY,
        """* 1
        * 2
        GET 2 info
        GET 1 authn/info
        GET 2 authn/info
        POST 1 token
        POST 1 authn/basic/login
        POST 2 authn/basic/login
        DELETE 1 authn/basic/logout
        DELETE 2 authn/basic/logout
        GET 1 token
        GET 2 tokens
        GET 1 tokens/check
        GET 2 tokens/check
        POST 1 token/application
        POST 2 tokens/application
        GET 1 jobs
        GET 2 jobs
        GET 1 user/{}/jobs
        GET 1 user
        GET 2 user
        GET 2 users
        GET 2 group
        GET 2 groups
        GET 1 virtual-clusters
        GET 2 virtual-clusters
        GET 1 virtual-clusters/{}
        GET 2 virtual-clusters/{}
        GET 2 virtual-clusters/{}/sku-types
        GET 2 cluster/sku-types
        GET 2 storages
        GET 2 storages/{}
        GET 2 storage/config
        GET 2 storage/config/{}
        GET 2 storage/server
        GET 2 storage/server/{}
        GET 2 alerts""",
    ),
    (
        READS_JOB,
        """GET 1 jobs/{}
        GET 2 jobs/{}
        GET 1 user/{}/jobs/{}
        GET 1 jobs/{}/config
        GET 2 jobs/{}/config
        GET 1 user/{}/jobs/{}/config
        GET 1 jobs/{}/jobs/{}/config
        GET 2 jobs/{}/attempts/{}
        GET 2 jobs/{}/events
        GET 2 jobs/{}/job-attempts
        GET 2 jobs/{}/job-attempts/healthz
        GET 2 jobs/{}/job-attempts/{}
        GET 2 jobs/{}/attempts/{}/taskRoles/{}/taskIndex/{}/attempts
        GET 2 jobs/{}/attempts/{}/taskRoles/{}/taskIndex/{}/attempts/{}/logs""",
    ),
    (
        NONE,  # NoJobSshInfoError, as there
        """GET 1 jobs/{}/ssh
        GET 2 jobs/{}/ssh
        GET 1 user/{}/jobs/{}/ssh""",
    ),
    (
        CHANGES_JOB_SEEN,
        """DELETE 1 jobs/{}
        DELETE 1 user/{}/jobs/{}
        PUT 1 jobs/{}/executionType
        PUT 2 jobs/{}/executionType
        PUT 1 user/{}/jobs/{}/executionType
        PUT 2 jobs/{}/tag""",
    ),
    ((404, 404, 403, 404, 403, 403, 404), "DELETE 2 jobs/{}/tag"),  # there is no such tag
    (
        USERS,
        """POST 1 jobs
        POST 2 jobs
        PUT 1 jobs/{}""",
    ),
    (
        (403, OK, 403, 403, 403, 403, 403),  # nobody submits as somebody else
        """POST 1 user/{}/jobs
        PUT 1 user/{}/jobs/{}""",
    ),
    (
        (OK, OK, 400, 400, OK, 400, 400),
        """DELETE 1 token/{}
        DELETE 2 tokens/{}
        GET 1 user/{}
        GET 2 user/{}
        GET 2 users/{}""",
    ),
    (
        (OK, OK, OK, 400, OK, OK, 400),  # a group is a project
        """GET 2 group/{}
        GET 2 groups/{}""",
    ),
    (
        CHANGES_USER,
        """PUT 2 user/{}/email
        PUT 2 users/{}/email
        PUT 2 user/{}/extension
        PUT 2 users/{}/extension
        PUT 2 user/{}/password
        PUT 2 users/{}/password""",
    ),
    (
        EVERYBODY,  # one's own
        """PUT 2 user/me
        PUT 2 users/me""",
    ),
    (
        ADMINS,
        """POST 2 user
        POST 2 users
        PUT 2 user
        PUT 2 users
        DELETE 2 user/{}
        DELETE 2 users/{}
        PUT 2 user/{}/admin
        PUT 2 users/{}/admin
        PUT 2 user/{}/grouplist
        PUT 2 users/{}/grouplist
        PUT 2 user/{}/virtualcluster
        PUT 2 users/{}/virtualcluster
        PUT 2 user/{}/group
        PUT 2 users/{}/group
        DELETE 2 user/{}/group
        DELETE 2 users/{}/group
        GET 2 group/{}/userlist
        GET 2 groups/{}/userlist
        POST 2 group
        POST 2 groups
        PUT 2 group
        PUT 2 groups
        DELETE 2 group/{}
        DELETE 2 groups/{}
        PUT 1 virtual-clusters/{}
        PUT 2 virtual-clusters/{}
        PUT 1 virtual-clusters/{}/status
        PUT 2 virtual-clusters/{}/status
        DELETE 1 virtual-clusters/{}
        DELETE 2 virtual-clusters/{}
        GET 1 kubernetes/nodes
        GET 2 kubernetes/nodes
        GET 1 kubernetes/pods
        GET 2 kubernetes/pods""",
    ),
)

# A workspace is a project; what somebody declares is theirs alone until it is published.
READS_ENTRY = (OK, OK, 404, 404, OK, 404, 404)
OWN_ENTRY = (OK, OK, 404, 404, 403, 403, 403)
READS_SPACE = READS_JOB
DLC = table(
    (
        EVERYBODY,
        """ListJobs
        ListEcsSpecs
        ListTensorboards
        ListJobTemplates
        ListRayHistoryServers
        GetMetrics
        ListWorkspaces
        GetDefaultWorkspace
        ListQuotas
        ListResources
        ListProducts
        ListImages
        ListImageLabels
        ListDatasets
        ListCodeSources""",
    ),
    (
        READS_ENTRY,
        """GetImage
        GetDataset
        ListDatasetVersions
        GetCodeSource""",
    ),
    (
        READS_JOB,
        """GetJob
        GetJobEvents
        GetPodEvents
        GetPodLogs
        GetJobMetrics
        GetJobSanityCheckResult
        ListJobSanityCheckResults
        GetRayDashboard
        GetDashboard
        ListSignals""",
    ),
    (
        CHANGES_JOB,
        """UpdateJob
        StopJob
        DeleteJob
        CreateSignal
        GetWebTerminal""",
    ),
    (
        (OK, OK, OK, 404, 403, 403, 403),  # something of one's own, over a job that one may read
        """GetToken
        CreateTensorboard""",
    ),
    (CHANGES_JOB, "TagResources\nUntagResources"),
    (
        USERS,
        """CreateJob
        CreateJobTemplate
        CreateRayHistoryServer
        AddImage
        CreateDataset
        CreateCodeSource
        UpdateDefaultWorkspace""",
    ),
    (ADMINS, "CreateWorkspace"),
    (
        READS_SPACE,
        """GetWorkspace
        ListMembers
        ListWorkspaceUsers
        ListPermissions""",
    ),
    (
        (OK, 403, 403, 404, 403, 403, 403),
        """UpdateWorkspace
        DeleteWorkspace""",
    ),
    # Members see themselves, admins all; only admins make and remove them.
    ((OK, OK, 404, 404, OK, 404, 404), "GetMember"),
    ((OK, 403, 404, 404, 403, 403, 403), "CreateMember"),
    ((404, 403, 404, 404, 403, 403, 403), "DeleteMembers"),  # the admin removes none that is there
    # A user has one role everywhere: saying it again changes nothing, another one is refused.
    ((OK, OK, 404, 404, 403, 403, 403), "AddMemberRole\nRemoveMemberRole"),
    # What one would be allowed: to a reader nothing.
    ((OK, OK, OK, 404, 403, 403, 404), "GetPermission"),
    (
        OWN_ENTRY,
        """RemoveImage
        PublishImage
        AddImageLabels
        RemoveImageLabels
        UpdateDataset
        DeleteDataset
        PublishDataset
        CreateDatasetLabels
        CreateDatasetVersion
        DeleteDatasetLabels
        UpdateCodeSource
        DeleteCodeSource
        PublishCodeSource""",
    ),
    (
        NONE,
        """GetTensorboard
        GetTensorboardSharedUrl
        GetJobTemplate
        GetRayHistoryServer
        GetSignal
        GetDatasetVersion""",
    ),
    (
        NONE_TO_CHANGE,
        """UpdateTensorboard
        DeleteTensorboard
        StartTensorboard
        StopTensorboard
        UpdateJobTemplate
        SetJobTemplateDefaultVersion
        DeleteJobTemplate
        DeleteRayHistoryServer
        StartRayHistoryServer
        StopRayHistoryServer
        UpdateDatasetVersion
        DeleteDatasetVersion""",
    ),
)

# "Kept as they were sent, and changed by their maker and by admins; a Secret is shown to them
# only."
KEPT_OWN = (OK, OK, 403, 403, 403, 403, 403)
SECRET_OWN = (OK, OK, 404, 404, 403, 403, 403)
KUBECTL = table(
    (
        EVERYBODY,  # lists have what one may read
        "\n".join(
            f"{verb} {name}"
            for verb in ("list", "watch")
            for name in (
                "elasticjobs",
                "scaleplans",
                "podgroups",
                "pods",
                "events",
                "nodes",
                "namespaces",
                "services",
                "configmaps",
                "secrets",
                "persistentvolumeclaims",
            )
        ),
    ),
    (
        EVERYBODY,
        """get podgroups
        get configmaps
        get persistentvolumeclaims
        get nodes
        get namespaces""",
    ),
    (
        READS_JOB,
        """get elasticjobs
        get pods
        get pods/log""",
    ),
    (
        CHANGES_JOB,
        """update elasticjobs
        patch elasticjobs
        delete elasticjobs""",
    ),
    # Of those that one sees: a stranger sees none, and removes none.
    ((OK, OK, 403, OK, 403, 403, 403), "deletecollection elasticjobs"),
    (
        USERS,
        """create elasticjobs
        create scaleplans
        create podgroups
        create configmaps
        create secrets
        create persistentvolumeclaims
        create namespaces""",
    ),
    (
        KEPT_OWN,
        """update podgroups
        patch podgroups
        delete podgroups
        deletecollection podgroups
        update configmaps
        patch configmaps
        delete configmaps
        deletecollection configmaps
        update persistentvolumeclaims
        patch persistentvolumeclaims
        delete persistentvolumeclaims
        deletecollection persistentvolumeclaims
        update namespaces
        patch namespaces""",
    ),
    # 409: one that has jobs is not removed, whoever asks; of one without, only its maker's.
    ((OK, OK, 409, 403, 403, 403, 403), "delete namespaces"),
    ((OK, OK, 404, 404, OK, 404, 404), "get secrets"),
    (
        SECRET_OWN,
        """update secrets
        patch secrets
        delete secrets""",
    ),
    (USERS, "deletecollection secrets"),  # of one's own, for others there are none
    (
        NONE,
        """get scaleplans
        get events
        get services""",
    ),
)
