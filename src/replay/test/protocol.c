/* The page of the protocol, and what fuzzers begin with, from the tables of all messages. The words
 * around the tables stand here. */
#include "replay/test/protocol.h"

#include "replay/entry.h"
#include "wire/message.h"
#include "wire/rendezvous.h"
#include "wire/step.h"

#include <ctype.h>
#include <string.h>

static const char intro[] =
    "# The protocol, byte by byte\n"
    "\n"
    "<!-- Generated from the tables in src/wire and src/replay; do not edit by hand. -->\n"
    "\n"
    "What the server and its agents, launchers and their leader say to each other, and what a "
    "recording consists of. For people who debug or write a peer; users need none of it.\n"
    "\n"
    "* `u8` `u16` `u32` `u64`: so many bits, little endian. A negative number is its two's "
    "complement.\n"
    "* `flag`: one byte, 0 or 1. Bits that no row names are 0.\n"
    "* `text`: u32 length, that many bytes without a NUL. `text or none`: the same; none has the "
    "length 4294967295.\n"
    "* `bytes`: u32 length, any bytes. `bytes or none`: u8 whether there are any, and the same.\n"
    "* `list`: u32 count, and the members of each. `of each`: those of a list before, without a "
    "count.\n"
    "\n"
    "A reader refuses whatever is not exactly the message: numbers out of range, counts that the "
    "bytes there cannot hold, anything left over. What came with a later version stands at the end "
    "of a message and may be missing; where a row says *where it is not zero*, a message ends with "
    "the last such row that is not, so that it has one form.\n"
    "\n";
static const char agents[] =
    "## Agents\n"
    "\n"
    "A frame is u32 length of what follows (at most 16 MiB), u8 kind, u64 sequence (0 where the "
    "kind has none), body. An agent connects with `Upgrade: muster/1` and says HELLO; version 1.\n"
    "\n";
static const char launchers[] =
    "## Launchers\n"
    "\n"
    "The same frames with a sequence of 0. Over TCP a connection begins with the line "
    "`MUSTER-RDZV/1 TOKEN`; inside a job the frames travel in LAUNCHER_DATA.\n"
    "\n";
static const char steps[] =
    "## Steps of batch scripts\n"
    "\n"
    "Between srun and the nodes of its job, over TCP. A connection begins with three lines: the node's "
    "`MUSTER-STEP/1 NONCE`, srun's `PROOF HMAC NONCE`, the node's `PROOF HMAC`; HMAC is HMAC-SHA256, "
    "keyed with the job's secret, of `srun` or `node`, who says it, and the nonces of the node and of "
    "srun, apart by blanks. Then frames with a sequence of 0.\n"
    "\n";
static const char recordings[] =
    "## Recordings\n"
    "\n"
    "A segment begins with `MUSTERec` and u32 format, 4 (2: submissions are in clear). A frame is "
    "u32 length of what follows the checksum, u32 CRC-32 of it, u8 kind, u64 number, body. Kinds: 1 "
    "HEADER, 2 an input, 3 an input that came while the one before was worked on, 4 REFUSED, 5 "
    "DECIDED, 6 a hash of the state, 7 the same and the end.\n"
    "\n";
static const char inputs[] = "## Inputs of a recording\n\n";

void protocol_page(struct buf *out)
{
    buf_puts(out, intro);
    buf_puts(out, agents);
    codec_page(out, wire_messages, WIRE_KIND_N);
    buf_puts(out, launchers);
    codec_page(out, rdzv_messages, RDZV_MESSAGES);
    buf_puts(out, steps);
    codec_page(out, step_messages, STEP_MESSAGES);
    buf_puts(out, recordings);
    codec_page(out, entry_others, sizeof entry_others / sizeof *entry_others);
    buf_puts(out, inputs);
    codec_page(out, entry_inputs, INPUT_N);
}

static void add_word(struct buf *out, const char *name, const struct buf *bytes)
{
    for (const char *c = name; *c; c++)
        buf_putc(out, (char)tolower((unsigned char)*c));
    buf_puts(out, "=\"");
    for (size_t i = 0; i < bytes->len; i++)
        buf_addf(out, "\\x%02X", (unsigned char)bytes->data[i]);
    buf_puts(out, "\"\n");
}

static void add_frames(struct buf *out, const struct codec_message *messages, size_t n)
{
    AUTO_BUF struct buf frame = BUF_INIT(1 << 16);
    for (const struct codec_message *m = messages; m < messages + n; m++) {
        if (!m->name)
            continue;
        buf_clear(&frame);
        size_t mark = wire_begin(&frame, (enum wire_kind)m->kind, 0);
        if (m->rows)
            codec_shortest(&frame, m->rows);
        wire_end(&frame, mark);
        add_word(out, m->name, &frame);
    }
}

static void add_inputs(struct buf *out)
{
    AUTO_BUF struct buf body = BUF_INIT(1 << 16);
    for (unsigned kind = 0; kind < INPUT_N; kind++) {
        if (!entry_inputs[kind].name)
            continue;
        buf_clear(&body);
        codec_shortest(&body, entry_inputs[kind].rows);
        body.data[0] = (char)kind;
        add_word(out, entry_inputs[kind].name, &body);
    }
}

bool protocol_dictionary(struct buf *out, const char *target)
{
    buf_puts(out, "# The shortest of each kind, from the tables: protocol_reference TARGET.\n");
    if (strcmp(target, "wire") == 0)
        add_frames(out, wire_messages, WIRE_KIND_N);
    else if (strcmp(target, "rdzv") == 0)
        add_frames(out, rdzv_messages, RDZV_MESSAGES);
    else if (strcmp(target, "recording") == 0)
        add_inputs(out);
    else
        return false;
    return true;
}
