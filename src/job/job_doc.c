/* What the field tables say to others: JSON Schema for editors, the reference page for people. Only
 * the page's introduction and its example are written here; every field comes from its row. */
#include "job/job.h"

#include "base/buf.h"
#include "job/job_fields.h"

struct text_node *job_schema(struct arena *arena)
{
    struct text_node *body = field_schema(arena, job_fields);
    struct text_node *schema = text_map(arena, NULL, NULL);
    text_str(arena, schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
    text_str(arena, schema, "title", "muster job, version 1");
    /* One role may stand at the top level: its fields are properties there too. */
    struct text_node *properties = text_get(body, "properties");
    const struct text_node *role = text_get(field_schema(arena, role_fields), "properties");
    for (const struct text_node *member = role->first; member; member = member->next)
        if (!text_get(properties, member->key))
            text_copy(arena, properties, member->key, member);
    for (const struct text_node *member = body->first; member; member = member->next)
        text_copy(arena, schema, member->key, member);
    return schema;
}

void job_reference(struct buf *out)
{
    buf_puts(out,
             "# The job, field by field\n\n"
             "<!-- Generated from the field tables in src/job; do not edit by hand. -->\n\n"
             "muster's own format is YAML or JSON with these fields. Every front end reads its "
             "own format into the same job; `muster convert --to native` shows it. What a server "
             "cannot do yet it refuses at submit, with the reason.\n\n"
             "Sizes: `64Mi`, `16Gi`, `500M`, or bytes. Durations: `90s`, `15m`, `1h30m`, `30d`, or "
             "seconds. Decimals have at most three places. `null` is the same as left out. Unknown "
             "fields are refused with the nearest known one.\n\n");
    field_reference(out, "The job", job_fields);
    buf_puts(out,
             "## The smallest job\n\n"
             "The fields of a role may stand at the top level when there is only one; it is called "
             "`" JOB_IMPLIED_ROLE "`:\n\n"
             "```yaml\nname: hello\nrun: python train.py\nreplicas: 4\nresources: {gpu: 1}\n```\n");
}
