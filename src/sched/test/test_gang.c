/* Each rule of placing as a row: nodes, what is taken before, the job, and what comes out: its
 * places, or the reason why there are none. */

#include "base/mem.h"
#include "job/gpu.h"
#include "sched/test/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct row {
    const char *what;
    struct node_spec nodes[4];
    struct role before[3]; /* one-task jobs placed first, in order */
    struct role roles[3];
    struct placing placing;
    struct gang gang;
    const char *lost, *drained;
    const char *expect;
};

#define CPUS(n)  .cpu_milli = (n)*1000
#define GPUS(n)  .gpu_milli = (n)*1000
#define MILLI(n) .gpu_milli = (n)
#define PORTS(...)                                                                                 \
    .ports = (struct port_request[]){ __VA_ARGS__ },                                               \
    .n_ports = sizeof((struct port_request[]){ __VA_ARGS__ }) / sizeof(struct port_request)
#define HTTP                                                                                       \
    {                                                                                              \
        .label = "http", .count = 1                                                                \
    }

/* A node with devices of two models. */
#define DEVICE(i, name)                                                                            \
    {                                                                                              \
        .number = (i), .slot = (i), .offered = true, .model = (name), .uuid = "", .pci = "",       \
        .error = ""                                                                                \
    }
static struct gpu_device two_models[] = { DEVICE(0, "H100"), DEVICE(1, "A100"), DEVICE(2, "A100") };
static struct gpu_report two_models_report = {
    .driver = "", .error = "", .at = two_models, .n = 3, .n_slots = 3
};
#define TWO_MODELS                                                                                 \
    {                                                                                              \
        .name = "n1", .gpus = 3, .gpu_type = "H100" GPU_MODELS_APART "A100",                       \
        .report = &two_models_report                                                               \
    }
#define OF_TYPE(type) .gpu_types = { .at = (const char *[]){ type }, .n = 1 }

static struct row rows[] = {
    /* ---- amounts ---- */
    { .what = "nothing asked: one node",
      .nodes = { { .name = "n1" } },
      .roles = { { .name = "w", .replicas = 2 } },
      .expect = "w/0@n1 w/1@n1" },
    { .what = "tasks that ask for nothing go where fewest are",
      .nodes = { { .name = "n1" }, { .name = "n2" } },
      .roles = { { .name = "w", .replicas = 4 } },
      .expect = "w/0@n1 w/1@n2 w/2@n1 w/3@n2" },
    { .what = "cpu",
      .nodes = { { .name = "n1", CPUS(2) }, { .name = "n2", CPUS(4) } },
      .roles = { { .name = "w", .replicas = 1, .resources = { CPUS(3) } } },
      .expect = "w/0@n2" },
    { .what = "memory",
      .nodes = { { .name = "n1", .memory = GI }, { .name = "n2", .memory = 4 * GI } },
      .roles = { { .name = "w", .replicas = 2, .resources = { .memory = 3 * GI } } },
      .expect = "memory: 2Gi short, 1 of 2 w tasks fit; n1 comes closest with 1Gi of 3Gi free" },
    { .what = "whole devices of a model that its node has beside another",
      .nodes = { TWO_MODELS },
      .before = { { .name = "b", .replicas = 1, .resources = { GPUS(1), OF_TYPE("H100") } } },
      .roles = { { .name = "w", .replicas = 1, .resources = { GPUS(1), OF_TYPE("H100") } } },
      .expect = "gpu of type H100: 1 short; n1 comes closest with 0 of 1 free" },
    { .what = "a share of such a device",
      .nodes = { TWO_MODELS },
      .before = { { .name = "b", .replicas = 1, .resources = { MILLI(700), OF_TYPE("H100") } } },
      .roles = { { .name = "w", .replicas = 1, .resources = { MILLI(500), OF_TYPE("H100") } } },
      .expect =
          "gpu of type H100: 0.2 short; n1 comes closest with 0.3 of 0.5 free on one device" },
    { .what = "the other model of such a node",
      .nodes = { TWO_MODELS },
      .before = { { .name = "b", .replicas = 1, .resources = { GPUS(1), OF_TYPE("H100") } } },
      .roles = { { .name = "w", .replicas = 2, .resources = { GPUS(1), OF_TYPE("A100") } } },
      .expect = "w/0@n1[1] w/1@n1[2]" },
    { .what = "disk",
      .nodes = { { .name = "n1", .disk = GI } },
      .roles = { { .name = "w", .replicas = 1, .resources = { .disk = 2 * GI } } },
      .expect = "disk: 1Gi short; n1 comes closest with 1Gi of 2Gi free" },
    { .what = "custom",
      .nodes = { { .name = "n1" },
                 { .name = "n2",
                   .custom = { .at = (struct amount[]){ { "licence", 1000 } }, .n = 1 } } },
      .roles = { { .name = "w",
                   .replicas = 1,
                   .resources = { .custom = { .at = (struct amount[]){ { "licence", 1000 } },
                                              .n = 1 } } } },
      .expect = "w/0@n2" },
    { .what = "custom that nobody has",
      .nodes = { { .name = "n1" } },
      .roles = { { .name = "w",
                   .replicas = 1,
                   .resources = { .custom = { .at = (struct amount[]){ { "fpga", 2000 } },
                                              .n = 1 } } } },
      .expect = "fpga: 2 short; n1 comes closest with 0 of 2 free" },
    /* ---- devices ---- */
    { .what = "whole devices",
      .nodes = { { .name = "n1", .gpus = 4 } },
      .roles = { { .name = "w", .replicas = 2, .resources = { GPUS(2) } } },
      .expect = "w/0@n1[0,1] w/1@n1[2,3]" },
    { .what = "a share goes to the fullest device that holds it",
      .nodes = { { .name = "n1", .gpus = 2 } },
      .before = { { .name = "a", .replicas = 1, .resources = { MILLI(300) } } },
      .roles = { { .name = "w", .replicas = 3, .resources = { MILLI(400) } } },
      .expect = "w/0@n1[0] w/1@n1[1] w/2@n1[1]" },
    { .what = "a whole device needs one that nobody shares",
      .nodes = { { .name = "n1", .gpus = 2 }, { .name = "n2", .gpus = 1 } },
      .before = { { .name = "a", .replicas = 1, .resources = { MILLI(100) } } },
      .roles = { { .name = "w", .replicas = 1, .resources = { GPUS(2) } } },
      .expect = "w/0@n1[0,1]" },
    { .what = "a share does not lie on two devices",
      .nodes = { { .name = "n1", .gpus = 2 } },
      .before = { { .name = "a", .replicas = 1, .resources = { MILLI(600) } },
                  { .name = "b", .replicas = 1, .resources = { MILLI(700) } } },
      .roles = { { .name = "w", .replicas = 1, .resources = { MILLI(500) } } },
      .expect = "gpu: 0.1 short; n1 comes closest with 0.4 of 0.5 free on one device" },
    { .what = "gpu as in the header",
      .nodes = { { .name = "n1", .gpus = 1 }, { .name = "n2", .gpus = 2 } },
      .roles = { { .name = "w", .replicas = 1, .resources = { GPUS(4) } } },
      .expect = "gpu: 2 short; n2 comes closest with 2 of 4 free" },
    { .what = "gpu type, any of",
      .nodes = { { .name = "n1", .gpus = 1, .gpu_type = "T4" },
                 { .name = "n2", .gpus = 1, .gpu_type = "A100" } },
      .roles = { { .name = "w",
                   .replicas = 1,
                   .resources = { GPUS(1), .gpu_types = WORDS("H100", "a100") } } },
      .expect = "w/0@n2[0]" },
    { .what = "no such type",
      .nodes = { { .name = "n1", .gpus = 1, .gpu_type = "T4" } },
      .roles = { { .name = "w",
                   .replicas = 1,
                   .resources = { GPUS(1), .gpu_types = WORDS("H100", "A100") } } },
      .expect = "no node has gpu type H100 or A100; there are T4" },
    /* ---- fill ---- */
    { .what = "the fullest node that fits",
      .nodes = { { .name = "n1", .gpus = 4 },
                 { .name = "n2", .gpus = 2 },
                 { .name = "n3", .gpus = 3 } },
      .roles = { { .name = "w", .replicas = 1, .resources = { GPUS(2) } } },
      .expect = "w/0@n2[0,1]" },
    { .what = "cpu work stays off gpu nodes",
      .nodes = { { .name = "n1", CPUS(4), .gpus = 4 }, { .name = "n2", CPUS(8) } },
      .roles = { { .name = "w", .replicas = 1, .resources = { CPUS(1) } } },
      .expect = "w/0@n2" },
    { .what = "a gang on few nodes",
      .nodes = { { .name = "n1", .gpus = 1 },
                 { .name = "n2", .gpus = 1 },
                 { .name = "n3", .gpus = 4 } },
      .roles = { { .name = "w", .replicas = 3, .resources = { GPUS(1) } } },
      .expect = "w/0@n3[0] w/1@n3[1] w/2@n3[2]" },
    { .what = "two roles on one node when it holds both",
      .nodes = { { .name = "n1", CPUS(2) }, { .name = "n2", CPUS(4), .gpus = 2 } },
      .roles = { { .name = "ps", .replicas = 1, .resources = { CPUS(2) } },
                 { .name = "w", .replicas = 2, .resources = { CPUS(1), GPUS(1) } } },
      .expect = "ps/0@n2 w/0@n2[0] w/1@n2[1]" },
    { .what = "the harder role first",
      .nodes = { { .name = "n1", CPUS(6) }, { .name = "n2", CPUS(5) } },
      .roles = { { .name = "a", .replicas = 1, .resources = { CPUS(4) } },
                 { .name = "b", .replicas = 2, .resources = { CPUS(3) } } },
      .expect = "a/0@n2 b/0@n1 b/1@n1" },
    { .what = "an arrangement that only searching finds",
      .nodes = { { .name = "n1", CPUS(10) }, { .name = "n2", CPUS(11) } },
      .roles = { { .name = "a", .replicas = 1, .resources = { CPUS(5) } },
                 { .name = "b", .replicas = 1, .resources = { CPUS(4) } },
                 { .name = "c", .replicas = 4, .resources = { CPUS(3) } } },
      .expect = "a/0@n2 b/0@n1 c/0@n1 c/1@n1 c/2@n2 c/3@n2" },
    { .what = "gang all or nothing across roles",
      .nodes = { { .name = "n1", CPUS(8), .gpus = 1 }, { .name = "n2", CPUS(8) } },
      .roles = { { .name = "ps", .replicas = 1, .resources = { GPUS(1) } },
                 { .name = "w", .replicas = 1, .resources = { GPUS(1) } } },
      .expect = "gpu: 1 short; 2 roles need 2 together, 1 are free" },
    { .what = "each thing is there, on different nodes",
      .nodes = { { .name = "n1", CPUS(8) }, { .name = "n2", .gpus = 1, CPUS(1) } },
      .roles = { { .name = "w", .replicas = 1, .resources = { CPUS(4), GPUS(1) } } },
      .expect = "gpu: 1 short; n1 comes closest with 0 of 1 free" },
    /* ---- ports ---- */
    { .what = "dynamic ports, labels in order",
      .nodes = { { .name = "n1" } },
      .roles = { { .name = "w", .replicas = 2, PORTS(HTTP, { .label = "x", .count = 2 }) } },
      .expect = "w/0@n1:15000:15001,15002 w/1@n1:15003:15004,15005" },
    { .what = "ports of one physical host are one",
      .nodes = { { .name = "n1", .host = "h" },
                 { .name = "n2", .host = "h" },
                 { .name = "n3", .host = "g" } },
      .roles = { { .name = "w", .replicas = 3, PORTS(HTTP) } },
      .expect = "w/0@n1:15000 w/1@n2:15001 w/2@n3:15000" },
    { .what = "ports by number",
      .nodes = { { .name = "n1" }, { .name = "n2" } },
      .roles = { { .name = "w",
                   .replicas = 2,
                   PORTS({ .label = "web", .count = 2, .first = 8080 }) } },
      .expect = "w/0@n1:8080,8081 w/1@n2:8080,8081" },
    { .what = "ports by number once a physical host",
      .nodes = { { .name = "n1", .host = "h" }, { .name = "n2", .host = "h" } },
      .roles = { { .name = "w",
                   .replicas = 2,
                   PORTS({ .label = "web", .count = 2, .first = 8080 }) } },
      .expect = "ports 8080-8081: free on 1 of the 2 hosts that w needs" },
    { .what = "a port that is taken",
      .nodes = { { .name = "n1" } },
      .before = { { .name = "a",
                    .replicas = 1,
                    PORTS({ .label = "web", .count = 1, .first = 8080 }) } },
      .roles = { { .name = "w",
                   .replicas = 1,
                   PORTS({ .label = "web", .count = 1, .first = 8080 }) } },
      .expect = "port 8080: free on 0 of the 1 hosts that w needs" },
    { .what = "dynamic ports stay out of the job's own numbers",
      .nodes = { { .name = "n1" } },
      .roles = { { .name = "a", .replicas = 1, PORTS(HTTP) },
                 { .name = "b",
                   .replicas = 1,
                   PORTS({ .label = "web", .count = 1, .first = 15000 }) } },
      .expect = "a/0@n1:15001 b/0@n1:15000" },
    { .what = "a preferred port goes to the first on a host, the others get free ones",
      .nodes = { { .name = "n1", CPUS(8) }, { .name = "n2", CPUS(8) } },
      .before = { { .name = "a",
                    .replicas = 1,
                    PORTS({ .label = "m", .count = 1, .first = 8080 }) } },
      .roles = { { .name = "w",
                   .replicas = 2,
                   .resources = { CPUS(1) },
                   PORTS({ .label = "m", .count = 1, .first = 8080, .prefer = true }) } },
      .placing = { .apart = WORDS("w") },
      .expect = "w/0@n1:15000 w/1@n2:8080" },
    { .what = "a preferred port stays clear of one that the job must have",
      .nodes = { { .name = "n1" } },
      .roles = { { .name = "a",
                   .replicas = 1,
                   PORTS({ .label = "m", .count = 1, .first = 8080, .prefer = true }) },
                 { .name = "b",
                   .replicas = 1,
                   PORTS({ .label = "web", .count = 1, .first = 8080 }) } },
      .expect = "a/0@n1:15000 b/0@n1:8080" },
    { .what = "more ports than a host has",
      .nodes = { { .name = "n1" } },
      .roles = { { .name = "w", .replicas = 1, PORTS({ .label = "x", .count = 1200 }) } },
      .expect = "ports: 200 short; n1 comes closest with 1000 of 1200 free" },
    /* ---- where ---- */
    { .what = "labels",
      .nodes = { { .name = "n1", .labels = PAIR("zone", "a") },
                 { .name = "n2", .labels = PAIR("zone", "b") } },
      .roles = { { .name = "w", .replicas = 1 } },
      .placing = { .labels = PAIR("zone", "b") },
      .expect = "w/0@n2" },
    { .what = "no such label",
      .nodes = { { .name = "n1", .labels = PAIR("zone", "a") } },
      .roles = { { .name = "w", .replicas = 1 } },
      .placing = { .labels = PAIR("zone", "c") },
      .expect = "no node has the label zone=c" },
    { .what = "named nodes",
      .nodes = { { .name = "n1" }, { .name = "n2" }, { .name = "n3" } },
      .roles = { { .name = "w", .replicas = 2 } },
      .placing = { .nodes = WORDS("n3", "n2") },
      .expect = "w/0@n2 w/1@n3" },
    { .what = "no node of that name",
      .nodes = { { .name = "n1" } },
      .roles = { { .name = "w", .replicas = 1 } },
      .placing = { .nodes = WORDS("n9", "n8") },
      .expect = "no node is named n9 or n8" },
    { .what = "spread",
      .nodes = { { .name = "n1", CPUS(8) }, { .name = "n2", CPUS(8) } },
      .roles = { { .name = "w", .replicas = 4, .resources = { CPUS(1) } } },
      .placing = { .spread = WORDS("w") },
      .expect = "w/0@n1 w/1@n2 w/2@n1 w/3@n2" },
    { .what = "spread is a wish",
      .nodes = { { .name = "n1", CPUS(8) }, { .name = "n2", CPUS(1) } },
      .roles = { { .name = "w", .replicas = 3, .resources = { CPUS(1) } } },
      .placing = { .spread = WORDS("w") },
      .expect = "w/0@n2 w/1@n1 w/2@n1" },
    { .what = "apart",
      .nodes = { { .name = "n1", CPUS(8) }, { .name = "n2", CPUS(8) } },
      .roles = { { .name = "w", .replicas = 2, .resources = { CPUS(1) } } },
      .placing = { .apart = WORDS("w") },
      .expect = "w/0@n1 w/1@n2" },
    { .what = "apart is a must",
      .nodes = { { .name = "n1", CPUS(8) }, { .name = "n2", CPUS(8) } },
      .roles = { { .name = "w", .replicas = 3, .resources = { CPUS(1) } } },
      .placing = { .apart = WORDS("w") },
      .expect = "node: 2 of the 3 nodes that w needs have room" },
    { .what = "together, unit by unit",
      .nodes = { { .name = "n1", CPUS(3) }, { .name = "n2", CPUS(3) } },
      .roles = { { .name = "w", .replicas = 4, .resources = { CPUS(1) } },
                 { .name = "ps", .replicas = 2, .resources = { CPUS(1) } } },
      .placing = { .together = (struct colocate[]){ { .roles = WORDS("w", "ps") } },
                   .n_together = 1 },
      .expect = "w/0@n1 w/1@n1 w/2@n2 w/3@n2 ps/0@n1 ps/1@n2" },
    { .what = "groups of one role",
      .nodes = { { .name = "n1", CPUS(3) }, { .name = "n2", CPUS(3) } },
      .roles = { { .name = "w", .replicas = 4, .per_group = 2, .resources = { CPUS(1) } } },
      .expect = "w/0@n1 w/1@n1 w/2@n2 w/3@n2" },
    { .what = "a group is not divided",
      .nodes = { { .name = "n1", CPUS(3) }, { .name = "n2", CPUS(1) } },
      .roles = { { .name = "w", .replicas = 4, .per_group = 2, .resources = { CPUS(1) } } },
      .expect = "cpu: 1 short, 1 of 2 w units fit; n1 comes closest with 1 of 2 free" },
    { .what = "groups of several roles, not as many as would divide them",
      .nodes = { { .name = "n1", CPUS(6) }, { .name = "n2", CPUS(6) } },
      .roles = { { .name = "w", .replicas = 4, .per_group = 4, .resources = { CPUS(1) } },
                 { .name = "s", .replicas = 2, .per_group = 2, .resources = { CPUS(1) } } },
      .placing = { .together = (struct colocate[]){ { .roles = WORDS("w", "s") } },
                   .n_together = 1 },
      .expect = "w/0@n1 w/1@n1 w/2@n1 w/3@n1 s/0@n1 s/1@n1" },
    { .what = "together does not fit apart",
      .nodes = { { .name = "n1", CPUS(2) }, { .name = "n2", CPUS(2) } },
      .roles = { { .name = "w", .replicas = 1, .resources = { CPUS(2) } },
                 { .name = "ps", .replicas = 1, .resources = { CPUS(2) } } },
      .placing = { .together = (struct colocate[]){ { .roles = WORDS("w", "ps") } },
                   .n_together = 1 },
      .expect = "cpu: 2 short; n1 comes closest with 2 of 4 free" },
    /* ---- fewer tasks than all ---- */
    { .what = "all replicas when they fit",
      .nodes = { { .name = "n1", CPUS(4) } },
      .roles = { { .name = "w", .replicas = 4, .min = 2, .resources = { CPUS(1) } } },
      .expect = "w/0@n1 w/1@n1 w/2@n1 w/3@n1" },
    { .what = "as many as fit",
      .nodes = { { .name = "n1", CPUS(3) } },
      .roles = { { .name = "w", .replicas = 4, .min = 2, .resources = { CPUS(1) } } },
      .expect = "w/0@n1 w/1@n1 w/2@n1" },
    { .what = "not fewer than the least",
      .nodes = { { .name = "n1", CPUS(1) } },
      .roles = { { .name = "w", .replicas = 4, .min = 2, .resources = { CPUS(1) } } },
      .expect = "cpu: 1 short, 1 of 2 w tasks fit; n1 comes closest with 0 of 1 free" },
    { .what = "the least of all roles before more of one",
      .nodes = { { .name = "n1", CPUS(4) } },
      .roles = { { .name = "w", .replicas = 4, .min = 1, .resources = { CPUS(1) } },
                 { .name = "ps", .replicas = 2, .resources = { CPUS(1) } } },
      .expect = "w/0@n1 w/1@n1 ps/0@n1 ps/1@n1" },
    { .what = "a gang that counts over roles",
      .nodes = { { .name = "n1", CPUS(3) } },
      .roles = { { .name = "w", .replicas = 3, .resources = { CPUS(1) } },
                 { .name = "ps", .replicas = 1, .resources = { CPUS(1) } } },
      .gang = { .name = "g", .roles = WORDS("w", "ps"), .min = 3 },
      .expect = "w/0@n1 w/1@n1 ps/0@n1" },
    { .what = "a gang that counts over roles and is short",
      .nodes = { { .name = "n1", CPUS(2) } },
      .roles = { { .name = "w", .replicas = 3, .resources = { CPUS(1) } },
                 { .name = "ps", .replicas = 1, .resources = { CPUS(1) } } },
      .gang = { .name = "g", .roles = WORDS("w", "ps"), .min = 3 },
      .expect = "no arrangement found; w beside the other tasks: cpu: 1 short; "
                "n1 comes closest with 0 of 1 free" },
    /* ---- lost and drained ---- */
    { .what = "a lost node",
      .nodes = { { .name = "n1", .gpus = 1 }, { .name = "n2", .gpus = 4 } },
      .roles = { { .name = "w", .replicas = 1, .resources = { GPUS(2) } } },
      .lost = "n2",
      .expect =
          "gpu: 1 short; n1 comes closest with 1 of 2 free; would fit if n2 were back (lost)" },
    { .what = "a drained node",
      .nodes = { { .name = "n1", CPUS(1) } },
      .roles = { { .name = "w", .replicas = 1 } },
      .drained = "n1",
      .expect =
          "node: 0 of the 1 nodes that w needs have room; would fit if n1 were back (drained)" },
    { .what = "a lost node that would not help",
      .nodes = { { .name = "n1", .gpus = 1 }, { .name = "n2" } },
      .roles = { { .name = "w", .replicas = 1, .resources = { GPUS(2) } } },
      .lost = "n2",
      .expect = "gpu: 1 short; n1 comes closest with 1 of 2 free" },
    { .what = "the running nodes do",
      .nodes = { { .name = "n1", .gpus = 2 }, { .name = "n2", .gpus = 2 } },
      .roles = { { .name = "w", .replicas = 1, .resources = { GPUS(2) } } },
      .lost = "n1",
      .expect = "w/0@n2[0,1]" },
};

static void take_before(struct world *w, const struct row *row)
{
    for (size_t i = 0; i < ARRAY_LEN(row->before) && row->before[i].name; i++) {
        const struct job_spec *job = world_job(w->arena, &row->before[i], 1);
        struct plan_entry e = world_try(w, job);
        assert_int_equal(e.kind, PLAN_ADMIT);
        assert_true(world_take(w->cluster, job, &e));
    }
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct row *row = &rows[i];
        struct world w = world_create(row->nodes, ARRAY_LEN(row->nodes));
        struct job_spec *job = world_job(w.arena, row->roles, ARRAY_LEN(row->roles));
        job->placing = row->placing;
        job->gangs = &row->gang;
        job->n_gangs = row->gang.name != NULL;
        take_before(&w, row);
        if (row->lost)
            cluster_set_up(w.cluster, cluster_find(w.cluster, row->lost), false);
        if (row->drained)
            cluster_set_drained(w.cluster, cluster_find(w.cluster, row->drained), true);
        struct plan_entry e = world_try(&w, job);
        const char *got = world_show(w.arena, job, &e);
        if (strcmp(got, row->expect) != 0)
            fail_msg("%s:\n  got      %s\n  expected %s", row->what, got, row->expect);
        if (e.kind == PLAN_ADMIT)
            assert_true(world_take(w.cluster, job, &e));
        world_destroy(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
