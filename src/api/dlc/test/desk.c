/* The desk of the façade's tests: a core of the tests' own and operations without HTTP. It fails
 * with BUG() and knows no cmocka, so that fuzz targets link it too. */
#include "api/dlc/test/desk.h"

#include "api/dlc/dlc.h"
#include "base/mem.h"
#include "text/form.h"

#include <stdlib.h>
#include <string.h>

/* ---- the core ---- */

static struct job_spec *native_read(struct arena *arena, const struct text_node *root,
                                    const struct site *site, struct report *report)
{
    (void)site;
    return job_decode(arena, root, report);
}

static int native_detect(const struct text_node *root)
{
    return text_get(root, "roles") ? 50 : 0;
}

/* TensorBoards are jobs in muster's own words. */
static const struct dialect native = {
    .name = "native", .title = "native", .detect = native_detect, .read = native_read
};
static const struct dialect *const all_dialects[] = { &dlc_dialect, &native };
static const struct convention *const all_conventions[] = { &dlc_convention };
static const struct dialects dialects = { .at = all_dialects,
                                          .n = ARRAY_LEN(all_dialects),
                                          .conventions = all_conventions,
                                          .n_conventions = ARRAY_LEN(all_conventions),
                                          .native = &dlc_convention };
static const struct entry shipped[] = {
    { .kind = ENTRY_IMAGE, .name = "official", .uri = "registry/official:1" },
    { .kind = ENTRY_INSTANCE_TYPE, .name = "ecs.b", .cpu_milli = 8000, .memory = 16ull << 30 },
    { .kind = ENTRY_INSTANCE_TYPE, .name = "ecs.c", .cpu_milli = 2000, .memory = 32ull << 30 },
    { .kind = ENTRY_INSTANCE_TYPE, .name = "ecs.a", .cpu_milli = 8000, .memory = 8ull << 30 },
};

static const struct uri_root roots[] = { { .prefix = "nas://x/", .dir = "/tmp" } };

static void before(struct world *w, struct ctl_config *config)
{
    (void)w;
    config->dialects = &dialects;
    config->admin = "root";
    config->shipped = shipped;
    config->n_shipped = ARRAY_LEN(shipped);
    config->roots = roots;
    config->n_roots = ARRAY_LEN(roots);
}

static void made(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    if (answer->err)
        BUG("%s", answer->err->what);
}

static void make_users(struct ctl *ctl)
{
    const char *team = "team";
    const struct user_change users[] = {
        { .name = "ada", .role = ROLE_USER, .set_projects = true, .projects = { &team, 1 } },
        { .name = "bob", .role = ROLE_USER },
        { .name = "eve", .role = ROLE_READER },
    };
    for (size_t i = 0; i < ARRAY_LEN(users); i++) {
        struct user_change one = users[i];
        one.by = "root";
        one.create = one.set_role = true;
        ctl_user_put(ctl, &one, made, NULL);
        ctl_turn(ctl);
    }
}

void desk_declare(struct desk *desk, const char *text)
{
    ctl_declare(desk->world.ctl,
                &(struct declaration){ .owner = "root", .text = text, .len = strlen(text) }, made,
                NULL);
    ctl_turn(desk->world.ctl);
}

void desk_init(struct desk *desk)
{
    world_init_with(&desk->world, (struct world_hooks){ .before = before }, NULL);
    desk->world.now = 1800000000000; /* after the workspaces that the server has by itself */
    desk->world.code_all = FAKE_RUNS;
    desk->api = (struct api){ .config = { .ctl = desk->world.ctl, .state_dir = desk->world.dir } };
    limits_begin(&desk->api);
    desk->state = dlc_facade.begin(&(struct api_config){ .state_dir = NULL });
    desk_declare(desk, "{\"kind\":\"workspace\",\"name\":\"team\"}");
    make_users(desk->world.ctl);
}

void desk_fini(struct desk *desk)
{
    dlc_facade.end(desk->state);
    limits_end(&desk->api);
    world_fini(&desk->world);
}

/* ---- requests ---- */

static void add_query(struct dlc_call *d, const char *query)
{
    size_t n = 1;
    for (const char *c = query; *c; c++)
        n += *c == '&';
    d->query.at = ARENA_ARRAY(d->arena, n, struct pair);
    for (const char *at = query; *at; at += strcspn(at, "&"), at += *at == '&') {
        size_t len = strcspn(at, "&"), name = strcspn(at, "=&"), value = len - name - (name < len);
        char *key = arena_alloc(d->arena, name + 1), *is = arena_alloc(d->arena, value + 1);
        if (form_decode(at, name, true, key) && form_decode(at + len - value, value, true, is))
            d->query.at[d->query.n++] = (struct pair){ key, is };
    }
}

struct dlc_call *desk_call(struct arena *arena, const struct dlc_op *op, const char *query,
                           const char *body)
{
    struct call *call = ARENA_NEW(arena, struct call);
    struct dlc_call *d = ARENA_NEW(arena, struct dlc_call);
    *call = (struct call){ .arena = arena };
    *d = (struct dlc_call){ .call = call,
                            .arena = arena,
                            .op = op,
                            .request_id = "request",
                            .text = body ? body : "",
                            .text_len = body ? strlen(body) : 0,
                            .body = text_map(arena, NULL, NULL),
                            .running = true };
    if (query)
        add_query(d, query);
    return d;
}

const struct dlc_op *desk_op(const char *name)
{
    size_t n;
    const struct dlc_op *ops = dlc_ops(&n);
    for (size_t i = 0; i < n; i++)
        if (*ops[i].name && strcmp(ops[i].name, name) == 0)
            return &ops[i];
    return NULL;
}

struct desk_reply desk_ask(struct desk *desk, const struct desk_ask *ask)
{
    struct arena *arena = arena_create();
    const struct dlc_op *op = desk_op(ask->op);
    if (!op)
        BUG("no operation %s", ask->op);
    struct dlc_call *d = desk_call(arena, op, ask->query, ask->body);
    desk->world.now += 1000;
    d->ctl = desk->world.ctl;
    d->now_ms = desk->world.now;
    for (size_t i = 0; i < DLC_PARAMS; i++)
        d->param[i] = ask->param[i] ? ask->param[i] : "none";
    d->call->api = &desk->api;
    d->call->facade_state = desk->state;
    identify_by_name(ctl_accounts(d->ctl), arena, ask->who, &d->call->who);
    d->call->owner = d->call->who.name;
    dlc_run(d);
    for (int i = 0; !d->answer && i < 1000; i++)
        world_step(&desk->world);
    if (!d->answer)
        BUG("%s is never answered", ask->op);
    world_step(&desk->world);
    if (d->rest.close) /* nobody is connected whom long lists are sent to */
        d->rest.close(d->rest.arg);
    return (struct desk_reply){ .arena = arena, .status = d->status, .root = d->answer };
}

void desk_reply_fini(struct desk_reply *reply)
{
    arena_destroy(reply->arena);
}
