import { useEffect } from 'react'

/**
 * Takes the place of the package react-style-singleton, by which dialogs lock
 * the page's scrolling. The package adds a style element, and our content
 * security policy refuses those; a constructed style sheet does the same and
 * passes.
 *
 * Like the original: the first component mounted applies its styles, the last
 * one unmounted takes them away.
 */
export function styleSingleton() {
  const sheet = new CSSStyleSheet()
  let mounted = 0

  return function Styles({ styles }: { styles: string }) {
    useEffect(() => {
      if (mounted++ === 0) {
        sheet.replaceSync(styles)
        document.adoptedStyleSheets.push(sheet)
      }
      return () => {
        if (--mounted > 0) return
        document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet)
      }
    }, [styles])
    return null
  }
}
