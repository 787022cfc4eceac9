/** The parts of a line of Markdown, and of a sentence that names code. */

/**
 * Code, bold, italic, and links to the web. What may begin each ends the one before it, or has a limit, so that the
 * cost is linear.
 */
export const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(\*[^*\s][^*\n]*\*)|(\[[^[\]\n]+\]\(https?:\/\/[^\s)]{1,2000}\))/g;

/** Every second part is what stands between backticks. */
export const codeParts = (sentence: string): string[] => sentence.split(/`([^`\n]+)`/);
