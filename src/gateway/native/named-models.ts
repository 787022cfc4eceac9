/**
 * Models that a request names beside its own, replaced by the account's names for them.
 * Members that identify the operator's organisation are cut here too.
 */
import type { Account } from '../../catalog/index.ts';
import { fail, type ShapeFindings, type Span, type SpanChange, spliceAll, valueAt } from '../../core/index.ts';
import { MAX_NAMED_MODELS } from '../../rules/index.ts';
import { type NamedModel, type OtherModel, upstreamName } from '../models/resolve.ts';
import { memberCut } from './strip-opaque.ts';

export interface PlacedModel extends NamedModel {
  readonly span: Span;
}

export function namedModels(body: Buffer, { tagged }: ShapeFindings): readonly PlacedModel[] {
  const models = tagged.filter(({ tag }) => tag === 'model');
  if (models.length > MAX_NAMED_MODELS)
    throw fail('invalid_request', `The request names more than ${MAX_NAMED_MODELS} models.`);
  return models.map(({ path, span }) => {
    const holder = tagged.find((one) => one.tag === 'tool' && path.startsWith(`${one.path}.`));
    const { type } = (holder ? valueAt(body, holder.span) : {}) as { readonly type?: unknown };
    return { path, span, name: valueAt(body, span), ...(typeof type === 'string' && { tool: type }) };
  });
}

export const renamesFor = (named: readonly PlacedModel[], others: readonly OtherModel[], account: Account) =>
  named.flatMap(({ span, name }): SpanChange[] => {
    const model = others.find((one) => one.model.name === name)?.model;
    const upstream = model && upstreamName(model, account);
    return upstream === undefined || upstream === name ? [] : [{ span, bytes: Buffer.from(JSON.stringify(upstream)) }];
  });

const NOTHING = Buffer.alloc(0);
const NULL = Buffer.from('null');

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
