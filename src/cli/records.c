/* Records of a server, for people: checking, recovering and restoring them. What is there, what is
 * missing and what goes on is printed; the work itself is main's. */
#include "cli/records.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/shell_word.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>

const char *records_stranger(struct arena *a, const struct text_node *one)
{
    uint64_t pid = text_number(one, "pid");
    return arena_printf(a, "%llu on %s runs (%s)", (unsigned long long)text_number(one, "number"),
                        answer_text(one, "node", "?"),
                        pid ? arena_printf(a, "pid %llu", (unsigned long long)pid)
                            : "its keeper.pid is damaged: it does not say which process");
}

void records_strangers(const struct text_node *list)
{
    struct arena *a = arena_create();
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        printf("unknown  %s and is not in the records: it is left alone\n",
               records_stranger(a, one));
    arena_destroy(a);
}

static void print_missing(const struct text_node *missing)
{
    static const char *const kinds[] = { "jobs", "events" };
    const char *between = "missing  ";
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct text_node *range = text_get(missing, kinds[i]);
        if (!range)
            continue;
        printf("%s%s %llu to %llu", between, kinds[i],
               (unsigned long long)text_number(range, "from"),
               (unsigned long long)text_number(range, "to"));
        between = ", ";
    }
    puts(missing && missing->first ? "" : "missing  what was committed last");
}

#define NAMED_MOST 20u /* all of them are in the JSON */

/* Those of which more is known than their number, which the line before has. */
static void print_missing_jobs(const struct text_node *r)
{
    uint64_t more = text_number(r, "more_missing");
    unsigned n = 0;
    const struct text_node *list = text_get(r, "missing_jobs");
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next) {
        const char *name = text_word(one, "name"), *owner = text_word(one, "owner");
        const char *id = text_word(one, "id");
        uint64_t number = text_number(one, "number");
        if (!*id)
            continue;
        if (n++ >= NAMED_MOST) {
            more++;
            continue;
        }
        printf("lost     job");
        if (number)
            printf(" %llu", (unsigned long long)number);
        printf(" (%s%s%s)%s%s\n", id, *name ? ", " : "", name, *owner ? " of " : "", owner);
    }
    if (more)
        printf("lost     %llu more: --json lists them\n", (unsigned long long)more);
}

static void print_next(const struct text_node *r)
{
    printf("next     job %llu: no number is given out twice\n",
           (unsigned long long)text_number(r, "next_number"));
}

static void print_recovered(const struct text_node *r, bool dry_run)
{
    char text[48];
    uint64_t failed = text_number(r, "failed");
    printf("records  %s: %s\n", text_word(r, "records"), text_word(r, "why"));
    printf("there    %s, events to %llu\n", out_count(text, text_number(r, "jobs"), "job"),
           (unsigned long long)text_number(r, "events_to"));
    print_missing(text_get(r, "missing"));
    print_missing_jobs(r);
    if (text_flag(r, "row_by_row"))
        puts("damaged  parts of the database cannot be read: it was taken row by row");
    if (text_flag(r, "indexes"))
        puts("damaged  indexes do not fit their tables, of which all can be read: made anew");
    if (failed)
        printf("failed   %s: what they were is lost\n", out_count(text, failed, "live job"));
    records_strangers(text_get(r, "running"));
    print_next(r);
    if (dry_run)
        puts("nothing was changed; without --dry-run this is done");
    else
        printf("kept     the files as they were: %s\n", text_word(r, "kept"));
}

int records_recover(struct cli *cli, bool dry_run, struct err *err)
{
    const struct cli_records ask = { .what = RECORDS_RECOVER,
                                     .state_dir = cli->state_dir,
                                     .dry_run = dry_run };
    const struct text_node *r = cli->host->records(cli->arena, &ask, err);
    if (!r)
        return -1;
    if (cli->json)
        out_json(r);
    else if (text_flag(r, "damaged"))
        print_recovered(r, dry_run);
    else
        printf("records  %s: nothing is damaged\n", text_word(r, "records"));
    return EXIT_OK;
}

static void print_key(const struct text_node *r)
{
    const char *key = text_word(r, "seal_key");
    if (text_flag(r, "seal_key_here"))
        printf("key      %s\n", key);
    else
        printf(
            "key      %s is not on this machine: bring it here, and start with --seal-key FILE\n",
            key);
}

static void print_restored(const struct cli *cli, const struct text_node *r, bool dry_run)
{
    char text[48], time[FMT_MAX];
    const struct text_node *backup = text_get(r, "backup");
    uint64_t archives = text_number(backup, "archives");
    printf("backup   of %s, made %s by muster %s\n", answer_text(backup, "state_dir", "?"),
           fmt_time_local(time, text_number(backup, "made_ms")),
           answer_text(backup, "muster", "?"));
    if (text_get(backup, "segments"))
        printf("chain    %llu: its base and %s\n", (unsigned long long)text_number(backup, "chain"),
               out_count(text, text_number(backup, "segments"), "segment"));
    printf("records  %s: %s, events to %llu\n", text_word(r, "records"),
           out_count(text, text_number(r, "jobs"), "job"),
           (unsigned long long)text_number(r, "events_to"));
    if (archives)
        printf("code     %s that live jobs need\n", out_count(text, archives, "archive"));
    records_strangers(text_get(r, "running"));
    print_next(r);
    print_key(r);
    if (text_get(r, "kept"))
        printf("kept     the records as they were: %s\n", text_word(r, "kept"));
    if (dry_run)
        puts("nothing was changed; without --dry-run this is done");
    else
        printf("start    %s\n", out_command(cli, REMEDY_SERVER_START, ""));
}

int records_restore(struct cli *cli, const struct cli_records *flags, struct err *err)
{
    struct cli_records ask = *flags;
    ask.what = RECORDS_RESTORE;
    ask.state_dir = cli->state_dir;
    const struct text_node *r = cli->host->records(cli->arena, &ask, err);
    if (!r)
        return -1;
    if (cli->json)
        out_json(r);
    else
        print_restored(cli, r, ask.dry_run);
    return EXIT_OK;
}

/* ---- the continuous backup ---- */

const char *records_shipped(struct cli *cli, const struct text_node *backup)
{
    char count[48], time[FMT_MAX];
    const struct text_node *shipped = text_get(backup, "shipped"),
                           *lacks = text_get(backup, "lacks");
    const char *to = text_word(backup, "to");
    uint64_t seconds = text_number(lacks, "seconds"), chain = text_number(backup, "chain");
    if (!shipped)
        return arena_printf(cli->arena, "%s: nothing is there yet", to);
    const char *until = arena_printf(cli->arena, "%s: events to %llu", to,
                                     (unsigned long long)text_number(shipped, "event"));
    if (chain)
        until = arena_printf(cli->arena, "%s (chain %llu, segment %llu)", until,
                             (unsigned long long)chain,
                             (unsigned long long)text_number(backup, "segment"));
    if (!seconds)
        return arena_printf(cli->arena, "%s, nothing is lacking", until);
    return arena_printf(cli->arena, "%s, the last %s (%s) are lacking", until,
                        fmt_age(time, seconds * 1000),
                        out_count(count, text_number(lacks, "events"), "event"));
}

/* ---- check ---- */

/* With the options that said which server this is. */
static const char *typed(const struct cli *cli, const char *words)
{
    AUTO_BUF struct buf out = BUF_INIT(64 << 10);
    buf_addf(&out, "%s %s", cli->host->program, words);
    for (size_t i = 0; i < cli->refused.n_where; i++) {
        buf_putc(&out, ' ');
        shell_word(&out, cli->refused.where[i]);
    }
    return arena_strdup(cli->arena, buf_str(&out));
}

static void print_checked(struct cli *cli, const struct text_node *r, bool runs)
{
    char text[48];
    uint64_t orphans = text_number(r, "orphans"), lost = text_number(r, "unreadable");
    printf("records  %s: %s, events to %llu\n", text_word(r, "records"),
           out_count(text, text_number(r, "jobs"), "job"),
           (unsigned long long)text_number(r, "events_to"));
    if (text_flag(r, "damaged"))
        printf("damaged  %s\n", text_word(r, "why"));
    else
        puts("whole    every page and every index was read");
    if (orphans)
        printf("orphans  %s of jobs that are not there\n", out_count(text, orphans, "row"));
    if (lost)
        printf("lost     what %s were\n", out_count(text, lost, "live job"));
    records_strangers(text_get(r, "running"));
    if (!text_flag(r, "damaged") && (orphans || lost))
        printf("mend     %s; %s; %s FILE\n", typed(cli, "backup FILE"), typed(cli, "server stop"),
               typed(cli, "restore --force"));
    else if (text_flag(r, "damaged"))
        printf("mend     %s%s%s\n", runs ? typed(cli, "server stop") : "", runs ? "; " : "",
               typed(cli, "server recover --dry-run"));
}

/* A server has its database alone: what it gives as a backup is read instead. What jobs left is
 * looked at first: a job's row is committed before anything of it is made, so that the backup has
 * every job of which there is something by then. */
static const struct text_node *check_running(struct cli *cli, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = arena_printf(cli->arena, "%s/muster-check-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(dir)) {
        err_sys(err, "%s", dir);
        return NULL;
    }
    const char *file = arena_printf(cli->arena, "%s/backup.tar", dir);
    struct cli_records ask = { .what = RECORDS_TRACES,
                               .state_dir = cli->url ? dir : cli->state_dir,
                               .file = file };
    const struct text_node *r = NULL;
    ask.traces = cli->host->records(cli->arena, &ask, err);
    ask.what = RECORDS_CHECK;
    if (ask.traces && backup_to_file(cli, file, err))
        r = cli->host->records(cli->arena, &ask, err);
    file_remove_tree(dir, NULL);
    return r;
}

int records_check(struct cli *cli, struct err *err)
{
    const struct cli_records ask = { .what = RECORDS_CHECK, .state_dir = cli->state_dir };
    bool runs = cli->url || call_server_lives(cli);
    const struct text_node *r =
        runs ? check_running(cli, err) : cli->host->records(cli->arena, &ask, err);
    if (!r)
        return -1;
    if (cli->json)
        out_json(r);
    else
        print_checked(cli, r, runs);
    bool good =
        !text_flag(r, "damaged") && !text_number(r, "orphans") && !text_number(r, "unreadable");
    return good ? EXIT_OK : EXIT_FOUND;
}
