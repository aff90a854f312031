/* The core and what is kept for others (documents/): it gives documents of façades and boards of
 * jobs a turn. Inside ctl/. */
#ifndef CTL_DOCUMENT_WORK_H
#define CTL_DOCUMENT_WORK_H

struct ctl;
struct live_job;

void document_work_begin(struct ctl *); /* makes the documents; after accounts */
void document_work_end(struct ctl *);
void core_clear_board(struct ctl *, struct live_job *);

#endif
