/* Entries of boards as rows: their project is the job's id, their name the key. How many a job has
 * is counted with the live job, so that a full board is refused without a look at the rows. */
#include "documents/board.h"

#include "job/ids.h"
#include "live/live_job.h"
#include "store/store.h"

#include <string.h>

#define KIND        "board"
#define KEY_MAX     256u
#define VALUE_MAX   (64u << 10)
#define ENTRIES_MAX (2u * JOB_MAX_TASKS)

static struct object_row row_of(char id[JOB_ID_TEXT], uint64_t job, const char *key)
{
    return (struct object_row){ .kind = KIND, .project = job_id_format(id, job), .name = key };
}

void board_clear(struct store *store, struct live_job *job)
{
    char id[JOB_ID_TEXT];
    if (job->on_board)
        store_drop_objects(store, KIND, job_id_format(id, job->row.id), NULL);
    job->on_board = 0;
}

static int fits(const struct live_job *job, const struct board_request *ask, struct err *err)
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

int board_set(struct store *store, struct live_job *job, const struct board_request *ask,
              uint64_t *version, struct err *err)
{
    char id[JOB_ID_TEXT];
    if (fits(job, ask, err))
        return -1;
    struct arena *arena = arena_create();
    struct object_row row = row_of(id, job->row.id, ask->key);
    bool known = store_get_object(store, arena, &row, NULL) == 1;
    row.spec = ask->value;
    row.version = *version = known ? row.version + 1 : 1;
    store_put_object(store, &row, NULL);
    arena_destroy(arena);
    job->on_board += !known;
    return 0;
}

static struct board_entry entry_of(const struct object_row *row)
{
    return (struct board_entry){ row->name, row->spec, row->version };
}

struct board_entry board_find(struct store *store, struct arena *arena,
                              const struct board_request *ask)
{
    char id[JOB_ID_TEXT];
    struct object_row row = row_of(id, ask->job, ask->key);
    bool there = store_get_object(store, arena, &row, NULL) == 1 && row.version > ask->after;
    return there ? entry_of(&row) : (struct board_entry){ .version = 0 };
}

static int read_rows(struct store *store, struct arena *arena, uint64_t job,
                     struct object_row **rows, size_t *n, struct err *err)
{
    char id[JOB_ID_TEXT];
    const struct object_row of = row_of(id, job, NULL);
    *n = 0;
    return store_objects(store, arena, &of, rows, n, err);
}

int board_list(struct store *store, struct arena *arena, uint64_t job, struct board_list *list,
               struct err *err)
{
    struct object_row *rows;
    size_t n;
    if (read_rows(store, arena, job, &rows, &n, err) < 0)
        return -1;
    *list = (struct board_list){ .at = ARENA_ARRAY(arena, n, struct board_entry) };
    for (; list->n < n; list->n++)
        list->at[list->n] = entry_of(&rows[list->n]);
    return 0;
}

void board_load(struct store *store, struct live_job *job)
{
    struct arena *arena = arena_create();
    struct object_row *rows;
    size_t n;
    if (read_rows(store, arena, job->row.id, &rows, &n, NULL) == 0)
        job->on_board = (uint32_t)n;
    arena_destroy(arena);
}
