/* doc/job.md is what the field tables say; every field is in it and in the schema. No name in the
 * format is a word that YAML reads as a boolean. */
#include "job/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "job/job_fields.h"

#include <string.h>

static void test_page_is_current(void **state)
{
    (void)state;
    AUTO_BUF struct buf now = BUF_INIT(1 << 20);
    AUTO_FREE char *page = NULL;
    struct err err = { 0 };
    size_t len = 0;
    job_reference(&now);
    assert_false(now.overflow);
    if (file_read(SOURCE_ROOT "/doc/job.md", 1 << 20, &page, &len, &err) != 0) {
        print_message("no doc/job.md beside this build: %s\n", err.what);
        skip();
    }
    if (strcmp(page, buf_str(&now)) != 0)
        fail_msg("doc/job.md is out of date: run BUILD/src/job/job_reference > doc/job.md");
}

static void check_rows(const struct field *table, const char *page, const struct text_node *schema)
{
    const struct text_node *properties = text_get(schema, "properties");
    for (const struct field *f = table; f->name; f++) {
        assert_non_null(f->doc);
        assert_non_null(strstr(page, f->doc));
        if (!(f->flags & FIELD_REST))
            assert_non_null(text_get(properties, f->name));
    }
}

static void test_every_field_is_there(void **state)
{
    (void)state;
    AUTO_BUF struct buf page = BUF_INIT(1 << 20);
    struct arena *arena = arena_create();
    job_reference(&page);
    const struct text_node *schema = job_schema(arena);
    check_rows(job_fields, buf_str(&page), schema);
    check_rows(role_fields, buf_str(&page), schema); /* the implied role stands at the top level */
    const struct text_node *properties = text_get(schema, "properties");
    check_rows(limits_fields, buf_str(&page), text_get(properties, "limits"));
    check_rows(retry_fields, buf_str(&page), text_get(properties, "retry"));
    check_rows(health_fields, buf_str(&page), text_get(properties, "health"));
    check_rows(placing_fields, buf_str(&page), text_get(properties, "place"));
    check_rows(inputs_fields, buf_str(&page), text_get(properties, "inputs"));
    const struct text_node *roles = text_get(text_get(properties, "roles"), "additionalProperties");
    check_rows(role_fields, buf_str(&page), roles);
    assert_string_equal(text_get(schema, "$schema")->str,
                        "https://json-schema.org/draft/2020-12/schema");
    arena_destroy(arena);
}

/* No name in the native format may be a boolean word of YAML 1.1. */
static void check_words(const struct field *table)
{
    static const char *const booleans[] = { "on", "off", "yes", "no", "y", "n", "true", "false" };
    for (const struct field *f = table; f->name; f++) {
        for (size_t i = 0; i < sizeof booleans / sizeof *booleans; i++)
            assert_string_not_equal(f->name, booleans[i]);
        for (const struct field_word *w = f->words; w && w->word; w++)
            for (size_t i = 0; i < sizeof booleans / sizeof *booleans; i++)
                assert_string_not_equal(w->word, booleans[i]);
        if (f->table)
            check_words(f->table);
    }
}

static void test_no_boolean_words(void **state)
{
    (void)state;
    check_words(job_fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_is_current),
        cmocka_unit_test(test_every_field_is_there),
        cmocka_unit_test(test_no_boolean_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
