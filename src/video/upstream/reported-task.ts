/** What a provider says about a task, in our words whatever its family. */

/** A task as the provider reports it; absent and undefined members were not reported or are invalid. */
export interface ReportedTask {
  readonly id: string;
  readonly model?: string | undefined;
  readonly status: string;
  readonly createdAt?: number | undefined;
  /** Per cent; few upstreams report it. */
  readonly progress?: number | undefined;
  readonly safetyIdentifier?: string | undefined;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  readonly videoUrl?: string | undefined;
  readonly lastFrameUrl?: string | undefined;
  /** A file of the provider that is the video, where its address has to be asked for. */
  readonly fileId?: string | undefined;
  /** What is charged. */
  readonly usageTokens?: number | undefined;
  /** The usage as it was reported; only what can be charged. */
  readonly usage?: ReportedUsage;
  /** The same where it cannot be believed. */
  readonly doubtedUsage?: string;
  readonly duration?: number | undefined;
  readonly resolution?: string | undefined;
  readonly ratio?: string | undefined;
  readonly seed?: number | undefined;
  readonly framespersecond?: number | undefined;
  readonly frames?: number | undefined;
  readonly generate_audio?: boolean | undefined;
  readonly watermark?: boolean | undefined;
  readonly service_tier?: string | undefined;
  /** Seconds from creation to expiry. */
  readonly execution_expires_after?: number | undefined;
  /** The request had a tool that searches the web. */
  readonly searches?: boolean | undefined;
  readonly callbackUrl?: string | undefined;
  /** Our task id, at another Dragoman. */
  readonly label?: string | undefined;
}

export interface ReportedUsage {
  readonly completion_tokens?: number;
  readonly total_tokens?: number;
}

/** Those of the members that were reported. */
export const reportedMembers = <K extends keyof ReportedTask>(task: ReportedTask, names: readonly K[]) =>
  Object.fromEntries(names.flatMap((name) => (task[name] === undefined ? [] : [[name, task[name]]])));

/** A whole number of something; undefined for anything else. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
