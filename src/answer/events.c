/* Events as answers: what a row of one says, in words that its reader may have, with the task that
 * it is about by name. */
#include "answer/events.h"

#include "account/redact.h"
#include "answer/tasks.h"
#include "job/old_sentence.h"
#include "live/row_json.h"
#include "store/store.h"
#include "text/json.h"

#include <string.h>

static struct text_node *parse(struct arena *arena, const char *text)
{
    struct report report;
    report_init(&report, arena);
    return text ? json_parse(arena, text, strlen(text), 0, &report) : NULL;
}

struct event_names { /* of the job the last event was about */
    uint64_t job, number;
    const struct job_spec *spec;
};

static void name_job(const struct contents *core, struct arena *arena, uint64_t id,
                     struct event_names *names)
{
    struct job_row row;
    if (names->job == id)
        return;
    *names = (struct event_names){ .job = id };
    if (core_row(core->ctl, arena, id, &row))
        return;
    names->number = row.number;
    names->spec = tasks_spec(core, arena, &row);
}

static const char *member(const struct text_node *body, const char *key)
{
    const struct text_node *node = body ? text_get(body, key) : NULL;
    return node && node->kind == TEXT_STR ? node->str : NULL;
}

/* What is said beside it is not said twice. */
static bool is_rest(struct reader *reader, const struct text_node *one)
{
    if (strcmp(one->key, EVICTED_FOR) == 0)
        return !reader_hides(reader, (uint64_t)one->integer);
    return strcmp(one->key, "state") != 0 && strcmp(one->key, "text") != 0;
}

static struct text_node *rest_of(struct reader *reader, const struct text_node *body)
{
    struct text_node *rest = text_map(reader->arena, NULL, NULL);
    for (const struct text_node *one = body ? body->first : NULL; one; one = one->next)
        if (is_rest(reader, one))
            text_copy(reader->arena, rest, one->key, one);
    return rest->count ? rest : NULL;
}

/* Its job, and what that is called, are the reader's to know already. */
static struct event_view event_of(const struct contents *core, struct reader *reader,
                                  const struct event_row *row, struct event_names *names)
{
    struct arena *arena = reader->arena;
    const struct text_node *body = parse(arena, row->body);
    const struct sentence said = recorded_sentence(arena, member(body, "text"), row->named);
    name_job(core, arena, row->job, names);
    struct event_view view = { .seq = row->seq,
                               .job = row->job,
                               .number = names->number,
                               .at_ms = row->at_ms,
                               .steady_ms = row->steady_ms,
                               .type = row->type,
                               .has_task = row->has_task,
                               .index = row->task.index,
                               .attempt = row->attempt,
                               .state = member(body, "state"),
                               .text = reader_text(reader, &said),
                               .body = rest_of(reader, body) };
    if (!row->has_task && view.state)
        view.job_state = job_state_parse(view.state);
    if (row->has_task && names->spec && row->task.role < names->spec->n_roles) {
        view.role = arena_strdup(arena, names->spec->roles[row->task.role].name);
        view.task = arena_printf(arena, "%s/%u", view.role, row->task.index);
    }
    return view;
}

int answer_events_view(struct ctl *ctl, struct arena *arena, const struct event_query *ask,
                       struct event_list *list, struct err *err)
{
    const struct contents core = ctl_contents(ctl);
    struct event_row *rows;
    size_t n = 0;
    struct event_names names = { 0 };
    struct event_range range = { .job = ask->job, .after = ask->after, .limit = ask->limit };
    struct reader reader = reader_of(core.accounts, arena, ask->reader);
    if (store_events(core.store, arena, &range, &rows, &n, err))
        return -1;
    *list = (struct event_list){ .at = ARENA_ARRAY(arena, n, struct event_view), .n = n };
    for (size_t i = 0; i < n; i++)
        list->at[i] = event_of(&core, &reader, &rows[i], &names);
    return 0;
}
