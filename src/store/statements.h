/* The prepared statements of the records by name, and the pieces of SQL that several of them share.
 * Private to store/. */
#ifndef STORE_STATEMENTS_H
#define STORE_STATEMENTS_H

#define JOB_COLUMNS                                                                                \
    "id, number, owner, project, name, queue, dialect, priority, state, outcome, reason,"          \
    " generation, restarts, tasks, gpu_milli, submitted, started, ended, not_before,"              \
    " array, idx, members, named"
/* Of the numbers or ids that the rows give out, FROM_LAST_JOB: an array's row gives out those of
 * its members too, whether their rows are there or not. */
#define HIGHEST(column) "max(j." column " + j.members, ifnull(a." column " + a.members, 0))"
#define FROM_LAST_JOB                                                                              \
    " FROM job j LEFT JOIN job a ON a.id = j.array WHERE j.id = (SELECT max(id) FROM job)"
#define IS_LIVE  " IN ('suspended', 'queued', 'starting', 'running', 'restarting', 'stopping')"
#define IN_RANGE " WHERE job = ? AND (role, idx) >= (?, ?) AND (role, idx) <= (?, ?)"
#define LIST_FILTER                                                                                \
    " AND (?3 IS NULL OR queue = ?3)"                                                              \
    " AND (?4 IS NULL OR dialect = ?4 OR substr(dialect, 1, length(?4) + 2) = ?4 || '-v')"         \
    " AND (?5 IS NULL OR substr(name, 1, length(?5)) = ?5)"                                        \
    " AND (?8 IS NULL OR owner = ?8 OR instr(?9, char(31) || project || char(31)) > 0)"
#define LIST_REST LIST_FILTER " ORDER BY id DESC LIMIT ?2 OFFSET ?10"

#define STATEMENTS(X)                                                                              \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                    \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")                                                                        \
    X(PUT_JOB, "INSERT INTO job (" JOB_COLUMNS ", live)"                                           \
               " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")                        \
    X(PUT_FACET, "INSERT OR IGNORE INTO facet (name, value, job) VALUES (?,?,?)")                  \
    X(DELETE_FACETS, "DELETE FROM facet WHERE job = ?1")                                           \
    X(PUT_BODY, "INSERT INTO body (job, spec, site) VALUES (?,?,?)")                               \
    X(UPDATE_JOB, "UPDATE job SET state = ?2, outcome = ?3, reason = ?4, generation = ?5,"         \
                  " restarts = ?6, started = ?7, ended = ?8, not_before = ?9, live = ?10,"         \
                  " priority = ?11, named = ?12 WHERE id = ?1")                                    \
    X(KEEP_JOB, "UPDATE job SET keep_until = ?2 WHERE id = ?1")                                    \
    X(PUT_ORIGIN, "INSERT OR REPLACE INTO origin (job, text, masked, file) VALUES (?,?,?,?)")      \
    X(PUT_TASK, "INSERT OR REPLACE INTO task (job, role, idx, state, attempt, live)"               \
                " VALUES (?,?,?,?,?,?)")                                                           \
    X(PUT_ATTEMPT, "INSERT OR REPLACE INTO attempt (job, role, idx, attempt, generation, state,"   \
                   " node, place, placed, started, ended, pid, exited, code, signal, oom, lost,"   \
                   " ended_by, reason, memory_peak, tail, log_end, cause)"                         \
                   " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")                      \
    X(ADD_EVENT, "INSERT INTO event (seq, job, at, type, role, idx, attempt, body, steady, named)" \
                 " VALUES (?,?,?,?,?,?,?,?,?,?)")                                                  \
    X(PUT_AGENT, "INSERT OR REPLACE INTO agent (job, generation, node, launch_seq, token_hash,"    \
                 " last_seq, state) VALUES (?,?,?,?,?,?,?)")                                       \
    X(DELETE_AGENT, "DELETE FROM agent WHERE job = ? AND generation = ? AND node = ?")             \
    X(PUT_IDEM, "INSERT OR REPLACE INTO idem (owner, key, body_hash, job, expires)"                \
                " VALUES (?,?,?,?,?)")                                                             \
    X(GET_IDEM, "SELECT body_hash, job, expires FROM idem"                                         \
                " WHERE owner = ? AND key = ? AND expires > ?")                                    \
    X(EXPIRE_IDEM, "DELETE FROM idem WHERE (owner, key) IN"                                        \
                   " (SELECT owner, key FROM idem WHERE expires <= ?1 LIMIT ?2)")                  \
    X(EXPIRED_JOBS, "SELECT id FROM job WHERE keep_until > 0 AND keep_until <= ?1 LIMIT ?2")       \
    X(PUT_OBJECT,                                                                                  \
      "INSERT INTO object (kind, project, name, spec, version) VALUES (?1,?2,?3,?4,max(?5,1))"     \
      " ON CONFLICT DO UPDATE SET spec = excluded.spec,"                                           \
      " version = CASE ?5 WHEN 0 THEN version + 1 ELSE ?5 END")                                    \
    X(DELETE_OBJECT, "DELETE FROM object WHERE kind = ? AND project = ? AND name = ?")             \
    X(OBJECTS_OF_JOB, "DELETE FROM object WHERE kind IN ('job.tag', 'job.note', 'job.signal',"     \
                      " 'job.document') AND project = ?")                                          \
    X(DROP_OBJECTS, "DELETE FROM object WHERE kind = ? AND project = ?")                           \
    X(GET_OBJECT, "SELECT spec, version FROM object"                                               \
                  " WHERE kind = ? AND project = ? AND name = ?")                                  \
    X(OBJECTS_OF, "SELECT project, name, spec, version FROM object"                                \
                  " WHERE kind = ? AND project = ?")                                               \
    X(PUT_SECRET, "INSERT OR REPLACE INTO secret (owner, name, value) VALUES (?,?,?)")             \
    X(GET_SECRET, "SELECT CAST(value AS TEXT) FROM secret WHERE owner = ? AND name = ?")           \
    X(DELETE_SECRET, "DELETE FROM secret WHERE owner = ? AND name = ?")                            \
    X(DROP_SECRETS, "DELETE FROM secret WHERE owner = ?1 AND substr(name, 1, length(?2)) = ?2")    \
    X(PUT_META, "INSERT OR REPLACE INTO meta (name, value) VALUES (?,?)")                          \
    X(GET_META, "SELECT value FROM meta WHERE name = ?")                                           \
    X(DELETE_META, "DELETE FROM meta WHERE name = ?")                                              \
    X(DELETE_JOB, "DELETE FROM job WHERE id = ?1")                                                 \
    X(DELETE_BODY, "DELETE FROM body WHERE job = ?1")                                              \
    X(DELETE_ORIGIN, "DELETE FROM origin WHERE job = ?1")                                          \
    X(DELETE_IDEM, "DELETE FROM idem WHERE job = ?1")                                              \
    X(PUT_REST, "INSERT OR REPLACE INTO meta (name, value)"                                        \
                " SELECT " REST " || id, id + members FROM job WHERE id = ?1")                     \
    X(NEXT_REST, "SELECT low, high FROM " RESTS " LIMIT 1")                                        \
    X(COUNT_RESTS, "SELECT state, count(*) FROM " RESTS " CROSS JOIN job"                          \
                   " ON id BETWEEN low + 1 AND high AND array = low GROUP BY state")               \
    X(DELETE_TASKS, OF_REST("job, role, idx", "task"))                                             \
    X(DELETE_ATTEMPTS, OF_REST("job, role, idx, attempt", "attempt"))                              \
    X(DELETE_AGENTS, OF_REST("job, generation, node", "agent"))                                    \
    X(DELETE_EVENTS, OF_REST("seq", "event"))                                                      \
    X(DELETE_MEMBERS, "DELETE FROM job WHERE id IN (SELECT id FROM job WHERE id BETWEEN ?1 + 1"    \
                      " AND ?2 AND array = ?1 LIMIT ?3) RETURNING number")                         \
    X(DELETE_REST, "DELETE FROM meta WHERE name = " REST " || ?1")                                 \
    X(GET_JOB, "SELECT " JOB_COLUMNS ", live, spec, site FROM job LEFT JOIN body"                  \
               " ON body.job = CASE array WHEN 0 THEN id ELSE array END WHERE id = ?" IS_THERE)    \
    X(GET_LEAN_JOB, "SELECT " JOB_COLUMNS ", live FROM job WHERE id = ?" IS_THERE)                 \
    X(GET_COUNTED, "SELECT state, members FROM job WHERE id = ?1")                                 \
    X(GET_SPEC, "SELECT spec FROM body WHERE job = ?")                                             \
    X(GET_SITE, "SELECT site FROM body WHERE job ="                                                \
                " (SELECT CASE array WHEN 0 THEN id ELSE array END FROM job WHERE id = ?)")        \
    X(GET_SAID, "SELECT (SELECT max(seq) FROM event WHERE job = ?1),"                              \
                " (SELECT spec FROM object WHERE kind = ?2 AND project = ?3 AND name = ?4),"       \
                " CASE ?5 WHEN 0 THEN spec WHEN 1 THEN (SELECT text FROM origin WHERE job = ?1)"   \
                " ELSE (SELECT masked FROM origin WHERE job = ?1) END FROM body WHERE job = ?1")   \
    X(LIVE_JOBS,                                                                                   \
      "SELECT " JOB_COLUMNS                                                                        \
      ", live FROM job INDEXED BY job_by_state WHERE array = 0 AND state" IS_LIVE " ORDER BY id")  \
    X(LIVE_MEMBERS, "SELECT " JOB_COLUMNS ", live FROM job WHERE id BETWEEN ?1 + 1 AND ?1 + ?2"    \
                    " AND array = ?1 AND state" IS_LIVE " ORDER BY id")                            \
    X(MEMBER_COUNTS, "SELECT state, count(*) FROM job WHERE id BETWEEN ?1 + 1 AND ?1 + ?2"         \
                     " AND array = ?1 GROUP BY state")                                             \
    X(LIST_MEMBERS, "SELECT " JOB_COLUMNS " FROM job WHERE id > max(?1, ?3)"                       \
                    " AND id <= ?3 + ?4 AND array = ?3" IS_THERE                                   \
                    " AND (?5 IS NULL OR instr(?5, ' ' || state || ' ') > 0)"                      \
                    " ORDER BY id LIMIT ?2")                                                       \
    X(FIND_NUMBER, "SELECT id FROM job WHERE number = ?" IS_THERE)                                 \
    X(FIND_NAME, "SELECT id FROM job WHERE name = ?1 AND array = 0"                                \
                 " AND (?2 IS NULL OR owner = ?2)"                                                 \
                 " ORDER BY id DESC LIMIT 1")                                                      \
    X(FIND_IN, "SELECT id FROM job WHERE name = ?1 AND id >= ?4 AND array = 0 AND project = ?2"    \
               " AND (?3 IS NULL OR owner = ?3)"                                                   \
               " AND (?5 IS NULL OR instr(?5, ' ' || state || ' ') > 0)"                           \
               " ORDER BY id DESC LIMIT 1")                                                        \
    X(GET_ORIGIN, "SELECT text, masked, file FROM origin WHERE job ="                              \
                  " (SELECT CASE array WHEN 0 THEN id ELSE array END FROM job WHERE id = ?)")      \
    X(TASKS, "SELECT role, idx, state, attempt, live FROM task" IN_RANGE)                          \
    X(TASK_COUNTS,                                                                                 \
      "SELECT coalesce(sum(state = 'running'), 0), coalesce(sum(state = 'succeeded'), 0),"         \
      " coalesce(sum(state = 'failed'), 0) FROM task WHERE job BETWEEN ?1 AND ?2")                 \
    X(ATTEMPTS, "SELECT role, idx, attempt, generation, state, node, place, placed, started,"      \
                " ended, pid, exited, code, signal, oom, lost, ended_by, reason, memory_peak,"     \
                " tail, log_end, cause FROM attempt" IN_RANGE)                                     \
    X(AGENTS, "SELECT job, generation, node, launch_seq, token_hash, last_seq, state FROM agent"   \
              " WHERE job = ? AND state <> 'gone'")                                                \
    X(OBJECTS, "SELECT project, name, spec, version FROM object WHERE kind = ?")                   \
    X(EVENTS_ALL, "SELECT seq, job, at, type, role, idx, attempt, body, steady, named FROM event"  \
                  " WHERE seq > ?1 ORDER BY seq LIMIT ?2")                                         \
    X(EVENTS_JOB, "SELECT seq, job, at, type, role, idx, attempt, body, steady, named FROM event"  \
                  " WHERE job = ?3 AND seq > ?1 ORDER BY seq LIMIT ?2")                            \
    X(FIRST_OF, "SELECT min(seq) FROM event WHERE job = ?")                                        \
    X(LAST_OF, "SELECT max(seq) FROM event WHERE job = ?")                                         \
    X(LIST_ALL, "SELECT " JOB_COLUMNS " FROM job INDEXED BY job_listed"                            \
                " WHERE array = 0 AND id < ?1" LIST_REST)                                          \
    X(LIST_STATE,                                                                                  \
      "SELECT " JOB_COLUMNS " FROM job WHERE array = 0 AND state = ?7 AND id < ?1" LIST_REST)      \
    X(LIST_OWNER, "SELECT " JOB_COLUMNS " FROM job WHERE array = 0 AND owner = ?6 AND state = ?7"  \
                  " AND id < ?1" LIST_REST)                                                        \
    X(COUNT_ALL, "SELECT count(*) FROM job INDEXED BY job_listed WHERE array = 0"                  \
                 " AND (?7 IS NULL OR instr(?7, ' ' || state || ' ') > 0)" LIST_FILTER)            \
    X(COUNT_OWNER, "SELECT count(*) FROM job WHERE array = 0 AND owner = ?6"                       \
                   " AND (?7 IS NULL OR instr(?7, ' ' || state || ' ') > 0)" LIST_FILTER)          \
    X(COUNTS,                                                                                      \
      "SELECT state, count(*) FROM job INDEXED BY job_counted WHERE members = 0 GROUP BY state")   \
    X(ADD_AUDIT, "INSERT INTO audit (seq, at, user, role, known, source, action, object, outcome," \
                 " hash) VALUES (?,?,?,?,?,?,?,?,?,?)")                                            \
    X(AUDITS_UP, "SELECT seq, at, user, role, known, source, action, object, outcome, hash"        \
                 " FROM audit WHERE seq > ?1 AND seq < ?2 ORDER BY seq LIMIT ?3")                  \
    X(AUDITS_DOWN, "SELECT seq, at, user, role, known, source, action, object, outcome, hash"      \
                   " FROM audit WHERE seq > ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3")           \
    X(LAST_AUDIT, "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")                         \
    X(LAST_CUT, "SELECT object FROM audit WHERE action = '" AUDIT_CUT "' ORDER BY seq DESC"        \
                " LIMIT 1")                                                                        \
    X(OLD_AUDIT, "SELECT seq, hash, at FROM audit WHERE seq < ?1 ORDER BY seq LIMIT ?2")           \
    X(CUT_AUDIT, "DELETE FROM audit WHERE seq <= ?1")                                              \
    X(MAX_JOB, "SELECT " HIGHEST("number") ", " HIGHEST("id") FROM_LAST_JOB)                       \
    X(SEAL_MARKS, "SELECT CAST(value AS TEXT), name FROM secret"                                   \
                  " WHERE owner = '' AND name IN ('seal', 'seal.2') ORDER BY name DESC LIMIT 1")   \
    X(MAX_EVENT, "SELECT ifnull(max(seq), 0) FROM event")

#define STMT_ENUM(id, sql) STMT_##id,
enum stmt_id { STATEMENTS(STMT_ENUM) STMT_N };
#undef STMT_ENUM

#endif
