/** A small SMTP server that records what it receives. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and text, as sent. */
  readonly data: string;
}

export class MailServer {
  readonly mails: ReceivedMail[] = [];
  /** The status of every message. */
  status = 250;
  url = '';
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#talk(socket));

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `smtp://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #talk(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
    const say = (line: string): void => void socket.write(`${line}\r\n`);
    let [from, to, unread, isData] = ['', [] as string[], '', false];
    say('220 mail.test');
    socket.on('data', (chunk: Buffer) => {
      unread += chunk.toString();
      for (;;) {
        const end = isData ? '\r\n.\r\n' : '\r\n';
        const at = unread.indexOf(end);
        if (at < 0) return;
        const line = unread.slice(0, at);
        unread = unread.slice(at + end.length);
        if (isData) {
          isData = false;
          if (this.status === 250) this.mails.push({ from, to, data: line });
          say(`${this.status} done`);
          to = [];
        } else if (/^DATA/i.test(line)) {
          isData = true;
          say('354 go on');
        } else if (/^QUIT/i.test(line)) {
          say('221 bye');
          socket.end();
        } else {
          const address = /<(.*)>/.exec(line)?.[1] ?? '';
          if (/^MAIL/i.test(line)) from = address;
          if (/^RCPT/i.test(line)) to.push(address);
          say('250 ok');
        }
      }
    });
  }
}
