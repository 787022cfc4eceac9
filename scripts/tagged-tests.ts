/** Finds tests whose titles begin with tags, such as `test('[S41 L6] ...')`, and reports those that prove nothing. */
import { codeOnly, lineOf, type Token, tokenize } from './source-tokens.ts';

export interface TaggedTest {
  readonly tags: readonly string[];
  readonly line: number;
  /** Why it proves nothing, e.g. `is skipped`. */
  readonly flaw?: string;
}

interface Call {
  readonly start: number;
  readonly end: number;
  readonly title: Token | undefined;
  readonly isTest: boolean;
  readonly isSkipped: boolean;
  readonly isEmpty: boolean;
}

const CALL = /(?<![\w.$])(?:(test|it|[a-z]\w*Test)|describe|suite)(?:\.(\w+))?\(/g;
const TAGS = /^['"`]\[([SNL]\d+(?: [SNL]\d+)*)\] /;
const SKIPPED = /\b(?:skip|todo)\b/;

export function taggedTests(text: string): TaggedTest[] {
  const tokens = tokenize(text);
  const calls = testCalls(codeOnly(text, tokens), tokens);
  return tokens.flatMap((token) => {
    const tags = token.kind === 'code' ? undefined : TAGS.exec(text.slice(token.start, token.end))?.[1]?.split(' ');
    if (!tags) return [];
    const flaw = flawOf(token, calls);
    return [{ tags, line: lineOf(text, token.start), ...(flaw && { flaw }) }];
  });
}

function flawOf(title: Token, calls: readonly Call[]): string | undefined {
  const test = calls.find((call) => call.title === title);
  if (!test?.isTest) return 'is tagged, but is not the title of a test';
  if (test.isEmpty) return 'is empty';
  const around = calls.filter(({ start, end }) => start <= test.start && end >= test.end);
  return around.some(({ isSkipped }) => isSkipped) ? 'is skipped or todo' : undefined;
}

const testCalls = (code: string, tokens: readonly Token[]): Call[] =>
  [...code.matchAll(CALL)].map((match) => {
    const start = match.index;
    const open = start + match[0].length;
    const end = closingParenthesis(code, open);
    const body = /=>|\bfunction\b/.exec(code.slice(open, end));
    const options = code.slice(open, open + (body?.index ?? end - open));
    const content = code.slice(open + (body?.index ?? 0), end);
    const isTest = match[1] !== undefined;
    const skipsItself = isTest && /\.(?:skip|todo)\(/.test(content);
    return {
      start,
      end,
      title: tokens.find((token) => token.start >= open && token.kind !== 'code' && token.kind !== 'comment'),
      isTest,
      isSkipped: SKIPPED.test(match[2] ?? '') || SKIPPED.test(options) || skipsItself,
      isEmpty: body === null || /^=>\s*\{\s*\}\s*,?\s*$/.test(content),
    };
  });

function closingParenthesis(code: string, from: number): number {
  let depth = 1;
  for (let at = from; at < code.length; at += 1) {
    if (code[at] === '(') depth += 1;
    if (code[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return code.length;
}
