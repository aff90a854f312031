/* The page: the figures, and lines over time drawn as SVG in the document. It asks for nothing from
 * anywhere and takes its colours from the reader's scheme. */
#include "sim/report.h"

#include "base/mem.h"

#define WIDTH  920
#define HEIGHT 240
#define LEFT   56 /* of the drawing, for the numbers */
#define RIGHT  20
#define BOTTOM 38
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
    struct line lines[2];
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
        double px = LEFT + value(x) / last * (WIDTH - LEFT - RIGHT);
        double py = TOP + (1 - value(y) / most) * (HEIGHT - TOP - BOTTOM);
        if (first)
            buf_addf(out, "M%.1f %.1f", px, py);
        else
            buf_addf(out, "H%.1fV%.1f", px, py);
        first = false;
    }
    buf_puts(out, "\"/>\n");
}

/* Four steps of 1, 2 or 5 times a power of ten. */
static double top_of(const struct chart *chart, double most)
{
    double step = 1;
    if (chart->share)
        return 1;
    for (int i = 0; 4 * step < most; i++)
        step *= i % 3 == 1 ? 2.5 : 2;
    return 4 * step;
}

/* The step of the axis of time, and how its numbers are told. */
struct ticks {
    double ms;
    const char *unit;
    double unit_ms;
};

static struct ticks ticks_of(double last)
{
    static const struct ticks all[] = {
        { 1e3, "s", 1e3 },        { 5e3, "s", 1e3 },        { 15e3, "s", 1e3 },
        { 60e3, "min", 60e3 },    { 300e3, "min", 60e3 },   { 900e3, "min", 60e3 },
        { 3600e3, "h", 3600e3 },  { 10800e3, "h", 3600e3 }, { 21600e3, "h", 3600e3 },
        { 43200e3, "h", 3600e3 }, { 864e5, "d", 864e5 },    { 1728e5, "d", 864e5 },
        { 6048e5, "d", 864e5 },   { 2592e6, "d", 864e5 },   { 864e7, "d", 864e5 },
    };
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(all) && last / all[i].ms > 8)
        i++;
    struct ticks ticks = all[i];
    while (last / ticks.ms > 8)
        ticks.ms *= 2;
    return ticks;
}

static void put_axes(struct buf *out, const struct chart *chart, double most, double last)
{
    const struct ticks ticks = ticks_of(last);
    for (int i = 0; i <= 4; i++) {
        double y = TOP + (HEIGHT - TOP - BOTTOM) * i / 4.0, level = most * (4 - i) / 4;
        buf_addf(out, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT,
                 WIDTH - RIGHT, y, y);
        buf_addf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 6, y + 4);
        buf_addf(out, chart->share ? "%.0f %%</text>\n" : "%.0f</text>\n",
                 chart->share ? level * 100 : level);
    }
    for (int i = 0; i * ticks.ms <= last; i++) {
        double at = i * ticks.ms;
        double x = LEFT + (WIDTH - LEFT - RIGHT) * at / last;
        buf_addf(out,
                 "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                 "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f %s</text>\n",
                 x, x, HEIGHT - BOTTOM, HEIGHT - BOTTOM + 4, x, HEIGHT - 22, at / ticks.unit_ms,
                 ticks.unit);
    }
    buf_addf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">time since the beginning</text>\n",
             WIDTH - RIGHT, HEIGHT - 4);
}

static void put_chart(struct buf *out, const struct text_node *series, const struct chart *chart)
{
    const struct text_node *at = text_get(series, "at_ms");
    double last = at && at->last ? value(at->last) : 0,
           most = top_of(chart, highest(series, chart));
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
        { .title = "Utilisation, % of what is up",
          .share = true,
          .lines = { { "gpu", "gpu", "one" }, { "cpu", "cpu", "two" } } },
        { .title = "Fragmentation, % of the free gpus",
          .share = true,
          .lines = { { "fragmentation", "of no use to a task of this workload", "three" } } },
        { .title = "Jobs, number",
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
