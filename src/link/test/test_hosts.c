/* Hosts of machines as the server sees them, with the real program over a real socket: muster-node
 * host is started, killed and started again, and so is the server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "link/hosts.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/proc_stat.h"
#include "link/agent_listener.h"
#include "link/test/door.h"
#include "tls/identity.h"

#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <uv.h>

struct fix {
    uv_loop_t loop;
    char dir[64], *host_dir, *socket, hex[65];
    unsigned char token[32], hash[32];
    struct link_hub *hub;
    struct hosts *hosts;
    struct door door;
    pid_t host;
    unsigned up, down, ended, joined;
    uint64_t cpu_milli;
    char zone[16], boot[64];
};

static const struct generation first = { .job = 7, .number = 1 },
                               second = { .job = 7, .number = 2 };

/* ---- what it tells ---- */

static void on_up(void *arg, const char *node, const char *address,
                  const struct wire_host_hello *hello)
{
    struct fix *f = arg;
    (void)address;
    const char *zone = pairs_get(&hello->labels, "zone");
    assert_string_equal(node, "n1");
    snprintf(f->zone, sizeof f->zone, "%s", zone ? zone : "");
    snprintf(f->boot, sizeof f->boot, "%s", hello->boot);
    f->cpu_milli = hello->cpu_milli;
    f->up++;
}

static void on_down(void *arg, const char *node, const char *why)
{
    struct fix *f = arg;
    assert_string_equal(node, "n1");
    assert_true(*why);
    f->down++;
}

static void on_ended(void *arg, struct generation g, const char *node, const char *reason)
{
    struct fix *f = arg;
    assert_int_equal(g.job, first.job);
    assert_string_equal(node, "n1");
    assert_true(*reason);
    f->ended++;
}

static void on_fact(void *arg, const struct engine_fact *fact)
{
    struct fix *f = arg;
    f->joined += fact->kind == FACT_AGENT_JOINED;
}

/* ---- the server ---- */

static void open_server(struct fix *f)
{
    f->hub = link_create(&f->loop, (struct engine_sink){ .fact = on_fact, .arg = f });
    f->hosts = hosts_create(
        f->hub, (struct hosts_sink){ .up = on_up, .down = on_down, .ended = on_ended, .arg = f });
    hosts_expect(f->hosts, "n1", f->hash);
    f->door.hub = f->hub;
    door_open(&f->door, &f->loop, f->socket);
}

static void close_server(struct fix *f)
{
    door_close(&f->door);
    hosts_destroy(f->hosts);
    link_destroy(f->hub);
    while (uv_run(&f->loop, UV_RUN_NOWAIT))
        continue;
}

static void start_host(struct fix *f)
{
    char *argv[] = { (char[]){ MUSTER_NODE }, (char[]){ "host" }, f->host_dir, NULL };
    assert_int_equal(posix_spawn(&f->host, MUSTER_NODE, NULL, NULL, argv, environ), 0);
}

static void end_host(struct fix *f, int number)
{
    int status;
    kill(f->host, number);
    assert_int_equal(waitpid(f->host, &status, 0), f->host);
    assert_true(number == SIGKILL || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

static void write_conf(struct fix *f, const char *zone)
{
    AUTO_FREE char *path = file_join(f->host_dir, "host.conf");
    AUTO_FREE char *text =
        mem_printf("socket=%s\ntoken=%s\nnode=n1\nlabel=zone=%s\n", f->socket, f->hex, zone);
    struct err err;
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
}

#define UNTIL(f, condition)                                                                        \
    do {                                                                                           \
        while (!(condition))                                                                       \
            uv_run(&(f)->loop, UV_RUN_ONCE);                                                       \
    } while (0)

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    struct err err;
    assert_true(sodium_init() >= 0);
    (void)signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&f->loop);
    snprintf(f->dir, sizeof f->dir, "/tmp/muster-hosts-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->host_dir = file_join(f->dir, "host");
    f->socket = file_join(f->dir, "sock");
    assert_int_equal(file_mkdirs(f->host_dir, 0700, &err), 0);
    randombytes_buf(f->token, sizeof f->token);
    sodium_bin2hex(f->hex, sizeof f->hex, f->token, sizeof f->token);
    crypto_hash_sha256(f->hash, f->token, sizeof f->token);
    write_conf(f, "a");
    open_server(f);
    start_host(f);
    UNTIL(f, hosts_connected(f->hosts, "n1"));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    end_host(f, SIGTERM);
    close_server(f);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    file_remove_tree(f->dir, NULL);
    free(f->host_dir);
    free(f->socket);
    free(f);
    return 0;
}

/* ---- what holds ---- */

static void token_of(struct generation g, unsigned char token[32])
{
    memset(token, 0, 32);
    token[0] = (unsigned char)g.number;
    token[1] = 9;
}

/* With a token of its own, so that the hub knows agent from host. */
static void start_run(struct fix *f, struct generation g)
{
    unsigned char token[32], hash[32];
    token_of(g, token);
    crypto_hash_sha256(hash, token, sizeof token);
    link_expect(f->hub, g, "n1", hash, 0);
    link_bar(f->hub, g, "n1", hosts_leaves(f->hosts, g, "n1"));
    assert_true(hosts_start(
        f->hosts, &(struct hosts_start){ .generation = g, .node = "n1", .token = token }));
}

static bool recover(struct fix *f, struct generation g, bool began)
{
    unsigned char token[32];
    struct engine_agent known = { .generation = g, .node = "n1" };
    token_of(g, token);
    crypto_hash_sha256(known.token_hash, token, sizeof token);
    return hosts_recover(f->hosts, &known, began);
}

static void a_machine_says_what_it_is(void **state)
{
    struct fix *f = *state;
    assert_true(f->cpu_milli >= 1000 && *f->boot);
    assert_string_equal(f->zone, "a");
    unsigned up = f->up;
    write_conf(f, "b");
    kill(f->host, SIGHUP);
    UNTIL(f, f->up > up);
    assert_string_equal(f->zone, "b");
    end_host(f, SIGTERM);
    UNTIL(f, f->down == 1);
    assert_false(hosts_connected(f->hosts, "n1"));
    start_host(f);
    UNTIL(f, hosts_connected(f->hosts, "n1"));
}

static void runs_start_end_and_go(void **state)
{
    struct fix *f = *state;
    start_run(f, first);
    start_run(f, first); /* once more is the same */
    UNTIL(f, f->joined == 1);
    assert_true(hosts_end(f->hosts, first, "n1"));
    UNTIL(f, f->ended == 1);
    assert_false(hosts_runs(f->hosts, first, "n1"));
    assert_true(hosts_clean(f->hosts, first, "n1"));
    link_forget(f->hub, first, "n1");
    start_run(f, first); /* the same generation anew */
    UNTIL(f, f->joined == 2);
    assert_true(hosts_end(f->hosts, first, "n1"));
    UNTIL(f, f->ended == 2);
    assert_false(hosts_start(f->hosts, &(struct hosts_start){ .generation = first, .node = "n2" }));
}

/* The host is killed: its run goes on, nothing is told of it, and the next one has it. */
static void an_unreachable_machine_is_not_gone(void **state)
{
    struct fix *f = *state;
    start_run(f, first);
    UNTIL(f, f->joined == 1);
    end_host(f, SIGKILL);
    UNTIL(f, f->down == 1);
    assert_true(hosts_runs(f->hosts, first, "n1"));
    assert_true(link_connected(f->hub, first, "n1"));
    start_run(f, second); /* while nobody can hear it */
    start_host(f);
    UNTIL(f, f->joined == 2);
    assert_int_equal(f->ended, 0);
    assert_true(hosts_end(f->hosts, first, "n1"));
    assert_true(hosts_end(f->hosts, second, "n1"));
    UNTIL(f, f->ended == 2);
}

/* The server is another: what its records know goes on, what they do not know is ended. */
static void a_new_server_finds_what_lives(void **state)
{
    struct fix *f = *state;
    start_run(f, first);
    start_run(f, second);
    UNTIL(f, f->joined == 2);
    close_server(f);
    open_server(f);
    unsigned char token[32] = { 1, 9 }, hash[32];
    crypto_hash_sha256(hash, token, sizeof token);
    link_expect(f->hub, first, "n1", hash, 0);
    assert_true(recover(f, first, true));
    UNTIL(f, f->joined == 3);
    UNTIL(f, hosts_connected(f->hosts, "n1"));
    assert_true(hosts_runs(f->hosts, first, "n1"));
    assert_int_equal(f->ended, 0);
    AUTO_FREE char *gone = file_join(f->host_dir, "runs/7.2.n1");
    UNTIL(f, !file_is_dir(gone)); /* it was ended, and cleaned after that */
    assert_true(hosts_end(f->hosts, first, "n1"));
    UNTIL(f, f->ended == 1);
}

/* Killed with all it had, as by a power failure, while the server was away too. */
static void what_a_boot_ended_is_told(void **state)
{
    struct fix *f = *state;
    struct generation third = { .job = 7, .number = 3 };
    start_run(f, first);
    UNTIL(f, f->joined == 1);
    end_host(f, SIGKILL);
    AUTO_FREE char *path = file_join(f->host_dir, "runs/7.1.n1/keeper.pid");
    AUTO_FREE char *text = NULL;
    size_t len;
    assert_int_equal(file_read(path, 100, &text, &len, NULL), 0);
    close_server(f);
    kill((pid_t)strtol(text, NULL, 10), SIGKILL);
    open_server(f);
    assert_true(recover(f, first, true));
    assert_true(recover(f, third, true));   /* its directory is lost */
    assert_true(recover(f, second, false)); /* nobody had started it */
    start_host(f);
    UNTIL(f, f->ended == 2);
    start_run(f, second);
    UNTIL(f, f->joined == 2);
    assert_true(hosts_runs(f->hosts, second, "n1"));
    assert_true(hosts_end(f->hosts, second, "n1"));
    UNTIL(f, f->ended == 3);
}

static void say_tcp(struct fix *f, uint16_t port, const char *pin)
{
    AUTO_FREE char *path = file_join(f->host_dir, "host.conf");
    AUTO_FREE char *text =
        mem_printf("tcp=127.0.0.1:%u\npin=%s\ntoken=%s\nnode=n1\n", port, pin, f->hex);
    struct err err;
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
}

/* The server leaves its socket for an address: its host is told, and the agents there with it. */
static void a_machine_comes_over_tls(void **state)
{
    struct fix *f = *state;
    struct tls_identity identity;
    struct err err;
    start_run(f, first);
    UNTIL(f, f->joined == 1);
    assert_int_equal(tls_identity_open(f->dir, &identity, &err), 0);
    struct tls_server *tls = tls_server_create(&identity.config, &err);
    struct agent_listener *listener = agent_listener_create(
        f->hub, &(struct agent_listener_config){ .addr = "127.0.0.1", .tls = tls }, &err);
    assert_non_null(listener);
    say_tcp(f, agent_listener_port(listener), identity.pin);
    door_close(&f->door);
    kill(f->host, SIGSTOP); /* it and its agent lose the connections that they have */
    UNTIL(f, f->down == 1);
    kill(f->host, SIGCONT);
    UNTIL(f, hosts_connected(f->hosts, "n1"));
    start_run(f, second); /* whose agent knows no other way */
    UNTIL(f, f->joined == 2);
    assert_true(agent_listener_counts(listener).joined >= 2);
    assert_true(hosts_end(f->hosts, first, "n1"));
    assert_true(hosts_end(f->hosts, second, "n1"));
    UNTIL(f, f->ended == 2);
    end_host(f, SIGTERM);
    UNTIL(f, f->down == 2);
    agent_listener_destroy(listener);
    hosts_forget(f->hosts, "n1");
    tls_server_destroy(tls);
    tls_identity_fini(&identity);
    door_open(&f->door, &f->loop, f->socket);
    hosts_expect(f->hosts, "n1", f->hash);
    write_conf(f, "a");
    start_host(f);
    UNTIL(f, hosts_connected(f->hosts, "n1"));
}

static pid_t keeper_of_first(const struct fix *f)
{
    AUTO_FREE char *path = file_join(f->host_dir, "runs/7.1.n1/keeper.pid");
    AUTO_FREE char *text = NULL;
    size_t len;
    assert_int_equal(file_read(path, 100, &text, &len, NULL), 0);
    return (pid_t)strtol(text, NULL, 10);
}

/* Somebody said that nothing lives there, and was wrong: its host was away, its agent was not, and
 * knows the same token as the next one of the generation. */
static void what_was_given_up_ends_before_the_next(void **state)
{
    struct fix *f = *state;
    start_run(f, first);
    UNTIL(f, f->joined == 1);
    const pid_t keeper = keeper_of_first(f);
    struct proc_stat stat;
    end_host(f, SIGKILL);
    UNTIL(f, f->down == 1);
    assert_true(hosts_clean(f->hosts, first, "n1"));
    link_forget(f->hub, first, "n1");
    assert_true(hosts_leaves(f->hosts, first, "n1"));
    assert_false(hosts_runs(f->hosts, first, "n1"));
    start_run(f, first);
    start_run(f, first); /* once more is the same */
    assert_true(hosts_runs(f->hosts, first, "n1"));
    UNTIL(f, f->door.held > 1); /* it tries */
    assert_int_equal(f->joined, 1);
    start_host(f);
    UNTIL(f, f->joined == 2);
    assert_true(!proc_stat_read(keeper, &stat) || stat.ended);
    assert_true(keeper_of_first(f) != keeper);
    assert_false(hosts_leaves(f->hosts, first, "n1"));
    assert_int_equal(f->ended, 0);
    assert_true(hosts_end(f->hosts, first, "n1"));
    UNTIL(f, f->ended == 1);
}

static unsigned char other_token[32] = { 5, 5 };

static struct engine_agent another(void)
{
    struct engine_agent known = { .generation = first, .node = "n1" };
    crypto_hash_sha256(known.token_hash, other_token, sizeof other_token);
    return known;
}

/* It was given up, and the server was another before its host was back: what lives there under
 * another token is not taken for the next one of the generation. */
static void what_was_given_up_before_this_server_ends_first(void **state)
{
    struct fix *f = *state;
    struct engine_agent known = another();
    start_run(f, first);
    UNTIL(f, f->joined == 1);
    const pid_t keeper = keeper_of_first(f);
    struct proc_stat stat;
    end_host(f, SIGKILL);
    UNTIL(f, f->down == 1);
    close_server(f);
    open_server(f);
    assert_true(hosts_recover(f->hosts, &known, false));
    link_expect(f->hub, first, "n1", known.token_hash, 0);
    start_host(f);
    UNTIL(f, hosts_connected(f->hosts, "n1"));
    assert_true(hosts_runs(f->hosts, first, "n1"));
    assert_true(hosts_start(
        f->hosts,
        &(struct hosts_start){ .generation = first, .node = "n1", .token = other_token }));
    UNTIL(f, f->joined == 2);
    assert_true(!proc_stat_read(keeper, &stat) || stat.ended);
    assert_true(keeper_of_first(f) != keeper);
    assert_int_equal(f->ended, 0);
    assert_true(hosts_end(f->hosts, first, "n1"));
    UNTIL(f, f->ended == 1);
}

/* The same, and the next one is not wanted any more either. */
static void what_was_given_up_before_this_server_goes(void **state)
{
    struct fix *f = *state;
    struct engine_agent known = another();
    AUTO_FREE char *dir = file_join(f->host_dir, "runs/7.1.n1");
    start_run(f, first);
    UNTIL(f, f->joined == 1);
    end_host(f, SIGKILL);
    UNTIL(f, f->down == 1);
    close_server(f);
    open_server(f);
    assert_true(hosts_recover(f->hosts, &known, false));
    assert_false(hosts_cancel(f->hosts, first, "n1"));
    start_host(f);
    UNTIL(f, f->ended == 1);
    assert_false(hosts_runs(f->hosts, first, "n1"));
    UNTIL(f, !file_is_dir(dir));
}

/* Given up, and nobody wants another: it goes when its host is back, and nothing is told of it. */
static void what_was_given_up_goes(void **state)
{
    struct fix *f = *state;
    AUTO_FREE char *dir = file_join(f->host_dir, "runs/7.1.n1");
    start_run(f, first);
    UNTIL(f, f->joined == 1);
    end_host(f, SIGKILL);
    UNTIL(f, f->down == 1);
    assert_true(hosts_clean(f->hosts, first, "n1"));
    link_forget(f->hub, first, "n1");
    start_run(f, first);
    assert_true(hosts_cancel(f->hosts, first, "n1"));
    assert_false(hosts_runs(f->hosts, first, "n1"));
    start_host(f);
    UNTIL(f, !file_is_dir(dir));
    UNTIL(f, !hosts_leaves(f->hosts, first, "n1"));
    assert_int_equal(f->joined, 1);
    assert_int_equal(f->ended, 0);
}

/* A machine that comes back without its disk, or from another server that had it meanwhile: its
 * host has never heard of the run whose tasks began there. */
static void what_its_machine_has_lost_has_ended(void **state)
{
    struct fix *f = *state;
    AUTO_FREE char *dir = file_join(f->host_dir, "runs/7.1.n1");
    struct err err;
    struct proc_stat stat;
    start_run(f, first);
    UNTIL(f, f->joined == 1);
    const pid_t keeper = keeper_of_first(f);
    end_host(f, SIGKILL);
    kill(keeper, SIGKILL);
    UNTIL(f, !proc_stat_read(keeper, &stat) || stat.ended);
    assert_int_equal(file_remove_tree(dir, &err), 0);
    start_host(f);
    UNTIL(f, f->ended == 1 || f->joined == 2);
    assert_int_equal(f->ended, 1);
    assert_int_equal(f->joined, 1);
}

static void a_new_token_sends_the_old_away(void **state)
{
    struct fix *f = *state;
    unsigned char other[32] = { 7 };
    start_run(f, first);
    UNTIL(f, f->joined == 1);
    hosts_expect(f->hosts, "n1", f->hash); /* the same: nothing happens */
    assert_true(hosts_connected(f->hosts, "n1"));
    hosts_expect(f->hosts, "n1", other);
    assert_false(hosts_connected(f->hosts, "n1"));
    UNTIL(f, f->down == 1 && f->door.refused > 0);
    assert_true(hosts_runs(f->hosts, first, "n1"));
    hosts_expect(f->hosts, "n1", f->hash);
    UNTIL(f, hosts_connected(f->hosts, "n1"));
    assert_int_equal(f->ended, 0);
    assert_true(hosts_end(f->hosts, first, "n1"));
    UNTIL(f, f->ended == 1);
}

/* A token admits the machine that it was made for. */
static void a_machine_of_another_name_stays_out(void **state)
{
    struct fix *f = *state;
    AUTO_FREE char *path = file_join(f->host_dir, "host.conf");
    AUTO_FREE char *text = mem_printf("socket=%s\ntoken=%s\nnode=n2\n", f->socket, f->hex);
    struct err err;
    hosts_forget(f->hosts, "n1");
    assert_false(hosts_has(f->hosts, "n1"));
    UNTIL(f, f->door.refused > 0); /* nobody knows it */
    end_host(f, SIGTERM);
    unsigned up = f->up;
    hosts_expect(f->hosts, "n1", f->hash);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &err), 0);
    start_host(f);
    for (int i = 0; i < 20; i++) /* of its tries */
        uv_run(&f->loop, UV_RUN_ONCE);
    assert_int_equal(f->up, up);
    assert_false(hosts_connected(f->hosts, "n1"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_machine_says_what_it_is),
        TEST(runs_start_end_and_go),
        TEST(an_unreachable_machine_is_not_gone),
        TEST(a_new_server_finds_what_lives),
        TEST(what_a_boot_ended_is_told),
        TEST(a_machine_comes_over_tls),
        TEST(a_machine_of_another_name_stays_out),
        TEST(what_was_given_up_ends_before_the_next),
        TEST(what_was_given_up_goes),
        TEST(what_its_machine_has_lost_has_ended),
        TEST(what_was_given_up_before_this_server_ends_first),
        TEST(what_was_given_up_before_this_server_goes),
        TEST(a_new_token_sends_the_old_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
