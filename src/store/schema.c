/* The tables, version by version. `job` is lean so that lists walk small rows; what only one job's
 * page needs lies in `body` and `origin`. States are their enum values' words: a database outlives
 * the numbering of an enum. */
#include "store/schema.h"

#include "base/scan.h"
#include "job/audit.h"
#include "job/old_sentence.h"
#include "store/find.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static const char version_1[] =
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE job ("
    "  id INTEGER PRIMARY KEY, number INTEGER NOT NULL UNIQUE, owner TEXT NOT NULL,"
    "  project TEXT NOT NULL, name TEXT NOT NULL, queue TEXT NOT NULL, dialect TEXT NOT NULL,"
    "  priority INTEGER NOT NULL, state TEXT NOT NULL, outcome TEXT, reason TEXT NOT NULL,"
    "  generation INTEGER NOT NULL, restarts INTEGER NOT NULL, tasks INTEGER NOT NULL,"
    "  gpu_milli INTEGER NOT NULL, submitted INTEGER NOT NULL, started INTEGER NOT NULL,"
    "  ended INTEGER NOT NULL, not_before INTEGER NOT NULL, live TEXT,"
    "  keep_until INTEGER NOT NULL DEFAULT 0) STRICT;"
    "CREATE INDEX job_by_state ON job (state, id);"
    "CREATE INDEX job_by_owner ON job (owner, state, id);"
    "CREATE INDEX job_by_name ON job (name, id);"
    "CREATE INDEX job_by_keep ON job (keep_until) WHERE keep_until > 0;"
    "CREATE TABLE body (job INTEGER PRIMARY KEY, spec TEXT NOT NULL, site TEXT) STRICT;"
    "CREATE TABLE origin (job INTEGER PRIMARY KEY, text TEXT, masked TEXT, file TEXT) STRICT;"
    "CREATE TABLE event ("
    "  seq INTEGER PRIMARY KEY, job INTEGER NOT NULL, at INTEGER NOT NULL, type TEXT NOT NULL,"
    "  role INTEGER, idx INTEGER, attempt INTEGER NOT NULL, body TEXT) STRICT;"
    "CREATE INDEX event_by_job ON event (job, seq);"
    "CREATE TABLE task ("
    "  job INTEGER NOT NULL, role INTEGER NOT NULL, idx INTEGER NOT NULL, state TEXT NOT NULL,"
    "  attempt INTEGER NOT NULL, live TEXT, PRIMARY KEY (job, role, idx)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE attempt ("
    "  job INTEGER NOT NULL, role INTEGER NOT NULL, idx INTEGER NOT NULL, attempt INTEGER NOT NULL,"
    "  generation INTEGER NOT NULL, state TEXT NOT NULL, node TEXT NOT NULL, place TEXT,"
    "  placed INTEGER NOT NULL, started INTEGER NOT NULL, ended INTEGER NOT NULL,"
    "  pid INTEGER NOT NULL, exited INTEGER NOT NULL, code INTEGER NOT NULL,"
    "  signal INTEGER NOT NULL, oom INTEGER NOT NULL, lost INTEGER NOT NULL, ended_by TEXT,"
    "  reason TEXT, memory_peak INTEGER NOT NULL, tail TEXT, log_end INTEGER NOT NULL,"
    "  PRIMARY KEY (job, role, idx, attempt)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE agent ("
    "  job INTEGER NOT NULL, generation INTEGER NOT NULL, node TEXT NOT NULL,"
    "  launch_seq INTEGER NOT NULL, token_hash BLOB NOT NULL, last_seq INTEGER NOT NULL,"
    "  state TEXT NOT NULL, PRIMARY KEY (job, generation, node)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE idem ("
    "  owner TEXT NOT NULL, key TEXT NOT NULL, body_hash BLOB NOT NULL, job INTEGER NOT NULL,"
    "  expires INTEGER NOT NULL, PRIMARY KEY (owner, key)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX idem_by_expiry ON idem (expires);"
    "CREATE INDEX idem_by_job ON idem (job);"
    "CREATE TABLE object ("
    "  kind TEXT NOT NULL, project TEXT NOT NULL, name TEXT NOT NULL, spec TEXT NOT NULL,"
    "  version INTEGER NOT NULL, PRIMARY KEY (kind, project, name)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE secret ("
    "  owner TEXT NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL,"
    "  PRIMARY KEY (owner, name)) STRICT, WITHOUT ROWID;";

/* Arrays: one row for the array, which has body and origin, and one for each of its members.
 * Members stand in no list but that of their array. */
static const char version_2[] =
    "ALTER TABLE job ADD COLUMN array INTEGER NOT NULL DEFAULT 0;" /* id of the array; 0: none */
    "ALTER TABLE job ADD COLUMN idx INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE job ADD COLUMN members INTEGER NOT NULL DEFAULT 0;" /* of an array; 0: none */
    "DROP INDEX job_by_state; DROP INDEX job_by_owner; DROP INDEX job_by_name;"
    "CREATE INDEX job_by_state ON job (state, id) WHERE array = 0;"
    "CREATE INDEX job_by_owner ON job (owner, state, id) WHERE array = 0;"
    "CREATE INDEX job_by_name ON job (name, id) WHERE array = 0;"
    "CREATE INDEX job_listed ON job (id) WHERE array = 0;"
    "CREATE INDEX job_counted ON job (state) WHERE members = 0;";

/* What lists of jobs are searched by (find.c): a row for each thing that a job says of itself, so
 * that nobody has to read the JSON of every job. Here those of the jobs that are there already, as
 * live/facets.c has those of new ones (main/test/test_facets.c compares them). facet_text(): what
 * is kept of a text. And what the row of a job says, in the order of lists: what a search has to
 * read of each job it looks at. */
#define WORDS " IN ('text', 'integer')"
#define AT(path)                                                                                   \
    "CASE WHEN json_type(b.spec, '" path "')" WORDS " THEN facet_text(json_extract(b.spec, '" path \
    "')) END"
#define SAID(name, path)                                                                           \
    " UNION SELECT '" name "', " AT(path) ", b.job FROM b WHERE " AT(path) " IS NOT NULL"
#define TYPE        AT("$.extra.dlc.JobType") ", " AT("$.framework") ", ''"
#define ACCESS      SAID("access", "$.extra.dlc.Accessibility")
#define CAPACITY    SAID("capacity", "$.capacity")
#define DESCRIPTION SAID("description", "$.description")

static const char version_3[] =
    "CREATE TABLE facet ("
    "  name TEXT NOT NULL, value TEXT NOT NULL, job INTEGER NOT NULL,"
    "  PRIMARY KEY (name, value, job)) STRICT, WITHOUT ROWID;"
    "INSERT OR IGNORE INTO facet WITH b AS (SELECT job,"
    "  CASE WHEN json_valid(spec) THEN spec ELSE '{}' END AS spec FROM body)"
    " SELECT 'type', coalesce(" TYPE "), b.job FROM b" ACCESS CAPACITY DESCRIPTION
    " UNION SELECT 'spot', '', b.job FROM b WHERE json_type(b.spec, '$.spot_bid') IS NOT NULL"
    " UNION SELECT 'label.' || e.key, facet_text(e.value), b.job"
    "  FROM b, json_each(b.spec, '$.labels') e WHERE e.type" WORDS
    " UNION SELECT e.key, facet_text(e.value), b.job"
    "  FROM b, json_each(b.spec, '$.roles') r, json_each(r.value) e"
    "  WHERE r.type = 'object' AND e.key IN ('run', 'image') AND e.type" WORDS ";"
    "CREATE INDEX facet_by_job ON facet (job);"
    "CREATE INDEX job_searched ON job"
    "  (id, owner, project, state, queue, dialect, priority, ended, name) WHERE array = 0;";

/* The audit record (store/audit.h). What is removed is what the core says in meta, oldest first; a
 * replacement would pass a trigger on DELETE, so no number is given twice either. */
#define ONLY_ADDED " BEGIN SELECT RAISE(ABORT, 'the audit record is only added to'); END;"

static const char version_4[] =
    "CREATE TABLE audit ("
    "  seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, user TEXT NOT NULL, role TEXT NOT NULL,"
    "  known TEXT NOT NULL, source TEXT NOT NULL, action TEXT NOT NULL, object TEXT NOT NULL,"
    "  outcome TEXT NOT NULL, hash BLOB NOT NULL) STRICT;"
    "CREATE INDEX audit_cuts ON audit (seq) WHERE action = '" AUDIT_CUT "';"
    "CREATE TRIGGER audit_no_change BEFORE UPDATE ON audit" ONLY_ADDED
    "CREATE TRIGGER audit_no_second BEFORE INSERT ON audit"
    "  WHEN NEW.seq <= (SELECT ifnull(max(seq), 0) FROM audit)" ONLY_ADDED
    "CREATE TRIGGER audit_no_removal BEFORE DELETE ON audit"
    "  WHEN OLD.seq > (SELECT ifnull(max(value), 0) FROM meta WHERE name = 'audit_cut')" ONLY_ADDED;

/* Events keep both clocks; what was before has the one that it has. */
static const char version_5[] = "ALTER TABLE event ADD COLUMN steady INTEGER NOT NULL DEFAULT 0;";

/* The job that a sentence names is data beside it (job/sentence.h), and its text names nobody: so
 * are the reasons of jobs made here, which lists are searched by. Texts of events are read as what
 * they are (job/old_sentence.h), known by NULL; so are causes of endings (job/old_ending.h). */
static const char version_6[] = "ALTER TABLE job ADD COLUMN named TEXT;"
                                "ALTER TABLE event ADD COLUMN named TEXT;"
                                "ALTER TABLE attempt ADD COLUMN cause TEXT;"
                                "UPDATE job SET reason = old_sentence(reason, 0),"
                                "  named = old_sentence(reason, 1);";

const char *schema_step(int version)
{
    static const char *const steps[] = { version_1, version_2, version_3,
                                         version_4, version_5, version_6 };
    return version >= 0 && (size_t)version < sizeof(steps) / sizeof(steps[0]) ? steps[version]
                                                                              : NULL;
}

/* What is kept of a text: its beginning, in whole characters. */
static void facet_text(sqlite3_context *context, int n, sqlite3_value **args)
{
    const char *text = (const char *)sqlite3_value_text(args[0]);
    size_t len = (size_t)sqlite3_value_bytes(args[0]);
    (void)n;
    if (!text)
        return; /* NULL */
    if (len > FACET_TEXT_MAX)
        len = scan_utf8_prefix(text, FACET_TEXT_MAX);
    sqlite3_result_text(context, text, (int)len, SQLITE_TRANSIENT);
}

/* A reason of an older version: its text as it is kept now, or what is beside it. */
static void old_reason(sqlite3_context *context, int n, sqlite3_value **args)
{
    struct arena *arena = arena_create();
    const char *text = (const char *)sqlite3_value_text(args[0]);
    struct sentence said = old_sentence(arena, text ? text : "");
    bool beside = n > 1 && sqlite3_value_int(args[1]);
    char *packed = beside ? named_job_pack(&said.named) : NULL;
    sqlite3_result_text(context, beside ? packed : said.text, -1, SQLITE_TRANSIENT);
    free(packed);
    arena_destroy(arena);
}

int schema_functions(sqlite3 *db)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
    int rc = sqlite3_create_function(db, "facet_text", 1, flags, NULL, facet_text, NULL, NULL);
    if (rc != SQLITE_OK)
        return rc;
    return sqlite3_create_function(db, "old_sentence", 2, flags, NULL, old_reason, NULL, NULL);
}
