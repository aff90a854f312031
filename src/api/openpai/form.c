/* A job of version 1 that came as a nested form, as the JSON that it stands for. A form cannot say
 * null: members that clients send empty for it become null. Pure. */
#include "api/openpai/form.h"

#include "base/mem.h"
#include "text/form.h"
#include "text/json.h"

/* Forms cannot say null: clients write it as nothing. */
static void restore_nulls(struct text_node *tree)
{
    static const char *const members[] = { "minFailedTaskCount", "minSucceededTaskCount" };
    const struct text_node *roles = text_get(tree, "taskRoles");
    for (struct text_node *role = roles ? roles->first : NULL; role; role = role->next)
        for (size_t i = 0; i < ARRAY_LEN(members); i++) {
            struct text_node *one = text_get(role, members[i]);
            if (one && one->kind == TEXT_STR && !*one->str)
                one->kind = TEXT_NULL;
        }
}

struct text_node *pai_job_form(struct arena *a, const char **text, size_t *len,
                               struct report *report)
{
    AUTO_BUF struct buf json = BUF_INIT(TEXT_MAX_BYTES);
    struct text_node *tree = form_parse(a, *text, *len, report);
    if (!tree || !report_ok(report))
        return NULL;
    restore_nulls(tree);
    json_print(tree, 2, &json);
    *len = json.len;
    *text = arena_strndup(a, buf_str(&json), json.len);
    return tree;
}
