/** Values in tables and facts: money, times, ids. */
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { OperatorUsage } from '../../../src/schemas/index.ts';
import { exactMoney, isNegative, roundMoney, subtractMoney } from '../format/money.ts';
import { bothTimes, columnTime, countdownText, relativeTime } from '../format/time.ts';
import { t } from '../language.ts';
import { texts } from '../texts.ts';
import { Badge } from './state.tsx';
import { useTimeMode } from './time-mode.tsx';
import { notify } from './toast.tsx';

interface MoneyProps {
  readonly amount: string | null | undefined;
  /** Two decimals, with the exact amount on focus. */
  readonly isRounded?: boolean;
  readonly isEstimated?: boolean | null;
  /** A minus is ordinary here, such as a charge in a statement. */
  readonly isMovement?: boolean;
}

/** No value. A card on a phone leaves it out. */
export const None = () => <span className="muted none">–</span>;

export const Money = ({ amount, isRounded, isEstimated, isMovement }: MoneyProps) => {
  if (amount === null || amount === undefined) return <None />;
  const className = isNegative(amount) && !isMovement ? 'bad-text' : '';
  const exact = exactMoney(amount);
  const shown = isRounded ? roundMoney(amount) : exact;
  return (
    <>
      <span
        className={shown === exact ? className : `full ${className}`}
        {...(shown !== exact && { 'data-full': exact, tabIndex: 0 })}
      >
        {isEstimated ? '≈ ' : ''}
        {shown}
      </span>
      {isEstimated ? (
        <>
          {' '}
          <Badge tone="warn">{texts.estimated}</Badge>
        </>
      ) : null}
    </>
  );
};

interface MarginProps {
  readonly usage: Pick<OperatorUsage, 'revenue' | 'margin' | 'known_cost'> | undefined;
  readonly isRounded?: boolean;
}

/** Where costs are unknown, the margin is at most what the known ones leave. */
const marginOf = (usage: NonNullable<MarginProps['usage']>): string =>
  usage.margin ?? subtractMoney(usage.revenue, usage.known_cost);

export const Margin = ({ usage, isRounded = false }: MarginProps) => {
  const amount = <Money amount={usage && marginOf(usage)} isRounded={isRounded} />;
  return usage?.margin === null ? <>≤ {amount}</> : amount;
};

/** One timer for all relative times of the page. */
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
const TICK_MS = 1_000;

export function useNow(everyMs = 10_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const tick = (): void =>
      setNow((before) => {
        const current = Date.now();
        return current - before >= everyMs - TICK_MS / 2 ? current : before;
      });
    listeners.add(tick);
    timer ??= setInterval(() => {
      for (const listener of listeners) listener();
    }, TICK_MS);
    return () => {
      listeners.delete(tick);
      if (listeners.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, [everyMs]);
  return now;
}

export const Time = ({ at }: { readonly at: string | null | undefined }) => {
  const now = useNow();
  const mode = useTimeMode();
  if (!at) return <span className="muted">–</span>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the absolute time shows on focus, for readers without a pointer
    <time dateTime={at} className="full nowrap" data-full={bothTimes(at)} tabIndex={0}>
      {mode === 'ago' ? relativeTime(at, now) : columnTime(at, mode)}
    </time>
  );
};

export const Countdown = ({ until }: { readonly until: string }) => {
  const now = useNow(TICK_MS);
  return <span className="nowrap">{countdownText(until, now)}</span>;
};

/** Ids keep their kind and their end, where they differ. */
const shortId = (id: string): string => (id.length <= 18 ? id : `${id.slice(0, 10)}…${id.slice(-5)}`);

interface IdProps {
  readonly id: string | null | undefined;
  readonly to?: string | undefined;
  readonly isWhole?: boolean;
  readonly canCopy?: boolean;
}

export const Id = ({ id, to, isWhole, canCopy = true }: IdProps) => {
  if (!id) return <span className="muted">–</span>;
  const text = isWhole ? id : shortId(id);
  return (
    <span className="id">
      {to === undefined ? <span title={id}>{text}</span> : <Link to={to}>{text}</Link>}
      {canCopy && (
        <button type="button" className="quiet" aria-label={`${t('Copy')} ${id}`} onClick={() => void copyText(id)}>
          <CopyIcon />
        </button>
      )}
    </span>
  );
};

const CopyIcon = () => (
  <svg aria-hidden="true" width="14" height="14" viewBox="0 0 16 16" fill="none" stroke="currentColor">
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M10.5 3.5v-1h-8v8h1" />
  </svg>
);

/** Whether the text is in the clipboard now. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    notify(texts.copied);
    return true;
  } catch {
    notify(texts.copyFailed);
    return false;
  }
}
