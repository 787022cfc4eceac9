export { beginErasure, type ErasedUser, eraseDue, erasureJob, readErasure } from './erasure.ts';
export { type CreatedLink, createFirstLink, createLink, linkUrl, readLink, redeemLink } from './links.ts';
export { OidcClient } from './oidc-client.ts';
export { type OidcRefusal, type OperatorRule, signInWithOidc } from './oidc-sign-in.ts';
export { Passwords } from './passwords.ts';
export * from './people.ts';
export { findPersonByEmail, firstRunCheck, lockPerson, type Person, type PersonRow, personView } from './person.ts';
export { Cookies, personActor, SessionGuard } from './session-guard.ts';
export {
  beginSession,
  endSession,
  endSessions,
  expireSignIns,
  type NewSession,
  type Session,
} from './sessions.ts';
export { SignIn } from './sign-in.ts';
export * from './sign-in-limits.ts';
