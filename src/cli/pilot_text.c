/* Words about pilots, apart from the verb that prints them: an answer of the server in, a line out.
 * Nothing here asks anybody. */
#include "cli/pilot_text.h"

#include "base/scan.h"
#include "cli/clock_text.h"

#include <string.h>

#define IDLE_MS 900000u

static const char *note_of(struct arena *a, const struct text_node *pilot, uint64_t now_ms)
{
    char when[CLOCK_TEXT_MAX];
    const char *reason = text_word(pilot, "reason");
    uint64_t start = text_number(pilot, "start_ms");
    if (strcmp(text_word(pilot, "state"), "pending") != 0)
        return reason;
    if (!*reason || strcmp(reason, "None") == 0) /* it has not looked at it yet */
        return "Slurm has it";
    return start ? arena_printf(a, "Slurm: %s; expected at %s", reason,
                                clock_text(when, start, now_ms))
                 : arena_printf(a, "Slurm: %s", reason);
}

const char *pilot_note(struct arena *a, const struct text_node *pilot, uint64_t now_ms)
{
    const char *note = note_of(a, pilot, now_ms);
    const unsigned long long job = text_number(pilot, "job");
    return job ? arena_printf(a, "for job %llu alone%s%s", job, *note ? "; " : "", note) : note;
}

int pilot_idle(const char *text, uint64_t *ms, struct err *err)
{
    *ms = IDLE_MS;
    if (!text || scan_duration(text, ms))
        return 0;
    *ms = 0;
    if (strcmp(text, "never") == 0)
        return 0;
    err_set(err, ERR_INPUT, "--idle-end \"%.40s\" is no time", text);
    return err_hint(err, "--idle-end 30m, or never");
}
