/* Objects below a prefix. An object appears whole or not at all, so there are no names of parts; a
 * file that is longer than a part goes there in several, each with its hash, and is put together at
 * the end. The store compares what came with the hash of every call; after it the size is asked
 * for.
 *
 * There are no directories either: a chain is there when an object of it is, so an empty one,
 * "begun", is put first and goes last. Where the store knows conditions that is refused to the
 * second of two. Reading is done in ranges of one object, so that a connection that breaks costs
 * one of them. */
#include "ship/target_ops.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "http/client.h"
#include "ship/s3.h"
#include "ship/s3_xml.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PART      ((size_t)16 << 20)
#define PARTS_MAX 10000u /* of an object, by S3 */
#define BEGUN     "begun"
#define TAG_MAX   160
#define TOKEN_MAX 1200 /* of keys and what a store calls things by */

struct s3_target {
    struct target base;
    struct s3 *s3;
};
struct s3_file {
    struct target_file base;
    struct s3 *s3;
    struct arena *arena;
    struct buf part;
    size_t at;      /* reading: of what is in part */
    uint64_t bytes; /* before part */
    uint64_t size;  /* reading: of all */
    const char *upload;
    VEC(const char *) tags; /* of the parts that are there */
    char tag[TAG_MAX];
};

/* A call whose answer nobody reads. */
static int call(struct s3 *s3, const struct s3_ask *ask, struct err *err)
{
    struct http_signed_answer answer;
    if (s3_call(s3, ask, &answer, err) < 0)
        return -1;
    buf_fini(&answer.body);
    return 0;
}

static struct s3 *store_of(const struct target *t)
{
    return ((const struct s3_target *)t)->s3;
}

/* ---- lists ---- */

struct listing {
    struct s3 *s3;
    const char *below;   /* behind the prefix, encoded: "" or "00000012%2F" */
    const char *element; /* "CommonPrefixes" or "Contents" */
    const char *name;    /* of its text: "Prefix" or "Key" */
    void (*found)(void *arg, const char *last); /* the last part of the path, without a slash */
    void *arg;
};

static void find_names(const struct listing *l, struct xml_span rest)
{
    struct xml_span one;
    char key[TOKEN_MAX];
    while (xml_next(&rest, l->element, &one)) {
        xml_text(one, l->name, key, sizeof key);
        size_t n = strlen(key);
        if (n && key[n - 1] == '/')
            key[n - 1] = '\0';
        const char *slash = strrchr(key, '/');
        l->found(l->arg, slash ? slash + 1 : key);
    }
}

/* One level of names, in as many calls as the store wants. */
static int list(const struct listing *l, struct err *err)
{
    char token[TOKEN_MAX] = "", more[8];
    do {
        struct http_signed_answer answer;
        AUTO_BUF struct buf query = BUF_INIT(16 << 10);
        if (*token) {
            buf_puts(&query, "continuation-token=");
            http_escape(&query, token);
            buf_putc(&query, '&');
        }
        buf_addf(&query, "delimiter=%%2F&list-type=2&prefix=%s%s", s3_prefix_encoded(l->s3),
                 l->below);
        const struct s3_ask ask = { .method = "GET", .query = buf_str(&query) };
        if (s3_call(l->s3, &ask, &answer, err) < 0)
            return -1;
        const struct xml_span body = { .at = buf_str(&answer.body), .len = answer.body.len };
        find_names(l, body);
        xml_text(body, "IsTruncated", more, sizeof more);
        bool goes_on = xml_text(body, "NextContinuationToken", token, sizeof token) &&
                       strcmp(more, "true") == 0;
        if (!goes_on)
            token[0] = '\0';
        buf_fini(&answer.body);
    } while (*token);
    return 0;
}

static void add_chain(void *arg, const char *last)
{
    struct chains *chains = arg;
    uint64_t chain;
    if (chain_of_name(last, &chain))
        vec_push(&chains->all, chain);
}

static int list_chains(struct target *t, struct chains *chains, struct err *err)
{
    const struct listing l = { .s3 = store_of(t),
                               .below = "",
                               .element = "CommonPrefixes",
                               .name = "Prefix",
                               .found = add_chain,
                               .arg = chains };
    return list(&l, err);
}

struct names {
    VEC(char *) all;
};

/* Only what a chain has: what else somebody put there stays. */
static void add_name(void *arg, const char *last)
{
    struct names *names = arg;
    const size_t n = strlen(last), digits = strspn(last, "0123456789");
    bool is_segment =
        digits == CHAIN_DIGITS && n == CHAIN_DIGITS + 4 && strcmp(last + digits, ".tar") == 0;
    if (is_segment || strcmp(last, "base.tar") == 0 || strcmp(last, CHAIN_HEAD) == 0 ||
        strcmp(last, BEGUN) == 0)
        vec_push(&names->all, mem_strdup(last));
}

static int list_files(struct target *t, uint64_t chain, struct names *names, struct err *err)
{
    AUTO_FREE char *below = mem_printf("%08" PRIu64 "%%2F", chain);
    const struct listing l = { .s3 = store_of(t),
                               .below = below,
                               .element = "Contents",
                               .name = "Key",
                               .found = add_name,
                               .arg = names };
    return list(&l, err);
}

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->all.n; i++)
        free(names->all.at[i]);
    vec_fini(&names->all);
}

/* ---- chains ---- */

static int put_begun(struct target *t, uint64_t chain, bool alone, struct err *err)
{
    AUTO_FREE char *name = mem_printf("%08" PRIu64 "/" BEGUN, chain);
    struct pair pair = { .name = "if-none-match", .value = "*" };
    const struct pairs headers = { .at = &pair, .n = 1, .cap = 1 };
    return call(store_of(t),
                &(struct s3_ask){
                    .method = "PUT", .name = name, .headers = alone ? &headers : NULL, .body = "" },
                err);
}

static int begin_chain(struct target *t, uint64_t chain, struct err *err)
{
    struct names names = { .all.n = 0 };
    int rc = list_files(t, chain, &names, err);
    if (rc == 0 && names.all.n)
        rc = err_set(err, ERR_CONFLICT, "%s/%08" PRIu64 " is there already", t->where, chain);
    free_names(&names);
    if (rc < 0)
        return -1;
    rc = put_begun(t, chain, true, err);
    return rc < 0 && err->code == ERR_CANNOT ? put_begun(t, chain, false, err) : rc;
}

static int delete_file(struct target *t, uint64_t chain, const char *last, struct err *err)
{
    AUTO_FREE char *name = mem_printf("%08" PRIu64 "/%s", chain, last);
    int rc = call(store_of(t), &(struct s3_ask){ .method = "DELETE", .name = name }, err);
    return rc < 0 && err->code == ERR_NOT_FOUND ? 0 : rc;
}

/* The head goes first, so that nobody takes the chain for a complete one, and "begun" last. */
static int remove_chain(struct target *t, uint64_t chain, uint64_t until_ms, struct err *err)
{
    struct names names = { .all.n = 0 };
    bool begun = false;
    int rc = list_files(t, chain, &names, err);
    if (rc == 0 && names.all.n)
        rc = delete_file(t, chain, CHAIN_HEAD, err);
    for (size_t i = 0; rc == 0 && i < names.all.n; i++) {
        const char *name = names.all.at[i];
        begun |= strcmp(name, BEGUN) == 0;
        if (until_ms && clock_mono_ms() >= until_ms)
            rc = 1;
        else if (strcmp(name, BEGUN) != 0 && strcmp(name, CHAIN_HEAD) != 0)
            rc = delete_file(t, chain, name, err);
    }
    if (rc == 0 && begun)
        rc = delete_file(t, chain, BEGUN, err);
    free_names(&names);
    return rc;
}

/* ---- files ---- */

static struct s3_file *make_file(struct target *t, const char *name)
{
    struct s3_file *f = mem_new(sizeof *f);
    *f = (struct s3_file){ .base = { .target = t, .name = mem_strdup(name) },
                           .s3 = store_of(t),
                           .arena = arena_create(),
                           .part = BUF_INIT(PART) };
    return f;
}

static void free_file(struct s3_file *f)
{
    free(f->base.name);
    buf_fini(&f->part);
    vec_fini(&f->tags);
    arena_destroy(f->arena);
    free(f);
}

static struct target_file *create_file(struct target *t, const char *name, struct err *err)
{
    (void)err;
    return &make_file(t, name)->base;
}

static int begin_upload(struct s3_file *f, struct err *err)
{
    char upload[TOKEN_MAX];
    struct http_signed_answer answer;
    const struct s3_ask ask = {
        .method = "POST", .name = f->base.name, .query = "uploads=", .body = ""
    };
    if (s3_call(f->s3, &ask, &answer, err) < 0)
        return -1;
    const struct xml_span body = { .at = buf_str(&answer.body), .len = answer.body.len };
    bool has = xml_text(body, "UploadId", upload, sizeof upload);
    buf_fini(&answer.body);
    if (!has)
        return err_set(err, ERR_CANNOT, "%s/%s: the store began no upload in parts",
                       f->base.target->where, f->base.name);
    AUTO_BUF struct buf encoded = BUF_INIT((size_t)4 * TOKEN_MAX);
    http_escape(&encoded, upload);
    f->upload = arena_strdup(f->arena, buf_str(&encoded));
    return 0;
}

static void empty_part(struct s3_file *f)
{
    f->bytes += f->part.len;
    buf_clear(&f->part);
}

static int send_part(struct s3_file *f, struct err *err)
{
    struct http_signed_answer answer;
    if (f->tags.n == PARTS_MAX)
        return err_set(err, ERR_TOO_LARGE, "%s/%s is longer than the %zu GiB that are sent there",
                       f->base.target->where, f->base.name, PARTS_MAX * PART >> 30);
    if (!f->upload && begin_upload(f, err) < 0)
        return -1;
    const char *query =
        arena_printf(f->arena, "partNumber=%zu&uploadId=%s", f->tags.n + 1, f->upload);
    const struct s3_ask ask = { .method = "PUT",
                                .name = f->base.name,
                                .query = query,
                                .body = f->part.data,
                                .len = f->part.len };
    if (s3_call(f->s3, &ask, &answer, err) < 0)
        return -1;
    buf_fini(&answer.body);
    vec_push(&f->tags, arena_strdup(f->arena, answer.etag));
    empty_part(f);
    return 0;
}

static int put(struct target_file *base, const void *data, size_t n, struct err *err)
{
    struct s3_file *f = (struct s3_file *)base;
    while (n > 0) {
        if (f->part.len == PART && send_part(f, err) < 0)
            return -1;
        size_t room = PART - f->part.len, take = n < room ? n : room;
        buf_add(&f->part, data, take);
        data = (const char *)data + take;
        n -= take;
    }
    return 0;
}

/* Whether it is there an answer that was lost leaves open: check_size() sees. */
static int complete(struct s3_file *f, struct err *err)
{
    struct http_signed_answer answer;
    AUTO_BUF struct buf text = BUF_INIT((size_t)PARTS_MAX * (TAG_MAX + 80));
    buf_puts(&text, "<CompleteMultipartUpload>");
    for (size_t i = 0; i < f->tags.n; i++)
        buf_addf(&text, "<Part><PartNumber>%zu</PartNumber><ETag>%s</ETag></Part>", i + 1,
                 f->tags.at[i]);
    buf_puts(&text, "</CompleteMultipartUpload>");
    const struct s3_ask ask = { .method = "POST",
                                .name = f->base.name,
                                .query = arena_printf(f->arena, "uploadId=%s", f->upload),
                                .body = buf_str(&text),
                                .len = text.len };
    if (s3_call(f->s3, &ask, &answer, err) < 0)
        return err->code == ERR_NOT_FOUND ? 0 : -1;
    const struct xml_span body = { .at = buf_str(&answer.body), .len = answer.body.len };
    int rc = s3_check_answer(f->s3, &ask, &answer, err);
    if (rc == 0)
        xml_text(body, "ETag", f->tag, sizeof f->tag);
    buf_fini(&answer.body);
    return rc;
}

static int send_whole(struct s3_file *f, struct err *err)
{
    struct http_signed_answer answer;
    const struct s3_ask ask = { .method = "PUT",
                                .name = f->base.name,
                                .body = f->part.len ? f->part.data : "",
                                .len = f->part.len };
    if (s3_call(f->s3, &ask, &answer, err) < 0)
        return -1;
    buf_fini(&answer.body);
    snprintf(f->tag, sizeof f->tag, "%s", answer.etag);
    empty_part(f);
    return 0;
}

/* What is there now is what was sent. */
static int check_there(const struct s3_file *f, struct err *err)
{
    struct http_signed_answer answer;
    if (s3_call(f->s3, &(struct s3_ask){ .method = "HEAD", .name = f->base.name }, &answer, err) <
        0)
        return -1;
    buf_fini(&answer.body);
    if (answer.length == f->bytes && (!*f->tag || strcmp(answer.etag, f->tag) == 0))
        return 0;
    return err_set(err, ERR_UNAVAILABLE,
                   "%s/%s: %" PRIu64 " bytes are there, which are not the %" PRIu64
                   " that were sent",
                   f->base.target->where, f->base.name, answer.length, f->bytes);
}

static void abandon(struct target_file *base)
{
    struct s3_file *f = (struct s3_file *)base;
    struct err why;
    if (f->upload)
        call(f->s3,
             &(struct s3_ask){ .method = "DELETE",
                               .name = base->name,
                               .query = arena_printf(f->arena, "uploadId=%s", f->upload) },
             &why);
    free_file(f);
}

static int publish(struct target_file *base, struct err *err)
{
    struct s3_file *f = (struct s3_file *)base;
    int rc = !f->upload ? send_whole(f, err) : f->part.len ? send_part(f, err) : 0;
    if (rc == 0 && f->upload)
        rc = complete(f, err);
    if (rc == 0)
        rc = check_there(f, err);
    if (rc < 0)
        abandon(base);
    else
        free_file(f);
    return rc;
}

/* ---- reading ---- */

/* The next range of it, which ends with it: some stores refuse one that goes beyond. */
static int fetch_part(struct s3_file *f, struct err *err)
{
    struct http_signed_answer answer;
    f->bytes += f->part.len;
    f->at = 0;
    buf_fini(&f->part);
    const uint64_t left = f->size - f->bytes, n = left < PART ? left : PART;
    AUTO_FREE char *range = mem_printf("bytes=%" PRIu64 "-%" PRIu64, f->bytes, f->bytes + n - 1);
    struct pair pairs[] = { { .name = "range", .value = range },
                            { .name = "if-match", .value = f->tag } };
    const struct pairs headers = { .at = pairs, .n = *f->tag ? 2 : 1, .cap = 2 };
    const struct s3_ask ask = {
        .method = "GET", .name = f->base.name, .headers = &headers, .answer_max = PART
    };
    if (s3_call(f->s3, &ask, &answer, err) < 0)
        return -1;
    f->part = answer.body;
    if (f->part.len == n && strcmp(answer.etag, f->tag) == 0)
        return 0;
    return err_set(err, ERR_CONFLICT, "%s/%s was changed while it was read", f->base.target->where,
                   f->base.name);
}

static struct target_file *get_file(struct target *t, const char *name, struct err *err)
{
    struct http_signed_answer answer;
    if (s3_call(store_of(t), &(struct s3_ask){ .method = "HEAD", .name = name }, &answer, err) < 0)
        return NULL;
    buf_fini(&answer.body);
    struct s3_file *f = make_file(t, name);
    f->size = answer.length;
    snprintf(f->tag, sizeof f->tag, "%s", answer.etag);
    return &f->base;
}

static ssize_t read_file(struct target_file *base, void *to, size_t n, struct err *err)
{
    struct s3_file *f = (struct s3_file *)base;
    if (f->at == f->part.len && f->bytes + f->part.len < f->size && fetch_part(f, err) < 0)
        return -1;
    size_t left = f->part.len - f->at, take = n < left ? n : left;
    if (take)
        memcpy(to, f->part.data + f->at, take);
    f->at += take;
    return (ssize_t)take;
}

static void end_file(struct target_file *base)
{
    free_file((struct s3_file *)base);
}

static void destroy(struct target *t)
{
    s3_close(store_of(t));
    free(t->where);
    free(t);
}

static const struct target_ops ops = { .list = list_chains,
                                       .begin = begin_chain,
                                       .remove = remove_chain,
                                       .destroy = destroy,
                                       .create = create_file,
                                       .put = put,
                                       .publish = publish,
                                       .abandon = abandon,
                                       .get = get_file,
                                       .read = read_file,
                                       .end = end_file };

struct target *target_open_s3(const struct target_place *place, struct err *err)
{
    struct s3 *s3 = s3_open(place, err);
    if (!s3)
        return NULL;
    size_t n = strlen(place->where);
    while (place->where[n - 1] == '/')
        n--;
    struct s3_target *t = mem_new(sizeof *t);
    *t = (struct s3_target){ .base = { .ops = &ops, .where = mem_strndup(place->where, n) },
                             .s3 = s3 };
    return &t->base;
}
