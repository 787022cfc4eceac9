/**
 * One call: its attempts on one time axis, its conversion, and the arithmetic of its charge as the server computed it.
 */
import type { ReadRequest, ShownAttempt } from '../../../src/schemas/index.ts';
import { yesOrNo } from '../format/answer.ts';
import { countText } from '../format/count.ts';
import { absoluteTime, durationText, isUtc, localTime } from '../format/time.ts';
import { t } from '../language.ts';
import { paths } from '../paths.ts';
import { texts } from '../texts.ts';
import { Json } from './code.tsx';
import { Card, Facts } from './page.tsx';
import { Sums } from './sums.tsx';
import { Id, Money } from './values.tsx';

interface RequestViewProps {
  readonly request: ReadRequest;
  readonly reader: 'operator' | 'user';
}

export const RequestView = ({ request, reader }: RequestViewProps) => {
  const isOperator = reader === 'operator';
  const attempts = request.attempts ?? [];
  const replyModel = request.usage?.replyModel;
  return (
    <div className="stack">
      {request.message && (
        <p className="notice" data-tone={request.status >= 500 ? 'bad' : 'warn'}>
          <strong>{texts.request.told}</strong> {request.message}
        </p>
      )}
      {attempts.length > 0 && (
        <Card title="Attempts">
          <Attempts attempts={attempts} totalMs={request.total_ms} />
        </Card>
      )}
      <div className="grid-2">
        <Card title="Call">
          <Facts
            rows={[
              ['Time', absoluteTime(request.at)],
              ['Local time', isUtc() ? undefined : localTime(request.at)],
              [
                'User',
                request.user ? (
                  <Id key="user" id={request.user} to={paths.user(request.user)} canCopy={false} />
                ) : undefined,
              ],
              [
                'Key',
                request.key ? (
                  <Id key="key" id={request.key} to={isOperator ? paths.key(request.key) : paths.myKey(request.key)} />
                ) : (
                  texts.request.noKey
                ),
              ],
              ['Group', request.group ?? undefined],
              ['Operation', request.operation],
              ['Model', request.model],
              [
                'Upstream model',
                isOperator && request.upstream_model !== request.model ? request.upstream_model : undefined,
              ],
              ['Reply model', typeof replyModel === 'string' ? replyModel : undefined],
              ['Stream', request.stream === null ? undefined : yesOrNo(request.stream)],
              ['Dialect', isOperator ? undefined : request.dialect],
              ['Conversion', isOperator && request.dialect !== null ? conversionText(request) : undefined],
              ['Dropped', request.dropped.length > 0 ? request.dropped.join(', ') : undefined],
              ['Changed', request.changed.length > 0 ? request.changed.join(', ') : undefined],
              ['First byte', request.first_byte_ms === null ? undefined : durationText(request.first_byte_ms)],
              ['Added by us', isOperator && request.added_ms !== null ? durationText(request.added_ms) : undefined],
              ['Failover', isOperator && request.failover_ms !== null ? durationText(request.failover_ms) : undefined],
              ['Total', durationText(request.total_ms)],
              ['Session', isOperator && request.session ? <Id key="session" id={request.session} /> : undefined],
            ]}
          />
        </Card>
        <Card title="Charge">
          <Charge request={request} isOperator={isOperator} />
        </Card>
      </div>
      <Json label="Raw record" value={request} />
    </div>
  );
};

const conversionText = ({ converted, dialect, target_dialect }: ReadRequest): string =>
  converted ? `${dialect} → ${target_dialect}` : t('none');

const Attempts = ({ attempts, totalMs }: { readonly attempts: readonly ShownAttempt[]; readonly totalMs: number }) => (
  <div className="attempts">
    {attempts.map((attempt, n) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: attempts are in the order of time
      <div className="attempt" key={n}>
        <span className="muted num">{durationText(attempt.start_ms)}</span>
        <Id id={attempt.account} to={paths.account(attempt.account)} canCopy={false} />
        <AttemptBar attempt={attempt} totalMs={totalMs} />
        <span className="small">
          {attempt.status ?? ''} {t(attempt.outcome ?? 'open')}
          {attempt.group !== undefined && ` · ${texts.request.fallbackTo(attempt.group)}`}
          {typeof attempt.first_byte_ms === 'number' &&
            ` · ${texts.request.firstByte(durationText(attempt.first_byte_ms - attempt.start_ms))}`}
        </span>
        {attempt.cost !== undefined && (
          <span className="small muted">
            {texts.request.costInVain} <Money amount={attempt.cost} />
          </span>
        )}
        {attempt.message && <blockquote>{attempt.message}</blockquote>}
        {attempt.request_id && (
          <span className="small muted">
            {texts.request.providerId} <Id id={attempt.request_id} isWhole />
          </span>
        )}
      </div>
    ))}
  </div>
);

const WIDTH = 1000;

/** An SVG, because its lengths are attributes and need no inline style. */
const AttemptBar = ({ attempt, totalMs }: { readonly attempt: ShownAttempt; readonly totalMs: number }) => {
  const x = (ms: number): number => (WIDTH * Math.min(ms, totalMs)) / Math.max(totalMs, 1);
  const end = attempt.end_ms ?? totalMs;
  const first = attempt.first_byte_ms ?? end;
  const isOk = ['ok', 'client_closed'].includes(attempt.outcome ?? 'ok');
  return (
    <svg className="bar" viewBox={`0 0 ${WIDTH} 14`} preserveAspectRatio="none" aria-hidden="true">
      <rect className="track" x="0" y="0" width={WIDTH} height="14" />
      <rect
        className={isOk ? 'wait' : 'failed'}
        x={x(attempt.start_ms)}
        y="0"
        width={Math.max(3, x(first) - x(attempt.start_ms))}
        height="14"
      />
      {isOk && <rect className="read" x={x(first)} y="0" width={Math.max(0, x(end) - x(first))} height="14" />}
    </svg>
  );
};

const Charge = ({ request, isOperator }: { readonly request: ReadRequest; readonly isOperator: boolean }) => {
  if (!request.pricing?.charge)
    return request.charge === null ? (
      <p className="muted">{texts.money.notCharged}</p>
    ) : (
      <Facts
        rows={[
          ...tokensOf(request.usage),
          ['Charged', <Money key="charged" amount={request.charge} isEstimated={request.estimated} />],
        ]}
      />
    );
  return <Sums pricing={request.pricing} isOperator={isOperator} isEstimated={request.estimated} />;
};

/** The input of a call contains what was read from a cache or written to it. */
const TOKEN_NAMES = {
  input: 'Input',
  cacheRead: 'Read from a cache',
  cacheWrite: 'Written to a cache',
  output: 'Output',
} as const;

const tokensOf = (usage: ReadRequest['usage']): [string, string][] =>
  Object.entries(TOKEN_NAMES).flatMap(([name, label]): [string, string][] => {
    const count = usage?.[name];
    return typeof count === 'number' && count > 0 ? [[label, texts.counts.tokens(countText(count))]] : [];
  });
