/** Returns what a script uses and a supported browser lacks. `known` lists allowed methods. */
export function unsupportedInScript(text: string, known?: ReadonlySet<string>): string[]
/** Returns what a style sheet uses and a supported browser lacks. */
export function unsupportedInStyle(text: string): string[]
