/** Token and tool usage of a request, from the provider's response to the bill. */

/** Totals of one request. An absent member was not reported, which differs from zero. */
export interface Usage {
  /** All input tokens, including cache reads, cache writes and tool prompts. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** The part of `cacheWrite` with a lifetime of an hour or more. */
  readonly cacheWriteLong?: number;
  readonly toolPrompt?: number;
  readonly inputAudio?: number;
  /** Image tokens, also those that the image tool of a responses reply read; part of `input`. */
  readonly inputImage?: number;
  /** All output tokens, including reasoning. */
  readonly output: number;
  readonly reasoning?: number;
  readonly outputAudio?: number;
  /** Image tokens, also those that the image tool of a responses reply generated; part of `output`. */
  readonly outputImage?: number;
  readonly searches?: number;
  readonly fetches?: number;
  readonly tier?: string;
  /** True when the provider did not report usage and the gateway estimated it. */
  readonly estimated?: boolean;
  /** Why the reported numbers are impossible. Such a request is never charged; a person must review it. */
  readonly invalid?: string;
}
