/* A world of the core's own tests is recorded and played again: random lives with crashes, segments
 * that come and go, other options, and files that are cut or damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctl/node_work.h"
#include "ctl/test/world.h"
#include "replay/recorder.h"
#include "replay/replay.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/ids.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

struct tape_scope {
    struct world w;
    struct recorder *recorder;
    char dir[WORLD_DIR];
    char key[WORLD_DIR + 8]; /* of the world's records, beside the recording */
    uint64_t max, segment;
    uint64_t run_ms; /* of the replay's core */
    char parted[800];
};

static void before(struct world *w, struct ctl_config *config)
{
    struct tape_scope *t = w->hooked;
    struct recorder_config to = {
        .dir = t->dir, .max = t->max, .segment = t->segment, .version = "test"
    };
    struct err err = { 0 };
    AUTO_FREE char *key = file_join(w->dir, "identity.key");
    AUTO_FREE char *bytes = NULL;
    size_t len;
    snprintf(t->key, sizeof t->key, "%s.key", t->dir);
    if (file_read(key, 64, &bytes, &len, &err) || file_replace(t->key, bytes, len, 0600, &err))
        fail_msg("%s", err.what);
    t->recorder = recorder_create(&to, w->store, &err);
    if (!t->recorder)
        fail_msg("%s", err.what);
    config->tape = recorder_tape(t->recorder);
}

static void after(struct world *w, const struct ctl_config *config)
{
    struct tape_scope *t = w->hooked;
    recorder_attach(t->recorder, w->ctl, config);
}

static void closing(struct world *w, bool crash)
{
    struct tape_scope *t = w->hooked;
    if (crash) /* nobody writes an end */
        recorder_attach(t->recorder, NULL, &(struct ctl_config){ .store = NULL });
    recorder_destroy(t->recorder);
    t->recorder = NULL;
}

static void taped_init(struct tape_scope *t, uint64_t max, uint64_t segment)
{
    *t = (struct tape_scope){ .max = max, .segment = segment };
    world_dir(t->dir);
    world_init_with(
        &t->w, (struct world_hooks){ .before = before, .after = after, .closing = closing }, t);
}

static void taped_fini(struct tape_scope *t)
{
    file_remove_tree(t->dir, NULL);
    unlink(t->key);
}

static int settings(void *arg, struct arena *a, const struct recording_header *h,
                    struct ctl_config *core, struct err *err)
{
    static const struct words none = { .n = 0 };
    const struct tape_scope *t = arg;
    (void)a;
    (void)h;
    (void)err;
    core->dialects = world_dialects();
    core->fs_uri = "file:///nowhere";
    core->queues = &none;
    core->port_first = 20000;
    core->port_last = 20999;
    core->keep_ms = 30ull * 24 * 3600 * 1000;
    core->run_ms = t->run_ms;
    return 0;
}

static void say(char *out, size_t size, const struct ctl_decision *d)
{
    snprintf(out, size, "%s %.100s %.120s", d ? d->what : "nothing", d ? d->text : "",
             d ? d->nodes : "");
}

static void on_parted(void *arg, const struct replay_difference *p)
{
    struct tape_scope *t = arg;
    char was[300], is[300];
    say(was, sizeof was, p->was);
    say(is, sizeof is, p->is);
    snprintf(t->parted, sizeof t->parted, "input %llu: was %s, is %s", (unsigned long long)p->input,
             was, is);
}

static struct replay_result play(struct tape_scope *t, const char *path, struct err *err)
{
    struct replay_config config = { .path = path,
                                    .seal_key = t->key,
                                    .settings = settings,
                                    .settings_arg = t,
                                    .watch = { .parted = on_parted, .arg = t } };
    struct replay_result result;
    *t->parted = '\0';
    *err = (struct err){ 0 };
    replay_destroy(replay_run(&config, &result, err));
    return result;
}

/* How many inputs it had. */
static uint64_t replay_same(struct tape_scope *t, const char *path)
{
    struct err err;
    struct replay_result r = play(t, path, &err);
    if (r.damaged || r.lost_at || r.differs || *t->parted)
        fail_msg("%s: %s; state differs after %llu; %llu jobs; %s", path, err.what,
                 (unsigned long long)r.lost_at, (unsigned long long)r.differs, t->parted);
    return r.inputs;
}

static void assert_same(struct tape_scope *t, const char *path)
{
    assert_true(replay_same(t, path) > 0);
}

/* ---- lives ---- */

static unsigned dice(unsigned *seed, unsigned sides)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % sides;
}

static int fate(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    static const int ends[] = { 1, 7, FAKE_DIES, FAKE_CONFLICT, 0, 0, 0, 0, 0, FAKE_RUNS };
    unsigned x = (unsigned)(job >> 3) * 7919u + index * 104729u + attempt * 1299709u;
    (void)role;
    x = (x ^ (x >> 7)) * 2654435761u;
    return ends[(x >> 20) % 10];
}

static void submit_one(struct world *w, unsigned *seed)
{
    static const char *const scopes[] = { "task", "job" };
    static const char *const ports[] = { "", ",\"ports\":{\"p\":2}" };
    char text[600];
    snprintf(
        text, sizeof text,
        "{\"name\":\"j%u\",\"priority\":%u,\"suspend\":%s,\"limits\":{\"run_time\":\"%us\"},"
        "\"retry\":{\"scope\":\"%s\",\"unknown\":%u,\"platform\":\"always\"},"
        "\"roles\":{\"a\":{\"run\":\"x\",\"replicas\":%u,\"resources\":{\"cpu\":%u,\"gpu\":%s}%s}}}",
        dice(seed, 9), 1 + dice(seed, 9), dice(seed, 9) ? "false" : "true", 20 + dice(seed, 200),
        scopes[dice(seed, 2)], dice(seed, 3), 1 + dice(seed, 3), 1 + dice(seed, 2),
        dice(seed, 3) ? "0" : "0.5", ports[dice(seed, 2)]);
    static const char *const owners[] = { "ada", "bob", "eve" };
    struct submission ask = { .owner = owners[dice(seed, 3)], .text = text, .len = strlen(text) };
    world_submit_as(w, &ask);
}

static void nobody(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    (void)answer;
}

/* Documents of façades: tags, things that are told, a job's own together with a hold. */
static void put_document(struct world *w, unsigned *seed, uint64_t job, const char *by)
{
    static const char *const kinds[] = { "job.tag", "job.document", "x.y" };
    char id[JOB_ID_TEXT];
    struct arena *arena = arena_create();
    struct text_node *spec = text_map(arena, NULL, NULL);
    text_str(arena, spec, "value", "SECRET");
    unsigned kind = dice(seed, 3);
    struct document one = { kinds[kind], kind == 2 ? "p" : job_id_format(id, job),
                            dice(seed, 2) ? "a" : "b", dice(seed, 4) ? spec : NULL };
    struct document_changes ask = { .by = by, .create = dice(seed, 4) == 0, .at = &one, .n = 1 };
    ask.told = kind > 0;
    ask.hold = kind == 1 ? dice(seed, 3) : DOCUMENT_HOLD_NOT;
    ctl_documents_put(w->ctl, &ask, nobody, NULL);
    arena_destroy(arena);
}

struct follow {
    struct world *w;
    unsigned *seed;
};

/* What a façade does that needs two steps: the second is given with the answer to the first. */
static void and_then(void *arg, const struct ctl_answer *answer)
{
    struct follow *f = arg;
    struct document_changes all = { .by = "root", .told = true, .hold = DOCUMENT_HOLD };
    char id[JOB_ID_TEXT];
    if (answer->err)
        return;
    struct arena *arena = arena_create();
    struct document one = { "job.document", job_id_format(id, answer->job), "a",
                            text_map(arena, NULL, NULL) };
    all.at = &one;
    all.n = 1;
    ctl_documents_put(f->w->ctl, &all, nobody, NULL);
    arena_destroy(arena);
    put_document(f->w, f->seed, answer->job, "root");
}

static void in_two_steps(struct world *w, unsigned *seed)
{
    static const char text[] = "{\"name\":\"two\",\"roles\":{\"a\":{\"run\":\"x\"}}}";
    struct follow f = { w, seed };
    struct submission ask = {
        .owner = "ada", .text = text, .len = strlen(text), .dry_run = dice(seed, 4) == 0
    };
    ctl_submit(w->ctl, &ask, ask.dry_run ? nobody : and_then, &f);
    ctl_turn(w->ctl);
}

static void one_thing(struct world *w, unsigned *seed, uint64_t *last, bool crashes)
{
    static const enum ctl_verb verbs[] = { CTL_STOP, CTL_STOP_NOW, CTL_SUSPEND, CTL_RESUME,
                                           CTL_DELETE };
    unsigned what = dice(seed, 44);
    if (what < 8) {
        submit_one(w, seed);
        *last = w->job ? w->job : *last;
    } else if (what < 11 && *last) {
        world_command_as(w, "root", *last, verbs[dice(seed, 5)]);
    } else if (what == 11 && *last) {
        struct ctl_restart ask = { .owner = "root", .job = *last };
        ask.how = dice(seed, 3);
        ctl_restart(w->ctl, &ask, nobody, NULL);
        ctl_turn(w->ctl);
    } else if (what == 12) {
        ctl_node_command(w->ctl, dice(seed, 2) ? "n1" : "n2", dice(seed, 3) == 0, nobody, NULL);
        ctl_turn(w->ctl);
    } else if (what == 13 && w->fake.agents.n) {
        fake_kill_agent(&w->fake, dice(seed, (unsigned)w->fake.agents.n));
    } else if (what == 14) {
        w->fake.refuse = (int)dice(seed, 2);
    } else if (what == 15 && crashes) {
        world_crash(w);
    } else if (what == 16) {
        in_two_steps(w, seed);
    } else if (what < 19 && *last) {
        put_document(w, seed, *last, dice(seed, 2) ? "root" : "mallory");
        ctl_turn(w->ctl);
    } else if (what < 23) {
        world_pass(w, 1 + dice(seed, 20000));
    } else {
        world_step(w);
    }
}

static void live(struct tape_scope *t, unsigned seed, unsigned steps, bool crashes)
{
    uint64_t last = 0;
    t->w.by_attempt = fate;
    for (unsigned i = 0; i < steps; i++)
        one_thing(&t->w, &seed, &last, crashes);
}

static void lives_come_out_the_same(void **state)
{
    const char *given = getenv("SEED");
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct tape_scope t;
        unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : i * 7919u + 1;
        print_message("seed %u\n", seed);
        taped_init(&t, 512u << 20, 0);
        live(&t, seed, 150, true);
        world_fini(&t.w);
        assert_same(&t, t.dir);
        taped_fini(&t);
    }
}

/* Each segment alone comes to the same end: its copy of the records and its header say all. The
 * oldest are gone, and the whole stays within its bound. */
static void segments_come_and_go(void **state)
{
    struct tape_scope t;
    uint64_t *numbers, sum = 0;
    size_t n;
    struct err err;
    (void)state;
    taped_init(&t, 1300000, 30000);
    live(&t, 771, 1100, false);
    world_fini(&t.w);
    assert_int_equal(segments_list(t.dir, &numbers, &n, &err), 0);
    if (n < 2 || numbers[0] == 1)
        fail_msg("%zu segments from %llu", n, (unsigned long long)numbers[0]);
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *one = segment_dir(t.dir, numbers[i]);
        assert_true(replay_same(&t, one) > 0 || i + 1 == n); /* the last may have just begun */
        sum += segment_bytes(t.dir, numbers[i]);
    }
    assert_true(sum <= t.max + 8192); /* and the last turn */
    free(numbers);
    assert_same(&t, t.dir);
    taped_fini(&t);
}

/* The disk is full for a while: what failed then fails again. */
static void a_full_disk_is_full_again(void **state)
{
    struct tape_scope t;
    struct rlimit was, none;
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    taped_init(&t, 512u << 20, 0);
    live(&t, 5, 40, false);
    getrlimit(RLIMIT_FSIZE, &was);
    none = was;
    struct stat st;
    char wal[128];
    snprintf(wal, sizeof wal, "%s-wal", t.w.db);
    assert_int_equal(stat(wal, &st), 0);
    none.rlim_cur = (rlim_t)st.st_size;
    setrlimit(RLIMIT_FSIZE, &none);
    log_set_level(LOG_ERROR + 1);
    for (int i = 0; i < 30; i++) {
        world_submit(&t.w, "{\"name\":\"late\",\"roles\":{\"a\":{\"run\":\"x\"}}}");
        world_step(&t.w);
    }
    assert_int_equal(t.w.code, ERR_UNAVAILABLE); /* a limit, not a disk without room */
    setrlimit(RLIMIT_FSIZE, &was);
    log_set_level(LOG_ERROR);
    world_pass(&t.w, 5000);
    live(&t, 6, 40, false);
    world_fini(&t.w);
    assert_same(&t, t.dir);
    taped_fini(&t);
}

/* The recording's disk fails: the server goes on, and what was written before is good. */
static void a_recording_that_fails_stops_nobody(void **state)
{
    struct tape_scope t;
    char away[80];
    struct err err;
    (void)state;
    taped_init(&t, 1u << 20, 10000);
    live(&t, 9, 60, false);
    snprintf(away, sizeof away, "%s.away", t.dir);
    assert_int_equal(rename(t.dir, away), 0);
    log_set_level(LOG_ERROR);
    live(&t, 10, 200, false); /* the next segment has nowhere to go */
    uint64_t job = world_submit(&t.w, "{\"name\":\"on\",\"roles\":{\"a\":{\"run\":\"x\"}}}");
    assert_true(job != 0);
    world_fini(&t.w);
    assert_int_equal(rename(away, t.dir), 0);
    struct replay_result r = play(&t, t.dir, &err);
    if (r.damaged || r.lost_at || r.differs)
        fail_msg("%s %s", err.what, t.parted);
    assert_true(r.inputs > 60);
    taped_fini(&t);
}

static void another_option_parts(void **state)
{
    static const char two[] =
        "{\"name\":\"big\",\"roles\":{\"a\":{\"run\":\"x\",\"replicas\":2,\"resources\":{\"cpu\":4}}}}";
    struct tape_scope t;
    struct err err;
    (void)state;
    taped_init(&t, 512u << 20, 0);
    t.w.code_all = FAKE_RUNS;
    world_submit(&t.w, two);
    world_submit(&t.w, two);
    world_run(&t.w);
    world_fini(&t.w);
    assert_same(&t, t.dir);
    t.run_ms = 60000; /* instead of a day: the second one is promised an earlier time */
    struct replay_result r = play(&t, t.dir, &err);
    assert_int_equal(r.differs, 1);
    if (!strstr(t.parted, "promised"))
        fail_msg("%s", t.parted);
    taped_fini(&t);
}

/* ---- files that are not whole ---- */

static void small_recording(struct tape_scope *t, char **data, size_t *len)
{
    struct err err;
    taped_init(t, 512u << 20, 0);
    world_submit(&t->w, "{\"name\":\"s\",\"roles\":{\"a\":{\"run\":\"x\"}}}");
    world_run(&t->w);
    world_fini(&t->w);
    AUTO_FREE char *inputs = segment_inputs(t->dir, 1);
    assert_int_equal(file_read(inputs, 1 << 20, data, len, &err), 0);
}

static void put(struct tape_scope *t, const char *data, size_t len)
{
    AUTO_FREE char *inputs = segment_inputs(t->dir, 1);
    FILE *file = fopen(inputs, "we"); /* nothing of it needs to be on the disk */
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    fclose(file);
}

static size_t frames(struct tape_scope *t, bool *broken, struct err *err)
{
    struct segment_reader r;
    struct frame frame;
    size_t n = 0;
    int more = -1;
    AUTO_FREE char *inputs = segment_inputs(t->dir, 1);
    *broken = segment_open(&r, inputs, err) != 0;
    while (!*broken && (more = segment_next(&r, &frame, err)) == 1)
        n++;
    *broken |= more < 0;
    segment_close(&r);
    return n;
}

static void cut_anywhere(void **state)
{
    struct tape_scope t;
    struct err err;
    char *data;
    size_t len, most, whole = 0;
    bool broken;
    (void)state;
    small_recording(&t, &data, &len);
    most = frames(&t, &broken, &err);
    assert_false(broken);
    for (size_t cut = 0; cut < len; cut++) {
        put(&t, data, cut);
        size_t n = frames(&t, &broken, &err);
        assert_true(n < most);
        whole += !broken;
        if (broken && !strstr(err.what, "byte "))
            fail_msg("cut at %zu: %s", cut, err.what);
        if (cut % 211)
            continue;
        struct replay_result r = play(&t, t.dir, &err);
        assert_true(r.damaged || !r.ended);
        assert_true(!r.lost_at && !r.differs);
    }
    assert_int_equal(whole, most); /* between two entries, and after the magic */
    free(data);
    taped_fini(&t);
}

static void damaged_anywhere(void **state)
{
    struct tape_scope t;
    struct err err;
    char *data;
    size_t len;
    bool broken;
    (void)state;
    small_recording(&t, &data, &len);
    for (size_t at = 0; at < len; at++) {
        data[at] ^= (char)(1 << (at % 8));
        put(&t, data, len);
        frames(&t, &broken, &err);
        if (!broken || !strstr(err.what, "byte "))
            fail_msg("bit of byte %zu: %s", at, broken ? err.what : "nobody saw it");
        data[at] ^= (char)(1 << (at % 8));
    }
    data[8] = 9;
    put(&t, data, len);
    play(&t, t.dir, &err);
    assert_int_equal(err.code, ERR_CANNOT);
    assert_non_null(strstr(err.what, "format 9"));
    free(data);
    taped_fini(&t);
}

/* Entries with a good checksum whose bodies make no sense: an error, no crash. */
static void senseless_entries(void **state)
{
    struct tape_scope t;
    struct err err;
    char *data;
    size_t len;
    (void)state;
    small_recording(&t, &data, &len);
    for (size_t entry = 0, at = SEGMENT_HEAD; at < len; entry++) {
        size_t body = (size_t)(unsigned char)data[at] | (size_t)(unsigned char)data[at + 1] << 8;
        for (size_t i = 0; i < body; i += 1 + body / 3) {
            char was = data[at + FRAME_HEAD + i];
            data[at + FRAME_HEAD + i] = (char)(was + 113);
            uint32_t crc = hash_crc32(data + at + FRAME_HEAD, body);
            memcpy(data + at + 4, &crc, 4);
            put(&t, data, len);
            play(&t, t.dir, &err); /* what it says is one thing; that it ends, another */
            data[at + FRAME_HEAD + i] = was;
            crc = hash_crc32(data + at + FRAME_HEAD, body);
            memcpy(data + at + 4, &crc, 4);
        }
        at += FRAME_HEAD + body;
    }
    put(&t, data, len);
    assert_same(&t, t.dir);
    free(data);
    taped_fini(&t);
}

static void two_do_not_record_to_one_place(void **state)
{
    struct tape_scope t;
    struct err err = { 0 };
    (void)state;
    taped_init(&t, 512u << 20, 0);
    struct recorder_config to = { .dir = t.dir, .max = t.max, .version = "test" };
    assert_null(recorder_create(&to, t.w.store, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    world_fini(&t.w);
    taped_fini(&t);
}

/* A submission as one input, and read again with that seal. */
static bool passes_on(const struct ctl_input *in, const struct seal *with, const struct seal *by,
                      struct arena *a, struct ctl_input *out)
{
    AUTO_BUF struct buf bytes = BUF_INIT(64 << 10);
    entry_put_input(&bytes, in, with);
    if (with)
        assert_null(memmem(bytes.data, bytes.len, "zyzzyva", 7));
    struct frame frame = { .body = (const unsigned char *)bytes.data, .len = bytes.len };
    return entry_get_input(&frame, a, by, out);
}

static void what_submissions_say_is_sealed(void **state)
{
    struct tape_scope t;
    struct err err;
    struct arena *a = arena_create();
    const char *sets[] = { "env.A=zyzzyva", "queue=b" };
    struct submission ask = { .owner = "ada", .text = "{env: zyzzyva}", .len = 14 };
    struct ctl_input in = { .kind = INPUT_SUBMIT, .submit = &ask }, out;
    (void)state;
    taped_init(&t, 512u << 20, 0);
    pairs_set(&ask.env, a, "B", "zyzzyva");
    pairs_set(&ask.env, a, "C", "");
    ask.sets = (struct words){ .at = sets, .n = 2 };
    AUTO_FREE char *path = mem_printf("%s/other", t.dir);
    struct seal *seal = seal_open(t.key, true, &err), *other = seal_open(path, false, &err);
    const struct seal *with[] = { seal, NULL };
    for (size_t i = 0; i < 2; i++) {
        assert_true(passes_on(&in, with[i], seal, a, &out));
        assert_string_equal(out.submit->text, ask.text);
        assert_int_equal(out.submit->len, ask.len);
        assert_string_equal(pairs_get(&out.submit->env, "B"), "zyzzyva");
        assert_string_equal(pairs_get(&out.submit->env, "C"), "");
        assert_string_equal(out.submit->sets.at[0], sets[0]);
        assert_string_equal(out.submit->sets.at[1], sets[1]);
    }
    assert_false(passes_on(&in, seal, other, a, &out));
    assert_false(passes_on(&in, seal, NULL, a, &out));
    ask = (struct submission){ .owner = "ada", .like = 7 };
    assert_true(passes_on(&in, seal, seal, a, &out));
    assert_true(!out.submit->text && out.submit->like == 7);
    seal_destroy(seal);
    seal_destroy(other);
    arena_destroy(a);
    world_fini(&t.w);
    taped_fini(&t);
}

static void elsewhere_the_key_is_asked_for(void **state)
{
    struct tape_scope t;
    struct err err;
    char *data;
    size_t len;
    (void)state;
    small_recording(&t, &data, &len);
    free(data);
    assert_same(&t, t.dir);
    assert_int_equal(file_replace(t.key, "another key another key another!", 32, 0600, &err), 0);
    play(&t, t.dir, &err);
    assert_non_null(strstr(err.what, "is not the key that the recording is sealed with"));
    assert_int_equal(unlink(t.key), 0);
    play(&t, t.dir, &err);
    assert_int_equal(err.code, ERR_CANNOT);
    assert_non_null(strstr(err.what, "is not here"));
    assert_non_null(strstr(err.hint, "--seal-key FILE"));
    taped_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_submissions_say_is_sealed),
        cmocka_unit_test(elsewhere_the_key_is_asked_for),
        cmocka_unit_test(lives_come_out_the_same),
        cmocka_unit_test(segments_come_and_go),
        cmocka_unit_test(a_full_disk_is_full_again),
        cmocka_unit_test(a_recording_that_fails_stops_nobody),
        cmocka_unit_test(another_option_parts),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(damaged_anywhere),
        cmocka_unit_test(senseless_entries),
        cmocka_unit_test(two_do_not_record_to_one_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
