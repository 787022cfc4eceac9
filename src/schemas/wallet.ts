/** Wallets of users: balances, movements and bookings. */
import { z } from 'zod';
import { dollars, integer, kind, moment, named, someDollars, someText, text, USD } from './field.ts';
import { pageOf } from './page.ts';

export const WalletReport = named('Balance', {
  ...kind('balance'),
  currency: USD.currency.optional(),
  user: text,
  credits: dollars,
  debits: dollars,
  held: dollars.describe('set aside for video tasks'),
  available: dollars,
  leased: dollars.describe('reserved by servers for calls; part of `available`'),
  open_holds: integer,
  open_leases: integer,
  spent_day: dollars.describe('charged in this UTC day'),
  spent_month: dollars.describe('charged in this UTC month'),
  spend_day: someDollars.describe('limit of the user a day'),
  spend_month: someDollars.describe('limit of the user a month'),
  created_at: moment.describe('when the user was created'),
});
export type WalletReport = z.infer<typeof WalletReport>;

export const CREDIT_KINDS = ['payment', 'refund', 'adjustment'] as const;
export type CreditKind = (typeof CREDIT_KINDS)[number];

export const ShownCredit = named('Credit', {
  object: z.literal('credit'),
  ...USD,
  entry: text,
  user: text,
  amount: dollars,
  kind: z.enum(CREDIT_KINDS),
  reason: text,
  reference: text,
  at: moment,
});
export type ShownCredit = z.infer<typeof ShownCredit>;

/** In the order of the columns of a CSV. */
export const ShownMovement = named('Movement', {
  entry: text,
  at: moment,
  kind: text,
  amount: dollars,
  balance: dollars.describe('after the movement'),
  reference: text,
  reason: text,
  price: someText.describe('the price that was in force'),
});
export type ShownMovement = z.infer<typeof ShownMovement>;

export const Statement = pageOf(ShownMovement, { ...USD, user: text, held: dollars });
