/* Annotations of the job: eight of them are arguments of DLRover's master. What they say to its
 * agents and to this server is kept; what concerns the master itself has nothing to act on here. */
#include "dialect/elasticjob/annotations.h"

#include "base/scan.h"
#include "dialect/elasticjob/fates.h"

enum { FIRST_DELAY_S = 1, LAST_DELAY_S = 31536000 };

struct ej_annotations {
    const char *service, *elastic;
    uint32_t pending, fail;
    bool has_pending, has_fail;
};

static const struct field_word service_words[] = { { "grpc", 0 }, { "http", 1 }, { 0 } };
static const struct field_word elastic_words[] = { { "base", 0 }, { "ucp", 1 }, { 0 } };

const struct field ej_annotation_fields[] = {
    FIELD(U32, "pending_timeout", struct ej_annotations, pending, .min = FIRST_DELAY_S,
          .max = LAST_DELAY_S, .has_offset = offsetof(struct ej_annotations, has_pending),
          .unit = "seconds",
          .doc = "`limits.pending`; left out, a job may wait as long as it takes (there 900 s are "
                 "built in, and this number is read by nobody)"),
    FIELD_SAME(CUSTOM, "pending_fail_strategy", .hooks = &fate_quiet,
               .doc = "-1 or 0: `pending_timeout` has no effect; 1 or 2: it has"),
    FIELD(WORD, "service_type", struct ej_annotations, service, .words = service_words,
          .doc = "`DLROVER_MASTER_SERVICE_TYPE`"),
    FIELD(WORD, "training_elastic_mode", struct ej_annotations, elastic, .words = elastic_words,
          .doc = "`DLROVER_TRAINING_ELASTIC_MODE`; `ucp` is warned about: checkpoints are not "
                 "converted here"),
    IGNORED("pre_check_ops", "the launcher's own node check is `--network-check`"),
    IGNORED("pre_check_bypass", "there is no pre-check to bypass"),
    IGNORED("enable_dashboard", "`muster open` shows the page"),
    IGNORED("dashboard_port", "`muster open` shows the page"),
    FIELD_END,
};

/* Documented as arguments of the master, and not passed on by the controller. */
static const char *const not_passed[] = {
    "hang_detection", "hang_downtime",  "max_hang_downtime",          "xpu_type",
    "group-affinity", "group_affinity", "dynamic_failover_extension", NULL
};

static bool not_passed_on(const char *key)
{
    for (const char *const *name = not_passed; *name; name++)
        if (strcmp(*name, key) == 0)
            return true;
    return false;
}

/* Text is a number here: annotations are texts. */
static struct text_node *as_number(struct arena *arena, const struct text_node *node)
{
    int64_t n;
    if (node->kind != TEXT_STR || !scan_i64(node->str, INT32_MIN, INT32_MAX, &n))
        return NULL;
    struct text_node *number = text_int(arena, NULL, NULL, n);
    number->place = node->place;
    return number;
}

/* The annotations that are ours, each by its row; the others are anybody's. */
static struct text_node *ours_of(const struct ej_reader *r, const struct text_node *all)
{
    struct text_node *ours = text_map(r->arena, NULL, NULL);
    for (const struct text_node *node = all->first; node; node = node->next) {
        const struct field *row = field_find(ej_annotation_fields, node->key);
        if (!row)
            continue;
        struct text_node *number = row->type == FIELD_U32 ? as_number(r->arena, node) : NULL;
        text_copy(r->arena, ours, node->key, number ? number : node);
    }
    return ours;
}

static bool fails_when_pending(const struct ej_reader *r, struct ej_place at, const char *text)
{
    int64_t n;
    if (!text)
        return true;
    if (scan_i64(text, -1, 2, &n))
        return n > 0;
    report_hint(r->report, ej_fail(r, at, "is \"%.40s\"", text),
                "-1 or 0 (wait on), 1 or 2 (give up after pending_timeout)");
    return false;
}

static void keep(struct ej_reader *r, const struct ej_annotations *a, struct ej_place at)
{
    const char *strategy = pairs_get(&r->spec->metadata.annotations, "pending_fail_strategy");
    bool fails = fails_when_pending(r, ej_in(r, at, "pending_fail_strategy"), strategy);
    if (a->has_pending && fails)
        r->job->limits.pending_ms =
            (struct opt_u64){ .has = true, .value = (uint64_t)a->pending * 1000 };
    if (a->service)
        text_str(r->arena, r->extra, "service", a->service);
    if (a->elastic)
        text_str(r->arena, r->extra, "elasticMode", a->elastic);
    if (a->elastic && strcmp(a->elastic, "ucp") == 0)
        report_hint(r->report, ej_warn(r, ej_in(r, at, "training_elastic_mode"), "is ucp"),
                    "the tasks are told so; checkpoints are not converted when their number "
                    "changes");
}

void ej_annotations(struct ej_reader *r)
{
    struct ej_place at = ej_in(r, ej_in(r, r->root, "metadata"), "annotations");
    struct ej_annotations a = { .service = NULL };
    if (!at.node)
        return;
    field_init(ej_annotation_fields, &a);
    field_decode(r->arena, ours_of(r, at.node), ej_annotation_fields, &a, at.path, r->report);
    keep(r, &a, at);
    for (const struct text_node *node = at.node->first; node; node = node->next)
        if (not_passed_on(node->key))
            report_hint(r->report, ej_warn(r, ej_in(r, at, node->key), "has no effect"),
                        "there as well: the controller does not pass it on");
}
