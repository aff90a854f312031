/* What the nodes answered in one node check: a table that pairing.h makes groups and verdicts of.
 * Texts are copied, since an answer is gone before the check is over. */
#include "rdzv/check_answers.h"

#include "base/mem.h"

#include <stdlib.h>

void check_answers_make(struct check_answers *answers, size_t n)
{
    *answers = (struct check_answers){
        .n = n,
        .members = mem_new(n * sizeof *answers->members),
        .nodes = mem_new(n * sizeof *answers->nodes),
        .group = mem_new(n * sizeof *answers->group),
        .answered = mem_new(n * sizeof *answers->answered),
        .said = mem_new(n * sizeof *answers->said),
        .memory = arena_create(),
    };
    for (size_t i = 0; i < n; i++)
        answers->said[i] = (struct check_texts){ .figures = "", .why = "" };
}

void check_answers_clear(struct check_answers *answers)
{
    free(answers->members);
    free(answers->nodes);
    free(answers->group);
    free(answers->answered);
    free(answers->said);
    arena_destroy(answers->memory);
    *answers = (struct check_answers){ 0 };
}

size_t check_answers_find(const struct check_answers *answers, uint64_t member)
{
    size_t i = 0;
    while (i < answers->n && answers->members[i] != member)
        i++;
    return i;
}

void check_answers_await(struct check_answers *answers, int round, uint64_t until_us)
{
    answers->round = round;
    answers->missing = 0;
    answers->until_us = until_us;
    pairing_make(answers->nodes, answers->n, round, answers->group);
    for (size_t i = 0; i < answers->n; i++) {
        answers->answered[i] = answers->group[i] == PAIRING_OUT;
        answers->missing += !answers->answered[i];
    }
}

void check_answers_put(struct check_answers *answers, size_t i,
                       const struct rdzv_check_report *checked)
{
    struct pairing_node *node = &answers->nodes[i];
    bool ok = checked->result == RDZV_CHECK_OK;
    answers->answered[i] = true;
    answers->missing--;
    node->ran[answers->round] = true;
    node->ok[answers->round] = ok;
    node->took_us[answers->round] = checked->took_us;
    node->self_bad[answers->round] = checked->result == RDZV_CHECK_SELF_BAD;
    answers->said[i].figures = arena_strdup(answers->memory, checked->figures);
    if (!ok)
        answers->said[i].why = arena_strdup(answers->memory, checked->why);
}

void check_answers_miss(struct check_answers *answers, const char *why)
{
    for (size_t i = 0; i < answers->n; i++)
        if (!answers->answered[i]) {
            answers->answered[i] = true;
            answers->nodes[i].ran[answers->round] = true;
            answers->nodes[i].ok[answers->round] = false;
            answers->nodes[i].self_bad[answers->round] = true;
            answers->said[i].why = arena_strdup(answers->memory, why);
        }
    answers->missing = 0;
}

/* A fault of its own is plain at once. */
bool check_answers_unclear(const struct check_answers *answers)
{
    if (answers->round > 0 || answers->n < 2)
        return false;
    AUTO_FREE enum pairing_verdict *out = mem_new(answers->n * sizeof *out);
    bool unclear = false;
    size_t left = 0; /* could be partners in a second round */
    pairing_judge(answers->nodes, answers->n, out);
    for (size_t i = 0; i < answers->n; i++)
        left += !answers->nodes[i].self_bad[0];
    for (size_t i = 0; i < answers->n; i++)
        unclear = unclear || out[i] == PAIRING_STRAGGLER ||
                  (left > 1 && !answers->nodes[i].ok[0] && !answers->nodes[i].self_bad[0]);
    return unclear;
}
