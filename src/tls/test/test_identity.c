/* The server's identity for agents: made once, the same when it is opened again, and refused when
 * half of it is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "tls/client.h"
#include "tls/identity.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

static int set_up(void **state)
{
    char *dir = mem_strdup("/tmp/muster-identity-XXXXXX");
    assert_non_null(mkdtemp(dir));
    *state = dir;
    return 0;
}

static int tear_down(void **state)
{
    assert_int_equal(file_remove_tree(*state, NULL), 0);
    free(*state);
    return 0;
}

static void it_is_made_once(void **state)
{
    const char *dir = *state;
    struct tls_identity first, again;
    struct stat st;
    assert_int_equal(tls_identity_open(dir, &first, NULL), 0);
    assert_int_equal(strlen(first.pin), TLS_PIN_HEX - 1);
    assert_int_equal(tls_identity_open(dir, &again, NULL), 0);
    assert_string_equal(first.pin, again.pin);
    assert_memory_equal(first.config.ticket_key, again.config.ticket_key, TLS_TICKET_KEY);
    AUTO_FREE char *key = file_join(dir, TLS_IDENTITY_KEY);
    assert_int_equal(stat(key, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    tls_identity_fini(&first);
    tls_identity_fini(&again);
}

static void another_directory_has_another(void **state)
{
    AUTO_FREE char *below = file_join(*state, "other");
    struct tls_identity one, other;
    assert_int_equal(file_mkdirs(below, 0700, NULL), 0);
    assert_int_equal(tls_identity_open(*state, &one, NULL), 0);
    assert_int_equal(tls_identity_open(below, &other, NULL), 0);
    assert_string_not_equal(one.pin, other.pin);
    assert_memory_not_equal(one.config.ticket_key, other.config.ticket_key, TLS_TICKET_KEY);
    tls_identity_fini(&one);
    tls_identity_fini(&other);
}

static void half_of_it_is_refused(void **state)
{
    AUTO_FREE char *key = file_join(*state, TLS_IDENTITY_KEY);
    AUTO_FREE char *crt = file_join(*state, TLS_IDENTITY_CERTIFICATE);
    struct tls_identity identity;
    struct err err;
    assert_int_equal(tls_identity_open(*state, &identity, NULL), 0);
    tls_identity_fini(&identity);
    assert_int_equal(unlink(key), 0);
    assert_int_equal(tls_identity_open(*state, &identity, &err), -1);
    assert_non_null(strstr(err.what, "is there without agents.key"));
    assert_int_equal(unlink(crt), 0);
    assert_int_equal(tls_identity_open(*state, &identity, NULL), 0);
    tls_identity_fini(&identity);
    assert_int_equal(file_replace(crt, "nonsense", 8, 0600, NULL), 0);
    assert_int_equal(tls_identity_open(*state, &identity, &err), -1);
}

static uint8_t digit(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Its pin is what a client is to expect, which reads the certificate by another library. */
static void a_client_finds_it_by_its_pin(void **state)
{
    struct tls_identity identity;
    uint8_t pin[TLS_PIN];
    int fds[2];
    assert_int_equal(tls_identity_open(*state, &identity, NULL), 0);
    for (size_t i = 0; i < sizeof pin; i++)
        pin[i] = (uint8_t)(digit(identity.pin[2 * i]) << 4 | digit(identity.pin[2 * i + 1]));
    struct tls_server *server = tls_server_create(&identity.config, NULL);
    struct tls_client *client = tls_client_create(pin);
    assert_non_null(server);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    struct transport *ends[2] = { tls_client_transport(client, fds[0]),
                                  tls_server_transport(server, fds[1]) };
    enum transport_state states[2] = { TRANSPORT_WAIT_IN, TRANSPORT_WAIT_IN };
    for (int i = 0; i < 20; i++)
        if (states[i % 2] != TRANSPORT_READY)
            states[i % 2] = ends[i % 2]->calls->start(ends[i % 2]);
    assert_int_equal(states[0], TRANSPORT_READY);
    assert_int_equal(states[1], TRANSPORT_READY);
    for (int i = 0; i < 2; i++)
        ends[i]->calls->close(ends[i]);
    tls_client_destroy(client);
    tls_server_destroy(server);
    tls_identity_fini(&identity);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(it_is_made_once),
        T(another_directory_has_another),
        T(half_of_it_is_refused),
        T(a_client_finds_it_by_its_pin),
    };
    return cmocka_run_group_tests_name("tls identity", tests, NULL, NULL);
}
