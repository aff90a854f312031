/* Facts of a real run of torchrun: fields, their order, what is null when. The agent's own end is
 * SUCCEEDED also when ranks failed: it is the agent that did its work. `timestamp` is 0 there. */
#include "launch/torch_events.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "launch/error_file.h"
#include "text/json.h"

#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES (4u << 20)
#define STATUS         "torchelastic.worker.status."

struct torch_events {
    const struct settings *settings;
    void (*say)(void *arg, const char *line, size_t len);
    void *arg;
    char host[256];
    uint64_t begun_us, joined_us; /* joined: 0 when no rendezvous is under way */
    uint32_t restarts;
    bool has_round;
    uint32_t group_rank, nodes, first_rank, role_first, role_world, n;
    uint32_t *pids;
};
/* What one event says beside the round. */
struct event {
    const char *state;
    const uint32_t *local_rank; /* NULL: of the agent */
    const char *error;          /* raw_error, or NULL */
    const int *code;            /* of a rank that failed, or NULL */
    const double *took_ms;      /* or NULL */
};

struct torch_events *torch_events_create(const struct settings *settings,
                                         void (*say)(void *arg, const char *line, size_t len),
                                         void *arg)
{
    if (!settings->events_on_console)
        return NULL;
    struct torch_events *events = mem_new(sizeof *events);
    *events = (struct torch_events){
        .settings = settings, .say = say, .arg = arg, .begun_us = clock_mono_us()
    };
    if (gethostname(events->host, sizeof events->host - 1) != 0)
        events->host[0] = '\0';
    return events;
}

void torch_events_destroy(struct torch_events *events)
{
    if (!events)
        return;
    free(events->pids);
    free(events);
}

/* ---- one event ---- */

static void put_number(struct arena *arena, struct text_node *map, const char *key, bool known,
                       int64_t value)
{
    if (known)
        (void)text_int(arena, map, key, value);
    else
        (void)text_null(arena, map, key);
}

static void put_text(struct arena *arena, struct text_node *map, const char *key, const char *value)
{
    if (value)
        (void)text_str(arena, map, key, value);
    else
        (void)text_null(arena, map, key);
}

/* A list of one, as Python's tuples become. */
static void put_single(struct arena *arena, struct text_node *map, const char *key, bool known,
                       int64_t value)
{
    put_number(arena, text_list(arena, map, key), NULL, known, value);
}

static const char *entry_point(const struct settings *settings)
{
    if (settings->kind == PROGRAM_RUN_PATH)
        return "run_script_path";
    const char *program = settings->kind == PROGRAM_BARE ? settings->script : settings->python;
    const char *slash = strrchr(program, '/');
    return slash ? slash + 1 : program;
}

/* More about a rank, as text of JSON in JSON. */
static const char *make_metadata(struct arena *arena, const struct torch_events *events,
                                 const struct event *event)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    struct text_node *map = text_map(arena, NULL, NULL);
    put_number(arena, map, "group_world_size", events->has_round, events->nodes);
    (void)text_str(arena, map, "entry_point", entry_point(events->settings));
    if (event->local_rank) {
        uint32_t local = *event->local_rank;
        put_single(arena, map, "local_rank", true, local);
        put_single(arena, map, "role_rank", true, events->role_first + local);
        put_single(arena, map, "role_world_size", true, events->role_world);
        put_single(arena, map, "exit_code", event->code, event->code ? *event->code : 0);
        put_single(arena, map, "worker_pid", event->code, events->pids[local]);
    }
    json_print(map, 0, &out);
    return arena_strdup(arena, buf_str(&out));
}

static void put(struct torch_events *events, const struct event *event)
{
    struct arena *arena = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(LINE_MAX_BYTES);
    const struct settings *settings = events->settings;
    const uint32_t *local = event->local_rank;
    bool is_static = settings->backend == RDZV_BACKEND_STATIC;
    struct text_node *root = text_map(arena, NULL, NULL);
    (void)text_str(arena, root, "name", arena_printf(arena, STATUS "%s", event->state));
    (void)text_str(arena, root, "source", local ? "WORKER" : "AGENT");
    (void)text_int(arena, root, "timestamp", 0);
    struct text_node *map = text_map(arena, root, "metadata");
    (void)text_str(arena, map, "run_id", settings->run_id);
    put_number(arena, map, "global_rank", local, local ? events->first_rank + *local : 0);
    put_number(arena, map, "group_rank", events->has_round, events->group_rank);
    put_text(arena, map, "worker_id",
             local ? arena_printf(arena, "%u", events->pids[*local]) : NULL);
    (void)text_str(arena, map, "role", settings->role);
    (void)text_str(arena, map, "hostname", events->host);
    (void)text_str(arena, map, "state", event->state);
    (void)text_int(arena, map, "total_run_time",
                   (int64_t)((clock_mono_us() - events->begun_us) / 1000000u));
    (void)text_str(arena, map, "rdzv_backend", is_static ? "static" : "c10d");
    put_text(arena, map, "raw_error", event->error);
    (void)text_str(arena, map, "metadata", make_metadata(arena, events, event));
    (void)text_int(arena, map, "agent_restarts", events->restarts);
    if (event->took_ms)
        (void)text_real(arena, map, "duration_ms", *event->took_ms);
    else
        (void)text_null(arena, map, "duration_ms");
    json_print(root, 0, &out);
    buf_putc(&out, '\n');
    if (!out.overflow)
        events->say(events->arg, buf_str(&out), out.len);
    arena_destroy(arena);
}

/* ---- what happens ---- */

void torch_events_join(struct torch_events *events)
{
    if (events && events->joined_us == 0)
        events->joined_us = clock_mono_us();
}

static void keep_round(struct torch_events *events, const struct rdzv_round *round,
                       const uint32_t *pids)
{
    events->has_round = true;
    events->group_rank = round->group_rank;
    events->nodes = round->nodes;
    events->first_rank = round->own.first_rank;
    events->role_first = round->role_first;
    events->role_world = round->role_world;
    events->n = round->own.ranks;
    free(events->pids);
    events->pids = mem_new(events->n * sizeof *pids);
    memcpy(events->pids, pids, events->n * sizeof *pids);
}

void torch_events_round(struct torch_events *events, const struct rdzv_round *round,
                        const uint32_t *pids, uint32_t own_restarts)
{
    if (!events)
        return;
    double took = (double)(clock_mono_us() - events->joined_us) / 1e3, none = 0;
    events->joined_us = 0;
    events->restarts = own_restarts;
    /* Both are told before what they found is known. */
    put(events, &(struct event){ .state = "RENDEZVOUS", .took_ms = &took });
    put(events, &(struct event){ .state = "ASSIGN_WORKER_RANKS", .took_ms = &none });
    keep_round(events, round, pids);
    for (uint32_t i = 0; i < events->n; i++)
        put(events, &(struct event){ .state = "START", .local_rank = &i });
}

static const struct rdzv_death *death_of(const struct rdzv_deaths *deaths, uint32_t local_rank)
{
    for (size_t i = 0; i < deaths->n; i++)
        if (deaths->at[i].local_rank == local_rank)
            return &deaths->at[i];
    return NULL;
}

static void put_death(struct torch_events *events, const struct rdzv_death *death)
{
    struct arena *arena = arena_create();
    int code = death->signal > 0 ? -(int)death->signal : (int)death->code;
    const char *error = error_file_text(death->error_file, arena);
    put(events, &(struct event){ .state = "FAILED",
                                 .local_rank = &death->local_rank,
                                 .error = error ? error : "{\"message\": \"<NONE>\"}",
                                 .code = &code });
    arena_destroy(arena);
}

void torch_events_end(struct torch_events *events, bool failed, const struct rdzv_deaths *deaths)
{
    if (!events || !events->has_round)
        return;
    for (uint32_t i = 0; i < events->n; i++) {
        const struct rdzv_death *death = death_of(deaths, i);
        if (death)
            put_death(events, death);
        else
            put(events,
                &(struct event){ .state = failed ? "TERMINATED" : "SUCCEEDED", .local_rank = &i });
    }
    put(events, &(struct event){ .state = "SUCCEEDED" });
}

void torch_events_signal(struct torch_events *events, const char *error)
{
    if (events)
        put(events, &(struct event){ .state = "FAILED", .error = error });
}
