/* Who may be told the job that a sentence names: asked of its number, when the sentence is read.
 *
 * Inputs: rights and records. Effects: none. */
#include "account/redact.h"

#include "account/handle.h"
#include "store/store.h"

struct reader reader_of(const struct accounts *accounts, struct arena *arena, const char *name)
{
    return (struct reader){ .accounts = accounts,
                            .arena = arena,
                            .name = name,
                            .all = !name || user_is_admin(accounts, name) };
}

bool reader_may(const struct reader *reader, const struct job_row *row)
{
    return reader->all || user_may_read(reader->accounts, reader->name, row);
}

/* What is in no record any more may have been anybody's. */
static const char *look_up(struct reader *reader, uint64_t number)
{
    struct store *store = reader->accounts->config.store;
    struct arena *arena = arena_create();
    struct job_row row;
    uint64_t id;
    const char *called = UNKNOWN_JOB;
    if (store_find_number(store, number, &id) == 1 &&
        store_get_lean_job(store, arena, id, &row, NULL) == 1)
        called = reader_may(reader, &row) ? NULL : HIDDEN_JOB;
    arena_destroy(arena);
    return called;
}

const char *reader_hides(struct reader *reader, uint64_t number)
{
    if (reader->all)
        return NULL;
    if (reader->number != number)
        reader->called = look_up(reader, number);
    reader->number = number;
    return reader->called;
}

const char *reader_text(struct reader *reader, const struct sentence *said)
{
    const char *called = said->named.number ? reader_hides(reader, said->named.number) : NULL;
    return sentence_with(reader->arena, said, called);
}
