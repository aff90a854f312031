/* Whoever started it ends it when its time is up. It becomes the account before it asks, so that
 * nothing that the registry says is read with the rights of the server. */
#include "node/image_digest.h"

#include "base/buf.h"
#include "base/mem.h"
#include "node/confine.h"
#include "node/fetch/make.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define QUESTION_MAX (1u << 20)

static int read_question(struct buf *to, struct err *err)
{
    char piece[4096];
    for (ssize_t n; (n = read(STDIN_FILENO, piece, sizeof piece)) != 0;)
        if (n > 0)
            buf_add(to, piece, (size_t)n);
        else if (errno != EINTR)
            return err_sys(err, "the question");
    return to->overflow ? err_set(err, ERR_TOO_LARGE, "the question is too large") : 0;
}

static int become(const char *numbers, const char *home, struct err *err)
{
    uint32_t *groups = mem_new(ACCOUNT_GROUPS_MAX * sizeof *groups);
    struct account account = { .name = "", .home = home, .shell = "" };
    const struct confine confine = { .account = &account };
    int rc = 0;
    if (!fs_user_read(numbers, groups, ACCOUNT_GROUPS_MAX, &account.ids))
        rc = err_set(err, ERR_INPUT, "the question has no account");
    else if (confine_drop(&confine) != 0 || confine_seal(&confine) != 0)
        rc = err_sys(err, "cannot give up the rights of the server");
    free(groups);
    return rc;
}

struct work {
    int (*run)(void *arg, const struct image_ask *, char digest[IMAGE_DIGEST_LEN + 1],
               struct err *);
    void *arg;
};

static int answer(const struct work *work, char *question, char digest[IMAGE_DIGEST_LEN + 1],
                  struct err *err)
{
    char *name = strsep(&question, "\n"), *home = strsep(&question, "\n");
    char *numbers = strsep(&question, "\n");
    struct image_ref ref;
    if (!numbers)
        return err_set(err, ERR_INPUT, "the question has too few lines");
    if (image_ref_parse(name, &ref, err) != 0 || (*numbers && become(numbers, home, err) != 0))
        return -1;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user takes it off */
    const char *own = *home ? home : NULL, *said = question && *question ? question : NULL;
    AUTO_CLOSE int auth = registry_open_auth(said, said ? strlen(said) : 0, own, err);
    if (auth < 0)
        return -1;
    const struct registry registry = { .ref = &ref, .auth = auth, .home = own };
    const struct image_ask asked = { .registry = &registry, .auth = said };
    return work->run(work->arg, &asked, digest, err);
}

int image_answer(int (*run)(void *arg, const struct image_ask *, char digest[IMAGE_DIGEST_LEN + 1],
                            struct err *),
                 void *arg)
{
    const struct work work = { .run = run, .arg = arg };
    AUTO_BUF struct buf text = BUF_INIT(QUESTION_MAX);
    struct err err = { .code = ERR_SYSTEM };
    char digest[IMAGE_DIGEST_LEN + 1];
    (void)prctl(PR_SET_DUMPABLE, 0);
    int rc = read_question(&text, &err);
    if (rc == 0) {
        char *question = mem_strdup(buf_str(&text));
        rc = answer(&work, question, digest, &err);
        explicit_bzero(question, text.len);
        free(question);
    }
    if (rc == 0)
        printf("sha256:%s\n", digest);
    else
        printf("%s%s%s\n", err.what, *err.hint ? "; " : "", err.hint);
    return fflush(stdout) == 0 && rc == 0 ? 0 : 1;
}

static int resolve(void *arg, const struct image_ask *asked, char digest[IMAGE_DIGEST_LEN + 1],
                   struct err *err)
{
    (void)arg;
    return image_resolve(asked->registry, digest, err);
}

int image_digest_main(void)
{
    return image_answer(resolve, NULL);
}
