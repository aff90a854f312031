/* The core's side of the inventory: gives it store and clocks, runs what changes it in a turn, and
 * does what follows for jobs: they are told, looked at, planned anew. */
#include "ctl/node_work.h"

#include "account/audit.h"
#include "ctl/catalogue_work.h"
#include "ctl/core.h"
#include "inventory/closed_devices.h"
#include "inventory/known_machines.h"
#include "inventory/left_devices.h"
#include "inventory/nodes.h"
#include "inventory/strangers.h"

#include "base/map.h"

/* ---- what follows ---- */

static uint64_t now(const void *ctl)
{
    return core_now(ctl);
}

static uint64_t date(const void *ctl)
{
    return core_date(ctl);
}

/* Answers of what fits are for the nodes of before. */
static void plan_anew(struct ctl *ctl)
{
    map_destroy(ctl->possible);
    ctl->possible = map_create();
    ctl->plan_due = true;
}

static void declare_queues(void *arg)
{
    struct ctl *ctl = arg;
    queues_declare(ctl->queues, core_catalogue(ctl));
}

static void nodes_changed(void *ctl)
{
    declare_queues(ctl);
    plan_anew(ctl);
}

static void tell_holder(void *ctl, struct live_job *job, uint32_t flat, const char *why)
{
    event_task_note(ctl, job, flat, "device", &(struct reason){ .kind = REASON_SAID, .text = why },
                    NULL);
}

static void touch(void *ctl, struct live_job *job)
{
    core_touch(ctl, job);
}

static void look(void *arg)
{
    const struct ctl *ctl = arg;
    if (ctl->config.look)
        ctl->config.look(ctl->config.look_arg);
}

/* ---- making it ---- */

void node_work_begin(struct ctl *ctl)
{
    const struct ctl_config *c = &ctl->config;
    ctl->closed_devices =
        closed_devices_create(&(struct closed_devices_config){ .cluster = ctl->cluster,
                                                               .live = ctl->live,
                                                               .arg = ctl,
                                                               .holds = tell_holder,
                                                               .touch = touch });
    ctl->left_devices = left_devices_create(
        &(struct left_devices_config){ .cluster = ctl->cluster,
                                       .live = ctl->live,
                                       .looked_at = c->look || taped_replays(ctl),
                                       .arg = ctl,
                                       .touch = touch,
                                       .look = look });
    ctl->nodes = nodes_create(&(struct nodes_config){ .store = c->store,
                                                      .cluster = ctl->cluster,
                                                      .devices = ctl->closed_devices,
                                                      .prices = c->prices,
                                                      .n_declared = c->n_nodes,
                                                      .arg = ctl,
                                                      .now = now,
                                                      .date = date,
                                                      .read = declare_queues,
                                                      .changed = nodes_changed });
    ctl->machines = known_machines_create(&(struct known_machines_config){
        .store = c->store, .cluster = ctl->cluster, .live = ctl->live, .accounts = ctl->accounts });
}

void node_work_end(struct ctl *ctl)
{
    strangers_destroy(ctl->strangers);
    known_machines_destroy(ctl->machines);
    nodes_destroy(ctl->nodes);
    left_devices_destroy(ctl->left_devices);
    closed_devices_destroy(ctl->closed_devices);
}

void node_work_find_strangers(struct ctl *ctl)
{
    const struct ctl_config *c = &ctl->config;
    ctl->strangers = strangers_find(
        &(struct strangers_config){ .engine = c->engine,
                                    .store = c->store,
                                    .live = ctl->live,
                                    .runs_dir = taped_replays(ctl) ? NULL : c->runs_dir });
}

const struct known_machines *ctl_machines(struct ctl *ctl)
{
    return ctl->machines;
}

const struct strangers *ctl_strangers(const struct ctl *ctl)
{
    return ctl->strangers;
}

/* ---- commands ---- */

void ctl_node_command(struct ctl *ctl, const char *node, bool drain, ctl_done *done, void *arg)
{
    struct tape_scope AUTO_TAPE_SCOPE taped = tape_scope_begin(
        ctl, (struct ctl_input){ .kind = INPUT_NODE, .name = node, .what = drain });
    struct answer *answer = turn_answer(ctl, done, arg);
    answer->writes = true;
    if (!nodes_drain(ctl->nodes, node, drain)) {
        err_set(&answer->err, ERR_NOT_FOUND, "no node \"%.100s\"", node);
        err_remedy(&answer->err, REMEDY_LIST_NODES);
        return;
    }
    ctl->plan_due = true;
    audit_add(ctl->accounts, &(struct audit_entry){ .action = drain ? "node.drain" : "node.undrain",
                                                    .object = node });
}

static struct answer *begin(struct ctl *ctl, ctl_done *done, void *arg)
{
    struct answer *answer = turn_answer(ctl, done, arg);
    answer->writes = true;
    return answer;
}

void ctl_machine_put(struct ctl *ctl, const struct machine *m, ctl_done *done, void *arg)
{
    struct machine one = *m;
    one.at_ms = core_date(ctl);
    known_machine_add(ctl->machines, &one, &begin(ctl, done, arg)->err);
}

void ctl_machine_remove(struct ctl *ctl, const char *name, bool force, ctl_done *done, void *arg)
{
    known_machine_remove(ctl->machines, name, force, &begin(ctl, done, arg)->err);
}

void ctl_machine_fence(struct ctl *ctl, const char *name, const char *reason, ctl_done *done,
                       void *arg)
{
    known_machine_fence(ctl->machines, name, reason, &begin(ctl, done, arg)->err);
}

/* ---- news ---- */

void ctl_machine_note(struct ctl *ctl, const char *name, const char *note)
{
    nodes_note(ctl->nodes, name, note);
}

void ctl_device(struct ctl *ctl, const char *node, uint32_t device,
                const struct device_trouble *trouble)
{
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_DEVICE,
                                                  .name = node,
                                                  .what = device,
                                                  .why = trouble ? trouble->why : "" });
    if (device_close(ctl->closed_devices, node, device, trouble))
        ctl->plan_due = true;
}

void ctl_devices(struct ctl *ctl, const char *node, struct gpu_report *report)
{
    struct tape_scope AUTO_TAPE_SCOPE taped = tape_scope_begin(
        ctl, (struct ctl_input){ .kind = INPUT_DEVICES, .name = node, .report = report });
    if (nodes_report(ctl->nodes, node, report))
        plan_anew(ctl);
}

bool ctl_device_in_use(const struct ctl *ctl, const char *node, uint32_t device)
{
    return device_in_use(ctl->left_devices, node, device);
}

uint64_t ctl_device_left(const struct ctl *ctl, const char *node, uint32_t device)
{
    return device_left(ctl->left_devices, node, device);
}

void ctl_device_seen(struct ctl *ctl, const char *node, uint32_t device)
{
    struct tape_scope AUTO_TAPE_SCOPE taped = tape_scope_begin(
        ctl, (struct ctl_input){ .kind = INPUT_SEEN, .name = node, .what = device });
    device_seen(ctl->left_devices, node, device);
}
