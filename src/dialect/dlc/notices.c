/* Fields that are known and do nothing here, and values that were never filled in: one table, one
 * walk over the body as it was written.
 *
 * Inputs: a decoded body. Effects: a warning or an error for each field that is given; a copy of
 * what the canonical job cannot carry, for the way back.
 *
 * Caveats: credentials are never copied. */
#include "dialect/dlc/notices.h"

#include "base/mem.h"
#include "dialect/dlc/create.h"
#include "dialect/dlc/problems.h"

#include <string.h>

struct notice {
    const char *path; /* "JobSpecs[].SystemDisk" */
    enum severity severity;
    bool keep;
    const char *what, *hint;
};

#define WARN(path_, what_, hint_)                                                                  \
    {                                                                                              \
        .path = (path_), .severity = SEVERITY_WARNING, .keep = true, .what = (what_),              \
        .hint = (hint_)                                                                            \
    }
#define DROP(path_, what_, hint_)                                                                  \
    {                                                                                              \
        .path = (path_), .severity = SEVERITY_WARNING, .what = (what_), .hint = (hint_)            \
    }
#define REFUSE(path_, what_, hint_)                                                                \
    {                                                                                              \
        .path = (path_), .severity = SEVERITY_ERROR, .what = (what_), .hint = (hint_)              \
    }

static const struct notice notices[] = {
    REFUSE("TemplateId", "names a template, and this server keeps none", "the fields themselves"),
    DROP("TemplateVersion", "has no effect without a template", "leave it out"),
    WARN("ElasticSpec", "has no effect, as in DLC", "leave it out"),
    WARN("Options", "has no effect: nothing is tuned for mounts here", "leave it out"),
    DROP("DebuggerConfigContent", "has no effect, as in DLC", "leave it out"),
    DROP("CredentialConfig", "has no effect: tasks get no credentials of a role here",
         "give the job what it needs by Envs"),
    WARN("UserVpc", "has no effect: tasks use the network of their node", "leave it out"),
    WARN("DataSources[].Options", "has no effect: mounts have no options here", "leave it out"),
    WARN("DataSources[].EnableCache", "has no effect: nothing is cached here", "leave it out"),
    WARN("DataSources[].AccessPointId", "has no effect: paths are taken as they are",
         "leave it out"),
    WARN("DataSources[].RoleChain", "has no effect: no role is taken to read data here",
         "leave it out"),
    WARN("CodeSource.IsSharedMountPath", "has no effect: each task has its own copy",
         "leave it out"),
    REFUSE("JobSpecs[].ExtraPodSpec.InitContainers", "cannot be done: a pod is one program here",
           "its commands at the head of UserCommand"),
    REFUSE("JobSpecs[].ExtraPodSpec.SideCarContainers", "cannot be done: a pod is one program here",
           "start it in UserCommand, with & behind it"),
    REFUSE("JobSpecs[].ExtraPodSpec.Lifecycle", "cannot be done: there are no hooks here",
           "in UserCommand; trap '...' TERM for the end"),
    WARN("JobSpecs[].ExtraPodSpec.SharedVolumeMountPaths",
         "has no effect: a pod is one program here", "leave it out"),
    WARN("JobSpecs[].ExtraPodSpec.PodLabels", "has no effect", "Settings.Tags"),
    WARN("JobSpecs[].ExtraPodSpec.PodAnnotations", "has no effect", "Settings.Tags"),
    WARN("JobSpecs[].ExtraPodSpec.MainContainerSecurityContext",
         "has no effect: tasks run as the account of the job's owner", "leave it out"),
    WARN("JobSpecs[].ServiceSpec", "has no effect: tasks are reached at their own addresses",
         "leave it out"),
    WARN("JobSpecs[].SystemDisk", "has no effect: tasks have the disk of their node",
         "leave it out"),
    WARN("JobSpecs[].HyperNodeSchedulingConfig", "has no effect: nodes are not grouped here",
         "leave it out"),
    WARN("JobSpecs[].ElasticSpotSpecs", "has no effect: all pods are ordinary ones",
         "leave it out"),
    WARN("JobSpecs[].OversoldType", "has no effect: the whole job has one",
         "Settings.OversoldType"),
    REFUSE("JobSpecs[].QuotaId", "cannot be done: a job has one quota", "ResourceId"),
    WARN("JobSpecs[].Driver", "has no effect: the driver is that of the node", "leave it out"),
    WARN("JobSpecs[].IsChief", "has no effect: the role named Chief is the chief", "Type: Chief"),
    WARN("JobSpecs[].AutoScalingSpec.ScalingStrategy",
         "has no effect: a role grows as soon as there is room", "leave it out"),
    WARN("JobSpecs[].AssignNodeSpec.HyperNodes", "has no effect: nodes are not grouped here",
         "NodeNames"),
    REFUSE("JobSpecs[].AssignNodeSpec.AntiAffinityNodeNames",
           "cannot be done: nodes are not excluded by name here", "NodeNames with the others"),
    REFUSE("JobSpecs[].SpotSpec.SpotPriceLimit", "is a price, and nothing has a price here",
           "SpotDiscountLimit: 0.1 to 0.9"),
    WARN("Settings.EnableSanityCheck", "has no effect: nodes are not checked before a start here",
         "leave it out"),
    WARN("Settings.SanityCheckArgs", "has no effect: nodes are not checked before a start here",
         "leave it out"),
    WARN("Settings.EnablePriorityPreemption", "has no effect: no job is ended for this one",
         "leave it out"),
    WARN("Settings.EnableTideResource", "has no effect: there is no tidal capacity here",
         "leave it out"),
    WARN("Settings.EnableRDMA", "has no effect: tasks use the network of their node",
         "leave it out"),
    WARN("Settings.EnableOssAppend", "has no effect: files are files here", "leave it out"),
    WARN("Settings.Driver", "has no effect: the driver is that of the node", "leave it out"),
    WARN("Settings.DisableEcsStockCheck", "has no effect: there is no stock to check",
         "leave it out"),
    WARN("Settings.AllocateAllRDMADevices", "has no effect: devices of the network are shared",
         "leave it out"),
    WARN("Settings.ModelConfig", "has no effect", "leave it out"),
    WARN("Settings.DataJuicerConfig",
         "has no effect: it is of DataJuicerJob, which is not run here", "leave it out"),
    WARN("Settings.Shell", "has no effect: commands are run by bash", "sh -c '...' in UserCommand"),
    WARN("Settings.ElasticSpotJobMaxRestartTimes", "has no effect: there are no spot pods",
         "leave it out"),
    WARN("Settings.AllowUnschedulableNodes", "has no effect: drained nodes take no tasks",
         "leave it out"),
    WARN("Settings.EnableDSWDev", "has no effect", "leave it out"),
};

/* ---- the walk ---- */

struct walk {
    const struct dlc_create *c;
    const struct notice *notice;
    struct text_node *keep;
    struct report *report;
};

static struct text_node *member(struct arena *a, struct text_node *map, const char *key)
{
    struct text_node *found = text_get(map, key);
    return found ? found : text_map(a, map, key);
}

/* "JobSpecs[0].ExtraPodSpec.PodLabels" -> keep.JobSpecs.0.ExtraPodSpec.PodLabels */
static void keep_value(const struct walk *w, const char *path, const struct text_node *node)
{
    struct arena *a = w->report->arena;
    struct text_node *into = w->keep;
    while (*path) {
        size_t len = strcspn(path, ".[]");
        const char *key = arena_strndup(a, path, len);
        path += len + strspn(path + len, ".[]");
        if (*path)
            into = member(a, into, key);
        else
            text_copy(a, into, key, node);
    }
}

static void found(const struct walk *w, const char *path, const struct text_node *node)
{
    if (!dlc_given(node))
        return;
    struct problem *p = w->notice->severity == SEVERITY_ERROR
                            ? dlc_error(w->c, w->report, path, "%s", w->notice->what)
                            : dlc_warn(w->c, w->report, path, "%s", w->notice->what);
    report_hint(w->report, p, "%s", w->notice->hint);
    if (w->notice->keep)
        keep_value(w, path, node);
}

/* rest: what of the row's path is left. */
static void step(const struct walk *w, const struct text_node *node, const char *path,
                 const char *rest)
{
    size_t len = strcspn(rest, ".[");
    const char *key = arena_strndup(w->report->arena, rest, len), *behind = rest + len;
    const struct text_node *child = text_get(node, key);
    if (!child)
        return;
    const char *here = arena_printf(w->report->arena, "%s%s%s", path, *path ? "." : "", key);
    if (strncmp(behind, "[].", 3) == 0) {
        size_t i = 0;
        if (child->kind != TEXT_LIST)
            return;
        for (const struct text_node *item = child->first; item; item = item->next, i++)
            step(w, item, arena_printf(w->report->arena, "%s[%zu]", here, i), behind + 3);
    } else if (*behind == '.') {
        step(w, child, here, behind + 1);
    } else {
        found(w, here, child);
    }
}

void dlc_notices(const struct dlc_create *c, struct text_node *keep, struct report *r)
{
    struct walk w = { .c = c, .keep = keep, .report = r };
    for (size_t i = 0; i < ARRAY_LEN(notices); i++) {
        w.notice = &notices[i];
        step(&w, c->root, "", notices[i].path);
    }
    if (!c->access || strcmp(c->access, "PUBLIC") != 0)
        return;
    report_hint(
        r, dlc_warn(c, r, "Accessibility", "has no effect: who sees a job is up to this server"),
        "leave it out");
    text_str(r->arena, keep, "Accessibility", c->access); /* lists are asked for it */
}

/* ---- placeholders ---- */

/* "<...>" as a whole, or the asterisks that documents put over an id. */
static bool is_placeholder(const struct text_node *node)
{
    size_t len = node->kind == TEXT_STR ? strlen(node->str) : 0;
    if (len > 2 && node->str[0] == '<' && node->str[len - 1] == '>')
        return true;
    size_t key = len && node->key ? strlen(node->key) : 0;
    return key > 2 && strcmp(node->key + key - 2, "Id") == 0 && strstr(node->str, "***");
}

static const struct {
    const char *key, *hint;
} fillings[] = {
    { "ResourceId", "the id of your quota; leave it out for the default quota" },
    { "WorkspaceId", "the id of your workspace; leave it out for the default one" },
    { "DataSourceId", "the id of a data set" },
    { "CodeSourceId", "the id of a code source" },
    { "Image", "the address of an image" },
    { "EcsSpec", "an instance type: ecs.g6.xlarge" },
};

static void placeholder(const struct dlc_create *c, const char *path, const struct text_node *node,
                        struct report *r)
{
    const char *hint = "the value that belongs here";
    for (size_t i = 0; i < ARRAY_LEN(fillings); i++)
        if (node->key && strcmp(node->key, fillings[i].key) == 0)
            hint = fillings[i].hint;
    report_hint(
        r, dlc_error(c, r, path, "is \"%.100s\", a placeholder that was not filled in", node->str),
        "%s", hint);
}

static size_t look(const struct dlc_create *c, const struct text_node *node, const char *path,
                   struct report *r)
{
    size_t n = 0, i = 0;
    if (node->kind != TEXT_MAP && node->kind != TEXT_LIST) {
        if (!is_placeholder(node))
            return 0;
        placeholder(c, path, node, r);
        return 1;
    }
    for (const struct text_node *child = node->first; child && n < REPORT_MAX;
         child = child->next, i++) {
        bool free_text = child->key && (strcmp(child->key, "UserCommand") == 0 ||
                                        strcmp(child->key, "Description") == 0);
        const char *below = node->kind == TEXT_LIST ? arena_printf(r->arena, "%s[%zu]", path, i)
                                                    : arena_printf(r->arena, "%.100s%s%.100s", path,
                                                                   *path ? "." : "", child->key);
        if (!free_text)
            n += look(c, child, below, r);
    }
    return n;
}

size_t dlc_placeholders(const struct dlc_create *c, struct report *r)
{
    return look(c, c->root, "", r);
}
