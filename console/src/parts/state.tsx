/** A state as a mark and a word in one colour: the colour never speaks alone. */
import type { ReactNode } from 'react';
import { t } from '../language.ts';

export type Tone = 'ok' | 'warn' | 'bad' | 'held' | 'muted';

const MARKS: Readonly<Record<Tone, string>> = { ok: '●', warn: '◐', bad: '▲', held: '◆', muted: '○' };

export const State = ({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) => (
  <span className="state" data-tone={tone}>
    <span aria-hidden="true">{MARKS[tone]}</span>
    <span>{typeof children === 'string' ? t(children) : children}</span>
  </span>
);

export const Badge = ({ tone, children }: { readonly tone?: 'warn' | 'held'; readonly children: ReactNode }) => (
  <span className="badge" data-tone={tone}>
    {children}
  </span>
);

/** The status of a call: 2xx is fine, 4xx is the caller's, everything else is bad. */
export const HttpStatus = ({ status, code }: { readonly status: number; readonly code?: string | null }) => {
  const tone: Tone = code || status >= 400 ? (status >= 400 && status < 500 ? 'warn' : 'bad') : 'ok';
  return (
    <State tone={tone}>
      {status}
      {code ? ` ${code}` : ''}
    </State>
  );
};
