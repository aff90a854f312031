/* The page: the figures, and lines over time drawn as SVG in the document. It asks for nothing from
 * anywhere and takes its colours from the reader's scheme. */
#include "sim/report.h"

#include "base/mem.h"
#include "base/scan.h"

#include <stdio.h>
#include <string.h>

#define WIDTH  920
#define HEIGHT 220
#define LEFT   56 /* of the drawing, for the numbers */
#define BOTTOM 24
#define TOP    10

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<style>\n"
    ":root{color-scheme:light dark;--ink:#1b1f24;--soft:#66707a;--line:#d7dce1;--back:#fff;"
    "--one:#0b66c3;--two:#b3541e;--three:#2d7d46}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#9aa4ae;--line:#3a424a;"
    "--back:#14171a;--one:#6cb2ff;--two:#ffa36c;--three:#7fd39a}}\n"
    "body{margin:2rem auto;max-width:60rem;padding:0 1rem;color:var(--ink);background:var(--back);"
    "font:15px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.3rem}h2{font-size:1rem;margin:2rem 0 .3rem}\n"
    "pre{overflow-x:auto;font:13px/1.45 ui-monospace,monospace}\n"
    "svg{width:100%;height:auto}text{fill:var(--soft);font:12px system-ui,sans-serif}\n"
    ".axis{stroke:var(--line)}path{fill:none;stroke-width:1.5}\n"
    ".one{stroke:var(--one)}.two{stroke:var(--two)}.three{stroke:var(--three)}\n"
    ".key{margin:0 1rem 0 0}.key.one{color:var(--one)}.key.two{color:var(--two)}"
    ".key.three{color:var(--three)}\n"
    "</style>\n";

static void put_escaped(struct buf *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<': buf_puts(out, "&lt;"); break;
        case '>': buf_puts(out, "&gt;"); break;
        case '&': buf_puts(out, "&amp;"); break;
        case '"': buf_puts(out, "&quot;"); break;
        default: buf_putc(out, *text);
        }
    }
}

static double value(const struct text_node *n)
{
    return n->kind == TEXT_INT ? (double)n->integer : n->kind == TEXT_REAL ? n->real : 0;
}

struct line {
    const char *key, *word, *class;
};
struct chart {
    const char *title;
    bool share; /* 0 to 100 % */
    struct line lines[3];
};

static double highest(const struct text_node *series, const struct chart *chart)
{
    double most = chart->share ? 1 : 0;
    for (size_t i = 0; i < ARRAY_LEN(chart->lines) && chart->lines[i].key; i++) {
        const struct text_node *list = text_get(series, chart->lines[i].key);
        for (const struct text_node *n = list ? list->first : NULL; n; n = n->next)
            most = value(n) > most ? value(n) : most;
    }
    return most > 0 ? most : 1;
}

/* How it was until the next point is a level, then a step. */
static void put_line(struct buf *out, const struct text_node *series, const struct line *line,
                     double most, double last)
{
    const struct text_node *at = text_get(series, "at_ms"), *list = text_get(series, line->key);
    const struct text_node *x = at ? at->first : NULL, *y = list ? list->first : NULL;
    bool first = true;
    buf_addf(out, "<path class=\"%s\" d=\"", line->class);
    for (; x && y; x = x->next, y = y->next) {
        double px = LEFT + value(x) / last * (WIDTH - LEFT);
        double py = TOP + (1 - value(y) / most) * (HEIGHT - TOP - BOTTOM);
        if (first)
            buf_addf(out, "M%.1f %.1f", px, py);
        else
            buf_addf(out, "H%.1fV%.1f", px, py);
        first = false;
    }
    buf_puts(out, "\"/>\n");
}

static void put_axes(struct buf *out, const struct chart *chart, double most, double last)
{
    char text[FMT_MAX];
    for (int i = 0; i <= 4; i++) {
        double y = TOP + (HEIGHT - TOP - BOTTOM) * i / 4.0, level = most * (4 - i) / 4;
        buf_addf(out, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT,
                 WIDTH, y, y);
        buf_addf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 6, y + 4);
        buf_addf(out, chart->share ? "%.0f %%</text>\n" : "%.4g</text>\n",
                 chart->share ? level * 100 : level);
    }
    for (int i = 0; i <= 4; i++) {
        double x = LEFT + (WIDTH - LEFT) * i / 4.0;
        const char *anchor = i == 0 ? "start" : i == 4 ? "end" : "middle";
        buf_addf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, HEIGHT - 6,
                 anchor, fmt_age(text, (uint64_t)(last * i / 4)));
    }
}

static void put_chart(struct buf *out, const struct text_node *series, const struct chart *chart)
{
    const struct text_node *at = text_get(series, "at_ms");
    double last = at && at->last ? value(at->last) : 0, most = highest(series, chart);
    last = last > 0 ? last : 1;
    buf_addf(out, "<h2>%s</h2>\n<p>", chart->title);
    for (size_t i = 0; i < ARRAY_LEN(chart->lines) && chart->lines[i].key; i++)
        buf_addf(out, "<span class=\"key %s\">&#9644; %s</span>", chart->lines[i].class,
                 chart->lines[i].word);
    buf_addf(out, "</p>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", WIDTH,
             HEIGHT, chart->title);
    put_axes(out, chart, most, last);
    for (size_t i = 0; i < ARRAY_LEN(chart->lines) && chart->lines[i].key; i++)
        put_line(out, series, &chart->lines[i], most, last);
    buf_puts(out, "</svg>\n");
}

void report_page(const struct text_node *result, const char *title, struct buf *out)
{
    static const struct chart charts[] = {
        { .title = "Utilisation",
          .share = true,
          .lines = { { "gpu", "gpu", "one" },
                     { "cpu", "cpu", "two" },
                     { "fragmentation", "fragmentation of free gpus", "three" } } },
        { .title = "Jobs",
          .lines = { { "waiting", "waiting", "two" }, { "running", "running", "one" } } },
    };
    const struct text_node *series = text_get(result, "series");
    AUTO_BUF struct buf table = BUF_INIT(1u << 20);
    report_text(result, &table);
    buf_puts(out, head);
    buf_puts(out, "<title>");
    put_escaped(out, title);
    buf_puts(out, "</title>\n</head>\n<body>\n<h1>");
    put_escaped(out, title);
    buf_puts(out, "</h1>\n<pre>");
    put_escaped(out, buf_str(&table));
    buf_puts(out, "</pre>\n");
    for (size_t i = 0; series && i < ARRAY_LEN(charts); i++)
        put_chart(out, series, &charts[i]);
    buf_puts(out, "</body>\n</html>\n");
}
