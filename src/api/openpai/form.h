/* A job as a nested form. Private to api/openpai/. */
#ifndef API_OPENPAI_FORM_H
#define API_OPENPAI_FORM_H

#include "base/report.h"
#include "text/tree.h"

/* The nested form as a tree; *text becomes the JSON that it stands for. NULL: report says why. */
struct text_node *pai_job_form(struct arena *, const char **text, size_t *len, struct report *);

#endif
