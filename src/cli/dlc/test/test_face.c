/* `dlc` as it is called: which verb, its flags, ~/.dlc/config, and everything that is refused
 * before a server is asked. Each call is a process of its own, with a home of its own and no
 * server. */
#include "cli/dlc/face.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WORDS_MAX 24

struct fix {
    char home[64];
    struct arena *arena;
};
struct said {
    int status;
    char out[16384], err[8192];
};

static int set_up(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    *f = (struct fix){ .home = "/tmp/muster-dlc-XXXXXX", .arena = arena_create() };
    assert_non_null(mkdtemp(f->home));
    setenv("HOME", f->home, 1);
    setenv("MUSTER_STATE_DIR", arena_printf(f->arena, "%s/state", f->home), 1);
    unsetenv("MUSTER_SERVER");
    unsetenv("MUSTER_TOKEN");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    struct err err;
    assert_int_equal(file_remove_tree(f->home, &err), 0);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static void run(int argc, char **argv, const int fds[3])
{
    static const struct cli_host host = { .version = "9.9", .program = "muster" };
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) < 0)
            _exit(99);
    int rc = dlc_face_main(&host, argc, argv);
    fflush(NULL);
    _exit(rc);
}

static void read_all(int fd, char *text, size_t size)
{
    ssize_t n = pread(fd, text, size - 1, 0);
    assert_true(n >= 0);
    text[n] = '\0';
    close(fd);
}

/* line: words with single blanks between; what is typed is read from stdin. */
static struct said call_with(struct fix *f, const char *line, const char *typed)
{
    struct said said;
    char *argv[WORDS_MAX];
    int argc = 0, status = 0;
    int fds[3] = { memfd_create("in", 0), memfd_create("out", 0), memfd_create("err", 0) };
    char *rest = arena_strdup(f->arena, line);
    for (char *word; (word = strsep(&rest, " ")) != NULL && *line;)
        argv[argc++] = word;
    argv[argc] = NULL;
    assert_int_equal(pwrite(fds[0], typed, strlen(typed), 0), strlen(typed));
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        run(argc, argv, fds);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    said.status = WEXITSTATUS(status);
    close(fds[0]);
    read_all(fds[1], said.out, sizeof said.out);
    read_all(fds[2], said.err, sizeof said.err);
    return said;
}

static struct said call(struct fix *f, const char *line)
{
    return call_with(f, line, "");
}

struct row {
    const char *line;
    int status;
    const char *out, *err; /* parts of what is printed; NULL: nothing at all */
};

static void check(struct fix *f, const struct row *row)
{
    struct said said = call(f, row->line);
    bool out = row->out ? strstr(said.out, row->out) != NULL : !*said.out;
    bool err = row->err ? strstr(said.err, row->err) != NULL : !*said.err;
    if (said.status != row->status || !out || !err)
        fail_msg("dlc %s: %d\n%s---\n%s", row->line, said.status, said.out, said.err);
}

static void what_needs_no_server(void **state)
{
    static const struct row rows[] = {
        { "", 0, "dlc submit tfjob|pytorchjob|mpijob", NULL },
        { "help", 0, "dlc get quota", NULL },
        { "help logs", 0, "flags: --max_events_num start_time end_time", NULL },
        { "help submit", 0, "the keys of a parameter file", NULL },
        { "get jobs --help", 0, "flags: --workspace_id display_name", NULL },
        { "stop 7 -h", 0, "dlc stop job ID", NULL },
        { "version", 0, "dlc of muster 9.9\n", NULL },
        { "completion bash", 0, "complete -o default -F _dlc dlc", NULL },
        { "completion zsh", 0, "#compdef dlc", NULL },
        { "completion fish", 0, "__fish_use_subcommand", NULL },
        { "completion powershell", 0, "Register-ArgumentCompleter", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check(*state, &rows[i]);
}

static void what_is_refused(void **state)
{
    static const struct row rows[] = {
        { "completion", 2, NULL, "bash, zsh, fish or powershell" },
        { "completion tcsh", 2, NULL, "needs the name of a shell" },
        { "submti", 2, NULL, "unknown command \"submti\"\n  dlc submit?" },
        { "xyzzyxyzzy", 2, NULL, "dlc help lists them" },
        { "get", 2, NULL, "dlc get needs what to get\n  dlc get job|pod|specs|quota" },
        { "get moon", 2, NULL, "dlc get needs what to get, not moon" },
        { "get job --page_nun 2", 2, NULL, "unknown flag --page_nun\n  --page_num?" },
        { "get quota --force", 2, NULL, "unknown flag --force\n  dlc help get" },
        { "get job -x", 2, NULL, "unknown flag -x" },
        { "get job --page_num", 2, NULL, "--page_num needs a value" },
        { "get job --page_size=0", 2, NULL, "--page_size: \"0\" is no number" },
        { "stop job", 2, NULL, "dlc stop job needs the id of one job" },
        { "stop job 1 2", 2, NULL, "dlc get job lists them" },
        { "delete", 2, NULL, "dlc delete job needs the id of one job" },
        { "submit", 2, NULL, "dlc submit needs the kind of the job" },
        { "create job extra --kind PyTorchJob", 2, NULL, "takes flags only, not \"extra\"" },
        { "submit pytorchjob --job_file /no/such", 2, NULL, "/no/such" },
        { "submit pytorchjob --name=j --command=true --workers=1 --worker_cpu=x", 2, NULL,
          "worker_cpu is \"x\", not a number of cores" },
        { "submit pytorchjob --name=j --command=true --workers=1 --worker_cpu=1 --speed=9", 2, NULL,
          "unknown key" },
        { "submit moonjob --name=j --command=true", 2, NULL, "nothing was submitted" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check(*state, &rows[i]);
}

/* ---- the configuration ---- */

static char *config_of(struct fix *f)
{
    char *text = NULL;
    size_t len;
    struct stat st;
    struct err err;
    const char *path = arena_printf(f->arena, "%s/.dlc/config", f->home);
    assert_int_equal(file_read(path, 10000, &text, &len, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    return text;
}

static void a_configuration_is_written(void **state)
{
    struct fix *f = *state;
    check(f, &(struct row){ "config -e h:6878 -k secret --region=r --username u", 0,
                            "/.dlc/config\n", NULL });
    AUTO_FREE char *first = config_of(f);
    assert_string_equal(first, "endpoint=h:6878\naccess_key=secret\nregion=r\nusername=u\n");
    /* what is not given again stays */
    check(f, &(struct row){ "config --endpoint other:1", 0, "/.dlc/config\n", NULL });
    AUTO_FREE char *second = config_of(f);
    assert_string_equal(second, "endpoint=other:1\naccess_key=secret\nregion=r\nusername=u\n");
    /* without flags it asks; an empty line keeps what was */
    struct said said = call_with(f, "config", "third:2\nme\n\n\n");
    assert_int_equal(said.status, 0);
    assert_non_null(strstr(said.err, "empty: your own) [other:1]: "));
    AUTO_FREE char *third = config_of(f);
    assert_string_equal(
        third, "endpoint=third:2\naccess_id=me\naccess_key=secret\nregion=r\nusername=u\n");
    check(f,
          &(struct row){ "config -k 1 --password p --speed 2", 2, NULL, "unknown flag --speed" });
}

static void a_configuration_is_read(void **state)
{
    struct fix *f = *state;
    const char *path = arena_printf(f->arena, "%s/mine", f->home);
    const char *get = arena_printf(f->arena, "get job -c %s", path);
    static const char cloud[] = "endpoint=pai-dlc.cn-beijing.aliyuncs.com\n", bad[] = "endpoint\n",
                      closed[] = "endpoint=http://127.0.0.1:1\n";
    struct err err;
    check(f, &(struct row){ get, 2, NULL,
                            "/mine: No such file" }); /* a file that is named has to be there */
    assert_int_equal(file_replace(path, bad, sizeof bad - 1, 0600, &err), 0);
    check(f, &(struct row){ get, 2, NULL, "/mine: " });
    assert_int_equal(file_replace(path, cloud, sizeof cloud - 1, 0644, &err), 0);
    struct said said = call(f, get);
    assert_non_null(strstr(said.err, "others may read the keys"));
    assert_non_null(strstr(said.err,
                           "note: pai-dlc.cn-beijing.aliyuncs.com is not used, jobs go to "
                           "your own muster server"));
    assert_int_equal(file_replace(path, closed, sizeof closed - 1, 0600, &err), 0);
    said = call(f, get);
    assert_int_not_equal(said.status, 0);
    assert_non_null(strstr(said.err, "http://127.0.0.1:1"));
    /* a flag is laid over the file */
    said = call(f, arena_printf(f->arena, "%s -e 127.0.0.1:2", get));
    assert_non_null(strstr(said.err, "http://127.0.0.1:2"));
    assert_null(strstr(said.err, "127.0.0.1:1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        T(what_needs_no_server),
        T(what_is_refused),
        T(a_configuration_is_written),
        T(a_configuration_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
