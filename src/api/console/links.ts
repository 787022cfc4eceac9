/** One-time links: what a link is for, and its use, which sets a password and signs in. */
import { z } from 'zod';
import { readLink, redeemLink } from '../../access/people/index.ts';
import { fail } from '../../core/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import { personEmail, personName } from '../../schemas/index.ts';
import { readJson } from '../admin/index.ts';
import type { ConsoleServices } from './services.ts';
import { newPassword, sendNewSession } from './session.ts';

const token = z.string().max(100);
const TokenBody = z.strictObject({ token });

export async function readLinkHandler(services: ConsoleServices, call: Call): Promise<void> {
  services.guard.expectSameOrigin(call);
  const body = await readJson(call, TokenBody);
  sendJson(call, 200, await findLink(services, call, body.token));
}

/** A link has 256 random bits; the gate only keeps guesses from occupying the database. */
const findLink = ({ db, clock, linkGate }: ConsoleServices, call: Call, text: string) =>
  linkGate.find(
    call.address,
    () => readLink(db, text, clock.now()),
    () => fail('invalid_link'),
  );

const LinkBody = z.strictObject({
  token,
  password: newPassword,
  name: personName.optional(),
  email: personEmail.optional(),
});

/** The link is read first, so that only a valid one costs a password hash. */
export async function useLinkHandler(services: ConsoleServices, call: Call): Promise<void> {
  const { db, clock, passwords, guard } = services;
  guard.expectSameOrigin(call);
  const { token: text, password, name, email } = await readJson(call, LinkBody);
  await findLink(services, call, text);
  const created = await redeemLink(db, {
    token: text,
    passwordHash: await passwords.hash(password),
    name,
    email,
    now: clock.now(),
    requestId: call.id,
    address: call.address,
  });
  sendNewSession(services, call, created);
}

export const LINK_SCHEMAS = {
  'console.readLink': { body: TokenBody },
  'console.useLink': { body: LinkBody },
};
