/* Prints doc/protocol.md from the tables of messages (protocol_reference > doc/protocol.md), or the
 * words for a fuzzer (protocol_reference wire > fuzz/wire.dict). A test compares. */
#include "replay/test/protocol.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    AUTO_BUF struct buf out = BUF_INIT(1 << 20);
    if (argc < 2)
        protocol_page(&out);
    else if (!protocol_dictionary(&out, argv[1]))
        return 2;
    return fputs(buf_str(&out), stdout) < 0;
}
