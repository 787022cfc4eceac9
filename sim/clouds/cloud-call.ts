/** A request to a model that a cloud hosts, as the provider's own API would get it. Types only. */
import type { Shape } from '../errors.ts';
import type { JsonObject } from '../json.ts';

/** What a cloud reads of an exchange, and changes. */
export interface CloudExchange {
  readonly query: URLSearchParams;
  readonly body: Buffer;
  readonly entry: { readonly method: string; readonly path: string; readonly headers: Record<string, string> };
  json: JsonObject;
  /** What the cloud makes of the reply of the provider's own API. */
  reply: ((reply: JsonObject) => JsonObject) | undefined;
  header(name: string): string;
}

export interface CloudCall {
  readonly cloud: 'azure' | 'vertex';
  /** The path of the provider's own API. */
  readonly path: string;
  readonly shape: Shape;
  /** Throws the failure of the cloud: credential, version, name of the model. Changes the body to that of the provider's own API. */
  enter(exchange: CloudExchange): void;
}

export interface TokenAnswer {
  readonly status: number;
  readonly body: object;
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
