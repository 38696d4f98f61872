import { useEffect } from 'react'

/**
 * Replaces the package react-style-singleton, which dialogs use to lock scrolling. The package adds
 * a style element, which the content security policy rejects. A constructed style sheet is allowed.
 *
 * Like the original, the first mounted component applies its styles and the last unmounted one
 * removes them.
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
