/* One entry a name that was asked for. While its child runs, submissions wait at the entry, in the
 * order in which they came. What the child prints are lines of key=value; it prints nothing when
 * there is no such account. */
#include "api/accounts.h"

#include "api/child.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/vec.h"

#include <string.h>

#define FRESH_MS   60000 /* what is known of an account */
#define ABSENT_MS  5000  /* that there is none: it may just be made */
#define LOOK_UP_MS 5000
#define TEXT_MAX   (64u << 10)

struct waiter { /* in the arena of its call */
    struct waiter *next;
    struct call *call;
    struct submission ask;
    struct account_choice choice;
    struct identity who;
    ctl_done *done;
    void *arg;
};

enum account_answer { NOT_KNOWN, IS_THERE, IS_ABSENT, NO_ANSWER };
struct account_entry {
    struct account_lookups *all;
    char *name;
    enum account_answer known;
    bool ordinary;
    uint64_t until_ms;
    struct arena *arena; /* of account */
    struct account account;
    struct waiter *first, **last;
    struct child *child; /* asks now */
};
struct account_lookups {
    uv_loop_t *loop;
    char *program;
    struct string_map *names;
};

/* ---- what is known ---- */

static bool is_fresh(const struct account_entry *e)
{
    return e->known != NOT_KNOWN && clock_mono_ms() < e->until_ms;
}

static void take_groups(struct account_entry *e, char *list)
{
    uint32_t *groups = ARENA_ARRAY(e->arena, ACCOUNT_GROUPS_MAX, uint32_t);
    size_t n = 0;
    for (char *word; n < ACCOUNT_GROUPS_MAX && (word = strsep(&list, ","));) {
        uint64_t id;
        if (scan_u64(word, 0, UINT32_MAX - 1, &id))
            groups[n++] = (uint32_t)id;
    }
    e->account.ids.groups = groups;
    e->account.ids.n_groups = n;
}

static void take_line(struct account_entry *e, char *line, unsigned *found)
{
    char *value = strchr(line, '=');
    uint64_t id;
    if (!value)
        return;
    *value++ = '\0';
    bool number = scan_u64(value, 0, UINT32_MAX - 1, &id);
    if (strcmp(line, "uid") == 0 && number) {
        e->account.ids.uid = (uint32_t)id;
        *found |= 1;
    } else if (strcmp(line, "gid") == 0 && number) {
        e->account.ids.gid = (uint32_t)id;
        *found |= 2;
    } else if (strcmp(line, "groups") == 0) {
        take_groups(e, value);
        *found |= 4;
    } else if (strcmp(line, "home") == 0) {
        e->account.home = arena_strdup(e->arena, value);
    } else if (strcmp(line, "shell") == 0) {
        e->account.shell = arena_strdup(e->arena, value);
    } else if (strcmp(line, "ordinary") == 0) {
        e->ordinary = strcmp(value, "yes") == 0;
    }
}

static void learn(struct account_entry *e, const struct child_end *end)
{
    unsigned found = 0;
    char *rest = end ? end->text : NULL;
    if (e->arena)
        arena_destroy(e->arena);
    e->arena = arena_create();
    e->ordinary = false;
    e->account = (struct account){ .name = e->name, .home = "", .shell = "" };
    for (char *line; rest && (line = strsep(&rest, "\n"));)
        take_line(e, line, &found);
    e->known = !end || !end->good ? NO_ANSWER : found == 7 ? IS_THERE : IS_ABSENT;
    e->until_ms = clock_mono_ms() + (e->known == IS_THERE ? FRESH_MS : ABSENT_MS);
}

/* ---- going on ---- */

static void go_on(struct account_lookups *all, struct waiter *w);

static int not_looked_up(const char *name, struct err *err)
{
    err_set(err, ERR_UNAVAILABLE, "account %.80s could not be looked up within %u s", name,
            LOOK_UP_MS / 1000);
    return err_hint(err, "getent passwd %.80s shows whether this machine knows it", name);
}

static void submit(struct waiter *w)
{
    ctl_submit(w->call->api->config.ctl, &w->ask, w->done, w->arg);
}

static void refuse(struct waiter *w, struct err *err)
{
    w->ask.refused = err;
    submit(w);
}

/* The entry's answer for w: taken, another name to be tried, or a refusal. */
static void decide(const struct account_entry *e, struct waiter *w)
{
    struct err err = { 0 };
    bool good = e->known == IS_THERE && (!w->choice.ordinary || e->ordinary);
    if (e->known == NO_ANSWER) {
        not_looked_up(e->name, &err);
        refuse(w, &err);
    } else if (good && e->account.ids.uid == 0) {
        err_set(&err, ERR_DENIED, "account %.80s is root, as whom no other user's job runs",
                e->name);
        refuse(w, &err);
    } else if (good) {
        w->ask.account = &e->account;
        submit(w);
    } else if (w->choice.otherwise) {
        w->choice = (struct account_choice){ .name = w->choice.otherwise };
        go_on(e->all, w);
    } else {
        refuse_account(&w->who, &w->choice, &err);
        refuse(w, &err);
    }
}

/* e->child is gone, or could not be started (end is NULL). */
static void end_look_up(struct account_entry *e, const struct child_end *end)
{
    e->child = NULL;
    learn(e, end);
    struct waiter *w = e->first;
    e->first = NULL;
    e->last = &e->first;
    for (struct waiter *next; w; w = next) {
        next = w->next;
        decide(e, w);
    }
}

static void on_looked_up(void *arg, const struct child_end *end)
{
    end_look_up(arg, end);
}

static void look_up(struct account_entry *e)
{
    char *args[] = { (char *)"account-of", e->name, NULL };
    struct child_line line = { .program = e->all->program,
                               .args = args,
                               .input = -1,
                               .text_max = TEXT_MAX,
                               .limit_ms = LOOK_UP_MS };
    struct err err;
    e->child = child_start(e->all->loop, &line, on_looked_up, e, &err);
    if (!e->child)
        end_look_up(e, NULL);
}

static struct account_entry *look_of(struct account_lookups *all, const char *name)
{
    struct account_entry *e = string_map_get(all->names, name);
    if (e)
        return e;
    e = mem_new(sizeof *e);
    e->all = all;
    e->name = mem_strdup(name);
    e->last = &e->first;
    string_map_set(all->names, e->name, e);
    return e;
}

static void go_on(struct account_lookups *all, struct waiter *w)
{
    struct account_entry *e = look_of(all, w->choice.name);
    if (is_fresh(e) && !e->child) {
        decide(e, w);
        return;
    }
    w->next = NULL;
    *e->last = w;
    e->last = &w->next;
    if (!e->child)
        look_up(e);
}

/* ---- asking ---- */

static const char *copy(struct arena *a, const char *text)
{
    return text ? arena_strdup(a, text) : NULL;
}

struct submission accounts_copy(struct arena *a, const struct submission *ask)
{
    struct submission out = *ask;
    out.owner = copy(a, ask->owner);
    out.text = ask->text ? arena_strndup(a, ask->text, ask->len) : NULL;
    out.from = copy(a, ask->from);
    out.name = copy(a, ask->name);
    out.queue = copy(a, ask->queue);
    out.python = copy(a, ask->python);
    out.python_from = copy(a, ask->python_from);
    out.file = copy(a, ask->file);
    out.code_dir = copy(a, ask->code_dir);
    out.work_dir = copy(a, ask->work_dir);
    out.key = copy(a, ask->key);
    out.env = (struct pairs){ .at = NULL };
    for (size_t i = 0; i < ask->env.n; i++)
        pairs_set(&out.env, a, ask->env.at[i].name, copy(a, ask->env.at[i].value));
    const char **sets = ARENA_ARRAY(a, ask->sets.n, const char *);
    for (size_t i = 0; i < ask->sets.n; i++)
        sets[i] = arena_strdup(a, ask->sets.at[i]);
    out.sets.at = sets;
    return out;
}

void accounts_submit(struct call *call, const struct submission *ask, ctl_done *done, void *arg)
{
    struct ctl *ctl = call->api->config.ctl;
    struct account_lookups *all = call->api->accounts;
    struct account_choice choice;
    struct identity who = call->who;
    struct err err = { 0 };
    if (who.of.job) { /* as its own job */
        struct submission child = *ask;
        child.parent = who.of_number;
        child.account = answer_account_of_job(ctl, call->arena, who.of.job);
        ctl_submit(ctl, &child, done, arg);
        return;
    }
    if (ask->owner && (!who.name || strcmp(ask->owner, who.name) != 0))
        identify_by_name(ctl_accounts(ctl), call->arena, ask->owner, &who);
    int rc = choose_account(ctl_accounts(ctl), call->arena, &who, &choice, &err);
    if (rc < 0 || !choice.name || !all) {
        struct submission now = *ask;
        now.refused = rc < 0 ? &err : NULL;
        ctl_submit(ctl, &now, done, arg);
        return;
    }
    struct waiter *w = ARENA_NEW(call->arena, struct waiter);
    *w = (struct waiter){ .call = call,
                          .ask = accounts_copy(call->arena, ask),
                          .choice = choice,
                          .who = who,
                          .done = done,
                          .arg = arg };
    go_on(all, w);
}

/* ---- at the start ---- */

int accounts_check(struct account_lookups *all, const char *name, struct err *err)
{
    struct account_entry *e = look_of(all, name);
    look_up(e);
    uv_run(all->loop, UV_RUN_DEFAULT);
    if (e->known == NO_ANSWER)
        return not_looked_up(name, err);
    if (e->known == IS_THERE && e->ordinary)
        return 0;
    err_set(err, ERR_INPUT, "account \"%.80s\" is %s", name,
            e->known == IS_THERE ? "one of the system's" : "not on this machine");
    return err_hint(err, "name an ordinary one (useradd makes one), or leave it out: then only "
                         "users with an account of their own submit");
}

/* ---- life ---- */

struct account_lookups *account_lookups_create(uv_loop_t *loop, const char *program)
{
    if (!program)
        return NULL;
    struct account_lookups *all = mem_new(sizeof *all);
    all->loop = loop;
    all->program = mem_strdup(program);
    all->names = string_map_create();
    return all;
}

static void end_one(void *value)
{
    struct account_entry *e = value;
    child_drop(e->child);
    if (e->arena)
        arena_destroy(e->arena);
    free(e->name);
    free(e);
}

void account_lookups_destroy(struct account_lookups *all)
{
    if (!all)
        return;
    string_map_destroy_with(all->names, end_one);
    free(all->program);
    free(all);
}
