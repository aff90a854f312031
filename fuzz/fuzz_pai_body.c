/* Fuzz target: the body of a job that comes in over OpenPAI's interface, on its way to the dialect.
 * The first letter says what it is: f a nested form of version 1, j JSON of version 1, else YAML of
 * version 2. A form that is read becomes JSON that reads as the same tree, and then a job or a
 * report like any other text. */
#include "api/openpai/form.h"
#include "dialect/openpai/openpai.h"
#include "text/json.h"

#include "fuzz/dialect.h"

enum { INPUT_MAX = 1 << 14 };

static const struct fuzz_dialect one = { .dialect = &openpai_v1,
                                         .convention = &openpai_v1_convention,
                                         .text_max = 1 << 20,
                                         .variable = "PAI_JOB_NAME" };
static const struct fuzz_dialect two = { .dialect = &openpai_v2,
                                         .convention = &openpai_v2_convention,
                                         .text_max = INPUT_MAX,
                                         .variable = "PAI_JOB_NAME" };

static int form(const char *text, size_t len)
{
    struct arena *a = arena_create();
    struct report report, again;
    report_init(&report, a);
    report_init(&again, a);
    const struct text_node *tree = pai_job_form(a, &text, &len, &report);
    if (!tree && report_ok(&report))
        BUG("no tree of a form, and nothing said");
    if (tree && !text_equal(tree, json_parse(a, text, len, 0, &again)))
        BUG("a form became JSON of another tree");
    if (tree)
        fuzz_dialect(&one, (const uint8_t *)text, len);
    arena_destroy(a);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > INPUT_MAX)
        return 0;
    switch (data[0]) {
    case 'f': return form((const char *)data + 1, size - 1);
    case 'j': return fuzz_dialect(&one, data + 1, size - 1);
    default: return fuzz_dialect(&two, data + 1, size - 1);
    }
}
