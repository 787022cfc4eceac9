/** Response headers in the reference: components, and which responses refer to them. */
import { RESPONSE_HEADERS, type ResponseHeader, type ResponseHeaderName } from './response-headers.ts';

const NAMES = Object.keys(RESPONSE_HEADERS) as ResponseHeaderName[];
const rowOf = (name: ResponseHeaderName): ResponseHeader => RESPONSE_HEADERS[name];

export const HEADER_COMPONENTS = Object.fromEntries(
  NAMES.map((name) => {
    const { about, example } = rowOf(name);
    return [name, { description: about, schema: { type: 'string' }, example }];
  }),
);

export type HeaderSet = ResponseHeader['on'];

/** References to the headers of these sets. */
export const headersOn = (...sets: readonly HeaderSet[]): Readonly<Record<string, object>> =>
  Object.fromEntries(
    NAMES.filter((name) => sets.includes(rowOf(name).on)).map((name) => [
      name,
      { $ref: `#/components/headers/${name}` },
    ]),
  );

/** Adds headers to every response; errors that ask to wait name the time. */
export const withHeaders = (
  responses: Readonly<Record<string, object>>,
  ...sets: readonly HeaderSet[]
): Record<string, object> =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      const isError = Number(status) >= 400;
      const own: HeaderSet[] = isError ? ['error', ...(WAITS.has(status) ? (['wait'] as const) : [])] : [...sets];
      const always = sets.filter((set) => set === 'messages' || set === 'deprecated');
      const ranged: HeaderSet[] = status === '206' || status === '416' ? ['range'] : [];
      return [status, { ...response, headers: headersOn('every', ...always, ...own, ...ranged) }];
    }),
  );

const WAITS: ReadonlySet<string> = new Set(['429', '503', '529']);
