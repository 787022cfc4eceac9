/** A field that a model does not accept, in the fault language. */

/** A field by its path: any value, one value or entry of a list, or numbers above a limit. */
export interface RefusedField {
  path: string;
  value?: string;
  above?: number;
}

/** Reads `path`, `path:value` or `path>number`. */
export function readRefusedField(text: string): RefusedField {
  const [, path = '', sign, operand = ''] = /^([\w.]+)(?:([:>])([\w.-]+))?$/.exec(text) ?? [];
  if (path === '') throw new RangeError(`"${text}" is not path, path:value or path>number`);
  if (sign === undefined) return { path };
  if (sign === ':') return { path, value: operand };
  const above = Number(operand);
  if (!Number.isFinite(above)) throw new RangeError(`"${operand}" is not a number`);
  return { path, above };
}
