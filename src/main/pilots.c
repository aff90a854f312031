/* Where pilots meet the rest of the server: engine/slurm says what is to happen, here it is done,
 * in turns of the core. A new pilot is a row before Slurm hears of it, with a nonce that its name
 * there carries, so a server that is killed at any moment finds what it asked for. */
#include "main/pilots.h"

#include "answer/allocations.h"
#include "answer/cluster_views.h"
#include "answer/job_rights.h"
#include "api/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/interpreter.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"
#include "cli/shared_home.h"
#include "ctl/ctl.h"
#include "documents/documents.h"
#include "engine/machines/machines.h"
#include "engine/slurm/pilots.h"
#include "engine/slurm/request.h"
#include "engine/slurm/script.h"
#include "explain/drain.h"
#include "job/node_spec.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define KIND           "pilot.slurm"
#define PACKED_MAX     (4u << 20)
#define PROGRAM_MAX    (64u << 20)
#define PACK_MS        600000u /* two seconds, on a machine that has them */
#define PACK_HINT      "install xz (xz-utils) on this machine"
#define FLAGS_WORDS    16u
#define OWN_AGAIN_MS   20u
#define CPUS_MOST      UINT64_C(4096) /* of a whole node */
#define MEMORY_MOST    (UINT64_C(64) << 40)
#define SINFO_AGAIN_MS 2000u
#define OWN_WAITING                                                                                \
    32u /* own allocations that wait in Slurm at a time: each has a script of 1 MB */

struct pilot_nodes {
    struct pilot_nodes_config config;
    struct pilots *pilots;
    struct arena *view_arena; /* of view */
    struct nodes_view view;
    uint64_t view_at; /* loop time; view_arena NULL: none */
    struct child *packing;
    char *packed;
    char hash[65], packed_hash[65]; /* SHA-256 of muster-node here, and of what was packed */
    size_t packed_len;
    struct err pack_err; /* code ERR_NONE: it went well so far */
    uint64_t numbers;    /* of names */
    uv_timer_t own;      /* looks at what jobs want for themselves */
    bool begun;
    unsigned asking;  /* own allocations whose rows are on their way */
    struct map *told; /* by id of a job, a hash of what it was told */
};

static void on_own(uv_timer_t *timer);

/* ---- rows ---- */

struct pending_row { /* a row on its way */
    void (*done)(void *arg, bool kept);
    void *arg;
};

static void on_kept(void *arg, const struct ctl_answer *answer)
{
    struct pending_row *kept = arg;
    if (answer->err)
        log_error("pilot.row", "reason=\"%s\"", answer->err->what);
    if (kept->done)
        kept->done(kept->arg, !answer->err);
    free(kept);
}

static void put_row(const struct pilot_nodes *n, const char *name, const char *by,
                    const struct text_node *spec, struct pending_row *kept)
{
    const struct document object = { .kind = KIND, .project = "", .name = name, .spec = spec };
    const struct document_changes ask = { .by = by, .at = &object, .n = 1 };
    ctl_documents_put(n->config.ctl, &ask, on_kept, kept);
}

static void keep(void *arg, const struct pilot *p, void (*done)(void *done_arg, bool kept),
                 void *done_arg)
{
    struct pilot_nodes *n = arg;
    struct arena *arena = arena_create();
    struct pending_row *kept = mem_new(sizeof *kept);
    *kept = (struct pending_row){ .done = done, .arg = done_arg };
    put_row(n, p->name, p->by, pilot_row(arena, p), kept);
    arena_destroy(arena);
    if (n->begun && p->state == PILOT_OVER) /* it was the last, it may be */
        uv_timer_start(&n->own, on_own, 0, 0);
}

static void drop(void *arg, const char *pilot)
{
    const struct pilot *p = pilots_find(((struct pilot_nodes *)arg)->pilots, pilot);
    put_row(arg, pilot, p ? p->by : "", NULL, mem_new(sizeof(struct pending_row)));
}

/* ---- nodes ---- */

/* What sbatch was told, as what a job may ask of its nodes. */
static void add_label(struct arena *arena, struct pairs *labels, const char *flag)
{
    static const struct {
        const char *label, *option;
    } rows[] = {
#define ROW(label, option) { label, option },
        REQUEST_LABELS(ROW)
#undef ROW
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const size_t n = strlen(rows[i].option);
        if (strncmp(flag, rows[i].option, n) == 0 && flag[n] == '=')
            pairs_set(labels, arena, rows[i].label, flag + n + 1);
    }
}

static void add(void *arg, const struct pilot *p, const struct pilot_host *host)
{
    struct pilot_nodes *n = arg;
    struct arena *arena = arena_create();
    struct machine_entry one = { .node = host->name,
                                 .address = "",
                                 .engine = ENGINE_ALLOCATOR,
                                 .host = host->slurm,
                                 .gpu_type = p->ask.gpu_type,
                                 .for_job = p->job,
                                 .of_nodes = p->job ? pilot_count_nodes(p) : 0,
                                 .account = p->account ? p->account->name : NULL,
                                 .bounds = { .cpu_milli =
                                                 1000 * (p->ask.cpus ? p->ask.cpus : CPUS_MOST),
                                             .memory = p->ask.memory ? p->ask.memory : MEMORY_MOST,
                                             .gpus = p->ask.gpus } };
    for (size_t i = 0; i < p->ask.flags.n; i++)
        add_label(arena, &one.labels, p->ask.flags.at[i]);
    memcpy(one.token_hash, host->token_hash, sizeof one.token_hash);
    pairs_set(&one.labels, arena, "slurm/partition", p->partition);
    pairs_set(&one.labels, arena, "slurm/pilot", p->name);
    machines_add(n->config.machines, &one);
    arena_destroy(arena);
}

static void limit(void *arg, const struct pilot_host *host, uint64_t lasts_ms)
{
    machines_limit(((struct pilot_nodes *)arg)->config.machines, host->name,
                   lasts_ms ? lasts_ms : NODE_ENDS);
}

static void remove_node(void *arg, const struct pilot_host *host)
{
    machines_remove(((struct pilot_nodes *)arg)->config.machines, host->name);
}

static bool reached(void *arg, const char *node)
{
    return machines_reach(((struct pilot_nodes *)arg)->config.machines, node);
}

/* One look for all questions of a moment. */
static const struct node_answer *find_node(struct pilot_nodes *n, const char *name)
{
    const uint64_t now = uv_now(n->config.loop);
    if (!n->view_arena || n->view_at != now) {
        if (n->view_arena)
            arena_destroy(n->view_arena);
        n->view_arena = arena_create();
        n->view = answer_nodes_view(n->config.ctl, n->view_arena);
        n->view_at = now;
    }
    for (size_t i = 0; i < n->view.nodes.n; i++)
        if (strcmp(n->view.nodes.at[i].name, name) == 0)
            return &n->view.nodes.at[i];
    return NULL;
}

static bool taken(void *arg, const char *node)
{
    struct pilot_nodes *n = arg;
    return find_node(n, node) || machines_have(n->config.machines, node);
}

static uint32_t tasks(void *arg, const char *node)
{
    const struct node_answer *found = find_node(arg, node);
    return found ? (uint32_t)found->tasks : 0;
}

static void expect(void *arg, const struct coming_node *what)
{
    const struct pilot_nodes *n = arg;
    const struct engine_sink *sink = &n->config.sink;
    struct engine_fact fact = { .kind = FACT_NODE_GONE,
                                .node = what->name,
                                .reason = "nobody waits for it any more" };
    if (what->why) {
        struct node_spec spec = { .name = what->name,
                                  .host = what->name,
                                  .address = "",
                                  .cpu_milli = what->cpus * 1000,
                                  .memory = what->memory,
                                  .disk = UINT64_C(1) << 40, /* Slurm does not say */
                                  .gpus = what->gpus,
                                  .gpu_type = "",
                                  .engine = ENGINE_ALLOCATOR,
                                  .machine = true };
        sink->fact(sink->arg, &(struct engine_fact){
                                  .kind = FACT_NODE_UP, .node = what->name, .spec = &spec });
        fact.kind = FACT_NODE_DOWN;
        fact.reason = what->why;
    }
    sink->fact(sink->arg, &fact);
}

/* ---- jobs that have to leave ---- */

static void on_left(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    if (answer->err)
        log_debug("pilot.restart", "reason=\"%s\"", answer->err->what);
}

static void move_job(const struct pilot_nodes *n, const struct drained_task *task,
                     const struct pilot *p, const char *why)
{
    char number[24], reason[200];
    uint64_t id;
    struct err err;
    snprintf(number, sizeof number, "%" PRIu64, task->number);
    snprintf(reason, sizeof reason, "pilot %s is given back: %.120s", p->name, why);
    if (ctl_find(n->config.ctl, number, &id, &err) == 0)
        ctl_restart(n->config.ctl,
                    &(struct ctl_restart){
                        .owner = task->owner, .job = id, .reason = reason, .how = RESTART_WISH },
                    on_left, NULL);
}

static void vacate(void *arg, const struct pilot *p, const char *why)
{
    struct pilot_nodes *n = arg;
    struct arena *arena = arena_create();
    VEC(uint64_t) seen = { .n = 0 };
    struct err err;
    for (size_t i = 0; i < p->hosts.n; i++)
        if (!p->hosts.at[i].gone)
            limit(n, &p->hosts.at[i], 0);
    for (size_t i = 0; i < p->hosts.n; i++) {
        struct drain_view view = { .n = 0 };
        if (p->hosts.at[i].gone ||
            explain_drain(n->config.ctl, arena, p->hosts.at[i].name, &view, &err) < 0)
            continue;
        for (size_t j = 0; j < view.n; j++) {
            size_t k = 0;
            while (k < seen.n && seen.at[k] != view.at[j].number)
                k++;
            if (k < seen.n)
                continue;
            vec_push(&seen, view.at[j].number);
            move_job(n, &view.at[j], p, why);
        }
    }
    vec_fini(&seen);
    arena_destroy(arena);
}

/* ---- the batch script ---- */

#define HASH_LEN 64u
#define HEX      "0123456789abcdef"

/* Packing takes a while: what an earlier server has packed is used again. */
static char *packed_path(const struct pilot_nodes *n)
{
    return file_join(n->config.state_dir, "muster-node.xz");
}

static void keep_packed(const struct pilot_nodes *n)
{
    AUTO_FREE char *path = packed_path(n);
    AUTO_BUF struct buf text = BUF_INIT(PACKED_MAX + sizeof n->hash + sizeof n->packed_hash);
    struct err err;
    buf_puts(&text, n->hash);
    buf_puts(&text, n->packed_hash);
    buf_add(&text, n->packed, n->packed_len);
    if (text.overflow || file_replace(path, text.data, text.len, 0600, &err) < 0)
        log_warn("pilot.packed", "note=\"it cannot be kept for the next server\"");
}

/* As tools/pack-node and keep_packed write it. One of another muster-node is none. */
static bool read_packed(struct pilot_nodes *n, const char *path)
{
    const size_t mark = 2u * HASH_LEN;
    AUTO_FREE char *text = NULL;
    size_t len;
    if (file_read(path, PACKED_MAX + mark, &text, &len, NULL) < 0 || len <= mark ||
        memcmp(text, n->hash, HASH_LEN) != 0 || strspn(text + HASH_LEN, HEX) != HASH_LEN)
        return false;
    memcpy(n->packed_hash, text + HASH_LEN, HASH_LEN);
    n->packed_len = len - mark;
    n->packed = mem_new(n->packed_len);
    memcpy(n->packed, text + mark, n->packed_len);
    return true;
}

/* What was built with it has no symbols. */
static bool find_packed(struct pilot_nodes *n)
{
    AUTO_FREE char *built = mem_printf("%s.xz", n->config.node_program);
    AUTO_FREE char *kept = packed_path(n);
    return read_packed(n, built) || read_packed(n, kept);
}

static void on_packed(void *arg, const struct child_end *end)
{
    struct pilot_nodes *n = arg;
    n->packing = NULL;
    if (!end->good || end->len == 0 || end->len >= PACKED_MAX) {
        err_set(&n->pack_err, ERR_CANNOT, "muster-node cannot be packed for a batch script (xz %s)",
                end->len >= PACKED_MAX ? "leaves more than 4 MiB" : "failed, or is not there");
        err_hint(&n->pack_err, PACK_HINT);
        return;
    }
    n->packed = mem_new(end->len);
    memcpy(n->packed, end->text, end->len);
    n->packed_len = end->len;
    memcpy(n->packed_hash, n->hash, sizeof n->packed_hash);
    log_info("pilot.packed", "bytes=%zu hash=%s", n->packed_len, n->hash);
    keep_packed(n);
}

static int pack(struct pilot_nodes *n, struct err *err)
{
    const char *args[] = { "xz", "-c", "-2", n->config.node_program, NULL };
    const struct child_line line = { .program = "xz",
                                     .args = (char *const *)(uintptr_t)args,
                                     .input = -1,
                                     .text_max = PACKED_MAX,
                                     .limit_ms = PACK_MS };
    unsigned char hash[32];
    AUTO_FREE char *text = NULL;
    size_t len;
    if (file_read(n->config.node_program, PROGRAM_MAX, &text, &len, err) < 0)
        return -1;
    crypto_hash_sha256(hash, (const unsigned char *)text, len);
    sodium_bin2hex(n->hash, sizeof n->hash, hash, sizeof hash);
    if (find_packed(n))
        return 0;
    n->packing = child_start(n->config.loop, &line, on_packed, n, err);
    if (n->packing)
        return 0;
    err_in(err, "packing muster-node for nodes of Slurm");
    return err_hint(err, PACK_HINT);
}

/* Nodes follow a file of the server's home only where their hosts are its own account's. */
static int script(void *arg, const struct pilot *p, const char *join, struct buf *out,
                  struct err *err)
{
    const bool others = p->account != NULL;
    struct pilot_nodes *n = arg;
    if (n->pack_err.code) {
        *err = n->pack_err;
        n->pack_err = (struct err){ .code = ERR_NONE };
        return -1;
    }
    if (!n->packed && (n->packing || pack(n, err) < 0 || !n->packed))
        return n->packing ? 0 : -1;
    if (n->config.open_agents(n->config.open_arg, err) < 0)
        return -1;
    struct arena *arena = arena_create();
    struct text_node *where = text_map(arena, NULL, NULL);
    agents_put_where(*n->config.agents, arena, where);
    const struct text_node *list = text_get(where, "server");
    struct words places = { .at = ARENA_ARRAY(arena, list ? list->count + 1 : 1, const char *) };
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        places.at[places.n++] = one->str;
    AUTO_FREE char *home = others ? NULL : shared_home_of_job(NULL);
    const char *follow = home ? arena_printf(arena, "%s/" SHARED_HOME_PLACES, home) : "";
    const struct slurm_script what = { .places = &places,
                                       .follow = follow,
                                       .pin = text_word(where, "pin"),
                                       .join = join,
                                       .program_path = n->config.node_program,
                                       .program_hash = n->hash,
                                       .packed_hash = n->packed_hash,
                                       .unpacks = "xz",
                                       .packed = n->packed,
                                       .packed_len = n->packed_len };
    int rc = places.n ? slurm_script_make(&what, out, err)
                      : err_set(err, ERR_CANNOT, "no address of this server is known to others");
    arena_destroy(arena);
    return rc < 0 ? -1 : 1;
}

/* ---- over HTTP ---- */

struct starting {
    struct pilot_nodes *of;
    struct pilot *pilot;
    char join[65];
    api_pilot_done *done;
    void *arg;
};

static int read_number(const struct text_node *n, uint64_t most, uint64_t *out, struct err *err)
{
    if (n->kind != TEXT_INT || n->integer < 0 || (uint64_t)n->integer > most)
        return err_set(err, ERR_INPUT, "%s is no number up to %" PRIu64, n->key, most);
    *out = (uint64_t)n->integer;
    return 0;
}

static int read_flags(struct arena *arena, const struct text_node *list, struct words *out,
                      struct err *err)
{
    if (list->kind != TEXT_LIST)
        return err_set(err, ERR_INPUT, "flags is no list of words for sbatch");
    out->at = ARENA_ARRAY(arena, list->count + 1, const char *);
    for (const struct text_node *n = list->first; n; n = n->next) {
        if (n->kind != TEXT_STR)
            return err_set(err, ERR_INPUT, "flags has what is no text");
        out->at[out->n++] = n->str;
    }
    return 0;
}

static int read_ask(struct arena *arena, const struct text_node *body, struct pilot_ask *out,
                    struct err *err)
{
    uint64_t nodes = 0, cpus = 0, gpus = 0;
    const struct {
        const char *key;
        uint64_t *to, most;
    } numbers[] = { { "nodes", &nodes, PILOT_NODES_MAX },
                    { "time_ms", &out->time_ms, UINT64_C(1) << 40 },
                    { "cpus", &cpus, 65536 },
                    { "gpus", &gpus, 1024 },
                    { "idle_ms", &out->idle_ms, UINT64_C(1) << 40 } };
    out->partition = out->gpu_type = "";
    if (!body || body->kind != TEXT_MAP)
        return err_set(err, ERR_INPUT, "the body is no map with the number of nodes");
    for (const struct text_node *n = body->first; n; n = n->next) {
        size_t i = 0;
        int rc = 0;
        while (i < ARRAY_LEN(numbers) && strcmp(numbers[i].key, n->key) != 0)
            i++;
        if (i < ARRAY_LEN(numbers))
            rc = read_number(n, numbers[i].most, numbers[i].to, err);
        else if (strcmp(n->key, "flags") == 0)
            rc = read_flags(arena, n, &out->flags, err);
        else if (strcmp(n->key, "partition") == 0 && n->kind == TEXT_STR)
            out->partition = n->str;
        else if (strcmp(n->key, "gpu_type") == 0 && n->kind == TEXT_STR)
            out->gpu_type = n->str;
        else
            rc = err_set(err, ERR_INPUT, "\"%.60s\" is not known here", n->key);
        if (rc < 0)
            return -1;
    }
    out->nodes = (uint32_t)nodes;
    out->cpus = (uint32_t)cpus;
    out->gpus = (uint32_t)gpus;
    return pilot_check_ask(out, err);
}

static void on_row(void *arg, bool kept)
{
    struct starting *s = arg;
    struct err err;
    if (kept) {
        AUTO_FREE char *name = mem_strdup(s->pilot->name);
        pilots_start(s->of->pilots, s->pilot, s->join);
        s->done(s->arg, name, NULL);
    } else {
        pilot_destroy(s->pilot);
        err_set(&err, ERR_SYSTEM, "the records did not take it");
        s->done(s->arg, NULL, &err);
    }
    sodium_memzero(s->join, sizeof s->join);
    free(s);
}

static struct pilot *make_pilot(struct pilot_nodes *n, const struct pilot_ask *ask, const char *by,
                                char join[65])
{
    unsigned char nonce[8], token[32];
    char hex[17], name[32];
    randombytes_buf(nonce, sizeof nonce);
    randombytes_buf(token, sizeof token);
    sodium_bin2hex(hex, sizeof hex, nonce, sizeof nonce);
    sodium_bin2hex(join, 65, token, sizeof token);
    snprintf(name, sizeof name, "p%" PRIu64, ++n->numbers);
    struct pilot *p = pilot_create(name, hex, by, ask);
    crypto_hash_sha256(p->join_hash, token, sizeof token);
    sodium_memzero(token, sizeof token);
    p->at_ms = clock_wall_ms();
    return p;
}

static void start(void *arg, const struct text_node *body, const char *by, api_pilot_done *done,
                  void *done_arg)
{
    struct pilot_nodes *n = arg;
    struct arena *arena = arena_create();
    struct pilot_ask ask = { .nodes = 0 };
    struct err err;
    if (read_ask(arena, body, &ask, &err) == 0) {
        struct starting *s = mem_new(sizeof *s);
        *s = (struct starting){ .of = n, .done = done, .arg = done_arg };
        s->pilot = make_pilot(n, &ask, by, s->join);
        keep(n, s->pilot, on_row, s);
    } else {
        done(done_arg, NULL, &err);
    }
    arena_destroy(arena);
}

/* ---- allocations that jobs have for themselves ---- */

static void on_own_row(void *arg, bool kept)
{
    struct starting *s = arg;
    if (kept)
        pilots_start(s->of->pilots, s->pilot, s->join);
    else
        pilot_destroy(s->pilot); /* asked for again with the next look */
    sodium_memzero(s->join, sizeof s->join);
    s->of->asking--;
    free(s);
}

/* Why it waits is said when that changes, and once a minute. */
static void tell_job(const struct pilot_nodes *n, uint64_t job, enum end_origin by,
                     const char *reason, uint64_t start_ms)
{
    const struct engine_sink *sink = &n->config.sink;
    const uint64_t hash =
        hash_add(hash_add_text(HASH_BEGIN, reason), uv_now(n->config.loop) / 60000) | 1;
    if (by == BY_NONE && (uintptr_t)map_get(n->told, job) == hash)
        return;
    map_set(n->told, job, (void *)(uintptr_t)hash);
    sink->fact(sink->arg, &(struct engine_fact){ .kind = FACT_ALLOCATION,
                                                 .node = "",
                                                 .generation.job = job,
                                                 .ending = { .by = by },
                                                 .reason = reason,
                                                 .at_ms = start_ms });
}

/* What Slurm has is known, or cannot be. */
static void ask_own(struct pilot_nodes *n, struct arena *arena, const struct allocation_request *w)
{
    struct pilot_ask ask;
    struct err err;
    const char *sinfo = pilots_sinfo(n->pilots);
    if (!sinfo) {
        if (*pilots_trouble(n->pilots))
            tell_job(n, w->job, BY_NONE, pilots_trouble(n->pilots), 0);
        uv_timer_start(&n->own, on_own, SINFO_AGAIN_MS, 0);
        return;
    }
    if (slurm_make_request(arena, w->spec, sinfo, &ask, &err) < 0) {
        tell_job(n, w->job, BY_PLATFORM,
                 *err.hint ? arena_printf(arena, "%s; %s", err.what, err.hint) : err.what, 0);
        return;
    }
    const struct account *account = answer_account_of_job(n->config.ctl, arena, w->job);
    if (w->alone != (account != NULL)) { /* never as the server in its place */
        tell_job(n, w->job, BY_PLATFORM, "its account cannot be read from the records", 0);
        return;
    }
    struct starting *s = mem_new(sizeof *s);
    *s = (struct starting){ .of = n };
    s->pilot = make_pilot(n, &ask, w->owner, s->join);
    s->pilot->job = w->job;
    s->pilot->job_number = w->number;
    s->pilot->grace_ms = w->spec->limits.grace_ms;
    if (account)
        s->pilot->account = account_copy(s->pilot->arena, account);
    n->asking++;
    keep(n, s->pilot, on_own_row, s);
}

static const char *end_text(struct arena *arena, const struct pilot *p,
                            const struct allocation_request *w)
{
    if (p->state == PILOT_RUNNING)
        return arena_printf(arena,
                            "its allocation %s of Slurm has its nodes, and no place for it on "
                            "them: %s",
                            p->id, w->reason ? w->reason : "the plan does not say why");
    switch (p->end) {
    case PILOT_END_CANCELLED:
        return arena_printf(arena, "its allocation %s was cancelled in Slurm", p->id);
    case PILOT_END_REFUSED: return arena_printf(arena, "it gets no allocation: %s", p->reason);
    default: return arena_printf(arena, "its allocation %s of Slurm: %s", p->id, p->reason);
    }
}

static uint32_t count_waiting(const struct pilot_nodes *n)
{
    const struct pilot *p;
    uint32_t waiting = 0;
    for (size_t i = 0; (p = pilots_at(n->pilots, i)); i++)
        waiting += p->job && p->state < PILOT_RUNNING;
    return waiting;
}

static void follow_job(struct pilot_nodes *n, struct arena *arena,
                       const struct allocation_request *w, uint32_t *waiting)
{
    char text[256];
    const struct pilot *p = pilots_of_job(n->pilots, w->job);
    const struct pilot_need need = { .wanted = true, .lacks = w->lacks, .ran = w->ran };
    switch (pilot_next_step(p, need, clock_wall_ms())) {
    case PILOT_STEP_ASK:
        if (*waiting >= OWN_WAITING) {
            snprintf(text, sizeof text, "%u allocations of other jobs wait in Slurm before it",
                     OWN_WAITING);
            tell_job(n, w->job, BY_NONE, text, 0);
            break;
        }
        ++*waiting;
        ask_own(n, arena, w);
        break;
    case PILOT_STEP_MOVE:
        pilots_give_back(n->pilots, p->name, "nodes of it are lost, and its job needs them", false);
        break;
    case PILOT_STEP_STOP: tell_job(n, w->job, BY_USER, end_text(arena, p, w), 0); break;
    case PILOT_STEP_REFUSE: tell_job(n, w->job, BY_PLATFORM, end_text(arena, p, w), 0); break;
    case PILOT_STEP_GIVE: break;
    case PILOT_STEP_NONE:
        if (w->begun || p->state > PILOT_RUNNING)
            break;
        pilot_say_waiting(p, text, sizeof text);
        tell_job(n, w->job, BY_NONE, text, p->state == PILOT_PENDING ? p->start_ms : 0);
        break;
    }
}

static bool is_wanted(const struct allocation_requests *list, uint64_t job)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].job == job)
            return true;
    return false;
}

/* Jobs that want none any more are told nothing again. */
static void forget_told(struct pilot_nodes *n, const struct allocation_requests *list)
{
    struct map *told = map_create();
    for (size_t i = 0; i < list->n; i++) {
        void *hash = map_get(n->told, list->at[i].job);
        if (hash)
            map_set(told, list->at[i].job, hash);
    }
    map_destroy(n->told);
    n->told = told;
}

/* Until each that was asked for is a row, another look would ask again. */
static void on_own(uv_timer_t *timer)
{
    struct pilot_nodes *n = timer->data;
    struct arena *arena = arena_create();
    const struct pilot *p;
    if (n->asking == 0) {
        const struct allocation_requests list = answer_allocations(n->config.ctl, arena);
        uint32_t waiting = count_waiting(n);
        for (size_t i = 0; (p = pilots_at(n->pilots, i)); i++)
            if (p->job && !is_wanted(&list, p->job) &&
                pilot_next_step(p, (struct pilot_need){ .wanted = false }, 0) == PILOT_STEP_GIVE)
                pilots_give_back(n->pilots, p->name, "its job has ended", true);
        for (size_t i = 0; i < list.n; i++)
            follow_job(n, arena, &list.at[i], &waiting);
        forget_told(n, &list);
        if (!pilot_nodes_any(n) && n->asking == 0)
            n->config.leave_agents(n->config.open_arg);
    } else {
        uv_timer_start(timer, on_own, OWN_AGAIN_MS, 0);
    }
    arena_destroy(arena);
}

static void own(void *arg)
{
    struct pilot_nodes *n = arg;
    if (n->begun)
        uv_timer_start(&n->own, on_own, 0, 0);
}

bool pilot_nodes_any(const struct pilot_nodes *n)
{
    return pilots_count(n->pilots) > 0;
}

void pilot_nodes_look(struct pilot_nodes *n)
{
    own(n);
}

static int no_pilot(const char *name, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "no pilot \"%.60s\"", name);
}

static int stop(void *arg, const char *name, const char *by, bool now, struct err *err)
{
    const struct pilot_nodes *n = arg;
    if (!pilots_find(n->pilots, name))
        return no_pilot(name, err);
    (void)pilots_stop(n->pilots, name, by, now); /* one that is over is given back already */
    return 0;
}

static void put_one(const struct pilot_nodes *n, struct arena *a, const struct pilot *p,
                    struct text_node *map)
{
    uint64_t left;
    size_t up = 0;
    struct text_node *nodes;
    text_str(a, map, "name", p->name);
    text_str(a, map, "state", pilot_state_word(p->state));
    text_str(a, map, "allocation", p->id);
    text_str(a, map, "partition", p->partition);
    text_int(a, map, "asked", p->ask.nodes);
    if (p->job)
        text_int(a, map, "job", (int64_t)p->job_number);
    if (*p->reason)
        text_str(a, map, "reason", p->reason);
    if (p->start_ms)
        text_int(a, map, "start_ms", (int64_t)p->start_ms);
    if (p->state != PILOT_OVER && pilot_left(p, clock_wall_ms(), &left))
        text_int(a, map, "left_ms", (int64_t)left);
    if (p->ask.idle_ms)
        text_int(a, map, "idle_ms", (int64_t)p->ask.idle_ms);
    text_str(a, map, "by", p->by);
    if (p->account)
        text_str(a, map, "account", p->account->name);
    text_int(a, map, "at_ms", (int64_t)p->at_ms);
    nodes = text_list(a, map, "nodes");
    for (size_t i = 0; i < p->hosts.n; i++) {
        if (p->hosts.at[i].gone)
            continue;
        text_str(a, nodes, NULL, p->hosts.at[i].name);
        up += machines_reach(n->config.machines, p->hosts.at[i].name);
    }
    text_int(a, map, "up", (int64_t)up);
}

static int put(void *arg, struct arena *a, const char *name, struct text_node *map, struct err *err)
{
    const struct pilot_nodes *n = arg;
    if (name) {
        const struct pilot *p = pilots_find(n->pilots, name);
        if (!p)
            return no_pilot(name, err);
        put_one(n, a, p, map);
    } else {
        struct text_node *list = text_list(a, map, "pilots");
        for (size_t i = 0; pilots_at(n->pilots, i); i++)
            put_one(n, a, pilots_at(n->pilots, i), text_map(a, list, NULL));
    }
    if (*pilots_trouble(n->pilots))
        text_str(a, map, "slurm", pilots_trouble(n->pilots));
    return 0;
}

struct api_pilots pilot_nodes_served(struct pilot_nodes *n)
{
    return (struct api_pilots){ .start = start, .stop = stop, .put = put, .arg = n };
}

/* ---- the whole ---- */

/* Names are given out once; p7 is found again after p6. */
static void load(struct pilot_nodes *n)
{
    struct arena *arena = arena_create();
    const struct document_list rows =
        documents_list(ctl_documents(n->config.ctl), arena, KIND, NULL);
    for (size_t i = 0; i < rows.n; i++) {
        const char *name = rows.at[i].name;
        struct pilot *p = pilot_of_row(name, rows.at[i].spec);
        uint64_t number;
        if (*name == 'p' && scan_u64(name + 1, 1, UINT32_MAX, &number) && number > n->numbers)
            n->numbers = number;
        if (p)
            pilots_load(n->pilots, p);
        else
            log_error("pilot.row", "pilot=%s note=\"it cannot be read\"", name);
    }
    arena_destroy(arena);
}

static int read_prefix(struct arena *arena, const char *text, struct words *out, struct err *err)
{
    char *rest = arena_strdup(arena, text);
    out->at = ARENA_ARRAY(arena, FLAGS_WORDS, const char *);
    for (char *word; (word = strsep(&rest, " \t"));) {
        if (!*word)
            continue;
        if (out->n == FLAGS_WORDS)
            return err_set(err, ERR_INPUT, "slurm_prefix has more than %u words", FLAGS_WORDS);
        out->at[out->n++] = word;
    }
    return 0;
}

const char *pilot_nodes_none(struct arena *arena, const char *prefix)
{
    const char *path = getenv("PATH");
    if (strcmp(prefix, "none") == 0)
        return "this server is set not to use Slurm (slurm_prefix: none)";
    if (*prefix || (path && interpreter_in_path(arena, path, "sbatch")))
        return NULL;
    return "this server finds no sbatch: start it on a login node of Slurm, or with "
           "--slurm-prefix=\"ssh LOGIN\"";
}

const char *pilot_nodes_none_of_users(struct arena *arena, const char *prefix)
{
    struct words words = { .n = 0 };
    struct err err;
    if (read_prefix(arena, prefix, &words, &err) == 0 && slurm_prefix_has_user(&words))
        return NULL;
    return "the setting slurm_prefix does not say as whom Slurm's commands run (" SLURM_USER ")";
}

struct pilot_nodes *pilot_nodes_create(const struct pilot_nodes_config *config, struct err *err)
{
    struct arena *arena = arena_create();
    struct words prefix = { .n = 0 };
    struct pilot_nodes *n = NULL;
    if (read_prefix(arena, config->prefix, &prefix, err) == 0) {
        n = mem_new(sizeof *n);
        n->config = *config;
        uv_timer_init(config->loop, &n->own);
        n->own.data = n;
        n->told = map_create();
        n->pilots = pilots_create(&(struct pilots_config){
            .loop = config->loop,
            .link = config->link,
            .site = { .prefix = &prefix, .own = config->own, .program = config->program },
            .sink = { .keep = keep,
                      .drop = drop,
                      .add = add,
                      .limit = limit,
                      .remove = remove_node,
                      .reached = reached,
                      .taken = taken,
                      .tasks = tasks,
                      .vacate = vacate,
                      .expect = expect,
                      .own = own,
                      .script = script,
                      .arg = n } });
        load(n);
    }
    arena_destroy(arena);
    return n;
}

void pilot_nodes_begin(struct pilot_nodes *n)
{
    pilots_begin(n->pilots);
    n->begun = true;
    own(n);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void pilot_nodes_destroy(struct pilot_nodes *n)
{
    if (!n)
        return;
    child_drop(n->packing);
    pilots_destroy(n->pilots);
    if (n->view_arena)
        arena_destroy(n->view_arena);
    free(n->packed);
    map_destroy(n->told);
    uv_close((uv_handle_t *)&n->own, on_closed);
}
