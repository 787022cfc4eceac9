/** Errors of a task request, as `<field>: <what is wrong>; <what to do>.` */
import { type ApiError, failAt } from '../../core/index.ts';

/** Malformed, missing, out of range, unknown, or two exclusive fields together (V 4). */
export const invalidField = (param: string, problem: string, advice: string): ApiError =>
  failAt('invalid_request', param, `${problem}; ${advice}.`);

/** A known field, role, value, count or combination that this model does not accept (V 4). */
export const unsupportedField = (param: string, problem: string, advice: string): ApiError =>
  failAt('unsupported_video_parameter', param, `${problem}; ${advice}.`);

/** `a, b or c`. */
export const alternatives = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
