// set: sweeps; hundreds of damaged requests to every operation
/**
 * Every operation of openapi.json, with its examples, with values of its schemas and with damaged ones: no request is answered by 500,
 * and every response is one that the document describes. `npm run fuzz -- api` sends thirty times as many, with a seed that it prints.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { matchRoute } from '../../src/platform/web/routes.ts';
import { errorFormatOf } from '../../src/rules/index.ts';
import { type Answer, ApiDocument, type ListedOperation } from '../api-fuzz/document.ts';
import { type FuzzFixture, startFuzzFixture, type TextGroup } from '../api-fuzz/fixture.ts';
import { exampleRequests, type FuzzRequest, requestsOf } from '../api-fuzz/requests.ts';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { errorCode } from '../support/error-body.ts';
import { runs, SEED } from '../support/properties.ts';

/** Requests per operation. */
const COUNT = 14;
/** Operations that cost a password hash or a picture for each request. */
const COSTLY = /^(?:console\.(?:signIn|useLink|password)|images\.)/;
const COSTLY_COUNT = 4;
/** Operations at a time. */
const LANES = 8;

let fixture: FuzzFixture;
let document: ApiDocument;
before(async () => {
  fixture = await startFuzzFixture();
  document = new ApiDocument(await (await fetch(`${fixture.gateway.url}/openapi.json`)).json());
});
after(() => fixture?.close());

/** The group whose models the examples name. */
function groupOf(operationId: string): TextGroup {
  if (/^(?:messages|messageBatches|chat)\./.test(operationId)) return 'messages';
  return /^(?:generate|googleFiles|interactions|caches)\./.test(operationId) ? 'generate' : 'responses';
}

/** Of the operation that the request reaches: a changed method may end the session. */
async function credentials(operationId: string, { method, target }: FuzzRequest, group: TextGroup) {
  if (operationId.startsWith('admin.')) return { authorization: `Bearer ${ADMIN_TOKEN}` };
  if (!operationId.startsWith('console.')) return { authorization: `Bearer ${fixture.keys[group]}` };
  const reached = matchRoute(method, pathOf(target))?.route.operation ?? '';
  return (ENDS_SESSION.has(reached) ? await fixture.newSession() : fixture.person).headers();
}

const ENDS_SESSION: ReadonlySet<string> = new Set(['console.signOut', 'console.password', 'console.signIn']);
/** fetch resolves dots, as browsers do. */
const pathOf = (target: string): string => new URL(target, fixture.gateway.url).pathname;

async function send(request: FuzzRequest, headers: Record<string, string>): Promise<Answer> {
  const { method, target, type, body } = request;
  const response = await fetch(fixture.gateway.url + target, {
    method,
    redirect: 'manual',
    headers: { ...headers, ...request.headers, ...(type && { 'content-type': type }) },
    ...(body !== undefined && { body }),
  });
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    headers: response.headers,
    text: await response.text(),
  };
}

/** Judged by the operation that the request reaches, which is another one after a change of its path or method. */
function judge({ method, target }: FuzzRequest, answer: Answer): string | undefined {
  if (answer.status === 500) return 'an internal error';
  if (method === 'HEAD' || method === 'OPTIONS') return undefined;
  const path = pathOf(target);
  const route = matchRoute(method, path)?.route;
  if (!route) return judgeUnrouted(path, answer);
  const operation = document.operations.find(({ operationId }) => operationId === route.operation);
  return operation ? document.problemOf(operation, answer) : `${route.operation} is not described`;
}

function judgeUnrouted(path: string, { status, text }: Answer): string | undefined {
  // The console's address without its slash.
  if (status === 302) return undefined;
  if (![400, 404, 405].includes(status)) return 'a path or method that does not exist';
  errorCode(errorFormatOf(path), status, JSON.parse(text));
  return undefined;
}

/** Number of responses by status. */
const statuses = new Map<number, number>();

/** Sends a request, and says what is wrong with its response. */
async function exchange(
  operationId: string,
  request: FuzzRequest,
  group: TextGroup,
): Promise<{ readonly answer: Answer; readonly problem: string | undefined }> {
  const answer = await send(request, await credentials(operationId, request, group));
  statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
  const found = judge(request, answer);
  const shown = JSON.stringify({ ...request, body: request.body?.slice(0, 300) });
  const problem =
    found &&
    `${operationId}: ${found.slice(0, 300)}\n  ${shown} (${group})\n  ${answer.status} ${answer.text.slice(0, 400)}`;
  return { answer, problem };
}

/** They destroy objects that others name, so that they come last. */
const DESTROYS = /\.(?:delete|removeItem|revoke|rotate|signOut|cancel|drain|park)/;
/** Deletions come after what leaves a part of the object. */
const LEAVES = /\.(?:removeItem|cancel)/;
const rank = ({ operationId }: ListedOperation): number =>
  LEAVES.test(operationId) ? 1 : 2 * Number(DESTROYS.test(operationId));

test('every example of the reference is accepted, or its object is in another state', async () => {
  for (const operation of document.operations.filter(({ operationId }) => !DESTROYS.test(operationId)))
    for (const request of exampleRequests(operation, fixture.ids)) {
      const { operationId } = operation;
      const { answer, problem } = await exchange(operationId, request, groupOf(operationId));
      assert.ok(problem === undefined, String(problem));
      if (operation.requestBody) assert.doesNotMatch(answer.text, /"invalid_(?:request|value)"/, operationId);
    }
});

/** No group has it, they need a link, or what they name does not exist or has not ended. */
const NOT_SERVED = new Set([
  'containers.create',
  'files.link',
  'files.piece',
  'batches.create',
  'messageBatches.results',
  'messageBatches.delete',
]);

test('what callers keep is created, read, changed and deleted as openapi.json describes it', async () => {
  const kept = document.operations.filter(
    ({ operationId }) =>
      /^(?:search|interactions|caches|containers|files|googleFiles|batches|messageBatches|conversations)\./.test(
        operationId,
      ) && !NOT_SERVED.has(operationId),
  );
  for (const operation of kept.toSorted((one, other) => rank(one) - rank(other))) {
    const { operationId } = operation;
    if (/\.(?:v1|root)$/.test(operationId)) continue;
    for (const request of exampleRequests(operation, fixture.ids)) {
      const { answer, problem } = await exchange(operationId, request, groupOf(operationId));
      assert.deepEqual([answer.status, problem], [200, undefined], `${operationId}: ${answer.text}`);
    }
  }
});

test('no request to any operation gets 500 or a response that openapi.json does not describe', {
  timeout: 3_600_000,
}, async (t) => {
  const problems: string[] = [];
  const fuzz = async (operation: ListedOperation): Promise<void> => {
    const { operationId } = operation;
    const property = fc.asyncProperty(
      requestsOf(operation, document, fixture.ids),
      fc.constantFrom<TextGroup>(groupOf(operationId), groupOf(operationId), 'responses', 'messages', 'generate'),
      async (request, group) => {
        const { problem } = await exchange(operationId, request, group);
        if (problem) problems.push(problem);
        return problem === undefined;
      },
    );
    await fc.check(property, {
      seed: SEED + document.operations.indexOf(operation),
      numRuns: runs(COSTLY.test(operationId) ? COSTLY_COUNT : COUNT),
      // A shorter request would have to be sent to a gateway that the failure has changed.
      endOnFailure: true,
    });
  };
  const waiting = document.operations.toSorted((one, other) => rank(one) - rank(other));
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      for (let operation = waiting.shift(); operation; operation = waiting.shift()) await fuzz(operation);
    }),
  );
  t.diagnostic(JSON.stringify(Object.fromEntries([...statuses].sort(([one], [other]) => one - other))));
  assert.ok(problems.length === 0, problems.join('\n'));
  for (const status of [200, 201, 400, 401, 404, 405]) assert.ok(statuses.has(status), `some responses are ${status}`);
  assert.deepEqual(
    fixture.gateway.log.filter(({ msg }) => msg === 'request.internal_error'),
    [],
  );
  assert.equal((await fetch(`${fixture.gateway.url}/readyz`)).status, 200);
});
