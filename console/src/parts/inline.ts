/** The parts of a line of Markdown. */

/**
 * Code, bold, italic, and links to the web. What may begin each ends the one before it, or has a limit, so that the
 * cost is linear.
 */
export const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(\*[^*\s][^*\n]*\*)|(\[[^[\]\n]+\]\(https?:\/\/[^\s)]{1,2000}\))/g;
