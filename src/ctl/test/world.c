/* The world for tests of the core: opens the core over a real store, counts its answers, moves its
 * clock. A crash ends the core without closing anything; agents live on. */
#include "ctl/test/world.h"

#include "answer/cluster_views.h"
#include "answer/jobs.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/seal.h"

#include <stdio.h>
#include <string.h>

/* ---- a dialect that is the canonical form ---- */

static int plain_detect(const struct text_node *root)
{
    return text_get(root, "roles") ? 50 : 0;
}

static struct job_spec *plain_read(struct arena *arena, const struct text_node *root,
                                   const struct site *site, struct report *report)
{
    (void)site;
    return job_decode(arena, root, report);
}

static const char *const plain_secrets[] = { "roles.*.env.*", NULL };
static const struct dialect plain = { .name = "plain",
                                      .title = "plain",
                                      .detect = plain_detect,
                                      .read = plain_read,
                                      .secrets = plain_secrets };

static void plain_env(struct arena *arena, const struct job_spec *spec,
                      const struct job_place *place, uint32_t flat, const struct site *site,
                      struct pairs *out)
{
    (void)site;
    pairs_setf(out, arena, "ROLE", "%s", spec->roles[place->tasks[flat].role].name);
    pairs_setf(out, arena, "ATTEMPT", "%u", place->tasks[flat].attempt);
}

static struct end_words plain_classify(const struct job_spec *spec, const struct ending *end)
{
    (void)spec;
    enum end_class class = END_UNKNOWN;
    if (end->exited && end->code == 0)
        class = END_SUCCESS;
    else if (end->by == BY_USER || end->by == BY_POLICY)
        class = END_STOPPED;
    else if (end->by == BY_CONFLICT)
        class = END_CONFLICT;
    else if (end->lost || end->by == BY_PLATFORM)
        class = END_PLATFORM;
    else if (end->exited && end->code == 7)
        class = END_USER;
    return (struct end_words){
        .class = class, .code = end->code, .phrase = "PHRASE", .text = "it ended"
    };
}

static const char *plain_job_word(enum job_state state, bool running)
{
    (void)running;
    return job_state_word(state);
}

static const struct convention plain_convention = { .name = "plain",
                                                    .env = plain_env,
                                                    .classify = plain_classify,
                                                    .job_word = plain_job_word,
                                                    .task_word = task_state_word };
static const struct dialect *const dialect_list[] = { &plain };
static const struct convention *const convention_list[] = { &plain_convention };
static const struct dialects dialects = { .at = dialect_list,
                                          .n = 1,
                                          .conventions = convention_list,
                                          .n_conventions = 1,
                                          .native = &plain_convention };

/* ---- the world ---- */

static uint64_t now(void *arg)
{
    return ((struct world *)arg)->now;
}

static void wake(void *arg, uint64_t at_ms)
{
    struct world *w = arg;
    if (w->wake == 0 || at_ms < w->wake)
        w->wake = at_ms;
}

static int script(void *arg, uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    struct world *w = arg;
    return w->by_attempt ? w->by_attempt(job, role, index, attempt) : w->code_all;
}

static void open_all(struct world *w)
{
    struct err err = { 0 };
    w->store = store_open(w->db, &err);
    AUTO_FREE char *key = file_join(w->dir, "identity.key");
    struct seal *seal = w->store ? seal_open(key, store_has_sealed(w->store), &err) : NULL;
    bool fits;
    if (!seal || store_use_seal(w->store, seal, &fits, &err))
        BUG("store: %s", err.what);
    struct ctl_config config = { .store = w->store,
                                 .engine = &w->fake.base,
                                 .dialects = &dialects,
                                 .state_dir = w->dir,
                                 .runs_dir = w->runs,
                                 .fs_uri = "file:///nowhere",
                                 .queues = &w->queues,
                                 .nodes = w->nodes,
                                 .n_nodes = w->n_nodes,
                                 .port_first = 20000,
                                 .port_last = 20999,
                                 .keep_ms = 30ull * 24 * 3600 * 1000,
                                 .now = now,
                                 .now_arg = w,
                                 .wake = wake,
                                 .wake_arg = w };
    w->wake = 0;
    if (w->hooks.before)
        w->hooks.before(w, &config);
    w->ctl = ctl_create(&config, &err);
    if (w->ctl && w->hooks.after)
        w->hooks.after(w, &config);
    if (!w->ctl || ctl_recover(w->ctl, &err))
        BUG("ctl: %s", err.what);
}

static const struct node_spec two_nodes[] = { { .name = "n1",
                                                .address = "127.0.0.2",
                                                .host = "h",
                                                .cpu_milli = 4000,
                                                .memory = 16ull << 30,
                                                .disk = 1ull << 40,
                                                .gpus = 2,
                                                .gpu_type = "A" },
                                              { .name = "n2",
                                                .address = "127.0.0.3",
                                                .host = "h",
                                                .cpu_milli = 4000,
                                                .memory = 16ull << 30,
                                                .disk = 1ull << 40,
                                                .gpus = 2,
                                                .gpu_type = "A" } };

const struct dialects *world_dialects(void)
{
    return &dialects;
}

void world_dir(char dir[WORLD_DIR])
{
    static const char *const parents[] = { "/dev/shm", "/tmp" };
    for (size_t i = 0; i < ARRAY_LEN(parents); i++) {
        snprintf(dir, WORLD_DIR, "%s/muster-ctl-XXXXXX", parents[i]);
        if (mkdtemp(dir))
            return;
    }
    BUG("mkdtemp");
}

void world_init(struct world *w)
{
    world_init_with(w, (struct world_hooks){ .before = NULL }, NULL);
}

void world_init_with(struct world *w, struct world_hooks hooks, void *hooked)
{
    *w = (struct world){ .hooks = hooks,
                         .hooked = hooked,
                         .now = 1700000000000ull,
                         .nodes = (struct node_spec *)(uintptr_t)two_nodes,
                         .n_nodes = 2 };
    world_dir(w->dir);
    snprintf(w->runs, sizeof w->runs, "%s/runs", w->dir);
    snprintf(w->db, sizeof w->db, "%s/db", w->dir);
    log_set_level(LOG_ERROR);
    fake_init(&w->fake, script, w);
    open_all(w);
}

void world_fini(struct world *w)
{
    if (w->hooks.closing)
        w->hooks.closing(w, false);
    ctl_destroy(w->ctl);
    store_close(w->store);
    fake_fini(&w->fake);
    file_remove_tree(w->dir, NULL);
}

void world_crash(struct world *w)
{
    if (w->hooks.closing)
        w->hooks.closing(w, true);
    store_rollback(w->store);
    ctl_destroy(w->ctl);
    store_close(w->store);
    fake_cut(&w->fake);
    open_all(w);
}

static void done(void *arg, const struct ctl_answer *answer)
{
    struct world *w = arg;
    w->answers++;
    w->code = answer->err ? answer->err->code : ERR_NONE;
    snprintf(w->what, sizeof w->what, "%s", answer->err ? answer->err->what : "");
    snprintf(w->hint, sizeof w->hint, "%s", answer->err ? answer->err->hint : "");
    w->job = answer->err ? 0 : answer->job;
    w->warnings = answer->report ? answer->report->warnings : 0;
    w->errors = answer->report ? answer->report->errors : 0;
}

uint64_t world_submit_as(struct world *w, const struct submission *ask)
{
    w->job = 0;
    ctl_submit(w->ctl, ask, done, w);
    ctl_turn(w->ctl);
    return w->job;
}

uint64_t world_submit(struct world *w, const char *text)
{
    return world_submit_as(
        w, &(struct submission){ .owner = "ada", .text = text, .len = strlen(text) });
}

void world_command_as(struct world *w, const char *owner, uint64_t job, enum ctl_verb verb)
{
    ctl_command(w->ctl, owner, job, verb, done, w);
    ctl_turn(w->ctl);
}

void world_command(struct world *w, uint64_t job, enum ctl_verb verb)
{
    world_command_as(w, "ada", job, verb);
}

bool world_step(struct world *w)
{
    w->fake.now = w->now;
    bool any = fake_step(&w->fake);
    ctl_turn(w->ctl);
    if (w->wake && w->wake <= w->now) {
        w->wake = 0;
        ctl_tick(w->ctl);
        any = true;
    }
    return any;
}

void world_run(struct world *w)
{
    for (int i = 0; i < 10000; i++)
        if (!world_step(w))
            return;
    BUG("the world never comes to rest");
}

void world_pass(struct world *w, uint64_t ms)
{
    uint64_t end = w->now + ms;
    while (w->now < end) {
        w->now = w->wake && w->wake < end ? (w->wake > w->now ? w->wake : w->now + 1) : end;
        world_run(w);
    }
}

static struct job_row row_of(struct world *w, struct arena *arena, uint64_t job)
{
    struct job_row row = { 0 };
    store_get_job(w->store, arena, job, &row, NULL);
    return row;
}

enum job_state world_state(struct world *w, uint64_t job)
{
    struct arena *arena = arena_create();
    enum job_state state = row_of(w, arena, job).state;
    arena_destroy(arena);
    return state;
}

const char *world_reason(struct world *w, uint64_t job)
{
    static char text[400];
    struct arena *arena = arena_create();
    struct job_view view;
    bool there = answer_job_view(w->ctl, arena, &(struct job_ask){ .job = job, .owner = "ada" },
                                 &view, NULL) == 0;
    snprintf(text, sizeof text, "%s", there && view.reason ? view.reason : "");
    arena_destroy(arena);
    return text;
}

uint64_t world_used(struct world *w)
{
    const struct stats_view stats = answer_stats_view(w->ctl);
    return stats.cpu_used_milli + stats.gpu_used_milli;
}

const char *world_events(struct world *w, uint64_t job)
{
    static char text[4096];
    struct arena *arena = arena_create();
    struct event_row *rows;
    size_t n = 0, used = 0;
    struct event_range range = { .job = job, .limit = 10000 };
    text[0] = '\0';
    store_events(w->store, arena, &range, &rows, &n, NULL);
    for (size_t i = 0; i < n && used < sizeof text - 64; i++)
        if (!rows[i].has_task)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "",
                                     rows[i].type);
    arena_destroy(arena);
    return text;
}

unsigned world_count(struct world *w, uint64_t job, const char *type)
{
    struct arena *arena = arena_create();
    struct event_row *rows;
    size_t n = 0;
    unsigned found = 0;
    struct event_range range = { .job = job, .limit = 10000 };
    store_events(w->store, arena, &range, &rows, &n, NULL);
    for (size_t i = 0; i < n; i++)
        found += strcmp(rows[i].type, type) == 0;
    arena_destroy(arena);
    return found;
}

uint32_t world_attempts(struct world *w, uint64_t job)
{
    struct arena *arena = arena_create();
    struct attempt_row *rows;
    size_t n = 0;
    store_attempts(w->store, arena, job, &rows, &n, NULL);
    arena_destroy(arena);
    return (uint32_t)n;
}
