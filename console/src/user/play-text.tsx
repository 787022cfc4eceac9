/** Text: one prompt in any of the four dialects, streamed. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { problemOf } from '../api/client.ts';
import { durationText } from '../format/time.ts';
import { t } from '../language.ts';
import { JsonText } from '../parts/code.tsx';
import { Explain } from '../parts/explain.tsx';
import { ProblemNotice } from '../parts/form.tsx';
import { Markdown } from '../parts/markdown.tsx';
import { paths } from '../paths.ts';
import { sessionQuery } from '../shell/session.ts';
import { texts } from '../texts.ts';
import { dialectsFor, PLAY_DIALECTS, type PlayDialect, type StreamEvent, takeEvents } from './dialects.ts';
import { ofKind, play } from './play-models.ts';
import { Charge, footerOf, ModelField, PlayForm, type PlayProps } from './play-parts.tsx';

const TABS = ['Reply', 'Request', 'Response', 'Headers'] as const;
/** A long stream would slow the page down; the reply itself is always whole. */
const MAX_EVENTS = 2_000;

interface Run {
  readonly text: string;
  readonly request: unknown;
  readonly events: readonly unknown[];
  readonly headers: Headers | undefined;
  readonly firstMs: number | undefined;
  readonly totalMs: number | undefined;
  readonly problem: Error | undefined;
}

const EMPTY: Run = {
  text: '',
  request: undefined,
  events: [],
  headers: undefined,
  firstMs: undefined,
  totalMs: undefined,
  problem: undefined,
};

export const PlayText = ({ keyId, style, models, wanted: opened, prompt, setPrompt }: PlayProps) => {
  const dialects = dialectsFor(style);
  const [wanted, setDialect] = useState<PlayDialect>();
  // Another key may not take the dialect that was chosen for the last one.
  const dialect = dialects.find((name) => name === wanted) ?? dialects[0] ?? 'responses';
  const [chosen, setModel] = useState(opened);
  const [system, setSystem] = useState('');
  const [tab, setTab] = useState<(typeof TABS)[number]>('Reply');
  const [run, setRun] = useState<Run>(EMPTY);
  const aborter = useRef<AbortController>(undefined);
  const [isRunning, setRunning] = useState(false);
  useEffect(() => () => aborter.current?.abort(), []);
  const session = useQuery(sessionQuery).data;
  const isOperator = session?.isSignedIn === true && session.session.person.role === 'operator';
  const own = ofKind(models, 'text');
  const model = chosen ?? own[0]?.id ?? '';

  const bodyOf = () => PLAY_DIALECTS[dialect].body({ model, prompt, system, maxTokens: 1024 });

  const start = async (): Promise<void> => {
    const row = PLAY_DIALECTS[dialect];
    const body = bodyOf();
    aborter.current = new AbortController();
    setRunning(true);
    setRun({ ...EMPTY, request: body });
    setTab('Reply');
    const began = performance.now();
    try {
      const response = await play(row.path(model), { key: keyId, body, signal: aborter.current.signal });
      setRun((before) => ({ ...before, headers: response.headers }));
      if (!response.ok) throw problemOf(response, await response.json().catch(() => undefined));
      for await (const event of eventsOf(response)) {
        const added = row.textOf(event) ?? '';
        const elapsed = performance.now() - began;
        setRun((before) => ({
          ...before,
          text: before.text + added,
          events: before.events.length < MAX_EVENTS ? [...before.events, event] : before.events,
          firstMs: before.firstMs ?? elapsed,
        }));
      }
    } catch (error) {
      const isStopped = error instanceof DOMException && error.name === 'AbortError';
      const problem = isStopped ? new Error(texts.playground.stopped) : (error as Error);
      setRun((before) => ({ ...before, problem }));
    } finally {
      setRun((before) => ({ ...before, totalMs: performance.now() - began }));
      setRunning(false);
    }
  };

  return (
    <div className="play">
      <PlayForm
        prompt={prompt}
        setPrompt={setPrompt}
        isRunning={isRunning}
        run={() => void start()}
        stop={() => aborter.current?.abort()}
        action={isOperator && <Explain call={{ key: keyId, model, dialect }} body={bodyOf()} />}
      >
        <div className="segments wrap-segments">
          {dialects.map((name) => (
            <button key={name} type="button" aria-pressed={name === dialect} onClick={() => setDialect(name)}>
              {PLAY_DIALECTS[name].label}
            </button>
          ))}
        </div>
        <ModelField value={model} models={own} onChange={setModel} />
        <label className="field">
          <span className="label">{t('Instructions')}</span>
          <input value={system} onChange={(event) => setSystem(event.target.value)} />
        </label>
      </PlayForm>
      <section className="card">
        <header>
          <div className="segments">
            {TABS.map((name) => (
              <button key={name} type="button" aria-pressed={name === tab} onClick={() => setTab(name)}>
                {t(name)}
              </button>
            ))}
          </div>
        </header>
        <div className="body fields">
          {run.problem && <ProblemNotice problem={run.problem} />}
          {tab === 'Reply' && (
            <div className="reply" aria-live="polite" aria-busy={isRunning}>
              {run.text ? (
                <Markdown text={run.text} />
              ) : (
                !isRunning && <span className="muted">{texts.playground.empty}</span>
              )}
            </div>
          )}
          {tab === 'Request' && <JsonText value={run.request ?? {}} />}
          {tab === 'Response' && <JsonText value={run.events} />}
          {tab === 'Headers' && <JsonText value={Object.fromEntries(run.headers ?? [])} />}
          {run.headers && <Footer run={run} headers={run.headers} />}
        </div>
      </section>
    </div>
  );
};

const Footer = ({ run, headers }: { readonly run: Run; readonly headers: Headers }) => {
  const id = headers.get('x-request-id');
  return (
    <p className="muted small break">
      {run.firstMs !== undefined && `${texts.playground.firstEvent(durationText(run.firstMs))} · `}
      {run.totalMs !== undefined && `total ${durationText(run.totalMs)} · `}
      {footerOf(headers)}
      {id && run.totalMs !== undefined && (
        <>
          {' '}
          <Charge headers={headers} />
          {' · '}
          <Link to={paths.myRequest(id)}>{t('charge and details')}</Link>
        </>
      )}
    </p>
  );
};

async function* eventsOf(response: Response): AsyncGenerator<StreamEvent> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let buffer = '';
  for (;;) {
    const { done, value } = await reader.read();
    const { events, rest } = takeEvents(done ? `${buffer}\n\n` : buffer + value);
    buffer = rest;
    for (const data of events) yield JSON.parse(data) as StreamEvent;
    if (done) return;
  }
}
