/** Token and tool usage of a request, from the provider's response to the bill. */

/** Totals of one request. An absent member was not reported, which differs from zero. */
export interface Usage {
  /** All input tokens, including cache reads, cache writes and tool prompts. */
  readonly input: number;
  readonly cacheRead: number;
  /** The parts of `cacheRead` that are audio and images, where the provider reports them. */
  readonly cacheReadAudio?: number;
  readonly cacheReadImage?: number;
  readonly cacheWrite: number;
  /** The part of `cacheWrite` with a lifetime of an hour or more. */
  readonly cacheWriteLong?: number;
  readonly toolPrompt?: number;
  /**
   * Input of the longest request to the provider, where `input` is the
   * sum of several. Prices have steps by this length.
   */
  readonly longestPrompt?: number;
  /** Includes cached audio, as `inputImage` does images. */
  readonly inputAudio?: number;
  /** Image tokens, also those that the image tool of a responses reply read; part of `input`. */
  readonly inputImage?: number;
  readonly inputVideo?: number;
  /** Length of the audio in the input, for providers that bill it by time. */
  readonly audioSeconds?: number;
  /** All output tokens, including reasoning. */
  readonly output: number;
  readonly reasoning?: number;
  readonly outputAudio?: number;
  /** Image tokens, also those that the image tool of a responses reply generated; part of `output`. */
  readonly outputImage?: number;
  readonly outputVideo?: number;
  /** Tokens of sources that a research model read; not part of `input` or `output`. */
  readonly citations?: number;
  readonly searches?: number;
  readonly fetches?: number;
  readonly fileSearches?: number;
  /** Tokens of a cached content, times the hours for which it is kept. */
  readonly cacheHours?: number;
  readonly tier?: string;
  /** Parts of the totals that other models used, where the provider reports them apart. */
  readonly models?: readonly ModelUsage[];
  /** The model that the reply names, where it is another one than the request got. */
  readonly replyModel?: string;
  /** True when the provider did not report usage and the gateway estimated it. */
  readonly estimated?: boolean;
  /** Why the reported numbers are impossible. Such a request is never charged; a person must review it. */
  readonly invalid?: string;
}

/** What one of several models used. */
export interface ModelUsage
  extends Pick<
    Usage,
    'input' | 'cacheRead' | 'cacheWrite' | 'cacheWriteLong' | 'inputImage' | 'output' | 'outputImage'
  > {
  /** As the provider names it, or the type of the tool that calls it. */
  readonly model: string;
  /** The row of `prices` by which it is charged. */
  readonly price?: string;
}
