/* One entry a job, found by id, by number and, newest first, by name. Words that many jobs share
 * are kept once. */
#include "store/memory.h"

#include "base/map.h"
#include "base/mem.h"

#include <string.h>

struct entry {
    struct job_row
        row; /* owner, project, name, queue, dialect: shared words; the rest is its own */
    struct entry *older; /* of the same name */
};
struct memory {
    struct map *by_id;
    struct map *by_number;
    struct string_map *by_name; /* the newest */
    struct string_map *words;   /* to themselves */
};

struct memory *memory_create(void)
{
    struct memory *m = mem_new(sizeof *m);
    m->by_id = map_create();
    m->by_number = map_create();
    m->by_name = string_map_create();
    m->words = string_map_create();
    return m;
}

static void drop(const char **text)
{
    free((void *)(uintptr_t)*text);
    *text = NULL;
}

static void drop_reason(struct entry *entry)
{
    drop(&entry->row.reason.text);
    drop(&entry->row.reason.named.called);
}

static void set_reason(struct entry *entry, const struct sentence *said)
{
    entry->row.reason = *said;
    entry->row.reason.text = mem_strdup(said->text ? said->text : "");
    entry->row.reason.named.called = mem_strdup(said->named.called);
}

static void drop_texts(struct entry *entry)
{
    drop(&entry->row.spec);
    drop(&entry->row.site);
    drop(&entry->row.live);
}

void memory_destroy(struct memory *m)
{
    size_t cursor = 0;
    uint64_t id;
    const char *word;
    void *at;
    if (!m)
        return;
    while (map_next(m->by_id, &cursor, &id, &at)) {
        struct entry *entry = at;
        drop_texts(entry);
        drop_reason(entry);
        free(entry);
    }
    cursor = 0;
    while (string_map_next(m->words, &cursor, &word, &at))
        free(at);
    map_destroy(m->by_id);
    map_destroy(m->by_number);
    string_map_destroy(m->by_name);
    string_map_destroy(m->words);
    free(m);
}

static const char *shared(struct memory *m, const char *text)
{
    const char *word = text ? text : "";
    char *known = string_map_get(m->words, word);
    if (!known) {
        known = mem_strdup(word);
        string_map_set(m->words, known, known);
    }
    return known;
}

void memory_put_job(struct memory *m, const struct job_row *row)
{
    struct entry *entry = mem_new(sizeof *entry);
    entry->row = *row;
    entry->row.owner = shared(m, row->owner);
    entry->row.project = shared(m, row->project);
    entry->row.name = shared(m, row->name);
    entry->row.queue = shared(m, row->queue);
    entry->row.dialect = shared(m, row->dialect);
    set_reason(entry, &row->reason);
    entry->row.spec = mem_strdup(row->spec);
    entry->row.site = mem_strdup(row->site);
    entry->row.live = mem_strdup(row->live);
    entry->older = string_map_get(m->by_name, entry->row.name);
    string_map_set(m->by_name, entry->row.name, entry);
    map_set(m->by_number, row->number, entry);
    map_set(m->by_id, row->id, entry);
}

void memory_update_job(struct memory *m, const struct job_row *row)
{
    struct entry *entry = map_get(m->by_id, row->id);
    if (!entry)
        return;
    struct job_row *to = &entry->row;
    to->state = row->state;
    to->outcome = row->outcome;
    to->priority = row->priority;
    to->generation = row->generation;
    to->restarts = row->restarts;
    to->started_ms = row->started_ms;
    to->ended_ms = row->ended_ms;
    to->not_before_ms = row->not_before_ms;
    drop_reason(entry);
    drop(&to->live);
    set_reason(entry, &row->reason);
    to->live = mem_strdup(row->live);
    if (job_state_final(row->state))
        drop_texts(entry);
}

int memory_get_job(const struct memory *m, uint64_t id, struct job_row *row)
{
    const struct entry *entry = map_get(m->by_id, id);
    if (entry)
        *row = entry->row;
    return entry != NULL;
}

int memory_find_number(const struct memory *m, uint64_t number, uint64_t *id)
{
    const struct entry *entry = map_get(m->by_number, number);
    if (entry)
        *id = entry->row.id;
    return entry != NULL;
}

int memory_find_name(const struct memory *m, const char *name, const char *owner, uint64_t *id)
{
    const struct entry *entry = string_map_get(m->by_name, name);
    while (entry && owner && strcmp(entry->row.owner, owner) != 0)
        entry = entry->older;
    if (entry)
        *id = entry->row.id;
    return entry != NULL;
}
