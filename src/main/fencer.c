/* Exit 0 is the second witness of a loss, the first is the silence: the machine is fenced as by
 * `muster nodes fence`. One that is connected by then is not: its host says what lives there. A
 * command that fails is tried again, some times, until the machine is heard. Where there are
 * several machines and none is heard, the server itself may be cut off: then none is fenced. */
#include "main/fencer.h"

#include "answer/machine_wait.h"
#include "api/child.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "ctl/node_work.h"
#include "engine/machines/machines.h"

#include <stdio.h>
#include <string.h>

#define LOOK_MS    1000u
#define TRIES      3u
#define FIRST_MS   10000u /* between two tries, three times as long each time */
#define LIMIT_S    "60"   /* a command may take */
#define LIMIT_MS   70000u
#define OUTPUT_MAX 4096u
#define SHOWN_MAX  160

struct fencing {
    struct fencer *fencer;
    char machine[64];
    struct child *child; /* NULL: none runs */
    unsigned tries;
    uint64_t next_ms; /* loop time */
    bool waited;      /* some job waits for it, as of the last look */
    bool held;        /* that it is not fenced while none is heard was said */
};
struct fencer {
    struct fencer_config config;
    struct string_map *machines; /* of struct fencing */
    uv_timer_t look;
};

static void on_fenced(void *arg, const struct ctl_answer *answer)
{
    struct fencing *f = arg;
    if (answer->err)
        log_warn("fence.refused", "machine=%s reason=\"%s\"", f->machine, answer->err->what);
    else
        machines_fence(f->fencer->config.machines, f->machine);
}

static void say_failed(struct fencing *f, const struct child_end *end)
{
    char note[SHOWN_MAX + 120];
    end->text[end->len] = '\0';
    end->text[strcspn(end->text, "\n")] = '\0';
    snprintf(note, sizeof note, "its fence failed, try %u of %u%s%.*s", f->tries, TRIES,
             *end->text ? ": " : "", SHOWN_MAX, end->text);
    log_warn("fence.failed", "machine=%s note=\"%s\"", f->machine, note);
    ctl_machine_note(f->fencer->config.ctl, f->machine, note);
}

static void on_end(void *arg, const struct child_end *end)
{
    struct fencing *f = arg;
    const struct fencer_config *config = &f->fencer->config;
    f->child = NULL;
    if (machines_reach(config->machines, f->machine))
        return;
    if (!end->good) {
        say_failed(f, end);
        return;
    }
    log_info("fence.done", "machine=%s", f->machine);
    f->tries = TRIES; /* what is left of it is given up: nobody waits for it any more */
    ctl_machine_fence(config->ctl, f->machine, "its fence command ended with 0", on_fenced, f);
}

static void start(struct fencing *f)
{
    const struct fencer_config *config = &f->fencer->config;
    char name[96];
    struct err err;
    snprintf(name, sizeof name, "MUSTER_MACHINE=%s", f->machine);
    const char *args[] = {
        "env",           name, "timeout", "-k", "5", LIMIT_S, "sh", "-c", "exec 2>&1; eval \"$0\"",
        config->command, NULL
    };
    const struct child_line line = { .program = "env",
                                     .args = (char *const *)(uintptr_t)args,
                                     .input = -1,
                                     .text_max = OUTPUT_MAX,
                                     .limit_ms = LIMIT_MS };
    uint64_t wait = FIRST_MS;
    for (unsigned i = 0; i < f->tries; i++)
        wait *= 3;
    f->tries++;
    f->next_ms = uv_now(config->loop) + wait;
    log_info("fence.tried", "machine=%s try=%u", f->machine, f->tries);
    f->child = child_start(config->loop, &line, on_end, f, &err);
    if (!f->child)
        log_warn("fence.failed", "machine=%s note=\"%s\"", f->machine, err.what);
}

static void hold(struct fencing *f)
{
    if (!f->held)
        ctl_machine_note(f->fencer->config.ctl, f->machine,
                         "it is not fenced while no machine is heard: the server may be cut off");
    f->held = true;
}

static void consider(struct fencer *fencer, const char *machine, bool cut_off)
{
    struct fencing *f = string_map_get(fencer->machines, machine);
    if (!f) {
        f = mem_new(sizeof *f);
        f->fencer = fencer;
        snprintf(f->machine, sizeof f->machine, "%s", machine);
        string_map_set(fencer->machines, f->machine, f);
    }
    f->waited = true;
    if (cut_off) {
        hold(f);
        return;
    }
    f->held = false;
    if (!f->child && f->tries < TRIES && uv_now(fencer->config.loop) >= f->next_ms &&
        !machines_reach(fencer->config.machines, machine))
        start(f);
}

/* Those that are heard again, or that nobody waits for, begin anew the next time. */
static void forget_others(struct fencer *fencer)
{
    size_t cursor = 0;
    const char *name;
    void *value;
    while (string_map_next(fencer->machines, &cursor, &name, &value)) {
        struct fencing *f = value;
        if (!f->waited && !f->child) {
            f->tries = 0;
            f->next_ms = 0;
            f->held = false;
        }
        f->waited = false;
    }
}

static void on_look(uv_timer_t *timer)
{
    struct fencer *fencer = timer->data;
    struct arena *arena = arena_create();
    const struct machine_wait waited =
        answer_machines_waited(fencer->config.ctl, arena, fencer->config.after_ms);
    for (size_t i = 0; i < waited.names.n; i++)
        consider(fencer, waited.names.at[i], waited.cut_off);
    forget_others(fencer);
    arena_destroy(arena);
}

struct fencer *fencer_create(const struct fencer_config *config)
{
    struct fencer *fencer = mem_new(sizeof *fencer);
    fencer->config = *config;
    fencer->machines = string_map_create();
    uv_timer_init(config->loop, &fencer->look);
    fencer->look.data = fencer;
    uv_timer_start(&fencer->look, on_look, LOOK_MS, LOOK_MS);
    return fencer;
}

static void free_fencing(void *value)
{
    struct fencing *f = value;
    child_drop(f->child);
    free(f);
}

static void on_closed(uv_handle_t *handle)
{
    struct fencer *fencer = handle->data;
    free(fencer);
}

void fencer_destroy(struct fencer *fencer)
{
    if (!fencer)
        return;
    string_map_destroy_with(fencer->machines, free_fencing);
    uv_close((uv_handle_t *)&fencer->look, on_closed);
}
