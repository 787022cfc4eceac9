/** Wallets of users: balances, movements and bookings. */
import { z } from 'zod';
import * as f from './field.ts';
import { pageOf } from './page.ts';

export const WalletReport = f.named('Balance', {
  ...f.kind('balance'),
  currency: f.USD.currency.optional(),
  user: f.text,
  credits: f.dollars,
  debits: f.dollars,
  held: f.dollars.describe('set aside for video tasks'),
  available: f.dollars,
  leased: f.dollars.describe('reserved by servers for calls; part of `available`'),
  open_holds: f.integer,
  open_leases: f.integer,
  spent_day: f.dollars.describe('charged in this UTC day'),
  spent_month: f.dollars.describe('charged in this UTC month'),
  spend_day: f.someDollars.describe('limit of the user a day'),
  spend_month: f.someDollars.describe('limit of the user a month'),
  created_at: f.moment.describe('when the user was created'),
});
export type WalletReport = z.infer<typeof WalletReport>;

export const CREDIT_KINDS = ['payment', 'refund', 'adjustment'] as const;
export type CreditKind = (typeof CREDIT_KINDS)[number];

export const ShownCredit = f.named('Credit', {
  object: z.literal('credit'),
  ...f.USD,
  entry: f.text,
  user: f.text,
  amount: f.dollars,
  kind: z.enum(CREDIT_KINDS),
  reason: f.text,
  reference: f.text,
  at: f.moment,
});
export type ShownCredit = z.infer<typeof ShownCredit>;

/** In the order of the columns of a CSV. */
export const ShownMovement = f.named('Movement', {
  entry: f.text,
  at: f.moment,
  kind: f.text,
  amount: f.dollars,
  balance: f.dollars.describe('after the movement'),
  reference: f.text,
  reason: f.text,
  price: f.someText.describe('the price that was in force'),
});
export type ShownMovement = z.infer<typeof ShownMovement>;

export const Statement = pageOf(ShownMovement, { ...f.USD, user: f.text, held: f.dollars });
