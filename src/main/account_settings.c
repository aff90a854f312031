/* A name that is wrong, or a directory that nobody reaches, would be found by the first user whose
 * job is refused. Only who starts the server can mend it, so it is said there. */
#include "main/account_settings.h"

#include "api/accounts.h"
#include "base/log.h"
#include "base/mem.h"
#include "dialect/gpu_share.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

/* On a loop of its own: that of the server has handles that keep it running. */
static int check_job_account(const char *name, const char *program, struct err *err)
{
    uv_loop_t loop;
    if (uv_loop_init(&loop) != 0)
        return err_sys(err, "job_account");
    struct account_lookups *accounts = account_lookups_create(&loop, program);
    int rc = accounts ? accounts_check(accounts, name, err) : 0;
    account_lookups_destroy(accounts);
    uv_run(&loop, UV_RUN_DEFAULT); /* what closes */
    uv_loop_close(&loop);
    return rc < 0 ? err_in(err, "job_account") : 0;
}

/* Every directory above what is there already has to let others through. */
static int check_users_dir(const char *dir, struct err *err)
{
    AUTO_FREE char *part = mem_strdup(dir);
    struct stat st;
    if (*dir != '/') {
        err_set(err, ERR_INPUT, "users_dir is \"%.200s\"", dir);
        return err_hint(err, "write a path that begins with /");
    }
    for (char *at = part; (at = strchr(at + 1, '/'));) {
        *at = '\0';
        if (stat(part, &st) != 0)
            return errno == ENOENT ? 0 : err_sys(err, "users_dir: %s", part);
        if (!(st.st_mode & S_IXOTH)) {
            err_set(err, ERR_INPUT, "users_dir is %.200s, and %.200s lets nobody else through", dir,
                    part);
            return err_hint(err, "name a place that every account reaches, /var/lib/muster.users "
                                 "for example");
        }
        *at = '/';
    }
    return 0;
}

/* A daemon serves one account at a time: another one's tasks would wait for its last to end. */
static int check_mps(const struct config *c, bool accounts, struct err *err)
{
    const char *dir = c->at[SETTING_GPU_MPS].text;
    if (!*dir)
        return 0;
    if (*dir != '/') {
        err_set(err, ERR_INPUT, "gpu_mps is \"%.200s\"", dir);
        return err_hint(err, "write a path that begins with /");
    }
    if (!accounts || strstr(dir, MPS_UID))
        return 0;
    err_set(
        err, ERR_INPUT,
        "gpu_mps is %.200s for the jobs of all accounts, and an MPS daemon serves one at a time",
        dir);
    return err_hint(err, "run a daemon for each account and write " MPS_UID
                         " for its number: /run/mps/" MPS_UID);
}

int account_settings_check(const struct config *c, const char *program, struct err *err)
{
    bool accounts = geteuid() == 0 && config_choice(c, SETTING_SHARED_ACCOUNT) == 0;
    const char *account = c->at[SETTING_JOB_ACCOUNT].text;
    const struct setting_value *users = &c->at[SETTING_USERS_DIR];
    if (*account && config_choice(c, SETTING_SHARED_ACCOUNT) != 0) {
        err_set(err, ERR_INPUT,
                "job_account is %.80s, and shared_account runs everybody's jobs as "
                "the server's own user",
                account);
        return err_hint(err, "leave one of them out");
    }
    if (check_mps(c, accounts, err) < 0)
        return -1;
    if (!accounts) {
        if (*account)
            log_warn("accounts.unused",
                     "job_account=%s note=\"only a server of root's runs jobs as others\"",
                     account);
        return 0;
    }
    if (strcmp(users->from, "default") != 0 && check_users_dir(users->text, err) < 0)
        return -1;
    return *account ? check_job_account(account, program, err) : 0;
}
