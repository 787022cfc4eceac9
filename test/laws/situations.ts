/**
 * Situations that only HTTP, a socket or an SDK can show, by number, and the tests that show them. All others are recorded in
 * `pairs/`, each under its numbers.
 */
import type { Elsewhere } from './test-reference.ts';

const e2e = (file: string, ...titles: string[]): Elsewhere[] =>
  titles.map((title) => ({ file: `test/e2e/${file}.test.ts`, title }));
const laws = (file: string, ...titles: string[]): Elsewhere[] =>
  titles.map((title) => ({ file: `test/laws/${file}.test.ts`, title }));

export const SHOWN: Readonly<Record<number, readonly Elsewhere[]>> = {
  23: e2e(
    'media',
    'an image named by its address reaches an upstream that wants bytes as bytes, with the type its bytes say',
    '... is refused before anything is asked',
  ),
  30: e2e('stored', 'a response is continued, read and deleted by its user'),
  31: e2e('stored', 'a reference to a single item is replaced by the item'),
  35: [
    ...e2e(
      'native-bytes',
      'of ... reaches the upstream as it was sent',
      'of ... under an alias differs in the value of the model alone',
    ),
    ...e2e('clients', 'every header that names the tool, its session and its betas reaches a provider of its own kind'),
    ...e2e(
      'opaque',
      'leaves the envelopes of a messages client behind, and every other byte as it was; and takes them up again',
    ),
  ],
  41: e2e('opaque', 'come back to a generate-content provider from memory, and else as the stand-in'),
  44: e2e('opaque', 'a value that its provider rejects is left out, once, and nobody notices (...)'),
  45: e2e('opaque', 'another account gets none of the values of the first (...)'),
  60: e2e('pause', 'a pause is continued, and the client sees one ... with the usage of both rounds'),
  66: e2e(
    'convert-faults',
    'a stream whose first event is an error becomes an HTTP error',
    'a stream whose first event is an error is taken over by another account',
  ),
  67: e2e('convert-streams', '... takes its upstream with it and frees its place'),
  68: e2e(
    'convert-streams',
    'a silent stream is kept alive in the way of its dialect, ...',
    'the SDK finishes a stream with silences in it, ...',
  ),
  69: laws(
    'streams',
    'the official SDK ... of the messages dialect adds a stream up to the whole answer',
    'the official SDK ... of the responses dialect adds a stream up to the whole answer',
    'the official SDK ... of the chat dialect adds a stream up to the whole answer',
    'the official SDK of the generate dialect reads every block of a stream',
    'the AI SDK reads a ... stream as it reads the whole answer',
  ),
  75: [
    ...e2e('convert-faults', 'a rate limit without another account says how long to wait (...)'),
    ...e2e(
      'clients',
      'a rate limit says how long to wait in the words it reads',
      'a rate limit carries the time to wait as RetryInfo',
    ),
  ],
  76: e2e('convert-faults', 'an account with ... is passed over, and alone reads as overload'),
  77: [
    ...e2e('matrix', '... ... with a ... key is ...'),
    ...e2e('count', 'counting on a responses group is refused for messages, as the matrix says'),
    ...e2e('clients', 'a key of another group gets a 404 of its own kind'),
  ],
  78: e2e('native-sdk', 'one model list is read by both families of SDKs'),
  79: e2e('native-sdk', 'embeddings come back as the numbers they were'),
  80: e2e('native-sdk', 'an image that cannot be made is refused in the words of the provider'),
  81: e2e('native-sdk', 'an image is drawn in stages, and the stream is kept alive between them'),
  82: e2e('native-bytes', 'with the model ... its files passes byte for byte with its boundary'),
  83: e2e(
    'socket',
    'a second turn on the ... group continues from the first with only its delta',
    'an unknown previous response is exactly that error, and the connection stays usable',
  ),
  84: e2e('socket', 'a warm-up asks nobody, and can be continued from'),
  85: e2e('socket', 'turns on one lane follow one another, turns on two lanes run at once and carry their names'),
  86: e2e('socket', 'bad frames answer with an error frame and break nothing'),
  87: [
    {
      file: 'src/gateway/websocket/session.test.ts',
      title: 'a connection that is too old finishes its turn, takes no other, and closes',
    },
  ],
  88: e2e('socket', 'bad frames answer with an error frame and break nothing'),
  89: [
    ...e2e('socket', 'a plain GET is asked to upgrade, and a wrong key is refused before the handshake'),
    ...e2e('clients', 'a GET of its path asks for the upgrade, and without one it goes on with POST'),
  ],
  90: [
    ...e2e('socket-raw', 'a chain that is not stored lives as long as the connection'),
    ...e2e('socket', 'a chain that is not stored ends with its connection, and begins again with the whole input'),
  ],
};
