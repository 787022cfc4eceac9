/** Differences between our reading and the judge's that are known and harmless. Everything else is a failure. */
import type { JudgedRequests } from './judge.ts';
import type { RequestHead } from './message.ts';

export const KNOWN_DIFFERENCES = {
  'absolute form':
    'A server must accept it (RFC 9112, section 3.2.2). We hand on the path, Node hands on the whole target, and both read the same path.',
  'Proxy-Connection':
    'Node closes the connection after a request with `Proxy-Connection: close`. No standard defines this header, and we ignore it.',
  upgrade:
    'Node reads nothing after a request that offers an upgrade, even when the server declines it. We read the next request after the response.',
  'informational response':
    'Node rejects what follows an informational response of HTTP/1.0, or one with a Connection header. We decide by the final response.',
} as const;
export type KnownDifference = keyof typeof KNOWN_DIFFERENCES;

const ORIGIN_OF_TARGET = /^https?:\/\/[^/?#@\\]+/i;

export function isAbsoluteForm(ours: RequestHead, judged: RequestHead): boolean {
  const origin = ORIGIN_OF_TARGET.exec(judged.target)?.[0];
  if (origin === undefined) return false;
  const rest = judged.target.slice(origin.length);
  return ours.target === (rest.startsWith('/') ? rest : `/${rest}`);
}

/** Why the judge stopped after its last request, although we read on. */
export function stopOf(judged: JudgedRequests): KnownDifference | undefined {
  const fields = judged.heads.at(-1)?.fields ?? [];
  if (judged.fault === 'HPE_CLOSED_CONNECTION' && fields.includes('proxy-connection')) return 'Proxy-Connection';
  return judged.fault === undefined && fields.includes('upgrade') && fields.includes('connection')
    ? 'upgrade'
    : undefined;
}

const CLOSING_INFORMATION =
  /^(?:HTTP\/1\.1 1\d\d(?: [^\r\n]*)?\r\n(?:[^\r\n]+\r\n)*\r\n)*HTTP\/1\.(?:0 1\d\d|1 1\d\d(?: [^\r\n]*)?\r\n(?:[^\r\n]+\r\n)*?(?:proxy-)?connection:)/i;

export const isInformational = (text: string): boolean => CLOSING_INFORMATION.test(text);
