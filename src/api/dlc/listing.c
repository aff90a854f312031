/* Lists in pages: rows sorted by a member of theirs, up or down, and a page of them answered.
 *
 * Lists are as long as a catalogue or the documents of one kind, so all of them are made and sorted
 * for a page. What grows without end (jobs) is paged by the core. */
#include "api/dlc/documents.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

struct dlc_row {
    const struct text_node *shown, *value; /* value: what it is sorted by */
    uint64_t ms;                           /* the same of a time */
    size_t at;                             /* when it was added */
};

/* The member to sort by, as the list names it; NULL: it has no such one. */
static const char *sort_of(const struct dlc_list_type *of, const char *said)
{
    for (size_t i = 0; i < DLC_SORTS && of->sorts[i]; i++)
        if (!said || strcasecmp(of->sorts[i], said) == 0)
            return of->sorts[i];
    return NULL;
}

static const char *all_sorts(struct arena *a, const struct dlc_list_type *of)
{
    const char *out = of->sorts[0];
    for (size_t i = 1; i < DLC_SORTS && of->sorts[i]; i++)
        out = arena_printf(a, "%s, %s", out, of->sorts[i]);
    return out;
}

bool dlc_listing_begin(struct dlc_listing *l, struct dlc_call *d, const struct dlc_list_type *of)
{
    const char *by = dlc_query(d, "SortBy");
    bool ascending;
    *l = (struct dlc_listing){ .d = d, .of = of, .by = sort_of(of, by) };
    if (!l->by) {
        dlc_fail(d, 400, "InvalidParameter", "SortBy is \"%.40s\"; known is %s", by,
                 all_sorts(d->arena, of));
        return false;
    }
    if (!dlc_page(d, of->size, &l->page) || !dlc_order(d, !of->descending, &ascending))
        return false;
    l->descending = !ascending;
    return true;
}

static bool by_time(const struct dlc_listing *l)
{
    return strncmp(l->by, "Gmt", 3) == 0;
}

static uint64_t time_of(const struct dlc_listing *l, const struct text_node *shown,
                        const struct document_view *object)
{
    const char *text = dlc_text(shown, l->by);
    uint64_t ms = 0;
    if (object)
        return strstr(l->by, "Modif") ? object->changed_ms : object->created_ms;
    return text && dlc_scan_time(text, &ms) ? ms : 0;
}

void dlc_listing_add(struct dlc_listing *l, const struct text_node *shown,
                     const struct document_view *object)
{
    if (l->n == l->cap) {
        struct dlc_row *wider = ARENA_ARRAY(l->d->arena, l->cap ? l->cap * 2 : 16, struct dlc_row);
        if (l->n)
            memcpy(wider, l->rows, l->n * sizeof *wider);
        l->cap = l->cap ? l->cap * 2 : 16;
        l->rows = wider;
    }
    l->rows[l->n] = (struct dlc_row){ .shown = shown, .at = l->n };
    if (by_time(l))
        l->rows[l->n].ms = time_of(l, shown, object);
    else
        l->rows[l->n].value = text_get(shown, l->by);
    l->n++;
}

/* Nothing, numbers, texts. */
static int rank(const struct text_node *value)
{
    return !value || !value->str ? 0 : value->kind == TEXT_INT ? 1 : 2;
}

static int of_values(const struct text_node *a, const struct text_node *b)
{
    int of_a = rank(a), of_b = rank(b);
    if (of_a != of_b || of_a == 0)
        return of_a - of_b;
    if (of_a == 1)
        return (a->integer > b->integer) - (a->integer < b->integer);
    return strcmp(a->str, b->str);
}

static int compare(const struct dlc_row *a, const struct dlc_row *b)
{
    int order = (a->ms > b->ms) - (a->ms < b->ms);
    return order ? order : of_values(a->value, b->value);
}

static int upwards(const void *x, const void *y)
{
    const struct dlc_row *a = x, *b = y;
    int order = compare(a, b);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

static int downwards(const void *x, const void *y)
{
    const struct dlc_row *a = x, *b = y;
    int order = compare(b, a);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

struct text_node *dlc_listing_end(struct dlc_listing *l)
{
    struct text_node *out = dlc_map(l->d), *list = text_list(l->d->arena, out, l->of->key);
    size_t first, shown = facade_page_of(&l->page, l->n, &first);
    if (l->n)
        qsort(l->rows, l->n, sizeof *l->rows, l->descending ? downwards : upwards);
    for (size_t i = first; i < first + shown; i++)
        text_copy(l->d->arena, list, NULL, l->rows[i].shown);
    text_int(l->d->arena, out, "TotalCount", (int64_t)l->n);
    if (l->of->numbered) {
        text_int(l->d->arena, out, "PageNumber", dlc_page_number(&l->page));
        text_int(l->d->arena, out, "PageSize", (int64_t)l->page.limit);
    }
    return out;
}
