/** People who sign in to the console, their sessions and one-time links. */
import { z } from 'zod';
import { CSRF_HEADER, LINK_MS, type LinkPurpose, PERSON_ROLES } from '../rules/index.ts';
import * as f from './field.ts';
import { NewUser } from './user.ts';

const role = z
  .enum(PERSON_ROLES)
  .describe('`operator` runs the gateway; `user` sees the keys and the usage of one user');
export const personName = f.line(100, 'how the person is shown');
export const personEmail = f.email.max(254);
const user = z.string().max(64).describe('the user whose wallet and keys the person sees');

export const NewPerson = z.strictObject({
  email: personEmail,
  role,
  name: personName.optional(),
  user: user.optional(),
  new_user: NewUser.extend({ credit: f.moneyText.describe('first credit of the wallet').optional() })
    .describe('creates this user for the person, in place of `user`')
    .optional(),
});

export const PersonChange = z.strictObject({
  name: personName.optional(),
  role: role.optional(),
  user: user.nullable().optional(),
  disabled: z.boolean().describe('a disabled person cannot sign in').optional(),
});

export type PersonChange = z.infer<typeof PersonChange>;

const SignedIn = z.strictObject({
  id: f.text,
  name: f.text,
  email: f.text,
  role: z.enum(PERSON_ROLES),
  user: f.someText,
});

export const ShownPerson = SignedIn.extend({
  ...f.kind('person'),
  state: z.enum(['disabled', 'active', 'invited']),
  oidc: f.flag.describe('has signed in with OpenID Connect'),
  signed_in_at: f.someMoment,
  created_at: f.moment,
}).meta({ id: 'Person' });
export type ShownPerson = z.infer<typeof ShownPerson>;

export const InvitedPerson = ShownPerson.extend({
  object: z.literal('person'),
  link: f.text.describe('works once; it is shown in this response only'),
  link_expires_at: f.moment,
}).meta({ id: 'InvitedPerson' });
export type InvitedPerson = z.infer<typeof InvitedPerson>;

export const ShownSession = f.named('Session', {
  person: SignedIn,
  csrf: f.text.describe(`for the header ${CSRF_HEADER} of requests that change something`),
  oidc: f.flag.describe('sign-in with OpenID Connect is offered'),
});
export type ShownSession = z.infer<typeof ShownSession>;

export const ShownLink = z.strictObject({
  purpose: z.enum(Object.keys(LINK_MS) as LinkPurpose[]),
  name: f.someText,
  email: f.someText,
});
export type ShownLink = z.infer<typeof ShownLink>;
