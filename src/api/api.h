/* The HTTP face of the core: routes, authentication, problem documents, streams, the embedded page.
 * Everything it does goes through ctl/ctl.h; it keeps no state of jobs. */
#ifndef API_API_H
#define API_API_H

#include "api/machine_calls.h"
#include "api/pilot_calls.h"
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uv_loop_s;
struct ctl;
struct link_hub;
struct http_request;
struct http_server;
struct facade;
struct turn_meter;
struct text_node;

struct api_image_stores { /* where images are kept: lists in arena, NULL: nowhere, or not known */
    const struct text_node *(*find)(const void *arg, struct arena *, const char *state_dir);
    const struct text_node *(*find_on)(const void *arg, struct arena *, const char *machine);
    const void *arg;
};
struct api_setting { /* one effective configuration value, for GET /v1/config */
    const char *name, *value, *from, *doc;
};
struct api_config {
    struct uv_loop_s *loop;
    struct ctl *ctl;
    struct link_hub *link;
    const char *token; /* bearer token for TCP (kept hashed) */
    const char *version, *state_dir, *socket_path;
    const char *program;    /* muster itself, to look accounts up; NULL: there are none */
    uint64_t started_ms;    /* a date */
    uint64_t started_up_ms; /* clock_mono_ms() of then */
    struct turn_meter *meter;
    uint64_t answer_us; /* of each turn of the loop, for long answers together; 0: 1000 */
    const struct api_setting *settings;
    size_t n_settings;
    /* Of a user who is no admin, a second; 0: as much as it likes. */
    uint64_t submit_rate, list_rate, log_rate;   /* jobs, lists, bytes of output */
    uint64_t code_size, code_files, store_quota; /* of uploaded code: unpacked; of a user */
    const struct facade *const *facades;         /* asked in order before the native routes */
    size_t n_facades;
    /* The authority that signed the server's certificate, PEM, for clients to trust; made when
     * there is none yet. NULL in err's case, or when there is no TLS. */
    const char *(*authority)(void *arg, struct err *);
    void *authority_arg;
    /* Puts what else there is into the answer about this server: "backup" (how far the continuous
     * one is), "agents" (where those of other machines connect). */
    void (*put_parts)(void *arg, struct arena *, struct text_node *map);
    void *put_parts_arg;
    struct api_image_stores image_stores;
    struct api_machines machines;
    struct api_pilots pilots;
    void (*stop)(void *arg); /* asks the owner to end the server */
    void *stop_arg;
};
struct api;
struct api *api_create(const struct api_config *, struct err *);
/* The server the requests come from, once it listens (address and connection count in answers). */
void api_set_server(struct api *, struct http_server *, const char *address);
void api_destroy(struct api *); /* after the http server is destroyed */
/* handle of struct http_config, arg is the api. */
void api_handle(void *api, struct http_request *);
/* `spared` of it: agents, so that jobs go on. */
bool api_spares(void *api, struct http_request *);
/* `refused` of it. */
void api_refused(void *api, struct http_request *, const struct err *);

#endif
