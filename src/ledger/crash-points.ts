/**
 * Crash points: named moments between which a crash of the process leaves a different state on disk or in the database.
 * Crash tests subscribe to the channel and kill the process at one of them. Without a subscriber a point costs one comparison.
 */
import { channel } from 'node:diagnostics_channel';

export type CrashPoint =
  | 'call.admitting'
  | 'call.admitted'
  | 'upstream.sent'
  | 'upstream.head_received'
  | 'upstream.data_received'
  | 'call.written'
  | 'lease.taken'
  | 'lease.returned'
  | 'record.appended'
  | 'journal.writing'
  | 'journal.written'
  | 'journal.rotated'
  | 'journal.removing'
  | 'flush.begun'
  | 'flush.recorded'
  | 'flush.committed'
  | 'recover.claimed'
  | 'recover.replayed'
  | 'recover.removed'
  | 'replica.fenced'
  | 'replica.renewed'
  | 'task.claimed'
  | 'task.held'
  | 'task.inserted'
  | 'task.committed'
  | 'task.sending'
  | 'task.sent'
  | 'task.confirming'
  | 'task.confirmed'
  | 'task.marking_unknown'
  | 'task.marked_unknown'
  | 'task.discarding'
  | 'task.discarded'
  | 'task.recovering'
  | 'task.binding'
  | 'task.cancel_requested'
  | 'task.cancel_sent'
  | 'task.cancelling'
  | 'task.cancelled'
  | 'task.cancel_withdrawing'
  | 'status.changed'
  | 'status.released'
  | 'status.announced'
  | 'settle.priced'
  | 'settle.charged'
  | 'settle.recorded'
  | 'follow.taken'
  | 'follow.asked'
  | 'follow.locked'
  | 'follow.saved'
  | 'follow.moved'
  | 'follow.settled'
  | 'follow.applying'
  | 'follow.applied'
  | 'callback.taking'
  | 'callback.taken'
  | 'callback.sent'
  | 'callback.marked'
  | 'asset.claimed'
  | 'asset.inserted'
  | 'asset.committed'
  | 'asset.sent'
  | 'asset.confirming'
  | 'asset.confirmed'
  | 'asset.marking_unknown'
  | 'asset.marked_unknown'
  | 'asset.discarding'
  | 'asset.discarded'
  | 'asset.recovering'
  | 'asset.deleting'
  | 'asset.delete_sent'
  | 'asset.deleted'
  | 'warning.crossed'
  | 'warning.noticed'
  | 'notice.taken'
  | 'notice.sent'
  | 'background.held'
  | 'background.accepted'
  | 'background.recorded'
  | 'close.begun'
  | 'close.drained'
  | 'close.removed';

export const CRASH_POINT_CHANNEL = 'dragoman:crash-point';

const points = channel(CRASH_POINT_CHANNEL);

export function crashPoint(point: CrashPoint): void {
  if (points.hasSubscribers) points.publish(point);
}

/** Publishes the point after `work`. Returns `work` itself when there is no subscriber, so that no extra promise is created. */
export const crashPointAfter = (work: Promise<void>, point: CrashPoint): Promise<void> =>
  points.hasSubscribers ? work.then(() => crashPoint(point)) : work;
