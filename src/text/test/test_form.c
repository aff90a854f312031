/* Forms with nested names ("a[b][]=c"): what the clients of OpenPAI send, odd names, and what is no
 * form. As many pairs as are allowed are read, one more is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/form.h"

#include "base/buf.h"
#include "base/mem.h"
#include "text/json.h"

#include <string.h>

static void reads(const char *form, const char *json)
{
    struct arena *a = arena_create();
    struct report report;
    AUTO_BUF struct buf out = BUF_INIT(1u << 20);
    report_init(&report, a);
    const struct text_node *root = form_parse(a, form, strlen(form), &report);
    if (json) {
        assert_non_null(root);
        assert_true(report_ok(&report));
        json_print(root, 0, &out);
        assert_string_equal(buf_str(&out), json);
    } else {
        assert_null(root);
        assert_int_equal(report.errors, 1);
    }
    arena_destroy(a);
}

static void test_plain(void **state)
{
    (void)state;
    reads("", "{}");
    reads("a=1&b=two+words&c=%7E%2B", "{\"a\":\"1\",\"b\":\"two words\",\"c\":\"~+\"}");
    reads("a&b=&&c=x=y", "{\"a\":\"\",\"b\":\"\",\"c\":\"x=y\"}");
    reads("username=alice&password=p%26q&expiration=4000",
          "{\"username\":\"alice\",\"password\":\"p&q\",\"expiration\":\"4000\"}");
}

static void test_nested(void **state)
{
    (void)state;
    reads(
        "taskRoles[0][name]=w&taskRoles[0][portList][0][label]=http&taskRoles[1][name]=ps",
        "{\"taskRoles\":[{\"name\":\"w\",\"portList\":[{\"label\":\"http\"}]},{\"name\":\"ps\"}]}");
    reads("a%5B0%5D%5Bb%5D=c", "{\"a\":[{\"b\":\"c\"}]}");
    reads("a[5]=x&a[2]=y", "{\"a\":[\"y\",\"x\"]}"); /* holes close, order is by position */
    reads("a[]=x&a[]=y", "{\"a\":[\"x\",\"y\"]}");
    reads("a[][b]=x&a[][b]=y", "{\"a\":[{\"b\":\"x\"},{\"b\":\"y\"}]}");
    reads("a=x&a=y&a=z", "{\"a\":[\"x\",\"y\",\"z\"]}");
    reads("a[0]=x&a[k]=y", "{\"a\":{\"0\":\"x\",\"k\":\"y\"}}");
    reads("0=x&1=y", "{\"0\":\"x\",\"1\":\"y\"}");    /* the document stays a map */
    reads("a[99999]=x", "{\"a\":{\"99999\":\"x\"}}"); /* no list of that length */
}

static void test_odd_names(void **state)
{
    (void)state;
    reads("a.b=1&a[b=2&a]b=3&[c]=4&x[y]z=5",
          "{\"a.b\":\"1\",\"a[b\":\"2\",\"a]b\":\"3\",\"c\":\"4\",\"x[y]z\":\"5\"}");
    reads("[]=1", "{\"\":\"1\"}");
}

static void test_refused(void **state)
{
    (void)state;
    reads("a=%zz", NULL);
    reads("a=%4", NULL);
    reads("a=%00", NULL);
    reads("a=%ff", NULL);
    reads("a=1&a[b]=2", NULL);
    AUTO_BUF struct buf deep = BUF_INIT(400);
    for (int i = 0; i < 40; i++)
        buf_puts(&deep, "[b]");
    buf_puts(&deep, "=1");
    reads(buf_str(&deep), NULL);
}

static void test_many(void **state)
{
    (void)state;
    AUTO_BUF struct buf text = BUF_INIT(1u << 20);
    struct arena *a = arena_create();
    struct report report;
    for (unsigned i = 0; i < FORM_MAX_PAIRS; i++)
        buf_addf(&text, "%sa[%u]=%u", i ? "&" : "", i, i);
    report_init(&report, a);
    const struct text_node *root = form_parse(a, buf_str(&text), text.len, &report);
    assert_non_null(root);
    assert_int_equal(text_get(root, "a")->kind, TEXT_LIST);
    assert_int_equal(text_get(root, "a")->count, FORM_MAX_PAIRS);
    buf_puts(&text, "&b=1");
    assert_null(form_parse(a, buf_str(&text), text.len, &report));
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),     cmocka_unit_test(test_nested),
        cmocka_unit_test(test_odd_names), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
