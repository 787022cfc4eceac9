/** Values with exact numbers as text and back, for the way to another thread: a structured copy of them would be something else. */
import { types } from 'node:util';
import { isExactNumber, parseExact } from './exact-json.ts';

export interface JsonText {
  readonly text: string;
  /** The text holds numbers or names that only the exact parser keeps. It takes longer. */
  readonly isExact: boolean;
}

export const toJsonText = (value: unknown): JsonText => ({ text: JSON.stringify(value), isExact: holdsExact(value) });

export const fromJsonText = ({ text, isExact }: JsonText): unknown =>
  (isExact ? parseExact(text) : undefined) ?? JSON.parse(text);

function holdsExact(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (types.isProxy(value) || isExactNumber(value)) return true;
  return Array.isArray(value) ? value.some(holdsExact) : Object.values(value).some(holdsExact);
}
