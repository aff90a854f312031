/* HEAD and refs of a git repository, loose and packed, of linked work trees too
 * (gitrepository-layout(5)). The object of an annotated tag is not opened: of these the packed ones
 * are known, which say their commit. */
#include "source/checkout.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define LINE_LIMIT 4096u
#define PACKED_MAX (16u << 20)
#define REF_LIMIT  255u
#define SHORT_HASH 7u
#define SHOWN_HASH 12
#define HEX        "0123456789abcdef"

struct repository {
    char *own;    /* HEAD; of a linked work tree its own folder */
    char *common; /* refs and packed-refs */
};
struct hash {
    char text[65]; /* "": none */
};

static void repository_fini(struct repository *r)
{
    free(r->own);
    free(r->common);
}

/* The first line of a small file, malloc'ed; NULL: there is none. */
static char *first_line(const char *dir, const char *name)
{
    AUTO_FREE char *path = file_join(dir, name);
    char *text = NULL;
    size_t len;
    if (file_read(path, LINE_LIMIT, &text, &len, NULL) != 0)
        return NULL;
    text[strcspn(text, "\r\n")] = '\0';
    return text;
}

static bool repository_open(struct repository *r, const char *dir)
{
    *r = (struct repository){ .own = file_join(dir, ".git") };
    AUTO_FREE char *link = file_is_dir(r->own) ? NULL : first_line(dir, ".git");
    if (link && strncmp(link, "gitdir: ", 8) == 0) {
        free(r->own);
        r->own = file_join(dir, link + 8);
    }
    AUTO_FREE char *common = first_line(r->own, "commondir");
    r->common = file_join(r->own, common ? common : ".");
    return file_is_dir(r->own);
}

static struct hash hash_of(const char *text)
{
    struct hash hash = { .text = "" };
    size_t n = strspn(text, HEX);
    if (n == 40 || n == 64)
        snprintf(hash.text, sizeof hash.text, "%.*s", (int)n, text);
    return hash;
}

/* "HASH NAME", and in the next line "^HASH" of the commit when it is an annotated tag. */
static struct hash packed(const struct repository *r, const char *ref)
{
    AUTO_FREE char *path = file_join(r->common, "packed-refs");
    AUTO_FREE char *text = NULL;
    size_t len;
    if (file_read(path, PACKED_MAX, &text, &len, NULL) != 0)
        return (struct hash){ .text = "" };
    for (char *line = text, *next; *line; line = next) {
        size_t n = strcspn(line, "\n");
        next = line + n + (line[n] == '\n');
        line[n] = '\0';
        const char *name = strchr(line, ' ');
        if (name && strcmp(name + 1, ref) == 0)
            return hash_of(*next == '^' ? next + 1 : line);
    }
    return (struct hash){ .text = "" };
}

static struct hash commit_of(const struct repository *r, const char *ref)
{
    AUTO_FREE char *line = first_line(r->common, ref);
    struct hash hash = { .text = "" };
    if (line)
        hash = hash_of(line);
    return *hash.text ? hash : packed(r, ref);
}

/* A name that stays below refs/. */
static bool is_ref(const char *name)
{
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f || strchr("~^:?*[\\", *c))
            return false;
    return *name && *name != '/' && strlen(name) <= REF_LIMIT && !strstr(name, "..");
}

static bool is_at(const struct repository *r, const char *branch, const struct hash *head,
                  const char *at)
{
    static const char *const below[] = { "refs/tags", "refs/heads", "refs/remotes/origin" };
    size_t digits = strspn(at, HEX), len = strlen(at);
    if (!*head->text)
        return false;
    if (branch && strcmp(branch, at) == 0)
        return true;
    if (digits == len && len >= SHORT_HASH && strncmp(head->text, at, len) == 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(below) && is_ref(at); i++) {
        AUTO_FREE char *ref = file_join(below[i], at);
        if (strcmp(commit_of(r, ref).text, head->text) == 0)
            return true;
    }
    return false;
}

static int refuse(const char *dir, const char *at, const char *is, struct err *err)
{
    err_set(err, ERR_CANNOT, "the code has to be at \"%.100s\", and %s; nothing is fetched here",
            at, is);
    return err_hint(err, "check it out in %.80s, or name no branch and no commit", dir);
}

int checkout_check(const char *dir, const char *at, struct err *err)
{
    __attribute__((cleanup(repository_fini))) struct repository r;
    char is[200];
    if (!repository_open(&r, dir))
        return refuse(dir, at, "its directory is no git work tree", err);
    AUTO_FREE char *line = first_line(r.own, "HEAD");
    const char *ref = line && strncmp(line, "ref: ", 5) == 0 && is_ref(line + 5) ? line + 5 : NULL;
    const char *branch = ref && strncmp(ref, "refs/heads/", 11) == 0 ? ref + 11 : NULL;
    const struct hash head = ref ? commit_of(&r, ref) : hash_of(line ? line : "");
    if (is_at(&r, branch, &head, at))
        return 0;
    if (!*head.text)
        return refuse(dir, at, "its directory has no commit", err);
    snprintf(is, sizeof is, "its directory is at %s%.100s%s%.*s", branch ? "branch " : "commit ",
             branch ? branch : "", branch ? ", commit " : "", SHOWN_HASH, head.text);
    return refuse(dir, at, is, err);
}
