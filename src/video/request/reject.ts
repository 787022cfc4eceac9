/** Errors of a task request, as `<field>: <what is wrong>; <what to do>.` */
import { type ApiError, fail } from '../../core/index.ts';

/** Malformed, missing, out of range, unknown, or two exclusive fields together (V 4). */
export const invalidField = (param: string, problem: string, advice: string): ApiError =>
  fail('invalid_request', `${param}: ${problem}; ${advice}.`, { param });

/** A known field, role, value, count or combination that this model does not accept (V 4). */
export const unsupportedField = (param: string, problem: string, advice: string): ApiError =>
  fail('unsupported_video_parameter', `${param}: ${problem}; ${advice}.`, { param });

/** `a, b or c`. */
export const alternatives = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
