/** One recorded exchange with a provider, and the call that the replay makes of it. */
import type { UpstreamDialect } from '../../src/rules/index.ts';

export type ReplayedCloud = 'bedrock' | 'vertex';

/** An exchange as its file states it. */
export interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly requestBody: Buffer | undefined;
  readonly status: number;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly responseBody: Buffer;
}

/** An exchange of a dialect that the gateway serves. */
export interface Recording {
  readonly collection: string;
  /** Relative to the folder, with the number of the exchange in it. */
  readonly file: string;
  readonly dialect: UpstreamDialect;
  /** The cloud that served it, in its own form. */
  readonly cloud?: ReplayedCloud | undefined;
  /** Undefined for fixtures, which hold only a response. */
  readonly request: RecordedRequest | undefined;
  readonly status: number;
  readonly isStream: boolean;
  /** What the provider sent, decompressed. */
  readonly body: Buffer;
  /** The events of a stream, or the whole response as the only one. */
  readonly events: readonly JsonRecord[];
}

export interface RecordedRequest {
  readonly body: Buffer;
  readonly json: JsonRecord;
  readonly model: string;
  /** With its leading question mark, without credentials. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type JsonRecord = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const recordOf = (value: unknown): JsonRecord => (isRecord(value) ? value : {});
export const listOf = (value: unknown): readonly JsonRecord[] => (Array.isArray(value) ? value.filter(isRecord) : []);
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
