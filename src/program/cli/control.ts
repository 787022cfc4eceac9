/**
 * The way from a command to the server of a DATA_DIR: a unix socket, named by `server.json`, that only its user may
 * enter.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isProcessDead, ownIdentity, type ProcessIdentity } from '../../core/index.ts';
import { CliError } from '../server/index.ts';
import { messageFor } from './error-message.ts';

/** Replaces the workers. Each line of `report` is progress for the operator. */
export type Reload = (settings: Readonly<Record<string, string>>, report: (line: string) => void) => Promise<void>;

interface ServerFile extends ProcessIdentity {
  readonly socket: string;
}

interface ReloadRequest {
  readonly settings: Readonly<Record<string, string>>;
}

/** Lines that the server sends back; the last one has `done` or `error`. */
interface ReloadLine {
  readonly line?: string;
  readonly done?: true;
  readonly error?: string;
}

const fileIn = (dataDir: string): string => join(dataDir, 'server.json');

/** Systems limit the path of a socket to about 100 bytes. */
const LONGEST_PATH = 90;
/** All settings together are far smaller. */
const MAX_REQUEST_BYTES = 256 * 1024;

export class ControlServer {
  readonly #server: Server;
  readonly #folder: string;
  readonly #file: string;
  readonly #open = new Set<Socket>();

  static async open(dataDir: string, reload: Reload): Promise<ControlServer> {
    const folder = await createFolder();
    const control = new ControlServer(dataDir, folder, reload);
    const socket = join(folder, 'control');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    control.#server.once('error', reject).listen(socket, resolve);
    await promise;
    // The system may fail to accept a connection; the next one may succeed.
    control.#server.on('error', () => {});
    const content: ServerFile = { ...ownIdentity(), socket };
    await writeFile(control.#file, JSON.stringify(content), { mode: 0o600 });
    return control;
  }

  private constructor(dataDir: string, folder: string, reload: Reload) {
    this.#folder = folder;
    this.#file = fileIn(dataDir);
    this.#server = createServer((socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket)).on('error', () => {});
      serveReload(socket, reload);
    });
  }

  async close(): Promise<void> {
    await rm(this.#file, { force: true });
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** A folder with mode 0700. */
async function createFolder(): Promise<string> {
  const preferred = join(tmpdir(), 'dragoman-');
  return mkdtemp(Buffer.byteLength(preferred) <= LONGEST_PATH ? preferred : '/tmp/dragoman-');
}

function serveReload(socket: Socket, reload: Reload): void {
  const send = (line: ReloadLine): void => void (socket.writable && socket.write(`${JSON.stringify(line)}\n`));
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    const isRead = text.includes('\n');
    text += chunk;
    if (text.length > MAX_REQUEST_BYTES) return void socket.destroy();
    if (isRead || !text.includes('\n')) return;
    const settings = settingsIn(text);
    if (!settings) return void socket.destroy();
    reload(settings, (line) => send({ line })).then(
      () => socket.end(`${JSON.stringify({ done: true } satisfies ReloadLine)}\n`),
      (error: unknown) => socket.end(`${JSON.stringify({ error: messageFor(error) } satisfies ReloadLine)}\n`),
    );
  });
}

/** Undefined when another program than `dragoman reload` has written it. */
function settingsIn(text: string): ReloadRequest['settings'] | undefined {
  try {
    return (JSON.parse(text) as ReloadRequest).settings;
  } catch {
    return undefined;
  }
}

/** Asks the server of a DATA_DIR to replace its workers, and waits until it has. */
export async function requestReload(dataDir: string, request: ReloadRequest, onLine: (line: string) => void) {
  const socket = createConnection(await findSocket(dataDir));
  const failure = new Promise<never>((_, reject) => socket.once('error', reject));
  const read = async (): Promise<void> => {
    socket.write(`${JSON.stringify(request)}\n`);
    for await (const text of createInterface({ input: socket })) {
      const { line, done, error } = JSON.parse(text) as ReloadLine;
      if (line !== undefined) onLine(line);
      if (error !== undefined) throw new CliError(error);
      if (done) return;
    }
    throw new CliError('The server ended before the reload was complete. Look at its log.');
  };
  try {
    await Promise.race([read(), failure]);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`The server on ${dataDir} cannot be reached: ${messageFor(error)}`);
  } finally {
    socket.destroy();
  }
}

async function findSocket(dataDir: string): Promise<string> {
  const text = await readFile(fileIn(dataDir), 'utf8').catch(() => undefined);
  if (text === undefined)
    throw new CliError(
      `No server with several workers runs on ${dataDir}. Set DATA_DIR to that of the server; one with WORKERS=1 is restarted instead.`,
    );
  const { socket, ...identity } = JSON.parse(text) as ServerFile;
  if (isProcessDead(identity))
    throw new CliError(`The server on ${dataDir} (process ${identity.pid}) has ended. Start it with "dragoman serve".`);
  return socket;
}
