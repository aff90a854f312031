/* What is told of a job by a core whose engine is one of numbers: tests compare it with what other
 * engines make of the same job.
 *
 *   sim_events DIRECTORY FILE [from=DIALECT] [VERB@STATE] ... [ROLE=CODE:MS] ...
 *
 * runs the job in FILE and prints its events, each on a line and its body on the next. Tasks end
 * with 0 after 100 ms, those of a named role as it says; the role "first" is the first attempt of
 * the first task of a role in the first generation. VERB (stop, suspend, resume) is said when the
 * job comes into STATE, the second one after the first.
 */
#include "answer/events.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/scan.h"
#include "ctl/contents.h"
#include "job/state.h"
#include "sim_core.h"
#include "store/store.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

#define JOB_MAX   65536u
#define EVENT_MAX (1u << 20)
#define TURNS     100000

struct programs {
    char **words;
    int n;
    int said; /* of them so many verbs were said, or are none */
};

/* false: nothing is said of that role. */
static bool find_program(const struct programs *all, const char *role, struct sim_run *out)
{
    uint64_t code, ms;
    for (int i = 0; i < all->n; i++) {
        AUTO_FREE char *copy = mem_strdup(all->words[i]);
        char *rest = copy;
        const char *name = strsep(&rest, "="), *first = rest ? strsep(&rest, ":") : NULL;
        if (strcmp(name, role) != 0 || !rest || !scan_u64(first, 0, 255, &code) ||
            !scan_u64(rest, 0, UINT32_MAX, &ms))
            continue;
        out->code = (int)code;
        out->run_ms = ms;
        return true;
    }
    return false;
}

static struct sim_run on_run(void *arg, const struct launch *launch, const struct launch_task *task)
{
    const struct programs *all = arg;
    struct sim_run run = { .start_ms = 10, .run_ms = 100 };
    const bool first = launch->generation.number == 1 && task->attempt == 1 && task->ref.index == 0;
    if (!first || !find_program(all, "first", &run))
        find_program(all, task->role ? task->role : "", &run);
    return run;
}

/* ---- what is said meanwhile ---- */

static const struct {
    const char *word;
    enum ctl_verb verb;
} verbs[] = { { "stop", CTL_STOP }, { "suspend", CTL_SUSPEND }, { "resume", CTL_RESUME } };

static bool job_is(struct sim_core *core, uint64_t job, const char *state)
{
    struct arena *arena = arena_create();
    struct job_row row;
    bool is = core_lean_row(core->ctl, arena, job, &row) == 0 &&
              strcmp(job_state_word(row.state), state) == 0;
    arena_destroy(arena);
    return is;
}

/* The first of what is to be said, when its time has come. */
static void say_next(struct sim_core *core, struct programs *all)
{
    uint64_t job;
    if (all->said == all->n || ctl_find(core->ctl, "1", &job, NULL) < 0)
        return;
    AUTO_FREE char *copy = mem_strdup(all->words[all->said]);
    char *state = copy;
    const char *word = strsep(&state, "@");
    if (!state) {
        all->said++;
        return;
    }
    if (!job_is(core, job, state))
        return;
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (strcmp(verbs[i].word, word) == 0)
            sim_core_command(core, "root", job, verbs[i].verb);
    all->said++;
}

/* Until nothing is under way. Limits of time go by the real clock: none is reached. */
static void run_to_end(struct sim_core *core, struct programs *programs)
{
    uint64_t since;
    for (int i = 0;
         i < TURNS && (core->answered < core->asked || !ctl_idle_since(core->ctl, &since)); i++) {
        ctl_turn(core->ctl);
        core->now_ms += 10;
        sim_advance(core->engine, core->now_ms);
        ctl_turn(core->ctl);
        ctl_tick(core->ctl);
        say_next(core, programs);
    }
}

static void print_event(struct arena *arena, const struct event_view *event)
{
    AUTO_BUF struct buf line = BUF_INIT(EVENT_MAX);
    struct text_node *map = text_map(arena, NULL, NULL);
    text_int(arena, map, "seq", (int64_t)event->seq);
    text_str(arena, map, "type", event->type);
    text_str(arena, map, "state", event->state);
    text_str(arena, map, "text", event->text);
    if (event->has_task && event->task) {
        text_str(arena, map, "task", event->task);
        text_str(arena, map, "role", event->role);
        text_int(arena, map, "attempt", (int64_t)event->attempt);
    }
    json_print(map, 0, &line);
    puts(buf_str(&line));
    if (event->body) {
        buf_clear(&line);
        json_print(event->body, 0, &line);
        puts(buf_str(&line));
    } else {
        puts("null");
    }
}

static int print_events(struct sim_core *core)
{
    struct arena *arena = arena_create();
    struct event_list list;
    struct err err;
    const struct event_query ask = { .limit = 1000 };
    int rc = answer_events_view(core->ctl, arena, &ask, &list, &err);
    for (size_t i = 0; rc == 0 && i < list.n; i++)
        print_event(arena, &list.at[i]);
    if (rc != 0)
        fprintf(stderr, "%s\n", err.what);
    arena_destroy(arena);
    return rc;
}

int main(int argc, char **argv)
{
    struct sim_core core;
    struct err err;
    char *text = NULL;
    size_t len;
    struct programs programs = { .words = argv + 3, .n = argc - 3 };
    const char *from = NULL;
    if (argc < 3 || file_read(argv[2], JOB_MAX, &text, &len, &err) < 0) {
        fputs("sim_events DIRECTORY FILE [from=DIALECT] [VERB@STATE] ... [ROLE=CODE:MS] ...\n",
              stderr);
        return 2;
    }
    log_set_level(LOG_WARN);
    const struct sim_watch watch = { .run = on_run, .arg = &programs };
    if (!sim_core_open(&core, argv[1], 3, &watch, 1000000))
        return 1;
    for (int i = 3; i < argc; i++)
        if (strncmp(argv[i], "from=", 5) == 0)
            from = argv[i] + 5;
    sim_core_submit(&core, "root", from, text);
    run_to_end(&core, &programs);
    int rc = core.failed ? -1 : print_events(&core);
    sim_core_close(&core);
    free(text);
    return rc == 0 ? 0 : 1;
}
