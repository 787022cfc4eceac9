/** What the native, the converted and the WebSocket path share. Bound once by `createGateway`. */
import type { Catalog } from '../catalog/index.ts';
import type { JobOwner, Threads } from '../platform/threads/index.ts';
import { type Call, type ClientStreams, expectJson, readBody } from '../platform/web/index.ts';
import { type BodyClass, type BodyUse, type InferenceOperation, inferenceRow, WORKING_COPIES } from '../rules/index.ts';
import type { Billing } from './billing/admission.ts';
import type { Caller } from './caller.ts';
import type { RejectedOptions } from './rejected-options/rejected-options.ts';
import type { ResponseStore } from './stored/store.ts';
import type { AttemptServices } from './upstream-call.ts';

export interface GatewayServices extends AttemptServices {
  readonly catalog: () => Catalog;
  readonly billing: Billing;
  readonly clientStreams: ClientStreams;
  readonly store: ResponseStore;
  readonly rejectedOptions: RejectedOptions;
  readonly threads: Threads;
  readonly bodyLimit: (limit: BodyClass) => number;
}

/** What a caller asks for. */
export interface CallSource {
  readonly call: Call;
  readonly caller: Caller;
  readonly operation: InferenceOperation;
}

type BodySource = Pick<CallSource, 'call' | 'operation'>;

/**
 * Reads the JSON body of an operation within the limit of its row. Without a promise when the body is complete already.
 */
export function readJsonBody(bodyLimit: GatewayServices['bodyLimit'], source: BodySource, use: BodyUse = 'forwarded') {
  const { call, operation } = source;
  expectJson(call);
  return readBody(call, bodyLimit(bodyClassOf(operation)), { copies: WORKING_COPIES[use] });
}

export const jobOwner = ({ steps }: Call, { key }: Caller, bytes: number): JobOwner => ({ key, bytes, steps });

export function bodyClassOf(operation: InferenceOperation): BodyClass {
  const { body } = inferenceRow(operation);
  return body.content === 'none' ? 'small' : body.limit;
}
