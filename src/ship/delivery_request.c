/* The question to the child is an argument of the program, in JSON. It is not secret: credentials
 * are none of it. */
#include "ship/delivery_request.h"

#include "answer/archives.h"
#include "base/buf.h"
#include "base/mem.h"
#include "ship/backup_file.h"
#include "ship/deliver.h"
#include "text/json.h"

#include <inttypes.h>
#include <string.h>

#define ANSWER_MAX ((size_t)64 << 10)
#define ASK_MAX    ((size_t)100 << 10) /* an argument of a program has at most 128 KiB */
#define MARKS_MOST 4000u

static void put_reach(struct arena *a, struct text_node *map, const struct store_reach *reach)
{
    char text[AUDIT_MARK_TEXT];
    text_int(a, map, "event", (int64_t)reach->event);
    text_int(a, map, "number", (int64_t)reach->number);
    text_int(a, map, "job_id", (int64_t)reach->job_id);
    text_int(a, map, "silent", (int64_t)reach->silent);
    text_str(a, map, "audit", audit_mark_text(text, &reach->audit));
    text_int(a, map, "version", reach->version);
}

static void put_code(const struct shipper_config *config, struct arena *a, struct text_node *ask)
{
    uint64_t *marks;
    size_t n = answer_code_marks(config->ctl, a, &marks);
    struct text_node *list = text_list(a, ask, "code");
    text_bool(a, ask, "all_code", n > MARKS_MOST);
    for (size_t i = 0; i < n && n <= MARKS_MOST; i++)
        text_str(a, list, NULL, arena_printf(a, "%015" PRIx64, marks[i]));
}

static char *make_ask(const struct shipper_config *config, const struct delivery_request *e)
{
    struct arena *a = arena_create();
    struct buf text = BUF_INIT(ASK_MAX);
    struct text_node *root = text_map(a, NULL, NULL);
    text_str(a, root, "what", e->what);
    text_str(a, root, "target", config->place.where);
    text_str(a, root, "endpoint", config->place.endpoint);
    text_str(a, root, "region", config->place.region);
    text_int(a, root, "limit_ms", (int64_t)e->limit_ms);
    text_str(a, root, "state_dir", config->state_dir);
    text_str(a, root, "muster", config->version);
    text_str(a, root, "seal_key", config->seal_key);
    text_int(a, root, "keep", (int64_t)config->keep);
    text_int(a, root, "chain", (int64_t)e->chain);
    text_int(a, root, "number", (int64_t)e->number);
    if (e->ends) {
        put_reach(a, text_map(a, root, "records"), e->ends);
        put_code(config, a, root);
    }
    json_print(root, 0, &text);
    arena_destroy(a);
    return buf_take(&text);
}

struct child *delivery_request_start(const struct shipper_config *config,
                                     const struct delivery_request *e, child_done *done, void *arg,
                                     struct err *err)
{
    AUTO_FREE char *ask = make_ask(config, e);
    char *args[] = { (char *)DELIVER_NAME, ask, NULL };
    const struct child_line line = { .program = config->program,
                                     .args = args,
                                     .input = e->input,
                                     .text_max = ANSWER_MAX,
                                     .limit_ms = e->limit_ms };
    return child_start(config->loop, &line, done, arg, err);
}

const struct text_node *delivery_request_answer(const struct shipper_config *config,
                                                struct arena *a, const struct child_end *end,
                                                bool *anew, struct err *err)
{
    struct report report;
    report_init(&report, a);
    const struct text_node *root =
        end->good ? json_parse(a, end->text, end->len, 0, &report) : NULL;
    const struct text_node *error = text_get(root, "error"), *begin = text_get(root, "anew");
    *anew = begin && begin->boolean;
    if (root && !error)
        return root;
    if (error)
        err_set(err, ERR_UNAVAILABLE, "%s", text_word(error, "what"));
    else
        err_set(err, ERR_UNAVAILABLE, "%s: writing there %s", config->place.where,
                end->killed ? "took too long" : "ended without an answer");
    if (error && *text_word(error, "hint"))
        err_hint(err, "%s", text_word(error, "hint"));
    return NULL;
}
