/**
 * Crash points: moments between which a crash leaves a different state.
 * Crash tests kill the process there; without a subscriber one costs a comparison.
 */
import { channel } from 'node:diagnostics_channel';
import type { Words } from '../rules/index.ts';

type Points<Area extends string, Moments extends string> = `${Area}.${Words<Moments>}`;
export type CrashPoint =
  | Points<'call', 'admitting admitted written'>
  | Points<'upstream', 'sent head_received data_received'>
  | Points<'lease', 'taken returned'>
  | Points<'record', 'appended'>
  | Points<'journal', 'writing written rotated removing'>
  | Points<'flush', 'begun recorded committed'>
  | Points<'recover', 'claimed replayed removed'>
  | Points<'replica', 'fenced renewed'>
  | Points<
      'task',
      'claimed held inserted committed sending sent confirming confirmed marking_unknown marked_unknown discarding discarded recovering binding cancel_requested cancel_sent cancelling cancelled cancel_withdrawing'
    >
  | Points<'status', 'changed released announced'>
  | Points<'settle', 'priced charged recorded'>
  | Points<'follow', 'taken asked locked saved moved settled applying applied'>
  | Points<'callback', 'taking taken sent marked'>
  | Points<
      'asset',
      'claimed inserted committed sent confirming confirmed marking_unknown marked_unknown discarding discarded recovering deleting delete_sent deleted'
    >
  | Points<'warning', 'crossed noticed'>
  | Points<'notice', 'taken sent'>
  | Points<'background', 'held accepted recorded'>
  | Points<'batch', 'taken answered recorded written held uploaded submitting created collected settled'>
  | Points<'close', 'begun drained removed'>;

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
