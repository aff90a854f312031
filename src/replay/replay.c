/* The player. An input is read together with all that was written after it (what was refused
 * outside, what was decided), given to the core, and its decisions are compared. The next segment
 * of an unbroken recording goes on with the same core; one in which a server began, or before which
 * something is missing, begins with its own copy of the records. */
#include "replay/replay.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "clock/steady_clock.h"
#include "ctl/node_work.h"
#include "inventory/closed_devices.h"
#include "job/gpu.h"
#include "replay/null_engine.h"
#include "store/seal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct decisions {
    VEC(struct ctl_decision) list;
};
struct sides { /* of a job: all its decisions so far, folded */
    uint64_t was, is;
};
struct replay {
    struct replay_config config;
    struct replay_result *result;
    struct ctl_tape tape;
    struct store *store;
    struct engine *engine;
    struct ctl *ctl;
    struct arena *made;  /* headers, and what is made of them */
    struct arena *arena; /* of one input */
    const char *admin;
    uint64_t now_ms, now_us;
    /* of one input */
    struct ctl_input input;
    VEC(struct ctl_input) nested;
    VEC(struct recorded_refusal) refusals;
    struct decisions was, is;
    size_t fed; /* of the nested ones */
    uint32_t questions;
    bool listening; /* decisions count */
    bool parted;
    struct map *jobs; /* struct sides by number */
    /* reading */
    struct segment_reader reader;
    struct frame ahead; /* read, not used */
    bool has_ahead, seen_end;
    uint64_t expected; /* number of the next input of an unbroken recording */
};

/* ---- the world of the core ---- */

static uint64_t now(void *arg)
{
    return ((const struct replay *)arg)->now_ms;
}

static uint64_t mono(void *arg)
{
    return ((const struct replay *)arg)->now_us;
}

static struct ctl_decision kept(struct arena *a, const struct ctl_decision *d)
{
    struct ctl_decision copy = *d;
    copy.name = arena_strdup(a, d->name);
    copy.what = arena_strdup(a, d->what);
    copy.text = arena_strdup(a, d->text);
    copy.nodes = arena_strdup(a, d->nodes);
    return copy;
}

static void on_decided(void *arg, const struct ctl_decision *decision)
{
    struct replay *r = arg;
    if (!r->listening)
        return;
    vec_push(&r->is.list, kept(r->arena, decision));
    r->result->decisions++;
}

/* The same question in the same place has the same answer. */
static int on_outside(void *arg, enum ctl_outside_call what, int rc, struct err *err)
{
    struct replay *r = arg;
    (void)rc;
    r->questions++;
    for (size_t i = 0; i < r->refusals.n; i++) {
        const struct recorded_refusal *refusal = &r->refusals.at[i];
        if (refusal->ordinal != r->questions || refusal->what != what)
            continue;
        if (err)
            *err = refusal->err;
        return -1;
    }
    return 0;
}

static void on_answer(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    (void)answer;
}

static void feed_nested(struct replay *r);

static void on_recover(void *arg)
{
    feed_nested(arg);
}

static void close_core(struct replay *r)
{
    ctl_destroy(r->ctl);
    if (r->engine)
        r->engine->ops->destroy(r->engine);
    store_close(r->store);
    r->ctl = NULL;
    r->engine = NULL;
    r->store = NULL;
}

/* What submissions said is sealed in a recording: it is replayed where its server's key is. A
 * recording of an older server has little that is, and needs no key for the rest. */
static int open_seal(struct replay *r, const struct recording_header *h, struct err *err)
{
    const char *own = pairs_get(&h->settings, "seal_key");
    const char *path = r->config.seal_key ? r->config.seal_key : own ? own : "";
    bool needed = r->config.seal_key || store_has_sealed(r->store), fits = true;
    if (!needed && access(path, R_OK) != 0)
        return 0;
    struct seal *seal = seal_open(path, true, err);
    if (!seal && access(path, F_OK) != 0) {
        err_set(err, ERR_CANNOT, "the recording is sealed, and its server's key %s is not here",
                path);
        return err_hint(err, "--seal-key FILE says where it is");
    }
    if (!seal || store_use_seal(r->store, seal, &fits, err))
        return -1;
    if (fits)
        return 0;
    err_set(err, ERR_CANNOT, "%s is not the key that the recording is sealed with", path);
    return err_hint(err, "its server had %s; --seal-key FILE says where that is", own ? own : "?");
}

static int open_core(struct replay *r, const struct recording_header *h, const char *records,
                     struct err *err)
{
    close_core(r);
    r->store = store_open_copy(records, err);
    if (!r->store)
        return -1;
    if (open_seal(r, h, err))
        return -1;
    r->engine = null_engine_create(h->caps, on_recover, r);
    r->admin = h->admin;
    struct ctl_config config = { .nodes = h->nodes, .n_nodes = h->n_nodes };
    if (r->config.settings(r->config.settings_arg, r->made, h, &config, err))
        return -1;
    config.store = r->store;
    config.engine = r->engine;
    config.state_dir = h->state_dir;
    config.runs_dir = h->runs_dir;
    config.admin = r->admin;
    config.now = now;
    config.mono = mono;
    config.base_ms = (int64_t)h->at_ms - (int64_t)(h->mono_us / 1000); /* of an older one */
    config.has_base = true;
    (void)clock_recorded(r->store, &config.base_ms);
    config.now_arg = r;
    config.tape = &r->tape;
    r->now_ms = h->created_ms;
    r->now_us = h->mono_us;
    r->ctl = ctl_create(&config, err);
    return r->ctl ? 0 : -1;
}

/* ---- comparing ---- */

static bool same(const struct ctl_decision *a, const struct ctl_decision *b)
{
    return a->number == b->number && a->at_ms == b->at_ms && strcmp(a->what, b->what) == 0 &&
           strcmp(a->text, b->text) == 0 && strcmp(a->nodes, b->nodes) == 0;
}

static uint64_t folded(uint64_t sum, uint64_t input, const struct ctl_decision *d)
{
    static const struct hash_seed seed = { { 1, 2 } };
    sum = hash_u64(sum ^ input) ^ hash_bytes(seed, d->what, strlen(d->what));
    sum = hash_u64(sum) ^ hash_bytes(seed, d->text, strlen(d->text));
    return hash_u64(sum) ^ hash_bytes(seed, d->nodes, strlen(d->nodes)) ^ d->at_ms;
}

static struct sides *sides_of(struct replay *r, uint64_t number)
{
    struct sides *sides = map_get(r->jobs, number);
    if (!sides) {
        sides = mem_new(sizeof *sides);
        map_set(r->jobs, number, sides);
    }
    return sides;
}

static void fold(struct replay *r, uint64_t input)
{
    for (size_t i = 0; i < r->was.list.n; i++) {
        struct sides *sides = sides_of(r, r->was.list.at[i].number);
        sides->was = folded(sides->was, input, &r->was.list.at[i]);
    }
    for (size_t i = 0; i < r->is.list.n; i++) {
        struct sides *sides = sides_of(r, r->is.list.at[i].number);
        sides->is = folded(sides->is, input, &r->is.list.at[i]);
    }
}

static void compare(struct replay *r, uint64_t input)
{
    size_t n = r->was.list.n > r->is.list.n ? r->was.list.n : r->is.list.n;
    fold(r, input);
    for (size_t i = 0; i < n && !r->parted; i++) {
        const struct ctl_decision *was = i < r->was.list.n ? &r->was.list.at[i] : NULL;
        const struct ctl_decision *is = i < r->is.list.n ? &r->is.list.at[i] : NULL;
        if (was && is && same(was, is))
            continue;
        r->parted = true;
        struct replay_difference parting = {
            .input = input, .at_ms = r->now_ms, .was = was, .is = is
        };
        if (r->config.watch.parted)
            r->config.watch.parted(r->config.watch.arg, &parting);
    }
}

static void compare_hash(struct replay *r, const char *recorded)
{
    struct replay_result *result = r->result;
    answer_state_hash(r->ctl, result->hash);
    snprintf(result->recorded, sizeof result->recorded, "%s", recorded);
    result->checks++;
    if (strcmp(result->hash, recorded) != 0 && !result->lost_at)
        result->lost_at = result->last ? result->last : 1;
}

/* ---- an input ---- */

/* The cluster goes on with it when the input is over. */
static struct gpu_report *lasting(struct replay *r, const struct gpu_report *from)
{
    size_t pairs = from->near ? (size_t)from->n_slots * from->n_slots : 0;
    struct gpu_report *copy = ARENA_NEW(r->made, struct gpu_report);
    *copy = *from;
    copy->at = ARENA_ARRAY(r->made, from->n, struct gpu_device);
    for (size_t i = 0; i < from->n; i++) {
        copy->at[i] = from->at[i];
        copy->at[i].model = arena_strdup(r->made, from->at[i].model);
    }
    copy->near = pairs ? ARENA_ARRAY(r->made, pairs, uint32_t) : NULL;
    if (pairs)
        memcpy(copy->near, from->near, pairs * sizeof *copy->near);
    return copy;
}

static void feed_machine(struct replay *r, const struct engine_fact *said)
{
    struct engine_fact fact = *said;
    struct node_spec spec = *said->spec;
    spec.report = spec.report ? lasting(r, spec.report) : NULL;
    fact.spec = &spec;
    r->engine->sink.fact(r->engine->sink.arg, &fact);
}

static void feed_device(struct ctl *ctl, const struct ctl_input *in)
{
    const struct device_trouble trouble = { .why = in->why };
    ctl_device(ctl, in->name, in->what, *in->why ? &trouble : NULL);
}

static void feed(struct replay *r, const struct ctl_input *in)
{
    struct ctl *ctl = r->ctl;
    struct err err;
    r->now_ms = in->at_ms;
    r->now_us = in->mono_us;
    switch (in->kind) {
    case INPUT_RECOVER:
        if (ctl_recover(ctl, &err))
            log_error("replay.recover", "%s", err.what);
        break;
    case INPUT_SUBMIT: ctl_submit(ctl, in->submit, on_answer, r); break;
    case INPUT_COMMAND:
        ctl_command(ctl, in->owner, in->job, (enum ctl_verb)in->what, on_answer, r);
        break;
    case INPUT_RESTART: ctl_restart(ctl, in->restart, on_answer, r); break;
    case INPUT_DECLARE: ctl_declare(ctl, in->declaration, on_answer, r); break;
    case INPUT_UNDECLARE:
        ctl_undeclare(ctl, in->owner, (enum entry_kind)in->what, in->name, on_answer, r);
        break;
    case INPUT_BOARD: ctl_board_put(ctl, in->board, on_answer, r); break;
    case INPUT_NODE: ctl_node_command(ctl, in->name, in->what, on_answer, r); break;
    case INPUT_DEVICE: feed_device(ctl, in); break;
    case INPUT_SEEN: ctl_device_seen(ctl, in->name, in->what); break;
    case INPUT_DEVICES: ctl_devices(ctl, in->name, lasting(r, in->report)); break;
    case INPUT_OBJECTS: ctl_documents_put(ctl, in->objects, on_answer, r); break;
    case INPUT_EVENT: ctl_server_event(ctl, in->name, NULL, on_answer, r); break;
    case INPUT_FACT: r->engine->sink.fact(r->engine->sink.arg, in->fact); break;
    case INPUT_MACHINE: feed_machine(r, in->fact); break;
    case INPUT_TURN: ctl_turn(ctl); break;
    case INPUT_TICK: ctl_tick(ctl); break;
    case INPUT_PLAN: ctl_plan(ctl); break;
    default: break;
    }
}

static void feed_nested(struct replay *r)
{
    while (r->fed < r->nested.n)
        feed(r, &r->nested.at[r->fed++]);
}

/* What was given by who got an answer: within a turn, after as many plans as then. */
static bool on_answered(void *arg, uint32_t pass)
{
    struct replay *r = arg;
    size_t first = r->fed;
    while (r->fed < r->nested.n && r->nested.at[r->fed].pass <= pass)
        feed(r, &r->nested.at[r->fed++]);
    return r->fed > first;
}

static void play(struct replay *r, uint64_t number)
{
    struct replay_result *result = r->result;
    r->questions = 0;
    feed(r, &r->input);
    feed_nested(r);
    result->inputs++;
    result->last = number;
    result->last_ms = r->input.at_ms;
    r->expected = number + 1;
    for (size_t i = 0; i < r->is.list.n && r->config.watch.decided; i++)
        r->config.watch.decided(r->config.watch.arg, number, r->now_ms, &r->is.list.at[i]);
    compare(r, number);
    r->reader.last = number;
    r->fed = 0;
    vec_clear(&r->nested);
    vec_clear(&r->refusals);
    vec_clear(&r->was.list);
    vec_clear(&r->is.list);
    arena_reset(r->arena);
}

/* ---- reading ---- */

static int next(struct replay *r, struct frame *frame, struct err *err)
{
    if (r->has_ahead) {
        r->has_ahead = false;
        *frame = r->ahead;
        return 1;
    }
    return segment_next(&r->reader, frame, err);
}

static int senseless(const struct replay *r, const struct frame *frame, struct err *err)
{
    err_set(err, ERR_INPUT,
            "%s: byte %zu: this entry makes no sense; the last complete input is %llu",
            r->reader.path, frame->at, (unsigned long long)r->result->last);
    return err_hint(err, "it was written by another version, or damaged");
}

static bool take(struct replay *r, const struct frame *frame)
{
    bool good = true;
    if (frame->kind == FRAME_NESTED)
        good = entry_get_input(frame, r->arena, store_seal(r->store), vec_add(&r->nested));
    else if (frame->kind == FRAME_REFUSED)
        good = entry_get_refusal(frame, r->arena, vec_add(&r->refusals));
    else if (frame->kind == FRAME_DECIDED)
        good = entry_get_decision(frame, r->arena, vec_add(&r->was.list));
    return good;
}

/* All that belongs to the input. 0; -1: what follows it is cut, and nothing of it is used. */
static int gather(struct replay *r, const struct frame *input, struct err *err)
{
    struct frame frame;
    int more;
    if (!entry_get_input(input, r->arena, store_seal(r->store), &r->input))
        return senseless(r, input, err);
    while ((more = next(r, &frame, err)) == 1) {
        if (frame.kind != FRAME_NESTED && frame.kind != FRAME_REFUSED &&
            frame.kind != FRAME_DECIDED) {
            r->ahead = frame;
            r->has_ahead = true;
            break;
        }
        if (!take(r, &frame))
            return senseless(r, &frame, err);
    }
    return more < 0 ? -1 : 0;
}

static bool is_past(const struct replay *r, uint64_t number)
{
    if (r->config.until == UNTIL_TIME)
        return r->input.at_ms > r->config.at;
    return r->config.until == UNTIL_INPUT && number > r->config.at;
}

static int check(struct replay *r, const struct frame *frame, struct err *err)
{
    char hash[STATE_HASH_TEXT];
    if (frame->len != STATE_HASH_TEXT - 1)
        return senseless(r, frame, err);
    snprintf(hash, sizeof hash, "%.*s", STATE_HASH_TEXT - 1, (const char *)frame->body);
    compare_hash(r, hash);
    r->seen_end = frame->kind == FRAME_END;
    return 0;
}

/* Of one segment: all inputs. -1: it is cut or damaged. */
static int play_segment(struct replay *r, struct err *err)
{
    struct frame frame;
    int more = 0;
    while (!r->result->stopped && (more = next(r, &frame, err)) == 1) {
        if (frame.kind == FRAME_CHECK || frame.kind == FRAME_END) {
            if (check(r, &frame, err))
                return -1;
            continue;
        }
        if (frame.kind != FRAME_INPUT)
            return senseless(r, &frame, err);
        if (gather(r, &frame, err))
            return -1;
        if (is_past(r, frame.number))
            r->result->stopped = true;
        else
            play(r, frame.number);
    }
    return more < 0 ? -1 : 0;
}

/* The core at the beginning of a segment. */
static int begin(struct replay *r, const struct recording_header *h, const char *records,
                 struct err *err)
{
    bool goes_on = r->ctl && !h->started && h->first == r->expected;
    r->expected = h->first;
    r->listening = true;
    if (!goes_on && open_core(r, h, records, err))
        return -1;
    if (!goes_on && !h->started) { /* begun in the middle: the copy, and what it does not say */
        r->now_ms = h->at_ms;
        r->listening = false;
        if (ctl_recover(r->ctl, err))
            return -1;
        ctl_set_port_marks(r->ctl, h->marks, h->n_nodes);
        r->listening = true;
        r->result->meetings += h->meetings;
    }
    if (*h->hash)
        compare_hash(r, h->hash);
    return 0;
}

/* A time of day becomes the first such moment in the recording. */
static void settle_clock(struct replay_config *config, uint64_t begins_ms)
{
    if (config->until != UNTIL_CLOCK)
        return;
    time_t begins = (time_t)(begins_ms / 1000);
    struct tm day = { .tm_mday = 1 };
    localtime_r(&begins, &day);
    day.tm_hour = day.tm_min = 0;
    day.tm_sec = (int)(config->at / 1000);
    day.tm_isdst = -1;
    time_t at = mktime(&day);
    if (at < begins - 60) { /* the minute in which it begins is meant too */
        day.tm_mday++;
        at = mktime(&day);
    }
    config->until = UNTIL_TIME;
    config->at = (uint64_t)at * 1000;
}

static int play_one(struct replay *r, const char *dir, uint64_t number, struct err *err)
{
    AUTO_FREE char *inputs = segment_inputs(dir, number);
    AUTO_FREE char *records = segment_records(dir, number);
    struct recording_header h = { .version = NULL };
    struct frame frame;
    r->has_ahead = r->seen_end = false;
    int rc = segment_open(&r->reader, inputs, err);
    r->reader.last = r->result->last;
    int more = rc ? -1 : segment_next(&r->reader, &frame, err);
    if (!rc && more == 0)
        rc = err_set(err, ERR_INPUT, "%s: cut at byte %zu: nothing is recorded", inputs,
                     r->reader.at);
    else if (!rc && more < 0)
        rc = -1;
    else if (!rc && !entry_get_header(&frame, r->made, &h))
        rc = senseless(r, &frame, err);
    if (!rc)
        settle_clock(&r->config, h.at_ms);
    if (!rc && r->config.watch.header)
        r->config.watch.header(r->config.watch.arg, &h, inputs);
    if (!rc)
        rc = begin(r, &h, records, err);
    if (!rc) {
        r->result->segments++;
        rc = play_segment(r, err);
    }
    segment_close(&r->reader);
    return rc;
}

static bool is_empty(const char *dir, uint64_t number)
{
    struct stat st;
    AUTO_FREE char *inputs = segment_inputs(dir, number);
    return stat(inputs, &st) == 0 && st.st_size == 0;
}

static int play_all(struct replay *r, struct err *err)
{
    uint64_t *numbers = NULL, one;
    size_t n = 0;
    AUTO_FREE char *dir = mem_strdup(r->config.path);
    size_t len = strlen(dir);
    while (len > 1 && dir[len - 1] == '/')
        dir[--len] = '\0';
    int rc = 0;
    if (segment_is_one(dir, &one) && file_is_dir(dir)) {
        char *slash = strrchr(dir, '/');
        AUTO_FREE char *parent = slash ? mem_strndup(dir, (size_t)(slash - dir)) : mem_strdup(".");
        return play_one(r, parent, one, err);
    }
    if (segments_list(dir, &numbers, &n, err))
        return -1;
    if (n == 0) {
        rc = err_set(err, ERR_INPUT, "%s: there is no recording in it", dir);
        err_remedy_of(err, REMEDY_SERVER_RECORD, "%s", dir);
    }
    for (size_t i = 0; i < n && !rc && !r->result->stopped; i++)
        if (n == 1 || !is_empty(dir, numbers[i])) /* a server that never came up */
            rc = play_one(r, dir, numbers[i], err);
    free(numbers);
    return rc;
}

static void count_differences(struct replay *r)
{
    size_t cursor = 0;
    uint64_t number;
    void *value;
    while (map_next(r->jobs, &cursor, &number, &value)) {
        const struct sides *sides = value;
        r->result->differs += sides->was != sides->is;
    }
}

struct replay *replay_run(const struct replay_config *config, struct replay_result *result,
                          struct err *err)
{
    struct replay *r = mem_new(sizeof *r);
    *result = (struct replay_result){ .inputs = 0 };
    r->config = *config;
    r->result = result;
    r->arena = arena_create();
    r->made = arena_create();
    r->jobs = map_create();
    r->tape = (struct ctl_tape){ .replays = true,
                                 .decided = on_decided,
                                 .outside = on_outside,
                                 .answered = on_answered,
                                 .arg = r };
    result->damaged = play_all(r, err) != 0;
    if (!r->ctl) {
        replay_destroy(r);
        return NULL;
    }
    result->ended = r->seen_end;
    if (!r->seen_end)
        *result->recorded = '\0';
    if (result->stopped && r->config.until == UNTIL_TIME)
        r->now_ms = r->config.at; /* what is asked now is asked then */
    answer_state_hash(r->ctl, result->hash);
    count_differences(r);
    return r;
}

struct ctl *replay_core(struct replay *r)
{
    return r->ctl;
}

const char *replay_admin(const struct replay *r)
{
    return r->admin;
}

void replay_destroy(struct replay *r)
{
    if (!r)
        return;
    close_core(r);
    map_destroy_with(r->jobs, free);
    vec_fini(&r->nested);
    vec_fini(&r->refusals);
    vec_fini(&r->was.list);
    vec_fini(&r->is.list);
    arena_destroy(r->arena);
    arena_destroy(r->made);
    free(r);
}
