/** Text helpers. */
/** The first `length` characters, or one fewer if the cut would split a surrogate pair. */
export function head(text: string, length: number): string {
  if (text.length <= length) return text;
  const code = text.charCodeAt(length - 1);
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? length - 1 : length);
}

const ORDINARY = new Set(
  (
    'a an and any are as ask at be both by call can check compare do explain find first for from get give hello here hi how i if in is ' +
    'it its json let look me my no now of on or our parallel please refuse reply return run say search send show so tell than ' +
    'thanks that the then there these they this to tool tools use using we what when where which who why will with ' +
    'would yes you your'
  ).split(' '),
);

export function isOrdinary(word: string): boolean {
  return ORDINARY.has(word.toLowerCase());
}

/**
 * Words of a prompt that look like values: quoted ones first, then capitalised names.
 * `What is the weather in New York?` gives `New York`.
 */
export function valuesIn(prompt: string): string[] {
  const quoted: string[] = [];
  // A single quote counts only where it cannot be an apostrophe.
  const quotes = /"([^"]{1,200})"|“([^”]{1,200})”|`([^`]{1,200})`|(?<!\w)'([^']{1,200})'(?!\w)/g;
  const rest = prompt.replace(quotes, (_all, a, b, c, d) => {
    quoted.push(String(a ?? b ?? c ?? d));
    return ' . ';
  });
  const names = [...rest.matchAll(/\p{Lu}[\p{L}\p{N}'-]*(?: \p{Lu}[\p{L}\p{N}'-]*)*/gu)]
    .map((match) => match[0].split(' '))
    .map((words) => words.slice(words.findIndex((word) => !isOrdinary(word))))
    .filter((words) => words.length > 0 && !words.every(isOrdinary))
    .map((words) => words.join(' '));
  return [...new Set([...quoted, ...names])];
}
