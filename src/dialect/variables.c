/* The list of variables that tasks find in their environment, and doc/environment.md, which is made
 * from it. Variables of other systems' dialects are on the pages of those. */
#include "dialect/variables.h"

const struct variable variables[] = {
    { "MUSTER_JOB_NAME", VARIABLE_EVERY, "the job's name" },
    { "MUSTER_JOB_NUMBER", VARIABLE_EVERY, "its number, which people type" },
    { "MUSTER_ROLE", VARIABLE_EVERY, "the role of this task" },
    { "MUSTER_TASK_INDEX", VARIABLE_EVERY, "its index in the role, from 0" },
    { "MUSTER_TASK_NODE", VARIABLE_EVERY, "the name of its node" },
    { "MUSTER_TASK_ADDRESS", VARIABLE_EVERY, "where its peers reach it" },
    { "MUSTER_RESTART_COUNT", VARIABLE_EVERY, "attempts of this task before this one" },
    { "MUSTER_SERVER", VARIABLE_EVERY,
      "where tasks of this machine reach the server: the command line and the Python client use it" },
    { "CUDA_VISIBLE_DEVICES", VARIABLE_EVERY,
      "the devices it was given, by number; by UUID on a machine with devices in MIG mode; empty "
      "when it has none, or only devices of a declared node, which are no devices" },
    { "NVIDIA_VISIBLE_DEVICES", VARIABLE_EVERY,
      "the same, also those of a declared node; `none` when it has none" },
    { "CUDA_DEVICE_ORDER", VARIABLE_EVERY,
      "`PCI_BUS_ID` where `CUDA_VISIBLE_DEVICES` names any, so that CUDA numbers them as the driver does" },
    { "MUSTER_GPU_SHARE", VARIABLE_SHARE,
      "the part of its one device, `0.5`; ranks of muster's launcher have equal parts of it" },
    { "MUSTER_GPU_MEMORY_MIB", VARIABLE_SHARE,
      "the same of the device's memory, where the driver says how much that is; divided like it" },
    { "CUDA_MPS_PIPE_DIRECTORY", VARIABLE_SHARE,
      "with the server's setting `gpu_mps`: that directory" },
    { "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", VARIABLE_SHARE,
      "then the share in percent; divided like it" },
    { "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", VARIABLE_SHARE,
      "then its memory, `0=20389M`; divided like it" },
    { "PYTHONPATH", VARIABLE_SHARE,
      "a directory of muster's in front of the role's own, when the task starts: its `sitecustomize` "
      "holds frameworks to the share, and runs the user's" },
    { "MUSTER_ARRAY_JOB", VARIABLE_ARRAY, "number of the array" },
    { "MUSTER_ARRAY_INDEX", VARIABLE_ARRAY, "the index of this member" },
    { "MUSTER_ARRAY_COUNT", VARIABLE_ARRAY, "members of the array" },
    { "MUSTER_ARRAY_FIRST", VARIABLE_ARRAY, "the lowest index" },
    { "MUSTER_ARRAY_LAST", VARIABLE_ARRAY, "the highest index" },
    { "MUSTER_ARRAY_STEP", VARIABLE_ARRAY, "from one index to the next" },
    { "MUSTER_LAUNCHERS", VARIABLE_LAUNCHER,
      "`torchrun`, `dlrover`: commands of these names (`torchrun`, `dlrover-run`) are muster's own "
      "launcher, put in front of PATH" },
    { "PET_NNODES", VARIABLE_LAUNCHER,
      "`MIN:MAX` nodes: the tasks of the role, when it has several; this and what follows is for what "
      "the launcher's command line does not say" },
    { "PET_NODE_RANK", VARIABLE_LAUNCHER, "this node, of a role with a Python entry point" },
    { "PET_NPROC_PER_NODE", VARIABLE_LAUNCHER,
      "ranks of the task: `launcher.ranks_per_node`, else its devices" },
    { "PET_MAX_RESTARTS", VARIABLE_LAUNCHER, "`launcher.max_restarts`" },
    { "PET_NODE_UNIT", VARIABLE_LAUNCHER, "`launcher.node_unit`" },
    { "PET_NETWORK_CHECK", VARIABLE_LAUNCHER, "1 with `launcher.node_check`" },
    { "PET_WARM", VARIABLE_LAUNCHER,
      "`off` for a Python entry point with one rank, which would not gain by it" },
    { "MUSTER_JOB_ID", VARIABLE_NATIVE, "13 characters, for ever" },
    { "MUSTER_GENERATION", VARIABLE_NATIVE, "starts of the job as a whole, from 1" },
    { "MUSTER_INDEX", VARIABLE_NATIVE, "the task's index in its role" },
    { "MUSTER_RANK", VARIABLE_NATIVE, "its index in the job" },
    { "MUSTER_TASKS", VARIABLE_NATIVE, "tasks of the job" },
    { "MUSTER_REPLICAS", VARIABLE_NATIVE, "tasks of its role" },
    { "MUSTER_ATTEMPT", VARIABLE_NATIVE, "attempts of this task, with this one" },
    { "MUSTER_NODE", VARIABLE_NATIVE, "the name of its node" },
    { "MUSTER_ADDRESS", VARIABLE_NATIVE, "where its peers reach it" },
    { "MUSTER_PEERS", VARIABLE_NATIVE,
      "`role/index=address` of all tasks, with commas between them; left out when that is more than "
      "96 KiB: an event of the job says so, and the names in `/etc/hosts` serve instead. There "
      "each task is `ROLE-INDEX`, and its IPv4 address has a name in the form that IPv6 sockets "
      "show it by too (`::ffff:10.0.0.7`), so that frameworks which ask for it wait for no "
      "resolver" },
    { "MUSTER_PORT_LABEL", VARIABLE_NATIVE,
      "the numbers of a port of the role, with commas; LABEL is its label in capitals, with `_` for "
      "what is no letter or digit" },
    { "MASTER_ADDR", VARIABLE_PYTORCH, "the address of the job's first task" },
    { "MASTER_PORT", VARIABLE_PYTORCH,
      "its port `rdzv` or `master`, else its first one, else a number that all tasks share" },
    { "WORLD_SIZE", VARIABLE_PYTORCH, "tasks of the job" },
    { "RANK", VARIABLE_PYTORCH, "the task's index in the job" },
    { "LOCAL_RANK", VARIABLE_PYTORCH, "0" },
    { "LOCAL_WORLD_SIZE", VARIABLE_PYTORCH, "1" },
    { "NODE_RANK", VARIABLE_PYTORCH, "the same as RANK" },
    { "PET_NNODES", VARIABLE_PYTORCH, "the same as WORLD_SIZE: a launcher's nodes are the tasks" },
    { "PET_NODE_RANK", VARIABLE_PYTORCH, "the same as RANK" },
    { "PET_MASTER_ADDR", VARIABLE_PYTORCH, "the same as MASTER_ADDR" },
    { "PET_MASTER_PORT", VARIABLE_PYTORCH, "the same as MASTER_PORT" },
    { "MUSTER_JOB_SECRET", VARIABLE_STARTED,
      "64 hex digits that only tasks of this job and generation know; its processes authenticate each "
      "other by it" },
    { "MUSTER_JOB_TOKEN", VARIABLE_STARTED,
      "by which the server knows this job's programs, and what they may ask of it: the command line "
      "and the Python client send it to `MUSTER_SERVER` unless `MUSTER_TOKEN` is set; it ends with "
      "the job or this generation" },
    { "MUSTER_CONFIG", VARIABLE_STARTED,
      "path of a JSON file with the job's `config`; left out when it has none" },
    { "MUSTER_LAUNCH_SOCKET", VARIABLE_STARTED,
      "the Unix socket through which a launcher reaches the server that leads its rendezvous (only "
      "this user may open it)" },
    { "MUSTER_COOKIE", VARIABLE_STARTED,
      "a mark by which everything of the job on this node is found and ended" },
    { "MUSTER_ATTEMPT_COOKIE", VARIABLE_STARTED,
      "a mark by which everything of this attempt is found and ended" },
    { "VIRTUAL_ENV", VARIABLE_STARTED,
      "the job's Python environment, whose programs come first in PATH; left out without a Python" },
    { "PYTHONUNBUFFERED", VARIABLE_STARTED,
      "1 with that environment: lines are seen as they are printed" },
    { NULL, VARIABLE_OF_N, NULL },
};

static const struct {
    const char *title, *text;
} groups[VARIABLE_OF_N] = {
    [VARIABLE_EVERY] = { "Every task", "Whatever format the job came in." },
    [VARIABLE_SHARE] = { "Tasks with a share of a device",
                         "With `gpu: 0.5`. What they do: [shares](gpu.md#shares-of-a-device)." },
    [VARIABLE_ARRAY] = { "Members of an array", "See [arrays](arrays.md)." },
    [VARIABLE_LAUNCHER] = { "Tasks with muster's launcher",
                            "By the role's `launcher`, or by a convention that promises one." },
    [VARIABLE_NATIVE] = { "Jobs in muster's own format",
                          "And others that name the convention `muster`." },
    [VARIABLE_PYTORCH] = { "The convention `pytorch`", "With `conventions: [pytorch]`." },
    [VARIABLE_STARTED] = { "Made when a task starts",
                           "Every task has these too; `muster check --env` names them without a "
                           "value." },
};

void variables_page(struct buf *out)
{
    buf_puts(
        out,
        "# What tasks find in their environment\n\n"
        "`muster check --env ROLE/INDEX FILE` prints what a task of a file would see. The "
        "variables of other systems stand\nwhere these are described: "
        "[OpenPAI](dialect-openpai.md), [PAI-DLC](dialect-dlc.md), "
        "[ElasticJob](dialect-elasticjob.md),\n[unified API](dialect-dlrover.md). A role's own "
        "`env` wins over all but what is made when a task starts. This page is made\nfrom the "
        "list in the source.\n");
    for (int of = 0; of < VARIABLE_OF_N; of++) {
        buf_addf(out, "\n## %s\n\n%s\n\n| variable | value |\n|---|---|\n", groups[of].title,
                 groups[of].text);
        for (const struct variable *v = variables; v->name; v++)
            if ((int)v->of == of)
                buf_addf(out, "| `%s` | %s |\n", v->name, v->doc);
    }
    buf_puts(out, "\nFrom the environment of the server come `HOME`, `USER`, `LOGNAME`, `SHELL`, "
                  "`PATH`, `LANG`, `LC_ALL`, `LC_CTYPE`, `TZ`,\n`TMPDIR`, `TERM`, and how the "
                  "machine reaches the network and a package index (`http_proxy` and the like, "
                  "`SSL_CERT_FILE`,\n`PIP_*`). `PWD` is the working directory.\n");
}
