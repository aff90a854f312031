/* What stands for the place and the submitter in directories: OpenPAI's three words for authFile,
 * dataDir, outputDir and codeDir, which the native form takes as well, so that a converted job
 * names no directory of the machine it was converted on.
 *
 * Inputs: a text, the job's name, the site. Effects: none; the result is in the arena.
 *
 * Caveats: one pass, so a replacement is never searched again. */
#include "dialect/dialect.h"

#include "base/buf.h"

#include <string.h>

enum { SUBSTITUTED_MAX = 1 << 20 };

struct rule {
    const char *name;
    const char *value; /* NULL: not known here */
    bool once;         /* only the first, whatever follows */
};

static bool word_follows(const char *after)
{
    return (*after >= '0' && *after <= '9') || (*after >= 'A' && *after <= 'Z') ||
           (*after >= 'a' && *after <= 'z') || *after == '_';
}

/* The rule that applies at text, or NULL. */
static struct rule *rule_at(struct rule *rules, const char *text)
{
    for (struct rule *r = rules; r->name; r++) {
        size_t n = strlen(r->name);
        if (r->value && strncmp(text, r->name, n) == 0 && (r->once || !word_follows(text + n)))
            return r;
    }
    return NULL;
}

const char *dialect_substitute(struct arena *arena, const char *text, const char *job_name,
                               const struct site *site)
{
    const char *owner = site ? site->owner : NULL;
    struct rule rules[] = {
        { .name = "$PAI_DEFAULT_FS_URI", .value = site ? site->fs_uri : NULL, .once = true },
        { .name = "$PAI_JOB_NAME", .value = job_name },
        { .name = "$PAI_USER_NAME", .value = owner },
        { .name = "$PAI_USERNAME", .value = owner },
        { .name = NULL },
    };
    AUTO_BUF struct buf out = BUF_INIT(SUBSTITUTED_MAX);
    while (*text) {
        struct rule *r = rule_at(rules, text);
        if (!r) {
            buf_putc(&out, *text++);
            continue;
        }
        buf_puts(&out, r->value);
        text += strlen(r->name);
        if (r->once)
            r->value = NULL;
    }
    return arena_strdup(arena, buf_str(&out));
}
