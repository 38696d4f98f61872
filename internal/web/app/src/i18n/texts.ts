import { useLanguage } from './language'

/** A text, or what makes one of what varies in it. */
// oxlint-disable-next-line typescript/no-explicit-any
type Text = string | ((...args: any[]) => string)

/** The same texts in other words. */
type Translation<T> = { readonly [K in keyof T]: T[K] extends string ? string : T[K] }

/**
 * Makes the hook for the texts of a screen, in both languages. What the Chinese lacks, the compiler
 * says.
 */
export function texts<const T extends Record<string, Text>>(
  en: T,
  zh: NoInfer<Translation<T>>,
): () => Translation<T> {
  const all = { en, zh }
  return function useTexts() {
    return all[useLanguage()] as Translation<T>
  }
}
