/* Documents of images: what registries give, and what a hostile one might; digests become names of
 * files. */
#include "image/document.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define HEX    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define BLOB   "\"digest\":\"sha256:" HEX "\",\"size\":17"
#define CONFIG "\"config\":{" BLOB "}"

static void a_manifest_names_its_parts(void **state)
{
    static const char text[] =
        "{\"schemaVersion\":2," CONFIG ",\"layers\":["
        "{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar+gzip\"," BLOB "},"
        "{\"mediaType\":\"application/vnd.docker.image.rootfs.diff.tar.gzip\"," BLOB "},"
        "{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar+zstd\"," BLOB "},"
        "{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\"," BLOB "}]}";
    static const enum image_packing packings[] = { IMAGE_GZIP, IMAGE_GZIP, IMAGE_ZSTD,
                                                   IMAGE_PLAIN };
    struct arena *arena = arena_create();
    struct image_manifest manifest;
    struct err err;
    (void)state;
    assert_int_equal(image_read_manifest(arena, text, strlen(text), &manifest, &err), 0);
    assert_int_equal(manifest.n_layers, 4);
    assert_string_equal(manifest.config.digest, HEX);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(manifest.layers[i].packing, packings[i]);
        assert_int_equal(manifest.layers[i].size, 17);
    }
    arena_destroy(arena);
}

#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define FOR(os, machine, hex)                                                                      \
    "{\"digest\":\"sha256:" hex "\",\"size\":5,\"platform\":{\"os\":\"" os                         \
    "\",\"architecture\":\"" machine "\"}}"

static void an_index_has_a_manifest_for_each_processor(void **state)
{
    static const char many[] = "{\"manifests\":[" FOR("windows", "amd64", OTHER) "," FOR(
        "linux", "arm64", OTHER) "," FOR("linux", "amd64", HEX) "]}";
    static const char plain[] = "{" CONFIG ",\"layers\":[]}";
    static const char odd[] = "{\"manifests\":3}";
    struct arena *arena = arena_create();
    struct image_blob blob;
    struct err err;
    (void)state;
    assert_int_equal(image_read_index(arena, many, strlen(many), "amd64", &blob, &err), 0);
    assert_string_equal(blob.digest, HEX);
    assert_int_equal(image_read_index(arena, plain, strlen(plain), "amd64", &blob, &err), 0);
    assert_string_equal(blob.digest, "");
    assert_int_equal(image_read_index(arena, many, strlen(many), "s390x", &blob, &err), -1);
    assert_int_equal(err.code, ERR_CANNOT);
    assert_non_null(strstr(err.what, "it has amd64, arm64, amd64"));
    assert_int_equal(image_read_index(arena, odd, strlen(odd), "amd64", &blob, &err), -1);
    arena_destroy(arena);
}

static void a_configuration_says_how_to_run(void **state)
{
    static const char text[] =
        "{\"architecture\":\"amd64\",\"os\":\"linux\",\"config\":{\"User\":\"7:8\","
        "\"WorkingDir\":\"/work\",\"Env\":[\"PATH=/a:/b\",\"EMPTY=\"],\"Entrypoint\":[\"/x\"]},"
        "\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:" HEX "\"]}}";
    static const char bare[] = "{\"architecture\":\"arm64\",\"os\":\"linux\",\"rootfs\":"
                               "{\"diff_ids\":[]}}";
    struct arena *arena = arena_create();
    struct image_config config;
    struct err err;
    (void)state;
    assert_int_equal(image_read_config(arena, text, strlen(text), &config, &err), 0);
    assert_string_equal(config.architecture, "amd64");
    assert_string_equal(config.work_dir, "/work");
    assert_string_equal(config.user, "7:8");
    assert_int_equal(config.env.n, 2);
    assert_string_equal(config.env.at[1], "EMPTY=");
    assert_int_equal(config.diffs.n, 1);
    assert_string_equal(config.diffs.at[0], HEX);
    assert_int_equal(image_read_config(arena, bare, strlen(bare), &config, &err), 0);
    assert_string_equal(config.work_dir, "");
    assert_int_equal(config.env.n, 0);
    arena_destroy(arena);
}

typedef int reader(struct arena *, const char *, struct err *);
static int manifest(struct arena *arena, const char *text, struct err *err)
{
    struct image_manifest out;
    return image_read_manifest(arena, text, strlen(text), &out, err);
}
static int config(struct arena *arena, const char *text, struct err *err)
{
    struct image_config out;
    return image_read_config(arena, text, strlen(text), &out, err);
}

/* A digest becomes the name of a file, a working directory a path. */
static void hostile_documents_are_refused(void **state)
{
    static const struct {
        reader *read;
        const char *text, *why;
    } rows[] = {
        { manifest, "", "no JSON" },
        { manifest, "[]", "no JSON object" },
        { manifest, "{}", "no configuration" },
        { manifest, "{\"manifests\":[]}", "no configuration" },
        { manifest, "{\"config\":{\"digest\":\"sha256:../../x\",\"size\":1},\"layers\":[]}",
          "without a SHA-256" },
        { manifest, "{\"config\":{\"digest\":\"sha256:" HEX "\",\"size\":-1},\"layers\":[]}",
          "without a size" },
        { manifest, "{\"config\":{\"digest\":\"sha256:" HEX "\",\"size\":1e30},\"layers\":[]}",
          "without a size" },
        { manifest, "{" CONFIG ",\"layers\":[{\"mediaType\":\"text/html\"," BLOB "}]}",
          "which is no tar" },
        { manifest, "{" CONFIG ",\"layers\":[{" BLOB "}]}", "which is no tar" },
        { manifest, "{" CONFIG ",\"layers\":[3]}", "without a SHA-256" },
        { config, "{}", "diff_ids" },
        { config, "{\"config\":{\"WorkingDir\":\"a\"},\"rootfs\":{\"diff_ids\":[]}}",
          "no absolute path" },
        { config, "{\"config\":{\"Env\":[\"A\"]},\"rootfs\":{\"diff_ids\":[]}}", "no NAME=VALUE" },
        { config, "{\"config\":{\"Env\":[\"=A\"]},\"rootfs\":{\"diff_ids\":[]}}", "no NAME=VALUE" },
        { config, "{\"config\":{\"Env\":[4]},\"rootfs\":{\"diff_ids\":[]}}", "no NAME=VALUE" },
        { config, "{\"rootfs\":{\"diff_ids\":[\"x\"]}}", "no SHA-256" },
    };
    struct arena *arena = arena_create();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err;
        assert_int_equal(rows[i].read(arena, rows[i].text, &err), -1);
        assert_int_equal(err.code, ERR_INPUT);
        if (!strstr(err.what, rows[i].why))
            fail_msg("%s: %s", rows[i].text, err.what);
    }
    arena_destroy(arena);
}

static void processors_have_the_names_of_images(void **state)
{
    (void)state;
    assert_string_equal(image_architecture("x86_64"), "amd64");
    assert_string_equal(image_architecture("aarch64"), "arm64");
    assert_string_equal(image_architecture("other"), "other");
}

int main(void)
{
    alarm(600);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_names_its_parts),
        cmocka_unit_test(an_index_has_a_manifest_for_each_processor),
        cmocka_unit_test(a_configuration_says_how_to_run),
        cmocka_unit_test(hostile_documents_are_refused),
        cmocka_unit_test(processors_have_the_names_of_images),
    };
    return cmocka_run_group_tests_name("image/document", tests, NULL, NULL);
}
