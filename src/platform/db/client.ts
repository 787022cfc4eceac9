/** A connection to PostgreSQL that can be cut, because a server behind a broken network neither responds nor closes it. */
import type { Socket } from 'node:net';
import pg from 'pg';
import { systemClock } from '../../core/index.ts';

/** How long the server may take to confirm the end of a connection. */
const END_MS = 1_000;
/** The kernel notices a host that is gone ten seconds after this. It does not notice a process or relay that is silent. */
const KEEP_ALIVE_MS = 5_000;

export const TCP_OPTIONS = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS } as const;

export interface SeverableClientOptions extends pg.ClientConfig {
  /** Cuts the connection when its server is, or becomes, read-only. */
  readonly mustWrite?: boolean;
}

/** What PostgreSQL reports of itself at the start of a session and whenever it changes. */
const READ_ONLY_STATUS = ['in_hot_standby', 'default_transaction_read_only'];

export class SeverableClient extends pg.Client {
  /** Its server is a standby, or was set to be read-only. */
  isReadOnly = false;

  constructor(options: SeverableClientOptions = {}) {
    super(options);
    if (options.mustWrite)
      this.#connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
        if (!READ_ONLY_STATUS.includes(parameterName) || parameterValue !== 'on') return;
        this.isReadOnly = true;
        this.sever();
      });
  }

  /** Closes the socket at once. Running and queued statements reject. */
  sever(): void {
    this.#socket.destroy();
  }

  /** Closes the socket when nothing is sent or received for this long. */
  severAfterSilence(ms: number): void {
    this.#socket.setTimeout(ms, () => this.sever());
  }

  /** Sends all statements at once; PostgreSQL refuses those after a failure. Rejects with the first failure, once all have ended. */
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

  get isSevered(): boolean {
    return this.#socket.destroyed;
  }

  /** What a server has sent before the connection is cut is still read, so that the driver may report success. */
  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    const opened = super.connect().then(() => {
      if (this.isReadOnly) throw new Error('the server is read-only');
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

interface Connection {
  readonly stream: Socket;
  on(event: 'parameterStatus', listener: (status: ParameterStatus) => void): void;
}

interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}
