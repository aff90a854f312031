/* What an operation may be asked. Its row names every parameter of the query and every member of
 * the body that it has, and says what becomes of each:
 *
 *   Name           is honoured
 *   -Name          has no effect here: the answer warns about it
 *   !Name          cannot be done here: refused, with the reason
 *   Name?          true or false; false is as good as left out with - and !
 *   Name#          a whole number
 *   Name=A|B       one of these words
 *   Name.Member    of the body: a member of that object, or of each object of that list; what is
 *                  within a Name without such ones is the handler's
 *   Tag.N.Key      of the query: N is any number
 *
 * A name that is not there is refused with the nearest one that is: left out in silence, a filter
 * would answer another question. "", null, {} and [] are the same as left out: clients send them
 * for what nobody said. Pure: the call's query and body in, its answer or warnings out. */
#include "api/dlc/op.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scan.h"

#include <string.h>
#include <strings.h>

#define TEXT_SIZE 1200 /* what dlc_fail() says at most */
#define NAMES_MAX 80
#define BLANKS    " "
#define ALWAYS    "-RegionId" /* of every operation's query: some clients add it by themselves */

static const struct {
    const char *name, *why;
} reasons[] = {
    { "Accessibility", "who sees it goes by its workspace" },
    { "AccessibleRoleIdList", "users have one role everywhere: Accessibility PRIVATE or PUBLIC" },
    { "CallerAccessKeyId", "permissions are told to who asks, about itself" },
    { "CallerSecurityToken", "permissions are told to who asks, about itself" },
    { "CallerType", "permissions are told to who asks, about itself" },
    { "CallerUid", "permissions are told to who asks, about itself" },
    { "CloneType", "a repository of git is not cloned" },
    { "CodeRepoAccessToken", "a repository of git is not cloned, and the token is not kept" },
    { "Containers", "a pod has one container, whose lines are all there are" },
    { "DatasetTaskRamRole", "there are no RAM roles" },
    { "DataSources", "one source: DataSourceId, Uri, or one TensorboardDataSources" },
    { "DisplayNameSearchMode", "DisplayName is a part of the name, in any case of letters" },
    { "DownloadToFile", "the lines are in the answer" },
    { "DryRun", "what is asked for is done" },
    { "EnableAssignNode", "jobs are not searched by it" },
    { "EnvTypes", "a workspace has one environment, prod" },
    { "ExpireTimeSeconds", "the address is the task's own, and good as long as it runs" },
    { "GroupName", "there are no resource groups" },
    { "ImportInfo", "Uri says where the data is" },
    { "IsShared", "whoever has the address may use it" },
    { "isShared", "whoever has the address may use it" },
    { "JobSpecs", "a job that exists cannot be changed: stop it and create it again" },
    { "Labels", "resources have no labels" },
    { "ModuleList", "there is one module" },
    { "MountAccessReadWriteRoleIdList", "users have one role everywhere: MountAccess RO or RW" },
    { "NumericRangeField", "jobs are not searched by it" },
    { "NumericRangeMax", "jobs are not searched by it" },
    { "NumericRangeMin", "jobs are not searched by it" },
    { "Option", "there is one way to answer" },
    { "Region", "there is one region" },
    { "RegionId", "there is one region" },
    { "Resource", "what may be done goes by the role alone" },
    { "ResourceGroupId", "there are no resource groups" },
    { "ResourceIds", "jobs are not searched by it: ResourceId, one at a time" },
    { "SecurityToken", "permissions are told to who asks, about itself" },
    { "ShareScope", "data sets are not shared with single users" },
    { "SharingConfig", "data sets are not shared with single users" },
    { "TemplateId", "jobs are not searched by it" },
    { "TensorboardDataSources.DirectoryName", "one source needs no directory of its own" },
    { "TensorboardSpec", "it runs on nodes of the server: Cpu, Memory, QuotaId" },
    { "TimeRangeField", "jobs are not searched by it" },
    { "TokenSettings", "a token reads one job, whoever has it" },
    { "UserCommand", "a job that exists cannot be changed: stop it and create it again" },
    { "UserId", "what is asked is asked for oneself" },
    { "UserMetricsEndpoints", "no measures are taken" },
    { "Verbose", "all that is known is always said" },
    { "VerboseFields", "all that is known is always said" },
    { "version", "every Content is a new version" },
    { "VersionDescription", "the first version is the data set itself: Description" },
    { "VersionLabels", "the first version is the data set itself: Labels" },
};

static const char *reason(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (strcmp(reasons[i].name, name) == 0)
            return reasons[i].why;
    return "there is nothing like it here";
}

/* ---- the names of a row ---- */

enum how { HONOURED, IDLE, CANNOT };
struct term {
    enum how how;
    const char *name; /* in the row */
    size_t len;
    bool flag, number;
    const char *words; /* "A|B", up to a blank; NULL: any text */
};

/* The term at *at, which moves behind it; false: that was the last one. */
static bool next_term(const char **at, struct term *f)
{
    const char *c = *at + strspn(*at, BLANKS);
    if (!*c)
        return false;
    *f = (struct term){ .how = *c == '-' ? IDLE : *c == '!' ? CANNOT : HONOURED };
    c += f->how != HONOURED;
    f->name = c;
    f->len = strcspn(c, "?#=" BLANKS);
    c += f->len;
    f->flag = *c == '?';
    f->number = *c == '#';
    f->words = *c == '=' ? c + 1 : NULL;
    *at = c + strcspn(c, BLANKS);
    return true;
}

/* Is the name the one of the row, where a part N is any number? */
static bool named(const struct term *f, const char *name)
{
    const char *at = f->name, *end = f->name + f->len;
    while (at < end && *name) {
        if (*at == 'N' && (at == f->name || at[-1] == '.') && (at + 1 == end || at[1] == '.') &&
            strspn(name, "0123456789") > 0) {
            at++;
            name += strspn(name, "0123456789");
        } else if (*at++ != *name++) {
            return false;
        }
    }
    return at == end && !*name;
}

static bool find(const char *row, const char *name, struct term *f)
{
    while (next_term(&row, f))
        if (named(f, name))
            return true;
    return false;
}

/* Has the row members of it? */
static bool has_members(const char *row, const char *name)
{
    size_t len = strlen(name);
    struct term f;
    while (next_term(&row, &f))
        if (f.len > len && strncmp(f.name, name, len) == 0 && f.name[len] == '.')
            return true;
    return false;
}

static const char *nearest(struct arena *a, const char *row, const char *name)
{
    const char *names[NAMES_MAX];
    size_t n = 0;
    struct term f;
    while (n < NAMES_MAX && next_term(&row, &f))
        if (f.how != CANNOT)
            names[n++] = arena_strndup(a, f.name, f.len);
    return scan_nearest(name, names, n);
}

/* ---- what is wrong ---- */

struct param_check {
    struct dlc_call *d;
    const char *row, *what; /* what: "parameter", "member of the body" */
    struct buf wrong;       /* all of it, in one message */
    bool invalid;           /* else it is what cannot be done */
};

static void wrong(struct param_check *k, bool invalid, const char *text)
{
    k->invalid = k->invalid || invalid;
    buf_addf(&k->wrong, "%s%s", k->wrong.len ? "; " : "", text);
}

static void unknown(struct param_check *k, const char *name)
{
    struct arena *a = k->d->arena;
    const char *near = nearest(a, k->row, name);
    wrong(k, true,
          arena_printf(a, "%.80s is no %s of %s%s%s%s", name, k->what, k->d->op->name,
                       near ? ", but " : "", near ? near : "", near ? " is" : ""));
}

/* One of the words, to the letter? */
static bool is_word(const char *words, const char *value)
{
    size_t len = strlen(value);
    while (*words && *words != ' ') {
        size_t n = strcspn(words, "| ");
        if (n == len && strncmp(words, value, n) == 0)
            return true;
        words += n + (words[n] == '|');
    }
    return false;
}

static bool is_flag(const char *value, bool *on)
{
    *on = strcasecmp(value, "true") == 0 || strcmp(value, "1") == 0;
    return *on || strcasecmp(value, "false") == 0 || strcmp(value, "0") == 0;
}

static void check_value(struct param_check *k, const struct term *f, const char *name,
                        const char *value)
{
    struct arena *a = k->d->arena;
    bool on = true;
    uint64_t number;
    if (f->flag && !is_flag(value, &on))
        wrong(k, true, arena_printf(a, "%s is \"%.40s\", not true or false", name, value));
    else if (f->number && !scan_u64(value, 0, INT64_MAX, &number))
        wrong(k, true, arena_printf(a, "%s is \"%.40s\", not a whole number", name, value));
    else if (f->words && !is_word(f->words, value))
        wrong(k, true,
              arena_printf(a, "%s is \"%.40s\", and one of %.*s is meant", name, value,
                           (int)strcspn(f->words, BLANKS), f->words));
    else if (f->how == CANNOT && on)
        wrong(k, false,
              arena_printf(a, "%s cannot be asked of %s here: %s", name, k->d->op->name,
                           reason(name)));
    else if (f->how == IDLE && on)
        dlc_note(k->d, "%s has no effect: %s", name, reason(name));
}

/* ---- the query ---- */

static void check_query(struct param_check *k)
{
    const struct pairs *query = &k->d->query;
    for (size_t i = 0; i < query->n && !k->wrong.overflow; i++) {
        const struct pair *one = &query->at[i];
        struct term f;
        bool again = false;
        for (size_t j = 0; j < i; j++)
            again = again || strcmp(query->at[j].name, one->name) == 0;
        if (!*one->value)
            continue;
        if (again)
            wrong(k, true, arena_printf(k->d->arena, "%.80s is there twice", one->name));
        else if (find(k->row, one->name, &f) || find(ALWAYS, one->name, &f))
            check_value(k, &f, one->name, one->value);
        else
            unknown(k, one->name);
    }
}

/* ---- the body ---- */

static void check_map(struct param_check *k, const struct text_node *map, const char *prefix);

/* An object, or a list of them. */
static void check_within(struct param_check *k, const struct text_node *node, const char *name)
{
    const char *prefix = arena_printf(k->d->arena, "%s.", name);
    if (node->kind == TEXT_MAP) {
        check_map(k, node, prefix);
        return;
    }
    bool good = node->kind == TEXT_LIST;
    for (const struct text_node *one = good ? node->first : NULL; one && good; one = one->next) {
        good = one->kind == TEXT_MAP;
        if (good)
            check_map(k, one, prefix);
    }
    if (!good)
        wrong(k, true, arena_printf(k->d->arena, "%s is not an object or a list of objects", name));
}

static void check_member(struct param_check *k, const struct term *f, const struct text_node *node,
                         const char *name)
{
    bool plain = f->flag || f->number || f->words;
    bool has = has_members(k->row, name);
    if (plain && (node->kind == TEXT_MAP || node->kind == TEXT_LIST))
        wrong(k, true, arena_printf(k->d->arena, "%s is %s", name, text_kind_word(node->kind)));
    else
        check_value(k, f, name, node->str ? node->str : "");
    if (has && f->how == HONOURED)
        check_within(k, node, name);
}

static void check_map(struct param_check *k, const struct text_node *map, const char *prefix)
{
    for (const struct text_node *one = map->first; one && !k->wrong.overflow; one = one->next) {
        const char *name = arena_printf(k->d->arena, "%s%s", prefix, one->key);
        struct term f;
        if (dlc_empty(one))
            continue;
        if (find(k->row, name, &f))
            check_member(k, &f, one, name);
        else
            unknown(k, name);
    }
}

bool dlc_check_params(struct dlc_call *d)
{
    struct param_check k = { .d = d, .row = d->op->query, .what = "parameter" };
    buf_init(&k.wrong, TEXT_SIZE);
    check_query(&k);
    k.row = d->op->body;
    k.what = "member of the body";
    if (k.row)
        check_map(&k, d->body, "");
    bool good = !k.wrong.len;
    if (!good)
        dlc_fail(d, 400, k.invalid ? "InvalidParameter" : "NotSupported", "%s", buf_str(&k.wrong));
    buf_fini(&k.wrong);
    return good;
}
