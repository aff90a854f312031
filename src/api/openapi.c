/* /v1/openapi.json out of the route table, the core's answer tables and the job's field tables. A
 * route that is added there is in the document by itself. */
#include "api/call.h"

#include "api/view_json.h"
#include "base/mem.h"

#include <string.h>

static void ref(struct arena *a, struct text_node *parent, const char *key, const char *schema)
{
    struct text_node *node = text_map(a, parent, key);
    text_str(a, node, "$ref", arena_printf(a, "#/components/schemas/%s", schema));
}

static void parameter(struct arena *a, struct text_node *list, const char *name, const char *where)
{
    struct text_node *p = text_map(a, list, NULL);
    text_str(a, p, "name", name);
    text_str(a, p, "in", where);
    if (strcmp(where, "path") == 0)
        text_bool(a, p, "required", true);
    text_str(a, text_map(a, p, "schema"), "type", "string");
}

static void parameters(struct arena *a, struct text_node *op, const struct route *route)
{
    struct text_node *list = text_list(a, op, "parameters");
    for (const char *at = route->path; (at = strchr(at, '{')); at++)
        parameter(a, list, arena_strndup(a, at + 1, strcspn(at + 1, "}")), "path");
    for (const char *at = route->query; *at;) {
        size_t len = strcspn(at, " ");
        parameter(a, list, arena_strndup(a, at, len), "query");
        at += len + (at[len] == ' ');
    }
}

static void operation(struct arena *a, struct text_node *path, const struct route *route)
{
    char method[8] = "";
    for (size_t i = 0; i + 1 < sizeof method && route->method[i]; i++)
        method[i] = (char)(route->method[i] | 0x20);
    struct text_node *op = text_map(a, path, method);
    text_str(a, op, "summary", route->summary);
    parameters(a, op, route);
    struct text_node *answers = text_map(a, op, "responses");
    struct text_node *good = text_map(a, answers, arena_printf(a, "%u", route->status));
    text_str(a, good, "description", route->summary);
    if (route->answer) {
        struct text_node *json = text_map(a, text_map(a, good, "content"), "application/json");
        ref(a, json, "schema", route->answer);
    }
    struct text_node *bad = text_map(a, answers, "default");
    text_str(a, bad, "description", "A problem document (RFC 9457)");
    ref(a, text_map(a, text_map(a, bad, "content"), "application/problem+json"), "schema",
        "Problem");
    if (route->flags & ROUTE_OPEN)
        text_list(a, op, "security");
    if (route->flags & ROUTE_OF_JOB)
        text_str(a, op, "x-muster-of-job", "own");
    if (route->flags & ROUTE_OF_CHILDREN)
        text_str(a, op, "x-muster-of-submitting-job", "owner's");
}

static void problem_schema(struct arena *a, struct text_node *schemas)
{
    static const struct {
        const char *name, *type;
    } members[] = { { "type", "string" }, { "title", "string" },  { "status", "integer" },
                    { "code", "string" }, { "detail", "string" }, { "hint", "string" },
                    { "errors", "array" } };
    struct text_node *problem = text_map(a, schemas, "Problem");
    text_str(a, problem, "type", "object");
    struct text_node *properties = text_map(a, problem, "properties");
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        text_str(a, text_map(a, properties, members[i].name), "type", members[i].type);
}

static void schemas(struct arena *a, struct text_node *root)
{
    struct text_node *components = text_map(a, root, "components");
    struct text_node *all = text_map(a, components, "schemas");
    for (int kind = 0; kind < VIEW_N; kind++)
        text_copy(a, all, view_name((enum view_kind)kind), view_schema(a, (enum view_kind)kind));
    text_copy(a, all, "JobFile", job_schema(a));
    problem_schema(a, all);
    struct text_node *bearer = text_map(a, text_map(a, components, "securitySchemes"), "token");
    text_str(a, bearer, "type", "http");
    text_str(a, bearer, "scheme", "bearer");
}

void openapi_get(struct call *call)
{
    struct arena *a = call->arena;
    size_t n;
    const struct route *routes = api_routes(&n);
    struct text_node *root = text_map(a, NULL, NULL);
    text_str(a, root, "openapi", "3.1.0");
    struct text_node *info = text_map(a, root, "info");
    text_str(a, info, "title", "muster");
    text_str(a, info, "version", call->api->config.version);
    text_list(a, text_map(a, text_list(a, root, "security"), NULL), "token");
    struct text_node *paths = text_map(a, root, "paths");
    for (size_t i = 0; i < n; i++) {
        struct text_node *path = (struct text_node *)text_get(paths, routes[i].path);
        operation(a, path ? path : text_map(a, paths, routes[i].path), &routes[i]);
    }
    schemas(a, root);
    call_answer(call, 200, root);
}
