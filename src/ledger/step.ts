/**
 * The moments between which a crash makes a difference. Whoever is told of them may end the process there: that is how the
 * tests prove that a charge is none or exact, wherever the end falls.
 */
export type Step =
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
  | 'recover.retired';

export type OnStep = (step: Step) => void;
