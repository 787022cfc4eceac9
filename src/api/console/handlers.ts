/** Console operations by name. The session is checked first, then the query; the body is read last. */
import { personActor } from '../../access/people/index.ts';
import type { Call, Handler } from '../../platform/web/index.ts';
import { acquireSlot } from '../../providers/pool/index.ts';
import * as rules from '../../rules/index.ts';
import { type AdminSchemas, param, warningOperations, withReportErrors } from '../admin/index.ts';
import { sendFile, sendReference } from './files.ts';
import { OWN_KEYS } from './keys.ts';
import { LINK_SCHEMAS, readLinkHandler, useLinkHandler } from './links.ts';
import { ME_OPERATIONS } from './me.ts';
import { MODELS_OPERATIONS } from './models.ts';
import { OWN_OBJECTS } from './objects.ts';
import { finishOidc, startOidc } from './oidc.ts';
import { ownerOf } from './owner.ts';
import { OWN_REQUESTS } from './requests.ts';
import type { ConsoleServices, OpenHandler, OwnHandler, SessionHandler } from './services.ts';
import { changePassword, getSession, SIGN_IN_SCHEMAS, signInHandler, signOut } from './session.ts';
import { VIDEOS_OPERATIONS } from './videos.ts';

interface HandlerOf {
  readonly open: OpenHandler;
  readonly session: SessionHandler;
  readonly own: OwnHandler;
}
type AccessOf<O extends rules.ConsoleOperation> = (typeof rules.CONSOLE_ENDPOINTS)[O]['access'];

const warnings: Readonly<Record<string, OwnHandler>> = warningOperations({ user: param.user });
const WARNINGS = Object.fromEntries(
  Object.entries(warnings).map(([name, handler]) => [`console.${name}`, handler]),
) as Record<`console.${keyof ReturnType<typeof warningOperations>}`, OwnHandler>;

/** The access of a row decides what its handler receives. */
const HANDLERS: { readonly [O in rules.ConsoleOperation]: HandlerOf[AccessOf<O>] } = {
  'console.files': sendFile,
  'console.reference': sendReference,
  'console.referenceFile': sendReference,
  'console.session': getSession,
  'console.signIn': signInHandler,
  'console.signOut': signOut,
  'console.readLink': readLinkHandler,
  'console.useLink': useLinkHandler,
  'console.password': changePassword,
  'console.oidcStart': startOidc,
  'console.oidcCallback': finishOidc,
  ...ME_OPERATIONS,
  ...MODELS_OPERATIONS,
  ...OWN_KEYS,
  ...OWN_REQUESTS,
  ...VIDEOS_OPERATIONS,
  ...OWN_OBJECTS,
  ...WARNINGS,
};

/** Queries and bodies for the reference. Operations that are not here take neither. */
export const CONSOLE_SCHEMAS: Readonly<Partial<Record<rules.ConsoleOperation, Partial<AdminSchemas>>>> = {
  ...SIGN_IN_SCHEMAS,
  ...LINK_SCHEMAS,
  ...Object.fromEntries(Object.entries(HANDLERS).filter(([, handler]) => typeof handler === 'object')),
};

export const createConsoleHandlers = (services: ConsoleServices): Record<rules.ConsoleOperation, Handler> =>
  Object.fromEntries(
    rules.CONSOLE_OPERATIONS.map((operation) => [operation, handlerOf(services, operation)]),
  ) as Record<rules.ConsoleOperation, Handler>;

function handlerOf(services: ConsoleServices, operation: rules.ConsoleOperation): Handler {
  // Responses hold balances, new keys and the CSRF token, which caches on the way must not store. Files have headers of
  // their own.
  return (call) => {
    call.addHeaders({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    return withReportErrors(run(services, operation, call));
  };
}

async function run(services: ConsoleServices, operation: rules.ConsoleOperation, call: Call): Promise<void> {
  const handler = HANDLERS[operation];
  switch (rules.CONSOLE_ENDPOINTS[operation].access) {
    case 'open':
      return (handler as OpenHandler)(services, call);
    case 'session':
      return (handler as SessionHandler)(services, call, await services.guard.authorize(call));
    case 'own':
      return runOwn(services, operation, call);
  }
}

/** Limited like the caller's API, which the same people use with keys. */
async function runOwn(services: ConsoleServices, operation: rules.ConsoleOperation, call: Call): Promise<void> {
  const owner = await ownerOf(services, call);
  const { id } = owner.session.person;
  const rpm = rules.CONSOLE_REQUESTS_PER_MINUTE[rules.consoleRow(operation).rate ?? 'read'];
  await acquireSlot(services.limiter, call, { id, userId: id }, { operation, rpm });
  const by = personActor(call, owner.session);
  return (HANDLERS[operation] as OwnHandler).run(call, { ...owner, by }, { ...services, db: services.ownDb });
}
