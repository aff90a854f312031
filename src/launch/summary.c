/* The last screen of a failed run. The first line is the answer; every line below has one subject,
 * named in a column of its own. Texts of ranks come from other machines and other people's
 * programs: control characters in them never reach the terminal. */
#include "launch/summary.h"

#include "base/mem.h"
#include "base/scan.h"
#include "launch/flag_lists.h"
#include "launch/summary_words.h"

#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define LINE_BYTES    160u  /* of a quoted line */
#define END_BYTES     2048u /* of the sentence that says why */
#define MESSAGE_LINES 4u
#define TAIL_LINES    12u /* of the first; of one that differs: a third */
#define GROUPS_SHOWN  4u  /* ways to die after the first */
#define RANKS_NAMED   6u

struct page {
    struct buf *out;
    const struct settings *set;
    const struct rdzv_end *end;
    const struct rdzv_victim *first;
    bool colour;
};

/* ---- words ---- */

static void add_place(const char *node, struct buf *out)
{
    if (node && node[0])
        buf_addf(out, " on %s", node);
}

/* "exited with 7", "was killed (SIGKILL)". */
static void add_way(const struct rdzv_death *death, struct buf *out)
{
    char name[SIGNAL_NAME_MAX];
    const char *means;
    if (death->signal == 0) {
        means = exit_code_meaning(death->code);
        buf_addf(out, "exited with %" PRId32, death->code);
        if (means)
            buf_addf(out, " (%s)", means);
        return;
    }
    signal_name(death->signal, name);
    means = signal_meaning(death->signal);
    if (death->oom)
        buf_addf(out, "was killed (%s by the kernel, out of memory)", name);
    else if (death->signal == SIGKILL)
        buf_addf(out, "was killed (%s)", name);
    else if (means)
        buf_addf(out, "died by %s (%s)", name, means);
    else
        buf_addf(out, "died by %s", name);
    if (death->at_exit)
        buf_puts(out, " after its script had ended");
}

/* Text of others, at most max bytes of it, on one line. */
static void add_clean(const char *text, size_t len, size_t max, struct buf *out)
{
    size_t n = 0;
    while (n < len) {
        uint32_t code;
        size_t step = scan_char(text + n, len - n, &code);
        if (n + step > max) {
            buf_puts(out, "...");
            return;
        }
        if (step == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0))
            buf_putc(out, step > 0 && code == '\t' ? ' ' : '?');
        else
            buf_add(out, text + n, step);
        n += step > 0 ? step : 1;
    }
}

/* Lines of text from the first on, at most most of them. */
static void add_lines(const char *text, size_t most, const char *lead, struct buf *out)
{
    for (size_t i = 0; i < most && *text; i++) {
        size_t len = strcspn(text, "\n");
        buf_puts(out, lead);
        add_clean(text, len, LINE_BYTES, out);
        buf_putc(out, '\n');
        text += len + (text[len] == '\n');
    }
}

/* Where the last n lines of text begin. */
static const char *last_lines(const char *text, size_t n)
{
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == '\n')
        len--;
    const char *at = text + len;
    for (size_t i = 0; i < n; i++) {
        const char *line = memrchr(text, '\n', (size_t)(at - text));
        if (!line)
            return text;
        at = line;
    }
    return at + 1;
}

static const char *text_of(const char *text)
{
    return text ? text : "";
}

/* What a reader looks for in it: its message, else the last line of its stderr. */
static const char *word_of(const struct rdzv_death *death)
{
    return text_of(death->message)[0] ? death->message : last_lines(text_of(death->tail), 1);
}

static void add_subject(const struct page *page, const char *name)
{
    if (page->colour)
        buf_addf(page->out, "  \033[1m%-11s\033[0m ", name);
    else
        buf_addf(page->out, "  %-11s ", name);
}

static void add_script(const struct settings *set, struct buf *out)
{
    const char *script = set->script && set->script[0] ? set->script : "the program";
    const char *slash = strrchr(script, '/');
    if (set->kind == PROGRAM_MODULE)
        buf_puts(out, "-m ");
    script = slash && slash[1] ? slash + 1 : script;
    add_clean(script, strlen(script), LINE_BYTES, out);
}

/* ---- equal texts ---- */

/* Equal but for numbers: addresses, ports, ranks and times differ where nothing else does. */
static bool alike(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0123456789");
            b += strspn(b, "0123456789");
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

static bool same_way(const struct rdzv_death *a, const struct rdzv_death *b)
{
    return a->signal == b->signal && a->oom == b->oom && a->at_exit == b->at_exit &&
           (a->signal != 0 || a->code == b->code);
}

static bool same_fate(const struct rdzv_death *a, const struct rdzv_death *b)
{
    return same_way(a, b) && alike(text_of(a->message), text_of(b->message)) &&
           alike(text_of(a->tail), text_of(b->tail));
}

/* The first death, not a victim, with the same fate as death i. */
static size_t group_of(const struct rdzv_end *end, size_t i)
{
    size_t g = 0;
    while (g < i && (end->deaths[g].death.victim ||
                     !same_fate(&end->deaths[g].death, &end->deaths[i].death)))
        g++;
    return g;
}

static size_t group_size(const struct rdzv_end *end, size_t g)
{
    size_t n = 0;
    for (size_t i = g; i < end->n_deaths; i++)
        n += !end->deaths[i].death.victim && group_of(end, i) == g;
    return n;
}

/* ---- parts of the page ---- */

/* No process came to be: the launcher itself says what is wrong. */
static bool never_ran(const struct rdzv_death *death)
{
    return death->spared && death->pid == 0;
}

/* Those that have the age of the first one: the leader says so. */
static void add_ties(const struct page *page)
{
    const struct rdzv_end *end = page->end;
    size_t n = 1;
    while (n < end->n_deaths && !end->deaths[n].death.victim &&
           end->deaths[n].group_rank == page->first->group_rank &&
           end->deaths[n].death.age_us == page->first->death.age_us)
        n++;
    n = n > 1 ? n : 2; /* an older leader names the second alone */
    add_subject(page, "first?");
    buf_puts(page->out, "at the same moment as rank");
    for (size_t i = 1; i < n && i <= RANKS_NAMED; i++)
        buf_addf(page->out, "%s %u", i > 1 ? "," : n > 2 ? "s" : "", end->deaths[i].death.rank);
    if (n > RANKS_NAMED + 1)
        buf_addf(page->out, " and %zu more", n - RANKS_NAMED - 1);
    add_place(end->deaths[1].node, page->out);
    buf_puts(page->out,
             n > 2 ? ": each of them may have been first\n" : ": either may have been first\n");
}

static void add_headline(const struct page *page, size_t own)
{
    struct buf *out = page->out;
    const struct rdzv_death *death = &page->first->death;
    if (page->colour)
        buf_puts(out, "\033[1;31m");
    add_script(page->set, out);
    buf_puts(out, never_ran(death) ? " did not start" : " failed");
    if (page->colour)
        buf_puts(out, "\033[0m");
    if (never_ran(death)) {
        add_place(page->first->node, out);
        buf_putc(out, '\n');
        return;
    }
    buf_addf(out, ": rank %u (local rank %u", death->rank, death->local_rank);
    add_place(page->first->node, out);
    if (death->pid > 0)
        buf_addf(out, ", pid %u", death->pid);
    buf_puts(out, ") ");
    add_way(death, out);
    if (own > 1 && !page->end->undecided)
        buf_addf(out, ", first of %zu", own);
    buf_putc(out, '\n');
    if (page->end->undecided && page->end->n_deaths > 1)
        add_ties(page);
}

/* "train.py:88" of the innermost frame of a Python traceback in text. */
static bool add_frame(const char *text, struct buf *out)
{
    const char *frame = NULL;
    for (const char *at = text; (at = strstr(at, "File \"")); at++)
        frame = at + strlen("File \"");
    size_t len = frame ? strcspn(frame, "\"\n") : 0;
    if (len == 0 || strncmp(frame + len, "\", line ", 8) != 0)
        return false;
    const char *slash = memrchr(frame, '/', len), *line = frame + len + 8;
    const char *name = slash ? slash + 1 : frame;
    add_clean(name, (size_t)(frame + len - name), LINE_BYTES, out);
    buf_addf(out, ":%.*s", (int)strspn(line, "0123456789"), line);
    return true;
}

static void add_message(const struct page *page, const struct rdzv_death *death)
{
    add_lines(death->message, MESSAGE_LINES, "  ", page->out);
    if (never_ran(death) || (!death->spared && !text_of(death->error_file)[0]))
        return;
    add_subject(page, "where");
    if (add_frame(text_of(death->tail), page->out))
        buf_puts(page->out, ", ");
    buf_puts(page->out, death->spared ? "the interpreter's own words" : "from its error file");
    if (!death->spared) {
        buf_putc(page->out, ' ');
        add_clean(death->error_file, strlen(death->error_file), 1024, page->out);
    }
    buf_putc(page->out, '\n');
}

static void add_tail(const struct page *page, const struct rdzv_death *death, size_t lines)
{
    add_lines(last_lines(death->tail, lines), lines, "  | ", page->out);
}

/* Who printed what follows: all of the group of the first. */
static void add_first_text(const struct page *page, size_t own)
{
    const struct rdzv_death *death = &page->first->death;
    size_t n = group_size(page->end, 0);
    bool message = text_of(death->message)[0] != '\0';
    if (!message && !text_of(death->tail)[0]) {
        buf_puts(page->out, "  it wrote nothing to stderr that could be shown\n");
        return;
    }
    if (n > 1)
        buf_addf(page->out, "  %zu ranks printed this (numbers may differ)%s:\n", n,
                 n < own ? "; what others printed is below" : "");
    if (message)
        add_message(page, death);
    else
        add_tail(page, death, TAIL_LINES);
}

static void add_ranks(const struct page *page, size_t g, size_t n)
{
    size_t named = 0;
    buf_puts(page->out, n == 1 ? "rank " : "ranks ");
    for (size_t i = g; i < page->end->n_deaths && named < RANKS_NAMED; i++) {
        if (page->end->deaths[i].death.victim || group_of(page->end, i) != g)
            continue;
        buf_addf(page->out, "%s%u", named > 0 ? ", " : "", page->end->deaths[i].death.rank);
        named++;
    }
    if (n > named)
        buf_addf(page->out, " and %zu more", n - named);
}

static void add_delay(const struct page *page, const struct rdzv_death *death)
{
    uint64_t first = page->first->death.age_us;
    uint64_t later = first > death->age_us ? first - death->age_us : 0;
    if (later < 1000)
        buf_puts(page->out, "less than 1 ms later ");
    else if (later < 10000000)
        buf_addf(page->out, "%" PRIu64 " ms later ", later / 1000);
    else
        buf_addf(page->out, "%" PRIu64 " s later ", later / 1000000);
}

/* Others that died by themselves, one line a fate. Where the whole group of one rank differs from
 * many, its own last lines are what is looked for. */
static void add_group(const struct page *page, size_t g)
{
    const struct rdzv_victim *it = &page->end->deaths[g];
    size_t n = group_size(page->end, g);
    add_subject(page, "then");
    add_ranks(page, g, n);
    if (n == 1)
        add_place(it->node, page->out);
    buf_putc(page->out, ' ');
    if (n == 1)
        add_delay(page, &it->death);
    add_way(&it->death, page->out);
    const char *word = word_of(&it->death);
    bool differs = n == 1 && group_size(page->end, 0) > 1;
    buf_puts(page->out, word[0] ? differs ? ", it differs:" : ": " : "");
    if (word[0] && !differs)
        add_clean(word, strcspn(word, "\n"), LINE_BYTES, page->out);
    buf_putc(page->out, '\n');
    if (!word[0] || !differs)
        return;
    if (text_of(it->death.message)[0])
        add_lines(it->death.message, MESSAGE_LINES, "  | ", page->out);
    else
        add_tail(page, &it->death, TAIL_LINES / 3);
}

static void add_others(const struct page *page, size_t own)
{
    size_t shown = 0, told = group_size(page->end, 0);
    size_t victims = page->end->n_deaths - own;
    for (size_t i = 1; i < page->end->n_deaths && shown < GROUPS_SHOWN; i++) {
        if (page->end->deaths[i].death.victim || group_of(page->end, i) != i)
            continue;
        add_group(page, i);
        told += group_size(page->end, i);
        shown++;
    }
    if (own > told) {
        add_subject(page, "then");
        buf_addf(page->out, "%zu more failed in other ways\n", own - told);
    }
    if (victims > 0) {
        add_subject(page, "stopped");
        buf_addf(page->out, "%zu other rank%s stopped because of it\n", victims,
                 victims == 1 ? " was" : "s were");
    }
}

static void add_why(const struct page *page)
{
    const struct rdzv_death *death = &page->first->death;
    const char *hint = death->signal ? signal_hint(death->signal) : NULL;
    const char *line = NULL;
    if (death->at_exit)
        line = "the script had ended; the interpreter aborted while it shut down\n"
               "              call torch.distributed.destroy_process_group() as its last line";
    else if (death->oom)
        line = "the kernel found no memory for it: a smaller batch, fewer ranks or loader "
               "workers, or more memory";
    else if (death->signal == SIGKILL && !text_of(death->message)[0])
        line = "not by this launcher, and no sign of the kernel's out-of-memory killer: a person,\n"
               "              a supervisor, or a limit outside of this container (dmesg | tail "
               "tells)";
    else if (hint)
        line = hint;
    if (!line)
        return;
    add_subject(page, "why");
    buf_addf(page->out, "%s\n", line);
}

/* The directory of its log files, which stand beside its error file. */
static void add_logs(const struct page *page)
{
    const struct rdzv_death *death = &page->first->death;
    const char *file = text_of(death->error_file), *slash = strrchr(file, '/');
    uint8_t kept = std_choice_of(&page->set->redirects, death->local_rank) |
                   std_choice_of(&page->set->tee, death->local_rank);
    if (kept == 0 || !slash || slash == file)
        return;
    add_subject(page, "its logs");
    add_clean(file, (size_t)(slash - file), 1024, page->out);
    add_place(page->first->node, page->out);
    buf_putc(page->out, '\n');
}

static void add_again(const struct page *page)
{
    uint32_t restarts = page->set->rdzv.max_restarts;
    add_subject(page, "restarts");
    if (page->first->death.spared)
        buf_puts(page->out, "no restart was spent: the program never started\n");
    else if (restarts == 0)
        buf_puts(page->out, "none were allowed; --max-restarts 3 would have started it again\n");
    else
        buf_addf(page->out, "%s%u of --max-restarts %s spent\n", restarts == 1 ? "the " : "all ",
                 restarts, restarts == 1 ? "is" : "are");
}

/* ---- ends that are not a rank's fault ---- */

static void add_end(const struct page *page)
{
    static const char *const what[] = {
        [RDZV_END_FAILED] = " failed",
        [RDZV_END_LOST] = " ended: too few nodes are left",
        [RDZV_END_TIMEOUT] = " did not start: too few nodes came",
        [RDZV_END_CHECK] = " was stopped by the node check",
        [RDZV_END_STOPPED] = " was stopped",
    };
    static const char *const advice[] = {
        [RDZV_END_LOST] = "--nnodes MIN:MAX with a smaller MIN goes on with the nodes that are "
                          "left",
        [RDZV_END_TIMEOUT] = "start the missing launchers with the same --rdzv-id and "
                             "--rdzv-endpoint;\n              --rdzv-conf join_timeout=SECONDS "
                             "waits longer, --nnodes MIN:MAX takes fewer",
        [RDZV_END_CHECK] = "mend what it names, or have that node looked at; --nnodes MIN:MAX with "
                           "a smaller MIN\n              goes on with the others",
    };
    enum rdzv_end_kind kind = page->end->kind;
    if (page->colour)
        buf_puts(page->out, "\033[1;31m");
    add_script(page->set, page->out);
    buf_puts(page->out, (size_t)kind < ARRAY_LEN(what) && what[kind] ? what[kind] : " ended");
    if (page->colour)
        buf_puts(page->out, "\033[0m");
    buf_putc(page->out, '\n');
    buf_puts(page->out, "  ");
    add_clean(text_of(page->end->text), strlen(text_of(page->end->text)), END_BYTES, page->out);
    buf_putc(page->out, '\n');
    if ((size_t)kind < ARRAY_LEN(advice) && advice[kind]) {
        add_subject(page, "what to do");
        buf_addf(page->out, "%s\n", advice[kind]);
    }
}

void summary_print(const struct settings *set, const struct rdzv_end *end, bool colour,
                   struct buf *out)
{
    struct page page = { .out = out, .set = set, .end = end, .colour = colour };
    size_t own = 0;
    if (end->kind == RDZV_END_DONE)
        return;
    for (size_t i = 0; i < end->n_deaths; i++)
        own += !end->deaths[i].death.victim;
    if (end->kind != RDZV_END_FAILED || own == 0)
        add_end(&page);
    if (own == 0 || end->kind == RDZV_END_STOPPED)
        return;
    page.first = &end->deaths[0];
    add_headline(&page, own);
    add_first_text(&page, own);
    add_others(&page, own);
    add_why(&page);
    add_logs(&page);
    if (end->kind == RDZV_END_FAILED)
        add_again(&page);
}
