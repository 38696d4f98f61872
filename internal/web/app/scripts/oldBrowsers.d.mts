/** What a script has that a supported browser lacks; `known` are methods that it may use. */
export function complaintsOfScript(text: string, known?: ReadonlySet<string>): string[]
/** What a style sheet has that a supported browser lacks. */
export function complaintsOfStyle(text: string): string[]
