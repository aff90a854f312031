/* What Python leaves when a program ends badly, read for the summary and for the question whether
 * another try could help. A syntax error of the script itself is told from one of an imported file
 * by the missing "Traceback" line: the interpreter prints it before it runs anything. */
#include "launch/rank_judge.h"

#include "base/mem.h"
#include "job/peer_error.h"
#include "launch/error_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#define NO_DESTROY_TEXT "terminate called without an active exception"

static const char *refuse(int *code, int value, const char *reason)
{
    *code = value;
    return reason;
}

const char *rank_refusal(struct arena *arena, const struct settings *settings, int *code)
{
    if (settings->kind != PROGRAM_SCRIPT && settings->kind != PROGRAM_RUN_PATH)
        return NULL;
    const char *script = settings->script;
    struct stat st;
    if (strchr(script, '$'))
        return NULL; /* each rank may have another name */
    if (stat(script, &st) != 0) {
        AUTO_FREE char *cwd = getcwd(NULL, 0);
        const char *reason = errno != ENOENT
                                 ? arena_printf(arena, "script %s: %s", script, strerror(errno))
                                 : arena_printf(arena, "script %s: there is no such file%s%s",
                                                script, *script == '/' || !cwd ? "" : " in ",
                                                *script == '/' || !cwd ? "" : cwd);
        return refuse(code, 2, reason);
    }
    if (S_ISDIR(st.st_mode)) {
        const char *start = arena_printf(arena, "%s/__main__.py", script);
        if (access(start, F_OK) == 0)
            return NULL; /* Python runs such directories */
        return refuse(code, 1, arena_printf(arena, "script %s: is a directory", script));
    }
    if (access(script, R_OK) != 0)
        return refuse(code, 2,
                      arena_printf(arena, "script %s: not readable (%s)", script, strerror(errno)));
    return NULL;
}

const char *rank_exec_failure(struct arena *arena, const char *program, int number, int *code)
{
    *code = number == ENOENT ? 127 : 126;
    bool named = strchr(program, '/') != NULL;
    if (number == ENOENT && !named)
        return arena_printf(arena, "program %s: not found in PATH", program);
    if (number == ENOENT && access(program, F_OK) == 0)
        return arena_printf(arena, "program %s: its interpreter (first line) does not exist",
                            program);
    if (number == ENOENT)
        return arena_printf(arena, "program %s: there is no such file", program);
    if (number == EACCES)
        return arena_printf(arena, "program %s: not executable", program);
    if (number == ENOEXEC)
        return arena_printf(arena,
                            "program %s: neither a program nor a script with #! in its "
                            "first line",
                            program);
    return arena_printf(arena, "program %s: %s", program, strerror(number));
}

static const char *last_line(struct arena *arena, const char *text)
{
    size_t end = strlen(text);
    while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == '\r' || text[end - 1] == ' '))
        end--;
    size_t start = end;
    while (start > 0 && text[start - 1] != '\n')
        start--;
    return arena_strndup(arena, text + start, end - start);
}

/* `  File "/somewhere/train.py", line 3` */
static bool names_script(const char *tail, const char *script)
{
    const char *slash = strrchr(script, '/');
    const char *name = slash ? slash + 1 : script;
    size_t len = strlen(name);
    for (const char *at = tail; (at = strstr(at, "  File \""));) {
        at += strlen("  File \"");
        const char *end = strstr(at, "\", line ");
        size_t path = end ? (size_t)(end - at) : 0;
        if (end && path >= len && memcmp(end - len, name, len) == 0 &&
            (path == len || end[-(ptrdiff_t)len - 1] == '/'))
            return true;
    }
    return false;
}

static bool never_compiled(const struct settings *settings, const struct rdzv_death *death,
                           const char *last)
{
    static const char *const kinds[] = { "SyntaxError:", "IndentationError:", "TabError:" };
    if (settings->kind != PROGRAM_SCRIPT || death->signal != 0 || death->code != 1)
        return false;
    bool right = false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        right = right || strncmp(last, kinds[i], strlen(kinds[i])) == 0;
    return right && !strstr(death->tail, "Traceback (most recent call last)") &&
           names_script(death->tail, settings->script);
}

void rank_judge(struct arena *arena, const struct settings *settings, struct rdzv_death *death)
{
    struct error_file file;
    if (death->code == 0 && death->signal == 0)
        return;
    if (death->error_file && *death->error_file &&
        error_file_read(death->error_file, arena, &file) == 0)
        death->message = file.message;
    /* A signal is a cause of its own, but for the one that a watchdog of collectives uses. */
    death->of_peer = (death->signal == 0 || death->signal == SIGABRT) &&
                     peer_error_in(*death->message ? death->message : death->tail);
    death->at_exit = death->signal == SIGABRT && strstr(death->tail, NO_DESTROY_TEXT);
    const char *last = last_line(arena, death->tail);
    if (!never_compiled(settings, death, last))
        return;
    death->spared = true;
    if (!*death->message)
        death->message = last;
}
