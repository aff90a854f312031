/* What submissions are told apart by, and what is kept of them beside their text: values of
 * variables may be secret, so their names alone. Pure. */
#include "submission/submission.h"

#include "dialect/dialect.h"

#include <sodium.h>
#include <string.h>

static void hash_part(crypto_hash_sha256_state *state, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    crypto_hash_sha256_update(state, (const unsigned char *)(text ? text : ""), len);
    crypto_hash_sha256_update(state, (const unsigned char *)"", 1);
}

bool submission_names_python(const struct submission *ask)
{
    return ask->python && strcmp(ask->python_from, PYTHON_BY_OPTION) == 0;
}

void submission_hash(const struct submission *ask, unsigned char out[SUBMISSION_HASH])
{
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)ask->text, ask->len);
    hash_part(&state, ask->from);
    hash_part(&state, ask->name);
    hash_part(&state, ask->queue);
    hash_part(&state, ask->code_dir);
    hash_part(&state, ask->work_dir);
    for (size_t i = 0; i < ask->env.n; i++) {
        hash_part(&state, ask->env.at[i].name);
        hash_part(&state, ask->env.at[i].value);
    }
    for (size_t i = 0; i < ask->sets.n; i++)
        hash_part(&state, ask->sets.at[i]);
    if (submission_names_python(
            ask)) /* what another shell has by chance makes no other submission */
        hash_part(&state, ask->python);
    crypto_hash_sha256_final(&state, out);
}

/* Values of variables may be secret. */
struct text_node *submission_differs(const struct submission *ask, struct arena *arena)
{
    struct text_node *list = text_list(arena, NULL, NULL);
    if (ask->name)
        text_str(arena, list, NULL, arena_printf(arena, "name=%s", ask->name));
    if (ask->queue)
        text_str(arena, list, NULL, arena_printf(arena, "queue=%s", ask->queue));
    if (ask->code_dir)
        text_str(arena, list, NULL, arena_printf(arena, "code=%s", ask->code_dir));
    if (submission_names_python(ask))
        text_str(arena, list, NULL, arena_printf(arena, "python=%s", ask->python));
    for (size_t i = 0; i < ask->sets.n; i++)
        text_str(arena, list, NULL, ask->sets.at[i]);
    for (size_t i = 0; i < ask->env.n; i++)
        text_str(arena, list, NULL, arena_printf(arena, "env %s", ask->env.at[i].name));
    return list;
}
