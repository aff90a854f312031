/* muster audit: who did what from where, and whether the record is whole. The hashes are made here,
 * over what the server sends, so that the check does not rest on its word. */
#include "cli/cmd.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/scan.h"
#include "cli/answer.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/table.h"
#include "job/audit.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define SHOWN 50
#define PAGE  1000u

struct audit_opts {
    struct common_opts common;
    const char *since, *user, *action, *head;
    uint64_t n;
    bool verify;
};
#define TEXT_OPT(key, member, form, text)                                                          \
    {                                                                                              \
        .name = key, .type = OPT_STR, .offset = offsetof(struct audit_opts, member), .arg = form,  \
        .help = text                                                                               \
    }
static const struct opt opts[] = {
    TEXT_OPT("since", since, "TIME", "not older: an age (2h, 7d) or 2026-01-02T03:04:05Z"),
    TEXT_OPT("user", user, "NAME", "only what this one did"),
    TEXT_OPT("action", action, "ACTION", "only this: user.created; job. is all that begins so"),
    { .name = "number",
      .letter = 'n',
      .type = OPT_U64,
      .offset = offsetof(struct audit_opts, n),
      .arg = "N",
      .help = "the newest so many; default: 50" },
    { .name = "verify",
      .type = OPT_FLAG,
      .offset = offsetof(struct audit_opts, verify),
      .help = "check every entry against the one before it" },
    TEXT_OPT("head", head, "N:HASH",
             "with --verify: an end of the record noted before, still in it"),
    COMMON_OPTS,
    OPT_END,
};

/* ---- showing ---- */

static int read_since(const char *text, uint64_t *at, struct err *err)
{
    uint64_t ms, now = clock_wall_ms();
    if (!text)
        return 0;
    *at = scan_duration(text, &ms) ? (now > ms ? now - ms : 1) : answer_parse_time(text);
    if (*at)
        return 0;
    err_set(err, ERR_INPUT, "--since: \"%.60s\" is no time", text);
    return err_hint(err, "an age (90s, 15m, 2h) or 2026-01-02T03:04:05Z");
}

static const struct table_column columns[] = {
    { .title = "#", .right = true, .wide = true },
    { .title = "WHEN" },
    { .title = "WHO" },
    { .title = "ROLE", .go = 1 },
    { .title = "BY", .go = 2 },
    { .title = "FROM", .go = 3 },
    { .title = "ACTION" },
    { .title = "OBJECT" },
    { .title = "OUTCOME" },
};

static void print_entries(struct cli *cli, const struct text_node *entries)
{
    AUTO_BUF struct buf out = BUF_INIT((size_t)64 << 20);
    struct table table;
    table_init(&table, cli->arena, columns, ARRAY_LEN(columns), cli->wide);
    for (const struct text_node *e = entries->first; e; e = e->next) {
        char time[FMT_MAX];
        const char **row = table_row(&table);
        row[0] = arena_printf(cli->arena, "%llu", (unsigned long long)text_number(e, "seq"));
        row[1] = arena_strdup(cli->arena, fmt_time_local(time, text_number(e, "at_ms")));
        row[2] = text_word(e, "user");
        row[3] = text_word(e, "role");
        row[4] = text_word(e, "known");
        row[5] = text_word(e, "from");
        row[6] = text_word(e, "action");
        row[7] = text_word(e, "object");
        row[8] = text_word(e, "outcome");
        for (size_t i = 2; i < ARRAY_LEN(columns); i++)
            row[i] = table_clip(cli->arena, row[i], 200);
        row[2] = *row[2] ? row[2] : "-";
    }
    table_print(&table, 0, cli->color, &out);
    out_buf(&out);
}

static void put_reversed(struct arena *a, struct text_node *list, const struct text_node *from)
{
    const struct text_node **at = ARENA_ARRAY(a, from->count, const struct text_node *);
    size_t n = 0;
    for (const struct text_node *e = from->first; e; e = e->next)
        at[n++] = e;
    while (n > 0)
        text_copy(a, list, NULL, at[--n]);
}

/* Newest first from the server, oldest first on the screen. */
static int list(struct cli *cli, const struct audit_opts *o, struct err *err)
{
    uint64_t most = o->n ? o->n : SHOWN, since = 0, before = 0;
    struct text_node *root = text_map(cli->arena, NULL, NULL);
    struct text_node *entries = text_list(cli->arena, root, "entries");
    struct text_node *newest = text_list(cli->arena, NULL, NULL);
    const struct text_node *page = NULL;
    if (read_since(o->since, &since, err) < 0)
        return -1;
    do {
        AUTO_BUF struct buf path = BUF_INIT(4096);
        uint64_t left = most - newest->count;
        buf_puts(&path, "/v1/audit");
        call_query(&path, "user", o->user);
        call_query(&path, "action", o->action);
        call_query_number(&path, "since", since);
        call_query_number(&path, "before", before);
        call_query_number(&path, "limit", left < PAGE ? left : PAGE);
        page = call_get(cli, buf_str(&path), err);
        if (!page)
            return -1;
        for (const struct text_node *e = text_get(page, "entries")->first; e; e = e->next)
            text_copy(cli->arena, newest, NULL, e);
        before = text_number(page, "next");
    } while (before && newest->count < most);
    put_reversed(cli->arena, entries, newest);
    text_copy(cli->arena, root, "head", text_get(page, "head"));
    if (cli->json)
        out_json(root);
    else
        print_entries(cli, entries);
    return EXIT_OK;
}

/* ---- checking ---- */

struct check {
    struct audit_mark at, floor; /* at: the last that was checked */
    struct audit_mark noted;     /* --head */
    bool has_noted, saw_noted, saw_floor;
    char why[200]; /* "" : nothing is wrong */
};

static bool read_hash(const char *text, unsigned char hash[AUDIT_HASH])
{
    size_t n = 0;
    return sodium_hex2bin(hash, AUDIT_HASH, text, strlen(text), NULL, &n, NULL) == 0 &&
           n == AUDIT_HASH;
}

static void read_mark(const struct text_node *map, struct audit_mark *mark)
{
    mark->seq = text_number(map, "seq");
    if (!read_hash(text_word(map, "hash"), mark->hash))
        memset(mark->hash, 0, sizeof mark->hash);
}

static bool same(const struct audit_mark *a, const struct audit_mark *b)
{
    return a->seq == b->seq && memcmp(a->hash, b->hash, AUDIT_HASH) == 0;
}

static struct audit_row row_of(const struct text_node *e)
{
    struct audit_row row = { .seq = text_number(e, "seq"),
                             .at_ms = text_number(e, "at_ms"),
                             .user = text_word(e, "user"),
                             .role = text_word(e, "role"),
                             .known = text_word(e, "known"),
                             .from = text_word(e, "from"),
                             .action = text_word(e, "action"),
                             .object = text_word(e, "object"),
                             .outcome = text_word(e, "outcome") };
    if (!read_hash(text_word(e, "hash"), row.hash))
        memset(row.hash, 0, sizeof row.hash);
    return row;
}

static bool check_row(struct check *c, const struct text_node *e)
{
    AUTO_BUF struct buf text = BUF_INIT(AUDIT_TEXT_MAX);
    struct audit_row row = row_of(e);
    struct audit_mark mark = { .seq = row.seq }, cut;
    unsigned long long due = c->at.seq + 1, seq = row.seq;
    if (row.seq != due && seq == due + 1)
        snprintf(c->why, sizeof c->why, "entry %llu is missing", due);
    else if (row.seq != due)
        snprintf(c->why, sizeof c->why, "entries %llu to %llu are missing", due, seq - 1);
    if (*c->why)
        return false;
    audit_text(&row, c->at.hash, &text);
    crypto_hash_sha256(mark.hash, (const unsigned char *)buf_str(&text), text.len);
    if (memcmp(mark.hash, row.hash, AUDIT_HASH) != 0) {
        snprintf(c->why, sizeof c->why, "entry %llu was changed: its hash does not fit", seq);
        return false;
    }
    c->at = mark;
    c->saw_noted |= c->has_noted && same(&mark, &c->noted);
    c->saw_floor |= strcmp(row.action, AUDIT_CUT) == 0 && audit_mark_parse(row.object, &cut) &&
                    same(&cut, &c->floor);
    return true;
}

/* What the entries do not say one by one. */
static void check_ends(struct check *c)
{
    const unsigned long long noted = c->noted.seq, at = c->at.seq;
    if (*c->why)
        return;
    if (c->floor.seq && !c->saw_floor)
        snprintf(c->why, sizeof c->why, "entries 1 to %llu are missing",
                 (unsigned long long)c->floor.seq);
    else if (c->has_noted && !c->saw_noted && at < noted)
        snprintf(c->why, sizeof c->why, "the end was cut off: entries %llu to %llu are missing",
                 at + 1, noted);
    else if (c->has_noted && !c->saw_noted && noted > c->floor.seq)
        snprintf(c->why, sizeof c->why, "entry %llu is not the one that was noted", noted);
}

static int report(struct cli *cli, const struct check *c)
{
    char text[AUDIT_MARK_TEXT];
    bool whole = !*c->why;
    const char *head = audit_mark_text(text, &c->at);
    if (cli->json) {
        struct text_node *root = text_map(cli->arena, NULL, NULL);
        text_bool(cli->arena, root, "whole", whole);
        text_int(cli->arena, root, "checked", (int64_t)(c->at.seq - c->floor.seq));
        text_str(cli->arena, root, "head", head);
        if (!whole)
            text_str(cli->arena, root, "why", c->why);
        out_json(root);
    } else if (whole) {
        printf("whole: %llu entries\nhead   %s\n", (unsigned long long)(c->at.seq - c->floor.seq),
               head);
    } else {
        printf("broken: %s\nlast good   %s\n", c->why, head);
    }
    return whole ? EXIT_OK : 1;
}

static int verify(struct cli *cli, const struct audit_opts *o, struct err *err)
{
    struct check c = { .has_noted = o->head != NULL };
    bool first = true, more = true;
    if (o->head && !audit_mark_parse(o->head, &c.noted)) {
        err_set(err, ERR_INPUT, "--head: \"%.100s\" is no end of a record", o->head);
        return err_hint(err, "as --verify prints it: 12: and 64 hexadecimal digits");
    }
    while (more) {
        AUTO_BUF struct buf path = BUF_INIT(4096);
        buf_puts(&path, "/v1/audit?chain=1");
        call_query_number(&path, "after", c.at.seq);
        call_query_number(&path, "limit", PAGE);
        const struct text_node *page = call_get(cli, buf_str(&path), err);
        if (!page)
            return -1;
        if (first)
            read_mark(text_get(page, "floor"), &c.floor);
        if (first && c.floor.seq)
            c.at = c.floor;
        first = false;
        more = text_get(page, "entries")->count > 0;
        for (const struct text_node *e = text_get(page, "entries")->first; e && more; e = e->next)
            more = check_row(&c, e);
    }
    check_ends(&c);
    return report(cli, &c);
}

static int run_audit(struct cli *cli, const void *opts_, int argc, char **argv, struct err *err)
{
    const struct audit_opts *o = opts_;
    (void)argv;
    if (cmd_operands(&cmd_audit, argc, 0, 0, err) < 0)
        return -1;
    if (o->head && !o->verify)
        return err_set(err, ERR_INPUT, "--head goes with --verify");
    return o->verify ? verify(cli, o, err) : list(cli, o, err);
}

static const char *const examples[] = {
    "muster audit --since 7d --user ada",
    "what ada did in a week, and from where",
    "muster audit --action job.",
    "what was done to others' jobs",
    "muster audit --verify > audit-head",
    "is the record whole? Keep the head where the server cannot write",
    "muster audit --verify --head 41:9f2c...",
    "and is that entry still in it, with nothing cut off behind it?",
    NULL,
};
const struct cmd cmd_audit = {
    .name = "audit",
    .summary = "who did what from where, and is the record whole",
    .operands = "",
    .opts = opts,
    .size = sizeof(struct audit_opts),
    .examples = examples,
    .run = run_audit,
};
