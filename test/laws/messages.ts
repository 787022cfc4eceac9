/** Arbitrary HTTP/1.1 messages, one character per byte: valid ones, and mutations as used for request smuggling. */
import fc from 'fast-check';

const token = fc.string({ unit: fc.constantFrom(..."abXZ09!#$%&'*+-.^_`|~"), minLength: 1, maxLength: 8 });
const value = fc.string({
  unit: fc.constantFrom(...'aZ09 \t,;:="\\()<>@[]{}/?%\x80\xa0\xe9\xff'),
  maxLength: 12,
});
const field = fc
  .tuple(token, fc.constantFrom('', ' ', '\t', '  '), value)
  .map(([name, blank, text]) => `x${name}:${blank}${text}\r\n`);
/** Empty two times out of three. */
const maybe = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ arbitrary: fc.constant(''), weight: 2 }, { arbitrary: text, weight: 1 });

const payload = fc.string({ unit: fc.constantFrom(...'ab\r\n0;: \x00\xff'), maxLength: 24 });

const extension = maybe(
  fc.tuple(token, maybe(fc.constantFrom('=a', '="a"', '="\\" ;"'))).map(([name, text]) => `;${name}${text}`),
);
const chunk = fc
  .tuple(fc.constantFrom('', '', '0', '00'), fc.boolean(), extension, payload)
  .map(([zeros, isUpper, more, data]) => {
    if (data === '') return '';
    const size = data.length.toString(16);
    return `${zeros}${isUpper ? size.toUpperCase() : size}${more}\r\n${data}\r\n`;
  });
const chunks = fc
  .tuple(fc.array(chunk, { maxLength: 4 }), extension, maybe(field))
  .map(([all, more, trailer]) => `${all.join('')}0${more}\r\n${trailer}\r\n`);

/** Framing header and body. */
const bodies = fc.oneof(
  fc.constant(['', ''] as const),
  payload.map((text) => [`Content-Length: ${text.length}\r\n`, text] as const),
  chunks.map((text) => ['Transfer-Encoding: chunked\r\n', text] as const),
);

const target = fc
  .string({ unit: fc.constantFrom(..."abZ09-._~!$&'()*+,;=:@%/?"), maxLength: 12 })
  .map((text) => `/${text}`);
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'];

/** One to three on one connection. */
const requestsWith = (requestTargets: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .array(
      fc
        .tuple(requestTargets, fc.array(field, { maxLength: 3 }), bodies)
        .map(
          ([beginning, fields, [framing, body]]) =>
            `${beginning} HTTP/1.1\r\nHost: a\r\n${framing}${fields.join('')}\r\n${body}`,
        ),
      { minLength: 1, maxLength: 3 },
    )
    .map((all) => all.join(''));

const response = fc
  .tuple(
    fc.constantFrom('200 OK', '200', '404 Not Found', '500 \xe9', '429  Too  Many'),
    fc.array(field, { maxLength: 3 }),
    fc.oneof(
      bodies,
      payload.map((text) => ['', text] as const),
    ),
  )
  .map(
    ([status, fields, [framing, body]]) => `HTTP/1.1 ${status}\r\nDate: now\r\n${framing}${fields.join('')}\r\n${body}`,
  );

/** Fragments used for request smuggling, and bytes that parsers treat differently. */
const FRAGMENTS = [
  ...'\r\n\0 \t:;,\x0b\x0c\x7f\x80\xa0\xff0159afgx+-"=\\/',
  '\r\n',
  '\n\n',
  '\r\n\r\n',
  '\r\n ',
  '\r\n\t',
  '0\r\n\r\n',
  ' HTTP/1.1\r\n',
  'GET /smuggled HTTP/1.1\r\nHost: b\r\n\r\n',
  'Content-Length: 0\r\n',
  'Content-Length: 5\r\n',
  'Content-Length : 5\r\n',
  'Content-Length:5,5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding:chunked\r\n',
  'Transfer-Encoding : chunked\r\n',
  'Transfer-Encoding: identity\r\n',
  'Transfer-Encoding: x, chunked\r\n',
  'Transfer-Encoding:\x0bchunked\r\n',
  'Transfer-Encoding:\r\n chunked\r\n',
  'X-Folded: a\r\n b\r\n',
  'Trailer: x\r\n',
  'Expect: 100-continue\r\n',
  'Expect: something-else\r\n',
];

type Mutation = (text: string) => string;
const position = fc.nat();
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(position, fc.constantFrom(...FRAGMENTS)).map(
      ([at, fragment]): Mutation =>
        (text) => {
          const cut = at % (text.length + 1);
          return text.slice(0, cut) + fragment + text.slice(cut);
        },
    ),
  },
  {
    // At the start of a line, where a header stands.
    weight: 3,
    arbitrary: fc.tuple(position, fc.constantFrom(...FRAGMENTS)).map(
      ([at, fragment]): Mutation =>
        (text) => {
          const lines = text.split('\r\n');
          const line = at % lines.length;
          return [...lines.slice(0, line), fragment + (lines[line] ?? ''), ...lines.slice(line + 1)].join('\r\n');
        },
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(position, fc.constantFrom(...FRAGMENTS)).map(
      ([at, fragment]): Mutation =>
        (text) => {
          const cut = at % (text.length + 1);
          return text.slice(0, cut) + fragment + text.slice(cut + fragment.length);
        },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(position, fc.integer({ min: 1, max: 6 })).map(
      ([at, length]): Mutation =>
        (text) => {
          const cut = at % (text.length + 1);
          return text.slice(0, cut) + text.slice(cut + length);
        },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(position, position, fc.integer({ min: 1, max: 40 })).map(
      ([from, to, length]): Mutation =>
        (text) => {
          const start = from % (text.length + 1);
          const cut = to % (text.length + 1);
          return text.slice(0, cut) + text.slice(start, start + length) + text.slice(cut);
        },
    ),
  },
  {
    weight: 1,
    arbitrary: position.map(
      (at): Mutation =>
        (text) =>
          text.slice(0, at % (text.length + 1)),
    ),
  },
);
const mutated = (texts: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(texts, fc.array(mutation, { maxLength: 3 }))
    .map(([text, mutations]) => mutations.reduce((now, apply) => apply(now), text));

export const validRequests = requestsWith(
  fc.tuple(fc.constantFrom(...METHODS), target).map(([method, path]) => `${method} ${path}`),
);
export const anyRequests = mutated(validRequests);
/** `requestTargets`: method and target, e.g. `GET /v1/models`. */
export const anyRequestsTo = (requestTargets: readonly string[]): fc.Arbitrary<string> =>
  mutated(requestsWith(fc.constantFrom(...requestTargets)));
export const anyResponses = mutated(response);
