// Checks that the build in ../dist runs in the oldest supported browsers: Chrome 97, Firefox 102 and
// Safari 15.4. It fails with a list of what they lack: syntax, built-ins, and CSS without which a
// screen does not work. Vite lowers syntax; nothing lowers built-ins.
//
// Built-ins are found by their names, so a method of something else with such a name is reported
// too: then its file is to be excepted here.

import { parse } from 'acorn'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// Methods that some supported browser lacks.
const methods = new Set(
  `toReversed toSorted toSpliced with findLast findLastIndex isWellFormed toWellFormed throwIfAborted
  showPopover hidePopover togglePopover setHTMLUnsafe showPicker
  scrollIntoViewIfNeeded getOrInsert getOrInsertComputed union intersection difference
  symmetricDifference isSubsetOf isSupersetOf isDisjointFrom requestIdleCallback`.split(/\s+/),
)
// Members of what is global.
const members = new Set(
  `Object.groupBy Map.groupBy Array.fromAsync Promise.withResolvers Promise.try AbortSignal.timeout
  AbortSignal.any Intl.Segmenter Intl.DurationFormat Intl.supportedValuesOf crypto.randomUUID
  URL.canParse URL.parse Iterator.from RegExp.escape Error.isError Response.json
  ReadableStream.from`.split(/\s+/),
)
const globals = new Set(['structuredClone', 'requestIdleCallback', 'scheduler', 'Iterator'])
// Iterators have these methods since 2024.
const ofIterators = new Set(
  'map filter take drop flatMap reduce toArray forEach some every find'.split(' '),
)
/** What src/playground/newerArrays.ts adds. */
const added = new Set('toReversed toSorted toSpliced with findLast findLastIndex'.split(' '))

/** What a script has that a supported browser lacks; `known` are methods that it may use. */
export function complaintsOfScript(text, known = new Set()) {
  let tree
  try {
    tree = parse(text, { ecmaVersion: 2022, sourceType: 'module' })
  } catch (error) {
    return [`is no ES2022: ${error.message}`]
  }
  const found = []
  walk(tree, (node) => {
    const what = complaint(node)
    if (what !== null && !known.has(what)) found.push(`${what} (at ${node.start})`)
  })
  return found
}

function complaint(node) {
  switch (node.type) {
    case 'StaticBlock':
      return 'a static block'
    case 'Literal':
      if (node.regex && /[vd]/.test(node.regex.flags)) return `the flags ${node.regex.flags}`
      if (node.regex && /\(\?<[=!]/.test(node.regex.pattern)) return 'a lookbehind'
      return null
    case 'MemberExpression': {
      const { object, property, computed } = node
      const of = object.type === 'MemberExpression' ? object.property : object
      const name = !computed && of.type === 'Identifier' ? `${of.name}.${property.name}` : ''
      return members.has(name) ? name : null
    }
    case 'NewExpression':
    case 'CallExpression':
      return complaintOfCall(node.callee)
    default:
      return null
  }
}

function complaintOfCall(callee) {
  if (callee.type === 'Identifier') return globals.has(callee.name) ? callee.name : null
  if (callee.type !== 'MemberExpression' || callee.computed) return null
  const { name } = callee.property
  if (methods.has(name)) return name
  if (!ofIterators.has(name) || callee.object.type !== 'CallExpression') return null
  const made = callee.object.callee
  const iterates =
    made.type === 'MemberExpression' &&
    !made.computed &&
    ['keys', 'values', 'entries'].includes(made.property.name) &&
    made.object.name !== 'Object'
  return iterates ? `${made.property.name}().${name}` : null
}

function walk(node, visit) {
  visit(node)
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) {
      for (const one of value) if (typeof one?.type === 'string') walk(one, visit)
    } else if (typeof value?.type === 'string') walk(value, visit)
  }
}

const css = [
  [/:has\(/, ':has()'],
  [/@container/, '@container'],
  [/@layer/, '@layer'],
  [/@starting-style/, '@starting-style'],
  [/\b(?:color-mix|oklch|oklab|light-dark|lch|lab)\(/, 'a newer colour'],
  [/@media[^{]*[<>]/, 'a range in @media'],
  [/(?:^|[{};])\s*&/, 'nesting'],
  [/[{;](?:translate|rotate|scale):/, 'a transform of its own'],
]

/** What a style sheet has that a supported browser lacks. */
export function complaintsOfStyle(text) {
  const found = css.filter(([pattern]) => pattern.test(text)).map(([, what]) => what)
  // A new unit is fine behind the same property with an older one.
  for (const [whole, property] of text.matchAll(/([\w-]+):[^;{}]*\d[dsl]v[hw]\b/g)) {
    const before = text.slice(0, text.indexOf(whole))
    if (!new RegExp(`[{;]\\s*${property}:[^{}]*;[^{}]*$`).test(before)) found.push(whole)
  }
  return found
}

/** The scripts that a page may load, by name, however late. */
function reachable(page, texts) {
  const found = new Set()
  const follow = (text) => {
    for (const name of texts.keys()) {
      if (found.has(name) || !text.includes(name)) continue
      found.add(name)
      follow(texts.get(name))
    }
  }
  follow(page)
  return found
}

function check() {
  const dist = new URL('../../dist/', import.meta.url)
  const read = (name) => readFileSync(new URL(name, dist), 'utf8')
  const names = readdirSync(new URL('assets', dist))
  const scripts = names.filter((name) => name.endsWith('.js'))
  const texts = new Map(scripts.map((name) => [name, read(`assets/${name}`)]))
  const ofTheApp = reachable(read('index.html'), texts)
  const found = []
  for (const [name, text] of texts) {
    const known = ofTheApp.has(name) ? new Set() : added
    found.push(...complaintsOfScript(text, known).map((what) => `${name}: ${what}`))
  }
  for (const name of names.filter((one) => one.endsWith('.css')))
    found.push(...complaintsOfStyle(read(`assets/${name}`)).map((what) => `${name}: ${what}`))
  if (ofTheApp.size < 10) found.push('index.html: leads to hardly any script')
  if (found.length === 0) return
  console.error(`Old browsers lack what the build uses:\n  ${found.join('\n  ')}`)
  process.exitCode = 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) check()
