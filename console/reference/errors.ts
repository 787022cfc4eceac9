/** The index of errors: each code with its status, its meaning, what to do, and the operations that respond with it. */

import { ERRORS, type ErrorCode, type ErrorRow } from '../../src/rules/errors.ts';
import { type Document, type Endpoint, responseOf } from './document.ts';
import { ERROR_ADVICE } from './error-advice.ts';
import { escapeText, inline, slug, wideTable } from './html.ts';

/** Codes that callers get, in the order of the table. */
export const CALLER_CODES = Object.keys(ERROR_ADVICE) as (keyof typeof ERROR_ADVICE)[];

const isCallerCode = (code: string): boolean => code in ERROR_ADVICE;

export function errorsHtml(document: Document, endpoints: readonly Endpoint[]): string {
  const operations = operationsByCode(document, endpoints);
  const articles = CALLER_CODES.map((code) => {
    const row: ErrorRow = ERRORS[code as ErrorCode];
    const links = (operations.get(code) ?? []).map(
      ({ operationId, tags, summary }) =>
        `<a href="/docs/${slug(tags[0] ?? '')}.html#${slug(operationId)}">${inline(summary)}</a>`,
    );
    const many =
      links.length > MAX_LINKS
        ? `${links.length} operations`
        : links.length > 0
          ? links.join(' · ')
          : 'every operation';
    return `<article id="${code}"><h2><a href="#${code}"><code>${code}</code></a> <small>${statusText(row)}</small></h2>
<p>${escapeText(sentence(row.means))}</p><p><b>What to do.</b> ${inline(sentence(ERROR_ADVICE[code]))}</p>
<p class="note">${row.retry === undefined ? '' : `<code>x-should-retry: ${row.retry}</code> · `}${many}</p></article>`;
  });
  return `<h1>Errors</h1>
<p>Decide by <code>code</code>: codes are stable, messages may change. Every response has <code>x-request-id</code>; give it to your operator with a question. <code>retry-after</code> says when a retry can succeed, and <code>x-should-retry: false</code> that none can.</p>
${wideTable(`<thead><tr><th>path</th><th>body</th></tr></thead><tbody>${FORMATS.map(([path, body]) => `<tr><td><code>${path}</code></td><td><code>${escapeText(body)}</code></td></tr>`).join('')}</tbody>`)}
${articles.join('')}`;
}

/** More are not read by anyone. */
const MAX_LINKS = 12;

const FORMATS = [
  ['/v1/messages*', '{"type":"error","error":{"type","message","code"},"request_id"}'],
  ['/v1beta/*, /v1/models/{model}:*', '{"error":{"code","message","status","details":[{"reason":CODE}]}}'],
  ['other /v1', '{"error":{"message","type","code","param"}}'],
  ['video, assets, characters', '{"error":{"message","type","code"}}'],
] as const;

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

const statusText = ({ status, statusIn = {} }: ErrorRow): string =>
  [[status].flat().join(' or '), ...Object.entries(statusIn).map(([where, own]) => `${own} on ${where} paths`)].join(
    ', ',
  );

function operationsByCode(document: Document, endpoints: readonly Endpoint[]): Map<string, Endpoint[]> {
  const found = new Map<string, Endpoint[]>();
  for (const endpoint of endpoints)
    for (const [status, given] of Object.entries(endpoint.responses)) {
      if (status < '400') continue;
      for (const code of (responseOf(document, given).description ?? '').split(', '))
        if (isCallerCode(code)) found.set(code, [...(found.get(code) ?? []), endpoint]);
    }
  return found;
}
