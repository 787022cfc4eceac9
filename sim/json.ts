/** JSON types and readers that never throw. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// A field of the wrong type counts as absent, unless a dialect has a stricter rule.

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function objectsOf(value: unknown): JsonObject[] {
  return listOf(value).filter(isObject);
}

export function stringsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return listOf(value).filter((entry) => typeof entry === 'string');
}
