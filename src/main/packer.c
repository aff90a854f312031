/* The child is this program under a name of its own (pack_main.h), which prints one line. Its text
 * goes into the reason of tasks that are refused, with what to do about it. */
#include "main/packer.h"

#include "api/child.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"
#include "job/launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FILES_MOST  100000ull
#define PACK_MS     600000u
#define TEXT_ROOM   2048u
#define HASH_DIGITS 64u
#define SMALLER     "; name the directory of the code alone with --code DIR"

struct packing {
    struct child *child;
    machines_packed_fn *fn;
    void *arg;
    char dir[512]; /* for messages */
};

/* "HASH LEFT FIRST" */
static bool read_line(char *text, struct packed_archive *out)
{
    text[strcspn(text, "\n")] = '\0';
    char *rest = text;
    const char *hash = strsep(&rest, " "), *left = strsep(&rest, " ");
    *out = (struct packed_archive){ .hash = hash, .left = rest ? rest : "" };
    return strlen(hash) == HASH_DIGITS && left && scan_u64(left, 0, UINT64_MAX, &out->n_left);
}

/* "WORD TEXT" */
static void read_problem(const struct packing *p, const struct child_end *end, struct err *err)
{
    char *rest = end->text;
    const char *word = strsep(&rest, " ");
    end->text[end->len] = '\0';
    if (end->killed) {
        err_set(err, ERR_TOO_LARGE, "packing %.120s took longer than %u minutes" SMALLER, p->dir,
                PACK_MS / 60000);
        return;
    }
    if (rest)
        rest[strcspn(rest, "\n")] = '\0';
    bool large = strcmp(word, err_word(ERR_TOO_LARGE)) == 0;
    err_set(err, large ? ERR_TOO_LARGE : ERR_CANNOT, "packing the code: %.160s%s",
            rest ? rest : "it failed", large ? SMALLER : "");
}

static void on_end(void *arg, const struct child_end *end)
{
    struct packing *p = arg;
    struct packed_archive packed;
    struct err err;
    if (end->good && read_line(end->text, &packed)) {
        p->fn(p->arg, &packed, NULL);
    } else {
        read_problem(p, end, &err);
        p->fn(p->arg, NULL, &err);
    }
    free(p);
}

static void *start(void *arg, const struct machines_pack *what, machines_packed_fn *fn,
                   void *fn_arg, struct err *err)
{
    const struct packer_config *config = arg;
    char bytes[24], files[24];
    bool less = what->bytes && what->bytes < CODE_TRAVELS_MAX;
    uint64_t most = less ? what->bytes : CODE_TRAVELS_MAX;
    snprintf(bytes, sizeof bytes, "%" PRIu64, most);
    snprintf(files, sizeof files, "%llu", FILES_MOST);
    AUTO_BUF struct buf user = BUF_INIT(1u << 16);
    if (what->account)
        fs_user_print(&what->account->ids, &user);
    const char *args[] = { "pack-code",    what->dir, what->under ? what->under : "",
                           what->file,     bytes,     files,
                           buf_str(&user), NULL };
    const struct child_line line = { .program = config->program,
                                     .args = (char *const *)(uintptr_t)args,
                                     .input = -1,
                                     .text_max = TEXT_ROOM,
                                     .limit_ms = PACK_MS };
    struct packing *p = mem_new(sizeof *p);
    *p = (struct packing){ .fn = fn, .arg = fn_arg };
    snprintf(p->dir, sizeof p->dir, "%s", what->dir);
    p->child = child_start(config->loop, &line, on_end, p, err);
    if (p->child)
        return p;
    free(p);
    return NULL;
}

static void drop(void *packing)
{
    struct packing *p = packing;
    child_drop(p->child);
    free(p);
}

struct machines_packer packer_of(const struct packer_config *config)
{
    return (
        struct machines_packer){ .start = start, .drop = drop, .arg = (void *)(uintptr_t)config };
}
