import { useLanguage } from './language'

/** A text, or a function that returns one. */
// oxlint-disable-next-line typescript/no-explicit-any
type Text = string | ((...args: any[]) => string)

/** The same keys in another language. */
type Translation<T> = { readonly [K in keyof T]: T[K] extends string ? string : T[K] }

/** Creates the hook that returns a component's texts. A missing translation is a type error. */
export function texts<const T extends Record<string, Text>>(
  en: T,
  zh: NoInfer<Translation<T>>,
): () => Translation<T> {
  const all = { en, zh }
  return function useTexts() {
    return all[useLanguage()] as Translation<T>
  }
}
