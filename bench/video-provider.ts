/**
 * A stub of the video provider in its own process: raw sockets and one canned response, `running`, to every GET.
 * Reports its port, and replies to every message with the number of requests so far.
 */
import { createServer, type Socket } from 'node:net';

const BODY = JSON.stringify({ id: 'cgt-bench', model: 'bench', status: 'running', created_at: 1, updated_at: 2 });
const RESPONSE = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`;
const BLANK_LINE = '\r\n\r\n';
/** Time that a real provider needs. */
const DELAY_MS = 50;

let requests = 0;
let waiting: Socket[] = [];
// One timer for all responses: thousands of timers would cost more than the sockets.
setInterval(() => {
  const due = waiting;
  waiting = [];
  for (const socket of due) socket.write(RESPONSE);
}, DELAY_MS);

const server = createServer({ noDelay: true }, (socket) => {
  let text = '';
  socket.on('error', () => socket.destroy());
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
    for (let end = text.indexOf(BLANK_LINE); end >= 0; end = text.indexOf(BLANK_LINE)) {
      text = text.slice(end + BLANK_LINE.length);
      requests += 1;
      waiting.push(socket);
    }
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : 0 });
});
process.on('message', () => process.send?.({ requests }));
process.on('disconnect', () => process.exit(0));
