/** A request to a model that a cloud hosts, as the provider's own API would get it. Types only. */
import type { Failure, Shape } from '../errors.ts';
import type { Framing } from '../frames.ts';
import type { JsonObject } from '../json.ts';

/** What a cloud reads of an exchange, and changes. */
export interface CloudExchange {
  readonly query: URLSearchParams;
  readonly body: Buffer;
  readonly entry: { readonly method: string; readonly path: string; readonly headers: Record<string, string> };
  json: JsonObject;
  /** What the cloud makes of the reply of the provider's own API. */
  reply: ((reply: JsonObject) => JsonObject) | undefined;
  framing: Framing;
  /** The frames of an event in a stream; undefined for those of InvokeModel. */
  frames: ((event: JsonObject) => Buffer[]) | undefined;
  header(name: string): string;
}

export interface CloudCall {
  readonly cloud: 'azure' | 'vertex' | 'bedrock';
  /** The path of the provider's own API. */
  readonly path: string;
  readonly shape: Shape;
  /**
   * Throws the failure of the cloud: credential, version, name of the model. Changes the body to that of the provider's
   * own API.
   */
  enter(exchange: CloudExchange): void;
  /** The form in which the cloud reports a failure of the provider; undefined for that of the provider itself. */
  failure?(status: number, message: string): Failure | undefined;
}

export interface TokenAnswer {
  readonly status: number;
  /** A text is sent as it is. */
  readonly body: object | string;
}

export interface TokenCall {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** With scheme and host. */
  readonly url: string;
}
