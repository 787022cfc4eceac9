/**
 * Which person an OpenID identity is. Signing in creates no people, except operators by the rules of OIDC_OPERATORS.
 */
import { fail } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { OidcClaims } from './oidc-client.ts';
import { findPersonByEmail, insertPerson, lockPerson, normalEmail, type PersonRow } from './person.ts';
import { beginSession, endSessions, type NewSession } from './sessions.ts';

/** An e-mail address, or a claim that must have (or contain) a value. */
export type OperatorRule = { readonly email: string } | { readonly claim: string; readonly value: string };

export type OidcRefusal = 'oidc_not_invited' | 'oidc_email_unverified' | 'person_disabled';

export interface OidcSignIn {
  readonly claims: OidcClaims;
  readonly operators: readonly OperatorRule[];
  readonly now: number;
  readonly requestId: string;
  readonly address: string;
}

/** Finds the person by the subject, else by the verified e-mail address, else by a rule; then begins a session. */
export const signInWithOidc = (db: Db, signIn: OidcSignIn): Promise<NewSession | OidcRefusal> =>
  db.transaction().execute(async (tx) => {
    const { claims, operators, now } = signIn;
    const subject = `${claims.iss} ${claims.sub}`;
    const email = verifiedEmail(claims);
    const isOperator = operators.some((rule) => matches(rule, claims, email));
    const bound = await tx.selectFrom('people').selectAll().where('oidc_subject', '=', subject).executeTakeFirst();
    const person = bound ?? (email === undefined ? undefined : await findPersonByEmail(tx, email));
    if (!person) {
      if (email === undefined) return 'oidc_email_unverified';
      if (!isOperator) return 'oidc_not_invited';
      return beginSession(tx, await createOperator(tx, { ...signIn, subject, email }), now);
    }
    const current = await lockPerson(tx, person.id);
    if (current.disabled_at) return 'person_disabled';
    // Another identity has the address now, or the rule that made this operator no longer matches.
    if (current.oidc_subject !== null && current.oidc_subject !== subject) return 'oidc_not_invited';
    if (current.oidc_rule && !isOperator) {
      await endSessions(tx, current.id);
      return 'oidc_not_invited';
    }
    if (current.oidc_subject === null)
      await tx.updateTable('people').set({ oidc_subject: subject }).where('id', '=', current.id).execute();
    return beginSession(tx, current, now);
  });

/** Only an address that the provider has verified, exactly as it is, can stand for a person. */
const verifiedEmail = ({ email, email_verified }: OidcClaims): string | undefined =>
  typeof email === 'string' &&
  email !== '' &&
  email === email.trim() &&
  email.length <= MAX_EMAIL &&
  email_verified === true
    ? normalEmail(email)
    : undefined;

const MAX_EMAIL = 254;
const MAX_NAME = 100;

function matches(rule: OperatorRule, claims: OidcClaims, email: string | undefined): boolean {
  if ('email' in rule) return email !== undefined && email === normalEmail(rule.email);
  const value = claims[rule.claim];
  return value === rule.value || (Array.isArray(value) && value.includes(rule.value));
}

async function createOperator(
  tx: Db,
  { claims, email, subject, requestId, address }: OidcSignIn & { readonly email: string; readonly subject: string },
): Promise<PersonRow> {
  const name = typeof claims.name === 'string' && claims.name.trim() !== '' ? claims.name : email;
  const shown = name.replaceAll(/\p{Cc}/gu, ' ').slice(0, MAX_NAME);
  const operator = { email, name: shown, role: 'operator', oidc_subject: subject, oidc_rule: true };
  const person = await insertPerson(tx, operator, { requestId, address });
  // A sign-in at the same time has created them.
  if (!person) throw fail('conflict', 'The person was created meanwhile; sign in again.');
  return person;
}
