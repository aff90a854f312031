/* The JSON texts in rows of jobs, tasks and attempts: written and read by muster alone, so reading
 * forgives what is missing and complains about nothing. */
#include "live/row_json.h"

#include "base/buf.h"
#include "base/mem.h"
#include "text/json.h"

#include <string.h>

#define ROW_JSON_MAX  (8u << 20)
#define READ_APART_MS 1000u

bool clocks_differ(uint64_t date_ms, uint64_t now_ms)
{
    return (date_ms > now_ms ? date_ms - now_ms : now_ms - date_ms) > READ_APART_MS;
}

const char *row_json_print(struct arena *arena, const struct text_node *node)
{
    AUTO_BUF struct buf out = BUF_INIT(ROW_JSON_MAX);
    json_print(node, 0, &out);
    return arena_strndup(arena, buf_str(&out), out.len);
}

static struct text_node *parse(struct arena *arena, const char *text)
{
    struct report report;
    if (!text || !*text)
        return NULL;
    report_init(&report, arena);
    return json_parse(arena, text, strlen(text), 0, &report);
}

static const char *word(const struct text_node *map, const char *key)
{
    const struct text_node *node = map ? text_get(map, key) : NULL;
    return node && node->kind == TEXT_STR ? node->str : NULL;
}

static struct words words_of(struct arena *keep, const struct text_node *map, const char *key)
{
    const struct text_node *list = map ? text_get(map, key) : NULL;
    struct words words = { 0 };
    if (list)
        words.at = ARENA_ARRAY(keep, list->count, const char *);
    for (const struct text_node *n = list ? list->first : NULL; n; n = n->next)
        words.at[words.n++] = arena_strdup(keep, n->str);
    return words;
}

static void put(struct arena *arena, struct text_node *map, const char *key, uint64_t value)
{
    if (value)
        text_int(arena, map, key, (int64_t)value);
}

static void put_used(struct arena *arena, struct text_node *map, const struct retry_counts *used)
{
    put(arena, map, "platform", used->platform);
    put(arena, map, "conflict", used->conflict);
    put(arena, map, "unknown", used->unknown);
    put(arena, map, "user", used->user);
    put(arena, map, "success", used->success);
}

static void read_used(const struct text_node *map, struct retry_counts *used)
{
    used->platform = (uint32_t)text_number(map, "platform");
    used->conflict = (uint32_t)text_number(map, "conflict");
    used->unknown = (uint32_t)text_number(map, "unknown");
    used->user = (uint32_t)text_number(map, "user");
    used->success = (uint32_t)text_number(map, "success");
}

void row_json_put_words(struct arena *arena, struct text_node *map, const char *key,
                        const struct words *words)
{
    struct text_node *list = words->n ? text_list(arena, map, key) : NULL;
    for (size_t i = 0; i < words->n; i++)
        text_str(arena, list, NULL, words->at[i]);
}

static void put_first(struct arena *arena, struct text_node *map, const struct live_column *notes)
{
    if (!notes->first.n)
        return;
    row_json_put_words(arena, map, "first", &notes->first);
    text_str(arena, map, "first_text", notes->first_text);
    text_str(arena, map, "first_class", end_class_word(notes->first_class));
    if (notes->first_decides)
        text_bool(arena, map, "first_decides", true);
    if (notes->first_is_root)
        text_bool(arena, map, "first_is_root", true);
}

static enum end_class class_of(const char *text)
{
    for (int class = END_NONE + 1; text && class < END_CLASS_N; class ++)
        if (strcmp(end_class_word((enum end_class) class), text) == 0)
            return (enum end_class) class;
    return END_UNKNOWN;
}

static void read_first(struct arena *keep, const struct text_node *map, struct live_column *notes)
{
    const char *text = word(map, "first_text");
    notes->first = words_of(keep, map, "first");
    if (!notes->first.n)
        return;
    notes->first_text = text ? arena_strdup(keep, text) : "";
    notes->first_class = class_of(word(map, "first_class"));
    notes->first_decides = text_flag(map, "first_decides");
    notes->first_is_root = text_flag(map, "first_is_root");
}

struct words row_json_first(struct arena *arena, const char *text)
{
    return words_of(arena, parse(arena, text), "first");
}

static void read_pairs(struct arena *keep, const struct text_node *map, struct pairs *out)
{
    *out = (struct pairs){ .n = 0 };
    for (const struct text_node *n = map && map->kind == TEXT_MAP ? map->first : NULL; n;
         n = n->next)
        pairs_set(out, keep, n->key, n->str ? n->str : "");
}

struct pairs row_json_images(struct arena *arena, const char *text)
{
    struct text_node *map = parse(arena, text);
    struct pairs images;
    read_pairs(arena, map ? text_get(map, "images") : NULL, &images);
    return images;
}

static void put_runtime(struct arena *arena, struct text_node *map, enum job_runtime runtime)
{
    if (runtime != RUNTIME_SERVER)
        text_str(arena, map, "runtime", runtime_word(runtime));
}

const char *row_json_of_job(struct arena *arena, const struct live_column *notes)
{
    struct text_node *map = text_map(arena, NULL, NULL);
    put_used(arena, map, &notes->used);
    put(arena, map, "hold_until", notes->hold_until_ms);
    put(arena, map, "pending_until", notes->pending_until_ms);
    put(arena, map, "released", notes->resumed_ms);
    if (notes->dates_differ)
        put(arena, map, "began", notes->began_ms);
    if (notes->end_by != BY_NONE)
        text_str(arena, map, "end_by", end_origin_word(notes->end_by));
    if (notes->force)
        text_bool(arena, map, "force", true);
    if (notes->drop)
        text_bool(arena, map, "drop", true);
    if (notes->has_after)
        text_bool(arena, map, "after", true);
    if (notes->has_peers)
        text_bool(arena, map, "peers", true);
    if (notes->claims)
        text_bool(arena, map, "claims", true);
    if (notes->placing)
        text_bool(arena, map, "placing", true);
    if (notes->idle)
        text_bool(arena, map, "idle", true);
    if (notes->own)
        text_bool(arena, map, "own", true);
    if (notes->rest_ms)
        text_int(arena, map, "rest", (int64_t)notes->rest_ms);
    if (notes->alone)
        text_bool(arena, map, "alone", true);
    put(arena, map, "partly_up", notes->partly_up);
    if (notes->counted) {
        struct text_node *counts = text_map(arena, map, "tasks_ended");
        text_int(arena, counts, "succeeded", notes->ended.succeeded);
        text_int(arena, counts, "failed", notes->ended.failed);
    }
    put(arena, map, "promised", notes->promised_ms);
    put_runtime(arena, map, notes->runtime);
    put(arena, map, "shape", notes->shape);
    put(arena, map, "code", notes->code);
    row_json_put_words(arena, map, "met", &notes->met);
    row_json_put_words(arena, map, "avoid", &notes->avoid);
    if (notes->lives.n)
        text_pairs(arena, text_map(arena, map, "lives"), &notes->lives);
    if (notes->images.n)
        text_pairs(arena, text_map(arena, map, "images"), &notes->images);
    put_first(arena, map, notes);
    return map->count ? row_json_print(arena, map) : NULL;
}

void row_json_read_job(struct arena *keep, struct arena *scratch, const char *text,
                       struct live_column *notes)
{
    struct text_node *map = parse(scratch, text);
    const char *by = word(map, "end_by");
    read_used(map, &notes->used);
    notes->hold_until_ms = text_number(map, "hold_until");
    notes->pending_until_ms = text_number(map, "pending_until");
    notes->resumed_ms = text_number(map, "released");
    notes->began_ms = text_number(map, "began");
    notes->dates_differ = notes->began_ms > 0;
    notes->end_by = by ? end_origin_parse(by) : BY_NONE;
    notes->force = text_flag(map, "force");
    notes->drop = text_flag(map, "drop");
    notes->has_after = text_flag(map, "after");
    notes->has_peers = text_flag(map, "peers");
    notes->claims = text_flag(map, "claims");
    notes->placing = text_flag(map, "placing");
    notes->idle = text_flag(map, "idle");
    notes->own = text_flag(map, "own");
    notes->rest_ms = text_number(map, "rest");
    notes->alone = text_flag(map, "alone");
    notes->partly_up = (uint32_t)text_number(map, "partly_up");
    const struct text_node *counts = map ? text_get(map, "tasks_ended") : NULL;
    notes->counted = counts && counts->kind == TEXT_MAP;
    notes->ended = (struct role_tally){ .succeeded = (uint32_t)text_number(counts, "succeeded"),
                                        .failed = (uint32_t)text_number(counts, "failed") };
    notes->promised_ms = text_number(map, "promised");
    notes->runtime = runtime_named(word(map, "runtime"));
    notes->shape = text_number(map, "shape");
    notes->code = text_number(map, "code");
    notes->avoid = words_of(keep, map, "avoid");
    notes->met = words_of(keep, map, "met");
    read_pairs(keep, map ? text_get(map, "lives") : NULL, &notes->lives);
    read_pairs(keep, map ? text_get(map, "images") : NULL, &notes->images);
    read_first(keep, map, notes);
}

const char *row_json_of_task(struct arena *arena, const struct live_task *task)
{
    struct text_node *map = text_map(arena, NULL, NULL);
    put_used(arena, map, &task->used);
    put(arena, map, "not_before", task->not_before_ms);
    if (task->began_ms && clocks_differ(task->started_ms, task->began_ms))
        put(arena, map, "began", task->began_ms);
    if (live_again(task))
        text_bool(arena, map, "again", true);
    if (task->phase == PHASE_UNPLACED)
        text_bool(arena, map, "wants_place", true);
    if (task->gave)
        text_bool(arena, map, "gave", true);
    if (task->failed_on) {
        text_str(arena, map, "failed_on", task->failed_on);
        put(arena, map, "failed_times", task->failed_times);
    }
    if (task->turned)
        text_bool(arena, map, "turned", true);
    return map->count ? row_json_print(arena, map) : NULL;
}

void row_json_read_task(struct arena *keep, struct arena *scratch, const char *text,
                        struct live_task *task)
{
    struct text_node *map = parse(scratch, text);
    read_used(map, &task->used);
    task->not_before_ms = text_number(map, "not_before");
    task->began_ms = text_number(map, "began");
    task->phase = text_flag(map, "wants_place") ? PHASE_UNPLACED
                  : text_flag(map, "again")     ? PHASE_BACKOFF
                                                : PHASE_OVER;
    task->gave = text_flag(map, "gave");
    task->turned = text_flag(map, "turned");
    const char *node = word(map, "failed_on");
    task->failed_on = node ? arena_strdup(keep, node) : NULL;
    task->failed_times = (uint32_t)text_number(map, "failed_times");
}

static void put_numbers(struct arena *arena, struct text_node *list, const uint32_t *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        text_int(arena, list, NULL, at[i]);
}

const char *row_json_of_place(struct arena *arena, const struct live_task *task)
{
    const struct task_place *place = &task->place;
    struct text_node *map = text_map(arena, NULL, NULL);
    put(arena, map, "seq", task->seq);
    text_str(arena, map, "address", place->address);
    if (place->n_gpus)
        put_numbers(arena, text_list(arena, map, "gpus"), place->gpus, place->n_gpus);
    put(arena, map, "share", place->gpu_share_milli);
    if (place->n_ports) {
        struct text_node *ports = text_list(arena, map, "ports");
        for (uint32_t i = 0; i < place->n_ports; i++) {
            struct text_node *port = text_map(arena, ports, NULL);
            text_str(arena, port, "label", place->ports[i].label);
            put_numbers(arena, text_list(arena, port, "numbers"), place->ports[i].numbers,
                        place->ports[i].count);
        }
    }
    return row_json_print(arena, map);
}

static uint32_t *read_numbers(struct arena *arena, const struct text_node *list, uint32_t *n)
{
    *n = 0;
    if (!list || list->kind != TEXT_LIST)
        return NULL;
    uint32_t *at = ARENA_ARRAY(arena, list->count, uint32_t);
    for (const struct text_node *item = list->first; item; item = item->next)
        at[(*n)++] = (uint32_t)item->integer;
    return at;
}

void row_json_read_place(struct arena *arena, struct arena *scratch, const char *text,
                         struct live_task *task)
{
    struct text_node *map = parse(scratch, text);
    struct task_place *place = &task->place;
    const char *address = word(map, "address");
    if (!map)
        return;
    task->seq = (uint32_t)text_number(map, "seq");
    place->address = arena_strdup(arena, address ? address : "");
    place->gpus = read_numbers(arena, text_get(map, "gpus"), &place->n_gpus);
    place->gpu_share_milli = (uint32_t)text_number(map, "share");
    const struct text_node *ports = text_get(map, "ports");
    place->n_ports = 0;
    if (!ports || ports->kind != TEXT_LIST)
        return;
    place->ports = ARENA_ARRAY(arena, ports->count, struct placed_port);
    for (const struct text_node *item = ports->first; item; item = item->next) {
        struct placed_port *port = &place->ports[place->n_ports++];
        const char *label = word(item, "label");
        port->label = arena_strdup(arena, label ? label : "");
        port->numbers = read_numbers(arena, text_get(item, "numbers"), &port->count);
    }
}

const char *row_json_of_site(struct arena *arena, const struct site_record *site)
{
    struct text_node *map = text_map(arena, NULL, NULL);
    if (site->work_dir)
        text_str(arena, map, "work_dir", site->work_dir);
    if (site->code_dir)
        text_str(arena, map, "code_dir", site->code_dir);
    if (site->output_dir)
        text_str(arena, map, "output_dir", site->output_dir);
    if (site->file)
        text_str(arena, map, "file", site->file);
    if (site->account)
        account_put(arena, map, site->account);
    if (site->python)
        text_str(arena, map, "python", site->python);
    if (site->python_from)
        text_str(arena, map, "python_from", site->python_from);
    if (site->wait_for_nodes)
        text_bool(arena, map, "wait_for_nodes", true);
    put_runtime(arena, map, site->runtime);
    put(arena, map, "parent", site->parent);
    if (site->warnings && site->warnings->count)
        text_copy(arena, map, "warnings", site->warnings);
    if (site->differs && site->differs->count)
        text_copy(arena, map, "differs", site->differs);
    return row_json_print(arena, map);
}

void row_json_read_site(struct arena *arena, const char *text, struct site_record *site)
{
    struct text_node *map = parse(arena, text);
    *site = (struct site_record){ .work_dir = word(map, "work_dir"),
                                  .code_dir = word(map, "code_dir"),
                                  .output_dir = word(map, "output_dir"),
                                  .file = word(map, "file"),
                                  .account = account_find(arena, map),
                                  .python = word(map, "python"),
                                  .python_from = word(map, "python_from"),
                                  .wait_for_nodes = text_flag(map, "wait_for_nodes"),
                                  .runtime = runtime_named(word(map, "runtime")),
                                  .parent = text_number(map, "parent"),
                                  .warnings = map ? text_get(map, "warnings") : NULL,
                                  .differs = map ? text_get(map, "differs") : NULL };
}
