/* Words of the command line ("k=v") to settings of a simulation. A value in braces may have commas
 * of its own; what is not known is refused with the nearest name. */
#include "sim/settings.h"

#include "base/mem.h"
#include "base/scan.h"

#include <string.h>

static const struct {
    const char *name, *doc;
} policies[POLICY_N] = {
#define POLICY_ROW(id, name_, doc_) { .name = name_, .doc = doc_ },
    SIM_POLICIES(POLICY_ROW)
#undef POLICY_ROW
};

static const char *const fields[] = { "strategy", "reclaim", "weight", "guaranteed",
                                      "maximum",  "user",    "cells" };
#define FIELDS_ALL "strategy reclaim weight guaranteed maximum user cells"

const char *sim_policy_name(enum sim_policy policy)
{
    return policies[policy].name;
}

static bool is_field(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (strcmp(fields[i], name) == 0)
            return true;
    return false;
}

static int unknown(const char *name, struct err *err)
{
    const char *names[POLICY_N + ARRAY_LEN(fields)];
    const char *dot = strrchr(name, '.'), *wrong = dot ? dot + 1 : name;
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        names[n++] = fields[i];
    for (size_t i = 0; i < POLICY_N && !dot; i++)
        names[n++] = policies[i].name;
    const char *near = scan_nearest(wrong, names, n);
    err_set(err, ERR_INPUT, "--policy: there is no setting \"%.80s\"", name);
    if (near)
        return err_hint(err, "\"%.*s%s\"?", dot ? (int)(dot - name) + 1 : 0, name, near);
    return dot ? err_hint(err, "of a queue: " FIELDS_ALL)
               : err_hint(err, "start stop default_run half_life; of queues: " FIELDS_ALL);
}

static int set_time(struct sim_settings *settings, size_t i, const char *value, struct err *err)
{
    if (i == POLICY_HALF_LIFE && strcmp(value, "never") == 0)
        settings->policy[i] = UINT64_MAX;
    else if (!scan_duration(value, &settings->policy[i])) {
        err_set(err, ERR_INPUT, "--policy %s=%.80s: it is a time", policies[i].name, value);
        return err_hint(err, "%s=10s   (%s)", policies[i].name, policies[i].doc);
    }
    if ((i == POLICY_HALF_LIFE || i == POLICY_DEFAULT_RUN) && settings->policy[i] == 0)
        return err_set(err, ERR_INPUT, "--policy %s=%.80s: it is more than 0", policies[i].name,
                       value);
    return 0;
}

static int add_change(struct arena *arena, struct sim_settings *settings, const char *name,
                      const char *value, struct err *err)
{
    const char *dot = strrchr(name, '.');
    const char *field = dot ? dot + 1 : name;
    if (!is_field(field) || dot == name)
        return unknown(name, err);
    if (settings->n_changes == QUEUE_CHANGES_MAX)
        return err_set(err, ERR_TOO_LARGE, "--policy: more than %u fields of queues",
                       QUEUE_CHANGES_MAX);
    settings->changes[settings->n_changes++] =
        (struct queue_change){ .queue =
                                   dot ? arena_strndup(arena, name, (size_t)(dot - name)) : NULL,
                               .field = field,
                               .value = value };
    return 0;
}

static int add_one(struct arena *arena, struct sim_settings *settings, const char *text,
                   struct err *err)
{
    const char *eq = strchr(text, '=');
    if (!eq || !eq[1]) {
        err_set(err, ERR_INPUT, "--policy %.80s: no value", text);
        return err_hint(err, "NAME=VALUE: start=5s, strategy=fifo, QUEUE.maximum={gpu: 8}");
    }
    const char *name = arena_strndup(arena, text, (size_t)(eq - text));
    for (size_t i = 0; i < POLICY_N; i++)
        if (strcmp(name, policies[i].name) == 0)
            return set_time(settings, i, eq + 1, err);
    return add_change(arena, settings, name, eq + 1, err);
}

/* Up to the next comma that is in no brackets. */
static size_t one_of(const char *text)
{
    size_t n = 0;
    for (int depth = 0; text[n] && (text[n] != ',' || depth > 0); n++)
        depth += (text[n] == '{' || text[n] == '[') - (text[n] == '}' || text[n] == ']');
    return n;
}

int sim_settings_add(struct arena *arena, struct sim_settings *settings, const char *text,
                     struct err *err)
{
    while (*text) {
        size_t n = one_of(text);
        if (add_one(arena, settings, arena_strndup(arena, text, n), err))
            return -1;
        text += n + (text[n] == ',');
    }
    return 0;
}
