/* The batch script of a pilot: a shell takes it, its values are words whatever they have in them,
 * and the program behind it comes out as it went in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/slurm/script.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const places[] = { "10.0.0.1:6879", "[2001:db8::1]:6879" };

static struct slurm_script a_script(const struct words *where, const void *packed, size_t len)
{
    return (struct slurm_script){ .places = where,
                                  .follow = "/home/a da/elsewhere.tcp",
                                  .pin = "00ff",
                                  .join = "aabb",
                                  .program_path = "/home/a da/it's/muster-node",
                                  .program_hash = "1234",
                                  .packed_hash = "5678",
                                  .unpacks = "gzip",
                                  .packed = packed,
                                  .packed_len = len };
}

static int run_shell(const char *command, const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        execlp("sh", "sh", "-c", command, path, (char *)NULL);
        _exit(126);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_shell_takes_it(void **state)
{
    const struct words where = { .at = (const char **)(uintptr_t)places, .n = 2 };
    unsigned char packed[3000];
    AUTO_BUF struct buf out = BUF_INIT(SLURM_SCRIPT_MAX);
    char dir[] = "/tmp/muster-script-XXXXXX";
    struct err err;
    (void)state;
    for (size_t i = 0; i < sizeof packed; i++)
        packed[i] = (unsigned char)(i * 7);
    const struct slurm_script script = a_script(&where, packed, sizeof packed);
    assert_int_equal(slurm_script_make(&script, &out, &err), 0);
    assert_memory_equal(out.data, "#!/bin/sh\n", 10);
    assert_null(memchr(out.data, '\r', out.len));
    assert_non_null(strstr(out.data, "tcp='10.0.0.1:6879,[2001:db8::1]:6879'\n"));
    assert_non_null(strstr(out.data, "\nfollow='/home/a da/elsewhere.tcp'\n"));
    assert_non_null(mkdtemp(dir));
    AUTO_FREE char *path = file_join(dir, "script");
    AUTO_FREE char *program = file_join(dir, "program");
    assert_int_equal(file_replace(path, out.data, out.len, 0700, &err), 0);
    assert_int_equal(file_replace(program, (const char *)packed, sizeof packed, 0600, &err), 0);
    assert_int_equal(run_shell("sh -n \"$0\"", path), 0);
    assert_int_equal(run_shell("eval \"$(grep ^shared= \"$0\")\"; test \"$shared\" = "
                               "\"/home/a da/it's/muster-node\"",
                               path),
                     0);
    assert_int_equal(run_shell("sed '1,/^#MUSTER-NODE$/d' \"$0\" | base64 -d | "
                               "cmp - \"${0%/*}/program\"",
                               path),
                     0);
    file_remove_tree(dir, NULL);
}

static void what_slurm_would_refuse_is_refused(void **state)
{
    const struct words where = { .at = (const char **)(uintptr_t)places, .n = 1 };
    AUTO_BUF struct buf out = BUF_INIT(2 * SLURM_SCRIPT_MAX);
    AUTO_FREE char *packed = mem_new(SLURM_SCRIPT_MAX);
    struct err err;
    (void)state;
    const struct slurm_script script = a_script(&where, packed, SLURM_SCRIPT_MAX);
    assert_int_equal(slurm_script_make(&script, &out, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shell_takes_it),
        cmocka_unit_test(what_slurm_would_refuse_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
