/**
 * How words of the fault languages are read: `name=value`, with blanks, `;`, `,` or `&` between. Errors name what is
 * wrong.
 */

/** A word without a value has an empty one. */
export const wordsOf = (spec: string): (readonly [name: string, value: string])[] =>
  spec
    .split(/[;,&\s]+/)
    .filter((word) => word !== '')
    .map((word) => {
      const [, name = word, value = ''] = /^([^=]*)=?(.*)$/s.exec(word) ?? [];
      return [name, value];
    });

export function count(value: string, max = Number.MAX_SAFE_INTEGER): number {
  const number = Number(value);
  if (value === '' || !Number.isSafeInteger(number) || number < 0) throw new RangeError(`"${value}" is not a count`);
  if (number > max) throw new RangeError(`${value} is more than ${max}`);
  return number;
}

export const oneOf = <T extends string>(values: readonly T[], value: string): T =>
  known((text): text is T => values.some((one) => one === text), value, `one of ${values.join(', ')}`);

export function known<T extends string>(accepts: (value: string) => value is T, value: string, expected: string): T {
  if (!accepts(value)) throw new RangeError(`"${value}" is not ${expected}`);
  return value;
}
