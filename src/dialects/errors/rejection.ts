/**
 * What an upstream's encoder cannot write. It does not know the client's words, so it names a place of the hub; `convert.ts`
 * turns that into the client's own field. Wordings that clients recognise are kept as they are.
 */
import { ApiError, fail } from '../../core/index.ts';
import type { ErrorCode } from '../../rules/index.ts';

/** Parts of a request that an encoder can refuse, beside the fields of `fields.ts`. */
export const PLACES = ['conversation', 'tools', 'toolChoice'] as const;
export type Place = (typeof PLACES)[number];

export function reject(place: Place, message: string, code: ErrorCode = 'unsupported_parameter'): never {
  throw fail(code, message, { param: place });
}

/** Clients know these words and leave the prefill out. */
export const rejectPrefill = (): never =>
  reject(
    'conversation',
    'This model does not support assistant message prefill. The conversation must end with a user message.',
    'invalid_request',
  );

export const rejectRef = (id: string): never =>
  reject('conversation', `Item with id '${id.slice(0, 80)}' not found.`, 'invalid_request');

export const rejectCompaction = (): never =>
  reject(
    'conversation',
    'The conversation was compacted by another provider and cannot be read by this model.',
    'invalid_request',
  );

export const rejectFile = (id: string): never =>
  reject(
    'conversation',
    `The file '${id.slice(0, 80)}' is stored at another provider and cannot be read by this model.`,
  );

export const rejectMachine = (): never =>
  reject('tools', 'A container that another provider keeps, and the files in it, cannot be used with this model.');

export const rejectBuiltin = (builtin: string): never =>
  reject('tools', `The tool '${builtin}' cannot be used with this model.`);

export const rejectHostedChoice = (tool: string): never =>
  reject('toolChoice', `The hosted tool '${tool}' cannot be used with this model.`);

/** The same error under the client's name for the place. */
export function withClientFieldName(names: Readonly<Record<Place, string>>, error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const place = PLACES.find((one) => one === error.details.param);
  return place ? fail(error.code, error.message, { ...error.details, param: names[place] }) : error;
}
