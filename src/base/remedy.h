/* Remedies: what to type after a refusal. One table: every command line that a hint of muster shows
 * is a row of it, so that each can be tried by a test (tests/test_remedies.py has a case per row)
 * and carried as data: a kind and its arguments. Edges make words of it. */
#ifndef BASE_REMEDY_H
#define BASE_REMEDY_H

#include "base/arena.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* id, label on a terminal, what to type, what that does. Words of what to type: % is the next
 * argument, FILE the document that was refused. "again" alone or first is the refused command with
 * the words that follow behind its verb; again:VERB the same with another verb. */
#define REMEDIES(X)                                                                                \
    X(SERVER_START, "start", "server start", "starts a server for you")                            \
    X(SERVER_STATUS, "see", "server status", "shows the server that runs")                         \
    X(SERVER_STOP, "end it", "server stop", "its jobs go on, the next server finds them")          \
    X(SERVER_RECOVER, "look", "server recover --dry-run",                                          \
      "says what is there and what is missing; without --dry-run it mends")                        \
    X(RESTORE_BEFORE, "before it", "restore --dry-run --segments % %",                             \
      "says what is before the damage; without --dry-run it puts that back")                       \
    X(RESTORE_BEFORE_IN, "before it", "restore --dry-run --segments % --endpoint % --region % %",  \
      "says what is before the damage; without --dry-run it puts that back")                       \
    X(SERVER_LISTEN, "open it", "server start --listen %",                                         \
      "starts the server anew with a TCP port; jobs go on")                                        \
    X(SERVER_RECORD, "record", "server start --record %",                                          \
      "from then on the server records its inputs there")                                          \
    X(SERVER_SUB, "meant", "server %", "")                                                         \
    X(PRETEND, "pretend", "server start --nodes %",                                                \
      "declared nodes; the server starts anew, jobs go on")                                        \
    X(SMALLER, "smaller", "again --set %", "")                                                     \
    X(WAIT_FOR_NODES, "wait", "again:submit --wait", "queued until such nodes exist")              \
    X(WITH_PYTHON, "with it", "again --python %", "")                                              \
    X(SUBMIT_ALL, "submit", "again:submit", "takes several files")                                 \
    X(OTHER_VERB, "meant", "again:%", "")                                                          \
    X(SUBMIT_FILE, "submit", "submit %", "")                                                       \
    X(RUN_FILE, "run", "run %", "submits the file and follows the job")                            \
    X(APPLY_FILE, "declare", "apply -f FILE", "declares what is in it")                            \
    X(CHECK_FIX, "correct", "check --fix FILE", "")                                                \
    X(HELP, "verbs", "help", "lists them")                                                         \
    X(HELP_VERB, "help", "% --help", "")                                                           \
    X(LIST_ALL, "jobs", "ls --all", "shows numbers and names")                                     \
    X(LIST_STATE, "failed", "ls % --state failed", "")                                             \
    X(LIST_ARRAY, "its jobs", "ls %", "")                                                          \
    X(SHOW_JOB, "see", "show %", "what it is and why")                                             \
    X(STOP_JOB, "stop it", "stop %", "then again")                                                 \
    X(LOGS_OF, "output", "logs %", "")                                                             \
    X(LOGS_OF_TASK, "output", "logs % %", "")                                                      \
    X(GOES_ON, "follow", "logs -f %", "the job goes on")                                           \
    X(TASK_OUTPUT, "output", "logs % % --tail 20", "")                                             \
    X(TASK_ENTER, "enter it", "exec % %", "")                                                      \
    X(RESUBMIT, "again", "submit --like %", "")                                                    \
    X(RESUBMIT_STDIN, "anew", "submit --like % --stdin", "the job once more, with an open stdin")  \
    X(ATTACH, "attach", "attach % %", "")                                                          \
    X(RESUME, "resume", "resume %", "")                                                            \
    X(LIST_NODES, "nodes", "nodes", "names, what they have, what is free")                         \
    X(TRY_NODES, "try", "server start --nodes 4x16cpu,64Gi,4gpu", "declared devices")              \
    X(FREE_NODES, "free", "nodes --free", "")                                                      \
    X(NODES_SUB, "meant", "nodes % %", "")                                                         \
    X(UNDRAIN, "take back", "drain --undo %", "")                                                  \
    X(LIST_QUEUES, "queues", "queues", "the tree of queues")                                       \
    X(LIST_KIND, "declared", "get %", "what there is")                                             \
    X(LIST_KEYS, "keys", "key ls --user %", "the oldest may go: key rm ID")                        \
    X(LIST_TOKENS, "tokens", "token ls", "")                                                       \
    X(LIST_SECRETS, "secrets", "secret ls", "names, no values")                                    \
    X(SET_SECRET, "set it", "secret set %", "its value from stdin")                                \
    X(OPEN_PAGE, "open", "open", "makes a new link")                                               \
    X(RUNTIMES, "see", "doctor", "lists container runtimes among the rest")                        \
    X(ON_HOST, "on host", "again --runtime host", "runs it on the host, without the image")        \
    X(DROP_KEPT, "drop it", "config --drop %", "")                                                 \
    X(LIST_SETTINGS, "settings", "config", "lists them")                                           \
    X(SCHEMA_JOB, "schema", "schema job", "")                                                      \
    X(LAUNCH_HELP, "flags", "launch --help", "")

enum remedy_id {
#define REMEDY_ENUM(id, label, line, what) REMEDY_##id,
    REMEDIES(REMEDY_ENUM)
#undef REMEDY_ENUM
        REMEDY_N
};

#define REMEDY_ARGS  4
#define REMEDY_WORDS 256 /* of a command line, with those of the refused command */

/* Some remedies of one refusal, in order; nothing to free. */
struct remedies {
    uint16_t len, n;
    char text[508];
};
struct remedy {
    enum remedy_id id;
    const char *args[REMEDY_ARGS]; /* as many as its row has % */
    size_t n;
};

/* args: the arguments, apart by newlines ("" when the row has none). One that is too long, has
 * control characters or another number of arguments is left out: half a command helps nobody. */
void remedies_add(struct remedies *, enum remedy_id, const char *args);
/* One after the other; *at begins at 0. Texts live in the arena. */
bool remedies_next(const struct remedies *, size_t *at, struct arena *, struct remedy *);

const char *remedy_kind(enum remedy_id, char out[32]); /* "server_start" */
bool remedy_of_kind(const char *kind, enum remedy_id *);
const char *remedy_label(enum remedy_id);
const char *remedy_what(enum remedy_id); /* "" when the line says it all */

/* The command that was refused, and where it was typed. */
struct refused {
    const char *program;     /* "muster" */
    const char *const *argv; /* from the verb on, as typed; argc 0: not known */
    size_t argc;
    const char *file;         /* the refused document; NULL or "-": none */
    const char *const *where; /* options that say which server, as typed */
    size_t n_where;
    bool elsewhere; /* the server is not of this machine's user: it is not started from here */
};
/* The words to type. 0: it cannot be typed there. */
size_t remedy_argv(const struct remedy *, const struct refused *, struct arena *,
                   const char *argv[REMEDY_WORDS]);
/* The words as a POSIX shell reads them back. */
void remedy_put_words(struct buf *, const char *const *argv, size_t n);
/* The line of one kind; nothing when it cannot be typed there. args as remedies_add() takes them.
 */
void remedy_put_line(struct buf *, enum remedy_id, const char *args, const struct refused *);
/* "muster ls --all (shows numbers and names); ..." */
void remedies_put_text(struct buf *, const struct remedies *, const struct refused *);

#endif
