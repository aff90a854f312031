/* Signatures against requests of the vendor's real clients and of an independent maker, and against
 * damage: every bit of a signature, of the path, of a header. */
#include "api/dlc/nonces.h"
#include "api/dlc/sign.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "text/json.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SHARED MUSTER_SOURCE "/../shared/cases/dlc-wire"
#define OWN    MUSTER_SOURCE "/tests/fixtures/dlc-wire"

struct vector {
    struct arena *arena;
    struct signed_request request;
    const struct text_node *root;
};

static const char *member(const struct text_node *map, const char *key)
{
    const struct text_node *node = text_get(map, key);
    return node && node->kind == TEXT_STR ? node->str : NULL;
}

static void add(struct pairs *pairs, struct arena *a, const char *name, const char *value)
{
    struct pair *wider = ARENA_ARRAY(a, pairs->n + 1, struct pair);
    if (pairs->n)
        memcpy(wider, pairs->at, pairs->n * sizeof *wider);
    wider[pairs->n++] = (struct pair){ name, value };
    pairs->at = wider;
}

static void add_all(struct pairs *pairs, struct arena *a, const struct text_node *list)
{
    for (const struct text_node *one = list ? list->first : NULL; one; one = one->next)
        add(pairs, a, one->first->str, one->last->str);
}

static struct vector load(const char *path)
{
    struct vector v = { .arena = arena_create() };
    struct report report;
    struct err err;
    size_t len;
    AUTO_FREE char *text = NULL;
    assert_int_equal(file_read(path, 1 << 20, &text, &len, &err), 0);
    report_init(&report, v.arena);
    v.root = json_parse(v.arena, text, len, 0, &report);
    assert_non_null(v.root);
    v.request.method = member(v.root, "method");
    v.request.path = member(v.root, "signed_path");
    v.request.body = member(v.root, "body");
    v.request.body_len = strlen(v.request.body);
    add_all(&v.request.query, v.arena, text_get(v.root, "query"));
    add_all(&v.request.headers, v.arena, text_get(v.root, "headers"));
    return v;
}

static enum sign_fault check(struct vector *v)
{
    struct sign_claim claim;
    const char *why;
    enum sign_fault fault = sign_read(v->arena, &v->request, &claim, &why);
    if (fault)
        return fault;
    if (strcmp(claim.key_id, member(v->root, "access_key_id")) != 0)
        return SIGN_UNKNOWN_KEY;
    return sign_verify(v->arena, &v->request, &claim, member(v->root, "access_key_secret"), &why);
}

static size_t each(const char *dir, void (*run)(struct vector *, const char *name))
{
    DIR *d = opendir(dir);
    struct dirent *one;
    size_t n = 0;
    while (d && (one = readdir(d))) {
        size_t len = strlen(one->d_name);
        char path[600];
        if (len < 6 || strcmp(one->d_name + len - 5, ".json") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, one->d_name);
        struct vector v = load(path);
        run(&v, one->d_name);
        arena_destroy(v.arena);
        n++;
    }
    if (d)
        closedir(d);
    return n;
}

static void expect(struct vector *v, const char *name)
{
    enum sign_fault fault = check(v);
    const char *wanted = member(v->root, "expect");
    const char *got = fault ? sign_fault_code(fault) : "accept";
    if (strcmp(wanted, got) != 0)
        fail_msg("%s: %s, not %s", name, got, wanted);
    if (strncmp(name, "reject", 6) == 0)
        return;
    struct sign_claim claim;
    const char *why;
    uint64_t ms = 0;
    sign_read(v->arena, &v->request, &claim, &why);
    const char *text = member(v->root, "string_to_sign");
    if (claim.scheme == SIGN_ROA)
        assert_string_equal(roa_string_to_sign(v->arena, &v->request), text);
    else
        assert_string_equal(acs3_canonical(v->arena, &v->request, claim.signed_headers),
                            member(v->root, "canonical_request"));
    const char *stamp = member(v->root, "timestamp");
    assert_true(claim.scheme == SIGN_ROA ? sign_http_date(stamp, &ms) : sign_iso_date(stamp, &ms));
    assert_int_equal(ms, claim.time_ms);
}

static void real_clients(void **state)
{
    (void)state;
    size_t n = each(SHARED, expect);
    if (n == 0) {
        print_message("the requests of real clients are not beside this tree\n");
        skip();
    }
    assert_true(n >= 25);
}

static void own_vectors(void **state)
{
    (void)state;
    assert_int_equal(each(OWN, expect), 3);
}

/* ---- damage ---- */

/* Every bit of the text flipped in turn, where it is still a text; all must be refused. */
static size_t flip_all(struct vector *v, const char **slot)
{
    const char *good = *slot;
    size_t n = 0;
    char *bad = arena_strdup(v->arena, good);
    *slot = bad;
    for (size_t i = 0; good[i]; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bad[i] = (char)((unsigned char)good[i] ^ 1u << bit);
            if (!bad[i])
                continue;
            if (check(v) == SIGN_OK)
                fail_msg("accepted with %s for %s", bad, good);
            n++;
        }
        bad[i] = good[i];
    }
    *slot = good;
    return n;
}

static const char **header_slot(struct vector *v, const char *name)
{
    for (size_t i = 0; i < v->request.headers.n; i++)
        if (strcmp(v->request.headers.at[i].name, name) == 0)
            return &v->request.headers.at[i].value;
    return NULL;
}

static void damage(struct vector *v, const char *name)
{
    static const char *const headers[] = { "x-acs-signature-nonce", "x-acs-version",
                                           "x-acs-security-token" };
    (void)name;
    assert_int_equal(check(v), SIGN_OK);
    size_t n = flip_all(v, &v->request.path);
    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        if (header_slot(v, headers[i]))
            n += flip_all(v, header_slot(v, headers[i]));
    for (size_t i = 0; i < v->request.query.n; i++)
        n += flip_all(v, &v->request.query.at[i].value);
    /* The signature is the end of the header; letters of hexadecimal digits count. */
    const char **slot = header_slot(v, "authorization");
    const char *good = *slot, *signature = member(v->root, "signature");
    size_t from = strlen(good) - strlen(signature);
    for (size_t i = from; good[i]; i++) {
        char *bad = arena_strdup(v->arena, good);
        bad[i] ^= 1;
        *slot = bad;
        assert_int_not_equal(check(v), SIGN_OK);
    }
    *slot = good;
    assert_true(n > 400);
    assert_int_equal(check(v), SIGN_OK);
}

static void every_bit_counts(void **state)
{
    (void)state;
    each(OWN, damage);
}

/* A thousand requests of random characters, signed here as their client would, then one bit off. */
static const char *random_text(struct arena *a)
{
    size_t len = randombytes_uniform(24);
    char *text = arena_alloc(a, len + 1);
    for (size_t i = 0; i < len; i++)
        text[i] = (char)(1 + randombytes_uniform(255));
    return text;
}

static const char *signature_of(struct vector *v, const struct sign_claim *claim)
{
    const char *why = "";
    struct sign_claim wrong = *claim;
    wrong.signature = "x";
    assert_int_equal(sign_verify(v->arena, &v->request, &wrong, "s", &why), SIGN_MISMATCH);
    return why;
}

static void odd_requests(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct vector v = { .arena = arena_create() };
        struct signed_request *r = &v.request;
        r->method = "GET";
        r->path = arena_printf(v.arena, "/api/v1/jobs/%d", round);
        add(&r->headers, v.arena, "X-Acs-Signature-Nonce", "n");
        add(&r->headers, v.arena, "Date", "Sun, 22 Nov 2026 03:00:00 GMT");
        for (uint32_t n = randombytes_uniform(5); n > 0; n--)
            add(&r->query, v.arena, arena_printf(v.arena, "k%u", n), random_text(v.arena));
        add(&r->headers, v.arena, "Authorization", "acs k:x");
        struct sign_claim claim;
        const char *why;
        assert_int_equal(sign_read(v.arena, r, &claim, &why), SIGN_OK);
        signature_of(&v, &claim);
        /* What is signed does not depend on the order of the query, and does on each value. */
        const char *text = roa_string_to_sign(v.arena, r);
        const char *names = "host;x-acs-date";
        const char *canonical = acs3_canonical(v.arena, r, names);
        if (r->query.n > 1) {
            struct pair first = r->query.at[0];
            r->query.at[0] = r->query.at[r->query.n - 1];
            r->query.at[r->query.n - 1] = first;
        }
        assert_string_equal(roa_string_to_sign(v.arena, r), text);
        assert_string_equal(acs3_canonical(v.arena, r, names), canonical);
        if (r->query.n) {
            r->query.at[0].value = arena_printf(v.arena, "%s.", r->query.at[0].value);
            assert_string_not_equal(roa_string_to_sign(v.arena, r), text);
            assert_string_not_equal(acs3_canonical(v.arena, r, names), canonical);
        }
        arena_destroy(v.arena);
    }
}

/* ---- claims that are refused before any secret is looked up ---- */

static enum sign_fault claim_of(const char *const (*headers)[2], size_t n)
{
    struct arena *a = arena_create();
    struct signed_request r = { .method = "GET", .path = "/api/v1/jobs" };
    struct sign_claim claim;
    const char *why;
    for (size_t i = 0; i < n; i++)
        add(&r.headers, a, headers[i][0], headers[i][1]);
    enum sign_fault fault = sign_read(a, &r, &claim, &why);
    if (fault)
        assert_true(strlen(why) > 10);
    arena_destroy(a);
    return fault;
}
#define CLAIM(...)                                                                                 \
    claim_of((const char *const[][2]){ __VA_ARGS__ },                                              \
             sizeof((const char *const[][2]){ __VA_ARGS__ }) / (2 * sizeof(char *)))
#define DATE                                                                                       \
    {                                                                                              \
        "date", "Sun, 22 Nov 2026 03:00:00 GMT"                                                    \
    }
#define NONCE                                                                                      \
    {                                                                                              \
        "x-acs-signature-nonce", "1"                                                               \
    }

static void claims(void **state)
{
    (void)state;
    assert_int_equal(CLAIM({ "host", "x" }), SIGN_MISSING);
    assert_int_equal(CLAIM({ "authorization", "Basic abc" }), SIGN_INCOMPLETE);
    assert_int_equal(CLAIM({ "authorization", "acs k:s" }, NONCE, DATE), SIGN_OK);
    assert_int_equal(CLAIM({ "authorization", "acs k:" }, NONCE, DATE), SIGN_INCOMPLETE);
    assert_int_equal(CLAIM({ "authorization", "acs :s" }, NONCE, DATE), SIGN_INCOMPLETE);
    assert_int_equal(CLAIM({ "authorization", "acs k:s" }, DATE), SIGN_INCOMPLETE);
    assert_int_equal(CLAIM({ "authorization", "acs k:s" }, NONCE), SIGN_TIME_FORMAT);
    assert_int_equal(CLAIM({ "authorization", "acs k:s" }, NONCE, { "date", "yesterday" }),
                     SIGN_TIME_FORMAT);
    /* both schemes at once, however it is put */
    assert_int_equal(CLAIM({ "authorization", "acs k:s" },
                           { "Authorization", "ACS3-HMAC-SHA256 x" }, NONCE, DATE),
                     SIGN_INCOMPLETE);
    assert_int_equal(
        CLAIM({ "authorization", "acs k:s" }, { "x-acs-content-sha256", "0" }, NONCE, DATE),
        SIGN_INCOMPLETE);
    assert_int_equal(
        CLAIM({ "authorization", "acs k:s" }, { "x-acs-bearer-token", "t" }, NONCE, DATE),
        SIGN_INCOMPLETE);
    assert_int_equal(CLAIM({ "x-acs-bearer-token", "t" }), SIGN_OK);
    assert_int_equal(CLAIM({ "authorization", "acs k:s" }, NONCE, DATE,
                           { "x-acs-signature-method", "HMAC-SHA256" }),
                     SIGN_METHOD);
    assert_int_equal(CLAIM({ "authorization", "ACS3-HMAC-SM3 Credential=k" }), SIGN_METHOD);
    assert_int_equal(CLAIM({ "authorization", "ACS3-RSA-SHA256 Credential=k" }), SIGN_METHOD);
    assert_int_equal(CLAIM({ "authorization", "ACS3-HMAC-SHA256 Credential=k" }), SIGN_INCOMPLETE);
#define NAMES                                                                                      \
    "host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version"
#define ACS3(names)                                                                                \
    { "authorization", "ACS3-HMAC-SHA256 Credential=k,SignedHeaders=" names ",Signature=0" }
#define REST                                                                                       \
    { "host", "h" }, { "x-acs-action", "a" }, { "x-acs-content-sha256", "0" },                     \
        { "x-acs-version", "v" }, NONCE
    assert_int_equal(CLAIM(ACS3(NAMES), REST, { "x-acs-date", "2026-11-22T03:00:00Z" }), SIGN_OK);
    assert_int_equal(CLAIM(ACS3(NAMES), REST, { "x-acs-date", "2026-11-22 03:00" }),
                     SIGN_TIME_FORMAT);
    assert_int_equal(CLAIM(ACS3(NAMES), REST, { "x-acs-date", "2026-02-30T03:00:00Z" }),
                     SIGN_TIME_FORMAT);
    assert_int_equal(CLAIM(ACS3("host"), REST, { "x-acs-date", "2026-11-22T03:00:00Z" }),
                     SIGN_INCOMPLETE);
    /* an x-acs- header that nobody signed */
    assert_int_equal(CLAIM(ACS3(NAMES), REST, { "x-acs-date", "2026-11-22T03:00:00Z" },
                           { "x-acs-security-token", "t" }),
                     SIGN_INCOMPLETE);
}

static void dates(void **state)
{
    (void)state;
    static const char *const bad[] = { "",
                                       "Sun, 22 Nov 2026 03:00:00 UTC",
                                       "Sun, 31 Nov 2026 03:00:00 GMT",
                                       "Sun, 22 Nox 2026 03:00:00 GMT",
                                       "Sux, 22 Nov 2026 03:00:00 GMT",
                                       "Sun, 22 ovD 2026 03:00:00 GMT",
                                       "Sun, 22 Nov 2026 24:00:00 GMT",
                                       "Sun, 2x Nov 2026 03:00:00 GMT" };
    uint64_t ms = 0;
    assert_true(sign_http_date("Thu, 01 Jan 1970 00:00:01 GMT", &ms));
    assert_int_equal(ms, 1000);
    assert_true(sign_iso_date("2026-11-22T03:00:00Z", &ms));
    uint64_t same = 0;
    assert_true(sign_http_date("Sun, 22 Nov 2026 03:00:00 GMT", &same));
    assert_int_equal(ms, same);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(sign_http_date(bad[i], &ms));
}

/* ---- nonces ---- */

static void replays(void **state)
{
    (void)state;
    struct nonces *n = nonces_create(1000, NULL);
    uint64_t now = 1000000000;
    assert_true(nonces_timely(n, now - NONCE_WINDOW_MS, now));
    assert_false(nonces_timely(n, now - NONCE_WINDOW_MS - 1, now));
    assert_false(nonces_timely(n, now + NONCE_WINDOW_MS + 1, now));
    assert_true(nonces_add(n, "k", "1", now, now));
    assert_false(nonces_add(n, "k", "1", now, now + 1));
    assert_true(nonces_add(n, "other", "1", now, now));
    /* far more than it may keep: what it forgot is too old instead */
    for (unsigned i = 2; i < 5000; i++) {
        char nonce[16];
        snprintf(nonce, sizeof nonce, "%u", i);
        assert_true(nonces_add(n, "k", nonce, now + i, now + i));
    }
    assert_false(nonces_timely(n, now, now + 5000));
    assert_true(nonces_timely(n, now + 4999, now + 5000));
    assert_false(nonces_add(n, "k", "4999", now + 4999, now + 5000));
    nonces_destroy(n);
}

/* A server that is started anew takes nothing twice either. */
static void replays_after_a_restart(void **state)
{
    char dir[] = "/tmp/muster-nonces-XXXXXX";
    struct nonces_place place = { .dir = dir, .boot = "one", .now_ms = 2000000000 };
    const uint64_t now = place.now_ms;
    struct err err;
    (void)state;
    assert_non_null(mkdtemp(dir));
    struct nonces *n = nonces_create(100, &place);
    assert_true(nonces_add(n, "k", "first", now, now));
    assert_true(nonces_add(n, "k", "ahead", now + NONCE_WINDOW_MS, now));
    nonces_destroy(n);
    AUTO_FREE char *file = file_join(dir, "dlc-nonces.0");
    AUTO_CLOSE int fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(file_write_all(fd, "torn", 4), 0); /* the server was killed as it wrote */
    for (unsigned round = 0; round < 3; round++) {
        n = nonces_create(100, &place);
        assert_true(nonces_timely(n, now, now)); /* no honest client is turned away */
        assert_false(nonces_add(n, "k", "first", now, now));
        assert_false(nonces_add(n, "k", "ahead", now + NONCE_WINDOW_MS, now));
        assert_true(nonces_add(n, "k", round ? "third" : "second", now, now) || round == 2);
        nonces_destroy(n);
    }
    n = nonces_create(100, &place);
    for (unsigned i = 0; i < 1000; i++) {
        char nonce[16];
        snprintf(nonce, sizeof nonce, "%u", i);
        assert_true(nonces_add(n, "k", nonce, now + NONCE_WINDOW_MS + i, now + i));
    }
    nonces_destroy(n);
    n = nonces_create(100, &place);
    assert_false(nonces_timely(n, now, now)); /* forgotten, and so too old */
    assert_false(nonces_add(n, "k", "999", now + NONCE_WINDOW_MS + 999, now + 999));
    nonces_destroy(n);
    place.boot = "two"; /* what was not on the disk is gone: dates before the start are refused */
    place.now_ms = now + 4 * NONCE_WINDOW_MS;
    n = nonces_create(100, &place);
    assert_false(nonces_timely(n, place.now_ms - 2000, place.now_ms));
    assert_true(nonces_timely(n, place.now_ms, place.now_ms));
    nonces_destroy(n);
    assert_int_equal(file_remove_tree(dir, &err), 0);
}

static void quick(struct vector *v, const char *name)
{
    uint64_t began = clock_mono_us();
    enum { ROUNDS = 2000 };
    for (int i = 0; i < ROUNDS; i++) {
        struct arena *a = arena_create();
        struct sign_claim claim;
        const char *why;
        assert_int_equal(sign_read(a, &v->request, &claim, &why), SIGN_OK);
        assert_int_equal(
            sign_verify(a, &v->request, &claim, member(v->root, "access_key_secret"), &why),
            SIGN_OK);
        arena_destroy(a);
    }
    print_message("%s: %.1f us a check\n", name, (double)(clock_mono_us() - began) / ROUNDS);
}

static void measured(void **state)
{
    (void)state;
    each(OWN, quick);
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_clients),     cmocka_unit_test(own_vectors),
        cmocka_unit_test(every_bit_counts), cmocka_unit_test(odd_requests),
        cmocka_unit_test(claims),           cmocka_unit_test(dates),
        cmocka_unit_test(replays),          cmocka_unit_test(replays_after_a_restart),
        cmocka_unit_test(measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
