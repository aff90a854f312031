/* --help and the table of doc/launch.md, both from the rows of the flags. Help is wrapped to the
 * width of a terminal; the page has what becomes of each flag besides. */
#include "flags/flags.h"

#include "base/mem.h"

#include <string.h>

#define HELP_COLUMN 34u /* where texts begin */
#define HELP_WIDTH  100u

static const char *const group_titles[FLAG_GROUP_N] = {
#define FLAG_GROUP_TITLE(id, title) [FLAG_##id] = title,
    FLAG_GROUPS(FLAG_GROUP_TITLE)
#undef FLAG_GROUP_TITLE
};

/* Wraps text from column HELP_COLUMN on; the cursor stands at `col`. */
static void wrapped(struct buf *out, size_t col, const char *text)
{
    if (col + 2 > HELP_COLUMN) {
        buf_putc(out, '\n');
        col = 0;
    }
    buf_addf(out, "%*s", (int)(HELP_COLUMN - col), "");
    col = HELP_COLUMN;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (col > HELP_COLUMN && col + 1 + n > HELP_WIDTH) {
            buf_addf(out, "\n%*s", (int)HELP_COLUMN, "");
            col = HELP_COLUMN;
        } else if (col > HELP_COLUMN) {
            buf_putc(out, ' ');
            col++;
        }
        buf_add(out, text, n);
        col += n;
        text += n + strspn(text + n, " ");
    }
    buf_putc(out, '\n');
}

static void help_row(const struct flag *f, struct buf *out)
{
    static const char *const fates[] = {
        [FLAG_NO_EFFECT] = "accepted, without effect", [FLAG_REFUSED] = "refused"
    };
    AUTO_BUF struct buf text = BUF_INIT(4096);
    size_t start = out->len;
    if (f->letter)
        buf_addf(out, "  -%c, --%s", f->letter, f->name);
    else
        buf_addf(out, "      --%s", f->name);
    if (f->takes_value)
        buf_addf(out, " %s", f->arg);
    buf_puts(&text, f->help);
    if (f->choices && !strchr(f->arg, '|'))
        buf_addf(&text, ": %s", f->choices);
    if (f->fallback && *f->fallback)
        buf_addf(&text, " (%s)", f->fallback);
    if (f->fate != FLAG_HONOURED)
        buf_addf(&text, "; %s: %s", fates[f->fate], f->why);
    wrapped(out, out->len - start, buf_str(&text));
}

void flags_help(enum launch_name name, struct buf *out)
{
    const char *who = launch_name_word(name);
    buf_addf(out,
             "usage: %s [flags] script [args of the script]\n\n"
             "Starts the ranks of this node, lets the nodes of a job find each other, and brings "
             "the ranks back\nafter a failure. Flags may be written with - or _, as --flag VALUE "
             "or --flag=VALUE, and preset by\nPET_FLAG in the environment.\n",
             who);
    for (unsigned g = 0; g < FLAG_GROUP_N; g++) {
        buf_addf(out, "\n%s:\n", group_titles[g]);
        for (unsigned i = 0; i < flag_table_n; i++)
            if (flag_table[i].group == g && (flag_table[i].names >> name & 1u))
                help_row(&flag_table[i], out);
    }
    buf_addf(out,
             "\nExamples:\n"
             "  %s --standalone --nproc-per-node=4 train.py --epochs 3\n"
             "      four ranks on this machine\n"
             "  %s --nnodes=2:4 --nproc-per-node=8 --max-restarts=3 --rdzv-backend=c10d \\\n"
             "      --rdzv-endpoint=node1:29400 --rdzv-id=run7 train.py\n"
             "      the same command on two to four machines\n"
             "  %s --nnodes=2 --node-rank=0 --master-addr=node1 --master-port=29500 train.py\n"
             "      fixed places; node rank 0 leads\n"
             "\nExit codes: 0 all ranks ended with 0; 1 the job failed; 2 the command line is "
             "wrong.\n",
             who, who, who);
}

/* "|" would end a cell. */
static void cell(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            buf_putc(out, '\\');
        buf_putc(out, *text);
    }
}

static const char *fate_word(const struct flag *f)
{
    switch (f->fate) {
    case FLAG_HONOURED: return "honoured";
    case FLAG_NO_EFFECT: return "without effect";
    case FLAG_REFUSED: return "refused";
    }
    BUG("fate %d", (int)f->fate);
}

static void of_names(struct buf *out, unsigned names)
{
    static const struct {
        enum launch_name name;
        const char *word;
    } words[] = { { LAUNCH_TORCHRUN, "torchrun" }, { LAUNCH_DLROVER_RUN, "dlrover-run" } };
    bool first = true;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (names >> words[i].name & 1u) {
            buf_addf(out, "%s%s", first ? "" : ", ", words[i].word);
            first = false;
        }
}

void flags_page(struct buf *out)
{
    buf_puts(out, "| flag | default | under | fate | what it does |\n|---|---|---|---|---|\n");
    for (unsigned i = 0; i < flag_table_n; i++) {
        const struct flag *f = &flag_table[i];
        buf_puts(out, "| ");
        if (f->letter)
            buf_addf(out, "`-%c` ", f->letter);
        buf_addf(out, "`--%s", f->name);
        if (f->takes_value) {
            buf_putc(out, ' ');
            cell(out, f->arg);
        }
        buf_puts(out, "` | ");
        if (f->fallback && *f->fallback)
            buf_addf(out, "`%s`", f->fallback);
        buf_puts(out, " | ");
        of_names(out, f->names);
        buf_addf(out, " | %s | ", fate_word(f));
        cell(out, f->help);
        if (f->choices && !strchr(f->arg, '|'))
            buf_addf(out, ": `%s`", f->choices);
        if (f->why) {
            buf_puts(out, f->fate == FLAG_HONOURED ? " (" : ". Why: ");
            cell(out, f->why);
            if (f->fate == FLAG_HONOURED)
                buf_putc(out, ')');
        }
        buf_puts(out, " |\n");
    }
}
