/* Several stores, of the server's own jobs and of accounts, stand behind each other: few machines
 * have both. */
#include "cli/images_text.h"

#include "base/buf.h"
#include "cli/answer.h"
#include "cli/out.h"

static void add_place(struct buf *out, const struct text_node *store)
{
    uint64_t accounts = answer_number(store, "accounts", 0);
    buf_addf(out, " in %s", answer_text(store, "dir", "?"));
    if (accounts > 0)
        buf_addf(out, " of %llu account%s, each with that limit", (unsigned long long)accounts,
                 accounts == 1 ? "" : "s");
}

const char *images_text(struct arena *a, const struct text_node *stores, bool places)
{
    AUTO_BUF struct buf out = BUF_INIT(4096);
    char taken[48], limit[48], left[48];
    for (const struct text_node *s = stores ? stores->first : NULL; s; s = s->next) {
        uint64_t bytes = answer_number(s, "bytes", 0);
        buf_addf(&out, "%s%s/%s", out.len ? "; " : "", bytes ? out_size(taken, bytes) : "0",
                 out_size(limit, answer_number(s, "limit", 0)));
        if (places)
            add_place(&out, s);
        buf_addf(&out, ", %s free", out_size(left, answer_number(s, "free", 0)));
    }
    return arena_strdup(a, buf_str(&out));
}
