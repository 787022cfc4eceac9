/**
 * The page at the end of a real-person authorization: plain HTML without scripts, in the language of the browser. Shows
 * no secret.
 */
import { createHash } from 'node:crypto';
import type { Video } from '../../video/index.ts';
import { RETURN_TEXTS, type ReturnPageState, type ReturnTexts } from './return-page-texts.ts';

/** `redirectUrl` is the only address that the page leads to; stored with the session. */
type ReturnedSession = Awaited<ReturnType<Video['sessions']['onReturn']>>;

/** Seconds until the page asks again, or leads on after a success. */
const REFRESH_SECONDS = 5;

const STYLE =
  'body{font:18px/1.5 system-ui,sans-serif;max-width:30em;margin:15vh auto 0;padding:0 1.5em;color:#1c2330;background:#fff}' +
  'h1{font-size:1.4em}a{color:#0b57d0}@media(prefers-color-scheme:dark){body{color:#e6e9ef;background:#14171d}a{color:#8ab4f8}}';
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** The path is a secret: it must not reach caches, search engines or the next site. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
  vary: 'accept-language',
} as const;

/** Without a session the link is unknown. */
export function renderReturnPage(session: ReturnedSession, acceptLanguage: string): string {
  const texts = chooseTexts(acceptLanguage);
  const state = stateOf(session);
  const { title, text } = texts[state];
  const redirectUrl = session?.redirectUrl;
  const link =
    redirectUrl === undefined
      ? ''
      : `<p><a href="${escapeHtml(redirectUrl)}" rel="noreferrer">${escapeHtml(texts.link)}</a></p>\n`;
  return `<!doctype html>
<html lang="${texts.lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
${refreshTag(state, redirectUrl)}<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>
${link}</main>
</body>
</html>
`;
}

function stateOf(session: ReturnedSession): ReturnPageState {
  if (!session) return 'unknown';
  return session.status === 'pending' ? 'verifying' : session.status;
}

/** Asks again while the result is open; leads on after a success. */
function refreshTag(state: ReturnPageState, redirectUrl: string | undefined): string {
  const target = state === 'completed' && redirectUrl !== undefined ? `; url=${redirectUrl}` : '';
  if (state !== 'verifying' && target === '') return '';
  return `<meta http-equiv="refresh" content="${escapeHtml(`${REFRESH_SECONDS}${target}`)}">\n`;
}

/** Chinese that is written in traditional characters. */
const TRADITIONAL = /^zh-(?:hant|tw|hk|mo)\b/;

/** The first language of the browser that the page has, by its preference; English otherwise. */
function chooseTexts(acceptLanguage: string): ReturnTexts {
  const wanted = acceptLanguage
    .slice(0, 500)
    .split(',')
    .map((item) => {
      const [tag = '', ...parameters] = item.trim().toLowerCase().split(';');
      const quality = parameters.map((text) => /^\s*q=([\d.]+)\s*$/.exec(text)?.[1]).find((text) => text !== undefined);
      const language = TRADITIONAL.test(tag) ? 'zh-hant' : (tag.split('-', 1)[0] ?? '');
      return { language, quality: Number(quality ?? 1) };
    })
    .filter(({ quality }) => quality > 0)
    .sort((one, other) => other.quality - one.quality);
  for (const { language } of wanted)
    if (Object.hasOwn(RETURN_TEXTS, language)) return RETURN_TEXTS[language as keyof typeof RETURN_TEXTS];
  return RETURN_TEXTS.en;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
