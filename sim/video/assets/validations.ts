/** Validation sessions of real persons: a link for a browser, and a result that only the API reports reliably. */

import type { Chance } from '../../chance.ts';
import type { Owner } from '../accounts.ts';
import type { SimClock } from '../clock.ts';
import { VideoFailure } from '../errors.ts';
import type { VideoSettings } from '../settings.ts';
import type { Groups } from './groups.ts';

/** `abandoned`: the person left, so that the provider has no result and reports a pending one. */
export type ValidationStatus = 'pending' | 'passed' | 'failed' | 'abandoned';

export interface Validation extends Owner {
  readonly token: string;
  readonly callbackUrl: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  status: ValidationStatus;
  /** The group of the person, after a pass. */
  groupId?: string;
  /** The result was reported. */
  isRead: boolean;
}

interface ValidationServices {
  clock: SimClock;
  settings: VideoSettings;
  chance: Chance;
  groups: Groups;
}

/** Codes of the redirect. Only the one of a pass is known of the real provider. */
const RESULT_CODES: Readonly<Record<ValidationStatus, number>> = {
  pending: 10002,
  passed: 10000,
  failed: 10001,
  abandoned: 10002,
};

export class Validations {
  readonly #services: ValidationServices;
  readonly #validations = new Map<string, Validation>();

  constructor(services: ValidationServices) {
    this.#services = services;
  }

  /** Newest first. */
  get all(): Validation[] {
    return [...this.#validations.values()].reverse();
  }

  get(token: string): Validation | undefined {
    return this.#validations.get(token);
  }

  create({ account, project }: Owner, callbackUrl: string): Validation {
    const { clock, settings, chance } = this.#services;
    const createdAt = clock.now();
    const validation: Validation = {
      token: chance.hex(`validation.${this.#validations.size + 1}`).slice(0, 32),
      account,
      project,
      callbackUrl,
      createdAt,
      expiresAt: createdAt + settings.validationLifetimeMs,
      status: 'pending',
      isRead: false,
    };
    this.#validations.set(validation.token, validation);
    return validation;
  }

  /** The group of the validated person. A pending, expired or unknown session is the same error to the caller. */
  result({ account, project }: Owner, token: string): string {
    const { clock, settings } = this.#services;
    const validation = this.#validations.get(token);
    const isKnown =
      validation?.account === account && validation.project === project && clock.now() < validation.expiresAt;
    const isUsedUp = settings.singleResultRead && validation?.isRead === true;
    const isOver = validation?.status === 'passed' || validation?.status === 'failed';
    if (!validation || !isKnown || isUsedUp || !isOver) {
      throw new VideoFailure('NotFound.byted_token', 'No result of the validation is found.');
    }
    validation.isRead = true;
    if (validation.status === 'failed') throw new VideoFailure('ValidationFailed', 'The person did not pass.');
    return validation.groupId ?? '';
  }

  /** True while the link leads to the page: once, and until the session expires. */
  isOpen({ status, expiresAt }: Validation): boolean {
    return status === 'pending' && this.#services.clock.now() < expiresAt;
  }

  /** The person passes; the provider creates their group. */
  pass(token: string): Validation {
    const validation = this.#end(token, 'passed');
    const group = this.#services.groups.create({ owner: validation, name: 'Real person', type: 'LivenessFace' });
    validation.groupId = group.id;
    return validation;
  }

  fail(token: string): Validation {
    return this.#end(token, 'failed');
  }

  abandon(token: string): Validation {
    return this.#end(token, 'abandoned');
  }

  /** Where the browser is sent. With another status than that of the session the redirect is a forgery. */
  redirectUrl({ token, callbackUrl, status }: Validation, claimed: ValidationStatus = status): string {
    const url = new URL(callbackUrl);
    url.searchParams.set('bytedToken', token);
    url.searchParams.set('resultCode', String(RESULT_CODES[claimed]));
    url.searchParams.set('algorithmBaseRespCode', claimed === 'passed' ? '0' : '1');
    url.searchParams.set('reqMeasureInfoValue', claimed === 'abandoned' ? '0' : '1');
    url.searchParams.set('verify_type', 'real_time');
    return url.href;
  }

  #end(token: string, status: ValidationStatus): Validation {
    const validation = this.#validations.get(token);
    if (!validation) throw new RangeError(`the validation ${token} does not exist`);
    if (!this.isOpen(validation)) throw new RangeError(`the validation ${token} is ${validation.status} or expired`);
    validation.status = status;
    return validation;
  }
}
