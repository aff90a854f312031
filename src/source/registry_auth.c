/* Docker's form is {"auths": {REGISTRY: {"auth": BASE64 OF USER:PASSWORD}}}; other members of such
 * a file (helpers that would have to be run) are left out. */
#include "source/registry_auth.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "image/reference.h"
#include "store/secret.h"
#include "text/json.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define JSON_MAX  (256u << 10)
#define LINES     3
#define LOGIN_MAX 4096u

static int wrong_file(const char *why, struct err *err)
{
    err_set(err, ERR_INPUT, "the file of registry credentials %s", why);
    return err_hint(err, "what docker login writes, or three lines: registry, user, password");
}

static void add_auth(struct arena *arena, struct text_node *auths, const char *server,
                     const char *auth)
{
    if (!text_get(auths, server))
        text_str(arena, text_map(arena, auths, server), "auth", auth);
}

static int add_login(struct arena *arena, struct text_node *auths, const char *server,
                     const char *user, const char *password, struct err *err)
{
    char plain[LOGIN_MAX], packed[2 * LOGIN_MAX];
    int n = snprintf(plain, sizeof plain, "%s:%s", user, password);
    if (n < 0 || (size_t)n >= sizeof plain)
        return err_set(err, ERR_INPUT, "the login of a registry is longer than %u bytes",
                       LOGIN_MAX - 1);
    sodium_bin2base64(packed, sizeof packed, (const unsigned char *)plain, (size_t)n,
                      sodium_base64_VARIANT_ORIGINAL);
    add_auth(arena, auths, server, packed);
    sodium_memzero(plain, sizeof plain);
    sodium_memzero(packed, sizeof packed);
    return 0;
}

static int add_json(struct arena *arena, struct text_node *auths, const char *file, size_t len,
                    struct err *err)
{
    struct report report;
    report_init(&report, arena);
    const struct text_node *root = json_parse(arena, file, len, 0, &report);
    const struct text_node *all = root ? text_get(root, "auths") : NULL;
    if (!all || all->kind != TEXT_MAP)
        return wrong_file("has no \"auths\"", err);
    for (const struct text_node *one = all->first; one; one = one->next)
        if (*text_word(one, "auth"))
            add_auth(arena, auths, one->key, text_word(one, "auth"));
    return 0;
}

static int add_lines(struct arena *arena, struct text_node *auths, const char *file, size_t len,
                     struct err *err)
{
    char *text = arena_strndup(arena, file, len), *rest = text;
    char *line[LINES] = { NULL };
    size_t n = 0;
    for (char *at; n < LINES && (at = strsep(&rest, "\n"));) {
        at[strcspn(at, "\r")] = '\0';
        if (*at)
            line[n++] = at;
    }
    if (n != LINES)
        return wrong_file("is neither of the two forms", err);
    return add_login(arena, auths, line[0], line[1], line[2], err);
}

/* Of the image, where the login does not say. */
static const char *server_of(const struct registry_login *login, struct image_ref *ref)
{
    if (login->server && *login->server)
        return login->server;
    return login->image && image_ref_parse(login->image, ref, NULL) == 0 ? ref->registry : NULL;
}

static int add_logins(struct arena *arena, struct text_node *auths, const struct inputs *inputs,
                      struct err *err)
{
    for (size_t i = 0; i < inputs->n_logins; i++) {
        const struct registry_login *login = &inputs->logins[i];
        struct image_ref ref;
        const char *server = server_of(login, &ref);
        if (!server)
            continue;
        if (login->auth && *login->auth)
            add_auth(arena, auths, server, login->auth);
        else if (login->user && login->password &&
                 add_login(arena, auths, server, login->user, login->password, err) != 0)
            return -1;
    }
    return 0;
}

int registry_auth_make(const char *file, size_t len, const struct inputs *inputs, char **json,
                       struct err *err)
{
    struct arena *arena = arena_create();
    AUTO_BUF struct buf text = BUF_INIT(JSON_MAX);
    struct text_node *root = text_map(arena, NULL, NULL);
    struct text_node *auths = text_map(arena, root, "auths");
    int rc = 0;
    *json = NULL;
    if (file)
        rc = (len > 0 && file[strspn(file, " \t\r\n")] == '{' ? add_json : add_lines)(
            arena, auths, file, len, err);
    if (rc == 0)
        rc = add_logins(arena, auths, inputs, err);
    if (rc == 0 && auths->count > 0) {
        json_print(root, 0, &text);
        if (text.overflow)
            rc = wrong_file("has too many of them", err);
        else
            *json = buf_take(&text);
    }
    arena_destroy(arena);
    return rc;
}

static void name_of(uint64_t job, char out[64])
{
    snprintf(out, 64, "registry/%llu", (unsigned long long)job);
}

int registry_auth_keep(struct store *store, const char *owner, uint64_t job, const char *json,
                       struct err *err)
{
    char name[64];
    name_of(job, name);
    return store_put_secret(store, owner, name, json, strlen(json), err);
}

const char *registry_auth_find(struct store *store, struct arena *arena, const struct job_row *row)
{
    char name[64];
    const char *json = NULL;
    struct err err;
    name_of(row->array ? row->array : row->id, name);
    if (store_get_secret(store, arena, row->owner, name, &json, &err) < 0)
        log_error("registry.auth", "job=%llu: %s", (unsigned long long)row->number, err.what);
    return json;
}
