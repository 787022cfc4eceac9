/** HTTP/1.1 messages, a character per byte: proper ones, and such as somebody sends who hopes that two readers disagree. */
import fc from 'fast-check';

const token = fc.string({ unit: fc.constantFrom(..."abXZ09!#$%&'*+-.^_`|~"), minLength: 1, maxLength: 8 });
const value = fc.string({
  unit: fc.constantFrom(...'aZ09 \t,;:="\\()<>@[]{}/?%\x80\xa0\xe9\xff'),
  maxLength: 12,
});
const field = fc
  .tuple(token, fc.constantFrom('', ' ', '\t', '  '), value)
  .map(([name, blank, text]) => `x${name}:${blank}${text}\r\n`);
/** Empty but for one time in three. */
const sometimes = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ arbitrary: fc.constant(''), weight: 2 }, { arbitrary: text, weight: 1 });

const payload = fc.string({ unit: fc.constantFrom(...'ab\r\n0;: \x00\xff'), maxLength: 24 });

const extension = sometimes(
  fc.tuple(token, sometimes(fc.constantFrom('=a', '="a"', '="\\" ;"'))).map(([name, text]) => `;${name}${text}`),
);
const chunk = fc
  .tuple(fc.constantFrom('', '', '0', '00'), fc.boolean(), extension, payload)
  .map(([zeros, isUpper, more, data]) => {
    if (data === '') return '';
    const size = data.length.toString(16);
    return `${zeros}${isUpper ? size.toUpperCase() : size}${more}\r\n${data}\r\n`;
  });
const chunks = fc
  .tuple(fc.array(chunk, { maxLength: 4 }), extension, sometimes(field))
  .map(([all, more, trailer]) => `${all.join('')}0${more}\r\n${trailer}\r\n`);

/** Header lines that belong to the body, and the body. */
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
const requestsWith = (beginnings: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .array(
      fc
        .tuple(beginnings, fc.array(field, { maxLength: 3 }), bodies)
        .map(
          ([beginning, fields, [framing, body]]) =>
            `${beginning} HTTP/1.1\r\nHost: a\r\n${framing}${fields.join('')}\r\n${body}`,
        ),
      { minLength: 1, maxLength: 3 },
    )
    .map((all) => all.join(''));

const answer = fc
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

/** What those who smuggle write between, and single bytes that readers treat differently. */
const SPLINTERS = [
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
  'Expect: miracles\r\n',
];

type Wound = (text: string) => string;
const place = fc.nat();
const wound: fc.Arbitrary<Wound> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(place, fc.constantFrom(...SPLINTERS)).map(
      ([at, splinter]): Wound =>
        (text) => {
          const cut = at % (text.length + 1);
          return text.slice(0, cut) + splinter + text.slice(cut);
        },
    ),
  },
  {
    // Where a header would stand.
    weight: 3,
    arbitrary: fc.tuple(place, fc.constantFrom(...SPLINTERS)).map(
      ([at, splinter]): Wound =>
        (text) => {
          const lines = text.split('\r\n');
          const line = at % lines.length;
          return [...lines.slice(0, line), splinter + (lines[line] ?? ''), ...lines.slice(line + 1)].join('\r\n');
        },
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(place, fc.constantFrom(...SPLINTERS)).map(
      ([at, splinter]): Wound =>
        (text) => {
          const cut = at % (text.length + 1);
          return text.slice(0, cut) + splinter + text.slice(cut + splinter.length);
        },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(place, fc.integer({ min: 1, max: 6 })).map(
      ([at, length]): Wound =>
        (text) => {
          const cut = at % (text.length + 1);
          return text.slice(0, cut) + text.slice(cut + length);
        },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(place, place, fc.integer({ min: 1, max: 40 })).map(
      ([from, to, length]): Wound =>
        (text) => {
          const start = from % (text.length + 1);
          const cut = to % (text.length + 1);
          return text.slice(0, cut) + text.slice(start, start + length) + text.slice(cut);
        },
    ),
  },
  {
    weight: 1,
    arbitrary: place.map(
      (at): Wound =>
        (text) =>
          text.slice(0, at % (text.length + 1)),
    ),
  },
);
const wounded = (texts: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(texts, fc.array(wound, { maxLength: 3 }))
    .map(([text, wounds]) => wounds.reduce((now, apply) => apply(now), text));

export const properRequests = requestsWith(
  fc.tuple(fc.constantFrom(...METHODS), target).map(([method, path]) => `${method} ${path}`),
);
export const anyRequests = wounded(properRequests);
/** `beginnings`: methods and targets. */
export const anyRequestsTo = (beginnings: readonly string[]): fc.Arbitrary<string> =>
  wounded(requestsWith(fc.constantFrom(...beginnings)));
export const anyAnswers = wounded(answer);
