/* Settings as the core takes them: what decides about jobs. The server and a replay read them here,
 * so that a recording is replayed with what its server had. */
#include "main/core_config.h"

#include "base/mem.h"
#include "base/scan.h"
#include "job/catalogue.h"
#include "main/wire.h"

#include <string.h>

static struct words *read_names(struct arena *a, const struct config *c, enum setting setting)
{
    struct pairs list = { .at = NULL };
    struct words *names = ARENA_NEW(a, struct words);
    config_list(a, c, setting, &list);
    names->at = ARENA_ARRAY(a, list.n, const char *);
    for (size_t i = 0; i < list.n; i++)
        names->at[names->n++] = list.at[i].name;
    return names;
}

static struct amounts *read_prices(struct arena *a, const struct config *c)
{
    struct pairs list = { .at = NULL };
    struct amounts *prices = ARENA_NEW(a, struct amounts);
    config_list(a, c, SETTING_PRICES, &list);
    prices->at = ARENA_ARRAY(a, list.n, struct amount);
    for (size_t i = 0; i < list.n; i++) {
        struct amount *price = &prices->at[prices->n++];
        price->name = list.at[i].name;
        scan_milli(list.at[i].value, &price->milli);
    }
    return prices;
}

/* Queues of which the file says more than a name. */
static int read_queues(struct arena *a, const struct config *c, struct ctl_config *core,
                       struct err *err)
{
    const struct text_node *list = config_queues(c);
    struct report report;
    struct entry *at;
    if (!list)
        return 0;
    report_init(&report, a);
    if (entries_decode_queues(a, list, &at, &core->n_declared, &report)) {
        const struct problem *p = &report.at[0];
        err_set(err, ERR_INPUT, "%s:%u:%u: queues: %.200s", c->file, p->place.line, p->place.col,
                p->what);
        return *p->hint ? err_hint(err, "%s", p->hint) : -1;
    }
    core->declared = at;
    return 0;
}

static void read_roots(struct arena *a, const struct config *c, struct ctl_config *core)
{
    struct pairs roots = { .at = NULL };
    config_list(a, c, SETTING_ROOTS, &roots);
    struct uri_root *dirs = ARENA_ARRAY(a, roots.n, struct uri_root);
    for (size_t i = 0; i < roots.n; i++)
        dirs[i] = (struct uri_root){ .prefix = roots.at[i].name, .dir = roots.at[i].value };
    core->roots = dirs;
    core->n_roots = roots.n;
}

/* In the order of the setting's words. */
static const enum job_runtime runtimes[] = { RUNTIME_HOST, RUNTIME_AUTO, RUNTIME_BWRAP,
                                             RUNTIME_PODMAN, RUNTIME_DOCKER };

int core_config(struct arena *a, const struct config *c, struct ctl_config *core, struct err *err)
{
    const char *python = c->at[SETTING_PYTHON].text;
    uint64_t keep = config_number(c, SETTING_KEEP);
    read_roots(a, c, core);
    core->dialects = wire_dialects();
    core->fs_uri = c->at[SETTING_FS_URI].text;
    core->python = strcmp(python, "none") == 0 ? NULL : python;
    core->torchrun = (enum torchrun)config_choice(c, SETTING_TORCHRUN);
    core->runtime = runtimes[config_choice(c, SETTING_RUNTIME)];
    core->images_size = config_number(c, SETTING_IMAGES_SIZE);
    core->place_engine = config_choice(c, SETTING_ENGINE) ? c->at[SETTING_ENGINE].text : NULL;
    core->queues = read_names(a, c, SETTING_QUEUES);
    core->topology = read_names(a, c, SETTING_TOPOLOGY);
    core->prices = read_prices(a, c);
    core->gpu_mps = c->at[SETTING_GPU_MPS].text;
    core->run_ms = config_number(c, SETTING_DEFAULT_RUN);
    core->half_life_ms = config_number(c, SETTING_HALF_LIFE);
    core->shipped = wire_shipped(a, &core->n_shipped);
    core->log_head = config_number(c, SETTING_LOG_HEAD);
    core->log_tail = config_number(c, SETTING_LOG_TAIL);
    core->sandbox = config_choice(c, SETTING_SANDBOX) == 0;
    core->own_accounts = config_choice(c, SETTING_SHARED_ACCOUNT) == 0;
    core->job_account = c->at[SETTING_JOB_ACCOUNT].text;
    core->users_dir = c->at[SETTING_USERS_DIR].text;
    core->task_pids = (uint32_t)config_number(c, SETTING_TASK_PIDS);
    core->keep_ms = keep == UINT64_MAX ? 0 : keep;
    config_ports(c, &core->port_first, &core->port_last);
    if (!core->sandbox && !core->own_accounts) {
        err_set(err, ERR_INPUT, "sandbox is off, and shared_account lets others submit");
        return err_hint(err, "sandbox: off is for one person's own machine; leave one of them out");
    }
    return read_queues(a, c, core, err);
}
