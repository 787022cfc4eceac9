/**
 * Rejections by an upstream encoder. The encoder does not know the client's dialect, so it names a section of the hub request;
 * `convert.ts` replaces that by the client's field name. Messages that clients match on keep their exact text.
 */
import { ApiError, fail } from '../../core/index.ts';
import type { ErrorCode } from '../../rules/index.ts';
import { REQUEST_SECTIONS, type RequestSection } from '../hub/fields.ts';

export function reject(section: RequestSection, message: string, code: ErrorCode = 'unsupported_parameter'): never {
  throw fail(code, message, { param: section });
}

/** Clients match on this message and retry without the prefill. */
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
  reject('tools', 'Containers of another provider, and the files in them, cannot be used with this model.');

export const rejectBuiltin = (builtin: string): never =>
  reject('tools', `The tool '${builtin}' cannot be used with this model.`);

export const rejectHostedChoice = (tool: string): never =>
  reject('toolChoice', `The hosted tool '${tool}' cannot be used with this model.`);

/** Returns the same error with the client's field name in place of the section. */
export function withClientFieldName(names: Readonly<Record<RequestSection, string>>, error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const section = REQUEST_SECTIONS.find((one) => one === error.details.param);
  return section ? fail(error.code, error.message, { ...error.details, param: names[section] }) : error;
}
