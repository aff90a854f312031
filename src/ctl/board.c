/* The board of a job: small values its tasks leave for each other (where a task serves, who owns a
 * queue). Rows of the store, so that a server that was killed still has them; emptied when a
 * generation begins and when the job ends, because what they say is of processes. */
#include "account/rights.h"
#include "ctl/core.h"
#include "ctl/results.h"

#include <string.h>

#define KIND        "board"
#define KEY_MAX     256u
#define VALUE_MAX   (64u << 10)
#define ENTRIES_MAX (2u * JOB_MAX_TASKS)

static struct object_row row_of(char id[JOB_ID_TEXT], uint64_t job, const char *key)
{
    return (struct object_row){ .kind = KIND, .project = job_id_format(id, job), .name = key };
}

/* The live job, when it is the asker's. */
static struct live_job *board_of(struct ctl *ctl, const char *owner, uint64_t id, struct err *err)
{
    struct live_job *job = live_find(ctl->live, id);
    if (!job || !job_state_holds(job->row.state)) {
        err_set(err, ERR_NOT_FOUND, "the job does not run: it has no board");
        return NULL;
    }
    return taped_right(ctl, check_may_change(ctl->accounts, owner, &job->row, err), err) ? NULL
                                                                                         : job;
}

void board_clear(struct ctl *ctl, struct live_job *job)
{
    char id[JOB_ID_TEXT];
    if (job->on_board)
        store_drop_objects(ctl->config.store, KIND, job_id_format(id, job->row.id), NULL);
    job->on_board = 0;
    ctl->board_touched = true;
}

static int fits(const struct live_job *job, const struct ctl_board *ask, struct err *err)
{
    if (!ask->key || !*ask->key || strlen(ask->key) > KEY_MAX) {
        err_set(err, ERR_INPUT, "key has %zu bytes", ask->key ? strlen(ask->key) : (size_t)0);
        return err_hint(err, "key=NAME of 1 to %u bytes", KEY_MAX);
    }
    if (ask->len > VALUE_MAX) {
        err_set(err, ERR_INPUT, "the value has %zu bytes, the most is %u", ask->len, VALUE_MAX);
        return err_hint(err, "leave it in a file, and its path on the board");
    }
    if (strlen(ask->value) != ask->len)
        return err_set(err, ERR_INPUT, "the value is no text: it holds a zero byte");
    if (job->on_board >= ENTRIES_MAX)
        return err_set(err, ERR_CANNOT, "the board of job %llu is full: %u entries",
                       (unsigned long long)job->row.number, ENTRIES_MAX);
    return 0;
}

void ctl_board_put(struct ctl *ctl, const struct ctl_board *ask, ctl_done *done, void *arg)
{
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_BOARD, .board = ask });
    struct answer *answer = turn_answer(ctl, done, arg);
    struct live_job *job = board_of(ctl, ask->owner, ask->job, &answer->err);
    char id[JOB_ID_TEXT];
    answer->writes = true;
    if (!job || fits(job, ask, &answer->err))
        return;
    struct object_row row = row_of(id, ask->job, ask->key);
    bool known = store_get_object(ctl->config.store, answer->arena, &row, NULL) == 1;
    row.spec = ask->value;
    row.version = known ? row.version + 1 : 1;
    store_put_object(ctl->config.store, &row, NULL);
    job->on_board += !known;
    ctl->board_touched = true;
    struct board_entry *entry = ARENA_NEW(answer->arena, struct board_entry);
    *entry = (struct board_entry){ .key = arena_strdup(answer->arena, ask->key),
                                   .version = row.version };
    answer->made.entry = entry;
}

static struct board_entry entry_of(const struct object_row *row)
{
    return (struct board_entry){ row->name, row->spec, row->version };
}

int ctl_board_get(struct ctl *ctl, struct arena *arena, const struct ctl_board *ask,
                  struct board_entry *entry, struct err *err)
{
    char id[JOB_ID_TEXT];
    *entry = (struct board_entry){ 0 };
    if (!board_of(ctl, ask->owner, ask->job, err))
        return -1;
    struct object_row row = row_of(id, ask->job, ask->key);
    if (store_get_object(ctl->config.store, arena, &row, NULL) == 1 && row.version > ask->after)
        *entry = entry_of(&row);
    return 0;
}

int ctl_board_view(struct ctl *ctl, struct arena *arena, const struct ctl_board *ask,
                   struct board_list *list, struct err *err)
{
    char id[JOB_ID_TEXT];
    const struct object_row of = row_of(id, ask->job, NULL);
    struct object_row *rows;
    size_t n = 0;
    if (!board_of(ctl, ask->owner, ask->job, err) ||
        store_objects(ctl->config.store, arena, &of, &rows, &n, err) < 0)
        return -1;
    *list = (struct board_list){ .at = ARENA_ARRAY(arena, n, struct board_entry) };
    for (; list->n < n; list->n++)
        list->at[list->n] = entry_of(&rows[list->n]);
    return 0;
}

void board_load(struct ctl *ctl, struct live_job *job)
{
    char id[JOB_ID_TEXT];
    struct arena *arena = arena_create();
    const struct object_row of = row_of(id, job->row.id, NULL);
    struct object_row *rows;
    size_t n = 0;
    if (store_objects(ctl->config.store, arena, &of, &rows, &n, NULL) == 0)
        job->on_board = (uint32_t)n;
    arena_destroy(arena);
}
