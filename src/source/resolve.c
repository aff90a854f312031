/* Replaces names in a job by what the catalogue declares: queues, data sets, images. Effects: the
 * job in its arena; problems in the report, with names that are near. */
#include "source/resolve.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define DATASET "dataset:"
#define SOURCE  "codesource:"

static void refuse(const struct catalogue *c, enum entry_kind kind, const char *name,
                   const char *path, struct report *report)
{
    const char *near = catalogue_near(c, kind, name);
    struct problem *p = report_error(report, (struct place){ 0 }, path,
                                     "%s \"%.100s\" is not known here", entry_shown(kind), name);
    if (near) {
        report_hint(report, p, "%s", near);
        return;
    }
    report_hint(report, p, "declare it: kind: %s in a file for the verb apply", entry_word(kind));
    report_remedy(report, p, REMEDY_LIST_KIND, entry_plural(kind));
}

static const char *queue_name(const char *queue)
{
    return queue && *queue ? queue : "default";
}

const struct entry *resolve_queue(const struct catalogue *c, const char *queue)
{
    const struct entry *quota = catalogue_find(c, ENTRY_QUOTA, queue_name(queue));
    return quota ? quota : catalogue_find(c, ENTRY_VIRTUAL_CLUSTER, queue_name(queue));
}

static void check_queue(const struct catalogue *c, const struct job_spec *job,
                        struct report *report)
{
    char known[200] = "";
    if (resolve_queue(c, job->queue))
        return;
    for (unsigned kind = ENTRY_QUOTA; kind <= ENTRY_VIRTUAL_CLUSTER; kind++) {
        size_t n;
        const struct entry **at = catalogue_list(c, report->arena, (enum entry_kind)kind, &n);
        for (size_t i = 0; i < n; i++) {
            size_t used = strlen(known);
            snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", at[i]->name);
        }
    }
    struct problem *p = report_error(report, (struct place){ 0 }, "queue",
                                     "queue \"%.100s\" is not known here", queue_name(job->queue));
    report_hint(report, p, "%s", known);
}

const struct entry *resolve_dataset(const struct catalogue *c, struct arena *arena, const char *uri,
                                    const char **id)
{
    if (strncmp(uri, DATASET, sizeof DATASET - 1) != 0)
        return NULL;
    *id = uri + sizeof DATASET - 1;
    const struct entry *entry = catalogue_find(c, ENTRY_DATASET, *id);
    const char *version = strrchr(*id, ':');
    /* v1 is what a data set without versions has. */
    if (!entry && version && strcmp(version, ":v1") == 0)
        entry =
            catalogue_find(c, ENTRY_DATASET, arena_strndup(arena, *id, (size_t)(version - *id)));
    return entry;
}

static void take_source(const struct catalogue *c, struct code *code, struct report *report)
{
    if (!code->git || strncmp(code->git, SOURCE, sizeof SOURCE - 1) != 0)
        return;
    const char *name = code->git + sizeof SOURCE - 1;
    const struct entry *entry = catalogue_find(c, ENTRY_CODE_SOURCE, name);
    if (!entry) {
        refuse(c, ENTRY_CODE_SOURCE, name, "inputs.code", report);
        return;
    }
    code->dir = entry->uri;
    code->at = code->at ? code->at : entry->at;
    code->path = code->path ? code->path : entry->path;
    code->git = NULL;
}

/* An address has a registry or a path; one word is a label of the catalogue. */
static void take_images(const struct catalogue *c, struct job_spec *job, struct report *report)
{
    for (size_t i = 0; i < job->n_roles; i++) {
        struct role *role = &job->roles[i];
        if (!role->image || strchr(role->image, '/'))
            continue;
        const struct entry *entry = catalogue_find(c, ENTRY_IMAGE, role->image);
        if (entry)
            role->image = entry->uri;
        else
            refuse(c, ENTRY_IMAGE, role->image,
                   arena_printf(report->arena, "roles.%s.image", role->name), report);
    }
}

/* A job that names no queue goes where its workspace (project, namespace) goes. */
static void take_queue(const struct catalogue *c, struct job_spec *job)
{
    const struct entry *workspace =
        job->project ? catalogue_find(c, ENTRY_WORKSPACE, job->project) : NULL;
    if (workspace && workspace->queue && !(job->queue && *job->queue))
        job->queue = workspace->queue;
}

int resolve_names(const struct catalogue *c, bool catalogued, struct job_spec *job,
                  struct report *report)
{
    size_t errors = report->errors;
    take_queue(c, job);
    check_queue(c, job, report);
    take_source(c, &job->inputs.code, report);
    if (catalogued) {
        if (job->project && !catalogue_find(c, ENTRY_WORKSPACE, job->project))
            refuse(c, ENTRY_WORKSPACE, job->project, "project", report);
        take_images(c, job, report);
    }
    return report->errors > errors ? -1 : 0;
}
