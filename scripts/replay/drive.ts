/** Drives every recording through the gateway, with a bounded number of lanes. */
import { DIALECTS, type Dialect, UPSTREAM_DIALECTS, type UpstreamDialect } from '../../src/rules/index.ts';
import { startGateway } from '../../test/support/gateway.ts';
import { replayAnswer } from './answer.ts';
import { type Lane, openLane } from './lanes.ts';
import { replayNative } from './native.ts';
import { difference, type Outcome, type Replay, type Way } from './outcome.ts';
import { type Recording, textOf } from './recording.ts';
import { replayRequest } from './request.ts';

const LANES = 4;

type Player = (replay: Replay, lane: Lane) => Promise<Outcome>;
const PLAYERS: Readonly<Record<Way, Player>> = { native: replayNative, request: replayRequest, answer: replayAnswer };

/**
 * The calls that a recording allows. Generate-content clients are not converted, no client speaks Converse, and an
 * error is a response of its own request only.
 */
export function replaysOf(recording: Recording): Replay[] {
  const { dialect, request, status, events } = recording;
  // The first response of a background request has no content yet.
  const isFinal = !['queued', 'in_progress'].includes(textOf(events[0]?.status));
  const clients = DIALECTS.filter((other) => other !== dialect && other !== 'generate');
  const pair = (way: Way, client: Dialect, provider: UpstreamDialect): Replay => ({ recording, way, client, provider });
  const answers = clients.filter(() => isFinal).map((client) => pair('answer', client, dialect));
  if (dialect === 'converse') return answers;
  return [
    pair('native', dialect, dialect),
    ...(request && dialect !== 'generate' && status === 200
      ? UPSTREAM_DIALECTS.filter((other) => other !== dialect).map((provider) => pair('request', dialect, provider))
      : []),
    ...answers,
  ];
}

export async function drive(
  files: AsyncIterable<readonly Recording[]>,
  note: (outcome: Outcome) => void,
): Promise<void> {
  const gateway = await startGateway({ env: { LOG_LEVEL: 'error' } });
  const source = files[Symbol.asyncIterator]();
  const opened: Lane[] = [];
  let opening: Promise<unknown> = Promise.resolve();
  // One after the other: all of them wait for one lock of the configuration.
  const open = (): Promise<Lane> => {
    const lane = opening.then(() => openLane(gateway, `lane${opened.length}`));
    opening = lane.then((made) => opened.push(made));
    return lane;
  };
  const runLane = async (): Promise<void> => {
    let lane = await open();
    for (let next = await source.next(); !next.done; next = await source.next())
      for (const replay of next.value.flatMap(replaysOf)) {
        const outcome = await play(replay, lane);
        note(outcome);
        if (outcome.spoilsLane) lane = await open();
      }
  };
  try {
    await Promise.all(Array.from({ length: LANES }, runLane));
  } finally {
    await gateway.stop();
    for (const lane of opened) await lane.close();
  }
}

async function play(replay: Replay, lane: Lane): Promise<Outcome> {
  try {
    return await PLAYERS[replay.way](replay, lane);
  } catch (error) {
    return { replay, differences: [difference('replay', 'a result', String(error))], spoilsLane: true };
  }
}
