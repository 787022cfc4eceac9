/** What each conversion does to each field of a request, observed by sending it. */
import { ApiError } from '../../src/core/index.ts';
import { codecOf, encodeRequestFor, pairOf } from '../../src/dialects/index.ts';
import { type DialectPair, targetFor } from './dialect-pairs.ts';
import { type FieldCase, type Json, requestFields } from './request-fields.ts';

/**
 * `default`: the value that holds without the field. `lost`: the provider's request does not depend on the field, and the gateway
 * neither names nor rejects it. `invalid`: the request is rejected for another reason, so the field is not tested.
 */
export type Outcome = 'kept' | 'changed' | 'dropped' | 'rejected' | 'default' | 'lost' | 'invalid';

export interface FieldOutcome {
  readonly field: FieldCase;
  readonly outcome: Outcome;
  /** The name in `x-gateway-dropped`, or the `param` of the error. */
  readonly name?: string;
}

/** The model name is replaced by the one that the operator configured. */
const NOT_SENT = /^model$/;

export function observeFields(pair: DialectPair): readonly FieldOutcome[] {
  const outcomes = requestFields(pair.client)
    .filter(({ path }) => !NOT_SENT.test(path))
    .map((field) => ({ field, ...observe(pair, field) }));
  const byField = Map.groupBy(outcomes, ({ field }) => fieldOf(field.label));
  return outcomes.map((one) => (isDefault(one, byField.get(fieldOf(one.field.label)) ?? []) ? withDefault(one) : one));
}

/** The label without the value of an enumeration or a boolean. */
const fieldOf = (label: string): string => label.replace(/=[^.()]*$/, '');
const withDefault = ({ field }: FieldOutcome): FieldOutcome => ({ field, outcome: 'default' });

/** One value of several may be what holds anyway, if the others leave a trace. */
const isDefault = ({ outcome }: FieldOutcome, values: readonly FieldOutcome[]): boolean =>
  outcome === 'lost' && values.length > 1 && values.filter((value) => value.outcome === 'lost').length === 1;

function observe(pair: DialectPair, field: FieldCase): Omit<FieldOutcome, 'field'> {
  const result = send(pair, field.body);
  if ('rejected' in result) return outcomeOfRejection(field, result);
  const name = result.dropped.find((dropped) => names(dropped, field.path));
  const other = send(pair, field.other);
  const without = 'rejected' in other ? '' : other.sent;
  if (isIn(field.value, result.sent) && !isIn(field.value, without)) return { outcome: 'kept' };
  if (name !== undefined) return { outcome: 'dropped', name };
  if (without !== result.sent) return { outcome: 'changed' };
  return { outcome: 'lost' };
}

/** A text may also arrive inside a longer one; any other value is a member or an element. */
function isIn(value: unknown, sent: string): boolean {
  const json = JSON.stringify(value);
  if (typeof value === 'string' && value.length > 7) return sent.includes(value);
  return sent.includes(`:${json}`) || sent.includes(`[${json}`);
}

function outcomeOfRejection(field: FieldCase, { rejected }: Rejection): Omit<FieldOutcome, 'field'> {
  const { param = '' } = rejected.details;
  if (
    rejected.code !== 'unsupported_parameter' &&
    !/not supported|cannot be used|another provider/.test(rejected.message)
  )
    return { outcome: 'invalid', name: `${param}: ${rejected.message}` };
  // A rejected type is the whole object.
  const path = param.replaceAll(/\[\d+\]/g, '').replace(/\.type$/, '');
  return names(path, field.path) ? { outcome: 'rejected', name: path } : { outcome: 'lost', name: param };
}

/** A name covers what is inside it, and a path covers its parts; a name may omit the way to the field. */
const names = (name: string, field: string): boolean =>
  coveredBy(name, field) || coveredBy(name, field.replace(ADDED_TOOL, 'tools'));
/** A tool that a message adds is named like the others. */
const ADDED_TOOL = /^(?:messages\.content\.tool\.definition|input\.tools)/;
const coveredBy = (name: string, path: string): boolean =>
  name !== '' &&
  (`${path}.`.startsWith(`${name}.`) || `${name}.`.startsWith(`${path}.`) || `.${path}.`.includes(`.${name}.`));

interface Rejection {
  readonly rejected: ApiError;
}

function send(
  pair: DialectPair,
  body: Json,
): Rejection | { readonly sent: string; readonly dropped: readonly string[] } {
  try {
    const request = codecOf(pair.client).client.decodeRequest(body, { headers: {} });
    const encoded = encodeRequestFor(pairOf(pair), request, targetFor(pair.upstream));
    // Stop sequences that the gateway watches for have an effect, but are not sent.
    const sent = JSON.stringify([encoded.body, encoded.headers, encoded.emulateStop.length]);
    return { sent, dropped: encoded.dropped };
  } catch (error) {
    if (error instanceof ApiError) return { rejected: error };
    throw error;
  }
}
