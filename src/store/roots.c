/* The size of pages is the one by which most of them end where a page ends. Free pages still hold
 * what they held: the lists of them are found by what they look like, so that no deleted row comes
 * back. */
#include "store/roots.h"

#include "base/mem.h"
#include "job/state.h"
#include "store/btree.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLE     2048u /* pages by which their size is told */
#define DEPTH_MOST 24u   /* of a tree */
#define WORD_MOST  64u

struct file {
    const unsigned char *at;
    uint32_t pages, page_size;
    unsigned char *flags; /* by page, from 1 */
    struct roots *out;
};
enum flag { FLAG_FREE = 1, FLAG_CHILD = 2, FLAG_SEEN = 4 };

static bool get_page(const struct file *f, uint32_t number, struct btree_page *out)
{
    return number >= 2 && number <= f->pages &&
           btree_read(f->at + (size_t)(number - 1) * f->page_size, f->page_size, out);
}

/* ---- the size of pages ---- */

static uint32_t count_ends(const unsigned char *at, size_t size, uint32_t page_size)
{
    size_t pages = size / page_size, step = pages / SAMPLE + 1;
    uint32_t n = 0;
    struct btree_page page;
    for (size_t i = 1; i < pages; i += step)
        n += btree_read(at + i * page_size, page_size, &page) && btree_ends(&page);
    return n;
}

static uint32_t tell_page_size(const unsigned char *at, size_t size)
{
    uint64_t most = 0;
    uint32_t best = 0;
    for (uint32_t page = BTREE_PAGE_LEAST; page <= BTREE_PAGE_MOST; page *= 2) {
        size_t pages = size / page;
        uint64_t covered = count_ends(at, size, page) * (uint64_t)(pages / SAMPLE + 1) * page;
        if (covered > most) {
            most = covered;
            best = page;
        }
    }
    return best;
}

/* ---- which table ---- */

/* A letter a field: I number, T text, B bytes; small: or NULL; N: NULL, the number of the row.
 * Those behind the bar came with later versions. */
static const struct shape {
    const char *table, *fields;
    bool index;
} shapes[] = {
    { "job", "NITTTTTITtTIIIIIIIItI|IIIt", false },
    { "body", "NTt", false },
    { "origin", "Nttt", false },
    { "event", "NIITiiIt|It", false },
    { "audit", "NITTTTTTTB", false },
    { "meta", "TI", true },
    { "task", "IIITIt", true },
    { "attempt", "IIIIITTtIIIIIIIIIttItI|t", true },
    { "agent", "IITIBIT", true },
    { "idem", "TTBII", true },
    { "object", "TTTTI", true },
    { "secret", "TTB", true },
    { "facet", "TTI", true },
};

static bool kind_fits(enum btree_kind kind, char letter)
{
    switch (letter) {
    case 'N': return kind == FIELD_NULL;
    case 'I': return kind == FIELD_INTEGER;
    case 'T': return kind == FIELD_TEXT;
    case 'B': return kind == FIELD_BLOB;
    case 'i': return kind == FIELD_INTEGER || kind == FIELD_NULL;
    default: return kind == FIELD_TEXT || kind == FIELD_NULL;
    }
}

static bool record_fits(const struct btree_record *r, const char *fields)
{
    bool later = false;
    size_t n = 0;
    for (const char *c = fields; *c; c++) {
        if (*c == '|') {
            later = true;
            continue;
        }
        if (n == r->n)
            return later;
        if (!kind_fits(r->fields[n++].kind, *c))
            return false;
    }
    return n == r->n;
}

static bool get_word(const struct btree_field *field, char out[WORD_MOST])
{
    if (field->kind != FIELD_TEXT || !field->at || field->len >= WORD_MOST)
        return false;
    memcpy(out, field->at, field->len);
    out[field->len] = '\0';
    return strlen(out) == field->len;
}

/* Indexes of jobs have the shape of these two tables: of names and states, of owners and states. */
static bool is_meta(const struct btree_record *r)
{
    static const char *const names[] = { "number",    "event",  "job_id",   "silent",
                                         "recovered", "marked", "restored", "audit_cut" };
    char word[WORD_MOST];
    if (!get_word(&r->fields[0], word))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], word) == 0)
            return true;
    return strncmp(word, "deleted.", strlen("deleted.")) == 0;
}

static bool is_owner(const struct btree_record *r)
{
    char word[WORD_MOST];
    return get_word(&r->fields[1], word) && job_state_parse(word) != JOB_NONE;
}

struct tree { /* that is looked at */
    struct file *file;
    uint32_t pages;
    unsigned shapes;      /* that all of its records have, by bit */
    size_t records, most; /* most: fields of one */
    bool owners;          /* so far each may be one of the index */
};

static void look_at_record(struct tree *t, const struct btree_record *r, bool index)
{
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        bool fits = shapes[i].index == index && record_fits(r, shapes[i].fields);
        if (strcmp(shapes[i].table, "meta") == 0)
            fits = fits && is_meta(r);
        if (!fits)
            t->shapes &= ~(1u << i);
    }
    t->owners = t->owners && r->n > 1 && is_owner(r);
    t->most = r->n > t->most ? r->n : t->most;
    t->records++;
}

static void walk(struct tree *t, uint32_t number, unsigned depth)
{
    struct btree_page page;
    struct btree_record record;
    if (depth > DEPTH_MOST || !get_page(t->file, number, &page) ||
        t->file->flags[number] & FLAG_SEEN)
        return;
    t->file->flags[number] |= FLAG_SEEN;
    t->pages++;
    for (uint32_t i = 0; page.type != BTREE_TABLE_INNER && i < page.cells; i++)
        if (btree_record(&page, i, &record))
            look_at_record(t, &record, btree_is_index(&page));
    for (uint32_t i = 0; btree_is_inner(&page) && i <= page.cells; i++)
        walk(t, btree_child(&page, i), depth + 1);
}

static const char *table_of(const struct tree *t)
{
    for (size_t i = 0; t->records && i < ARRAY_LEN(shapes); i++)
        if (t->shapes >> i & 1 && !(t->owners && strcmp(shapes[i].table, "facet") == 0))
            return shapes[i].table;
    return NULL;
}

/* ---- free pages ---- */

/* A page that lists free ones: the next such page, how many, and their numbers. Nothing else that
 * is no page of a tree looks so: what goes on there is text. */
static bool lists_free(const struct file *f, const unsigned char *at)
{
    uint32_t next = btree_number(at), n = btree_number(at + 4);
    bool any = next != 0 || n != 0;
    if (next == 1 || next > f->pages || n > f->page_size / 4 - 2)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t page = btree_number(at + 8 + 4 * (size_t)i);
        if (page < 2 || page > f->pages)
            return false;
    }
    return any;
}

static void mark_free(const struct file *f)
{
    struct btree_page page;
    for (uint32_t number = 2; number <= f->pages; number++) {
        const unsigned char *at = f->at + (size_t)(number - 1) * f->page_size;
        if (get_page(f, number, &page) || !lists_free(f, at))
            continue;
        for (uint32_t i = 0; i < btree_number(at + 4); i++)
            f->flags[btree_number(at + 8 + 4 * (size_t)i)] |= FLAG_FREE;
    }
}

static void mark_children(const struct file *f)
{
    struct btree_page page;
    for (uint32_t number = 2; number <= f->pages; number++) {
        if (f->flags[number] & FLAG_FREE || !get_page(f, number, &page) || !btree_is_inner(&page))
            continue;
        for (uint32_t i = 0; i <= page.cells; i++) {
            uint32_t child = btree_child(&page, i);
            if (child >= 2 && child <= f->pages)
                f->flags[child] |= FLAG_CHILD;
        }
    }
}

/* ---- the whole ---- */

/* What a version added is in rows that it wrote; rows of before stay as they are until they are
 * written again, and version 6 wrote all jobs again. */
static int version_of(const char *table, size_t fields)
{
    if (strcmp(table, "job") == 0)
        return fields >= 25 ? 6 : fields >= 22 ? 2 : 1;
    if (strcmp(table, "event") == 0)
        return fields >= 10 ? 6 : fields >= 9 ? 5 : 1;
    if (strcmp(table, "attempt") == 0)
        return fields >= 23 ? 6 : 1;
    return strcmp(table, "audit") == 0 ? 4 : strcmp(table, "facet") == 0 ? 3 : 1;
}

static int by_size(const void *a, const void *b)
{
    const struct root *x = a, *y = b;
    int tables = strcmp(x->table, y->table);
    if (tables)
        return tables;
    return x->pages != y->pages ? (x->pages < y->pages ? 1 : -1)
                                : (x->page > y->page) - (x->page < y->page);
}

static void find_trees(struct file *f)
{
    for (uint32_t number = 2; number <= f->pages; number++) {
        struct tree tree = { .file = f, .shapes = (1u << ARRAY_LEN(shapes)) - 1, .owners = true };
        if (f->flags[number] & (FLAG_FREE | FLAG_CHILD))
            continue;
        walk(&tree, number, 0);
        const char *table = table_of(&tree);
        if (!table)
            continue;
        vec_push(&f->out->found,
                 ((struct root){ .table = table, .page = number, .pages = tree.pages }));
        int version = version_of(table, tree.most);
        f->out->version = version > f->out->version ? version : f->out->version;
    }
}

void roots_find(const unsigned char *file, size_t size, uint32_t page_size, struct roots *out)
{
    *out = (struct roots){ .version = 1 };
    page_size = page_size ? page_size : tell_page_size(file, size);
    if (!page_size || size / page_size < 2 || size / page_size >= UINT32_MAX)
        return;
    struct file f = {
        .at = file, .pages = (uint32_t)(size / page_size), .page_size = page_size, .out = out
    };
    f.flags = mem_resize(NULL, (size_t)f.pages + 1);
    memset(f.flags, 0, (size_t)f.pages + 1);
    out->page_size = page_size;
    mark_free(&f);
    mark_children(&f);
    find_trees(&f);
    free(f.flags);
    if (out->found.n)
        qsort(out->found.at, out->found.n, sizeof *out->found.at, by_size);
}

void roots_fini(struct roots *r)
{
    vec_fini(&r->found);
}
