/* The way from a search to the records: the rights of who asks become conditions of the query. The
 * answer is ids in order; whoever shows them looks each job up. */
#include "answer/search.h"

#include "account/rights.h"
#include "ctl/contents.h"

int answer_search(struct ctl *ctl, struct arena *arena, const struct identity *who,
                  const struct job_query *asked, struct search_page *found, struct err *err)
{
    const struct contents core = ctl_contents(ctl);
    struct job_query query = *asked;
    struct job_filter filter = { 0 };
    struct job_page rows;
    filter_readable(core.accounts, arena, who, &filter);
    query.reader = filter.reader;
    query.projects = filter.projects;
    *found = (struct search_page){ 0 };
    if (store_find_jobs(core.store, arena, &query, &rows, err))
        return -1;
    found->total = rows.total;
    found->ids = ARENA_ARRAY(arena, rows.n + 1, uint64_t);
    for (size_t i = 0; i < rows.n; i++)
        found->ids[found->n++] = rows.rows[i].id;
    return 0;
}
