/* Operations against a core: what is made is listed, sorted and found; what cannot be is refused;
 * who may what. What needs processes, signatures and the real clients is in
 * tests/test_dlc_client.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/dlc/test/desk.h"

#include "base/buf.h"
#include "base/mem.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

struct fix {
    struct desk desk;
    char kept[4][64]; /* ids */
};

static int setup(void **state)
{
    struct fix *f = mem_new(sizeof *f);
    desk_init(&f->desk);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fix *f = *state;
    desk_fini(&f->desk);
    free(f);
    return 0;
}

/* One request and what is expected. @0 to @3 are ids that were kept; params are divided by blanks.
 */
struct row {
    const char *who, *op, *params, *query, *body;
    unsigned status;
    const char *part; /* of the answer as JSON; NULL: whatever it is */
    int keep;         /* 1 to 4: its id in @0 to @3 */
};

static const char *filled(const struct fix *f, struct arena *a, const char *text)
{
    const char *out = text;
    for (unsigned i = 0; text && i < ARRAY_LEN(f->kept); i++) {
        const char name[] = { '@', (char)('0' + i), '\0' }, *at;
        while ((at = strstr(out, name)))
            out = arena_printf(a, "%.*s%s%s", (int)(at - out), out, f->kept[i], at + 2);
    }
    return out;
}

static const char *id_of(const struct text_node *root)
{
    for (const struct text_node *one = root->first; one; one = one->next) {
        size_t len = strlen(one->key);
        if (len > 2 && strcmp(one->key + len - 2, "Id") == 0 && strcmp(one->key, "RequestId") != 0)
            return one->str;
    }
    fail_msg("the answer has no id");
    return "";
}

static void run(struct fix *f, const struct row *row)
{
    AUTO_BUF struct buf text = BUF_INIT(1u << 20);
    struct arena *a = arena_create();
    struct desk_ask ask = { .who = row->who,
                            .op = row->op,
                            .query = filled(f, a, row->query),
                            .body = filled(f, a, row->body) };
    const char *params = filled(f, a, row->params ? row->params : "");
    for (size_t i = 0; *params; i++, params += strcspn(params, " "), params += *params == ' ')
        ask.param[i] = arena_strndup(a, params, strcspn(params, " "));
    struct desk_reply reply = desk_ask(&f->desk, &ask);
    json_print(reply.root, 0, &text);
    const char *part = filled(f, a, row->part);
    if (reply.status != row->status || (part && !strstr(buf_str(&text), part)))
        fail_msg("%s %s %s %s: %u %s\nand not %u %s", row->op, row->params ? row->params : "",
                 ask.query ? ask.query : "", ask.body ? ask.body : "", reply.status, buf_str(&text),
                 row->status, part ? part : "");
    if (row->status >= 400 && (!text_get(reply.root, "Code") || !text_get(reply.root, "Message") ||
                               !text_get(reply.root, "HostId")))
        fail_msg("%s is refused in another shape: %s", row->op, buf_str(&text));
    if (row->keep)
        snprintf(f->kept[row->keep - 1], sizeof f->kept[0], "%s", id_of(reply.root));
    desk_reply_fini(&reply);
    arena_destroy(a);
}

static void run_all(struct fix *f, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        run(f, &rows[i]);
}

/* The members of that name in the list, divided by blanks. */
static void is_list(struct fix *f, const struct row *row, const char *list, const char *member)
{
    AUTO_BUF struct buf got = BUF_INIT(4096);
    struct arena *a = arena_create();
    struct desk_reply reply = desk_ask(&f->desk, &(struct desk_ask){ .who = row->who,
                                                                     .op = row->op,
                                                                     .param = { row->params },
                                                                     .query = row->query });
    assert_int_equal(reply.status, 200);
    const struct text_node *all = text_get(reply.root, list);
    assert_non_null(all);
    for (const struct text_node *one = all->first; one; one = one->next)
        buf_addf(&got, "%s%s", got.len ? " " : "", dlc_text(one, member));
    if (strcmp(buf_str(&got), row->part) != 0)
        fail_msg("%s %s: %s\nand not %s", row->op, row->query, buf_str(&got), row->part);
    desk_reply_fini(&reply);
    arena_destroy(a);
}

static void are_lists(struct fix *f, const struct row *rows, size_t n, const char *const names[2])
{
    for (size_t i = 0; i < n; i++)
        is_list(f, &rows[i], names[0], names[1]);
}

/* status, part, and maybe keep */
#define ASK(who_, op_, params_, query_, body_, ...)                                                \
    {                                                                                              \
        .who = who_, .op = op_, .params = params_, .query = query_, .body = body_, __VA_ARGS__     \
    }
#define ADA(...)                 ASK("ada", __VA_ARGS__)
#define BOB(...)                 ASK("bob", __VA_ARGS__)
#define EVE(...)                 ASK("eve", __VA_ARGS__)
#define ROOT(...)                ASK("root", __VA_ARGS__)
#define LIST(op_, query_, part_) ADA(op_, NULL, query_, NULL, 200, part_)
#define INVALID                  "\"Code\":\"InvalidParameter\""
#define NOT_SUPPORTED            "\"Code\":\"NotSupported\""
#define NOT_FOUND                "\"Code\":\"NotFound\""

/* ---- code sources ---- */

#define CODE(name) "{\"WorkspaceId\":\"team\",\"DisplayName\":\"" name "\",\"CodeRepo\":\"/tmp\"}"

static void codes(void **state)
{
    static const struct row rows[] = {
        ADA("CreateCodeSource", NULL, NULL, CODE("m"), 200, "\"CodeSourceId\":\"code-", 1),
        ADA("CreateCodeSource", NULL, NULL, CODE("z"), 200, NULL, 2),
        ADA("CreateCodeSource", NULL, NULL, CODE("a"), 200, NULL, 3),
        ADA("CreateCodeSource", NULL, NULL, "{\"WorkspaceId\":\"team\",\"DisplayName\":\"x\"}", 400,
            "CodeRepo is missing"),
        BOB("CreateCodeSource", NULL, NULL, CODE("b"), 404, "no workspace \\\"team\\\""),
        ADA("CreateCodeSource", NULL, NULL,
            "{\"WorkspaceId\":\"team\",\"DisplayName\":\"x\",\"CodeRepo\":\"/\",\"MountPath\":"
            "\"code\"}",
            400, "no absolute path"),
        ADA("CreateCodeSource", NULL, NULL,
            "{\"WorkspaceId\":\"team\",\"DisplayName\":\"t\",\"CodeRepo\":\"/\",\"CloneType\":1,"
            "\"CodeRepoAccessToken\":\"secret\",\"CodeBranch\":\"main\"}",
            200, "\"Warnings\":[\"CloneType has no effect", 4),
        ADA("GetCodeSource", "@3", NULL, NULL, 200,
            "\"CodeBranch\":\"main\",\"CloneType\":1,\"CodeRepoAccessToken\":\"\""),
        ADA("DeleteCodeSource", "@3", NULL, NULL, 200, "\"CodeSourceId\":\"@3\""),
        ADA("GetCodeSource", "@3", NULL, NULL, 404, NOT_FOUND),
        ADA("UpdateCodeSource", "@0", NULL,
            "{\"Description\":\"new\",\"DisplayName\":null,\"MountPath\":\"/root/code/m\"}", 200,
            NULL),
        ADA("GetCodeSource", "@0", NULL, NULL, 200,
            "\"DisplayName\":\"m\",\"Description\":\"new\",\"CodeRepo\":\"/tmp\""),
        ADA("UpdateCodeSource", "@0", NULL, "{\"MountPath\":\"code\"}", 400, "no absolute path"),
        ADA("UpdateCodeSource", "@0", NULL, "{\"Accessibility\":\"PUBLIC\"}", 400,
            "Accessibility is no member"),
        BOB("GetCodeSource", "@0", NULL, NULL, 404, NOT_FOUND),
        ADA("PublishCodeSource", "@0", NULL, NULL, 200, NULL),
        BOB("GetCodeSource", "@0", NULL, NULL, 200, "\"DisplayName\":\"m\""),
        BOB("UpdateCodeSource", "@0", NULL, "{\"Description\":\"his\"}", 403, NULL),
        EVE("DeleteCodeSource", "@0", NULL, NULL, 403, "is a reader"),
        ADA("ListCodeSources", NULL, "SortBy=Beauty", NULL, 400,
            "known is GmtCreateTime, GmtModifyTime, DisplayName, CodeSourceId"),
    };
    static const struct row lists[] = {
        LIST("ListCodeSources", "", "m z a"),
        LIST("ListCodeSources", "Order=DESC", "a z m"),
        LIST("ListCodeSources", "SortBy=DisplayName", "a m z"),
        LIST("ListCodeSources", "SortBy=DisplayName&Order=desc", "z m a"),
        LIST("ListCodeSources", "SortBy=GmtModifyTime", "z a m"),
        LIST("ListCodeSources", "SortBy=GmtModifyTime&PageSize=1&PageNumber=3", "m"),
        LIST("ListCodeSources", "WorkspaceId=team&DisplayName=Z", "z"),
        LIST("ListCodeSources", "WorkspaceId=default", ""),
        BOB("ListCodeSources", NULL, "", NULL, 200, "m"),
    };
    run_all(*state, rows, ARRAY_LEN(rows));
    are_lists(*state, lists, ARRAY_LEN(lists),
              (const char *const[]){ "CodeSources", "DisplayName" });
}

/* ---- data sets ---- */

#define DATA_WITH(name, more)                                                                      \
    "{\"Name\":\"" name "\",\"Property\":\"DIRECTORY\",\"DataSourceType\":\"NAS\",\"Uri\":"        \
    "\"nas://x/" name "\"" more "}"
#define DATA(name)    DATA_WITH(name, ",\"WorkspaceId\":\"team\"")
#define OPTIONS(path) ",\"Options\":\"{\\\"mountPath\\\": \\\"" path "\\\"}\""

static void data_sets(void **state)
{
    static const struct row rows[] = {
        ADA("CreateDataset", NULL, NULL, DATA("m"), 200, "\"DatasetId\":\"d-", 1),
        ADA("CreateDataset", NULL, NULL, DATA("z"), 200, NULL, 2),
        ADA("CreateDataset", NULL, NULL, DATA_WITH("a", OPTIONS("/mnt/a")), 200, NULL, 3),
        ADA("GetDataset", "@2", NULL, NULL, 200, "\"WorkspaceId\":\"default\""),
        ADA("GetDataset", "@0", NULL, NULL, 200,
            "\"Accessibility\":\"PRIVATE\",\"UserId\":\"ada\",\"WorkspaceId\":\"team\""),
        ADA("GetDataset", "@0:v2", NULL, NULL, 404, NOT_FOUND),
        ADA("CreateDataset", NULL, NULL, DATA_WITH("_", ""), 400, "Name is"),
        ADA("CreateDataset", NULL, NULL, DATA_WITH("x", OPTIONS("relative")), 400, "mountPath"),
        ADA("CreateDataset", NULL, NULL, DATA_WITH("x", ",\"Options\":\"{\""), 400, "mountPath"),
        ADA("CreateDataset", NULL, NULL, DATA_WITH("x", ",\"Options\":\"[]\""), 400, "mountPath"),
        ADA("CreateDataset", NULL, NULL,
            "{\"Name\":\"x\",\"Property\":\"FILE\",\"DataSourceType\":\"NAS\",\"Uri\":\"nas://y/\"}",
            400, "Uri: no storage root serves nas://y/\""),
        ADA("CreateDataset", NULL, NULL,
            "{\"Name\":\"x\",\"Property\":\"FILE\",\"DataSourceType\":\"NAS\",\"Uri\":\"a/b\"}",
            400, "Uri is \\\"a/b\\\", which has no scheme"),
        ADA("CreateDataset", NULL, NULL, DATA_WITH("x", ",\"DryRun\":true"), 400,
            "DryRun cannot be asked of CreateDataset here: what is asked for is done"),
        ADA("CreateDataset", NULL, NULL, DATA_WITH("x", ",\"Edition\":\"LOGICAL\""), 400, "BASIC"),
        ADA("CreateDataset", NULL, NULL, DATA_WITH("x", ",\"WorkspaceId\":\"nowhere\""), 404,
            "no workspace"),
        ADA("CreateDataset", NULL, NULL, "{\"Name\":\"x\",\"Property\":\"DIR\"}", 400,
            "one of FILE|DIRECTORY is meant"),
        ADA("CreateDataset", NULL, NULL,
            DATA_WITH("ro", ",\"MountAccess\":\"RO\",\"DryRun\":false,\"ImportInfo\":\"{}\","
                            "\"Labels\":[{\"Key\":\"k\",\"Value\":\"v\"}],\"DataSize\":7"),
            200, "ImportInfo has no effect: Uri says where the data is", 4),
        ADA("GetDataset", "@3", NULL, NULL, 200, "\"MountAccess\":\"RO\""),
        ADA("GetDatasetVersion", "@3 v1", NULL, NULL, 200, "\"DataSize\":7"),
        ADA("UpdateDataset", "@0", NULL, "{\"Description\":\"new\",\"Accessibility\":\"PUBLIC\"}",
            200, NULL),
        BOB("GetDataset", "@0", NULL, NULL, 200, "\"Description\":\"new\""),
        BOB("UpdateDataset", "@0", NULL, "{\"Description\":\"his\"}", 403, NULL),
        ADA("UpdateDataset", "@0", NULL, "{\"Uri\":\"nas://y\"}", 400, "Uri is no member"),
        ADA("UpdateDataset", "@0", NULL, "{\"Accessibility\":\"ROLE_PUBLIC\"}", 400, INVALID),
        ADA("CreateDatasetLabels", "@0", NULL, "{\"Labels\":[]}", 400, "Labels is missing"),
        ADA("CreateDatasetLabels", "@0", NULL, "{\"Labels\":[{\"Key\":\"q\",\"Value\":\"1\"}]}",
            200, NULL),
        ADA("GetDataset", "@0", NULL, NULL, 200, "\"Labels\":[{\"Key\":\"q\",\"Value\":\"1\"}]"),
        ADA("DeleteDatasetLabels", "@0", "LabelKeys=x,q", NULL, 200, NULL),
        ADA("GetDataset", "@0", NULL, NULL, 200, "\"Labels\":[]"),
        ADA("DeleteDatasetLabels", "@0", NULL, NULL, 400, "LabelKeys is missing"),
        ADA("PublishDataset", "@1", NULL, NULL, 200, "\"DatasetId\":\"@1\""),
        ADA("ListDatasets", NULL, "ShareScope=TO_ME", NULL, 400, NOT_SUPPORTED),
        ADA("ListDatasets", NULL, "WorkspaceID=team", NULL, 400, "but WorkspaceId is"),
    };
    static const struct row lists[] = {
        LIST("ListDatasets", "", "a ro"), /* of the default workspace */
        LIST("ListDatasets", "WorkspaceId=team", "m z"),
        LIST("ListDatasets", "WorkspaceId=team&Order=DESC", "z m"),
        LIST("ListDatasets", "WorkspaceId=team&SortBy=GmtModifiedTime", "m z"),
        LIST("ListDatasets", "WorkspaceId=default&SortBy=Name&Order=desc", "ro a"),
        LIST("ListDatasets", "Label=K", "ro"),
        LIST("ListDatasets", "Label=none", ""),
        LIST("ListDatasets", "WorkspaceId=team&Accessibility=PUBLIC", "m z"),
        LIST("ListDatasets", "Accessibility=PRIVATE&Edition=BASIC&DataSourceTypes=OSS,NAS", "a ro"),
        LIST("ListDatasets", "Edition=ADVANCED", ""),
        LIST("ListDatasets", "Properties=FILE", ""),
        LIST("ListDatasets", "SourceId=none", ""),
        LIST("ListDatasets", "DatasetIds=none", ""),
        LIST("ListDatasets", "Name=A&PageNumber=2&PageSize=1", ""),
    };
    run_all(*state, rows, ARRAY_LEN(rows));
    are_lists(*state, lists, ARRAY_LEN(lists), (const char *const[]){ "Datasets", "Name" });
}

/* What the server's user declared has a path and no Options: they are said as JSON. */
static void odd_paths(void **state)
{
    struct fix *f = *state;
    static const char declared[] = "{\"kind\":\"dataset\",\"name\":\"odd\",\"uri\":\"/tmp\","
                                   "\"path\":\"/mnt/a\\\"b\\\\c\"}";
    desk_declare(&f->desk, declared);
    struct desk_reply reply = desk_ask(
        &f->desk, &(struct desk_ask){ .who = "bob", .op = "GetDataset", .param = { "odd" } });
    const struct text_node *options = dlc_parse(reply.arena, text_get(reply.root, "Options")->str);
    assert_non_null(options);
    assert_string_equal(text_get(options, "mountPath")->str, "/mnt/a\"b\\c");
    assert_string_equal(text_get(reply.root, "GmtCreateTime")->str, "");
    desk_reply_fini(&reply);
}

#define VERSION(n, more) "{\"Uri\":\"nas://x/" n "\",\"Property\":\"FILE\"" more "}"

static void versions(void **state)
{
    static const struct row rows[] = {
        ADA("CreateDataset", NULL, NULL, DATA("m"), 200, NULL, 1),
        ADA("CreateDatasetVersion", "@0", NULL,
            VERSION("2", ",\"DataSize\":9,\"Labels\":[{\"Key\":\"k\",\"Value\":\"v\"}]"), 200,
            "\"VersionName\":\"v2\""),
        ADA("CreateDatasetVersion", "@0", NULL, VERSION("3", ",\"DataSize\":100"), 200,
            "\"VersionName\":\"v3\""),
        ADA("CreateDatasetVersion", "@0", NULL, "{\"Property\":\"FILE\"}", 400, "Uri is missing"),
        ADA("GetDataset", "@0", NULL, NULL, 200, "\"LatestVersion\":{\"VersionName\":\"v3\"}"),
        ADA("UpdateDatasetVersion", "@0 v2", NULL, "{\"Description\":\"new\",\"DataSize\":null}",
            200, NULL),
        ADA("GetDatasetVersion", "@0 v2", NULL, NULL, 200, "\"DataSize\":9"),
        ADA("UpdateDatasetVersion", "@0 v1", NULL, "{\"DataCount\":3}", 200, NULL),
        ADA("GetDatasetVersion", "@0 v1", NULL, NULL, 200, "\"DataCount\":3"),
        ADA("UpdateDatasetVersion", "@0 v9", NULL, "{\"DataCount\":3}", 404, "no version"),
        ADA("GetDatasetVersion", "@0 v9", NULL, NULL, 404, "no version"),
        ADA("DeleteDatasetVersion", "@0 v1", NULL, NULL, 400, "v1 is the data set itself"),
        ADA("ListDatasetVersions", "@0", "PageNumber=2&PageSize=2&SortBy=DataSize", NULL, 200,
            "\"TotalCount\":3,\"PageNumber\":2,\"PageSize\":2"),
        ADA("ListDatasetVersions", "@0", "SortBy=Weight", NULL, 400, INVALID),
        ADA("ListDatasetVersions", "@0", "LabelKeys=K", NULL, 200, "\"TotalCount\":1"),
        ADA("ListDatasetVersions", "@0", "Properties=FILE", NULL, 200, "\"TotalCount\":2"),
        ADA("ListDatasetVersions", "@0", "SortBy=GmtModifiedTime&Order=desc&PageSize=1", NULL, 200,
            "[{\"VersionName\":\"v1\""),
        ADA("ListDatasetVersions", "@0", "SortBy=GmtModifiedTime&PageSize=1", NULL, 200,
            "[{\"VersionName\":\"v3\""),
        ADA("ListDatasetVersions", "@0", "SortBy=DataSize&Order=DESC&PageSize=1", NULL, 200,
            "[{\"VersionName\":\"v3\""),
        ADA("DeleteDatasetVersion", "@0 v2", NULL, NULL, 200, NULL),
        ADA("ListDatasetVersions", "@0", "", NULL, 200, "\"TotalCount\":2"),
        ADA("DeleteDataset", "@0", NULL, NULL, 200, NULL),
        ADA("GetDataset", "@0", NULL, NULL, 404, NOT_FOUND),
        ADA("DeleteDataset", "@0", NULL, NULL, 404, NOT_FOUND),
    };
    run_all(*state, rows, ARRAY_LEN(rows));
}

/* ---- images ---- */

#define IMAGE(name, more) "{\"Name\":\"" name "\",\"ImageUri\":\"r/" name ":1\"" more "}"

static void images(void **state)
{
    static const struct row rows[] = {
        ADA("AddImage", NULL, NULL, IMAGE("m", ",\"WorkspaceId\":\"team\",\"Size\":3"), 200,
            "\"ImageId\":\"image-", 1),
        ADA("AddImage", NULL, NULL,
            IMAGE("z", ",\"Labels\":[{\"Key\":\"a\",\"Value\":\"b c\"}],\"ImageId\":\"image-z\""),
            200, "image-z", 2),
        ADA("AddImage", NULL, NULL, IMAGE("z", ",\"ImageId\":\"image-z\""), 409, "Conflict"),
        ADA("AddImage", NULL, NULL, IMAGE("Bad", ""), 400, "1 to 50 of a-z"),
        ADA("AddImage", NULL, NULL, IMAGE("x", ",\"Size\":\"big\""), 400, "not a whole number"),
        ADA("AddImage", NULL, NULL, IMAGE("x", ",\"UserId\":\"bob\""), 400,
            "what is asked is asked for oneself"),
        ADA("AddImage", NULL, NULL, IMAGE("x", ",\"Labels\":[{\"Value\":\"b\"}]"), 400, "each key"),
        ADA("AddImage", NULL, NULL,
            IMAGE("x", ",\"Labels\":[{\"Key\":\"k\"},{\"Key\":\"k\",\"Value\":\"2\"}]"), 400,
            "each key once"),
        ADA("AddImageLabels", "@1", NULL, "{\"Labels\":[{\"Key\":\"q\",\"Value\":\"1\"}]}", 200,
            NULL),
        ADA("GetImage", "@1", "Verbose=true", NULL, 200,
            "\"Labels\":[{\"Key\":\"a\",\"Value\":\"b c\"},{\"Key\":\"q\",\"Value\":\"1\"}]"),
        ADA("RemoveImageLabels", "@1 q", NULL, NULL, 200, NULL),
        ADA("ListImageLabels", NULL, "ImageId=@1", NULL, 200, "\"TotalCount\":1"),
        ADA("ListImageLabels", NULL, "LabelKeys=q&Region=x", NULL, 200, "\"TotalCount\":0"),
        BOB("GetImage", "@0", NULL, NULL, 404, NOT_FOUND),
        ADA("PublishImage", "@0", NULL, NULL, 200, "\"ImageId\":\"@0\""),
        BOB("GetImage", "@0", NULL, NULL, 200, "\"Accessibility\":\"PUBLIC\""),
        ADA("PublishImage", "official", NULL, NULL, 403, "is the server's"),
        ADA("RemoveImage", "official", NULL, NULL, 403, NULL),
        ADA("ListImages", NULL, "Verbose=maybe", NULL, 400, "not true or false"),
    };
    static const struct row lists[] = {
        LIST("ListImages", "", "official m z"),
        LIST("ListImages", "Order=DESC&SortBy=GmtCreateTime", "z m official"),
        LIST("ListImages", "WorkspaceId=team", "official m"),
        LIST("ListImages", "WorkspaceId=default", "official z"),
        LIST("ListImages", "Name=O", "official"),
        LIST("ListImages", "Name=o&Options=ExactMatchName", ""),
        LIST("ListImages", "Name=m&Options=ExactMatchName", "m"),
        LIST("ListImages", "Labels=a%3Db+c", "z"),
        LIST("ListImages", "Labels=a%3Db", ""),
        LIST("ListImages", "ImageUri=r/m:1", "m"),
        LIST("ListImages", "UserId=ada&SortBy=Name&Order=desc", "z m"),
        LIST("ListImages", "ParentUserId=ada", ""),
        LIST("ListImages", "Accessibility=PUBLIC&Query=M", "m"),
        BOB("ListImages", NULL, "", NULL, 200, "official m"),
    };
    static const struct row ends[] = {
        ADA("RemoveImage", "@0", NULL, NULL, 200, NULL),
        ADA("RemoveImage", "@0", NULL, NULL, 404, NOT_FOUND),
    };
    run_all(*state, rows, ARRAY_LEN(rows));
    are_lists(*state, lists, ARRAY_LEN(lists), (const char *const[]){ "Images", "Name" });
    run_all(*state, ends, ARRAY_LEN(ends));
}

/* ---- workspaces and their members ---- */

static void workspaces(void **state)
{
    static const struct row rows[] = {
        ROOT("CreateWorkspace", NULL, NULL,
             "{\"WorkspaceName\":\"zoo\",\"EnvTypes\":[\"dev\",\"prod\"]}", 200,
             "EnvTypes has no effect: a workspace has one environment, prod"),
        ROOT("CreateWorkspace", NULL, NULL, "{\"WorkspaceName\":\"abc\"}", 200,
             "\"WorkspaceId\":\"abc\""),
        ROOT("CreateWorkspace", NULL, NULL, "{\"WorkspaceName\":\"abc\"}", 409, "Conflict"),
        ROOT("CreateWorkspace", NULL, NULL, "{\"WorkspaceName\":\"1a\"}", 400, "a letter first"),
        ADA("CreateWorkspace", NULL, NULL, "{\"WorkspaceName\":\"hers\"}", 403, NULL),
        ROOT("UpdateWorkspace", "zoo", NULL, "{\"DisplayName\":\"Zoo\"}", 200, NULL),
        ROOT("GetWorkspace", "zoo", "Verbose=true", NULL, 200, "\"DisplayName\":\"Zoo\""),
        ADA("GetWorkspace", "zoo", NULL, NULL, 404, "no workspace"),
        ROOT("ListWorkspaces", NULL, "Fields=Id&WorkspaceIds=zoo", NULL, 200,
             "{\"Workspaces\":[{\"WorkspaceId\":\"zoo\"}],\"TotalCount\":1"),
        ROOT("ListWorkspaces", NULL, "Option=GetResourceLimits", NULL, 200,
             "{\"Workspaces\":[],\"TotalCount\":0,\"ResourceLimits\":[]"),
        ROOT("ListWorkspaces", NULL, "SortBy=Name", NULL, 400,
             "known is GmtCreateTime, GmtModifiedTime"),
        ROOT("ListWorkspaces", NULL, "ModuleList=PAI&WorkspaceName=", NULL, 200,
             "ModuleList has no effect"),
        ROOT("ListWorkspaces", NULL, "UserId=ada", NULL, 400, NOT_SUPPORTED),
        ROOT("CreateMember", "zoo", NULL,
             "{\"Members\":[{\"UserId\":\"bob\",\"Roles\":[\"PAI.AlgoDeveloper\"]}]}", 200,
             "\"MemberId\":\"zoo-bob\""),
        ROOT("CreateMember", "zoo", NULL,
             "{\"Members\":[{\"UserId\":\"ada\",\"Roles\":[\"PAI.WorkspaceAdmin\"]}]}", 400,
             "ada here PAI.AlgoDeveloper"),
        ROOT("CreateMember", "zoo", NULL, "{\"Members\":[{\"UserId\":\"nobody\"}]}", 404,
             "no user"),
        ROOT("CreateMember", "zoo", NULL, "{\"Members\":[7]}", 400, "not an object"),
        ROOT("CreateMember", "zoo", NULL, "{}", 400, "MissingParameter"),
        ROOT("ListMembers", "zoo", "UserId=bob", NULL, 200, "\"TotalCount\":1"),
        ROOT("ListMembers", "zoo", "UserId=ada", NULL, 200, "\"TotalCount\":0"),
        ROOT("ListMembers", "zoo", "Roles=PAI.AlgoDeveloper&MemberName=O", NULL, 200, "zoo-bob"),
        ROOT("GetMember", "zoo", "MemberId=zoo-bob&UserId=bob", NULL, 200, "\"UserId\":\"bob\""),
        ROOT("GetMember", "zoo", "MemberId=zoo-bob&UserId=ada", NULL, 404, "is not user"),
        ROOT("GetMember", "zoo", NULL, NULL, 400, "MemberId is missing"),
        ROOT("AddMemberRole", "zoo zoo-bob PAI.AlgoDeveloper", NULL, NULL, 200, NULL),
        ROOT("AddMemberRole", "zoo zoo-bob PAI.WorkspaceAdmin", NULL, NULL, 400, NOT_SUPPORTED),
        ROOT("RemoveMemberRole", "zoo zoo-bob PAI.LabelManager", NULL, NULL, 200, NULL),
        ROOT("RemoveMemberRole", "zoo zoo-bob PAI.AlgoDeveloper", NULL, NULL, 400, NOT_SUPPORTED),
        ROOT("ListWorkspaceUsers", "zoo", "UserId=eve", NULL, 200, "\"TotalCount\":1"),
        ROOT("ListWorkspaceUsers", "zoo", "UserName=E&UserId=bob", NULL, 200, "\"TotalCount\":0"),
        ROOT("DeleteMembers", "zoo", "MemberIds=zoo-bob,zoo-ada", NULL, 404, "no member"),
        ROOT("DeleteMembers", "zoo", "MemberIds=zoo-bob", NULL, 200, NULL),
        BOB("GetWorkspace", "zoo", NULL, NULL, 404, NULL),
        ADA("UpdateDefaultWorkspace", NULL, NULL, "{\"WorkspaceId\":\"team\"}", 200, NULL),
        ADA("GetDefaultWorkspace", NULL, NULL, NULL, 200, "\"WorkspaceId\":\"team\""),
        ADA("UpdateDefaultWorkspace", NULL, NULL, "{\"WorkspaceId\":\"zoo\"}", 404, NULL),
        ADA("CreateDataset", NULL, NULL, DATA_WITH("here", ""), 200, NULL, 1),
        ADA("GetDataset", "@0", NULL, NULL, 200, "\"WorkspaceId\":\"team\""),
        ROOT("DeleteWorkspace", "zoo", NULL, NULL, 200, NULL),
        ROOT("DeleteWorkspace", "zoo", NULL, NULL, 404, NULL),
    };
    static const struct row lists[] = {
        ROOT("ListWorkspaces", NULL, "", NULL, 200, "default team abc"),
        ROOT("ListWorkspaces", NULL, "Order=DESC", NULL, 200, "abc default team"),
        ROOT("ListWorkspaces", NULL, "Status=FROZEN", NULL, 200, ""),
        ROOT("ListWorkspaces", NULL, "WorkspaceName=A&PageSize=2", NULL, 200, "default team"),
        ADA("ListWorkspaces", NULL, "", NULL, 200, "default team"),
        BOB("ListWorkspaces", NULL, "", NULL, 200, "default"),
    };
    run_all(*state, rows, ARRAY_LEN(rows));
    are_lists(*state, lists, ARRAY_LEN(lists),
              (const char *const[]){ "Workspaces", "WorkspaceId" });
}

/* Sorted by change as by creation. */
static void workspaces_by_change(void **state)
{
    static const struct row rows[] = {
        ROOT("CreateWorkspace", NULL, NULL, "{\"WorkspaceName\":\"zoo\"}", 200, NULL),
        ROOT("CreateWorkspace", NULL, NULL, "{\"WorkspaceName\":\"abc\"}", 200, NULL),
        ROOT("UpdateWorkspace", "zoo", NULL, "{\"Description\":\"x\"}", 200, NULL),
    };
    static const struct row lists[] = {
        ROOT("ListWorkspaces", NULL, "SortBy=GmtCreateTime&Order=desc&PageSize=2", NULL, 200,
             "abc zoo"),
        ROOT("ListWorkspaces", NULL, "SortBy=GmtModifiedTime&Order=desc&PageSize=2", NULL, 200,
             "zoo abc"),
    };
    run_all(*state, rows, ARRAY_LEN(rows));
    are_lists(*state, lists, ARRAY_LEN(lists),
              (const char *const[]){ "Workspaces", "WorkspaceId" });
}

static void permissions_and_quotas(void **state)
{
    static const struct row rows[] = {
        ADA("ListPermissions", "team", NULL, NULL, 200, "PaiDLC:CreateJob"),
        ADA("GetPermission", "team PaiDLC:StopJob", NULL, NULL, 200, "\"EntityAccessType\""),
        EVE("GetPermission", "default PaiDLC:StopJob", NULL, NULL, 403, "is a reader"),
        EVE("GetPermission", "default PaiDLC:GetJob", NULL, NULL, 200, NULL),
        ADA("GetPermission", "team PaiDLC:StopJob", "Creator=ada", NULL, 200, NULL),
        ADA("GetPermission", "team PaiDLC:StopJob", "Creator=bob", NULL, 403, "that is bob's"),
        ADA("GetPermission", "team PaiDLC:GetJob", "Creator=bob&Accessibility=PUBLIC", NULL, 200,
            NULL),
        ADA("GetPermission", "team PaiDLC:StopJob", "Creator=bob&Accessibility=PUBLIC", NULL, 403,
            NULL),
        ROOT("GetPermission", "team PaiDLC:StopJob", "Creator=bob", NULL, 200, NULL),
        ADA("GetPermission", "team PaiDLC:StopJob", "CallerUid=7", NULL, 400, NOT_SUPPORTED),
        ADA("ListQuotas", NULL, "Name=DEF", NULL, 200, "\"Id\":\"default\""),
        ADA("ListQuotas", NULL, "Name=none", NULL, 200, "\"TotalCount\":0"),
        ADA("ListResources", NULL, "WorkspaceId=team&QuotaIds=default", NULL, 200,
            "\"WorkspaceId\":\"team\""),
        ADA("ListResources", NULL, "ResourceTypes=Lingjun", NULL, 200, "\"TotalCount\":0"),
        ADA("ListResources", NULL, "ProductTypes=MaxCompute", NULL, 200, "\"TotalCount\":0"),
        ADA("ListResources", NULL, "Verbose=false&QuotaIds=default", NULL, 200,
            "\"IsDefault\":true,\"Labels\":[]"),
        ADA("ListResources", NULL, "GroupName=x", NULL, 400, "there are no resource groups"),
        ADA("ListProducts", NULL, "ProductCodes=PAI_share&ServiceCodes=x", NULL, 200, "PAI_share"),
        ADA("ListProducts", NULL, "ProductCodes=other&Verbose=false", NULL, 200, "\"Products\":[]"),
    };
    run_all(*state, rows, ARRAY_LEN(rows));
}

#define BOUND(name, value) "{\"Name\":\"" name "\",\"Value\":\"" value "\",\"Type\":\"" name "\"}"

/* Each amount that has a bound, and no other. */
static void quotas_say_their_bounds(void **state)
{
    static const struct row rows[] = {
        ADA("ListQuotas", NULL, "Name=bounded", NULL, 200,
            "\"Specs\":[" BOUND("CPU", "2.5") "," BOUND("Memory", "1073741824") "," BOUND("GPU",
                                                                                          "1") "]"),
        ADA("ListQuotas", NULL, "Name=some", NULL, 200, "\"Specs\":[" BOUND("CPU", "2") "]"),
        ADA("ListResources", NULL, "QuotaIds=bounded", NULL, 200, BOUND("GPU", "1")),
    };
    struct fix *f = *state;
    desk_declare(&f->desk, "{\"kind\":\"quota\",\"name\":\"bounded\",\"maximum\":{\"cpu\":2.5,"
                           "\"memory\":\"1Gi\",\"gpu\":1}}");
    desk_declare(&f->desk, "{\"kind\":\"quota\",\"name\":\"some\",\"maximum\":{\"cpu\":2}}");
    run_all(f, rows, ARRAY_LEN(rows));
}

/* ---- templates ---- */

#define CONTENT                                                                                    \
    "\"Content\":\"{\\\"DisplayName\\\":\\\"t\\\",\\\"JobType\\\":\\\"PyTorchJob\\\","             \
    "\\\"UserCommand\\\":\\\"true\\\",\\\"ResourceId\\\":\\\"default\\\",\\\"JobSpecs\\\":["       \
    "{\\\"Type\\\":\\\"Worker\\\",\\\"Image\\\":\\\"r/i:1\\\",\\\"PodCount\\\":1,"                 \
    "\\\"ResourceConfig\\\":{\\\"CPU\\\":\\\"1\\\",\\\"Memory\\\":\\\"1Gi\\\"}}]}\""
#define TEMPLATE(name, more)                                                                       \
    "{\"TemplateName\":\"" name "\",\"WorkspaceId\":\"team\"," CONTENT more "}"
#define SPEC(image)                                                                                \
    "\"JobSpecs\":[{\"Type\":\"Worker\",\"Image\":\"" image "\",\"PodCount\":1,"                   \
    "\"ResourceConfig\":{\"CPU\":\"1\",\"Memory\":\"1Gi\"}}]"

static void templates(void **state)
{
    static const struct row rows[] = {
        ADA("CreateJobTemplate", NULL, NULL,
            TEMPLATE("m", ",\"Description\":\"of Ada\",\"Constraints\":{\"$.JobType\":\"locked\","
                          "\"$.JobSpecs[0].Image\":\"locked\",\"$.Description\":\"required\"}"),
            200, "\"TemplateId\":\"tpl-", 1),
        ADA("CreateJobTemplate", NULL, NULL, TEMPLATE("z", ""), 200, NULL, 2),
        ADA("CreateJobTemplate", NULL, NULL, "{\"TemplateName\":\"t\",\"WorkspaceId\":\"team\"}",
            400, "Content is missing"),
        ADA("CreateJobTemplate", NULL, NULL,
            "{\"TemplateName\":\"t\",\"WorkspaceId\":\"team\",\"Content\":\"[]\"}", 400,
            "Content is not the JSON text"),
        ADA("CreateJobTemplate", NULL, NULL, TEMPLATE("t", ",\"Constraints\":{\"$.A\":\"fixed\"}"),
            400, "Constraints is an object of paths"),
        ADA("CreateJobTemplate", NULL, NULL,
            TEMPLATE("t", ",\"Constraints\":{\"$..A\":\"locked\"}"), 400,
            "Constraints is an object of paths"),
        ADA("CreateJobTemplate", NULL, NULL,
            TEMPLATE("t", ",\"Constraints\":{\"$.A[*]\":\"locked\"}"), 400, "of paths"),
        ADA("CreateJobTemplate", NULL, NULL, TEMPLATE("t", ",\"Constraints\":[\"$.A\"]"), 400,
            "of paths"),
        BOB("GetJobTemplate", "@0", NULL, NULL, 404, NOT_FOUND),
        ADA("UpdateJobTemplate", "@0", NULL, "{\"Constraints\":{\"$.A\":\"locked\"}}", 400,
            "Constraints is said of a new version: with Content"),
        ADA("UpdateJobTemplate", "@0", NULL, "{\"SetAsDefault\":true}", 400, "with Content"),
        ADA("UpdateJobTemplate", "@1", NULL, "{\"TemplateName\":\"y\",\"version\":3}", 200,
            "\"VersionCreated\":false"),
        ADA("UpdateJobTemplate", "@1", NULL, "{" CONTENT ",\"SetAsDefault\":\"true\"}", 200,
            "\"Version\":2,\"DefaultVersion\":2,\"VersionCreated\":true"),
        ADA("GetJobTemplate", "@1", "Version=all", NULL, 200, "\"TotalCount\":2"),
        ADA("GetJobTemplate", "@1", "Version=9", NULL, 404, "no version 9"),
        ADA("GetJobTemplate", "@1", "Version=last", NULL, 400, "Version is"),
        ADA("SetJobTemplateDefaultVersion", "@1", NULL, "{\"Version\":1}", 200,
            "\"DefaultVersion\":1"),
        ADA("SetJobTemplateDefaultVersion", "@1", NULL, "{\"Version\":3}", 404, "no version 3"),
        ADA("SetJobTemplateDefaultVersion", "@1", NULL, "{}", 400, "Version is missing"),
        ADA("ListJobTemplates", NULL, NULL, NULL, 400, "WorkspaceId is missing"),
        ADA("ListJobTemplates", NULL, "WorkspaceId=team&SortBy=Content", NULL, 400, INVALID),
        ADA("CreateJob", NULL, NULL, "{\"TemplateId\":\"@0\",\"Description\":\"d\"}", 200,
            "\"JobId\":\"dlc", 3),
        ADA("GetJob", "@2", NULL, NULL, 200, "\"UserCommand\":\"true\""),
        ADA("CreateJob", NULL, NULL, "{\"TemplateId\":\"@0\"}", 400,
            "$.Description is required by the job template"),
        ADA("CreateJob", NULL, NULL, "{\"TemplateId\":\"@0\",\"Description\":\"\"}", 400,
            "is required"),
        ADA("CreateJob", NULL, NULL,
            "{\"TemplateId\":\"@0\",\"Description\":\"d\",\"JobType\":\"TFJob\"}", 400,
            "$.JobType is locked"),
        ADA("CreateJob", NULL, NULL,
            "{\"TemplateId\":\"@0\",\"Description\":\"d\"," SPEC("r/mine:1") "}", 400,
            "$.JobSpecs[0].Image is locked"),
        ADA("CreateJob", NULL, NULL,
            "{\"TemplateId\":\"@0\",\"Description\":\"d\"," SPEC("r/i:1") "}", 200, NULL),
        ADA("CreateJob", NULL, NULL, "{\"TemplateId\":\"@0\",\"TemplateVersion\":7}", 404,
            "no version 7"),
        ADA("CreateJob", NULL, NULL, "{\"TemplateId\":\"@0\",\"TemplateVersion\":\"new\"}", 400,
            "TemplateVersion"),
        ADA("CreateJob", NULL, NULL,
            "{\"TemplateId\":\"@0\",\"Description\":\"d\",\"TemplateNmae\":1}", 400,
            "TemplateNmae"),
        BOB("CreateJob", NULL, NULL, "{\"TemplateId\":\"@0\"}", 404, NOT_FOUND),
    };
    static const struct row lists[] = {
        LIST("ListJobTemplates", "WorkspaceId=team", "y m"),
        LIST("ListJobTemplates", "WorkspaceId=team&Order=asc", "m y"),
        LIST("ListJobTemplates", "WorkspaceId=team&SortBy=TemplateName&Order=asc", "m y"),
        LIST("ListJobTemplates", "WorkspaceId=team&SortBy=GmtModifyTime&Order=asc", "m y"),
        LIST("ListJobTemplates", "WorkspaceId=team&Description=ada", "m"),
        LIST("ListJobTemplates", "WorkspaceId=team&TemplateName=Y&UserId=ada", "y"),
        LIST("ListJobTemplates", "WorkspaceId=team&UserId=bob", ""),
        LIST("ListJobTemplates", "WorkspaceId=default", ""),
    };
    static const struct row ends[] = {
        EVE("DeleteJobTemplate", "@1", NULL, NULL, 403, NULL),
        ADA("DeleteJobTemplate", "@1", NULL, NULL, 200, "\"TemplateId\":\"@1\""),
        ADA("DeleteJobTemplate", "@1", NULL, NULL, 404, NOT_FOUND),
    };
    run_all(*state, rows, ARRAY_LEN(rows));
    are_lists(*state, lists, ARRAY_LEN(lists),
              (const char *const[]){ "JobTemplates", "TemplateName" });
    run_all(*state, ends, ARRAY_LEN(ends));
}

/* ---- jobs and their tags ---- */

#define JOB(name, more)                                                                            \
    "{\"DisplayName\":\"" name "\",\"JobType\":\"PyTorchJob\",\"UserCommand\":\"sleep 9\","        \
    "\"ResourceId\":\"default\"" more "," SPEC("r/i:1") "}"

#define DATA_SOURCES                                                                               \
    ",\"DataSources\":[{\"Uri\":\"file:///tmp\",\"MountPath\":\"/mnt/a\"},"                        \
    "{\"DataSourceId\":\"d-nope\",\"MountPath\":\"/mnt/b\"}]"

static void jobs(void **state)
{
    static const struct row rows[] = {
        ADA("CreateJob", NULL, NULL, JOB("one", ",\"Settings\":{\"Tags\":{\"a\":\"1\"}}"), 200,
            NULL, 1),
        ADA("CreateJob", NULL, NULL,
            JOB("two", ",\"WorkspaceId\":\"team\",\"Accessibility\":\"PUBLIC\""), 200, NULL, 2),
        ADA("CreateJob", NULL, NULL, JOB("three", ",\"ElasticSpec\":{\"EnableEDP\":true}"), 200,
            "\"Warnings\":[", 3),
        ADA("CreateJob", NULL, "DryRun=true", JOB("x", ""), 400, "DryRun is no parameter"),
        ADA("CreateJob", NULL, NULL, "{\"DisplayName\":7}", 400, INVALID),
        ADA("UpdateJob", "@0", NULL, "{\"JobSpecs\":[],\"Priority\":null,\"Description\":\"d\"}",
            200, "\"Warnings\":[\"ListJobs goes on finding it by the Description"),
        ADA("GetJob", "@0", NULL, NULL, 200, "\"Description\":\"d\""),
        ADA("UpdateJob", "@0", NULL, "{\"Accessibility\":\"PUBLIC\"}", 200,
            "Accessibility has no effect: who sees it goes by its workspace"),
        ADA("GetJob", "@0", "NeedDetail=False", NULL, 200, "\"Accessibility\":\"PUBLIC\""),
        ADA("UpdateJob", "@0", NULL, "{\"JobSpecs\":[{\"PodCount\":2}]}", 400, NOT_SUPPORTED),
        ADA("CreateJob", NULL, NULL, JOB("w", ",\"WorkspaceId\":\"nowhere\""), 400,
            "\"Message\":\"WorkspaceId: workspace \\\"nowhere\\\" is not known here\""),
        BOB("CreateJob", NULL, NULL, JOB("w", ",\"WorkspaceId\":\"team\""), 403,
            "WorkspaceId: bob is no member of workspace \\\"team\\\"\""),
        ADA("CreateJob", NULL, NULL, JOB("d", DATA_SOURCES), 400,
            "\"Message\":\"DataSources[1].DataSourceId: data set \\\"d-nope\\\" is not known here\""),
        ADA("UpdateJob", "@0", NULL, "{\"Priority\":9}", 400,
            "the job is Running: Priority counts"),
        ADA("UpdateJob", "@0", NULL, "{\"Priority\":10}", 400, "Priority is 10, not 1 to 9"),
        ADA("UpdateJob", "@0", NULL, "{\"Priority\":1}", 200, NULL),
        ADA("UpdateJob", "@0", NULL, "{\"Priority\":\"high\"}", 400, INVALID),
        BOB("UpdateJob", "@0", NULL, "{\"Description\":\"his\"}", 404, NOT_FOUND),
        ADA("TagResources", NULL, NULL,
            "{\"ResourceType\":\"Job\",\"ResourceId\":[\"@0\"],\"Tag\":[{\"Key\":\"b\",\"Value\":"
            "\"2\"}]}",
            200, NULL),
        ADA("TagResources", NULL,
            "ResourceId.1=@1&ResourceId.3=@2&Tag.1.Key=c&Tag.1.Value=3&Tag.7.Key=d", NULL, 200,
            NULL),
        ADA("TagResources", NULL, "ResourceId=[\"@0\"]&Tag=[{\"Key\":\"e\"}]&ResourceType=Job",
            NULL, 200, NULL),
        ADA("TagResources", NULL, "ResourceId=@0&Tag.1.Key=x", NULL, 400, "ResourceId is no list"),
        ADA("TagResources", NULL, NULL, "{\"ResourceId\":[\"@0\"]}", 400, "Tag is missing"),
        ADA("TagResources", NULL, NULL, "{\"ResourceId\":[[]],\"Tag\":[{\"Key\":\"k\"}]}", 400,
            "ResourceId is a list of ids"),
        ADA("TagResources", NULL, NULL, "{\"ResourceId\":\"@0\",\"Tag\":[{\"Key\":\"k\"}]}", 400,
            "ResourceId is no list"),
        ADA("TagResources", NULL, NULL, "{\"ResourceId\":[\"@0\"],\"Tag\":[{\"Key\":\"acs:k\"}]}",
            400, "a tag's key"),
        ADA("TagResources", NULL, NULL,
            "{\"ResourceId\":[\"@0\"],\"ResourceType\":\"Moon\",\"Tag\":[{\"Key\":\"k\"}]}", 400,
            "one of Job|job"),
        ADA("GetJob", "@0", NULL, NULL, 200, "\"Tags\":{\"a\":\"1\",\"b\":\"2\",\"e\":\"\"}"),
        ADA("ListJobs", NULL, "Tags={\"d\":\"\"}", NULL, 200, "\"TotalCount\":2"),
        ADA("ListJobs", NULL, "Tags={\"d\":[]}", NULL, 400, "Tags is not a JSON object of texts"),
        ADA("UntagResources", NULL, "ResourceId=[\"@0\"]", NULL, 400, "TagKey is missing"),
        ADA("UntagResources", NULL, "ResourceId=[\"@0\"]&TagKey=[\"b\"]", NULL, 200, NULL),
        ADA("UntagResources", NULL, "ResourceId.1=@0&TagKey.2=e", NULL, 200, NULL),
        ADA("GetJob", "@0", NULL, NULL, 200, "\"Tags\":{\"a\":\"1\"}"),
        ADA("UntagResources", NULL, "ResourceId.1=@1&ResourceId.2=@2&All=true", NULL, 200, NULL),
        ADA("ListJobs", NULL, "Tags={\"c\":\"3\"}", NULL, 200, "\"TotalCount\":0"),
        ADA("ListJobs", NULL, "TemplateId=x", NULL, 400, "jobs are not searched by it"),
        ADA("ListJobs", NULL, "OversoldInfo=AcceptQuotaOverSold-true", NULL, 400, INVALID),
        ADA("ListJobs", NULL, "PaymentType=Gold", NULL, 400, INVALID),
        ADA("ListJobs", NULL, "JobId=@0&JobIds=@1", NULL, 400, "JobId and JobIds say different"),
        ADA("ListJobs", NULL, "ShowOwn=true&UserIdForFilter=bob", NULL, 400,
            "ShowOwn and UserIdForFilter say different things"),
        ADA("ListJobs", NULL, "PaymentType=PostPaid&ResourceId=default", NULL, 400,
            "PaymentType PostPaid and a quota say different things"),
        ADA("GetJobMetrics", "@0", "MetricType=MemoryUsage&TimeStep=1m", NULL, 200,
            "no measures of pods are taken"),
        ADA("GetMetrics", NULL, "JobId=@0&MetricName=x&StartTime=noon", NULL, 400, "not a time"),
        ADA("GetJobSanityCheckResult", "@0", "SanityCheckNumber=1&SanityCheckPhase=Other", NULL,
            400, INVALID),
        ADA("ListJobSanityCheckResults", "@0", "Order=desc", NULL, 200, "\"RequestID\""),
        ADA("GetPodLogs", "@0 x", "Containers=main", NULL, 400, "a pod has one container"),
        ADA("StopJob", "@0", NULL, NULL, 200, NULL),
        ADA("GetToken", NULL, "TargetType=moon&TargetId=@0", NULL, 400, "one of job|tensorboard"),
    };
    static const struct row lists[] = {
        LIST("ListJobs", "SortBy=DisplayName&Order=asc", "one three two"),
        LIST("ListJobs", "SortBy=DisplayName", "two three one"),
        LIST("ListJobs", "PageSize=2&PageNumber=2", "one"),
        LIST("ListJobs", "WorkspaceId=team", "two"),
        LIST("ListJobs", "PaymentType=PrePaid&ResourceId=default&ShowOwn=True", "three two one"),
        LIST("ListJobs", "PaymentType=PostPaid", ""),
        LIST("ListJobs", "Accessibility=PUBLIC", "two"),
        LIST("ListJobs", "Accessibility=PRIVATE", "three one"),
    };
    run_all(*state, rows, ARRAY_LEN(rows));
    are_lists(*state, lists, ARRAY_LEN(lists), (const char *const[]){ "Jobs", "DisplayName" });
}

static void instance_types(void **state)
{
    static const struct row lists[] = {
        LIST("ListEcsSpecs", "", "ecs.a ecs.b ecs.c"),
        LIST("ListEcsSpecs", "SortBy=Memory", "ecs.c ecs.b ecs.a"),
        LIST("ListEcsSpecs", "SortBy=Memory&Order=asc", "ecs.a ecs.b ecs.c"),
        LIST("ListEcsSpecs", "SortBy=CPU&Order=asc", "ecs.c ecs.a ecs.b"),
        LIST("ListEcsSpecs", "SortBy=GmtCreateTime", "ecs.a ecs.b ecs.c"),
        LIST("ListEcsSpecs", "AcceleratorType=GPU", ""),
        LIST("ListEcsSpecs", "ResourceType=Lingjun", ""),
        LIST("ListEcsSpecs", "InstanceTypes=ecs.b,x", "ecs.b"),
    };
    static const struct row bad =
        ADA("ListEcsSpecs", NULL, "AcceleratorType=NPU", NULL, 400, "one of CPU|GPU");
    are_lists(*state, lists, ARRAY_LEN(lists), (const char *const[]){ "EcsSpecs", "InstanceType" });
    run(*state, &bad);
}

/* ---- TensorBoards ---- */

#define BOARD(name, more)                                                                          \
    "{\"DisplayName\":\"" name "\",\"SummaryPath\":\"/tmp\",\"Cpu\":1,\"Memory\":1" more "}"

static void boards(void **state)
{
    static const struct row rows[] = {
        ADA("CreateTensorboard", NULL, NULL,
            BOARD("m", ",\"QuotaId\":\"default\",\"Priority\":\"9\""), 200,
            "\"TensorboardId\":\"tbc", 1),
        ADA("CreateTensorboard", NULL, NULL, BOARD("z", ",\"WorkspaceId\":\"team\""), 200, NULL, 2),
        ADA("CreateTensorboard", NULL, NULL, BOARD("a", ",\"Accessibility\":\"PUBLIC\""), 200,
            "Accessibility has no effect", 3),
        ADA("CreateTensorboard", NULL, NULL, "{\"DisplayName\":\"x\"}", 400, "MissingParameter"),
        ADA("CreateTensorboard", NULL, NULL, BOARD("x", ",\"Priority\":\"10\""), 400, "not 1 to 9"),
        ADA("CreateTensorboard", NULL, NULL, BOARD("x", ",\"MaxRunningTimeMinutes\":0"), 400,
            "not 1 to 10080"),
        ADA("CreateTensorboard", NULL, NULL, BOARD("x", ",\"Uri\":\"/a\",\"DataSourceId\":\"d-1\""),
            400, "DataSourceId or Uri, not both"),
        ADA("CreateTensorboard", NULL, NULL, BOARD("x", ",\"Uri\":\"/a\",\"Options\":\"{\""), 400,
            "absolute mountpath"),
        ADA("CreateTensorboard", NULL, NULL, BOARD("x", ",\"QuotaId\":\"nowhere\""), 400,
            "nowhere"),
        ADA("ListJobs", NULL, "DisplayName=@0", NULL, 200, "\"Priority\":9"),
        ADA("CreateTensorboard", NULL, NULL, BOARD("x", ",\"JobId\":\"dlc0\""), 404, "no job"),
        ADA("CreateTensorboard", NULL, NULL, BOARD("x", ",\"SourceType\":\"moon\""), 400, INVALID),
        ADA("CreateTensorboard", NULL, NULL, BOARD("x", ",\"TensorboardSpec\":{\"EcsType\":\"e\"}"),
            400, "it runs on nodes of the server"),
        ADA("CreateTensorboard", NULL, NULL,
            BOARD("x", ",\"TensorboardDataSources\":[{\"Uri\":\"/a\"},{\"Uri\":\"/b\"}]"), 400,
            "TensorboardDataSources has 2 sources"),
        ADA("CreateTensorboard", NULL, NULL,
            BOARD("one",
                  ",\"TensorboardDataSources\":[{\"Uri\":\"/tmp\",\"SummaryPath\":\"/a/b\"}]"),
            200, "SummaryPath is not used: TensorboardDataSources says", 4),
        ADA("GetTensorboard", "@3", NULL, NULL, 200, "\"Uri\":\"/tmp\",\"SummaryPath\":\"/a/b\""),
        ADA("StopTensorboard", "@3", NULL, NULL, 200, NULL),
        ADA("GetTensorboard", "@3", NULL, NULL, 200, "\"Status\":\"Stopped\""),
        ADA("UpdateTensorboard", "@3", "MaxRunningTimeMinutes=7&Priority=3", NULL, 200, NULL),
        ADA("GetTensorboard", "@3", NULL, NULL, 200, "\"MaxRunningTimeMinutes\":7"),
        ADA("UpdateTensorboard", "@3", "Priority=0", NULL, 400, "Priority"),
        ADA("UpdateTensorboard", "@3", NULL, "{\"Priority\":\"3\"}", 400, "Priority is no member"),
        ADA("DeleteTensorboard", "@3", "WorkspaceId=team", NULL, 404, NOT_FOUND),
        ADA("DeleteTensorboard", "@3", "WorkspaceId=default", NULL, 200, NULL),
        ADA("DeleteTensorboard", "@0", NULL, NULL, 400, "stop it first"),
        ADA("StartTensorboard", "@0", NULL, NULL, 400, "is Running"),
        ADA("GetTensorboard", "@1", "WorkspaceId=team", NULL, 200, "\"PRIVATE\""),
        ADA("GetTensorboard", "@1", "WorkspaceId=default", NULL, 404, NOT_FOUND),
        ADA("GetTensorboard", "@1", "JodId=dlc1", NULL, 404, NOT_FOUND),
        BOB("GetTensorboard", "@0", NULL, NULL, 404, NOT_FOUND),
        BOB("GetTensorboard", "@0", "Token=none", NULL, 404, NOT_FOUND),
        ADA("ListTensorboards", NULL, "SortBy=Status", NULL, 400,
            "known is GmtCreateTime, DisplayName"),
    };
    static const struct row lists[] = {
        LIST("ListTensorboards", "", "a z m"),
        LIST("ListTensorboards", "Order=asc", "m z a"),
        LIST("ListTensorboards", "SortBy=DisplayName&Order=asc", "a m z"),
        LIST("ListTensorboards", "SortBy=DisplayName&Order=desc&PageSize=1", "z"),
        LIST("ListTensorboards", "WorkspaceId=default", "a m"),
        LIST("ListTensorboards", "Accessibility=PRIVATE", "z m"),
        LIST("ListTensorboards", "QuotaId=default&PaymentType=Free&Verbose=false", "m"),
        LIST("ListTensorboards", "PaymentType=Postpaid", ""),
        LIST("ListTensorboards", "Status=Stopped", ""),
        LIST("ListTensorboards", "StartTime=1&EndTime=2", ""),
        BOB("ListTensorboards", NULL, "", NULL, 200, ""),
    };
    run_all(*state, rows, ARRAY_LEN(rows));
    are_lists(*state, lists, ARRAY_LEN(lists),
              (const char *const[]){ "Tensorboards", "DisplayName" });
}

/* ---- histories of Ray clusters ---- */

#define HISTORY(name, more)                                                                        \
    "{\"DisplayName\":\"" name "\",\"StoragePath\":\"/tmp\",\"WorkspaceId\":\"default\"" more "}"

static void histories(void **state)
{
    static const struct row rows[] = {
        ADA("CreateRayHistoryServer", NULL, NULL, HISTORY("m", ",\"ResourceId\":\"default\""), 200,
            "\"RayHistoryServerId\":\"rhs", 1),
        ADA("CreateRayHistoryServer", NULL, NULL,
            "{\"DisplayName\":\"z\",\"StoragePath\":\"/tmp/ray\",\"WorkspaceId\":\"team\"}", 200,
            NULL, 2),
        ADA("CreateRayHistoryServer", NULL, NULL, HISTORY("a", ",\"Accessibility\":\"PUBLIC\""),
            200, "who sees it goes by its workspace", 3),
        ADA("CreateRayHistoryServer", NULL, NULL, "{\"DisplayName\":\"x\"}", 400,
            "StoragePath is missing"),
        ADA("CreateRayHistoryServer", NULL, NULL, HISTORY("x", ",\"EcsSpec\":\"none\""), 400,
            "no instance type"),
        ADA("CreateRayHistoryServer", NULL, NULL, HISTORY("x", ",\"EcsSpec\":\"ecs.a\""), 400,
            "history asks 8 cpu"),
        ADA("CreateRayHistoryServer", NULL, NULL, HISTORY("x", ",\"MaxRuntimeMinutes\":0"), 400,
            "not 1 to 10080"),
        ADA("CreateRayHistoryServer", NULL, NULL,
            "{\"DisplayName\":\"x\",\"StoragePath\":\"logs\",\"WorkspaceId\":\"default\"}", 400,
            "StoragePath is"),
        ADA("CreateRayHistoryServer", NULL, NULL, HISTORY("x", ",\"Storage\":\"/tmp\""), 400,
            "Storage is no member"),
        EVE("CreateRayHistoryServer", NULL, NULL, HISTORY("x", ""), 403, "is a reader"),
        ADA("GetRayHistoryServer", "@0", NULL, NULL, 200,
            "\"DisplayName\":\"m\",\"StoragePath\":\"/tmp\",\"ResourceId\":\"default\""),
        BOB("GetRayHistoryServer", "@0", NULL, NULL, 404, NOT_FOUND),
        ADA("DeleteRayHistoryServer", "@0", NULL, NULL, 400, "stop it first"),
        ADA("StartRayHistoryServer", "@0", NULL, NULL, 400, "is Running"),
        ADA("StopRayHistoryServer", "@0", NULL, NULL, 200, NULL),
        ADA("StopRayHistoryServer", "@0", NULL, NULL, 400, "is Stopped"),
        ADA("StartRayHistoryServer", "@0", NULL, NULL, 200, "\"RayHistoryServerId\":\"@0\""),
        ADA("StopRayHistoryServer", "@2", NULL, NULL, 200, NULL),
        ADA("ListRayHistoryServers", NULL, "SortBy=EcsSpec", NULL, 400, "known is GmtCreateTime"),
    };
    static const struct row lists[] = {
        LIST("ListRayHistoryServers", "", "a z m"),
        LIST("ListRayHistoryServers", "SortBy=DisplayName&Order=asc", "a m z"),
        LIST("ListRayHistoryServers", "SortBy=Status&PageSize=1", "a"),
        LIST("ListRayHistoryServers", "WorkspaceId=team", "z"),
        LIST("ListRayHistoryServers", "StoragePath=/tmp", "a m"),
        LIST("ListRayHistoryServers", "Status=Stopped", "a"),
        LIST("ListRayHistoryServers", "IdPrefix=rhs&ResourceId=default&Username=ada", "m"),
        LIST("ListRayHistoryServers", "IdPrefix=tbc", ""),
        LIST("ListRayHistoryServers", "UserIdForFilter=bob", ""),
        BOB("ListRayHistoryServers", NULL, "", NULL, 200, ""),
    };
    run_all(*state, rows, ARRAY_LEN(rows));
    are_lists(*state, lists, ARRAY_LEN(lists),
              (const char *const[]){ "RayHistoryServers", "DisplayName" });
    static const struct row gone[] = {
        ADA("DeleteRayHistoryServer", "@2", NULL, NULL, 200, NULL),
        ADA("GetRayHistoryServer", "@2", NULL, NULL, 404, NOT_FOUND),
    };
    run_all(*state, gone, ARRAY_LEN(gone));
}

/* Whoever has a token of it sees it, and no more. */
static void tokens(void **state)
{
    struct fix *f = *state;
    static const struct row make =
        ADA("CreateTensorboard", NULL, NULL, BOARD("m", ""), 200, NULL, 1);
    run(f, &make);
    char query[100];
    snprintf(query, sizeof query, "TargetType=tensorboard&TargetId=%s", f->kept[0]);
    struct desk_reply reply =
        desk_ask(&f->desk, &(struct desk_ask){ .who = "ada", .op = "GetToken", .query = query });
    assert_int_equal(reply.status, 200);
    snprintf(f->kept[1], sizeof f->kept[1], "%s", dlc_text(reply.root, "Token"));
    desk_reply_fini(&reply);
    static const struct row rows[] = {
        BOB("GetTensorboard", "@0", "Token=@1", NULL, 200, "\"DisplayName\":\"m\""),
        BOB("StopTensorboard", "@0", NULL, NULL, 404, NOT_FOUND),
        BOB("StopTensorboard", "@0", "Token=@1", NULL, 400, "Token is no parameter"),
    };
    run_all(f, rows, ARRAY_LEN(rows));
}

/* ---- signals ---- */

static void signals(void **state)
{
    static const struct row rows[] = {
        ADA("CreateJob", NULL, NULL, JOB("one", ""), 200, NULL, 1),
        ADA("CreateSignal", "@0", NULL, "{\"Signal\":\"SIGKILL\"}", 400, INVALID),
        ADA("CreateSignal", "@0", NULL, "{}", 400, "Signal is missing"),
        ADA("CreateSignal", "@0", NULL, "{\"Signal\":\"SIGUSR1\",\"Target\":\"all\"}", 400,
            "not an object"),
        ADA("CreateSignal", "@0", NULL, "{\"Signal\":\"SIGUSR1\",\"Target\":{\"Scope\":\"moon\"}}",
            400, "Target.Scope is \\\"moon\\\""),
        ADA("CreateSignal", "@0", NULL,
            "{\"Signal\":\"SIGUSR1\",\"Target\":{\"Scope\":\"roles\",\"PodNames\":[\"x\"]}}", 400,
            "Target.PodNames is not of Target.Scope roles"),
        ADA("CreateSignal", "@0", NULL,
            "{\"Signal\":\"SIGUSR1\",\"Target\":{\"Roles\":[\"worker\"]}}", 400,
            "Target.Roles is not of Target.Scope job"),
        ADA("CreateSignal", "@0", NULL,
            "{\"Signal\":\"SIGUSR1\",\"Target\":{\"Scope\":\"roles\",\"Roles\":[\"ps\"]}}", 404,
            "no role"),
        ADA("CreateSignal", "@0", NULL,
            "{\"Signal\":\"SIGUSR1\",\"Target\":{\"Scope\":\"roles\",\"Role\":[\"ps\"]}}", 400,
            "but Target.Roles is"),
        ADA("GetSignal", "@0 sig1", NULL, NULL, 404, "has no signal"),
        ADA("ListSignals", "@0", "SortBy=Status&Order=asc&Status=Failed", NULL, 200,
            "\"TotalCount\":0,\"PageNumber\":1,\"PageSize\":10"),
        ADA("ListSignals", "@0", "SortBy=Loudness", NULL, 400, "known is GmtCreated"),
        BOB("ListSignals", "@0", NULL, NULL, 404, NOT_FOUND),
    };
    run_all(*state, rows, ARRAY_LEN(rows));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(codes, setup, teardown),
        cmocka_unit_test_setup_teardown(data_sets, setup, teardown),
        cmocka_unit_test_setup_teardown(odd_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(versions, setup, teardown),
        cmocka_unit_test_setup_teardown(images, setup, teardown),
        cmocka_unit_test_setup_teardown(workspaces, setup, teardown),
        cmocka_unit_test_setup_teardown(workspaces_by_change, setup, teardown),
        cmocka_unit_test_setup_teardown(permissions_and_quotas, setup, teardown),
        cmocka_unit_test_setup_teardown(quotas_say_their_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(templates, setup, teardown),
        cmocka_unit_test_setup_teardown(jobs, setup, teardown),
        cmocka_unit_test_setup_teardown(instance_types, setup, teardown),
        cmocka_unit_test_setup_teardown(boards, setup, teardown),
        cmocka_unit_test_setup_teardown(histories, setup, teardown),
        cmocka_unit_test_setup_teardown(tokens, setup, teardown),
        cmocka_unit_test_setup_teardown(signals, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
