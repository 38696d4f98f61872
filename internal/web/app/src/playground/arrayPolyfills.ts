// Polyfills for array methods that GraphiQL uses, available since 2022 and 2023. The app does not
// use them: its scripts are type-checked against ES2022.

type Compare = (a: unknown, b: unknown) => number
type Test = (value: unknown, index: number, all: unknown[]) => unknown

const methods = {
  toReversed(this: unknown[]) {
    return [...this].reverse()
  },
  toSorted(this: unknown[], compare?: Compare) {
    return [...this].sort(compare)
  },
  toSpliced(this: unknown[], ...change: [number, number, ...unknown[]]) {
    const copy = [...this]
    copy.splice(...change)
    return copy
  },
  with(this: unknown[], index: number, value: unknown) {
    const at = index < 0 ? this.length + index : index
    if (at < 0 || at >= this.length) throw new RangeError('index out of range')
    const copy = [...this]
    copy[at] = value
    return copy
  },
  findLast(this: unknown[], test: Test) {
    for (let i = this.length - 1; i >= 0; i--) if (test(this[i], i, this)) return this[i]
    return undefined
  },
  findLastIndex(this: unknown[], test: Test) {
    for (let i = this.length - 1; i >= 0; i--) if (test(this[i], i, this)) return i
    return -1
  },
}

for (const [name, value] of Object.entries(methods)) {
  if (name in Array.prototype) continue
  // Not enumerable, like built-in methods.
  // oxlint-disable-next-line no-extend-native
  Object.defineProperty(Array.prototype, name, { value, configurable: true, writable: true })
}
