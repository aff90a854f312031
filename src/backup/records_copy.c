/* The records as a file beside the database, made step by step between turns. The file has a name
 * only until it is opened: what a client takes long to read is gone with it. */
#include "backup/records_copy.h"

#include "account/audit.h"
#include "live/live.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/turn_meter.h"
#include "store/backup.h"

#include <fcntl.h>
#include <unistd.h>

struct records_copy {
    struct records_copy_config config;
    struct store_backup *copy;
    char *path;
    size_t live; /* jobs, when it was complete */
};

struct records_copy *records_copy_begin(const struct records_copy_config *config, bool own,
                                        struct err *err)
{
    struct records_copy *b = mem_new(sizeof *b);
    b->config = *config;
    b->path = file_join(config->state_dir, "backup.db");
    if (!store_backing_up(config->store))
        (void)unlink(b->path); /* of a server that ended in the middle */
    b->copy = store_backup_begin(config->store, b->path, err);
    if (!own)
        audit_add(config->accounts, &(struct audit_entry){ .action = "server.backup",
                                                           .refused = b->copy ? NULL : err });
    if (b->copy)
        return b;
    free(TAKE(b->path)); /* it is another one's */
    records_copy_end(b);
    return NULL;
}

int records_copy_step(struct records_copy *b, struct err *err)
{
    TURN_WORK(b->config.meter, "backup", 0);
    int rc = store_backup_step(b->copy, err);
    if (rc == 1)
        b->live = live_count(b->config.live);
    return rc;
}

int records_copy_open(struct records_copy *b, struct err *err)
{
    int fd = open(b->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        err_sys(err, "%s", b->path);
    else
        (void)unlink(b->path);
    return fd;
}

void records_copy_put(const struct records_copy *b, struct arena *a, struct text_node *map,
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

void records_copy_end(struct records_copy *b)
{
    if (!b)
        return;
    store_backup_end(b->copy);
    if (b->path)
        (void)unlink(b->path);
    free(b->path);
    free(b);
}
