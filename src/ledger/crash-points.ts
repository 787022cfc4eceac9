/**
 * The moments between which a crash makes a difference. Whoever is told of them may end the process there: that is how the
 * tests prove that a charge is none or exact, wherever the end falls.
 */
import { channel } from 'node:diagnostics_channel';

export type CrashPoint =
  | 'call.admitting'
  | 'call.admitted'
  | 'upstream.asked'
  | 'upstream.answered'
  | 'upstream.told'
  | 'call.flushed'
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
  | 'recover.retired'
  | 'replica.fenced'
  | 'replica.renewed'
  | 'close.begun'
  | 'close.drained'
  | 'close.retired';

export type OnStep = (step: CrashPoint) => void;

const steps = channel('dragoman:step');

/** Undefined unless somebody listens when the process starts, which only tests do: to everybody else a step costs one comparison. */
export const stepListener = (): OnStep | undefined =>
  steps.hasSubscribers ? (step) => steps.publish(step) : undefined;
