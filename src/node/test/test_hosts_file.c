/* What tasks find in /etc/hosts: names of peers, and the mapped form of each IPv4 address once, in
 * a name that no forward look-up asks for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "node/hosts_file.h"

#include <string.h>

static void addresses_have_a_mapped_form(void **state)
{
    (void)state;
    static const char own[] = "127.0.0.1 localhost";
    struct host_name hosts[] = {
        { .address = "10.0.0.1", .name = "worker-0" },
        { .address = "10.0.0.1", .name = "worker-0.train" },
        { .address = "fd00::2", .name = "worker-1" },
        { .address = "10.0.0.3", .name = "worker-2" },
        { .address = "10.0.0.1", .name = "worker-3" },
    };
    const struct launch launch = { .hosts = hosts, .n_hosts = ARRAY_LEN(hosts) };
    AUTO_BUF struct buf text = BUF_INIT(1 << 16);
    hosts_file_write(&text, own, strlen(own), &launch);
    assert_string_equal(buf_str(&text), "127.0.0.1 localhost\n"
                                        "10.0.0.1 worker-0\n"
                                        "10.0.0.1 worker-0.train\n"
                                        "fd00::2 worker-1\n"
                                        "10.0.0.3 worker-2\n"
                                        "10.0.0.1 worker-3\n"
                                        "::ffff:10.0.0.1 worker-0.mapped\n"
                                        "::ffff:10.0.0.3 worker-2.mapped\n");
}

static void a_node_without_a_file(void **state)
{
    (void)state;
    struct host_name host = { .address = "127.0.0.7", .name = "a-0" };
    const struct launch launch = { .hosts = &host, .n_hosts = 1 };
    AUTO_BUF struct buf text = BUF_INIT(1 << 16);
    hosts_file_write(&text, NULL, 0, &launch);
    assert_string_equal(buf_str(&text), "127.0.0.7 a-0\n::ffff:127.0.0.7 a-0.mapped\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_have_a_mapped_form),
        cmocka_unit_test(a_node_without_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
