/**
 * Rejections by an upstream encoder, under a field of the hub, which `convert.ts`
 * replaces by the client's. Messages that clients match on keep their text.
 */
import { ApiError, fail, failAt } from '../../core/index.ts';
import type { ErrorCode } from '../../rules/index.ts';
import type { FieldNames, HubField, RequestSection } from '../hub/fields.ts';
import { lookUp } from '../wire/read.ts';

export function reject(
  field: RequestSection | HubField,
  message: string,
  code: ErrorCode = 'unsupported_parameter',
): never {
  throw fail(code, `${field}: ${message}`, { param: field });
}

/** A message that clients match on. */
export function rejectVerbatim(field: RequestSection, message: string): never {
  throw fail('invalid_request', message, { param: field });
}

/** `option` is a member of the tool under the name that the client used. */
export function rejectToolOption(section: 'tools' | 'searchTool', option: string, message: string): never {
  const param = `${section}.${option}`;
  throw failAt('unsupported_parameter', param, message);
}

/** Clients retry without the prefill. */
export const rejectPrefill = (): never =>
  rejectVerbatim(
    'conversation',
    'This model does not support assistant message prefill. The conversation must end with a user message; ' +
      'add one, such as "Continue.", or choose a model that supports it: Claude before 4.6, or Gemini.',
  );

export const rejectRef = (id: string): never =>
  rejectVerbatim('conversation', `Item with id '${id.slice(0, 80)}' not found.`);

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
  reject('tools', 'Containers of another provider, and the files in them, cannot be used with this model.');

export const rejectBuiltin = (builtin: string): never =>
  reject('tools', `The tool '${builtin}' cannot be used with this model.`);

export const rejectHostedChoice = (tool: string): never =>
  reject('toolChoice', `The hosted tool '${tool}' cannot be used with this model.`);

export const rejectForcedChoice = (tool: string): never =>
  reject('toolChoice', `The hosted tool '${tool}' can be offered to this model, but not forced; let the model choose.`);

/** The model cannot generate images, and the client accepts nothing else. */
export const rejectImageOnly = (): never =>
  reject('imageOnlyOutput', 'This model does not generate images; also ask for text, or choose an image model.');

/** Returns the same error with the client's field name in place of the hub's. */
export function withClientFieldName(names: FieldNames, error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const { param: path = '' } = error.details;
  const [field = '', ...members] = path.split('.');
  const name = lookUp(names, field);
  if (name === undefined) return error;
  const param = [name, ...members].join('.');
  const message = error.message.startsWith(`${path}: `) ? param + error.message.slice(path.length) : error.message;
  return fail(error.code, message, { ...error.details, param });
}
