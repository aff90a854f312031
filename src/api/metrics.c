/* /metrics: the core's statistics, its queues, what is free and how long plans take, as Prometheus
 * text. */
#include "api/call.h"

#include "answer/cluster_views.h"
#include "api/view_json.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/turn_meter.h"

#include <string.h>

static long long number(const struct text_node *map, const char *key)
{
    const struct text_node *node = map ? text_get(map, key) : NULL;
    return node && node->kind == TEXT_INT ? (long long)node->integer : 0;
}

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_addf(out, "# HELP muster_%s %s\n# TYPE muster_%s %s\n", name, help, name, type);
}

/* A label's value: names of queues may hold anything but blanks. */
static void label(struct buf *out, const char *key, const char *value)
{
    buf_addf(out, "%s=\"", key);
    for (const char *c = value; *c; c++)
        buf_addf(out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
    buf_puts(out, "\"");
}

static const char *text_of(const struct text_node *map, const char *key)
{
    const struct text_node *node = text_get(map, key);
    return node && node->str ? node->str : "";
}

/* ---- families ---- */

static void put_depth(const struct text_node *queues, struct buf *out)
{
    head(out, "queue_jobs", "gauge", "Live jobs by queue and state.");
    for (const struct text_node *q = queues->first; q; q = q->next) {
        const struct text_node *states = text_get(q, "states");
        for (const struct text_node *s = states ? states->first : NULL; s; s = s->next) {
            buf_puts(out, "muster_queue_jobs{");
            label(out, "queue", text_of(q, "name"));
            buf_addf(out, ",state=\"%s\"} %lld\n", s->key, (long long)s->integer);
        }
    }
}

static void put_amount(const struct text_node *q, const char *metric,
                       const struct text_node *amount, struct buf *out)
{
    char milli[FMT_MAX];
    size_t n = strcspn(amount->key, "_"); /* "cpu_milli" is cpu */
    buf_addf(out, "muster_queue_%s{", metric);
    label(out, "queue", text_of(q, "name"));
    buf_addf(out, ",resource=\"%.*s\"} ", (int)n, amount->key);
    if (amount->key[n])
        buf_addf(out, "%s\n", fmt_milli(milli, (uint64_t)amount->integer));
    else
        buf_addf(out, "%lld\n", (long long)amount->integer);
}

static void put_amounts(const struct text_node *queues, const char *metric, const char *help,
                        struct buf *out)
{
    char name[64];
    snprintf(name, sizeof name, "queue_%s", metric);
    head(out, name, "gauge", help);
    for (const struct text_node *q = queues->first; q; q = q->next) {
        const struct text_node *map = text_get(q, metric);
        for (const struct text_node *one = map ? map->first : NULL; one; one = one->next)
            put_amount(q, metric, one, out);
    }
}

static void put_queues(struct call *call, struct buf *out)
{
    struct queues_view view;
    answer_queues_view(call->api->config.ctl, call->arena, call->owner, NULL, &view, NULL);
    const struct text_node *tree = view_put_queues(call->arena, &view);
    const struct text_node *queues = text_get(tree, "queues");
    put_depth(queues, out);
    put_amounts(queues, "used", "Cores, bytes and devices held, with the queues below.", out);
    put_amounts(queues, "guaranteed", "What the queue is sure of.", out);
    put_amounts(queues, "maximum", "The most it may hold; no row: no bound.", out);
    put_amounts(queues, "borrowed", "Of what is used, what nobody guarantees it.", out);
}

/* What the driver said last of each device of the machine. */
static const struct {
    const char *key, *name, *help;
} device_figures[] = {
    { "utilisation", "device_utilisation_percent", "Time in which a kernel ran." },
    { "memory", "device_memory_bytes", "Memory of the device." },
    { "memory_used", "device_memory_used_bytes", "Of that, in use by whatever program." },
    { "temperature", "device_temperature_celsius", "Temperature." },
    { "milliwatts", "device_power_milliwatts", "Power that it draws." },
    { "sm_clock", "device_sm_clock_mhz", "Clock of its processors." },
    { "memory_clock", "device_memory_clock_mhz", "Clock of its memory." },
    { "ecc_errors", "device_ecc_errors", "Memory errors that could not be corrected." },
    { "ecc_corrected", "device_ecc_corrected_errors", "Memory errors that were corrected." },
    { "processes", "device_processes", "Processes that use it." },
};

static void put_device_labels(const struct text_node *node, const struct text_node *device,
                              struct buf *out)
{
    label(out, "node", text_of(node, "name"));
    buf_puts(out, ",");
    label(out, "device", text_of(device, "name"));
    buf_puts(out, ",");
    label(out, "uuid", text_of(device, "uuid"));
}

static void put_device(const struct text_node *node, const struct text_node *device,
                       const char *name, const char *key, struct buf *out)
{
    buf_addf(out, "muster_%s{", name);
    put_device_labels(node, device, out);
    buf_addf(out, "} %lld\n", number(device, key));
}

static const struct text_node *devices_of(const struct text_node *node)
{
    const struct text_node *list = text_get(node, "devices");
    return list ? list->first : NULL;
}

/* One line for each reason that holds. */
static void put_throttles(const struct text_node *nodes, struct buf *out)
{
    bool any = false;
    for (const struct text_node *n = nodes->first; n; n = n->next)
        for (const struct text_node *d = devices_of(n); d; d = d->next) {
            const struct text_node *list = text_get(d, "throttle");
            for (const struct text_node *why = list ? list->first : NULL; why; why = why->next) {
                if (!any)
                    head(out, "device_throttled", "gauge", "What slows the device down.");
                any = true;
                buf_puts(out, "muster_device_throttled{");
                put_device_labels(n, d, out);
                buf_puts(out, ",");
                label(out, "reason", why->str);
                buf_puts(out, "} 1\n");
            }
        }
}

/* What a driver does not say has no line. */
static void put_devices(const struct text_node *nodes, struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(device_figures); i++) {
        bool any = false;
        for (const struct text_node *n = nodes->first; n; n = n->next)
            for (const struct text_node *d = devices_of(n); d; d = d->next) {
                if (!text_get(d, device_figures[i].key))
                    continue;
                if (!any)
                    head(out, device_figures[i].name, "gauge", device_figures[i].help);
                any = true;
                put_device(n, d, device_figures[i].name, device_figures[i].key, out);
            }
    }
    put_throttles(nodes, out);
}

static void put_free(struct call *call, struct buf *out)
{
    const struct nodes_view view = answer_nodes_view(call->api->config.ctl, call->arena);
    const struct text_node *tree = view_put_nodes(call->arena, &view);
    const struct text_node *blocks = text_get(text_get(tree, "free"), "blocks");
    head(out, "free_gpu_blocks", "gauge",
         "Idle devices of usable nodes as blocks on one node, largest first.");
    for (const struct text_node *one = blocks->first; one; one = one->next)
        buf_addf(out, "muster_free_gpu_blocks{size=\"%s\"} %lld\n", one->key,
                 (long long)one->integer);
    put_devices(text_get(tree, "nodes"), out);
}

static void put_plans(const struct text_node *stats, struct buf *out)
{
    const struct text_node *plan = text_get(stats, "plan_time"), *bins = text_get(plan, "bins");
    long long sum = 0;
    head(out, "plan_seconds", "histogram", "Time of a scheduling pass.");
    for (const struct text_node *bin = bins->first; bin; bin = bin->next) {
        sum += number(bin, "count");
        buf_addf(out, "muster_plan_seconds_bucket{le=\"%g\"} %lld\n",
                 (double)number(bin, "le_us") / 1e6, sum);
    }
    buf_addf(out, "muster_plan_seconds_bucket{le=\"+Inf\"} %lld\n", number(plan, "count"));
    buf_addf(out, "muster_plan_seconds_sum %.6f\n", (double)number(plan, "sum_us") / 1e6);
    buf_addf(out, "muster_plan_seconds_count %lld\n", number(plan, "count"));
    head(out, "plan_last_seconds", "gauge", "Time of the last scheduling pass.");
    buf_addf(out, "muster_plan_last_seconds %.6f\n", (double)number(plan, "last_us") / 1e6);
}

static void put_turns(const struct turn_meter *meter, struct buf *out)
{
    const struct turn_figures f = turn_meter_figures(meter);
    uint64_t sum = 0;
    head(out, "turn_cpu_seconds", "histogram",
         "Processor time of a turn of the server's loop; everybody waits that long.");
    for (unsigned i = 0; i + 1 < TURN_BINS; i++) {
        sum += f.bins[i];
        buf_addf(out, "muster_turn_cpu_seconds_bucket{le=\"%g\"} %llu\n",
                 (double)turn_meter_bound(i) / 1e6, (unsigned long long)sum);
    }
    buf_addf(out, "muster_turn_cpu_seconds_bucket{le=\"+Inf\"} %llu\n",
             (unsigned long long)f.turns);
    buf_addf(out, "muster_turn_cpu_seconds_sum %.6f\n", (double)f.cpu_us_sum / 1e6);
    buf_addf(out, "muster_turn_cpu_seconds_count %llu\n", (unsigned long long)f.turns);
    head(out, "turn_cpu_max_seconds", "gauge", "The longest turn since the start, and its cause.");
    buf_puts(out, "muster_turn_cpu_max_seconds{");
    label(out, "cause", f.max_cause);
    buf_addf(out, "} %.6f\n", (double)f.cpu_us_max / 1e6);
    head(out, "turns_long_total", "counter", "Turns of more than 50 ms of processor time.");
    buf_addf(out, "muster_turns_long_total %llu\n", (unsigned long long)f.longs);
    head(out, "load_cpu_seconds", "gauge",
         "Processor time of this server's start, before anybody could ask it.");
    buf_addf(out, "muster_load_cpu_seconds %.6f\n", (double)f.load_us / 1e6);
    head(out, "commit_wait_seconds_total", "counter", "Time that commits waited for the disk.");
    buf_addf(out, "muster_commit_wait_seconds_total %.6f\n", (double)f.disk_us_sum / 1e6);
    head(out, "commit_wait_max_seconds", "gauge", "The longest such wait of one turn.");
    buf_addf(out, "muster_commit_wait_max_seconds %.6f\n", (double)f.disk_us_max / 1e6);
}

/* Every number of the core's statistics is a gauge; by-state counts get a label. */
void server_metrics(struct call *call)
{
    AUTO_BUF struct buf out = BUF_INIT(64u << 20);
    const struct stats_view view = answer_stats_view(call->api->config.ctl);
    const struct text_node *stats = view_put(call->arena, NULL, NULL, VIEW_STATS, &view);
    const struct text_node *jobs = text_get(stats, "jobs");
    head(&out, "jobs", "gauge", "Jobs on record by state.");
    for (const struct text_node *s = jobs ? jobs->first : NULL; s; s = s->next)
        buf_addf(&out, "muster_jobs{state=\"%s\"} %lld\n", s->key, (long long)s->integer);
    for (const struct text_node *s = stats->first; s; s = s->next) {
        if (s->kind != TEXT_INT && s->kind != TEXT_BOOL)
            continue;
        long long value = s->kind == TEXT_INT ? (long long)s->integer : s->boolean;
        buf_addf(&out, "# TYPE muster_%s gauge\nmuster_%s %lld\n", s->key, s->key, value);
    }
    put_queues(call, &out);
    put_free(call, &out);
    put_plans(stats, &out);
    put_turns(call->api->config.meter, &out);
    buf_addf(&out, "# TYPE muster_connections gauge\nmuster_connections %u\n",
             http_server_connections(call->api->server));
    buf_addf(&out, "# TYPE muster_uptime_seconds counter\nmuster_uptime_seconds %llu\n",
             (unsigned long long)((clock_mono_ms() - call->api->config.started_up_ms) / 1000));
    call_text(call, 200, "text/plain; version=0.0.4", buf_str(&out), out.len);
}
