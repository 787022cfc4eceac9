/**
 * Models that a request names beside its own: of an adviser, of a tool that draws, of a router. Each is resolved like the model of the
 * request, replaced by the account's name for it, and priced. Members that identify the operator's organisation are cut here too.
 */
import type { Account, Catalog, Model } from '../../catalog/index.ts';
import { fail, type ShapeFindings, type Span, spliceAll, valueAt } from '../../core/index.ts';
import { MAX_NAMED_MODELS } from '../../rules/index.ts';
import type { OtherModel } from '../billing/call-facts.ts';
import type { Caller } from '../caller.ts';
import { resolveNamed, upstreamName } from '../models/resolve.ts';
import { memberCut } from './strip-opaque.ts';

export interface NamedModel {
  readonly path: string;
  readonly span: Span;
  readonly name: unknown;
  /** The type of the tool that names it. */
  readonly tool?: string | undefined;
}

/** A name in the bytes of a request, and what replaces it. */
export interface NameChange {
  readonly span: Span;
  readonly bytes: Buffer;
}

export function namedModels(body: Buffer, { tagged }: ShapeFindings): readonly NamedModel[] {
  const models = tagged.filter(({ tag }) => tag === 'model');
  if (models.length > MAX_NAMED_MODELS)
    throw fail('invalid_request', `The request names more than ${MAX_NAMED_MODELS} models.`);
  return models.map(({ path, span }) => {
    const holder = tagged.find((one) => one.tag === 'tool' && path.startsWith(`${one.path}.`));
    const { type } = (holder ? valueAt(body, holder.span) : {}) as { readonly type?: unknown };
    return { path, span, name: valueAt(body, span), ...(typeof type === 'string' && { tool: type }) };
  });
}

/** Throws when the key may not use one of them, or when the group has none of its name. */
export const resolveOthers = (
  named: readonly NamedModel[],
  caller: Caller,
  catalog: Catalog,
): readonly (OtherModel & { readonly span: Span })[] =>
  named.map(({ path, span, name, tool }) => ({
    ...{ path, span, tool, model: resolveNamed(catalog, caller, name, path) },
  }));

/** What replaces the names for an account. */
export const renamesFor = (
  others: readonly { readonly span: Span; readonly model: Model }[],
  account: Account,
): readonly NameChange[] =>
  others.flatMap(({ span, model }) => {
    const upstream = upstreamName(model, account);
    return upstream === model.name ? [] : [{ span, bytes: Buffer.from(JSON.stringify(upstream)) }];
  });

const NOTHING = Buffer.alloc(0);
const NULL = Buffer.from('null');

/** The body without members that identify the operator's organisation. */
export const cutMembers = (body: Buffer, { tagged }: ShapeFindings): Buffer =>
  spliceAll(
    body,
    tagged
      .filter(({ tag }) => tag === 'cut')
      .map(({ path, span }, n) => {
        // A name with escapes cannot be cut. Neither can the second of two neighbours, which share a comma.
        const whole = n === 0 ? memberCut(body, span, path) : undefined;
        return whole ? { span: whole, bytes: NOTHING } : { span, bytes: NULL };
      }),
  );
