/**
 * Crash points: moments between which a crash leaves a different state.
 * Crash tests kill the process there; without a subscriber one costs a comparison.
 */
import { channel } from 'node:diagnostics_channel';

export type CrashPoint = { readonly [Area in keyof Moments]: `${Area}.${Moments[Area]}` }[keyof Moments];

/** The moments of each area. */
interface Moments {
  readonly call: 'admitting' | 'admitted' | 'written';
  readonly upstream: 'sent' | 'head_received' | 'data_received';
  readonly lease: 'taken' | 'returned';
  readonly record: 'appended';
  readonly journal: 'writing' | 'written' | 'rotated' | 'removing';
  readonly flush: 'begun' | 'recorded' | 'committed';
  readonly recover: 'claimed' | 'replayed' | 'removed';
  readonly replica: 'fenced' | 'renewed';
  readonly task:
    | 'claimed'
    | 'held'
    | 'inserted'
    | 'committed'
    | 'sending'
    | 'sent'
    | 'confirming'
    | 'confirmed'
    | 'marking_unknown'
    | 'marked_unknown'
    | 'discarding'
    | 'discarded'
    | 'recovering'
    | 'binding'
    | 'cancel_requested'
    | 'cancel_sent'
    | 'cancelling'
    | 'cancelled'
    | 'cancel_withdrawing';
  readonly status: 'changed' | 'released' | 'announced';
  readonly settle: 'priced' | 'charged' | 'recorded';
  readonly follow: 'taken' | 'asked' | 'locked' | 'saved' | 'moved' | 'settled' | 'applying' | 'applied';
  readonly callback: 'taking' | 'taken' | 'sent' | 'marked';
  readonly asset:
    | 'claimed'
    | 'inserted'
    | 'committed'
    | 'sent'
    | 'confirming'
    | 'confirmed'
    | 'marking_unknown'
    | 'marked_unknown'
    | 'discarding'
    | 'discarded'
    | 'recovering'
    | 'deleting'
    | 'delete_sent'
    | 'deleted';
  readonly warning: 'crossed' | 'noticed';
  readonly notice: 'taken' | 'sent';
  readonly background: 'held' | 'accepted' | 'recorded';
  readonly batch:
    | 'taken'
    | 'answered'
    | 'recorded'
    | 'written'
    | 'held'
    | 'uploaded'
    | 'submitting'
    | 'created'
    | 'collected'
    | 'settled';
  readonly close: 'begun' | 'drained' | 'removed';
}

export const CRASH_POINT_CHANNEL = 'dragoman:crash-point';

const points = channel(CRASH_POINT_CHANNEL);

export function crashPoint(point: CrashPoint): void {
  if (points.hasSubscribers) points.publish(point);
}

/**
 * Publishes the point after `work`.
 * Returns `work` itself when there is no subscriber, so that no extra promise is created.
 */
export const crashPointAfter = (work: Promise<void>, point: CrashPoint): Promise<void> =>
  points.hasSubscribers ? work.then(() => crashPoint(point)) : work;
