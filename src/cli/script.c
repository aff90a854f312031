/* Scripts as commands. The first line is read as the kernel reads it: a program and at most one
 * argument; the script needs no right to be executed. */
#include "cli/script.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/script_name.h"
#include "text/detect.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_BYTES 256

bool script_is_batch(const char *operand)
{
    struct stat st;
    struct err err;
    AUTO_FREE char *text = NULL;
    size_t len;
    return stat(operand, &st) == 0 && S_ISREG(st.st_mode) &&
           file_read(operand, TEXT_MAX_BYTES, &text, &len, &err) == 0 && script_like(text, len);
}

bool script_is(const char *operand)
{
    struct stat st;
    return script_is_name(operand) && stat(operand, &st) == 0 && S_ISREG(st.st_mode) &&
           !script_is_batch(operand);
}

/* "/usr/bin/env bash" behind "#!" in words[0] and words[1]; the number of them. */
static int first_line(struct arena *a, const char *file, char *words[2])
{
    char line[LINE_MAX_BYTES + 1] = "";
    AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, line, LINE_MAX_BYTES) : 0;
    if (n < 3 || line[0] != '#' || line[1] != '!')
        return 0;
    line[strcspn(line, "\r\n")] = '\0';
    char *program = line + 2 + strspn(line + 2, " \t");
    char *rest = program + strcspn(program, " \t");
    if (*rest)
        *rest++ = '\0';
    rest += strspn(rest, " \t");
    for (size_t end = strlen(rest); end && strchr(" \t", rest[end - 1]); end--)
        rest[end - 1] = '\0';
    words[0] = arena_strdup(a, program);
    words[1] = arena_strdup(a, rest);
    return !*program ? 0 : *rest ? 2 : 1;
}

char **script_command(struct arena *a, int *argc, char **argv)
{
    const char *dot = strrchr(argv[0], '.');
    char **out = ARENA_ARRAY(a, (size_t)*argc + 2, char *);
    int n = 1;
    if (strcmp(dot, ".py") == 0) {
        out[0] = arena_strdup(a, "python3");
    } else {
        n = first_line(a, argv[0], out);
        if (n == 0)
            out[n++] = arena_strdup(a, "/bin/sh");
    }
    memcpy(out + n, argv, (size_t)*argc * sizeof *out);
    *argc += n;
    return out;
}
