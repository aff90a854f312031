/* Jobs that somebody may read, searched and paged as people ask for them. */
#ifndef ANSWER_SEARCH_H
#define ANSWER_SEARCH_H

#include "account/identity.h"
#include "ctl/ctl.h"
#include "store/find.h"

struct search_page {
    uint64_t *ids; /* of the page, in arena */
    size_t n;
    uint64_t total; /* on all pages */
};
/* The query's reader and projects are set here: what *who may read. 0 or -1. */
int answer_search(struct ctl *, struct arena *, const struct identity *who,
                  const struct job_query *, struct search_page *, struct err *);

#endif
