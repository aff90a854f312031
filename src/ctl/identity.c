/* Who may: for now everyone is whom the kernel or the server's token says. */
#include "ctl/identity.h"

#include "ctl/core.h"

#include <string.h>

void ctl_identity_name(struct ctl *ctl, struct arena *arena, const char *name, struct identity *who)
{
    bool admin = strcmp(name, ctl->admin) == 0 || strcmp(name, "root") == 0;
    *who = (struct identity){ .name = arena_strdup(arena, name),
                              .role = admin ? ROLE_ADMIN : ROLE_USER };
}

bool ctl_may_read(struct ctl *ctl, const struct identity *who, uint64_t job)
{
    (void)ctl, (void)who, (void)job;
    return true;
}

bool ctl_may_write(struct ctl *ctl, const struct identity *who, uint64_t job)
{
    (void)ctl, (void)who, (void)job;
    return true;
}

void ctl_filter_for(struct ctl *ctl, struct arena *arena, const struct identity *who,
                    struct job_filter *filter)
{
    (void)ctl, (void)arena, (void)who, (void)filter;
}
