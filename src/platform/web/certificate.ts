/**
 * The certificate of the TLS listener. Its two files are read again, not watched:
 * symbolic links and network file systems change too.
 */
import { X509Certificate } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { type Clock, errorText, type Log, type Repetition, repeat } from '../../core/index.ts';
import { MIN_TLS_VERSION } from '../http/index.ts';

export interface CertificateFiles {
  /** The certificate and its chain. */
  readonly cert: string;
  readonly key: string;
}

export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
  /** End of its validity, in milliseconds since the Unix epoch. */
  readonly validUntil: number;
}

/** Says which file cannot be used, and why. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
}

export interface CertificateOptions {
  readonly files: CertificateFiles;
  readonly clock: Clock;
  readonly log: Log;
}

const POLL_MS = 2_000;
/** A chain of a dozen certificates. */
const MAX_FILE_BYTES = 256 * 1024;

export class Certificate {
  pair: CertificatePair;
  readonly #options: CertificateOptions;
  readonly #listeners: ((pair: CertificatePair) => void)[] = [];
  readonly #repetition: Repetition;
  /** Why the files cannot be used, as last seen and as last logged. */
  #problem = '';
  #reported = '';

  /** Throws `CertificateError` when the files cannot be used. */
  static async open(options: CertificateOptions): Promise<Certificate> {
    return new Certificate(options, await readCertificate(options.files));
  }

  private constructor(options: CertificateOptions, pair: CertificatePair) {
    this.#options = options;
    this.pair = pair;
    this.#repetition = repeat(() => this.#reload(), {
      clock: options.clock,
      intervalMs: POLL_MS,
      onError: (error) => this.#onProblem(error),
    });
  }

  /** Calls `listener` with every later pair. */
  onChange(listener: (pair: CertificatePair) => void): void {
    this.#listeners.push(listener);
  }

  stop(): Promise<void> {
    return this.#repetition.stop();
  }

  async #reload(): Promise<void> {
    const pair = await readCertificate(this.#options.files);
    this.#problem = '';
    this.#reported = '';
    if (pair.cert === this.pair.cert && pair.key === this.pair.key) return;
    this.pair = pair;
    for (const listener of this.#listeners) listener(pair);
    this.#options.log.info('tls.reloaded', { valid_until: new Date(pair.validUntil).toISOString() });
  }

  /** Logs a problem when it is seen for the second time: the two files are replaced one after the other. */
  #onProblem(error: unknown): void {
    const problem = errorText(error);
    if (problem === this.#problem && problem !== this.#reported) {
      this.#reported = problem;
      this.#options.log.error('tls.reload_failed', { reason: problem });
    }
    this.#problem = problem;
  }
}

/** Reads both files and checks that they belong together. Throws `CertificateError`. */
export async function readCertificate(files: CertificateFiles): Promise<CertificatePair> {
  const cert = await readPem(files.cert, 'TLS_CERT');
  const key = await readPem(files.key, 'TLS_KEY');
  const validUntil = validityOf(cert, files.cert);
  try {
    createSecureContext({ cert, key, minVersion: MIN_TLS_VERSION });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem =
      code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH'
        ? 'is not the key of the certificate in TLS_CERT'
        : `holds no private key that can be used; give an unencrypted PEM key (${code ?? 'unknown format'})`;
    throw new CertificateError(`TLS_KEY: ${files.key} ${problem}.`);
  }
  return { cert, key, validUntil };
}

async function readPem(path: string, setting: string): Promise<string> {
  let file: FileHandle | undefined;
  try {
    file = await open(path);
    const { size } = await file.stat();
    if (size > MAX_FILE_BYTES)
      throw new CertificateError(`${setting}: ${path} is larger than ${MAX_FILE_BYTES} bytes.`);
    return await file.readFile('utf8');
  } catch (error) {
    if (error instanceof CertificateError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new CertificateError(`${setting}: ${path} cannot be read (${code ?? 'unknown error'}).`);
  } finally {
    await file?.close();
  }
}

function validityOf(cert: string, path: string): number {
  try {
    return Date.parse(new X509Certificate(cert).validTo);
  } catch {
    throw new CertificateError(`TLS_CERT: ${path} holds no PEM certificate.`);
  }
}
