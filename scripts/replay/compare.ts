/** Comparison of what a provider sent with what a client of another dialect read. */
import type { Facts, Stop } from './facts.ts';
import { type Difference, difference } from './outcome.ts';
import { jsonOf } from './recording.ts';

type FactName = keyof Facts;

/** How a fact is compared, where equality is too much to ask. */
const FORMS: Readonly<Partial<Record<FactName, (facts: Facts) => unknown>>> = {
  // Parts of a summary are joined with or without an empty line.
  thinking: ({ thinking }) => thinking.replaceAll(/\s+/g, ''),
  // SDKs read the arguments of a call that the output limit cut each in its own way.
  calls: ({ calls, stop }) =>
    stop === 'length' ? calls.map((call) => (jsonOf(call.args) === undefined ? { ...call, args: '{}' } : call)) : calls,
};

const COMPARED: readonly FactName[] = ['text', 'thinking', 'calls', 'citations', 'images', 'stop', 'tokens'];

export function compareFacts(provided: Facts, seen: Facts): Difference[] {
  const source = { ...provided, stop: stopWithCalls(provided) };
  const found = COMPARED.flatMap((name) => {
    const form = FORMS[name] ?? ((facts: Facts): unknown => facts[name]);
    const [expected, actual] = [form(source), form(seen)].map((value) => JSON.stringify(value) ?? '');
    // A provider that reports no usage: the gateway estimates it.
    if (expected === actual || (name === 'tokens' && source.tokens === undefined)) return [];
    if (name === 'text' && isNoted(source, seen)) return [];
    return [difference(name, source[name], seen[name])];
  });
  const isRefusalSeen = source.refusal === '' || `${seen.refusal}${seen.text}`.includes(source.refusal);
  return isRefusalSeen ? found : [...found, difference('refusal', source.refusal, seen.refusal)];
}

/** A dialect without a place for a refusal, a picture or a recording shows the refusal as text, or a note. */
function isNoted(source: Facts, seen: Facts): boolean {
  const withoutImages = source.images.length > 0 ? seen.text.replaceAll('[image omitted]', '') : seen.text;
  const text = source.hasAudio ? withoutImages.replaceAll('[audio omitted]', '') : withoutImages;
  return text === source.text + source.refusal;
}

/** Some servers end a reply with calls as if it had none; agents then stop, so the gateway states the calls. */
const stopWithCalls = ({ calls, stop }: Facts): Stop => (stop === 'end' && calls.length > 0 ? 'tool' : stop);
