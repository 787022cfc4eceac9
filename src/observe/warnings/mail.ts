/** Mail by SMTP. The library is loaded with the first mail. */
import type { Transporter } from 'nodemailer';
import type { Log } from '../../core/index.ts';
import type { SendResult } from '../../platform/outbound/index.ts';

export interface MailSettings {
  /** `smtp://` or `smtps://`, with the user and password. */
  readonly url: string;
  readonly from: string;
}

export interface Mail {
  /** Stays the same for every attempt, so that mail programs show one message. */
  readonly id: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
}

/** Of each step; the lease of a delivery is longer than all of them. */
const STEP_MS = 10_000;

export class Mailer {
  readonly #settings: MailSettings;
  readonly #log: Log;
  #transport: Promise<Transporter> | undefined;

  constructor(settings: MailSettings, log: Log) {
    this.#settings = settings;
    this.#log = log;
  }

  /** Never rejects. An SMTP server that takes one recipient has delivered; its own words are not kept. */
  async send({ id, to, subject, text }: Mail): Promise<SendResult> {
    try {
      this.#transport ??= this.#open();
      const transport = await this.#transport;
      await transport.sendMail({
        messageId: `<${id}@${domainOf(this.#settings.from)}>`,
        from: this.#settings.from,
        to: [...to],
        subject,
        text,
        // An answer to such a mail helps nobody, and an absence note must not follow.
        headers: { 'auto-submitted': 'auto-generated' },
      });
      return { ok: true, status: 250, retryAfter: undefined };
    } catch (error) {
      this.#log.warn('mail.failed', codesOf(error));
      return { ok: false, reason: 'mail' };
    }
  }

  async #open(): Promise<Transporter> {
    const { createTransport } = await import('nodemailer');
    return createTransport({
      url: this.#settings.url,
      connectionTimeout: STEP_MS,
      greetingTimeout: STEP_MS,
      socketTimeout: STEP_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }
}

const domainOf = (from: string): string => /@([\w.-]+)/.exec(from)?.[1] ?? 'dragoman';

/** The codes of the library and of the server, never a text with addresses. */
function codesOf(error: unknown): { code: string; status: number } {
  const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown };
  return { code: String(code ?? 'unknown'), status: Number(responseCode ?? 0) };
}
