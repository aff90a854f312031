/* What tar archives may have, read from a pipe and made below a fresh directory. Names and links
 * that lead out of it are refused, and so is more than the bounds allow. */
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/untar.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define BLOCK 512u

struct tar {
    struct buf text;
};

static void add(struct tar *tar, char type, const char *name, const char *link, const char *data)
{
    char block[BLOCK] = { 0 };
    size_t n = data ? strlen(data) : 0;
    unsigned sum = 0;
    snprintf(block, 100, "%s", name);
    snprintf(block + 100, 8, "%07o", type == '5' ? 0755 : 0644);
    snprintf(block + 124, 12, "%011o", (unsigned)n);
    memset(block + 148, ' ', 8);
    block[156] = type;
    snprintf(block + 157, 100, "%s", link ? link : "");
    snprintf(block + 257, 6, "ustar"); /* the magic ends with a NUL, the version does not */
    block[263] = block[264] = '0';
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
    buf_add(&tar->text, block, BLOCK);
    memset(block, 0, sizeof block);
    buf_add(&tar->text, data ? data : "", n);
    buf_add(&tar->text, block, (BLOCK - n % BLOCK) % BLOCK);
}

/* What reading it says: looking and unpacking say the same. */
static enum err_code unpack(struct tar *tar, const char *at, struct err *err)
{
    const struct untar_limits limits = { 1u << 20, 20 };
    struct untar_summary found;
    char end[2 * BLOCK] = { 0 };
    buf_add(&tar->text, end, sizeof end);
    enum err_code codes[2];
    for (int i = 0; i < 2; i++) {
        FILE *file = tmpfile();
        fwrite(tar->text.data, 1, tar->text.len, file);
        rewind(file);
        AUTO_CLOSE int dir = i ? open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        codes[i] = untar(fileno(file), dir, &limits, &found, err) == 0 ? ERR_NONE : err->code;
        fclose(file);
    }
    assert_int_equal(codes[0], codes[1]);
    return codes[0];
}

static void *fresh(void)
{
    char *dir = mem_strdup("/tmp/muster-untar.XXXXXX");
    assert_non_null(mkdtemp(dir));
    return dir;
}

static void assert_text(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = file_join(dir, name);
    AUTO_FREE char *data = NULL;
    size_t len;
    struct err err;
    assert_int_equal(file_read(path, 1000, &data, &len, &err), 0);
    assert_string_equal(data, text);
}

static void makes_a_tree(void **state)
{
    (void)state;
    AUTO_FREE char *dir = fresh();
    struct tar tar = { BUF_INIT(1u << 20) };
    struct err err;
    add(&tar, '5', "./a/", NULL, NULL);
    add(&tar, '0', "./a//b.py", NULL, "one");
    add(&tar, '0', "deep/in/it", NULL, "two");
    add(&tar, '2', "deep/in/link", "../../a/b.py", NULL);
    add(&tar, '1', "hard", "a/b.py", NULL);
    add(&tar, 'g', "pax", NULL, "18 comment=a word\n");
    add(&tar, 'x', "pax", NULL, "19 path=other/name\n");
    add(&tar, '0', "short", NULL, "three");
    add(&tar, 'L', "././@LongLink", NULL, "long/name");
    add(&tar, '0', "shortened", NULL, "four");
    add(&tar, '0', "a/b.py", NULL, "later");
    assert_int_equal(unpack(&tar, dir, &err), ERR_NONE);
    assert_text(dir, "a/b.py", "later");
    assert_text(dir, "deep/in/it", "two");
    assert_text(dir, "deep/in/link", "later");
    assert_text(dir, "hard", "one");
    assert_text(dir, "other/name", "three");
    assert_text(dir, "long/name", "four");
    assert_int_equal(file_remove_tree(dir, &err), 0);
    buf_fini(&tar.text);
}

static void refuses(char type, const char *name, const char *link, const char *what)
{
    AUTO_FREE char *dir = fresh();
    struct tar tar = { BUF_INIT(1u << 20) };
    struct err err;
    add(&tar, '0', "f", NULL, "one");
    add(&tar, '2', "d/up", "..", NULL);
    add(&tar, type, name, link, NULL);
    assert_int_equal(unpack(&tar, dir, &err), ERR_INPUT);
    assert_non_null(strstr(err.what, what));
    assert_int_equal(file_remove_tree(dir, &err), 0);
    buf_fini(&tar.text);
}

static void refuses_what_leads_out(void **state)
{
    (void)state;
    refuses('0', "/x", NULL, "absolute");
    refuses('0', "a/../x", NULL, "..");
    refuses('0', "d/up/x", NULL, "no directory");
    refuses('0', "d", NULL, "something else");
    refuses('5', "f", NULL, "something else");
    refuses('2', "x", "/x", "leads out");
    refuses('2', "x", "..", "leads out");
    refuses('2', "d/x", "../..", "leads out");
    refuses('2', "x", "d/up/..", "leads out");
    refuses('2', "x", "", "leads out");
    refuses('1', "x", "../f", "no file");
    refuses('1', "x", "d/up", "no file");
    refuses('1', "x", "x", "no file");
    refuses('3', "x", NULL, "device");
    refuses('6', "x", NULL, "pipe");
    refuses('S', "x", NULL, "sparse");
    refuses('V', "x", NULL, "no file");
}

static void keeps_its_bounds(void **state)
{
    (void)state;
    AUTO_FREE char *dir = fresh();
    struct tar many = { BUF_INIT(1u << 20) }, large = { BUF_INIT(4u << 20) };
    struct err err;
    for (int i = 0; i < 21; i++)
        add(&many, '0', (char[]){ 'n', (char)('a' + i), '\0' }, NULL, "");
    assert_int_equal(unpack(&many, dir, &err), ERR_TOO_LARGE);
    AUTO_FREE char *data = mem_new((2u << 20) + 1);
    memset(data, 'x', 2u << 20);
    add(&large, '0', "large", NULL, data);
    assert_int_equal(unpack(&large, dir, &err), ERR_TOO_LARGE);
    assert_int_equal(file_remove_tree(dir, &err), 0);
    buf_fini(&many.text);
    buf_fini(&large.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_a_tree),
        cmocka_unit_test(refuses_what_leads_out),
        cmocka_unit_test(keeps_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
