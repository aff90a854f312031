/* What a task's command says of its rendezvous: --nnodes and --node-unit of dlrover-run or
 * torchrun.
 *
 * Inputs: the role's program as it will run. Caveats: the text of a shell is only looked through
 * word by word; what depends on variables other than the number of nodes is not known, and then
 * nothing is said. */
#include "dialect/elasticjob/command.h"

#include "base/scan.h"

enum { WORD_MAX = 256 };

struct word_reader { /* a program as words, one after the other */
    const struct role *role;
    const char *at; /* in role->run */
    size_t next;    /* in role->argv */
    char word[WORD_MAX];
};

/* Quotes are taken off; words that are longer than any of ours are cut. */
static bool next_in_text(struct word_reader *w)
{
    static const char space[] = " \t\r\n;&|()<>";
    size_t n = 0;
    w->at += strspn(w->at, " \t\r\n;&|()<>\\");
    if (!*w->at)
        return false;
    for (; *w->at && !strchr(space, *w->at); w->at++) {
        bool reference = strncmp(w->at, "$(", 2) == 0;
        if (reference) { /* $(NAME), which Kubernetes replaces */
            size_t len = strcspn(w->at, ")");
            for (size_t i = 0; i <= len && w->at[i] && n < WORD_MAX - 1; i++)
                w->word[n++] = w->at[i];
            w->at += w->at[len] ? len : len - 1;
        } else if (!strchr("\"'\\", *w->at) && n < WORD_MAX - 1) {
            w->word[n++] = *w->at;
        }
    }
    w->word[n] = '\0';
    return true;
}

static bool next_word(struct word_reader *w)
{
    if (w->role->run)
        return next_in_text(w);
    if (w->next >= w->role->argv.n)
        return false;
    const char *word = w->role->argv.at[w->next++];
    size_t n = strnlen(word, WORD_MAX - 1);
    memcpy(w->word, word, n);
    w->word[n] = '\0';
    return true;
}

static bool is_launcher(const char *word)
{
    static const char *const names[] = { "dlrover-run", "torchrun", "torch.distributed.run",
                                         "torch.distributed.launch" };
    const char *slash = strrchr(word, '/');
    const char *name = slash ? slash + 1 : word;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_script(const char *word)
{
    size_t n = strlen(word);
    return (n > 3 && strcmp(word + n - 3, ".py") == 0) || strcmp(word, "-m") == 0 ||
           strcmp(word, "--module") == 0 || strcmp(word, "--no-python") == 0 ||
           strcmp(word, "--no_python") == 0;
}

/* The value of --name or --na_me: behind = or the next word; NULL when word is another flag. */
static const char *value_of(struct word_reader *w, const char *name, char out[WORD_MAX])
{
    const char *word = w->word;
    if (strncmp(word, "--", 2) != 0)
        return NULL;
    for (word += 2; *name; name++, word++)
        if (*word != *name && !(*name == '-' && *word == '_'))
            return NULL;
    if (*word == '=')
        word++;
    else if (*word || !next_word(w))
        return NULL;
    else
        word = w->word;
    memcpy(out, word, strlen(word) + 1);
    return out;
}

/* A number, or a variable that says how many nodes there are. 0: not known. */
static uint32_t number(const char *text, size_t len, uint32_t replicas)
{
    static const char *const own[] = { "$NODE_NUM",   "${NODE_NUM}",   "$(NODE_NUM)",
                                       "$WORKER_NUM", "${WORKER_NUM}", "$(WORKER_NUM)" };
    char word[WORD_MAX];
    uint64_t n;
    memcpy(word, text, len);
    word[len] = '\0';
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(word, own[i]) == 0)
            return replicas;
    return scan_u64(word, 1, JOB_MAX_TASKS, &n) ? (uint32_t)n : 0;
}

static void take_nnodes(const char *value, uint32_t replicas, struct ej_nnodes *out)
{
    size_t colon = strcspn(value, ":");
    uint32_t min = number(value, colon, replicas);
    uint32_t max =
        value[colon] ? number(value + colon + 1, strlen(value + colon + 1), replicas) : min;
    out->min = min;
    out->max = max;
}

struct ej_nnodes ej_nnodes(const struct role *role, uint32_t replicas)
{
    struct word_reader w = { .role = role, .at = role->run };
    struct ej_nnodes found = { .min = 0 };
    bool launched = false;
    char value[WORD_MAX];
    while (next_word(&w)) {
        const char *given;
        launched |= is_launcher(w.word);
        if (!launched)
            continue;
        if (is_script(w.word)) /* what follows is the script's */
            break;
        if (strcmp(w.word, "--auto-config") == 0 || strcmp(w.word, "--auto_config") == 0)
            found.min = found.max = replicas;
        else if ((given = value_of(&w, "nnodes", value)))
            take_nnodes(given, replicas, &found);
        else if ((given = value_of(&w, "node-unit", value)))
            found.unit = number(given, strlen(given), replicas);
    }
    const char *preset = pairs_get(&role->env, "PET_NNODES");
    if (launched && !found.min && preset && strlen(preset) < WORD_MAX)
        take_nnodes(preset, replicas, &found);
    return found;
}
