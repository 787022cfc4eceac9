/** The envelope of all responses of the asset library. */
import type { FailureForm, VideoFailure } from '../errors.ts';
import { JSON_TYPE, jsonReply, type Reply } from '../reply.ts';
import type { VideoSettings } from '../settings.ts';

export const VERSION = '2024-01-01';

const CODE_BY_STATUS: Readonly<Record<number, string>> = {
  400: 'InvalidParameter',
  401: 'SignatureDoesNotMatch',
  403: 'AccessDenied',
  429: 'RequestLimitExceeded',
};

export class Envelope implements FailureForm {
  readonly #action: string;
  readonly #settings: VideoSettings;

  constructor(action: string, settings: VideoSettings) {
    this.#action = action;
    this.#settings = settings;
  }

  wrap(result: object, requestId: string): Reply {
    const isBare = this.#action === 'GetVisualValidateResult' && this.#settings.validationResults === 'bare';
    return jsonReply(isBare ? result : { ResponseMetadata: this.#metadata(requestId), Result: result });
  }

  codeOf(status: number): string {
    if (status === 404) return `NotFound.${this.#subject()}`;
    return CODE_BY_STATUS[status] ?? 'InternalServiceError';
  }

  reply({ status, code, message }: VideoFailure, requestId: string): Reply {
    const isHidden = this.#settings.libraryErrors === 'ok' && status < 500;
    const metadata = { ...this.#metadata(requestId), Error: { Code: code, Message: message } };
    const body = JSON.stringify({ ResponseMetadata: metadata });
    return { status: isHidden ? 200 : status, code, headers: JSON_TYPE, body };
  }

  #metadata(requestId: string): object {
    const { region } = this.#settings;
    return { RequestId: requestId, Action: this.#action, Version: VERSION, Service: 'ark', Region: region };
  }

  /** The identifier that actions of this kind look up. */
  #subject(): string {
    if (this.#action.includes('Validate')) return 'byted_token';
    return this.#action.includes('Group') ? 'group_id' : 'asset_id';
  }
}
