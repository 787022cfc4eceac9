/** Memory of a target with a thousand open, idle streams. */
import { setTimeout as pause } from 'node:timers/promises';
import { type StartedProcess, sendOrder } from './child.ts';
import type { HoldReport } from './load.ts';
import { rssMb } from './machine.ts';
import { NATIVE, requestOf } from './scenarios.ts';
import type { Target } from './target.ts';
import type { TargetRow } from './targets.ts';

export const STREAMS = 1_000;
/** Time for closed connections and garbage collection to settle. */
const SETTLE_MS = 1_000;

export interface OpenStreams {
  readonly target: string;
  readonly open: number;
  readonly idleMb: number;
  readonly withMb: number;
}

/** Must run before other load, whose memory would hide that of the streams. */
export async function openStreams(
  { name, lines }: TargetRow,
  target: Target,
  load: StartedProcess,
): Promise<OpenStreams | undefined> {
  if (target.pid === undefined) return undefined;
  const idleMb = rssMb(target.pid);
  const { route } = lines.find(({ route: { from, to } }) => from === to) ?? { route: NATIVE };
  const request = requestOf(target, route, { model: 'bench-hold', stream: true });
  const { open } = await sendOrder<HoldReport>(load, { hold: STREAMS, port: target.port, request });
  await pause(SETTLE_MS);
  const withMb = rssMb(target.pid);
  await sendOrder(load, { release: true });
  await pause(SETTLE_MS);
  return { target: name, open, idleMb, withMb };
}
