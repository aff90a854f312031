/* The core as an object: made from its configuration, given its sink, its clock and its key. What
 * it does with commands and facts is in the other files of this folder. */
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "ctl/account.h"
#include "ctl/catalogue_work.h"
#include "ctl/core.h"
#include "ctl/document_work.h"
#include "ctl/node_work.h"
#include "ctl/parts.h"
#include "ctl/slices.h"
#include "depend/array.h"
#include "depend/dependency.h"
#include "inventory/node_price.h"
#include "learn/packing.h"
#include "learn/run_times.h"
#include "store/seal.h"

#include <pwd.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

#define PORT_FIRST 15000u
#define PORT_LAST  39999u

const char *ctl_storage_dir(struct ctl *ctl, struct arena *arena, const char *uri, struct err *err)
{
    const struct storage storage = core_storage(ctl, NULL);
    return storage_map(&storage, arena, uri, err);
}

/* The user who owns the state directory runs the server: they may do everything. */
static char *server_user(const char *state_dir)
{
    struct stat st;
    struct passwd pwd, *found = NULL;
    char text[4096];
    if (state_dir && stat(state_dir, &st) == 0 &&
        getpwuid_r(st.st_uid, &pwd, text, sizeof text, &found) == 0 && found)
        return mem_strdup(found->pw_name);
    return mem_strdup("root");
}

/* Made once and kept beside the database. When agent.key is lost, running agents keep the tokens
 * they have. */
static int read_key(struct ctl *ctl, struct err *err)
{
    if (!ctl->config.state_dir || taped_replays(ctl)) /* nothing of it outlives this process */
        return 0;
    AUTO_FREE char *path = file_join(ctl->config.state_dir, "agent.key");
    if (seal_read_key(path, false, ctl->key, err) == 0)
        return 0;
    return err->code == ERR_CANNOT
               ? err_hint(err, "put the right one back; or remove it: what runs goes on, and the "
                               "next server makes another")
               : -1;
}

struct ctl *ctl_create(const struct ctl_config *config, struct err *err)
{
    if (sodium_init() < 0) {
        err_set(err, ERR_SYSTEM, "libsodium does not start");
        return NULL;
    }
    struct ctl *ctl = mem_new(sizeof *ctl);
    ctl->config = *config;
    slices_begin(ctl);
    if (read_key(ctl, err)) {
        free(ctl);
        return NULL;
    }
    uint32_t first = config->port_first ? config->port_first : PORT_FIRST;
    uint32_t last = config->port_last ? config->port_last : PORT_LAST;
    if (config->mono && !config->has_base)
        ctl->config.base_ms = (int64_t)core_date(ctl) - (int64_t)(core_mono_us(ctl) / 1000);
    uint64_t now = core_now(ctl), made = ctl->created_ms = core_date(ctl);
    /* Mixed: servers that begin at about the same time look at ports apart. */
    uint32_t start = first + (uint32_t)(hash_u64(made) % (last - first + 1));
    ctl->cluster = cluster_create(first, last, start);
    for (size_t i = 0; i < config->n_nodes; i++) {
        struct node_spec spec = config->nodes[i];
        spec.price_milli = node_price(config->prices, spec.gpu_type);
        uint32_t node = cluster_put(ctl->cluster, &spec);
        cluster_set_up(ctl->cluster, node, true);
    }
    if (config->topology && cluster_set_levels(ctl->cluster, config->topology, err)) {
        cluster_destroy(ctl->cluster);
        free(ctl);
        return NULL;
    }
    ctl->packing = packing_create(config->store, ctl->cluster);
    ctl->run_times = run_times_create();
    ctl->queues =
        queues_create(&(struct queues_config){ .store = config->store,
                                               .cluster = ctl->cluster,
                                               .topology = ctl->config.topology,
                                               .half_life_ms = ctl->config.half_life_ms });
    ctl->admin = config->admin ? mem_strdup(config->admin) : server_user(config->state_dir);
    ctl->live = live_create();
    ctl->arrays = core_arrays(ctl);
    ctl->dependencies = core_dependencies(ctl);
    ctl->possible = map_create();
    ctl->rdzv_table = core_rdzv_table(ctl);
    ctl->scratch = arena_create();
    ctl->images = core_images(ctl);
    ctl->hearing = arena_create();
    ctl->last_id = store_last_job_id(config->store);
    ctl->last_event = store_last_event(config->store);
    ctl->idle_since = now;
    ctl->expire_at = now + 1000;
    config->engine->sink = ctl_sink(ctl);
    ctl->accounts = core_accounts(ctl);
    ctl->secrets = core_secrets(ctl);
    document_work_begin(ctl);
    node_work_begin(ctl);
    ctl->access = core_job_access(ctl);
    if (catalogue_work_begin(ctl, err)) {
        ctl_destroy(ctl);
        return NULL;
    }
    return ctl;
}

static void refuse_all(struct answer *at, size_t n, const struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        at[i].done(at[i].arg, &(struct ctl_answer){ .err = err });
        arena_destroy(at[i].arena);
    }
}

void ctl_destroy(struct ctl *ctl)
{
    if (!ctl)
        return;
    struct err err;
    err_set(&err, ERR_UNAVAILABLE, "the server ends");
    refuse_all(ctl->held.at, ctl->held.n, &err);
    refuse_all(ctl->answers.at, ctl->answers.n, &err);
    vec_fini(&ctl->held);
    vec_fini(&ctl->answers);
    vec_fini(&ctl->facts);
    vec_fini(&ctl->acks);
    vec_fini(&ctl->touched);
    vec_fini(&ctl->doomed);
    vec_fini(&ctl->held_back);
    vec_fini(&ctl->wanting);
    vec_fini(&ctl->slices.later);
    node_work_end(ctl);
    parts_end(ctl);
    document_work_end(ctl);
    vec_fini(&ctl->deadlines);
    map_destroy(ctl->possible);
    queues_destroy(ctl->queues);
    accounts_destroy(ctl->accounts);
    catalogue_work_end(ctl);
    live_destroy(ctl->live);
    free(ctl->address);
    arrays_destroy(ctl->arrays); /* after their members */
    dependencies_destroy(ctl->dependencies);
    cluster_destroy(ctl->cluster);
    run_times_destroy(ctl->run_times);
    packing_destroy(ctl->packing); /* after what places by it */
    arena_destroy(ctl->scratch);
    arena_destroy(ctl->hearing);
    sodium_memzero(ctl->key, sizeof ctl->key);
    free(ctl->admin);
    free(ctl);
}

static void hear(void *arg, const struct engine_fact *fact)
{
    struct tape_scope AUTO_TAPE_SCOPE taped = { .ctl = NULL };
    if (fact->kind != FACT_LOG) /* the end of a log decides nothing */
        taped = tape_scope_begin(
            arg,
            (struct ctl_input){ .kind = fact->spec ? INPUT_MACHINE : INPUT_FACT, .fact = fact });
    facts_hear(arg, fact);
}

struct engine_sink ctl_sink(struct ctl *ctl)
{
    return (struct engine_sink){ .fact = hear, .arg = ctl };
}

void ctl_set_address(struct ctl *ctl, const char *address)
{
    free(ctl->address);
    ctl->address = address && *address ? mem_strdup(address) : NULL;
}

void ctl_set_watch(struct ctl *ctl, struct ctl_watch watch)
{
    ctl->watch = watch;
}

bool ctl_idle_since(const struct ctl *ctl, uint64_t *ms)
{
    if (live_count(ctl->live) > 0)
        return false;
    *ms = ctl->idle_since;
    return true;
}

uint64_t ctl_first_of(struct ctl *ctl, uint64_t job)
{
    return store_first_of(ctl->config.store, job);
}

uint64_t ctl_last_of(struct ctl *ctl, uint64_t job)
{
    return store_last_of(ctl->config.store, job);
}

uint64_t ctl_last_event(struct ctl *ctl)
{
    return store_last_event(ctl->config.store);
}

const char *ctl_own_user(const struct ctl *ctl)
{
    return ctl->admin;
}

const struct dialects *ctl_dialects(const struct ctl *ctl)
{
    return ctl->config.dialects;
}
