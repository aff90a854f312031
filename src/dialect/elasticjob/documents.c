/* The documents of a text: which one is the job, what the others are, and whether the text still
 * has its indentation.
 *
 * Inputs: the tree of one document, or the list of several. Effects: problems in the report; the
 * PodGroups found are kept in the reader. */
#include "dialect/elasticjob/documents.h"

#include "dialect/elasticjob/names.h"

#define POD_GROUP_API "scheduling.sigs.k8s.io/"

static bool of_group(const struct text_node *doc, const char *group)
{
    return strncmp(text_word(doc, "apiVersion"), group, strlen(group)) == 0;
}

/* How sure one document makes us. */
static int sure_of(const struct text_node *doc)
{
    if (of_group(doc, EJ_GROUP))
        return 100;
    if (strcmp(text_word(doc, "kind"), EJ_KIND) == 0)
        return 90;
    return text_get(doc, "replicaSpecs") && text_get(doc, "distributionStrategy") ? 60 : 0;
}

int ej_detect(const struct text_node *root)
{
    int sure = root ? sure_of(root) : 0;
    if (!root || root->kind != TEXT_LIST)
        return sure;
    for (const struct text_node *doc = root->first; doc; doc = doc->next)
        sure = sure_of(doc) > sure ? sure_of(doc) : sure;
    return sure;
}

/* ---- one document ---- */

static const char *name_of(const struct text_node *doc)
{
    return text_word(text_get(doc, "metadata"), "name");
}

static struct place kind_place(const struct text_node *doc)
{
    const struct text_node *kind = text_get(doc, "kind");
    return kind ? kind->place : doc->place;
}

static void refuse_scale_plan(const struct ej_reader *r, const struct text_node *doc)
{
    struct problem *p = report_error(r->report, kind_place(doc), "kind",
                                     "ScalePlan \"%.60s\" is not acted on: ScalePlans are retired, "
                                     "DLRover itself acts on them no more since 0.6",
                                     name_of(doc));
    report_hint(r->report, p, "leave it out, and set replicas of the ElasticJob");
}

static void refuse_kind(const struct ej_reader *r, const struct text_node *doc)
{
    const char *kind = text_word(doc, "kind");
    struct problem *p;
    if (!*kind)
        p = report_error(r->report, kind_place(doc), "kind", "kind is missing");
    else
        p = report_error(r->report, kind_place(doc), "kind",
                         "kind is %.60s%s%.60s%s: only ElasticJob and its PodGroup are read here",
                         kind, *name_of(doc) ? " (\"" : "", name_of(doc),
                         *name_of(doc) ? "\")" : "");
    report_hint(r->report, p, "%s", *kind ? "leave this document out" : "kind: " EJ_KIND);
}

/* What the keys at the beginning of a line say when no line is indented any more. */
static bool lost_indentation(const struct text_node *doc)
{
    static const char *const opening[] = { "metadata", "spec" };
    static const char *const inner[] = { "name", "replicaSpecs", "containers", "template" };
    bool empty = false, moved = false;
    for (size_t i = 0; i < sizeof opening / sizeof opening[0]; i++) {
        const struct text_node *node = text_get(doc, opening[i]);
        empty |= node && node->kind == TEXT_NULL;
    }
    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++)
        moved |= text_get(doc, inner[i]) != NULL;
    return empty && moved;
}

static bool refuse_lost(const struct ej_reader *r, const struct text_node *doc)
{
    if (!lost_indentation(doc))
        return false;
    if (!report_ok(r->report)) /* the parser said it: names stand there twice */
        return true;
    struct problem *p = report_error(r->report, doc->place, "",
                                     "the indentation of this YAML is lost: what belongs under "
                                     "metadata and spec stands beside them");
    report_hint(r->report, p, "copy the text again with the spaces at the beginning of its lines");
    return true;
}

static void read_pod_group(struct ej_reader *r, const struct text_node *doc)
{
    struct ej_pod_group *group = &r->groups[r->n_groups];
    field_init(ej_pod_group_fields, group);
    if (field_decode(r->arena, doc, ej_pod_group_fields, group, "", r->report) == 0) {
        group->node = doc;
        r->n_groups++;
    }
}

static bool wrong_version(const struct ej_reader *r, const struct text_node *doc)
{
    const struct text_node *version = text_get(doc, "apiVersion");
    if (version && version->kind == TEXT_STR && strcmp(version->str, EJ_API) == 0)
        return false;
    struct problem *p;
    if (version)
        p = report_error(r->report, version->place, "apiVersion", "apiVersion is %.60s",
                         version->str ? version->str : text_kind_word(version->kind));
    else
        p = report_error(r->report, doc->place, "apiVersion", "apiVersion is missing");
    report_hint(r->report, p, EJ_API);
    if (version && version->str && version->place.len == strlen(version->str))
        p->fix = EJ_API;
    return true;
}

/* ---- all ---- */

static void take(struct ej_reader *r, const struct text_node *doc, const struct text_node **job)
{
    const char *kind = text_word(doc, "kind");
    if (doc->kind != TEXT_MAP) {
        struct problem *p = report_error(r->report, doc->place, "", "the document is %s, not a map",
                                         text_kind_word(doc->kind));
        report_hint(r->report, p, "apiVersion: " EJ_API ", kind: " EJ_KIND ", ...");
    } else if (strcmp(kind, "ScalePlan") == 0) {
        refuse_scale_plan(r, doc);
    } else if (strcmp(kind, "PodGroup") == 0 && of_group(doc, POD_GROUP_API)) {
        read_pod_group(r, doc);
    } else if (strcmp(kind, EJ_KIND) != 0) {
        refuse_kind(r, doc);
    } else if (*job) {
        struct problem *p =
            report_error(r->report, kind_place(doc), "kind",
                         "ElasticJob \"%.60s\" is the second one in this text", name_of(doc));
        report_hint(r->report, p, "one job in one text; give each a file of its own");
    } else if (!refuse_lost(r, doc)) {
        wrong_version(r, doc);
        *job = doc;
    }
}

const struct text_node *ej_documents(struct ej_reader *r, const struct text_node *root)
{
    const struct text_node *job = NULL;
    r->groups =
        ARENA_ARRAY(r->arena, root->kind == TEXT_LIST ? root->count : 1, struct ej_pod_group);
    if (root->kind == TEXT_LIST)
        for (const struct text_node *doc = root->first; doc; doc = doc->next)
            take(r, doc, &job);
    else
        take(r, root, &job);
    if (!job && report_ok(r->report)) {
        struct problem *p = report_error(r->report, root->place, "", "there is no ElasticJob");
        report_hint(r->report, p, "a PodGroup goes with the job that names it, in one file");
    }
    return job;
}
