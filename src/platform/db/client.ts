/**
 * A connection to PostgreSQL that can be cut, because a server behind a broken network neither responds nor closes it.
 * It may end at any moment: that rejects what waits for it, and never ends the process.
 */
import type { Socket } from 'node:net';
import pg from 'pg';
import { codeOf, systemClock } from '../../core/index.ts';

/** How long the server may take to confirm the end of a connection. */
const END_MS = 1_000;
/**
 * The kernel notices a host that is gone ten seconds after this. It does not notice a process or relay that is silent.
 */
const KEEP_ALIVE_MS = 5_000;

export const TCP_OPTIONS = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS } as const;

export interface SeverableClientOptions extends pg.ClientConfig {
  /** Cuts the connection when its server is, or becomes, read-only. */
  readonly mustWrite?: boolean;
}

/** What PostgreSQL reports of itself at the start of a session and whenever it changes. */
const READ_ONLY_STATUS = ['in_hot_standby', 'default_transaction_read_only'];

/**
 * SQLSTATE of errors with which PostgreSQL ends the connection. Their severity says so too, in the language of the
 * server.
 */
const ENDS = /^(?:57P0[1-5]|25P0[34])$/;
const isEnd = ({ severity, code }: pg.DatabaseError): boolean =>
  severity === 'FATAL' || severity === 'PANIC' || ENDS.test(code ?? '');

export class SeverableClient extends pg.Client {
  /** Its server is a standby, or was set to be read-only. */
  isReadOnly = false;
  /** Statements with parameters that the server was about to execute: each is announced before anything of it runs. */
  boundStatements = 0;
  #loss: Error | undefined;
  #isSevered = false;

  constructor(options: SeverableClientOptions = {}) {
    super(options);
    // From the first moment: an event without a listener ends the process, and the server may end the connection in the
    // message that opens it.
    this.on('error', (error) => {
      this.#loss ??= error;
    });
    this.#connection.on('errorMessage', (error) => {
      if (isEnd(error)) this.#loss ??= error;
    });
    this.#connection.on('bindComplete', () => {
      this.boundStatements += 1;
    });
    if (options.mustWrite)
      this.#connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
        if (!READ_ONLY_STATUS.includes(parameterName) || parameterValue !== 'on') return;
        this.isReadOnly = true;
        this.sever();
      });
  }

  /** Closes the socket at once. Running and queued statements reject. */
  sever(): void {
    this.#isSevered ||= !this.isLost;
    this.#socket.destroy();
  }

  /** This process has cut it, and not its server. */
  get isSevered(): boolean {
    return this.#isSevered;
  }

  /** Closes the socket when nothing is sent or received for this long. */
  severAfterSilence(ms: number): void {
    this.#socket.setTimeout(ms, () => this.sever());
  }

  /**
   * Sends all statements at once; PostgreSQL refuses those after a failure. Rejects with the first failure, once all
   * have ended.
   */
  async queryAll(statements: readonly pg.QueryConfig[]): Promise<pg.QueryResult[]> {
    const driver = this as { -readonly [name in 'pipeline']: boolean };
    driver.pipeline = true;
    this.#socket.cork();
    const sent = statements.map((statement) => this.query(statement));
    this.#socket.uncork();
    await Promise.allSettled(sent);
    driver.pipeline = false;
    return Promise.all(sent);
  }

  /** Nothing can be sent any more. A statement that is begun now certainly does not run. */
  get isLost(): boolean {
    return this.#loss !== undefined || !this.#socket.writable;
  }

  /** The error with which the connection ended. */
  get loss(): Error | undefined {
    return this.#loss;
  }

  /** What a server has sent before the connection is cut is still read, so that the driver may report success. */
  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    const opened = super.connect().then(() => {
      if (this.isReadOnly) throw new Error('the server is read-only');
      if (this.#loss) throw this.#loss;
      return this;
    });
    if (!callback) return opened;
    opened.then(() => callback(undefined as unknown as Error), callback);
    return undefined;
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    const cancel = systemClock.after(END_MS, () => this.sever());
    this.once('end', cancel);
    if (!callback) return super.end();
    super.end(callback);
    return undefined;
  }

  get #socket(): Socket {
    return this.#connection.stream;
  }

  get #connection(): Connection {
    return (this as unknown as { connection: Connection }).connection;
  }
}

/** An error of the statement, after which the connection goes on. */
export const isAnswer = (error: unknown): boolean => error instanceof pg.DatabaseError && !isEnd(error);

/** The server, or something between, ended a connection that was being opened. The next one may last. */
export const wasCutOff = (error: unknown): boolean =>
  /^(?:57P01|57P02|ECONNRESET|EPIPE)$/.test(codeOf(error) ?? '') ||
  (error instanceof Error && error.message === 'Connection terminated unexpectedly');

/** How many connections are opened for one that lasts. */
export const CONNECT_TRIES = 3;

interface Connection {
  readonly stream: Socket;
  on(event: 'parameterStatus', listener: (status: ParameterStatus) => void): void;
  on(event: 'errorMessage', listener: (error: pg.DatabaseError) => void): void;
  on(event: 'bindComplete', listener: () => void): void;
}

interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}
