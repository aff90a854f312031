/* The core's side of documents and boards: rights as a recording has them, changes in a turn,
 * events for those who follow. A recording has which documents were put and removed, not what they
 * say, and none of those that were there before: they decide nothing. */
#include "ctl/document_work.h"

#include "account/rights.h"
#include "ctl/core.h"
#include "documents/board.h"
#include "documents/documents.h"
#include "rdzv/jobs/launcher_events.h"
#include "secret/secrets.h"

const struct documents *ctl_documents(struct ctl *ctl)
{
    return ctl->documents;
}

/* ---- what documents ask of the core ---- */

static uint64_t date(const void *ctl)
{
    return core_date(ctl);
}

static int row(void *ctl, struct arena *arena, uint64_t job, struct job_row *out)
{
    return core_lean_row(ctl, arena, job, out);
}

static int checked(void *ctl, int rc, struct err *err)
{
    return taped_outside(ctl, OUTSIDE_DOCUMENTS, rc, err);
}

static int hold(void *arg, uint64_t id, const char *by, bool hold, struct err *err)
{
    struct ctl *ctl = arg;
    struct live_job *job = live_find(ctl->live, id);
    if (!job || job_state_final(job->row.state))
        return err_set(err, ERR_CONFLICT, "the job has ended");
    return command_suspend(ctl, job, by, hold, err);
}

static uint64_t write_event(void *ctl, uint64_t job, const char *type, struct text_node *body)
{
    return event_plain(ctl, job, type, body);
}

static void say(void *ctl, uint64_t job, const char *type, const char *text)
{
    event_note(ctl, &(struct launcher_event){ .job = job, .text = text }, type);
}

static void secret(void *arg, const char *owner, const char *all)
{
    const struct ctl *ctl = arg;
    secrets_changed(ctl->secrets, owner, NULL, all);
}

void document_work_begin(struct ctl *ctl)
{
    ctl->documents = documents_create(&(struct documents_config){ .store = ctl->config.store,
                                                                  .accounts = ctl->accounts,
                                                                  .server = { .arg = ctl,
                                                                              .date = date,
                                                                              .row = row,
                                                                              .checked = checked,
                                                                              .hold = hold,
                                                                              .event = write_event,
                                                                              .say = say,
                                                                              .secret = secret } });
}

void document_work_end(struct ctl *ctl)
{
    documents_destroy(ctl->documents);
}

void ctl_documents_put(struct ctl *ctl, const struct document_changes *ask, ctl_done *done,
                       void *arg)
{
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_OBJECTS, .objects = ask });
    struct answer *answer = turn_answer(ctl, done, arg);
    struct err err = { 0 };
    answer->writes = true;
    if (documents_put(ctl->documents, answer->arena, ask, &answer->job, &err)) {
        answer->err = err;
        return;
    }
    answer->tree = text_map(answer->arena, NULL, NULL);
    text_int(answer->arena, answer->tree, "n", (int64_t)ask->n);
}

/* ---- boards ---- */

/* The live job, when it is the asker's. */
static struct live_job *board_of(struct ctl *ctl, const struct board_request *ask, struct err *err)
{
    struct live_job *job = live_find(ctl->live, ask->job);
    if (!job || !job_state_holds(job->row.state)) {
        err_set(err, ERR_NOT_FOUND, "the job does not run: it has no board");
        return NULL;
    }
    int may = taped_right(ctl, check_may_change(ctl->accounts, ask->owner, &job->row, err), err);
    return may ? NULL : job;
}

void ctl_board_put(struct ctl *ctl, const struct board_request *ask, ctl_done *done, void *arg)
{
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_BOARD, .board = ask });
    struct answer *answer = turn_answer(ctl, done, arg);
    struct live_job *job = board_of(ctl, ask, &answer->err);
    struct board_entry *entry = ARENA_NEW(answer->arena, struct board_entry);
    answer->writes = true;
    if (!job || board_set(ctl->config.store, job, ask, &entry->version, &answer->err))
        return;
    ctl->board_touched = true;
    entry->key = arena_strdup(answer->arena, ask->key);
    answer->made.entry = entry;
}

int ctl_board_get(struct ctl *ctl, struct arena *arena, const struct board_request *ask,
                  struct board_entry *entry, struct err *err)
{
    *entry = (struct board_entry){ 0 };
    if (!board_of(ctl, ask, err))
        return -1;
    *entry = board_find(ctl->config.store, arena, ask);
    return 0;
}

int ctl_board_view(struct ctl *ctl, struct arena *arena, const struct board_request *ask,
                   struct board_list *list, struct err *err)
{
    if (!board_of(ctl, ask, err))
        return -1;
    return board_list(ctl->config.store, arena, ask->job, list, err);
}

void core_clear_board(struct ctl *ctl, struct live_job *job)
{
    board_clear(ctl->config.store, job);
    ctl->board_touched = true;
}
