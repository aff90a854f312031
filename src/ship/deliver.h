/* The child that writes a continuous backup: one base or one segment, to a target that may be slow,
 * full or gone. argv[1] is what is asked, as JSON; stdin the file with the records or their pages.
 * It prints what came of it, as JSON, and ends with 0 also where it failed and says why. */
#ifndef SHIP_DELIVER_H
#define SHIP_DELIVER_H

#define DELIVER_NAME "ship-backup" /* as which the program is started */

/* ask: {what, target, endpoint, region, limit_ms, chain, number, state_dir, muster, seal_key, keep,
 * records, code: [marks]}. what: "look" (is it there, and which chain is the newest?), "base",
 * "segment", "thin" (old chains go). Credentials of a store come by the environment alone. answer:
 * {chain, number, bytes, newest: {...head}, more} or {error: {what, hint}, anew}; anew: the chain
 * cannot go on, a new one is to be begun; more: of what is to go. It ends by itself when its time
 * is up, also when nobody waits for it. */
int deliver_main(int argc, char **argv);

#endif
