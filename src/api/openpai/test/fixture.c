/* Users, tokens and requests of the façade's tests, on a server of api/test/served.h. Every refusal
 * has to have the two members that OpenPAI's clients look for. */
#include "api/openpai/test/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/openpai/openpai.h"
#include "base/mem.h"
#include "ctl/core.h"
#include "dialect/openpai/openpai.h"
#include "text/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct dialect *const all_dialects[] = { &openpai_v1, &openpai_v2 };
static const struct convention *const all_conventions[] = { &openpai_v1_convention,
                                                            &openpai_v2_convention };
static const struct dialects dialects = { .at = all_dialects,
                                          .n = ARRAY_LEN(all_dialects),
                                          .conventions = all_conventions,
                                          .n_conventions = ARRAY_LEN(all_conventions),
                                          .native = &openpai_v2_convention };

static void make_users(struct fix *f)
{
    static const char *const names[] = { "ada", "bob", "eve" };
    struct row check = { "root", "GET", V2 "tokens/check", NULL, NULL, 200, NULL };
    struct reply me = fix_ask(f, &check);
    snprintf(f->me, sizeof f->me, "%s", fix_text(me.root, "username"));
    reply_fini(&me);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char user[256], login[256];
        snprintf(user, sizeof user,
                 "{\"username\":\"%s\",\"password\":\"%s-secret\",\"grouplist\":[%s]}", names[i],
                 names[i], i == 2 ? "\"team\"" : "");
        snprintf(login, sizeof login, "username=%s&password=%s-secret", names[i], names[i]);
        const struct row make = { "root", "POST", V2 "users", user, NULL, 201, "created" };
        const struct row enter = { "", "POST", V1 "token", login, FIX_FORM, 200, NULL };
        fix_rows(f, &make, 1);
        struct reply r = fix_ask(f, &enter);
        snprintf(f->users[i].name, sizeof f->users[i].name, "%s", names[i]);
        snprintf(f->users[i].token, sizeof f->users[i].token, "%s", fix_text(r.root, "token"));
        reply_fini(&r);
    }
}

static int set_up(void **state, const struct api_setting *setting)
{
    struct fix *f = mem_new(sizeof *f);
    served_init(&f->served, &(struct served_config){ .dialects = &dialects,
                                                     .facade = &openpai_facade,
                                                     .settings = setting,
                                                     .n_settings = 1 });
    f->served.world.code_all = 0;
    *state = f;
    fix_run(state, make_users);
    return 0;
}

int fix_set_up(void **state)
{
    static const struct api_setting off = { .name = OPENPAI_OPEN_READS, .value = "off" };
    return set_up(state, &off);
}

int fix_set_up_open(void **state)
{
    static const struct api_setting on = { .name = OPENPAI_OPEN_READS, .value = "on" };
    return set_up(state, &on);
}

int fix_tear_down(void **state)
{
    struct fix *f = *state;
    served_fini(&f->served);
    free(f);
    return 0;
}

static void run_client(void *arg)
{
    struct fix *f = arg;
    f->run(f);
}

void fix_run(void **state, void (*run)(struct fix *))
{
    struct fix *f = *state;
    f->run = run;
    beside_run(&f->served.beside, run_client, f);
}

/* ---- the client ---- */

static const char *token_of(const struct fix *f, const char *who)
{
    if (!*who)
        return NULL;
    if (strcmp(who, "root") == 0)
        return SERVED_TOKEN;
    for (size_t i = 0; i < ARRAY_LEN(f->users); i++)
        if (strcmp(f->users[i].name, who) == 0)
            return f->users[i].token;
    return who;
}

struct reply fix_ask(struct fix *f, const struct row *row)
{
    return served_ask(&f->served, token_of(f, row->who), row);
}

/* Every refusal has both members that clients look for. */
static void check_row(const struct row *row, struct reply *r)
{
    served_check(row, r);
    if (row->status >= 400) {
        fix_text(r->root, "code");
        fix_text(r->root, "message");
    }
}

void fix_rows(struct fix *f, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct reply r = fix_ask(f, &rows[i]);
        check_row(&rows[i], &r);
        reply_fini(&r);
    }
}

void fix_await(struct fix *f, const struct row *row)
{
    for (int i = 0; i < 5000; i++) {
        struct reply r = fix_ask(f, row);
        bool there = strstr(buf_str(&r.http.body), row->part) != NULL;
        reply_fini(&r);
        if (there)
            return;
    }
    fail_msg("%s has never %s", row->path, row->part);
}

const char *fix_text(const struct text_node *map, const char *key)
{
    const struct text_node *node = map ? text_get(map, key) : NULL;
    if (!node || node->kind != TEXT_STR)
        fail_msg("no text at \"%s\"", key);
    return node->str;
}
