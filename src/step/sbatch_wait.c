/* sbatch --wait: until the job has ended, and with which code. Asked for again and again, less
 * often as it lasts, since the server may be another one by then: one that does not answer is
 * waited for.
 *
 * Inputs: the job as the server says it. Effects: requests. */
#include "base/mem.h"
#include "step/ask.h"
#include "step/commands.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define FIRST_MS 100
#define MOST_MS  2000
#define PAGE     "1000" /* the server gives no more at once */
#define GONE     404u

static bool is_state(const struct text_node *job, const char *state)
{
    return strcmp(text_word(job, "state"), state) == 0;
}

int sbatch_code(const struct text_node *job)
{
    if (is_state(job, "succeeded"))
        return 0;
    if (!is_state(job, "failed") && !is_state(job, "stopped"))
        return -1;
    const struct text_node *tasks = text_get(job, "task_list");
    const struct text_node *attempts =
        tasks && tasks->first ? text_get(tasks->first, "attempts") : NULL;
    const struct text_node *last = attempts ? attempts->first : NULL;
    while (last && last->next)
        last = last->next;
    if (!last) /* Slurm's is 0 for one that was cancelled before it began */
        return is_state(job, "stopped") ? 0 : 1;
    const uint64_t code = text_number(last, "exit_code");
    return code >= 1 && code <= 255 ? (int)code : 1;
}

static const struct text_node *get(struct arena *a, const char *path, unsigned *status)
{
    return ask_server("sbatch", a,
                      &(struct ask){ .method = "GET", .path = path, .status = status });
}

/* Its task, in the arena; NULL: it cannot be asked for now. */
static const struct text_node *get_job(struct arena *a, uint64_t number, unsigned *status)
{
    return get(a, arena_printf(a, "/v1/jobs/%llu?tasks=1", (unsigned long long)number), status);
}

/* The highest of the members that did not succeed; -1: they cannot be asked for now. */
static int code_of_members(struct arena *a, uint64_t array, unsigned *status)
{
    const char *next = "";
    int most = 0;
    do {
        AUTO_BUF struct buf path = BUF_INIT(4096);
        buf_addf(&path, "/v1/jobs?array=%llu&limit=" PAGE, (unsigned long long)array);
        ask_query(&path, "before", *next ? next : NULL);
        const struct text_node *page = get(a, buf_str(&path), status);
        const struct text_node *jobs = page ? text_get(page, "jobs") : NULL;
        if (!jobs)
            return -1;
        for (const struct text_node *job = jobs->first; job; job = job->next) {
            if (is_state(job, "succeeded"))
                continue;
            const struct text_node *one = get_job(a, text_number(job, "number"), status);
            const int code = one ? sbatch_code(one) : -1;
            if (code < 0)
                return -1;
            most = code > most ? code : most;
        }
        next = jobs->first ? text_word(page, "next") : "";
    } while (*next);
    return most;
}

/* -1: not yet, or it cannot be asked for now. */
static int look(uint64_t number, unsigned *status)
{
    struct arena *a = arena_create();
    const struct text_node *job = get_job(a, number, status);
    int code = job ? sbatch_code(job) : -1;
    if (code >= 0 && text_number(job, "members"))
        code = code_of_members(a, number, status);
    arena_destroy(a);
    return code;
}

int sbatch_wait(uint64_t number)
{
    bool told = false;
    for (int wait = FIRST_MS;; wait = wait * 2 < MOST_MS ? wait * 2 : MOST_MS) {
        unsigned status = 0;
        int code = look(number, &status);
        if (code >= 0)
            return code;
        if (status == GONE)
            return ask_fail("sbatch", "the job was removed while it was waited for", "", "");
        if (status >= 400 && status < 500)
            return ask_fail("sbatch", "the server does not say what became of the job", "", "");
        if (!status && !told)
            ask_fail("sbatch", "the server does not answer; sbatch goes on waiting", "", "");
        told = !status;
        (void)poll(NULL, 0, wait);
    }
}
