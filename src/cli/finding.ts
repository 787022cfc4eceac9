/** One line of `dragoman doctor`. */
export interface Finding {
  readonly about: string;
  readonly state: 'good' | 'bad' | 'note';
  /** What was found, and the next step for a problem. */
  readonly text: string;
}

export const firstLineOf = (error: unknown): string =>
  error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
