/**
 * Streams of Bedrock: binary frames of AWS. Those of Converse are read as one object for each frame, with the type of its event as the only
 * member; those of a model with an API of its own hold its events.
 */
import { awsMessage } from '../../sim/clouds/aws-frames.ts';
import { isRecord, type JsonRecord, jsonOf } from './recording.ts';

/** The length of the first frame begins with a zero, which no text does. */
export const isFramed = (body: Buffer): boolean => body.length > 16 && body[0] === 0;

export function readFrames(body: Buffer): { readonly isStream: true; readonly events: JsonRecord[] } | undefined {
  const events: JsonRecord[] = [];
  for (let at = 0; at < body.length; ) {
    const length = body.readUInt32BE(at);
    const payloadAt = at + 12 + body.readUInt32BE(at + 4);
    const head = body.toString('latin1', at + 12, payloadAt);
    const type = /:(?:event|exception)-type...(\w+)/s.exec(head)?.[1] ?? '';
    const payload = jsonOf(body.toString('utf8', payloadAt, at + length - 4));
    if (length < 16 || !isRecord(payload)) return undefined;
    events.push(ownEvent(type, payload) ?? { [type]: payload });
    at += length;
  }
  return { isStream: true, events };
}

/** The event of the model in a frame of InvokeModelWithResponseStream. */
function ownEvent(type: string, { bytes }: JsonRecord): JsonRecord | undefined {
  if (type !== 'chunk' || typeof bytes !== 'string') return undefined;
  const event = jsonOf(Buffer.from(bytes, 'base64').toString('utf8'));
  return isRecord(event) ? event : undefined;
}

export const framesOf = (events: readonly JsonRecord[]): Buffer =>
  Buffer.concat(
    events.flatMap((event) =>
      Object.entries(event).map(([type, payload]) =>
        awsMessage({ ':event-type': type, ':message-type': 'event' }, payload as object),
      ),
    ),
  );
