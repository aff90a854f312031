/* Files are taken by descriptors below the directory, after looking whose they are: what they say
 * is mounted with the agent's rights. Of two files of one directory that name the same device
 * neither is believed, as the CDI specification wants it, unless a later directory names it too. */
#include "cdi/specs.h"

#include "base/mem.h"
#include "base/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBLEMS_MAX 16u
#define FOUND_MAX    (4 * CDI_FILES_MAX)
#define NODE         "nvidia"
#define CAPABILITY   "nvidia-caps/nvidia-cap"

static const char *const usual_dirs[] = { "/etc/cdi", "/var/run/cdi" };

const struct cdi_place *cdi_usual_place(void)
{
    static const struct cdi_place place = { .dirs = usual_dirs, .n_dirs = ARRAY_LEN(usual_dirs) };
    return &place;
}

/* ---- files ---- */

static __attribute__((format(printf, 3, 4))) void add_problem(struct arena *arena,
                                                              struct cdi_specs *out,
                                                              const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (out->problems.n < PROBLEMS_MAX)
        out->problems.at[out->problems.n++] = arena_strdup(arena, text);
}

static int is_trusted(int fd, const struct cdi_place *place, struct stat *st, struct err *err)
{
    if (fstat(fd, st) != 0)
        return err_sys(err, "it cannot be looked at");
    if (st->st_uid != place->owner)
        return err_set(err, ERR_CANNOT, "it belongs to user %u, not to %s", st->st_uid,
                       place->owner ? "the one it has to" : "root");
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, ERR_CANNOT, "others may write it");
    return 0;
}

static int read_file(struct arena *arena, int fd, const struct cdi_place *place, char **text,
                     size_t *len, struct err *err)
{
    struct stat st;
    if (fd < 0)
        return err_sys(err, "it cannot be opened");
    if (is_trusted(fd, place, &st, err) != 0)
        return -1;
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_CANNOT, "it is no file");
    if (st.st_size > (off_t)CDI_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "it has more than %u bytes", CDI_BYTES_MAX);
    *text = arena_alloc(arena, (size_t)st.st_size + 1);
    while (*len < (size_t)st.st_size) {
        ssize_t n = read(fd, *text + *len, (size_t)st.st_size - *len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, "it cannot be read");
        if (n == 0)
            break;
        *len += (size_t)n;
    }
    return 0;
}

static void take_file(struct arena *arena, int dir, const char *name, const struct cdi_place *place,
                      size_t number, struct cdi_specs *out)
{
    char *text = NULL;
    size_t len = 0;
    struct err err;
    const char *path = arena_printf(arena, "%s/%s", place->dirs[number], name);
    struct cdi_file *found = &out->at[out->n];
    *found = (struct cdi_file){ .spec.file = path, .dir = number };
    AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int rc = read_file(arena, fd, place, &text, &len, &err);
    if (rc == 0)
        rc = cdi_spec_read(arena, text, len, &found->spec, &err);
    if (rc < 0)
        add_problem(arena, out, "%.200s: %s", path, err.what);
    out->n += rc == 0;
}

static int is_spec(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');
    return *entry->d_name != '.' && end &&
           (strcmp(end, ".json") == 0 || strcmp(end, ".yaml") == 0 || strcmp(end, ".yml") == 0);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_dir(struct arena *arena, const struct cdi_place *place, size_t number,
                     struct cdi_specs *out)
{
    struct stat st;
    struct err err;
    struct dirent **names;
    const char *path = place->dirs[number];
    AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return;
    int n = scandirat(dir, ".", &names, is_spec, by_name);
    if (n > 0 && is_trusted(dir, place, &st, &err) != 0)
        add_problem(arena, out, "%.200s: %s", path, err.what);
    else if (n > (int)CDI_FILES_MAX)
        add_problem(arena, out, "%.200s: it has more than %u files", path, CDI_FILES_MAX);
    else
        for (int i = 0; i < n && out->n < FOUND_MAX; i++)
            take_file(arena, dir, names[i]->d_name, place, number, out);
    for (int i = 0; i < n; i++)
        free(names[i]);
    if (n >= 0)
        free(names);
}

/* ---- which of them counts ---- */

static bool has_name(const struct cdi_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->n_devices; i++)
        if (strcmp(spec->devices[i].name, name) == 0)
            return true;
    return false;
}

/* Another file of the same directory that names it; NULL: none. */
static const struct cdi_file *rival_of(const struct cdi_specs *specs, const struct cdi_file *found,
                                       const char *name)
{
    for (size_t i = 0; i < specs->n; i++)
        if (&specs->at[i] != found && specs->at[i].dir == found->dir &&
            has_name(&specs->at[i].spec, name))
            return &specs->at[i];
    return NULL;
}

static bool is_replaced(const struct cdi_specs *specs, const struct cdi_file *found,
                        const char *name)
{
    for (size_t i = 0; i < specs->n; i++)
        if (specs->at[i].dir > found->dir && has_name(&specs->at[i].spec, name))
            return true;
    return false;
}

static void note_rivals(struct arena *arena, struct cdi_specs *specs)
{
    for (size_t i = 0; i < specs->n; i++)
        for (size_t k = 0; k < specs->at[i].spec.n_devices; k++) {
            const char *name = specs->at[i].spec.devices[k].name;
            const struct cdi_file *rival = rival_of(specs, &specs->at[i], name);
            if (rival && &specs->at[i] < rival && !is_replaced(specs, rival, name))
                add_problem(arena, specs,
                            "%.150s and %.150s both name device %.60s: neither counts",
                            specs->at[i].spec.file, rival->spec.file, name);
        }
}

void cdi_specs_read(struct arena *arena, const struct cdi_place *place, struct cdi_specs *out)
{
    *out = (struct cdi_specs){ .at = ARENA_ARRAY(arena, FOUND_MAX + 1, struct cdi_file),
                               .problems.at = ARENA_ARRAY(arena, PROBLEMS_MAX, const char *) };
    for (size_t i = 0; i < place->n_dirs; i++)
        read_dir(arena, place, i, out);
    note_rivals(arena, out);
}

/* ---- devices by their nodes ---- */

/* "nvidia3" has 3 behind "nvidia". */
static bool number_behind(const char *name, const char *front, uint64_t *number)
{
    size_t n = strlen(front);
    return strncmp(name, front, n) == 0 && scan_u64(name + n, 0, UINT32_MAX, number);
}

static bool has_cap(const struct gpu_part *part, uint64_t cap)
{
    for (uint32_t i = 0; part && i < part->n_caps; i++)
        if (part->caps[i] == cap)
            return true;
    return false;
}

static const struct gpu_part *part_of(const struct cdi_grant *grant, size_t i)
{
    return grant->parts && grant->parts[i].is ? &grant->parts[i] : NULL;
}

/* Exactly that device: all of its nodes are that one's, and none is missing. */
static bool shows(const struct cdi_edits *edits, uint32_t minor, const struct gpu_part *part)
{
    uint64_t number;
    size_t files = 0, caps = 0;
    for (size_t i = 0; i < edits->nodes.n; i++) {
        if (number_behind(edits->nodes.at[i], NODE, &number)) {
            files++;
            if (number != minor)
                return false;
        } else if (number_behind(edits->nodes.at[i], CAPABILITY, &number)) {
            caps++;
            if (!has_cap(part, number))
                return false;
        }
    }
    return files > 0 && caps == (part ? part->n_caps : 0);
}

struct choice {
    const struct cdi_file *found;
    const struct cdi_device *device;
};

/* The first of the last directory that has it. */
static struct choice choose(const struct cdi_specs *specs, uint32_t minor,
                            const struct gpu_part *part)
{
    struct choice best = { .found = NULL };
    for (size_t i = 0; i < specs->n; i++) {
        const struct cdi_file *found = &specs->at[i];
        for (size_t k = 0; k < found->spec.n_devices; k++) {
            const struct cdi_device *device = &found->spec.devices[k];
            if ((!best.found || best.found->dir < found->dir) &&
                shows(&device->edits, minor, part) && !is_replaced(specs, found, device->name) &&
                !rival_of(specs, found, device->name))
                best = (struct choice){ found, device };
        }
    }
    return best;
}

/* What all devices of a file share may have been written by hand. */
static int check_nodes(const struct cdi_edits *edits, const struct cdi_grant *grant,
                       struct err *err)
{
    uint64_t number;
    for (size_t i = 0; i < edits->nodes.n; i++) {
        const char *name = edits->nodes.at[i];
        bool cap = number_behind(name, CAPABILITY, &number), given = false;
        if (!cap && !number_behind(name, NODE, &number))
            continue;
        for (size_t k = 0; k < grant->n; k++)
            given =
                given || (cap ? has_cap(part_of(grant, k), number) : grant->minors[k] == number);
        if (!given)
            return err_set(err, ERR_CANNOT, "they show /dev/%.60s, which was not given", name);
    }
    return 0;
}

static int none_has(const struct cdi_specs *specs, uint32_t minor, const struct gpu_part *part,
                    struct err *err)
{
    err_set(err, ERR_CANNOT, "no device of them is %s/dev/nvidia%u alone",
            part ? "that instance of " : "", minor);
    return specs->problems.n ? err_in(err, "%.120s", specs->problems.at[0]) : -1;
}

int cdi_find(struct arena *arena, const struct cdi_specs *specs, const struct cdi_grant *grant,
             struct cdi_edits *out, struct err *err)
{
    struct cdi_edits all = { .n_mounts = 0 };
    AUTO_FREE bool *taken = mem_new((specs->n + 1) * sizeof *taken);
    if (specs->n == 0 && specs->problems.n == 0)
        return 1;
    if (specs->n == 0)
        return err_set(err, ERR_CANNOT, "%s", specs->problems.at[0]);
    for (size_t i = 0; i < grant->n; i++) {
        const struct gpu_part *part = part_of(grant, i);
        if (part && part->n_caps == 0)
            return err_set(err, ERR_CANNOT,
                           "instances have no files here, so none can be told from another");
        const struct choice one = choose(specs, grant->minors[i], part);
        if (!one.found)
            return none_has(specs, grant->minors[i], part, err);
        if (!taken[one.found - specs->at])
            cdi_edits_add(arena, &all, &one.found->spec.edits);
        taken[one.found - specs->at] = true;
        cdi_edits_add(arena, &all, &one.device->edits);
    }
    if (check_nodes(&all, grant, err) != 0)
        return -1;
    *out = all;
    return 0;
}
