/* Jobs as plain values, for who prints thousands of them: what ctl_list_tree and ctl_job_tree tell
 * of their rows, without a tree for each; and parts of what a job says, without all of it. */
#ifndef CTL_LISTED_H
#define CTL_LISTED_H

#include "ctl/ctl.h"

struct ctl_listed {
    /* What memory knows better is in it; spec, site, live and facets are not. */
    struct job_row row;
    char id[JOB_ID_TEXT];
    uint32_t running; /* tasks that run now */
};
/* Newest first, in arena; texts hold until the next turn. 0, or -1 with err. */
int ctl_list(struct ctl *, struct arena *, const struct job_filter *, struct ctl_listed **,
             size_t *n, struct err *);
/* One, that owner may read; ERR_NOT_FOUND. */
int ctl_listed(struct ctl *, struct arena *, uint64_t job, const char *owner, struct ctl_listed *,
               struct err *);
/* Why it waits, ends, ended, as owner may be told; "" when nothing is to be said. */
const char *ctl_listed_reason(struct ctl *, struct arena *, const struct ctl_listed *,
                              const char *owner);

/* The canonical job; with members (NULL ends the list) only these are read. Values of variables are
 * masked for who may not change it. NULL: its row cannot be read. */
struct text_node *ctl_spec_tree(struct ctl *, struct arena *, const struct ctl_listed *,
                                const char *owner, const char *const *members);
/* The text as it was sent, with its secrets masked for who may not change the job; NULL: there is
 * none. */
const char *ctl_origin(struct ctl *, struct arena *, const struct ctl_listed *, const char *owner);

#endif
