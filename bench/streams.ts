/** What a thousand open streams cost that have begun and are silent now: the memory of the target before and with them. */
import { ask, pause, type Started } from './child.ts';
import type { HoldReport } from './load.ts';
import { rssMb } from './machine.ts';
import { NATIVE, requestOf } from './scenes.ts';
import type { Target, TargetName } from './targets.ts';

export const STREAMS = 1_000;
/** Memory of finished connections and of the collector settles. */
const SETTLE_MS = 1_000;

export interface OpenStreams {
  readonly target: TargetName;
  readonly open: number;
  readonly idleMb: number;
  readonly withMb: number;
}

/** On a target that has done nothing yet, so that no memory of earlier load hides the price. */
export async function openStreams(target: Target, load: Started): Promise<OpenStreams | undefined> {
  if (target.pid === undefined) return undefined;
  const idleMb = rssMb(target.pid);
  const request = requestOf(target, NATIVE, 'bench-hold', true);
  const { open } = await ask<HoldReport>(load, { hold: STREAMS, port: target.port, request });
  await pause(SETTLE_MS);
  const withMb = rssMb(target.pid);
  await ask(load, { release: true });
  await pause(SETTLE_MS);
  return { target: target.name, open, idleMb, withMb };
}
