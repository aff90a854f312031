/* By the numbers that file systems have in statfs(2), from their own sources: Linux has names for
 * few of them. FUSE and 9p are not among them, since local ones come by these, too. */
#include "base/network_fs.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/vfs.h>

const char *network_fs_name(unsigned long type)
{
    static const struct {
        unsigned long type;
        const char *name;
    } rows[] = {
        { 0x6969, "NFS" },        { 0xff534d42, "CIFS" },   { 0xfe534d42, "SMB" },
        { 0x517b, "SMB" },        { 0x0bd00bd0, "Lustre" }, { 0x47504653, "GPFS" },
        { 0x19830326, "BeeGFS" }, { 0x00c36400, "Ceph" },   { 0x5346414f, "AFS" },
        { 0x6b414653, "AFS" },    { 0xaad7aaea, "PanFS" },  { 0x01161970, "GFS2" },
        { 0x7461636f, "OCFS2" },  { 0x73757245, "Coda" },   { 0x20030528, "OrangeFS" },
        { 0x013111a8, "IBRIX" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].type == type)
            return rows[i].name;
    return NULL;
}

const char *network_fs_of(const char *path)
{
    AUTO_FREE char *at = mem_strdup(path);
    struct statfs fs;
    while (statfs(at, &fs) != 0) {
        char *slash = strrchr(at, '/');
        if (errno != ENOENT || !slash)
            return NULL;
        slash[slash == at] = '\0';
        if (slash == at && statfs(at, &fs) != 0)
            return NULL;
    }
    return network_fs_name((unsigned long)fs.f_type & 0xffffffffUL);
}
