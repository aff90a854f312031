// Calls of the OpenPAI SDK in the order given on standard input, one answer a call:
// {cluster, calls: [[version, "job.getJob", [arguments]], ...]} -> [{value} or {error}]
'use strict';

async function answer(clients, call) {
  const [version, path, args] = call;
  const [group, method] = path.split('.');
  try {
    const value = await clients[version][group][method](...args);
    return { value: value === undefined ? null : value };
  } catch (e) {
    const data = e.data || e.error;
    return { error: { name: e.name, status: e.status || e.statusCode, data, message: e.message } };
  }
}

async function main() {
  const sdk = require('@microsoft/openpai-js-sdk');
  let text = '';
  for await (const part of process.stdin) text += part;
  const { cluster, calls } = JSON.parse(text);
  const clients = {
    v1: new sdk.PAIV1.OpenPAIClient(Object.assign({}, cluster)),
    v2: new sdk.PAIV2.OpenPAIClient(Object.assign({}, cluster)),
  };
  const answers = [];
  for (const call of calls) answers.push(await answer(clients, call));
  process.stdout.write(JSON.stringify(answers));
}

main();
