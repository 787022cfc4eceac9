/** Reasoning between `<think>` and `</think>` at the beginning of the content: the same split wherever chunks end. */

const OPEN = '<think>';
const CLOSE = '</think>';

/** The content with its reasoning in front, as the server wrote it. */
export const inThinkTags = (thoughts: string, text: string): string => `${OPEN}\n${thoughts}\n${CLOSE}\n\n${text}`;

export interface SplitContent {
  readonly thought: string;
  readonly text: string;
}

/** `start`: a tag may follow. `gap`: white space after a tag is left out. */
type State = 'start' | 'thought gap' | 'thought' | 'text gap' | 'text';

export class ThinkTagSplitter {
  #state: State = 'start';
  #held = '';

  push(content: string): SplitContent {
    let thought = '';
    let text = '';
    let rest = this.#held + content;
    this.#held = '';
    while (rest !== '') {
      const step = this.#step(rest);
      thought += step.thought;
      text += step.text;
      rest = step.rest;
    }
    return { thought, text };
  }

  /** The content ends: what looked like a part of a tag is none. */
  end(): SplitContent {
    const held = this.#held;
    this.#held = '';
    const isThought = this.#state === 'thought';
    this.#state = isThought ? 'thought' : 'text';
    return isThought ? { thought: held, text: '' } : { thought: '', text: held };
  }

  #step(content: string): SplitContent & { readonly rest: string } {
    switch (this.#state) {
      case 'start': {
        const begun = content.trimStart();
        if (begun.startsWith(OPEN)) return this.#enter('thought gap', begun.slice(OPEN.length));
        if (OPEN.startsWith(begun)) return this.#hold(content);
        return this.#enter('text', content);
      }
      case 'thought gap':
      case 'text gap': {
        const begun = content.trimStart();
        return begun === '' ? NOTHING : this.#enter(this.#state === 'text gap' ? 'text' : 'thought', begun);
      }
      case 'thought': {
        const at = content.indexOf(CLOSE);
        if (at >= 0)
          return { ...this.#enter('text gap', content.slice(at + CLOSE.length)), thought: content.slice(0, at) };
        const kept = partOfTag(content);
        return {
          ...this.#hold(content.slice(content.length - kept)),
          thought: content.slice(0, content.length - kept),
        };
      }
      case 'text':
        return { thought: '', text: content, rest: '' };
    }
  }

  #enter(state: State, rest: string): SplitContent & { readonly rest: string } {
    this.#state = state;
    return { thought: '', text: '', rest };
  }

  #hold(text: string): SplitContent & { readonly rest: string } {
    this.#held = text;
    return NOTHING;
  }
}

const NOTHING = { thought: '', text: '', rest: '' } as const;

/** Length of the longest end of the text with which the closing tag may begin. */
function partOfTag(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length--)
    if (CLOSE.startsWith(text.slice(-length))) return length;
  return 0;
}
