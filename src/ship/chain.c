/* Reads heads of chains, and removes chains that are not to be kept: those before the newest whole
 * ones. */
#include "ship/chain.h"

#include "base/mem.h"
#include "ship/backup_file.h"
#include "text/json.h"

#include <inttypes.h>
#include <string.h>

#define READ_TRIES 5

/* A server that goes on puts the head anew after each segment, also while it is read. */
static int read_head(struct target *t, const char *name, char **text, size_t *len, struct err *err)
{
    for (int tries = 1;; tries++) {
        if (target_read(t, name, text, len, err) == 0)
            return 0;
        if (err->code != ERR_CONFLICT || tries == READ_TRIES)
            return -1;
    }
}

int chain_read_head(struct target *t, struct arena *a, uint64_t chain, struct chain_head *out,
                    struct err *err)
{
    struct report report;
    AUTO_FREE char *text = NULL;
    size_t len;
    const char *name = arena_printf(a, "%08" PRIu64 "/" CHAIN_HEAD, chain);
    if (read_head(t, name, &text, &len, err) < 0)
        return -1;
    report_init(&report, a);
    const struct text_node *tree = json_parse(a, text, len, 0, &report);
    const struct chain_head head = { .chain = text_number(tree, "chain"),
                                     .number = text_number(tree, "number"),
                                     .sha256 = text_word(tree, "sha256"),
                                     .tree = tree };
    if (head.chain != chain || strlen(head.sha256) != SHA256_TEXT - 1)
        return err_set(err, ERR_INPUT, "%s is damaged: it is not the head of that chain", name);
    *out = head;
    return 0;
}

/* A chain without a head was never complete, unless segments follow its base. */
static int check_headless(struct target *t, struct arena *a, uint64_t chain, struct err *err)
{
    struct err why;
    struct target_file *first = target_get(t, chain_file(a, chain, 1), &why);
    if (!first)
        return why.code == ERR_NOT_FOUND ? 0 : (*err = why, -1);
    target_end(first);
    return err_set(err, ERR_INPUT,
                   CHAIN_HEAD " of chain %" PRIu64 " is missing, and segments are there", chain);
}

int chain_newest(struct target *t, struct arena *a, struct chain_head *out, struct err *err)
{
    struct chains chains = { .all.n = 0 };
    int rc = target_list(t, &chains, err);
    bool found = false;
    for (size_t i = chains.all.n; rc == 0 && !found && i > 0; i--) {
        rc = chain_read_head(t, a, chains.all.at[i - 1], out, err);
        found = rc == 0;
        if (rc < 0 && err->code == ERR_NOT_FOUND)
            rc = check_headless(t, a, chains.all.at[i - 1], err);
    }
    vec_fini(&chains.all);
    return rc < 0 || found ? rc : err_set(err, ERR_NOT_FOUND, "there is no whole chain");
}

int chain_thin(struct target *t, struct arena *a, const struct chain_keep *what, struct err *err)
{
    struct chains chains = { .all.n = 0 };
    struct chain_head head;
    struct err why;
    uint64_t keep = what->keep;
    int rc = target_list(t, &chains, err);
    for (size_t i = chains.all.n; rc == 0 && i > 0; i--) {
        uint64_t one = chains.all.at[i - 1];
        if (one >= what->before)
            continue;
        bool whole = chain_read_head(t, a, one, &head, &why) == 0;
        if (whole && keep > 0)
            keep--;
        else if (whole || why.code == ERR_NOT_FOUND || why.code == ERR_INPUT)
            rc = target_remove(t, one, what->until_ms, err);
        else
            rc = (*err = why, -1);
    }
    vec_fini(&chains.all);
    return rc;
}
