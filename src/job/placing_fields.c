/* Field tables of where tasks run and what they are given: placement, inputs. They decode, encode,
 * document and describe; rules between their fields are in check.c. */
#include "job/job_fields.h"

#include "job/job.h"

#include <string.h>

/* ---- placement ---- */

static const struct field together_fields[] = {
    FIELD(WORDS, "roles", struct colocate, roles, .flags = FIELD_REQUIRED, .max = JOB_MAX_ROLES,
          .chars = &name_chars, .doc = "roles that share a node"),
    FIELD(PAIRS, "shares", struct colocate, shares, .max = JOB_MAX_ROLES, .chars = &name_chars,
          .doc = "tasks of each role in one unit; left out: one of each"),
    FIELD_END,
};

static const struct field topology_fields[] = {
    FIELD(TEXT, "within", struct placing, within, .min = 1,
          .doc = "level of the topology that holds all tasks (`rack`, `switch`, `zone`)"),
    FIELD(BOOL, "required", struct placing, within_required,
          .doc = "wait until that is possible; else it is only preferred"),
    FIELD_END,
};

const struct field placing_fields[] = {
    FIELD_MANY(LIST, "together", struct placing, together, n_together, .table = together_fields,
               .brief = "roles", .max = JOB_MAX_ROLES,
               .doc = "sets of roles that share nodes, unit by unit"),
    FIELD(WORDS, "nodes", struct placing, nodes, .max = JOB_MAX_TASKS,
          .doc = "only these nodes, by name"),
    FIELD(WORDS, "avoid", struct placing, avoid, .max = JOB_MAX_TASKS,
          .doc = "not these nodes, by name"),
    FIELD(WORDS, "spread", struct placing, spread, .max = JOB_MAX_ROLES,
          .doc = "roles whose tasks go to as many nodes as possible"),
    FIELD(WORDS, "pack", struct placing, pack, .max = JOB_MAX_ROLES,
          .doc = "roles whose tasks go to as few nodes as possible"),
    FIELD(WORDS, "apart", struct placing, apart, .max = JOB_MAX_ROLES,
          .doc = "roles with at most one task on a node"),
    FIELD(TEXT, "engine", struct placing, engine, .min = 1, .max = 32, .chars = &name_chars,
          .doc = "only nodes of this engine: `local` is the server's own machine, `machines` those "
                 "that were added to it, `slurm` those of Slurm: of a pilot with room, else of an "
                 "allocation that is asked for, for this job alone"),
    FIELD(PAIRS, "labels", struct placing, labels, .max = 256, .doc = "labels a node must have"),
    FIELD(WORDS, "tolerations", struct placing, tolerations, .flags = FIELD_REFUSED, .max = 256,
          .doc = "taints of nodes that do not matter"),
    FIELD_SAME(OBJECT, "topology", .table = topology_fields, .brief = "within",
               .doc = "how near to each other"),
    FIELD(BOOL, "pin_cpus", struct placing, pin_cpus,
          .doc = "bind each task to cores that no other one is bound to"),
    FIELD_END,
};

/* ---- inputs ---- */

static const struct field code_fields[] = {
    FIELD(TEXT, "dir", struct code, dir, .min = 1,
          .doc = "directory (path or file: URI), put read-only under its own name into the working "
                 "directory"),
    FIELD(TEXT, "git", struct code, git, .flags = FIELD_REFUSED, .min = 1,
          .doc = "URL of a git repository"),
    FIELD(TEXT, "at", struct code, at, .min = 1, .doc = "branch, tag or commit of it"),
    FIELD(TEXT, "archive", struct code, archive, .min = 1,
          .doc = "code uploaded to the server, `sha256:...`: its tasks start in it"),
    FIELD(TEXT, "path", struct code, path, .min = 1,
          .doc = "absolute path at which tasks find it instead"),
    FIELD(SIZE, "limit", struct code, limit, .doc = "most bytes it may have; 0: no limit"),
    FIELD_END,
};

static const struct field mount_fields[] = {
    FIELD(TEXT, "from", struct mount, from, .flags = FIELD_REQUIRED, .min = 1,
          .doc = "URI or path"),
    FIELD(TEXT, "at", struct mount, at, .flags = FIELD_REQUIRED, .min = 1,
          .doc = "absolute path in the tasks"),
    FIELD(BOOL, "read_only", struct mount, read_only, .doc = "tasks cannot write there"),
    FIELD_END,
};

static bool secret_ok(const char *name)
{
    char set[SECRET_NAME_MAX + 1];
    size_t len;
    if (!secret_is_set(name, &len))
        return secret_name_ok(name);
    if (len >= sizeof set || memchr(name, '/', len))
        return false;
    memcpy(set, name, len);
    set[len] = '\0';
    return secret_name_ok(set);
}

static const struct field_chars secret_chars = {
    .ok = secret_ok,
    .wanted = "letters, digits, . _ -, as hf-token or db/password; db/* for all of db",
    .pattern = "^[A-Za-z0-9._][A-Za-z0-9._-]*(/[A-Za-z0-9._][A-Za-z0-9._-]*|/[*])?$",
};

const struct field secret_fields[] = {
    FIELD(TEXT, "name", struct job_secret, name, .flags = FIELD_REQUIRED, .min = 1,
          .max = SECRET_NAME_MAX, .chars = &secret_chars,
          .doc = "as `muster secret ls` shows it; `db/*` are all whose names begin with `db/`. One "
                 "of the job's owner goes before one of its project"),
    FIELD(TEXT, "env", struct job_secret, env, .max = 255,
          .doc = "variable that has the value; of `db/*` what is put in front of each name behind "
                 "`db/`, which may be nothing"),
    FIELD(TEXT, "file", struct job_secret, file, .min = 1, .max = 4000,
          .doc = "absolute path of a file that has the value; of `db/*` of a directory. It lies in "
                 "memory, in a directory that has secrets alone. Without `env` and `file`: its "
                 "name in the directory `$MUSTER_SECRETS`"),
    FIELD(BOOL, "optional", struct job_secret, optional,
          .doc = "tasks start without it where there is none"),
    FIELD_END,
};

const struct field inputs_fields[] = {
    FIELD(OBJECT, "code", struct inputs, code, .table = code_fields, .brief = "dir",
          .doc = "the program"),
    FIELD_MANY(LIST, "data", struct inputs, data, n_data, .table = mount_fields,
               .place_offset = offsetof(struct mount, place), .max = 256,
               .doc = "data at paths the job names"),
    FIELD(TEXT, "interpreter", struct inputs, interpreter, .min = 1,
          .doc =
              "Python program whose packages the tasks see, absolute; left out: that of the shell "
              "it is submitted from, where no task has an image, else the server's"),
    FIELD(WORDS, "python", struct inputs, python, .flags = FIELD_ONE, .max = 1024,
          .doc = "Python packages installed for the job before the first task"),
    FIELD(TEXT, "requirements", struct inputs, requirements, .min = 1,
          .doc = "the same from a requirements file, as tasks see it"),
    FIELD_MANY(LIST, "secrets", struct inputs, secrets.at, secrets.n, .table = secret_fields,
               .brief = "name", .place_offset = offsetof(struct job_secret, place),
               .max = SECRET_LIST_MAX, .doc = "secrets that the tasks of all roles get"),
    FIELD(TEXT, "registry_auth", struct inputs, registry_auth, .min = 1,
          .doc = "file with credentials of image registries (path or file: URI), as `docker login` "
                 "writes it, or three lines: registry, user, password; read at submission"),
    FIELD_END,
};
