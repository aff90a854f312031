/* The façade as its clients meet it: every operation once good and once bad, who may what, words of
 * states and ends. What needs processes and the real clients is in tests/test_openpai_client.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/openpai/attempts.h"

#include "api/openpai/form.h"
#include "api/openpai/job.h"
#include "api/openpai/members.h"
#include "api/openpai/routes.h"
#include "api/openpai/test/fixture.h"
#include "base/mem.h"
#include "text/json.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define ROLE                                                                                       \
    "{\"name\":\"w\",\"taskNumber\":1,\"cpuNumber\":1,\"memoryMB\":128,\"gpuNumber\":0,"           \
    "\"command\":\"true\"}"
#define OLD(name) "{\"jobName\":\"" name "\",\"image\":\"debian\",\"taskRoles\":[" ROLE "]}"
#define NEW_WITH(name, more)                                                                       \
    "protocolVersion: 2\nname: " name "\ntype: job\n" more                                         \
    "prerequisites: [{name: img, type: dockerimage, uri: debian}]\n"                               \
    "taskRoles:\n  w:\n    instances: 1\n    dockerImage: img\n"                                   \
    "    resourcePerInstance: {cpu: 1, memoryMB: 128, gpu: 0}\n    commands: [\"true\"]\n"
#define NEW(name) NEW_WITH(name, "")

#define NO_JOB "\"code\":\"NoJobError\""
#define GUEST  "\"message\":\"Guest is not allowed to do this operation.\""

#define RUN(client)                                                                                \
    static void client##_test(void **state)                                                        \
    {                                                                                              \
        fix_run(state, client);                                                                    \
    }

/* Until the job itself has ended so: its tasks' states, under another key, come first. */
static void ended(struct fix *f, const char *path, const char *how)
{
    char state[48];
    snprintf(state, sizeof state, "\"state\":\"%s\"", how);
    fix_await(f, &(struct row){ "ada", "GET", path, NULL, NULL, 200, state });
}

/* ---- the server about itself, paths ---- */

static void roots_and_paths(struct fix *f)
{
    static const struct row rows[] = {
        { "", "GET", "/rest-server/api/v1", NULL, NULL, 200, "PAI RESTful API" },
        { "", "POST", "/rest-server/api/v1/", "{}", NULL, 200, "\"authnMethod\":\"basic\"" },
        { "", "GET", "/api/v1", NULL, NULL, 200, "PAI RESTful API" },
        { "", "GET", "/rest-server/api/v2", NULL, NULL, 200, "PAI RESTful API v2" },
        { "", "GET", V2 "info", NULL, NULL, 200, "\"launcherType\":\"k8s\"" },
        { "wrong", "GET", V2 "info", NULL, NULL, 200, NULL },
        { "", "GET", V1 "authn/info", NULL, NULL, 200, "/api/v1/authn/basic/login" },
        { "", "GET", V2 "authn/info", NULL, NULL, 200, "/api/v2/authn/basic/login" },
        { "root", "GET", V2 "authn/oidc/login?x", NULL, NULL, 404, "NoApiError" },
        { "", "GET", V2 "authn/oidc/login?x", NULL, NULL, 401, GUEST }, /* there or not */
        { "root", "GET", V2 "none?x=1", NULL, NULL, 404, "\"API /api/v2/none?x=1 is not found.\"" },
        { "root", "GET", "/rest-server", NULL, NULL, 404, "\"API  is not found.\"" },
        { "root", "GET", "/rest-server/api/v3/jobs", NULL, NULL, 404, "NoApiError" },
        { "root", "DELETE", V2 "jobs/ada~x", NULL, NULL, 404, "NoApiError" },
        { "root", "GET", V2 "jobs/a%2Fb/config", NULL, NULL, 404, NO_JOB },
        { "root", "GET", V2 "jobs/%zz", NULL, NULL, 400, "is no path" },
        { "root", "GET", V2 "jobs/", NULL, NULL, 200, "[]" },
        { "root", "GET", "/api/v2/jobs", NULL, NULL, 200, "[]" },
        { "root", "GET", "/api/v1/jobs", NULL, NULL, 200, "[]" },
        { "root", "GET", "/log-manager/n/api/v1/logs/stdout", NULL, NULL, 404, "NoTaskLogError" },
    };
    fix_rows(f, rows, ARRAY_LEN(rows));
    /* Kubernetes' and the native names of the same paths are nobody's here */
    static const struct row others[] = {
        { "root", "GET", "/api/v1/pods", NULL, NULL, 404, NULL },
        { "root", "GET", "/api/v1/namespaces", NULL, NULL, 404, NULL },
        { "root", "GET", "/v1/jobs", NULL, NULL, 200, NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct reply r = fix_ask(f, &others[i]);
        assert_int_equal(r.http.status, others[i].status);
        assert_null(strstr(buf_str(&r.http.body), "NoApiError"));
        reply_fini(&r);
    }
}
RUN(roots_and_paths)

/* ---- login and tokens ---- */

static void logins(struct fix *f)
{
#define LOGIN(path, body, type, status, part)                                                      \
    {                                                                                              \
        "", "POST", path, body, type, status, part                                                 \
    }
#define ADA(more) "{\"username\":\"ada\",\"password\":\"ada-secret\"" more "}"
    static const struct row rows[] = {
        LOGIN(V1 "token", ADA(""), NULL, 200, "\"user\":\"ada\""),
        LOGIN(V1 "authn/basic/login", ADA(""), NULL, 200, "\"admin\":false"),
        LOGIN(V2 "authn/basic/login", ADA(",\"expiration\":604800"), NULL, 200, "\"token\""),
        LOGIN(V2 "authn/basic/login", "expiration=4000&password=ada-secret&username=ada", FIX_FORM,
              200, "\"hasGitHubPAT\":false"),
        LOGIN(V1 "token", ADA(",\"expiration\":59"), NULL, 400, "InvalidParametersError"),
        LOGIN(V1 "token", ADA(",\"expiration\":604801"), NULL, 400, "expiration"),
        LOGIN(V1 "token", ADA(",\"expiration\":{}"), NULL, 400, "expiration"),
        LOGIN(V1 "token", "{\"username\":\"ada\",\"password\":\"wrong-secret\"}", NULL, 400,
              "IncorrectPasswordError"),
        LOGIN(V1 "token", "{\"username\":\"zed\",\"password\":\"zed-secret\"}", NULL, 400,
              "\"IncorrectPasswordError\",\"message\":\"Password is incorrect.\""),
        LOGIN(V1 "token", "{\"username\":\"a/b\",\"password\":\"zed-secret\"}", NULL, 400,
              "username"),
        LOGIN(V1 "token", "{\"username\":\"ada\",\"password\":\"short\"}", NULL, 400, "password"),
        LOGIN(V1 "token", "{\"username\":7}", NULL, 400, "username"),
        LOGIN(V1 "token", "{", NULL, 400, "InvalidParametersError"),
        LOGIN(V1 "token", "[]", NULL, 400, "must be an object"),
        LOGIN(V1 "token", "a=b&a[c]=d", FIX_FORM, 400, "InvalidParametersError"),
        { "", "POST", V1 "token", NULL, NULL, 400, "username" },
    };
    fix_rows(f, rows, ARRAY_LEN(rows));
}
RUN(logins)

static void tokens(struct fix *f)
{
    struct row make = {
        "ada", "POST", V2 "tokens/application", "{}", NULL, 200, "\"application\""
    };
    struct reply r = fix_ask(f, &make);
    char app[64], revoke[160];
    snprintf(app, sizeof app, "%s", fix_text(r.root, "token"));
    reply_fini(&r);
    snprintf(revoke, sizeof revoke, V2 "tokens/%s", app);
    const struct row rows[] = {
        { "ada", "GET", V2 "tokens", NULL, NULL, 200, "{\"tokens\":[\"" },
        { "ada", "GET", V1 "token", NULL, NULL, 200, "{\"tokens\":[\"" },
        { "", "GET", V2 "tokens", NULL, NULL, 401, GUEST },
        { app, "GET", V2 "tokens/check", NULL, NULL, 200, "\"application\":true" },
        { app, "GET", V2 "jobs", NULL, NULL, 200, "[]" },
        { app, "GET", V2 "tokens", NULL, NULL, 403, "Applications are not allowed" },
        { app, "PUT", V2 "users/me", "{}", NULL, 403, "Applications are not allowed" },
        { "bob", "DELETE", revoke, NULL, NULL, 400, "InvalidParametersError" },
        { "ada", "DELETE", revoke, NULL, NULL, 200, "revoke successfully" },
        { app, "GET", V2 "jobs", NULL, NULL, 401, "Your token is invalid." },
        { "ada", "DELETE", V1 "token/none", NULL, NULL, 400, "InvalidParametersError" },
        { "ada", "DELETE", V2 "authn/basic/logout", NULL, NULL, 200, "Logout successfully" },
        { "ada", "GET", V2 "jobs", NULL, NULL, 401, "Your token is invalid." },
        { "root", "DELETE", V2 "authn/basic/logout", NULL, NULL, 200, "Logout successfully" },
        { "root", "GET", V2 "jobs", NULL, NULL, 200, "[]" },
        { "", "DELETE", V1 "authn/basic/logout", NULL, NULL, 401, GUEST },
    };
    fix_rows(f, rows, ARRAY_LEN(rows));
}
RUN(tokens)

/* ---- users and groups ---- */

static void users(struct fix *f)
{
    static const struct row rows[] = {
        { "ada", "GET", V2 "users/ada", NULL, NULL, 200, "\"grouplist\":[\"default\"]" },
        { "ada", "GET", V1 "user/ada", NULL, NULL, 200, "\"virtualCluster\":[\"default\"" },
        { "ada", "GET", V2 "users/me", NULL, NULL, 200, "\"username\":\"ada\"" },
        { "ada", "GET", V2 "users/bob", NULL, NULL, 400, "NoUserError" },
        { "ada", "GET", V2 "users/", NULL, NULL, 200, "\"username\":\"ada\"" },
        { "root", "GET", V2 "users/eve", NULL, NULL, 200, "[\"default\",\"team\"]" },
        { "", "GET", V2 "users/eve", NULL, NULL, 401, GUEST },
        { "ada", "POST", V2 "users", "{}", NULL, 403, "Non-admin is not allow" },
        { "root", "POST", V2 "users", "{\"username\":\"ada\",\"password\":\"123456\"}", NULL, 409,
          "ConflictUserError" },
        { "root", "POST", V2 "users", "{\"password\":\"123456\"}", NULL, 400, "username" },
        { "root", "POST", V2 "users", "{\"username\":\"x\"}", NULL, 400, "password" },
        { "root", "POST", V2 "users", "{\"username\":\"x\",\"password\":\"123\"}", NULL, 400,
          "6 characters" },
        { "root", "PUT", V2 "users", "{\"data\":{\"username\":\"bob\"}}", NULL, 400,
          "without patch" },
        { "root", "PUT", V2 "users", "{\"patch\":true,\"data\":{}}", NULL, 400, "data.username" },
        { "root", "PUT", V2 "users",
          "{\"patch\":true,\"data\":{\"username\":\"bob\",\"email\":\"b@x\"}}", NULL, 201, NULL },
        { "bob", "GET", V2 "users/bob", NULL, NULL, 200, "\"email\":\"b@x\"" },
        { "bob", "PUT", V2 "users/me", "{\"data\":{\"extension\":[]}}", NULL, 400, "extension" },
        { "bob", "PUT", V2 "users/me", "{\"data\":{\"username\":\"ada\"}}", NULL, 403,
          "ForbiddenUserError" },
        { "bob", "PUT", V2 "users/me", "{\"data\":{\"admin\":true,\"grouplist\":[\"team\"]}}", NULL,
          201, NULL },
        { "bob", "GET", V2 "users/bob", NULL, NULL, 200, "\"grouplist\":[\"default\"]" },
        { "bob", "GET", V2 "users/bob", NULL, NULL, 200, "\"admin\":false" },
        { "bob", "PUT", V2 "users/bob/admin", "{\"admin\":true}", NULL, 403, "Non-admin" },
        { "bob", "PUT", V2 "users/ada/email", "{\"email\":\"x\"}", NULL, 403, "Forbidden" },
        { "bob", "PUT", V2 "users/bob/email", "{\"email\":\"y@x\"}", NULL, 201, NULL },
        { "bob", "PUT", V2 "user/bob/extension", "{\"extension\":{\"k\":1}}", NULL, 201, NULL },
        { "bob", "PUT", V2 "users/bob/password", "{\"newPassword\":\"123456\"}", NULL, 403,
          "Pls input the correct password." },
        { "bob", "PUT", V2 "users/bob/password",
          "{\"newPassword\":\"123\",\"oldPassword\":\"bob-secret\"}", NULL, 400, "6 characters" },
        { "root", "PUT", V2 "users/bob/virtualcluster", "{}", NULL, 400, "NotImplementedError" },
        { "root", "PUT", V2 "users/bob/group", "{}", NULL, 400, "groupname" },
        { "root", "PUT", V2 "users/zed/group", "{\"groupname\":\"g\"}", NULL, 400, "NoUserError" },
        { "root", "PUT", V2 "users/bob/group", "{\"groupname\":\"default\"}", NULL, 201, NULL },
        { "root", "PUT", V2 "users/bob/group", "{\"groupname\":\"g\"}", NULL, 201, NULL },
        { "root", "PUT", V2 "users/bob/group", "{\"groupname\":\"admingroup\"}", NULL, 201, NULL },
        { "bob", "GET", V2 "groups/g/userlist", NULL, NULL, 200, "\"clusterAdmin\":true" },
        { "root", "DELETE", V2 "users/bob", NULL, NULL, 403, "RemoveAdminError" },
        { "root", "DELETE", V2 "users/bob/group", "{\"groupname\":\"admingroup\"}", NULL, 201,
          NULL },
        { "root", "DELETE", V2 "users/bob/group", "{\"groupname\":\"g\"}", NULL, 201, NULL },
        { "root", "PUT", V2 "users/bob/grouplist", "{\"grouplist\":7}", NULL, 400, "array" },
        { "bob", "GET", V2 "groups/g/userlist", NULL, NULL, 403, "Non-admin" },
        { "bob", "PUT", V2 "users/bob/password",
          "{\"newPassword\":\"bob-new\",\"oldPassword\":\"bob-secret\"}", NULL, 201, NULL },
        { "", "POST", V1 "token", "username=bob&password=bob-new", FIX_FORM, 200, "\"token\"" },
        { "bob", "GET", V2 "users/bob", NULL, NULL, 401, "Your token is invalid." },
        { "root", "GET", V2 "groups/g", NULL, NULL, 400, "NoGroupError" },
        { "root", "GET", V2 "group", NULL, NULL, 200, "\"groupname\":\"team\"" },
        { "root", "GET", V2 "group/admingroup", NULL, NULL, 200, "\"admin\":true" },
        { "root", "GET", V2 "group/default/userlist", NULL, NULL, 200, "\"eve\"" },
        { "root", "PUT", V2 "group", "{}", NULL, 400, "NotImplementedError" },
        { "root", "DELETE", V2 "users/bob", NULL, NULL, 200, "removed" },
        { "bob", "GET", V2 "jobs", NULL, NULL, 401, "Your token is invalid." },
        { "root", "DELETE", V2 "users/bob", NULL, NULL, 400, "NoUserError" },
    };
    fix_rows(f, rows, ARRAY_LEN(rows));
}
RUN(users)

/* ---- jobs come in ---- */

static void submissions(struct fix *f)
{
    static const struct row rows[] = {
        { "", "POST", V1 "jobs", OLD("a"), NULL, 401, GUEST },
        { "ada", "POST", V1 "user/ada/jobs", OLD("a"), NULL, 201, "\"name\":\"ada~a\"" },
        { "ada", "POST", V1 "user/ada/jobs", OLD("a"), NULL, 409,
          "\"message\":\"Job name a already exists\"" },
        { "bob", "POST", V1 "user/ada/jobs", OLD("z"), NULL, 403, "ForbiddenUserError" },
        { "bob", "POST", V1 "user/bob/jobs", OLD("a"), NULL, 201, "\"name\":\"bob~a\"" },
        { "ada", "PUT", V1 "user/ada/jobs/b", OLD("other"), NULL, 201, "\"name\":\"ada~b\"" },
        { "ada", "PUT", V1 "jobs/b", OLD("other"), NULL, 409, "ConflictJobError" },
        { "ada", "POST", V1 "jobs",
          "jobName=c&image=i&taskRoles[0][name]=w"
          "&taskRoles[0][command]=true&taskRoles[0][minFailedTaskCount]="
          "&taskRoles[0][minSucceededTaskCount]=",
          FIX_FORM, 201, "\"name\":\"ada~c\"" },
        { "ada", "GET", V1 "user/ada/jobs/c/config", NULL, NULL, 200,
          "\"minFailedTaskCount\": null" },
        { "ada", "POST", V1 "jobs", "jobName=%zz", FIX_FORM, 400, "InvalidParametersError" },
        { "ada", "POST", V1 "jobs", OLD("d"), "text/plain", 400, "must be an object" },
        { "ada", "POST", V1 "jobs", "{", NULL, 400, "InvalidParametersError" },
        { "ada", "POST", V1 "jobs", "{\"jobName\":\"d\"}", NULL, 400, "image" },
        { "ada", "POST", V1 "jobs",
          "{\"jobName\":\"d\",\"image\":\"i\",\"virtualCluster\":\"none\",\"taskRoles\":[" ROLE
          "]}",
          NULL, 404, "\"message\":\"Virtual cluster none is not found.\"" },
        { "ada", "POST", V2 "jobs", NEW("n"), FIX_YAML, 202,
          "{\"status\":202,\"message\":\"Update job n for user ada successfully.\"}" },
        { "ada", "POST", V2 "jobs", NEW("n"), FIX_YAML, 409,
          "\"message\":\"Job ada~n already exists.\"" },
        { "ada", "POST", V2 "jobs", NEW("a"), FIX_YAML, 409, "ConflictJobError" },
        { "ada", "POST", V2 "jobs", NEW_WITH("m", "defaults: {virtualCluster: none}\n"), FIX_YAML,
          404, "NoVirtualClusterError" },
        { "ada", "POST", V2 "jobs", NEW_WITH("m", "nonsense: 1\n"), FIX_YAML, 400,
          "InvalidProtocolError" },
        { "ada", "POST", V2 "jobs", "a: [", FIX_YAML, 400, "InvalidProtocolError" },
        { "ada", "POST", V2 "jobs", "a=b", FIX_FORM, 400, "text/yaml" },
    };
    fix_rows(f, rows, ARRAY_LEN(rows));
}
RUN(submissions)

/* ---- who reads what ---- */

static void strangers(struct fix *f)
{
    static const struct row rows[] = {
        { "ada", "POST", V2 "jobs", NEW_WITH("p", "secrets: {k: hunter2}\n"), FIX_YAML, 202, NULL },
        { "ada", "GET", V2 "jobs/ada~p", NULL, NULL, 200, "\"username\":\"ada\"" },
        { "root", "GET", V2 "jobs/ada~p", NULL, NULL, 200, "\"username\":\"ada\"" },
        { "bob", "GET", V2 "jobs/ada~p", NULL, NULL, 404, "\"Job ada~p is not found.\"" },
        { "bob", "GET", V2 "jobs/ada~none", NULL, NULL, 404, "\"Job ada~none is not found.\"" },
        { "bob", "GET", V1 "user/ada/jobs/p", NULL, NULL, 404, NO_JOB },
        { "bob", "GET", V1 "jobs/p", NULL, NULL, 404, NO_JOB },
        { "bob", "GET", V2 "jobs/ada~p/config", NULL, NULL, 404, NO_JOB },
        { "bob", "GET", V2 "jobs/ada~p/ssh", NULL, NULL, 404, NO_JOB },
        { "bob", "GET", V2 "jobs/ada~p/events", NULL, NULL, 404, NO_JOB },
        { "bob", "GET", V2 "jobs/ada~p/attempts/0", NULL, NULL, 404, NO_JOB },
        { "bob", "GET", V2 "jobs/ada~p/job-attempts", NULL, NULL, 404, NO_JOB },
        { "bob", "GET", V2 "jobs/ada~p/job-attempts/0", NULL, NULL, 404, NO_JOB },
        { "bob", "GET", V2 "jobs/ada~p/job-attempts/healthz", NULL, NULL, 404, NO_JOB },
        { "bob", "PUT", V2 "jobs/ada~p/tag", "{\"value\":\"t\"}", NULL, 404, NO_JOB },
        { "bob", "PUT", V2 "jobs/ada~p/executionType", "{\"value\":\"STOP\"}", NULL, 404, NO_JOB },
        { "bob", "DELETE", V1 "user/ada/jobs/p", NULL, NULL, 404, NO_JOB },
        { "bob", "GET", V2 "jobs?username=ada", NULL, NULL, 200, "[]" },
        { "", "GET", V1 "jobs", NULL, NULL, 401, GUEST },
        { "", "GET", V1 "user/ada/jobs/p", NULL, NULL, 401, GUEST },
        { "", "GET", V1 "virtual-clusters", NULL, NULL, 401, GUEST },
        { "", "GET", V2 "jobs/protocolversion/config", NULL, NULL, 401, GUEST },
    };
    fix_rows(f, rows, ARRAY_LEN(rows));
    struct row config = { "ada", "GET", V2 "jobs/ada~p/config", NULL, NULL, 200, "******" };
    struct reply r = fix_ask(f, &config);
    assert_non_null(strstr(buf_str(&r.http.body), config.part));
    assert_null(strstr(buf_str(&r.http.body), "hunter2"));
    assert_string_equal(r.http.type, "text/yaml; charset=utf-8");
    reply_fini(&r);
}
RUN(strangers)

static void open_reads(struct fix *f)
{
    static const struct row rows[] = {
        { "ada", "POST", V1 "jobs",
          "{\"jobName\":\"o\",\"image\":\"i\",\"jobEnvs\":{\"K\":\"hunter2\"},\"taskRoles\":[" ROLE
          "]}",
          NULL, 201, NULL },
        { "", "GET", V1 "jobs", NULL, NULL, 200, "\"name\":\"o\"" },
        { "", "GET", V1 "user/ada/jobs", NULL, NULL, 200, "\"name\":\"o\"" },
        { "", "GET", V1 "user/bob/jobs", NULL, NULL, 200, "[]" },
        { "", "GET", V1 "user/ada/jobs/o", NULL, NULL, 200, "\"name\":\"ada~o\"" },
        { "", "GET", V1 "jobs/ada~o", NULL, NULL, 200, "\"name\":\"ada~o\"" },
        { "", "GET", V1 "jobs/ada/jobs/o/config", NULL, NULL, 200, "\"jobName\"" },
        { "", "GET", V1 "virtual-clusters", NULL, NULL, 200, "\"default\"" },
        { "wrong", "GET", V1 "jobs", NULL, NULL, 401, "Your token is invalid." },
        { "", "GET", V2 "jobs", NULL, NULL, 401, GUEST },
        { "bob", "GET", V2 "jobs", NULL, NULL, 200, "\"name\":\"o\"" },
        { "bob", "GET", V2 "jobs/ada~o", NULL, NULL, 200, "\"name\":\"ada~o\"" },
        { "ada", "GET", V1 "jobs/ada~o/config", NULL, NULL, 200, "hunter2" },
        { "bob", "PUT", V2 "jobs/ada~o/executionType", "{\"value\":\"STOP\"}", NULL, 403,
          "\"User bob is not allowed to execute job ada~o.\"" },
        { "bob", "DELETE", V1 "user/ada/jobs/o", NULL, NULL, 403,
          "\"User bob is not allowed to remove job ada~o.\"" },
        { "", "DELETE", V1 "user/ada/jobs/o", NULL, NULL, 401, GUEST },
        { "", "POST", V1 "jobs", OLD("x"), NULL, 401, GUEST },
    };
    fix_rows(f, rows, ARRAY_LEN(rows));
    static const char *const others[] = { "", "bob" };
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct reply r = fix_ask(
            f, &(struct row){ others[i], "GET", V1 "jobs/ada~o/config", NULL, NULL, 200, NULL });
        assert_int_equal(r.http.status, 200);
        assert_null(strstr(buf_str(&r.http.body), "hunter2"));
        reply_fini(&r);
    }
}
RUN(open_reads)

/* ---- what is said of a job ---- */

static void job_answers(struct fix *f)
{
    static const struct row first = { "ada", "POST", V2 "jobs", NEW("d"), FIX_YAML, 202, NULL };
    static const struct row rows[] = {
        { "ada", "GET", V2 "jobs/ada~d", NULL, NULL, 200, "\"appExitCode\":0" },
        { "ada", "GET", V2 "jobs/ada~d", NULL, NULL, 200, "\"taskState\":\"SUCCEEDED\"" },
        { "ada", "GET", V1 "user/ada/jobs/d", NULL, NULL, 200, "\"containerGpus\":0" },
        { "ada", "GET", V2 "jobs/ada~d/attempts/0", NULL, NULL, 200, "\"attemptId\":0" },
        { "ada", "GET", V2 "jobs/ada~d/attempts/1", NULL, NULL, 404,
          "\"JobAttemptId 1 is not found in ada~d.\"" },
        { "ada", "GET", V2 "jobs/ada~d/attempts/x", NULL, NULL, 404, NO_JOB },
        { "ada", "GET", V2 "jobs/ada~d/attempts/99999999999", NULL, NULL, 404, NO_JOB },
        { "ada", "GET", V2 "jobs/ada~d/job-attempts", NULL, NULL, 200, "\"isLatest\":true" },
        { "ada", "GET", V2 "jobs/ada~d/job-attempts/0", NULL, NULL, 200, "\"attemptIndex\":0" },
        { "ada", "GET", V2 "jobs/ada~d/job-attempts/2", NULL, NULL, 404, NO_JOB },
        { "ada", "GET", V2 "jobs/ada~d/job-attempts/healthz", NULL, NULL, 200, "ok" },
        { "ada", "GET", V2 "jobs/ada~d/events", NULL, NULL, 200, "\"reason\":\"Succeeded\"" },
        { "ada", "GET", V2 "jobs/ada~d/events?type=Warning", NULL, NULL, 200,
          "{\"totalCount\":0,\"data\":[]}" },
        { "ada", "GET", V2 "jobs/ada~d/attempts/0/taskRoles/w/taskIndex/0/attempts", NULL, NULL,
          200, "\"attemptState\":\"SUCCEEDED\"" },
        { "ada", "GET", V2 "jobs/ada~d/attempts/0/taskRoles/w/taskIndex/1/attempts", NULL, NULL,
          404, NO_JOB },
        { "ada", "GET", V2 "jobs/ada~d/attempts/0/taskRoles/x/taskIndex/0/attempts", NULL, NULL,
          404, NO_JOB },
        { "ada", "GET", V2 "jobs/ada~d/attempts/4/taskRoles/w/taskIndex/0/attempts", NULL, NULL,
          404, NO_JOB },
        { "ada", "GET", V2 "jobs/ada~d/attempts/0/taskRoles/w/taskIndex/0/attempts/0/logs", NULL,
          NULL, 200, "\"name\":\"stdout\",\"uri\":\"/log-manager/" },
        { "ada", "GET", V2 "jobs/ada~d/attempts/0/taskRoles/w/taskIndex/0/attempts/1/logs", NULL,
          NULL, 404, "\"NoTaskLogError\",\"message\":\"Log of task is not found.\"" },
        { "ada", "GET", V2 "jobs/ada~d/config", NULL, "application/json", 200,
          "\"type\": \"job\"" },
        { "ada", "GET", V2 "jobs/ada~d/config", NULL, "text/yaml", 200, "type: job" },
        { "ada", "GET", V1 "user/ada/jobs/d/config", NULL, NULL, 200, "\"jobName\": \"d\"" },
        { "ada", "GET", V1 "user/ada/jobs/d/config", NULL, "application/yaml", 200, "jobName: d" },
        { "ada", "GET", V1 "user/ada/jobs/d/ssh", NULL, NULL, 404,
          "\"SSH info of job ada~d is not found.\"" },
        { "ada", "GET", V2 "jobs/ada~d/ssh", NULL, NULL, 404, "NoJobSshInfoError" },
    };
    fix_rows(f, &first, 1);
    ended(f, V2 "jobs/ada~d", "SUCCEEDED");
    fix_rows(f, rows, ARRAY_LEN(rows));
}
RUN(job_answers)

static void job_commands(struct fix *f)
{
    static const struct row first[] = {
        { "ada", "POST", V2 "jobs", NEW("s"), FIX_YAML, 202, NULL },
        { "ada", "POST", V1 "jobs", OLD("g"), NULL, 201, NULL },
    };
    static const struct row rows[] = {
        { "ada", "PUT", V2 "jobs/ada~s/executionType", "{\"value\":\"START\"}", NULL, 202,
          "{\"status\":202,\"message\":\"Execute job ada~s successfully.\"}" },
        { "ada", "PUT", V2 "jobs/ada~s/executionType", "{\"value\":\"GO\"}", NULL, 400,
          "must be one of [START, STOP]" },
        { "ada", "PUT", V2 "jobs/ada~s/executionType", "{", NULL, 400, "InvalidParametersError" },
        { "ada", "PUT", V2 "jobs/ada~s/executionType", "[]", NULL, 400, "must be an object" },
        { "ada", "PUT", V2 "jobs/ada~s/executionType", NULL, NULL, 400, "must be one of" },
        { "ada", "PUT", V2 "jobs/ada~no/executionType", "{\"value\":\"STOP\"}", NULL, 404, NO_JOB },
        { "ada", "PUT", V1 "user/ada/jobs/g/executionType", "value=STOP", FIX_FORM, 202,
          "{\"message\":\"execute job ada~g successfully\"}" },
        { "ada", "PUT", V2 "jobs/ada~s/executionType", "{\"value\":\"STOP\"}", NULL, 202, NULL },
    };
    static const struct row after[] = {
        { "ada", "GET", V2 "jobs/ada~s", NULL, NULL, 200, "\"appExitCode\":-210" },
        { "ada", "GET", V2 "jobs/ada~s", NULL, NULL, 200, "\"executionType\":\"STOP\"" },
        { "ada", "GET", V1 "jobs/ada~g", NULL, NULL, 200, "\"appExitCode\":-7351" },
        { "ada", "PUT", V2 "jobs/ada~s/executionType", "{\"value\":\"STOP\"}", NULL, 202, NULL },
        { "ada", "PUT", V2 "jobs/ada~s/executionType", "{\"value\":\"START\"}", NULL, 400,
          "cannot be started again" },
        { "ada", "PUT", V2 "jobs/ada~s/tag", "{\"value\":\"one\"}", NULL, 200, "\"status\":200" },
        { "ada", "PUT", V2 "jobs/ada~s/tag", "{\"value\":\"one\"}", NULL, 200, NULL },
        { "ada", "PUT", V2 "jobs/ada~s/tag", "{\"value\":\"a,b\"}", NULL, 400, "comma" },
        { "ada", "PUT", V2 "jobs/ada~s/tag", "{\"value\":7}", NULL, 400, "text" },
        { "ada", "GET", V2 "jobs/ada~s", NULL, NULL, 200, "\"tags\":[\"one\"]" },
        { "ada", "GET", V2 "jobs?tagsContain=one", NULL, NULL, 200, "\"name\":\"s\"" },
        { "ada", "DELETE", V2 "jobs/ada~s/tag", "{\"value\":\"two\"}", NULL, 404, "NoTagError" },
        { "ada", "DELETE", V2 "jobs/ada~s/tag", "{\"value\":\"one\"}", NULL, 200, NULL },
        { "ada", "GET", V2 "jobs?tagsContain=one", NULL, NULL, 200, "[]" },
        { "ada", "DELETE", V1 "user/ada/jobs/g", NULL, NULL, 202,
          "{\"message\":\"deleted job ada~g successfully\"}" },
        { "ada", "DELETE", V1 "user/ada/jobs/g", NULL, NULL, 404, NO_JOB },
        { "ada", "POST", V1 "jobs", OLD("g"), NULL, 201, NULL },
        { "ada", "DELETE", V1 "jobs/ada~g", NULL, NULL, 202, NULL },
    };
    f->served.world.code_all = FAKE_RUNS;
    fix_rows(f, first, ARRAY_LEN(first));
    fix_rows(f, rows, ARRAY_LEN(rows));
    ended(f, V2 "jobs/ada~s", "STOPPED");
    ended(f, V1 "jobs/ada~g", "STOPPED");
    fix_rows(f, after, ARRAY_LEN(after));
}
RUN(job_commands)

static int fails(uint64_t job, const char *role, uint32_t index, uint32_t attempt)
{
    (void)job;
    (void)role;
    (void)attempt;
    return index ? FAKE_RUNS : 3;
}

static void failures(struct fix *f)
{
    static const struct row first = { "ada", "POST", V2 "jobs", NEW("f"), FIX_YAML, 202, NULL };
    static const struct row rows[] = {
        { "ada", "GET", V2 "jobs/ada~f", NULL, NULL, 200, "\"appExitTriggerTaskRoleName\":\"w\"" },
        { "ada", "GET", V2 "jobs/ada~f", NULL, NULL, 200, "\"appExitCode\":255" },
        { "ada", "GET", V2 "jobs/ada~f", NULL, NULL, 200,
          "\"phrase\":\"PAIRuntimeUnknownFailed\"" },
        { "ada", "GET", V2 "jobs/ada~f", NULL, NULL, 200, "\"containerExitCode\":255" },
        { "ada", "GET", V2 "jobs/ada~f/job-attempts", NULL, NULL, 200, "\"exitCode\":255" },
        { "ada", "GET", V2 "jobs/ada~f/events?type=Warning", NULL, NULL, 200, "TaskFailed" },
        { "ada", "GET", V2 "jobs?state=FAILED", NULL, NULL, 200, "\"appExitCode\":null" },
    };
    f->served.world.by_attempt = fails;
    fix_rows(f, &first, 1);
    ended(f, V2 "jobs/ada~f", "FAILED");
    fix_rows(f, rows, ARRAY_LEN(rows));
}
RUN(failures)

/* Turns of the loop between which the answer was made. */
static unsigned slices_of(struct fix *f, const char *path, const char *part)
{
    const struct row row = { "ada", "GET", path, NULL, NULL, 200, part };
    unsigned before = f->served.slices;
    fix_rows(f, &row, 1);
    return f->served.slices - before;
}

/* All tasks of each start, and all events, are looked at and put in pages of 64. */
static void long_answers(struct fix *f)
{
    static const struct row first = { "ada",
                                      "POST",
                                      V2 "jobs",
                                      "protocolVersion: 2\nname: m\ntype: job\n"
                                      "prerequisites: [{name: img, type: dockerimage, uri: d}]\n"
                                      "taskRoles:\n  w:\n    instances: 320\n"
                                      "    dockerImage: img\n    commands: [\"true\"]\n"
                                      "    resourcePerInstance: {cpu: 0, memoryMB: 0, gpu: 0}\n",
                                      FIX_YAML,
                                      202,
                                      NULL };
    fix_rows(f, &first, 1);
    ended(f, V2 "jobs/ada~m", "SUCCEEDED");
    assert_true(slices_of(f, V2 "jobs/ada~m/job-attempts", "\"taskIndex\":319,") >= 8);
    assert_true(slices_of(f, V2 "jobs/ada~m/job-attempts/0", "\"taskIndex\":319,") >= 8);
    assert_true(slices_of(f, V2 "jobs/ada~m/events", "\"totalCount\":64") >= 8);
}
RUN(long_answers)

/* ---- lists ---- */

/* Names of the jobs of a list, one after the other. */
static void expect_names(struct fix *f, const char *query, const char *want)
{
    char path[256], got[64] = "";
    snprintf(path, sizeof path, V2 "jobs?%s", query);
    struct reply r = fix_ask(f, &(struct row){ "ada", "GET", path, NULL, NULL, 200, NULL });
    assert_int_equal(r.http.status, 200);
    const struct text_node *list = r.root->kind == TEXT_MAP ? text_get(r.root, "data") : r.root;
    for (const struct text_node *one = list->first; one; one = one->next)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s", fix_text(one, "name"));
    if (strcmp(got, want) != 0)
        fail_msg("%s: \"%s\", not \"%s\"", query, got, want);
    reply_fini(&r);
}

static void lists(struct fix *f)
{
    static const struct row first[] = {
        { "ada", "POST", V2 "jobs", NEW("c"), FIX_YAML, 202, NULL },
        { "ada", "POST", V2 "jobs",
          NEW_WITH("a", "extras: {hivedScheduler: {jobPriorityClass: prod}}\n"), FIX_YAML, 202,
          NULL },
        { "ada", "POST", V1 "jobs", OLD("b"), NULL, 201, NULL },
    };
    static const struct {
        const char *query, *names;
    } cases[] = {
        { "", "bac" },
        { "order=jobName,ASC", "abc" },
        { "order=jobName,DESC", "cba" },
        { "order=submissionTime,ASC", "cab" },
        { "order=submissionTime,DESC", "bac" },
        { "order=username,ASC", "cab" },
        { "order=retries,DESC", "bac" },
        { "order=completionTime,ASC", "cab" },
        { "order=nothing,ASC", "bac" },
        { "order=jobName", "bac" },
        { "order=jobName,ASC&offset=1&limit=1", "b" },
        { "offset=1", "ac" },
        { "offset=2&limit=9", "c" },
        { "offset=3", "" },
        { "limit=0", "" },
        { "limit=1", "b" },
        { "username=ada,bob", "bac" },
        { "username=bob", "" },
        { "vc=default", "bac" },
        { "vc=other", "" },
        { "vc=default,other", "bac" },
        { "state=SUCCEEDED", "bac" },
        { "state=SUCCEEDED,FAILED", "bac" },
        { "state=RUNNING,WAITING,STOPPING", "" },
        { "state=nonsense", "" },
        { "keyword=a", "bac" }, /* the user's name */
        { "keyword=zz", "" },
        { "keyword=", "bac" },
        { "jobPriority=prod", "a" },
        { "jobPriority=default", "bc" },
        { "jobPriority=default,prod", "bac" },
        { "tagsContain=t", "" },
        { "tagsNotContain=t", "bac" },
        { "withTotalCount=true&limit=1", "b" },
        { "withTotalCount=true&order=jobName,ASC&limit=2", "ab" },
    };
    static const struct row rows[] = {
        { "ada", "GET", V2 "jobs?withTotalCount=true&limit=1", NULL, NULL, 200,
          "{\"totalCount\":3,\"data\":[{" },
        { "ada", "GET", V2 "jobs?withTotalCount=true&keyword=zz", NULL, NULL, 200,
          "{\"totalCount\":0,\"data\":[]}" },
        { "ada", "GET", V2 "jobs?limit=50000", NULL, NULL, 200, NULL },
        { "ada", "GET", V2 "jobs?limit=50001", NULL, NULL, 400,
          "\"Limit exceeds max number 50000.\"" },
        { "ada", "GET", V2 "jobs?limit=x", NULL, NULL, 400, "InvalidParametersError" },
        { "ada", "GET", V2 "jobs?offset=-1", NULL, NULL, 400, "InvalidParametersError" },
        { "ada", "GET", V1 "jobs?username=ada", NULL, NULL, 200, "\"name\":\"c\"" },
        { "ada", "GET", V1 "user/bob/jobs", NULL, NULL, 200, "[]" },
    };
    fix_rows(f, first, ARRAY_LEN(first));
    ended(f, V2 "jobs/ada~c", "SUCCEEDED");
    ended(f, V2 "jobs/ada~a", "SUCCEEDED");
    ended(f, V2 "jobs/ada~b", "SUCCEEDED");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_names(f, cases[i].query, cases[i].names);
    fix_rows(f, rows, ARRAY_LEN(rows));
}
RUN(lists)

/* Sends a request and leaves before it is answered. */
static void leave(struct fix *f, const char *path)
{
    char text[512];
    struct sockaddr_in to = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int len = snprintf(text, sizeof text,
                       "GET %s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\n\r\n", path,
                       f->users[0].token);
    to.sin_port = htons((uint16_t)strtoul(strrchr(f->served.address, ':') + 1, NULL, 10));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(send(fd, text, (size_t)len, MSG_NOSIGNAL), len);
    close(fd);
}

static size_t rows_of(struct fix *f, const char *path, const char *first)
{
    struct reply r = fix_ask(f, &(struct row){ "ada", "GET", path, NULL, NULL, 200, NULL });
    assert_int_equal(r.http.status, 200);
    const struct text_node *list = r.root->kind == TEXT_MAP ? text_get(r.root, "data") : r.root;
    size_t n = list->count;
    if (n)
        assert_string_equal(fix_text(list->first, "name"), first);
    reply_fini(&r);
    return n;
}

/* Lists that are made in pieces are whole; who leaves meanwhile leaves nothing behind. */
static void long_lists(struct fix *f)
{
    enum { JOBS = 230 };
    for (int i = 0; i < JOBS; i++) {
        char text[512];
        snprintf(text, sizeof text, OLD("j%03d"), i);
        const struct row row = { "ada", "POST", V1 "jobs", text, NULL, 201, NULL };
        fix_rows(f, &row, 1);
    }
    leave(f, V1 "jobs");
    leave(f, V2 "jobs?order=jobName,ASC");
    assert_int_equal(rows_of(f, V1 "jobs", "j229"), JOBS);
    assert_int_equal(rows_of(f, V2 "jobs", "j229"), JOBS);
    assert_int_equal(rows_of(f, V2 "jobs?limit=150&withTotalCount=true", "j229"), 150);
    assert_int_equal(rows_of(f, V2 "jobs?offset=100", "j129"), 130);
    assert_int_equal(rows_of(f, V2 "jobs?offset=100&limit=120", "j129"), 120);
    assert_int_equal(rows_of(f, V2 "jobs?order=jobName,ASC&offset=5", "j005"), 225);
    assert_int_equal(rows_of(f, V2 "jobs?keyword=j00", "j009"), 10);
    const struct row total = { "ada",
                               "GET",
                               V2 "jobs?keyword=j1&limit=2&withTotalCount=true",
                               NULL,
                               NULL,
                               200,
                               "{\"totalCount\":100," };
    fix_rows(f, &total, 1);
}
RUN(long_lists)

/* ---- the cluster ---- */

static void cluster(struct fix *f)
{
    static const struct row rows[] = {
        { "ada", "GET", V2 "virtual-clusters", NULL, NULL, 200, "\"resourcesGuaranteed\"" },
        { "ada", "GET", V1 "virtual-clusters", NULL, NULL, 200, "\"resourcesTotal\"" },
        { "ada", "GET", V2 "virtual-clusters?nodes", NULL, NULL, 200, "\"gpuAvailable\"" },
        { "ada", "GET", V2 "virtual-clusters/default", NULL, NULL, 200, "\"status\":\"RUNNING\"" },
        { "ada", "GET", V1 "virtual-clusters/none", NULL, NULL, 404, "\"Vc none not found\"" },
        { "ada", "GET", V2 "virtual-clusters/default/sku-types", NULL, NULL, 200, "\"memory\"" },
        { "ada", "GET", V2 "virtual-clusters/none/sku-types", NULL, NULL, 404, "Vc none" },
        { "ada", "GET", V2 "cluster/sku-types", NULL, NULL, 200, "\"cpu\"" },
        { "ada", "GET", V2 "cluster/sku-types?vc=none", NULL, NULL, 404, "NoVirtualClusterError" },
        { "ada", "PUT", V2 "virtual-clusters/default", "{}", NULL, 403, "Non-admin" },
        { "root", "PUT", V1 "virtual-clusters/default", "{}", NULL, 400, "NotImplementedError" },
        { "root", "PUT", V2 "virtual-clusters/x/status", "{}", NULL, 400, "NotImplementedError" },
        { "root", "DELETE", V2 "virtual-clusters/x", NULL, NULL, 400, "NotImplementedError" },
        { "root", "POST", "/v1/catalogue", "kind: dataset\nname: d\nuri: nfs://s/p/q\n", FIX_YAML,
          200, NULL },
        { "root", "POST", "/v1/catalogue", "kind: dataset\nname: e\nuri: file:///data\npath: /e\n",
          FIX_YAML, 200, NULL },
        { "ada", "GET", V2 "storages", NULL, NULL, 200, "{\"storages\":[{\"name\":\"d\"" },
        { "ada", "GET", V2 "storages?default=true", NULL, NULL, 200, "{\"storages\":[]}" },
        { "ada", "GET", V2 "storages/d", NULL, NULL, 200,
          "\"data\":{\"server\":\"s\",\"path\":\"/p/q\"},\"type\":\"nfs\"" },
        { "ada", "GET", V2 "storages/e", NULL, NULL, 200, "\"type\":\"other\"" },
        { "ada", "GET", V2 "storages/x", NULL, NULL, 404, "NoStorageError" },
        { "ada", "GET", V2 "storage/config", NULL, NULL, 200, "\"mountPoint\":\"/mnt/d\"" },
        { "ada", "GET", V2 "storage/config/e", NULL, NULL, 200, "\"mountPoint\":\"/e\"" },
        { "ada", "GET", V2 "storage/config/x", NULL, NULL, 404, "NoStorageError" },
        { "ada", "GET", V2 "storage/server", NULL, NULL, 200, "[{\"spn\":\"d\"" },
        { "ada", "GET", V2 "storage/server/d", NULL, NULL, 200, "{\"spn\":\"d\"" },
        { "ada", "GET", V2 "kubernetes/nodes", NULL, NULL, 403, "Non-admin" },
        { "root", "GET", V2 "kubernetes/nodes", NULL, NULL, 200, "\"kind\":\"NodeList\"" },
        { "root", "GET", V1 "kubernetes/pods", NULL, NULL, 200, "\"kind\":\"PodList\"" },
        { "ada", "GET", V2 "alerts", NULL, NULL, 200, "[]" },
    };
    fix_rows(f, rows, ARRAY_LEN(rows));
}
RUN(cluster)

/* ---- words ---- */

static void words_of_jobs(void **state)
{
    static const struct {
        enum job_state state;
        enum job_outcome outcome;
        uint32_t running;
        const char *v1, *v2;
    } cases[] = {
        { JOB_SUSPENDED, OUTCOME_NONE, 0, "WAITING", "WAITING" },
        { JOB_QUEUED, OUTCOME_NONE, 0, "WAITING", "WAITING" },
        { JOB_STARTING, OUTCOME_NONE, 0, "WAITING", "WAITING" },
        { JOB_STARTING, OUTCOME_NONE, 1, "RUNNING", "RUNNING" },
        { JOB_RUNNING, OUTCOME_NONE, 2, "RUNNING", "RUNNING" },
        { JOB_RUNNING, OUTCOME_NONE, 0, "WAITING", "WAITING" },
        { JOB_RESTARTING, OUTCOME_REQUEUED, 0, "WAITING", "RUNNING" },
        { JOB_STOPPING, OUTCOME_STOPPED, 1, "RUNNING", "STOPPING" },
        { JOB_STOPPING, OUTCOME_STOPPED, 0, "WAITING", "STOPPING" },
        { JOB_STOPPING, OUTCOME_FAILED, 1, "RUNNING", "RUNNING" },
        { JOB_SUCCEEDED, OUTCOME_NONE, 0, "SUCCEEDED", "SUCCEEDED" },
        { JOB_FAILED, OUTCOME_NONE, 0, "FAILED", "FAILED" },
        { JOB_STOPPED, OUTCOME_NONE, 0, "STOPPED", "STOPPED" },
    };
    struct arena *a = arena_create();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct listed_job job = { .row = { .state = cases[i].state,
                                                 .outcome = cases[i].outcome },
                                        .running = cases[i].running };
        assert_string_equal(pai_job_word(PAI_V1, &job), cases[i].v1);
        assert_string_equal(pai_job_word(PAI_V2, &job), cases[i].v2);
    }
    assert_string_equal(pai_task_word(TASK_WAITING), "WAITING");
    assert_string_equal(pai_attempt_word(ATTEMPT_LOST), "FAILED");
    assert_string_equal(pai_attempt_word(ATTEMPT_NONE), "WAITING");
    assert_string_equal(pai_priority(8), "prod");
    assert_null(pai_priority(2));
    assert_null(pai_priority(99));
    assert_int_equal(strlen(pai_debug_id(a, "ada~x")), 32);
    assert_string_not_equal(pai_debug_id(a, "ada~x"), pai_debug_id(a, "ada~y"));
    arena_destroy(a);
}

/* Two tasks, three starts: the second start's first task failed after a retry of its own. */
static void attempts_by_start(void **state)
{
    struct attempt_view rows[] = {
        { .generation = 1,
          .attempt = 1,
          .state = ATTEMPT_FAILED,
          .ended_ms = 10,
          .has_exit_code = true,
          .exit_code = 3 },
        { .generation = 2,
          .attempt = 2,
          .state = ATTEMPT_FAILED,
          .ended_ms = 20,
          .has_exit_code = true,
          .exit_code = 4 },
        { .generation = 2, .attempt = 3, .state = ATTEMPT_LOST, .ended_ms = 30 },
        { .generation = 3, .attempt = 4, .state = ATTEMPT_RUNNING },
    };
    struct task_view one = { .role = "w", .attempts = { rows, ARRAY_LEN(rows) } };
    const struct task_view *task = &one;
    const struct job_view view = { .generation = 3, .task_list = { &one, 1 } }, *job = &view;
    uint64_t first = UINT64_MAX;
    int64_t code;
    (void)state;
    assert_true(pai_attempt_of(job) == 2);
    assert_true(pai_attempts(task, 0) == 1 && pai_attempts(task, 1) == 2);
    assert_true(pai_attempts(task, 3) == 0);
    assert_int_equal(pai_attempt(task, 1, 1)->attempt, 3);
    assert_null(pai_attempt(task, 1, 2));
    assert_true(pai_failed_before(task, 1, &first) && first == 30);
    assert_false(pai_failed_before(task, 1, &first));
    assert_false(pai_failed_before(task, 2, &first));
    assert_ptr_equal(pai_task(job, "w", 0), task);
    assert_null(pai_task(job, "w", 1));
    assert_true(pai_exit_code(PAI_V2, pai_attempt(task, 0, 0), &code) && code == 3);
    assert_false(pai_exit_code(PAI_V2, pai_attempt(task, 2, 0), &code));
    assert_false(pai_exit_code(PAI_V2, NULL, &code));
}

static void small_readers(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *last;
    } cases[] = { { NULL, 0, NULL },    { "", 0, NULL },   { "a", 1, "a" },  { "a,b", 2, "b" },
                  { ",a,,b,", 2, "b" }, { ",,", 0, NULL }, { " a", 1, " a" } };
    struct arena *a = arena_create();
    uint64_t n;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct words words = pai_list(a, cases[i].text);
        assert_int_equal(words.n, cases[i].n);
        if (words.n)
            assert_string_equal(words.at[words.n - 1], cases[i].last);
    }
    assert_true(pai_number_of("0", &n) && n == 0);
    assert_true(pai_number_of("999999999", &n) && n == 999999999);
    static const char *const bad[] = { "", "x", "1x", "-1", " 1", "1000000000" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(pai_number_of(bad[i], &n));
    struct text_node *map = text_map(a, NULL, NULL);
    text_str(a, map, "yes", "true");
    text_bool(a, map, "no", false);
    text_int(a, map, "less", -4);
    assert_true(pai_true(map, "yes") && !pai_true(map, "no") && !pai_true(map, "none"));
    assert_true(text_number(map, "less") == 0 && text_number(NULL, "x") == 0);
    assert_null(pai_text(map, "no"));
    arena_destroy(a);
}

/* Forms of the SDK and of VS Code: brackets encoded or not, null as nothing. */
static void forms(void **state)
{
    static const struct {
        const char *form, *json; /* NULL: refused */
    } cases[] = {
        { "jobName=a+b%21", "{\"jobName\":\"a b!\"}" },
        { "taskRoles%5B0%5D%5Bname%5D=w&taskRoles[1][name]=v",
          "{\"taskRoles\":[{\"name\":\"w\"},{\"name\":\"v\"}]}" },
        { "taskRoles[0][minFailedTaskCount]=&taskRoles[0][minSucceededTaskCount]=1",
          "{\"taskRoles\":[{\"minFailedTaskCount\":null,\"minSucceededTaskCount\":\"1\"}]}" },
        { "image=&taskRoles[0][command]=", "{\"image\":\"\",\"taskRoles\":[{\"command\":\"\"}]}" },
        { "a=1&a[b]=2", NULL },
        { "a=%zz", NULL },
        { "a=%00", NULL },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena *a = arena_create();
        const char *text = cases[i].form;
        size_t len = strlen(text);
        struct report report, plain;
        report_init(&report, a);
        report_init(&plain, a);
        const struct text_node *tree = pai_job_form(a, &text, &len, &report);
        assert_int_equal(tree != NULL, cases[i].json != NULL);
        if (!tree) {
            assert_false(report_ok(&report));
        } else {
            const char *json = cases[i].json;
            assert_true(text_equal(tree, json_parse(a, json, strlen(json), 0, &plain)));
            assert_true(text_equal(tree, json_parse(a, text, len, 0, &plain)));
        }
        arena_destroy(a);
    }
}

/* Paths are told apart by their segments: no two routes answer the same request. */
static void routes_are_distinct(void **state)
{
    size_t n;
    const struct pai_route *routes = pai_routes(&n);
    (void)state;
    for (size_t i = 0; i < n; i++) {
        size_t params = 0;
        for (const char *c = routes[i].path; (c = strstr(c, "{}")); c += 2)
            params++;
        assert_true(params <= PAI_PARAMS);
        assert_non_null(routes[i].handle);
        for (size_t k = i + 1; k < n; k++)
            if (strcmp(routes[i].method, routes[k].method) == 0 &&
                strcmp(routes[i].path, routes[k].path) == 0)
                assert_int_equal(routes[i].versions & routes[k].versions, 0);
    }
}

int main(void)
{
#define T(name)  cmocka_unit_test_setup_teardown(name##_test, fix_set_up, fix_tear_down)
#define TO(name) cmocka_unit_test_setup_teardown(name##_test, fix_set_up_open, fix_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_jobs),
        cmocka_unit_test(attempts_by_start),
        cmocka_unit_test(small_readers),
        cmocka_unit_test(forms),
        cmocka_unit_test(routes_are_distinct),
        T(roots_and_paths),
        T(logins),
        T(tokens),
        T(users),
        T(submissions),
        T(strangers),
        TO(open_reads),
        T(job_answers),
        T(job_commands),
        T(failures),
        T(long_answers),
        T(lists),
        T(long_lists),
        T(cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
