/* Candidates without a core: what is refused with which code and field, where a job is to run, and
 * what its row says. The dialect is the canonical job itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "account/accounts.h"
#include "account/test/still_server.h"
#include "engine/engine.h"
#include "live/launches/launch_server.h"
#include "live/reason.h"
#include "queue/queues.h"
#include "store/store.h"
#include "submission/candidate.h"
#include "submission/engine_choice.h"
#include "text/json.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define ONE(more)                                                                                  \
    "{\"name\":\"j\"" more ",\"roles\":{\"w\":{\"replicas\":2,\"run\":\"x\",\"resources\":"        \
    "{\"cpu\":1,\"gpu\":1}}}}"

static int plain_detect(const struct text_node *root)
{
    return text_get(root, "roles") ? 50 : 0;
}

static struct job_spec *plain_read(struct arena *arena, const struct text_node *root,
                                   const struct site *site, struct report *report)
{
    (void)site;
    return job_decode(arena, root, report);
}

static const struct dialect plain = {
    .name = "plain", .title = "Plain", .detect = plain_detect, .read = plain_read
};
static const struct dialect *const list[] = { &plain };
static const struct dialects dialects = { .at = list, .n = 1 };

struct fix {
    struct arena *arena;
    struct store *store;
    struct accounts *accounts;
    struct cluster *cluster;
    struct catalogue *catalogue;
    struct queues *queues;
    struct map *possible;
    struct launch_server launches;
    struct candidate_server server;
    struct candidate c;
    struct report report;
    struct err err;
    unsigned looked; /* questions about the world outside */
};

static int outside(void *arg, int rc, struct err *err)
{
    (void)err;
    ((struct fix *)arg)->looked++;
    return rc;
}

static int right(void *arg, int rc, struct err *err)
{
    (void)arg;
    (void)err;
    return rc;
}

static int others(void *arg, const char *owner, struct job_spec *spec, struct report *report)
{
    (void)arg;
    (void)owner;
    (void)spec;
    (void)report;
    return 0;
}

static int secrets(void *arg, const char *owner, const struct job_spec *spec, struct report *report)
{
    (void)arg;
    (void)owner;
    if (!spec->inputs.secrets.n)
        return 0;
    report_error(report, (struct place){ 0 }, "inputs.secrets", "there is none");
    return -1;
}

static int set_up(void **state)
{
    const struct node_spec node = { .name = "n",
                                    .address = "127.0.0.2",
                                    .host = "h",
                                    .cpu_milli = 4000,
                                    .memory = 16ull << 30,
                                    .disk = 1ull << 40,
                                    .gpus = 2,
                                    .gpu_type = "A" };
    struct fix *f = mem_new(sizeof *f);
    f->arena = arena_create();
    f->store = store_open_memory((struct store_tap){ .event = NULL }, &f->err);
    assert_non_null(f->store);
    f->accounts = accounts_create(
        &(struct accounts_config){ .store = f->store, .admin = "boss", .server = still_server() });
    f->cluster = cluster_create(20000, 20999, 20000);
    cluster_set_up(f->cluster, cluster_put(f->cluster, &node), true);
    f->catalogue = catalogue_create();
    catalogue_put(f->catalogue, &(struct entry){ .kind = ENTRY_QUOTA, .name = "default" });
    f->queues = queues_create(&(struct queues_config){ .store = f->store, .cluster = f->cluster });
    queues_declare(f->queues, f->catalogue);
    f->possible = map_create();
    f->launches = (struct launch_server){ .dialects = &dialects,
                                          .cluster = f->cluster,
                                          .storage = { .catalogue = f->catalogue },
                                          .fs_uri = "file:///nowhere",
                                          .state_dir = "/nowhere",
                                          .socket = "/run/muster" };
    f->server = (struct candidate_server){ .launches = &f->launches,
                                           .queues = f->queues,
                                           .accounts = f->accounts,
                                           .possible = f->possible,
                                           .caps = ENGINE_NUMBERS,
                                           .arg = f,
                                           .outside = outside,
                                           .right = right,
                                           .others = others,
                                           .secrets = secrets };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fix *f = *state;
    map_destroy(f->possible);
    queues_destroy(f->queues);
    catalogue_destroy(f->catalogue);
    cluster_destroy(f->cluster);
    accounts_destroy(f->accounts);
    store_close(f->store);
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static void read_one(struct fix *f, const char *text)
{
    f->err = (struct err){ 0 };
    report_init(&f->report, f->arena);
    f->c = (struct candidate){ .server = &f->server,
                               .ask = { .owner = "ada", .text = text, .len = strlen(text) },
                               .arena = f->arena,
                               .report = &f->report };
    assert_int_equal(candidate_read(&f->c, &f->err), 0);
}

static enum err_code settle(struct fix *f, const char *text)
{
    read_one(f, text);
    candidate_note_python(&f->c);
    return candidate_settle(&f->c, &f->err) ? f->err.code : ERR_NONE;
}

/* Of the first problem that is so bad; "": there is none. */
static const char *field_of(const struct fix *f, enum severity severity)
{
    for (size_t i = 0; i < f->report.n; i++)
        if (f->report.at[i].severity == severity)
            return f->report.at[i].path;
    return "";
}

static const char *field(const struct fix *f)
{
    return field_of(f, SEVERITY_ERROR);
}

static void a_text_that_is_no_job_is_refused(void **state)
{
    struct fix *f = *state;
    report_init(&f->report, f->arena);
    f->c = (struct candidate){ .server = &f->server,
                               .ask = { .owner = "ada", .text = "{", .len = 1 },
                               .arena = f->arena,
                               .report = &f->report };
    assert_int_equal(candidate_read(&f->c, &f->err), -1);
    assert_int_equal(f->err.code, ERR_INPUT);
    assert_true(f->report.n > 0);
}

static void what_can_never_start_is_refused(void **state)
{
    struct fix *f = *state;
    assert_int_equal(settle(f, ONE("")), ERR_NONE);
    assert_int_equal(settle(f, ONE(",\"queue\":\"q\"")), ERR_INPUT);
    assert_string_equal(field(f), "queue");
    assert_int_equal(settle(f, "{\"name\":\"j\",\"roles\":{\"w\":{\"run\":\"x\",\"resources\":"
                               "{\"gpu\":3}}}}"),
                     ERR_CANNOT);
    f->c.ask.wait_for_nodes = true;
    assert_int_equal(candidate_settle(&f->c, &f->err), 0);
    assert_int_equal(settle(f, ONE(",\"inputs\":{\"secrets\":[\"s\"]}")), ERR_INPUT);
    assert_string_equal(field(f), "inputs.secrets");
}

static void files_are_looked_for_here(void **state)
{
    struct fix *f = *state;
    f->server.caps = ENGINE_MOUNTS;
    static const char data[] =
        ONE(",\"inputs\":{\"data\":[{\"from\":\"/no/such/place\",\"at\":\"/mnt\"}]}");
    assert_int_equal(settle(f, data), ERR_CANNOT);
    assert_string_equal(field(f), "inputs.data[0]");
    assert_int_equal(f->looked, 1);
    f->server.machines = true; /* one of them may have it */
    assert_int_equal(settle(f, data), ERR_NONE);
    assert_string_equal(field(f), "");
    f->server.machines = false;
    f->server.replays = true; /* it was there then */
    assert_int_equal(settle(f, data), ERR_NONE);
}

static void other_accounts_stay_on_this_machine(void **state)
{
    struct fix *f = *state;
    const struct account bob = { .name = "bob", .ids = { .uid = 4000000 } };
    read_one(f, ONE(""));
    f->c.ask.account = &bob;
    assert_int_equal(candidate_settle(&f->c, &f->err), 0);
    assert_string_equal(f->c.read.job->placing.engine, "local");
    read_one(f, ONE(""));
    f->c.read.job->placing.engine = ENGINE_ALLOCATOR;
    assert_int_equal(engine_check_account(&f->server, &bob, f->c.read.job, &f->err), -1);
    f->server.caps |= ENGINE_ALLOCATES;
    assert_int_equal(engine_check_account(&f->server, &bob, f->c.read.job, &f->err), 0);
    f->server.no_users_allocations = "sbatch runs as the server alone";
    assert_int_equal(engine_check_account(&f->server, &bob, f->c.read.job, &f->err), -1);
    assert_non_null(strstr(f->err.what, "sbatch runs as the server alone"));
}

static void its_row_counts_all_members(void **state)
{
    struct fix *f = *state;
    assert_int_equal(settle(f, ONE(",\"array\":\"0-3\"")), ERR_NONE);
    const struct job_row row = candidate_row(&f->c, (struct candidate_times){ 10, 20 });
    assert_int_equal(row.members, 4);
    assert_int_equal(row.tasks, 8);
    assert_int_equal(row.gpu_milli, 8000);
    assert_int_equal(row.submitted_ms, 20);
    assert_string_equal(row.queue, "default");
    assert_string_equal(row.dialect, "plain");
    assert_int_equal(f->c.notes.shape, job_shape(f->c.read.job));
    assert_int_equal(candidate_reason(&f->c).kind, REASON_FRESH);
}

static void an_interpreter_is_told_of_when_the_submitter_had_one(void **state)
{
    struct fix *f = *state;
    settle(f, ONE(""));
    assert_null(candidate_python(&f->c, "/usr/bin/python3"));
    f->c.ask.python = "/opt/env/bin/python";
    f->c.ask.python_from = "VIRTUAL_ENV";
    assert_string_equal(text_get(candidate_python(&f->c, "/usr/bin/python3"), "text")->str,
                        "/usr/bin/python3, the server's");
    f->c.read.job->inputs.interpreter = f->c.ask.python;
    candidate_note_python(&f->c);
    assert_string_equal(text_get(candidate_python(&f->c, NULL), "text")->str,
                        "/opt/env/bin/python, by VIRTUAL_ENV of its submitter");
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_text_that_is_no_job_is_refused),
        T(what_can_never_start_is_refused),
        T(files_are_looked_for_here),
        T(other_accounts_stay_on_this_machine),
        T(its_row_counts_all_members),
        T(an_interpreter_is_told_of_when_the_submitter_had_one),
    };
    return cmocka_run_group_tests_name("submission/candidate", tests, NULL, NULL);
}
