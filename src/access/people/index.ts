export { Cookies } from './cookies.ts';
export { type ErasedUser, eraseDue, erasureJob } from './erase-job.ts';
export { beginErasure, readErasure } from './erasure.ts';
export { type CreatedLink, createFirstLink, createLink, linkUrl, readLink, redeemLink } from './links.ts';
export { OidcClient } from './oidc-client.ts';
export { type OidcRefusal, type OperatorRule, signInWithOidc } from './oidc-sign-in.ts';
export { Passwords } from './passwords.ts';
export { changePerson, type Invited, invitePerson, resetPerson, signOutPerson, storePassword } from './people.ts';
export { findPersonByEmail, firstRunCheck, lockPerson, type Person, type PersonRow, personView } from './person.ts';
export { personActor, SessionGuard } from './session-guard.ts';
export {
  beginSession,
  endSession,
  endSessions,
  expireSignIns,
  type NewSession,
  type Session,
} from './sessions.ts';
export { SignIn } from './sign-in.ts';
export {
  LocalSignInCounts,
  PrimarySignInCounts,
  SIGN_IN_SERVICES,
  type SignInAttempt,
} from './sign-in-limits.ts';
export { SuspectGate } from './suspect-gate.ts';
