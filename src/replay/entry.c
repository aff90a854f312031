/* Each kind of thing has a put and a get with the same order of members. What of a submission may
 * hold a secret (its text, variables, options) is sealed with the server's key; the rest is in
 * clear. */
#include "replay/entry.h"

#include "base/mem.h"
#include "job/gpu.h"
#include "job/old_ending.h"
#include "wire/frame.h"

#include <stdio.h>
#include <string.h>

static void put_words(struct buf *out, const struct words *words)
{
    wire_put_u32(out, (uint32_t)words->n);
    for (size_t i = 0; i < words->n; i++)
        wire_put_str(out, words->at[i]);
}

static struct words get_words(struct wire_reader *from, struct arena *a)
{
    struct words words = { .n = wire_get_count(from, 4) };
    const char **at = ARENA_ARRAY(a, words.n, const char *);
    for (size_t i = 0; i < words.n; i++) {
        const char *text = wire_get_str(from, a);
        at[i] = text ? text : "";
    }
    words.at = at;
    return words;
}

static void put_pairs(struct buf *out, const struct pairs *pairs)
{
    wire_put_u32(out, (uint32_t)pairs->n);
    for (size_t i = 0; i < pairs->n; i++) {
        wire_put_str(out, pairs->at[i].name);
        wire_put_str(out, pairs->at[i].value);
    }
}

static struct pairs get_pairs(struct wire_reader *from, struct arena *a)
{
    uint32_t n = wire_get_count(from, 8);
    struct pairs pairs = { .at = ARENA_ARRAY(a, n, struct pair), .n = n, .cap = n };
    for (size_t i = 0; i < n; i++) {
        const char *name = wire_get_str(from, a), *value = wire_get_str(from, a);
        pairs.at[i] = (struct pair){ .name = name ? name : "", .value = value ? value : "" };
    }
    return pairs;
}

/* Texts that may hold any byte. */
static void put_blob(struct buf *out, const void *text, size_t len)
{
    wire_put_u8(out, text != NULL);
    wire_put_bytes(out, text, text ? len : 0);
}

static const char *get_blob(struct wire_reader *from, struct arena *a, size_t *len)
{
    bool there = wire_get_u8(from);
    const char *at = wire_get_bytes(from, len);
    char *copy = there && at ? arena_alloc(a, *len + 1) : NULL;
    return copy ? memcpy(copy, at, *len) : NULL;
}

static const char *text_or(const char *text, const char *other)
{
    return text ? text : other;
}

static struct wire_reader reader_of(const struct frame *frame)
{
    return (struct wire_reader){ .at = frame->body, .end = frame->body + frame->len };
}

static bool all_read(const struct wire_reader *from)
{
    return !from->bad && from->at == from->end;
}

/* ---- the header ---- */

/* What placing asks of devices: models, and how near they are. */
static void put_report(struct buf *out, const struct gpu_report *report)
{
    uint32_t n = report ? report->n_slots : 0;
    wire_put_u32(out, n);
    for (uint32_t i = 0; i < n; i++)
        wire_put_str(out, gpu_in_slot(report, i)->model);
    if (n == 0)
        return;
    wire_put_u8(out, report->near != NULL);
    for (size_t i = 0; report->near && i < (size_t)n * n; i++)
        wire_put_u32(out, report->near[i]);
}

static struct gpu_report *get_report(struct wire_reader *from, struct arena *a)
{
    uint32_t n = wire_get_count(from, 4);
    if (n == 0 || from->bad)
        return NULL;
    struct gpu_report *report = ARENA_NEW(a, struct gpu_report);
    *report = (struct gpu_report){
        .driver = "", .error = "", .at = ARENA_ARRAY(a, n, struct gpu_device), .n = n, .n_slots = n
    };
    for (uint32_t i = 0; i < n; i++)
        report->at[i] = (struct gpu_device){ .number = i,
                                             .slot = i,
                                             .offered = true,
                                             .model = text_or(wire_get_str(from, a), ""),
                                             .uuid = "",
                                             .pci = "",
                                             .error = "" };
    if (!wire_get_u8(from))
        return report;
    from->bad |= (size_t)(from->end - from->at) / 4 < (size_t)n * n;
    report->near = from->bad ? NULL : ARENA_ARRAY(a, (size_t)n * n, uint32_t);
    for (size_t i = 0; report->near && i < (size_t)n * n; i++)
        report->near[i] = wire_get_u32(from);
    return report;
}

static void put_node(struct buf *out, const struct node_spec *node)
{
    wire_put_str(out, node->name);
    wire_put_str(out, node->address);
    wire_put_str(out, node->host);
    wire_put_str(out, node->gpu_type);
    wire_put_u64(out, node->cpu_milli);
    wire_put_u64(out, node->memory);
    wire_put_u64(out, node->disk);
    wire_put_u32(out, node->gpus);
    wire_put_u64(out, node->price_milli);
    wire_put_u8(out, node->declared);
    put_pairs(out, &node->labels);
    wire_put_u32(out, (uint32_t)node->custom.n);
    for (size_t i = 0; i < node->custom.n; i++) {
        wire_put_str(out, node->custom.at[i].name);
        wire_put_u64(out, node->custom.at[i].milli);
    }
    put_report(out, node->report);
}

static void get_node(struct wire_reader *from, struct arena *a, struct node_spec *node)
{
    node->name = text_or(wire_get_str(from, a), "");
    node->address = text_or(wire_get_str(from, a), "");
    node->host = text_or(wire_get_str(from, a), "");
    node->gpu_type = text_or(wire_get_str(from, a), "");
    node->cpu_milli = wire_get_u64(from);
    node->memory = wire_get_u64(from);
    node->disk = wire_get_u64(from);
    node->gpus = wire_get_u32(from);
    node->price_milli = wire_get_u64(from);
    node->declared = wire_get_u8(from);
    node->labels = get_pairs(from, a);
    node->custom.n = wire_get_count(from, 12);
    node->custom.at = ARENA_ARRAY(a, node->custom.n, struct amount);
    for (size_t i = 0; i < node->custom.n; i++) {
        node->custom.at[i].name = text_or(wire_get_str(from, a), "");
        node->custom.at[i].milli = wire_get_u64(from);
    }
    node->report = get_report(from, a);
}

void entry_put_header(struct buf *out, const struct recording_header *h)
{
    wire_put_str(out, h->version);
    wire_put_u8(out, h->started);
    wire_put_u64(out, h->at_ms);
    wire_put_u64(out, h->mono_us);
    wire_put_u64(out, h->created_ms);
    wire_put_u64(out, h->first);
    wire_put_u64(out, h->meetings);
    wire_put_str(out, h->hash);
    wire_put_str(out, h->admin);
    wire_put_str(out, h->state_dir);
    wire_put_str(out, h->runs_dir);
    wire_put_u32(out, h->caps);
    put_pairs(out, &h->settings);
    put_pairs(out, &h->trees);
    wire_put_u32(out, h->n_nodes);
    for (uint32_t i = 0; i < h->n_nodes; i++) {
        put_node(out, &h->nodes[i]);
        wire_put_u32(out, h->marks ? h->marks[i] : 0);
    }
}

bool entry_get_header(const struct frame *frame, struct arena *a, struct recording_header *h)
{
    struct wire_reader from = reader_of(frame);
    *h = (struct recording_header){ .version = text_or(wire_get_str(&from, a), "") };
    h->started = wire_get_u8(&from);
    h->at_ms = wire_get_u64(&from);
    h->mono_us = wire_get_u64(&from);
    h->created_ms = wire_get_u64(&from);
    h->first = wire_get_u64(&from);
    h->meetings = wire_get_u64(&from);
    h->hash = text_or(wire_get_str(&from, a), "");
    h->admin = text_or(wire_get_str(&from, a), "root");
    h->state_dir = text_or(wire_get_str(&from, a), "");
    h->runs_dir = text_or(wire_get_str(&from, a), "");
    h->caps = wire_get_u32(&from);
    h->settings = get_pairs(&from, a);
    h->trees = get_pairs(&from, a);
    h->n_nodes = wire_get_count(&from, 60);
    h->nodes = ARENA_ARRAY(a, h->n_nodes, struct node_spec);
    h->marks = ARENA_ARRAY(a, h->n_nodes, uint32_t);
    for (uint32_t i = 0; i < h->n_nodes; i++) {
        get_node(&from, a, &h->nodes[i]);
        h->marks[i] = wire_get_u32(&from);
    }
    return frame->kind == FRAME_HEADER && all_read(&from) && h->n_nodes > 0;
}

/* ---- inputs ---- */

enum submit_flags {
    WAIT_FOR_NODES = 1,
    APPLY = 2,
    REPLACE = 4,
    UNIQUE = 8,
    PYTHON = 16,
    SEALED = 32,
    ACCOUNT = 64
};

/* Whose members are sealed, in arena. */
static struct ctl_submit seal_submit(struct arena *a, const struct ctl_submit *s,
                                     const struct seal *seal)
{
    struct ctl_submit sealed = *s;
    const char **sets = ARENA_ARRAY(a, s->sets.n, const char *);
    sealed.env = (struct pairs){ .n = 0 };
    if (s->text) {
        AUTO_FREE char *text = seal_text(seal, s->text, s->len);
        sealed.text = arena_strdup(a, text);
        sealed.len = strlen(text);
    }
    for (size_t i = 0; i < s->env.n; i++) {
        AUTO_FREE char *value = seal_text(seal, s->env.at[i].value, strlen(s->env.at[i].value));
        pairs_set(&sealed.env, a, s->env.at[i].name, value);
    }
    for (size_t i = 0; i < s->sets.n; i++) {
        AUTO_FREE char *set = seal_text(seal, s->sets.at[i], strlen(s->sets.at[i]));
        sets[i] = arena_strdup(a, set);
    }
    sealed.sets.at = sets;
    return sealed;
}

/* In place. false: sealed with another key, or damaged. */
static bool reveal_submit(struct arena *a, struct ctl_submit *s, const struct seal *seal)
{
    const char **sets = ARENA_ARRAY(a, s->sets.n, const char *);
    bool good = true;
    if (s->text) {
        s->text = seal_reveal(seal, a, s->text);
        s->len = s->text ? strlen(s->text) : 0;
        good = s->text != NULL;
    }
    for (size_t i = 0; i < s->env.n; i++)
        good = (s->env.at[i].value = seal_reveal(seal, a, s->env.at[i].value)) && good;
    for (size_t i = 0; i < s->sets.n; i++)
        good = (sets[i] = seal_reveal(seal, a, s->sets.at[i])) && good;
    s->sets.at = sets;
    return good;
}

static void put_account(struct buf *out, const struct account *account)
{
    wire_put_str(out, account->name);
    wire_put_str(out, account->home);
    wire_put_str(out, account->shell);
    wire_put_u32(out, account->ids.uid);
    wire_put_u32(out, account->ids.gid);
    wire_put_u32(out, (uint32_t)account->ids.n_groups);
    for (size_t i = 0; i < account->ids.n_groups; i++)
        wire_put_u32(out, account->ids.groups[i]);
}

static const struct account *get_account(struct wire_reader *from, struct arena *a)
{
    struct account *account = ARENA_NEW(a, struct account);
    account->name = text_or(wire_get_str(from, a), "");
    account->home = text_or(wire_get_str(from, a), "");
    account->shell = text_or(wire_get_str(from, a), "");
    account->ids.uid = wire_get_u32(from);
    account->ids.gid = wire_get_u32(from);
    uint32_t n = wire_get_u32(from);
    uint32_t *groups = ARENA_ARRAY(a, ACCOUNT_GROUPS_MAX, uint32_t);
    from->bad |= n > ACCOUNT_GROUPS_MAX;
    for (uint32_t i = 0; i < n && !from->bad; i++)
        groups[i] = wire_get_u32(from);
    account->ids.groups = groups;
    account->ids.n_groups = from->bad ? 0 : n;
    return account;
}

static void put_submit(struct buf *out, const struct ctl_submit *s, bool sealed)
{
    wire_put_str(out, s->owner);
    put_blob(out, s->text, s->len);
    wire_put_str(out, s->from);
    wire_put_str(out, s->name);
    wire_put_str(out, s->queue);
    put_pairs(out, &s->env);
    put_words(out, &s->sets);
    wire_put_str(out, s->file);
    wire_put_str(out, s->code_dir);
    wire_put_str(out, s->work_dir);
    wire_put_str(out, s->key);
    wire_put_u8(out, (uint8_t)((s->wait_for_nodes ? WAIT_FOR_NODES : 0) | (s->apply ? APPLY : 0) |
                               (s->replace ? REPLACE : 0) | (s->unique ? UNIQUE : 0) |
                               (s->python ? PYTHON : 0) | (sealed ? SEALED : 0) |
                               (s->account ? ACCOUNT : 0)));
    wire_put_u64(out, s->like);
    if (s->python) { /* recordings of before have none of it */
        wire_put_str(out, s->python);
        wire_put_str(out, s->python_from);
    }
    if (s->account)
        put_account(out, s->account);
}

static void put_sealed_submit(struct buf *out, const struct ctl_submit *s, const struct seal *seal)
{
    struct arena *arena = arena_create();
    struct ctl_submit sealed = seal ? seal_submit(arena, s, seal) : *s;
    put_submit(out, &sealed, seal != NULL);
    arena_destroy(arena);
}

static const struct ctl_submit *get_submit(struct wire_reader *from, struct arena *a,
                                           const struct seal *seal)
{
    struct ctl_submit *s = ARENA_NEW(a, struct ctl_submit);
    s->owner = text_or(wire_get_str(from, a), "");
    s->text = get_blob(from, a, &s->len);
    s->from = wire_get_str(from, a);
    s->name = wire_get_str(from, a);
    s->queue = wire_get_str(from, a);
    s->env = get_pairs(from, a);
    s->sets = get_words(from, a);
    s->file = wire_get_str(from, a);
    s->code_dir = wire_get_str(from, a);
    s->work_dir = wire_get_str(from, a);
    s->key = wire_get_str(from, a);
    uint8_t flags = wire_get_u8(from);
    s->wait_for_nodes = flags & WAIT_FOR_NODES;
    s->apply = flags & APPLY;
    s->replace = flags & REPLACE;
    s->unique = flags & UNIQUE;
    s->like = wire_get_u64(from);
    if (flags & PYTHON) {
        s->python = wire_get_str(from, a);
        s->python_from = text_or(wire_get_str(from, a), "");
    }
    if (flags & ACCOUNT)
        s->account = get_account(from, a);
    from->bad |= !s->text && !s->like;
    if (flags & SEALED)
        from->bad |= !reveal_submit(a, s, seal);
    return s;
}

static void put_restart(struct buf *out, const struct ctl_restart *r)
{
    wire_put_str(out, r->owner);
    wire_put_u64(out, r->job);
    wire_put_str(out, r->reason);
    wire_put_u8(out, (uint8_t)r->how);
    put_words(out, &r->tasks);
}

static const struct ctl_restart *get_restart(struct wire_reader *from, struct arena *a)
{
    struct ctl_restart *r = ARENA_NEW(a, struct ctl_restart);
    r->owner = text_or(wire_get_str(from, a), "");
    r->job = wire_get_u64(from);
    r->reason = wire_get_str(from, a);
    uint8_t how = wire_get_u8(from);
    from->bad |= how > RESTART_NEVER;
    r->how = how <= RESTART_NEVER ? how : RESTART_WISH;
    r->tasks = get_words(from, a);
    return r;
}

static const struct ctl_declaration *get_declaration(struct wire_reader *from, struct arena *a)
{
    struct ctl_declaration *d = ARENA_NEW(a, struct ctl_declaration);
    d->owner = text_or(wire_get_str(from, a), "");
    d->text = text_or(get_blob(from, a, &d->len), "");
    return d;
}

static void put_board(struct buf *out, const struct ctl_board *b)
{
    wire_put_str(out, b->owner);
    wire_put_u64(out, b->job);
    wire_put_str(out, b->key);
    put_blob(out, b->value, b->len);
}

static const struct ctl_board *get_board(struct wire_reader *from, struct arena *a)
{
    struct ctl_board *b = ARENA_NEW(a, struct ctl_board);
    b->owner = text_or(wire_get_str(from, a), "");
    b->job = wire_get_u64(from);
    b->key = text_or(wire_get_str(from, a), "");
    b->value = text_or(get_blob(from, a, &b->len), "");
    return b;
}

enum objects_flags { CREATE = 1, TOLD = 2 };

/* Which, not what they say: an empty map stands for a text. */
static void put_objects(struct buf *out, const struct ctl_objects *o)
{
    wire_put_str(out, o->by);
    wire_put_u8(out, (uint8_t)((o->create ? CREATE : 0) | (o->told ? TOLD : 0)));
    wire_put_u8(out, (uint8_t)o->hold);
    wire_put_u32(out, (uint32_t)o->n);
    for (size_t i = 0; i < o->n; i++) {
        wire_put_str(out, o->at[i].kind);
        wire_put_str(out, o->at[i].project);
        wire_put_str(out, o->at[i].name);
        wire_put_u8(out, o->at[i].spec != NULL);
    }
}

static const struct ctl_objects *get_objects(struct wire_reader *from, struct arena *a)
{
    struct ctl_objects *o = ARENA_NEW(a, struct ctl_objects);
    o->by = text_or(wire_get_str(from, a), "");
    uint8_t flags = wire_get_u8(from), hold = wire_get_u8(from);
    o->create = flags & CREATE;
    o->told = flags & TOLD;
    from->bad |= hold > OBJECT_LET_GO;
    o->hold = hold <= OBJECT_LET_GO ? (enum object_hold)hold : OBJECT_HOLD_NOT;
    o->n = wire_get_count(from, 13);
    struct ctl_object *at = ARENA_ARRAY(a, o->n, struct ctl_object);
    for (size_t i = 0; i < o->n; i++) {
        at[i].kind = text_or(wire_get_str(from, a), "");
        at[i].project = text_or(wire_get_str(from, a), "");
        at[i].name = text_or(wire_get_str(from, a), "");
        at[i].spec = wire_get_u8(from) ? text_map(a, NULL, NULL) : NULL;
        from->bad |= strchr(at[i].kind, '.') == NULL;
    }
    o->at = at;
    return o;
}

/* WAKEUP, CAUSE: it follows; recordings of older versions have no CAUSE. */
enum ending_flags { EXITED = 1, OOM = 2, LOST = 4, WAKEUP = 8, CAUSE = 16 };

static bool has_ending(const struct engine_fact *f)
{
    return f->kind == FACT_ENDED || f->kind == FACT_REFUSED || f->kind == FACT_DIED;
}

static void put_fact(struct buf *out, const struct engine_fact *f)
{
    const struct ending *e = &f->ending;
    wire_put_u8(out, (uint8_t)f->kind);
    wire_put_u64(out, f->generation.job);
    wire_put_u32(out, f->generation.number);
    wire_put_str(out, f->node);
    wire_put_u64(out, f->seq);
    wire_put_u32(out, f->task.role);
    wire_put_u32(out, f->task.index);
    wire_put_u32(out, f->attempt);
    wire_put_u64(out, f->at_ms);
    wire_put_u32(out, f->pid);
    wire_put_u64(out, f->log_end);
    wire_put_str(out, f->reason);
    if (has_ending(f)) {
        wire_put_u8(out, (uint8_t)((e->exited ? EXITED : 0) | (e->oom ? OOM : 0) |
                                   (e->lost ? LOST : 0) | (f->wakeup ? WAKEUP : 0) | CAUSE));
        if (f->wakeup)
            wire_put_u64(out, f->wakeup);
        wire_put_u8(out, (uint8_t)e->cause);
        wire_put_u32(out, (uint32_t)e->code);
        wire_put_u32(out, (uint32_t)e->signal);
        wire_put_u8(out, (uint8_t)e->by);
        wire_put_str(out, e->reason);
        wire_put_u64(out, e->memory_peak);
        wire_put_str(out, e->tail);
    } else if (f->kind == FACT_LAUNCHER) {
        wire_put_u32(out, f->launcher.channel);
        wire_put_u8(out, (uint8_t)f->launcher.what);
        wire_put_bytes(out, f->launcher.bytes, f->launcher.bytes ? f->launcher.len : 0);
    }
}

static void get_ending(struct wire_reader *from, struct arena *a, struct engine_fact *f)
{
    struct ending *e = &f->ending;
    uint8_t flags = wire_get_u8(from);
    if (flags & WAKEUP)
        f->wakeup = wire_get_u64(from);
    uint8_t cause = flags & CAUSE ? wire_get_u8(from) : CAUSE_NONE;
    from->bad |= cause >= END_CAUSE_N;
    e->exited = flags & EXITED;
    e->oom = flags & OOM;
    e->lost = flags & LOST;
    e->code = (int)wire_get_u32(from);
    e->signal = (int)wire_get_u32(from);
    uint8_t by = wire_get_u8(from);
    from->bad |= by >= END_BY_N;
    e->by = by < END_BY_N ? (enum end_by)by : BY_NONE;
    e->reason = wire_get_str(from, a);
    e->cause = flags & CAUSE ? (enum end_cause)(cause < END_CAUSE_N ? cause : CAUSE_NONE)
                             : old_end_cause(e->by, e->reason);
    e->memory_peak = wire_get_u64(from);
    e->tail = wire_get_str(from, a);
}

static const struct engine_fact *get_fact(struct wire_reader *from, struct arena *a)
{
    struct engine_fact *f = ARENA_NEW(a, struct engine_fact);
    uint8_t kind = wire_get_u8(from);
    from->bad |= kind == FACT_NONE || kind >= FACT_N || kind == FACT_LOG;
    f->kind = kind < FACT_N ? (enum engine_fact_kind)kind : FACT_NONE;
    f->generation.job = wire_get_u64(from);
    f->generation.number = wire_get_u32(from);
    f->node = text_or(wire_get_str(from, a), "");
    f->seq = wire_get_u64(from);
    f->task.role = (uint16_t)wire_get_u32(from);
    f->task.index = wire_get_u32(from);
    f->attempt = wire_get_u32(from);
    f->at_ms = wire_get_u64(from);
    f->pid = wire_get_u32(from);
    f->log_end = wire_get_u64(from);
    f->reason = wire_get_str(from, a);
    if (has_ending(f)) {
        get_ending(from, a, f);
    } else if (f->kind == FACT_LAUNCHER) {
        f->launcher.channel = wire_get_u32(from);
        uint8_t what = wire_get_u8(from);
        from->bad |= what < LAUNCHER_OPEN || what > LAUNCHER_CLOSE;
        f->launcher.what = (enum launcher_what)what;
        f->launcher.bytes = wire_get_bytes(from, &f->launcher.len);
    }
    return f;
}

void entry_put_input(struct buf *out, const struct ctl_input *in, const struct seal *seal)
{
    wire_put_u8(out, (uint8_t)in->kind);
    wire_put_u64(out, in->at_ms);
    wire_put_u64(out, in->mono_us);
    wire_put_u32(out, in->pass);
    switch (in->kind) {
    case INPUT_SUBMIT: put_sealed_submit(out, in->submit, seal); break;
    case INPUT_COMMAND:
        wire_put_str(out, in->owner);
        wire_put_u64(out, in->job);
        wire_put_u8(out, (uint8_t)in->what);
        break;
    case INPUT_RESTART: put_restart(out, in->restart); break;
    case INPUT_DECLARE:
        wire_put_str(out, in->declaration->owner);
        put_blob(out, in->declaration->text, in->declaration->len);
        break;
    case INPUT_UNDECLARE:
        wire_put_str(out, in->owner);
        wire_put_str(out, in->name);
        wire_put_u8(out, (uint8_t)in->what);
        break;
    case INPUT_BOARD: put_board(out, in->board); break;
    case INPUT_NODE:
        wire_put_str(out, in->name);
        wire_put_u8(out, (uint8_t)in->what);
        break;
    case INPUT_EVENT: wire_put_str(out, in->name); break;
    case INPUT_DEVICE:
        wire_put_str(out, in->name);
        wire_put_u32(out, in->what);
        wire_put_str(out, in->why);
        break;
    case INPUT_SEEN:
        wire_put_str(out, in->name);
        wire_put_u32(out, in->what);
        break;
    case INPUT_DEVICES:
        wire_put_str(out, in->name);
        put_report(out, in->report);
        break;
    case INPUT_FACT: put_fact(out, in->fact); break;
    case INPUT_OBJECTS: put_objects(out, in->objects); break;
    default: break;
    }
}

static void get_command(struct wire_reader *from, struct arena *a, struct ctl_input *in)
{
    in->owner = text_or(wire_get_str(from, a), "");
    in->job = wire_get_u64(from);
    in->what = wire_get_u8(from);
    from->bad |= in->what == CTL_PRIORITY || in->what > CTL_PRIORITY_LAST;
}

static void get_undeclare(struct wire_reader *from, struct arena *a, struct ctl_input *in)
{
    in->owner = text_or(wire_get_str(from, a), "");
    in->name = text_or(wire_get_str(from, a), "");
    in->what = wire_get_u8(from);
    from->bad |= in->what >= ENTRY_KIND_N;
}

bool entry_get_input(const struct frame *frame, struct arena *a, const struct seal *seal,
                     struct ctl_input *in)
{
    struct wire_reader from = reader_of(frame);
    uint8_t kind = wire_get_u8(&from);
    *in = (struct ctl_input){ .kind = kind < INPUT_N ? (enum ctl_input_kind)kind : INPUT_NONE };
    in->at_ms = wire_get_u64(&from);
    in->mono_us = wire_get_u64(&from);
    in->pass = wire_get_u32(&from);
    switch (in->kind) {
    case INPUT_SUBMIT: in->submit = get_submit(&from, a, seal); break;
    case INPUT_COMMAND: get_command(&from, a, in); break;
    case INPUT_RESTART: in->restart = get_restart(&from, a); break;
    case INPUT_DECLARE: in->declaration = get_declaration(&from, a); break;
    case INPUT_UNDECLARE: get_undeclare(&from, a, in); break;
    case INPUT_BOARD: in->board = get_board(&from, a); break;
    case INPUT_NODE:
        in->name = text_or(wire_get_str(&from, a), "");
        in->what = wire_get_u8(&from);
        break;
    case INPUT_EVENT: in->name = text_or(wire_get_str(&from, a), ""); break;
    case INPUT_DEVICE:
        in->name = text_or(wire_get_str(&from, a), "");
        in->what = wire_get_u32(&from);
        in->why = text_or(wire_get_str(&from, a), "");
        break;
    case INPUT_SEEN:
        in->name = text_or(wire_get_str(&from, a), "");
        in->what = wire_get_u32(&from);
        break;
    case INPUT_DEVICES:
        in->name = text_or(wire_get_str(&from, a), "");
        in->report = get_report(&from, a);
        from.bad |= !in->report;
        break;
    case INPUT_FACT: in->fact = get_fact(&from, a); break;
    case INPUT_OBJECTS: in->objects = get_objects(&from, a); break;
    default: break;
    }
    return in->kind != INPUT_NONE && all_read(&from);
}

/* ---- what follows an input ---- */

void entry_put_refusal(struct buf *out, const struct recorded_refusal *r)
{
    wire_put_u8(out, (uint8_t)r->what);
    wire_put_u32(out, r->ordinal);
    wire_put_u8(out, (uint8_t)r->err.code);
    wire_put_str(out, r->err.what);
    wire_put_str(out, r->err.hint);
}

bool entry_get_refusal(const struct frame *frame, struct arena *a, struct recorded_refusal *r)
{
    struct wire_reader from = reader_of(frame);
    *r = (struct recorded_refusal){ .what = (enum ctl_outside)wire_get_u8(&from) };
    r->ordinal = wire_get_u32(&from);
    uint8_t code = wire_get_u8(&from);
    r->err.code = code < ERR_N ? (enum err_code)code : ERR_SYSTEM;
    snprintf(r->err.what, sizeof r->err.what, "%s", text_or(wire_get_str(&from, a), ""));
    snprintf(r->err.hint, sizeof r->err.hint, "%s", text_or(wire_get_str(&from, a), ""));
    return all_read(&from);
}

void entry_put_decision(struct buf *out, const struct ctl_decision *d)
{
    wire_put_u64(out, d->job);
    wire_put_u64(out, d->number);
    wire_put_str(out, d->name);
    wire_put_str(out, d->what);
    wire_put_str(out, d->text);
    wire_put_str(out, d->nodes);
    wire_put_u64(out, d->at_ms);
}

bool entry_get_decision(const struct frame *frame, struct arena *a, struct ctl_decision *d)
{
    struct wire_reader from = reader_of(frame);
    *d = (struct ctl_decision){ .job = wire_get_u64(&from) };
    d->number = wire_get_u64(&from);
    d->name = text_or(wire_get_str(&from, a), "");
    d->what = text_or(wire_get_str(&from, a), "");
    d->text = text_or(wire_get_str(&from, a), "");
    d->nodes = text_or(wire_get_str(&from, a), "");
    d->at_ms = wire_get_u64(&from);
    return all_read(&from);
}
