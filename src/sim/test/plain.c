/* One dialect and one convention, for simulations in tests: jobs are in the canonical form itself,
 * and ends are classed by who ended them. */
#include "sim/test/plain.h"

static int detect(const struct text_node *root)
{
    return text_get(root, "roles") || text_get(root, "run") ? 50 : 0;
}

static struct job_spec *read(struct arena *arena, const struct text_node *root,
                             const struct site *site, struct report *report)
{
    (void)site;
    return job_decode(arena, root, report);
}

static struct end_words classify(const struct job_spec *spec, const struct ending *end)
{
    (void)spec;
    enum end_class class = END_UNKNOWN;
    if (end->by == BY_USER || end->by == BY_POLICY)
        class = END_STOPPED;
    else if (end->lost || end->by == BY_PLATFORM)
        class = END_PLATFORM;
    else if (end->exited && end->code == 0)
        class = END_SUCCESS;
    return (struct end_words){ .class = class, .phrase = "end", .text = "it ended" };
}

static const char *job_word(enum job_state state, bool running)
{
    (void)running;
    return job_state_word(state);
}

const struct dialects *plain_dialects(void)
{
    static const struct dialect plain = {
        .name = "plain", .title = "plain", .looks_for = "roles", .detect = detect, .read = read
    };
    static const struct convention words = {
        .name = "plain", .classify = classify, .job_word = job_word, .task_word = task_state_word
    };
    static const struct dialect *const list[] = { &plain };
    static const struct convention *const conventions[] = { &words };
    static const struct dialects all = {
        .at = list, .n = 1, .conventions = conventions, .n_conventions = 1, .native = &words
    };
    return &all;
}
