/** The session of the console: who is signed in, sign-in and sign-out, and one's own password. */
import { z } from 'zod';
import { writeAudit } from '../../access/keys/index.ts';
import * as people from '../../access/people/index.ts';
import { ApiError, fail } from '../../core/index.ts';
import { type Call, sendJson, sendNoContent } from '../../platform/web/index.ts';
import { BROWSER_MS, PASSWORD_CHARS, SESSION_MS } from '../../rules/index.ts';
import { readJson, readQuery } from '../admin/index.ts';
import { renderError } from '../caller/index.ts';
import type { ConsoleServices } from './services.ts';

const MAX_EMAIL = 254;

export async function getSession(services: ConsoleServices, call: Call): Promise<void> {
  const { guard, oidc, isFirstRun } = services;
  let session: people.Session;
  try {
    session = await guard.authorize(call);
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'not_signed_in')) throw error;
    const { status, headers, body } = renderError(error, call);
    const state = { oidc: oidc !== undefined, first_run: await isFirstRun() };
    // An ended session would count as a failure of the address again and again.
    const cookie = guard.hasCookie(call) && { 'set-cookie': guard.cookies.remove('dragoman_session') };
    return sendJson(call, status, { ...(body as object), ...state }, { ...headers, ...cookie });
  }
  sendSession(services, call, session, browserCookie(services, call, session));
}

/** The browser is recognised at later sign-ins, so that attempts of others do not lock it out. */
function browserCookie({ guard, signIn }: ConsoleServices, call: Call, { person }: people.Session): string | undefined {
  if (signIn.isBrowserOf(person.id, guard.cookies.read(call, 'dragoman_browser'))) return undefined;
  const options = { maxAgeMs: BROWSER_MS, sameSite: 'Strict' } as const;
  return guard.cookies.write('dragoman_browser', signIn.newBrowser(person.id), options);
}

function sendSession({ oidc }: ConsoleServices, call: Call, { person, csrf }: people.Session, cookie?: string): void {
  const { id, name, email, role, userId } = person;
  const body = { person: { id, name, email, role, user: userId }, csrf, oidc: oidc !== undefined };
  sendJson(call, 200, body, cookie === undefined ? {} : { 'set-cookie': cookie });
}

export const sendNewSession = (services: ConsoleServices, call: Call, { token, session }: people.NewSession): void => {
  call.addLogFields({ person: session.person.id });
  sendSession(services, call, session, sessionCookie(services, token));
};

/** `Strict`: the pages of the console need no cookie, and their scripts are of the same site. */
export const sessionCookie = ({ guard }: ConsoleServices, token: string): string =>
  guard.cookies.write('dragoman_session', token, { maxAgeMs: SESSION_MS.total, sameSite: 'Strict' });

const SignInBody = z.strictObject({
  email: z.string().min(1).max(MAX_EMAIL),
  password: z.string().min(1).max(PASSWORD_CHARS.max),
});

export async function signInHandler(services: ConsoleServices, call: Call): Promise<void> {
  const { guard, signIn, db } = services;
  guard.expectSameOrigin(call);
  const { email, password } = await readJson(call, SignInBody);
  const browser = guard.cookies.read(call, 'dragoman_browser');
  const created = await signIn.withPassword({ email, password, address: call.address, browser });
  const before = await guard.find(call);
  if (before) await people.endSession(db, before);
  sendNewSession(services, call, created);
}

const SignOutQuery = z.strictObject({ everywhere: z.enum(['true', 'false']).optional() });

export async function signOut({ guard, db }: ConsoleServices, call: Call, session: people.Session): Promise<void> {
  const { everywhere } = readQuery(call.query, SignOutQuery);
  if (everywhere === 'true')
    await db.transaction().execute(async (tx) => {
      const { id } = session.person;
      await people.endSessions(tx, id);
      await writeAudit(tx, people.personActor(call, session), { action: 'person.signed_out', subject: `person:${id}` });
    });
  else await people.endSession(db, session);
  call.addHeaders({ 'set-cookie': guard.cookies.remove('dragoman_session') });
  sendNoContent(call);
}

export const newPassword = z
  .string()
  .min(PASSWORD_CHARS.min, `${PASSWORD_CHARS.min} to ${PASSWORD_CHARS.max} characters`)
  .max(PASSWORD_CHARS.max, `${PASSWORD_CHARS.min} to ${PASSWORD_CHARS.max} characters`);

const PasswordBody = z.strictObject({ current: z.string().min(1).max(PASSWORD_CHARS.max), password: newPassword });

/** The session gets a new token, and all others end. */
export async function changePassword(services: ConsoleServices, call: Call, session: people.Session): Promise<void> {
  const { db, clock, passwords, signIn } = services;
  const { current, password } = await readJson(call, PasswordBody);
  const { id } = session.person;
  const person = await db.selectFrom('people').selectAll().where('id', '=', id).executeTakeFirst();
  if (!person?.password_hash)
    throw fail('conflict', 'You have no password yet; ask an operator for a link that sets one.');
  await signIn.confirm(person, current, session.tokenHash.toString('hex'));
  const passwordHash = await passwords.hash(password);
  const created = await db.transaction().execute(async (tx) => {
    const { password_hash, disabled_at } = await people.lockPerson(tx, id);
    if (password_hash !== person.password_hash || disabled_at) throw fail('not_signed_in');
    const changed = await people.storePassword(tx, { id, passwordHash, by: people.personActor(call, session) });
    return people.beginSession(tx, changed, clock.now());
  });
  sendNewSession(services, call, created);
}

export const SIGN_IN_SCHEMAS = {
  'console.signIn': { body: SignInBody },
  'console.signOut': { query: SignOutQuery },
  'console.password': { body: PasswordBody },
};
