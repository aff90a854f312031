/* The rows, and finding one: by its whole name, a name of older versions, or a beginning of one
 * of both that no other option has. */
#include "dialect/sbatch/options.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "dialect/sbatch/sbatch.h"

#include <string.h>

#define SB_ROW(id, name_, letter_, arg_, fate_, kept_, doc_)                                       \
    [SBO_##id] = { .name = (name_),                                                                \
                   .letter = (letter_),                                                            \
                   .arg = SB_##arg_,                                                               \
                   .fate = SB_##fate_,                                                             \
                   .kept = (kept_),                                                                \
                   .doc = (doc_) },
const struct sb_option sb_options[SB_ID_N] = { SB_OPTIONS(SB_ROW) };
#undef SB_ROW

static const struct {
    const char *name;
    enum sb_id id;
} also[] = {
    { "tasks-per-node", SBO_NTASKS_PER_NODE },
    { "mem_bind", SBO_MEM_BIND },
    { "share", SBO_OVERSUBSCRIBE },
    { "cluster", SBO_CLUSTERS },
};

/* What a beginning may mean, so far. */
struct candidate {
    enum sb_id id;
    bool exact, several;
};

static void compare(struct candidate *m, enum sb_id id, const char *own, const char *name,
                    size_t len)
{
    if (m->exact || strncmp(own, name, len) != 0)
        return;
    m->exact = strlen(own) == len;
    m->several = !m->exact && (m->several || (m->id != SB_ID_N && m->id != id));
    m->id = id;
}

enum sb_id sb_option_find(const char *name, size_t len, bool *several)
{
    struct candidate m = { .id = SB_ID_N };
    for (enum sb_id id = 0; id < SB_ID_N; id++)
        compare(&m, id, sb_options[id].name, name, len);
    for (size_t i = 0; i < ARRAY_LEN(also); i++)
        compare(&m, also[i].id, also[i].name, name, len);
    *several = m.several;
    return m.several ? SB_ID_N : m.id;
}

enum sb_id sb_option_letter(char letter)
{
    enum sb_id id = 0;
    while (id < SB_ID_N && sb_options[id].letter != letter)
        id++;
    return id;
}

const char *sb_option_near(const char *name)
{
    const char *names[SB_ID_N];
    for (enum sb_id id = 0; id < SB_ID_N; id++)
        names[id] = sb_options[id].name;
    return scan_nearest(name, names, SB_ID_N);
}

void sbatch_reference(struct buf *out)
{
    static const char *const fates[] = { [SB_HONOURED] = "honoured",
                                         [SB_WARNED] = "warned",
                                         [SB_REFUSED] = "refused",
                                         [SB_QUIET] = "quiet" };
    buf_puts(out, "| option | | what becomes of it |\n|---|---|---|\n");
    for (enum sb_id id = 0; id < SB_ID_N; id++) {
        const struct sb_option *o = &sb_options[id];
        buf_puts(out, "| `");
        if (o->letter)
            buf_addf(out, "-%c ", o->letter);
        buf_addf(out, "--%s` | %s | %s |\n", o->name, fates[o->fate], o->doc);
    }
}
