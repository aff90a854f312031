/* Trees written as JSON, for tests: an arena, a tree of a text, is a tree that of a text. cmocka.h
 * and what it needs come before. */
#ifndef API_TEST_TREES_H
#define API_TEST_TREES_H

#include "base/buf.h"
#include "base/report.h"
#include "text/json.h"

#include <string.h>

struct fix {
    struct arena *arena;
};

static inline int setup(void **state)
{
    static struct fix fix;
    fix.arena = arena_create();
    *state = &fix;
    return 0;
}

static inline int teardown(void **state)
{
    struct fix *f = *state;
    arena_destroy(f->arena);
    return 0;
}

static inline struct text_node *tree(struct fix *f, const char *text)
{
    struct report report;
    report_init(&report, f->arena);
    struct text_node *node = json_parse(f->arena, text, strlen(text), 0, &report);
    assert_non_null(node);
    assert_true(report_ok(&report));
    return node;
}

static inline void is(struct fix *f, const struct text_node *node, const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    assert_non_null(node);
    json_print(node, 0, &out);
    if (!text_equal(node, tree(f, text)))
        fail_msg("%s\nis not %s", buf_str(&out), text);
}

#endif
