/* Volumes and where they are mounted: data of the job, shared memory, or a reason why not.
 *
 * Caveats: the canonical job mounts its data into all tasks, so two roles may not mean different
 * things by one path. */
#include "dialect/elasticjob/volume.h"

#include "dialect/elasticjob/secrets.h"
#include "text/quantity.h"

struct mounting {
    struct ej_reader *r;
    const struct ej_pod *pod;
    struct ej_place volumes, at; /* at: the mount */
    struct role *role;
};

static const struct ej_volume *volume_of(const struct ej_pod *pod, const char *name,
                                         size_t *position)
{
    for (*position = 0; *position < pod->n_volumes; (*position)++)
        if (strcmp(pod->volumes[*position].name, name) == 0)
            return &pod->volumes[*position];
    return NULL;
}

static void add_mount(const struct mounting *m, const struct ej_volume_mount *mount,
                      const char *from, bool read_only)
{
    struct inputs *inputs = &m->r->job->inputs;
    const char *sub = mount->sub_path && *mount->sub_path ? mount->sub_path : NULL;
    if (sub)
        from = arena_printf(m->r->arena, "%s/%s", from, sub);
    for (size_t i = 0; i < inputs->n_data; i++) {
        const struct mount *have = &inputs->data[i];
        if (strcmp(have->at, mount->at) != 0)
            continue;
        if (strcmp(have->from, from) != 0 || have->read_only != read_only) {
            struct problem *p = ej_fail(m->r, m->at, "puts %.100s at %.60s, where %.100s is", from,
                                        mount->at, have->from);
            report_hint(m->r->report, p,
                        "one thing at one path: all roles share their mounts here");
        }
        return;
    }
    struct mount *data = ARENA_ARRAY(m->r->arena, inputs->n_data + 1, struct mount);
    if (inputs->n_data)
        memcpy(data, inputs->data, inputs->n_data * sizeof *data);
    data[inputs->n_data++] = (struct mount){
        .from = from, .at = mount->at, .read_only = read_only, .place = m->at.place
    };
    inputs->data = data;
}

static void mount_empty(const struct mounting *m, const struct ej_volume_mount *mount,
                        const struct ej_volume *volume, struct ej_place at)
{
    struct ej_place empty = ej_in(m->r, at, "emptyDir");
    const char *medium = volume->empty.medium ? volume->empty.medium : "";
    const char *limit = volume->empty.limit;
    uint64_t bytes = 0;
    if (strcmp(medium, "Memory") != 0 || strcmp(mount->at, "/dev/shm") != 0) {
        struct problem *p =
            ej_fail(m->r, m->at, "puts an emptyDir at %.60s, which is not done here", mount->at);
        report_hint(m->r->report, p,
                    "write to the working directory, it is new and empty for every task, or "
                    "use hostPath");
        return;
    }
    if (limit && quantity_scan(limit, 1, &bytes) != QUANTITY_OK)
        report_hint(
            m->r->report,
            ej_fail(m->r, ej_in(m->r, empty, "sizeLimit"), "is \"%.40s\", no quantity", limit),
            "16Gi");
    else if (limit)
        m->role->resources.shm = bytes;
}

static void warn_type(const struct mounting *m, const struct ej_volume *volume, struct ej_place at)
{
    const char *type = volume->host.type;
    size_t n = type ? strlen(type) : 0;
    if (n > 8 && strcmp(type + n - 8, "OrCreate") == 0) {
        struct ej_place host = ej_in(m->r, at, "hostPath");
        report_hint(
            m->r->report,
            ej_warn(m->r, ej_in(m->r, host, "type"), "is %.40s, and nothing is made here", type),
            "make %.100s on the nodes", volume->host.path);
    }
}

static void mount_one(const struct mounting *m, const struct ej_volume_mount *mount)
{
    size_t position;
    const struct ej_volume *volume = volume_of(m->pod, mount->name, &position);
    if (!volume) {
        struct problem *p =
            ej_fail(m->r, m->at, "is of volume \"%.60s\", and there is none", mount->name);
        report_hint(m->r->report, p, "a name of spec.volumes");
        return;
    }
    struct ej_place at = ej_item(m->r, m->volumes, position);
    if (mount->at[0] != '/' || strstr(mount->at, "/../")) {
        report_hint(m->r->report, ej_fail(m->r, m->at, "is at \"%.80s\"", mount->at),
                    "an absolute path");
    } else if (volume->has_secret) {
        ej_secret_volume(m->r, m->role, mount, &volume->secret, m->at);
    } else if (volume->has_host) {
        warn_type(m, volume, at);
        add_mount(m, mount, volume->host.path, mount->read_only);
    } else if (volume->has_claim) {
        const char *from =
            arena_printf(m->r->arena, "pvc://%s/%s", m->r->job->project, volume->claim.name);
        add_mount(m, mount, from, mount->read_only || volume->claim.read_only);
    } else {
        mount_empty(m, mount, volume, at);
    }
}

void ej_volumes(struct ej_reader *r, enum ej_type type, const struct ej_container *container,
                struct ej_place at, struct role *role)
{
    struct ej_place spec = ej_in(r, ej_template(r, type), "spec");
    struct mounting m = {
        .r = r, .pod = &r->spec->types[type].pod, .volumes = ej_in(r, spec, "volumes"), .role = role
    };
    struct ej_place mounts = ej_in(r, at, "volumeMounts");
    for (size_t i = 0; i < container->n_mounts; i++) {
        m.at = ej_item(r, mounts, i);
        mount_one(&m, &container->mounts[i]);
    }
}
