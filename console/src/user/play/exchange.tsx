/** One turn of a conversation: what was sent, what came back in its parts, and what it cost. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { durationText } from '../../format/time.ts';
import { t } from '../../language.ts';
import { JsonText } from '../../parts/code.tsx';
import { Dialog, Opener } from '../../parts/dialog.tsx';
import { ProblemNotice } from '../../parts/form.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import { paths } from '../../paths.ts';
import { FileChips } from './attachments.tsx';
import { CodeButton } from './code-button.tsx';
import { callsIn, type ReplyPart, type ResultsTurn, type SentTurn, type ToolCall } from './conversation.ts';
import { type Exchange, isRunning } from './conversations.ts';
import { PLAY_DIALECTS } from './dialects.ts';
import { Charge, conversionOf } from './parts.tsx';
import { playTexts } from './texts.ts';

interface ExchangeViewProps {
  readonly exchange: Exchange;
  readonly isLast: boolean;
  readonly edit: (() => void) | undefined;
  readonly answer: (turn: ResultsTurn) => void;
}

export const ExchangeView = ({ exchange, isLast, edit, answer }: ExchangeViewProps) => {
  const { sent, reply, problem } = exchange;
  const calls = reply && !isRunning(exchange) && !problem && isLast ? callsIn(reply) : [];
  return (
    <li className="exchange">
      <Sent turn={sent} edit={edit} />
      <div className="reply" aria-live="polite" aria-busy={isRunning(exchange)}>
        {reply?.parts.map((part, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts are only added at the end
          <Part key={n} part={part} />
        ))}
        {isRunning(exchange) && <span className="muted">…</span>}
        {reply?.stop && <p className="muted">{playTexts.stop(reply.stop)}</p>}
      </div>
      {problem && <ProblemNotice problem={problem} />}
      {calls.length > 0 && <Results calls={calls} answer={answer} />}
      {!isRunning(exchange) && <Footer exchange={exchange} />}
    </li>
  );
};

const Sent = ({ turn, edit }: { readonly turn: SentTurn; readonly edit: (() => void) | undefined }) => (
  <div className="sent">
    {turn.role === 'user' ? (
      <>
        {turn.files.length > 0 && <FileChips files={turn.files} />}
        <p className="raw">{turn.text}</p>
      </>
    ) : (
      turn.results.map(({ call, text }) => (
        <p key={call.id} className="raw">
          <span className="muted small">{playTexts.result(call.name)}</span>
          {'\n'}
          {text}
        </p>
      ))
    )}
    {edit && (
      <button type="button" className="quiet" onClick={edit}>
        {t('Edit')}
      </button>
    )}
  </div>
);

const Part = ({ part }: { readonly part: ReplyPart }) => {
  switch (part.kind) {
    case 'text':
      return <Markdown text={part.text} />;
    case 'thinking':
      return (
        <details className="thinking" open>
          <summary>{t('Thinking')}</summary>
          <p className="raw">{part.text}</p>
        </details>
      );
    case 'image':
      return <img className="media" src={part.source} alt="" />;
    case 'call':
      return (
        <div className="call">
          <span className="small muted">{t('Call')}</span> <code>{part.call.name}</code>
          <pre>{prettyJson(part.call.arguments)}</pre>
        </div>
      );
  }
};

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

interface ResultsProps {
  readonly calls: readonly ToolCall[];
  readonly answer: (turn: ResultsTurn) => void;
}

/** The model waits for a result of every call. */
const Results = ({ calls, answer }: ResultsProps) => {
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  return (
    <form
      className="fields results"
      onSubmit={(event) => {
        event.preventDefault();
        answer({ role: 'results', results: calls.map((call) => ({ call, text: texts[call.id] ?? '' })) });
      }}
    >
      {calls.map((call) => (
        <label key={call.id} className="field">
          <span className="label">{playTexts.result(call.name)}</span>
          <textarea
            className="mono"
            rows={3}
            spellCheck={false}
            required
            value={texts[call.id] ?? ''}
            onChange={(event) => setTexts({ ...texts, [call.id]: event.target.value })}
          />
        </label>
      ))}
      <div className="row">
        <button type="submit" className="primary">
          {t('Send results')}
        </button>
        <span className="muted small">{playTexts.answerCalls}</span>
      </div>
    </form>
  );
};

const Footer = ({ exchange }: { readonly exchange: Exchange }) => {
  const { side, request, headers, firstMs, totalMs } = exchange;
  const { operation, path } = PLAY_DIALECTS[side.dialect];
  const id = headers?.get('x-request-id') ?? null;
  const facts = [
    firstMs !== undefined && playTexts.firstEvent(durationText(firstMs)),
    totalMs !== undefined && playTexts.total(durationText(totalMs)),
    headers && conversionOf(headers),
  ];
  return (
    <div className="row foot">
      <CodeButton request={{ operation, path: path(side.model), body: request }} />
      <Opener label="Details">
        {(close) => (
          <Dialog title={t('Details')} className="wide" isRead onClose={close}>
            <Details exchange={exchange} />
          </Dialog>
        )}
      </Opener>
      <span className="muted small break">
        {facts.filter(Boolean).join(' · ')} {headers && <Charge keyId={side.keyId} headers={headers} />}
        {id && (
          <>
            {' · '}
            <Link to={paths.myRequest(id)}>{t('charge and details')}</Link>
          </>
        )}
      </span>
    </div>
  );
};

const TABS = ['Request', 'Response', 'Headers'] as const;

const Details = ({ exchange }: { readonly exchange: Exchange }) => {
  const [tab, setTab] = useState<(typeof TABS)[number]>('Request');
  const { request, events, headers } = exchange;
  const shown = { Request: request, Response: events, Headers: Object.fromEntries(headers ?? []) };
  return (
    <div className="fields">
      <div className="segments">
        {TABS.map((name) => (
          <button key={name} type="button" aria-pressed={name === tab} onClick={() => setTab(name)}>
            {t(name)}
          </button>
        ))}
      </div>
      <JsonText value={shown[tab]} />
    </div>
  );
};
