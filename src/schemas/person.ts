/** People who sign in to the console, their sessions and one-time links. */
import { z } from 'zod';
import { CSRF_HEADER, LINK_MS, type LinkPurpose, PERSON_ROLES } from '../rules/index.ts';
import { email, flag, kind, line, moment, moneyText, named, someMoment, someText, text } from './field.ts';
import { NewUser } from './user.ts';

const role = z
  .enum(PERSON_ROLES)
  .describe('`operator` runs the gateway; `user` sees the keys and the usage of one user');
export const personName = line(100, 'how the person is shown');
export const personEmail = email.max(254);
const user = z.string().max(64).describe('the user whose wallet and keys the person sees');

export const NewPerson = z.strictObject({
  email: personEmail,
  role,
  name: personName.optional(),
  user: user.optional(),
  new_user: NewUser.extend({ credit: moneyText.describe('first credit of the wallet').optional() })
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

const SignedIn = z.strictObject({ id: text, name: text, email: text, role: z.enum(PERSON_ROLES), user: someText });

export const ShownPerson = SignedIn.extend({
  ...kind('person'),
  state: z.enum(['disabled', 'active', 'invited']),
  oidc: flag.describe('has signed in with OpenID Connect'),
  signed_in_at: someMoment,
  created_at: moment,
}).meta({ id: 'Person' });
export type ShownPerson = z.infer<typeof ShownPerson>;

export const InvitedPerson = ShownPerson.extend({
  object: z.literal('person'),
  link: text.describe('works once; it is shown in this response only'),
  link_expires_at: moment,
}).meta({ id: 'InvitedPerson' });
export type InvitedPerson = z.infer<typeof InvitedPerson>;

export const ShownSession = named('Session', {
  person: SignedIn,
  csrf: text.describe(`for the header ${CSRF_HEADER} of requests that change something`),
  oidc: flag.describe('sign-in with OpenID Connect is offered'),
});
export type ShownSession = z.infer<typeof ShownSession>;

export const ShownLink = z.strictObject({
  purpose: z.enum(Object.keys(LINK_MS) as LinkPurpose[]),
  name: someText,
  email: someText,
});
export type ShownLink = z.infer<typeof ShownLink>;
