/** What a call used, in one form from the wire to the bill. */

/** Totals for the whole request. Absent means "not reported", which is not zero. */
export interface Usage {
  /** Everything the model read: cache reads, cache writes and tool prompts included. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** The part of cacheWrite that is kept long (an hour or more). */
  readonly cacheWriteLong?: number;
  readonly toolPrompt?: number;
  readonly inputAudio?: number;
  readonly inputImage?: number;
  /** Everything the model wrote, reasoning included. */
  readonly output: number;
  readonly reasoning?: number;
  readonly outputAudio?: number;
  readonly outputImage?: number;
  readonly searches?: number;
  readonly fetches?: number;
  readonly tier?: string;
  /** Set when the upstream broke off before it reported. */
  readonly estimated?: boolean;
  /** What the upstream reported and cannot be true, in words: such a call is looked at by a person and never charged. */
  readonly invalid?: string;
}
