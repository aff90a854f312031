/* Reading the long lists of a job in pages. What all pages need (the job's row and its canonical
 * form) is read once; a job that is deleted meanwhile ends the reading. */
#include "answer/pages.h"

#include "answer/tasks.h"
#include "answer/timeline.h"
#include "answer/views.h"

#include "base/mem.h"
#include "job/record.h"

#define PAGE 64u /* tasks of one attempt each, or events that are looked at */

struct answer_pages {
    struct ctl *ctl;
    struct arena *arena;
    struct job_row row;
    const struct job_spec *spec; /* NULL: cannot be read, and then it has no tasks */
    uint32_t role, index;        /* of the next task */
    uint32_t page;               /* tasks: fewer where they had many attempts */
    struct timeline timeline;
};

struct answer_pages *answer_pages_open(struct ctl *ctl, uint64_t job, const char *reader,
                                       struct err *err)
{
    struct arena *arena = arena_create();
    struct answer_pages *p = ARENA_NEW(arena, struct answer_pages);
    *p = (struct answer_pages){ .ctl = ctl, .arena = arena, .page = PAGE };
    if (core_row(ctl, arena, job, &p->row)) {
        arena_destroy(arena);
        err_set(err, ERR_NOT_FOUND, "no such job");
        return NULL;
    }
    p->spec = job_of_text(arena, p->row.spec); /* its own: the live one may go meanwhile */
    p->timeline =
        (struct timeline){ .job = job, .reader = reader ? arena_strdup(arena, reader) : NULL };
    return p;
}

void answer_pages_close(struct answer_pages *p)
{
    if (p)
        arena_destroy(p->arena);
}

/* Numbers are never given twice. */
static int check(const struct answer_pages *p, struct err *err)
{
    uint64_t id;
    if (store_find_number(ctl_contents(p->ctl).store, p->row.number, &id) == 1)
        return 0;
    return err_set(err, ERR_NOT_FOUND, "job %llu was deleted meanwhile",
                   (unsigned long long)p->row.number);
}

int answer_pages_tasks(struct answer_pages *p, struct arena *arena, struct task_list *list,
                       struct err *err)
{
    *list = (struct task_list){ 0 };
    if (check(p, err))
        return -1;
    if (!p->spec || p->role >= p->spec->n_roles)
        return 0;
    uint32_t left = p->spec->roles[p->role].replicas - p->index;
    uint32_t n = left < p->page ? left : p->page;
    const struct contents core = ctl_contents(p->ctl);
    const struct task_span span = { .role = p->role, .first = p->index, .n = n };
    *list = (struct task_list){ .at = ARENA_ARRAY(arena, n, struct task_view), .n = n };
    size_t attempts =
        tasks_read(&core, arena, &(struct task_source){ &p->row, p->spec }, &span, list->at);
    p->page = attempts > PAGE ? p->page / 2 + 1 : PAGE;
    p->index += n;
    if (n == left) {
        p->role++;
        p->index = 0;
    }
    return p->role < p->spec->n_roles;
}

int answer_pages_timeline(struct answer_pages *p, struct arena *arena, struct event_list *list,
                          struct err *err)
{
    *list = (struct event_list){ 0 };
    return check(p, err) ? -1 : timeline_read(p->ctl, arena, &p->timeline, PAGE, list);
}
