/* Telling a tape: inputs with the one time that holds for them, what the world outside answered,
 * what was decided. Without a tape nothing of it costs more than a look at a pointer. */
#include "ctl/tape.h"

#include "ctl/core.h"
#include "ctl/tape_scope.h"
#include "rdzv/jobs/rdzv_table.h"

#include "base/buf.h"
#include "base/mem.h"
#include "sched/nodes.h"

struct tape_scope tape_scope_begin(struct ctl *ctl, struct ctl_input input)
{
    const struct ctl_tape *tape = ctl->config.tape;
    if (!tape)
        return (struct tape_scope){ .ctl = NULL };
    if (ctl->depth == 0) {
        ctl->latched_ms = core_date(ctl);
        ctl->latched_us = core_mono_us(ctl);
        ctl->passes = 0;
    }
    input.at_ms = ctl->latched_ms;
    input.mono_us = ctl->latched_us;
    input.pass = ctl->passes;
    bool part = ctl->depth > 0 && (input.kind == INPUT_TURN || input.kind == INPUT_TICK);
    ctl->depth++;
    if (!part && tape->begin)
        tape->begin(tape->arg, &input);
    return (struct tape_scope){ .ctl = ctl };
}

void tape_scope_end(struct tape_scope *taped)
{
    struct ctl *ctl = taped->ctl;
    if (!ctl || --ctl->depth > 0)
        return;
    const struct ctl_tape *tape = ctl->config.tape;
    if (tape->end)
        tape->end(tape->arg, !taped->idle);
}

bool taped_replays(const struct ctl *ctl)
{
    return ctl->config.tape && ctl->config.tape->replays;
}

int taped_outside(struct ctl *ctl, enum ctl_outside_call what, int rc, struct err *err)
{
    const struct ctl_tape *tape = ctl->config.tape;
    return tape && tape->outside ? tape->outside(tape->arg, what, rc, err) : rc;
}

int taped_right(struct ctl *ctl, int rc, struct err *err)
{
    return ctl->depth > 0 ? taped_outside(ctl, OUTSIDE_RIGHTS, rc, err) : rc;
}

bool taped_answered(struct ctl *ctl)
{
    const struct ctl_tape *tape = ctl->config.tape;
    return tape && tape->answered && tape->answered(tape->arg, ctl->passes);
}

/* ---- decisions ---- */

static void tell(struct ctl *ctl, const struct live_job *job, struct ctl_decision decision)
{
    const struct ctl_tape *tape = ctl->config.tape;
    decision.job = job->row.id;
    decision.number = job->row.number;
    decision.name = job->row.name;
    decision.text = decision.text ? decision.text : "";
    decision.nodes = decision.nodes ? decision.nodes : "";
    tape->decided(tape->arg, &decision);
}

static bool heard(const struct ctl *ctl)
{
    return ctl->config.tape && ctl->config.tape->decided;
}

void taped_event(struct ctl *ctl, const struct live_job *job, const char *what,
                 const struct text_node *body)
{
    if (!heard(ctl))
        return;
    AUTO_BUF struct buf nodes = BUF_INIT(1u << 20);
    const struct text_node *map = body ? text_get(body, "nodes") : NULL;
    for (const struct text_node *n = map ? map->first : NULL; n; n = n->next)
        buf_addf(&nodes, "%s%s", nodes.len ? " " : "", n->key);
    const char *text = sentence_with(ctl->scratch, &job->row.reason, NULL);
    tell(ctl, job, (struct ctl_decision){ .what = what, .text = text, .nodes = buf_str(&nodes) });
}

void taped_wait(struct ctl *ctl, const struct live_job *job, const struct sentence *why)
{
    const char *text = sentence_with(ctl->scratch, why, NULL);
    if (heard(ctl))
        tell(ctl, job, (struct ctl_decision){ .what = "waits", .text = text });
}

void taped_promise(struct ctl *ctl, const struct live_job *job, uint64_t at_ms)
{
    if (heard(ctl))
        tell(ctl, job, (struct ctl_decision){ .what = "promised", .at_ms = at_ms });
}

/* ---- what the records do not say ---- */

struct ctl_constants ctl_about(const struct ctl *ctl)
{
    return (struct ctl_constants){ .admin = ctl->admin,
                                   .created_ms = ctl->created_ms,
                                   .caps = ctl->config.engine->ops->caps(ctl->config.engine) };
}

void ctl_plan(struct ctl *ctl)
{
    struct tape_scope AUTO_TAPE_SCOPE taped =
        tape_scope_begin(ctl, (struct ctl_input){ .kind = INPUT_PLAN });
    ctl->plan_due = true;
    ctl_turn(ctl);
}

bool ctl_at_rest(const struct ctl *ctl, size_t *meetings)
{
    *meetings = rdzv_table_count(ctl->rdzv_table);
    return !ctl->in_turn && !ctl->plan_due && !ctl->unwritten && !ctl->replan_at &&
           ctl->facts.n == 0 && turn_idle(ctl);
}

uint64_t ctl_last_ms(const struct ctl *ctl)
{
    return ctl->latched_ms;
}

uint64_t ctl_last_us(const struct ctl *ctl)
{
    return ctl->latched_us;
}

size_t ctl_tape_nodes(const struct ctl *ctl, struct arena *arena, struct node_spec **nodes)
{
    const uint32_t n = cluster_count(ctl->cluster);
    *nodes = ARENA_ARRAY(arena, n, struct node_spec);
    for (uint32_t i = 0; i < n; i++)
        (*nodes)[i] = *cluster_node(ctl->cluster, i).spec;
    return n;
}

void ctl_port_marks(const struct ctl *ctl, uint32_t *marks)
{
    for (uint32_t i = 0; i < cluster_count(ctl->cluster); i++) {
        const struct ports *ports = cluster_ports(ctl->cluster, i);
        marks[i] = ports ? ports_next(ports) : 0;
    }
}

void ctl_set_port_marks(struct ctl *ctl, const uint32_t *marks, size_t n)
{
    for (uint32_t i = 0; i < n && i < cluster_count(ctl->cluster); i++)
        if (marks[i])
            ports_look_from(cluster_own_ports(ctl->cluster, i), marks[i]);
}
