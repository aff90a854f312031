/* The body of a request: JSON, YAML or protobuf, as its Content-Type says. What cannot be read is
 * answered here. */
#include "api/k8s/body.h"

#include "api/k8s/answer.h"
#include "api/k8s/protobuf.h"
#include "text/detect.h"
#include "text/json.h"

#include <string.h>

static bool is_type(const char *type, const char *word)
{
    return strncmp(type, word, strlen(word)) == 0 && strchr(" ;", type[strlen(word)]);
}

static void unsupported(struct kube *k, const char *text)
{
    kube_fail(k, &(struct kube_status){ 415, "UnsupportedMediaType", text, NULL });
}

/* false: answered. */
static bool parse_body(struct kube *k, const char *type, const char *body, size_t len)
{
    struct err err = { 0 };
    struct report report;
    report_init(&report, k->arena);
    if (is_type(type, KUBE_PROTOBUF))
        k->body = kube_protobuf(k->arena, body, len, &err);
    else if (strstr(type, "yaml"))
        k->body = text_parse(k->arena, body, len, &report);
    else
        k->body = json_parse(k->arena, body, len, 0, &report);
    const char *why = err.code ? err.what : report.n ? report.at[0].what : "it is empty";
    if (err.code == ERR_CANNOT) {
        unsupported(k, arena_strdup(k->arena, err.what));
    } else if (!k->body || !report_ok(&report)) {
        k->body = NULL;
        kube_bad(k, "the body cannot be read: %.300s", why);
    } else if (kube_crowded(k->body)) {
        kube_bad(k, "the body has a map of more than %u members", KUBE_MEMBERS_MAX);
    } else {
        return true;
    }
    return false;
}

bool kube_read_body(struct kube *k, const char *method)
{
    size_t len;
    const char *body = http_body(k->call->request, &len);
    const char *type = http_header(k->call->request, "Content-Type");
    bool patch = strcmp(method, "PATCH") == 0, remove = strcmp(method, "DELETE") == 0;
    type = type ? type : "application/json";
    if (len == 0 && remove)
        return true;
    if (patch || is_type(type, "application/json") || is_type(type, "application/yaml") ||
        is_type(type, KUBE_PROTOBUF) || is_type(type, "*/*"))
        return parse_body(k, type, body, len);
    unsupported(k, arena_printf(
                       k->arena,
                       "%.120s is not supported; send application/json or application/yaml", type));
    return false;
}
