/** The third way: a real response, read by a client of another dialect through its official SDK. */
import { endOfPause } from './canned.ts';
import { askAs, type ConvertedClient } from './clients.ts';
import { compareFacts } from './compare.ts';
import { isList, sseOf } from './events.ts';
import { factsOf } from './facts.ts';
import { foldRecording } from './fold.ts';
import { isFramed } from './frames.ts';
import type { Lane } from './lanes.ts';
import { difference, type Outcome, type Replay } from './outcome.ts';
import { type Recording, recordOf, textOf } from './recording.ts';

export async function replayAnswer(replay: Replay, lane: Lane): Promise<Outcome> {
  const { recording, provider } = replay;
  const client = replay.client as ConvertedClient;
  const whole = foldRecording(recording);
  const source = factsOf(provider, whole);
  let rounds = 0;
  lane.play((request) => (rounds++ === 0 ? asAsked(recording) : endOfPause(request)));
  const tools = [...new Set(source.calls.map(({ name }) => name))];
  const ask = { url: lane.url, key: lane.keys[provider], isStream: recording.isStream, tools };
  const isFailure = recording.status !== 200 || whole.error || whole.status === 'failed';
  try {
    const seen = await askAs(client, ask);
    if (isFailure) {
      // This dialect reports a failure in a response.
      const differences = seen.status === 'failed' ? [] : [difference('failure', whole.error, seen)];
      return { replay, differences, spoilsLane: true };
    }
    return { replay, differences: compareFacts(source, factsOf(client, seen)), spoilsLane: false };
  } catch (error) {
    const differences = isFailure ? [] : [difference('failure', 'a response', messageOf(error))];
    return { replay, differences, spoilsLane: true };
  }
}

/** The gateway asks for events, so that the provider would have sent a list, or the frames of a cloud, as such. */
const asAsked = (recording: Recording): Recording =>
  isList(recording.body) || isFramed(recording.body)
    ? { ...recording, body: sseOf(recording.dialect, recording.events) }
    : recording;

const messageOf = (error: unknown): string => {
  const { status, message } = recordOf(error);
  return status === undefined ? String(error) : `${String(status)} ${textOf(message) || String(error)}`;
};
