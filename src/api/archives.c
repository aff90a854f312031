/* Code that a submitter on another machine brings along: a gzipped tar under the SHA-256 of its
 * bytes, put in pieces, then read through by a child that may do nothing else. It is kept packed;
 * jobs name it (inputs.code.archive), and each agent unpacks it for itself, when its bytes still
 * are those of its name. */
#include "api/child.h"
#include "api/kept_code.h"

#include "base/file.h"
#include "base/mem.h"
#include "job/job.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_LEN    64
#define ARCHIVE_MAX (512ull << 20)
#define CHECK_MS    120000
#define SMALL       (64ull << 20) /* what any archive may hold */
#define RATIO       100           /* and so many times its own size */
#define TEXT_ROOM   512
#define AT_ONCE     4 /* checks of one user */

static bool all_of(const char *text, const char *chars, size_t least, size_t most)
{
    if (!text)
        return false;
    size_t n = strlen(text);
    return n >= least && n <= most && strspn(text, chars) == n;
}

/* Answers the problem itself. */
static bool find_archive(struct call *call, bool to_put, struct kept_code *k)
{
    struct err err;
    const char *part = to_put ? http_query(call->request, "part", 0) : NULL;
    const char *hash = call->param[0];
    if (!all_of(hash, "0123456789abcdef", HASH_LEN, HASH_LEN)) {
        err_set(&err, ERR_INPUT, "\"%.80s\" is no SHA-256", hash);
        err_hint(&err, "64 hexadecimal digits, of the gzipped tar");
    } else if (to_put && !all_of(part, "0123456789abcdefghijklmnopqrstuvwxyz", 1, 32)) {
        err_set(&err, ERR_INPUT, "part is missing");
        err_hint(&err, "part=NAME, the same for all pieces of one upload");
    } else if (kept_code_at(call, hash, part, k, &err) == 0) {
        return true;
    }
    call_problem(call, &err, NULL);
    return false;
}

static void answer_kept(struct call *call, const struct kept_code *k, unsigned status)
{
    struct text_node *tree = text_map(call->arena, NULL, NULL);
    text_str(call->arena, tree, "archive", arena_printf(call->arena, CODE_ARCHIVE "%s", k->hash));
    call_answer(call, status, tree);
}

void archive_get(struct call *call)
{
    struct kept_code k;
    struct err err;
    if (!find_archive(call, false, &k))
        return;
    if (kept_code_is_there(&k)) {
        answer_kept(call, &k, 200);
        return;
    }
    err_set(&err, ERR_NOT_FOUND, "no archive of this hash is kept here");
    call_problem(call, &err, NULL);
}

/* ---- pieces ---- */

static int append(struct call *call, const struct kept_code *k, uint64_t offset, const char *data,
                  size_t len, struct err *err)
{
    struct stat st;
    if (offset + len > ARCHIVE_MAX)
        return err_set(err, ERR_TOO_LARGE, "an archive has at most 512 MiB");
    if (offset == 0)
        (void)unlink(k->part);
    if (kept_code_make_room(call, k, len, err) != 0)
        return -1;
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
    AUTO_CLOSE int fd = open(k->part, flags, 0600);
    if (fd < 0 || fstat(fd, &st) != 0)
        return err_sys(err, "%s", k->part);
    if ((uint64_t)st.st_size != offset) {
        err_set(err, ERR_CONFLICT, "offset is %" PRIu64 ", and %llu bytes are here", offset,
                (unsigned long long)st.st_size);
        return err_hint(err, "begin again with offset=0");
    }
    return file_write_all(fd, data, len) == 0 ? 0 : err_sys(err, "%s", k->part);
}

void archive_put(struct call *call)
{
    struct kept_code k;
    struct err err;
    uint64_t offset = 0;
    size_t len;
    const char *data = http_body(call->request, &len);
    if (!find_archive(call, true, &k))
        return;
    if (!call_u64(call, "offset", 0, ARCHIVE_MAX, &offset, &err) ||
        append(call, &k, offset, data, len, &err) < 0) {
        call_problem(call, &err, NULL);
        return;
    }
    struct text_node *tree = text_map(call->arena, NULL, NULL);
    text_int(call->arena, tree, "size", (int64_t)(offset + len));
    call_answer(call, 200, tree);
}

/* ---- checking ---- */

/* What main/code_main.h says: nothing, or the word of an error, a space and its text. */
struct checking {
    struct checking *next; /* of the api's */
    struct call *call;
    struct kept_code code;
    struct child *child;
};

static void forget(struct checking *c)
{
    struct checking **at = &c->call->api->checks;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    free(c);
}

static bool has_enough(const struct call *call, const struct kept_code *k)
{
    unsigned n = 0;
    for (const struct checking *c = call->api->checks; c; c = c->next)
        n += strcmp(c->code.owned, k->owned) == 0;
    return n >= AT_ONCE;
}

static int judge(const struct child_end *end, struct err *err)
{
    char *text = strchr(end->text, ' ');
    if (end->killed)
        return err_set(err, ERR_TOO_LARGE, "reading the archive took more than two minutes");
    if (end->good)
        return 0;
    if (!text)
        return err_set(err, ERR_SYSTEM, "the archive could not be checked");
    *text = '\0';
    enum err_code code = err_from_word(end->text);
    /* what the sender has to mend */
    return err_set(err, code == ERR_CONFLICT ? ERR_INPUT : code, "%s", text + 1);
}

static void on_checked(void *arg, const struct child_end *end)
{
    struct checking *c = arg;
    struct call *call = c->call;
    struct kept_code code = c->code;
    struct err err;
    forget(c);
    if (judge(end, &err) == 0 && kept_code_take(&code, &err) == 0) {
        answer_kept(call, &code, 201);
        return;
    }
    (void)unlink(code.part);
    call_problem(call, &err, NULL);
}

void archives_end(struct api *api)
{
    while (api->checks) {
        child_drop(api->checks->child);
        forget(api->checks);
    }
}

static int start_check(struct checking *c, int archive, uint64_t size, struct err *err)
{
    const struct api_config *config = &c->call->api->config;
    uint64_t most = SMALL + RATIO * size;
    char bytes[24], files[24];
    snprintf(bytes, sizeof bytes, "%" PRIu64, most < config->code_size ? most : config->code_size);
    snprintf(files, sizeof files, "%" PRIu64, config->code_files);
    char *args[] = { (char *)"check-code", (char *)c->code.hash, bytes, files, NULL };
    struct child_line line = { .program = config->program,
                               .args = args,
                               .no_environment = true,
                               .input = archive,
                               .text_max = TEXT_ROOM,
                               .limit_ms = CHECK_MS };
    c->child = child_start(config->loop, &line, on_checked, c, err);
    return c->child ? 0 : -1;
}

static void check(struct call *call, const struct kept_code *k)
{
    struct stat st;
    struct err err;
    if (has_enough(call, k)) {
        err_set(&err, ERR_BUSY, "%d archives that you sent are looked through now", AT_ONCE);
        err_hint(&err, "ask again when one of them is done");
        call_problem(call, &err, NULL);
        return;
    }
    AUTO_CLOSE int archive = open(k->part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (archive < 0 || fstat(archive, &st) != 0) {
        err_set(&err, ERR_INPUT, "nothing of this archive came: put its pieces first");
        call_problem(call, &err, NULL);
        return;
    }
    struct checking *c = mem_new(sizeof *c);
    *c = (struct checking){ .call = call, .code = *k, .next = call->api->checks };
    call->api->checks = c;
    if (start_check(c, archive, (uint64_t)st.st_size, &err) == 0) {
        call_keep(call);
        return;
    }
    forget(c);
    call_problem(call, &err, NULL);
}

void archive_unpack(struct call *call)
{
    struct kept_code k;
    if (!find_archive(call, true, &k))
        return;
    if (kept_code_is_there(&k)) {
        unlink(k.part);
        answer_kept(call, &k, 200);
        return;
    }
    check(call, &k);
}
