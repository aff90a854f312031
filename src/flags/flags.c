/* From a command line to values of flags, by the rules of Python's argparse as torchrun uses it:
 * options end at the first word that is none, "--k v" and "--k=v", "-t3" "-t 3" "-t=3" "-mt3", a
 * value may be a negative number but not look like an option, PET_NAME of the environment lies
 * between the line and the default. Of what follows the script nothing is looked at here. */
#include "flags/flags.h"

#include "base/mem.h"
#include "base/scan.h"

#include <ctype.h>
#include <string.h>

#define NAME_MAX_LEN 64
#define VALUE_MAX    8192u

struct flags {
    const char **values; /* of the line or PET_*; NULL: not given; flags without value: "1" */
    bool *from_env;
    enum launch_name name;
    int rest;
};

const char *launch_name_word(enum launch_name name)
{
    static const char *const words[] = { [LAUNCH_MUSTER] = "muster launch",
                                         [LAUNCH_TORCHRUN] = "torchrun",
                                         [LAUNCH_DLROVER_RUN] = "dlrover-run" };
    return words[name];
}

static bool exists(const struct flag *f, enum launch_name name)
{
    return (f->names >> name & 1u) != 0;
}

/* ---- names ---- */

/* '-' and '_' are the same letter of a name. */
static bool same_start(const char *word, size_t len, const char *name)
{
    for (size_t i = 0; i < len; i++)
        if (!name[i] || (word[i] == '_' ? '-' : word[i]) != name[i])
            return false;
    return true;
}

static int unknown(enum launch_name name, const char *word, size_t len, struct err *err)
{
    const char *names[NAME_MAX_LEN * 2];
    char plain[NAME_MAX_LEN];
    size_t n = 0;
    snprintf(plain, sizeof plain, "%.*s", (int)len, word);
    for (char *c = plain; *c; c++)
        *c = *c == '_' ? '-' : *c;
    for (unsigned i = 0; i < flag_table_n && n < ARRAY_LEN(names); i++)
        if (exists(&flag_table[i], name))
            names[n++] = flag_table[i].name;
    const char *near = scan_nearest(plain, names, n);
    const char *who = launch_name_word(name);
    err_set(err, ERR_INPUT, "unknown flag --%.*s", (int)(len < 80 ? len : 80), word);
    if (near)
        return err_hint(err, "--%s? Usage: %s [flags] script [args]; --help lists the flags", near,
                        who);
    return err_hint(err, "usage: %s [flags] script [args]; --help lists the flags", who);
}

/* The row of a long name; with `short_forms` also of the unique beginning of one. */
static int find(enum launch_name name, const char *word, size_t len, unsigned *row, struct err *err)
{
    AUTO_BUF struct buf both = BUF_INIT(200);
    unsigned found = 0, n = 0;
    for (unsigned i = 0; i < flag_table_n; i++) {
        const struct flag *f = &flag_table[i];
        if (!exists(f, name) || !same_start(word, len, f->name))
            continue;
        if (strlen(f->name) == len) {
            *row = i;
            return 0;
        }
        found = i;
        buf_addf(&both, "%s--%s", n++ ? ", " : "", f->name);
    }
    if (n == 0 || len == 0)
        return unknown(name, word, len, err);
    if (name == LAUNCH_DLROVER_RUN) {
        err_set(err, ERR_INPUT, "--%.*s: dlrover-run takes no shortened flags", (int)len, word);
        return err_hint(err, "write %s%s", n > 1 ? "one of " : "", buf_str(&both));
    }
    if (n > 1) {
        err_set(err, ERR_INPUT, "--%.*s could be %s", (int)len, word, buf_str(&both));
        return err_hint(err, "write the one you mean");
    }
    *row = found;
    return 0;
}

/* ---- values ---- */

static bool negative_number(const char *word)
{
    const char *c = word + 1;
    bool digits = false;
    for (; isdigit((unsigned char)*c); c++)
        digits = true;
    if (*c == '.')
        for (c++; isdigit((unsigned char)*c); c++)
            digits = true;
    return digits && !*c;
}

/* A word with a blank is a value, unless the blank lies in "--flag=a value". */
static bool is_option(const char *word)
{
    const char *blank = strchr(word, ' '), *equals = strchr(word, '=');
    return word[0] == '-' && word[1] && !negative_number(word) &&
           (!blank || (equals && equals < blank));
}

static bool one_of(const char *choices, const char *value)
{
    size_t len = strlen(value);
    for (const char *c = choices; *c; c += strspn(c, " ")) {
        size_t n = strcspn(c, " ");
        if (n == len && memcmp(c, value, n) == 0)
            return true;
        c += n;
    }
    return false;
}

static int check_value(const struct flag *f, const char *source, const char *value, struct err *err)
{
    if (strlen(value) > VALUE_MAX) {
        err_set(err, ERR_INPUT, "%s: %zu characters are too many", source, strlen(value));
        return err_hint(err, "at most %u", VALUE_MAX);
    }
    if (f->choices && !one_of(f->choices, value)) {
        err_set(err, ERR_INPUT, "%s: \"%.60s\" is none of its values", source, value);
        return err_hint(err, "one of: %s", f->choices);
    }
    return 0;
}

struct line {
    struct arena *arena;
    struct flags *flags;
    int argc, at; /* at: the next word */
    char **argv;
    bool help;
};

static int take(struct line *l, unsigned row, const char *inline_value, struct err *err)
{
    const struct flag *f = &flag_table[row];
    const char *value = inline_value;
    char source[NAME_MAX_LEN];
    snprintf(source, sizeof source, "--%s", f->name);
    if (!f->takes_value && inline_value) {
        err_set(err, ERR_INPUT, "%s=%.60s: it takes no value", source, inline_value);
        return err_hint(err, "write %s alone, or leave it away", source);
    }
    if (!f->takes_value) {
        value = "1";
        l->help = l->help || f->letter == 'h';
    } else if (!value) {
        if (l->at >= l->argc || is_option(l->argv[l->at])) {
            err_set(err, ERR_INPUT, "%s needs a value%s%.60s", source,
                    l->at < l->argc ? ", not " : "", l->at < l->argc ? l->argv[l->at] : "");
            return err_hint(err, "%s %s (or %s=%s)", source, f->arg, source, f->arg);
        }
        value = l->argv[l->at++];
    }
    if (f->takes_value && check_value(f, source, value, err) < 0)
        return -1;
    l->flags->values[row] = arena_strdup(l->arena, value);
    l->flags->from_env[row] = false;
    return 0;
}

static int letters(struct line *l, const char *word, struct err *err)
{
    for (const char *c = word + 1; *c; c++) {
        unsigned row = 0;
        while (row < flag_table_n && (flag_table[row].letter != *c || !flag_table[row].letter ||
                                      !exists(&flag_table[row], l->flags->name)))
            row++;
        if (row == flag_table_n) {
            err_set(err, ERR_INPUT, "unknown flag -%c in \"%.60s\"", *c, word);
            return err_hint(err, "usage: %s [flags] script [args]; --help lists the flags",
                            launch_name_word(l->flags->name));
        }
        if (flag_table[row].takes_value) {
            const char *value = c[1] == '=' ? c + 2 : c + 1;
            return take(l, row, c[1] ? value : NULL, err);
        }
        if (c[1] == '=')
            return take(l, row, c + 2, err);
        if (take(l, row, NULL, err) < 0)
            return -1;
    }
    return 0;
}

static int one(struct line *l, const char *word, struct err *err)
{
    unsigned row = 0;
    if (word[1] != '-')
        return letters(l, word, err);
    const char *name = word + 2, *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    if (find(l->flags->name, name, len, &row, err) < 0)
        return -1;
    return take(l, row, equals ? equals + 1 : NULL, err);
}

/* ---- the environment ---- */

static void env_name(const struct flag *f, char out[NAME_MAX_LEN])
{
    snprintf(out, NAME_MAX_LEN, "PET_%s", f->name);
    for (char *c = out; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

static int take_env(struct arena *a, struct flags *flags, unsigned row, struct err *err)
{
    const struct flag *f = &flag_table[row];
    char name[NAME_MAX_LEN];
    int64_t on;
    env_name(f, name);
    const char *value = getenv(name);
    if (!value || f->no_env || !(f->env_of_all || exists(f, flags->name)))
        return 0;
    if (f->takes_value) {
        if (check_value(f, name, value, err) < 0)
            return -1;
    } else if (!scan_i64(value, INT64_MIN, INT64_MAX, &on)) {
        err_set(err, ERR_INPUT, "%s is \"%.60s\"", name, value);
        return err_hint(err, "1 switches --%s on, 0 leaves it off", f->name);
    } else if (!on) {
        return 0;
    }
    flags->values[row] = arena_strdup(a, f->takes_value ? value : "1");
    flags->from_env[row] = true;
    return 0;
}

int flags_of_line(struct arena *a, enum launch_name name, int argc, char **argv, struct flags **out,
                  struct err *err)
{
    struct flags *flags = ARENA_NEW(a, struct flags);
    *flags = (struct flags){ .values = ARENA_ARRAY(a, flag_table_n, const char *),
                             .from_env = ARENA_ARRAY(a, flag_table_n, bool),
                             .name = name };
    struct line l = { .arena = a, .flags = flags, .argc = argc, .at = 1, .argv = argv };
    while (l.at < argc && !l.help && is_option(argv[l.at])) {
        const char *word = argv[l.at++];
        if (strcmp(word, "--") == 0)
            break;
        if (one(&l, word, err) < 0)
            return -1;
    }
    if (l.help)
        return 1;
    if (l.at >= argc) {
        err_set(err, ERR_INPUT, "which script? None was given");
        return err_hint(err, "usage: %s [flags] script [args]; --help shows examples",
                        launch_name_word(name));
    }
    flags->rest = l.at;
    *out = flags;
    return 0;
}

int flags_parse(struct arena *a, enum launch_name name, int argc, char **argv, struct flags **out,
                struct err *err)
{
    int rc = flags_of_line(a, name, argc, argv, out, err);
    for (unsigned i = 0; rc == 0 && i < flag_table_n; i++)
        if (!(*out)->values[i])
            rc = take_env(a, *out, i, err);
    return rc;
}

/* ---- answers ---- */

int flags_rest(const struct flags *flags)
{
    return flags->rest;
}

static unsigned row_of(const char *name)
{
    for (unsigned i = 0; i < flag_table_n; i++)
        if (strcmp(flag_table[i].name, name) == 0)
            return i;
    BUG("no flag %s", name);
}

const char *flags_text(const struct flags *flags, const char *name)
{
    unsigned row = row_of(name);
    return flags->values[row] ? flags->values[row] : flag_table[row].fallback;
}

bool flags_on(const struct flags *flags, const char *name)
{
    return flags->values[row_of(name)] != NULL;
}

bool flags_given(const struct flags *flags, const char *name)
{
    return flags->values[row_of(name)] != NULL;
}

bool flags_is_default(const struct flags *flags, const char *name)
{
    unsigned row = row_of(name);
    const char *fallback = flag_table[row].fallback, *value = flags->values[row];
    return value && fallback && strcmp(value, fallback) == 0;
}

const char *flags_source(const struct flags *flags, struct arena *a, const char *name)
{
    unsigned row = row_of(name);
    char env[NAME_MAX_LEN];
    if (!flags->from_env[row])
        return arena_printf(a, "--%s", name);
    env_name(&flag_table[row], env);
    return arena_strdup(a, env);
}
