/** A reply without a picture: a failure of the call, whatever the model wrote instead. */
import type { CompleteReply } from '../codec.ts';
import type { Fault } from '../errors/fault.ts';
import type { HubStop } from '../hub/types.ts';
import { picturesIn } from './pictures.ts';

const BLOCKED: ReadonlySet<HubStop> = new Set<HubStop>(['filter', 'refusal']);

export function faultIn({ items, stop, refusal }: CompleteReply): Fault | undefined {
  if (picturesIn(items).length > 0) return undefined;
  if (BLOCKED.has(stop)) {
    const message = refusal ?? 'The provider blocked the image.';
    return { kind: 'request', error: { code: 'content_policy_violation', message } };
  }
  // The account works, so it needs no cooldown. The same request would be paid for again and most likely fail again.
  const message = `The model replied without an image (stop reason: ${stop}); describe the image in the prompt.`;
  return { kind: 'no_result', error: { code: 'upstream_error', message } };
}
