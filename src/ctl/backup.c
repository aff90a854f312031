/* The records as a file beside the database, made step by step between turns. The file has a name
 * only until it is opened: what a client takes long to read is gone with it. */
#include "ctl/backup.h"

#include "account/audit.h"
#include "ctl/core.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/turn_meter.h"
#include "store/backup.h"

#include <fcntl.h>

struct ctl_backup {
    struct ctl *ctl;
    struct store_backup *copy;
    char *path;
    size_t live; /* jobs, when it was complete */
};

struct ctl_backup *ctl_backup_begin(struct ctl *ctl, bool own, struct err *err)
{
    struct ctl_backup *b = mem_new(sizeof *b);
    b->ctl = ctl;
    b->path = file_join(ctl->config.state_dir, "backup.db");
    if (!store_backing_up(ctl->config.store))
        (void)unlink(b->path); /* of a server that ended in the middle */
    b->copy = store_backup_begin(ctl->config.store, b->path, err);
    if (!own)
        audit_add(ctl->accounts, &(struct audit_entry){ .action = "server.backup",
                                                        .refused = b->copy ? NULL : err });
    if (b->copy)
        return b;
    free(TAKE(b->path)); /* it is another one's */
    ctl_backup_end(b);
    return NULL;
}

int ctl_backup_step(struct ctl_backup *b, struct err *err)
{
    TURN_WORK(b->ctl->config.meter, "backup", 0);
    int rc = store_backup_step(b->copy, err);
    if (rc == 1)
        b->live = live_count(b->ctl->live);
    return rc;
}

int ctl_backup_open(struct ctl_backup *b, struct err *err)
{
    int fd = open(b->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        err_sys(err, "%s", b->path);
    else
        (void)unlink(b->path);
    return fd;
}

void ctl_backup_put(const struct ctl_backup *b, struct arena *a, struct text_node *map,
                    const char *key)
{
    char text[AUDIT_MARK_TEXT];
    const struct store_reach reach = store_backup_reach(b->copy);
    struct text_node *node = text_map(a, map, key);
    text_int(a, node, "event", (int64_t)reach.event);
    text_int(a, node, "number", (int64_t)reach.number);
    text_int(a, node, "job_id", (int64_t)reach.job_id);
    text_str(a, node, "audit", audit_mark_text(text, &reach.audit));
    text_int(a, node, "version", reach.version);
    text_int(a, node, "live", (int64_t)b->live);
}

void ctl_backup_end(struct ctl_backup *b)
{
    if (!b)
        return;
    store_backup_end(b->copy);
    if (b->path)
        (void)unlink(b->path);
    free(b->path);
    free(b);
}
