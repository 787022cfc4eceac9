/** The second way: a real request on a key of another style. It is accepted, or refused by the name of a member. */
import { cannedReply } from './canned.ts';
import type { Lane } from './lanes.ts';
import { findLosses } from './losses.ts';
import { headersOf, requestFor } from './native.ts';
import { difference, type Outcome, type Replay } from './outcome.ts';
import { jsonOf } from './recording.ts';
import { rejectionIn } from './rejection.ts';

export async function replayRequest(replay: Replay, lane: Lane): Promise<Outcome> {
  const { recording, provider } = replay;
  const sent = requestFor(recording);
  const received = lane.play((request) => cannedReply(provider, request));
  const response = await fetch(lane.url + sent.path, {
    method: 'POST',
    headers: headersOf(sent.headers, lane.keys[provider]),
    body: sent.body,
  });
  const text = await response.text();
  const spoilsLane = response.status >= 500;
  if (response.status !== 200) {
    const refusal = rejectionIn(response.status, text);
    if (refusal !== undefined) return { replay, refusal, differences: [], spoilsLane };
    return { replay, differences: [difference('status', 200, `${response.status} ${text}`)], spoilsLane };
  }
  const dropped = (response.headers.get('x-gateway-dropped') ?? '').split(',').map(decodeURIComponent);
  const losses = findLosses(
    jsonOf(sent.body.toString('utf8')),
    jsonOf(received[0]?.body.toString('utf8') ?? ''),
    dropped,
  );
  return {
    replay,
    differences: losses.map(({ path, value }) => difference(`silent loss of ${path}`, value, 'nothing')),
    spoilsLane,
  };
}
