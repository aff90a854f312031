/* Children of Slurm's commands. Each has a place by its kind and its account, taken from its start
 * until its end and that of both its outputs; it is freed by the last of its handles to close. An
 * account may hold up its own children, and nobody else's. They get little of the server's
 * environment: sbatch would hand all of it to Slurm, which keeps it in clear. */
#include "engine/slurm/commands.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/shell_word.h"
#include "base/vec.h"
#include "engine/slurm/answers.h"
#include "job/account.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define OUT_MAX    (8u << 20)
#define SAID_MAX   (16u << 10)
#define DEFAULT_MS 20000u
#define HELD_MS    2000u   /* that outputs may stay open behind the end, held by what it left */
#define FULL_MS    180000u /* that sbatch tries for, where it cannot be ended: 120 s and its calls */

struct child {
    struct slurm_commands *all; /* NULL: they were destroyed */
    enum slurm_command command;
    uint32_t uid; /* of the account that it runs as; 0: the server's own */
    uv_process_t process;
    uv_timer_t deadline;
    uv_pipe_t in, out, said;
    uv_write_t write;
    char *input;
    unsigned open;  /* handles */
    unsigned going; /* the process, its outputs */
    bool late, out_over, said_over, good, full;
    bool ended; /* the process */
    bool cut;   /* it did not come to its end: whether Slurm has heard it is not known */
    struct buf text, problem;
    char room[16384];
    uint64_t limit_ms;
    slurm_answer_fn *done;
    void *arg;
};

struct slurm_commands {
    uv_loop_t *loop;
    char **prefix;
    size_t n_prefix;
    char *own, *program; /* program NULL: there is none */
    bool quotes, names;  /* names: the prefix says as whom */
    VEC(struct child *) running;
};

const char *slurm_command_name(enum slurm_command command)
{
    static const char *const names[SLURM_COMMAND_N] = { [SLURM_SBATCH] = "sbatch",
                                                        [SLURM_SCANCEL] = "scancel",
                                                        [SLURM_SINFO] = "sinfo",
                                                        [SLURM_SQUEUE] = "squeue" };
    return names[command];
}

/* A prefix is read by a shell behind ssh, and by programs that take options. */
static bool is_plain(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-";
    return *name && *name != '-' && name[strspn(name, letters)] == '\0';
}

bool slurm_prefix_has_user(const struct words *prefix)
{
    bool has = prefix->n == 0;
    for (size_t i = 0; i < prefix->n && !has; i++)
        has = strstr(prefix->at[i], SLURM_USER) != NULL;
    return has;
}

struct slurm_commands *slurm_commands_create(uv_loop_t *loop, const struct slurm_site *site)
{
    struct slurm_commands *all = mem_new(sizeof *all);
    const struct words *prefix = site->prefix;
    all->loop = loop;
    all->names = slurm_prefix_has_user(prefix);
    all->own = mem_strdup(site->own);
    all->program = site->program ? mem_strdup(site->program) : NULL;
    all->prefix = mem_new((prefix->n + 1) * sizeof *all->prefix);
    for (size_t i = 0; i < prefix->n; i++)
        all->prefix[all->n_prefix++] = mem_strdup(prefix->at[i]);
    const char *slash = prefix->n ? strrchr(prefix->at[0], '/') : NULL;
    all->quotes = prefix->n && strcmp(slash ? slash + 1 : prefix->at[0], "ssh") == 0;
    return all;
}

static struct child *find(const struct slurm_commands *all, enum slurm_command command,
                          const struct account *as)
{
    const uint32_t uid = as ? as->ids.uid : 0;
    for (size_t i = 0; i < all->running.n; i++)
        if (all->running.at[i]->command == command && all->running.at[i]->uid == uid)
            return all->running.at[i];
    return NULL;
}

bool slurm_is_busy(const struct slurm_commands *all, enum slurm_command command,
                   const struct account *as)
{
    return find(all, command, as) != NULL;
}

/* ---- the end of one ---- */

static void on_closed(uv_handle_t *handle)
{
    struct child *c = handle->data;
    if (--c->open > 0)
        return;
    buf_fini(&c->text);
    buf_fini(&c->problem);
    free(c->input);
    free(c);
}

static void close_one(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

static void close_all(struct child *c)
{
    close_one((uv_handle_t *)&c->process);
    close_one((uv_handle_t *)&c->deadline);
    close_one((uv_handle_t *)&c->in);
    close_one((uv_handle_t *)&c->out);
    close_one((uv_handle_t *)&c->said);
}

static void answer(struct child *c)
{
    struct slurm_answer said = { .text = c->good ? buf_str(&c->text) : NULL };
    const char *name = slurm_command_name(c->command);
    struct err err;
    if (c->full && !c->late) {
        said.full = true;
        slurm_set_problem(name, buf_str(&c->problem), &err);
    } else if (c->late) {
        err_set(&err, ERR_UNAVAILABLE, "Slurm (%s) does not answer within %llu s", name,
                (unsigned long long)c->limit_ms / 1000);
        said.down = true;
    } else if (!c->good) {
        const char *text = buf_str(&c->problem);
        enum slurm_problem problem = slurm_read_problem(text);
        slurm_set_problem(name, text, &err);
        said.down = problem == SLURM_PROBLEM_DOWN || c->cut;
        said.unknown = problem == SLURM_PROBLEM_UNKNOWN_JOB;
    } else if (c->text.overflow) {
        err_set(&err, ERR_TOO_LARGE, "Slurm (%s) said more than %u MiB", name, OUT_MAX >> 20);
        said.text = NULL;
    }
    said.err = said.text ? NULL : &err;
    c->done(c->arg, &said);
}

static void leave(struct slurm_commands *all, const struct child *c)
{
    size_t i = 0;
    while (all->running.at[i] != c)
        i++;
    vec_remove(&all->running, i);
}

static void end_one(struct child *c)
{
    if (--c->going > 0)
        return;
    if (c->all) {
        leave(c->all, c);
        answer(c);
    }
    close_all(c);
}

static void end_output(struct child *c, bool *over, uv_pipe_t *pipe)
{
    if (*over)
        return;
    *over = true;
    uv_read_stop((uv_stream_t *)pipe);
    end_one(c);
}

/* What it started may hold them open. */
static void end_outputs(struct child *c)
{
    c->going++;
    end_output(c, &c->out_over, &c->out);
    end_output(c, &c->said_over, &c->said);
    end_one(c);
}

static void on_late(uv_timer_t *timer)
{
    struct child *c = timer->data;
    if (c->ended) {
        end_outputs(c);
        return;
    }
    c->late = true;
    uv_process_kill(&c->process, SIGKILL);
}

/* 255 is how ssh says that it did not get there, or was cut off. */
static void on_exit_of(uv_process_t *process, int64_t status, int number)
{
    struct child *c = process->data;
    c->ended = true;
    c->good = status == 0 && number == 0 && !c->late;
    c->cut = number != 0 || (c->all && c->all->n_prefix && status == 255);
    c->full = c->full && !c->good; /* it was taken in the end */
    uv_timer_start(&c->deadline, on_late, HELD_MS, 0);
    if (c->late)
        end_outputs(c);
    end_one(c);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    struct child *c = handle->data;
    (void)suggested;
    *room = uv_buf_init(c->room, sizeof c->room);
}

/* sbatch tries for two minutes by itself, and no other can be submitted meanwhile. Behind a prefix
 * it goes on when the prefix is killed: it is waited for there. */
static void hear_full(struct child *c)
{
    if (c->command != SLURM_SBATCH || c->full ||
        slurm_read_problem(buf_str(&c->problem)) != SLURM_PROBLEM_FULL)
        return;
    c->full = !c->good; /* good: it has ended, and was taken */
    if (c->ended)
        return;
    if (c->all && c->all->n_prefix)
        uv_timer_start(&c->deadline, on_late, FULL_MS, 0);
    else
        uv_process_kill(&c->process, SIGKILL);
}

static void on_text(uv_stream_t *stream, ssize_t n, const uv_buf_t *room)
{
    struct child *c = stream->data;
    bool out = stream == (uv_stream_t *)&c->out;
    if (n < 0)
        end_output(c, out ? &c->out_over : &c->said_over, out ? &c->out : &c->said);
    else
        buf_add(out ? &c->text : &c->problem, room->base, (size_t)n);
    if (n > 0 && !out)
        hear_full(c);
}

static void on_written(uv_write_t *write, int status)
{
    struct child *c = write->data;
    (void)status; /* whoever does not read it says why on stderr */
    close_one((uv_handle_t *)&c->in);
}

/* ---- the start of one ---- */

static void free_words(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

static char *word_for(const struct slurm_commands *all, const char *word)
{
    AUTO_BUF struct buf quoted = BUF_INIT(1 << 20);
    if (!all->quotes)
        return mem_strdup(word);
    shell_word(&quoted, word);
    return mem_strdup(buf_str(&quoted));
}

/* With the account's name in the place of each SLURM_USER. */
static char *prefix_word(const char *word, const char *name)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    for (const char *at; (at = strstr(word, SLURM_USER)); word = at + strlen(SLURM_USER)) {
        buf_add(&out, word, (size_t)(at - word));
        buf_puts(&out, name);
    }
    buf_puts(&out, word);
    return mem_strdup(buf_str(&out));
}

#define AS_WORDS 3u

/* For program: whom it becomes, and where it begins. */
static void add_as(char **argv, size_t *n, const struct account *as)
{
    AUTO_BUF struct buf numbers = BUF_INIT(1 << 16);
    fs_user_print(&as->ids, &numbers);
    argv[(*n)++] = mem_strdup(SLURM_AS);
    argv[(*n)++] = mem_strdup(buf_str(&numbers));
    argv[(*n)++] = mem_strdup(as->home);
}

static char **make_argv(const struct slurm_commands *all, const struct slurm_call *call)
{
    size_t n = 0, more = 0;
    while (call->args[more])
        more++;
    char **argv = mem_new((all->n_prefix + AS_WORDS + more + 2) * sizeof *argv);
    for (size_t i = 0; i < all->n_prefix; i++)
        argv[n++] = prefix_word(all->prefix[i], call->as ? call->as->name : all->own);
    if (call->as && !all->n_prefix)
        add_as(argv, &n, call->as);
    argv[n++] = mem_strdup(slurm_command_name(call->command));
    for (size_t i = 0; i < more; i++)
        argv[n++] = word_for(all, call->args[i]);
    return argv;
}

/* as: what is its own in place of the server's; NULL: nothing is. */
static char **make_env(const struct account *as)
{
    const struct {
        const char *name, *own; /* own: in its place; "": nothing is */
    } rows[] = {
        { "PATH", NULL },
        { "TZ", NULL },
        { "LANG", NULL },
        { "SLURM_CONF", NULL },
        { "SLURM_CLUSTERS", NULL },
        { "HOME", as ? as->home : NULL },
        { "USER", as ? as->name : NULL },
        { "LOGNAME", as ? as->name : NULL },
        { "SHELL", as ? as->shell : NULL },
        { "SSH_AUTH_SOCK", as ? "" : NULL },
        { "KRB5CCNAME", as ? "" : NULL },
    };
    char **env = mem_new((ARRAY_LEN(rows) + 2) * sizeof *env);
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *value = rows[i].own ? rows[i].own : getenv(rows[i].name);
        if (value && !(rows[i].own && !*value))
            env[n++] = mem_printf("%s=%s", rows[i].name, value);
    }
    env[n++] = mem_strdup("LC_ALL=C");
    return env;
}

static void feed(struct child *c, const struct slurm_call *call)
{
    c->input = mem_new(call->input_len + 1);
    memcpy(c->input, call->input, call->input_len);
    uv_buf_t all = uv_buf_init(c->input, (unsigned)call->input_len);
    c->write.data = c;
    if (uv_write(&c->write, (uv_stream_t *)&c->in, &all, 1, on_written) != 0)
        close_one((uv_handle_t *)&c->in);
}

static struct child *make_child(struct slurm_commands *all, const struct slurm_call *call)
{
    struct child *c = mem_new(sizeof *c);
    *c = (struct child){ .all = all,
                         .command = call->command,
                         .uid = call->as ? call->as->ids.uid : 0,
                         .open = 5,
                         .going = 3,
                         .text = BUF_INIT(OUT_MAX),
                         .problem = BUF_INIT(SAID_MAX),
                         .limit_ms = call->limit_ms ? call->limit_ms : DEFAULT_MS,
                         .done = call->done,
                         .arg = call->arg };
    c->process.data = c->deadline.data = c->in.data = c->out.data = c->said.data = c;
    uv_timer_init(all->loop, &c->deadline);
    uv_pipe_init(all->loop, &c->in, 0);
    uv_pipe_init(all->loop, &c->out, 0);
    uv_pipe_init(all->loop, &c->said, 0);
    return c;
}

static int spawn(struct child *c, const struct slurm_call *call, struct err *err)
{
    const bool becomes = call->as && !c->all->n_prefix; /* behind a prefix that does it */
    char **argv = make_argv(c->all, call), **env = make_env(becomes ? call->as : NULL);
    uv_stdio_container_t ends[] = {
        { .flags = call->input ? UV_CREATE_PIPE | UV_READABLE_PIPE : UV_IGNORE,
          .data.stream = (uv_stream_t *)&c->in },
        { .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&c->out },
        { .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&c->said }
    };
    uv_process_options_t options = { .file = becomes ? c->all->program : argv[0],
                                     .args = argv,
                                     .env = env,
                                     .stdio = ends,
                                     .stdio_count = (int)ARRAY_LEN(ends),
                                     .exit_cb = on_exit_of };
    int rc = uv_spawn(c->all->loop, &c->process, &options);
    if (rc != 0) {
        err_set(err, ERR_CANNOT, "%s cannot be started: %s", argv[0], uv_strerror(rc));
        err_hint(err, "this server needs Slurm's commands in its PATH, or --slurm-prefix 'ssh "
                      "LOGIN-NODE'");
    }
    free_words(argv);
    free_words(env);
    return rc == 0 ? 0 : -1;
}

int slurm_run(struct slurm_commands *all, const struct slurm_call *call, struct err *err)
{
    const char *name = slurm_command_name(call->command);
    if (find(all, call->command, call->as))
        return err_set(err, ERR_BUSY, "another %s runs", name);
    if (call->as && (all->n_prefix ? !all->names || !is_plain(call->as->name) : !all->program))
        return err_set(err, ERR_CANNOT, "%s cannot run as %.60s here", name, call->as->name);
    struct child *c = make_child(all, call);
    if (spawn(c, call, err) < 0) {
        close_all(c);
        return -1;
    }
    vec_push(&all->running, c);
    uv_update_time(all->loop);
    uv_timer_start(&c->deadline, on_late, c->limit_ms, 0);
    uv_read_start((uv_stream_t *)&c->out, on_room, on_text);
    uv_read_start((uv_stream_t *)&c->said, on_room, on_text);
    if (call->input)
        feed(c, call);
    return 0;
}

void slurm_commands_destroy(struct slurm_commands *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->running.n; i++) {
        struct child *c = all->running.at[i];
        c->all = NULL;
        uv_process_kill(&c->process, SIGKILL);
        close_all(c);
    }
    vec_fini(&all->running);
    free_words(all->prefix);
    free(all->own);
    free(all->program);
    free(all);
}
