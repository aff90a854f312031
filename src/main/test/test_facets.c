/* What jobs say of themselves, twice: the store's step to version 3 takes it from the JSON of the
 * jobs that are there (store/schema.c), a submission from the tree (live/facets.c). Jobs of every
 * dialect as both have them. Here, because nothing below knows all dialects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "dialect/dlc/dlc.h"
#include "dialect/elasticjob/elasticjob.h"
#include "dialect/native/native.h"
#include "dialect/openpai/openpai.h"
#include "live/row_json.h"
#include "store/schema.h"
#include "text/json.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEFORE 2      /* the version of the store that has no facets yet */
#define LONG   "@@@@" /* stands for a text that is longer than what is kept */

static const struct dialect *const all[] = { &openpai_v1, &openpai_v2, &elasticjob_dialect,
                                             &dlc_dialect, &native_dialect };
static const struct convention *const conventions[] = {
    &openpai_v1_convention, &openpai_v2_convention, &dlc_convention,
    &elasticjob_convention, &pytorch_convention,    &native_convention
};
static const struct dialects dialects = { .at = all,
                                          .n = ARRAY_LEN(all),
                                          .conventions = conventions,
                                          .n_conventions = ARRAY_LEN(conventions),
                                          .native = &native_convention };

static const char *const jobs[] = {
    /* native */
    "name: one\nrun: echo \"a\\tb\"\nlabels: {team: 'a\"b', 'x.y/z': '', uni: \"\xc3\xa9\xe4\xb8\xad\","
    " 'od\"d\\\\': v}\nframework: pytorch\ndescription: \"two\\nlines\"\n",
    "name: long\nrun: \"" LONG "\"\nimage: \"" LONG "\"\ndescription: \"" LONG
    "\"\nlabels: {a: \"" LONG "\"}\n",
    "name: many\nspot_bid: 0.25\ncapacity: idle\nroles: {ps: {run: same}, w: {run: same, image: i},"
    " v: {argv: [a, b]}}\n",
    "{\"name\":\"least\",\"run\":\"x\"}",
    "name: sweep\nrun: x\narray: 0-9\nlabels: {run: '1'}\n",
    /* OpenPAI, both versions */
    "{\"jobName\":\"p1\",\"image\":\"i:1\",\"taskRoles\":[{\"name\":\"w\",\"taskNumber\":2,"
    "\"cpuNumber\":1,\"memoryMB\":100,\"command\":\"echo '$PAI'\"}]}",
    "protocolVersion: 2\nname: p2\ntype: job\ndescription: said\ntaskRoles: {w: {instances: 1,"
    " dockerImage: i, resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}, commands: [a, b]}}\n"
    "prerequisites: [{type: dockerimage, name: i, uri: 'x/y:1'}]\n",
    /* PAI-DLC */
    "{\"DisplayName\":\"d1\",\"JobType\":\"PyTorchJob\",\"Accessibility\":\"PUBLIC\","
    "\"UserCommand\":\"python t.py\",\"Description\":\"d\",\"ResourceId\":\"q\","
    "\"Settings\":{\"Tags\":{\"t\":\"1\"}},\"JobSpecs\":[{\"Type\":\"Worker\",\"PodCount\":1,"
    "\"Image\":\"x/y\",\"ResourceConfig\":{\"CPU\":\"1\",\"Memory\":\"1Gi\"}}]}",
    "{\"DisplayName\":\"d2\",\"JobType\":\"TFJob\",\"UserCommand\":\"x\",\"JobSpecs\":[{\"Type\":"
    "\"Worker\",\"PodCount\":1,\"Image\":\"x/y\",\"EcsSpec\":\"ecs.g6.xlarge\","
    "\"UseSpotInstance\":false}]}",
    "name=d3\nkind=pytorchjob\nresource_id=q\nworkers=1\nworker_cpu=1\nworker_memory=1Gi\n"
    "command=true\n",
    /* ElasticJob */
    "apiVersion: elastic.iml.github.io/v1alpha1\nkind: ElasticJob\nmetadata: {name: e, labels: {app:"
    " 'x y', kubernetes.io/n: '7'}}\nspec: {distributionStrategy: AllreduceStrategy, replicaSpecs:"
    " {worker: {replicas: 1, template: {spec: {containers: [{name: main, image: i, command: [a]}]}}}}}\n",
};

/* ---- as a server of today has them ---- */

/* More bytes than are kept, and a character over the edge whatever stands before it. */
static const char *with_long(struct arena *arena, const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    for (const char *at = text; *at; at++) {
        bool here = strncmp(at, LONG, strlen(LONG)) == 0;
        for (int i = 0; here && i < 1000; i++)
            buf_puts(&out, "\xe4\xb8\xad");
        if (here)
            at += strlen(LONG) - 1;
        else
            buf_putc(&out, *at);
    }
    return arena_strdup(arena, buf_str(&out));
}

static const struct text_node *canonical(struct arena *arena, const char *text)
{
    const struct site site = { .owner = "ada", .fs_uri = "file:///fs" };
    const char *whole = with_long(arena, text);
    const struct dialect_request ask = { .text = whole, .len = strlen(whole), .site = &site };
    struct dialect_result read = { 0 };
    struct report report;
    report_init(&report, arena);
    if (dialect_read(&dialects, arena, &ask, &read, &report))
        fail_msg("%.60s: %s", text, report.n ? report.at[0].what : "?");
    return job_encode(arena, read.job);
}

/* Each pair once, in order; a line each. */
static const char *lines(struct arena *arena, const struct pairs *pairs)
{
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    const struct pair *last = NULL;
    for (size_t done = 0; done < pairs->n; done++) {
        const struct pair *least = NULL;
        for (size_t i = 0; i < pairs->n; i++) {
            const struct pair *one = &pairs->at[i];
            int after = last ? strcmp(one->name, last->name) : 1;
            after = after ? after : strcmp(one->value, last->value);
            int before = least ? strcmp(one->name, least->name) : -1;
            before = before ? before : strcmp(one->value, least->value);
            if (after > 0 && before < 0)
                least = one;
        }
        if (!least)
            break;
        buf_addf(&out, "%s=", least->name);
        buf_puts(&out, least->value);
        buf_putc(&out, '\n');
        last = least;
    }
    return arena_strdup(arena, buf_str(&out));
}

/* ---- as the store makes them of older records ---- */

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
}

static void put_old(const char *path, struct arena *arena)
{
    sqlite3 *db;
    sqlite3_stmt *body;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (int step = 0; step < BEFORE; step++)
        run(db, schema_step(step));
    run(db, "PRAGMA user_version = 2");
    assert_int_equal(
        sqlite3_prepare_v2(db, "INSERT INTO body (job, spec) VALUES (?, ?)", -1, &body, NULL),
        SQLITE_OK);
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        AUTO_BUF struct buf spec = BUF_INIT(1u << 20);
        json_print(canonical(arena, jobs[i]), 0, &spec);
        sqlite3_bind_int64(body, 1, (sqlite3_int64)i + 1);
        sqlite3_bind_text(body, 2, buf_str(&spec), -1, SQLITE_TRANSIENT);
        assert_int_equal(sqlite3_step(body), SQLITE_DONE);
        sqlite3_reset(body);
    }
    sqlite3_finalize(body);
    sqlite3_close(db);
}

static const char *text_at(sqlite3_stmt *row, int column, struct arena *arena)
{
    return arena_strdup(arena, (const char *)sqlite3_column_text(row, column));
}

static const char *filled(sqlite3 *db, struct arena *arena, size_t job)
{
    struct pairs found = { .at = ARENA_ARRAY(arena, 100, struct pair), .cap = 100 };
    sqlite3_stmt *row;
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT name, value FROM facet WHERE job = ?", -1, &row, NULL),
        SQLITE_OK);
    sqlite3_bind_int64(row, 1, (sqlite3_int64)job);
    while (sqlite3_step(row) == SQLITE_ROW && found.n < found.cap)
        found.at[found.n++] = (struct pair){ text_at(row, 0, arena), text_at(row, 1, arena) };
    sqlite3_finalize(row);
    return lines(arena, &found);
}

static void older_jobs_are_found_like_new_ones(void **state)
{
    char dir[] = "/tmp/muster-facets-XXXXXX";
    struct arena *arena = arena_create();
    struct err err;
    sqlite3 *db;
    (void)state;
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *path = file_join(dir, "muster.db");
    put_old(path, arena);
    struct store *store = store_open(path, &err);
    assert_non_null(store);
    store_close(store);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    size_t total = 0;
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        const struct pairs now = row_json_facets(arena, canonical(arena, jobs[i]));
        assert_string_equal(filled(db, arena, i + 1), lines(arena, &now));
        total += now.n;
    }
    assert_true(total > 3 * ARRAY_LEN(jobs)); /* there was something to compare */
    sqlite3_close(db);
    assert_int_equal(file_remove_tree(dir, NULL), 0);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(older_jobs_are_found_like_new_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
