/* Fuzz target: requests of PAI-DLC's and AIWorkspace's clients, one after the other, against a core
 * of their own: bodies, queries and ids in any order. Two lines a request, `Operation param
 * param?query` and the body; a line that begins with # is asked by the admin, else by a user; @ is
 * the id of what was made last. What is answered prints and reads back, and is never a fault of the
 * server; what was kept is listed afterwards, whatever it says. */
#include "answer/search.h"
#include "api/dlc/test/desk.h"
#include "base/buf.h"
#include "base/mem.h"
#include "text/json.h"

#include <sodium.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1 << 14, REQUESTS_MAX = 16, ID_MAX = 64 };

static struct desk *desk;

/* ---- the same ids for the same input ---- */

static uint64_t drawn;

static uint32_t draw(void)
{
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(drawn >> 33);
}

static void fill(void *out, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)out)[i] = (unsigned char)draw();
}

static const char *name(void)
{
    return "drawn";
}

static struct randombytes_implementation drawing = { .implementation_name = name,
                                                     .random = draw,
                                                     .buf = fill };

/* ---- one request ---- */

struct client {
    struct arena *arena;
    char id[ID_MAX];
    bool changed; /* something is there that was not */
};

/* The line without its end, @ filled in; *at moves behind it. */
static char *line(struct client *c, const char **at, const char *end)
{
    AUTO_BUF struct buf out = BUF_INIT(INPUT_MAX * 4);
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    stop = stop ? stop : end;
    for (const char *from = *at; from < stop; from++)
        if (*from == '@')
            buf_puts(&out, c->id);
        else if (*from)
            buf_putc(&out, *from);
    *at = stop < end ? stop + 1 : end;
    return arena_strdup(c->arena, buf_str(&out));
}

static void keep_id(struct client *c, const struct text_node *root)
{
    for (const struct text_node *one = root->first; one; one = one->next) {
        size_t len = strlen(one->key);
        if (len > 2 && strcmp(one->key + len - 2, "Id") == 0 && one->kind == TEXT_STR &&
            *one->str && strlen(one->str) < ID_MAX && strcmp(one->key, "RequestId") != 0) {
            memcpy(c->id, one->str, strlen(one->str) + 1);
            return;
        }
    }
}

static void check(const struct desk_reply *reply, const char *op)
{
    AUTO_BUF struct buf out = BUF_INIT((size_t)64 << 20);
    struct report report;
    report_init(&report, reply->arena);
    json_print(reply->root, 0, &out);
    if (out.len < TEXT_MAX_BYTES && !json_parse(reply->arena, out.data, out.len, 0, &report))
        BUG("the answer of %s does not read back", op);
    if (reply->status >= 500 || (reply->status != 200 && reply->status < 400))
        BUG("%s answers %u: %s", op, reply->status, buf_str(&out));
    if (reply->status != 200 &&
        (!text_get(reply->root, "Code") || !text_get(reply->root, "Message")))
        BUG("%s refuses in another shape", op);
}

static void ask(struct client *c, const struct desk_ask *request)
{
    struct desk_reply reply = desk_ask(desk, request);
    check(&reply, request->op);
    if (reply.status == 200) {
        keep_id(c, reply.root);
        c->changed = c->changed || (desk_op(request->op)->flags & DLC_WRITES);
    }
    desk_reply_fini(&reply);
}

static void request(struct client *c, char *head, const char *body)
{
    char *query = strchr(head, '?'), *rest, *word;
    struct desk_ask one = { .who = *head == '#' ? "root" : "ada", .body = *body ? body : NULL };
    if (query)
        *query++ = '\0';
    one.query = query;
    word = strtok_r(head + (*head == '#'), " ", &rest);
    const struct dlc_op *op = word ? desk_op(word) : NULL;
    if (!op || op->run == dlc_web_terminal) /* needs a connection */
        return;
    one.op = op->name;
    for (size_t i = 0; i < DLC_PARAMS && (word = strtok_r(NULL, " ", &rest)); i++)
        one.param[i] = word;
    ask(c, &one);
}

static void list_all(struct client *c)
{
    static const struct desk_ask all[] = {
        { .op = "ListDatasets", .query = "SortBy=Name&PageSize=1000" },
        { .op = "ListDatasets", .query = "SortBy=GmtModifiedTime&Order=DESC" },
        { .op = "ListCodeSources", .query = "SortBy=DisplayName" },
        { .op = "ListImages", .query = "Verbose=true&SortBy=Name" },
        { .op = "ListImageLabels" },
        { .op = "ListWorkspaces", .query = "SortBy=GmtModifiedTime" },
        { .op = "ListJobTemplates", .query = "WorkspaceId=default&SortBy=TemplateName" },
        { .op = "ListTensorboards", .query = "SortBy=DisplayName" },
        { .op = "ListJobs", .query = "PageSize=100" },
        { .op = "ListMembers", .param = { "default" } },
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct desk_ask one = all[i];
        one.who = "root";
        ask(c, &one);
    }
}

/* ---- the same core for all: what an input left is taken away, which is faster than a new one ----
 */

static void whatever(void *arg, const struct ctl_answer *answer)
{
    (void)arg;
    (void)answer;
}

static void drop_documents(struct ctl *ctl, struct arena *a)
{
    static const char *const kinds[] = { "dlc.codesource",  "dlc.dataset",  "dlc.image",
                                         "dlc.tensorboard", "dlc.template", "dlc.user",
                                         "dlc.workspace" };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct document_list all = documents_list(ctl_documents(ctl), a, kinds[i], NULL);
        struct document *gone = ARENA_ARRAY(a, all.n + 1, struct document);
        size_t n = 0;
        for (; n < all.n; n++)
            gone[n] = (struct document){ kinds[i], "", all.at[n].name, NULL };
        ctl_documents_put(ctl, &(struct document_changes){ .by = "root", .at = gone, .n = n },
                          whatever, NULL);
        ctl_turn(ctl);
    }
}

static void drop_entries(struct ctl *ctl, struct arena *a)
{
    static const enum entry_kind kinds[] = { ENTRY_WORKSPACE, ENTRY_DATASET, ENTRY_CODE_SOURCE,
                                             ENTRY_IMAGE };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct entry_list all = ctl_catalogue_view(ctl, a, kinds[i]);
        const char **names = ARENA_ARRAY(a, all.n + 1, const char *);
        for (size_t k = 0; k < all.n; k++) /* entries last until the first of them goes */
            names[k] = arena_strdup(a, all.at[k]->name);
        for (size_t k = 0; k < all.n; k++)
            if (strcmp(names[k], "team") != 0) {
                ctl_undeclare(ctl, "root", kinds[i], names[k], whatever, NULL);
                ctl_turn(ctl);
            }
    }
}

static void drop_jobs(struct world *w, struct arena *a)
{
    const struct identity root = { .name = "root", .role = ROLE_ADMIN };
    const struct job_query all = { .limit = 1000 };
    struct search_page found = { .n = 0 };
    struct err err;
    if (answer_search(w->ctl, a, &root, &all, &found, &err))
        BUG("%s", err.what);
    for (size_t i = 0; i < found.n; i++)
        world_command_as(w, "root", found.ids[i], CTL_STOP);
    world_run(w);
    for (size_t i = 0; i < found.n; i++)
        world_command_as(w, "root", found.ids[i], CTL_DELETE);
}

static void clear(void)
{
    static const char *const outside[] = { "bob", "eve" };
    const char *team = "team";
    struct arena *a = arena_create();
    struct ctl *ctl = desk->world.ctl;
    drop_jobs(&desk->world, a);
    drop_documents(ctl, a);
    drop_entries(ctl, a);
    for (size_t i = 0; i < ARRAY_LEN(outside); i++)
        ctl_user_put(
            ctl, &(struct user_change){ .by = "root", .name = outside[i], .set_projects = true },
            whatever, NULL);
    ctl_user_put(ctl,
                 &(struct user_change){
                     .by = "root", .name = "ada", .set_projects = true, .projects = { &team, 1 } },
                 whatever, NULL);
    ctl_turn(ctl);
    arena_destroy(a);
}

/* The core keeps memory from one input to the next, for which libFuzzer would look for leaks after
 * each: looked for at the end, they cost nothing. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static char flag[] = "-detect_leaks=0";
    size_t n = (size_t)*argc;
    char **wider = mem_new((n + 2) * sizeof *wider);
    memcpy(wider, *argv, n * sizeof *wider);
    wider[n] = flag;
    *argv = wider;
    ++*argc;
    randombytes_set_implementation(&drawing);
    desk = mem_new(sizeof *desk);
    desk_init(desk);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    if (size == 0 || size > INPUT_MAX)
        return 0;
    drawn = 1;
    struct client c = { .arena = arena_create(), .id = "none" };
    for (int i = 0; i < REQUESTS_MAX && at < end; i++) {
        char *head = line(&c, &at, end);
        request(&c, head, line(&c, &at, end));
    }
    if (c.changed) {
        list_all(&c);
        clear();
    }
    arena_destroy(c.arena);
    return 0;
}

/* ---- bodies of other shapes: bytes changed at random are hardly ever JSON ---- */

struct change {
    struct arena *arena;
    size_t at;                  /* nodes before the one that is changed */
    const struct text_node *by; /* NULL: left out */
};

static size_t nodes(const struct text_node *node)
{
    size_t n = 1;
    for (const struct text_node *one = node->first; one; one = one->next)
        n += nodes(one);
    return n;
}

static void changed(struct change *c, struct text_node *into, const struct text_node *node)
{
    for (const struct text_node *one = node->first; one; one = one->next) {
        bool here = c->at-- == 1;
        if (here && c->by)
            text_copy(c->arena, into, one->key, c->by);
        else if (!here && one->kind == TEXT_MAP)
            changed(c, text_map(c->arena, into, one->key), one);
        else if (!here && one->kind == TEXT_LIST)
            changed(c, text_list(c->arena, into, one->key), one);
        else if (!here)
            text_copy(c->arena, into, one->key, one);
    }
}

/* One value of the body left out, or another in its place. */
static const char *reshaped(struct arena *a, const char *body)
{
    static const char *const shapes[] = { "null", "\"\"", "7",    "-1.5", "true",      "[]",
                                          "{}",   "[1]",  "[[]]", "[{}]", "{\"a\":1}", "\"@\"" };
    AUTO_BUF struct buf out = BUF_INIT(INPUT_MAX);
    struct report report;
    report_init(&report, a);
    const struct text_node *root = dlc_parse(a, body);
    if (!root || !root->count)
        return body;
    uint32_t shape = draw() % (ARRAY_LEN(shapes) + 1);
    struct change c = { .arena = a, .at = 1 + draw() % (nodes(root) - 1) };
    if (shape < ARRAY_LEN(shapes))
        c.by = json_parse(a, shapes[shape], strlen(shapes[shape]), 0, &report);
    struct text_node *fresh = text_map(a, NULL, NULL);
    changed(&c, fresh, root);
    json_print(fresh, 0, &out);
    return arena_strdup(a, buf_str(&out));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    struct arena *a = arena_create();
    AUTO_BUF struct buf out = BUF_INIT(INPUT_MAX);
    const char *text = arena_strndup(a, (const char *)data, size);
    size_t lines = 0;
    drawn = seed;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    size_t which = lines > 1 ? draw() % (lines / 2) * 2 + 1 : 0; /* a body */
    for (size_t i = 0; *text; i++) {
        size_t len = strcspn(text, "\n");
        const char *one = arena_strndup(a, text, len);
        buf_puts(&out, which && i == which ? reshaped(a, one) : one);
        text += len;
        if (*text == '\n') {
            buf_putc(&out, '\n');
            text++;
        }
    }
    bool same = draw() % 2 || out.overflow || out.len > max || out.len == 0;
    if (!same) {
        memcpy(data, out.data, out.len);
        size = out.len;
    }
    arena_destroy(a);
    return same ? LLVMFuzzerMutate(data, size, max) : size;
}
