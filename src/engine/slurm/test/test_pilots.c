/* Pilots with scripts in the place of Slurm's commands, whose answers the test writes: what is
 * asked of Slurm, which nodes are expected, what becomes of rows. Nodes that join are tried with
 * real hosts and a real Slurm (tests/test_pilots.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/slurm/pilots.h"

#include "base/file.h"
#include "base/mem.h"
#include "wire/message.h"

#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

struct trial {
    uv_loop_t loop;
    char dir[64];
    char *path; /* of before */
    char *program;
    struct link_hub *hub;
    struct pilots *pilots;
    unsigned kept, expected, gone, scripts, added;
    const char *reached;          /* the node whose host is connected; NULL: none's */
    unsigned char added_hash[32]; /* of the token of the last */
    bool cannot_pack;             /* there is no script */
    bool cannot_keep;             /* no row that somebody waits for is committed */
    void (*done)(void *, bool);   /* of the last of them, to be called from the loop */
    void *done_arg;
    char why[256]; /* of the node expected last */
    uint64_t cpus;
};

static void on_fact(void *arg, const struct engine_fact *fact)
{
    (void)arg;
    (void)fact;
}

static void write_file(const struct trial *t, const char *name, const char *text)
{
    AUTO_FREE char *path = file_join(t->dir, name);
    assert_int_equal(file_replace(path, text, strlen(text), 0700, NULL), 0);
}

/* A command that notes its arguments and its input in NAME.log, and answers with NAME.out. */
static void write_command(const struct trial *t, const char *name, const char *answer)
{
    AUTO_FREE char *out = mem_printf("%s.out", name);
    AUTO_FREE char *body = mem_printf("#!/bin/sh\necho \"$@\" >>%s/%s.log\ncat %s/%s.out\n", t->dir,
                                      name, t->dir, name);
    write_file(t, out, answer);
    write_file(t, name, body);
}

static bool was_told(const struct trial *t, const char *name, const char *word)
{
    AUTO_FREE char *log = mem_printf("%s/%s.log", t->dir, name);
    AUTO_FREE char *text = NULL;
    size_t len;
    return file_read(log, 65536, &text, &len, NULL) == 0 && strstr(text, word);
}

static void keep(void *arg, const struct pilot *p, void (*done)(void *, bool), void *done_arg)
{
    struct trial *t = arg;
    struct arena *arena = arena_create();
    struct pilot *again = pilot_of_row(p->name, pilot_row(arena, p));
    assert_non_null(again);
    pilot_destroy(again);
    arena_destroy(arena);
    t->kept++;
    if (done && t->cannot_keep) {
        assert_null(t->done);
        t->done = done;
        t->done_arg = done_arg;
    } else if (done) {
        done(done_arg, true);
    }
}

static void drop(void *arg, const char *pilot)
{
    (void)arg;
    (void)pilot;
}

static void add(void *arg, const struct pilot *p, const struct pilot_host *host)
{
    struct trial *t = arg;
    assert_ptr_equal(pilot_find_host(p, host->slurm), host);
    memcpy(t->added_hash, host->token_hash, sizeof t->added_hash);
    t->added++;
}

static void limit(void *arg, const struct pilot_host *host, uint64_t lasts_ms)
{
    (void)arg;
    (void)host;
    (void)lasts_ms;
}

static void remove_host(void *arg, const struct pilot_host *host)
{
    (void)arg;
    (void)host;
}

static bool never(void *arg, const char *node)
{
    (void)arg;
    (void)node;
    return false;
}

static bool reached(void *arg, const char *node)
{
    const struct trial *t = arg;
    return t->reached && strcmp(t->reached, node) == 0;
}

static uint32_t no_tasks(void *arg, const char *node)
{
    (void)arg;
    (void)node;
    return 0;
}

static void vacate(void *arg, const struct pilot *p, const char *why)
{
    (void)arg;
    (void)p;
    (void)why;
}

static void expect(void *arg, const struct coming_node *node)
{
    struct trial *t = arg;
    t->expected += node->why != NULL;
    t->gone += node->why == NULL;
    if (!node->why)
        return;
    t->cpus = node->cpus;
    snprintf(t->why, sizeof t->why, "%s", node->why);
}

static void own(void *arg)
{
    (void)arg;
}

static int script(void *arg, const struct pilot *p, const char *join, struct buf *out,
                  struct err *err)
{
    assert_non_null(p);
    struct trial *t = arg;
    assert_int_equal(strlen(join), 64);
    if (t->cannot_pack) {
        err_set(err, ERR_CANNOT, "packing: no such file");
        return err_hint(err, "install xz");
    }
    buf_puts(out, "#!/bin/sh\n");
    return ++t->scripts > 1; /* at first it is not ready */
}

static int set_up(void **state)
{
    struct trial *t = mem_new(sizeof *t);
    const struct words none = { .n = 0 };
    snprintf(t->dir, sizeof t->dir, "/tmp/slurm-pilots-XXXXXX");
    assert_non_null(mkdtemp(t->dir));
    (void)signal(SIGPIPE, SIG_IGN); /* as a server does */
    uv_loop_init(&t->loop);
    t->path = mem_strdup(getenv("PATH"));
    AUTO_FREE char *path = mem_printf("%s:%s", t->dir, t->path);
    setenv("PATH", path, 1);
    write_command(t, "sbatch", "7\n");
    write_command(t, "scancel", "");
    write_command(t, "sinfo", "main*@8@16000@up\n");
    write_command(t, "squeue", "");
    t->program = file_join(t->dir, "program");
    t->hub = link_create(&t->loop, (struct engine_sink){ .fact = on_fact });
    t->pilots = pilots_create(
        &(struct pilots_config){ .loop = &t->loop,
                                 .link = t->hub,
                                 .site = { .prefix = &none, .own = "root", .program = t->program },
                                 .pace_ms = 1,
                                 .sink = { .keep = keep,
                                           .drop = drop,
                                           .add = add,
                                           .limit = limit,
                                           .remove = remove_host,
                                           .reached = reached,
                                           .taken = never,
                                           .tasks = no_tasks,
                                           .vacate = vacate,
                                           .expect = expect,
                                           .own = own,
                                           .script = script,
                                           .arg = t } });
    pilots_begin(t->pilots);
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct trial *t = *state;
    pilots_destroy(t->pilots);
    link_destroy(t->hub);
    uv_run(&t->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&t->loop), 0);
    setenv("PATH", t->path, 1);
    file_remove_tree(t->dir, NULL);
    free(t->program);
    free(t->path);
    free(t);
    return 0;
}

static void start(struct trial *t)
{
    static const char join[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const struct pilot_ask ask = { .nodes = 2, .partition = "", .gpu_type = "" };
    pilots_start(t->pilots, pilot_create("p1", "ab12", "ada", &ask), join);
}

#define UNTIL(t, condition)                                                                        \
    while (!(condition))                                                                           \
    uv_run(&(t)->loop, UV_RUN_ONCE)

static enum pilot_state state_of(const struct trial *t)
{
    return pilots_find(t->pilots, "p1")->state;
}

static void one_is_submitted_waits_and_ends(void **state)
{
    struct trial *t = *state;
    start(t);
    UNTIL(t, state_of(t) == PILOT_PENDING);
    assert_true(was_told(t, "sbatch", "--job-name=muster-pilot-ab12"));
    assert_string_equal(pilots_find(t->pilots, "p1")->id, "7");
    write_file(t, "squeue.out", "7@PENDING@10:00@N/A@2@main@@1001@muster-pilot-ab12@Priority\n");
    UNTIL(t, strstr(t->why, "Priority") && t->expected >= 2);
    assert_int_equal(t->cpus, 8);
    write_file(t, "squeue.out", "7@RUNNING@10:00@N/A@2@main@n[1-2]@1001@muster-pilot-ab12@None\n");
    UNTIL(t, state_of(t) == PILOT_RUNNING);
    assert_true(pilot_has_node(pilots_find(t->pilots, "p1"), "n2"));
    assert_true(pilots_stop(t->pilots, "p1", "ada", false));
    UNTIL(t, was_told(t, "scancel", "--name=muster-pilot-ab12 --batch --signal=USR1 7\n"));
    write_file(t, "squeue.out",
               "7@COMPLETED@10:00@N/A@2@main@n[1-2]@1001@muster-pilot-ab12@None\n");
    UNTIL(t, state_of(t) == PILOT_OVER && t->gone == 2);
    assert_string_equal(pilots_find(t->pilots, "p1")->reason, "stopped by ada");
    assert_int_equal(pilots_count(t->pilots), 0);
    assert_true(t->kept > 3);
    assert_false(pilots_stop(t->pilots, "p2", "ada", false));
}

static void one_that_slurm_refuses_is_over(void **state)
{
    struct trial *t = *state;
    write_file(t, "sbatch",
               "#!/bin/sh\necho 'sbatch: error: Invalid qos specification' >&2\nexit 1\n");
    start(t);
    UNTIL(t, state_of(t) == PILOT_OVER);
    assert_string_equal(pilots_find(t->pilots, "p1")->reason,
                        "Slurm (sbatch): Invalid qos specification");
}

/* What cannot be submitted says what to do. */
static void one_without_a_script_is_over(void **state)
{
    struct trial *t = *state;
    t->cannot_pack = true;
    start(t);
    UNTIL(t, state_of(t) == PILOT_OVER);
    assert_string_equal(pilots_find(t->pilots, "p1")->reason, "packing: no such file; install xz");
    assert_int_equal(pilots_find(t->pilots, "p1")->end, PILOT_END_REFUSED);
}

/* The answer is lost, and the allocation is there. */
static void one_is_found_by_its_name(void **state)
{
    struct trial *t = *state;
    write_file(t, "sbatch",
               "#!/bin/sh\necho 'sbatch: error: Socket timed out on send/recv operation' >&2\nexit "
               "1\n");
    write_file(t, "squeue.out", "9@PENDING@10:00@N/A@2@main@@1001@muster-pilot-ab12@Priority\n");
    start(t);
    UNTIL(t, state_of(t) == PILOT_PENDING);
    assert_string_equal(pilots_find(t->pilots, "p1")->id, "9");
}

static void what_cannot_be_asked_is_not_gone(void **state)
{
    struct trial *t = *state;
    write_file(t, "squeue.out", "7@RUNNING@10:00@N/A@2@main@n[1-2]@1001@muster-pilot-ab12@None\n");
    start(t);
    UNTIL(t, state_of(t) == PILOT_RUNNING);
    write_file(
        t, "squeue",
        "#!/bin/sh\necho 'slurm_load_jobs error: Unable to contact slurm controller (connect "
        "failure)' >&2\nexit 1\n");
    UNTIL(t, *pilots_trouble(t->pilots));
    assert_int_equal(state_of(t), PILOT_RUNNING);
    write_command(t, "squeue", "");
    UNTIL(t, state_of(t) == PILOT_OVER);
    assert_string_equal(pilots_trouble(t->pilots), "");
    assert_string_equal(pilots_find(t->pilots, "p1")->reason, "Slurm does not know it any more");
}

/* Also where the clock was set back between them, and when their names are not in that order. */
static void the_latest_of_a_job_is_the_one_with_the_highest_number(void **state)
{
    struct trial *t = *state;
    static const char *const names[] = { "p10", "p9", "p2" };
    const struct pilot_ask ask = { .nodes = 2, .partition = "", .gpu_type = "" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct pilot *p = pilot_create(names[i], names[i], "ada", &ask);
        p->job = 99;
        p->at_ms = 1000 * (i + 1);
        pilots_start(t->pilots, p, "0123456789abcdef0123456789abcdef");
    }
    assert_string_equal(pilots_of_job(t->pilots, 99)->name, "p10");
    assert_null(pilots_of_job(t->pilots, 98));
}

/* Asked for, listed and cancelled as that; a job of that name that is somebody else's is not
 * taken for it. */
static void one_of_an_account_is_its_own_in_slurm(void **state)
{
    struct trial *t = *state;
    static const struct account ann = {
        .name = "ann", .home = "/home/ann", .shell = "/bin/sh", .ids = { .uid = 1001, .gid = 1001 }
    };
    const struct pilot_ask ask = { .nodes = 2, .partition = "", .gpu_type = "" };
    struct pilot *p = pilot_create("p1", "ab12", "ann", &ask);
    p->account = account_copy(p->arena, &ann);
    p->job = 99;
    write_file(t, "program",
               "#!/bin/sh\necho \"$1 $3\" >>${0%/*}/program.log\nshift 2\nexec \"$@\"\n");
    write_file(t, "sbatch",
               "#!/bin/sh\necho 'sbatch: error: Socket timed out on send/recv operation' >&2\nexit "
               "1\n");
    write_file(t, "squeue.out", "6@RUNNING@10:00@N/A@2@main@n[1-2]@1002@muster-pilot-ab12@None\n");
    pilots_start(t->pilots, p, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    UNTIL(t, was_told(t, "program", "1001 1001 sbatch\n"));
    UNTIL(t, was_told(t, "squeue", "--name=muster-pilot-ab12 -h"));
    write_file(t, "squeue.out",
               "6@RUNNING@10:00@N/A@2@main@n[1-2]@1002@muster-pilot-ab12@None\n"
               "7@RUNNING@10:00@N/A@2@main@n[3-4]@1001@muster-pilot-ab12@None\n");
    UNTIL(t, state_of(t) == PILOT_RUNNING);
    assert_string_equal(p->id, "7");
    assert_true(pilots_stop(t->pilots, "p1", "ann", true));
    UNTIL(t, was_told(t, "program", "1001 1001 scancel\n"));
    assert_false(was_told(t, "squeue", "--me"));
}

/* ---- a node that joins ---- */

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct pilot *pilot_with_token(void)
{
    const struct pilot_ask ask = { .nodes = 2, .partition = "", .gpu_type = "" };
    struct pilot *p = pilot_create("p1", "ab12", "ada", &ask);
    unsigned char token[32];
    size_t len;
    assert_int_equal(sodium_hex2bin(token, sizeof token, TOKEN, 64, NULL, &len, NULL), 0);
    crypto_hash_sha256(p->join_hash, token, len);
    return p;
}

/* It asks under that name, over a connection of its own. */
static int come_by(struct trial *t, const char *node, char first)
{
    char own[HOST_TOKEN] = "0123456789abcdef0123456789abcde";
    own[0] = first;
    AUTO_BUF struct buf out = BUF_INIT(4096);
    struct err err;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(link_attach(t->hub, TOKEN, ends[0], "", 0, &err), 0);
    wire_put(&out, 0,
             &(struct wire_host_join){ .version = WIRE_VERSION,
                                       .node = node,
                                       .allocation = "7",
                                       .own = own,
                                       .own_len = sizeof own });
    assert_int_equal(write(ends[1], out.data, out.len), out.len);
    return ends[1];
}

static int come(struct trial *t, const char *node)
{
    return come_by(t, node, '0');
}

/* What it is told, as "NAME|REASON". It goes then. */
static void hear(struct trial *t, int fd, char out[256])
{
    struct arena *arena = arena_create();
    AUTO_BUF struct buf in = BUF_INIT(65536);
    for (bool done = false; !done;) {
        unsigned char piece[512];
        struct wire_frame frame;
        size_t used;
        ssize_t n = read(fd, piece, sizeof piece);
        if (n > 0)
            buf_add(&in, piece, (size_t)n);
        while (!done && in.len && wire_next(in.data, in.len, &frame, &used) == 1) {
            struct wire_host_joined_answer said;
            done = frame.kind == WIRE_HOST_JOINED;
            if (done) {
                assert_int_equal(wire_get(&frame, arena, &said), 0);
                snprintf(out, 256, "%s|%s", said.node, said.reason);
            }
            buf_drop(&in, used);
        }
        if (!done)
            uv_run(&t->loop, UV_RUN_ONCE);
    }
    close(fd);
    arena_destroy(arena);
}

static void fail_row(struct trial *t)
{
    void (*done)(void *, bool) = t->done;
    t->done = NULL;
    done(t->done_arg, false);
}

/* Its row cannot be written for a while: it waits, and is let in as soon as that can be. */
static void a_node_whose_row_was_not_kept_gets_in(void **state)
{
    struct trial *t = *state;
    write_file(t, "squeue.out", "7@RUNNING@10:00@N/A@2@main@n[1-2]@1001@muster-pilot-ab12@None\n");
    pilots_start(t->pilots, pilot_with_token(), TOKEN);
    UNTIL(t, state_of(t) == PILOT_RUNNING);
    t->cannot_keep = true;
    int fd = come(t, "n2");
    UNTIL(t, t->done);
    int again = come(t, "n2"); /* it was cut off meanwhile, and is told no name before the row is */
    uv_run(&t->loop, UV_RUN_ONCE);
    fail_row(t);
    assert_null(pilot_find_host(pilots_find(t->pilots, "p1"), "n2")); /* not in later rows either */
    UNTIL(t, t->done); /* it is tried again, also when that cannot be either */
    fail_row(t);
    assert_int_equal(t->added, 0);
    t->cannot_keep = false;
    UNTIL(t, t->added == 1);
    close(again);
    assert_non_null(pilots_of_node(t->pilots, "n2"));
    close(fd);
}

static bool is_refused(struct trial *t, int fd)
{
    char said[256];
    hear(t, fd, said);
    return *said == '|';
}

static void hash_own(char first, unsigned char hash[32], char hex[65])
{
    char own[HOST_TOKEN] = "0123456789abcdef0123456789abcde";
    own[0] = first;
    crypto_hash_sha256(hash, (const unsigned char *)own, sizeof own);
    sodium_bin2hex(hex, 65, hash, 32);
}

/* A pilot of one node, which has joined. */
static void begin_with_a_node(struct trial *t, bool hears_again)
{
    char said[256];
    struct pilot *p = pilot_with_token();
    p->hears_again = hears_again;
    write_file(t, "squeue.out", "7@RUNNING@10:00@N/A@2@main@n2@1001@muster-pilot-ab12@None\n");
    pilots_start(t->pilots, p, TOKEN);
    UNTIL(t, state_of(t) == PILOT_RUNNING);
    t->reached = "n2";
    hear(t, come_by(t, "n2", '0'), said);
    assert_string_equal(said, "n2|");
    assert_int_equal(t->added, 1);
}

/* Slurm says that it is there, and nobody connects: it may be back, with nothing on it. */
static void a_silent_node_is_started_again(void **state)
{
    struct trial *t = *state;
    char said[256], hex[65], want[256];
    unsigned char hash[32], next[32];
    begin_with_a_node(t, true);
    assert_true(is_refused(t, come_by(t, "n2", '1')));
    assert_true(is_refused(t, come(t, ""))); /* it does not ask for one that is heard */
    t->reached = NULL;
    UNTIL(t, was_told(t, "scancel", "--name=muster-pilot-ab12 --batch --signal=USR2 7\n"));
    hear(t, come(t, ""), said);
    hash_own('0', hash, hex);
    snprintf(want, sizeof want, "n2|%s", hex);
    assert_string_equal(said, want);
    t->cannot_keep = true;
    int fd = come_by(t, "n2", '1');
    UNTIL(t, t->done);
    assert_true(is_refused(t, come_by(t, "n2", '2'))); /* one at a time */
    fail_row(t);
    const struct pilot_host *host = pilot_find_host(pilots_find(t->pilots, "p1"), "n2");
    assert_memory_equal(host->token_hash, hash, 32); /* nothing has changed */
    t->cannot_keep = false;
    hear(t, fd, said);
    assert_string_equal(said, "n2|");
    hash_own('1', next, hex);
    assert_memory_equal(t->added_hash, next, 32);
    assert_int_equal(t->added, 2);
    t->reached = "n2";
    assert_true(is_refused(t, come_by(t, "n2", '0')));
}

/* Its batch script would be ended by that signal; nor is one asked that Slurm has taken away. */
static void one_of_an_older_server_is_not(void **state)
{
    struct trial *t = *state;
    begin_with_a_node(t, false);
    t->reached = NULL;
    const unsigned kept = t->kept;
    write_file(t, "squeue.out", "7@RUNNING@10:00@N/A@2@main@n1@1001@muster-pilot-ab12@None\n");
    UNTIL(t, t->kept > kept && pilot_find_host(pilots_find(t->pilots, "p1"), "n2")->gone);
    assert_false(was_told(t, "scancel", "USR2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_is_submitted_waits_and_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_slurm_refuses_is_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_without_a_script_is_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_is_found_by_its_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_latest_of_a_job_is_the_one_with_the_highest_number,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_of_an_account_is_its_own_in_slurm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_asked_is_not_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_node_whose_row_was_not_kept_gets_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_silent_node_is_started_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_of_an_older_server_is_not, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
