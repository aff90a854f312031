/* Compares two canonical jobs as trees, field by field. The first few differences are said one by
 * one, with both values as far as they are short. */
#include "submission/difference.h"

#include "job/job.h"
#include "text/json.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define VALUE_MAX 60
#define NAMED_MAX 3 /* differences that are said one by one */

struct comparing {
    struct arena *arena;
    char text[200];
    size_t n;
};

static const char *printed(struct arena *arena, const struct text_node *node)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    if (!node)
        return "left out";
    json_print(node, 0, &out);
    const char *text = arena_strndup(arena, buf_str(&out), out.len);
    return out.len > VALUE_MAX ? arena_printf(arena, "%.*s...", VALUE_MAX, text) : text;
}

static void differs(struct comparing *c, const char *path, const struct text_node *is,
                    const struct text_node *wanted)
{
    size_t used = strlen(c->text);
    if (c->n++ < NAMED_MAX)
        snprintf(c->text + used, sizeof c->text - used, "%s%s is %s, not %s", used ? "; " : "",
                 path, printed(c->arena, is), printed(c->arena, wanted));
}

static void compare(struct comparing *c, const char *path, const struct text_node *is,
                    const struct text_node *wanted)
{
    if (!is || !wanted || is->kind != TEXT_MAP || wanted->kind != TEXT_MAP) {
        bool same = is && wanted && strcmp(printed(c->arena, is), printed(c->arena, wanted)) == 0;
        if (!same)
            differs(c, path, is, wanted);
        return;
    }
    const char *dot = *path ? "." : "";
    for (const struct text_node *one = is->first; one; one = one->next)
        compare(c, arena_printf(c->arena, "%s%s%s", path, dot, one->key), one,
                text_get(wanted, one->key));
    for (const struct text_node *one = wanted->first; one; one = one->next)
        if (!text_get(is, one->key))
            differs(c, arena_printf(c->arena, "%s%s%s", path, dot, one->key), NULL, one);
}

/* The job as a tree, without whether it is held. */
static struct text_node *lasting(struct arena *arena, const struct job_spec *job)
{
    struct job_spec copy = *job;
    copy.suspend = false;
    return job_encode(arena, &copy);
}

const char *job_difference(struct arena *arena, const struct job_spec *is,
                           const struct job_spec *wanted)
{
    struct comparing c = { .arena = arena };
    compare(&c, "", lasting(arena, is), lasting(arena, wanted));
    if (c.n == 0)
        return NULL;
    return arena_printf(arena, "%s%s", c.text, c.n > NAMED_MAX ? "; and more" : "");
}
