/** Conversations that run: one for each model of the playground. */
import { useEffect, useRef, useState } from 'react';
import { problemOf } from '../../api/client.ts';
import { play } from './calls.ts';
import type { PlayDialect, PlaySettings, ReplyTurn, SentTurn, Turn } from './conversation.ts';
import { PLAY_DIALECTS, takeEvents } from './dialects.ts';
import { playTexts } from './texts.ts';

/** Who is asked. */
export interface PlaySide {
  readonly keyId: string;
  readonly dialect: PlayDialect;
  readonly model: string;
}

/** A turn that was sent, and what came of it. */
export interface Exchange {
  readonly id: number;
  readonly side: PlaySide;
  readonly sent: SentTurn;
  readonly request: Readonly<Record<string, unknown>>;
  readonly reply?: ReplyTurn;
  readonly events: readonly object[];
  readonly headers?: Headers;
  readonly firstMs?: number;
  readonly totalMs?: number;
  readonly problem?: Error;
}

/** A long stream would slow the page down; the reply itself is always whole. */
const MAX_EVENTS = 2_000;

export const isRunning = ({ totalMs }: Exchange): boolean => totalMs === undefined;

/** Replies that have arrived. One that failed is not part of the conversation. */
const historyOf = (exchanges: readonly Exchange[]): Turn[] =>
  exchanges.flatMap(({ sent, reply, problem }) => (reply && !problem ? [sent, reply] : []));

/** The body of the next request. */
export const requestOf = (
  { dialect, model }: PlaySide,
  settings: PlaySettings,
  before: readonly Exchange[],
  sent: SentTurn,
): Readonly<Record<string, unknown>> =>
  PLAY_DIALECTS[dialect].body({ ...settings, model, turns: [...historyOf(before), sent] }) as Record<string, unknown>;

export function useConversation() {
  const [exchanges, setExchanges] = useState<readonly Exchange[]>([]);
  /** A second click comes before the render that would disable the button. */
  const running = useRef<AbortController>(undefined);
  const count = useRef(0);
  useEffect(() => () => running.current?.abort(), []);

  const send = async (side: PlaySide, settings: PlaySettings, sent: SentTurn): Promise<void> => {
    if (running.current) return;
    const aborter = new AbortController();
    running.current = aborter;
    const before = exchanges.filter(({ problem }) => !problem);
    const request = requestOf(side, settings, before, sent);
    count.current += 1;
    const id = count.current;
    setExchanges([...before, { id, side, sent, request, events: [] }]);
    const change = (more: Partial<Exchange>): void =>
      setExchanges((all) => all.map((one) => (one.id === id ? { ...one, ...more } : one)));
    const began = performance.now();
    try {
      await follow({ side, request, signal: aborter.signal, began, change });
    } catch (error) {
      const isStopped = error instanceof DOMException && error.name === 'AbortError';
      change({ problem: isStopped ? new Error(playTexts.stopped) : (error as Error) });
    } finally {
      change({ totalMs: performance.now() - began });
      if (running.current === aborter) running.current = undefined;
    }
  };
  const stop = (): void => running.current?.abort();
  /** Removes the last prompt with everything after it, and returns it. */
  const takeBack = (): SentTurn | undefined => {
    const at = exchanges.findLastIndex(({ sent }) => sent.role === 'user');
    if (at < 0 || running.current) return undefined;
    setExchanges(exchanges.slice(0, at));
    return exchanges[at]?.sent;
  };
  const clear = (): void => {
    stop();
    running.current = undefined;
    setExchanges([]);
  };
  return { exchanges, send, stop, takeBack, clear };
}

export type Conversation = ReturnType<typeof useConversation>;

interface Following {
  readonly side: PlaySide;
  readonly request: object;
  readonly signal: AbortSignal;
  readonly began: number;
  readonly change: (more: Partial<Exchange>) => void;
}

async function follow({ side, request, signal, began, change }: Following): Promise<void> {
  const row = PLAY_DIALECTS[side.dialect];
  const response = await play(row.path(side.model), { key: side.keyId, body: request, signal });
  change({ headers: response.headers });
  if (!response.ok) throw problemOf(response, await response.json().catch(() => undefined));
  const reader = row.reader();
  const events: object[] = [];
  let firstMs: number | undefined;
  for await (const arrived of eventsOf(response)) {
    if (arrived.length === 0) continue;
    firstMs ??= performance.now() - began;
    try {
      for (const event of arrived) {
        if (events.length < MAX_EVENTS) events.push(event);
        reader.add(event);
      }
    } finally {
      // One render for all events of a chunk; what arrived before an error is shown.
      change({ reply: reader.turn(), events: [...events], firstMs });
    }
  }
}

/** The events of each chunk. */
async function* eventsOf(response: Response): AsyncGenerator<readonly object[]> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let buffer = '';
  for (;;) {
    const { done, value } = await reader.read();
    const { events, rest } = takeEvents(done ? `${buffer}\n\n` : buffer + value);
    buffer = rest;
    yield events.map((data) => JSON.parse(data) as object);
    if (done) return;
  }
}
