/**
 * The work of a synchronous function in steps, the same on every machine: elements that methods, iterations and spreads
 * of lists visit, and characters that JSON and searches read. Copies of objects and of strings are not counted.
 */
export interface Work {
  readonly steps: number;
  /** Of one call: many fill the stack, and with more than some ten thousand the call throws. */
  readonly maxArguments: number;
}

type Method = (this: unknown, ...values: unknown[]) => unknown;
type Prototype = Record<string, Method>;

const LIST_METHODS = [
  ...[
    'map',
    'filter',
    'flatMap',
    'reduce',
    'reduceRight',
    'forEach',
    'find',
    'findIndex',
    'findLast',
    'findLastIndex',
    'some',
  ],
  ...[
    'every',
    'indexOf',
    'lastIndexOf',
    'includes',
    'join',
    'slice',
    'splice',
    'shift',
    'unshift',
    'concat',
    'with',
    'toSpliced',
  ],
  ...['toSorted', 'sort', 'reverse', 'toReversed', 'flat', 'fill'],
];
/** They stop at the first match; what they visit is not known from outside, so that their callback counts. */
const EARLY = new Set(['find', 'findIndex', 'findLast', 'findLastIndex', 'some', 'every']);
const TEXT_METHODS = [
  'indexOf',
  'lastIndexOf',
  'includes',
  'split',
  'replace',
  'replaceAll',
  'match',
  'matchAll',
  'search',
  'trim',
];

class Counted extends Iterator<unknown> {
  readonly #inner: Iterator<unknown>;
  readonly #count: () => void;

  constructor(inner: Iterator<unknown>, count: () => void) {
    super();
    this.#inner = inner;
    this.#count = count;
  }

  override next(): IteratorResult<unknown> {
    this.#count();
    return this.#inner.next();
  }
}

export function workOf(run: () => void): Work {
  let steps = 0;
  let maxArguments = 0;
  const undo: (() => void)[] = [];
  const patch = (target: object, name: string | symbol, around: (given: Method) => Method): void => {
    const own = Object.getOwnPropertyDescriptor(target, name);
    if (typeof own?.value !== 'function') return;
    Object.defineProperty(target, name, { ...own, value: around(own.value as Method) });
    undo.push(() => Object.defineProperty(target, name, own));
  };
  const sized = (given: Method, sizeOf: (self: unknown, values: unknown[]) => number): Method =>
    function (...values) {
      steps += sizeOf(this, values);
      return Reflect.apply(given, this, values);
    };
  const early = (given: Method): Method =>
    function (test, ...rest) {
      const counted: Method = function (...values) {
        steps += 1;
        return Reflect.apply(test as Method, this, values);
      };
      return Reflect.apply(given, this, [counted, ...rest]);
    };
  const iterated = (given: Method): Method =>
    function () {
      return new Counted(Reflect.apply(given, this, []) as Iterator<unknown>, () => {
        steps += 1;
      });
    };
  const wide = (given: Method): Method =>
    function () {
      // biome-ignore lint/complexity/noArguments: a rest parameter would copy them.
      maxArguments = Math.max(maxArguments, arguments.length);
      // biome-ignore lint/complexity/noArguments: the same.
      return Reflect.apply(given, this, arguments as unknown as unknown[]);
    };
  const lists = Array.prototype as unknown as Prototype;
  try {
    for (const name of LIST_METHODS)
      patch(lists, name, (given) =>
        EARLY.has(name) ? early(given) : sized(given, (self) => (self as unknown[]).length),
      );
    for (const name of TEXT_METHODS)
      patch(String.prototype, name, (given) => sized(given, (self) => String(self).length));
    patch(RegExp.prototype, 'exec', (given) => sized(given, (_, [text]) => String(text).length));
    patch(RegExp.prototype, 'test', (given) => sized(given, (_, [text]) => String(text).length));
    patch(JSON, 'parse', (given) => sized(given, (_, [text]) => String(text).length));
    patch(
      JSON,
      'stringify',
      (given) =>
        function (...values) {
          const text = Reflect.apply(given, this, values) as string | undefined;
          steps += text?.length ?? 0;
          return text;
        },
    );
    patch(lists, 'push', wide);
    for (const target of [Array.prototype, Map.prototype, Set.prototype]) {
      const names: (string | symbol)[] = ['values', 'keys', 'entries', Symbol.iterator];
      for (const name of names) patch(target, name, iterated);
    }
    run();
  } finally {
    for (const restore of undo.reverse()) restore();
  }
  return { steps, maxArguments };
}
