/** An example document with variables. */
export interface Example {
  title: string
  text: string
  /** Variables as JSON; '' for none. */
  variables: string
}

const files = import.meta.glob<string>('./examples/*.graphql', {
  query: '?raw',
  import: 'default',
  eager: true,
})

/** The examples, by file name. */
export const examples: readonly Example[] = Object.entries(files)
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([, text]) => read(text))

/**
 * Parses an example. The first line is the title. A line "# Variables: {…}" fills the variables
 * editor; TODAY-29 becomes a date and NOW+7 a time, offset in days.
 */
function read(text: string): Example {
  const [first = ''] = text.split('\n', 1)
  const line = /^# Variables: (.*)\n/m.exec(text)
  const variables = line?.[1]?.replaceAll(/"(TODAY|NOW)([+-]\d+)?"/g, (_, unit, days) => {
    const at = new Date(Date.now() + Number(days ?? 0) * 24 * 3600 * 1000).toISOString()
    return `"${unit === 'TODAY' ? at.slice(0, 10) : at}"`
  })
  return {
    title: first.replace(/^# ([^:]*).*/, '$1'),
    text: text.replace(line?.[0] ?? '', ''),
    variables: variables ? JSON.stringify(JSON.parse(variables), null, 2) : '',
  }
}
