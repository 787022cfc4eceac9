/** Fields that a model does not accept, rejected with the message of its provider. */
import { type Failure, invalid, type Shape } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { isObject, type Json, type JsonObject, listOf } from './json.ts';
import type { RefusedField } from './refused-field.ts';

/** Throws the 400 for the first refused field of the body. */
export function checkRefused({ fault, json, shape, bareModel }: Exchange): void {
  for (const field of fault.refuse ?? []) {
    const sent = memberAt(json, field.path);
    if (sent !== undefined && isRefused(sent, field)) throw WORDS[shape](field, sent, bareModel);
  }
}

function isRefused(sent: Json, { value, above }: RefusedField): boolean {
  if (above !== undefined) return typeof sent === 'number' && sent > above;
  return value === undefined || String(sent) === value || listOf(sent).includes(value);
}

/** Names may be spelled in camelCase or in snake_case, as Google accepts them. */
function memberAt(json: JsonObject, path: string): Json | undefined {
  let value: Json | undefined = json;
  for (const name of path.split('.')) {
    if (!isObject(value)) return undefined;
    value = value[name] ?? value[snake(name)];
  }
  return value;
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const WORDS: Record<Shape, (field: RefusedField, sent: Json, model: string) => Failure> = {
  openai({ path }, sent, model) {
    if (path === 'include') return invalid('Encrypted content is not supported with this model.', path);
    if (path === 'reasoning.summary') {
      return invalid('Your organization must be verified to generate reasoning summaries.', path, 'unsupported_value');
    }
    if (path === 'reasoning.effort') {
      const message = `Unsupported value: '${sent}' is not supported with the '${model}' model.`;
      return invalid(`${message} Supported values are: 'low', 'medium', and 'high'.`, path, 'unsupported_value');
    }
    return invalid(`Unsupported parameter: '${path}' is not supported with this model.`, path, 'unsupported_parameter');
  },

  anthropic({ path, above }, sent, model) {
    if (path === 'thinking.type' && sent === 'adaptive')
      return invalid('adaptive thinking is not supported on this model');
    if (path === 'thinking.type') {
      const advice = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';
      return invalid(`"thinking.type.${sent}" is not supported for this model. ${advice}`);
    }
    if (path === 'output_config.effort') return invalid('This model does not support the effort parameter.');
    if (above !== undefined) {
      return invalid(`${path}: ${sent} > ${above}, which is the maximum allowed number of output tokens for ${model}`);
    }
    return invalid(`${path}: Extra inputs are not permitted`);
  },

  google({ path }, sent) {
    const name = path.slice(path.lastIndexOf('.') + 1);
    const known = GOOGLE_WORDS[name]?.(sent);
    const parent = snake(path.slice(0, Math.max(0, path.lastIndexOf('.'))));
    return invalid(known ?? `Invalid JSON payload received. Unknown name "${name}" at '${parent}': Cannot find field.`);
  },
};

const GOOGLE_WORDS: Record<string, (sent: Json) => string> = {
  includeThoughts: () =>
    'Unable to submit request because Thinking_config.include_thoughts is only enabled when thinking is enabled.',
  thinkingLevel: (sent) =>
    `Thinking level ${sent} is not supported for this model. Please retry with other thinking level.`,
  thinkingBudget: (sent) => `Budget ${sent} is invalid. This model only works in thinking mode.`,
  thinkingConfig: () => 'thinking_config is not supported.',
};
