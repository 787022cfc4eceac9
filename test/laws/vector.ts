/** The vector of one conversion: a request or a provider reply, and what the gateway must make of it. */
import { readdirSync, readFileSync } from 'node:fs';
import type { CapabilityOverrides, Dialect } from '../../src/rules/index.ts';
import type { WireEvent } from '../support/dialects/codecs.ts';

export type Json = Record<string, unknown>;

/** The upstream request. */
export interface ExpectedRequest {
  readonly body?: Json;
  readonly headers?: Json;
  /** Paths such as `input[1].phase` that must be undefined. */
  readonly absent?: readonly string[];
  /** Texts that must not occur anywhere in the body. */
  readonly nowhere?: readonly string[];
  readonly droppedFields?: readonly string[];
  readonly dropped?: readonly string[];
  /** Stop sequences that the gateway watches for because the provider has no field for them. */
  readonly emulatedStop?: readonly string[];
}

/** The error of a request that must not be sent upstream. */
export interface ExpectedRejection {
  readonly code: string;
  readonly param?: string;
  readonly message?: string;
  readonly reason?: string;
}

/** The response to the client. */
export interface ExpectedReply {
  readonly body?: Json;
  readonly error?: unknown;
  readonly absent?: readonly string[];
  readonly nowhere?: readonly string[];
  /** Events that the stream contains in this order; others may stand between them. */
  readonly stream?: readonly unknown[];
  /** Events that the stream must not contain. */
  readonly never?: readonly unknown[];
  /** Kinds of hub events; the gateway decides on failover by them. */
  readonly hub?: readonly string[];
}

export interface Vector {
  readonly client: Dialect;
  readonly upstream: Dialect;
  readonly head?: { readonly headers: Record<string, string> };
  readonly target?: TargetOptions;
  readonly request?: Json;
  /** The number of conversation entries in the previous request; they must be encoded with the same bytes. */
  readonly prefix?: number;
  readonly rejected?: ExpectedRejection;
  readonly events?: readonly WireEvent[];
  readonly unary?: unknown;
  readonly failure?: { readonly status: number; readonly headers?: Record<string, string>; readonly body: unknown };
  readonly fault?: { readonly kind: string; readonly code: string };
  /** With a provider reply: the response to the client. Otherwise: the upstream request. */
  readonly expect?: ExpectedRequest & ExpectedReply;
  /** Index of the event whose tool input is cut at every position. */
  readonly cutAt?: number;
  /** The client's next request: the conversation, the reply and these entries. */
  readonly next?: {
    readonly add: readonly Json[];
    readonly upstream?: Dialect;
    readonly target?: TargetOptions;
    readonly expect?: ExpectedRequest;
    readonly rejected?: ExpectedRejection;
  };
}

export interface TargetOptions {
  readonly model?: string;
  readonly account?: string;
  readonly capabilities?: CapabilityOverrides;
}

/** A vector on disk, written by hand. */
export interface ConversionVector extends Vector {
  readonly name: string;
  readonly about: string;
}

const FOLDER = new URL('../vectors/conversions/', import.meta.url);

export const readConversion = (name: string): ConversionVector => ({
  name,
  ...(JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Omit<ConversionVector, 'name'>),
});

export const readConversions = (): ConversionVector[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .map(readConversion);
