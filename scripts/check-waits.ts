/**
 * Finds tests whose outcome depends on the speed of the machine: they bound elapsed time, or wait for less time than
 * hanging takes.
 */
import { HANGING_MS } from '../test/support/wait.ts';
import { type Module, readModules } from './modules.ts';
import { lineOf } from './source-tokens.ts';

export const checkWaits = (): string[] =>
  ['{src,sim,console,scripts}/**/*.test.ts', 'test/**/*.ts'].flatMap(readModules).flatMap(racingTests);

export const racingTests = ({ file, code }: Pick<Module, 'file' | 'code'>): string[] => {
  const names = timesIn(code);
  const bounds = calls(code, /\bassert(?:\.\w+)?\(/g).filter(({ parts }) => parts.some(isUpperBound(names)));
  const waits = calls(code, /\buntil\(/g).filter(({ parts }) => isShort(code, parts.slice(1).at(-1)));
  const limits = file.endsWith('.test.ts') ? [...code.matchAll(LIMIT)].filter(([, value]) => isShort(code, value)) : [];
  return [
    ...bounds.map(({ at }) => ({ at, what: 'an assertion bounds elapsed time from above' })),
    ...[...waits.map(({ at }) => at), ...limits.map(({ index }) => index)].map((at) => ({
      at,
      what: 'a limit is shorter than HANGING_MS',
    })),
  ]
    .sort((one, other) => one.at - other.at)
    .map(({ at, what }) => `${file}:${lineOf(code, at)}: ${what} (docs/development.md, "How a test waits")`);
};

// ---------------------------------------------------------------- limits

/** An option of a test or a command, or a signal. */
const LIMIT = /\btimeout(?:: |\()([\w$]+)(?=\s*[,)}])/g;
const NUMBER = /^[\d_]+$/;

/** A number, or the name of a number of the same file. */
function isShort(code: string, value = ''): boolean {
  const number = NUMBER.test(value)
    ? value
    : /^[\w$]+$/.test(value) && new RegExp(`\\bconst ${value} = ([\\d_]+);`).exec(code)?.[1];
  return Boolean(number) && Number(String(number).replaceAll('_', '')) < HANGING_MS;
}

// ---------------------------------------------------------------- elapsed time

interface Times {
  /** Names of moments, and of durations as well. */
  readonly moments: ReadonlySet<string>;
  readonly durations: ReadonlySet<string>;
}

const NOW = String.raw`(?:performance|Date)\.now\(\)`;
const named = (names: ReadonlySet<string>): string => (names.size === 0 ? '(?!)' : `\\b(?:${[...names].join('|')})\\b`);

/** Whether code contains a difference between two moments, of which one may come from elsewhere. */
function isDuration(code: string, { moments, durations }: Times): boolean {
  const moment = `(?:${NOW}|${named(moments)})`;
  const between = new RegExp(`${moment}\\)*\\s-\\s\\(*[a-z#]|\\s-\\s\\(*${moment}`);
  return between.test(code) || new RegExp(named(durations)).test(code);
}

const isMoment = (code: string, { moments }: Times): boolean => new RegExp(`${NOW}|${named(moments)}`).test(code);

const DECLARATION =
  /\b(?:const|let)\s+(\w+)(?:: [^=;]+)?\s=\s|\bfunction\s+(\w+)(?=\()|(?<=[{,]\s*)(\w+):\s(?=[^,}\n]*\.now\(\))/g;

/** The names of a file that stand for a moment or for a duration. Scopes do not count. */
function timesIn(code: string): Times {
  const moments = new Set<string>();
  const durations = new Set<string>();
  const declared = [...code.matchAll(DECLARATION)].map(({ index, 0: head, 1: value, 2: callee, 3: property }) => ({
    name: value ?? callee ?? property ?? '',
    body:
      property === undefined ? resultOf(statement(code, index + head.length)) : code.slice(index).split(/[,}\n]/, 1)[0],
  }));
  for (let before = -1; before !== moments.size + durations.size; ) {
    before = moments.size + durations.size;
    for (const { name, body = '' } of declared)
      if (isDuration(body, { moments, durations })) durations.add(name);
      else if (isMoment(body, { moments, durations })) moments.add(name);
  }
  return { moments: new Set([...moments, ...durations]), durations };
}

/** A duration on the smaller side of a comparison, whose other side is not measured as well. */
const isUpperBound =
  (times: Times) =>
  (part: string): boolean =>
    part.split(/&&|\|\||\?|;/).some((term) => {
      const [, left = '', operator, right = ''] = /^(.*?)\s([<>]=?)\s(.*)$/s.exec(term) ?? [];
      if (operator === undefined) return false;
      const [small, large] = operator.startsWith('<') ? [left, right] : [right, left];
      return isDuration(small, times) && !isMoment(large, times);
    });

// ---------------------------------------------------------------- code

/** The calls that begin with a pattern, each with its arguments. */
const calls = (code: string, pattern: RegExp): { readonly at: number; readonly parts: readonly string[] }[] =>
  [...code.matchAll(pattern)].map(({ index, 0: head }) => ({
    at: index,
    parts: argumentsAt(code, index + head.length),
  }));

function argumentsAt(code: string, begin: number): string[] {
  const parts: string[] = [];
  let from = begin;
  let depth = 0;
  for (let at = begin; at < code.length; at += 1) {
    const character = code[at] ?? '';
    if (depth === 0 && /[,)]/.test(character)) {
      parts.push(code.slice(from, at).trim());
      from = at + 1;
      if (character === ')') break;
    } else if (/[([{]/.test(character)) depth += 1;
    else if (/[)\]}]/.test(character)) depth -= 1;
  }
  return parts.filter((part, n) => part !== '' || n < parts.length - 1);
}

/** What a function with a body returns, or the whole of another value. */
function resultOf(declared: string): string {
  const isFunction = /^(?:async )?\(.*?\).*?(?:=> )?\{/s.test(declared);
  return isFunction ? (declared.match(/\breturn [^;]*;/g) ?? []).join('\n') : declared;
}

/** From a declaration to its end. */
function statement(code: string, begin: number): string {
  let depth = 0;
  let hasBody = false;
  for (let at = begin; at < code.length; at += 1) {
    const character = code[at] ?? '';
    if (/[([{]/.test(character)) depth += 1;
    else if (/[)\]}]/.test(character)) depth -= 1;
    hasBody ||= character === '{';
    if (depth < 0 || (depth === 0 && (character === ';' || (hasBody && character === '}' && code[at + 1] === '\n'))))
      return code.slice(begin, at);
  }
  return code.slice(begin);
}
