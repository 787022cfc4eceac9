/** Every limit of HTTP with its reason. `npm run gen` prints this table into README.md of this folder. */

export interface Bound {
  readonly limit: number;
  readonly unit: 'bytes' | 'ms' | '';
  /** What the limit applies to, and why it has this value. */
  readonly why: string;
}

const KIB = 1024;
const bytes = (limit: number, why: string): Bound => ({ limit, unit: 'bytes', why });
const ms = (limit: number, why: string): Bound => ({ limit, unit: 'ms', why });
const count = (limit: number, why: string): Bound => ({ limit, unit: '', why });

/** Messages from clients, and the connections that carry them. */
export const SERVER_BOUNDS = {
  listeningSockets: count(
    64,
    'Sockets of a port on Linux: as many connections are accepted in one turn of the event loop. ' +
      'One on other systems, and for the metrics.',
  ),
  backlog: count(
    16_384,
    'Connections that the kernel keeps for a port until a process accepts them, ' +
      'in equal parts for its sockets (Linux: a part is at most net.core.somaxconn). ' +
      'The handshake of one too many is repeated after 1 s, 3 s, 7 s and so on.',
  ),
  headBytes: bytes(32 * KIB, 'Request line and headers together.'),
  headers: count(100, 'Header lines of a request. Clients send some 20, proxies add a few.'),
  headMs: ms(10_000, 'From the first byte of a request, or from the connection, to the end of the head.'),
  requestMs: ms(300_000, 'To the end of the body: 5 minutes allow 64 MiB on a slow connection.'),
  responseReadMs: ms(300_000, 'For the client to read the rest of a response after its last write.'),
  keepAliveMs: ms(
    65_000,
    'Idle time between two requests: longer than the usual 60 s of load balancers, which therefore close first.',
  ),
  lingerMs: ms(
    5_000,
    'Idle time after which a handover closes a connection: before, the next request may be on its way. ' +
      'Many clients and proxies close after 5 s themselves.',
  ),
  handshakeMs: ms(10_000, 'TLS handshake; as long as a head.'),
  earlyBytes: bytes(64 * KIB, 'Pipelined bytes kept while a response is pending; then the socket is not read.'),
  unreadBytes: bytes(64 * KIB, 'Body kept before a reader asks for it; then the socket is not read.'),
  discardBytes: bytes(
    64 * KIB,
    'Unread body to discard before closing: closing with unread bytes can lose the response.',
  ),
  discardMs: ms(500, 'Time for that.'),
  restBytes: bytes(128 * KIB * KIB, 'The same for a known client, which may send its whole body before it reads.'),
  restMs: ms(10_000, 'Time for that.'),
  refusedResponses: count(64, 'Refused connections that get a response at the same time; further ones are closed.'),
  examinedConnections: count(64, 'Connections searched for an idle one when there are too many.'),
  healthConnections: count(64, 'Connections to the port of health checks; further ones are closed.'),
  readyMs: ms(3_000, 'For the event loop to say whether it is ready, before a probe gets 503.'),
  stalledMs: ms(
    30_000,
    'Without a sign of the event loop, after which the process counts as stuck: ' +
      'the turns of a flooded one take up to two seconds.',
  ),
  cachedNames: count(512, 'Header names kept after their check. Clients choose the names.'),
  cachedNameBytes: bytes(64, 'Longest name kept.'),
} as const satisfies Record<string, Bound>;

/** The chunked transfer coding, from both sides. */
export const CHUNK_BOUNDS = {
  sizeDigits: count(8, 'Hexadecimal digits of a chunk size: 4 GiB.'),
  extraBytes: bytes(16 * KIB, 'Extensions and trailers of a body together. They are discarded.'),
  trailers: count(64, 'Trailer fields of a body.'),
} as const satisfies Record<string, Bound>;

/** Messages from servers, and the connections to them. */
export const CLIENT_BOUNDS = {
  headBytes: bytes(64 * KIB, 'Status line and headers together. Servers send 1 to 2 KiB.'),
  headers: count(256, 'Header lines of a response. Servers send some 30, with those of their proxies.'),
  informational: count(16, 'Responses such as 100 and 103 before the response itself. Servers send one or two.'),
  keepAliveMs: ms(4_000, 'Reuse of an idle connection: below the 5 s and more after which servers close it.'),
  keepAliveMarginMs: ms(1_000, 'Subtracted from the time that the server announces, which began earlier.'),
  closingMs: ms(
    1_000,
    'From a request on a reused connection to the close that shows that the server had not read it: ' +
      'several round trips.',
  ),
  tcpKeepAliveMs: ms(
    60_000,
    'Probes on a silent connection. NAT gateways drop it after minutes, and a server may compute for longer.',
  ),
  connectionsPerOrigin: count(
    10_000,
    'Open connections to an origin, unless the caller sets fewer. Further requests fail.',
  ),
} as const satisfies Record<string, Bound>;
