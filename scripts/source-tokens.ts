/**
 * A scanner that splits TypeScript into code, comments, strings, template text and regular expressions. Knows no
 * grammar.
 */

export interface Token {
  readonly kind: 'code' | 'comment' | 'string' | 'template' | 'regex';
  readonly start: number;
  /** One past the last character. */
  readonly end: number;
}

const LITERAL = {
  blockComment: /\/\*[\s\S]*?\*\//y,
  lineComment: /\/\/.*/y,
  string: /'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y,
  regex: /\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y,
  /** From a backtick or the end of a hole to the next hole or the closing backtick. */
  template: /[`}](?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)/y,
} as const;

/** A slash after one of these begins a regular expression; after other code it divides. */
const BEFORE_REGEX =
  /(?:^|[^\w$)\]}'"`\s]|\b(?:return|typeof|case|in|of|do|else|void|delete|throw|new|await|yield))\s*$/;

export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  // One entry per open brace: whether it is the hole of a template.
  const braces: boolean[] = [];
  let at = 0;
  const take = (kind: Token['kind'], length: number): void => {
    const last = tokens.at(-1);
    if (kind === 'code' && last?.kind === 'code') tokens[tokens.length - 1] = { ...last, end: at + length };
    else tokens.push({ kind, start: at, end: at + length });
    at += length;
  };
  const lengthOf = (pattern: RegExp): number => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0].length ?? 0;
  };
  while (at < text.length) {
    const character = text[at];
    const comment = character === '/' ? lengthOf(LITERAL.blockComment) || lengthOf(LITERAL.lineComment) : 0;
    const isHoleEnd = character === '}' && braces.at(-1) === true;
    if (comment > 0) take('comment', comment);
    else if (character === "'" || character === '"') take('string', lengthOf(LITERAL.string) || 1);
    else if (character === '`' || isHoleEnd) {
      if (isHoleEnd) braces.pop();
      const length = lengthOf(LITERAL.template) || 1;
      if (text.startsWith('${', at + length - 2)) braces.push(true);
      take('template', length);
    } else if (character === '/' && BEFORE_REGEX.test(codeBefore(text, tokens))) {
      take(lengthOf(LITERAL.regex) > 0 ? 'regex' : 'code', lengthOf(LITERAL.regex) || 1);
    } else {
      if (character === '{') braces.push(false);
      if (character === '}') braces.pop();
      take('code', 1);
    }
  }
  return tokens;
}

/** The text before a slash, comments left out. */
function codeBefore(text: string, tokens: readonly Token[]): string {
  const last = tokens.findLast(
    ({ kind, start, end }) => kind !== 'comment' && (kind !== 'code' || /\S/.test(text.slice(start, end))),
  );
  return last === undefined ? '' : text.slice(Math.max(last.start, last.end - 40), last.end);
}

/** The same text with everything but code replaced by blanks, so that positions and lines stay. */
export const codeOnly = (text: string, tokens = tokenize(text)): string =>
  tokens
    .map(({ kind, start, end }) => {
      const part = text.slice(start, end);
      return kind === 'code' ? part : part.replaceAll(/[^\n]/g, ' ');
    })
    .join('');

export const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length;
