/* The rows, and finding one: by its whole name, a name of older versions, or a beginning of a name
 * that no other option has. */
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

enum sb_id sb_option_find(const char *name, size_t len, bool *several)
{
    enum sb_id found = SB_ID_N;
    *several = false;
    for (enum sb_id id = 0; id < SB_ID_N; id++) {
        if (strncmp(sb_options[id].name, name, len) != 0)
            continue;
        if (strlen(sb_options[id].name) == len) {
            *several = false;
            return id;
        }
        *several |= found != SB_ID_N;
        found = id;
    }
    for (size_t i = 0; i < ARRAY_LEN(also); i++)
        if (strlen(also[i].name) == len && strncmp(also[i].name, name, len) == 0) {
            *several = false;
            return also[i].id;
        }
    return *several ? SB_ID_N : found;
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
