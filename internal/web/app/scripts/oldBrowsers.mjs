// Checks that the build in ../dist runs in the oldest supported browsers: Chrome 97, Firefox 102
// and Safari 15.4. It fails with a list of unsupported syntax, built-ins and required CSS. Vite
// lowers syntax, but it does not polyfill built-ins.
//
// The check finds built-ins by name. It also reports other methods of the same name: exclude their
// file here.

import { parse } from 'acorn'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// Methods that at least one supported browser lacks.
const methods = new Set(
  `toReversed toSorted toSpliced with findLast findLastIndex isWellFormed toWellFormed throwIfAborted
  showPopover hidePopover togglePopover setHTMLUnsafe showPicker
  scrollIntoViewIfNeeded getOrInsert getOrInsertComputed union intersection difference
  symmetricDifference isSubsetOf isSupersetOf isDisjointFrom requestIdleCallback`.split(/\s+/),
)
// Members of global objects.
const members = new Set(
  `Object.groupBy Map.groupBy Array.fromAsync Promise.withResolvers Promise.try AbortSignal.timeout
  AbortSignal.any Intl.Segmenter Intl.DurationFormat Intl.supportedValuesOf crypto.randomUUID
  URL.canParse URL.parse Iterator.from RegExp.escape Error.isError Response.json
  ReadableStream.from`.split(/\s+/),
)
const globals = new Set(['structuredClone', 'requestIdleCallback', 'scheduler', 'Iterator'])
// Iterator helpers, available since 2024.
const iteratorMethods = new Set(
  'map filter take drop flatMap reduce toArray forEach some every find'.split(' '),
)
/** Methods that src/playground/arrayPolyfills.ts adds. */
const polyfilled = new Set('toReversed toSorted toSpliced with findLast findLastIndex'.split(' '))

/** Returns what a script uses and a supported browser lacks. `known` lists allowed methods. */
export function unsupportedInScript(text, known = new Set()) {
  let tree
  try {
    tree = parse(text, { ecmaVersion: 2022, sourceType: 'module' })
  } catch (error) {
    return [`not valid ES2022: ${error.message}`]
  }
  const found = []
  walk(tree, (node) => {
    const what = unsupportedNode(node)
    if (what !== null && !known.has(what)) found.push(`${what} (at ${node.start})`)
  })
  return found
}

function unsupportedNode(node) {
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
      return unsupportedCall(node.callee)
    default:
      return null
  }
}

function unsupportedCall(callee) {
  if (callee.type === 'Identifier') return globals.has(callee.name) ? callee.name : null
  if (callee.type !== 'MemberExpression' || callee.computed) return null
  const { name } = callee.property
  if (methods.has(name)) return name
  if (!iteratorMethods.has(name) || callee.object.type !== 'CallExpression') return null
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
  [/[{;](?:translate|rotate|scale):/, 'an individual transform property'],
]

/** Returns what a style sheet uses and a supported browser lacks. */
export function unsupportedInStyle(text) {
  const found = css.filter(([pattern]) => pattern.test(text)).map(([, what]) => what)
  // A newer unit is fine after the same property with an older unit.
  for (const [whole, property] of text.matchAll(/([\w-]+):[^;{}]*\d[dsl]v[hw]\b/g)) {
    const before = text.slice(0, text.indexOf(whole))
    if (!new RegExp(`[{;]\\s*${property}:[^{}]*;[^{}]*$`).test(before)) found.push(whole)
  }
  return found
}

/** Returns the names of the scripts that a page can load, at start or later. */
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
  const appScripts = reachable(read('index.html'), texts)
  const found = []
  for (const [name, text] of texts) {
    const known = appScripts.has(name) ? new Set() : polyfilled
    found.push(...unsupportedInScript(text, known).map((what) => `${name}: ${what}`))
  }
  for (const name of names.filter((one) => one.endsWith('.css')))
    found.push(...unsupportedInStyle(read(`assets/${name}`)).map((what) => `${name}: ${what}`))
  if (appScripts.size < 10) found.push('index.html: loads fewer than 10 scripts')
  if (found.length === 0) return
  console.error(`The build uses features that supported browsers lack:\n  ${found.join('\n  ')}`)
  process.exitCode = 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) check()
