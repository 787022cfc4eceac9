/**
 * Node's own HTTP server without a handler worth the name, in its own process: what a connection costs any server in
 * JavaScript.
 */
import { createServer } from 'node:http';

const [port] = process.argv.slice(2);
createServer((_request, response) => response.end('{"status":"alive"}')).listen({
  port: Number(port),
  host: '127.0.0.1',
  backlog: 4096,
});
