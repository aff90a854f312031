/* The program is made by hand, a few instructions for each rule, as runtimes of containers do:
 * muster-node links no library that could. The kernel checks it before it takes it. */
#include "node/device_program.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PER_RULE 6u
#define AROUND   8u /* before the rules and after them */

enum { ACCESS = BPF_REG_2, TYPE = BPF_REG_3, MAJOR = BPF_REG_4, MINOR = BPF_REG_5 };

struct program {
    struct bpf_insn at[DEVICE_RULES_MAX * PER_RULE + AROUND];
    size_t n;
};

static void add(struct program *p, struct bpf_insn one)
{
    p->at[p->n++] = one;
}

static struct bpf_insn load_field(unsigned to, size_t offset)
{
    return (struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_W,
                              .dst_reg = to & 0xfu,
                              .src_reg = BPF_REG_1,
                              .off = (int16_t)offset };
}

static struct bpf_insn compute(unsigned operation, unsigned on, uint32_t with)
{
    return (struct bpf_insn){ .code = (uint8_t)(BPF_ALU | operation | BPF_K),
                              .dst_reg = on & 0xfu,
                              .imm = (int32_t)with };
}

/* To the rule that begins at instruction `next`, when a register has not this value. */
static void unless_equal(struct program *p, unsigned reg, uint32_t value, size_t next)
{
    add(p, (struct bpf_insn){ .code = BPF_JMP | BPF_JNE | BPF_K,
                              .dst_reg = reg & 0xfu,
                              .off = (int16_t)(next - p->n - 1),
                              .imm = (int32_t)value });
}

static void answer(struct program *p, bool allowed)
{
    add(p, compute(BPF_MOV, BPF_REG_0, allowed));
    add(p, (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT });
}

static void add_rule(struct program *p, const struct device_rule *r)
{
    unsigned refused = ~r->access & (DEVICE_MAKE | DEVICE_USE);
    size_t next = p->n + 4 + (refused != 0) + !r->any_minor;
    unless_equal(p, TYPE, r->type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR, next);
    if (refused) /* jumps when one of the bits is set */
        add(p, (struct bpf_insn){ .code = BPF_JMP | BPF_JSET | BPF_K,
                                  .dst_reg = ACCESS,
                                  .off = (int16_t)(next - p->n - 1),
                                  .imm = (int32_t)refused });
    unless_equal(p, MAJOR, r->major, next);
    if (!r->any_minor)
        unless_equal(p, MINOR, r->minor, next);
    answer(p, true);
}

static void write_program(struct program *p, const struct device_rule *rules, size_t n)
{
    p->n = 0;
    add(p, load_field(ACCESS, offsetof(struct bpf_cgroup_dev_ctx, access_type)));
    add(p,
        (struct bpf_insn){ .code = BPF_ALU | BPF_MOV | BPF_X, .dst_reg = TYPE, .src_reg = ACCESS });
    add(p, compute(BPF_AND, TYPE, 0xffff));
    add(p, compute(BPF_RSH, ACCESS, 16));
    add(p, load_field(MAJOR, offsetof(struct bpf_cgroup_dev_ctx, major)));
    add(p, load_field(MINOR, offsetof(struct bpf_cgroup_dev_ctx, minor)));
    for (size_t i = 0; i < n; i++)
        add_rule(p, &rules[i]);
    answer(p, false);
}

static int ask_kernel(enum bpf_cmd what, union bpf_attr *how)
{
    return (int)syscall(SYS_bpf, what, how, sizeof *how);
}

int device_program_attach(const char *dir, const struct device_rule *rules, size_t n)
{
    if (n > DEVICE_RULES_MAX) {
        errno = E2BIG;
        return -1;
    }
    AUTO_FREE struct program *p = mem_new(sizeof *p);
    write_program(p, rules, n);
    union bpf_attr load = { .prog_type = BPF_PROG_TYPE_CGROUP_DEVICE,
                            .insn_cnt = (uint32_t)p->n,
                            .insns = (uint64_t)(uintptr_t)p->at,
                            .license = (uint64_t)(uintptr_t) "" };
    AUTO_CLOSE int group = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int program = group < 0 ? -1 : ask_kernel(BPF_PROG_LOAD, &load);
    if (program < 0)
        return -1;
    union bpf_attr attach = { .target_fd = (uint32_t)group,
                              .attach_bpf_fd = (uint32_t)program,
                              .attach_type = BPF_CGROUP_DEVICE,
                              .attach_flags = BPF_F_ALLOW_MULTI };
    return ask_kernel(BPF_PROG_ATTACH, &attach);
}
