/* Decides whether `bash -c TEXT` can be left out. Anything in doubt goes to the shell: quotes,
 * variables, patterns, assignments, redirections, more than one line, words that bash does itself
 * (true and false are the same as programs). */
#include "node/simple_command.h"

#include <stdbool.h>
#include <string.h>

static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "_-./,:@%+=";

static const char *const by_the_shell[] = {
    ".",     "alias",    "bg",      "bind",      "break",    "builtin",  "caller", "case",
    "cd",    "command",  "compgen", "complete",  "compopt",  "continue", "coproc", "declare",
    "dirs",  "disown",   "do",      "done",      "echo",     "elif",     "else",   "enable",
    "esac",  "eval",     "exec",    "exit",      "export",   "fc",       "fg",     "fi",
    "for",   "function", "getopts", "hash",      "help",     "history",  "if",     "in",
    "jobs",  "kill",     "let",     "local",     "logout",   "mapfile",  "popd",   "printf",
    "pushd", "pwd",      "read",    "readarray", "readonly", "return",   "select", "set",
    "shift", "shopt",    "source",  "suspend",   "test",     "then",     "time",   "times",
    "trap",  "type",     "typeset", "ulimit",    "umask",    "unalias",  "unset",  "until",
    "wait",  "while"
};

static bool is_for_the_shell(const char *word)
{
    if (strchr(word, '=')) /* an assignment */
        return true;
    for (size_t i = 0; i < sizeof by_the_shell / sizeof by_the_shell[0]; i++)
        if (strcmp(word, by_the_shell[i]) == 0)
            return true;
    return false;
}

char **simple_command_words(const char *text, struct simple_command *out)
{
    size_t len = strlen(text), words = 0;
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    if (len >= sizeof out->text)
        return NULL;
    memcpy(out->text, text, len);
    out->text[len] = '\0';
    for (char *at = out->text; *at;) {
        at += strspn(at, " ");
        size_t n = strspn(at, harmless);
        if (n == 0 || words == SIMPLE_COMMAND_WORDS || (at[n] != ' ' && at[n] != '\0'))
            return NULL;
        out->argv[words++] = at;
        at += n;
        if (*at == ' ')
            *at++ = '\0';
    }
    out->argv[words] = NULL;
    return words == 0 || is_for_the_shell(out->argv[0]) ? NULL : out->argv;
}
