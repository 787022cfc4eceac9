/** The API of the console in the reference: sign-in, and what people of a user see. It changes with the console. */
import type { z } from 'zod';
import {
  type ConsoleOperation,
  CSRF_HEADER,
  consoleRow,
  type ErrorCode,
  LINK_MS,
  OPERATION_ERRORS,
  PERSON_ROLES,
  STYLES,
  VIDEO_OPERATION_ERRORS,
} from '../rules/index.ts';
import { errorResponses } from './errors.ts';
import { withHeaders } from './headers.ts';
import type { OperationDescription } from './inference.ts';
import { LIMITS } from './operator-config.ts';
import { STATEMENT, USD, USER_USAGE } from './operator-money.ts';
import { UNDESCRIBED } from './operators.ts';
import {
  arrayOf,
  BOOLEAN,
  described,
  INTEGER,
  JSON_TYPE,
  json,
  MONEY,
  nullable,
  object,
  pageSchema,
  ref,
  type Schema,
  TEXT,
  wordOf,
} from './schema.ts';
import { jsonSchemaOf, queryParameters } from './zod.ts';

export interface ConsoleSchemas {
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
}

const LINK_PURPOSES = Object.keys(LINK_MS);

type Responses = Readonly<Record<string, object>>;

export const CONSOLE_COMPONENTS: Readonly<Record<string, Schema>> = {
  Session: object({
    person: object({
      id: TEXT,
      name: TEXT,
      email: TEXT,
      role: wordOf(PERSON_ROLES),
      user: nullable('string'),
    }),
    csrf: described(`for the header ${CSRF_HEADER} of requests that change something`, TEXT),
    oidc: described('sign-in with OpenID Connect is offered', BOOLEAN),
  }),
  /** With what the sign-in page needs. */
  NoSession: object({
    error: ref('OpenAiErrorFacts'),
    oidc: BOOLEAN,
    first_run: described('there is no operator yet', BOOLEAN),
  }),
  Me: object({
    object: { const: 'me' },
    user: TEXT,
    ...USD,
    balance: object({ available: MONEY, held: MONEY }),
    limits: object({}, { ...LIMITS, spent_day: MONEY, spent_month: MONEY }),
    max_keys: INTEGER,
    own_keys: INTEGER,
    groups: arrayOf(object({ id: TEXT, name: TEXT, style: wordOf(STYLES) })),
  }),
};

const SESSION = json('The person who is signed in', ref('Session'));
const PAGE = { description: 'To a page of the console, or of the OpenID provider' } as const;
const KEY = json('The key', ref('OwnKey'));
const BYTES = { ...TEXT, format: 'binary' } as const;
const file = (description: string, type: string): object => ({ description, content: { [type]: { schema: BYTES } } });
const NOT_BUILT = {
  description: 'The console is not built, or the server is overloaded',
  content: { 'text/html': { schema: BYTES }, [JSON_TYPE]: { schema: ref('OpenAiError') } },
} as const;
const result = (type: string): Responses => ({
  200: file('The whole file', type),
  206: file('The part that `Range` selects', type),
  416: { description: 'No byte is in the range; `content-range` has the size' },
});

/** An operation that is not here is described by its row and its schemas alone. */
const RESPONSES: Readonly<Partial<Record<ConsoleOperation, Responses>>> = {
  'console.files': {
    200: file('The file; a path that names none is a page', '*/*'),
    304: { description: 'The browser has the file' },
    503: NOT_BUILT,
  },
  'console.reference': {
    200: file('The page', 'text/html'),
    304: { description: 'The browser has the page' },
    503: NOT_BUILT,
  },
  'console.referenceFile': {
    200: file('The file', '*/*'),
    304: { description: 'The browser has the file' },
    503: NOT_BUILT,
  },
  'console.session': { 200: SESSION, 401: json('Nobody is signed in', ref('NoSession')) },
  'console.signIn': { 200: SESSION },
  'console.signOut': { 204: { description: 'The session has ended' } },
  'console.readLink': {
    200: json(
      'What the link is for',
      object({
        purpose: wordOf(LINK_PURPOSES),
        name: nullable('string'),
        email: nullable('string'),
      }),
    ),
  },
  'console.useLink': { 200: SESSION },
  'console.password': { 200: SESSION },
  'console.oidcStart': { 302: PAGE },
  'console.oidcCallback': { 302: PAGE },
  'console.me': { 200: json('The user', ref('Me')) },
  'console.keys': { 200: json('A page of keys', pageSchema('OwnKey')) },
  'console.key': { 200: KEY },
  'console.createKey': { 201: json('The key with its value', ref('OwnKey')) },
  'console.changeKey': { 200: KEY },
  'console.rotateKey': { 201: json('The new key with its value, and the old one', ref('OwnKey')) },
  'console.revokeKey': { 200: KEY },
  'console.usage': USER_USAGE,
  'console.charges': STATEMENT,
  'console.requests': { 200: json('A page of calls, newest first', pageSchema('OwnRequest', USD)) },
  'console.request': { 200: json('The call', ref('OwnRequest')) },
  'console.tasks': { 200: json('A page of tasks, newest first', pageSchema('Task')) },
  'console.taskEstimate': {
    200: json(
      'The most that the task can cost',
      object({ object: { const: 'task_estimate' }, max_cost: MONEY, tokens: nullable('integer') }),
    ),
  },
  'console.authorizations': { 200: json('A page of sessions, newest first', pageSchema('OwnAuthorization')) },
  'console.task': { 200: json('The task', ref('Task')) },
  'console.taskVideo': result('video/*'),
  'console.taskLastFrame': result('image/*'),
  'console.assets': { 200: json('A page of assets, newest first', pageSchema('Asset')) },
  'console.assetGroups': { 200: json('A page of groups, newest first', pageSchema('AssetGroup')) },
};

const EXAMPLES: Readonly<Partial<Record<ConsoleOperation, object>>> = {
  'console.signIn': { email: 'ana@example.com', password: 'correct horse battery' },
  'console.readLink': { token: 'IoV2hhL4bamBA52URMwWwMQcHr_zq-nXVh7zdPGp6zw' },
  'console.useLink': { token: 'IoV2hhL4bamBA52URMwWwMQcHr_zq-nXVh7zdPGp6zw', password: 'correct horse battery' },
  'console.password': { current: 'correct horse battery', password: 'another long password' },
  'console.taskEstimate': {
    key: 'key_2GB6mUDKvocDZIBeMJQvGN',
    task: { model: 'demo-video-a', content: [{ type: 'text', text: 'a lamp at night' }] },
  },
  'console.createKey': { group: 'messages', name: 'laptop' },
  'console.changeKey': { rpm: 50 },
  'console.rotateKey': { overlap_seconds: 600 },
  'console.revokeKey': {},
};

const CSRF = {
  name: CSRF_HEADER,
  in: 'header',
  required: true,
  description: '`csrf` of the session',
  schema: TEXT,
} as const;

export function describeConsole(
  operation: ConsoleOperation,
  { query, body }: ConsoleSchemas = {},
): OperationDescription {
  const { method, access, deprecated } = consoleRow(operation);
  const schema = body && jsonSchemaOf(body);
  const example = EXAMPLES[operation];
  const responses = {
    ...errorResponses('openai', errorCodes(operation, schema !== undefined)),
    ...(RESPONSES[operation] ?? UNDESCRIBED),
  };
  return {
    parameters: [...(access !== 'open' && method !== 'GET' ? [CSRF] : []), ...(query ? queryParameters(query) : [])],
    ...(schema && {
      requestBody: {
        required: 'required' in schema,
        content: { [JSON_TYPE]: { schema, ...(example && { example }) } },
      },
    }),
    responses: withHeaders(responses, ...(deprecated ? (['deprecated'] as const) : [])),
  };
}

function errorCodes(operation: ConsoleOperation, hasBody: boolean): ErrorCode[] {
  const { method, path, access } = consoleRow(operation);
  const { every, session, script, signIn, query, body, object: named, change, file: missing } = OPERATION_ERRORS;
  const isResult = path.includes('{task}/');
  return [
    ...every,
    ...(access === 'open' ? signIn : session),
    ...(access !== 'open' && method !== 'GET' ? script : []),
    ...query,
    ...(hasBody ? body : []),
    ...(access === 'own' ? named : []),
    ...(method === 'GET' ? [] : change),
    ...(access === 'open' ? missing : []),
    // It is checked and priced like the creation.
    ...(operation === 'console.taskEstimate' ? VIDEO_OPERATION_ERRORS['tasks.create'] : []),
    ...(path.includes('{task}') ? VIDEO_OPERATION_ERRORS[isResult ? 'videos.lastFrame' : 'tasks.get'] : []),
  ];
}
