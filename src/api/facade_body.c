/* A request's body as a tree: JSON, YAML or a form, by its Content-Type or, without one that is
 * known, by what it looks like. Problems become one error. */
#include "api/facade.h"

#include "base/mem.h"
#include "text/form.h"
#include "text/json.h"
#include "text/yaml.h"

#include <string.h>
#include <strings.h>

static struct text_node *parse_json(struct arena *a, const char *text, size_t len,
                                    struct report *report)
{
    return json_parse(a, text, len, 0, report);
}

static const struct {
    enum facade_kinds kind;
    const char *types[4]; /* the front of a Content-Type */
    struct text_node *(*parse)(struct arena *, const char *, size_t, struct report *);
} readers[] = {
    { FACADE_JSON, { "application/json", "text/json" }, parse_json },
    { FACADE_YAML,
      { "text/yaml", "application/yaml", "application/x-yaml", "text/x-yaml" },
      yaml_parse },
    { FACADE_FORM, { "application/x-www-form-urlencoded" }, form_parse },
};

/* As the type says; ARRAY_LEN: not as anything of `kinds`. */
static size_t by_type(const char *type, unsigned kinds)
{
    size_t i = 0;
    for (; i < ARRAY_LEN(readers); i++)
        for (size_t k = 0; k < ARRAY_LEN(readers[i].types); k++) {
            const char *name = readers[i].types[k];
            size_t len = name ? strlen(name) : 0;
            if (type && name && (kinds & readers[i].kind) && strncasecmp(type, name, len) == 0 &&
                strchr("; \t", type[len]))
                return i;
        }
    return i;
}

int facade_body(struct call *call, unsigned kinds, struct text_node **tree, struct err *err)
{
    size_t len;
    const char *text = http_body(call->request, &len);
    struct report report, first;
    bool has_first = false;
    *tree = NULL;
    if (strspn(text, " \t\r\n") == len)
        return 0;
    size_t said = by_type(http_header(call->request, "Content-Type"), kinds);
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        if (!(kinds & readers[i].kind) || (said < ARRAY_LEN(readers) && said != i))
            continue;
        report_init(&report, call->arena);
        *tree = readers[i].parse(call->arena, text, len, &report);
        if (*tree && report_ok(&report))
            return 0;
        if (!has_first)
            first = report;
        has_first = true;
    }
    *tree = NULL;
    if (!has_first)
        return err_set(err, ERR_INPUT, "the body cannot be read");
    return report_err(&first, err);
}
