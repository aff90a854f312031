/* Records in a directory of their own, with jobs. Each test of copies begins with them, and removes
 * the directory at its end. */
#include "store/test/filled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

void filled_put_jobs(struct filled *f, unsigned n)
{
    char spec[2048];
    memset(spec, 'x', sizeof spec);
    spec[sizeof spec - 1] = '\0';
    for (; n > 0; n--) {
        struct job_row job = { .id = ++f->jobs,
                               .number = store_next_number(f->st),
                               .owner = "ada",
                               .project = "",
                               .name = "job",
                               .queue = "default",
                               .dialect = "muster",
                               .state = JOB_QUEUED,
                               .reason.text = "",
                               .spec = spec,
                               .site = "{}" };
        struct event_row event = { .job = job.id, .type = "submitted", .at_ms = 1 };
        assert_int_equal(store_put_job(f->st, &job, &f->err), 0);
        assert_int_equal(store_add_event(f->st, &event, &f->err), 0);
    }
    assert_int_equal(store_commit(f->st, &f->err), 0);
}

int filled_set_up(void **state)
{
    struct filled *f = mem_new(sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-store-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->path = file_join(f->dir, "muster.db");
    f->copy = file_join(f->dir, "copy.db");
    f->file = file_join(f->dir, "pages");
    f->st = store_open(f->path, &f->err);
    assert_non_null(f->st);
    *state = f;
    return 0;
}

int filled_tear_down(void **state)
{
    struct filled *f = *state;
    store_pages_end(f->pages);
    store_close(f->st);
    file_remove_tree(f->dir, NULL);
    free(f->path);
    free(f->copy);
    free(f->file);
    free(f);
    return 0;
}
