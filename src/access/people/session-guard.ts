/** Authentication of requests by cookie: the session, the role, and the protection against requests of other sites. */
import { type ApiError, type Clock, fail } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { CSRF_HEADER, type PersonRole } from '../../rules/index.ts';
import { type Actor, isSameSecret } from '../keys/index.ts';
import { findPersonSession, type Session } from './sessions.ts';
import { SuspectGate } from './sign-in-limits.ts';

export interface SessionGuardServices {
  readonly db: Db;
  readonly clock: Clock;
  readonly publicUrl: () => string;
  readonly failuresPerMinute: number;
}

export class SessionGuard {
  readonly cookies: Cookies;
  readonly #services: SessionGuardServices;
  readonly #gate: SuspectGate;

  constructor(services: SessionGuardServices) {
    this.#services = services;
    this.cookies = new Cookies(services.publicUrl);
    this.#gate = new SuspectGate(services.clock, services.failuresPerMinute, 'session');
  }

  hasCookie(call: Call): boolean {
    return this.cookies.read(call, 'dragoman_session') !== undefined;
  }

  /** Undefined without a session. For requests that do not need one. */
  async find(call: Call): Promise<Session | undefined> {
    const { db, clock } = this.#services;
    const token = this.cookies.read(call, 'dragoman_session');
    return token === undefined ? undefined : findPersonSession(db, token, clock.now());
  }

  /** The session of a request that reads, or that changes something with the CSRF token. */
  async authorize(call: Call, role?: PersonRole): Promise<Session> {
    return isRead(call) ? this.#sessionOf(call, role) : this.authorizeScript(call, role);
  }

  /** The session of a request that only a script of the console can have sent, whatever its method. */
  async authorizeScript(call: Call, role?: PersonRole): Promise<Session> {
    const session = await this.#sessionOf(call, role);
    this.expectSameOrigin(call);
    const given = call.header(CSRF_HEADER);
    if (given === undefined || !isSameSecret(given, session.csrf))
      throw crossSite(`send ${CSRF_HEADER} of the session`);
    return session;
  }

  /** Browsers state the origin of every request that changes something. Older ones have no `sec-fetch-site`. */
  expectSameOrigin(call: Call): void {
    const site = call.header('sec-fetch-site');
    const origin = call.header('origin');
    const isSame =
      site === undefined ? origin !== undefined && this.#isOwnOrigin(call, origin) : site === 'same-origin';
    if (!isSame) throw crossSite('send it from the console itself');
  }

  #isOwnOrigin(call: Call, origin: string): boolean {
    const url = URL.parse(origin);
    return (
      url !== null && (url.host === call.header('host') || url.origin === URL.parse(this.#services.publicUrl())?.origin)
    );
  }

  async #sessionOf(call: Call, role: PersonRole | undefined): Promise<Session> {
    if (!this.hasCookie(call)) throw fail('not_signed_in');
    const session = await this.#gate.find(
      call.address,
      () => this.find(call),
      () => fail('not_signed_in'),
    );
    call.addLogFields({ person: session.person.id });
    if (role !== undefined && session.person.role !== role)
      throw fail('not_permitted', `This needs the role ${role}; sign in as another person.`);
    return session;
  }
}

export const personActor = (call: Call, { person }: Session): Actor => ({
  actor: `person:${person.id}`,
  requestId: call.id,
  address: call.address,
});

const isRead = ({ request: { method } }: Call): boolean => method === 'GET' || method === 'HEAD';

const crossSite = (advice: string): ApiError =>
  fail('cross_site_request', `The request does not come from the console; ${advice}.`);

export type CookieName = 'dragoman_session' | 'dragoman_browser' | 'dragoman_oidc';

interface CookieOptions {
  readonly maxAgeMs: number;
  /** `Lax` is sent with links from other sites; `Strict` is not. */
  readonly sameSite: 'Strict' | 'Lax';
}

export class Cookies {
  readonly #publicUrl: () => string;

  constructor(publicUrl: () => string) {
    this.#publicUrl = publicUrl;
  }

  read(call: Pick<Call, 'header'>, name: CookieName): string | undefined {
    const wanted = `${this.#nameOf(name)}=`;
    for (const part of (call.header('cookie') ?? '').split(';')) {
      const text = part.trim();
      if (text.startsWith(wanted)) return text.slice(wanted.length);
    }
    return undefined;
  }

  write(name: CookieName, value: string, { maxAgeMs, sameSite }: CookieOptions): string {
    const attributes = `Path=/; Max-Age=${Math.floor(maxAgeMs / 1_000)}; HttpOnly; SameSite=${sameSite}`;
    return `${this.#nameOf(name)}=${value}; ${attributes}${this.#isSecure ? '; Secure' : ''}`;
  }

  remove(name: CookieName): string {
    return this.write(name, '', { maxAgeMs: 0, sameSite: 'Strict' });
  }

  get #isSecure(): boolean {
    return this.#publicUrl().startsWith('https:');
  }

  #nameOf(name: CookieName): string {
    return this.#isSecure ? `__Host-${name}` : name;
  }
}
