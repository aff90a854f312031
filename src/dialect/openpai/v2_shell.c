/* Quoting of bash, as far as it decides whether a variable is replaced at a place: quotes,
 * backslashes, comments, here-documents.
 *
 * Inputs: the text of a command, piece by piece. Effects: the state.
 *
 * Caveats: what is inside "$(...)" counts as being in double quotes, $'...' as single quotes; names
 * of here-documents are cut to 63 bytes. */
#include "dialect/openpai/v2.h"

enum { HERE_NONE, HERE_ONE, HERE_TWO, HERE_NAME, HERE_STRING, HERE_READY };

static bool space(char c)
{
    return c == ' ' || c == '\t';
}

static bool ends_word(char c)
{
    return c == '\n' || space(c) || strchr(";&|()<>", c) != NULL;
}

static void here_begin(struct v2_shell *s)
{
    s->in = s->here_quoted ? V2_HERE_QUOTED : V2_HERE;
    s->here = HERE_NONE;
    s->line_len = 0;
    s->line_long = false;
    s->escaped = false;
}

/* "<<", "<<-", then the name, in quotes or not. */
static void here_char(struct v2_shell *s, char c)
{
    bool named = s->here == HERE_NAME;
    if (s->here == HERE_STRING) {
        s->here = c == '<' ? HERE_STRING : HERE_NONE;
    } else if (s->here == HERE_NONE || s->here == HERE_READY) {
        s->here = c == '<' ? HERE_ONE : s->here;
    } else if (s->here == HERE_ONE) {
        s->here = c == '<' ? HERE_TWO : HERE_NONE;
        s->end_len = 0;
        s->here_quoted = s->here_tabs = false;
    } else if (s->here == HERE_TWO && c == '<') {
        s->here = HERE_STRING;
    } else if (s->here == HERE_TWO && c == '-') {
        s->here_tabs = true;
    } else if (named && ends_word(c)) {
        s->here = HERE_READY;
    } else if (c == '\'' || c == '"' || c == '\\') {
        s->here_quoted = true;
        s->here = HERE_NAME;
    } else if (!space(c) && c != '\n') {
        s->here = HERE_NAME;
        if (s->end_len < sizeof s->end - 1)
            s->end[s->end_len++] = c;
    }
}

static void here_line(struct v2_shell *s, char c)
{
    if (c == '\n') {
        bool end =
            !s->line_long && s->line_len == s->end_len && memcmp(s->line, s->end, s->end_len) == 0;
        s->line_len = 0;
        s->line_long = false;
        if (end)
            s->in = V2_BARE;
    } else if (s->line_len == sizeof s->line) {
        s->line_long = true;
    } else if (!(c == '\t' && s->here_tabs && s->line_len == 0)) {
        s->line[s->line_len++] = c;
    }
}

static void bare(struct v2_shell *s, char c)
{
    if (s->escaped) {
        s->escaped = false;
    } else if (c == '#' && !s->word) {
        s->in = V2_COMMENT;
    } else if (s->here == HERE_TWO || s->here == HERE_NAME) {
        here_char(s, c); /* its name; quotes of it are no quotes */
    } else {
        here_char(s, c);
        s->escaped = c == '\\';
        if (c == '\'' || c == '"')
            s->in = c == '"' ? V2_DOUBLE : V2_SINGLE;
    }
    s->word = !ends_word(c);
    if (c == '\n' && s->in == V2_BARE && s->here == HERE_READY)
        here_begin(s);
}

static void feed(struct v2_shell *s, char c)
{
    switch (s->in) {
    case V2_BARE: bare(s, c); break;
    case V2_SINGLE: s->in = c == '\'' ? V2_BARE : V2_SINGLE; break;
    case V2_DOUBLE:
        if (s->escaped)
            s->escaped = false;
        else if (c == '"')
            s->in = V2_BARE;
        else
            s->escaped = c == '\\';
        break;
    case V2_COMMENT:
        if (c == '\n') {
            s->in = V2_BARE;
            bare(s, c);
        }
        break;
    case V2_HERE:
    case V2_HERE_QUOTED: here_line(s, c); break;
    }
}

void v2_shell_feed(struct v2_shell *s, const char *text)
{
    for (; *text; text++)
        feed(s, *text);
}
