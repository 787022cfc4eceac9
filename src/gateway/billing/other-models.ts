/**
 * The price of a call that names several models: some work beside its own, at their own price;
 * of those of a router one serves, and the reply names it.
 */
import type { Account, Model } from '../../catalog/index.ts';
import type { ModelUsage, Nanos } from '../../core/index.ts';
import { costOf, type MeteredUsage, type Rates } from '../../ledger/index.ts';
import type { OtherModel } from '../models/resolve.ts';
import { modelName } from './usage.ts';

export type ModelNames = Pick<Model, 'name' | 'upstream'>;
export type ServingAccount = Pick<Account, 'id' | 'models'>;

export interface Priced {
  readonly rates: Rates;
  readonly priceId: bigint | null;
}

export interface PricedModel extends Omit<OtherModel, 'model'>, Priced {
  readonly model: ModelNames;
}

const isChoice = ({ path }: { readonly path: string }): boolean => /^(?:fallback_)?models\b/.test(path);

/** The most that the call can cost: the dearest choice, and everything that works beside it. */
export function maxOfAll(own: Nanos, others: readonly { readonly path: string; readonly nanos: Nanos }[]): Nanos {
  const served = others.filter(isChoice).reduce((most, { nanos }) => (nanos > most ? nanos : most), own);
  return others.filter((one) => !isChoice(one)).reduce((sum, { nanos }) => sum + nanos, served);
}

interface PricedCallModels extends Priced {
  readonly model: ModelNames;
  readonly multipliers: readonly bigint[];
  readonly others: readonly PricedModel[];
}

export interface ReplySource {
  readonly account?: ServingAccount | undefined;
  readonly replyModel?: unknown;
}

interface NamedSource extends ReplySource {
  readonly replyModel: string | undefined;
}

/** The usage with the price of each model that worked on it, and the price of the one that served. */
export function pricedUsage(given: MeteredUsage, call: PricedCallModels, source: ReplySource) {
  const from = { account: source.account, replyModel: modelName(source.replyModel) };
  const { others } = call;
  const replyModel = otherReply(call.model, from);
  if (!given.models && others.length === 0 && replyModel === undefined)
    return { usage: given, ratesOf: () => undefined, rates: call.rates, priceId: call.priceId };
  const { models: rows = [], ...whole } = given;
  const beside = others.filter((one) => !isChoice(one));
  const models = rows.flatMap((row): ModelUsage[] => {
    // None where it is the requested model, or one that the request does not name.
    const named = beside.find(({ tool }) => tool === row.model);
    const other = named ?? bestMatch(row.model, call.model, beside, from.account);
    return other ? [{ ...row, price: priceName(other) }] : [];
  });
  const usage = { ...whole, ...(models.length > 0 && { models }), ...(replyModel !== undefined && { replyModel }) };
  const ratesOf = (price: string): Rates | undefined => others.find((one) => priceName(one) === price)?.rates;
  return { usage, ratesOf, ...servedBy(usage, call, from) };
}

const priceName = ({ priceId }: PricedModel): string => String(priceId ?? 0);

/**
 * The choice that the reply names. Where it names none of them,
 * the dearest one is charged: which one served is not known.
 */
function servedBy(usage: MeteredUsage, call: PricedCallModels, { account, replyModel }: NamedSource): Priced {
  const choices = call.others.filter(isChoice);
  const own: Priced = { rates: call.rates, priceId: call.priceId };
  if (choices.length === 0) return own;
  const named = replyModel === undefined ? undefined : bestMatch(replyModel, call.model, choices, account);
  if (named) return named;
  if (replyModel !== undefined && lengthOfMatch(replyModel, call.model, account) > 0) return own;
  const costIn = ({ rates }: Priced): Nanos => costOf(usage, rates, call.multipliers).nanos;
  return choices.reduce((most, one) => (costIn(one) > costIn(most) ? one : most), own);
}

/** The model whose name fits best; undefined where that is the one of the request. */
function bestMatch(
  name: string,
  own: ModelNames,
  others: readonly PricedModel[],
  account: ServingAccount | undefined,
): PricedModel | undefined {
  const lengthOf = (one?: PricedModel): number => lengthOfMatch(name, one?.model ?? own, account);
  return others.reduce<PricedModel | undefined>(
    (best, one) => (lengthOf(one) > lengthOf(best) ? one : best),
    undefined,
  );
}

/** Of the longest name of the model that the reported name is, or begins with: providers add a date or a variant. */
const lengthOfMatch = (reported: string, { name, upstream }: ModelNames, account: ServingAccount | undefined): number =>
  [name, upstream, account?.models.get(upstream) ?? '']
    .filter(
      (known) => known !== '' && reported.startsWith(known) && /^(?:[-:@/].*)?$/s.test(reported.slice(known.length)),
    )
    .reduce((most, { length }) => Math.max(most, length), 0);

const otherReply = (own: ModelNames, { account, replyModel }: NamedSource): string | undefined =>
  replyModel === undefined || replyModel === own.name || lengthOfMatch(replyModel, own, account) > 0
    ? undefined
    : replyModel;
