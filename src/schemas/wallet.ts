/** Wallets of users: balances, movements and bookings. */
import { z } from 'zod';
import * as f from './field.ts';
import { pageOf } from './page.ts';

export const WalletReport = f.named('Balance', {
  ...f.kind('balance'),
  currency: f.USD.currency.optional(),
  ...f.members('user:text credits:dollars debits:dollars'),
  held: f.dollars.describe('set aside for video tasks'),
  available: f.dollars,
  leased: f.dollars.describe('reserved by servers for calls; part of `available`'),
  ...f.members('open_holds:integer open_leases:integer'),
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
  ...f.members('entry:text user:text amount:dollars'),
  kind: z.enum(CREDIT_KINDS),
  ...f.members('reason:text reference:text at:moment'),
});
export type ShownCredit = z.infer<typeof ShownCredit>;

/** In the order of the columns of a CSV. */
export const ShownMovement = f.named('Movement', {
  ...f.members('entry:text at:moment kind:text amount:dollars'),
  balance: f.dollars.describe('after the movement'),
  ...f.members('reference:text reason:text'),
  price: f.someText.describe('the price that was in force'),
});
export type ShownMovement = z.infer<typeof ShownMovement>;

export const Statement = pageOf(ShownMovement, { ...f.USD, user: f.text, held: f.dollars });
