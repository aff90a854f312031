/* Functions of the core and of the C library as the simulation's program has them: calls that may
 * kill the server, fail or be counted come by here. */
#include "ctl/test/faults/hooks.h"

#include "access/job_identity.h"
#include "base/hash.h"
#include "base/mem.h"
#include "ctl/account.h"
#include "ctl/core.h"
#include "ctl/silence_work.h"
#include "live/silence_bound.h"
#include "store/db.h"
#include "store/end_mark.h"

#include <errno.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define BALLAST ((size_t)8 << 20)

static struct hooks *hooks;
static struct dice randoms;

struct hooks *hooks_set(struct hooks *set)
{
    struct hooks *was = hooks;
    hooks = set;
    return was;
}

static bool planted(enum planted fault)
{
    return hooks && !hooks->crash->dead && hooks->planted == fault;
}

static bool alive(void)
{
    return hooks && !hooks->crash->dead;
}

/* ---- what would differ from run to run ---- */

static const char *random_name(void)
{
    return "simulated";
}

static uint32_t random_word(void)
{
    return (uint32_t)dice_roll(&randoms);
}

static void random_bytes(void *const out, const size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)out)[i] = (unsigned char)dice_roll(&randoms);
}

void hooks_random(uint64_t seed)
{
    static const struct randombytes_implementation simulated = { .implementation_name = random_name,
                                                                 .random = random_word,
                                                                 .buf = random_bytes };
    randoms.state = seed;
    randombytes_set_implementation((randombytes_implementation *)(uintptr_t)&simulated);
}

struct hash_seed __wrap_hash_seed_random(void);
struct hash_seed __wrap_hash_seed_random(void)
{
    return (struct hash_seed){ .k = { 1, 2 } };
}

/* ---- the disk beside the database ---- */

int __wrap_posix_fallocate64(int fd, off_t at, off_t len);
int __wrap_posix_fallocate64(int fd, off_t at, off_t len)
{
    (void)fd;
    (void)at;
    if (len < (off_t)BALLAST)
        return 0; /* of the end mark, which has its room since the disk is there */
    if (hooks && hooks->disk->full)
        return ENOSPC;
    if (hooks)
        hooks->disk->room = 0;
    return 0;
}

/* In this program the end mark alone is written so. */
ssize_t __wrap_pread64(int fd, void *out, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *out, size_t n, off_t at)
{
    (void)fd;
    return disk_read_mark(hooks->disk, out, n, (size_t)at);
}

ssize_t __wrap_pwrite64(int fd, const void *data, size_t n, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t n, off_t at)
{
    (void)fd;
    return disk_write_mark(hooks->disk, data, n, (size_t)at);
}

int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    (void)fd;
    return disk_sync_mark(hooks->disk);
}

void __real_store_release_ballast(struct store *);
void __wrap_store_release_ballast(struct store *);
void __wrap_store_release_ballast(struct store *store)
{
    __real_store_release_ballast(store);
    if (alive())
        hooks->disk->room = BALLAST;
}

int __real_end_cut(struct store *);
int __wrap_end_cut(struct store *);
int __wrap_end_cut(struct store *store)
{
    return hooks && hooks->planted == PLANTED_KEPT_COMMIT ? 0 : __real_end_cut(store);
}

uint32_t __real_wal_frames_most(void);
uint32_t __wrap_wal_frames_most(void);
uint32_t __wrap_wal_frames_most(void)
{
    return hooks && hooks->checkpoints ? hooks->checkpoints : __real_wal_frames_most();
}

/* ---- transitions ---- */

enum job_state __real_job_next_state(enum job_state from, enum job_event event);
enum job_state __wrap_job_next_state(enum job_state from, enum job_event event);
enum job_state __wrap_job_next_state(enum job_state from, enum job_event event)
{
    enum job_state next = __real_job_next_state(from, event);
    if (alive() && next != JOB_NONE)
        transition_seen(hooks->transitions, TABLE_JOB, from, event);
    return next;
}

enum task_state __real_task_next_state(enum task_state from, enum task_event event);
enum task_state __wrap_task_next_state(enum task_state from, enum task_event event);
enum task_state __wrap_task_next_state(enum task_state from, enum task_event event)
{
    enum task_state next = __real_task_next_state(from, event);
    if (alive() && next != TASK_NONE)
        transition_seen(hooks->transitions, TABLE_TASK, from, event);
    return next;
}

bool __real_phase_may(enum task_phase from, enum task_phase to);
bool __wrap_phase_may(enum task_phase from, enum task_phase to);
bool __wrap_phase_may(enum task_phase from, enum task_phase to)
{
    bool may = __real_phase_may(from, to);
    if (alive())
        transition_phase(hooks->coverage, from, to);
    if (alive() && !may && hooks->strayed.from == hooks->strayed.to)
        hooks->strayed = (struct strayed){ .from = from, .to = to };
    return may;
}

int __real_store_put_attempt(struct store *, const struct attempt_row *, struct err *);
int __wrap_store_put_attempt(struct store *, const struct attempt_row *, struct err *);
int __wrap_store_put_attempt(struct store *store, const struct attempt_row *row, struct err *err)
{
    if (alive())
        transition_attempt(hooks->transitions, row);
    return __real_store_put_attempt(store, row, err);
}

int __real_store_put_agent(struct store *, const struct agent_row *, struct err *);
int __wrap_store_put_agent(struct store *, const struct agent_row *, struct err *);
int __wrap_store_put_agent(struct store *store, const struct agent_row *row, struct err *err)
{
    if (alive())
        transition_agent(hooks->transitions, row);
    return __real_store_put_agent(store, row, err);
}

int __real_store_delete_agent(struct store *, uint64_t job, uint32_t generation, const char *node,
                              struct err *);
int __wrap_store_delete_agent(struct store *, uint64_t job, uint32_t generation, const char *node,
                              struct err *);
int __wrap_store_delete_agent(struct store *store, uint64_t job, uint32_t generation,
                              const char *node, struct err *err)
{
    const struct agent_row row = {
        .job = job, .generation = generation, .node = node, .state = AGENT_GONE
    };
    if (alive())
        transition_agent(hooks->transitions, &row);
    return __real_store_delete_agent(store, job, generation, node, err);
}

/* ---- planted faults ---- */

static void nobody(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    (void)answer;
}

static void answer_early(struct ctl *ctl)
{
    for (size_t i = 0; i < ctl->answers.n; i++) {
        struct answer *a = &ctl->answers.at[i];
        if (a->err.code != ERR_NONE)
            continue;
        a->done(a->arg, &(struct ctl_answer){ .tree = a->tree, .made = a->made, .job = a->job });
        a->done = nobody;
    }
}

static void ack_early(struct ctl *ctl)
{
    const struct engine_ops *ops = ctl->config.engine->ops;
    for (size_t i = 0; i < ctl->acks.n; i++)
        ops->ack(ctl->config.engine, ctl->acks.at[i].generation, ctl->acks.at[i].node,
                 ctl->acks.at[i].seq);
}

/* As far as the records will reach when this turn is committed. */
static void mark_early(const struct store *store)
{
    struct store then = *store;
    then.committed_event = store->event;
    then.committed_number = store->number;
    then.committed_job_id = store->job_id;
    then.committed_audit = store->audit;
    then.committed_silent = store->silent;
    end_note(&then);
}

int __real_store_commit(struct store *, struct err *);
int __wrap_store_commit(struct store *, struct err *);
int __wrap_store_commit(struct store *store, struct err *err)
{
    if (planted(PLANTED_EARLY_ANSWER) && hooks->ctl)
        answer_early(hooks->ctl);
    if (planted(PLANTED_EARLY_ACK) && hooks->ctl)
        ack_early(hooks->ctl);
    if (planted(PLANTED_EARLY_MARK))
        mark_early(store);
    int rc = __real_store_commit(store, err);
    if (rc == 0 && alive())
        transitions_committed(hooks->transitions, hooks->coverage);
    else if (hooks)
        transitions_undone(hooks->transitions);
    return rc;
}

void __real_facts_committed(struct ctl *);
void __wrap_facts_committed(struct ctl *);
void __wrap_facts_committed(struct ctl *ctl)
{
    if (planted(PLANTED_LOST_ACK) && dice_below(&hooks->dice, 40) == 0)
        vec_clear(&ctl->acks);
    __real_facts_committed(ctl);
}

void __real_facts_hear(struct ctl *, const struct engine_fact *);
void __wrap_facts_hear(struct ctl *, const struct engine_fact *);
void __wrap_facts_hear(struct ctl *ctl, const struct engine_fact *fact)
{
    struct engine_fact changed = *fact;
    const struct live_job *job = live_find(ctl->live, fact->generation.job);
    if (planted(PLANTED_OLD_FACTS) && job)
        changed.generation.number = job->row.generation;
    if (planted(PLANTED_SILENT_DEATH) && fact->kind == FACT_AGENT_SILENT)
        changed.kind = FACT_AGENT_GONE;
    __real_facts_hear(ctl, &changed);
}

void __real_core_restore_silence(struct ctl *, struct live_job *, const struct silence_memory *);
void __wrap_core_restore_silence(struct ctl *, struct live_job *, const struct silence_memory *);
void __wrap_core_restore_silence(struct ctl *ctl, struct live_job *job,
                                 const struct silence_memory *memory)
{
    if (!planted(PLANTED_FORGOTTEN_SILENCE))
        __real_core_restore_silence(ctl, job, memory);
    for (size_t i = 0; planted(PLANTED_RENEWED_SILENCE) && i < job->agents.n; i++)
        if (job->agents.at[i].silent_ms)
            job->agents.at[i].silent_ms = core_now(ctl);
}

void __real_core_recover_silence(struct ctl *);
void __wrap_core_recover_silence(struct ctl *);
void __wrap_core_recover_silence(struct ctl *ctl)
{
    if (!planted(PLANTED_TRUSTING_START))
        __real_core_recover_silence(ctl);
}

void __real_silence_end(struct live_job *, const char *node);
void __wrap_silence_end(struct live_job *, const char *node);
void __wrap_silence_end(struct live_job *job, const char *node)
{
    if (!planted(PLANTED_ENDLESS_SILENCE))
        __real_silence_end(job, node);
}

static void start_twice(struct live_job *job)
{
    for (uint32_t i = 0; job->tasks && i < job->row.tasks; i++) {
        struct live_task *task = &job->tasks[i];
        if (task->attempt_state != ATTEMPT_RUNNING || dice_below(&hooks->dice, 50))
            continue;
        task->phase = PHASE_PLACED; /* as no transition leads there */
        task->seq = ++job->launch_seq;
        live_count_tasks(job);
    }
}

void __real_launch_due(struct ctl *, struct live_job *);
void __wrap_launch_due(struct ctl *, struct live_job *);
void __wrap_launch_due(struct ctl *ctl, struct live_job *job)
{
    if (planted(PLANTED_DOUBLE_START))
        start_twice(job);
    __real_launch_due(ctl, job);
}

int __real_identify_by_job_token(const struct job_access *, struct arena *, const char *token,
                                 struct identity *, struct err *);
int __wrap_identify_by_job_token(const struct job_access *, struct arena *, const char *token,
                                 struct identity *, struct err *);
int __wrap_identify_by_job_token(const struct job_access *access, struct arena *arena,
                                 const char *token, struct identity *who, struct err *err)
{
    char id[14];
    uint64_t job;
    int rc = __real_identify_by_job_token(access, arena, token, who, err);
    if (rc == 0 || !planted(PLANTED_OLD_TOKEN) || sscanf(token, "mj.%13[0-9a-z].", id) != 1 ||
        !job_id_parse(id, &job))
        return rc;
    const struct live_job *live = live_find(access->live, job);
    uint32_t now = live ? live->row.generation : 0;
    return identify_by_job(access, arena, (struct generation){ .job = job, .number = now }, who,
                           err);
}
