/** The API of the console in the reference: sign-in, and what people of a user see. It changes with the console. */
import type { z } from 'zod';
import * as rules from '../../src/rules/index.ts';
import * as schemas from '../../src/schemas/index.ts';
import { created, EXPORT, ok, STATEMENT, type Successes } from './admin-responses.ts';
import { errorResponses } from './errors.ts';
import type { OperationDescription } from './inference.ts';
import { OPERATION_ERRORS } from './operation-errors.ts';
import {
  BOOLEAN,
  BYTES,
  bytes,
  closed,
  described,
  JSON_TYPE,
  json,
  ranged,
  ref,
  type Schemas,
  TEXT,
} from './schema.ts';
import { VIDEO_OPERATION_ERRORS } from './video-errors.ts';
import { queryParameters, requestBodyOf, successesOf } from './zod.ts';

export interface ConsoleSchemas {
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType | undefined;
}

type Responses = Readonly<Record<string, object>>;

/** With what the sign-in page needs. */
export const CONSOLE_COMPONENTS: Schemas = {
  NoSession: closed({
    error: ref('OpenAiErrorFacts'),
    oidc: BOOLEAN,
    first_run: described(BOOLEAN, 'there is no operator yet'),
  }),
};

const PAGE = { description: 'To a page of the console, or of the OpenID provider' } as const;
const NOT_BUILT = {
  description: 'The console is not built, or the server is overloaded',
  content: { 'text/html': { schema: BYTES }, [JSON_TYPE]: { schema: ref('OpenAiError') } },
} as const;
const SESSION = ok('The person who is signed in', schemas.ShownSession);
const KEY = ok('The key', schemas.OwnKey);

/** Objects of our own. */
export const CONSOLE_SUCCESSES = {
  'console.session': SESSION,
  'console.signIn': SESSION,
  'console.readLink': ok('What the link is for', schemas.ShownLink),
  'console.useLink': SESSION,
  'console.password': SESSION,
  'console.me': ok('The user', schemas.Me),
  'console.models': ok('The models', schemas.pageOf(schemas.OwnModel, schemas.USD)),
  'console.keys': ok('A page of keys', schemas.pageOf(schemas.OwnKey)),
  'console.key': KEY,
  'console.createKey': created('The key with its value', schemas.OwnKey),
  'console.changeKey': KEY,
  'console.rotateKey': created('The new key with its value, and the old one', schemas.OwnKey),
  'console.revokeKey': KEY,
  'console.captureKey': KEY,
  'console.usage': { 200: { about: 'A page of usage', body: schemas.UserUsagePage, csv: true } },
  'console.charges': STATEMENT,
  'console.export': EXPORT,
  'console.search': ok('What was found, by kind', schemas.pageOf(schemas.Hit)),
  'console.requests': ok('A page of calls, newest first', schemas.pageOf(schemas.OwnRequest, schemas.REQUEST_PAGE)),
  'console.request': ok('The call', schemas.OwnRequest),
  'console.capture': ok('The bodies', schemas.ShownCapture),
  'console.tasks': ok('A page of tasks, newest first', schemas.pageOf(schemas.OwnTask)),
  'console.authorizations': ok('A page of sessions, newest first', schemas.pageOf(schemas.OwnAuthorization)),
  'console.task': ok('The task', schemas.OwnTask),
  'console.assets': ok('A page of assets, newest first', schemas.pageOf(schemas.CallerAsset)),
  'console.assetGroups': ok('A page of groups, newest first', schemas.pageOf(schemas.AssetGroup)),
  'console.objects': ok('A page of objects, newest first', schemas.OwnObjects),
  'console.deleteObject': ok('It is deleted', schemas.DeletedObject),
  'console.warnings': ok('Every warning', schemas.pageOf(schemas.ShownWarning)),
  'console.createWarning': created('The warning', schemas.ShownWarning),
  'console.changeWarning': ok('The warning', schemas.ShownWarning),
  'console.deleteWarning': ok('It is deleted', schemas.DeletedWarning),
  'console.destinations': ok('Every destination', schemas.pageOf(schemas.ShownDestination, schemas.MAIL)),
  'console.createDestination': created('The destination, with the secret of a webhook', schemas.ShownDestination),
  'console.changeDestination': ok('The destination', schemas.ShownDestination),
  'console.deleteDestination': ok('It is deleted', schemas.DeletedWarning),
  'console.testDestination': ok('The outcome, also of a failed delivery', schemas.DestinationTest),
  'console.notices': ok('A page of notices, newest first', schemas.pageOf(schemas.ShownNotice)),
} as const satisfies Readonly<Partial<Record<rules.ConsoleOperation, Successes>>>;

/** Pages, files and redirections. */
const OTHERS: Readonly<Record<Exclude<rules.ConsoleOperation, keyof typeof CONSOLE_SUCCESSES>, Responses>> = {
  'console.files': {
    200: bytes('The file; a path that names none is a page', '*/*'),
    304: { description: 'The browser has the file' },
    503: NOT_BUILT,
  },
  'console.reference': {
    200: bytes('The page', 'text/html'),
    304: { description: 'The browser has the page' },
    503: NOT_BUILT,
  },
  'console.referenceFile': {
    200: bytes('The file', '*/*'),
    304: { description: 'The browser has the file' },
    503: NOT_BUILT,
  },
  'console.signOut': { 204: { description: 'The session has ended' } },
  'console.oidcStart': { 302: PAGE },
  'console.oidcCallback': { 302: PAGE },
  'console.taskVideo': ranged('The whole file', 'video/*'),
  'console.taskLastFrame': ranged('The whole file', 'image/*'),
};

const responsesOf = (operation: rules.ConsoleOperation): Responses =>
  operation in CONSOLE_SUCCESSES
    ? {
        ...successesOf(CONSOLE_SUCCESSES[operation as keyof typeof CONSOLE_SUCCESSES]),
        ...(operation === 'console.session' && { 401: json('The browser is not signed in', ref('NoSession')) }),
      }
    : OTHERS[operation as keyof typeof OTHERS];

const EXAMPLES: Readonly<Partial<Record<rules.ConsoleOperation, object>>> = {
  'console.signIn': { email: 'ana@example.com', password: 'correct horse battery' },
  'console.readLink': { token: 'IoV2hhL4bamBA52URMwWwMQcHr_zq-nXVh7zdPGp6zw' },
  'console.useLink': { token: 'IoV2hhL4bamBA52URMwWwMQcHr_zq-nXVh7zdPGp6zw', password: 'correct horse battery' },
  'console.password': { current: 'correct horse battery', password: 'another long password' },
  'console.createKey': { group: 'messages', name: 'laptop' },
  'console.changeKey': { rpm: 50 },
  'console.rotateKey': { overlap_seconds: 600 },
  'console.revokeKey': {},
  'console.captureKey': { hours: 1 },
  'console.createWarning': { kind: 'balance', amount: '5' },
  'console.changeWarning': { amount: '10' },
  'console.createDestination': { kind: 'webhook', url: 'https://hooks.example.com/dragoman' },
  'console.changeDestination': { quiet: { from: '22:00', to: '07:00', timezone: 'Europe/Berlin' } },
  'console.testDestination': {},
};

const CSRF = {
  name: rules.CSRF_HEADER,
  in: 'header',
  required: true,
  description: '`csrf` of the session',
  schema: TEXT,
} as const;

export function describeConsole(
  operation: rules.ConsoleOperation,
  { query, body }: ConsoleSchemas = {},
): OperationDescription {
  const { method, access } = rules.consoleRow(operation);
  return {
    parameters: [...(access !== 'open' && method !== 'GET' ? [CSRF] : []), ...(query ? queryParameters(query) : [])],
    ...(body && { requestBody: requestBodyOf(body, EXAMPLES[operation]) }),
    responses: { ...errorResponses('openai', errorCodes(operation, body !== undefined)), ...responsesOf(operation) },
  };
}

function errorCodes(operation: rules.ConsoleOperation, hasBody: boolean): rules.ErrorCode[] {
  const { method, path, access } = rules.consoleRow(operation);
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
    ...(path.includes('{task}') ? VIDEO_OPERATION_ERRORS[isResult ? 'videos.lastFrame' : 'tasks.get'] : []),
  ];
}
