/**
 * A plain HTTP proxy on node:http without keys, parsing and log, in its own process: what any proxy in JavaScript
 * costs.
 */
import { Agent, createServer, request } from 'node:http';

const [port, upstreamPort] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });

createServer((incoming, outgoing) => {
  const { method, url, headers } = incoming;
  const sent = request({ agent, host: '127.0.0.1', port: upstreamPort, method, path: url, headers }, (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(outgoing);
  });
  sent.on('error', () => outgoing.destroy());
  incoming.pipe(sent);
}).listen({ port: Number(port), host: '127.0.0.1', backlog: 4096 });
