/** Sign-in with OpenID Connect in the browser: to the provider and back. Every end is a page of the console. */
import { type OidcRefusal, signInWithOidc } from '../../access/people/index.ts';
import { errorFields, fail, type Log } from '../../core/index.ts';
import { type Call, idHeaders } from '../../platform/web/index.ts';
import { OIDC_STATE_MS } from '../../rules/index.ts';
import type { ConsoleServices } from './services.ts';
import { sessionCookie } from './session.ts';

export async function startOidc({ oidc, guard, log }: ConsoleServices, call: Call): Promise<void> {
  if (!oidc) throw fail('not_found', 'OpenID Connect is not configured; set OIDC_ISSUER.');
  try {
    const { url, pending } = await oidc.client.start();
    // `Lax`: the provider leads the browser back here, which is a request from another site.
    redirect(call, url, guard.cookies.write('dragoman_oidc', pending, { maxAgeMs: OIDC_STATE_MS, sameSite: 'Lax' }));
  } catch (error) {
    reportFailure(log, call, error);
    redirect(call, failurePage('oidc_failed'));
  }
}

export async function finishOidc(services: ConsoleServices, call: Call): Promise<void> {
  const { oidc, guard, db, clock, log } = services;
  if (!oidc) throw fail('not_found', 'OpenID Connect is not configured; set OIDC_ISSUER.');
  const pending = guard.cookies.read(call, 'dragoman_oidc');
  if (pending === undefined) return redirect(call, failurePage('oidc_failed'));
  try {
    const claims = await oidc.client.finish(call.query, pending);
    const result = await signInWithOidc(db, {
      claims,
      operators: oidc.operators,
      now: clock.now(),
      requestId: call.id,
      address: call.address,
    });
    if (typeof result === 'string') return redirect(call, failurePage(result), guard.cookies.remove('dragoman_oidc'));
    call.addLogFields({ person: result.session.person.id });
    redirect(call, '/console/', sessionCookie(services, result.token), guard.cookies.remove('dragoman_oidc'));
  } catch (error) {
    reportFailure(log, call, error);
    redirect(call, failurePage('oidc_failed'), guard.cookies.remove('dragoman_oidc'));
  }
}

/** The library wraps the error that says what is wrong. */
const reportFailure = (log: Log, call: Call, error: unknown): void =>
  log.warn('oidc.failed', {
    request: call.id,
    ...errorFields(error instanceof Error && error.cause instanceof Error ? error.cause : error),
  });

const failurePage = (error: OidcRefusal | 'oidc_failed'): string => `/console/sign-in?error=${error}`;

/** A name of a header in another case makes a line of its own, which a second cookie needs. */
function redirect(call: Call, location: string, cookie?: string, second?: string): void {
  call.response.writeHead(302, {
    ...idHeaders(call),
    location,
    'content-length': 0,
    ...(cookie !== undefined && { 'set-cookie': cookie }),
    ...(second !== undefined && { 'Set-Cookie': second }),
  });
  call.response.end();
}
