/* Programs with IPv6 sockets that IPv4 peers come to (gloo's, c10d's) see them as ::ffff:A and ask
 * for the name of that. No file has one, so a resolver is asked, for seconds where none answers:
 * while a process group is formed. The line that answers has a name of its own: with the peer's,
 * looking up the peer would give its address twice, and an IPv6 address to whoever asks for one. */
#include "node/hosts_file.h"

#include "base/map.h"

#include <arpa/inet.h>
#include <string.h>

static void write_mapped(struct buf *out, const struct launch *launch)
{
    struct string_map *written = string_map_create();
    for (size_t i = 0; i < launch->n_hosts; i++) {
        const struct host_name *host = &launch->hosts[i];
        struct in_addr v4;
        if (inet_pton(AF_INET, host->address, &v4) != 1 || string_map_get(written, host->address))
            continue;
        string_map_set(written, host->address, written);
        buf_addf(out, "::ffff:%s %s.mapped\n", host->address, host->name);
    }
    string_map_destroy(written);
}

void hosts_file_write(struct buf *out, const char *own, size_t len, const struct launch *launch)
{
    buf_add(out, own, len);
    if (len > 0 && own[len - 1] != '\n')
        buf_putc(out, '\n');
    for (size_t i = 0; i < launch->n_hosts; i++)
        buf_addf(out, "%s %s\n", launch->hosts[i].address, launch->hosts[i].name);
    write_mapped(out, launch);
}
