/* Texts within a text: the advanced settings of PyTorch and the argument line of the fault monitor.
 *
 * Inputs: a decoded body. Effects: problems in the report; ports and retry rules.
 *
 * Source: the vendor's list of advanced settings, and its page on automatic fault tolerance. */
#include "dialect/dlc/settings.h"

#include "base/mem.h"
#include "base/scan.h"
#include "dialect/dlc/create.h"
#include "dialect/dlc/problems.h"
#include "dialect/dlc/types.h"

#include <string.h>
#include <strings.h>

/* ---- advanced settings ---- */

#define ADVANCED "Settings.AdvancedSettings"

static const char *const advanced_names[] = { "createSvcForAllWorkers", "customPortList",
                                              "customPortNumPerWorker" };

static const char *text_of(struct arena *a, const struct text_node *node)
{
    if (node->kind == TEXT_INT)
        return arena_printf(a, "%lld", (long long)node->integer);
    if (node->kind == TEXT_BOOL)
        return node->boolean ? "true" : "false";
    return node->kind == TEXT_STR ? node->str : NULL;
}

static bool read_services(const struct dlc_create *c, const char *text, struct report *r)
{
    if (text && strcasecmp(text, "true") == 0)
        return true;
    if (!text || strcasecmp(text, "false") != 0)
        report_hint(
            r,
            dlc_error(c, r, ADVANCED ".createSvcForAllWorkers", "is \"%.40s\"", text ? text : "?"),
            "true or false");
    return false;
}

static void bad_ports(const struct dlc_create *c, const char *text, struct report *r)
{
    report_hint(r,
                dlc_error(c, r, ADVANCED ".customPortList",
                          "is \"%.60s\", not ports and ranges of 1 to 65535", text),
                "10000;10001-10010");
}

/* One part of "10000;10001-10010". */
static bool read_range(struct arena *a, const char *part, size_t len, uint64_t *first,
                       uint64_t *last)
{
    const char *dash = memchr(part, '-', len);
    size_t head = dash ? (size_t)(dash - part) : len;
    if (!scan_u64(arena_strndup(a, part, head), 1, 65535, first))
        return false;
    *last = *first;
    return !dash || scan_u64(arena_strndup(a, dash + 1, len - head - 1), *first, 65535, last);
}

static void read_list(const struct dlc_create *c, const char *text,
                      struct dlc_advanced_settings *out, struct report *r)
{
    size_t most = 1;
    for (const char *p = text; *p; p++)
        most += *p == ';';
    out->ports = ARENA_ARRAY(r->arena, most, struct port_request);
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, ";");
        uint64_t first = 0, last = 0;
        if (len > 0 && !read_range(r->arena, p, len, &first, &last)) {
            bad_ports(c, text, r);
            return;
        }
        if (len > 0 && first <= DLC_PYTORCH_PORT && last >= DLC_PYTORCH_PORT)
            report_hint(r,
                        dlc_error(c, r, ADVANCED ".customPortList",
                                  "has %u, the port of the master", DLC_PYTORCH_PORT),
                        "other ports");
        const char *label = out->n_ports
                                ? arena_printf(r->arena, DLC_LABEL_CUSTOM "-%zu", out->n_ports + 1)
                                : DLC_LABEL_CUSTOM;
        if (len > 0)
            out->ports[out->n_ports++] = (struct port_request){
                .label = label, .first = (uint32_t)first, .count = (uint32_t)(last - first + 1)
            };
        p += len + (p[len] == ';');
    }
    if (out->n_ports == 0)
        bad_ports(c, text, r);
    else if (out->n_ports > 32)
        report_hint(r,
                    dlc_error(c, r, ADVANCED ".customPortList", "has %zu parts, the most are 32",
                              out->n_ports),
                    "ranges: 10000-10010");
}

static void read_number(const struct dlc_create *c, const char *text,
                        struct dlc_advanced_settings *out, struct report *r)
{
    uint64_t n = 0;
    if (!scan_u64(text, 1, 65535, &n)) {
        report_hint(r,
                    dlc_error(c, r, ADVANCED ".customPortNumPerWorker",
                              "is \"%.40s\", not a number of ports of 1 to 65535", text),
                    "100");
        return;
    }
    out->ports = ARENA_NEW(r->arena, struct port_request);
    out->ports[0] = (struct port_request){ .label = DLC_LABEL_CUSTOM, .count = (uint32_t)n };
    out->n_ports = 1;
}

void dlc_advanced_read(const struct dlc_create *c, struct dlc_advanced_settings *out,
                       struct report *r)
{
    const struct text_node *map = c->settings.advanced;
    *out = (struct dlc_advanced_settings){ .n_ports = 0 };
    if (!dlc_given(map) || !c->type || strcmp(c->type->name, "PyTorchJob") != 0)
        return;
    if (map->kind != TEXT_MAP) {
        report_hint(r, dlc_error(c, r, ADVANCED, "is %s, not a map", text_kind_word(map->kind)),
                    "createSvcForAllWorkers: true");
        return;
    }
    const char *list = NULL, *number = NULL;
    for (const struct text_node *node = map->first; node; node = node->next) {
        const char *text = text_of(r->arena, node);
        if (strcmp(node->key, "createSvcForAllWorkers") == 0) {
            out->services = read_services(c, text, r);
        } else if (strcmp(node->key, "customPortList") == 0) {
            list = text ? text : "";
        } else if (strcmp(node->key, "customPortNumPerWorker") == 0) {
            number = text ? text : "";
        } else {
            const char *near = scan_nearest(node->key, advanced_names, ARRAY_LEN(advanced_names));
            report_hint(
                r,
                dlc_error(c, r, ADVANCED, "has \"%.40s\", which is no advanced setting", node->key),
                "%s",
                near ? near : "createSvcForAllWorkers, customPortList or customPortNumPerWorker");
        }
    }
    if (list && number)
        report_hint(r, dlc_error(c, r, ADVANCED, "has customPortList and customPortNumPerWorker"),
                    "one of them");
    else if (list)
        read_list(c, list, out, r);
    else if (number)
        read_number(c, number, out, r);
}

/* ---- the fault monitor ---- */

#define MONITOR "Settings.ErrorMonitoringArgs"
enum { RESTARTS = 3 };

enum monitor_key { MODE, RESTART, MOST, POLICY, IDLE_KEY };
static const struct {
    const char *name;
    enum monitor_key key;
    bool off; /* IDLE_KEY: "False" asks for nothing */
} monitor_keys[] = {
    { "job-execution-mode", MODE, false },
    { "enable-job-restart", RESTART, false },
    { "max-num-of-job-restart", MOST, false },
    { "fault-tolerant-policy", POLICY, false },
    { "enable-job-hang-detection", IDLE_KEY, true },
    { "job-hang-interval", IDLE_KEY, false },
    { "enable-c4d-hang-detection", IDLE_KEY, true },
    { "enable-job-exit-hang-detection", IDLE_KEY, true },
    { "job-exit-hang-interval", IDLE_KEY, false },
    { "max-num-of-same-error", IDLE_KEY, false },
    { "max-tolerated-failure-rate", IDLE_KEY, false },
    { "job-restart-timeout", IDLE_KEY, false },
    { "enable-local-detection", IDLE_KEY, true },
    { "enable-log-hang-detection", IDLE_KEY, true },
    { "enable-perftracker", IDLE_KEY, true },
};

struct monitor {
    const struct dlc_create *c;
    struct report *report;
    bool restart, async, never, always;
    uint64_t most;
};

static void wrong(const struct monitor *m, const char *name, const char *value, const char *hint)
{
    report_hint(m->report,
                dlc_error(m->c, m->report, MONITOR, "has --%s %.40s", name,
                          *value ? value : "without a value"),
                "--%s=%s", name, hint);
}

static bool read_flag(const struct monitor *m, const char *name, const char *value, bool *out)
{
    bool yes = strcasecmp(value, "true") == 0, no = strcasecmp(value, "false") == 0;
    if (!yes && !no)
        wrong(m, name, value, "True");
    else
        *out = yes;
    return yes || no;
}

static void one_of(const struct monitor *m, const char *name, const char *value,
                   const char *const *words, size_t n, size_t *which)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], value) == 0) {
            *which = i;
            return;
        }
    wrong(m, name, value, words[0]);
}

static void read_argument(struct monitor *m, const char *name, const char *value)
{
    static const char *const modes[] = { "Sync", "Async" };
    static const char *const policies[] = { "OnFailure", "ExitCodeAndErrorMsg", "Never" };
    const char *names[ARRAY_LEN(monitor_keys)];
    size_t which = 0, i = 0;
    bool on = true;
    while (i < ARRAY_LEN(monitor_keys) && strcmp(monitor_keys[i].name, name) != 0) {
        names[i] = monitor_keys[i].name;
        i++;
    }
    if (i == ARRAY_LEN(monitor_keys)) {
        const char *near = scan_nearest(name, names, i);
        report_hint(m->report,
                    dlc_warn(m->c, m->report, MONITOR, "has --%.60s, which is not known", name),
                    "%s%s", near ? "--" : "leave it out", near ? near : "");
        return;
    }
    switch (monitor_keys[i].key) {
    case MODE:
        one_of(m, name, value, modes, ARRAY_LEN(modes), &which);
        m->async = which == 1;
        break;
    case RESTART: read_flag(m, name, value, &m->restart); break;
    case MOST:
        if (!scan_u64(value, 0, 1000000, &m->most))
            wrong(m, name, value, "3");
        break;
    case POLICY:
        which = 1;
        one_of(m, name, value, policies, ARRAY_LEN(policies), &which);
        m->always = which == 0;
        m->never = which == 2;
        break;
    case IDLE_KEY:
        if (monitor_keys[i].off && (!read_flag(m, name, value, &on) || !on))
            break;
        report_hint(m->report,
                    dlc_warn(m->c, m->report, MONITOR,
                             "has --%s: hangs and rates are not watched here", name),
                    "leave it out");
        break;
    }
}

/* "--k=v" or "--k v". */
static void read_line(struct monitor *m, const char *text)
{
    struct arena *a = m->report->arena;
    while (*(text += strspn(text, " \t\n"))) {
        size_t len = strcspn(text, " \t\n");
        const char *word = arena_strndup(a, text, len), *eq = strchr(word, '=');
        text += len;
        if (strncmp(word, "--", 2) != 0) {
            report_hint(
                m->report,
                dlc_error(m->c, m->report, MONITOR, "has \"%.60s\", which is no argument", word),
                "--enable-job-restart=True --max-num-of-job-restart=3");
            return;
        }
        const char *name = eq ? arena_strndup(a, word + 2, (size_t)(eq - word) - 2) : word + 2;
        const char *value = eq ? eq + 1 : "";
        if (!eq) {
            text += strspn(text, " \t\n");
            len = strncmp(text, "--", 2) == 0 ? 0 : strcspn(text, " \t\n");
            value = arena_strndup(a, text, len);
            text += len;
        }
        read_argument(m, name, value);
    }
}

void dlc_monitor_read(const struct dlc_create *c, struct retry *retry, struct report *r)
{
    const char *args = c->settings.monitor_args;
    struct monitor m = { .c = c, .report = r, .most = RESTARTS };
    if (args && *args && !c->settings.monitor)
        report_hint(r, dlc_warn(c, r, MONITOR, "has no effect while fault tolerance is off"),
                    "EnableErrorMonitoringInAIMaster: true");
    if (!c->settings.monitor)
        return;
    read_line(&m, args ? args : "");
    retry->scope = m.async ? RETRY_SCOPE_TASK : RETRY_SCOPE_JOB;
    if (!m.restart || m.never || m.most == 0)
        return;
    const struct count most = { .kind = COUNT_NUMBER, .n = (uint32_t)m.most };
    retry->platform = retry->unknown = most;
    retry->platform_counted = true;
    if (m.always)
        retry->user = most;
}
