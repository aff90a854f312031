/* The simulated server: one core after another on the same disk, with the same agents. When
 * it dies its memory goes, and the disk is what a crash leaves of it. */
#include "ctl/test/faults/trial.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "clock/steady_clock.h"
#include "ctl/clock.h"
#include "ctl/core.h"
#include "ctl/test/faults/pool.h"
#include "ctl/test/world.h"
#include "store/disk.h"
#include "store/seal.h"

#include <malloc.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct node_spec nodes[] = {
    { .name = "n1",
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
      .gpus = 1,
      .gpu_type = "A" },
    { .name = "n3",
      .address = "127.0.0.4",
      .host = "i",
      .cpu_milli = 2000,
      .memory = 16ull << 30,
      .disk = 1ull << 40,
      .gpus = 1,
      .gpu_type = "A" },
    { .name = "m1",
      .address = "10.0.0.1",
      .host = "m1",
      .cpu_milli = 2000,
      .memory = 16ull << 30,
      .disk = 1ull << 40,
      .gpus = 1,
      .gpu_type = "A",
      .machine = true },
    { .name = "m2",
      .address = "10.0.0.2",
      .host = "m2",
      .cpu_milli = 1000,
      .memory = 16ull << 30,
      .disk = 1ull << 40,
      .gpu_type = "A",
      .machine = true },
};
#define MACHINES 2u /* of them; the others are of the configuration */

void trial_wrong(struct trial *t, const char *fmt, ...)
{
    va_list args;
    if (*t->wrong)
        return;
    va_start(args, fmt);
    vsnprintf(t->wrong, sizeof t->wrong, fmt, args);
    va_end(args);
}

void trial_say(struct trial *t, const char *fmt, ...)
{
    va_list args;
    if (!t->trace)
        return;
    va_start(args, fmt);
    printf("%4u %lld ", t->steps, (long long)(t->now_ms - t->begun_ms));
    vprintf(fmt, args);
    printf("\n");
    fflush(stdout);
    va_end(args);
}

static uint64_t now(void *arg)
{
    return ((struct trial *)arg)->now_ms;
}

static uint64_t mono(void *arg)
{
    return ((struct trial *)arg)->mono_us;
}

static void wake(void *arg, uint64_t at_ms)
{
    struct trial *t = arg;
    uint64_t now_is = t->ctl ? core_now(t->ctl) : 0;
    uint64_t due = t->mono_us + (t->ctl && at_ms > now_is ? (at_ms - now_is) * 1000 : 0);
    if (!t->wakes || due < t->due_us)
        t->due_us = due;
    t->wakes = true;
}

static bool open_store(struct trial *t, struct err *err)
{
    bool fits;
    t->store = store_open(t->db, err);
    struct seal *seal = t->store ? seal_open(t->key, store_has_sealed(t->store), err) : NULL;
    return seal && store_use_seal(t->store, seal, &fits, err) == 0;
}

/* Of one boot of the machine, the difference of the two clocks is what it was. */
static bool resume_clock(struct trial *t, struct clock_start *out, struct err *err)
{
    uint64_t up_ms = t->mono_us / 1000;
    snprintf(t->boot_id, sizeof t->boot_id, "boot-%u", t->boot);
    if (clock_resume(t->store, t->boot_id, t->now_ms, up_ms, out, err) < 0 || t->crash.dead)
        return false;
    if (t->based == t->boot && t->base_ms != out->base_ms)
        trial_wrong(t, "the clock goes on %lld ms from where it was",
                    (long long)(out->base_ms - t->base_ms));
    t->based = t->boot;
    t->base_ms = out->base_ms;
    return true;
}

static void close_all(struct trial *t)
{
    t->bench->hooks.ctl = NULL;
    ctl_destroy(t->ctl);
    store_close(t->store);
    t->ctl = NULL;
    t->store = NULL;
    agents_lost_server(&t->agents);
}

static bool open_core(struct trial *t, struct err *err)
{
    static const struct words queues = { 0 };
    struct clock_start clock;
    if (!resume_clock(t, &clock, err))
        return false;
    const struct ctl_config config = { .store = t->store,
                                       .engine = &t->agents.base,
                                       .dialects = world_dialects(),
                                       .state_dir = t->state_dir,
                                       .admin = "root",
                                       .runs_dir = t->runs,
                                       .fs_uri = "file:///nowhere",
                                       .queues = &queues,
                                       .nodes = nodes,
                                       .n_nodes = ARRAY_LEN(nodes) - MACHINES,
                                       .slice = (uint32_t)(t->seed % 4), /* 0: more than any job */
                                       .port_first = 20000,
                                       .port_last = 20999,
                                       .keep_ms = 30ull * 24 * 3600 * 1000,
                                       .now = now,
                                       .now_arg = t,
                                       .mono = mono,
                                       .base_ms = clock.base_ms,
                                       .has_base = true,
                                       .boot = t->boot_id,
                                       .wake = wake,
                                       .wake_arg = t };
    t->wakes = false;
    t->ctl = ctl_create(&config, err);
    t->bench->hooks.ctl = t->ctl;
    if (!t->ctl || ctl_recover(t->ctl, err) < 0)
        return false;
    if (clock.rebooted)
        clock_tell_reboot(t->ctl, clock.away_ms);
    return true;
}

/* The first line in which two texts differ. */
static void compare(struct trial *t, const char *before, const char *loaded)
{
    while (*before && *loaded) {
        size_t a = strcspn(before, "\n"), b = strcspn(loaded, "\n");
        if (a != b || memcmp(before, loaded, a) != 0)
            break;
        before += a + (before[a] == '\n');
        loaded += b + (loaded[b] == '\n');
    }
    trial_wrong(t, "the state before the end: %.*s\n  and loaded: %.*s", (int)strcspn(before, "\n"),
                before, (int)strcspn(loaded, "\n"), loaded);
}

/* The records are loaded, and nothing has followed yet. */
static void recovered(void *arg)
{
    struct trial *t = arg;
    AUTO_BUF struct buf loaded = BUF_INIT((size_t)1 << 24);
    transitions_load(t->bench->hooks.transitions, t->store);
    if (t->before.len == 0)
        return;
    check_state(t, &loaded);
    if (strcmp(buf_str(&t->before), buf_str(&loaded)) != 0)
        compare(t, buf_str(&t->before), buf_str(&loaded));
    buf_clear(&t->before);
}

bool server_open(struct trial *t)
{
    struct err err = { 0 };
    t->crash.dead = false;
    t->starts++;
    t->agents.recovered = recovered;
    t->agents.arg = t;
    t->agents.nodes = nodes;
    t->agents.n_nodes = ARRAY_LEN(nodes);
    t->agents.n_fixed = ARRAY_LEN(nodes) - MACHINES;
    bool opened = open_store(t, &err) && open_core(t, &err);
    if (opened && !t->crash.dead) {
        trial_say(t, "server %u began", t->starts);
        return true;
    }
    trial_say(t, "server %u did not begin: %s", t->starts, t->crash.dead ? "it died" : err.what);
    if (!t->crash.dead && !t->faulty)
        trial_wrong(t, "the server does not start: %s", err.what);
    return false;
}

void server_die(struct trial *t, bool power)
{
    t->crash.dead = true;
    t->crash.in = 0;
    t->deaths++;
    close_all(t);
    if (power)
        disk_lose_power(&t->bench->disk);
}

void server_end(struct trial *t)
{
    close_all(t);
}

void server_turn(struct trial *t)
{
    t->agents.now_ms = t->now_ms;
    ctl_turn(t->ctl);
    if (!t->crash.dead && t->wakes && t->due_us <= t->mono_us) {
        t->wakes = false;
        ctl_tick(t->ctl);
    }
    if (!t->crash.dead)
        store_write_back(t->store);
}

/* ---- a process's trials ---- */

/* Smaller pages than in production: the log has as many frames, and its sums are done sooner. */
static void make_file(const char *path)
{
    sqlite3 *db;
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db, "PRAGMA page_size = 1024; CREATE TABLE t (x); DROP TABLE t;", NULL, NULL,
                     NULL) != SQLITE_OK)
        BUG("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* An empty state directory. What the store looks at beside SQLite sees a file that is not empty in
 * the database's place. */
static void set_paths(struct trial *t, struct bench *bench)
{
    struct err err;
    snprintf(t->state_dir, sizeof t->state_dir, "%s/state", bench->dir);
    snprintf(t->db, sizeof t->db, "%s/db", t->state_dir);
    snprintf(t->key, sizeof t->key, "%s/key", bench->dir);
    snprintf(t->runs, sizeof t->runs, "%s/runs", t->state_dir);
    file_remove_tree(t->state_dir, NULL);
    if (file_mkdirs(t->state_dir, 0700, &err) || file_replace(t->db, "x", 1, 0600, &err))
        BUG("%s", err.what);
}

static void make_empty(struct bench *bench)
{
    struct trial t = { .bench = bench };
    struct err err = { 0 };
    struct hooks *hooks = hooks_set(&bench->hooks);
    bench->hooks.crash = &t.crash;
    bench->disk.crash = &t.crash;
    bench->disk.dice = &t.dice;
    disk_begin(&bench->disk, NULL);
    set_paths(&t, bench);
    make_file(t.db);
    if (!open_store(&t, &err))
        BUG("%s", err.what);
    store_close(t.store);
    disk_keep(&bench->disk, &bench->empty);
    hooks_set(hooks);
}

void bench_init(struct bench *bench)
{
    *bench = (struct bench){ .disk = { .full = false } };
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    pool_install();
    mallopt(M_TRIM_THRESHOLD, 1 << 30); /* what one trial frees, the next one needs */
    hooks_random(1);
    world_dir(bench->dir);
    log_set_level(LOG_ERROR);
    disk_register(&bench->disk);
    bench->hooks.disk = &bench->disk;
    bench->hooks.transitions = transitions_create();
    bench->hooks.coverage = &bench->coverage;
    make_empty(bench);
}

void bench_fini(struct bench *bench)
{
    file_remove_tree(bench->dir, NULL);
    transitions_destroy(bench->hooks.transitions);
    disk_fini(&bench->disk);
    disk_image_fini(&bench->empty);
}

static void begin(struct trial *t, struct bench *bench, uint64_t seed, bool trace)
{
    *t = (struct trial){ .bench = bench, .seed = seed, .trace = trace };
    t->dice.state = hash_u64(seed + 1);
    t->now_ms = t->begun_ms = 1700000000000ull + seed % 1000;
    t->mono_us = 1000000;
    t->boot = 1;
    set_paths(t, bench);
    buf_init(&t->before, (size_t)1 << 24);
    hooks_random(seed);
    sqlite3_randomness(0, NULL); /* from its beginning again */
    bench->disk.crash = bench->hooks.crash = &t->crash;
    bench->disk.dice = &t->dice;
    bench->hooks.dice.state = seed;
    bench->disk.skips_syncs = bench->hooks.planted == PLANTED_SKIPPED_SYNC;
    transitions_clear(bench->hooks.transitions);
    bench->hooks.strayed = (struct strayed){ .from = PHASE_OVER };
    disk_begin(&bench->disk, &bench->empty);
    agents_init(&t->agents, &t->crash, &t->dice);
    for (size_t i = ARRAY_LEN(nodes) - MACHINES; i < ARRAY_LEN(nodes); i++)
        t->agents.state[i].gone = dice_below(&t->dice, 2);
    t->agents.seed = hash_u64(seed);
    t->agents.trace = trace;
    clients_init(&t->clients, &t->crash, &t->dice);
}

bool trial_run(struct trial *t, struct bench *bench, uint64_t seed, bool trace)
{
    struct hooks *hooks = hooks_set(&bench->hooks);
    begin(t, bench, seed, trace);
    static const unsigned pages[] = { 0, 0, 20, 100 };
    static const unsigned bad[] = { 5, 20, 20, 60 };
    bench->hooks.checkpoints = pages[dice_below(&t->dice, (uint32_t)ARRAY_LEN(pages))];
    t->agents.bad = bad[dice_below(&t->dice, (uint32_t)ARRAY_LEN(bad))];
    if (server_open(t)) {
        steps_run(t);
        if (!*t->wrong)
            steps_quiet(t);
        if (!*t->wrong)
            check_end(t);
    }
    t->digest = hash_u64(t->dice.state + t->steps);
    for (size_t i = 0; i < t->seen.n; i++)
        t->digest = hash_u64(t->digest + t->seen.at[i].hash);
    close_all(t);
    hooks_set(hooks);
    return *t->wrong == '\0';
}

void trial_fini(struct trial *t)
{
    agents_fini(&t->agents);
    buf_fini(&t->before);
    vec_fini(&t->seen);
}
