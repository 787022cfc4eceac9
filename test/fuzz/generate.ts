/** Messages by seed and number: valid ones, mutations of valid and of known malicious ones, and random text. One character per byte. */
import { seededRandom } from '../support/random.ts';
import { type CorpusEntry, textOf } from './corpus.ts';
import { FRAGMENTS, RESPONSE_FRAGMENTS } from './fragments.ts';
import type { Side } from './message.ts';

/** Choices that depend on nothing but the seed. */
export class Choices {
  readonly #next: () => number;

  constructor(seed: number, n: number) {
    this.#next = seededRandom((Math.imul(seed, 0x9e3779b1) ^ Math.imul(n + 1, 0x85ebca6b)) | 0);
    // The first numbers of neighbouring seeds are alike.
    this.#next();
    this.#next();
  }

  /** An integer from 0 to `limit - 1`. */
  below(limit: number): number {
    return this.#next() % limit;
  }

  isOneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  text(units: string | readonly string[], maxLength: number): string {
    let text = '';
    for (let left = this.below(maxLength + 1); left > 0; left -= 1) text += units[this.below(units.length)];
    return text;
  }

  times(max: number, make: () => string): string {
    let text = '';
    for (let left = this.below(max + 1); left > 0; left -= 1) text += make();
    return text;
  }
}

const TOKEN = "abXZ09!#$%&'*+-.^_`|~";
const VALUE = 'aZ09 \t,;:="\\()<>@[]{}/?%\x80\xa0\xe9\xff';
const TARGET = "abZ09-._~!$&'()*+,;=:@%/?";
const PAYLOAD = 'ab\r\n0;: \x00\xff';
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'QUERY', 'CONNECT', 'PROPFIND', 'SOURCE'];
const STATUS_LINES = [
  '200 OK',
  '200',
  '404 Not Found',
  '500 \xe9',
  '429  Too  Many',
  '204 No',
  '304 Not',
  '206 x',
  '999 y',
];
const EXTENSION_VALUES = ['', '', '=a', '="a"', '="\\" ;"'];
const MAX_MUTATIONS = 3;
/** Of what one message may contain, so that the cost of large ones shows. */
const LARGE_BYTES = 40_000;
/** Large messages take as long as hundreds of small ones. */
const LARGE_ONE_IN = 4_000;

export function generate(side: Side, choices: Choices, corpus: readonly CorpusEntry[]): string {
  if (choices.isOneIn(LARGE_ONE_IN)) return large(side, choices);
  const kind = choices.below(20);
  if (kind === 0) return valid(side, choices);
  if (kind === 1) return soup(side, choices);
  const attacks = corpus.filter((entry) => entry.side === side && entry.isSmall);
  const start = kind < 6 && attacks.length > 0 ? textOf(choices.of(attacks)) : valid(side, choices);
  return mutate(side, choices, start);
}

const valid = (side: Side, choices: Choices): string =>
  side === 'requests'
    ? validRequest(choices) + choices.times(2, () => validRequest(choices))
    : choices.times(2, () => (choices.isOneIn(4) ? informational(choices) : '')) +
      validResponse(choices) +
      (choices.isOneIn(8) ? validResponse(choices) : '');

function validRequest(choices: Choices): string {
  const method = choices.isOneIn(16) ? choices.of(METHODS) : choices.of(['GET', 'POST', 'PUT']);
  const target = choices.isOneIn(24)
    ? `${choices.of(['http', 'HTTPS'])}://a${choices.of(['', ':80', '/b', '?c'])}`
    : `/${choices.text(TARGET, 8)}`;
  const [framing, body] = framed(choices, method === 'GET' ? 4 : 1);
  const version = choices.isOneIn(16) ? '1.0' : '1.1';
  return `${method} ${target} HTTP/${version}\r\nHost: a\r\n${framing}${fields(choices)}\r\n${body}`;
}

function validResponse(choices: Choices): string {
  const [framing, body] = framed(choices, 4);
  const version = choices.isOneIn(16) ? '1.0' : '1.1';
  const rest = framing === '' ? choices.text(PAYLOAD, 16) : body;
  return `HTTP/${version} ${choices.of(STATUS_LINES)}\r\n${framing}${fields(choices)}\r\n${rest}`;
}

const informational = (choices: Choices): string =>
  `HTTP/1.1 ${choices.of(['100 Continue', '103 Early Hints', '102', '199 x'])}\r\n${fields(choices)}\r\n`;

/** Framing header and body; without a body once in `noneOneIn`. */
function framed(choices: Choices, noneOneIn: number): [string, string] {
  if (noneOneIn > 1 && choices.isOneIn(noneOneIn)) return ['', ''];
  if (choices.isOneIn(2)) {
    const body = choices.text(PAYLOAD, 16);
    return [`Content-Length: ${body.length}\r\n`, body];
  }
  const trailers = choices.isOneIn(4) ? fields(choices) : '';
  const chunks = choices.times(3, () => chunk(choices));
  return ['Transfer-Encoding: chunked\r\n', `${chunks}0${extension(choices)}\r\n${trailers}\r\n`];
}

function chunk(choices: Choices): string {
  const data = choices.text(PAYLOAD, 12) || 'c';
  const size = data.length.toString(16);
  const written = choices.isOneIn(4) ? size.toUpperCase() : size;
  return `${choices.of(['', '', '0', '00'])}${written}${extension(choices)}\r\n${data}\r\n`;
}

const extension = (choices: Choices): string =>
  choices.isOneIn(4) ? `;a${choices.text(TOKEN, 4)}${choices.of(EXTENSION_VALUES)}` : '';

const fields = (choices: Choices): string =>
  choices.times(
    2,
    () => `x${choices.text(TOKEN, 4)}:${choices.of(['', ' ', '\t', '  '])}${choices.text(VALUE, 8)}\r\n`,
  );

/** Fragments without an order. Half of them begin like a message, because other text is rejected at its first byte. */
function soup(side: Side, choices: Choices): string {
  const start = side === 'requests' ? 'GET / HTTP/1.1\r\nHost: a\r\n' : 'HTTP/1.1 200 OK\r\n';
  return (choices.isOneIn(2) ? start : '') + choices.text(fragmentsOf(side), 24);
}

const fragmentsOf = (side: Side): readonly string[] => (side === 'requests' ? FRAGMENTS : RESPONSE_FRAGMENTS);

function mutate(side: Side, choices: Choices, start: string): string {
  let text = start;
  for (let left = 1 + choices.below(MAX_MUTATIONS); left > 0; left -= 1) text = mutateOnce(side, choices, text);
  return text;
}

function mutateOnce(side: Side, choices: Choices, text: string): string {
  const at = choices.below(text.length + 1);
  const fragment = choices.of(fragmentsOf(side));
  const length = 1 + choices.below(choices.of([2, 6, 40]));
  switch (choices.below(8)) {
    case 0:
    case 1:
      return text.slice(0, at) + fragment + text.slice(at);
    case 2:
      return text.slice(0, at) + fragment + text.slice(at + fragment.length);
    case 3: {
      const line = text.indexOf('\r\n', at);
      return line < 0 ? text + fragment : text.slice(0, line + 2) + fragment + text.slice(line + 2);
    }
    case 4:
      return text.slice(0, at) + text.slice(at + length);
    case 5: {
      const to = choices.below(text.length + 1);
      return text.slice(0, to) + text.slice(at, at + length) + text.slice(to);
    }
    case 6:
      return text.slice(0, at) + String.fromCharCode(choices.below(256)) + text.slice(at + 1);
    default:
      return choices.isOneIn(4) ? text.slice(0, at) : swapCase(text, at);
  }
}

function swapCase(text: string, at: number): string {
  const char = text.charAt(at);
  const swapped = char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase();
  // Two letters of Latin-1 have upper case forms outside of it.
  return swapped.charCodeAt(0) > 255 || swapped.length > 1 ? text : text.slice(0, at) + swapped + text.slice(at + 1);
}

/** A long part of a message: a name, a value, many headers, an extension, trailers, or many chunks. */
function large(side: Side, choices: Choices): string {
  const start = side === 'requests' ? 'POST / HTTP/1.1\r\nHost: a\r\n' : 'HTTP/1.1 200 OK\r\n';
  const size = choices.below(LARGE_BYTES);
  const chunked = `${start}Transfer-Encoding: chunked\r\n\r\n`;
  return choices.of([
    () => `${start}${'x'.repeat(size)}: y\r\nContent-Length: 0\r\n\r\n`,
    () => `${start}x: ${'y '.repeat(size / 2)}\r\nContent-Length: 0\r\n\r\n`,
    () => `${start}${'x: y\r\n'.repeat(size / 100)}Content-Length: 0\r\n\r\n`,
    () => `${chunked}1;${'a'.repeat(size)}\r\nb\r\n0\r\n\r\n`,
    () => `${chunked}0\r\n${'x: y\r\n'.repeat(size / 400)}\r\n`,
    () => `${chunked}0\r\nx: ${'y'.repeat(size)}\r\n\r\n`,
    () => `${chunked}${'1\r\nx\r\n'.repeat(size / 6)}0\r\n\r\n`,
    () => `${start}Content-Length: ${size}\r\n\r\n${'x'.repeat(size)}`,
  ])();
}
