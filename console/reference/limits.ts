/** The limits that a caller meets, from the tables that enforce them. */
import { IMAGE_FILES, PIXEL_BUDGET } from '../../src/rules/images.ts';
import { BODY_BYTES, CHARGE_READS, JSON_LIMITS, KEY_CHARS, REQUEST_LIMITS, TIMEOUTS } from '../../src/rules/limits.ts';
import {
  CONTENT_ITEMS,
  IDEMPOTENCY,
  LIST_LIMIT,
  TASK_EXPIRY_SECONDS,
  TASK_LIST,
  TASK_WAIT,
  VIDEO_REQUESTS_PER_MINUTE,
} from '../../src/rules/video/limits.ts';
import { escapeText, wideTable } from './html.ts';

const count = (value: number): string => value.toLocaleString('en-US');
const mib = (bytes: number): string => `${bytes / 2 ** 20} MiB`;
const time = (ms: number): string => (ms >= 3_600_000 ? `${ms / 3_600_000} h` : `${ms / 1_000} s`);

type Rows = readonly (readonly [what: string, limit: string, code?: string])[];

const TOO_LARGE = 'request_too_large';
const INVALID = 'invalid_request';
const BUSY = 'rate_limit_exceeded';

const TABLES: Readonly<Record<string, Rows>> = {
  'Your key': [
    ['requests per minute, tokens per minute, requests at once', 'set by the operator for the key and its user', BUSY],
    ['spending per day and per month', 'set by the operator for the key and its user', 'spend_limit_reached'],
    ['balance', 'must cover the maximum cost of each request', 'insufficient_balance'],
    ['length of a key', `${KEY_CHARS.min} to ${KEY_CHARS.max} characters`, 'invalid_api_key'],
    ['reads of what a call cost, per minute', count(CHARGE_READS.perMinute), BUSY],
  ],
  'Bodies, after decompression': [
    ['text and embeddings', mib(BODY_BYTES.text), TOO_LARGE],
    ['images', mib(BODY_BYTES.image), TOO_LARGE],
    ['video tasks', mib(BODY_BYTES.video), TOO_LARGE],
    ['everything else', mib(BODY_BYTES.small), TOO_LARGE],
    ['depth of JSON', `${JSON_LIMITS.depth} levels`, INVALID],
  ],
  'A request for a reply': [
    ['turns', count(REQUEST_LIMITS.turns), 'request_too_complex'],
    ['parts of all turns', count(REQUEST_LIMITS.parts), 'request_too_complex'],
    ['tools', count(REQUEST_LIMITS.tools), 'request_too_complex'],
    ['members of the body', count(REQUEST_LIMITS.members), 'request_too_complex'],
  ],
  Images: [
    ['width × height', `${count(PIXEL_BUDGET)} pixels`, 'invalid_value'],
    ['pictures of an edit', count(IMAGE_FILES.maxImages), 'invalid_value'],
  ],
  Video: [
    ['content items of a task', `${CONTENT_ITEMS.min} to ${CONTENT_ITEMS.max}`, INVALID],
    ...Object.entries(VIDEO_REQUESTS_PER_MINUTE).map(
      ([name, limit]) => [`${name} requests of a user per minute, each operation`, count(limit), BUSY] as const,
    ),
    ['tasks on a page', count(TASK_LIST.pageSize.max), INVALID],
    ['objects on a page of other lists', count(LIST_LIMIT.max), INVALID],
    ['wait for a change of a task', `${TASK_WAIT.seconds.min} to ${TASK_WAIT.seconds.max} s`, INVALID],
    ['Idempotency-Key', `${IDEMPOTENCY.keyBytes} bytes, kept for ${IDEMPOTENCY.days} days`, INVALID],
    ['a task without a time of its own expires after', `${TASK_EXPIRY_SECONDS.default / 3_600} h`],
  ],
  'Time for a provider to respond': [
    ['first byte of a stream', time(TIMEOUTS.stream.firstByte), 'upstream_timeout'],
    ['first byte of a reply in one piece', time(TIMEOUTS.unary.firstByte), 'upstream_timeout'],
    ['first byte of an image', time(TIMEOUTS.image.firstByte), 'upstream_timeout'],
    ['silence within a reply', time(TIMEOUTS.stream.idle), 'upstream_timeout'],
    ['a whole call', time(TIMEOUTS.stream.total), 'upstream_timeout'],
  ],
};

const idOf = (name: string): string => name.toLowerCase().replaceAll(/[^a-z]+/g, '-');

export const LIMIT_NAMES = Object.entries(TABLES).map(([name, rows]) => ({
  name,
  id: idOf(name),
  text: rows.map((row) => row.join(' ')).join(' '),
}));

export const limitsHtml = (): string =>
  `<h1>Limits</h1><p>What is above a limit is refused by the code beside it. An operator can set lower limits, and others for bodies and times.</p>${Object.entries(
    TABLES,
  )
    .map(
      ([name, rows]) =>
        `<h2 id="${idOf(name)}">${escapeText(name)}</h2>${wideTable(
          `<thead><tr><th>what</th><th>limit</th><th>code</th></tr></thead><tbody>${rows
            .map(
              ([what, limit, code]) =>
                `<tr><td>${escapeText(what)}</td><td>${escapeText(limit)}</td><td>${
                  code ? `<a href="/docs/errors.html#${code}"><code>${code}</code></a>` : ''
                }</td></tr>`,
            )
            .join('')}</tbody>`,
        )}`,
    )
    .join('')}`;
