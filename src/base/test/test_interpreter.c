/* Finding the interpreter behind a name: programs, links, wrapper scripts. pyenv's wrappers are run
 * only where pyenv's files do not name a version that is installed; a wrapper that prints something
 * tells whether it was run. */
#include "base/interpreter.h"

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    struct arena *arena;
    char root[64];
};

static const char *put(struct place *p, const char *name, const char *text)
{
    struct err err;
    char *path = arena_printf(p->arena, "%s/%s", p->root, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(file_mkdirs(path, 0700, &err), 0);
    *slash = '/';
    assert_int_equal(file_replace(path, text, strlen(text), 0700, &err), 0);
    return path;
}

static void begin(struct place *p)
{
    *p = (struct place){ .arena = arena_create(), .root = "/tmp/interpreter-XXXXXX" };
    assert_non_null(mkdtemp(p->root));
    assert_int_equal(chdir(p->root), 0);
    unsetenv("PYENV_VERSION");
    unsetenv("PYENV_DIR");
}

static void end(struct place *p)
{
    struct err err;
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(file_remove_tree(p->root, &err), 0);
    arena_destroy(p->arena);
}

static void programs_and_wrappers(void **state)
{
    struct place p;
    (void)state;
    begin(&p);
    const char *plain = put(&p, "bin/python3", "\177ELF");
    const char *wrapper = put(&p, "wrap/python3", "#!/bin/sh\necho /opt/py/bin/python3\n");
    const char *broken = put(&p, "broken/python3", "#!/bin/sh\nexit 1\n");
    const char *relative = put(&p, "relative/python3", "#!/bin/sh\necho python3\n");
    assert_string_equal(interpreter_behind(p.arena, plain), plain);
    assert_string_equal(interpreter_behind(p.arena, wrapper), "/opt/py/bin/python3");
    assert_null(interpreter_behind(p.arena, broken));
    assert_null(interpreter_behind(p.arena, relative));
    assert_null(interpreter_ask(p.arena, plain));
    const char *path = arena_printf(p.arena, "rel:%s/none:%s/broken:%s/wrap:%s/bin", p.root, p.root,
                                    p.root, p.root);
    assert_string_equal(interpreter_in_path(p.arena, path, "python3"), "/opt/py/bin/python3");
    assert_null(interpreter_in_path(p.arena, path, "python9"));
    assert_null(interpreter_in_path(p.arena, NULL, "python3"));
    end(&p);
}

static void pyenv_is_not_run(void **state)
{
    struct place p;
    (void)state;
    begin(&p);
    const char *shim = put(&p, "shims/python3", "#!/bin/sh\necho /asked\n");
    const char *one = put(&p, "versions/3.11.7/bin/python3", "\177ELF");
    const char *two = put(&p, "versions/3.12.1/bin/python3", "\177ELF");
    assert_string_equal(interpreter_behind(p.arena, shim), "/asked");
    put(&p, "version", "3.11.7\n");
    assert_string_equal(interpreter_behind(p.arena, shim), one);
    put(&p, "work/.python-version", "3.12.1\n");
    put(&p, "work/below/file", "");
    assert_int_equal(chdir(arena_printf(p.arena, "%s/work/below", p.root)), 0);
    assert_string_equal(interpreter_behind(p.arena, shim), two);
    setenv("PYENV_VERSION", "3.11.7:3.12.1", 1);
    assert_string_equal(interpreter_behind(p.arena, shim), one);
    static const char *const others[] = { "system", "3.11", "../x", "9" };
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        setenv("PYENV_VERSION", others[i], 1);
        assert_string_equal(interpreter_behind(p.arena, shim), "/asked");
    }
    unsetenv("PYENV_VERSION");
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(programs_and_wrappers),
                                        cmocka_unit_test(pyenv_is_not_run) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
