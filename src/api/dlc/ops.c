/* Every operation of both services: what runs it and what it may be asked (params.c), or why
 * nothing does. A new one is one row here and one small function. doc/api-dlc.md has the same table
 * for people; a test compares the two, and another one the names with those that the clients send.
 */
#include "api/dlc/op.h"

#include "base/mem.h"

#define OP(service_, name_, method_, path_, run_, flags_, query_, body_)                           \
    {                                                                                              \
        .service = service_, .name = name_, .method = method_, .path = path_, .run = dlc_##run_,   \
        .flags = flags_, .query = query_, .body = body_                                            \
    }
#define DLC(name_, method_, path_, run_, flags_, query_, body_)                                    \
    OP(DLC_JOBS, name_, method_, path_, run_, flags_, query_, body_)
#define AIW(name_, method_, path_, run_, flags_, query_, body_)                                    \
    OP(DLC_SPACES, name_, method_, path_, run_, flags_, query_, body_)
#define NOT(service_, name_, method_, path_, note_)                                                \
    {                                                                                              \
        .service = service_, .name = name_, .method = method_, .path = path_, .flags = DLC_CANNOT, \
        .note = note_                                                                              \
    }
#define W DLC_WRITES
#define B (DLC_WRITES | DLC_BODY)

/* What many can be asked; how these texts are read is said in params.c. */
#define PAGE   "PageNumber PageSize "
#define SORTED PAGE "SortBy Order "
#define SPAN   "StartTime EndTime "
#define TOKEN  "Token token "
#define ACCESS "Accessibility=PRIVATE|PUBLIC "
#define BOARD_SOURCE                                                                                             \
    "TensorboardDataSources.Id TensorboardDataSources.Name TensorboardDataSources.SourceType=datasource|dlcjob " \
    "TensorboardDataSources.DataSourceType TensorboardDataSources.Uri "                                          \
    "TensorboardDataSources.SummaryPath TensorboardDataSources.FullSummaryPath "                                 \
    "-TensorboardDataSources.DirectoryName"
#define LABELS "Labels.Key Labels.Value Labels "

#define MODELS   "muster keeps no models; their files lie in data sets"
#define ORDERS   "nothing is bought here"
#define SERVICES "muster runs jobs, no services"
#define TRACKING "muster tracks no experiments; what a job writes is its own"
#define CONNECT  "muster keeps no connections to other services"
#define SETTINGS "settings are the server's: muster config"
#define DATAJOBS "muster does not look into data sets; a job that does so serves as well"
#define QUOTAS   "quotas are declared: muster apply -f FILE with kind: quota"
#define ROLES    "the roles of users are reader, user and admin: muster user"
#define BUILDS   "images are built elsewhere; AddImage names one by its address"
#define PLATFORM "that belongs to the vendor's platform, not to jobs and workspaces"

static const struct dlc_op ops[] = {
    DLC("CreateJob", "POST", "jobs", create_job, B, "", NULL),
    DLC("ListJobs", "GET", "jobs", list_jobs, 0,
        SORTED SPAN ACCESS
        "DisplayName JobId JobIds JobType Status ShowOwn? WorkspaceId ResourceId "
        "ResourceQuotaName BusinessUserId Caller PipelineId FromAllWorkspaces? UserIdForFilter "
        "Username Tags OversoldInfo=ForbiddenQuotaOverSold|ForceQuotaOverSold|AcceptQuotaOverSold "
        "PaymentType=PrePaid|PostPaid|Spot UserCommandSearch ImageSearch ReasonSearch Description "
        "!DisplayNameSearchMode !NumericRangeField !NumericRangeMin !NumericRangeMax "
        "!TimeRangeField !EnableAssignNode? !ResourceIds !TemplateId",
        ""),
    DLC("GetJob", "GET", "jobs/{}", get_job, 0, TOKEN "NeedDetail?", ""),
    DLC("UpdateJob", "PUT", "jobs/{}", update_job, B, "",
        "Priority# Description -Accessibility=PRIVATE|PUBLIC !JobSpecs !UserCommand"),
    DLC("StopJob", "POST", "jobs/{}/stop", stop_job, W, "", ""),
    DLC("DeleteJob", "DELETE", "jobs/{}", delete_job, W, "", ""),
    DLC("GetJobEvents", "GET", "jobs/{}/events", job_events, 0, TOKEN SPAN "MaxEventsNum", ""),
    DLC("GetPodEvents", "GET", "jobs/{}/pods/{}/events", pod_events, 0,
        TOKEN SPAN "PodUid MaxEventsNum", ""),
    DLC("GetPodLogs", "GET", "jobs/{}/pods/{}/logs", pod_logs, 0,
        TOKEN SPAN "PodUid MaxLines -DownloadToFile? !Containers", ""),
    DLC("GetJobMetrics", "GET", "jobs/{}/metrics", job_metrics, 0, TOKEN SPAN "MetricType TimeStep",
        ""),
    DLC("GetWebTerminal", "GET", "jobs/{}/pods/{}/webterminal", web_terminal, W,
        "PodUid -IsShared?", ""),
    DLC("GetJobSanityCheckResult", "GET", "jobs/{}/sanitycheckresult", sanity_result, 0,
        TOKEN
        "SanityCheckNumber SanityCheckPhase=CheckInit|DeviceCheck|SingleNodeCommCheck|TwoNodeCommCheck|"
        "AllNodeCommCheck",
        ""),
    DLC("ListJobSanityCheckResults", "GET", "jobs/{}/sanitycheckresults", sanity_results, 0,
        TOKEN "Order", ""),
    DLC("ListEcsSpecs", "GET", "ecsspecs", ecs_specs, 0,
        SORTED "AcceleratorType=CPU|GPU InstanceTypes ResourceType", ""),
    DLC("GetToken", "GET", "tokens", get_token, W,
        "TargetType=job|tensorboard TargetId ExpireTime -TokenSettings", ""),
    DLC("CreateTensorboard", "POST", "tensorboards", board_create, B, "",
        "WorkspaceId JobId DataSourceId DataSourceType Uri Options SummaryPath SummaryRelativePath "
        "DisplayName SourceType=job SourceId MaxRunningTimeMinutes# Cpu# Memory# Priority# QuotaId "
        "-Accessibility=PRIVATE|PUBLIC !DataSources !TensorboardSpec TensorboardDataSources " BOARD_SOURCE),
    DLC("ListTensorboards", "GET", "tensorboards", board_list, 0,
        SORTED SPAN ACCESS "WorkspaceId SourceType SourceId JobId TensorboardId Status "
                           "UserId Username QuotaId DisplayName ShowOwn? PaymentType=Free|Postpaid "
                           "-Verbose?",
        ""),
    DLC("GetTensorboard", "GET", "tensorboards/{}", board_get, 0, TOKEN "WorkspaceId JodId JobId",
        ""),
    DLC("UpdateTensorboard", "PUT", "tensorboards/{}", board_update, W,
        "WorkspaceId MaxRunningTimeMinutes Priority# -Accessibility=PRIVATE|PUBLIC", ""),
    DLC("DeleteTensorboard", "DELETE", "tensorboards/{}", board_delete, W, "WorkspaceId", ""),
    DLC("StartTensorboard", "PUT", "tensorboards/{}/start", board_start, W, "WorkspaceId", ""),
    DLC("StopTensorboard", "PUT", "tensorboards/{}/stop", board_stop, W, "WorkspaceId", ""),
    DLC("GetTensorboardSharedUrl", "GET", "tensorboards/{}/sharedurl", board_shared, 0,
        TOKEN "-ExpireTimeSeconds", ""),
    DLC("GetRayDashboard", "GET", "jobs/{}/rayDashboard", dashboard, 0, TOKEN "-isShared?", ""),
    DLC("GetDashboard", "GET", "jobs/{}/dashboard", dashboard, 0, TOKEN "-isShared?", ""),
    DLC("CreateJobTemplate", "POST", "jobtemplates", template_create, B, "",
        "TemplateName WorkspaceId Content Description Constraints Metadata"),
    DLC("ListJobTemplates", "GET", "jobtemplates", template_list, 0,
        SORTED "WorkspaceId TemplateId TemplateName UserId Description", ""),
    DLC("GetJobTemplate", "GET", "jobtemplates/{}", template_get, 0, "Version", ""),
    DLC("UpdateJobTemplate", "PUT", "jobtemplates/{}", template_update, B, "",
        "TemplateName Content Constraints Description Metadata SetAsDefault? -version"),
    DLC("SetJobTemplateDefaultVersion", "PUT", "jobtemplates/{}/defaultversion", template_default,
        B, "", "Version#"),
    DLC("DeleteJobTemplate", "DELETE", "jobtemplates/{}", template_delete, W, "", ""),
    DLC("CreateRayHistoryServer", "POST", "rayhistoryservers", history_create, B, "",
        "DisplayName StoragePath WorkspaceId ResourceId EcsSpec MaxRuntimeMinutes# "
        "-Accessibility=PRIVATE|PUBLIC"),
    DLC("ListRayHistoryServers", "GET", "rayhistoryservers", history_list, 0,
        SORTED SPAN ACCESS "WorkspaceId DisplayName IdPrefix ModifiedAfter ResourceId ShowOwn? "
                           "Status StoragePath UserIdForFilter Username "
                           "PaymentType=Free|PrePaid|PostPaid",
        ""),
    DLC("GetRayHistoryServer", "GET", "rayhistoryservers/{}", history_get, 0, "", ""),
    DLC("DeleteRayHistoryServer", "DELETE", "rayhistoryservers/{}", history_delete, W, "", ""),
    DLC("StartRayHistoryServer", "POST", "rayhistoryservers/{}/start", history_start, W, "", ""),
    DLC("StopRayHistoryServer", "POST", "rayhistoryservers/{}/stop", history_stop, W, "", ""),
    DLC("GetMetrics", "GET", "cms/metrics", cms_metrics, 0,
        TOKEN SPAN "JobId MetricName Namespace Dimensions Period Length NextToken", ""),
    DLC("CreateSignal", "POST", "jobs/{}/signals", signal_create, B, "",
        "Signal Target Target.Scope Target.PodNames Target.Roles"),
    DLC("GetSignal", "GET", "jobs/{}/signals/{}", signal_get, 0, TOKEN, ""),
    DLC("ListSignals", "GET", "jobs/{}/signals", signal_list, 0, TOKEN SORTED "Status", ""),
    DLC("TagResources", "POST", "tags", tags_put, W,
        "ResourceType=Job|job ResourceId ResourceId.N Tag Tag.N.Key Tag.N.Value",
        "ResourceType=Job|job ResourceId Tag Tag.Key Tag.Value -RegionId"),
    DLC("UntagResources", "DELETE", "tags", tags_remove, W,
        "ResourceType=Job|job ResourceId ResourceId.N TagKey TagKey.N All?",
        "ResourceType=Job|job ResourceId TagKey"),

    AIW("ListWorkspaces", "GET", "workspaces", space_list, 0,
        SORTED "WorkspaceName WorkspaceIds Status Option=GetWorkspaces|GetResourceLimits "
               "Fields=Id -ModuleList -Verbose? !ResourceGroupId !UserId",
        ""),
    AIW("GetWorkspace", "GET", "workspaces/{}", space_get, 0, "-Verbose?", ""),
    AIW("CreateWorkspace", "POST", "workspaces", space_create, B, "",
        "WorkspaceName DisplayName Description -EnvTypes -ResourceGroupId"),
    AIW("UpdateWorkspace", "PUT", "workspaces/{}", space_update, B, "", "DisplayName Description"),
    AIW("DeleteWorkspace", "DELETE", "workspaces/{}", space_delete, W, "", ""),
    AIW("GetDefaultWorkspace", "GET", "defaultWorkspaces", space_default, 0, "-Verbose?", ""),
    AIW("UpdateDefaultWorkspace", "PUT", "defaultWorkspaces", space_set_default, B, "",
        "WorkspaceId"),
    AIW("ListMembers", "GET", "workspaces/{}/members", member_list, 0,
        PAGE "MemberName UserId Roles", ""),
    AIW("GetMember", "GET", "workspaces/{}/member", member_get, 0, "MemberId UserId", ""),
    AIW("CreateMember", "POST", "workspaces/{}/members", member_create, B, "",
        "Members Members.UserId Members.Roles"),
    AIW("DeleteMembers", "DELETE", "workspaces/{}/members", member_delete, W, "MemberIds", ""),
    AIW("AddMemberRole", "POST", "workspaces/{}/members/{}/roles/{}", role_add, W, "", ""),
    AIW("RemoveMemberRole", "DELETE", "workspaces/{}/members/{}/roles/{}", role_remove, W, "", ""),
    AIW("ListWorkspaceUsers", "GET", "workspaces/{}/users", user_list, 0, "UserName UserId", ""),
    AIW("ListPermissions", "GET", "workspaces/{}/permissions", permission_list, 0, "", ""),
    AIW("GetPermission", "GET", "workspaces/{}/permissions/{}", permission_get, 0,
        ACCESS "Creator -Labels -Option -Resource !CallerAccessKeyId !CallerSecurityToken "
               "!CallerType !CallerUid !SecurityToken",
        ""),
    AIW("ListQuotas", "GET", "quotas", quota_list, 0, "Name", ""),
    AIW("ListResources", "GET", "resources", resource_list, 0,
        PAGE "ResourceName QuotaIds ResourceTypes ProductTypes WorkspaceId Verbose? "
             "-VerboseFields -Option !GroupName !Labels",
        ""),
    AIW("ListProducts", "GET", "products", product_list, 0, "ProductCodes ServiceCodes -Verbose?",
        ""),
    AIW("ListImages", "GET", "images", image_list, 0,
        SORTED ACCESS "Labels Name Query ImageUri UserId ParentUserId WorkspaceId Verbose? "
                      "Options=ExactMatchName",
        ""),
    AIW("GetImage", "GET", "images/{}", image_get, 0, "Verbose?", ""),
    AIW("AddImage", "POST", "images", image_add, B, "",
        ACCESS LABELS "ImageId Name ImageUri Description Size# WorkspaceId SourceType SourceId "
                      "!UserId"),
    AIW("RemoveImage", "DELETE", "images/{}", image_remove, W, "", ""),
    AIW("PublishImage", "PUT", "images/{}/publish", image_publish, W, "", ""),
    AIW("ListImageLabels", "GET", "image/labels", image_labels_all, 0,
        "ImageId LabelFilter LabelKeys WorkspaceId -Region", ""),
    AIW("AddImageLabels", "POST", "images/{}/labels", image_label_add, B, "", LABELS),
    AIW("RemoveImageLabels", "DELETE", "images/{}/labels/{}", image_label_remove, W, "", ""),
    AIW("CreateDataset", "POST", "datasets", data_create, B, "",
        ACCESS LABELS
        "Name Property=FILE|DIRECTORY DataSourceType Uri Options DataType SourceType "
        "SourceId Description WorkspaceId ProviderType MountAccess=RO|RW DataCount# DataSize# "
        "Provider SourceDatasetId SourceDatasetVersion Edition=BASIC -VersionDescription "
        "-VersionLabels -ImportInfo -DatasetTaskRamRole -UserMetricsEndpoints !DryRun? !UserId "
        "!AccessibleRoleIdList !MountAccessReadWriteRoleIdList"),
    AIW("ListDatasets", "GET", "datasets", data_list, 0,
        SORTED ACCESS "WorkspaceId Name Label SourceId Properties DataSourceTypes DataTypes "
                      "SourceTypes DatasetIds Edition Provider SourceDatasetId !ShareScope",
        ""),
    AIW("GetDataset", "GET", "datasets/{}", data_get, 0, "", ""),
    AIW("UpdateDataset", "PUT", "datasets/{}", data_update, B, "",
        ACCESS "Name Description Options Edition=BASIC !SharingConfig !AccessibleRoleIdList "
               "!MountAccessReadWriteRoleIdList"),
    AIW("DeleteDataset", "DELETE", "datasets/{}", data_delete, W, "", ""),
    AIW("PublishDataset", "PUT", "datasets/{}/publish", data_publish, W, "", ""),
    AIW("CreateDatasetLabels", "POST", "datasets/{}/labels", data_label_add, B, "", LABELS),
    AIW("DeleteDatasetLabels", "DELETE", "datasets/{}/labels", data_label_remove, W, "LabelKeys",
        ""),
    AIW("CreateDatasetVersion", "POST", "datasets/{}/versions", version_create, B, "",
        LABELS
        "Property=FILE|DIRECTORY DataSourceType SourceType SourceId Options Uri Description "
        "DataCount# DataSize# -ImportInfo -DatasetTaskRamRole -UserMetricsEndpoints !DryRun?"),
    AIW("ListDatasetVersions", "GET", "datasets/{}/versions", version_list, 0,
        SORTED "LabelKeys LabelValues Properties SourceId SourceTypes", ""),
    AIW("GetDatasetVersion", "GET", "datasets/{}/versions/{}", version_get, 0, "", ""),
    AIW("UpdateDatasetVersion", "PUT", "datasets/{}/versions/{}", version_update, B, "",
        "Description Options DataCount# DataSize# -DatasetTaskRamRole -UserMetricsEndpoints"),
    AIW("DeleteDatasetVersion", "DELETE", "datasets/{}/versions/{}", version_delete, W, "", ""),
    AIW("CreateCodeSource", "POST", "codesources", code_create, B, "",
        ACCESS
        "WorkspaceId DisplayName CodeRepo CodeBranch CodeCommit CodeRepoUserName Description "
        "MountPath -CloneType -CodeRepoAccessToken"),
    AIW("ListCodeSources", "GET", "codesources", code_list, 0, SORTED "WorkspaceId DisplayName",
        ""),
    AIW("GetCodeSource", "GET", "codesources/{}", code_get, 0, "", ""),
    AIW("UpdateCodeSource", "PUT", "codesources/{}", code_update, B, "",
        "DisplayName CodeRepo CodeBranch CodeCommit CodeRepoUserName Description MountPath "
        "-CloneType -CodeRepoAccessToken"),
    AIW("DeleteCodeSource", "DELETE", "codesources/{}", code_delete, W, "", ""),
    AIW("PublishCodeSource", "PUT", "codesources/{}/publish", code_publish, W, "", ""),

    /* Whole families: any method, the path and all below it; the client says the name. */
    NOT(DLC_SPACES, "", "", "models/*", MODELS),
    NOT(DLC_SPACES, "", "", "productorders/*", ORDERS),
    NOT(DLC_SPACES, "", "", "servicetemplates/*", SERVICES),
    NOT(DLC_SPACES, "", "", "workspaces/{}/resources/*", QUOTAS),
    NOT(DLC_SPACES, "", "", "workspaces/{}/roles/*", ROLES),
    NOT(DLC_SPACES, "", "", "workspaces/{}/configs/*", SETTINGS),
    NOT(DLC_SPACES, "", "", "workspaces/{}/config/*", SETTINGS),
    NOT(DLC_SPACES, "", "", "workspaces/action/*", PLATFORM),
    NOT(DLC_SPACES, "", "", "userconfigs/*", SETTINGS),
    NOT(DLC_SPACES, "", "", "features/*", PLATFORM),
    NOT(DLC_SPACES, "", "", "instancejobs/*", PLATFORM),
    NOT(DLC_SPACES, "", "", "connections/*", CONNECT),
    NOT(DLC_SPACES, "", "", "experiments/*", TRACKING),
    NOT(DLC_SPACES, "", "", "runs/*", TRACKING),
    NOT(DLC_SPACES, "", "", "prompts/*", PLATFORM),
    NOT(DLC_SPACES, "", "", "imagebuilds/*", BUILDS),
    NOT(DLC_SPACES, "", "", "datasets/{}/datasetjobs/*", DATAJOBS),
    NOT(DLC_SPACES, "", "", "datasets/{}/datasetjobconfigs/*", DATAJOBS),
    NOT(DLC_SPACES, "", "", "datasets/{}/datasetfilemetas/*", DATAJOBS),
    NOT(DLC_SPACES, "", "", "datasets/{}/versions/{}/labels/*", DATAJOBS),
    NOT(DLC_SPACES, "", "", "statistics/*", DATAJOBS),
};

const struct dlc_op *dlc_ops(size_t *n)
{
    *n = ARRAY_LEN(ops);
    return ops;
}
