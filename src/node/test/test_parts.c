/* The small parts of the agent: configuration, outbox, environment, processes, made directories,
 * copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/conf.h"
#include "node/copy.h"
#include "node/environment.h"
#include "node/gpu_share.h"
#include "node/mount_points.h"
#include "node/outbox.h"
#include "node/simple_command.h"
#include "node/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int make_dir(void **state)
{
    char *dir = mem_strdup("/tmp/muster-part-XXXXXX");
    *state = dir;
    return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
    struct err err;
    int rc = file_remove_tree(*state, &err);
    free(*state);
    return rc;
}

static int try_conf(const char *dir, const char *text, struct conf *conf, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/agent.conf", dir);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, err), 0);
    return conf_read(dir, conf, err);
}

static void configuration(void **state)
{
    struct conf conf;
    struct err err;
    assert_int_equal(
        try_conf(*state,
                 "socket=/s\ntoken=ab\njob=1234567890123456789\ngeneration=2\nnode=n1\n"
                 "cookie=00c0ffee.1\nlater=x\n",
                 &conf, &err),
        0);
    assert_true(conf.generation.job == 1234567890123456789u && conf.generation.number == 2);
    assert_string_equal(conf.socket, "/s");
    assert_string_equal(conf.cookie, "00c0ffee.1");
    assert_true(!conf.send_logs && conf.leave_ms == 0);
    assert_int_equal(try_conf(*state,
                              "socket=/s\ntoken=ab\njob=1\ngeneration=1\nnode=n\ncookie=c\n"
                              "logs=send\nleave_ms=86400000\n",
                              &conf, &err),
                     0);
    assert_true(conf.send_logs && conf.leave_ms == 86400000);
    const char *bad[] = {
        "",
        "socket=/s\ntoken=ab\njob=1\ngeneration=1\ncookie=c\n",
        "socket=/s\ntoken=ab\njob=1\ngeneration=1\nnode=n\n",
        "socket=/s\ntoken=ab\njob=x\ngeneration=1\nnode=n\ncookie=c\n",
        "socket=/s\ntoken=ab\njob=0\ngeneration=1\nnode=n\ncookie=c\n",
        "socket=/s\ntoken=ab\njob=1\ngeneration=-1\nnode=n\ncookie=c\n",
        "socket=/s\ntoken=ab\njob=1\nnode=n\ncookie=c\n",
        "socket=/s\ntoken=ab\njob=1\ngeneration=1\nnode=n\ncookie=c\nuid=-1\n",
        "socket=/s\ntoken=ab\njob=1\ngeneration=1\nnode=n\ncookie=c\ngid=4294967295\n",
        "socket=/s\ntoken=ab\njob=1\ngeneration=1\nnode=n\ncookie=c\ngroups=4,,5\n",
        "socket=/s\ntoken=ab\njob=1\ngeneration=1\nnode=n\ncookie=c\nleave_ms=86400001\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(try_conf(*state, bad[i], &conf, &err), -1);
    assert_int_equal(conf_read("/no/such/dir", &conf, &err), -1);
}

#define PIN "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void configuration_has_a_server_elsewhere(void **state)
{
    static const char rest[] = "token=ab\njob=1\ngeneration=1\nnode=n\ncookie=c\n";
    static const char *const bad[] = {
        "",
        "tcp=10.0.0.1:6879\n",
        "tcp=10.0.0.1:6879\npin=0011\n",
        "tcp=10.0.0.1:6879\npin=" PIN "00\n",
        "tcp=10.0.0.1\npin=" PIN "\n",
        "tcp=10.0.0.1:0\npin=" PIN "\n",
        "tcp=head:6879\npin=" PIN "\n",
        "tcp=*:6879\npin=" PIN "\n",
        "tcp=10.0.0.1:6879\npin=" PIN "\ncode=../../x\n",
        "tcp=10.0.0.1:6879\npin=" PIN "\ncache_size=much\n",
        "tcp=1.1.1.1:1,1.1.1.1:1,1.1.1.1:1,1.1.1.1:1,1.1.1.1:1,1.1.1.1:1,1.1.1.1:1,1.1.1.1:1,"
        "1.1.1.1:1\npin=" PIN "\n",
    };
    struct conf conf;
    struct err err;
    AUTO_FREE char *good =
        mem_printf("tcp=10.0.0.1:6879,[2001:db8::1]:7000\npin=" PIN "\n%s", rest);
    assert_int_equal(try_conf(*state, good, &conf, &err), 0);
    assert_int_equal(conf.n_places, 2);
    assert_string_equal(conf.places[0].addr, "10.0.0.1");
    assert_int_equal(conf.places[0].port, 6879);
    assert_string_equal(conf.places[1].addr, "2001:db8::1");
    assert_int_equal(conf.places[1].port, 7000);
    assert_string_equal(conf_server(&conf), PIN);
    assert_string_equal(conf.code, "");
    AUTO_FREE char *code = mem_printf("%scode=" PIN "\ncache=/c\ncache_size=1000\n", good);
    assert_int_equal(try_conf(*state, code, &conf, &err), 0);
    assert_string_equal(conf.code, PIN);
    assert_string_equal(conf.cache, "/c");
    assert_true(conf.cache_size == 1000);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO_FREE char *text = mem_printf("%s%s", bad[i], rest);
        assert_int_equal(try_conf(*state, text, &conf, &err), -1);
    }
}

static void configuration_has_an_account(void **state)
{
    struct conf conf;
    struct err err;
    struct account space;
    static const char base[] = "socket=/s\ntoken=ab\njob=1\ngeneration=1\nnode=n\ncookie=c\n";
    assert_int_equal(try_conf(*state, base, &conf, &err), 0);
    assert_null(conf_account(&conf, &space));
    assert_false(conf.sandbox);
    AUTO_FREE char *text =
        mem_printf("%ssandbox=on\nuser_dir=/u/7\nuser=alice\nhome=/h\nshell=/sh\n"
                   "uid=1001\ngid=1002\ngroups=4,24,1002\n",
                   base);
    assert_int_equal(try_conf(*state, text, &conf, &err), 0);
    const struct account *account = conf_account(&conf, &space);
    assert_non_null(account);
    assert_string_equal(account->name, "alice");
    assert_string_equal(account->home, "/h");
    assert_true(conf.sandbox && account->ids.uid == 1001 && account->ids.gid == 1002);
    assert_int_equal(account->ids.n_groups, 3);
    assert_int_equal(account->ids.groups[1], 24);
    assert_string_equal(conf.user_dir, "/u/7");
}

static void facts_wait_in_order(void **state)
{
    (void)state;
    struct outbox *box = outbox_create();
    assert_true(outbox_is_empty(box) && outbox_first(box) == 1);
    outbox_reserve(box, 4);
    for (uint64_t i = 1; i <= 6; i++) {
        struct wire_fact fact = { .kind = WIRE_FACT_STARTED, .pid = (uint32_t)(100 + i) };
        assert_true(outbox_add(box, &fact) == i);
    }
    outbox_ack(box, 2);
    assert_true(outbox_first(box) == 3);
    AUTO_BUF struct buf out = BUF_INIT(100000);
    outbox_write(box, 4, &out);
    struct arena *arena = arena_create();
    size_t at = 0;
    for (uint64_t want = 5; want <= 6; want++) {
        struct wire_frame frame;
        size_t used;
        struct wire_fact fact;
        assert_int_equal(wire_next(out.data + at, out.len - at, &frame, &used), 1);
        assert_true(frame.seq == want);
        assert_int_equal(wire_get(&frame, arena, &fact), 0);
        assert_int_equal(fact.pid, 100 + want);
        at += used;
    }
    assert_int_equal(at, out.len);
    outbox_ack(box, 100);
    assert_true(outbox_is_empty(box) && outbox_first(box) == 7);
    arena_destroy(arena);
    outbox_destroy(box);
}

static void the_longest_fact_fits(void **state)
{
    (void)state;
    struct outbox *box = outbox_create();
    char tail[ENDING_TAIL_MAX + 1], remark[256];
    memset(tail, 't', sizeof tail);
    memset(remark, 'r', sizeof remark);
    tail[sizeof tail - 1] = remark[sizeof remark - 1] = '\0';
    struct wire_fact fact = { .kind = WIRE_FACT_ENDED, .ending.tail = tail, .remark = remark };
    assert_true(outbox_add(box, &fact) == 1);
    outbox_destroy(box);
}

static void an_environment(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct pairs own = { .at = NULL };
    assert_int_equal(setenv("HOME", "/home/ada", 1), 0);
    assert_int_equal(setenv("NOT_PASSED_ON", "secret", 1), 0);
    pairs_set(&own, arena, "LANG", "C.UTF-8");
    pairs_set(&own, arena, "WHERE", "@WORK_DIR@");
    pairs_set(&own, arena, "PATH", "/opt/bin");
    pairs_set(&own, arena, "MUSTER_ATTEMPT_COOKIE", "forged");
    char **env = environment_make(arena, &(struct environment){ .own = &own,
                                                                .cookie = "1.1.n",
                                                                .attempt = "1.1.n.w.0.1",
                                                                .work_dir = "/work",
                                                                .python = "/agent/py" });
    assert_string_equal(environment_get(env, "HOME"), "/home/ada");
    assert_string_equal(environment_get(env, "LANG"), "C.UTF-8");
    assert_string_equal(environment_get(env, "WHERE"), "/work");
    assert_string_equal(environment_get(env, "PATH"), "/agent/py/bin:/opt/bin");
    assert_string_equal(environment_get(env, "MUSTER_COOKIE"), "1.1.n");
    assert_string_equal(environment_get(env, "MUSTER_ATTEMPT_COOKIE"), "1.1.n.w.0.1");
    assert_null(environment_get(env, "NOT_PASSED_ON"));
    char **next = environment_make(arena, &(struct environment){ .own = &own,
                                                                 .cookie = "1.1.n",
                                                                 .attempt = "1.1.n.w.1.1",
                                                                 .work_dir = "/work",
                                                                 .python = "/agent/py",
                                                                 .base = "/conda/bin/python3",
                                                                 .before = env });
    assert_string_equal(environment_get(next, "PATH"), "/agent/py/bin:/conda/bin:/opt/bin");
    pairs_set(&own, arena, "MUSTER_LAUNCHERS", "dlrover torchrun");
    char **launched = environment_make(arena, &(struct environment){ .own = &own,
                                                                     .cookie = "1.1.n",
                                                                     .attempt = "1.1.n.w.0.1",
                                                                     .launch_socket = "/a/s",
                                                                     .programs = "/lib/muster",
                                                                     .work_dir = "/work",
                                                                     .python = "/agent/py",
                                                                     .base = "/opt/bin/python3" });
    assert_string_equal(environment_get(launched, "PATH"),
                        "/lib/muster/torchrun:/lib/muster/launch:/agent/py/bin:/opt/bin");
    assert_string_equal(environment_get(launched, "MUSTER_LAUNCH_SOCKET"), "/a/s");
    assert_null(environment_get(env, "MUSTER_LAUNCH_SOCKET"));
    assert_null(environment_get(env, "PYTHONPATH"));
    struct environment shared = {
        .own = &own, .cookie = "c", .attempt = "a", .work_dir = "/work", .own_dir = "/agent"
    };
    assert_null(environment_get(environment_make(arena, &shared), "PYTHONPATH"));
    pairs_set(&own, arena, "MUSTER_GPU_SHARE", "0.5");
    assert_string_equal(environment_get(environment_make(arena, &shared), "PYTHONPATH"),
                        "/agent/gpu_share");
    pairs_set(&own, arena, "PYTHONPATH", "/their/own");
    assert_string_equal(environment_get(environment_make(arena, &shared), "PYTHONPATH"),
                        "/agent/gpu_share:/their/own");
    assert_ptr_equal(environment_get(next, "HOME"), environment_get(env, "HOME"));
    assert_string_equal(environment_get(next, "MUSTER_ATTEMPT_COOKIE"), "1.1.n.w.1.1");
    assert_string_equal(environment_get(env, "MUSTER_ATTEMPT_COOKIE"), "1.1.n.w.0.1");
    arena_destroy(arena);
}

/* The image's, over it what a specification of devices says, over that what the launch says. */
static void an_environment_in_an_image(void **state)
{
    const char *of_image[] = { "PATH=/bin", "CUDA=image", "BOTH=image" };
    const char *of_devices[] = { "CUDA=devices", "BOTH=devices", "NEW=devices=yes" };
    const struct image_config image = { .env = { of_image, ARRAY_LEN(of_image) } };
    const struct words devices = { of_devices, ARRAY_LEN(of_devices) };
    struct arena *arena = arena_create();
    struct pairs own = { .at = NULL };
    (void)state;
    pairs_set(&own, arena, "BOTH", "own");
    struct environment in_image = { .own = &own,
                                    .cookie = "c",
                                    .attempt = "a",
                                    .work_dir = "/work",
                                    .image = &image,
                                    .devices = &devices };
    char **env = environment_make(arena, &in_image);
    assert_string_equal(environment_get(env, "CUDA"), "devices");
    assert_string_equal(environment_get(env, "NEW"), "devices=yes");
    assert_string_equal(environment_get(env, "BOTH"), "own");
    assert_string_equal(environment_get(env, "PATH"), "/bin");
    arena_destroy(arena);
}

static void a_share_of_a_gpu(void **state)
{
    const char *dir = *state;
    struct err err;
    struct arena *arena = arena_create();
    struct pairs env = { .at = NULL };
    char *text = NULL;
    size_t len;
    AUTO_FREE char *made = gpu_share_dir(dir);
    AUTO_FREE char *file = file_join(made, "sitecustomize.py");
    AUTO_FREE char *pid = file_join(dir, "nvidia-cuda-mps-control.pid");
    assert_int_equal(gpu_share_make(made, &err), 0);
    assert_int_equal(gpu_share_make(made, &err), 0);
    assert_int_equal(file_read(file, 1 << 20, &text, &len, &err), 0);
    assert_non_null(strstr(text, "set_per_process_memory_fraction"));
    free(text);
    pairs_set(&env, arena, "CUDA_MPS_PIPE_DIRECTORY", dir);
    assert_false(gpu_share_has(&env));
    assert_null(gpu_share_lacks_mps(&env)); /* the job's own affair */
    pairs_set(&env, arena, "MUSTER_GPU_SHARE", "0.5");
    assert_true(gpu_share_has(&env));
    assert_string_equal(gpu_share_lacks_mps(&env), dir);
    AUTO_FREE char *control = file_join(dir, "control");
    assert_int_equal(file_replace(control, "", 0, 0600, &err), 0);
    assert_null(gpu_share_lacks_mps(&env)); /* an older daemon's */
    AUTO_FREE char *self = mem_printf("%d\n", (int)getpid());
    assert_int_equal(file_replace(pid, self, strlen(self), 0600, &err), 0);
    assert_null(gpu_share_lacks_mps(&env));
    assert_int_equal(file_replace(pid, "2147483646\n", 11, 0600, &err), 0); /* above any pid */
    assert_string_equal(gpu_share_lacks_mps(&env), dir);
    arena_destroy(arena);
}

static void what_was_made_goes_again(void **state)
{
    const char *dir = *state;
    struct err err;
    AUTO_FREE char *deep = mem_printf("%s/one/two/three", dir);
    AUTO_FREE char *file = mem_printf("%s/one/file", dir);
    AUTO_FREE char *used = mem_printf("%s/used/inside", dir);
    AUTO_FREE char *one = mem_printf("%s/one", dir);
    AUTO_FREE char *kept = mem_printf("%s/used/kept", dir);
    assert_int_equal(mount_points_make_dirs(dir, deep, &err), 0);
    assert_int_equal(mount_points_make_dirs(dir, deep, &err), 0);
    assert_int_equal(mount_points_make_file(dir, file, &err), 0);
    assert_int_equal(mount_points_make_dirs(dir, used, &err), 0);
    assert_int_equal(file_replace(kept, "x", 1, 0600, &err), 0);
    assert_int_equal(mount_points_make_dirs(dir, "/tmp/a\nb", &err), -1);
    mount_points_undo(dir, geteuid());
    assert_false(file_is_dir(one));
    assert_int_equal(access(kept, F_OK), 0); /* somebody put something there */
    mount_points_undo(dir, geteuid());
}

/* The agent that made it ends first, then the one that only uses it. */
static void what_is_held_stays_until_the_last_ends(void **state)
{
    const char *dir = *state;
    struct err err;
    int hold = -1, other = -1;
    AUTO_FREE char *maker = mem_printf("%s/maker", dir);
    AUTO_FREE char *user = mem_printf("%s/user", dir);
    AUTO_FREE char *above = mem_printf("%s/mnt", dir);
    AUTO_FREE char *point = mem_printf("%s/mnt/data", dir);
    AUTO_FREE char *file = mem_printf("%s/mnt/hosts", dir);
    assert_int_equal(file_mkdirs(maker, 0700, &err), 0);
    assert_int_equal(file_mkdirs(user, 0700, &err), 0);
    assert_int_equal(mount_points_hold(maker, point, true, &hold, &err), 0);
    assert_int_equal(mount_points_hold(maker, file, false, &other, &err), 0);
    assert_true(hold >= 0 && other >= 0);
    close(hold);
    close(other);
    assert_int_equal(mount_points_hold(user, point, true, &hold, &err), 0);
    mount_points_undo(maker, geteuid());
    assert_true(file_is_dir(point));
    assert_int_equal(access(file, F_OK), -1); /* nobody used it any more */
    close(hold);
    mount_points_undo(user, geteuid());
    assert_false(file_is_dir(above));
    assert_int_equal(mount_points_hold(user, "/proc/none", true, &hold, &err), -1);
    assert_int_equal(hold, -1);
}

static void copies_are_read_only(void **state)
{
    const char *dir = *state;
    struct err err;
    struct stat st;
    AUTO_FREE char *from = mem_printf("%s/from", dir);
    AUTO_FREE char *sub = mem_printf("%s/from/sub", dir);
    AUTO_FREE char *file = mem_printf("%s/from/sub/run.sh", dir);
    AUTO_FREE char *link = mem_printf("%s/from/link", dir);
    AUTO_FREE char *to = mem_printf("%s/to", dir);
    AUTO_FREE char *copy = mem_printf("%s/to/sub/run.sh", dir);
    AUTO_FREE char *linked = mem_printf("%s/to/link", dir);
    assert_int_equal(file_mkdirs(sub, 0755, &err), 0);
    assert_int_equal(file_replace(file, "text", 4, 0755, &err), 0);
    assert_int_equal(symlink("sub/run.sh", link), 0);
    assert_int_equal(copy_read_only(from, to, &err), 0);
    assert_int_equal(copy_read_only(from, to, &err), 0);
    assert_int_equal(lstat(copy, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0555);
    assert_int_equal(lstat(linked, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(copy_read_only("/no/such", "/tmp/never", &err), -1);
}

static void whose_fault(void **state)
{
    (void)state;
    assert_int_equal(stage_blame(ENOENT), BY_ITSELF);
    assert_int_equal(stage_blame(ENOSPC), BY_PLATFORM);
    assert_int_equal(stage_blame(EAGAIN), BY_PLATFORM);
}

static void plain_commands(void **state)
{
    (void)state;
    struct simple_command plain;
    char **words = simple_command_words("python3 train.py  --lr=0.1 a/b:c,d@e%f+g\n", &plain);
    assert_non_null(words);
    assert_string_equal(words[0], "python3");
    assert_string_equal(words[2], "--lr=0.1");
    assert_string_equal(words[3], "a/b:c,d@e%f+g");
    assert_null(words[4]);
    assert_non_null(simple_command_words("true", &plain));
    const char *shell[] = { "",      "  ",     "a=1 b",     "cd /tmp",   "a; b",  "a && b",
                            "a 'b'", "a $B",   "a *",       "a ~",       "a > b", "a\nb",
                            "a\tb",  "echo x", "exec true", "a {1,2}",   "! a",   "a # b",
                            "a `b`", "a \\b",  "time a",    "[ a = b ]", "a?",    "a | b" };
    for (size_t i = 0; i < ARRAY_LEN(shell); i++)
        assert_null(simple_command_words(shell[i], &plain));
    char *long_text = mem_new(SIMPLE_COMMAND_MAX + 10);
    memset(long_text, 'a', SIMPLE_COMMAND_MAX + 5);
    assert_null(simple_command_words(long_text, &plain));
    free(long_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(configuration, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(configuration_has_a_server_elsewhere, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(configuration_has_an_account, make_dir, drop_dir),
        cmocka_unit_test(facts_wait_in_order),
        cmocka_unit_test(the_longest_fact_fits),
        cmocka_unit_test(an_environment),
        cmocka_unit_test(an_environment_in_an_image),
        cmocka_unit_test_setup_teardown(a_share_of_a_gpu, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(what_was_made_goes_again, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(what_is_held_stays_until_the_last_ends, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(copies_are_read_only, make_dir, drop_dir),
        cmocka_unit_test(whose_fault),
        cmocka_unit_test(plain_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
